/* SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/socket.h"
#include "debuggers/gdb_session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

enum {
    INTERRUPT = 0x03,
    READ_MOST = 1024,
    WRITE_MOST = 1024,
    BINARY_LEAST = 16,
    CLOSE_MS = 1000,
    BUSY_MS = 500,
    BUSY_NAP_US = 20000
};

struct gdb_remote {
    struct debugger debugger; /* first */
    struct gdb_session session;
    bool let_go, was_attended;
};

static size_t gdb_remote_at_most(size_t n, size_t most)
{
    return n < most ? n : most;
}

static struct gdb_session *session_of(struct debugger *debugger)
{
    return &((struct gdb_remote *)debugger)->session;
}

/* While what was done is undone, a lost connection is made again. */
static bool is_connected(struct debugger *debugger, const struct deadline *deadline, struct error *error)
{
    struct gdb_session *session = session_of(debugger);
    return !session->wire.lost || !debugger->undoing || gdb_mend(session, debugger, deadline, error);
}

static bool must_be_halted(struct debugger *debugger, const struct deadline *deadline, struct error *error)
{
    if (!is_connected(debugger, deadline, error))
        return false;
    return !session_of(debugger)->running ||
           error_advise(
               error, ERROR_FAULT, "This needs OpenOCD's Tcl port or a CMSIS-DAP probe; delta works here.",
               "%s shows only a halted core", session_of(debugger)->wire.is_gdb ? "GDB" : "a GDB server");
}

/* Memory and registers are those of the thread that stopped. GDB selects it itself. */
static bool select_thread(struct gdb_session *session, const struct deadline *deadline, struct error *error)
{
    char question[GDB_THREAD + 4];
    if (session->wire.is_gdb || session->thread[0] == '\0' || strcmp(session->thread, session->selected) == 0)
        return true;
    snprintf(question, sizeof question, "Hg%s", session->thread);
    if (!gdb_ask(session, question, deadline, error))
        return false;
    if (!gdb_is_ok(session))
        return error_set(error, ERROR_LINK_PROTOCOL, "the GDB server does not know its own thread %s",
                         session->thread);
    snprintf(session->selected, sizeof session->selected, "%s", session->thread);
    return true;
}

static bool read_some(struct gdb_session *session, uint64_t at, void *out, size_t n,
                      const struct deadline *deadline, struct error *error)
{
    char question[64];
    size_t got;
    snprintf(question, sizeof question, "m%" PRIx64 ",%zx", at, n);
    if (!gdb_ask(session, question, deadline, error))
        return false;
    if (gdb_is_refusal(session))
        return error_set(error, ERROR_FAULT, "%s cannot read 0x%08" PRIX64 " (%.256s)", session->wire.peer,
                         at, gdb_refusal(session));
    if (!gdb_hex_read(session->wire.payload, session->wire.length, out, n, &got) || got > n)
        return gdb_wire_lose(&session->wire, ERROR_LINK_PROTOCOL, "'s memory makes no sense", error);
    return got == n || error_set(error, ERROR_FAULT, "%s reads only %zu bytes at 0x%08" PRIX64,
                                 session->wire.peer, got, at);
}

static bool gdb_remote_read_memory(struct debugger *debugger, uint64_t at, void *out, size_t n,
                                   const struct deadline *deadline, struct error *error)
{
    struct gdb_session *session = session_of(debugger);
    size_t most = gdb_remote_at_most(session->packet_size / 2 - 8, READ_MOST);
    if (!must_be_halted(debugger, deadline, error) || !select_thread(session, deadline, error))
        return false;
    for (size_t done = 0; done < n;) {
        size_t some = gdb_remote_at_most(n - done, most);
        if (!read_some(session, at + done, (char *)out + done, some, deadline, error))
            return false;
        done += some;
    }
    return true;
}

