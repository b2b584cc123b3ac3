// Execution: the emulator runs freely under a hook on each instruction. The hook accounts for the instruction
// before, for only now it is known whether that one jumped, and stops the emulator where something may have
// to happen first. An instruction takes a cycle, as does taking an exception: no timing of an A-class core is
// modelled.
#include "cpu/armv8.h"

#define NEVER 0xFFFFFFFFFFFFFFFCu // an address that nothing executes, where the emulator would stop
enum { RAISED_NONE = -1 };

void v8_log(struct armv8 *v8, enum truth_kind kind, uint64_t pc, uint32_t extra)
{
    if (v8->aarch32 && !v8->user32) {
        a32_log(v8, kind, (uint32_t)pc, extra);
        return;
    }
    a32_add_totals(v8);
    if (!truth_watching(v8->core.truth))
        return;
    truth_log(v8->core.truth,
              (struct truth_event){.kind = kind,
                                   .pc = (uint32_t)pc,
                                   .cycles = v8->core.cycles,
                                   .counted = v8->core.counted,
                                   .sp = (uint32_t)v8_stack(v8),
                                   .lr = (uint32_t)v8_x(v8, v8->aarch32 ? 14 : 30),
                                   .extra = extra},
              v8->totals);
}

uint32_t v8_context(const struct armv8 *v8)
{
    return v8->aarch32 && !v8->user32 ? a32_context(v8) : (uint32_t)v8->regs[R_CONTEXTIDR];
}

void v8_spend(struct armv8 *v8, uint64_t pc, bool asleep, uint64_t cycles)
{
    uint32_t context = v8_context(v8);
    if (core_spend(&v8->core, (uint32_t)pc, asleep, cycles))
        v8->sampled = (struct v8_sampled){.context = context, .level = v8->level, .secure = v8_secure(v8)};
    if (v8->core.truth->profile)
        profile_add(v8->core.truth->profile, context, PROFILE_CONTEXT, cycles);
    if (v8->stepping) {
        v8->stepping = false;
        v8->debug.edesr |= EDECR_SS;
        v8_attend(v8);
    }
}

static void begin(struct armv8 *v8, const struct a64 *instruction)
{
    v8->last = *instruction;
    v8->executing = true;
    v8->loaded = v8->stored = v8->unaligned = false;
    if (truth_watches(v8->core.truth, instruction->pc))
        v8_log(v8, TRUTH_REACH, instruction->pc, 0);
}

static void finish(struct armv8 *v8, uint64_t next)
{
    unsigned is = v8->last.is;
    bool passed = next != v8->last.pc + 4 || (is & A64_ALWAYS);
    v8->executing = false;
    v8->core.instructions++;
    v8->work++;
    v8->totals[V8_INSTRUCTION]++;
    v8->totals[V8_LOAD] += v8->loaded;
    v8->totals[V8_STORE] += v8->stored;
    v8->totals[V8_UNALIGNED] += v8->unaligned;
    if (is & A64_BRANCH) {
        v8->totals[V8_PC_WRITE] += passed;
        v8->totals[V8_BRANCH_IMMEDIATE] += (is & A64_IMMEDIATE) != 0; // taken or not, DDI 0487H D8.11
    }
    v8_spend(v8, v8->last.pc, false, 1);
}

static void look_for_overflow(struct armv8 *v8, uint64_t pc)
{
    v8_pass_overflow(v8, pc);
    v8->attention |= cti_requests_halt(&v8->cti) && v8->core.instructions >= v8->stops_from;
}

static void on_instruction(uc_engine *uc, uint64_t address, uint32_t size, void *user)
{
    struct armv8 *v8 = user;
    (void)size;
    if (v8->stuffing) {
        if (address != V8_SCRATCH)
            uc_emu_stop(uc);
        return;
    }
    if (v8->executing)
        finish(v8, address);
    if (v8->listens)
        look_for_overflow(v8, address);
    const struct a64 *instruction = a64_classify(&v8->classifier, (uint32_t)address);
    if (!v8->cleared && (v8->attention || v8->core.cycles >= v8->slice_end || (instruction->is & A64_OURS) ||
                         v8_matches(v8, address))) {
        v8->pc = address;
        v8->paused = true;
        uc_emu_stop(uc);
        return;
    }
    v8->cleared = false;
    begin(v8, instruction);
}

