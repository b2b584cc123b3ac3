// Exceptions: which one is taken, entry, return, tail-chaining, faults and lockup (DDI 0403E B1.5, DDI 0419
// B1.5). The emulator has none of it. Not modelled: the configurable faults of Armv7-M (all are HardFaults),
// the floating-point frame; late arrival, but by `core-state late-arrival`.
#include "cpu/cortex_m.h"

enum { PRIORITY_NONE = 256, PRIORITY_HARDFAULT = -1, PRIORITY_NMI = -2 };

#define XPSR_T          (1u << 24)
#define XPSR_PADDED     (1u << 9) // in the stacked value: the frame was aligned by a word
#define XPSR_EXCEPTION  0x1FFu
#define CONTROL_SPSEL   (1u << 1)
#define SCR_SLEEPONEXIT (1u << 1)
#define SCR_SEVONPEND   (1u << 4)
#define HFSR_VECTTBL    (1u << 1)
#define HFSR_FORCED     (1u << 30)
#define CFSR_INVPC      (1u << 18)
#define CFSR_STKERR     (1u << 12)
#define CFSR_UNSTKERR   (1u << 11)
// EXC_RETURN, DDI 0403E table B1-8; the emulator drops its lowest bit
#define EXC_RETURN_HANDLER 0xFFFFFFF1u
#define EXC_RETURN_MAIN    0xFFFFFFF9u
#define EXC_RETURN_PROCESS 0xFFFFFFFDu
// Clear in Armv8-M without the Security Extension: S and ES (DDI 0553B D1.1, EXC_RETURN)
#define EXC_RETURN_SECURE 0x41u
#define LOCKUP_ADDRESS    0xFFFFFFFEu

enum { FRAME_WORDS = 8, FRAME_BYTES = 4 * FRAME_WORDS };

static int group_priority(const struct cortex_m *cm, unsigned exception)
{
    if (exception == EXC_NMI)
        return PRIORITY_NMI;
    if (exception == EXC_HARDFAULT)
        return PRIORITY_HARDFAULT;
    return (int)(cm->nvic.priority[exception] & ~((2u << cm->system.prigroup) - 1) & 0xFF);
}

static int active_priority(const struct cortex_m *cm)
{
    int best = PRIORITY_NONE;
    for (uint64_t left = cm->nvic.active; left; left &= left - 1) {
        int p = group_priority(cm, (unsigned)__builtin_ctzll(left));
        best = p < best ? p : best;
    }
    return best;
}

// DDI 0403E B1.5.4, "execution priority"
static int execution_priority(const struct cortex_m *cm, bool ignore_primask)
{
    int priority = active_priority(cm);
    if (cm->profile->v7m) {
        uint32_t base = cm_get(cm, UC_ARM_REG_BASEPRI) & cm->profile->priority_mask;
        if (base && (int)base < priority)
            priority = (int)base;
        if (cm_get(cm, UC_ARM_REG_FAULTMASK) & 1)
            return priority < PRIORITY_HARDFAULT ? priority : PRIORITY_HARDFAULT;
    }
    if (!ignore_primask && (cm_get(cm, UC_ARM_REG_PRIMASK) & 1) && priority > 0)
        priority = 0;
    return priority;
}

static uint64_t masked_by_debugger(const struct cortex_m *cm)
{
    // C_MASKINTS holds back PendSV, SysTick and the interrupts
    if ((cm->debug.control & (C_DEBUGEN | C_MASKINTS)) == (C_DEBUGEN | C_MASKINTS))
        return ~(exc_bit(EXC_PENDSV) - 1);
    return 0;
}

// Of two pending ones; within a group the subpriority decides, then the lower number
static bool goes_before(const struct cortex_m *cm, unsigned one, unsigned other)
{
    int first = group_priority(cm, one), second = group_priority(cm, other);
    if (first != second)
        return first < second;
    return cm->nvic.priority[one] < cm->nvic.priority[other];
}

static unsigned best_of(const struct cortex_m *cm, uint64_t candidates)
{
    unsigned best = EXC_NONE;
    for (uint64_t left = candidates & cm->nvic.enabled; left; left &= left - 1) {
        unsigned e = (unsigned)__builtin_ctzll(left);
        if (!best || goes_before(cm, e, best))
            best = e;
    }
    return best;
}

unsigned cm_best_pending(const struct cortex_m *cm)
{
    return best_of(cm, cm->nvic.pending);
}

unsigned cm_exception_to_take(const struct cortex_m *cm)
{
    uint64_t candidates = cm->nvic.pending & ~masked_by_debugger(cm);
    if (!(candidates & cm->nvic.enabled))
        return EXC_NONE;
    unsigned best = best_of(cm, candidates);
    return group_priority(cm, best) < execution_priority(cm, false) ? best : EXC_NONE;
}

// WFI wakes for what would be taken were PRIMASK clear (DDI 0403E B1.5.19)
bool cm_wakes(const struct cortex_m *cm)
{
    unsigned best = best_of(cm, cm->nvic.pending & ~masked_by_debugger(cm));
    if (best && group_priority(cm, best) < execution_priority(cm, !cm->waiting_for_event))
        return true;
    return cm->waiting_for_event && cm->event;
}

