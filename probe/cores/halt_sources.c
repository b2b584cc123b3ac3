#include "cores/halt_sources.h"

#include "cores/architectures.h"
#include "cores/arm_debug.h"
#include "cores/watchpoints.h"

/* --- what stops a core ---------------------------------------------------------------------------------- */

struct list {
    struct core_stop *out;
    size_t n, room;
};

static void add(struct list *list, struct core_stop stop)
{
    if (list->n < list->room)
        list->out[list->n++] = stop;
}

/* Bits of a register, any of which stops the core. */
static struct core_stop bits(const char *name, struct address at, uint64_t which)
{
    return (struct core_stop){
        .name = name, .at = at, .field = which, .low = 1, .high = UINT64_MAX, .keep = ~which};
}

/* --- Cortex-M: DDI 0403 C1.6.5, C1.8; DDI 0553 D1.2 for Armv8-M ----------------------------------------- */

static void add_cortex_m(const struct core *core, const uint64_t *identity, struct list *list)
{
    struct address demcr = watchpoints_trace(core);
    bool traced = (identity[0] & watchpoints_trace_on()) != 0;
    bool v8m = cortex_m_is_v8(core);
    for (unsigned i = 0; traced && i < watchpoints_count(identity[1]); i++) {
        struct core_stop watch = {
            .name = "watchpoint", .at = watchpoints_function(core, i), .place = watchpoints_place(core, i)};
        /* FUNCTION 4 to 7 halt; on Armv8-M ACTION 1 does, with any MATCH */
        watch.field = v8m ? 0x3F : 0xF;
        watch.low = v8m ? 0x11 : 4;
        watch.high = v8m ? 0x1F : 7;
        watch.keep = ~watch.field;
        add(list, watch);
    }
    add(list, bits("catch of a reset (DEMCR.VC_CORERESET)", demcr, DEMCR_VC_CORERESET));
    add(list, bits("catch of faults (DEMCR)", demcr, DEMCR_VC_EXCEPTIONS));
}

/* --- Armv7-A and -R: DDI 0406C C11.11 ------------------------------------------------------------------- */

static void add_armv7(const struct core *core, const uint64_t *identity, struct list *list)
{
    for (uint32_t i = 0; i < (identity[0] >> DIDR_WATCHPOINTS & 0xF) + 1; i++)
        add(list, (struct core_stop){.name = "watchpoint",
                                     .at = core_debug(core, DBGWCR0 + 4 * i),
                                     .field = 1,
                                     .low = 1,
                                     .high = 1,
                                     .place = core_debug(core, DBGWVR0 + 4 * i)});
    add(list, bits("catch of a reset (DBGVCR)", core_debug(core, DBGVCR), 1));
    add(list, bits("catch of vectors (DBGVCR)", core_debug(core, DBGVCR), 0xFFFFFFFE));
    add(list, bits("catch of the OS lock (DBGECR)", core_debug(core, DBGECR), 1));
}

/* --- Armv8-A: DDI 0487 H8, H9 --------------------------------------------------------------------------- */

enum { SERVERS = 0xFFFFFFFC }; /* all channels but 0 and 1, which OpenOCD uses */

static void add_armv8(const struct core *core, const uint64_t *identity, struct list *list)
{
    struct address edecr = core_debug(core, EDECR);
    for (uint32_t i = 0; i < (identity[0] >> DFR_WATCHPOINTS & 0xF) + 1; i++)
        add(list, (struct core_stop){.name = "watchpoint",
                                     .at = core_debug(core, DBGWCR0_EL1 + ARMV8_COMPARATOR_STRIDE * i),
                                     .field = 1,
                                     .low = 1,
                                     .high = 1,
                                     .place = core_debug(core, DBGWVR0_EL1 + ARMV8_COMPARATOR_STRIDE * i)});
    add(list, bits("catch of the OS lock (EDECR.OSUCE)", edecr, EDECR_OSUCE));
    add(list, bits("catch of a reset (EDECR.RCE)", edecr, EDECR_RCE));
    add(list, bits("single step (EDECR.SS)", edecr, EDECR_SS));
    add(list, bits("catch of exceptions (EDECCR)", core_debug(core, EDECCR), 0xFFFF));
}

