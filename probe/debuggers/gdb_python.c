#include "debuggers/gdb_python.h"

#include "base/socket.h"
#include "debuggers/gdb_packet.h"
#include "debuggers/gdb_remote.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    VERSION = 1,
    LINE_ROOM = 40 * 1024,
    MEMORY_MOST = 1024,
    COMMAND_MOST = 4096,
    ANSWER_MS = 10000,
    FALLBACK_MS = 5000
};

struct gdb_python {
    struct debugger debugger; /* first */
    int fd;
    bool lost, running;
    char in[LINE_ROOM + 1]; /* received, up to `used` */
    size_t used, taken;     /* `taken`: of the line that was handed out, to be dropped */
    char out[LINE_ROOM + 1];
    char place[48];            /* HOST:PORT of GDB's server; "" */
    struct debugger *fallback; /* that server itself, if GDB has died and registers must be restored */
};

static struct gdb_python *gdb_python_of(struct debugger *debugger)
{
    return (struct gdb_python *)debugger;
}

/* --- lines --------------------------------------------------------------------------------------------- */

/* After this GDB is asked nothing more; always false. */
static bool gdb_python_lose(struct gdb_python *python, enum error_kind kind, const char *why,
                            struct error *error)
{
    python->lost = true;
    return error_set(error, kind, "%s", why);
}

static bool send_line(struct gdb_python *python, size_t n, const struct deadline *deadline,
                      struct error *error)
{
    if (python->lost)
        return error_set(error, ERROR_LINK_LOST, "the way to GDB is lost");
    int failure = socket_send(python->fd, python->out, n, deadline);
    if (failure == SOCKET_LATE)
        return gdb_python_lose(python, ERROR_LINK_LOST, "GDB takes no more requests", error);
    return failure == 0 || gdb_python_lose(python, ERROR_LINK_LOST, "GDB is gone", error);
}

/* Sends a line; the format has no line end. */
static bool gdb_python_say(struct gdb_python *python, const struct deadline *deadline, struct error *error,
                           const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(python->out, sizeof python->out, format, arguments);
    va_end(arguments);
    if (n < 0 || (size_t)n >= sizeof python->out - 1)
        return error_set(error, ERROR_SYSTEM, "a request to GDB is too long");
    python->out[n] = '\n';
    return send_line(python, (size_t)n + 1, deadline, error);
}

/* Appends received bytes; false if there are none yet, or the socket is lost. */
static bool fill(struct gdb_python *python, struct error *error)
{
    if (python->used == LINE_ROOM)
        return gdb_python_lose(python, ERROR_LINK_PROTOCOL, "GDB answers in too long lines", error);
    ssize_t got = socket_try_receive(python->fd, python->in + python->used, LINE_ROOM - python->used);
    if (got < 0)
        return gdb_python_lose(python, ERROR_LINK_LOST, "GDB is gone", error);
    python->used += (size_t)got;
    return got > 0;
}

/* The next line, valid until the next call; NULL: none before the deadline, or the socket is lost. */
static char *gdb_python_receive(struct gdb_python *python, const struct deadline *deadline,
                                struct error *error)
{
    if (python->lost) {
        error_set(error, ERROR_LINK_LOST, "the way to GDB is lost");
        return NULL;
    }
    memmove(python->in, python->in + python->taken, python->used - python->taken);
    python->used -= python->taken;
    python->taken = 0;
    for (;;) {
        char *end = memchr(python->in, '\n', python->used);
        if (end != NULL) {
            *end = '\0';
            python->taken = (size_t)(end - python->in) + 1;
            return python->in;
        }
        if (fill(python, error))
            continue;
        if (python->lost || !socket_wait(python->fd, POLLIN, deadline))
            return NULL;
    }
}

/* --- questions ----------------------------------------------------------------------------------------- */

static bool refused(const char *line, enum error_kind kind, const char *what, struct error *error)
{
    return error_set(error, kind, "GDB %s: %.256s", what, line + 3);
}

static bool is_refusal(const char *line)
{
    return strncmp(line, "no ", 3) == 0;
}

/* The answer behind its "ok"; NULL on error. `what` words a refusal: "cannot read". */
static const char *answer(struct gdb_python *python, enum error_kind kind, const char *what,
                          const struct deadline *deadline, struct error *error)
{
    struct deadline most = debugger_answer_deadline(deadline, ANSWER_MS, ANSWER_MS);
    const char *line = gdb_python_receive(python, &most, error);
    if (line == NULL) {
        gdb_python_lose(python, ERROR_LINK_LOST, "GDB does not answer", error);
        return NULL;
    }
    if (is_refusal(line)) {
        refused(line, kind, what, error);
        return NULL;
    }
    if (strcmp(line, "ok") == 0)
        return line + 2;
    if (strncmp(line, "ok ", 3) == 0)
        return line + 3;
    gdb_python_lose(python, ERROR_LINK_PROTOCOL, "GDB answers what it was not asked", error);
    return NULL;
}

