/* SPDX-License-Identifier: MIT */
/*
 * Links: ways to read and write registers. A link knows nothing of cores or counters: it lists the views
 * through which memory can be seen, and executes steps. link_hold keeps a server with its own run control
 * (OpenOCD) from interfering; link_server_* ask it to move the core.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "base/step.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum view_state { VIEW_UNKNOWN, VIEW_RUNNING, VIEW_HALTED, VIEW_RESET }; /* as pmu.tcl numbers them */

/* One way to see memory: an OpenOCD target, an access port of a probe, a CPU. */
struct link_view {
    uint16_t unit; /* for struct address */
    char name[64]; /* the server's name for it, for printing only */
    char type[32]; /* "cortex_m", "hla_target", "mem_ap", "ap" ... */
    bool is_core;  /* run control is or may be possible here */
    /* Where it is, as far as the link knows. */
    bool has_port;
    uint16_t port;         /* the access port in front of it: unit for SPACE_AP */
    uint64_t debug_base;   /* of its debug registers, if the server or the user says; else 0 */
    unsigned core_id;      /* which of several cores at one port */
    enum view_state state; /* what the server believes */
    bool counts_only;      /* only for counters; another link controls the core: see link_combined_new */
};

/* The target's debug power after the link is closed. */
enum link_power {
    LINK_POWER_AS_FOUND,
    LINK_POWER_DOWN, /* no core is left halted */
    LINK_POWER_UP,   /* a core is left halted for the user to inspect */
};

/* SWO as a link takes it in. */
struct link_trace {
    struct address tpiu;
    uint32_t clock_hz; /* of the TPIU */
    uint32_t baud;
    bool fixed;    /* the server was taking it in with that baud already */
    char why[200]; /* in a server's words: it cannot */
};

struct link;
struct debugger;
struct claim;

struct link_ops {
    struct outcome (*execute)(struct link *, const struct step *, size_t n, uint64_t *results,
                              const struct deadline *, struct error *);
    size_t (*views)(struct link *, struct link_view *out, size_t room, struct error *); /* 0 on error */
    void (*describe)(struct link *, char *out, size_t size); /* "openocd localhost:6666" */
    /* These may be NULL: no server. `unit` is the core's view. */
    bool (*hold)(struct link *, bool hold, struct error *);
    void (*hold_while)(struct link *, const struct step *halted);
    bool (*claim)(struct link *, const struct claim *, struct error *);
    bool (*recover)(struct link *, struct error *);
    bool (*server_run)(struct link *, uint16_t unit, bool run, const struct deadline *, struct error *);
    bool (*server_forget)(struct link *, uint16_t unit, const struct deadline *, struct error *);
    bool (*server_reset)(struct link *, uint16_t unit, bool halt, const struct deadline *, struct error *);
    /* The debugger that does run control in place of the core's debug registers, and that shows memory only
     * while the core is halted. NULL: none. */
    struct debugger *(*debugger)(struct link *);
    /* NULL: a server decides about it. */
    void (*mark_cacheable)(struct link *, uint16_t unit);
    /* NULL: a server decides about the power. */
    void (*leave_power)(struct link *, enum link_power);
    /* Lets a core go that it has halted for its own accesses. NULL: it halts none. */
    bool (*release)(struct link *, const struct deadline *, struct error *);
    /* See link_trace_start. NULL: it has no input for trace. */
    bool (*trace_can)(struct link *);
    bool (*trace_start)(struct link *, struct link_trace *, struct error *);
    bool (*trace_read)(struct link *, uint8_t *out, size_t room, size_t *n, bool *lost, struct error *);
    bool (*end)(struct link *, struct error *); /* NULL: close says all */
    void (*close)(struct link *);
    bool exact_faults; /* TARGET_FAULT names the very step; else that step or the one before it failed */
    bool comes_back;   /* the next call reopens a lost link */
};

struct lock;

enum { LINK_NAME = 256 };