/* --- of any --------------------------------------------------------------------------------------------- */

size_t stops_first(const struct core *core, bool server, struct core_stop *out, size_t room)
{
    struct list list = {.out = out, .room = room};
    static const char *const names[CTI_OUTPUTS] = {"trigger that halts the core (CTIOUTEN0)",
                                                   "trigger that lets it run (CTIOUTEN1)"};
    for (uint32_t i = 0; i < CTI_OUTPUTS && core->family == CORE_ARMV8 && core->cti_base != 0; i++)
        add(&list, bits(names[i], core_cti(core, CTIOUTEN0 + 4 * i), server ? SERVERS : UINT32_MAX));
    return list.n;
}

void stops_add_identity(const struct core *core, struct steps *list)
{
    if (core->family == CORE_M) {
        steps_add(list, step_read(watchpoints_trace(core)));
        steps_add(list, step_read(watchpoints_control(core)));
    } else if (core->family == CORE_ARMV7) {
        steps_add(list, step_read(core_debug(core, DBGDIDR)));
    } else if (core->family == CORE_ARMV8) {
        steps_add(list, step_read(core_debug(core, EDDFR)));
    }
}

size_t stops_of(const struct core *core, const uint64_t *identity, struct core_stop *out, size_t room)
{
    struct list list = {.out = out, .room = room};
    if (core->family == CORE_M)
        add_cortex_m(core, identity, &list);
    else if (core->family == CORE_ARMV7)
        add_armv7(core, identity, &list);
    else if (core->family == CORE_ARMV8)
        add_armv8(core, identity, &list);
    return list.n;
}

size_t stops_last(const struct core *core, struct core_stop *out, size_t room)
{
    struct list list = {.out = out, .room = room};
    if (core->family == CORE_M) {
        struct core_stop debug = bits(NULL, core_word(core, DHCSR), 0xF);
        debug.keep = 0;
        debug.key = DHCSR_KEY;
        add(&list, debug);
    } else if (core->family == CORE_ARMV7) {
        struct core_stop debug = bits(NULL, core_debug(core, DBGDSCR),
                                      DBGDSCR_HDBGEN | DBGDSCR_ITREN | DBGDSCR_INTDIS | DBGDSCR_DBGACK);
        debug.keep = DBGDSCR_PROGRAMS;
        add(&list, debug);
    } else if (core->family == CORE_ARMV8) {
        struct core_stop debug = bits(NULL, core_debug(core, EDSCR), EDSCR_HDE | EDSCR_INTDIS);
        debug.keep = EDSCR_TDA;
        add(&list, debug);
    }
    return list.n;
}

uint64_t stops_borrowed_mark(const struct core *core)
{
    return core->family == CORE_ARMV7 ? DBGDSCR_UDCCDIS : core->family == CORE_ARMV8 ? EDSCR_TDA : 0;
}

bool stops_has_not_left(const struct core *core, uint64_t status)
{
    const uint64_t still = EDSCR_HALTED | EDSCR_MA; /* the next stop clears MA */
    return core->family == CORE_ARMV8 && (status & still) == still;
}

bool stops_may_have_borrowed(const struct core *core, uint64_t status)
{
    if (core->family == CORE_ARMV7)
        return (status & DBGDSCR_ITREN) != 0;
    return core->family == CORE_ARMV8 && (status & (EDSCR_RXFULL | EDSCR_TXFULL | EDSCR_ERR)) != 0;
}

void stops_add_ready(const struct core *core, struct steps *list)
{
    if (core->family == CORE_ARMV8)
        steps_add(list, step_write(core_debug(core, EDRCR), EDRCR_CSE));
    else if (core_has_run_control(core))
        core_add_ready(core, list);
}
