/* SPDX-License-Identifier: MIT */
#include "links/dap/dap.h"

#include "base/arm_debug.h"
#include "base/state.h"
#include "base/values.h"

#include "links/dap/ap_state.h"
#include "links/dap/carrier.h"
#include "links/dap/executor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOTE = 1000, FOUND = 32, REOPEN_MS = 2000, CLOSE_TRIES = 3 };

struct dap {
    struct link link; /* first */
    struct probe_spec spec;
    struct dap_probe probe;
    struct executor executor;
    enum link_power leave_power;
    bool streams;          /* trace has an endpoint for itself */
    int64_t swo_status_us; /* when its status was read */
    struct error stranger; /* another target was found at the end of the wires */
    struct port_left {
        uint16_t unit;
        uint32_t csw, tar_high; /* before it, */
        uint32_t ours;          /* and what CSW read back then, but for the bits of each access */
    } left[AP_STATE_PORTS];     /* by a run that did not end */
    size_t n_left;
};

static struct dap *dap_of(struct link *link)
{
    return (struct dap *)link;
}

/* --- what a run that did not end has left at the debug port: the next one finds it in the lock's note --- */

static const struct port_left *find_left(const struct dap *dap, uint16_t unit)
{
    for (size_t i = 0; i < dap->n_left; i++)
        if (dap->left[i].unit == unit)
            return &dap->left[i];
    return NULL;
}

static size_t dap_add_note(char *text, size_t used, const struct port_left *left)
{
    if (used < NOTE)
        used += (size_t)snprintf(text + used, NOTE - used, "port %x %" PRIx32 " %" PRIx32 " %" PRIx32 ";",
                                 left->unit, left->csw, left->tar_high, left->ours);
    return used;
}

/* The power of each debug port, and CSW and TAR[63:32] of each access port, as found. */
static void dap_note_state(void *context)
{
    struct dap *dap = context;
    const struct adi *adi = &dap->executor.adi;
    struct ap_state *ap = &dap->executor.compiler.ap;
    char text[NOTE] = "";
    size_t used = 0;
    for (size_t i = 0; i < ADI_PORTS && used < sizeof text; i++)
        if (adi->power[i].known)
            used += (size_t)snprintf(text + used, sizeof text - used, "power %zx %" PRIx32 ";", i,
                                     adi->power[i].found);
    for (size_t i = 0; i < ap->n; i++)
        if (ap->ports[i].memory && find_left(dap, ap->ports[i].unit) == NULL)
            used = dap_add_note(text, used,
                                &(struct port_left){.unit = ap->ports[i].unit,
                                                    .csw = ap->ports[i].csw_found,
                                                    .tar_high = ap->ports[i].tar_high_found,
                                                    .ours = ap->ports[i].csw_took});
    for (size_t i = 0; i < dap->n_left; i++)
        used = dap_add_note(text, used, &dap->left[i]);
    if (used < sizeof text)
        lock_note(dap->link.lock, text);
}

/* A port whose power is on may have it from that run. */
static void take_left(struct dap *dap)
{
    static const char POWER[] = "power ", PORT[] = "port ";
    const char *text = lock_left(dap->link.lock);
    uint64_t of[4];
    for (; text != NULL && *text != '\0'; text = strchr(text, ';'), text += text != NULL) {
        if (strncmp(text, POWER, sizeof POWER - 1) == 0 &&
            numbers_read(text + sizeof POWER - 1, 16, of, 2) != NULL && of[0] < ADI_PORTS)
            dap->executor.adi.power[of[0]] = (struct adi_power){.known = true, .found = (uint32_t)of[1]};
        else if (strncmp(text, PORT, sizeof PORT - 1) == 0 &&
                 numbers_read(text + sizeof PORT - 1, 16, of, 4) != NULL && of[0] <= UINT16_MAX &&
                 dap->n_left < AP_STATE_PORTS)
            dap->left[dap->n_left++] = (struct port_left){.unit = (uint16_t)of[0],
                                                          .csw = (uint32_t)of[1],
                                                          .tar_high = (uint32_t)of[2],
                                                          .ours = (uint32_t)of[3]};
    }
}

/* What was found there is what that run had made of it, unless something else has used the port since. A run
 * that was killed before it read CSW back has noted what it wrote. */