struct link {
    const struct link_ops *ops; /* first member of each link's own struct */
    char name[LINK_NAME];       /* see link_lock */
    char note[160];             /* what the user should know of it; "": nothing */
    struct lock *lock;
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
 * OP_COPY and OP_CHECK use a result of this call, or of an earlier one whose results lie before `results`.
 * A list that takes over LINK_BUDGET_MS may end with NOT_YET before any step, with `saw` 0: call again as
 * above.
 */
struct outcome link_execute(struct link *link, const struct step *steps, size_t n, uint64_t *results,
                            const struct deadline *deadline, struct error *error);
bool link_release(struct link *link, const struct deadline *deadline, struct error *error);
size_t link_views(struct link *link, struct link_view *out, size_t room, struct error *error);
void link_describe(struct link *link, char *out, size_t size);
/* While held, a server neither polls the core nor acts on what it finds. True without a server. */
bool link_hold(struct link *link, bool hold, struct error *error);
/* Before link_hold: what is read there while the core is halted, an OP_UNTIL. A server that takes us for dead
 * does not inspect a core that is halted so. NULL: it may, whenever it likes. */
void link_hold_while(struct link *link, const struct step *halted);
/* Marks a server that has memory as in use by us; link_close removes the mark. ERROR_IN_USE: another
 * pmu-probe holds it. A holder that is dead is succeeded. True without such a server. */
bool link_claim(struct link *link, const struct claim *claim, struct error *error);
/* Puts back what a client of ours that died left in the server: polling. */
bool link_server_recover(struct link *link, struct error *error);
/* Makes the server resume or halt the core, so that its caches stay valid. */
bool link_server_run(struct link *link, uint16_t unit, bool run, const struct deadline *deadline,
                     struct error *error);
/* Removes the server's own breakpoints and watchpoints. */
bool link_server_forget(struct link *link, uint16_t unit, const struct deadline *deadline,
                        struct error *error);
/* Resets the target in the server's way, which knows the board. True without a server. Not while held. */
bool link_server_reset(struct link *link, uint16_t unit, bool halt, const struct deadline *deadline,
                       struct error *error);
/* Whether it has an input for SWO. */
bool link_trace_can(struct link *link);
/* Has the link take bytes in from SWO, as a UART; baud 0: no more. The baud becomes what it takes, 0: not
 * this one. A server writes the TPIU's registers, too. */
bool link_trace_start(struct link *link, struct link_trace *trace, struct error *error);
/* What arrived since; *lost: bytes were lost before the last ones of them. */
bool link_trace_read(struct link *link, uint8_t *out, size_t room, size_t *n, bool *lost,
                     struct error *error);
struct debugger *link_debugger(struct link *link); /* NULL: there is none */
/* From now on accesses to memory through this view are cacheable, so that they find what a core's data cache
 * holds. False: a server decides about it. */
bool link_mark_cacheable(struct link *link, uint16_t unit);
/* Of several calls the one with the highest value counts. No effect if a server decides about the power. */
void link_leave_power(struct link *link, enum link_power power);
bool link_comes_back(const struct link *link);
bool link_faults_are_exact(const struct link *link);
bool link_has_server(const struct link *link);
/* Before a link touches the other end: this is what it is called in journals, and it is kept from other
 * pmu-probes until link_close. ERROR_IN_USE: one of them has it. */
bool link_lock(struct link *link, const char *name, struct error *error);
const char *link_identity(const struct link *link); /* "": unknown */
/* "openocd localhost:6666": this machine has one name. */
void link_end_name(char *out, size_t size, const char *kind, const char *host, uint16_t port);
/* The last word before link_close, after everything is undone. False: a server keeps the core halted. */
bool link_end(struct link *link, struct error *error);
void link_close(struct link *link); /* NULL is allowed */

/*
 * Two links used as one: `control` reaches the core, `counters` the model-specific registers of an x86
 * processor. A list of steps is cut where it changes from one to the other. Takes both links over, even if it
 * fails; NULL on error. The views of `counters` are marked `counts_only`.
 */
struct link *link_combined_new(struct link *control, struct link *counters, struct error *error);
