/* SPDX-License-Identifier: MIT */
/*
 * The device: the target at the other end of a link, with its cores, one of which is chosen. It owns the
 * ledger, through which alone the target is written; device_undo puts the target back as it was found.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "cores/core.h"
#include "counters/counter.h"
#include "device/halted_access.h"
#include "device/run.h"
#include "device/settings.h"
#include "find/discovery.h"
#include "links/ledger.h"
#include "links/link.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How device_undo leaves the chosen core. A later one outweighs those before it. */
enum leave {
    LEAVE_AS_IT_IS,       /* what stopped it lets it go again */
    LEAVE_HALTED_AGAIN,   /* it was found halted and runs for us: device_undo halts it */
    LEAVE_HALTED_RESET,   /* it is halted where a reset put it */
    LEAVE_HALTED_FOREIGN, /* it is halted for another debugger, which must find debug on and the stop's reason
                           */
};

struct debugger_stop;
struct symbols;

enum { DEVICE_CHANGES = 512 };

/* An instruction of the program that changes what a block counts. */
struct counter_change {
    const struct block_kind *kind;
    const char *name; /* of the register */
    uint64_t word;    /* where it is; 0: not in memory */
    uint64_t at;
};

struct device {
    struct link *link;         /* owned by the caller */
    struct symbols *symbols;   /* the program's, owned by the caller; NULL: not known */
    struct debugger *debugger; /* the link's, which has run control; NULL: we do, by the debug registers */
    struct ledger *ledger;
    struct device_core *cores; /* `room` of them: TARGET_CORES, or as many as the link has views */
    size_t room, n_cores;
    struct device_bus *buses;
    size_t n_buses;
    bool cores_cut, buses_cut;   /* there are more */
    struct error nothing;        /* why no core was found, if none was */
    int passed_over;             /* as discovery.h has it */
    int preferred;               /* the core to take if the user names none */
    struct device_core *chosen;  /* one of `cores` */
    struct device_core *remote;  /* on another link: its counters are taken; NULL: those of `chosen` */
    struct counter_block *block; /* the counters in use, NULL before device_take_block */
    struct counter_pick programmed[BLOCK_COUNTERS]; /* the events of its counters */
    size_t n_programmed;
    struct reading reading;               /* what a run reads: counters of the block, and others */
    struct witness block_witness;         /* what the block's counts depend on */
    struct witness witness;               /* the same, and what the programmed events depend on */
    struct halted_access *halted_access;  /* NULL: the block is reached without the core */
    bool keeps_registers;                 /* as the request had it */
    bool looks_only;                      /* to be set before device_take: nothing is to stop the core */
    const struct counter_register *emits; /* to be set before device_take: what trace depends on, as if it */
    size_t n_emits;                       /* were registers of the DWT's counter */
    bool divide;                          /* to be set before device_take_block: cycles by 64 */
    bool sees_exceptions; /* to be set before device_program: halts delay interrupts, and a core that hides
                             those counts its exceptions, if a counter is free */
    bool server_held;     /* the server, if any, is kept away */
    enum leave leave;     /* only device_leave_as sets it */
    bool slow_clock;      /* a register transfer may outlast a probe's next access */
    bool slept;           /* it was seen asleep while it was counted */
    struct address model_time; /* of an emulated chip: ns, which polls read; size 0: silicon */
    struct counter_change changes[DEVICE_CHANGES]; /* by the program, of all blocks; found when it is taken */
    size_t n_changes;
    bool watches_resets; /* the ledger keeps what shows them */
    bool was_reset;      /* a read at the end saw a reset, which registers show only once */
    bool at_own_stop;    /* it is halted by a comparator of the program's, which has been named */
    bool kept_halted;    /* LEAVE_HALTED_AGAIN: at the end of a hit, until the next are awaited */
    uint64_t stopped_at; /* LEAVE_HALTED_FOREIGN: where, if a reading found the core so */
};

