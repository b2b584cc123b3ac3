#include "target/lowered_list.h"

#include <inttypes.h>
#include <stdio.h>

/* "CONTEXTIDR, which tells them apart, was 0x2 at this stop", as far as it can be read. */
static bool describe_context(struct lowered *self, char *out, size_t size, const struct deadline *deadline,
                             struct error *error)
{
    const struct core_ops *ops = self->core->ops;
    struct error unread = {0};
    snprintf(out, size, "CONTEXTIDR, which tells them apart, cannot be read from there");
    if (ops->add_context == NULL)
        return true;
    lowered_new_registers(self);
    size_t at = ops->add_context(self->core, &self->list);
    if (lowered_run_plain(self, deadline, &unread))
        snprintf(out, size, "CONTEXTIDR, which tells them apart, was 0x%" PRIX64 " at this stop",
                 self->results[at]);
    return lowered_give_back(self, deadline, error);
}

bool lowered_check_mode(struct lowered *self, const struct deadline *deadline, struct error *error)
{
    const struct core_ops *ops = self->core->ops;
    char context[96];
    lowered_new_registers(self);
    size_t mode = ops->add_mode(self->core, &self->list);
    if (!lowered_run_plain(self, deadline, error))
        return false;
    self->looked = true;
    if (!ops->in_user_mode(self->core, self->results[mode]))
        return true;
    if (!describe_context(self, context, sizeof context, deadline, error))
        return false;
    return error_set(
        error, ERROR_STATE,
        "0x%08" PRIX64 " is run in user mode: under an operating system other processes may have "
        "other code there.\n%s. --context ID measures where it is ID only; --context any, wherever "
        "that address is reached",
        core_code_place(self->region.start), context);
}
