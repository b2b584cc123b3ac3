// One Armv7-A or Armv7-R core with its debug registers and performance monitor; or, inside an Armv8 core,
// what executes in AArch32 state. The files of cpu/ and device/ that make it up share this; the rest of the
// board sees struct core only.
#ifndef BOARD_CPU_ARMV7_H
#define BOARD_CPU_ARMV7_H

#include <unicorn/unicorn.h>

#include "cpu/classify_v7.h"
#include "cpu/core.h"
#include "device/coresight.h"
#include "device/cti.h"
#include "device/l1d.h"
#include "device/pmu_v7.h"

enum { V7_BREAKPOINTS = 8, V7_WATCHPOINTS = 8, V7_IRQS = 32 };

// Differences between the cores; the tables are in chip/
struct v7_profile {
    uc_cpu_arm emulated_as;
    uint32_t midr, mpidr; // of the first core; the others count on from there
    bool has_vbar;
    bool has_hyp; // Hyp mode, in which it starts
    uint32_t didr;
    uint32_t devid;
    uint8_t authstatus;
    bool samples_targets; // DBGPCSR is the Cortex-A9's: erratum 751471
    bool v71; // debug architecture v7.1: an OS lock, closed at power-on; no error from a sticky power-down
    unsigned breakpoints, watchpoints;
    struct component debug, monitor, cti;
    uint32_t debug_base, debug_stride; // on the debug bus, by core
    uint32_t monitor_offset;           // of its page from the debug page; 0: CP15 only
    uint32_t cti_base, cti_stride;
    struct pmu_v7_profile pmu;
};

enum v7_state { V7_RUNNING, V7_ASLEEP, V7_HALTED };

// Causes of a halt, as in DBGDSCR.MOE (DDI 0406C C11.11.20)
enum { MOE_REQUEST = 0, MOE_BREAKPOINT = 1, MOE_BKPT = 3, MOE_EXTERNAL = 4, MOE_VECTOR_CATCH = 5 };

// Exceptions by their place in the vector table
enum v7_exception {
    V7_RESET,
    V7_UNDEFINED,
    V7_SVC,
    V7_PREFETCH_ABORT,
    V7_DATA_ABORT,
    V7_HYP_CALL, // HVC from a lower level
    V7_IRQ_VECTOR,
};
enum { V7_IRQ0 = 16 }; // how the ground truth numbers interrupts

// The emulator's exceptions, by its numbers
enum {
    RAISED_NONE = -1,
    RAISED_SVC = 2,
    RAISED_PREFETCH_ABORT = 3,
    RAISED_DATA_ABORT = 4, // only what the architecture forbids, as an unaligned LDM
    RAISED_BKPT = 7,
};

// Fault status, short descriptors (DDI 0406C B3.13.3)
enum { FS_ALIGNMENT = 0x01, FS_DEBUG = 0x02, FS_EXTERNAL = 0x08, FS_PERMISSION = 0x0D };

#define CPSR_MODE 0x1Fu
#define CPSR_T    (1u << 5)
#define CPSR_F    (1u << 6)
#define CPSR_I    (1u << 7)
#define CPSR_A    (1u << 8)
#define MODE_USER 0x10u
#define MODE_IRQ  0x12u
#define MODE_SVC  0x13u
#define MODE_ABT  0x17u
#define MODE_HYP  0x1Au
#define MODE_UND  0x1Bu
#define MODE_SYS  0x1Fu
// DBGDSCR, DDI 0406C C11.11.20
#define DSCR_HALTED    (1u << 0)
#define DSCR_RESTARTED (1u << 1)
#define DSCR_MOE_LSB   2
#define DSCR_SDABORT   (1u << 6)
#define DSCR_UND       (1u << 8)
#define DSCR_INTDIS    (1u << 11)
#define DSCR_ITREN     (1u << 13)
#define DSCR_HDBGEN    (1u << 14)
#define DSCR_EXTDCC    (3u << 20)
#define DSCR_FAST      (2u << 20)
#define DSCR_INSTR     (1u << 24) // InstrCompl_l: here an instruction is always complete
#define DSCR_TXFULL_L  (1u << 26)
#define DSCR_RXFULL_L  (1u << 27)
#define DSCR_TXFULL    (1u << 29)
#define DSCR_RXFULL    (1u << 30)
#define VCR_RESET      (1u << 0)

