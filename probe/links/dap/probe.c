#include "links/dap/probe.h"

#include <stdio.h>
#include <string.h>

enum { SEND_MS = 1000, REPLY_MS = 8000, OVERLAPPED_MS = 800, STALE = 8, SILENCE_MS = 700 };

static bool receive(struct dap_probe *probe, uint8_t *reply, size_t *n, const struct deadline *deadline,
                    struct error *error)
{
    probe->lost = !carrier_receive(probe->carrier, reply, CARRIER_ROOM, n, deadline, error);
    if (probe->lost) {
        probe->overlapped = probe->overlapped && deadline_passed(deadline); /* otherwise it was unplugged */
        return false;
    }
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
    probe->lost = !carrier_send(probe->carrier, packet, n, &deadline, error);
    return !probe->lost;
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
    static const char taken[] = "It serves one client at a time: end the other one. If there is none, it "
                                "hangs: start it again, or plug it in again.";
    const char *name = probe->carrier->name;
    if (deadline_cancelled(limit))
        return error_set(error, ERROR_CANCELLED, "cancelled");
    if (probe->carrier->has_begun)
        return error_set(error, ERROR_LINK_PROTOCOL, "%s does not speak CMSIS-DAP", name);
    if (why->kind != ERROR_LINK_LOST)
        return error_copy(error, why);
    if (deadline_passed(limit))
        return error_advise(error, ERROR_NOT_A_PROBE, taken, "%s is open, but silent: it sent nothing",
                            name);
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