static void put_ports_left(struct dap *dap)
{
    for (size_t i = 0; i < dap->n_left; i++) {
        struct access_port *port = ap_state_port(&dap->executor.compiler.ap, dap->left[i].unit);
        if (port == NULL)
            continue;
        uint32_t apart = port->csw_found ^ dap->left[i].ours;
        if ((apart & ~(CSW_KEPT_OUT | port->csw_unsure)) != 0)
            continue;
        port->csw_found = dap->left[i].csw;
        port->tar_high_found = dap->left[i].tar_high;
    }
}

/* Advice about OpenOCD or a GDB server would be no help. */
static void advise(struct error *error)
{
    if (error != NULL && error->kind == ERROR_LINK_PROTOCOL && error->advice == NULL)
        error->advice = "A CMSIS-DAP probe may need newer firmware, or another --speed.";
}

/* ---- open */

static bool dap_claim(struct dap *dap, const char *name, struct error *error)
{
    bool first = dap->link.lock == NULL;
    if (!link_lock(&dap->link, name, error))
        return false;
    if (first)
        take_left(dap);
    return true;
}

static struct carrier *open_carrier(struct dap *dap, const struct deadline *deadline, struct error *error)
{
    const struct probe_spec *spec = &dap->spec;
    struct dap_found list[FOUND];
    char name[LINK_NAME], identity[LINK_NAME - 16];
    if (spec->kind == DAP_TCP) {
        link_end_name(name, sizeof name, "cmsis-dap-tcp", spec->host, spec->port);
        return dap_claim(dap, name, error) ? tcp_connect(spec->host, spec->port, deadline, error) : NULL;
    }
    size_t n = usb_list(spec, list, FOUND);
    n += hid_list(spec, list + n, FOUND - n);
    const struct dap_found *found = usb_choice_choose(list, n, spec, error);
    if (found == NULL)
        return NULL;
    usb_choice_identity(list, n, found, identity, sizeof identity);
    snprintf(name, sizeof name, "cmsis-dap %s", identity);
    if (!dap_claim(dap, name, error))
        return NULL;
    usb_choice_keep(list, n, found, &dap->spec); /* to reopen only this probe */
    return found->kind == DAP_USB ? usb_connect(found, error) : hid_connect(found, error);
}

static bool dap_begin(struct dap *dap, const struct deadline *deadline, struct error *error)
{
    struct executor *executor = &dap->executor;
    dap->probe.lost = false;
    dap->probe.carrier = open_carrier(dap, deadline, error);
    if (dap->probe.carrier == NULL) {
        dap->probe.lost = true;
        return false;
    }
    struct adi fresh = {.probe = &dap->probe, .before_change = dap_note_state, .context = dap};
    memcpy(fresh.power, executor->adi.power, sizeof fresh.power); /* as found at the first connection */
    executor->adi = fresh;
    if (!probe_identify(&dap->probe, deadline, error) ||
        !connect_target(&executor->adi, dap->spec.wires, dap->spec.hz, deadline, error))
        return false;
    executor_begin(executor);
    return true;
}

/* Connects again to a lost probe. The access ports hold what we left in them, if the target is the same. */
static bool reopen(struct dap *dap, const struct deadline *deadline, struct error *error)
{
    struct deadline soon = deadline_slice(deadline, patience_ms(REOPEN_MS));
    struct error why = {0};
    if (dap->probe.carrier != NULL)
        probe_close(&dap->probe);
    if (dap->stranger.kind != ERROR_NONE)
        return error_copy(error, &dap->stranger);
    bool begun = dap_begin(dap, &soon, &why);
    if (begun && connect_check_ports(&dap->executor.adi, &dap->executor.compiler.ap, &why))
        return true;
    if (begun && why.kind == ERROR_NO_TARGET) {
        struct error ignored = {0};
        dap->stranger = why;
        adi_power_leave(&dap->executor.adi, LINK_POWER_AS_FOUND, &ignored);
    }
    if (dap->probe.carrier != NULL)
        probe_close(&dap->probe);
    if (dap->stranger.kind != ERROR_NONE)
        return error_copy(error, &dap->stranger);
    return error_set(error, ERROR_LINK_LOST, "the probe is gone: %s", why.text);
}

/* ---- link */

