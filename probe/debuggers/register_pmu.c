#include "debuggers/register_pmu.h"

#include <inttypes.h>
#include <stdio.h>

enum { PMCR_E = 1, TEXT = 80 };

/* By either name: as Armv7 and Armv8 spell it. */
static const char *find(struct debugger *debugger, const char *const names[2], uint64_t *value,
                        const struct deadline *deadline, struct error *error)
{
    for (size_t i = 0; i < 2; i++) {
        struct error unread = {0};
        if (debugger->ops->read_register(debugger, names[i], value, deadline, &unread))
            return names[i];
        if (unread.kind != ERROR_FAULT) {
            error_set(error, unread.kind, "%s", unread.text);
            return NULL;
        }
    }
    return NULL;
}

/* Flips PMCR.E, looks, and flips it back. */
static bool obeys(struct debugger *debugger, const char *name, uint64_t before, bool *obeyed,
                  const struct deadline *deadline, struct error *error)
{
    const struct debugger_ops *ops = debugger->ops;
    struct error refused = {0};
    uint64_t after = before;
    *obeyed = false;
    if (!ops->write_register(debugger, name, before ^ PMCR_E, deadline, &refused))
        return refused.kind == ERROR_FAULT || error_set(error, refused.kind, "%s", refused.text);
    if (!ops->read_register(debugger, name, &after, deadline, error))
        return false;
    *obeyed = after != before;
    return !*obeyed || ops->write_register(debugger, name, before, deadline, error);
}

bool register_pmu_refuse(struct debugger *debugger, const struct deadline *deadline, struct error *error)
{
    static const char *const controls[] = {"PMCR", "PMCR_EL0"}, *const cycles[] = {"PMCCNTR", "PMCCNTR_EL0"},
                             *const ids[] = {"MIDR", "MIDR_EL1"};
    const char *server = debugger->facts.server[0] != '\0' ? debugger->facts.server : "the GDB server";
    uint64_t control, ignored, id;
    char midr[TEXT] = "";
    bool obeyed = false;
    const char *name = find(debugger, controls, &control, deadline, error);
    if (find(debugger, ids, &id, deadline, error) != NULL)
        snprintf(midr, sizeof midr, ", MIDR 0x%08" PRIX64 ",", id);
    const char *counter = find(debugger, cycles, &ignored, deadline, error);
    if (error->kind != ERROR_NONE)
        return false;
    if (name == NULL) {
        access_say(&debugger->access, ACCESS_REGISTERS, "there is no PMU among those that it describes");
        return error_set(
            error, ERROR_NO_COUNTER,
            "%s shows a core of architecture \"%s\"%s by its memory and registers, where no PMU is", server,
            debugger->facts.architecture, midr);
    }
    if (!obeys(debugger, name, control, &obeyed, deadline, error))
        return false;
    access_say(&debugger->access, ACCESS_REGISTERS,
               obeyed ? "%s obeys, but is not measured in that way"
                      : "%s is there, but what is written to it is ignored",
               name);
    return error_set(
        error, ERROR_NO_COUNTER,
        "%s shows a core of architecture \"%s\"%s with a PMU among its registers: %s%s%s = 0x%" PRIX64 ". %s",
        server, debugger->facts.architecture, midr, counter != NULL ? counter : "",
        counter != NULL ? ", " : "", name, control,
        obeyed ? "A core's PMU is measured through memory or OpenOCD's monitor, not in that way"
               : "It can only be looked at: what is written to it is ignored");
}
