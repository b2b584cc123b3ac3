#include "target/hidden.h"

#include <stdio.h>

/* DBGPRSR of Armv7, DDI 0406C C11.11, and EDPRSR of Armv8, DDI 0487 H9.2; Armv7 has the OS lock's bit in
 * DBGOSLSR. HALTED is there since Armv7.1. */
enum {
    PRSR = 0x314,
    PRSR_PU = 1 << 0,
    PRSR_R = 1 << 2,
    PRSR_HALTED = 1 << 4,
    PRSR_OSLK = 1 << 5,
    PRSR_DLK = 1 << 6
};
enum { OSLSR = 0x304, OSLSR_LOCKED = 1 << 1 };

static bool look(struct target *target, const struct core *core, uint64_t offset, uint64_t *value,
                 const struct deadline *deadline)
{
    struct error ignored = {0};
    return ledger_read(target->ledger, core_debug(core, offset), value, deadline, &ignored);
}

static bool is_os_locked(struct target *target, const struct core *core, uint64_t status,
                         const struct deadline *deadline)
{
    uint64_t lock;
    if (core->family == CORE_ARMV8)
        return (status & PRSR_OSLK) != 0;
    return look(target, core, OSLSR, &lock, deadline) && (lock & OSLSR_LOCKED) != 0;
}

void hidden_describe(struct target *target, const struct target_core *core, char *out, size_t size,
                     const struct deadline *deadline)
{
    uint64_t status;
    if (!look(target, &core->core, PRSR, &status, deadline))
        snprintf(out, size, "locked or without power: its debug registers refuse to be read");
    else if ((status & PRSR_PU) == 0)
        snprintf(out, size, "without power");
    else if (core->core.family == CORE_ARMV8 && (status & PRSR_DLK) != 0)
        snprintf(out, size, "powered; OS double lock set, as shortly before power-down");
    else if ((status & PRSR_R) != 0)
        snprintf(out, size, "powered, in reset");
    else if (is_os_locked(target, &core->core, status, deadline))
        snprintf(out, size,
                 "powered, %s; OS lock set, as after a reset: delta opens it for the time of a measurement",
                 (status & PRSR_HALTED) != 0 ? "halted" : "running");
    else
        snprintf(out, size, "powered; its debug registers refuse to be read: pmu-probe doctor looks why");
}
