/* SPDX-License-Identifier: MIT */
/*
 * A session with a GDB server: questions and answers, the server's description of itself, and its stops. For
 * gdb_remote.c, gdb_session.c and gdb_mend.c only.
 */
#pragma once

#include "debuggers/debugger.h"
#include "debuggers/gdb_packet.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Features: a GDB server's target description (target.xml and its includes, GDB manual, appendix G): the
 * architecture, and the registers by name, number and size. Depth, documents, bytes and registers are
 * bounded. Expat reads the XML; entities are refused.
 */
enum {
    GDB_REGISTERS = 1024,
    GDB_NAME = 32,
    GDB_XML_BYTES = 512 * 1024,
    GDB_XML_DOCUMENTS = 64,
    GDB_XML_DEPTH = 8
};

struct gdb_register {
    char name[GDB_NAME];
    unsigned number, bits;
    size_t offset; /* in a `g` packet, in bytes */
};

struct gdb_features {
    char architecture[48]; /* "arm", "aarch64"; "" if unknown */
    bool m_profile;        /* a feature org.gnu.gdb.arm.m-profile */
    struct gdb_register registers[GDB_REGISTERS];
    size_t n;
};

/* The source of documents: false with `error` if there is none of that name. `text` is valid until the next
 * call. */
struct gdb_documents {
    void *context;
    bool (*fetch)(void *context, const char *name, const char **text, size_t *length, struct error *error);
};

bool gdb_features_read(struct gdb_features *features, const struct gdb_documents *documents,
                       struct error *error);
/* For a server that describes nothing: r0 to r15 and cpsr, as GDB numbers them on Arm. */
void gdb_features_assume_arm(struct gdb_features *features);
/* By name, in any case; NULL: there is none. */
const struct gdb_register *gdb_features_find(const struct gdb_features *features, const char *name);

enum { GDB_CACHE = 64, GDB_THREAD = 32, GDB_SET = 16, GDB_HOST = 256 };

struct gdb_session {
    struct gdb_wire wire;
    struct gdb_features features;
    size_t packet_size; /* the largest that the server takes */
    bool has_vcont, has_xfer, has_no_ack, has_pass_signals, has_packet_size;
    bool running;
    bool asked; /* to stop, in this run */
    bool owed;  /* it stopped for another reason at that moment: the request may stop the next run */
    bool no_single_registers; /* it does not answer `p` */
    bool no_binary;           /* it does not take `X` */
    char thread[GDB_THREAD];  /* that stopped last; "" if unknown */
    char selected[GDB_THREAD];
    struct gdb_value { /* the known registers of this stop */
        unsigned number;
        uint64_t value;
    } cache[GDB_CACHE];
    size_t n_cached;
    /* For gdb_mend.c. */
    char host[GDB_HOST];
    uint16_t port;   /* 0: no new connection can be made. Of GDB: its server's, free once GDB has died */
    struct gdb_set { /* breakpoints that are set */
        uint64_t at;
        unsigned size;
    } set[GDB_SET];
    size_t n_set;
    bool server_told;                 /* facts.server is what it says of itself */
    bool mended;                      /* it was lost in between */
    struct debugger_stop mended_stop; /* why the core is halted since then */
    struct deadline mend_until;       /* no attempt after it */
};

#define GDB_GREETING "qSupported:swbreak+;hwbreak+;vContSupported+;xmlRegisters=arm,i386"

/* Asks; the answer is in wire.payload. */
bool gdb_ask(struct gdb_session *session, const char *question, const struct deadline *deadline,
             struct error *error);
bool gdb_ask_bytes(struct gdb_session *session, const void *question, size_t n,
                   const struct deadline *deadline, struct error *error);
/* The answer is "OK". */
bool gdb_is_ok(const struct gdb_session *session);
bool gdb_is_refusal(const struct gdb_session *session);
const char *gdb_refusal(const struct gdb_session *session); /* in the peer's words, or its code */
/* Greets the server and reads its description of itself; `stop`: why the core is halted. */
bool gdb_session_begin(struct gdb_session *session, struct debugger_facts *facts, struct debugger_stop *stop,
                       const struct deadline *deadline, struct error *error);
bool gdb_tell_server(struct gdb_session *session, struct debugger_facts *facts,
                     const struct deadline *deadline, struct error *error);
/* Forgets what a server reported, for another connection. */
void gdb_session_forget(struct gdb_session *session);
bool gdb_monitor(struct gdb_session *session, const char *command, char *out, size_t size,
                 const struct deadline *deadline, struct error *error);
/* A stop reply, into the session and `stop`; false when the payload is none. */
bool gdb_take_stop(struct gdb_session *session, struct debugger_stop *stop);
void gdb_cache(struct gdb_session *session, unsigned number, const char *hex, size_t digits);

/*
 * If several cores are threads of one GDB server, as in OpenOCD if it is configured that its cores belong
 * together (`target smp`, hwthread), each stop has a core.
 */
/* Names the core of a stop; nothing if the server's threads are not cores. */
bool gdb_name_core(struct gdb_session *session, const struct debugger_facts *facts,
                   struct debugger_stop *stop, const struct deadline *deadline, struct error *error);
/* OpenOCD keeps a request that arrived too late until the core runs again: nothing asks for that stop now. */
bool gdb_is_belated(struct gdb_session *session, const struct debugger_stop *stop);

/*
 * After a fault on the connection to a GDB server: what still works so that registers are put back and the
 * core runs on. A damaged packet or a pause leaves the connection usable, if question and answer are brought
 * in step again; else a new connection is made. If neither works, the server is asked blindly to let the core
 * go: one that was only stopped may read it when it goes on.
 */
/* Makes a lost session usable to undo things, and halts the core; nothing to do if it is not lost. Tries for
 * a short time in all, and then fails at once. */
bool gdb_mend(struct gdb_session *session, struct debugger *debugger, const struct deadline *deadline,
              struct error *error);
/* Of a halted core: one whose answer was lost may be set, though nobody counts on it. */
bool gdb_clear_breakpoints(struct gdb_session *session, const struct deadline *deadline, struct error *error);
/* Ends a session so that the core runs on. False: it is left halted, or nobody knows; the error says it. */
bool gdb_let_go(struct gdb_session *session, struct debugger *debugger, struct error *error);