static bool may_ask(const struct gdb_python *python, const struct deadline *deadline, struct error *error)
{
    if (python->running)
        return error_advise(
            error, ERROR_FAULT,
            "stat, watch and doctor need OpenOCD's Tcl port or a CMSIS-DAP probe; delta works here.",
            "through GDB a core can be looked at only while it is halted");
    return debugger_may_ask(deadline, "GDB", error);
}

/* When GDB has died, its server is free: registers are restored through it. */
static struct debugger *fallback_of(struct gdb_python *python)
{
    struct error none = {0};
    struct deadline soon = deadline_in_ms(patience_ms(FALLBACK_MS), NULL);
    char host[sizeof python->place];
    const char *colon = strrchr(python->place, ':');
    if (!python->lost || python->fallback != NULL || colon == NULL)
        return python->fallback;
    snprintf(host, sizeof host, "%.*s", (int)(colon - python->place), python->place);
    unsigned long port = strtoul(colon + 1, NULL, 10);
    if (port == 0 || port > UINT16_MAX)
        return NULL;
    python->fallback = gdb_remote_connect(host, (uint16_t)port, NULL, &soon, &none);
    python->running = false;
    return python->fallback;
}

static bool read_memory(struct debugger *debugger, uint64_t at, void *out, size_t n,
                        const struct deadline *deadline, struct error *error)
{
    struct gdb_python *python = gdb_python_of(debugger);
    struct debugger *fallback = fallback_of(python);
    if (fallback != NULL)
        return fallback->ops->read_memory(fallback, at, out, n, deadline, error);
    for (size_t done = 0, got; done < n; done += got) {
        size_t some = debugger_at_most(n - done, MEMORY_MOST);
        if (!may_ask(python, deadline, error) ||
            !gdb_python_say(python, deadline, error, "read %" PRIx64 " %zx", at + done, some))
            return false;
        const char *hex = answer(python, ERROR_FAULT, "cannot read", deadline, error);
        if (hex == NULL)
            return false;
        if (!gdb_hex_read(hex, strlen(hex), (char *)out + done, some, &got) || got != some)
            return gdb_python_lose(python, ERROR_LINK_PROTOCOL, "GDB's memory makes no sense", error);
    }
    return true;
}

static bool write_memory(struct debugger *debugger, uint64_t at, const void *bytes, size_t n,
                         const struct deadline *deadline, struct error *error)
{
    struct gdb_python *python = gdb_python_of(debugger);
    struct debugger *fallback = fallback_of(python);
    if (fallback != NULL)
        return fallback->ops->write_memory(fallback, at, bytes, n, deadline, error);
    for (size_t done = 0; done < n;) {
        char hex[2 * MEMORY_MOST + 1];
        size_t some = debugger_at_most(n - done, MEMORY_MOST);
        gdb_hex_write((const char *)bytes + done, some, hex);
        if (!may_ask(python, deadline, error) ||
            !gdb_python_say(python, deadline, error, "write %" PRIx64 " %s", at + done, hex) ||
            answer(python, ERROR_FAULT, "cannot write", deadline, error) == NULL)
            return false;
        done += some;
    }
    return true;
}

static bool breakpoint(struct debugger *debugger, uint64_t at, unsigned size, bool set,
                       const struct deadline *deadline, struct error *error)
{
    struct gdb_python *python = gdb_python_of(debugger);
    char what[64];
    snprintf(what, sizeof what, "cannot %s a breakpoint at 0x%08" PRIX64, set ? "set" : "clear", at);
    return may_ask(python, deadline, error) &&
           gdb_python_say(python, deadline, error, "%s %" PRIx64 " %x", set ? "break" : "clear", at, size) &&
           answer(python, ERROR_ADDRESS, what, deadline, error) != NULL;
}

static bool go(struct debugger *debugger, enum debugger_go how, const struct deadline *deadline,
               struct error *error)
{
    struct gdb_python *python = gdb_python_of(debugger);
    if (!may_ask(python, deadline, error) ||
        !gdb_python_say(python, deadline, error, how == DEBUGGER_STEP ? "go step" : "go run"))
        return false;
    python->running = true;
    return true;
}

static void take_word(const char *word, char *out, size_t size)
{
    snprintf(out, size, "%s", strcmp(word, "-") == 0 ? "" : word);
}

