/* SPDX-License-Identifier: MIT */
/*
 * Engines: arm a region of code, run hits through it and deliver raw readings. The caller works out widths,
 * overhead and statistics.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "base/values.h"
#include "code/instruction.h"
#include "counters/counter.h"
#include "device/device.h"
#include "engine/counter_stop_steps.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whose code is measured, if an operating system gives each program its own address space. */
struct process {
    enum {
        PROCESS_NOT_SAID, /* code in user mode is refused: any program may have code there */
        PROCESS_ANY,
        PROCESS_ID,
    } which;
    uint32_t id; /* CONTEXTIDR */
};

void process_note(const struct process *process, char *note, size_t size);
/* ERROR_USAGE if the core lacks this choice. */
bool process_check(const struct process *process, const struct core *core, struct error *error);
/* The same for a core that a debugger halts and resumes. */
bool process_check_debugged(const struct process *process, struct error *error);

enum { REGION_EXITS = 8, REGION_WRITERS = 4, REGION_WORDS = 4, REGION_STACKS = 4 };

/* An instruction by which an exception handler of a Cortex-M may return: if what it takes for the PC is an
 * EXC_RETURN. */
struct exit_place {
    uint64_t at;
    enum core_register by; /* the register that has it; CORE_PC: the stack does */
    unsigned popped;       /* words that it takes off the stack */
    bool conditional;      /* it may not be taken */
};

/* Unconditional ones first. `all`: there are no others but those that their registers lead to. */
struct exit_places {
    struct exit_place at[REGION_EXITS];
    size_t n;
    bool all;
};

/* What a function's entry shows with an address in LR. */
enum entered {
    ENTERED_BY_CALL,  /* of the instruction before that address, or it is not known */
    ENTERED_ANYHOW,   /* it returns to LR, whatever address that is */
    ENTERED_PERHAPS,  /* by that call, or by a jump of the caller while LR is an earlier call's */
    ENTERED_BY_JUMP,  /* LR is an earlier call's */
    ENTERED_IN_MIDDLE /* of a call: it takes its return address from a frame that it has not made */
};

/* From `start` to `end`, or to where the function around `start` returns to. */
struct region {
    uint64_t start, end;
    bool start_is_thumb, end_is_thumb; /* ignored on cores with one instruction set */
    bool to_return;
    uint64_t low, high; /* that function is [low, high); both 0 if unknown */
    uint64_t eret;      /* of T32: MOVS PC, LR, which in Hyp mode does not go there; 0: none */
    /* The program can leave functions without returning (longjmp, C++ exceptions): with a second comparator
     * the engine sees the call made again. */
    bool may_be_left;
    /* Whether a call can return to an address, whether other code than the return leads there, and where a
     * handler ends that goes on in another function. Each may be NULL: unknown. */
    bool (*is_return)(void *context, uint64_t address);
    bool (*is_joined)(void *context, uint64_t address);
    /* How a function was entered that has this return address. NULL: unknown. */
    enum entered (*entered_by)(void *context, uint64_t function, uint64_t back);
    void (*find_exits)(void *context, uint64_t function, struct exit_places *out);
    /* Whether a single step there is one of a load-exclusive, so that its store fails. */
    bool (*is_held)(void *context, uint64_t address);
    /* Whether what the handler calls may return from the exception itself. */
    bool (*callee_exits)(void *context, uint64_t handler);
    void *context;
    struct exit_places exits; /* if it is a handler */
    /* Instructions that set the stack pointer, as longjmp and unwinders do; `n_stacks` may be more than there
     * is room for. */
    struct region_place {
        uint64_t at;
        bool is_thumb;
    } stacks[REGION_STACKS];
    size_t n_stacks;
    /* Until the end is reached: what shows that it belongs to a later start or call. */
    bool start_again;            /* the start may be reached again */
    bool one_stack;              /* of a function: all calls of it are on one stack */
    bool is_unread;              /* ... for all that is known without an ELF: memory has the code */
    struct region_place entered; /* the entry of the function around both; `at` 0: it need not be watched */
    int64_t entered_apart;       /* there SP is `start_base` plus this */
    bool never_nests;            /* no call of that function runs in another, but in a Cortex-M's handler */
    char doubt[DOUBT_ROOM];      /* what the code leaves open, in words; "" */
    /* Instructions that change the count: a hit that reaches one ends the run with ERROR_WRITER_SOUGHT, and
     * so does arm if not each can have a breakpoint. Not for the round of a loop, nor for a walk. One that is
     * a store changes it only if it goes to one of `words`, which the registers show there. */
    struct region_writer {
        uint64_t at;
        bool is_thumb;
        struct instruction store;
        uint64_t words[REGION_WORDS];
        size_t n_words; /* 0: not a store */
        char what[224]; /* "fir.c:96 (reset_timer+0x8) writes DWT_CYCCNT" */
    } writers[REGION_WRITERS];
    size_t n_writers;
    /* Both ends are in one function: an end belongs to a start if `end_base` is `start_base` + `apart`. */
    bool in_function;
    enum core_register start_base, end_base;
    int64_t apart;
    struct process process;
};