bool cm_return_to_base(const struct cortex_m *cm)
{
    return (cm->nvic.active & (cm->nvic.active - 1)) == 0;
}

void cm_pend(struct cortex_m *cm, unsigned exception)
{
    if (!(cm->nvic.pending & exc_bit(exception)) && (cm->system.scr & SCR_SEVONPEND))
        cm->event = true;
    cm->nvic.pending |= exc_bit(exception);
    cm->attention = true;
}

static void lock_up(struct cortex_m *cm, uint32_t pc)
{
    cm_log(cm, TRUTH_LOCKUP, pc, 0);
    cm->state = CM_LOCKUP;
    cm_set_pc(cm, LOCKUP_ADDRESS);
}

static bool push_frame(struct cortex_m *cm, uint32_t return_address)
{
    uint32_t xpsr = cm_get(cm, UC_ARM_REG_XPSR), sp = cm_get(cm, UC_ARM_REG_SP);
    uint32_t padding = sp & 4, base = sp - padding - FRAME_BYTES;
    const uint32_t frame[FRAME_WORDS] = {
        cm_get(cm, UC_ARM_REG_R0),
        cm_get(cm, UC_ARM_REG_R1),
        cm_get(cm, UC_ARM_REG_R2),
        cm_get(cm, UC_ARM_REG_R3),
        cm_get(cm, UC_ARM_REG_R12),
        cm_get(cm, UC_ARM_REG_LR),
        return_address,
        (xpsr & ~XPSR_PADDED) | (padding ? XPSR_PADDED : 0),
    };
    cm_set(cm, UC_ARM_REG_SP, base);
    bool stored = true;
    for (unsigned i = 0; i < FRAME_WORDS; i++)
        stored = bus_write(cm->core.bus, base + 4 * i, 4, frame[i], BUS_CORE) && stored;
    return stored;
}

static uint32_t v7m_exc_return_for(const struct cortex_m *cm)
{
    if (cm_get(cm, UC_ARM_REG_XPSR) & XPSR_EXCEPTION)
        return EXC_RETURN_HANDLER;
    return (cm_get(cm, UC_ARM_REG_CONTROL) & CONTROL_SPSEL) ? EXC_RETURN_PROCESS : EXC_RETURN_MAIN;
}

static uint32_t exc_return_for(const struct cortex_m *cm)
{
    return v7m_exc_return_for(cm) & ~(cm->profile->v81m && !cm_is_secure(cm) ? EXC_RETURN_SECURE : 0);
}

// Whose the cycles of an entry are
static uint32_t handler_of(const struct cortex_m *cm, unsigned exception)
{
    uint32_t vector = 0;
    bus_read(cm->core.bus, cm->system.vtor + 4 * exception, 4, &vector, BUS_CORE);
    return vector & ~1u;
}

// Everything of an entry but the stacking, which tail-chaining leaves out
static void start_handler(struct cortex_m *cm, unsigned exception, uint32_t exc_return)
{
    uint32_t vector = 0, xpsr = cm_get(cm, UC_ARM_REG_XPSR);
    cm->nvic.pending &= ~exc_bit(exception);
    cm->nvic.active |= exc_bit(exception);
    cm_set(cm, UC_ARM_REG_XPSR, (xpsr & 0xF8000000u) | XPSR_T | exception);
    cm_set(cm, UC_ARM_REG_CONTROL, cm_get(cm, UC_ARM_REG_CONTROL) & ~CONTROL_SPSEL);
    cm_set(cm, UC_ARM_REG_LR, exc_return);
    cm->event = true;
    cm->attention = true;
    cm->work++;
    bool fetched = bus_read(cm->core.bus, cm->system.vtor + 4 * exception, 4, &vector, BUS_CORE);
    cm_set_pc(cm, vector);
    cm->pmu.total[V81M_EXCEPTION]++;
    cm_log(cm, TRUTH_ENTER, vector & ~1u, exception);
    cm_trace_enter(cm, exception);
    if (!fetched || !(vector & 1)) {
        cm->system.hfsr |= HFSR_VECTTBL;
        cm_fault(cm, vector & ~1u, 0);
        return;
    }
    if (exception == EXC_HARDFAULT && (cm->debug.demcr & VC_HARDERR) && cm_may_halt(cm))
        cm_halt(cm, DFSR_VCATCH);
}

// What the cycles of an entry may have changed (DDI 0403E B1.5.12): the other one then waits for its turn
static unsigned latest(const struct cortex_m *cm, unsigned exception)
{
    bool was_pending = cm->nvic.pending & exc_bit(exception); // not a fault, nor SVC
    unsigned late = cm->flavour.late_arrival && was_pending ? cm_exception_to_take(cm) : EXC_NONE;
    return late ? late : exception;
}