static bool write_some(struct gdb_session *session, uint64_t at, const void *bytes, size_t n,
                       const struct deadline *deadline, struct error *error)
{
    char question[2 * WRITE_MOST + 64];
    if (n >= BINARY_LEAST && !session->no_binary) {
        int used = snprintf(question, sizeof question, "X%" PRIx64 ",%zx:", at, n);
        memcpy(question + used, bytes, n);
        if (!gdb_ask_bytes(session, question, (size_t)used + n, deadline, error))
            return false;
        session->no_binary = session->wire.length == 0;
    }
    if (n < BINARY_LEAST || session->no_binary) {
        int used = snprintf(question, sizeof question, "M%" PRIx64 ",%zx:", at, n);
        gdb_hex_write(bytes, n, question + used);
        if (!gdb_ask(session, question, deadline, error))
            return false;
    }
    if (!gdb_is_ok(session) && !gdb_is_refusal(session))
        return gdb_wire_out_of_step(&session->wire, error);
    return gdb_is_ok(session) || error_set(error, ERROR_FAULT, "%s cannot write 0x%08" PRIX64 " (%.256s)",
                                           session->wire.peer, at, gdb_refusal(session));
}

static bool gdb_remote_write_memory(struct debugger *debugger, uint64_t at, const void *bytes, size_t n,
                                    const struct deadline *deadline, struct error *error)
{
    struct gdb_session *session = session_of(debugger);
    size_t most = gdb_remote_at_most(session->packet_size / 2 - 24, WRITE_MOST);
    if (!must_be_halted(debugger, deadline, error) || !select_thread(session, deadline, error))
        return false;
    for (size_t done = 0; done < n;) {
        size_t some = gdb_remote_at_most(n - done, most);
        if (!write_some(session, at + done, (const char *)bytes + done, some, deadline, error))
            return false;
        done += some;
    }
    return true;
}

static void note_breakpoint(struct gdb_session *session, uint64_t at, unsigned size, bool set)
{
    for (size_t i = 0; i < session->n_set; i++)
        if (session->set[i].at == at)
            session->set[i--] = session->set[--session->n_set];
    if (set && session->n_set < GDB_SET)
        session->set[session->n_set++] = (struct gdb_set){.at = at, .size = size};
}

static bool gdb_remote_breakpoint(struct debugger *debugger, uint64_t at, unsigned size, bool set,
                                  const struct deadline *deadline, struct error *error)
{
    struct gdb_session *session = session_of(debugger);
    char question[64];
    if (!must_be_halted(debugger, deadline, error))
        return false;
    if (set)
        note_breakpoint(session, at, size, true);
    snprintf(question, sizeof question, "%c1,%" PRIx64 ",%x", set ? 'Z' : 'z', at, size);
    if (!gdb_ask(session, question, deadline, error))
        return false;
    if (set ? gdb_is_refusal(session) : gdb_is_ok(session) || gdb_is_refusal(session))
        note_breakpoint(session, at, size, false);
    if (gdb_is_ok(session))
        return true;
    if (!gdb_is_refusal(session))
        return gdb_wire_out_of_step(&session->wire, error);
    if (session->wire.length == 0)
        return error_set(error, ERROR_NO_COMPARATOR, "%s knows no hardware breakpoints", session->wire.peer);
    return error_set(error, ERROR_ADDRESS, "%s cannot %s a breakpoint at 0x%08" PRIX64 " (%.256s)",
                     session->wire.peer, set ? "set" : "clear", at, gdb_refusal(session));
}

static bool gdb_remote_go(struct debugger *debugger, enum debugger_go how, const struct deadline *deadline,
                          struct error *error)
{
    struct gdb_session *session = session_of(debugger);
    char question[GDB_THREAD + 16];
    const char *colon = session->thread[0] != '\0' ? ":" : "";
    if (!must_be_halted(debugger, deadline, error))
        return false;
    if (session->mended && !debugger->undoing)
        return error_set(error, ERROR_LINK_LOST, "the connection to %s was lost in between",
                         session->wire.peer);
    if (!session->has_vcont)
        snprintf(question, sizeof question, how == DEBUGGER_STEP ? "s" : "c");
    else if (how == DEBUGGER_STEP) /* the other threads stay halted */
        snprintf(question, sizeof question, "vCont;s%s%s", colon, session->thread);
    else
        snprintf(question, sizeof question, "vCont;c");
    if (!gdb_wire_send(&session->wire, question, strlen(question), deadline, error))
        return false;
    session->running = true;
    session->asked = false;
    session->n_cached = 0;
    session->selected[0] = '\0';
    return true;
}