enum { AT_END_WORDS = 16 };

/* What else is read at the end of a hit: registers of the core and words of memory. */
struct at_end {
    struct at_end_word {
        bool is_register;
        enum core_register which;
        struct address at;
    } words[AT_END_WORDS];
    size_t n;
};

struct raw_hit {
    uint64_t from[READING_ROOM], to[READING_ROOM];
    uint64_t before_us, after_us; /* the core ran between these moments of the link's clock */
    unsigned pairs;               /* how often the core left Debug state and entered it again */
    unsigned steps;               /* of these, a debugger's single steps: each may have been one more pair */
    uint64_t past;                /* stops at the end in another frame, stepped past */
    bool overran;                 /* its budget stopped it */
    uint64_t end_address;
    uint64_t words[AT_END_WORDS]; /* of at_end */
    bool tainted;                 /* an interrupt that pended while the core was halted ran first */
    bool unproved;                /* it may have begun in the middle of a call */
};

/* The counters of a running core, read between these moments. */
struct raw_poll {
    uint64_t values[READING_ROOM];
    uint64_t before_us, after_us;
    bool first; /* of the hit under way */
};

/* A budget that no hit is to use up: its counter, armed at the start of each hit, stops the core where it is.
 * For the direct engine. */
struct hit_budget {
    struct counter_stop *stop; /* taken, and disarmed; NULL: there is no budget */
    uint64_t events;           /* at most stop->most; may change between two calls of run */
};

enum overrun_next {
    OVERRUN_FAILS,
    OVERRUN_GOES_ON, /* the hit runs on to its end, which is delivered as usual */
    OVERRUN_IS_NONE, /* so, and the counter is armed once more: other stops took a part of the budget */
    OVERRUN_STAYS    /* the core stays halted there, for another debugger, and the run ends */
};

enum engine_wait { WAIT_START, WAIT_END };

struct engine_sink {
    void *context;
    bool (*hit)(void *context, const struct raw_hit *);      /* false: enough */
    bool (*unproved)(void *context, const struct raw_hit *); /* not a hit, as it may be a call's part */
    /* From a stop to the same stop, with nothing executed: the cost of a halt. */
    void (*rehit)(void *context, const struct raw_hit *);
    /* The hit under way is not delivered: its call was made again before it returned. It has no `to`. */
    void (*left)(void *context, const struct raw_hit *);
    void (*tick)(void *context, enum engine_wait); /* now and then while the engine waits */
    /* The core is halted where the budget was used up, with all that can be read of a halted core. The hit
     * ends at `end`; its `pairs` are those up to here, and `to` has the count of exceptions up to here, if
     * the core hides delayed ones. *more: for how many events OVERRUN_IS_NONE arms. */
    enum overrun_next (*overrun)(void *context, const struct raw_hit *, const struct counter_stop_look *,
                                 uint64_t end, uint64_t *more, const struct deadline *, struct error *);
    /* While the engine waits for the end; `hit` has only `from` and `before_us`. */
    void (*poll)(void *context, const struct raw_hit *hit, const struct raw_poll *);
    /* After `hit`, while the core is halted at that hit's end, for reads; each hit costs a round trip more.
     * False: the run fails. */
    bool (*ended)(void *context, struct error *);
};