static bool take_thread(const char *text, enum debugger_why why, struct debugger_stop *stop)
{
    enum { HALTS_MOST = 1 << 24 };
    const char *blank = strchr(text, ' '), *end;
    uint64_t halts;
    if (blank == NULL || !gdb_number_read(blank + 1, &halts, &end) || *end != ' ' || halts > HALTS_MOST)
        return false;
    *stop = (struct debugger_stop){.why = why, .halts = (unsigned)halts};
    if (blank != text + 1 || *text != '-')
        snprintf(stop->thread, sizeof stop->thread, "%.*s", (int)(blank - text), text);
    take_word(end + 1, stop->core, sizeof stop->core);
    return true;
}

static bool python_take_stop(const char *line, struct debugger_stop *stop)
{
    static const char *const whys[] = {[DEBUGGER_TRAP] = "trap",     [DEBUGGER_REQUESTED] = "requested",
                                       [DEBUGGER_FAULT] = "fault",   [DEBUGGER_WATCHPOINT] = "watchpoint",
                                       [DEBUGGER_OTHERS] = "others", [DEBUGGER_ENDED] = "ended"};
    static const char verb[] = "stopped ";
    if (strncmp(line, verb, sizeof verb - 1) != 0)
        return false;
    const char *why = line + sizeof verb - 1, *blank = strchr(why, ' ');
    if (blank == NULL)
        return false;
    for (size_t i = 0; i < sizeof whys / sizeof *whys; i++) {
        if (strlen(whys[i]) != (size_t)(blank - why) || strncmp(whys[i], why, strlen(whys[i])) != 0)
            continue;
        return take_thread(blank + 1, (enum debugger_why)i, stop);
    }
    return false;
}

static enum debugger_wait python_wait_for(struct debugger *debugger, struct debugger_stop *stop,
                                          const struct deadline *deadline, struct error *error)
{
    struct gdb_python *python = gdb_python_of(debugger);
    const char *line = gdb_python_receive(python, deadline, error);
    if (line == NULL)
        return python->lost ? DEBUGGER_GONE : DEBUGGER_RUNS;
    python->running = false;
    if (python_take_stop(line, stop)) {
        if (stop->why != DEBUGGER_ENDED)
            return DEBUGGER_STOPPED;
        gdb_python_lose(python, ERROR_LINK_LOST, "GDB has lost its target", error);
    } else if (is_refusal(line)) {
        refused(line, ERROR_FAULT, "does not let the core go on", error);
    } else {
        gdb_python_lose(python, ERROR_LINK_PROTOCOL, "GDB reports a stop that makes no sense", error);
    }
    return DEBUGGER_GONE;
}

static bool interrupt(struct debugger *debugger, struct error *error)
{
    struct gdb_python *python = gdb_python_of(debugger);
    struct deadline soon = deadline_in_ms(patience_ms(ANSWER_MS), NULL);
    return !python->running || gdb_python_say(python, &soon, error, "interrupt");
}

static bool read_register(struct debugger *debugger, const char *name, uint64_t *out,
                          const struct deadline *deadline, struct error *error)
{
    struct gdb_python *python = gdb_python_of(debugger);
    struct debugger *fallback = fallback_of(python);
    const char *end;
    if (fallback != NULL)
        return fallback->ops->read_register(fallback, name, out, deadline, error);
    if (!may_ask(python, deadline, error) || !gdb_python_say(python, deadline, error, "register %s", name))
        return false;
    const char *value = answer(python, ERROR_FAULT, "does not tell a register", deadline, error);
    if (value == NULL)
        return false;
    return (gdb_number_read(value, out, &end) && *end == '\0') ||
           gdb_python_lose(python, ERROR_LINK_PROTOCOL, "GDB's register makes no sense", error);
}

static bool monitor(struct debugger *debugger, const char *command, char *out, size_t size,
                    const struct deadline *deadline, struct error *error)
{
    struct gdb_python *python = gdb_python_of(debugger);
    struct debugger *fallback = fallback_of(python);
    char hex[2 * COMMAND_MOST + 1];
    size_t length = strlen(command), n;
    if (fallback != NULL)
        return fallback->ops->monitor(fallback, command, out, size, deadline, error);
    if (length > COMMAND_MOST)
        return error_set(error, ERROR_SYSTEM, "a command for the GDB server is too long");
    gdb_hex_write(command, length, hex);
    if (!may_ask(python, deadline, error) || !gdb_python_say(python, deadline, error, "monitor %s", hex))
        return false;
    const char *printed =
        answer(python, ERROR_FAULT, "does not take a command of the server's", deadline, error);
    if (printed == NULL)
        return false;
    size_t digits = debugger_at_most(strlen(printed), 2 * (size - 1));
    if (strlen(printed) % 2 != 0 || !gdb_hex_read(printed, digits, out, size - 1, &n))
        return gdb_python_lose(python, ERROR_LINK_PROTOCOL, "what GDB's server printed makes no sense",
                               error);
    out[n] = '\0';
    return true;
}