static void on_memory(uc_engine *uc, uc_mem_type type, uint64_t address, int size, int64_t value, void *user)
{
    struct armv8 *v8 = user;
    (void)uc, (void)value;
    v8->touched = address;
    if (type == UC_MEM_WRITE)
        v8->stored = true;
    else
        v8->loaded = true;
    if (v8->stuffing)
        return;
    v8->unaligned |= (address & (unsigned)(size - 1)) != 0;
    v8->totals[V8_MEMORY]++;
    if (!bus_bytes(v8->bus, (uint32_t)address, (uint32_t)size)) // a device, or nothing
        return;
    v8->totals[V8_L1D]++;
    v8->totals[V8_L1D_REFILL] += l1d_refills(&v8->l1d, (uint32_t)address);
}

// Nothing is there, or it cannot be written
static bool on_invalid(uc_engine *uc, uc_mem_type type, uint64_t address, int size, int64_t value, void *user)
{
    struct armv8 *v8 = user;
    (void)uc, (void)size, (void)value;
    v8->touched = address;
    v8->stored = type == UC_MEM_WRITE_UNMAPPED || type == UC_MEM_WRITE_PROT;
    return false;
}

static void on_raised(uc_engine *uc, uint32_t number, void *user)
{
    struct armv8 *v8 = user;
    v8->raised = (int)number;
    uc_emu_stop(uc);
}

bool v8_hook(struct armv8 *v8)
{
    uc_hook code, raised, memory, invalid;
    int accesses = UC_HOOK_MEM_READ | UC_HOOK_MEM_WRITE;
    // An empty range (begin above end) means everywhere. The casts are what uc_hook_add asks for.
    return uc_hook_add(v8->uc, &code, UC_HOOK_CODE, (void *)on_instruction, v8, 1, 0) == UC_ERR_OK &&
           uc_hook_add(v8->uc, &memory, accesses, (void *)on_memory, v8, 1, 0) == UC_ERR_OK &&
           uc_hook_add(v8->uc, &invalid, UC_HOOK_MEM_INVALID, (void *)on_invalid, v8, 1, 0) == UC_ERR_OK &&
           uc_hook_add(v8->uc, &raised, UC_HOOK_INTR, (void *)on_raised, v8, 1, 0) == UC_ERR_OK;
}

static void undefined(struct armv8 *v8)
{
    v8_enter(v8, EC_UNKNOWN, 0, v8->pc);
}

bool v8_halts_at_hlt(const struct armv8 *v8)
{
    return (v8->debug.control & EDSCR_HDE) && v8_may_halt(v8);
}

// SVC, HVC, SMC, BRK, HLT: DDI 0487H C4.1.65. What is none of them, or not allowed, is undefined.
static void perform_exception(struct armv8 *v8, const struct a64 *c)
{
    uint32_t which = c->op & 0x00E0001F, iss = c->op >> 5 & 0xFFFF;
    uint64_t after = v8->pc + 4;
    bool hypervisor = v8->level == 2 || (v8->level && (v8->regs[R_SCR] & SCR_HCE) && !v8_secure(v8));
    if (which == 0x00400000 && v8_halts_at_hlt(v8)) {
        v8_halt(v8, V8_STATUS_HLT);
        return;
    }
    begin(v8, c);
    if (which == 0x00000001) {
        finish(v8, after);
        v8_enter(v8, EC_SVC, iss, after);
    } else if (which == 0x00000002 && hypervisor) {
        finish(v8, after);
        v8_enter_at(v8, 2, EC_HVC, iss, after);
    } else if (which == 0x00000003 && v8->level) {
        finish(v8, after);
        v8_enter_at(v8, 3, EC_SMC, iss, after);
    } else {
        v8->executing = false;
        v8_enter(v8, which == 0x00200000 ? EC_BRK : EC_UNKNOWN, which == 0x00200000 ? iss : 0, v8->pc);
    }
}

static void sleep_now(struct armv8 *v8)
{
    if (v8->pending)
        return;
    v8->state = V8_ASLEEP;
    v8_idle(v8);
    v8_log(v8, TRUTH_SLEEP, v8->pc, 0);
}

static void perform_system(struct armv8 *v8, const struct a64 *c)
{
    static const uint32_t trap_fields[][3] = {
        // of the instruction: where, how many bits; where in the syndrome
        {19, 2, 20}, {5, 3, 17}, {16, 3, 14}, {12, 4, 10}, {0, 5, 5}, {8, 4, 1}, {21, 1, 0}};
    uint32_t iss = 0;
    begin(v8, c);
    enum v8_answer answer = c->is & A64_PSTATE ? v8_set_immediate(v8, c->op) : v8_system(v8, c->op);
    if (answer == V8_DONE) {
        finish(v8, v8->pc + 4);
        v8->pc += 4;
        return;
    }
    v8->executing = false;
    for (size_t i = 0; answer == V8_TRAPPED && i < sizeof trap_fields / sizeof *trap_fields; i++)
        iss |= (c->op >> trap_fields[i][0] & ((1u << trap_fields[i][1]) - 1)) << trap_fields[i][2];
    v8_enter(v8, answer == V8_TRAPPED ? EC_SYSTEM : EC_UNKNOWN, iss, v8->pc);
}

