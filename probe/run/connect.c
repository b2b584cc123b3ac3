/* SPDX-License-Identifier: MIT */
#include "run/connect.h"

#include "base/socket.h"
#include "base/state.h"
#include "debuggers/debugger.h"
#include "knc/msr.h"
#include "links/link.h"
#include "links/openocd.h"
#include "report/canvas.h"
#include "run/values.h"
#include "symbols/symbols.h"
#include "wire/wire.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const char ending[] = ".cfg", of_tests[] = "virtual";

/* The folder above the one that this program is in; false: not known. */
static bool find_self(char out[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", out, PATH_MAX - 1);
    out[length > 0 ? length : 0] = '\0';
    for (int i = 0; i < 2; i++) { /* the program's own name, and its folder's */
        char *slash = strrchr(out, '/');
        if (slash == NULL)
            return false;
        *slash = '\0';
    }
    return true;
}

void board_files_find(struct board_files *self)
{
    static const char *const homes[] = {"/share/pmu-probe", ""};
    static const char *const parts[BOARD_FOLDERS] = {"/openocd-cfg/boards", "/openocd-cfg", ""};
    char above[PATH_MAX];
    memset(self, 0, sizeof *self);
    bool known = find_self(above);
    for (size_t k = 0; known && self->folders[0][0] == '\0' && k < sizeof homes / sizeof *homes; k++)
        for (size_t i = 0; i < BOARD_FOLDERS && (i == 0 || self->folders[0][0] != '\0'); i++) {
            int used = snprintf(self->folders[i], BOARD_PATH, "%s%s%s", above, homes[k], parts[i]);
            if (used < 0 || used >= BOARD_PATH || access(self->folders[i], R_OK) != 0)
                self->folders[i][0] = '\0';
        }
}

/* The name of a board's file that was named without its ending; NULL: it is not a board's, or a file here. */
static const char *board_files_name_of(const struct board_files *self, const char *name, char out[BOARD_NAME])
{
    char path[BOARD_PATH + BOARD_NAME];
    if (self->folders[0][0] == '\0' || strpbrk(name, "/.") != NULL || access(name, R_OK) == 0 ||
        strlen(name) + sizeof ending > BOARD_NAME)
        return NULL;
    snprintf(out, BOARD_NAME, "%s%s", name, ending);
    snprintf(path, sizeof path, "%s/%s", self->folders[0], out);
    return access(path, R_OK) == 0 ? out : NULL;
}

/* The i-th of OpenOCD's words is what follows -f. */
static bool is_file(const struct request *request, size_t i)
{
    return i % 2 == 1 && strcmp(request->openocd[i - 1], "-f") == 0;
}

/* OpenOCD's options with whole names, and folders in which it finds the rest; returns how many words. */
static size_t board_files_words(struct board_files *self, const struct request *request,
                                const char *words[BOARD_WORDS])
{
    size_t n = request->n_openocd;
    for (size_t i = 0; i < n; i++) {
        const char *word = request->openocd[i];
        const char *name = is_file(request, i) ? board_files_name_of(self, word, self->names[i]) : NULL;
        words[i] = name != NULL ? name : word;
    }
    for (size_t i = 0; i < BOARD_FOLDERS; i++)
        if (self->folders[i][0] != '\0') {
            words[n++] = "-s";
            words[n++] = self->folders[i];
        }
    return n;
}

void board_files_each(const struct board_files *self, void (*take)(void *context, const char *name),
                      void *context)
{
    char name[BOARD_PATH + BOARD_NAME];
    glob_t paths = {0};
    snprintf(name, sizeof name, "%s/*%s", self->folders[0], ending);
    if (self->folders[0][0] != '\0' && glob(name, 0, NULL, &paths) == 0)
        for (size_t i = 0; i < paths.gl_pathc; i++) {
            const char *file = name_of_file(paths.gl_pathv[i]);
            size_t length = strlen(file) - (sizeof ending - 1);
            snprintf(name, sizeof name, "%.*s", (int)length, file);
            if (strncmp(name, of_tests, sizeof of_tests - 1) != 0)
                take(context, name);
        }
    globfree(&paths);
}

/* OpenOCD's own files of this name, or nearly so. */
static void scripts_offer(struct near *near)
{
    static const char *const folders[] = {"/usr/local/share/openocd/scripts/", "/usr/share/openocd/scripts/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char pattern[PATH_MAX];
        glob_t paths = {0};
        snprintf(pattern, sizeof pattern, "%s*/*.cfg", folders[i]);
        if (glob(pattern, 0, NULL, &paths) == 0)
            for (size_t k = 0; k < paths.gl_pathc; k++)
                near_offer(near, paths.gl_pathv[k] + strlen(folders[i]));
        globfree(&paths);
    }
}

struct advice {
    struct near near;
    char list[512];
};

static void board_files_offer(void *context, const char *name)
{
    struct advice *advice = context;
    near_offer(&advice->near, name);
    text_join(advice->list, sizeof advice->list, ", ", name);
}

/* In place of OpenOCD's words about a file that it cannot find: those that there are. Always false. */
static bool board_files_advise(const struct board_files *self, const struct request *request,
                               struct error *error)
{
    for (size_t i = 0; i < request->n_openocd; i++) {
        const char *name = request->openocd[i];
        char missing[128], room[NEAR_TEXT];
        struct advice advice = {.list = ""};
        snprintf(missing, sizeof missing, "Can't find %s", name);
        if (!is_file(request, i) || strstr(error->text, missing) == NULL)
            continue;
        near_init(&advice.near, name, strcspn(name, "."));
        board_files_each(self, board_files_offer, &advice);
        if (advice.near.count == 0) {
            near_init(&advice.near, name, strlen(name));
            scripts_offer(&advice.near);
        }
        bool found = advice.near.count > 0;
        if (!found && (advice.list[0] == '\0' || strchr(name, '/') != NULL))
            return false;
        error_clear(error);
        return error_advise(error, ERROR_SERVER, "", "neither OpenOCD nor pmu-probe has a file %.64s%s%s",
                            name, found ? near_text(&advice.near, room, sizeof room) : "\nBoards, for -f: ",
                            found ? "" : advice.list);
    }
    return false;
}

/* ---- connect */

enum { CONNECT_MS = 5000, START_MS = 20000, LIST_MS = 3000, WRONG_PORT_MS = 500, OPENOCD_TCL_PORT = 6666 };

struct connecting {
    const struct request *request;
    const struct surroundings *around;
};

static struct deadline deadline_until(const struct surroundings *around, int64_t ms)
{
    struct deadline deadline = deadline_in_ms(patience_ms(ms), around->cancel);
    deadline.ending = around->ending;
    return deadline;
}

static bool is_kind(const char *probe, const char *kind)
{
    size_t length = strlen(kind);
    return strncasecmp(probe, kind, length) == 0 && (probe[length] == '\0' || probe[length] == ':');
}

/* What follows the probe's kind and its colon. */
static const char *address_of(const char *probe)
{
    const char *colon = strchr(probe, ':');
    return colon != NULL ? colon + 1 : "";
}

/* The link that was opened while `lock` was held; NULL: that failed. */
static struct link *claimed(struct link *link, const char *name, struct lock *lock)
{
    if (link == NULL) {
        lock_free(lock);
        return NULL;
    }
    snprintf(link->name, sizeof link->name, "%s", name);
    link->lock = lock;
    return link;
}

/* "localhost:4441", with an adapter's kind left out. */
static bool refuse_address(const char *probe, uint16_t port, struct error *error)
{
    const char *kind = port == OPENOCD_TCL_PORT ? "openocd" : port == DAP_TCP_PORT ? "cmsis-dap-tcp" : NULL;
    if (kind != NULL)
        return error_set(error, ERROR_USAGE, "what is at %.64s? Say: -p %s:%.64s", probe, kind, probe);
    return error_set(error, ERROR_USAGE,
                     "what is at %.64s? Say: -p cmsis-dap-tcp:%.64s, -p openocd:%.64s or -p gdb:%.64s", probe,
                     probe, probe, probe);
}

static bool refuse_probe(const char *probe, struct error *error)
{
    char host[256] = "";
    uint16_t port = 0;
    struct error ignored = {0};
    const char *way = dap_other_way(probe);
    if (way != NULL)
        return error_set(error, ERROR_USAGE, "%.64s is %s", probe, way);
    if (strncmp(probe, "/dev/", 5) == 0)
        return error_set(error, ERROR_USAGE, "what is at %.64s? Say: -p gdb:%.64s (Black Magic Probe)", probe,
                         probe);
    char local[64];
    if (probe[strspn(probe, "0123456789")] == '\0') {
        snprintf(local, sizeof local, "localhost:%.32s", probe);
        probe = local;
    }
    if (socket_address_read(probe, host, sizeof host, &port, &ignored) && port != 0)
        return refuse_address(probe, port, error);
    return error_set(error, ERROR_USAGE, "unknown probe \"%.64s\": " REQUEST_PROBES, probe);
}

static struct link *connect_openocd(const struct connecting *self, const char *probe, struct error *error)
{
    char host[256] = "localhost";
    uint16_t port = OPENOCD_TCL_PORT;
    if (!is_kind(probe, "openocd")) {
        refuse_probe(probe, error);
        return NULL;
    }
    char name[LINK_NAME];
    struct lock *lock;
    if (!socket_address_read(address_of(probe), host, sizeof host, &port, error))
        return NULL;
    link_end_name(name, sizeof name, "openocd", host, port);
    if (!lock_take(name, &lock, error))
        return NULL;
    struct deadline deadline = deadline_until(self->around, CONNECT_MS);
    return claimed(openocd_connect(host, port, self->around->log, &deadline, error), name, lock);
}

/* GDB servers have no usual port. */
static struct link *connect_gdb(const struct connecting *self, const char *probe, struct error *error)
{
    char host[256] = "localhost";
    uint16_t port = 0;
    bool is_serial = address_of(probe)[0] == '/';
    if (!is_serial && !socket_address_read(address_of(probe), host, sizeof host, &port, error))
        return NULL;
    if (!is_serial && port == 0) {
        error_set(error, ERROR_USAGE,
                  "--probe %.64s: a GDB server is gdb:HOST:PORT or gdb:/dev/ttyACM0 (Black Magic Probe)",
                  probe);
        return NULL;
    }
    char end[LINK_NAME];
    struct lock *lock;
    link_end_name(end, sizeof end, "gdb", is_serial ? address_of(probe) : host, port);
    if (!lock_take(end, &lock, error))
        return NULL;
    struct deadline deadline = deadline_until(self->around, CONNECT_MS);
    struct debugger *debugger =
        is_serial ? gdb_remote_serial(address_of(probe), self->around->log, &deadline, error)
                  : gdb_remote_connect(host, port, self->around->log, &deadline, error);
    return claimed(debugger == NULL ? NULL : debugger_link_new(debugger, error), end, lock);
}

/* "door:N": GDB's Python, which started this process, is at the other end of this descriptor. */
static struct link *connect_door(const struct connecting *self, const char *probe, struct error *error)
{
    enum { FIRST = 3 };
    uint64_t fd;
    const char *number = probe[strlen("door")] == ':' ? probe + strlen("door:") : "";
    if (!value_count(number, INT16_MAX, &fd) || fd < FIRST) {
        error_set(error, ERROR_USAGE, "--probe door is for GDB's own use");
        return NULL;
    }
    struct deadline deadline = deadline_until(self->around, CONNECT_MS);
    struct debugger *debugger = gdb_remote_open((int)fd, true, self->around->log, &deadline, error);
    return debugger == NULL ? NULL : debugger_link_new(debugger, error);
}

static struct link *connect_dap(const struct connecting *self, const char *probe, struct error *error)
{
    struct probe_spec spec;
    const struct request *request = self->request;
    if (!probe_spec_read(probe, &spec, error))
        return NULL;
    if (request->transport != NULL && strcasecmp(request->transport, "swd") == 0)
        spec.wires = DAP_WIRES_SWD;
    else if (request->transport != NULL && strcasecmp(request->transport, "jtag") == 0)
        spec.wires = DAP_WIRES_JTAG;
    else if (request->transport != NULL) {
        error_set(error, ERROR_USAGE, "--transport takes swd or jtag; got \"%.32s\"", request->transport);
        return NULL;
    }
    spec.hz = (uint32_t)request->speed_hz;
    spec.packets = request->packets < UINT16_MAX ? (unsigned)request->packets : UINT16_MAX;
    spec.log = self->around->log;
    struct deadline deadline = deadline_until(self->around, CONNECT_MS);
    return dap_open(&spec, &deadline, error);
}

size_t connect_list(const struct surroundings *around, struct dap_listed *out, size_t room)
{
    struct deadline deadline = deadline_until(around, LIST_MS);
    return dap_list(out, room, &deadline);
}

static struct link *start_openocd(const struct connecting *self, struct error *error)
{
    const struct request *request = self->request;
    const char *words[BOARD_WORDS];
    struct board_files boards;
    board_files_find(&boards);
    size_t n = board_files_words(&boards, request, words);
    char name[LINK_NAME] = "openocd";
    struct lock *lock;
    for (size_t i = 0, used = strlen(name); i < request->n_openocd && used < sizeof name; i++)
        used += (size_t)snprintf(name + used, sizeof name - used, " %s", request->openocd[i]);
    if (!lock_take(name, &lock, error))
        return NULL;
    struct deadline deadline = deadline_until(self->around, START_MS);
    struct link *link = openocd_start(request->openocd_path, words, n, request->n_openocd, self->around->log,
                                      &deadline, error);
    if (link == NULL)
        board_files_advise(&boards, request, error);
    return claimed(link, name, lock);
}

/* No probe was named: takes the only one there is. What else listens on OpenOCD's port hides none. */
static struct link *connect_default(const struct connecting *self, struct error *error)
{
    struct dap_listed probes[CONNECT_PROBES];
    struct error no_server = {0};
    struct link *link = connect_openocd(self, "openocd", &no_server);
    bool none = no_server.kind == ERROR_NO_PROBE, other_kind = no_server.kind == ERROR_NOT_A_PROBE;
    size_t n = link == NULL && (none || other_kind) ? connect_list(self->around, probes, CONNECT_PROBES) : 0;
    if (link != NULL || (n == 0 && !none)) {
        *error = no_server;
        return link;
    }
    if (n == 0) {
        struct adapter_found other;
        bool has_other = dap_list_adapters(NULL, 0, &other, 1) > 0;
        error_set(error, ERROR_NO_PROBE,
                  "no OpenOCD on localhost:%d, and no CMSIS-DAP probe is plugged in%s%s%s%s",
                  OPENOCD_TCL_PORT, has_other ? "; plugged in: " : "", has_other ? other.adapter->name : "",
                  has_other ? ", " : "", has_other ? other.adapter->way : "");
        return NULL;
    }
    link = connect_dap(self, "cmsis-dap", error);
    if (link != NULL && other_kind)
        text_join(link->note, sizeof link->note, "; ", no_server.text);
    return link;
}

static struct link *connect_msr(const struct connecting *self, const char *probe, struct error *error)
{
    struct lock *lock;
    if (!lock_take(probe, &lock, error))
        return NULL;
    struct deadline deadline = deadline_until(self->around, CONNECT_MS);
    return claimed(msr_connect(probe, &deadline, error), probe, lock);
}

static struct link *connect_control(const struct connecting *self, struct error *error)
{
    const struct request *request = self->request;
    if (request->n_openocd > 0)
        return start_openocd(self, error);
    if (request->probe == NULL && request->wires_said)
        return connect_dap(self, "cmsis-dap", error);
    if (request->probe == NULL)
        return connect_default(self, error);
    if (is_kind(request->probe, "gdb"))
        return connect_gdb(self, request->probe, error);
    if (msr_spec_is(request->probe))
        return connect_msr(self, request->probe, error);
    if (is_kind(request->probe, "door"))
        return connect_door(self, request->probe, error);
    return probe_spec_is(request->probe) ? connect_dap(self, request->probe, error)
                                         : connect_openocd(self, request->probe, error);
}

/* With --counters both links must be named. */
static bool connect_check_pair(const struct request *request, struct error *error)
{
    if (!msr_spec_is(request->counters))
        return error_set(error, ERROR_USAGE, "--counters %.64s: neither msr[:CPU] nor msr-agent:HOST[:PORT]",
                         request->counters);
    bool control = request->n_openocd > 0 || (request->probe != NULL && !msr_spec_is(request->probe));
    return control || error_set(error, ERROR_USAGE,
                                "--counters needs another link for run control: --probe gdb:HOST:PORT");
}

/* A GDB server halts its core for each client, also for one that speaks another protocol. */
static void leave_wrong_port(const struct connecting *self, const char *probe, struct error *error)
{
    char host[256] = "localhost";
    uint16_t port = 0;
    struct error why = {0}, left = {0};
    bool spoken = error->kind == ERROR_NOT_A_PROBE || error->kind == ERROR_LINK_PROTOCOL ||
                  error->kind == ERROR_LINK_LOST || error->kind == ERROR_NO_AGENT ||
                  error->kind == ERROR_CANCELLED;
    if (!spoken || probe == NULL || is_kind(probe, "gdb") ||
        !socket_address_read(address_of(probe), host, sizeof host, &port, &why) || port == 0)
        return;
    struct deadline soon = deadline_in_ms(patience_ms(WRONG_PORT_MS), NULL);
    struct debugger *debugger = gdb_remote_connect(host, port, self->around->log, &soon, &why);
    if (debugger == NULL)
        return;
    bool let_go = debugger->facts.was_halted || debugger->ops->let_go(debugger, &left);
    debugger->ops->close(debugger, false);
    error_clear(error);
    error_set(error, ERROR_NOT_A_PROBE, "a GDB server is at %.100s:%u (-p gdb:HOST:PORT)", host,
              (unsigned)port);
    if (!let_go)
        error_add(error, &left);
}

static struct link *connect_named(const struct connecting *self, const char *probe,
                                  struct link *(*connect)(const struct connecting *, struct error *),
                                  struct error *error)
{
    struct link *link = connect(self, error);
    if (link == NULL)
        leave_wrong_port(self, probe, error);
    return link;
}

static struct link *connect_counters(const struct connecting *self, struct error *error)
{
    return connect_msr(self, self->request->counters, error);
}

static struct link *connect_all(const struct connecting *self, struct error *error)
{
    const struct request *request = self->request;
    const char *probe = request->n_openocd == 0 ? request->probe : NULL;
    if (request->counters == NULL)
        return connect_named(self, probe, connect_control, error);
    if (!connect_check_pair(request, error))
        return NULL;
    struct link *counters = connect_named(self, request->counters, connect_counters, error);
    if (counters == NULL)
        return NULL;
    struct link *control = connect_named(self, probe, connect_control, error);
    if (control == NULL) {
        link_close(counters);
        return NULL;
    }
    return link_combined_new(control, counters, error);
}

static struct link *connect_recorded(void *context, struct error *error)
{
    return connect_all(context, error);
}

struct link *connect_link(const struct request *request, const struct surroundings *around,
                          struct error *error)
{
    struct connecting self = {request, around};
    struct progress progress = {0};
    if (!request->quiet)
        progress_begin(&progress, stderr);
    if (request->n_openocd > 0)
        progress_now(&progress, "starting OpenOCD ...");
    else
        progress_now(&progress, "connecting to %s ...", request->probe != NULL ? request->probe : "a probe");
    struct link *link = around->wire == NULL ? connect_all(&self, error)
                                             : wire_connect(around->wire, connect_recorded, &self, error);
    progress_clear(&progress);
    if (link != NULL && link->note[0] != '\0') {
        char name[LINK_NAME];
        link_describe(link, name, sizeof name);
        request_note(request, "%s: %s", name, link->note);
    }
    return link;
}
