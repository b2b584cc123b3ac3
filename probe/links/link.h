/*
 * Links: a way to read and write registers. A link knows nothing of cores or counters; it lists the
 * views through which memory can be seen, and executes steps. A server that does run control of its
 * own (OpenOCD) is kept from interfering by link_hold, and told to move the core by link_server_*.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "base/step.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum view_state { VIEW_UNKNOWN, VIEW_RUNNING, VIEW_HALTED, VIEW_RESET };

/* One way to see memory: an OpenOCD target, an access port of a probe of ours. */
struct link_view {
    uint16_t unit; /* for struct address */
    char name[64]; /* the server's name for it; only ever printed */
    char type[32]; /* "cortex_m", "hla_target", "mem_ap", "ap" ... */
    bool is_core;  /* run control is possible here, or might be */
    /* Where it is, as far as the link knows. */
    bool has_port;
    uint16_t port;         /* the access port behind which it is: unit for SPACE_AP */
    uint64_t debug_base;   /* of its debug registers, when somebody said so; else 0 */
    unsigned core_id;      /* of several cores behind one port */
    enum view_state state; /* what the server believes */
    bool counts_only;      /* counters are taken there, for a core of another link: see pair.h */
};

/* What becomes of the target's debug power when the link is closed. */
enum link_power {
    LINK_POWER_AS_FOUND,
    LINK_POWER_DOWN, /* nobody is left to debug */
    LINK_POWER_UP,   /* a core is left halted, for somebody to find */
};

struct link;
struct debugger;

struct link_ops {
    struct outcome (*execute)(struct link *, const struct step *, size_t n, uint64_t *results,
                              const struct deadline *, struct error *);
    size_t (*views)(struct link *, struct link_view *out, size_t room, struct error *); /* 0 on error */
    void (*describe)(struct link *, char *out, size_t size); /* "openocd localhost:6666" */
    /* The ones below may be NULL: no server. All are given the core's view. */
    bool (*hold)(struct link *, bool hold, struct error *);
    bool (*server_run)(struct link *, uint16_t unit, bool run, const struct deadline *, struct error *);
    bool (*server_forget)(struct link *, uint16_t unit, const struct deadline *, struct error *);
    bool (*server_reset)(struct link *, uint16_t unit, bool halt, const struct deadline *, struct error *);
    /* What does run control in place of the core's registers, and lets memory be seen only while the core is
     * halted. NULL: nothing does. */
    struct debugger *(*debugger)(struct link *);
    /* Not the core's view. NULL: somebody else's. */
    void (*leave_power)(struct link *, enum link_power);
    void (*close)(struct link *);
    bool exact_faults; /* TARGET_FAULT is told of the very step; else of that or the one behind it */
    bool comes_back;   /* a lost link is opened anew by the next call */
};

struct link {
    const struct link_ops *ops; /* first member of each link's own struct */
};

enum {
    LINK_SLICE_MS = 50,   /* how long one call waits for an OP_UNTIL */
    LINK_BUDGET_MS = 100, /* a call begins no step later than this */
};

/*
 * The contract that everything rests on: execution stops at step k with results below k valid, and
 * nothing after k ran. An OP_UNTIL gives up with NOT_YET after LINK_SLICE_MS, or when the deadline
 * passes; calling again with the rest of the list goes on. `error` is set for TARGET_* and
 * LINK_LOST only. `results` has room for n.
 * OP_COPY and OP_CHECK take a result of this call, or of one before it whose results lie in front of
 * `results`.
 * A list that takes over LINK_BUDGET_MS may end with NOT_YET before any step, with `saw` 0: call again as
 * above.
 */
struct outcome link_execute(struct link *link, const struct step *steps, size_t n, uint64_t *results,
                            const struct deadline *deadline, struct error *error);
size_t link_views(struct link *link, struct link_view *out, size_t room, struct error *error);
void link_describe(struct link *link, char *out, size_t size);
/* While held, a server neither polls the core nor acts on what it finds there. Nothing to do without one. */
bool link_hold(struct link *link, bool hold, struct error *error);
/* Lets the server itself resume or halt the core, so that its caches stay true. */
bool link_server_run(struct link *link, uint16_t unit, bool run, const struct deadline *deadline,
                     struct error *error);
/* The server's own breakpoints and watchpoints are gone. */
bool link_server_forget(struct link *link, uint16_t unit, const struct deadline *deadline,
                        struct error *error);
/* Resets in the server's way, which knows the board; true where there is no server. Not while it is held. */
bool link_server_reset(struct link *link, uint16_t unit, bool halt, const struct deadline *deadline,
                       struct error *error);
struct debugger *link_debugger(struct link *link); /* NULL: there is none */
/* Of several wishes the last in the enumeration counts. Nothing to do where a server has the power. */
void link_leave_power(struct link *link, enum link_power power);
bool link_comes_back(const struct link *link);
bool link_faults_are_exact(const struct link *link);
bool link_has_server(const struct link *link);
void link_close(struct link *link); /* NULL is allowed */

/*
 * A pair of links: one that reaches the core, and another that reaches the counters, which are model-specific
 * registers of an x86 processor. To what uses it the two are one link; a list of steps is cut where it goes
 * over from one to the other.
 */
/* Takes both over, even when it fails; NULL on error. The views of `counters` are marked `counts_only`. */
struct link *link_combined_new(struct link *control, struct link *counters, struct error *error);