static enum debugger_wait remote_wait_for(struct debugger *debugger, struct debugger_stop *stop,
                                          const struct deadline *deadline, struct error *error)
{
    struct gdb_session *session = session_of(debugger);
    if (session->mended && !session->running) {
        *stop = session->mended_stop;
        return DEBUGGER_STOPPED;
    }
    do {
        enum gdb_came came = gdb_wire_receive(&session->wire, deadline, error);
        if (came == GDB_CAME_NOT)
            return DEBUGGER_RUNS;
        if (came == GDB_CAME_NEVER)
            return DEBUGGER_GONE;
        if (session->wire.payload[0] != 'O' && gdb_is_refusal(session)) {
            session->running = false;
            error_advise(error, ERROR_FAULT, "", "%s does not let the core go on (%.256s)",
                         session->wire.peer, gdb_refusal(session));
            return DEBUGGER_GONE;
        }
        if (session->wire.payload[0] != 'O' && gdb_take_stop(session, stop)) {
            if (gdb_is_belated(session, stop)) {
                if (!gdb_remote_go(debugger, DEBUGGER_RUN, deadline, error))
                    return DEBUGGER_GONE;
                continue;
            }
            struct deadline soon = deadline_in_ms(patience_ms(CLOSE_MS), NULL);
            if (stop->why != DEBUGGER_ENDED)
                return gdb_name_core(session, &debugger->facts, stop, &soon, error) ? DEBUGGER_STOPPED
                                                                                    : DEBUGGER_GONE;
            if (debugger->facts.profile == PROFILE_X86_64)
                error_set(error, ERROR_STATE, "the program has ended");
            gdb_wire_lose(&session->wire, ERROR_LINK_LOST, " has lost its core", error);
            return DEBUGGER_GONE;
        }
    } while (!deadline_passed(deadline)); /* console output may be endless */
    return DEBUGGER_RUNS;
}

static bool gdb_remote_interrupt(struct debugger *debugger, struct error *error)
{
    struct gdb_session *session = session_of(debugger);
    struct deadline soon = deadline_in_ms(patience_ms(CLOSE_MS), NULL);
    if (session->running && session->asked && !session->wire.is_gdb) /* the core's stop may have been lost */
        session->wire.lost = true;
    if (!is_connected(debugger, &soon, error))
        return false;
    if (!session->running)
        return true;
    session->asked = true;
    return gdb_wire_send_raw(&session->wire, INTERRUPT, &soon, error);
}

static const struct gdb_value *gdb_remote_cached(const struct gdb_session *session, unsigned number)
{
    for (size_t i = 0; i < session->n_cached; i++)
        if (session->cache[i].number == number)
            return &session->cache[i];
    return NULL;
}

static size_t hex_digits(const struct gdb_register *which)
{
    return (size_t)(which->bits + 7) / 8 * 2;
}

static bool gdb_remote_read_one(struct gdb_session *session, const struct gdb_register *which,
                                const struct deadline *deadline, struct error *error)
{
    char question[32];
    if (session->no_single_registers)
        return true;
    snprintf(question, sizeof question, "p%x", which->number);
    if (!gdb_ask(session, question, deadline, error))
        return false;
    if (gdb_is_refusal(session))
        session->no_single_registers = true;
    else
        gdb_cache(session, which->number, session->wire.payload,
                  gdb_remote_at_most(session->wire.length, hex_digits(which)));
    return true;
}