/* A probe lost packets that overlapped. They held only reads: repeats them, one packet at a time. */
static bool go_on_singly(struct dap *dap, const struct deadline *deadline, struct error *error)
{
    struct error why = {0};
    struct deadline soon = ending_deadline(deadline->ending, patience_ms(REOPEN_MS));
    soon.cancel = deadline->cancel;
    unsigned most = dap->probe.most;
    if (!probe_lost_overlapped(&dap->probe))
        return false;
    dap->probe.most = 1;
    if (!reopen(dap, &soon, &why)) {
        dap->probe.most = most; /* the probe is gone, so overlapping was not the cause */
        return false;
    }
    log_line(dap->spec.log, "%s; one packet at a time from now on", error->text);
    dap->probe.carrier->loses_several = "it loses others";
    error_clear(error);
    return true;
}

static struct outcome dap_execute(struct link *link, const struct step *steps, size_t n, uint64_t *results,
                                  const struct deadline *deadline, struct error *error)
{
    struct dap *dap = dap_of(link);
    if (dap->probe.lost && !reopen(dap, deadline, error))
        return (struct outcome){.why = LINK_LOST};
    struct outcome outcome = executor_run(&dap->executor, steps, n, results, deadline, error);
    if (outcome.why != LINK_LOST || !go_on_singly(dap, deadline, error)) {
        advise(error);
        return outcome;
    }
    size_t done = outcome.done;
    outcome = executor_run(&dap->executor, steps + done, n - done, results + done, deadline, error);
    outcome.done += done;
    advise(error);
    return outcome;
}

static const char *port_kind(uint32_t idr)
{
    static const char *const kinds[] = {[PORT_OTHER] = "AP",
                                        [PORT_JTAG] = "JTAG-AP",
                                        [PORT_AHB] = "AHB-AP",
                                        [PORT_APB] = "APB-AP",
                                        [PORT_AXI] = "AXI-AP"};
    return kinds[port_bus_of(idr)];
}

static size_t dap_views(struct link *link, struct link_view *out, size_t room, struct error *error)
{
    struct dap *dap = dap_of(link);
    const struct ap_state *ap = &dap->executor.compiler.ap;
    size_t n = 0;
    for (size_t i = 0; i < ap->n && n < room; i++) {
        const struct access_port *port = &ap->ports[i];
        struct link_view *view = &out[n++];
        *view = (struct link_view){
            .unit = port->unit, .is_core = port->memory, .has_port = true, .port = port->unit};
        snprintf(view->type, sizeof view->type, "ap");
        if (dap->executor.adi.n_ports > 1)
            snprintf(view->name, sizeof view->name, "DP %d %s %d", port->unit >> 8, port_kind(port->idr),
                     port->unit & 0xFF);
        else
            snprintf(view->name, sizeof view->name, "%s %u", port_kind(port->idr), port->unit & 0xFFU);
    }
    if (n == 0)
        error_set(error, ERROR_NO_TARGET, "no access port of the debug port answers");
    return n;
}

static void dap_describe(struct link *link, char *out, size_t size)
{
    const struct dap *dap = dap_of(link);
    const struct adi *adi = &dap->executor.adi;
    const char *name = dap->probe.carrier != NULL ? dap->probe.carrier->name : "cmsis-dap";
    const char *single =
        dap->probe.window == 1 && dap->probe.carrier != NULL ? dap->probe.carrier->loses_several : NULL;
    char missing[96] = "";
    size_t used = 0;
    if (adi->jtag && adi->others > 0)
        used = (size_t)snprintf(missing, sizeof missing, ", %u more debug port%s on the chain not read",
                                adi->others, PLURAL(adi->others));
    if (dap->executor.compiler.ap.cut)
        snprintf(missing + used, sizeof missing - used, ", not all access ports are read");
    /* Results keep RESULT_LINK characters: of a long name the end is left out, not what is missing */
    enum { RESULT_LINK = 127, WIRES_AND_CLOCK = 18 };
    int most = missing[0] != '\0' ? RESULT_LINK - WIRES_AND_CLOCK - (int)strlen(missing) : LINK_NAME;
    snprintf(out, size, "%.*s  %s %.3g MHz%s%s%s%s", most, name, adi->jtag ? "JTAG" : "SWD", adi->hz / 1e6,
             missing, adi->match ? "" : ", waits by polling (the probe has no value match)",
             single != NULL ? ", one packet at a time: " : "", single != NULL ? single : "");
}

static void dap_leave_power(struct link *link, enum link_power power)
{
    struct dap *dap = dap_of(link);
    if (power > dap->leave_power)
        dap->leave_power = power;
}

