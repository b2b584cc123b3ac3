/* SPDX-License-Identifier: MIT */
#include "links/dap/probe.h"

#include <inttypes.h>
#include <string.h>

enum { SEND_MS = 1000, REPLY_MS = 8000, OVERLAPPED_MS = 800, STALE = 8, SILENCE_MS = 700 };

/* Several packets in flight are the cause if time runs out; else the probe was unplugged. */
static bool note_lost(struct dap_probe *probe, const struct deadline *deadline)
{
    probe->lost = true;
    probe->overlapped = probe->overlapped && deadline_passed(deadline);
    return false;
}

static bool receive(struct dap_probe *probe, uint8_t *reply, size_t *n, const struct deadline *deadline,
                    struct error *error)
{
    probe->lost = false;
    if (!carrier_receive(probe->carrier, reply, CARRIER_ROOM, n, deadline, error))
        return note_lost(probe, deadline);
    ending_answered(probe->ending);
    probe->in_flight -= probe->in_flight > 0;
    log_bytes(probe->log, '<', "dap", reply, *n, NULL);
    return true;
}

bool probe_send(struct dap_probe *probe, const uint8_t *packet, size_t n, struct error *error)
{
    struct deadline deadline = ending_answer(probe->ending, patience_ms(SEND_MS));
    if (probe->lost)
        return error_set(error, ERROR_LINK_LOST, "%s is gone", probe->carrier->name);
    probe->packets++;
    probe->overlapped = probe->in_flight++ > 0 && probe->repeats;
    log_bytes(probe->log, '>', "dap", packet, n, n > 0 ? protocol_name(packet[0]) : NULL);
    return carrier_send(probe->carrier, packet, n, &deadline, error) || note_lost(probe, &deadline);
}

bool probe_receive(struct dap_probe *probe, uint8_t *reply, size_t *n, struct error *error)
{
    /* Reads do not take long */
    struct deadline deadline =
        ending_answer(probe->ending, patience_ms(probe->overlapped ? OVERLAPPED_MS : REPLY_MS));
    *n = 0;
    if (probe->lost)
        return error_set(error, ERROR_LINK_LOST, "%s is gone", probe->carrier->name);
    return receive(probe, reply, n, &deadline, error);
}

bool probe_ask(struct dap_probe *probe, const uint8_t *packet, size_t n, uint8_t *reply, size_t *reply_n,
               struct error *error)
{
    *reply_n = 0;
    return probe_send(probe, packet, n, error) && probe_receive(probe, reply, reply_n, error);
}

bool probe_tell(struct dap_probe *probe, const uint8_t *packet, size_t n, const char *what,
                struct error *error)
{
    uint8_t reply[CARRIER_ROOM];
    size_t length;
    if (!probe_ask(probe, packet, n, reply, &length, error))
        return false;
    enum protocol_answer answer = protocol_status(reply, length, packet[0]);
    return answer == ANSWER_GOOD ||
           error_set(error, ERROR_LINK_PROTOCOL,
                     answer == ANSWER_UNKNOWN ? "%s: its firmware cannot %s" : "%s: it could not %s",
                     probe->carrier->name, what);
}

bool probe_distrust(struct dap_probe *probe, struct error *error)
{
    probe->lost = true;
    return error_set(error, ERROR_LINK_PROTOCOL, "%s answers something else than it was asked",
                     probe->carrier->name);
}

/* Whether the reply can answer a question for the capabilities. */
static bool answers_first(const uint8_t *reply, size_t n)
{
    enum protocol_answer answer = protocol_check(reply, n, DAP_INFO);
    return answer == ANSWER_UNKNOWN ||
           (answer == ANSWER_GOOD && n >= 2 && reply[1] <= 2 && n >= 2U + reply[1]);
}

static bool answers_second(const uint8_t *reply, size_t n)
{
    enum protocol_answer answer = protocol_check(reply, n, DAP_HOST_STATUS);
    return answer == ANSWER_UNKNOWN || answer == ANSWER_GOOD;
}

