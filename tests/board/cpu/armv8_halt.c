// Entering and leaving Debug state, and what leads to it: breakpoint comparators, requests, steps and catches
// (DDI 0487H H2, H3). Each stay moves the cycle counter, at entry and at exit, by what halt_cost.c draws; the
// program's own cycles do not move. Not modelled: watchpoints (registers only), context comparators that
// nothing is linked to, exception catch, software debug events.
#include "cpu/armv8.h"

// The interrupt that a peripheral may raise while the core is halted
enum { HALT_IRQ = 3 };
// DBGBCRn_EL1, DDI 0487H D13.3.2
#define BCR_E         (1u << 0)
#define BCR_PMC(bcr)  ((bcr) >> 1 & 3)
#define BCR_BAS(bcr)  ((bcr) >> 5 & 15)
#define BCR_HMC       (1u << 13)
#define BCR_SSC(bcr)  ((bcr) >> 14 & 3)
#define BCR_LBN(bcr)  ((bcr) >> 16 & 15)
#define BCR_TYPE(bcr) ((bcr) >> 20 & 15)
enum { TYPE_MATCH = 0, TYPE_LINKED_MATCH = 1, TYPE_CONTEXT = 2, TYPE_LINKED_CONTEXT = 3 };
enum { PMC_EL1 = 1, PMC_EL0 = 2, PMC_BOTH = 3, SSC_NON_SECURE = 1, SSC_SECURE = 2 };
#define CLREX       0xD5033F5Fu
#define BVR_ADDRESS 0x0000FFFFFFFFFFFCu

bool v8_double_locked(const struct armv8 *v8)
{
    return v8->debug.double_lock && !(v8->debug.edprcr & 1) && v8->state != V8_HALTED;
}

bool v8_may_halt(const struct armv8 *v8)
{
    const struct v8_debug *d = &v8->debug;
    return !v8_double_locked(v8) && !(v8_secure(v8) ? d->unsigned_secure : d->unsigned_non_secure);
}

// Comparators and steps need halting debug on and the OS lock open
static bool halting(const struct armv8 *v8)
{
    return (v8->debug.control & EDSCR_HDE) && !v8->debug.os_locked;
}

static uint64_t bit_of(uint64_t pc)
{
    return (uint64_t)1 << (pc >> 2 & 63);
}

void v8_comparators_changed(struct armv8 *v8)
{
    struct v8_debug *d = &v8->debug;
    d->bloom = 0;
    for (unsigned i = 0; halting(v8) && i < V8_BREAKPOINTS; i++)
        d->bloom |= d->bcr[i] & BCR_E ? bit_of(d->bvr[i]) : 0;
    v8_attend(v8);
}

// DDI 0487H table D2-9
static bool at_level(const struct armv8 *v8, uint32_t bcr)
{
    unsigned pmc = BCR_PMC(bcr), ssc = BCR_SSC(bcr);
    if ((ssc == SSC_NON_SECURE && v8_secure(v8)) || (ssc == SSC_SECURE && !v8_secure(v8)))
        return false;
    if (v8->level >= 2)
        return bcr & BCR_HMC;
    if (v8->level == 1)
        return pmc & PMC_EL1;
    return bcr & BCR_HMC ? pmc == PMC_BOTH : (pmc & PMC_EL0) != 0;
}

// The last comparators can compare CONTEXTIDR_EL1
static unsigned first_context(const struct armv8 *v8)
{
    return V8_BREAKPOINTS - ((unsigned)(v8->profile->dfr >> 28 & 15) + 1);
}

// Bits 1:0 are of a context only; while they are RES0 a core may drop what is written there
uint32_t v8_value_bits(const struct armv8 *v8, unsigned n)
{
    unsigned type = BCR_TYPE(v8->debug.bcr[n]);
    return n >= first_context(v8) && (type == TYPE_CONTEXT || type == TYPE_LINKED_CONTEXT) ? 0xFFFFFFFF
                                                                                           : 0xFFFFFFFC;
}

