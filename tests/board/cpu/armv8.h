// One Armv8-A or Armv8-R core, in AArch64 state, also with programs in AArch32 state at EL0, or in AArch32
// state for good, with its external debug registers, its cross trigger interface and its performance monitor.
// The emulator runs at EL1 all the time and knows nothing of Exception levels: the board performs every
// instruction that has to do with them. The files of cpu/ and device/ that make up a core share this; the
// rest of the board sees struct core only.
#ifndef BOARD_CPU_ARMV8_H
#define BOARD_CPU_ARMV8_H

#include <unicorn/unicorn.h>

#include "cpu/classify_v8.h"
#include "cpu/core.h"
#include "cpu/edscr.h"
#include "device/coresight.h"
#include "device/cti.h"
#include "device/l1d.h"
#include "device/pmu_v3.h"

struct armv7;
struct v7_profile;

enum { V8_BREAKPOINTS = 6, V8_WATCHPOINTS = 4, V8_IRQS = 32, V8_LEVELS = 4 };
enum { V8_IRQ0 = 16 }; // how the ground truth numbers interrupts; others are numbered by ESR.EC

// Events that the board counts besides cycles, in the order of the codes
enum v8_event {
    V8_L1D_REFILL,
    V8_L1D,
    V8_LOAD,
    V8_STORE,
    V8_INSTRUCTION,
    V8_EXCEPTION,
    V8_EXCEPTION_RETURN,
    V8_CONTEXT_WRITE,
    V8_PC_WRITE,
    V8_BRANCH_IMMEDIATE,
    V8_UNALIGNED,
    V8_MEMORY,
    V8_IRQ,
    V8_EVENTS,
};

// Differences between the cores; the tables are in chip/
struct v8_profile {
    uc_cpu_arm64 emulated_as;
    uint32_t midr, mpidr;    // of the first core; the others count on from there
    uint64_t pfr, dfr, mmfr; // ID_AA64PFR0_EL1, ID_AA64DFR0_EL1, ID_AA64MMFR0_EL1
    uint32_t ctr, clidr;
    uint32_t ccsidr[4]; // by CSSELR_EL1
    struct component debug, cti, monitor;
    uint32_t debug_base, cti_base, monitor_base, stride; // on the debug bus, by core
    struct pmu_v3_profile pmu;
    const struct v7_profile *aarch32; // what it executes with if it is in AArch32 state for good
    const struct v7_profile *user32;  // if only its programs at EL0 may be
    // In AArch32 state, EDSCR.RW while it is halted, and the bits of it that are UNKNOWN then
    uint8_t rw, rw_unknown;
};

// What the program would notice if a debugger changed it
struct v8_program {
    uint64_t x[31], sp, pc;
    uint32_t pstate, pmselr;
};

enum v8_state { V8_RUNNING, V8_ASLEEP, V8_HALTED };

// PSTATE as SPSR_ELx holds it
#define PSTATE_NZCV  0xF0000000u
#define PSTATE_SS    (1u << 21)
#define PSTATE_IL    (1u << 20)
#define PSTATE_DAIF  0x3C0u
#define PSTATE_I     (1u << 7)
#define PSTATE_NRW   (1u << 4)
#define PSTATE_LEVEL 0xCu
#define PSTATE_SPSEL 1u
// The System registers that only hold what is written to them, and those that others read
enum v8_register {
    R_SCTLR,
    R_SPSR = R_SCTLR + V8_LEVELS,
    R_ELR = R_SPSR + V8_LEVELS,
    R_ESR = R_ELR + V8_LEVELS,
    R_FAR = R_ESR + V8_LEVELS,
    R_VBAR = R_FAR + V8_LEVELS,
    R_TTBR0 = R_VBAR + V8_LEVELS,
    R_TCR = R_TTBR0 + V8_LEVELS,
    R_MAIR = R_TCR + V8_LEVELS,
    R_TPIDR = R_MAIR + V8_LEVELS,
    R_CPTR = R_TPIDR + V8_LEVELS,
    R_TTBR1 = R_CPTR + V8_LEVELS,
    R_TPIDRRO,
    R_CPACR,
    R_CONTEXTIDR,
    R_PAR,
    R_CSSELR,
    R_CNTKCTL,
    R_CNTFRQ,
    R_HCR,
    R_SCR,
    R_MDCR_EL2,
    R_MDCR_EL3,
    R_MDSCR,
    R_DLR,
    R_DSPSR,
    R_COUNT,
};

#define SCR_NS     1u
#define SCR_HCE    (1u << 8)
#define MDCR_EPMAD (1u << 21)
#define MDCR_SPME  (1u << 17)

// What goes with a PC sample
struct v8_sampled {
    uint32_t context; // CONTEXTIDR
    unsigned level;
    bool secure;
};

