// One Armv6-M, Armv7-M or Armv8.1-M core and everything in its private peripheral bus. The files of cpu/ and
// device/ that make up a core share this; the rest of the board sees struct core only.
#ifndef BOARD_CPU_CORTEX_M_H
#define BOARD_CPU_CORTEX_M_H

#include <unicorn/unicorn.h>

#include "cpu/core.h"
#include "cpu/cost.h"
#include "cpu/decode.h"
#include "device/coresight.h"
#include "device/dwt.h"
#include "device/fpb.h"
#include "device/l1d.h"
#include "device/nvic.h"
#include "device/pmu_v81m.h"
#include "device/systick.h"
#include "device/trace_unit.h"

// Differences between the cores; the tables are in chip/
struct cm_profile {
    uc_cpu_arm emulated_as;
    bool v7m;      // or later
    bool v81m;     // or Armv8-M
    bool security; // the Security Extension; the program stays in one of the states
    uint32_t cpuid;
    uint32_t vtor_mask;
    uint8_t priority_mask;
    unsigned code_comparators, literal_comparators, watchpoints;
    bool fpb_v2;
    unsigned entry_cycles, return_cycles, tail_cycles; // exceptions
    bool any_read_clears_countflag;                    // else only a read as the core does it
    struct systick_reference reference;                // SysTick's other clock
    // A breakpoint that is reached while an exception can be taken halts at the handler's first instruction
    // (Cortex-M7 erratum 3092511)
    bool halts_in_handler;
    bool debug_hidden;    // software sees nothing of the debug registers
    bool data_cache;      // write-back, ahead of memory if a core state says so
    bool dwt_lock;        // DWT_LAR, which holds for software, closed at power-on
    bool hides_dwt;       // its registers read as zero without DEMCR.TRCENA
    uint32_t ccr_always;  // the caches, on from reset
    unsigned miss_cycles; // that a miss of the data cache takes; 0: there is none
    unsigned watch_delay; // how many instructions after a store that is watched still execute at most
    uint32_t mvfr0, mvfr1;
    uint32_t dbgmcu_idcode;                  // of an STM32's DBGMCU; 0: there is none
    uint32_t dbgmcu_base, gpiob, trace_bits; // trace_bits: of DBGMCU_CR, all of which SWO needs
    struct component rom, scs, dwt, fpb, pmu, itm;
    const uint32_t *rom_entries;
    size_t rom_count;
    unsigned event_counters; // 0: no performance monitor
    struct cost (*cost)(uint16_t first, uint16_t second, bool wide, bool jumped);
};

enum cm_state { CM_RUNNING, CM_ASLEEP, CM_HALTED, CM_LOCKUP };

// DHCSR, DDI 0403E C1.6.2
#define C_DEBUGEN    (1u << 0)
#define C_HALT       (1u << 1)
#define C_STEP       (1u << 2)
#define C_MASKINTS   (1u << 3)
#define C_PMOV       (1u << 6) // Armv8.1-M
#define S_REGRDY     (1u << 16)
#define S_HALT       (1u << 17)
#define S_SLEEP      (1u << 18)
#define S_LOCKUP     (1u << 19)
#define S_SDE        (1u << 20) // Armv8-M
#define S_RETIRE_ST  (1u << 24)
#define S_RESET_ST   (1u << 25)
#define S_RESTART_ST (1u << 26) // Armv8-M
// DEMCR, DDI 0403E C1.6.5
#define VC_CORERESET (1u << 0)
#define MON_BITS     (0xFu << 16) // MON_EN, MON_PEND, MON_STEP, MON_REQ
#define MON_EN       (1u << 16)
#define MON_PEND     (1u << 17)
#define MON_REQ      (1u << 19)
#define MONPRKEY     (1u << 23) // Armv8.1-M
#define VC_HARDERR   (1u << 10)
#define TRCENA       (1u << 24)
// DFSR, DDI 0403E C1.6.1
#define DFSR_HALTED  (1u << 0)
#define DFSR_BKPT    (1u << 1)
#define DFSR_DWTTRAP (1u << 2)
#define DFSR_VCATCH  (1u << 3)
#define DFSR_PMU     (1u << 5) // Armv8.1-M

struct cm_debug {
    uint32_t control; // the C_ bits of DHCSR
    uint32_t demcr, dfsr, dcrdr;
    bool retired, was_reset, restarted; // S_RETIRE_ST, S_RESET_ST, S_RESTART_ST
};

