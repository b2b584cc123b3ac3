#include "links/dap/executor.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    SLICE_MS = 50,
    BUDGET_MS = 100,
};

void executor_begin(struct executor *executor)
{
    struct compiler *compiler = &executor->compiler;
    compiler->packet_size = executor->adi.probe->info.packet_size;
    compiler->index = executor->adi.index;
    compiler->jtag = executor->adi.jtag;
    compiler->padded = executor->adi.padded;
    compiler->loses_place = executor->adi.loses_place;
    compiler->match = executor->adi.match;
    compiler_forget(compiler);
}

/* ---- steps */

static bool is_access(const struct step *step)
{
    return step->op != OP_TIME;
}

static size_t next_access(const struct call *r)
{
    size_t at = r->done;
    while (at < r->n && !is_access(&r->steps[at]))
        at++;
    return at;
}

static void set_times(const struct call *r, size_t first, size_t end, int64_t before, int64_t after)
{
    for (size_t i = first; i < end; i++)
        if (r->steps[i].op == OP_TIME)
            r->results[i] = (uint64_t)(r->steps[i].value == TIME_AFTER ? after : before);
}

/* Selects the debug port of the next step. */
static bool select_port(struct call *r, size_t at)
{
    struct adi *adi = &r->executor->adi;
    size_t number = r->steps[at].at.unit >> 8;
    if (number >= adi->n_ports)
        return call_end(r, TARGET_FAULT, at, ERROR_FAULT, "there is no such debug port");
    if (adi->selected == number)
        return true;
    compiler_forget(&r->executor->compiler);
    enum adi_end end = adi_select(adi, number, r->error);
    for (int i = 0; end != ADI_OK && end != ADI_LOST && i < 2; i++) {
        adi->selected = number; /* the one to come back to */
        end = adi_resume(adi, r->error);
    }
    if (end == ADI_LOST)
        return call_lost(r);
    return end == ADI_OK || call_end(r, TARGET_WAIT, at, ERROR_ASLEEP, "nothing answers on the wires");
}

/* What was learnt from a look at a step whose predicted word was not found. */
static void settle_prediction(struct call *r, const struct decoded *decoded)
{
    if (r->look && r->predicted && decoded->step > r->done)
        predict_failed(&r->executor->compiler.predictor, r->entry, (uint32_t)r->results[r->done]);
}

/* ---- rows of reads */

static const uint32_t TOKENS = 0xFFFFFF00; /* addresses that no row may read */

static uint32_t token(unsigned packet)
{
    return TOKENS + 4 * (packet % 32);
}

/* How far it goes on like the next step: memory read through one access port. */
static size_t find_row_end(const struct call *r)
{
    size_t at = r->done, first = next_access(r);
    if (first == r->n || r->executor->adi.jtag || r->executor->adi.patient || !r->executor->compiler.match ||
        r->look)
        return at;
    for (; at < r->n; at++) {
        const struct step *step = &r->steps[at];
        if (step->op == OP_TIME)
            continue;
        if (step->op != OP_READ || step->at.space != SPACE_MEMORY || step->at.offset >= TOKENS ||
            step->at.unit != r->steps[first].at.unit ||
            compiler_refusal(&r->executor->compiler, step) != NULL)
            break;
    }
    return at;
}

/* Whether the reads from `at` on are more than one packet can hold. */
static bool row_is_long(const struct call *r, size_t at)
{
    size_t room = (r->executor->compiler.packet_size - TRANSFER_HEAD) / 4, reads = 0;
    for (; at < r->row_end && reads <= room; at++)
        reads += is_access(&r->steps[at]);
    return reads > room;
}

static struct executor_flight *flight(const struct call *r, unsigned number)
{
    return &r->executor->flights[number % EXECUTOR_FLIGHTS];
}

/* What was sent behind a packet that failed must have stopped at its gate. */
static bool recall(struct call *r)
{
    uint8_t reply[CARRIER_ROOM];
    size_t length;
    for (; r->received < r->sent; r->received++) {
        const struct packet *packet = &flight(r, r->received)->packet;
        size_t gate = 0;
        while (gate < packet->n && packet->notes[gate].kind != NOTE_GATE)
            gate++;
        if (!probe_receive(r->executor->adi.probe, reply, &length, r->error))
            return call_lost(r);
        if (length < TRANSFER_HEAD || reply[0] != DAP_TRANSFER || reply[1] > gate) {
            r->executor->adi.probe->lost = true;
            error_set(r->error, ERROR_LINK_PROTOCOL, "%s went on after a failure",
                      r->executor->adi.probe->carrier->name);
            return call_lost(r);
        }
    }
    return true;
}