struct v8_debug {
    uint32_t control; // the bits of EDSCR that can be written, and those that stick
    uint32_t edecr, edesr, edeccr, edprcr;
    uint64_t bvr[V8_BREAKPOINTS], wvr[V8_WATCHPOINTS];
    uint32_t bcr[V8_BREAKPOINTS], wcr[V8_WATCHPOINTS];
    uint32_t dtr_rx, dtr_tx;
    bool os_locked, double_lock;                                  // OSLSR_EL1.OSLK, OSDLR_EL1.DLK
    bool locked, monitor_locked;                                  // the software locks
    bool lock_for_all;                                            // which hold for a debugger too
    bool lock_lies;                                               // and read as if there were none
    bool loses_exclusives;                                        // the local monitor is open after a halt
    bool idles_off;                                               // WFI is taken for a powerdown
    bool samples_in_monitor;                                      // PC samples are where Armv8.2 has them
    bool unsigned_non_secure, unsigned_secure;                    // the authentication signals are low
    bool was_off, was_reset, restarted, refused, monitor_refused; // EDPRSR.SPD, SR, SDR, SDAD, SPMAD
    uint8_t claims;
    enum v8_status status;
    uint32_t cidsr, vidsr; // go with the PC sample that was read last
    uint32_t pcsr_high;    // and so does this, in the monitor
    uint64_t bloom;        // what the comparators may match, to dismiss the rest fast
};

struct armv8 {
    struct core core;
    const struct v8_profile *profile;
    unsigned number;
    uint32_t start;
    struct bus *bus;
    struct armv7 *aarch32;       // executes, and has the program's registers; NULL: AArch64 state now
    struct armv7 *user32;        // the same while it is at EL0 in AArch32 state; made when it first is
    uint64_t added32[V8_EVENTS]; // what of that is in `totals`
    uc_engine *uc;
    uc_context *fresh; // what a reset restores
    struct pmu_v3 pmu;
    struct cti cti;
    uint64_t totals[V8_EVENTS];
    struct l1d l1d;
    struct v8_debug debug;
    uint64_t regs[R_COUNT];

    enum v8_state state;
    bool held_in_reset, off;
    bool pmu_interrupts;         // an overflow is IRQ 3 as well
    bool pmu_is_handled;         // and its handler clears the overflow before the core is halted
    uint32_t pending;            // interrupts
    uint32_t entered[V8_LEVELS]; // what each level was last entered for
    uint32_t pending_before;     // what was pending when the halt began
    uint64_t work, work_at_run;  // counts what executes, to know whether anything did since the last resume
    struct v8_program at_halt;
    uint64_t altered; // halts after which the program found something else

    // Valid while the emulator does not run
    uint64_t pc;
    // PSTATE without its flags, which the emulator has
    unsigned level;
    bool handler_stack; // PSTATE.SP
    uint32_t daif;
    uint64_t sp[V8_LEVELS]; // of all but the stack in use, which the emulator has

    // Execution
    uint64_t slice_end;  // in cycles
    bool attention;      // something may have to happen before the next instruction
    bool cleared;        // it was checked for the instruction that starts now
    bool paused;         // the hook stopped the emulator
    bool stuffing;       // a debugger's instruction is being executed
    int raised;          // emulator interrupt, -1 none
    struct a64 last;     // the instruction that is being executed
    bool executing;      // there is one
    bool stepping;       // Debug state is entered again before the second instruction
    bool listens;        // an overflow of the monitor goes somewhere, so that each instruction is checked
    uint64_t stops_from; // how many instructions have to be done before a request from there is taken
    bool loaded, stored, unaligned;
    uint64_t touched; // the address of its last load or store
    struct v8_sampled sampled;
    struct a64_classifier classifier;
};

// armv8_registers.c
uint64_t v8_get(const struct armv8 *, int unicorn_register);
void v8_set(struct armv8 *, int unicorn_register, uint64_t value);
uint64_t v8_x(const struct armv8 *, unsigned number); // 31 is the zero register
void v8_set_x(struct armv8 *, unsigned number, uint64_t value);
uint64_t v8_stack(const struct armv8 *); // the stack pointer in use
uint32_t v8_pstate(const struct armv8 *);
void v8_set_pstate(struct armv8 *, uint32_t value);
uint64_t v8_sp(const struct armv8 *, unsigned level); // SP_ELx
void v8_set_sp(struct armv8 *, unsigned level, uint64_t value);
bool v8_secure(const struct armv8 *);
void v8_attend(struct armv8 *);        // before the next instruction
void v8_level_changed(struct armv8 *); // or the security state, or the signals
uint64_t v8_emulators(const struct armv8 *, unsigned key, bool *is_there);

