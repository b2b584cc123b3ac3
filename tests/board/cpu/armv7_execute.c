// Execution: the emulator runs freely under a hook on each instruction. The hook accounts for the instruction
// before, for only now it is known whether that one jumped, and stops the emulator where something may have
// to happen first. An instruction takes a cycle, as does taking an exception: no timing of an A-class or
// R-class core is modelled.
#include "cpu/armv7.h"
#include "cpu/armv8.h"

#define NEVER 0xFFFFFFFCu // an address that nothing executes, where the emulator would stop

void v7_log(struct armv7 *v7, enum truth_kind kind, uint32_t pc, uint32_t extra)
{
    const struct pmu_v7_profile *pmu = &v7->profile->pmu;
    uint64_t counts[V7_EVENTS];
    if (a32_is_user(v7)) {
        v8_log(v7->outside, kind, pc, extra);
        return;
    }
    if (!truth_watching(v7->core->truth))
        return;
    for (size_t i = 0; i < pmu->count; i++)
        counts[i] = v7->totals[pmu->events[i]];
    truth_log(v7->core->truth,
              (struct truth_event){.kind = kind,
                                   .pc = pc,
                                   .cycles = v7->core->cycles,
                                   .counted = v7->core->counted,
                                   .sp = v7_get(v7, UC_ARM_REG_SP),
                                   .lr = v7_get(v7, UC_ARM_REG_LR),
                                   .extra = extra},
              counts);
}

void v7_spend(struct armv7 *v7, uint32_t pc, bool asleep, uint64_t cycles)
{
    enum { CONTEXTIDR = 13 };
    if (v7->outside) {
        v8_spend(v7->outside, pc, asleep, cycles);
        return;
    }
    bool drawn = core_spend(v7->core, pc, asleep, cycles);
    if (drawn)
        v7->sampled_context = v7_cp15(v7, CONTEXTIDR, 0, 1);
    if (drawn)
        v7->debug.sampled_target = v7->debug.last_target;
    if (v7->core->truth->profile)
        profile_add(v7->core->truth->profile, v7_cp15(v7, CONTEXTIDR, 0, 1), PROFILE_CONTEXT, cycles);
}

static void retire(struct armv7 *v7, uint32_t pc)
{
    v7->core->instructions++;
    v7->totals[V7_INSTRUCTION]++;
    v7->work++;
    v7_spend(v7, pc, false, 1);
}

void v7_begin(struct armv7 *v7, uint32_t pc, const struct classified *c)
{
    v7->last = *c;
    v7->executing = true;
    v7->loaded = v7->stored = v7->unaligned = false;
    if (c->is & OP_EXC_RETURN)
        v7->returns_from = v7_cpsr(v7) & CPSR_MODE;
    if (truth_watches(v7->core->truth, pc))
        v7_log(v7, TRUTH_REACH, pc, 0);
}

static void count_memory(struct armv7 *v7)
{
    v7->totals[V7_LOAD] += v7->loaded;
    v7->totals[V7_STORE] += v7->stored;
    v7->totals[V7_LOAD_OR_STORE] += v7->loaded || v7->stored;
    v7->totals[V7_UNALIGNED] += v7->unaligned;
}

// A condition field against the flags, DDI 0406C A8.3
static bool condition_holds(const struct armv7 *v7, unsigned code)
{
    uint32_t flags = v7_get(v7, UC_ARM_REG_CPSR) >> 28;
    bool n = flags & 8, z = flags & 4, carry = flags & 2, v = flags & 1;
    const bool tests[] = {z, carry, n, v, carry && !z, n == v, n == v && !z, true};
    return code >= 14 || tests[code >> 1 & 7] != (bool)(code & 1);
}

// Whether it is a conditional branch to the very next instruction, which does not show whether it was taken
static bool leads_to_next(const struct classified *c)
{
    if (c->pc & 1)
        return c->size == 2 && (c->op & 0xF0FF) == 0xD0FF;
    return (c->op & 0x0FFFFFFF) == 0x0AFFFFFF;
}

static bool was_taken(const struct armv7 *v7)
{
    const struct classified *c = &v7->last;
    return leads_to_next(c) && condition_holds(v7, c->pc & 1 ? c->op >> 8 & 15 : c->op >> 28);
}

