/* SPDX-License-Identifier: MIT */
#include "links/dap/executor.h"

#include <string.h>

enum {
    NOISE = 4,            /* failures of the wires in a row that end a call */
    SMOOTH = 4,           /* packets without a failure before two are in flight again */
    PAIR = 2,             /* packets in flight that hold more than reads */
    TRIALS = 6,           /* of a pair */
    PAIR_FROM = 256,      /* bytes of a packet: in smaller ones the tokens take too much */
    PAIR_ACCESS_MOST = 12 /* bytes that most accesses take in such a packet */
};

/* One call of executor_run. */
struct call {
    struct executor *executor;
    const struct step *steps;
    size_t n, done;
    uint64_t *results;
    bool look;      /* the match at `done` failed: read it once ourselves */
    bool predicted; /* that match was on a predicted word */
    uint8_t entry;
    unsigned noise;
    unsigned sent, received; /* packets; those between are in flight */
    size_t ahead;            /* the first step in no packet yet */
    size_t alone;            /* `done` when the last packet with nothing in flight was sent */
    bool token_left;         /* the last packet sent ended with a token */
    size_t row_end;          /* of the steps that are sent in overlapping packets */
    bool reads;              /* these are all reads, which can be repeated */
    struct deadline slice;   /* for a wait */
    struct deadline budget;  /* no packet is sent after this */
    struct error *error;
    struct outcome out; /* valid once a function below returned false */
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
    compiler->resends = executor->adi.resends;
    ap_state_forget(&compiler->ap);
    executor->smooth = 0;
    executor->overlaps = false;
}

/* ---- how a call ends */

/* Ends the call at a step; always false. */
static bool call_end(struct call *call, enum why why, size_t step, enum error_kind kind, const char *words)
{
    char name[96] = "go on";
    if (step < call->n)
        step_name(&call->steps[step], NULL, name, sizeof name);
    error_set(call->error, kind, "cannot %s: %s", name, words);
    call->out = (struct outcome){.why = why, .done = step};
    return false;
}

/* Ends it because the probe is lost, with the error set; always false. */
static bool call_lost(struct call *call)
{
    error_set(call->error, ERROR_LINK_LOST, "the probe is gone");
    call->out = (struct outcome){.why = LINK_LOST, .done = call->done};
    return false;
}

/* ---- after a failure */

static const char unknown_write[] = "the target stopped answering, perhaps after carrying it out";

/* Ends it at a proof that failed; always false. */
static bool call_unexpected(struct call *call, size_t step, uint64_t saw)
{
    call->out = (struct outcome){.why = UNEXPECTED, .done = step, .saw = saw};
    return false;
}

static bool is_once(const struct call *call, size_t step)
{
    return step < call->n && call->steps[step].once;
}

static bool executor_noise(struct call *call, size_t step)
{
    call->done = step;
    call->look = false;
    if (++call->noise < NOISE) {
        if (call->noise > 1 && !adi_slow_down(&call->executor->adi, call->error))
            return call_lost(call);
        return !is_once(call, step) || call_unexpected(call, step, 0);
    }
    return call_end(call, TARGET_WAIT, step, ERROR_ASLEEP,
                    "the wires are disturbed, or the target does not answer");
}

static const char never_ends[] = "the access goes on after an abort: the target's bus hangs or has no clock";

/* IHI 0031 C2.6.3: after an abort, TRINPROG shows whether the bus still works on the access. */
static bool bus_hangs(struct call *call, size_t step)
{
    struct adi *adi = &call->executor->adi;
    struct access_port *port = ap_state_port(&call->executor->compiler.ap, call->steps[step].at.unit);
    if (call->steps[step].at.space != SPACE_MEMORY || port == NULL)
        return false;
    struct adi_access list[] = {{.request = DP_SELECT, .value = ap_state_select(port, AP_CSW)},
                                {.request = TRANSFER_AP | TRANSFER_READ | AP_CSW}};
    size_t done;
    enum adi_end end = adi_transfer(adi, list, 2, &done, call->error);
    bool hangs =
        end == ADI_LOST || end == ADI_WAIT || (end == ADI_OK && (list[1].value & CSW_IN_PROGRESS) != 0);
    if (end != ADI_OK && end != ADI_LOST)
        hangs = adi_mend(adi, end, call->error) == ADI_GONE || hangs;
    return hangs;
}