/* A peer that is silent is reported differently from one that answers something else. */
static bool no_answer(const struct dap_probe *probe, const struct deadline *limit, const struct error *why,
                      struct error *error)
{
    static const char taken[] = "It serves one client at a time: end the other one, or start it again. "
                                "OpenOCD's Tcl port is -p openocd:HOST:PORT.";
    const char *name = probe->carrier->name;
    if (deadline_cancelled(limit))
        return error_set(error, ERROR_CANCELLED, "cancelled");
    if (probe->carrier->has_begun)
        return error_set(error, ERROR_LINK_PROTOCOL, "%s does not speak CMSIS-DAP", name);
    if (why->kind != ERROR_LINK_LOST)
        return error_copy(error, why);
    if (deadline_passed(limit))
        return error_advise(error, ERROR_NOT_A_PROBE, taken, "%s is open, but silent: it sent nothing", name);
    return error_advise(error, why->kind, taken, "%s, before it answered anything: is it in use?", why->text);
}

/* Asks, and skips replies to an earlier program's requests. */
static bool ask_first(struct dap_probe *probe, const uint8_t *packet, size_t n,
                      bool (*answers)(const uint8_t *, size_t), const struct deadline *limit,
                      struct error *error)
{
    uint8_t reply[CARRIER_ROOM];
    size_t length;
    struct error why = {0};
    if (!probe_send(probe, packet, n, error))
        return false;
    for (int i = 0; i < STALE; i++) {
        if (!receive(probe, reply, &length, limit, &why))
            return i == 0 && packet[0] == DAP_INFO ? no_answer(probe, limit, &why, error)
                                                   : error_copy(error, &why);
        if (answers(reply, length))
            return true;
    }
    probe->lost = true;
    return error_set(error, ERROR_LINK_PROTOCOL, "%s does not speak CMSIS-DAP", probe->carrier->name);
}

/* Asks two questions whose answers differ: a reply that an earlier program left unread can pass for the
 * answer to the first one only. */
static bool find_beginning(struct dap_probe *probe, const struct deadline *deadline, struct error *error)
{
    static const uint8_t first[] = {DAP_INFO, DAP_INFO_CAPABILITIES}, second[] = {DAP_HOST_STATUS, 0, 0};
    struct deadline limit = deadline_slice(deadline, patience_ms(SILENCE_MS));
    probe->carrier->in_step = ask_first(probe, first, sizeof first, answers_first, &limit, error) &&
                              ask_first(probe, second, sizeof second, answers_second, &limit, error);
    return probe->carrier->in_step;
}

/* If the endpoint's packets are smaller than the probe's, a full one does not end the transfer, and probes
 * differ in whether they then send an empty one. */
static void fit_packets(struct dap_probe *probe)
{
    size_t largest = probe->carrier->largest;
    if (largest != 0 && probe->info.packet_size > largest)
        probe->info.packet_size = probe->carrier->padded ? largest : largest - 1;
    probe->carrier->packet_size = probe->info.packet_size;
}

/* A text longer than an endpoint's packet is sent in several packets. */
static bool receive_rest(struct dap_probe *probe, uint8_t *reply, size_t *n, struct error *error)
{
    size_t piece = probe->carrier->padded ? 0 : probe->carrier->largest;
    while (piece > 0 && *n >= piece && *n % piece == 0 && reply[0] == DAP_INFO && 2U + reply[1] > *n) {
        uint8_t more[CARRIER_ROOM];
        size_t length;
        if (!probe_receive(probe, more, &length, error))
            return false;
        size_t room = CARRIER_ROOM - *n;
        memcpy(reply + *n, more, length < room ? length : room);
        *n += length < room ? length : room;
    }
    return true;
}

