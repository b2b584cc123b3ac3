// Entering and leaving Debug state, and the breakpoint comparators (DDI 0406C C3, C5). Each stay moves the
// cycle counter, at entry and at exit, by what halt_cost.c draws; the program's own cycles do not move. Not
// modelled: watchpoints (registers only), context comparators that nothing is linked to, monitor debug-mode.
#include "cpu/armv7.h"
#include "cpu/armv8.h"

#include <string.h>

// The interrupt that a peripheral may raise while the core is halted
enum { HALT_IRQ = 3 };
#define CLREX 0xF57FF01Fu
// DBGBCR, DDI 0406C C11.11.2
#define BCR_E         (1u << 0)
#define BCR_PMC(bcr)  ((bcr) >> 1 & 3)
#define BCR_HMC       (1u << 13)
#define BCR_BAS(bcr)  ((bcr) >> 5 & 15)
#define BCR_TYPE(bcr) ((bcr) >> 20 & 15)
#define BCR_LBN(bcr)  ((bcr) >> 16 & 15)
enum { TYPE_MATCH = 0, TYPE_LINKED_MATCH = 1, TYPE_CONTEXT = 2, TYPE_LINKED_CONTEXT = 3, TYPE_MISMATCH = 4 };
enum { PMC_USER_SYSTEM_SVC = 0, PMC_PRIVILEGED = 1, PMC_USER = 2 };

bool v7_halting(const struct armv7 *v7)
{
    return (v7->debug.control & DSCR_HDBGEN) && !v7->debug.os_locked;
}

static uint64_t bit_of(uint32_t pc)
{
    return (uint64_t)1 << ((pc >> 2) & 63);
}

void v7_comparators_changed(struct armv7 *v7)
{
    struct v7_debug *d = &v7->debug;
    d->bloom = 0;
    d->mismatch = false;
    for (unsigned i = 0; v7_halting(v7) && i < v7->profile->breakpoints; i++) {
        if (!(d->bcr[i] & BCR_E))
            continue;
        d->mismatch |= BCR_TYPE(d->bcr[i]) == TYPE_MISMATCH;
        d->bloom |= bit_of(d->bvr[i]);
    }
    v7->attention = true;
}

unsigned v7_first_context(const struct armv7 *v7)
{
    return v7->profile->breakpoints - ((v7->profile->didr >> 20 & 15) + 1);
}

// The last comparators can match a context ID, and hold all of it while they are set to
uint32_t v7_value_bits(const struct armv7 *v7, unsigned n)
{
    unsigned type = BCR_TYPE(v7->debug.bcr[n]);
    return n >= v7_first_context(v7) && (type == TYPE_CONTEXT || type == TYPE_LINKED_CONTEXT) ? 0xFFFFFFFF
                                                                                              : 0xFFFFFFFC;
}

// Only with HMC; then by SSC and PMC (DDI 0406C C11.11.1)
static bool in_hyp_mode(uint32_t bcr)
{
    enum { SSC_SECURE = 2, SSC_ONLY_HYP = 3 };
    unsigned ssc = bcr >> 14 & 3, pmc = BCR_PMC(bcr);
    if (!(bcr & BCR_HMC) || ssc == SSC_SECURE)
        return false;
    return ssc == SSC_ONLY_HYP ? pmc == PMC_USER_SYSTEM_SVC : pmc & PMC_PRIVILEGED;
}

static bool in_mode(const struct armv7 *v7, uint32_t bcr)
{
    uint32_t pmc = BCR_PMC(bcr);
    if (v7_in_hyp(v7))
        return in_hyp_mode(bcr);
    if (pmc == PMC_USER)
        return v7_user(v7);
    if (pmc == PMC_PRIVILEGED)
        return !v7_user(v7);
    uint32_t mode = v7_get(v7, UC_ARM_REG_CPSR) & CPSR_MODE;
    return pmc != PMC_USER_SYSTEM_SVC || mode == MODE_USER || mode == CPSR_MODE || mode == MODE_SVC;
}

// What a comparator is linked to must be one of CONTEXTIDR, with all bytes selected (DDI 0406C C3.3)
static bool in_context(const struct armv7 *v7, unsigned linked_to)
{
    enum { CONTEXTIDR = 13 };
    uint32_t bcr = linked_to < v7->profile->breakpoints ? v7->debug.bcr[linked_to] : 0;
    return linked_to >= v7_first_context(v7) && (bcr & BCR_E) && BCR_TYPE(bcr) == TYPE_LINKED_CONTEXT &&
           BCR_BAS(bcr) == 15 && v7->debug.bvr[linked_to] == v7_cp15(v7, CONTEXTIDR, 0, 1);
}

// In either instruction set the lowest byte of the instruction must be selected
static bool comparator_hits(const struct armv7 *v7, unsigned i, uint32_t pc)
{
    uint32_t bcr = v7->debug.bcr[i], type = BCR_TYPE(bcr);
    if (!(bcr & BCR_E) || (type > TYPE_LINKED_MATCH && type != TYPE_MISMATCH) || !in_mode(v7, bcr))
        return false;
    bool same = (pc & ~3u) == v7->debug.bvr[i] && (BCR_BAS(bcr) >> (pc & 3) & 1);
    if (type == TYPE_MISMATCH)
        return !same;
    return same && (type == TYPE_MATCH || in_context(v7, BCR_LBN(bcr)));
}