enum { ENGINE_REHITS = 32 };

struct engine_request {
    uint64_t hits;               /* at most; UINT64_MAX: until the sink has enough */
    unsigned rehits;             /* at each end of the first hit of this call; at most ENGINE_REHITS */
    int64_t timeout_ms;          /* to reach the start, and again to reach the end */
    int64_t start_ms;            /* to reach the start, if that is less; 0: not given */
    const struct at_end *at_end; /* NULL: nothing */
};

/* How long such a run waits. */
int64_t engine_patience_ms(const struct engine_request *request, bool under_way);

struct engine;

enum { ENGINE_SCOUTED = 5 };

/* Several regions, any start of which is waited for. All have the same process. */
struct engine_scout {
    const struct region *const *regions;
    size_t n; /* at least 1; of more than ENGINE_SCOUTED the others are left out */
    int64_t timeout_ms;
    const struct engine_sink *sink; /* for ticks; NULL: none */
};

struct engine_found {
    size_t watched;    /* the first N: there was no comparator for the others. 0: it failed before */
    size_t which;      /* whose start was reached; the core is halted there until disarm */
    int64_t waited_us; /* with all of them armed */
};

enum { ENGINE_REGISTERS = 40 }; /* that read_registers takes at once */

struct register_value {
    enum core_register which;
    uint64_t value; /* as core_register_value */
    bool known;     /* false: the debugger does not have it */
};

enum { ENGINE_WAYS = 4 };

struct walk_block {
    uint64_t low, last, high;
    uint64_t next[ENGINE_WAYS]; /* where it may go on in the function */
    unsigned n_next;
    bool returns;    /* or the function may return */
    bool leaves;     /* so: by a jump to code outside, which may also jump back */
    bool is_open;    /* where it goes on is not known */
    bool calls_away; /* so, by a call at `last` that returns to another place than the one after it */
    bool is_thumb;   /* as region.start_is_thumb */
    bool is_held;    /* at its first instruction alone the core may stop */
    /* There register `base` is the stack pointer of the function's entry plus `apart`. */
    struct walk_frame {
        bool known;
        enum core_register base;
        int64_t apart;
    } at_low, at_last;
};

struct walk_hop {
    size_t from, to; /* blocks; `to` is the number of blocks: the function has returned */
    bool begins;     /* a call */
    bool in_block;   /* `to` was not entered at its first instruction */
    uint64_t before_us, after_us;
    uint64_t readings[2][READING_ROOM];
    unsigned pairs; /* as in a raw_hit */
    bool tainted;
};

struct engine_walk {
    const struct region *region; /* to_return */
    const struct walk_block *blocks;
    size_t n;
    const uint64_t *joins; /* places of the function to which code outside jumps */
    size_t n_joins;
    int64_t timeout_ms; /* as in a request */
    void *context;
    bool (*hop)(void *context, const struct walk_hop *); /* false: enough, after a return */
    const struct engine_sink *sink; /* for ticks and calls that were left; their hops are void */
};