// What a comparator is linked to must be one of CONTEXTIDR_EL1, which counts at EL0 and EL1 (DDI 0487H D2.9)
static bool in_context(const struct armv8 *v8, unsigned linked_to)
{
    const struct v8_debug *d = &v8->debug;
    uint32_t context = v8_context(v8);
    uint32_t bcr = linked_to < V8_BREAKPOINTS ? d->bcr[linked_to] : 0;
    return linked_to >= first_context(v8) && (bcr & BCR_E) && BCR_TYPE(bcr) == TYPE_LINKED_CONTEXT &&
           BCR_BAS(bcr) == 15 && v8->level < 2 && (uint32_t)d->bvr[linked_to] == context;
}

// The lowest byte of the instruction must be selected; those of A64 are at whole words
static bool comparator_hits(const struct armv8 *v8, unsigned i, uint64_t pc)
{
    const struct v8_debug *d = &v8->debug;
    unsigned type = BCR_TYPE(d->bcr[i]);
    return (d->bcr[i] & BCR_E) && type <= TYPE_LINKED_MATCH && (BCR_BAS(d->bcr[i]) >> (pc & 3) & 1) &&
           (d->bvr[i] & BVR_ADDRESS) == (pc & BVR_ADDRESS) && at_level(v8, d->bcr[i]) &&
           (type == TYPE_MATCH || in_context(v8, BCR_LBN(d->bcr[i])));
}

bool v8_matches(const struct armv8 *v8, uint64_t pc)
{
    const struct v8_debug *d = &v8->debug;
    if (!(d->bloom & bit_of(pc)))
        return false;
    for (unsigned i = 0; i < V8_BREAKPOINTS; i++)
        if (comparator_hits(v8, i, pc))
            return v8_may_halt(v8);
    return false;
}

bool v8_pends_halt(struct armv8 *v8, enum v8_status *why)
{
    struct v8_debug *d = &v8->debug;
    if (!v8_may_halt(v8))
        return false;
    if (d->edesr & EDECR_RCE)
        *why = V8_STATUS_RESET_CATCH;
    else if (d->edesr & EDECR_OSUCE)
        *why = V8_STATUS_UNLOCK_CATCH;
    else if (d->edesr & EDECR_SS)
        *why = V8_STATUS_STEP;
    else if (cti_requests_halt(&v8->cti) && v8->core.instructions >= v8->stops_from)
        *why = V8_STATUS_REQUEST;
    else
        return false;
    return true;
}

bool v8_listens(const struct armv8 *v8)
{
    return v8->pmu.interrupts && cti_listens(&v8->cti, CTI_IN_OVERFLOW);
}

// The way from the monitor through the CTI to the core takes some instructions. The wait is here: what the
// CTI shows, and what it does to other cores, is not late.
void v8_pass_overflow(struct armv8 *v8, uint64_t pc)
{
    a32_add_totals(v8);
    bool was = v8->cti.inputs >> CTI_IN_OVERFLOW & 1;
    if (!was && !v8->pmu.interrupts)
        return;
    uint32_t requests = pmu_v3_requests(&v8->pmu);
    if (was == (requests != 0))
        return;
    if (requests && v8_listens(v8)) {
        v8_log(v8, TRUTH_OVERFLOW, pc, requests);
        v8->stops_from = v8->core.instructions + v8->core.skid;
    }
    cti_set_input(&v8->cti, CTI_IN_OVERFLOW, requests);
    if (requests && v8->pmu_interrupts) {
        *v8_pending(v8) |= 1u << PMU_IRQ;
        v8_attend(v8);
    }
    if (v8->pmu_is_handled)
        v8->pmu.overflown &= ~requests;
}

