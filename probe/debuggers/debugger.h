/* SPDX-License-Identifier: MIT */
/*
 * Debuggers: programs that already have run control of a core and carry out single requests: read, write, set
 * a breakpoint, run, wait. They know nothing of counters or measurements. There is one: gdb_remote.c, for a
 * GDB server and for GDB itself. Addresses and registers are those of the core that stopped last.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "base/log.h"
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

/* What differs from one GDB server to the next. */
enum server { SERVER_UNKNOWN, SERVER_OPENOCD, SERVER_BLACK_MAGIC, SERVER_QEMU, SERVERS };

struct server_row {
    const char *name;     /* "" if unknown */
    const char *version;  /* in its answer to the command "version"; NULL: it is not known by that */
    bool tells_halted;    /* its first stop says whether the core was halted when we connected; others always
                             say "trap" */
    bool answers_running; /* while the core runs, and then `?` knows no signal */
    bool resumes_by_monitor; /* `D` leaves the core halted */
    bool polls;              /* a stop is seen ten times a second, unless its Tcl interpreter polls */
    bool names_cores;        /* of threads that are cores; its first stop names no thread */
    bool has_memory;         /* its own: a Tcl interpreter, which can keep our mark */
    bool reaches_buses;      /* by monitor commands, and so a PMU that is not in the core's memory */
    const char *scans[2];    /* commands that find cores; before, it has none */
};

/* What helps where facts.is_emulator. */
#define DEBUGGER_ADVICE_EMULATOR "pmu-probe's `make play` starts a virtual board, which counts cycles."

struct debugger_facts {
    char name[128]; /* "gdb localhost:3333"; only printed */
    enum server server;
    char architecture[48]; /* as the server calls it */
    char core[64];         /* the first of several cores, as the server calls it; "" if there is only one */
    bool has_cores;        /* several: each stop names its core */
    enum debugger_profile profile;
    bool was_halted;  /* when we connected, for a reason that is not ours, as far as the server reports it */
    bool is_emulator; /* its cores do not have their own cycles */
    bool is_attended; /* a user's GDB: the user halted the core, and it stays halted */
    bool has_cpu;     /* the server says on which CPU of a system the program stopped: `cpu` */
    unsigned cpu;
};

enum debugger_go { DEBUGGER_RUN, DEBUGGER_STEP };
enum debugger_wait { DEBUGGER_STOPPED, DEBUGGER_RUNS, DEBUGGER_GONE };

enum debugger_why {
    DEBUGGER_TRAP,      /* a breakpoint, a step, or another reason a debugger stops for */
    DEBUGGER_REQUESTED, /* an interrupt */
    DEBUGGER_FAULT,
    DEBUGGER_WATCHPOINT,
    DEBUGGER_OTHERS, /* a breakpoint that the user set in the same debugger */
    DEBUGGER_ENDED,  /* the program is gone */
};

struct debugger_stop {
    enum debugger_why why;
    char thread[32]; /* which core or thread stopped; "" if there is only one */
    char core[64];   /* the core's name, if there are several; else "" */
    unsigned halts;  /* that the debugger made on the way for its own reasons, and went on from */
    unsigned steps;  /* single steps among them */
    bool has_cpu;    /* the server says on which CPU of a system the program stopped: `cpu` */
    unsigned cpu;
};

struct debugger;

struct debugger_ops {
    /* Memory can be reached only while the core is halted. ERROR_FAULT: the server refused; the session goes
     * on. */
    bool (*read_memory)(struct debugger *, uint64_t at, void *out, size_t n, const struct deadline *,
                        struct error *);
    bool (*write_memory)(struct debugger *, uint64_t at, const void *bytes, size_t n, const struct deadline *,
                         struct error *);
    /* A hardware breakpoint; `size` is the instruction's: 2 in Thumb code, 1 on x86, else 4. ERROR_ADDRESS:
     * refused. */
    bool (*breakpoint)(struct debugger *, uint64_t at, unsigned size, bool set, const struct deadline *,
                       struct error *);
    bool (*go)(struct debugger *, enum debugger_go, const struct deadline *, struct error *);
    /* Waits for a stop until the deadline. */
    enum debugger_wait (*wait)(struct debugger *, struct debugger_stop *, const struct deadline *,
                               struct error *);
    bool (*interrupt)(struct debugger *, struct error *); /* `wait` then returns the stop */
    /* ERROR_FAULT: there is no register of that name ("pc", "sp", "lr", "r0", "xpsr", "psp"). */
    bool (*read_register)(struct debugger *, const char *name, uint64_t *out, const struct deadline *,
                          struct error *);
    /* Runs one of the server's own commands; `out` is what it printed, cut to fit. NULL: it has none. */
    bool (*monitor)(struct debugger *, const char *command, char *out, size_t size, const struct deadline *,
                    struct error *);
    bool (*is_running)(const struct debugger *);
    /* Lets the core run on as the session's last act but close. False: it stays halted. NULL: close does. */
    bool (*let_go)(struct debugger *, struct error *);
    /* Ends the session. The core runs on, or stays halted if the server can leave it so. */
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

const struct server_row *server_row(enum server server);
enum server server_of(const char *version); /* that prints this for "version" */

/* "OpenOCD's monitor" */
const char *access_name(enum access_way way);

struct debugger {
    const struct debugger_ops *ops; /* first member of each debugger's own struct */
    struct debugger_facts facts;
    bool stays_halted; /* when the session ends */
    bool undoing;      /* no hit is measured any more: a lost connection may be made again */
    bool halted_anew;  /* that was done: the server gave back what was borrowed. run_settle clears it */
    struct access access;
};

/* Interrupts a running core and waits until it is halted. `stop` says why it halted; a core that was halted
 * already counts as requested. */
bool debugger_halt(struct debugger *debugger, struct debugger_stop *stop, struct error *error);
/* Lets the core run to a stop that the server must report as soon as it can. */
bool debugger_run(struct debugger *debugger, const struct deadline *deadline, struct error *error);
/* Lets the core run for `ms`, or to the next stop, and leaves it halted. */
bool debugger_run_for(struct debugger *debugger, int64_t ms, const struct deadline *deadline,
                      struct error *error);

/*
 * A debugger's memory as a link, so that discovery, counters and the ledger use it like any other. Memory can
 * be reached only while the core is halted: else a step ends in TARGET_FAULT. Takes the debugger over, even
 * on error; NULL on error. link_close lets the core run on, unless debugger->stays_halted.
 */
struct link *debugger_link_new(struct debugger *debugger, struct error *error);

/*
 * A client of the GDB remote protocol: a debugger that is a GDB server (OpenOCD, pyOCD, J-Link, Black Magic,
 * QEMU), or GDB itself through our Python (gdb-scripts/pmu_engine.py). The other end is not trusted: answers
 * are bounded in length and in time.
 */
/* NULL on error. ERROR_NO_PROBE: no server listens there; ERROR_NOT_A_PROBE: it does not speak the protocol.
 * A lost connection is made again to undo what was done. */
struct debugger *gdb_remote_connect(const char *host, uint16_t port, const struct log *log,
                                    const struct deadline *deadline, struct error *error);
/* The same on a serial port, without a way to connect again. */
struct debugger *gdb_remote_serial(const char *path, const struct log *log, const struct deadline *deadline,
                                   struct error *error);
/* Takes over a connected stream socket, even on error, without a way to connect again. Of GDB: once it has
 * died, what was done is undone through its server. */
struct debugger *gdb_remote_open(int fd, bool is_gdb, const struct log *log, const struct deadline *deadline,
                                 struct error *error);
