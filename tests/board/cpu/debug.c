// Entering and leaving Debug state, and what DHCSR says of it (DDI 0403E C1.6, DDI 0419 C1.5). Each stay
// moves the counters, at entry and at exit, by what halt_cost.c draws; the program's own cycles do not move.
#include "cpu/cortex_m.h"

#define DHCSR_KEY      0xA05Fu
#define DHCSR_CONTROLS (C_DEBUGEN | C_HALT | C_STEP | C_MASKINTS)
#define DHCSR_V81M     (DHCSR_CONTROLS | C_PMOV)
#define HFSR_DEBUGEVT  (1u << 31)
// The interrupt that a peripheral may raise while the core is halted
#define HALT_IRQ (EXC_IRQ0 + 3)

// Of either kind, invasive or not
bool cm_debug_permitted(const struct cortex_m *cm)
{
    const struct bus_security *s = &cm->flavour.security;
    return !cm->profile->security || s->non_secure_program || !s->refuses_secure;
}

bool cm_may_halt(const struct cortex_m *cm)
{
    return cm_debug_permitted(cm) && (cm->debug.control & C_DEBUGEN);
}

// DDI 0403E C1.6.5, DEMCR.MON_EN: only without halting debug
bool cm_monitors(const struct cortex_m *cm)
{
    return cm->profile->v7m && !(cm->debug.control & C_DEBUGEN) && (cm->debug.demcr & MON_EN);
}

// DDI 0403E C1.3, table C1-9, and B3.2.16: where neither debug state nor the monitor can take it, BKPT is a
// HardFault, and a match of the breakpoint unit nothing
void cm_breakpoint(struct cortex_m *cm, uint32_t pc, bool instruction)
{
    if (cm_may_halt(cm)) {
        cm_halt(cm, DFSR_BKPT);
    } else if (cm_monitor_takes(cm)) {
        cm->debug.dfsr |= DFSR_BKPT;
        cm_enter(cm, EXC_DEBUGMONITOR, pc);
    } else if (instruction) {
        cm->system.hfsr |= cm->profile->v7m ? HFSR_DEBUGEVT : 0;
        cm_fault(cm, pc, 0);
    }
}

static uint32_t of_program(const struct cortex_m *cm, unsigned n)
{
    enum { SPECIAL = 20 };
    return cm_selected(cm, n < CM_PROGRAM - 1 ? n : SPECIAL);
}

uint64_t cm_borrowed(const struct cortex_m *cm)
{
    uint64_t borrowed = 0;
    for (unsigned i = 0; cm->state == CM_HALTED && i < CM_PROGRAM; i++)
        borrowed |= (uint64_t)(of_program(cm, i) != cm->at_halt[i]) << i;
    return borrowed;
}

// "an exit from Debug state might [...] clear the Exclusives monitors" (DDI 0487 H2.5; of Armv7-M nothing
// says that it does not). By CLREX, from a page that only the emulator has
static void lose_exclusive(struct cortex_m *cm)
{
    enum { CLREX = (int)0x8F2FF3BF, SCRATCH = 0x7FFF0000, SCRATCH_SIZE = 4096 };
    uint32_t pc = cm_pc(cm), op = (uint32_t)CLREX;
    if (!cm->flavour.loses_exclusives || cm->it)
        return;
    (void)uc_mem_map(cm->uc, SCRATCH, SCRATCH_SIZE, UC_PROT_ALL); // again: it is there
    uc_mem_write(cm->uc, SCRATCH, &op, sizeof op);
    cm->stuffing = true;
    if (uc_emu_start(cm->uc, SCRATCH | 1, SCRATCH + 4, 0, 0) != UC_ERR_OK)
        fprintf(stderr, "board: the exclusive monitor cannot be cleared\n");
    cm->stuffing = false;
    cm_set_pc(cm, pc);
}