static void dap_mark_cacheable(struct link *link, uint16_t unit)
{
    struct access_port *port = ap_state_port(&dap_of(link)->executor.compiler.ap, unit);
    if (port == NULL || port_bus_of(port->idr) != PORT_AHB)
        return;
    port->csw_base |= CSW_CACHEABLE;
    port->csw_known = false;
}

/* Restores CSW and the upper half of TAR, in spite of noise. With ERRSTOP in CSW the errors that our own
 * accesses met would end the next debugger's: TRR.ERR is cleared first, as it was when we began to use the
 * port. */
static bool restore_port(struct adi *adi, const struct access_port *port)
{
    struct adi_access list[5];
    size_t n = 0;
    if (port->errors_kept) {
        list[n++] = (struct adi_access){.request = DP_SELECT, .value = ap_state_select(port, AP_TRR)};
        list[n++] = (struct adi_access){.request = TRANSFER_AP | (AP_TRR & TRANSFER_REGISTER), .value = 1};
    }
    list[n++] = (struct adi_access){.request = DP_SELECT, .value = ap_state_select(port, AP_CSW)};
    list[n++] = (struct adi_access){.request = TRANSFER_AP | AP_CSW, .value = port->csw_found};
    if (port->tar_high_found != 0)
        list[n++] = (struct adi_access){.request = TRANSFER_AP | AP_TAR_HIGH, .value = port->tar_high_found};
    struct error ignored = {0};
    for (int i = 0; i < CLOSE_TRIES; i++) {
        size_t done;
        enum adi_end end = adi_select(adi, port->unit >> 8, &ignored);
        if (end == ADI_OK)
            end = adi_transfer(adi, list, n, &done, &ignored);
        if (end == ADI_OK)
            return true;
        if (end == ADI_LOST || adi_mend(adi, end, &ignored) == ADI_GONE)
            break;
    }
    return false;
}

static bool restore_ports(struct dap *dap)
{
    bool all = true;
    const struct ap_state *ap = &dap->executor.compiler.ap;
    for (size_t i = 0; i < ap->n && !dap->probe.lost; i++)
        if (ap->ports[i].memory)
            all = restore_port(&dap->executor.adi, &ap->ports[i]) && all;
    return all && !dap->probe.lost;
}

static bool dap_is_given_up(const struct dap *dap)
{
    return dap->probe.ending != NULL && ending_is_over(dap->probe.ending);
}

/* The probe may be lost meanwhile and return. A probe that did not return has no carrier. */
static void leave_target(struct dap *dap)
{
    struct error ignored = {0};
    for (int i = 0; i < CLOSE_TRIES && dap->probe.carrier != NULL && !dap_is_given_up(dap); i++) {
        struct deadline deadline = ending_deadline(dap->probe.ending, patience_ms(REOPEN_MS));
        bool back =
            !dap->probe.lost || (adi_power_is_ours(&dap->executor.adi) && reopen(dap, &deadline, &ignored));
        if (!back)
            return;
        bool restored = restore_ports(dap);
        adi_power_leave(&dap->executor.adi, dap->leave_power, &ignored);
        if (restored && !dap->probe.lost && dap->leave_power != LINK_POWER_UP)
            lock_note(dap->link.lock, "");
        if (restored && !dap->probe.lost)
            return;
    }
}

static void dap_close(struct link *link)
{
    static const uint8_t lamp_off[] = {DAP_HOST_STATUS, 0, 0}, disconnect[] = {DAP_DISCONNECT};
    struct dap *dap = dap_of(link);
    struct error ignored = {0};
    leave_target(dap);
    if (!dap->probe.lost)
        (void)probe_tell(&dap->probe, lamp_off, sizeof lamp_off, "", &ignored);
    if (!dap->probe.lost)
        (void)probe_tell(&dap->probe, disconnect, sizeof disconnect, "", &ignored);
    if (dap->probe.carrier != NULL)
        probe_close(&dap->probe);
    free(dap);
}

/* --- trace: on an endpoint for itself where there is one, else by commands ------------------------------ */

static bool dap_tell_swo(struct dap *dap, uint8_t command, uint8_t value, struct error *error)
{
    const uint8_t packet[] = {command, value};
    return probe_tell(&dap->probe, packet, sizeof packet, "take in trace (DAP_SWO)", error);
}