static bool gdb_remote_read_all(struct gdb_session *session, const struct deadline *deadline,
                                struct error *error)
{
    if (!gdb_ask(session, "g", deadline, error))
        return false;
    session->n_cached = 0;
    for (size_t i = 0; i < session->features.n && !gdb_is_refusal(session); i++) {
        const struct gdb_register *one = &session->features.registers[i];
        size_t digits = hex_digits(one);
        if (digits <= 16 && 2 * one->offset + digits <= session->wire.length)
            gdb_cache(session, one->number, session->wire.payload + 2 * one->offset, digits);
    }
    return true;
}

static bool gdb_remote_read_register(struct debugger *debugger, const char *name, uint64_t *out,
                                     const struct deadline *deadline, struct error *error)
{
    struct gdb_session *session = session_of(debugger);
    const struct gdb_register *which = gdb_features_find(&session->features, name);
    if (!must_be_halted(debugger, deadline, error))
        return false;
    if (which == NULL || which->bits > 64)
        return error_advise(error, ERROR_FAULT, "", "%s has no register %s", session->wire.peer, name);
    if (session->wire.is_gdb)
        session->n_cached = 0;
    const struct gdb_value *value = gdb_remote_cached(session, which->number);
    if (value == NULL) {
        if (!select_thread(session, deadline, error) || !gdb_remote_read_one(session, which, deadline, error))
            return false;
        value = gdb_remote_cached(session, which->number);
    }
    if (value == NULL) {
        if (!gdb_remote_read_all(session, deadline, error))
            return false;
        value = gdb_remote_cached(session, which->number);
    }
    if (value == NULL)
        return error_advise(error, ERROR_FAULT, "", "%s does not give its register %s", session->wire.peer,
                            name);
    *out = value->value;
    return true;
}

static bool gdb_remote_monitor(struct debugger *debugger, const char *command, char *out, size_t size,
                               const struct deadline *deadline, struct error *error)
{
    struct gdb_session *session = session_of(debugger);
    return must_be_halted(debugger, deadline, error) &&
           gdb_monitor(session, command, out, size, deadline, error);
}

static bool gdb_remote_is_running(const struct debugger *debugger)
{
    return ((const struct gdb_remote *)debugger)->session.running;
}

static bool remote_let_go(struct debugger *debugger, struct error *error)
{
    struct gdb_remote *remote = (struct gdb_remote *)debugger;
    remote->let_go = debugger->undoing = true;
    return debugger->facts.is_attended || gdb_let_go(&remote->session, debugger, error);
}

static void close_session(struct debugger *debugger, bool run)
{
    struct gdb_remote *remote = (struct gdb_remote *)debugger;
    struct error ignored = {0};
    if (remote->was_attended && !debugger->facts.is_attended)
        run = !debugger->facts.was_halted;
    if (run && !remote->let_go)
        remote_let_go(debugger, &ignored);
    struct deadline soon = deadline_in_ms(patience_ms(CLOSE_MS), NULL);
    if (!run && !remote->session.running && !remote->session.wire.lost)
        gdb_clear_breakpoints(&remote->session, &soon, &ignored);
    gdb_wire_close(&remote->session.wire);
    free(remote);
}