/* ---- packets */

/* Each access of a packet may take as long as the firmware waits for one. */
static size_t packet_size(const struct adi *adi)
{
    enum { SMALL = 64 };
    size_t most = adi->probe->info.packet_size;
    return adi->patient && most > SMALL ? SMALL : most;
}

static bool send_packet(struct call *r)
{
    struct executor *executor = r->executor;
    executor->compiler.packet_size = packet_size(&executor->adi);
    struct executor_flight *out = flight(r, r->sent);
    struct compiler_gates gates = {.behind = r->sent > r->received,
                                   .ahead = row_is_long(r, r->ahead),
                                   .behind_token = token(r->sent - 1),
                                   .ahead_token = token(r->sent)};
    bool in_row = r->row_end > r->ahead;
    r->token_left = in_row && gates.ahead;
    /* Behind another one there is nothing but reads, which may be done again should a reply never come */
    bool only_reads = r->token_left || (in_row && gates.behind);
    compiler_packet(&executor->compiler, r->steps, only_reads ? r->row_end : r->n, r->ahead, r->look,
                    in_row ? &gates : NULL, &out->packet);
    out->sent_us = deadline_now_us();
    r->ahead = out->packet.end;
    r->sent++;
    return out->packet.n == 0 ||
           probe_send(executor->adi.probe, out->packet.bytes, out->packet.length, r->error) || call_lost(r);
}

/* The next packet, and behind it what may be sent before it is answered. */
static bool send_packets(struct call *r)
{
    unsigned window = r->executor->adi.probe->window;
    window = window < EXECUTOR_FLIGHTS ? window : EXECUTOR_FLIGHTS;
    if (r->sent == r->received) {
        r->ahead = r->alone = r->done;
        r->row_end = window > 1 ? find_row_end(r) : r->done;
        if (!row_is_long(r, r->done))
            r->row_end = r->done;
        if (!send_packet(r))
            return false;
    }
    while (r->sent - r->received < window && r->ahead < r->row_end && r->token_left &&
           !deadline_passed(&r->budget))
        if (!send_packet(r))
            return false;
    return true;
}

/* Something was carried out: what took long is behind us. */
static bool wait_is_over(struct call *r)
{
    struct adi *adi = &r->executor->adi;
    bool waited = adi->waits_since_us != 0 || adi->patient;
    return !waited || r->sent != r->received || adi_end_wait(adi, r->error);
}

static bool run_packet(struct call *r)
{
    struct executor *executor = r->executor;
    uint8_t reply[CARRIER_ROOM];
    size_t length;
    if (!send_packets(r)) {
        compiler_forget(&executor->compiler);
        return false;
    }
    const struct executor_flight *now = flight(r, r->received);
    const struct packet *packet = &now->packet;
    if (packet->n == 0) {
        set_times(r, packet->first, packet->end, now->sent_us, now->sent_us);
        r->done = packet->end;
        r->received++;
        return true;
    }
    if (!probe_receive(executor->adi.probe, reply, &length, r->error)) {
        compiler_forget(&executor->compiler);
        return call_lost(r);
    }
    r->received++;
    int64_t came = deadline_now_us();
    struct decoded decoded = decode(&executor->compiler, packet, r->steps, reply, length, r->results);
    set_times(r, packet->first, decoded.step, now->sent_us, came);
    settle_prediction(r, &decoded);
    if (decoded.step > r->done) {
        r->noise = 0;
        r->look = false;
        if (!wait_is_over(r))
            return call_lost(r);
    }
    bool whole = decoded.end == DECODE_DONE && decoded.step == packet->end;
    if (whole) {
        r->done = decoded.step;
        return true;
    }
    compiler_forget(&executor->compiler);
    if (decoded.end == DECODE_MISMATCH && decoded.note != NULL && r->received == r->sent &&
        !adi_adjust_match(&executor->adi, r->steps[decoded.step].op == OP_EXPECT, came - now->sent_us,
                          r->error))
        return call_lost(r);
    if (decoded.step >= packet->end && r->received < r->sent) {
        /* All but what closes the packet was done, so the next one may have passed its gate: ask it */
        r->done = decoded.step;
        r->token_left = false;
        return true;
    }
    if (decoded.end != DECODE_BROKEN && !recall(r))
        return false;
    return call_ended_early(r, &decoded);
}

/* A step that no packet can hold. */
static bool refuse(struct call *r, size_t at)
{
    const char *words = at < r->n ? compiler_refusal(&r->executor->compiler, &r->steps[at]) : NULL;
    if (words == NULL)
        return true;
    int64_t now = deadline_now_us();
    set_times(r, r->done, at, now, now);
    return call_end(r, TARGET_FAULT, at, ERROR_FAULT, words);
}

