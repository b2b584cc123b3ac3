// Execution: the emulator runs freely under a hook on each instruction. The hook charges the instruction
// before, for only now it is known whether that one jumped, and stops the emulator where something may have
// to happen first: an exception, a breakpoint, the end of the slice, an instruction that is ours to perform.
#include "cpu/classify_v7.h"
#include "cpu/cortex_m.h"

#define NEVER            0xFFFFFFFEu // an address that nothing executes, where the emulator would stop
#define EXC_RETURN_FIRST 0xFFFFFF80u
#define CFSR_IBUSERR     (1u << 8)
#define CFSR_PRECISERR   (1u << 9)
#define CFSR_UNDEFINSTR  (1u << 16)
#define CFSR_INVSTATE    (1u << 17)
#define XPSR_T           (1u << 24)
#define XPSR_EXCEPTION   0x1FFu

enum { RAISED_NONE = -1 };

static uint64_t least(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

static void reach(struct cortex_m *cm, uint32_t pc)
{
    if (truth_watches(cm->core.truth, pc))
        cm_log(cm, TRUTH_REACH, pc, 0);
    cm_trace_code(cm, pc);
}

static void begin(struct cortex_m *cm, const struct decoded *instruction)
{
    cm->last = instruction;
    if (truth_may_watch(cm->core.truth, instruction->pc))
        reach(cm, instruction->pc);
}

// The emulator does not show the instructions of an IT block that are not executed: a cycle each
static void count_skipped(struct cortex_m *cm, uint32_t pc, uint32_t next)
{
    while (pc < next && next <= cm->it_end) {
        cm_retire(cm, pc, (struct cost){0});
        pc = decode_past(&cm->decoder, pc, 1);
    }
}

// Whether something may happen between the instructions of the IT block that begins here, or one of them is
// ours. The emulator cannot stop inside: then they are executed one by one.
static bool may_stop_inside(struct cortex_m *cm, const struct decoded *it)
{
    enum { LONG = 64 }; // cycles that no block takes
    uint64_t left = least(cm->pause_at - cm->core.cycles, cm->systick.next_zero - cm->core.counted);
    bool may_stop = left < LONG || cm->stop_cause || cm->stores_seen || cm_looks_for_overflow(cm);
    uint32_t pc = it->pc + 2;
    for (unsigned i = 0; i < it->it && !may_stop; i++) {
        const struct decoded *inside = decode(&cm->decoder, pc);
        may_stop = inside->ours || fpb_match(&cm->fpb, pc);
        pc += inside->wide ? 4 : 2;
    }
    return may_stop;
}

static void finish(struct cortex_m *cm, uint32_t next)
{
    const struct decoded *last = cm->last;
    uint32_t follower = last->pc + (last->wide ? 4 : 2);
    cm->last = NULL;
    if (last->it)
        cm->it_end = decode_past(&cm->decoder, follower, last->it);
    // One that always jumps may jump to the very next instruction; in an IT block its condition may have
    // failed
    bool always = (last->is & OP_PC_WRITE) && (last->is & OP_ALWAYS) && follower > cm->it_end;
    bool jumped = always || (next != follower && (next < follower || next > cm->it_end));
    cm_retire(cm, last->pc, last->cost[jumped]);
    if (cm->stalled)
        cm_spend(cm, DWT_LSU, last->pc, cm->stalled);
    cm->stalled = 0;
    if (cm->stop_cause)
        cm_stop_comes(cm);
    if (cm->pmu.counters)
        cm_account(cm, last, jumped);
    if (!jumped)
        count_skipped(cm, follower, next);
    cm_advance_it(cm, jumped);
    if (jumped || next >= cm->it_end)
        cm->it_end = 0;
    if (last->unmasks)
        cm->attention = true;
}

static void on_instruction(uc_engine *uc, uint64_t address, uint32_t size, void *user)
{
    struct cortex_m *cm = user;
    uint32_t pc = (uint32_t)address;
    (void)size;
    if (cm->stuffing)
        return;
    bool was_alone = cm->last && cm->it;
    if (cm->last)
        finish(cm, pc);
    const struct decoded *instruction = decode(&cm->decoder, pc);
    bool may_stop = !cm->cleared && !cm->it_end;
    if (was_alone ||
        (may_stop && (cm->attention || cm->one_only || cm->core.cycles >= cm->pause_at || instruction->ours ||
                      fpb_match(&cm->fpb, pc) || (instruction->it && may_stop_inside(cm, instruction))))) {
        cm->paused = true;
        uc_emu_stop(uc);
        return;
    }
    if (instruction->counts_down && !cm->one_only && !cm->it_end)
        cm_skip_rounds(cm, instruction);
    cm->cleared = false;
    begin(cm, instruction);
}

static void on_raised(uc_engine *uc, uint32_t number, void *user)
{
    struct cortex_m *cm = user;
    cm->raised = (int)number;
    uc_emu_stop(uc);
}

bool cm_hook(struct cortex_m *cm)
{
    uc_hook code, raised;
    // An empty range (begin above end) means everywhere. The casts are what uc_hook_add asks for.
    return uc_hook_add(cm->uc, &code, UC_HOOK_CODE, (void *)on_instruction, cm, 1, 0) == UC_ERR_OK &&
           uc_hook_add(cm->uc, &raised, UC_HOOK_INTR, (void *)on_raised, cm, 1, 0) == UC_ERR_OK;
}

static void sleep_now(struct cortex_m *cm, uint32_t pc, bool for_event)
{
    cm->waiting_for_event = for_event;
    if (for_event && cm->event) {
        cm->event = false;
        return;
    }
    if (cm_wakes(cm))
        return;
    cm->state = CM_ASLEEP;
    cm->sleeps_at = pc;
    cm_log(cm, TRUTH_SLEEP, cm_pc(cm), 0);
}

static void perform(struct cortex_m *cm, const struct decoded *instruction)
{
    uint32_t pc = instruction->pc;
    uint16_t op = instruction->first;
    if (op_is_bkpt(op)) {
        cm_breakpoint(cm, pc, true);
        return;
    }
    begin(cm, instruction);
    cm_set_pc(cm, pc + 2);
    finish(cm, pc + 2);
    if (instruction->it)
        cm->it = (uint8_t)op;
    cm_store_it(cm);
    if (op_is_svc(op))
        cm_svc(cm, pc + 2);
    else if (op == OP_SEV)
        cm->event = true;
    else if (op == OP_WFI || op == OP_WFE)
        sleep_now(cm, pc, op == OP_WFE);
}

static void skip_inside(struct cortex_m *cm, const struct decoded *skipped)
{
    cm_retire(cm, skipped->pc, (struct cost){0});
    cm_set_pc(cm, skipped->pc + (skipped->wide ? 4 : 2));
    cm_advance_it(cm, false);
    cm_store_it(cm);
}

// Everything before the instruction at the PC. true: nothing did, it may execute.
static bool clear_to_execute(struct cortex_m *cm, bool stepping)
{
    uint32_t pc = cm_pc(cm);
    cm->attention = false;
    if (cm->reset_requested) {
        cm_reset(cm);
        return false;
    }
    if (cm_may_halt(cm) && (cm->debug.control & C_HALT)) { // the core asked for it itself
        cm_halt(cm, DFSR_HALTED);
        return false;
    }
    cm_look_at_counters(cm);
    if (cm_stops_now(cm) && cm_stop(cm))
        return false;
    cm_load_it(cm);
    bool skipped = !cm_condition_passes(cm);
    unsigned exception = cm_exception_to_take(cm);
    bool breakpoint = !stepping && fpb_match(&cm->fpb, pc) && !(skipped && cm->flavour.stops_if_done);
    if (exception) {
        cm_enter(cm, exception, pc);
        if (breakpoint && cm->profile->halts_in_handler && cm_may_halt(cm) && cm->state == CM_RUNNING)
            cm_halt(cm, DFSR_BKPT);
        return false;
    }
    if (breakpoint && (cm_may_halt(cm) || cm_monitor_takes(cm))) {
        cm_breakpoint(cm, pc, false);
        return false;
    }
    const struct decoded *instruction = decode(&cm->decoder, pc);
    if (!instruction->fetched) {
        cm_fault(cm, pc, CFSR_IBUSERR);
        return false;
    }
    cm->pause_at = cm_quiet_until(cm);
    if (skipped && !op_is_bkpt(instruction->first)) // BKPT has no condition (DDI 0403E A7.7.17)
        skip_inside(cm, instruction);
    else if (instruction->ours || (instruction->it && (stepping || may_stop_inside(cm, instruction))))
        perform(cm, instruction);
    else
        return true;
    return false;
}

// The emulator stopped by itself: a fault or an exception return
static void sort_out(struct cortex_m *cm, uc_err error)
{
    uint32_t pc = cm_pc(cm);
    if (cm->last && pc != cm->last->pc) {
        uint32_t from = cm->last->pc;
        finish(cm, pc);
        cm_store_it(cm);
        if (pc >= EXC_RETURN_FIRST && (cm_get(cm, UC_ARM_REG_XPSR) & XPSR_EXCEPTION))
            cm_return(cm, from, pc);
        else if (error != UC_ERR_OK || cm->raised != RAISED_NONE)
            cm_fault(cm, pc, (cm_get(cm, UC_ARM_REG_XPSR) & XPSR_T) ? CFSR_IBUSERR : CFSR_INVSTATE);
        return;
    }
    cm->last = NULL;
    cm_fault(cm, pc, error == UC_ERR_INSN_INVALID ? CFSR_UNDEFINSTR : CFSR_PRECISERR);
}

static void emulate(struct cortex_m *cm)
{
    cm->cleared = true;
    cm->paused = false;
    cm->raised = RAISED_NONE;
    cm->last = NULL;
    cm_hook_stores(cm);
    if (cm->it)
        cm_isolate_it(cm);
    uc_err error = uc_emu_start(cm->uc, cm_pc(cm) | 1, NEVER, 0, 0);
    cm_store_it(cm);
    if (!cm->paused)
        sort_out(cm, error);
}

void cm_execute_one(struct cortex_m *cm)
{
    if (cm->state != CM_RUNNING || !clear_to_execute(cm, true))
        return;
    cm->one_only = true;
    emulate(cm);
    cm->one_only = false;
}

static void sleep_on(struct cortex_m *cm)
{
    cm_look_at_counters(cm);
    if (cm->stop_cause && cm_stop(cm)) // nothing executes that it could wait for
        return;
    if (cm_wakes(cm)) {
        cm->event = cm->event && !cm->waiting_for_event;
        cm->state = CM_RUNNING;
        cm_log(cm, TRUTH_WAKE, cm_pc(cm), 0);
        return;
    }
    uint64_t left = cm_quiet_until(cm) - cm->core.cycles, tick = cm->systick.next_zero - cm->core.counted;
    if (cm_looks_for_overflow(cm))
        left = least(left, pmu_v81m_cycles_left(&cm->pmu));
    cm_spend(cm, DWT_SLEEP, cm->sleeps_at, least(left, tick));
}

static void stay_locked(struct cortex_m *cm)
{
    if ((cm->nvic.pending & exc_bit(EXC_NMI)) && !(cm->nvic.active & exc_bit(EXC_NMI))) {
        cm->state = CM_RUNNING;
        cm_enter(cm, EXC_NMI, cm_pc(cm));
        return;
    }
    cm_spend(cm, DWT_CPI, cm_pc(cm), cm->slice_end - cm->core.cycles);
}

void cm_run(struct core *core, uint64_t cycles)
{
    struct cortex_m *cm = (struct cortex_m *)core;
    cm->slice_end = core->cycles + cycles;
    core_begin(core);
    while (core->cycles < cm->slice_end) {
        switch (cm->state) {
        case CM_HALTED:
            return;
        case CM_LOCKUP:
            stay_locked(cm);
            break;
        case CM_ASLEEP:
            sleep_on(cm);
            break;
        case CM_RUNNING:
            if (clear_to_execute(cm, false))
                emulate(cm);
            break;
        }
    }
    cm_trace_catch_up(cm);
}
