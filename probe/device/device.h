/*
 * The target: what is at the other end of a link. Finds the cores that the link's views show, takes one of
 * them with its counter blocks, and owns the ledger through which alone it is written. Whatever way a run
 * ends, device_close puts the target back as it was found.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "cores/core.h"
#include "counters/counter.h"
#include "counters/reading.h"
#include "device/halted_access.h"
#include "device/witness.h"
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
    LEAVE_HALTED_RESET,   /* it stands where a reset put it */
    LEAVE_HALTED_FOREIGN, /* it stands for another debugger, which must find debug on and the stop's reason */
};

struct device {
    struct link *link;         /* owned by the caller */
    struct debugger *debugger; /* the link's, which has run control; NULL: we do, by the debug registers */
    struct ledger *ledger;
    struct device_core *cores; /* `room` of them: TARGET_CORES, or as many as the link has views */
    size_t room, n_cores;
    struct device_bus *buses;
    size_t n_buses;
    bool cores_cut, buses_cut; /* there are more */
    bool has_passed_over;      /* a Cortex-M might be behind this access port, but it was not read */
    uint16_t passed_over;
    int preferred;               /* the core to take if the user names none */
    struct device_core *chosen;  /* one of `cores` */
    struct device_core *remote;  /* by another link: whose counters are taken; NULL: those of `chosen` */
    struct counter_block *block; /* the counters in use, NULL before target_take_block */
    struct counter_pick programmed[BLOCK_COUNTERS]; /* what its counters were given last */
    size_t n_programmed;
    struct reading reading;              /* what a run reads of it, and beside it */
    struct witness block_witness;        /* what the block's counts depend on */
    struct witness witness;              /* and those of the events under way */
    struct halted_access *halted_access; /* where the block is reached through the core itself; else NULL */
    bool divide;                         /* wanted before target_take_block: cycles by 64 */
    bool server_held;                    /* the server, if any, is kept away */
    enum leave leave;                    /* only device_leave_as sets it */
    bool slow_clock;                     /* a register transfer may outlast a probe's next access */
    bool slept;                          /* it was seen asleep while it was counted */
    uint64_t stopped_at;                 /* LEAVE_HALTED_FOREIGN: where, if a reading found the core so */
};

/* Looks at every view. Works on running cores; changes nothing. */
bool device_open(struct device *device, struct link *link, const struct device_request *request,
                 const struct deadline *deadline, struct error *error);
/* The core by number, -1 for the one that was wished. Where counters come by another link, the number is that
 * of the CPU that has them, and -1 the one on which a debugger stopped the program. */
bool device_choose(struct device *device, int number, struct error *error);
struct device_core *device_counted(const struct device *device); /* whose counters are taken */
/*
 * From here on the target is ours until device_close: the server stops polling, a halted core is refused with
 * ERROR_HALTED, or resumed by the server when `resume`. `place` words where it is halted, for the message.
 */
bool device_take(struct device *device, bool resume, const char *place, const struct deadline *deadline,
                 struct error *error);
/* Likewise, but the core is left as it is, running or halted. */
bool device_keep(struct device *device, const struct deadline *deadline, struct error *error);
/* Takes the named counter block, or the best one for NULL, and makes it count; its first counter is read. */
bool device_take_block(struct device *device, const char *name, const struct deadline *deadline,
                       struct error *error);
/* The same once more, after a reset. */
bool device_retake_block(struct device *device, const struct deadline *deadline, struct error *error);
/* Gives the block's counters these events, which takes the place of what was read before. */
bool device_program(struct device *device, const struct counter_pick *picks, size_t n,
                    const struct deadline *deadline, struct error *error);
/* Likewise what both did last, after a reset has undone it. */
bool device_renew_block(struct device *device, const struct deadline *deadline, struct error *error);
/* Reads all of target->reading once; the moments bound when that was, on the link's clock. Where only the
 * halted core can read it, it is halted for that; if it was halted already, `leave` tells. */
bool device_read(struct device *device, uint64_t *values, uint64_t *before_us, uint64_t *after_us,
                 const struct deadline *deadline, struct error *error);
/* Likewise, with what tells whether the counts are sound, looked at after them. */
struct device_poll {
    bool reset;                         /* since the last look, or for the first one since whenever */
    const struct witness_item *changed; /* NULL: nothing */
    uint64_t saw;                       /* what that one holds now */
};
bool device_poll(struct device *device, uint64_t *values, uint64_t *before_us, uint64_t *after_us,
                 struct device_poll *look, const struct deadline *deadline, struct error *error);
/* Nobody has changed what counts depend on: ERROR_WRITTEN. */
bool device_check_witness(struct device *device, const struct deadline *deadline, struct error *error);
/* Lets the core run for a time: a debugger has it halted meanwhile, and halts it again. */
bool device_run_for(struct device *device, int ms, const struct deadline *deadline, struct error *error);
/* The registers that tell a core to act may be written from here on. */
bool device_allow_commands(struct device *device, const struct core *core, struct error *error);
/* Notes how the core is to be left; never takes back what outweighs it. */
void device_leave_as(struct device *device, enum leave leave);
/* Undoes everything; safe at any time. False when something could not be put back: it can be called again. */
bool device_undo(struct device *device, const struct deadline *deadline, struct error *error);
/* After that: ERROR_RESET where the core could not be let go. */
bool device_check_left(const struct device *device, struct error *error);
/* Undoes nothing. */
void device_close(struct device *device);