struct outcome executor_run(struct executor *executor, const struct step *steps, size_t n, uint64_t *results,
                            const struct deadline *deadline, struct error *error)
{
    struct call r = {.executor = executor,
                     .steps = steps,
                     .n = n,
                     .slice = deadline_slice(deadline, SLICE_MS),
                     .budget = deadline_slice(deadline, BUDGET_MS),
                     .error = error,
                     .out = {.why = DONE, .done = n}};
    r.results = results;
    bool begun = false;
    while (r.done < n) {
        size_t at = next_access(&r);
        if (!refuse(&r, at) || (at < n && !select_port(&r, at)))
            return r.out;
        if (begun && !r.look && deadline_passed(&r.budget) && r.sent == r.received)
            return (struct outcome){.why = NOT_YET, .done = r.done};
        begun = true;
        if (!run_packet(&r)) {
            /* A reply that was lost among others may have been taken for that of the packet before */
            if (probe_lost_in_crowd(executor->adi.probe))
                r.out.done = r.alone;
            return r.out;
        }
    }
    return r.out;
}

enum { NOISE = 4 }; /* failures of the wires in a row before we say so */

/* ---- what happened, in words */

/* "read 0x40000000 (4 bytes)" */
static void name_step(const struct step *step, char *out, size_t size)
{
    const char *verb = step->op == OP_WRITE ? "write" : "read";
    if (step->at.space == SPACE_MEMORY)
        snprintf(out, size, "%s 0x%08" PRIx64 " (%u byte%s)", verb, step->at.offset, step->at.size,
                 step->at.size == 1 ? "" : "s");
    else if (step->at.space == SPACE_AP)
        snprintf(out, size, "%s register 0x%02" PRIx64 " of AP %u", verb, step->at.offset,
                 step->at.unit & 0xFFU);
    else if (step->at.space == SPACE_DP)
        snprintf(out, size, "%s register 0x%02" PRIx64 " of the debug port", verb, step->at.offset);
    else
        snprintf(out, size, "%s 0x%" PRIx64 " of CPU %u", verb, step->at.offset, step->at.unit);
}

bool call_end(struct call *r, enum why why, size_t step, enum error_kind kind, const char *words)
{
    char name[96] = "go on";
    if (step < r->n)
        name_step(&r->steps[step], name, sizeof name);
    error_set(r->error, kind, "cannot %s: %s", name, words);
    r->out = (struct outcome){.why = why, .done = step};
    return false;
}

bool call_lost(struct call *r)
{
    error_set(r->error, ERROR_LINK_LOST, "the probe is gone");
    r->out = (struct outcome){.why = LINK_LOST, .done = r->done};
    return false;
}

/* ---- after a failure */

static const char unknown_write[] = "the target stopped answering, and whether it was carried out is unknown";

static bool noise(struct call *r, size_t step)
{
    r->done = step;
    r->look = false;
    if (++r->noise < NOISE)
        return r->noise == 1 || adi_slow_down(&r->executor->adi, r->error) || call_lost(r);
    return call_end(r, TARGET_WAIT, step, ERROR_ASLEEP,
                    "the wires are disturbed, or the target does not answer");
}

static const char never_ends[] =
    "the access goes on even after an abort: the target's bus hangs, or has no clock while the target sleeps";

/* IHI 0031 C2.6.3: once an access was aborted, TRINPROG says whether the bus behind the port goes on with it.
 */
static bool bus_hangs(struct call *r, size_t step)
{
    struct adi *adi = &r->executor->adi;
    struct access_port *port = ap_state_port(&r->executor->compiler.ap, r->steps[step].at.unit);
    if (r->steps[step].at.space != SPACE_MEMORY || port == NULL)
        return false;
    struct adi_access list[] = {{.request = DP_SELECT, .value = ap_state_select(port, AP_CSW)},
                                {.request = TRANSFER_AP | TRANSFER_READ | AP_CSW}};
    size_t done;
    enum adi_end end = adi_transfer(adi, list, 2, &done, r->error);
    bool hangs =
        end == ADI_LOST || end == ADI_WAIT || (end == ADI_OK && (list[1].value & CSW_IN_PROGRESS) != 0);
    if (end != ADI_OK && end != ADI_LOST)
        hangs = adi_mend(adi, end, r->error) == ADI_GONE || hangs;
    return hangs;
}