struct engine_ops {
    bool (*arm)(struct engine *, const struct region *, const struct deadline *, struct error *);
    bool (*run)(struct engine *, const struct engine_request *, const struct engine_sink *,
                const struct deadline *, struct error *);
    /* In place of arm and run. ERROR_START: no start was reached. NULL: the engine cannot. */
    bool (*scout)(struct engine *, const struct engine_scout *, struct engine_found *,
                  const struct deadline *, struct error *);
    /* Not armed: halts the core where it is, until disarm. NULL: the engine cannot. */
    bool (*stand)(struct engine *, const struct deadline *, struct error *);
    /* In engine_sink.ended, and of a core that the engine halted. */
    bool (*read_registers)(struct engine *, struct register_value *, size_t n, const struct deadline *,
                           struct error *);
    /* In place of arm and run. NULL: the engine cannot. */
    bool (*walk)(struct engine *, const struct engine_walk *, const struct deadline *, struct error *);
    /* Removes every breakpoint; the core runs on, unless another debugger stopped it. */
    bool (*disarm)(struct engine *, const struct deadline *, struct error *);
    void (*free)(struct engine *);
};

struct engine {
    const struct engine_ops *ops;
    struct hit_budget budget; /* may be set before each call of run */
    /* Whether the code around a place is the ELF's, at the first stop there, for reads; NULL: it is. */
    bool (*prove)(void *context, uint64_t place, struct error *);
    void *prove_context;
    bool is_proved[2]; /* the start, and the end */
    bool keeps_end;    /* the direct engine leaves a core that was found halted at the end of the last hit */
    uint64_t resumes;  /* so far, single steps with them: before each the core was halted */
    bool holds_core;   /* after a run: it is still halted at the last end */
    bool saw_sleep;    /* the core, at any wait */
    uint64_t stopped_at; /* after ERROR_FOREIGN_STOP and ERROR_RESET */
    /* After a run: the hit that had begun, and had not ended; NULL: none. With `reached` its `to` has the
     * counters' last values. */
    const struct raw_hit *under_way;
    bool reached;
    char uncalibrated[96]; /* why there were no re-hits though they were requested; "" if there were */
    /* See call_doubt; after arm, and after a run more. `unproved`: what the region does not say. */
    const char *unproved;
    char doubt[DOUBT_ROOM];
};

extern const char engine_name_end[]; /* advice */
/* Always false: `what` returns by the ERET there, and not to LR. */
bool engine_refuse_eret(const char *what, uint64_t eret, struct error *error);
/* The core is halted at the start, or at the end of the first hit. */
bool engine_prove(struct engine *engine, const struct region *region, bool at_end, struct error *error);
bool engine_is_to_prove(const struct engine *engine, const struct region *region, bool at_end);

/* The direct engine: by the core's own debug registers, many hits in a list, each stop proved before the core
 * is resumed from it. The device must outlive the engine. NULL: out of memory. */
struct engine *direct_new(struct device *device);

/* The debugger engine: through the device's debugger, one request at a time; the counters are read at stops
 * only. NULL: out of memory. */
struct engine *debugger_engine_new(struct device *device);
/* Makes re-hits where the core is halted; none if the debugger leaves open what a resume executes. If the
 * core is at a branch, it is first stepped past up to `steps` instructions. */
bool debugger_engine_calibrate_here(struct engine *engine, unsigned rehits, unsigned steps,
                                    const struct engine_sink *sink, const struct deadline *deadline,
                                    struct error *error);
/* Reads the counters of the halted core; *reset: it was reset since the last time. */
bool debugger_engine_read(struct engine *engine, uint64_t *values, bool *reset,
                          const struct deadline *deadline, struct error *error);

/* The reset engine: each hit is the first passage after a reset, run by `inner`, which it owns. NULL: out of
 * memory, and `inner` is freed. */
struct engine *reset_engine_new(struct device *device, struct engine *inner);
/* ERROR_USAGE, ERROR_NO_COUNTER or ERROR_ADDRESS if this region cannot be measured from a reset. The device
 * and its block are taken. */
bool reset_engine_check(const struct device *device, const struct region *region, struct error *error);