// States in which some parts start, for --core-state
struct cm_flavour {
    bool dirty_cache;      // the data cache is on, and ahead of memory
    bool dwt_locked;       // the DWT's lock holds for a debugger too
    bool dwt_lock_lies;    // and says that it is open
    bool no_cyccnt;        // the DWT has no counters
    bool monitor_key;      // DEMCR.MONPRKEY is there: the Unprivileged Debug Extension
    bool late_arrival;     // an exception of a higher priority that pends during an entry is entered instead
    bool loses_exclusives; // the local monitor is open after a halt
    bool stops_if_done;    // not at an instruction whose condition in an IT block fails
    struct bus_security security;
};

struct cm_system {
    uint32_t vtor, prigroup, scr, ccr, shcsr, cfsr, hfsr, faultaddr, cpacr;
};

struct cm_window { // addresses at which the emulator asks the bus
    struct bus *bus;
    uint32_t base;
};

enum { CM_WINDOWS = 8 };

// What the program would notice if a debugger changed it: the registers that DCRSR numbers from 0 to 16, and
// CONTROL with the masks
enum { CM_PROGRAM = 18 };

struct cortex_m {
    struct core core;
    const struct cm_profile *profile;
    uint32_t reset_vtor;
    uc_engine *uc;
    struct cm_window windows[CM_WINDOWS];
    size_t window_count;
    struct nvic nvic;
    struct systick systick;
    struct dwt dwt;
    struct fpb fpb;
    struct pmu_v81m pmu;
    struct l1d l1d;
    struct itm itm;
    struct trace_log trace_log;
    struct trace_unit *trace_unit;
    uint64_t traced_to; // in counts
    uint64_t slept;     // cycles in which the DWT and the ITM had no clock
    struct cm_debug debug;
    struct cm_system system;
    struct cm_flavour flavour;
    bool dwt_lock_closed;
    struct systick other_systick; // of the other security state, whose interrupts are not taken
    uint32_t bank_select;         // DSCSR.SBRSEL and SBRSELEN
    uint32_t dbgmcu[3];           // DBGMCU_CR, APB1_FZ, APB2_FZ: power alone resets them

    enum cm_state state;
    bool held_in_reset, off;
    bool reset_requested; // by the core's own write to AIRCR
    bool event;           // the event register of WFE
    bool waiting_for_event;
    uint32_t sleeps_at; // the instruction that it waits in

    // Halts
    bool was_asleep;            // and goes on sleeping when resumed
    uint64_t pending_before;    // what was pending when the halt began
    uint64_t work, work_at_run; // counts what executes, to know whether anything did since the last resume
    uint32_t at_halt[CM_PROGRAM];
    uint64_t altered; // halts after which the program found something else

    // Execution
    uint64_t slice_end; // in cycles
    uint64_t pause_at;  // the same, or where the cycle counter matches before
    bool attention;     // something may have to happen before the next instruction
    bool cleared;       // it was checked for the instruction that starts now
    bool paused;        // the hook stopped the emulator
    bool stuffing;      // an instruction of the board's own executes
    bool one_only;      // stop after one instruction
    uint8_t it;         // ITSTATE of the next instruction, where those of a block are executed one by one
    uint32_t it_end;    // of the block, in which the emulator cannot stop; 0: in none
    int raised;         // emulator interrupt, -1 none
    const struct decoded *last;     // the instruction that is being executed
    bool loaded, stored, unaligned; // what it did, where a performance monitor counts that
    unsigned stalled;               // cycles that it waited for the data cache
    struct decoder decoder;

    // Stops that are asynchronous, so that some instructions still execute
    uc_hook store_hook, load_hook;
    bool stores_seen, loads_seen; // the hook is there
    uint32_t stop_cause;          // of the stop that is on its way, as in DFSR; 0: none is
    unsigned stop_left;           // instructions until then
    unsigned watch_hits;          // watched stores so far
};

// The program's state; false without the Security Extension
static inline bool cm_is_secure(const struct cortex_m *cm)
{
    return cm->profile->security && !cm->flavour.security.non_secure_program;
}

// The time of the DWT and the ITM
static inline uint64_t cm_dwt_now(const struct cortex_m *cm)
{
    return cm->core.counted - cm->slept;
}

// registers.c
uint32_t cm_get(const struct cortex_m *, int unicorn_register);
void cm_set(struct cortex_m *, int unicorn_register, uint32_t value);
uint32_t cm_pc(const struct cortex_m *);
void cm_set_pc(struct cortex_m *, uint32_t pc);
uint32_t cm_selected(const struct cortex_m *, unsigned regsel); // by DCRSR.REGSEL
void cm_set_selected(struct cortex_m *, unsigned regsel, uint32_t value);