static void count_branch(struct armv7 *v7, unsigned is, bool jumped)
{
    bool passed = jumped || (is & OP_ALWAYS) || was_taken(v7);
    v7->totals[V7_PC_WRITE] += (is & OP_PC_WRITE) && passed;
    v7->totals[V7_RETURN] += (is & OP_RETURN) && passed;
    v7->totals[V7_BRANCH_IMMEDIATE] += (is & OP_IMMEDIATE) != 0; // taken or not, DDI 0406C C12.8.2
}

// Rare instructions; for exception returns `jumped` means that the condition held
static void finish_special(struct armv7 *v7, unsigned is, bool jumped, uint32_t next)
{
    v7->totals[V7_ISB] += (is & OP_ISB) != 0;
    v7->totals[V7_DSB] += (is & OP_DSB) != 0;
    v7->totals[V7_DMB] += (is & OP_DMB) != 0;
    if (is & OP_IT)
        v7->it_left = v7->last.it_length;
    if (is & OP_INTERWORKS)
        v7->thumb = v7_get(v7, UC_ARM_REG_CPSR) & CPSR_T;
    if ((is & OP_EXC_RETURN) && (jumped || (is & OP_ALWAYS)))
        v7_returned(v7, v7->returns_from, next);
    if (is & OP_PSR) {
        v7->attention = true;
        v7_mode_changed(v7);
    }
}

void v7_finish(struct armv7 *v7, uint32_t next)
{
    unsigned is = v7->last.is;
    bool jumped = next != (v7->last.pc & ~1u) + v7->last.size;
    v7->executing = false;
    retire(v7, v7->last.pc);
    if (v7->loaded || v7->stored)
        count_memory(v7);
    if (is & (OP_PC_WRITE | OP_IMMEDIATE))
        count_branch(v7, is, jumped);
    if (is)
        finish_special(v7, is, jumped, next);
    if (jumped)
        v7->debug.last_target = next | (v7->thumb ? THUMB_SAMPLE : 0);
}

// Instructions of an IT block whose condition failed are not shown by the emulator: they lie between where it
// should have gone on and where it did
static void pass_over(struct armv7 *v7, uint32_t from, uint32_t to)
{
    while (v7->it_left && from != to) {
        const struct classified *c = classify(&v7->classifier, from, true);
        retire(v7, c->pc);
        v7->totals[V7_BRANCH_IMMEDIATE] += (c->is & OP_IMMEDIATE) != 0;
        v7->it_left--;
        from += c->size;
    }
}

static void look_for_overflow(struct armv7 *v7, uint32_t pc)
{
    v7_pass_overflow(v7, pc);
    v7->attention |= v7_requested(v7);
}

static bool is_ours(const struct armv7 *v7, const struct classified *c)
{
    return (c->is & OP_OURS) || (v7->outside && (c->is & OP_HLT)) ||
           (v7->profile->has_hyp && (c->is & OP_HYP));
}

static void on_instruction(uc_engine *uc, uint64_t address, uint32_t size, void *user)
{
    struct armv7 *v7 = user;
    uint32_t pc = (uint32_t)address;
    (void)size;
    if (v7->stuffing) {
        if (pc != V7_SCRATCH)
            uc_emu_stop(uc);
        return;
    }
    if (v7->executing) {
        uint32_t expected = (v7->last.pc & ~1u) + v7->last.size;
        bool in_block = v7->it_left;
        v7_finish(v7, in_block || v7->last.it_length ? expected : pc);
        pass_over(v7, expected, pc);
    }
    if (v7->listens)
        look_for_overflow(v7, pc);
    const struct classified *c = classify(&v7->classifier, pc, v7->thumb);
    if (v7->it_left) {
        v7->it_left--;
    } else if (!v7->cleared &&
               (v7->attention || v7->core->cycles >= v7->slice_end || is_ours(v7, c) || v7_matches(v7, pc))) {
        v7->paused = true;
        uc_emu_stop(uc);
        return;
    }
    v7->cleared = false;
    v7_begin(v7, pc, c);
}

