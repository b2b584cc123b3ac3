#include "run/connect.h"

#include "base/socket.h"
#include "base/state.h"
#include "debuggers/debugger.h"
#include "knc/msr.h"
#include "links/link.h"
#include "links/openocd.h"
#include "report/progress.h"
#include "run/board_files.h"
#include "wire/wire.h"

#include "run/values.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { CONNECT_MS = 5000, START_MS = 20000, LIST_MS = 3000, OPENOCD_TCL_PORT = 6666 };

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
    if (socket_address_read(probe, host, sizeof host, &port, &ignored) && port != 0)
        return refuse_address(probe, port, error);
    return error_set(
        error, ERROR_USAGE,
        "unknown probe \"%.64s\": openocd[:HOST[:PORT]], cmsis-dap[:SERIAL], cmsis-dap:usb:PORT, "
        "cmsis-dap-tcp:HOST[:PORT], gdb:HOST:PORT, msr[:CPU], msr-agent:HOST[:PORT] or replay:FILE",
        probe);
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
    if (!socket_address_read(address_of(probe), host, sizeof host, &port, error))
        return NULL;
    if (port == 0) {
        error_set(error, ERROR_USAGE, "--probe %.64s: a GDB server is named by gdb:HOST:PORT", probe);
        return NULL;
    }
    char end[LINK_NAME];
    struct lock *lock;
    link_end_name(end, sizeof end, "gdb", host, port);
    if (!lock_take(end, &lock, error))
        return NULL;
    struct deadline deadline = deadline_until(self->around, CONNECT_MS);
    struct debugger *debugger = gdb_remote_connect(host, port, self->around->log, &deadline, error);
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
    if (request->transport != NULL && strcmp(request->transport, "swd") == 0)
        spec.wires = DAP_WIRES_SWD;
    else if (request->transport != NULL && strcmp(request->transport, "jtag") == 0)
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
    if (link != NULL && other_kind) {
        size_t used = strlen(link->note);
        snprintf(link->note + used, sizeof link->note - used, "%s%.100s", used > 0 ? "; " : "",
                 no_server.text);
    }
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

static struct link *connect_all(const struct connecting *self, struct error *error)
{
    if (self->request->counters == NULL)
        return connect_control(self, error);
    if (!connect_check_pair(self->request, error))
        return NULL;
    struct link *counters = connect_msr(self, self->request->counters, error);
    if (counters == NULL)
        return NULL;
    struct link *control = connect_control(self, error);
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