// Instructions of A64_OURS
static void perform(struct armv8 *v8, const struct a64 *c)
{
    if (c->is & A64_EXCEPTION) {
        perform_exception(v8, c);
    } else if (c->is & (A64_REGISTER | A64_PSTATE)) {
        perform_system(v8, c);
    } else if ((c->is & A64_ERET) && (!v8->level || c->op >> 21 & 1)) { // DRPS, or in EL0
        undefined(v8);
    } else {
        begin(v8, c);
        finish(v8, v8->pc + 4);
        v8->pc += 4;
        if (c->is & A64_ERET)
            v8_return(v8);
        else if (c->is & A64_WFI)
            sleep_now(v8);
    }
}

// Everything before the instruction at the PC. true: nothing did, it may execute.
static bool clear_to_execute(struct armv8 *v8)
{
    enum v8_status why;
    v8->attention = false;
    v8->listens = v8_listens(v8);
    v8_pass_overflow(v8, v8->pc);
    if (v8_pends_halt(v8, &why)) {
        v8_halt(v8, why);
        return false;
    }
    if (v8_interrupted(v8)) {
        v8_interrupt(v8);
        return false;
    }
    if (v8_matches(v8, v8->pc)) {
        v8_halt(v8, V8_STATUS_BREAKPOINT);
        return false;
    }
    const struct a64 *c = a64_classify(&v8->classifier, (uint32_t)v8->pc);
    if (!c->bytes || v8->pc >> 32) {
        v8_abort(v8, EC_INSTRUCTION_ABORT, v8->pc, false);
        return false;
    }
    if (c->is & A64_OURS) {
        perform(v8, c);
        return false;
    }
    return true;
}

// The emulator stopped by itself
static void sort_out(struct armv8 *v8, uc_err error)
{
    uint64_t now = v8_get(v8, UC_ARM64_REG_PC);
    bool fetch = error == UC_ERR_FETCH_UNMAPPED || error == UC_ERR_FETCH_PROT;
    if (fetch) { // the instruction before was a jump to there, and is done
        if (v8->executing)
            finish(v8, now);
        v8->pc = now;
        v8_abort(v8, EC_INSTRUCTION_ABORT, now, false);
        return;
    }
    v8->pc = v8->last.pc;
    v8->executing = false;
    if (error == UC_ERR_INSN_INVALID || error == UC_ERR_OK || error == UC_ERR_EXCEPTION)
        undefined(v8);
    else
        v8_abort(v8, EC_DATA_ABORT, v8->touched, v8->stored);
}

static void emulate(struct armv8 *v8)
{
    v8->cleared = true;
    v8->paused = v8->executing = false;
    v8->raised = RAISED_NONE;
    uc_err error = uc_emu_start(v8->uc, v8->pc, NEVER, 0, 0);
    if (!v8->paused)
        sort_out(v8, error);
}

static void sleep_on(struct armv8 *v8)
{
    enum v8_status why;
    uint64_t left = v8->slice_end - v8->core.cycles;
    v8_pass_overflow(v8, v8->pc);
    v8->stops_from = 0; // nothing executes that it could wait for
    if (v8->pending || v8_pends_halt(v8, &why)) {
        v8->state = V8_RUNNING;
        v8_log(v8, TRUTH_WAKE, v8->pc, 0);
        return;
    }
    if (v8_listens(v8) && pmu_v3_cycles_left(&v8->pmu) < left)
        left = pmu_v3_cycles_left(&v8->pmu);
    v8_spend(v8, v8->last.pc, true, left);
}

void v8_run(struct core *core, uint64_t cycles)
{
    struct armv8 *v8 = (struct armv8 *)core;
    v8->slice_end = core->cycles + cycles;
    core_begin(core);
    while (core->cycles < v8->slice_end && v8->state != V8_HALTED) {
        if (v8->aarch32)
            a32_run(v8, v8->slice_end - core->cycles);
        else if (v8->state == V8_ASLEEP)
            sleep_on(v8);
        else if (clear_to_execute(v8))
            emulate(v8);
    }
}