// Apart from v7_matches, which the compiler then keeps small: it is asked before each instruction
static __attribute__((noinline)) bool any_hits(const struct armv7 *v7, uint32_t pc)
{
    for (unsigned i = 0; i < v7->profile->breakpoints; i++)
        if (comparator_hits(v7, i, pc))
            return true;
    return false;
}

bool v7_matches(const struct armv7 *v7, uint32_t pc)
{
    if (v7->outside)
        return v8_matches(v7->outside, pc);
    return (v7->debug.mismatch || (v7->debug.bloom & bit_of(pc))) && any_hits(v7, pc);
}

bool v7_listens(const struct armv7 *v7)
{
    if (v7->outside)
        return v8_listens(v7->outside);
    return v7->pmu.interrupts && cti_listens(&v7->cti, CTI_IN_OVERFLOW);
}

// The way from the monitor through the CTI to the core takes some instructions. The wait is here: what the
// CTI shows, and what it does to other cores, is not late.
void v7_pass_overflow(struct armv7 *v7, uint32_t pc)
{
    if (v7->outside) {
        v8_pass_overflow(v7->outside, pc);
        return;
    }
    bool was = v7->cti.inputs >> CTI_IN_OVERFLOW & 1;
    if (!was && !v7->pmu.interrupts)
        return;
    uint32_t requests = pmu_v7_requests(&v7->pmu);
    if (was == (requests != 0))
        return;
    if (requests && v7_listens(v7)) {
        v7_log(v7, TRUTH_OVERFLOW, pc, requests);
        v7->stops_from = v7->core->instructions + v7->core->skid;
    }
    cti_set_input(&v7->cti, CTI_IN_OVERFLOW, requests);
    if (requests && v7->pmu_interrupts) {
        v7->pending |= 1u << PMU_IRQ;
        v7->attention = true;
    }
    if (v7->pmu_is_handled)
        v7->pmu.overflown &= ~requests;
}

// EDBGRQ, which needs no debug mode to be chosen (DDI 0406C C3.1)
bool v7_requested(const struct armv7 *v7)
{
    enum v8_status why;
    if (v7->outside)
        return v8_pends_halt(v7->outside, &why);
    return cti_requests_halt(&v7->cti) && v7->core->instructions >= v7->stops_from;
}

static struct v7_program program_of(const struct armv7 *v7)
{
    struct v7_program has = {.pc = v7->pc, .cpsr = v7_cpsr(v7), .pmselr = v7->pmu.select};
    for (unsigned i = 0; i < sizeof has.r / sizeof *has.r; i++)
        has.r[i] = v7_register(v7, i);
    return has;
}

uint64_t v7_borrowed(const struct armv7 *v7)
{
    const struct v7_program *had = &v7->at_halt, has = program_of(v7);
    uint64_t borrowed = 0;
    for (unsigned i = 0; i < sizeof has.r / sizeof *has.r; i++)
        borrowed |= (uint64_t)(has.r[i] != had->r[i]) << i;
    borrowed |= (uint64_t)(has.pc != had->pc) << 15 | (uint64_t)(has.cpsr != had->cpsr) << 16 |
                (uint64_t)(has.pmselr != had->pmselr) << 17;
    return v7->state == V7_HALTED ? borrowed : 0;
}

void v7_halt(struct armv7 *v7, unsigned moe)
{
    enum v8_status why = V8_STATUS_BREAKPOINT;
    if (v7->outside) {
        if (moe == MOE_EXTERNAL)
            v8_pends_halt(v7->outside, &why);
        v8_halt(v7->outside, why);
        return;
    }
    v7->at_halt = program_of(v7);
    v7->pending_before = v7->pending;
    v7->state = V7_HALTED;
    v7->debug.moe = moe;
    core_enter_debug(v7->core);
    v7->core->counted += halt_cost_entry(v7->core->halt_cost);
    if (halt_cost_interrupts(v7->core->halt_cost))
        v7->pending |= 1u << HALT_IRQ;
    v7_log(v7, TRUTH_HALT, v7->pc, moe);
    if (v7->debug.loses_exclusives)
        v7_from_scratch(v7, CLREX, false);
    cti_input(&v7->cti, CTI_IN_HALTED);
}

// Nothing becomes pending on the way out: no peripheral here counts the cycles of that
void v7_resume(struct armv7 *v7)
{
    uint32_t notes = v7->work == v7->work_at_run ? RUN_NOTHING_DONE : 0;
    struct v7_program has = program_of(v7);
    v7->altered += memcmp(&has, &v7->at_halt, sizeof has) != 0;
    v7->core->counted += halt_cost_exit(v7->core->halt_cost);
    if (v7_interrupted(v7)) {
        uint32_t first = v7->pending & -v7->pending;
        notes |= RUN_PREEMPTED | (v7->pending_before & first ? 0 : RUN_PENDED_WHILE_HALTED);
    }
    v7_log(v7, TRUTH_RUN, v7->pc, notes);
    v7->work_at_run = v7->work;
    v7->attention = true;
    v7->state = V7_RUNNING;
    core_leave_debug(v7->core);
}