// exceptions.c
unsigned cm_best_pending(const struct cortex_m *);
unsigned cm_exception_to_take(const struct cortex_m *);
bool cm_wakes(const struct cortex_m *);
bool cm_return_to_base(const struct cortex_m *);
void cm_enter(struct cortex_m *, unsigned exception, uint32_t return_address);
void cm_return(struct cortex_m *, uint32_t pc, uint32_t exc_return); // by the instruction at pc
void cm_fault(struct cortex_m *, uint32_t pc, uint32_t cfsr);
void cm_svc(struct cortex_m *, uint32_t return_address);
void cm_pend(struct cortex_m *, unsigned exception);
bool cm_monitor_takes(const struct cortex_m *); // the DebugMonitor exception, a debug event at once

// execute.c
void cm_run(struct core *, uint64_t cycles);
void cm_execute_one(struct cortex_m *);
bool cm_hook(struct cortex_m *);

// it_block.c
void cm_load_it(struct cortex_m *);    // from xPSR, and where the block ends
void cm_store_it(struct cortex_m *);   // into xPSR
void cm_isolate_it(struct cortex_m *); // so that the emulator executes this instruction, and in an IT block
void cm_advance_it(struct cortex_m *, bool jumped);
bool cm_condition_passes(const struct cortex_m *); // of the next instruction

// rounds.c
void cm_skip_rounds(struct cortex_m *, const struct decoded *subs);

// time.c: cycles that are spent at an address
void cm_spend(struct cortex_m *, enum dwt_profile, uint32_t pc, uint64_t cycles);
void cm_retire(struct cortex_m *, uint32_t pc, struct cost);
void cm_retire_many(struct cortex_m *, uint32_t pc, struct cost, uint64_t times);
void cm_count(struct cortex_m *, uint64_t counted); // moves the counters, not the program
void cm_settle(struct cortex_m *);
void cm_log(struct cortex_m *, enum truth_kind, uint32_t pc, uint32_t extra);

// monitor_m.c
bool cm_hook_monitor(struct cortex_m *);
bool cm_add_monitor(struct cortex_m *);
void cm_account(struct cortex_m *, const struct decoded *, bool jumped);
bool cm_looks_for_overflow(const struct cortex_m *); // after each instruction
bool cm_overflow_halts(struct cortex_m *);           // one has happened; asking clears that

// stops_m.c
bool cm_hook_stores(struct cortex_m *); // only where a comparator waits for them; not while the emulator runs
void cm_stop_comes(struct cortex_m *);  // an instruction is done, and a stop is on its way
void cm_look_at_counters(struct cortex_m *);
void cm_forget_counters(struct cortex_m *);
bool cm_stops_now(const struct cortex_m *);
bool cm_stop(struct cortex_m *);            // false: not a halt, but the DebugMonitor exception is pending
uint64_t cm_quiet_until(struct cortex_m *); // a cycle up to which no counter stops it and the slice goes on

// trace_m.c
bool cm_add_trace(struct cortex_m *);
void cm_trace_catch_up(void *cm);        // before anything that trace depends on changes
void cm_trace_set_up(struct cortex_m *); // a comparator was changed
void cm_trace_code(struct cortex_m *, uint32_t pc);
void cm_trace_data(struct cortex_m *, uint32_t address, unsigned size, uint32_t value, bool write);
void cm_trace_enter(struct cortex_m *, unsigned exception);
void cm_trace_exit(struct cortex_m *, unsigned exception);
void cm_trace_return(struct cortex_m *, unsigned exception);

// debug.c
bool cm_debug_permitted(const struct cortex_m *);
bool cm_may_halt(const struct cortex_m *);
bool cm_monitors(const struct cortex_m *); // debug events are for the DebugMonitor exception
void cm_breakpoint(struct cortex_m *, uint32_t pc, bool instruction); // BKPT, or a comparator
uint64_t cm_borrowed(const struct cortex_m *); // registers that are not as they were when it halted
void cm_halt(struct cortex_m *, uint32_t cause);
void cm_write_dhcsr(struct cortex_m *, uint32_t value, enum bus_master);
uint32_t cm_read_dhcsr(struct cortex_m *, enum bus_master);
uint32_t cm_peek_dhcsr(const struct cortex_m *);

// cortex_m.c
struct core *cm_create(const struct core_plan *);
void cm_reset(struct cortex_m *);

// device/scs.c and device/rom_table.c
// SCS, DWT, breakpoint unit; then ITM and TPIU, where a core has them
enum { CM_ROM_ENTRIES = 3, CM_ROM_WITH_ITM = 4, CM_ROM_WITH_TPIU = 5, CM_ROM_TPIU = 4 };
extern const uint32_t cm_rom_entries[CM_ROM_WITH_TPIU];
bool cm_add_devices(struct cortex_m *);
bool cm_add_rom_table(struct cortex_m *);
uint32_t cm_icsr(const struct cortex_m *);

#endif