bool probe_identify(struct dap_probe *probe, const struct deadline *deadline, struct error *error)
{
    /* The size first: long strings need it */
    static const uint8_t ids[] = {DAP_INFO_PACKET_SIZE, DAP_INFO_PACKET_COUNT, DAP_INFO_CAPABILITIES,
                                  DAP_INFO_VENDOR,      DAP_INFO_PRODUCT,      DAP_INFO_SERIAL,
                                  DAP_INFO_PROTOCOL,    DAP_INFO_FIRMWARE};
    probe->info =
        (struct dap_info){.packet_count = 1, .packet_size = CARRIER_SMALLEST, .capabilities = DAP_CAN_SWD};
    probe->in_flight = 0;
    probe->overlapped = false;
    if (!find_beginning(probe, deadline, error))
        return false;
    for (size_t i = 0; i < sizeof ids; i++) {
        const uint8_t packet[] = {DAP_INFO, ids[i]};
        uint8_t reply[CARRIER_ROOM];
        size_t length;
        if (!probe_ask(probe, packet, sizeof packet, reply, &length, error) ||
            !receive_rest(probe, reply, &length, error))
            return false;
        if (!protocol_take_info(&probe->info, ids[i], reply, length))
            return probe_distrust(probe, error);
        fit_packets(probe);
        if (deadline_cancelled(deadline))
            return error_set(error, ERROR_CANCELLED, "cancelled");
    }
    const struct dap_info *info = &probe->info;
    unsigned most = probe->most > 0 ? probe->most : probe->carrier->takes_several ? info->packet_count : 1;
    probe->window = info->packet_count < most ? info->packet_count : most;
    log_line(probe->log,
             "%s: %s %s, serial number %s, CMSIS-DAP %s, firmware %s, %u packets of %zu bytes, %u at a time",
             probe->carrier->name, info->vendor, info->product, info->serial, info->protocol, info->firmware,
             info->packet_count, info->packet_size, probe->window);
    return true;
}

bool probe_lost_overlapped(const struct dap_probe *probe)
{
    return probe->lost && probe->overlapped && probe->window > 1;
}

void probe_close(struct dap_probe *probe)
{
    carrier_close(probe->carrier);
    probe->carrier = NULL;
    probe->lost = true;
}

/* --- the wires ------------------------------------------------------------------------------------------ */

/* IHI 0031 B4.3.3 (line reset, 50 ones at least) and B5.3 (switching); the selection alert is B5.3.4. */
static const uint8_t line_reset[] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x00};
static const uint8_t jtag_to_swd[] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x9E, 0xE7,
                                      0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x00};
/* Eight ones and 0x33BBBBBA in 31 bits leave JTAG; line reset and 0xE3BC leave SWD */
static const uint8_t to_dormant[] = {0xFF, 0xBA, 0xBB, 0xBB, 0xB3, 0xFF, 0xFF,
                                     0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xBC, 0xE3};
static const uint8_t dormant_to_swd[] = {
    0xFF, 0x92, 0xF3, 0x09, 0x62, 0x95, 0x2D, 0x85, 0x86, 0xE9,
    0xAF, 0xDD, 0xE3, 0xA2, 0x0E, 0xBC, 0x19, 0xA0, 0xF1, /* four zeros, 0x1A, ones */
    0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x00};
static const uint8_t swd_to_jtag[] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x3C, 0xE7, 0xFF};
static const uint8_t tap_reset[] = {0xFF, 0x00};

const uint8_t *wires_bits(enum wires_sequence sequence, unsigned *n)
{
    static const struct {
        const uint8_t *bits;
        unsigned n;
    } all[WIRES_SEQUENCES] = {
        [WIRES_LINE_RESET] = {line_reset, 8 * sizeof line_reset},
        [WIRES_JTAG_TO_SWD] = {jtag_to_swd, 8 * sizeof jtag_to_swd},
        [WIRES_TO_DORMANT] = {to_dormant, 8 * sizeof to_dormant},
        [WIRES_DORMANT_TO_SWD] = {dormant_to_swd, 8 * sizeof dormant_to_swd},
        [WIRES_SWD_TO_JTAG] = {swd_to_jtag, 8 * sizeof swd_to_jtag},
        [WIRES_TAP_RESET] = {tap_reset, 9},
    };
    *n = all[sequence].n;
    return all[sequence].bits;
}