static bool dap_stop_swo(struct dap *dap, uint8_t command, struct error *error)
{
    const uint8_t packet[] = {command, 0};
    uint8_t reply[CARRIER_ROOM];
    size_t n;
    return probe_ask(&dap->probe, packet, sizeof packet, reply, &n, error);
}

/* By JTAG the pin is TDO. */
static bool dap_trace_can(struct link *link)
{
    const struct dap *dap = dap_of(link);
    return !dap->executor.adi.jtag && (dap->probe.info.capabilities & DAP_CAN_SWO_UART) != 0;
}

static bool dap_trace_start(struct link *link, struct link_trace *trace, struct error *error)
{
    enum { BY_DATA = 1, BY_ENDPOINT = 2, UART = 1, BAUD_REPLY = 5 };
    struct dap *dap = dap_of(link);
    struct carrier *carrier = dap->probe.carrier;
    bool by_endpoint =
        carrier->ops->stream != NULL && (dap->probe.info.capabilities & DAP_CAN_SWO_STREAM) != 0;
    uint8_t packet[PROTOCOL_ROOM], reply[CARRIER_ROOM];
    uint32_t wanted = trace->baud;
    size_t n;
    trace->baud = 0;
    if (dap->probe.lost)
        return true;
    /* Some firmware refuses to stop what is stopped */
    if (!dap_stop_swo(dap, DAP_SWO_CONTROL, error) ||
        (by_endpoint && !carrier->ops->stream(carrier, wanted != 0, error)))
        return false;
    dap->streams = by_endpoint && wanted != 0;
    dap->swo_status_us = deadline_now_us();
    if (wanted == 0)
        return dap_stop_swo(dap, DAP_SWO_MODE, error) && dap_stop_swo(dap, DAP_SWO_TRANSPORT, error);
    if (!dap_tell_swo(dap, DAP_SWO_TRANSPORT, by_endpoint ? BY_ENDPOINT : BY_DATA, error) ||
        !dap_tell_swo(dap, DAP_SWO_MODE, UART, error) ||
        !probe_ask(&dap->probe, packet, protocol_swo_baud(packet, wanted), reply, &n, error))
        return false;
    if (protocol_check(reply, n, DAP_SWO_BAUDRATE) != ANSWER_GOOD || n < BAUD_REPLY)
        return probe_distrust(&dap->probe, error);
    uint32_t actual =
        (uint32_t)reply[1] | (uint32_t)reply[2] << 8 | (uint32_t)reply[3] << 16 | (uint32_t)reply[4] << 24;
    if (actual == 0)
        return true;
    trace->baud = actual;
    return dap_tell_swo(dap, DAP_SWO_CONTROL, 1, error);
}

/* What the probe lost is in its status alone. */
static bool dap_read_stream(struct dap *dap, uint8_t *out, size_t room, size_t *n, bool *lost,
                            struct error *error)
{
    enum { STATUS_US = 50000 };
    static const uint8_t ask[] = {DAP_SWO_STATUS};
    struct carrier *carrier = dap->probe.carrier;
    uint8_t reply[CARRIER_ROOM];
    size_t length;
    if (!carrier->ops->stream_read(carrier, out, room, n, error)) {
        dap->probe.lost = true;
        return false;
    }
    if (deadline_now_us() - dap->swo_status_us < STATUS_US)
        return true;
    dap->swo_status_us = deadline_now_us();
    if (!probe_ask(&dap->probe, ask, sizeof ask, reply, &length, error))
        return false;
    return protocol_swo_status(reply, length, lost) == ANSWER_GOOD || probe_distrust(&dap->probe, error);
}

static bool dap_trace_read(struct link *link, uint8_t *out, size_t room, size_t *n, bool *lost,
                           struct error *error)
{
    enum { HEAD = 4 };
    struct dap *dap = dap_of(link);
    uint8_t packet[PROTOCOL_ROOM], reply[CARRIER_ROOM];
    size_t length,
        size = dap->probe.info.packet_size < sizeof reply ? dap->probe.info.packet_size : sizeof reply;
    size_t most = size - HEAD < room ? size - HEAD : room;
    *n = 0;
    *lost = false;
    if (dap->probe.lost)
        return error_set(error, ERROR_LINK_LOST, "the probe is gone, and with it the trace");
    if (dap->streams)
        return dap_read_stream(dap, out, room, n, lost, error);
    if (!probe_ask(&dap->probe, packet, protocol_swo_data(packet, (uint16_t)most), reply, &length, error))
        return false;
    return protocol_swo_take(reply, length, out, room, n, lost) == ANSWER_GOOD ||
           probe_distrust(&dap->probe, error);
}