void cm_enter(struct cortex_m *cm, unsigned exception, uint32_t return_address)
{
    uint32_t exc_return = exc_return_for(cm);
    bool stored = push_frame(cm, return_address);
    cm_spend(cm, DWT_EXC, handler_of(cm, exception), cm->profile->entry_cycles);
    if (!stored) {
        if (exception == EXC_HARDFAULT || execution_priority(cm, false) <= PRIORITY_HARDFAULT) {
            lock_up(cm, return_address);
            return;
        }
        // The exception stays pending after the HardFault that its stacking caused
        cm->system.cfsr |= CFSR_STKERR;
        cm->system.hfsr |= HFSR_FORCED;
        exception = EXC_HARDFAULT;
    }
    start_handler(cm, latest(cm, exception), exc_return);
}

void cm_fault(struct cortex_m *cm, uint32_t pc, uint32_t cfsr)
{
    cm->system.cfsr |= cfsr;
    if (execution_priority(cm, false) <= PRIORITY_HARDFAULT) {
        lock_up(cm, pc);
        return;
    }
    cm->system.hfsr |= cfsr ? HFSR_FORCED : 0;
    cm_enter(cm, EXC_HARDFAULT, pc);
}

// DDI 0403E C1.3: a breakpoint is for the DebugMonitor exception only where its priority is above what
// executes
bool cm_monitor_takes(const struct cortex_m *cm)
{
    return cm_monitors(cm) && group_priority(cm, EXC_DEBUGMONITOR) < execution_priority(cm, false);
}

void cm_svc(struct cortex_m *cm, uint32_t return_address)
{
    if (group_priority(cm, EXC_SVCALL) < execution_priority(cm, false))
        cm_enter(cm, EXC_SVCALL, return_address);
    else
        cm_fault(cm, return_address - 2, 0);
}

static bool pop_frame(struct cortex_m *cm, bool process)
{
    static const int into[] = {UC_ARM_REG_R0, UC_ARM_REG_R1,  UC_ARM_REG_R2,
                               UC_ARM_REG_R3, UC_ARM_REG_R12, UC_ARM_REG_LR};
    int stack = process ? UC_ARM_REG_PSP : UC_ARM_REG_MSP;
    uint32_t base = cm_get(cm, stack), frame[FRAME_WORDS];
    for (unsigned i = 0; i < FRAME_WORDS; i++)
        if (!bus_read(cm->core.bus, base + 4 * i, 4, &frame[i], BUS_CORE))
            return false;
    for (unsigned i = 0; i < sizeof into / sizeof *into; i++)
        cm_set(cm, into[i], frame[i]);
    cm_set(cm, stack, base + FRAME_BYTES + ((frame[7] & XPSR_PADDED) ? 4 : 0));
    cm_set(cm, UC_ARM_REG_XPSR, frame[7] & ~XPSR_PADDED);
    uint32_t control = cm_get(cm, UC_ARM_REG_CONTROL) & ~CONTROL_SPSEL;
    cm_set(cm, UC_ARM_REG_CONTROL, control | (process ? CONTROL_SPSEL : 0));
    cm_set_pc(cm, frame[6]);
    return true;
}

void cm_return(struct cortex_m *cm, uint32_t pc, uint32_t exc_return)
{
    unsigned from = cm_get(cm, UC_ARM_REG_XPSR) & XPSR_EXCEPTION;
    bool v81m = cm->profile->v81m && !cm_is_secure(cm);
    uint32_t plain = v81m ? exc_return ^ EXC_RETURN_SECURE : exc_return | 1;
    exc_return |= v81m ? 0 : 1;
    bool known = plain == EXC_RETURN_HANDLER || plain == EXC_RETURN_MAIN || plain == EXC_RETURN_PROCESS;
    if (!known || from >= NVIC_EXCEPTIONS || !(cm->nvic.active & exc_bit(from))) {
        cm_fault(cm, exc_return & ~1u, CFSR_INVPC);
        return;
    }
    cm->nvic.active &= ~exc_bit(from);
    cm_trace_exit(cm, from);
    cm->pmu.total[V81M_EXCEPTION_RETURN]++;
    if (cm->profile->v7m && from != EXC_NMI)
        cm_set(cm, UC_ARM_REG_FAULTMASK, 0);
    cm->attention = true;
    cm->event = true;
    cm->work++;
    unsigned next = cm_exception_to_take(cm);
    if (next) {
        cm_log(cm, TRUTH_RETURN, exc_return & ~1u, from);
        cm_spend(cm, DWT_EXC, handler_of(cm, next), cm->profile->tail_cycles);
        start_handler(cm, latest(cm, next), exc_return);
        return;
    }
    cm_spend(cm, DWT_EXC, pc, cm->profile->return_cycles);
    if (!pop_frame(cm, plain == EXC_RETURN_PROCESS)) {
        cm_fault(cm, exc_return & ~1u, CFSR_UNSTKERR);
        return;
    }
    cm_log(cm, TRUTH_RETURN, cm_pc(cm), from);
    cm_trace_return(cm, cm_get(cm, UC_ARM_REG_XPSR) & XPSR_EXCEPTION);
    if ((cm->system.scr & SCR_SLEEPONEXIT) && !cm->nvic.active) {
        cm->waiting_for_event = false;
        cm->state = CM_ASLEEP;
        cm->sleeps_at = pc;
        cm_log(cm, TRUTH_SLEEP, cm_pc(cm), 0);
    }
}