static struct v8_program program_of(const struct armv8 *v8)
{
    struct v8_program has = {.sp = v8_stack(v8),
                             .pc = v8->regs[R_DLR],
                             .pstate = (uint32_t)v8->regs[R_DSPSR],
                             .pmselr = v8->pmu.select};
    for (unsigned i = 0; i < sizeof has.x / sizeof *has.x; i++)
        has.x[i] = v8_x(v8, i);
    return has;
}

uint64_t v8_borrowed(const struct armv8 *v8)
{
    const struct v8_program *had = &v8->at_halt, has = program_of(v8);
    uint64_t borrowed = 0;
    for (unsigned i = 0; i < sizeof has.x / sizeof *has.x; i++)
        borrowed |= (uint64_t)(has.x[i] != had->x[i]) << i;
    borrowed |= (uint64_t)(has.sp != had->sp) << 31 | (uint64_t)(has.pc != had->pc) << 32 |
                (uint64_t)(has.pstate != had->pstate) << 33 | (uint64_t)(has.pmselr != had->pmselr) << 34;
    return v8->state == V8_HALTED ? borrowed : 0;
}

uint32_t *v8_pending(struct armv8 *v8)
{
    return v8->aarch32 && !v8->user32 ? a32_pending(v8) : &v8->pending;
}

static void set_halted(struct armv8 *v8, bool halted)
{
    v8->state = halted ? V8_HALTED : V8_RUNNING;
    if (v8->aarch32)
        a32_set_halted(v8, halted);
}

void v8_halt(struct armv8 *v8, enum v8_status why)
{
    struct v8_debug *d = &v8->debug;
    if (v8->aarch32)
        v8->pc = a32_pc(v8);
    a32_add_totals(v8);
    v8->pending_before = *v8_pending(v8);
    set_halted(v8, true);
    v8->stepping = false;
    d->status = why;
    d->edesr = 0;
    v8->regs[R_DLR] = v8->pc;
    v8->regs[R_DSPSR] = v8_pstate(v8);
    v8->at_halt = program_of(v8);
    core_enter_debug(&v8->core);
    v8->core.counted += halt_cost_entry(v8->core.halt_cost);
    if (halt_cost_interrupts(v8->core.halt_cost))
        *v8_pending(v8) |= 1u << HALT_IRQ;
    v8_log(v8, TRUTH_HALT, v8->pc, why);
    if (d->loses_exclusives && !v8->aarch32)
        v8_stuff(v8, CLREX);
    cti_input(&v8->cti, CTI_IN_HALTED);
}

// Nothing becomes pending on the way out: no peripheral here counts the cycles of that
void v8_restart(struct armv8 *v8)
{
    struct v8_debug *d = &v8->debug;
    if (v8->state != V8_HALTED)
        return;
    v8->pc = v8->regs[R_DLR];
    if (v8->aarch32)
        a32_set_pc(v8, (uint32_t)v8->pc);
    v8_set_pstate(v8, (uint32_t)v8->regs[R_DSPSR]);
    v8->altered += v8_borrowed(v8) != 0; // as the program will find it
    uint64_t work = v8->work + a32_work(v8);
    uint32_t notes = work == v8->work_at_run ? RUN_NOTHING_DONE : 0;
    v8->core.counted += halt_cost_exit(v8->core.halt_cost);
    if (v8_interrupted(v8)) {
        uint32_t pending = *v8_pending(v8), first = pending & -pending;
        notes |= RUN_PREEMPTED | (v8->pending_before & first ? 0 : RUN_PENDED_WHILE_HALTED);
    }
    v8_log(v8, TRUTH_RUN, v8->pc, notes);
    v8->work_at_run = work;
    v8_attend(v8);
    set_halted(v8, false);
    core_leave_debug(&v8->core);
    d->restarted = true;
    d->status = V8_STATUS_RUNNING;
    d->control &= ~EDSCR_MA;
    v8->stepping = (d->edecr & EDECR_SS) && !d->os_locked;
}