static struct debugger *open_session(int fd, bool is_gdb, const char *name, const char *host, uint16_t port,
                                     const struct log *log, const struct deadline *deadline,
                                     struct error *error)
{
    static const struct debugger_ops ops = {.read_memory = gdb_remote_read_memory,
                                            .write_memory = gdb_remote_write_memory,
                                            .breakpoint = gdb_remote_breakpoint,
                                            .go = gdb_remote_go,
                                            .wait = remote_wait_for,
                                            .interrupt = gdb_remote_interrupt,
                                            .read_register = gdb_remote_read_register,
                                            .monitor = gdb_remote_monitor,
                                            .is_running = gdb_remote_is_running,
                                            .let_go = remote_let_go,
                                            .close = close_session};
    struct gdb_remote *remote = calloc(1, sizeof *remote);
    struct debugger_stop stop;
    if (remote == NULL) {
        close(fd);
        return error_memory_null(error);
    }
    struct gdb_session *session = &remote->session;
    remote->debugger.ops = &ops;
    snprintf(remote->debugger.facts.name, sizeof remote->debugger.facts.name, "%s", name);
    snprintf(session->host, sizeof session->host, "%s", host);
    session->port = port;
    remote->was_attended = remote->debugger.facts.is_attended = is_gdb;
    gdb_wire_init(&session->wire, fd, is_gdb, log);
    if (gdb_session_begin(session, &remote->debugger.facts, &stop, deadline, error))
        return &remote->debugger;
    /* The core was halted only by our connection. Question and answer may be out of step */
    struct error left = {0};
    session->wire.lost = true;
    if (session->wire.heard && !remote_let_go(&remote->debugger, &left))
        error_add(error, &left);
    close_session(&remote->debugger, false);
    return NULL;
}

struct debugger *gdb_remote_open(int fd, bool is_gdb, const struct log *log, const struct deadline *deadline,
                                 struct error *error)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0)
        return open_session(fd, is_gdb, "gdb", "", 0, log, deadline, error);
    error_set(error, ERROR_SYSTEM, "descriptor %d is not a socket", fd);
    close(fd);
    return NULL;
}

static void serial_refuse(const char *path, int reason, struct error *error)
{
    error_advise(error,
                 reason == ENOENT  ? ERROR_NO_PROBE
                 : reason == EBUSY ? ERROR_IN_USE
                                   : ERROR_SYSTEM,
                 reason == EACCES  ? "sudo adduser $USER dialout, and log in again."
                 : reason == EBUSY ? "Another program has it, perhaps another user's pmu-probe."
                                   : "A Black Magic Probe's first port is the GDB server.",
                 "cannot open %.200s: %s", path, strerror(reason));
}

struct debugger *gdb_remote_serial(const char *path, const struct log *log, const struct deadline *deadline,
                                   struct error *error)
{
    char name[128];
    struct termios line;
    int fd = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        serial_refuse(path, errno, error);
        return NULL;
    }
    if (tcgetattr(fd, &line) != 0) {
        error_set(error, ERROR_USAGE, "%.200s is not a serial port", path);
        close(fd);
        return NULL;
    }
    if (!file_take(fd)) {
        serial_refuse(path, EBUSY, error);
        close(fd);
        return NULL;
    }
    (void)ioctl(fd, TIOCEXCL); /* root is kept away by the lock alone: ioctl_tty(2) */
    cfmakeraw(&line);
    line.c_cflag |= CLOCAL | CREAD;
    (void)cfsetspeed(&line, B115200); /* USB goes at its own speed */
    (void)tcsetattr(fd, TCSAFLUSH, &line);
    snprintf(name, sizeof name, "gdb %.100s", path);
    return open_session(fd, false, name, "", 0, log, deadline, error);
}

struct debugger *gdb_remote_connect(const char *host, uint16_t port, const struct log *log,
                                    const struct deadline *deadline, struct error *error)
{
    char name[128];
    struct deadline busy = deadline_in_ms(patience_ms(BUSY_MS), deadline->cancel);
    snprintf(name, sizeof name, "gdb %.100s:%u", host, port);
    for (;;) {
        struct error why = {0};
        int fd = socket_connect(host, port, deadline, error);
        struct debugger *debugger =
            fd < 0 ? NULL : open_session(fd, false, name, host, port, log, deadline, &why);
        if (debugger != NULL || fd < 0)
            return debugger;
        /* It hangs up on a second client; the first may just have left */
        if (why.kind != ERROR_NO_PROBE || deadline_passed(&busy) || deadline_passed(deadline)) {
            error_copy(error, &why);
            return NULL;
        }
        usleep(BUSY_NAP_US);
    }
}