/*
 * The reply of this read is lost, and whether it emptied its register is unknown: the register is emptied for
 * sure, and the call goes on where the list fills it. A call that began after that point cannot go back and
 * reads again. False: the probe is lost.
 */
static bool fill_again(struct call *call)
{
    struct adi *adi = &call->executor->adi;
    const struct step *step = &call->steps[call->done];
    struct access_port *port = ap_state_port(&call->executor->compiler.ap, step->at.unit);
    if (step->op != OP_READ || step->back == 0 || step->back > call->done || port == NULL)
        return true;
    struct adi_access list[] = {
        {.request = DP_SELECT, .value = ap_state_select(port, AP_CSW)},
        {.request = TRANSFER_AP | AP_CSW, .value = port->csw_base | CSW_SIZE_WORD},
        {.request = TRANSFER_AP | AP_TAR, .value = (uint32_t)step->at.offset},
        {.request = TRANSFER_AP | TRANSFER_READ | AP_DRW},
        {.request = TRANSFER_READ | DP_RDBUFF},
    };
    size_t done;
    call->done -= step->back;
    enum adi_end end = adi_transfer(adi, list, sizeof list / sizeof *list, &done, call->error);
    return end == ADI_OK || (end != ADI_LOST && adi_mend(adi, end, call->error) != ADI_GONE) ||
           call_lost(call);
}

static bool executor_mend(struct call *call, const struct decoded *decoded)
{
    struct adi *adi = &call->executor->adi;
    enum adi_end end = decoded->end == DECODE_WAIT    ? ADI_WAIT
                       : decoded->end == DECODE_FAULT ? ADI_FAULT
                                                      : ADI_NO_ACK;
    bool write = decoded->write && !(decoded->behind && end != ADI_NO_ACK);
    size_t refused = write ? decoded->written : decoded->step;
    ap_state_forget(&call->executor->compiler.ap);
    call->done = decoded->step;
    enum adi_health health = adi_mend(adi, end, call->error);
    if (health != ADI_GONE && adi->jtag) /* over JTAG the fault may be at an earlier step */
        refused = decoded->unchecked < decoded->step ? decoded->unchecked : decoded->step;
    switch (health) {
    case ADI_FINE:
        if (write && end != ADI_NO_ACK)
            return call_end(call, LINK_LOST, decoded->written, ERROR_FAULT, unknown_write);
        return executor_noise(call, decoded->step);
    case ADI_REFUSED:
        return call_end(call, TARGET_FAULT, refused, ERROR_FAULT, "the target refuses it (FAULT)");
    case ADI_GARBLED:
        /* If a later write was not acknowledged, that one's data was damaged */
        return executor_noise(call, decoded->write && end == ADI_FAULT ? decoded->written : decoded->step);
    case ADI_LATE:
        call->look = false;
        if (is_once(call, call->done))
            return call_unexpected(call, call->done, 0);
        if (write) { /* the write was carried out */
            call->results[decoded->written] = 0;
            call->done = decoded->written + 1;
        }
        return true;
    case ADI_STUCK:
        if (write)
            return call_end(call, LINK_LOST, decoded->written, ERROR_ASLEEP, unknown_write);
        if (bus_hangs(call, decoded->step))
            return call->executor->adi.probe->lost
                       ? call_lost(call)
                       : call_end(call, TARGET_WAIT, decoded->step, ERROR_ASLEEP, never_ends);
        return call_end(call, TARGET_WAIT, decoded->step, ERROR_ASLEEP,
                        "the target does not answer in time (WAIT)");
    case ADI_POWERLESS:
        return call_end(call, LINK_LOST, refused, ERROR_RESET,
                        "the target lost its power or its debug port was reset");
    case ADI_SILENT:
        if (write)
            return call_end(call, LINK_LOST, decoded->written, ERROR_ASLEEP, unknown_write);
        return call_end(call, TARGET_WAIT, decoded->step, ERROR_ASLEEP, "nothing answers on the wires");
    case ADI_GONE:
        break;
    }
    return call_lost(call);
}

