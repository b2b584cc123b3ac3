/*
 * Engines: arm a region and run hits through it. An engine delivers raw readings as they come; what they mean
 * (widths, overhead, statistics) is the business of whoever asked.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "counters/reading.h"
#include "device/device.h"
#include "engine/process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REGION_EXITS = 5 };

/* Where an exception handler returns: an instruction that takes the return out of LR, of another register, or
 * off the stack. */
struct exit_place {
    uint64_t at;
    unsigned popped;  /* words that it takes off the stack */
    bool conditional; /* it may be passed without returning */
};

/* From `start` to `end`, or to where the function around `start` returns to. */
struct region {
    uint64_t start, end;
    bool start_is_thumb, end_is_thumb; /* of no account where there is but one instruction set */
    bool to_return;
    uint64_t low, high; /* that function is [low, high); both 0 if unknown */
    /* The program can leave functions without returning: while the end is waited for, the call is watched, if
     * a second comparator is free. */
    bool may_be_left;
    /* Whether a call can return to an address, as far as anybody knows; NULL: nobody does. */
    bool (*is_return)(void *context, uint64_t address);
    void *context;
    /* Should it be an exception handler of a Cortex-M; those without a condition come first. More of them
     * than there is room for: `n_exits` says so. */
    struct exit_place exits[REGION_EXITS];
    size_t n_exits;
    /* Both ends are in one function: the end belongs to the start where `end_base` is `start_base` + `apart`.
     */
    bool in_function;
    enum core_register start_base, end_base;
    int64_t apart;
    struct process process;
};

enum { AT_END_WORDS = 16 };

/* What else is read at each end: a register of the core or a place in memory. */
struct at_end {
    struct at_end_word {
        bool is_register;
        enum core_register which;
        struct address at;
    } words[AT_END_WORDS];
    size_t n;
};

/* Readings of the counters at two stops and what went on between them. */
struct raw_hit {
    uint64_t from[READING_ROOM], to[READING_ROOM];
    uint64_t before_us, after_us; /* the core ran between these moments of the link's clock */
    unsigned pairs;               /* times that Debug state was left and entered again */
    unsigned steps;               /* of those, a debugger's single steps: each may have been one more pair */
    uint64_t past;                /* stops at the end in another frame, stepped past */
    uint64_t end_address;
    uint64_t words[AT_END_WORDS]; /* of at_end */
    bool tainted;                 /* an interrupt that pended while the core was halted ran first */
};

/* A look at the counters between two stops, some time between these moments. */
struct raw_poll {
    uint64_t values[READING_ROOM];
    uint64_t before_us, after_us;
    bool first; /* of the hit under way */
};

enum engine_wait { WAIT_START, WAIT_END };

struct engine_sink {
    void *context;
    bool (*hit)(void *context, const struct raw_hit *);   /* false: enough */
    void (*rehit)(void *context, const struct raw_hit *); /* from a stop to the same stop, nothing executed */
    void (*left)(
        void *context); /* a hit that was begun will not come: its call was made again before it returned */
    void (*tick)(void *context, enum engine_wait); /* now and then while waiting */
    /* While the end is waited for; `hit` has `from` and `before_us` only. */
    void (*look)(void *context, const struct raw_hit *hit, const struct raw_poll *);
};

struct engine_request {
    uint64_t hits;               /* at most; UINT64_MAX: until the sink has enough */
    unsigned rehits;             /* at each end of the first hit of this call */
    int64_t timeout_ms;          /* for the start to be reached, and then for the end */
    const struct at_end *at_end; /* NULL: nothing */
};

struct engine;

struct engine_ops {
    bool (*arm)(struct engine *, const struct region *, const struct deadline *, struct error *);
    bool (*run)(struct engine *, const struct engine_request *, const struct engine_sink *,
                const struct deadline *, struct error *);
    /* Takes every breakpoint away and lets the core go on, unless it stopped for somebody else. */
    bool (*disarm)(struct engine *, const struct deadline *, struct error *);
    void (*free)(struct engine *);
};

struct engine {
    const struct engine_ops *ops;
    uint64_t stopped_at;   /* after ERROR_FOREIGN_STOP and ERROR_RESET */
    char uncalibrated[96]; /* why there were no re-hits though they were wished; "" if there were */
    char limit[160];       /* what cannot be told from a hit, known once it is armed; "" if nothing */
};

/*
 * the direct engine: a core's own debug registers over a link. Hits are planned as passages, many to a list
 * where nothing has to be decided in between, and every stop is proved before the core is resumed from it.
 */
/* For target->chosen and target->block; NULL: out of memory. The target must outlive the engine. */
struct engine *direct_new(struct device *device);

/*
 * The debugger engine: runs hits through a debugger, a wish at a time. Slower than the lowered one, and its
 * halts are the debugger's; for servers that own the core. The counters are read at the stops only.
 */
/* For a target that has a debugger; NULL: out of memory. */
struct engine *debugger_engine_new(struct device *device);
/* Re-hits where the core stands, told to the sink; none where the debugger does not let it be found out. The
 * core may be an instruction further afterwards; on up to `steps` instructions where it stands at a branch.
 */
bool debugger_engine_calibrate_here(struct engine *engine, unsigned rehits, unsigned steps,
                                    const struct engine_sink *sink, const struct deadline *deadline,
                                    struct error *error);
/* Reads the counters where the core stands; *reset: it was reset since it was last looked at. */
bool debugger_engine_look(struct engine *engine, uint64_t *values, bool *reset,
                          const struct deadline *deadline, struct error *error);

/*
 * An engine that resets the target before each hit: what is measured is the first passage after the reset.
 * Around another engine, which it owns.
 */
/* ERROR_USAGE or ERROR_NO_COUNTER where that cannot be measured; the target is taken, its block too. */
bool reset_engine_check(const struct device *device, const struct region *region, struct error *error);
/* NULL: out of memory, and `inner` is freed. */
struct engine *reset_engine_new(struct device *device, struct engine *inner);