static bool mend(struct call *r, const struct decoded *decoded)
{
    struct adi *adi = &r->executor->adi;
    enum adi_end end = decoded->end == DECODE_WAIT    ? ADI_WAIT
                       : decoded->end == DECODE_FAULT ? ADI_FAULT
                                                      : ADI_NO_ACK;
    bool write = decoded->write && !(decoded->behind && end != ADI_NO_ACK);
    size_t refused = write ? decoded->written : decoded->step;
    compiler_forget(&r->executor->compiler);
    r->done = decoded->step;
    enum adi_health health = adi_mend(adi, end, r->error);
    if (health != ADI_GONE && adi->jtag) /* only now is it known that there was a fault, and where at most */
        refused = decoded->unchecked < decoded->step ? decoded->unchecked : decoded->step;
    switch (health) {
    case ADI_FINE:
        if (write && end != ADI_NO_ACK)
            return call_end(r, LINK_LOST, decoded->written, ERROR_FAULT, unknown_write);
        return noise(r, decoded->step);
    case ADI_REFUSED:
        return call_end(r, TARGET_FAULT, refused, ERROR_FAULT, "the target refuses it (FAULT)");
    case ADI_GARBLED:
        /* If the write behind it was not acknowledged either, it is that one's data that never came */
        return noise(r, decoded->write && end == ADI_FAULT ? decoded->written : decoded->step);
    case ADI_LATE:
        r->look = false;
        if (write) { /* and carried out */
            r->results[decoded->written] = 0;
            r->done = decoded->written + 1;
        }
        return true;
    case ADI_STUCK:
        if (write)
            return call_end(r, LINK_LOST, decoded->written, ERROR_ASLEEP, unknown_write);
        if (bus_hangs(r, decoded->step))
            return r->executor->adi.probe->lost
                       ? call_lost(r)
                       : call_end(r, TARGET_WAIT, decoded->step, ERROR_ASLEEP, never_ends);
        return call_end(r, TARGET_WAIT, decoded->step, ERROR_ASLEEP,
                        "the target does not answer in time (WAIT)");
    case ADI_POWERLESS:
        return call_end(r, LINK_LOST, refused, ERROR_RESET,
                        "the target lost its power or its debug port was reset");
    case ADI_SILENT:
        if (write)
            return call_end(r, LINK_LOST, decoded->written, ERROR_ASLEEP, unknown_write);
        return call_end(r, TARGET_WAIT, decoded->step, ERROR_ASLEEP, "nothing answers on the wires");
    case ADI_GONE:
        break;
    }
    return call_lost(r);
}

/* JTAG does not tell a fault from a register that holds something else. */
static bool faulted_instead(struct call *r, const struct decoded *decoded, bool *go_on)
{
    if (!r->executor->adi.jtag)
        return false;
    struct decoded fault = *decoded;
    fault.end = DECODE_FAULT;
    fault.write = false;
    unsigned noise_before = r->noise;
    r->noise = 0;
    *go_on = mend(r, &fault);
    if (!*go_on)
        return true;
    r->noise = noise_before; /* it was none */
    return false;
}

static bool mismatch(struct call *r, const struct decoded *decoded)
{
    bool go_on = true;
    if (faulted_instead(r, decoded, &go_on))
        return go_on;
    const struct step *step = &r->steps[decoded->step];
    bool looked = decoded->saw_known;
    compiler_forget(&r->executor->compiler);
    r->done = decoded->step;
    if (looked && step->op == OP_EXPECT) {
        r->out = (struct outcome){.why = UNEXPECTED, .done = r->done, .saw = decoded->saw};
        return false;
    }
    if (looked && deadline_passed(&r->slice)) {
        r->out = (struct outcome){.why = NOT_YET, .done = r->done, .saw = decoded->saw};
        return false;
    }
    if (decoded->note != NULL && !r->look) {
        r->predicted = decoded->note->predicted;
        r->entry = decoded->note->entry;
    }
    r->look = r->executor->compiler.match;
    return true;
}

bool call_ended_early(struct call *r, const struct decoded *decoded)
{
    struct dap_probe *probe = r->executor->adi.probe;
    switch (decoded->end) {
    case DECODE_DONE:
        r->done = decoded->step;
        return true;
    case DECODE_MISMATCH:
        return mismatch(r, decoded);
    case DECODE_WAIT:
    case DECODE_FAULT:
    case DECODE_NO_ACK:
        return mend(r, decoded);
    case DECODE_BROKEN:
        break;
    }
    probe->lost = true;
    r->done = decoded->step;
    error_set(r->error, ERROR_LINK_PROTOCOL, "%s answers something else than it was asked",
              probe->carrier->name);
    return call_lost(r);
}