bool wires_connect(struct dap_probe *probe, uint8_t port, struct error *error)
{
    const uint8_t disconnect[] = {DAP_DISCONNECT}, connect[] = {DAP_CONNECT, port};
    uint8_t packet[PROTOCOL_ROOM], reply[CARRIER_ROOM], got = 0;
    size_t length;
    /* Some probes do not connect again without a disconnect. Its answer does not matter */
    if (!probe_ask(probe, disconnect, sizeof disconnect, reply, &length, error) ||
        !probe_ask(probe, connect, sizeof connect, reply, &length, error))
        return false;
    if (protocol_connected(reply, length, &got) != ANSWER_GOOD || got != port)
        return error_set(error, ERROR_LINK_PROTOCOL, "%s: it cannot speak %s", probe->carrier->name,
                         port == DAP_PORT_JTAG ? "JTAG" : "SWD");
    probe->port = port;
    probe->unanswered = false;
    /* Not every probe drives nTRST high by itself. A probe without this pin or command may refuse */
    return port != DAP_PORT_JTAG ||
           probe_ask(probe, packet, protocol_pins(packet, DAP_PIN_TRST, DAP_PIN_TRST), reply, &length, error);
}

/* After a missing acknowledge, some firmware leaves SWDIO an input and does not drive sequences on it. */
static bool dap_probe_take_line(struct dap_probe *probe, struct error *error)
{
    const uint8_t connect[] = {DAP_CONNECT, probe->port};
    uint8_t reply[CARRIER_ROOM];
    size_t length;
    if (!probe->unanswered || probe->port != DAP_PORT_SWD)
        return true;
    probe->unanswered = false;
    return probe_ask(probe, connect, sizeof connect, reply, &length, error);
}

bool wires_send(struct dap_probe *probe, enum wires_sequence sequence, struct error *error)
{
    uint8_t packet[PROTOCOL_ROOM];
    unsigned n;
    const uint8_t *bits = wires_bits(sequence, &n);
    size_t length = protocol_swj_sequence(packet, bits, n);
    return dap_probe_take_line(probe, error) &&
           probe_tell(probe, packet, length, "send a sequence on the wires", error);
}

bool wires_target_select(struct dap_probe *probe, uint32_t device, struct error *error)
{
    uint8_t packet[PROTOCOL_ROOM];
    size_t length = protocol_target_select(packet, device);
    return wires_send(probe, WIRES_LINE_RESET, error) &&
           probe_tell(probe, packet, length, "choose a debug port (DAP_SWD_Sequence)", error);
}

bool wires_clock(struct dap_probe *probe, uint32_t hz, struct error *error)
{
    uint8_t packet[PROTOCOL_ROOM];
    return probe_tell(probe, packet, protocol_clock(packet, hz), "set the clock", error);
}

/* ---- the scan chain: what its bits say */

/* IDCODE, IEEE 1149.1 clause 12: bit 0 is one, bits 11:1 the maker. Arm's debug ports: IHI 0031 B3.4. */
enum { ARM_PORT_IR = 4 };
static const uint32_t ID_MAKER_AND_KIND = 0x0FF00FFF, ID_ARM_PORT = 0x0BA00477;
/* The debug ports of TI's K3 have TI's IDCODE. TI's other devices on a chain have longer instructions. */
enum { ID_MAKER = 0xFFF, ID_TI = 0x02F };

static bool bit_at(const uint8_t *bits, size_t at)
{
    return bits[at / 8] >> at % 8 & 1;
}