void cm_halt(struct cortex_m *cm, uint32_t cause)
{
    for (unsigned i = 0; i < CM_PROGRAM; i++)
        cm->at_halt[i] = of_program(cm, i);
    cm_look_at_counters(cm);
    cause |= cm->stop_cause;
    cm->stop_cause = 0;
    cm->was_asleep = cm->state == CM_ASLEEP;
    cm->pending_before = cm->nvic.pending;
    cm->state = CM_HALTED;
    core_enter_debug(&cm->core);
    cm->debug.control |= C_HALT;
    cm->debug.dfsr |= cause;
    cm_count(cm, halt_cost_entry(cm->core.halt_cost));
    cm_forget_counters(cm);
    if (halt_cost_interrupts(cm->core.halt_cost))
        cm_pend(cm, HALT_IRQ);
    cm_log(cm, TRUTH_HALT, cm_pc(cm), cause);
    lose_exclusive(cm);
}

static uint32_t run_notes(const struct cortex_m *cm, uint64_t seen_pending)
{
    uint32_t notes = cm->work == cm->work_at_run ? RUN_NOTHING_DONE : 0;
    unsigned exception = cm_exception_to_take(cm);
    if (!exception)
        return notes;
    notes |= RUN_PREEMPTED;
    if (!(seen_pending & exc_bit(exception)))
        notes |= RUN_PENDED_AT_EXIT;
    else if (!(cm->pending_before & exc_bit(exception)))
        notes |= RUN_PENDED_WHILE_HALTED;
    return notes;
}

static void resume(struct cortex_m *cm)
{
    bool step = (cm->debug.control & (C_DEBUGEN | C_STEP)) == (C_DEBUGEN | C_STEP);
    uint64_t seen_pending = cm->nvic.pending;
    cm->altered += cm_borrowed(cm) != 0;
    cm_count(cm, halt_cost_exit(cm->core.halt_cost));
    cm_log(cm, TRUTH_RUN, cm_pc(cm), run_notes(cm, seen_pending));
    cm->work_at_run = cm->work;
    cm->debug.restarted = cm->profile->v81m;
    cm->state = cm->was_asleep && !step ? CM_ASLEEP : CM_RUNNING;
    cm->was_asleep = false;
    core_leave_debug(&cm->core);
    if (!step)
        return;
    cm_execute_one(cm);
    if (cm->state != CM_HALTED)
        cm_halt(cm, DFSR_HALTED);
}

void cm_write_dhcsr(struct cortex_m *cm, uint32_t value, enum bus_master master)
{
    if (value >> 16 != DHCSR_KEY)
        return;
    uint32_t control = value & (cm->profile->v81m ? DHCSR_V81M : DHCSR_CONTROLS);
    if (master == BUS_CORE) // software cannot turn debugging on or off
        control = (control & ~C_DEBUGEN) | (cm->debug.control & C_DEBUGEN);
    if (!(control & C_DEBUGEN))
        control = 0;
    cm->debug.control = control;
    cm->attention = true;
    if (cm->state == CM_HALTED && !(control & C_HALT))
        resume(cm);
    else if (cm->state != CM_HALTED && (control & C_HALT) && !cm->held_in_reset && master != BUS_CORE &&
             cm_may_halt(cm))
        cm_halt(cm, DFSR_HALTED);
}

uint32_t cm_peek_dhcsr(const struct cortex_m *cm)
{
    return cm->debug.control | S_REGRDY | (cm->state == CM_HALTED ? S_HALT : 0) |
           (cm->state == CM_ASLEEP ? S_SLEEP : 0) | (cm->state == CM_LOCKUP ? S_LOCKUP : 0) |
           (cm->debug.retired ? S_RETIRE_ST : 0) | (cm->debug.was_reset ? S_RESET_ST : 0) |
           (cm->debug.restarted ? S_RESTART_ST : 0) |
           (cm->profile->security && !cm->flavour.security.refuses_secure ? S_SDE : 0);
}

uint32_t cm_read_dhcsr(struct cortex_m *cm, enum bus_master master)
{
    uint32_t value = cm_peek_dhcsr(cm);
    if (master != BUS_CORE) {
        cm->debug.retired = false;
        cm->debug.was_reset = false;
        cm->debug.restarted = false;
    }
    return value;
}