/* Over JTAG a fault resembles a mismatch: asks which it was. */
static bool faulted_instead(struct call *call, const struct decoded *decoded, bool *go_on)
{
    if (!call->executor->adi.jtag)
        return false;
    struct decoded fault = *decoded;
    fault.end = DECODE_FAULT;
    fault.write = false;
    unsigned noise_before = call->noise;
    call->noise = 0;
    *go_on = executor_mend(call, &fault);
    if (!*go_on)
        return true;
    call->noise = noise_before; /* no noise */
    return false;
}

static bool executor_mismatch(struct call *call, const struct decoded *decoded)
{
    bool go_on = true;
    if (faulted_instead(call, decoded, &go_on))
        return go_on;
    const struct step *step = &call->steps[decoded->step];
    bool looked = decoded->saw_known;
    ap_state_forget(&call->executor->compiler.ap);
    call->done = decoded->step;
    if (looked && step->op == OP_EXPECT)
        return call_unexpected(call, call->done, decoded->saw);
    if (step->once)
        return call_unexpected(call, call->done, 0);
    if (looked && deadline_passed(&call->slice)) {
        call->out = (struct outcome){.why = NOT_YET, .done = call->done, .saw = decoded->saw};
        return false;
    }
    if (decoded->note != NULL && !call->look) {
        call->predicted = decoded->note->predicted;
        call->entry = decoded->note->entry;
    }
    call->look = call->executor->compiler.match;
    return true;
}

/* The reply is not that of a whole packet, and nothing else is in flight. True: go on with `done`. */
static bool call_ended_early(struct call *call, const struct decoded *decoded)
{
    struct dap_probe *probe = call->executor->adi.probe;
    switch (decoded->end) {
    case DECODE_DONE:
        call->done = decoded->step;
        return true;
    case DECODE_MISMATCH:
        return executor_mismatch(call, decoded);
    case DECODE_WAIT:
    case DECODE_FAULT:
    case DECODE_NO_ACK:
        return executor_mend(call, decoded) &&
               (call->done != decoded->step || call->done == call->n || fill_again(call));
    case DECODE_BROKEN:
        break;
    }
    call->done = decoded->step;
    (void)probe_distrust(probe, call->error);
    return call_lost(call);
}

/* ---- steps */

static bool is_access(const struct step *step)
{
    return step->op != OP_TIME;
}

static size_t executor_next_access(const struct call *call)
{
    size_t at = call->done;
    while (at < call->n && !is_access(&call->steps[at]))
        at++;
    return at;
}

static void set_times(const struct call *call, size_t first, size_t end, int64_t before, int64_t after)
{
    for (size_t i = first; i < end; i++)
        if (call->steps[i].op == OP_TIME)
            call->results[i] = (uint64_t)(call->steps[i].value == TIME_AFTER ? after : before);
}

/* Selects the debug port of step `at`. */
static bool select_port(struct call *call, size_t at)
{
    struct adi *adi = &call->executor->adi;
    size_t number = call->steps[at].at.unit >> 8;
    if (number >= adi->n_ports)
        return call_end(call, TARGET_FAULT, at, ERROR_FAULT, "that debug port does not exist");
    if (adi->selected == number)
        return true;
    ap_state_forget(&call->executor->compiler.ap);
    enum adi_end end = adi_select(adi, number, call->error);
    for (int i = 0; end != ADI_OK && end != ADI_LOST && i < 2; i++) {
        adi->selected = number; /* adi_resume selects it */
        end = adi_resume(adi, call->error);
    }
    if (end == ADI_LOST)
        return call_lost(call);
    return end == ADI_OK || call_end(call, TARGET_WAIT, at, ERROR_ASLEEP, "nothing answers on the wires");
}

/* A read of a step whose predicted word did not match teaches the predictor. */
static void settle_prediction(struct call *call, const struct decoded *decoded)
{
    if (call->look && call->predicted && decoded->step > call->done)
        predict_failed(&call->executor->compiler.predictor, call->entry, (uint32_t)call->results[call->done]);
}