static void on_memory(uc_engine *uc, uc_mem_type type, uint64_t address, int size, int64_t value, void *user)
{
    struct armv7 *v7 = user;
    (void)uc, (void)value;
    v7->touched = (uint32_t)address;
    if (type == UC_MEM_WRITE)
        v7->stored = true;
    else
        v7->loaded = true;
    if (v7->stuffing)
        return;
    v7->unaligned |= (address & (unsigned)(size - 1)) != 0;
    if (!bus_bytes(v7->bus, v7->touched, (uint32_t)size)) // a device, or nothing
        return;
    v7->totals[V7_L1D_ACCESS]++;
    v7->totals[V7_L1D_REFILL] += l1d_refills(&v7->l1d, v7->touched);
}

// Nothing is mapped for it: an abort follows
static bool on_invalid(uc_engine *uc, uc_mem_type type, uint64_t address, int size, int64_t value, void *user)
{
    struct armv7 *v7 = user;
    (void)uc, (void)type, (void)size, (void)value;
    v7->touched = (uint32_t)address;
    return false;
}

static void on_raised(uc_engine *uc, uint32_t number, void *user)
{
    struct armv7 *v7 = user;
    v7->raised = (int)number;
    uc_emu_stop(uc);
}

bool v7_hook(struct armv7 *v7)
{
    uc_hook code, raised, memory, invalid;
    int accesses = UC_HOOK_MEM_READ | UC_HOOK_MEM_WRITE;
    // An empty range (begin above end) means everywhere. The casts are what uc_hook_add asks for.
    return uc_hook_add(v7->uc, &code, UC_HOOK_CODE, (void *)on_instruction, v7, 1, 0) == UC_ERR_OK &&
           uc_hook_add(v7->uc, &memory, accesses, (void *)on_memory, v7, 1, 0) == UC_ERR_OK &&
           uc_hook_add(v7->uc, &invalid, UC_HOOK_MEM_INVALID, (void *)on_invalid, v7, 1, 0) == UC_ERR_OK &&
           uc_hook_add(v7->uc, &raised, UC_HOOK_INTR, (void *)on_raised, v7, 1, 0) == UC_ERR_OK;
}

static void breakpoint_instruction(struct armv7 *v7)
{
    if (!v7->outside && v7_halting(v7)) // on Armv8 it never enters Debug state
        v7_halt(v7, MOE_BKPT);
    else
        v7_abort(v7, V7_PREFETCH_ABORT, v7->pc, FS_DEBUG);
}

static void undefined(struct armv7 *v7, uint32_t pc, unsigned size)
{
    v7->pc = pc;
    v7_enter(v7, V7_UNDEFINED, pc + size);
}

static void sleep_now(struct armv7 *v7)
{
    if (v7->pending)
        return;
    v7->state = V7_ASLEEP;
    v7_idle(v7);
    v7_log(v7, TRUTH_SLEEP, v7->pc, 0);
}

// Instructions of OP_OURS
static void perform(struct armv7 *v7, const struct classified *c)
{
    uint32_t pc = v7->pc, next = pc + c->size;
    unsigned is = c->is;
    if (!(c->pc & 1) && !condition_holds(v7, c->op >> 28)) {
        is = 0;
    } else if (is & OP_BKPT) {
        breakpoint_instruction(v7);
        return;
    } else if (is & OP_HLT) {
        if (v8_halts_at_hlt(v7->outside))
            v8_halt(v7->outside, V8_STATUS_HLT);
        else
            undefined(v7, pc, c->size);
        return;
    } else if (is & OP_HYP) {
        if (!hyp_perform(v7, c))
            undefined(v7, pc, c->size);
        return;
    } else if ((is & OP_COPROCESSOR) && !v7_coprocessor(v7, c->op)) {
        undefined(v7, pc, c->size);
        return;
    }
    v7_begin(v7, pc, c);
    v7->pc = next;
    v7_finish(v7, next);
    if (is & OP_SVC)
        v7_enter(v7, V7_SVC, next);
    else if (is & OP_WAIT)
        sleep_now(v7);
}