// aarch32.c: the same of a core in AArch32 state, and its T32 instructions in Debug state
bool a32_create(struct armv8 *, const struct core_plan *);
void a32_enter_user(struct armv8 *, uint32_t cpsr); // from AArch64 state, with its registers
void a32_leave_user(struct armv8 *);                // and back
void a32_add_totals(struct armv8 *);                // what was counted there since
void a32_forget_code(struct armv8 *, uint32_t from, uint32_t to);
void a32_destroy(struct armv8 *);
void a32_reset(struct armv8 *);
void a32_run(struct armv8 *, uint64_t cycles);
void a32_log(struct armv8 *, enum truth_kind, uint32_t pc, uint32_t extra);
uint32_t a32_pc(const struct armv8 *);
void a32_set_pc(struct armv8 *, uint32_t value);
uint32_t a32_register(const struct armv8 *, unsigned number); // R0 to R14, else 0
uint32_t a32_cpsr(const struct armv8 *);
void a32_set_cpsr(struct armv8 *, uint32_t value);
uint32_t a32_context(const struct armv8 *);
bool a32_interrupted(const struct armv8 *);
uint32_t *a32_pending(struct armv8 *);
uint64_t a32_work(const struct armv8 *); // 0: it is never in AArch32 state
void a32_attend(struct armv8 *);
void a32_set_halted(struct armv8 *, bool halted);
bool a32_asleep(const struct armv8 *);
const uint64_t *a32_totals(const struct armv8 *);
void a32_stuff(struct armv8 *, uint32_t bytes); // an instruction, as memory would have it
bool a32_system(struct armv8 *, uint32_t op, bool write, uint32_t *value); // MRC and MCR

// armv8_exceptions.c
enum v8_class { // ESR_ELx.EC, DDI 0487H D13.2.37
    EC_UNKNOWN = 0x00,
    EC_SVC = 0x15,
    EC_HVC = 0x16,
    EC_SMC = 0x17,
    EC_SYSTEM = 0x18,
    EC_INSTRUCTION_ABORT = 0x20,
    EC_DATA_ABORT = 0x24,
    EC_BRK = 0x3C,
};
bool v8_interrupted(const struct armv8 *);
void v8_interrupt(struct armv8 *);
void v8_enter(struct armv8 *, enum v8_class, uint32_t iss, uint64_t return_address);
void v8_enter_at(struct armv8 *, unsigned level, enum v8_class, uint32_t iss, uint64_t return_address);
void v8_abort(struct armv8 *, enum v8_class, uint64_t address, bool write);
void v8_return(struct armv8 *); // ERET

// armv8_execute.c
void v8_run(struct core *, uint64_t cycles);
bool v8_hook(struct armv8 *);
bool v8_halts_at_hlt(const struct armv8 *);
uint32_t v8_context(const struct armv8 *); // CONTEXTIDR
void v8_spend(struct armv8 *, uint64_t pc, bool asleep, uint64_t cycles);
void v8_log(struct armv8 *, enum truth_kind, uint64_t pc, uint32_t extra);

// armv8_halt.c
bool v8_may_halt(const struct armv8 *);
bool v8_double_locked(const struct armv8 *);
bool v8_matches(const struct armv8 *, uint64_t pc);
void v8_comparators_changed(struct armv8 *);
uint32_t v8_value_bits(const struct armv8 *, unsigned n); // of DBGBVRn[31:0], those that hold what is written
void v8_halt(struct armv8 *, enum v8_status);
void v8_restart(struct armv8 *);
uint32_t *v8_pending(struct armv8 *);
uint64_t v8_borrowed(const struct armv8 *); // registers that are not as they were when it halted
bool v8_pends_halt(struct armv8 *, enum v8_status *);
bool v8_listens(const struct armv8 *);
void v8_pass_overflow(struct armv8 *, uint64_t pc); // the monitor's interrupt request, to the CTI

// armv8_stuff.c: EDITR and the data transfer registers
#define V8_SCRATCH 0xF0000000u // a page that only the emulator has
uint32_t v8_edscr(const struct armv8 *);
void v8_stuff(struct armv8 *, uint32_t op); // of the Execution state that it is in
void v8_write_rx(struct armv8 *, uint32_t value);
uint32_t v8_read_tx(struct armv8 *);

// armv8_system.c: an MRS or MSR of a register or an immediate value
enum v8_answer { V8_DONE, V8_UNDEFINED, V8_TRAPPED };
#define V8_KEY(op0, op1, crn, crm, op2) ((op0) << 14 | (op1) << 11 | (crn) << 7 | (crm) << 3 | (op2))
enum v8_answer v8_system(struct armv8 *, uint32_t op);
enum v8_answer v8_set_immediate(struct armv8 *, uint32_t op);

// armv8_debug_system.c: those of them that are the debug registers
bool v8_debug_register(struct armv8 *, unsigned key, bool write, uint64_t *value);

// device/debug_v8.c
bool v8_add_devices(struct armv8 *, struct bus *debug_bus);
uint8_t v8_authstatus(const struct armv8 *);

// armv8_describe.c
void v8_describe(struct core *, FILE *json);

// armv8.c
struct core *v8_create(const struct core_plan *);
void v8_reset(struct armv8 *, bool cold);
uint32_t v8_catches(const struct armv8 *);
void v8_idle(struct armv8 *); // asleep, when the chip may take its power

#endif