struct v7_debug {
    uint32_t control; // the bits of DBGDSCR that can be written
    uint32_t sticky;  // its SDABORT and UND
    unsigned moe;
    bool tx_full, rx_full, tx_full_latched, rx_full_latched;
    uint32_t dtr_rx, dtr_tx, itr, wfar, vcr, ecr, dsccr, dsmcr, prcr;
    uint32_t cidsr;                       // goes with the PC sample that was read last
    uint32_t last_target, sampled_target; // of the last branch that executed; when the PC sample was taken
    bool resets_unseen;                   // DBGPRSR.SR does not show a reset: erratum 799770
    bool as_documented;                   // the PC sample is that of DDI 0406C all the same
    uint32_t bvr[V7_BREAKPOINTS], bcr[V7_BREAKPOINTS], wvr[V7_WATCHPOINTS], wcr[V7_WATCHPOINTS];
    bool os_locked, locked, monitor_locked; // the latter two: the software locks
    bool lock_for_all;                      // which hold for a debugger too, and read as if there were none
    bool loses_exclusives;                  // the local monitor is open after a halt
    bool secure_low;                        // Secure debug is not allowed; only DBGAUTHSTATUS says so
    bool idles_off;                         // WFI is taken for a powerdown
    bool was_off, was_reset;                // DBGPRSR.SPD, SR
    uint8_t claims, monitor_claims;
    // Addresses that the comparators may match, to skip all others fast
    uint64_t bloom;
    bool mismatch;
};

// State that must be the same for the program after a halt
struct v7_program {
    uint32_t r[15], pc, cpsr, pmselr;
};

struct armv8;

struct armv7 {
    struct core own;
    struct core *core;     // that, or of `outside`
    struct armv8 *outside; // has the debug registers, the triggers and the monitor; NULL: they are here
    const struct v7_profile *profile;
    unsigned number;
    uint32_t start;
    struct bus *bus;
    uc_engine *uc;
    uc_context *fresh; // what a reset restores
    struct pmu_v7 pmu;
    struct cti cti;
    uint64_t totals[V7_EVENTS];
    struct l1d l1d;
    struct v7_debug debug;
    struct placed_component self; // the debug page
    struct placed_component monitor;

    enum v7_state state;
    bool held_in_reset, off;
    bool pmu_interrupts;        // an overflow is IRQ 3 as well
    bool pmu_is_handled;        // and its handler clears the overflow before the core is halted
    uint32_t pending;           // interrupts
    uint32_t in_mode[32];       // which exception each mode was last entered for
    uint32_t pending_before;    // what was pending when the halt began
    uint64_t work, work_at_run; // counts what executes, to know whether anything did since the last resume
    struct v7_program at_halt;
    uint64_t altered; // halts after which the program found something else

    // The PC, and whether it is Thumb code: valid while the emulator does not run
    uint32_t pc;
    bool thumb;
    // Hyp mode, which the emulator does not have: it is in System mode meanwhile, which has the same LR
    bool hyp;
    bool svc_is_hyp;      // the a7's: what it calls Supervisor mode is Hyp mode
    uint32_t other_stack; // SP_hyp, while it is in Hyp mode that of System mode

    // Execution
    uint64_t slice_end;     // in cycles
    bool attention;         // something may have to happen before the next instruction
    bool cleared;           // it was checked for the instruction that starts now
    bool paused;            // the hook stopped the emulator
    bool stuffing;          // a debugger's instruction is being executed
    unsigned it_left;       // instructions left in an IT block, in which the emulator cannot stop
    int raised;             // emulator interrupt, -1 none
    struct classified last; // the instruction that is being executed
    bool executing;         // there is one
    bool listens;           // an overflow of the monitor goes somewhere, so that each instruction is checked
    uint64_t stops_from;    // how many instructions have to be done before a request from there is taken
    uint32_t returns_from;  // the mode that it leaves, if it is an exception return
    bool loaded, stored, unaligned;
    uint32_t touched;         // the address of its last load or store
    uint32_t sampled_context; // CONTEXTIDR when the PC sample was taken
    struct classifier classifier;
};

// armv7_registers.c
uint32_t v7_get(const struct armv7 *, int unicorn_register);
void v7_set(struct armv7 *, int unicorn_register, uint32_t value);
uint32_t v7_register(const struct armv7 *, unsigned number); // r0 to r14, of the current mode
void v7_set_register(struct armv7 *, unsigned number, uint32_t value);
uint32_t v7_cpsr(const struct armv7 *);
void v7_set_cpsr(struct armv7 *, uint32_t value);
void v7_mode_changed(struct armv7 *);                                             // perhaps
uint32_t v7_cp15(const struct armv7 *, unsigned crn, unsigned crm, unsigned op2); // as the emulator has it
void v7_set_cp15(struct armv7 *, unsigned crn, unsigned crm, unsigned op2, uint32_t value);
bool v7_user(const struct armv7 *);
bool v7_in_hyp(const struct armv7 *); // where svc_is_hyp