bool chain_read_ids(struct chain *chain, const uint8_t *bits, size_t n_bits)
{
    size_t at = 0;
    chain->n = 0;
    while (at < n_bits) {
        if (!bit_at(bits, at)) { /* a bypass register: one bit, zero */
            if (chain->n == CHAIN_DEVICES)
                return false;
            chain->id[chain->n++] = 0;
            at++;
            continue;
        }
        if (at + 32 > n_bits)
            return false;
        uint32_t id = 0;
        for (size_t i = 0; i < 32; i++)
            id |= (uint32_t)bit_at(bits, at + i) << i;
        if (id == UINT32_MAX) /* our own ones: the chain has ended */
            return chain->n > 0;
        if (chain->n == CHAIN_DEVICES)
            return false;
        chain->id[chain->n++] = id;
        at += 32;
    }
    return false;
}

static bool is_arm_port(uint32_t id)
{
    return (id & ID_MAKER_AND_KIND) == ID_ARM_PORT;
}

bool chain_read_lengths(struct chain *chain, const uint8_t *bits, size_t length)
{
    /* Every instruction register captures ...01, so one can begin at each one that a zero follows */
    size_t starts[CHAIN_IR_BITS], n = 0, unknown = chain->n, left = length;
    for (size_t i = 0; i + 1 < length && n < CHAIN_IR_BITS; i++)
        if (bit_at(bits, i) && !bit_at(bits, i + 1))
            starts[n++] = i;
    bool clear = n == chain->n && n > 0 && starts[0] == 0;
    for (size_t i = 0; i < n && clear; i++) {
        chain->ir[i] = (uint8_t)((i + 1 < n ? starts[i + 1] : length) - starts[i]);
        clear = !is_arm_port(chain->id[i]) || chain->ir[i] == ARM_PORT_IR;
    }
    if (clear)
        return true;
    /* Ambiguous: the debug ports' lengths are known, and one other device can have the rest */
    for (size_t i = 0; i < chain->n; i++)
        if (is_arm_port(chain->id[i]) && left >= ARM_PORT_IR) {
            chain->ir[i] = ARM_PORT_IR;
            left -= ARM_PORT_IR;
            unknown--;
        }
    for (size_t i = 0; i < chain->n && unknown == 1; i++)
        if (!is_arm_port(chain->id[i]))
            chain->ir[i] = (uint8_t)left;
    return unknown == 0 ? left == 0 : unknown == 1 && left >= 2;
}

/*
 * A JTAG-DP of protocol 1 has different acknowledges for OK and FAULT (IHI 0074, JTAG-DP; IDCODEs of
 * CoreSight SoC-600 with four and eight bits of instructions). CMSIS-DAP knows protocol 0 only.
 */
static bool is_newer_port(uint32_t id)
{
    unsigned part = id >> 12 & 0xFF;
    return is_arm_port(id) && (part == 0x06 || part == 0x07);
}

bool chain_find_port(struct chain *chain)
{
    for (chain->port = 0; chain->port < chain->n; chain->port++)
        if (is_arm_port(chain->id[chain->port]) && !is_newer_port(chain->id[chain->port]))
            return true;
    return false;
}

unsigned chain_other_ports(const struct chain *chain)
{
    unsigned others = 0;
    for (size_t i = 0; i < chain->n; i++)
        others += i != chain->port && is_arm_port(chain->id[i]);
    return others;
}

bool chain_find_foreign_port(struct chain *chain)
{
    for (chain->port = 0; chain->port < chain->n; chain->port++)
        if ((chain->id[chain->port] & ID_MAKER) == ID_TI && chain->ir[chain->port] == ARM_PORT_IR)
            return true;
    return false;
}

uint32_t chain_newer_port(const struct chain *chain)
{
    for (size_t i = 0; i < chain->n; i++)
        if (is_newer_port(chain->id[i]))
            return chain->id[i];
    return 0;
}

/* ---- shifting */

static bool clocks(struct dap_probe *probe, bool tms, unsigned n, struct error *error)
{
    static const uint8_t ones[8] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
    uint8_t packet[PROTOCOL_ROOM];
    size_t length = protocol_jtag_sequence(packet, tms, false, ones, n);
    return probe_tell(probe, packet, length, "shift over JTAG", error);
}