// Everything before the instruction at the PC. true: nothing did, it may execute.
static bool clear_to_execute(struct armv7 *v7)
{
    v7->attention = false;
    v7->listens = v7_listens(v7);
    v7_pass_overflow(v7, v7->pc);
    if (v7_requested(v7)) {
        v7_halt(v7, MOE_EXTERNAL);
        return false;
    }
    if (v7_interrupted(v7)) {
        v7_interrupt(v7);
        return false;
    }
    if (v7_matches(v7, v7->pc)) {
        v7_halt(v7, MOE_BREAKPOINT);
        return false;
    }
    const struct classified *c = classify(&v7->classifier, v7->pc, v7->thumb);
    if (!c->bytes) {
        v7_abort(v7, V7_PREFETCH_ABORT, v7->pc, FS_EXTERNAL);
        return false;
    }
    if (is_ours(v7, c)) {
        perform(v7, c);
        return false;
    }
    return true;
}

// The emulator stopped by itself: a fault, or something of ours inside an IT block
static void sort_out(struct armv7 *v7, uc_err error)
{
    uint32_t at = v7->last.pc & ~1u, now = v7->pc;
    bool fetch =
        error == UC_ERR_FETCH_UNMAPPED || error == UC_ERR_FETCH_PROT || v7->raised == RAISED_PREFETCH_ABORT;
    unsigned is = v7->last.is;
    bool executed = v7->executing && (now != at || fetch);
    v7->it_left = 0;
    if (executed)
        v7_finish(v7, now);
    v7->executing = false;
    if (executed && !fetch) { // SVC, or a hint that the emulator does not know
        if (is & OP_SVC)
            v7_enter(v7, V7_SVC, now);
        else if (is & OP_WAIT)
            sleep_now(v7);
        else if (!(is & OP_IDLE))
            undefined(v7, at, v7->last.size);
        return;
    }
    v7->pc = fetch ? now : at;
    if (v7->raised == RAISED_BKPT)
        breakpoint_instruction(v7);
    else if (v7->raised == RAISED_DATA_ABORT)
        v7_abort(v7, V7_DATA_ABORT, v7->touched, FS_ALIGNMENT);
    else if (v7->raised == RAISED_PREFETCH_ABORT)
        v7_abort(v7, V7_PREFETCH_ABORT, now, FS_PERMISSION);
    else if (error == UC_ERR_INSN_INVALID || error == UC_ERR_OK || error == UC_ERR_EXCEPTION)
        undefined(v7, at, v7->last.size);
    else
        v7_abort(v7, fetch ? V7_PREFETCH_ABORT : V7_DATA_ABORT, fetch ? now : v7->touched, FS_EXTERNAL);
}

static void emulate(struct armv7 *v7)
{
    v7->cleared = true;
    v7->paused = v7->executing = false;
    v7->raised = RAISED_NONE;
    v7->it_left = 0;
    uc_err error = uc_emu_start(v7->uc, v7->pc | v7->thumb, NEVER, 0, 0);
    v7->pc = v7_get(v7, UC_ARM_REG_PC) & ~1u;
    v7->thumb = v7_get(v7, UC_ARM_REG_CPSR) & CPSR_T;
    if (!v7->paused)
        sort_out(v7, error);
}

static void sleep_on(struct armv7 *v7)
{
    uint64_t left = v7->slice_end - v7->core->cycles;
    v7_pass_overflow(v7, v7->pc);
    v7->stops_from = 0; // nothing executes that it could wait for
    if (v7->pending || v7_requested(v7)) {
        v7->state = V7_RUNNING;
        v7_log(v7, TRUTH_WAKE, v7->pc, 0);
        return;
    }
    uint64_t overflows = v7->outside ? pmu_v3_cycles_left(&v7->outside->pmu) : pmu_v7_cycles_left(&v7->pmu);
    if (v7_listens(v7) && overflows < left)
        left = overflows;
    v7_spend(v7, v7->last.pc, true, left);
}

void v7_run_inside(struct armv7 *v7, uint64_t cycles)
{
    v7->slice_end = v7->core->cycles + cycles;
    core_begin(v7->core);
    while (v7->core->cycles < v7->slice_end && v7->state != V7_HALTED &&
           (!v7->outside || v7->outside->aarch32)) {
        if (v7->state == V7_ASLEEP)
            sleep_on(v7);
        else if (clear_to_execute(v7))
            emulate(v7);
    }
}

void v7_run(struct core *core, uint64_t cycles)
{
    v7_run_inside((struct armv7 *)core, cycles);
}