// armv7_exceptions.c
bool v7_interrupted(const struct armv7 *);
void v7_enter(struct armv7 *, enum v7_exception, uint32_t return_address);
void v7_interrupt(struct armv7 *);
void v7_entered(struct armv7 *, uint32_t mode, uint32_t number); // the core is at its vector
void v7_returned(struct armv7 *, uint32_t mode, uint32_t pc);
void v7_abort(struct armv7 *, enum v7_exception, uint32_t address, uint32_t status);

// aarch32.c: it is User mode alone, under EL1 in AArch64 state, to which exceptions go
bool a32_is_user(const struct armv7 *);
void a32_leave_by(struct armv8 *, enum v7_exception, uint32_t return_address);

// aarch32_hyp.c: what has to do with Hyp mode
bool hyp_takes(const struct armv7 *, enum v7_exception); // an exception goes to it
bool hyp_interrupted(const struct armv7 *, bool masked); // one is pending, and CPSR.I is set
void hyp_enter(struct armv7 *, enum v7_exception, uint32_t number, uint32_t next);
void hyp_aborts_at(struct armv7 *, bool data, uint32_t address);
void hyp_spoil(struct armv7 *, bool data); // as an exception in Debug state
uint32_t hyp_spsr(const struct armv7 *);   // of the mode that it is in
// MRS and MSR of CPSR, SPSR and banked registers
struct hyp_moved {
    bool reads, is_spsr, is_banked;
    unsigned bank, rt; // M and M1
};
struct hyp_moved hyp_moved_t32(uint32_t op);
bool hyp_move(struct armv7 *, const struct hyp_moved *);     // false: not possible in this mode
bool hyp_perform(struct armv7 *, const struct classified *); // an instruction of OP_HYP. false: undefined
bool hyp_system(struct armv8 *, uint32_t op, bool write, uint32_t *value); // MRC and MCR with op1 4

// armv7_execute.c
void v7_run(struct core *, uint64_t cycles);
void v7_run_inside(struct armv7 *, uint64_t cycles);
bool v7_hook(struct armv7 *);
void v7_spend(struct armv7 *, uint32_t pc, bool asleep, uint64_t cycles); // pc: of Thumb with bit 0
void v7_begin(struct armv7 *, uint32_t pc, const struct classified *);
void v7_finish(struct armv7 *, uint32_t next);
void v7_log(struct armv7 *, enum truth_kind, uint32_t pc, uint32_t extra);

// armv7_halt.c
bool v7_halting(const struct armv7 *); // halting debug is on
bool v7_matches(const struct armv7 *, uint32_t pc);
void v7_comparators_changed(struct armv7 *);
uint32_t v7_value_bits(const struct armv7 *, unsigned n); // of DBGBVRn, those that hold what is written
unsigned v7_first_context(const struct armv7 *); // comparator that can compare CONTEXTIDR; all above it can
void v7_halt(struct armv7 *, unsigned moe);
void v7_resume(struct armv7 *);
bool v7_listens(const struct armv7 *);
void v7_pass_overflow(struct armv7 *, uint32_t pc); // the monitor's interrupt request, to the CTI
bool v7_requested(const struct armv7 *);            // from there, to enter Debug state
uint64_t v7_borrowed(const struct armv7 *);         // registers that are not as they were when it halted

// armv7_stuff.c
// A page that only the emulator has. Not higher: without MPU an Armv7-R core does not execute there (DDI
// 0406C B5.2).
#define V7_SCRATCH 0x7FFF0000u
enum v7_stuffed { V7_STUFFED, V7_STUFFED_UNDEFINED, V7_STUFFED_ABORT };
// Executes the instruction in these bytes
enum v7_stuffed v7_from_scratch(struct armv7 *, uint32_t bytes, bool thumb);
void v7_stuff(struct armv7 *, uint32_t op);

// armv7_coprocessor.c: an MRC or MCR of OP_COPROCESSOR. false: an undefined instruction.
bool v7_coprocessor(struct armv7 *, uint32_t op);

// device/debug_v7.c
bool v7_add_devices(struct armv7 *, struct bus *debug_bus);
uint32_t v7_dscr(struct armv7 *); // as a debugger reads it, but without what that does
uint32_t v7_debug_read(struct armv7 *, uint32_t offset);
void v7_debug_write(struct armv7 *, uint32_t offset, uint32_t value);

// armv7.c
struct core *v7_create(const struct core_plan *);
// Of an Armv8 core; NULL: there is not enough memory
struct armv7 *v7_create_inside(struct armv8 *, struct core *, const struct core_plan *,
                               const struct v7_profile *);
// While it is at EL0 in AArch32 state
struct armv7 *v7_create_user(struct armv8 *);
void v7_destroy(struct armv7 *);
void v7_reset(struct armv7 *);
void v7_idle(struct armv7 *); // asleep, when the chip may take its power

#endif
