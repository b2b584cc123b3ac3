/*
 * Debuggers: something that already does run control, and that carries out single wishes: read, write, set a
 * breakpoint, go on, wait. It knows nothing of counters or measurements. A GDB server is one (gdb_remote.c);
 * GDB itself, through our Python at the other end of a pipe, is another. Addresses and registers are those of
 * the core that stopped last.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "links/link.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum debugger_profile {
    PROFILE_UNKNOWN,
    PROFILE_M,
    PROFILE_ARM,
    PROFILE_AARCH64,
    PROFILE_X86_64,
    PROFILE_OTHER
};

struct debugger_facts {
    char name[128];        /* "gdb localhost:3333"; only ever printed */
    char server[48];       /* "OpenOCD", "QEMU"; "" when it does not say */
    char architecture[48]; /* as the server calls it */
    char core[64]; /* which of the server's cores it has, as the server calls it; "" where there is but one */
    bool
        has_cores; /* several: it is told of each stop which of them that was, and `core` is only the first */
    enum debugger_profile profile;
    bool was_halted;  /* before we came, for a reason of somebody else's, as far as the server tells */
    bool is_emulator; /* its cores have no cycles of their own */
    bool is_attended; /* somebody's GDB: its core was halted by that somebody, and stays so */
    bool has_cpu;     /* the server says on which CPU of a system the program was when it stopped: `cpu` */
    unsigned cpu;
};

enum debugger_go { DEBUGGER_RUN, DEBUGGER_STEP };
enum debugger_wait { DEBUGGER_STOPPED, DEBUGGER_RUNS, DEBUGGER_GONE };

enum debugger_why {
    DEBUGGER_TRAP,      /* a breakpoint, a step, or something else that a debugger stops for */
    DEBUGGER_REQUESTED, /* an interrupt */
    DEBUGGER_FAULT,
    DEBUGGER_WATCHPOINT,
    DEBUGGER_OTHERS, /* a breakpoint that somebody else set through the same debugger */
    DEBUGGER_ENDED,  /* there is no program any more */
};

struct debugger_stop {
    enum debugger_why why;
    char thread[32]; /* which core or thread stopped; "" when there is but one */
    char core[64];   /* of several cores, which that is on, as the server calls it; else "" */
    unsigned halts;  /* that the debugger made on the way, for reasons of its own, and went on from */
    bool has_cpu;    /* it says on which CPU of a system that was: `cpu` */
    unsigned cpu;
};

struct debugger;

struct debugger_ops {
    /* Memory can be reached only while the core is halted. ERROR_FAULT: the server refused, and works on. */
    bool (*read_memory)(struct debugger *, uint64_t at, void *out, size_t n, const struct deadline *,
                        struct error *);
    bool (*write_memory)(struct debugger *, uint64_t at, const void *bytes, size_t n, const struct deadline *,
                         struct error *);
    /* A hardware breakpoint; `size` of the instruction's kind: 2 in Thumb code, 1 on x86, else 4.
     * ERROR_ADDRESS: refused. */
    bool (*breakpoint)(struct debugger *, uint64_t at, unsigned size, bool set, const struct deadline *,
                       struct error *);
    bool (*go)(struct debugger *, enum debugger_go, const struct deadline *, struct error *);
    /* For a stop, not longer than `deadline`. */
    enum debugger_wait (*wait)(struct debugger *, struct debugger_stop *, const struct deadline *,
                               struct error *);
    bool (*interrupt)(struct debugger *, struct error *); /* the stop is still to be waited for */
    /* ERROR_FAULT: there is no register of that name ("pc", "sp", "lr", "r0", "xpsr", "psp"). */
    bool (*read_register)(struct debugger *, const char *name, uint64_t *out, const struct deadline *,
                          struct error *);
    /* A command of the server's own; what it printed, cut to fit. NULL: it has none. */
    bool (*monitor)(struct debugger *, const char *command, char *out, size_t size, const struct deadline *,
                    struct error *);
    bool (*is_running)(const struct debugger *);
    /* Ends the session; the core runs on, or stays halted if the server knows how to leave it so. */
    void (*close)(struct debugger *, bool run);
};

/* The ways to a core's PMU through a debugger. debugger_link_new chooses one; `info` prints them all. */
enum access_way {
    ACCESS_MEMORY,  /* the debugger reads and writes the core's memory */
    ACCESS_OPENOCD, /* OpenOCD's monitor command, which reaches every bus */
    ACCESS_WAYS
};

struct access {
    bool settled;               /* false: a program, whose counters are on another link */
    enum access_way used;       /* ACCESS_WAYS: none */
    bool only_looks;            /* writes have no effect */
    char why[ACCESS_WAYS][192]; /* how the one in use works, why the other does not */
};

/* "OpenOCD's monitor" */
const char *access_name(enum access_way way);

struct debugger {
    const struct debugger_ops *ops; /* first member of each debugger's own struct */
    struct debugger_facts facts;
    bool stays_halted;    /* somebody wants it so when the session ends */
    struct access access; /* debugger_link.c settles it */
};

/* Who prints this for "version"; "": nobody that is known. */
const char *debugger_server_of(const char *version);
/* Where several cores are threads (OpenOCD's "hwthread"), what is said about a thread has its core's name:
 * "Name: cpu1, state: breakpoint". "": it is no core. */
void debugger_core_of(const char *about, char *out, size_t size);
/* Interrupts a running core and waits until it stands. `stop` is why it did: of one that stood already, as
 * asked. */
bool debugger_halt(struct debugger *debugger, struct debugger_stop *stop, struct error *error);
/* Lets the core run, to a stop that the server is to tell of as soon as it can. */
bool debugger_run(struct debugger *debugger, const struct deadline *deadline, struct error *error);
/* Lets the core run for a time, or to the next stop. */
bool debugger_run_for(struct debugger *debugger, int64_t ms, const struct deadline *deadline,
                      struct error *error);

/*
 * A debugger's memory as a link, so that discovery, counters and the ledger work on it as on any other.
 * Memory can be reached only while the core is halted: else a step ends in TARGET_FAULT.
 */
/* Takes the debugger over, even when it fails; NULL on error. Closed, it lets the core run on, unless
 * debugger->stays_halted. */
struct link *debugger_link_new(struct debugger *debugger, struct error *error);