static bool is_running(const struct debugger *debugger)
{
    return ((const struct gdb_python *)debugger)->running;
}

/* The core stays as the user has it in GDB. */
static void close_python(struct debugger *debugger, bool run)
{
    struct gdb_python *python = gdb_python_of(debugger);
    (void)run;
    if (python->fallback != NULL)
        python->fallback->ops->close(python->fallback, !python->fallback->facts.was_halted);
    close(python->fd);
    free(python);
}

/* --- greeting ------------------------------------------------------------------------------------------ */

static bool tell_server(struct debugger *debugger, const struct deadline *deadline, struct error *error)
{
    char text[512];
    struct error none = {0};
    struct debugger_facts *facts = &debugger->facts;
    if (facts->is_emulator)
        return true;
    if (!monitor(debugger, "version", text, sizeof text, deadline, &none))
        return none.kind == ERROR_FAULT || error_copy(error, &none);
    facts->server = server_of(text);
    return true;
}

static bool tell_profile(struct debugger *debugger, const struct deadline *deadline, struct error *error)
{
    struct debugger_facts *facts = &debugger->facts;
    struct error none = {0};
    uint64_t ignored;
    if (strncmp(facts->architecture, "aarch64", 7) == 0)
        facts->profile = PROFILE_AARCH64;
    else if (strncmp(facts->architecture, "arm", 3) != 0)
        facts->profile = facts->architecture[0] != '\0' ? PROFILE_OTHER : PROFILE_UNKNOWN;
    else if (read_register(debugger, "xpsr", &ignored, deadline, &none))
        facts->profile = PROFILE_M;
    else
        facts->profile = PROFILE_ARM;
    return none.kind == ERROR_NONE || none.kind == ERROR_FAULT || error_copy(error, &none);
}

static bool greet(struct debugger *debugger, const struct deadline *deadline, struct error *error)
{
    struct gdb_python *python = gdb_python_of(debugger);
    struct debugger_facts *facts = &debugger->facts;
    char words[3][48] = {"", "", ""};
    int used = 0;
    if (!gdb_python_say(python, deadline, error, "hello %x", (unsigned)VERSION))
        return false;
    const char *line = answer(python, ERROR_NO_PROBE, "has nothing to measure", deadline, error);
    if (line == NULL)
        return false;
    if (sscanf(line, "%47s %47s %47s %n", words[0], words[1], words[2], &used) != 3 || line[used] == '\0')
        return gdb_python_lose(python, ERROR_LINK_PROTOCOL, "GDB's greeting makes no sense", error);
    take_word(words[0], facts->architecture, sizeof facts->architecture);
    take_word(line + used, facts->core, sizeof facts->core);
    facts->has_cores = facts->core[0] != '\0';
    take_word(words[2], python->place, sizeof python->place);
    facts->is_emulator = strcmp(words[1], "QEMU") == 0;
    facts->server = facts->is_emulator ? SERVER_QEMU : SERVER_UNKNOWN;
    snprintf(facts->name, sizeof facts->name, "gdb%s%s", strcmp(words[2], "-") == 0 ? "" : " ",
             strcmp(words[2], "-") == 0 ? "" : words[2]);
    facts->is_attended = true;
    return tell_server(debugger, deadline, error) && tell_profile(debugger, deadline, error);
}

struct debugger *gdb_python_open(int fd, const struct deadline *deadline, struct error *error)
{
    static const struct debugger_ops ops = {.read_memory = read_memory,
                                            .write_memory = write_memory,
                                            .breakpoint = breakpoint,
                                            .go = go,
                                            .wait = python_wait_for,
                                            .interrupt = interrupt,
                                            .read_register = read_register,
                                            .monitor = monitor,
                                            .is_running = is_running,
                                            .close = close_python};
    struct gdb_python *python = calloc(1, sizeof *python);
    int flags = fcntl(fd, F_GETFL);
    if (python == NULL || flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
        error_set(error, ERROR_SYSTEM, python == NULL ? "out of memory" : "descriptor %d is no socket", fd);
        close(fd);
        free(python);
        return NULL;
    }
    python->fd = fd;
    python->debugger.ops = &ops;
    if (greet(&python->debugger, deadline, error))
        return &python->debugger;
    close_python(&python->debugger, false);
    return NULL;
}