static void log_ports(const struct dap *dap)
{
    const struct adi *adi = &dap->executor.adi;
    const struct ap_state *ap = &dap->executor.compiler.ap;
    log_line(dap->spec.log, "%s at %" PRIu32 " Hz, DPIDR 0x%08" PRIx32 "%s", adi->jtag ? "JTAG" : "SWD",
             adi->hz, adi->dpidr, adi->match ? "" : ", no value match");
    for (size_t i = 0; i < ap->n; i++)
        log_line(dap->spec.log, "DP %d AP %d: IDR 0x%08" PRIx32 ", CSW 0x%08" PRIx32, ap->ports[i].unit >> 8,
                 ap->ports[i].unit & 0xFF, ap->ports[i].idr, ap->ports[i].csw_found);
    for (size_t i = 0; i < adi->n_ports; i++)
        if (adi_power_lacks_system(adi, i))
            log_line(dap->spec.log, "DP %zu: system power is not acknowledged (CSYSPWRUPACK)", i);
}

struct link *dap_open(const struct probe_spec *spec, const struct deadline *deadline, struct error *error)
{
    static const struct link_ops ops = {.execute = dap_execute,
                                        .views = dap_views,
                                        .describe = dap_describe,
                                        .mark_cacheable = dap_mark_cacheable,
                                        .leave_power = dap_leave_power,
                                        .trace_can = dap_trace_can,
                                        .trace_start = dap_trace_start,
                                        .trace_read = dap_trace_read,
                                        .close = dap_close,
                                        .comes_back = true};
    struct dap *dap = calloc(1, sizeof *dap);
    if (dap == NULL)
        return error_memory_null(error);
    dap->link.ops = &ops;
    dap->spec = *spec;
    dap->probe.log = spec->log;
    dap->probe.ending = deadline->ending;
    dap->probe.most = spec->packets;
    if (dap_begin(dap, deadline, error) &&
        connect_find_ports(&dap->executor.adi, &dap->executor.compiler.ap, deadline, error) &&
        connect_check_clock(&dap->executor.adi, &dap->executor.compiler.ap, error)) {
        put_ports_left(dap);
        dap_note_state(dap);
        dap->spec.hz = dap->executor.adi.hz; /* for reopening */
        executor_begin(&dap->executor);
        log_ports(dap);
        return &dap->link;
    }
    advise(error);
    link_close(&dap->link);
    return NULL;
}

uint64_t dap_packets(const struct link *link)
{
    return ((const struct dap *)link)->probe.packets;
}

/* ---- list */

static void dap_ask(struct dap_listed *listed, const struct deadline *deadline)
{
    struct dap_probe probe = {0};
    struct error error = {0};
    const struct dap_found *found = &listed->found;
    probe.carrier = found->kind == DAP_USB ? usb_connect(found, &error) : hid_connect(found, &error);
    if (probe.carrier != NULL && probe_identify(&probe, deadline, &error)) {
        listed->info = probe.info;
        listed->window = probe.window;
    } else {
        snprintf(listed->found.problem, sizeof listed->found.problem, "%.199s", error.text);
    }
    if (probe.carrier != NULL)
        probe_close(&probe);
}

size_t dap_list(struct dap_listed *out, size_t room, const struct deadline *deadline)
{
    struct dap_found list[FOUND];
    size_t n = usb_list(NULL, list, FOUND);
    n += hid_list(NULL, list + n, FOUND - n);
    n = usb_choice_merge(list, n);
    if (n > room)
        n = room;
    for (size_t i = 0; i < n; i++) {
        out[i] = (struct dap_listed){.found = list[i]};
        if (list[i].problem[0] == '\0')
            dap_ask(&out[i], deadline);
    }
    return n;
}

size_t dap_list_adapters(const struct dap_listed *listed, size_t n, struct adapter_found *out, size_t room)
{
    size_t count = usb_list_adapters(out, room), kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool known = false;
        for (size_t k = 0; k < n; k++)
            known = known ||
                    (listed[k].found.vendor == out[i].vendor && listed[k].found.product == out[i].product &&
                     strcmp(listed[k].found.serial, out[i].serial) == 0);
        if (!known)
            out[kept++] = out[i];
    }
    return kept;
}