/* Inspects every view of a running core, too; changes nothing. */
bool device_open(struct device *device, struct link *link, const struct device_request *request,
                 const struct deadline *deadline, struct error *error);
/* Chooses the core of that number; -1: the one of the request. If counters are read by another link, it is
 * the number of the CPU that has them; -1: the one on which a debugger stopped the program. */
bool device_choose(struct device *device, int number, struct error *error);
struct device_core *device_counted(const struct device *device); /* whose counters are taken */
/* We stop and start the chosen core, by its debug registers. Else a debugger does, or nothing can. */
bool device_has_run_control(const struct device *device);
bool device_refuse_counters(struct error *error); /* always false: there are none */
/* Always false, with ERROR_USAGE: what needs it. */
bool device_refuse_debugger(const char *what, const char *more, struct error *error);
/* Its registers can be read while the core runs; through a debugger they cannot. */
bool device_sees_running(const struct device *device);
/* Advice for a counter of another link that goes on while the program is stopped; "": none. */
const char *device_remote_advice(const struct device *device);
/* ERROR_NO_COUNTER: the stop was on another CPU than the one whose counters are taken. */
bool device_check_remote(const struct device *device, const struct debugger_stop *stop, struct error *error);
/* The target is ours until device_undo: a server stops polling, and the core runs. ERROR_HALTED: the core was
 * found halted at `place`, which is for the message; with `resume` it is resumed instead. */
bool device_take(struct device *device, bool resume, const char *place, const struct deadline *deadline,
                 struct error *error);
/* The target is ours, but the core stays as it is, running or halted. */
bool device_keep(struct device *device, const struct deadline *deadline, struct error *error);
/* Holds the register that lists write to reach a core's registers and to let it run: at the end it is as it
 * was. After device_keep. */
bool device_hold_control(struct device *device, const struct deadline *deadline, struct error *error);
/* *has: a server has halted the core itself, keeps its registers, and alone can let it run. */
bool device_server_has(struct device *device, bool *has, struct error *error);
/* From here on halted_access makes the ledger's accesses to SPACE_CORE. */
bool device_make_access(struct device *device, struct error *error);
/* The same for a core in no debugger's hands, and its view of memory. A reset meanwhile must not run the
 * program on registers of ours: it is caught. After device_keep. */
bool device_access_by_core(struct device *device, const struct deadline *deadline, struct error *error);
/* After the ledger has undone all of it. */
void device_end_access(struct device *device);
/* Finds in the program's code what may start these blocks' counters: that stays on at the end. */
void device_note_uses(struct device *device, const struct counter_block *blocks, size_t n);
/* Takes the named counter block, or the best one for NULL, and makes it count; its first counter is read. */
bool device_take_block(struct device *device, const char *name, const struct deadline *deadline,
                       struct error *error);
/* Something else changed this register, by a witness's name. True: it is the counter's reload register, and
 * the block, which is to be taken again, has it read at each stop. */
bool device_follow_reload(struct device *device, const char *changed);
/* Makes it count once more, after a reset. */
bool device_retake_block(struct device *device, const struct deadline *deadline, struct error *error);
/* Gives the block's counters these events, which are read from here on. */
bool device_program(struct device *device, const struct counter_pick *picks, size_t n,
                    const struct deadline *deadline, struct error *error);
/* Makes the block and its events count once more, after a reset. */
bool device_renew_block(struct device *device, const struct deadline *deadline, struct error *error);
/* Reads all of device->reading once, between these moments on the link's clock. If only the halted core can
 * read it, the core is halted for it; a core that another debugger had halted already is
 * LEAVE_HALTED_FOREIGN. */
bool device_read(struct device *device, uint64_t *values, uint64_t *before_us, uint64_t *after_us,
                 const struct deadline *deadline, struct error *error);
/* The same while an engine awaits a stop: the core may be halted by a breakpoint of the engine. */
bool device_read_awaited(struct device *device, uint64_t *values, uint64_t *before_us, uint64_t *after_us,
                         const struct deadline *deadline, struct error *error);