/* ---- rows of accesses in overlapping packets */

static const uint32_t TOKENS = 0xFFFFFF00; /* no row reads these addresses */

static uint32_t token(unsigned packet)
{
    return TOKENS + 4 * (packet % 32);
}

/* While `patient`, each access may take long: small packets keep the whole one short. */
static size_t packet_size(const struct adi *adi)
{
    enum { SMALL = 64 };
    size_t most = adi->probe->info.packet_size;
    return adi->patient && most > SMALL ? SMALL : most;
}

/* The end of the row of accesses to memory through one access port that begins at the next step. */
static size_t find_row_end(const struct call *call, bool reads)
{
    size_t at = call->done, first = executor_next_access(call);
    if (first == call->n || call->executor->adi.jtag || call->executor->adi.patient ||
        call->executor->adi.waits_since_us != 0 || !call->executor->compiler.match || call->look)
        return at;
    for (; at < call->n; at++) {
        const struct step *step = &call->steps[at];
        if (step->op == OP_TIME)
            continue;
        if ((reads && step->op != OP_READ) || step->at.space != SPACE_MEMORY || step->at.offset >= TOKENS ||
            step->at.unit != call->steps[first].at.unit ||
            compiler_refusal(&call->executor->compiler, step) != NULL)
            break;
    }
    return at;
}

/* Whether the accesses from `at` on exceed one packet. */
static bool row_is_long(const struct call *call, size_t at)
{
    size_t size = call->executor->compiler.packet_size, accesses = 0;
    size_t room = call->reads ? (size - TRANSFER_HEAD) / 4 : size / PAIR_ACCESS_MOST;
    for (; at < call->row_end && accesses <= room; at++)
        accesses += is_access(&call->steps[at]);
    return accesses > room;
}

/*
 * Sends several packets at once that read a register of the debug port, each another number of times.
 * `right`: the replies were those; `acknowledged`: the wires were not disturbed. False: the probe was lost.
 */
static bool overlap_once(struct call *call, bool *right, bool *acknowledged)
{
    struct executor *executor = call->executor;
    struct dap_probe *probe = executor->adi.probe;
    uint8_t packet[TRANSFER_HEAD + PAIR + 1], reply[CARRIER_ROOM];
    probe->repeats = true;
    for (size_t i = 1; i <= PAIR; i++) {
        const uint8_t head[TRANSFER_HEAD] = {DAP_TRANSFER, executor->compiler.index, (uint8_t)i};
        memcpy(packet, head, sizeof head);
        memset(packet + TRANSFER_HEAD, TRANSFER_READ | DP_CTRL_STAT, i);
        if (!probe_send(probe, packet, TRANSFER_HEAD + i, call->error))
            return call_lost(call);
    }
    for (size_t i = 1, length; i <= PAIR; i++) {
        if (!probe_receive(probe, reply, &length, call->error))
            return call_lost(call);
        size_t due = TRANSFER_HEAD + 4 * i;
        bool fits = executor->compiler.padded ? length >= due : length == due;
        *acknowledged = *acknowledged && length >= TRANSFER_HEAD && reply[2] == ACK_OK;
        *right = *right && fits && reply[0] == DAP_TRANSFER && reply[1] == i;
    }
    return true;
}

/*
 * One trial can pass by chance: on a busy host the first reply may have arrived before the second packet is
 * sent. False: the probe was lost.
 */
static bool try_overlap(struct call *call)
{
    struct executor *executor = call->executor;
    bool right = true, acknowledged = true;
    for (int i = 0; i < TRIALS && right && acknowledged; i++)
        if (!overlap_once(call, &right, &acknowledged))
            return false;
    executor->overlaps = right && acknowledged;
    executor->smooth = 0; /* if it is not right for the wires' sake, it is tried again */
    if (!right && acknowledged)
        executor->adi.probe->window = 1;
    return true;
}