/* `fill` (0x00 or 0xFF) is shifted in while `n` bits are shifted out, in the shift state. */
static bool shift(struct dap_probe *probe, uint8_t fill, uint8_t *out, size_t n, struct error *error)
{
    uint8_t tdi[8], packet[PROTOCOL_ROOM], reply[CARRIER_ROOM];
    memset(tdi, fill, sizeof tdi);
    for (size_t at = 0; at < n; at += 64) {
        unsigned bits = n - at < 64 ? (unsigned)(n - at) : 64;
        size_t length = protocol_jtag_sequence(packet, false, true, tdi, bits), got;
        if (!probe_ask(probe, packet, length, reply, &got, error))
            return false;
        if (!protocol_jtag_captured(reply, got, out + at / 8, bits))
            return error_set(error, ERROR_LINK_PROTOCOL, "%s: it could not shift over JTAG",
                             probe->carrier->name);
    }
    return true;
}

static bool measure_ir(struct dap_probe *probe, struct chain *chain, struct error *error)
{
    uint8_t captured[CHAIN_IR_BITS / 8], after[CHAIN_IR_BITS / 8];
    /* TMS 1, 1, 0, 0 leads from Run-Test/Idle to Shift-IR. Ones select bypass everywhere: then zeros show
     * the length */
    if (!clocks(probe, true, 2, error) || !clocks(probe, false, 2, error) ||
        !shift(probe, 0xFF, captured, CHAIN_IR_BITS, error) ||
        !shift(probe, 0x00, after, CHAIN_IR_BITS, error) || !shift(probe, 0xFF, after, CHAIN_IR_BITS, error))
        return false;
    size_t length = 0;
    while (length < CHAIN_IR_BITS && !bit_at(after, length))
        length++;
    if (!wires_send(probe, WIRES_TAP_RESET, error))
        return false;
    if (length < 2 || length >= CHAIN_IR_BITS || !chain_read_lengths(chain, captured, length))
        return error_set(error, ERROR_NO_TARGET,
                         "the JTAG chain's instruction registers are of unknown lengths");
    return true;
}

bool chain_scan(struct dap_probe *probe, struct chain *chain, struct error *error)
{
    uint8_t bits[CHAIN_ID_BITS / 8], packet[PROTOCOL_ROOM];
    *chain = (struct chain){0};
    if (!wires_send(probe, WIRES_TAP_RESET, error) || !clocks(probe, true, 1, error) ||
        !clocks(probe, false, 2, error) || !shift(probe, 0xFF, bits, CHAIN_ID_BITS, error) ||
        !wires_send(probe, WIRES_TAP_RESET, error))
        return false;
    if (!chain_read_ids(chain, bits, CHAIN_ID_BITS))
        return error_set(error, ERROR_NO_TARGET, "no device answers over JTAG: is it powered and connected?");
    bool found = chain_find_port(chain);
    uint32_t newer = found ? 0 : chain_newer_port(chain);
    if (newer != 0)
        return error_set(
            error, ERROR_NO_TARGET,
            "the debug port on the JTAG chain (IDCODE 0x%08" PRIX32
            ") speaks JTAG-DP protocol 1, not for CMSIS-DAP: use SWD, or OpenOCD with another probe",
            newer);
    if (!measure_ir(probe, chain, error))
        return false;
    if (!found && !chain_find_foreign_port(chain))
        return error_advise(
            error, ERROR_NO_TARGET,
            "A port to be switched in (TI's ICEPick) needs OpenOCD: -f interface/YOUR_ADAPTER.cfg -f "
            "target/YOUR_CHIP.cfg.",
            "no Arm debug port is on the JTAG chain: its first device has the IDCODE 0x%08" PRIX32,
            chain->id[0]);
    size_t n = protocol_jtag_configure(packet, chain->ir, chain->n);
    return probe_tell(probe, packet, n, "learn the JTAG chain", error);
}