/* An emulated chip's access port says so, and has the time that its clock goes by: in registers that are
 * reserved, and zero on silicon. device_poll and device_read_timed read it until device_forget_model. */
bool device_find_model(struct device *device, const struct deadline *deadline);
void device_forget_model(struct device *device);
struct device_moment {
    uint64_t before_us, after_us; /* on the link's clock */
    uint64_t chip_us[2];          /* the same on the chip's own, which of silicon is the link's */
};
/* device_read of counters that the core need not read itself. */
bool device_read_timed(struct device *device, uint64_t *values, struct device_moment *moment,
                       const struct deadline *deadline, struct error *error);
/* device_read, and then what may have spoiled the counts. */
struct device_poll {
    bool reset;                         /* since the last poll; the first poll may report an old reset */
    const struct witness_item *changed; /* NULL: nothing */
    uint64_t saw;                       /* its value now */
    bool ran;                           /* the core ran, as far as its registers show */
    bool may_stand;                     /* it is halted, or this has not been read */
    uint32_t model_ns[2];               /* just before and after the counters; 0: no model */
};
bool device_poll(struct device *device, uint64_t *values, uint64_t *before_us, uint64_t *after_us,
                 struct device_poll *look, const struct deadline *deadline, struct error *error);
/* ERROR_RESET: the core was reset since its counter was taken, or since the last reset that was expected. */
bool device_check_reset(struct device *device, const struct deadline *deadline, struct error *error);
/* The same by the flag that a read of it clears: what nobody has reported yet. False where there is none. */
bool device_reset_is_new(struct device *device, const struct deadline *deadline);
/* A reset up to here was expected. */
void device_watch_resets(struct device *device);
/* ERROR_WRITTEN: a register on which counts depend has changed; ERROR_RESET: by a reset. */
bool device_check_witness(struct device *device, const struct deadline *deadline, struct error *error);
/* A debugger that has run control resumes the core for that time only. */
bool device_run_for(struct device *device, int ms, const struct deadline *deadline, struct error *error);
/* The program's breakpoint instruction at `pc`; and whether it would not have stopped the core without us. */
struct own_breakpoint device_own_breakpoint(const struct device *device, uint64_t pc,
                                            const struct deadline *deadline);
bool device_debug_is_ours(const struct device *device);
/* How the core is to be left. What outweighs it stays. */
void device_leave_as(struct device *device, enum leave leave);
/* Undoes everything, at any time. After a failure it can be called again. */
bool device_undo(struct device *device, const struct deadline *deadline, struct error *error);
/* After device_undo. ERROR_RESET: the core was reset while halted for its counters, and stays halted. */
bool device_check_left(const struct device *device, struct error *error);
/* Reads where the core is halted. False if it runs, or cannot be read. Not through a debugger. */
bool device_stands(struct device *device, uint64_t *pc, const struct deadline *deadline);
/* Frees all; undoes nothing. */
void device_close(struct device *device);

/*
 * Memory of a program that runs. Where a Cortex-M sleeps, a chip may have no clock on the way to its memory
 * (STM32 without DBGMCU.DBG_SLEEP): a read then gives zeros, or what was read before, without a fault. So
 * each word that matters is read together with the core's state.
 */

/* Of one of the device's cores. Each notes a reset in the device: the register shows it only once. */
typedef bool memory_reader(struct device *device, const struct core *core, const struct steps *list,
                           uint64_t *results, bool *asleep, const struct deadline *deadline,
                           struct error *error);
/* The reads of `list`, of memory, at once. *asleep: the core was, before or after them. */
memory_reader awake_look;
/* Makes the reads of `list`, of memory, while the core is awake, if it wakes within some time. *asleep: it
 * was not found awake. */
memory_reader awake_read;
/* The same while it sleeps, if it does within some time; false: it did not, or they cannot be read. */
bool asleep_read(struct device *device, const struct core *core, const struct steps *list, uint64_t *results,
                 const struct deadline *deadline);