/* Decides what of the next steps may be sent in overlapping packets. False: the call has ended. */
static bool begin_row(struct call *call)
{
    struct executor *executor = call->executor;
    bool several = executor->adi.probe->window > 1;
    call->reads = true;
    call->row_end = several ? find_row_end(call, true) : call->done;
    if (row_is_long(call, call->done))
        return true;
    call->reads = false;
    bool pairs = several && executor->smooth >= SMOOTH && packet_size(&executor->adi) >= PAIR_FROM;
    call->row_end = pairs ? find_row_end(call, false) : call->done;
    if (!row_is_long(call, call->done))
        call->row_end = call->done;
    if (call->row_end == call->done || executor->overlaps)
        return true;
    if (!try_overlap(call))
        return false;
    if (!executor->overlaps)
        call->row_end = call->done;
    return true;
}

/* How many packets of the row may be in flight. */
static unsigned window(const struct call *call)
{
    unsigned most = call->reads ? EXECUTOR_FLIGHTS : PAIR, of_probe = call->executor->adi.probe->window;
    return of_probe < most ? of_probe : most;
}

static struct executor_flight *flight(const struct call *call, unsigned number)
{
    return &call->executor->flights[number % EXECUTOR_FLIGHTS];
}

/* Takes the replies to the packets after a failed one: each must have stopped at its gate. */
static bool recall(struct call *call)
{
    uint8_t reply[CARRIER_ROOM];
    size_t length;
    for (; call->received < call->sent; call->received++) {
        const struct packet *packet = &flight(call, call->received)->packet;
        size_t gate = 0;
        while (gate < packet->n && packet->notes[gate].kind != NOTE_GATE)
            gate++;
        if (!probe_receive(call->executor->adi.probe, reply, &length, call->error))
            return call_lost(call);
        if (length < TRANSFER_HEAD || reply[0] != DAP_TRANSFER || reply[1] > gate) {
            call->executor->adi.probe->lost = true;
            error_set(call->error, ERROR_LINK_PROTOCOL, "%s went on after a failure",
                      call->executor->adi.probe->carrier->name);
            return call_lost(call);
        }
    }
    return true;
}

/* ---- packets */

static bool send_packet(struct call *call)
{
    struct executor *executor = call->executor;
    executor->compiler.packet_size = packet_size(&executor->adi);
    struct executor_flight *out = flight(call, call->sent);
    struct compiler_gates gates = {.behind = call->sent > call->received,
                                   .ahead = row_is_long(call, call->ahead),
                                   .behind_token = token(call->sent - 1),
                                   .ahead_token = token(call->sent)};
    bool in_row = call->row_end > call->ahead;
    call->token_left = in_row && gates.ahead;
    bool overlaps = call->token_left || (in_row && gates.behind);
    compiler_packet(&executor->compiler, call->steps, overlaps ? call->row_end : call->n, call->ahead,
                    call->look, in_row ? &gates : NULL, &out->packet);
    out->behind = gates.behind;
    executor->adi.probe->repeats = call->reads;
    out->sent_us = deadline_now_us();
    call->ahead = out->packet.end;
    call->sent++;
    return out->packet.n == 0 ||
           probe_send(executor->adi.probe, out->packet.bytes, out->packet.length, call->error) ||
           call_lost(call);
}

/* Sends the next packet, and those that may overlap with it. */
static bool send_packets(struct call *call)
{
    if (call->sent == call->received) {
        call->ahead = call->alone = call->done;
        if (!begin_row(call) || !send_packet(call))
            return false;
    }
    while (call->sent - call->received < window(call) && call->ahead < call->row_end && call->token_left &&
           !deadline_passed(&call->budget))
        if (!send_packet(call))
            return false;
    return true;
}

/* A step was carried out, so a slow access has ended. */
static bool wait_is_over(struct call *call)
{
    struct adi *adi = &call->executor->adi;
    bool waited = adi->waits_since_us != 0 || adi->patient;
    return !waited || call->sent != call->received || adi_end_wait(adi, call->error);
}

