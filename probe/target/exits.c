#include "target/exits.h"

bool exits_check(const struct region *region, struct error *error)
{
    if (region->n_exits == 0)
        return error_set(
            error, ERROR_STATE,
            "this is an exception handler, and no instruction is known by which it returns: name an "
            "end, as the address of its last instruction");
    if (region->n_exits > REGION_EXITS)
        return error_set(error, ERROR_STATE,
                         "this is an exception handler that returns at more than %d places: name an end",
                         REGION_EXITS);
    return true;
}