static bool run_packet(struct call *call)
{
    struct executor *executor = call->executor;
    uint8_t reply[CARRIER_ROOM];
    size_t length;
    if (!send_packets(call)) {
        ap_state_forget(&executor->compiler.ap);
        return false;
    }
    const struct executor_flight *now = flight(call, call->received);
    const struct packet *packet = &now->packet;
    if (packet->n == 0) {
        set_times(call, packet->first, packet->end, now->sent_us, now->sent_us);
        call->done = packet->end;
        call->received++;
        return true;
    }
    if (!probe_receive(executor->adi.probe, reply, &length, call->error)) {
        ap_state_forget(&executor->compiler.ap);
        return call_lost(call);
    }
    call->received++;
    int64_t came = deadline_now_us();
    struct decoded decoded = decode(&executor->compiler, packet, call->steps, reply, length, call->results);
    set_times(call, packet->first, decoded.step, now->sent_us, came);
    settle_prediction(call, &decoded);
    if (decoded.step > call->done) {
        call->noise = 0;
        call->look = false;
        if (!wait_is_over(call))
            return call_lost(call);
    }
    bool whole = decoded.end == DECODE_DONE && decoded.step == packet->end;
    if (whole) {
        call->done = decoded.step;
        executor->smooth += executor->smooth < SMOOTH;
        return true;
    }
    ap_state_forget(&executor->compiler.ap);
    executor->smooth = 0;
    if (decoded.step >= packet->end && call->received < call->sent) {
        /* Only the packet's closing transfers failed, so the next one may have passed its gate: read its
         * reply */
        call->done = decoded.step;
        call->token_left = false;
        return true;
    }
    int64_t took = now->behind ? 0 : came - now->sent_us;
    if (decoded.end != DECODE_BROKEN && !recall(call))
        return false;
    if (decoded.end == DECODE_MISMATCH && decoded.note != NULL &&
        !adi_adjust_match(&executor->adi, call->steps[decoded.step].op == OP_EXPECT, took, call->error))
        return call_lost(call);
    return call_ended_early(call, &decoded);
}

/* After a refused read of a register that may be empty by now: the caller is to go on where it is filled. */
static void end_where_it_is_filled(struct call *call)
{
    bool refused = call->out.why == TARGET_FAULT || call->out.why == TARGET_WAIT;
    struct error lost = {0}, *told = call->error;
    if (!refused || call->out.done >= call->n || call->executor->adi.probe->lost)
        return;
    struct outcome out = call->out;
    call->done = out.done;
    call->error = &lost;
    if (fill_again(call))
        out.done = call->done;
    call->error = told;
    call->out = out;
}

/* Ends the call at a step that is impossible. */
static bool executor_refuse(struct call *call, size_t at)
{
    const char *words = at < call->n ? compiler_refusal(&call->executor->compiler, &call->steps[at]) : NULL;
    if (words == NULL)
        return true;
    int64_t now = deadline_now_us();
    set_times(call, call->done, at, now, now);
    return call_end(call, TARGET_FAULT, at, ERROR_FAULT, words);
}

struct outcome executor_run(struct executor *executor, const struct step *steps, size_t n, uint64_t *results,
                            const struct deadline *deadline, struct error *error)
{
    struct call call = {.executor = executor,
                        .steps = steps,
                        .n = n,
                        .slice = deadline_slice(deadline, LINK_SLICE_MS),
                        .budget = deadline_slice(deadline, LINK_BUDGET_MS),
                        .error = error,
                        .out = {.why = DONE, .done = n}};
    call.results = results;
    bool begun = false;
    while (call.done < n) {
        size_t at = executor_next_access(&call);
        if (!executor_refuse(&call, at) || (at < n && !select_port(&call, at)))
            return call.out;
        if (begun && !call.look && deadline_passed(&call.budget) && call.sent == call.received)
            return (struct outcome){.why = NOT_YET, .done = call.done};
        begun = true;
        if (!run_packet(&call)) {
            end_where_it_is_filled(&call);
            /* A lost reply may have been confused with that of the packet before */
            if (probe_lost_overlapped(executor->adi.probe))
                call.out.done = call.alone;
            else if (executor->adi.probe->lost && call.sent > 1 && !call.reads)
                executor->adi.probe->most = 1; /* that may have been the cause */
            return call.out;
        }
    }
    return call.out;
}
