/* SPDX-License-Identifier: MIT */
#include "trace/moments.h"

#include <stdlib.h>
#include <string.h>

/* ---- calibration */

void trace_calibration_take(struct trace_calibration *calibration, const struct trace_packet *packet)
{
    struct trace_calibration *c = calibration;
    if (packet->kind == TRACE_OVERFLOW || packet->kind == TRACE_BAD || packet->kind == TRACE_RESERVED)
        c->begun = c->beat = false;
    if (packet->kind == TRACE_EVENTS && (packet->value & TRACE_EVENT_CYCLES) != 0)
        c->beat = true;
    if (packet->kind != TRACE_TIME)
        return;
    c->sum += packet->value;
    c->stamps++;
    if (!c->beat)
        return;
    if (packet->n == 0 && c->begun) {
        c->beats++;
        for (unsigned plus = 0; plus < 2; plus++)
            c->fits[plus] += (c->sum + plus * c->stamps) % c->period == 0;
    }
    c->begun = packet->n == 0;
    c->beat = false;
    c->sum = c->stamps = 0;
}

int trace_calibration_plus(const struct trace_calibration *calibration)
{
    enum { LEAST = 4 };
    unsigned most = calibration->beats - calibration->beats / 8;
    for (int plus = 0; plus < 2; plus++)
        if (calibration->beats >= LEAST && calibration->fits[plus] >= most)
            return plus;
    return -1;
}

/* ---- moments */

static void moment_deliver(struct trace_moments *moments, const struct trace_moment *moment)
{
    moments->take(moments->context, moment);
}

static void held_deliver(struct trace_moments *moments, enum moment_doubt doubt, bool is_suspect)
{
    for (size_t i = 0; i < moments->n_held; i++) {
        struct trace_moment moment = moments->held[i];
        if (doubt > moment.doubt && moment.kind != MOMENT_LOST)
            moment.doubt = doubt;
        moment.is_suspect = is_suspect;
        moment_deliver(moments, &moment);
    }
    moments->n_held = 0;
}

static void moment_hold(struct trace_moments *moments, const struct trace_moment *moment)
{
    if (moments->period == 0) {
        moment_deliver(moments, moment);
        return;
    }
    if (moments->n_held == TRACE_HELD)
        held_deliver(moments, MOMENT_UNPROVED, moments->is_guess);
    moments->held[moments->n_held++] = *moment;
}

/* What is held can be checked no more, and what has no timestamp yet gets none. From here on another time
 * begins. `damaged`: packets before may be made of parts of others. */
static void moments_break(struct trace_moments *moments, bool damaged)
{
    const struct trace_moment lost = {
        .kind = MOMENT_LOST, .cycles = moments->now, .n_lost = moments->n_group};
    moments->n_group = moments->in_group = 0;
    moments->beats = moments->checked = false;
    memset(moments->has_after, 0, sizeof moments->has_after);
    moments->gaps++;
    held_deliver(moments, MOMENT_UNPROVED, damaged || moments->is_guess);
    moment_deliver(moments, &lost);
}

static void moments_check(struct trace_moments *moments)
{
    if (moments->checked && moments->now - moments->check_at != moments->n_beats * moments->period) {
        moments->mismatches++;
        moments_break(moments, true);
    } else { /* what precedes the first cycle event is not between two */
        moments->is_guess = moments->is_guess && !moments->checked;
        held_deliver(moments, moments->checked ? MOMENT_EXACT : MOMENT_UNPROVED, moments->is_guess);
    }
    moments->checked = true;
    moments->check_at = moments->now;
    moments->n_beats = 0;
    moment_deliver(moments, &(struct trace_moment){.kind = MOMENT_BEAT, .cycles = moments->now});
}

static size_t moment_source(const struct trace_moment *moment)
{
    enum { COMPARATORS = 4, EXCEPTIONS = COMPARATORS, SAMPLES, OF_PMU };
    return moment->kind == MOMENT_EXCEPTION ? EXCEPTIONS
           : moment->kind == MOMENT_PC      ? SAMPLES
           : moment->kind == MOMENT_PMU     ? OF_PMU
                                            : moment->n % COMPARATORS;
}

/* DDI 0403 D4.2.4: only a packet that was not late itself happened after the timestamp before it. A late one
 * may have waited for longer, but not since before an earlier one of its source. */
static void moment_bound(struct trace_moments *moments, struct trace_moment *moment, uint64_t before,
                         bool is_late)
{
    const size_t source = moment_source(moment);
    moment->has_since = !is_late || moments->has_after[source];
    moment->since = is_late ? moments->after[source] : before;
    if (is_late)
        return;
    moments->has_after[source] = true;
    moments->after[source] =
        moment->doubt == MOMENT_EXACT && moment->cycles > 0 ? moment->cycles - 1 : before;
}

static void group_close(struct trace_moments *moments, const struct trace_packet *stamp)
{
    uint64_t before = moments->now;
    moments->now += stamp->value + moments->plus;
    moments->stamps++;
    enum moment_doubt doubt = stamp->n != 0           ? MOMENT_LATE
                              : moments->in_group > 1 ? MOMENT_TOGETHER
                                                      : MOMENT_EXACT;
    for (size_t i = 0; i < moments->n_group; i++) {
        struct trace_moment moment = moments->group[i];
        moment.cycles = moments->now;
        moment.doubt = doubt;
        moment_bound(moments, &moment, before, (stamp->n & TRACE_LATE_PACKET) != 0);
        moment_hold(moments, &moment);
    }
    bool checks = moments->beats && moments->in_group == 1 && stamp->n == 0 && moments->period != 0;
    moments->n_group = moments->in_group = 0;
    moments->beats = false;
    if (checks)
        moments_check(moments);
}

static void group_add(struct trace_moments *moments, const struct trace_packet *packet)
{
    static const enum moment_kind kinds[TRACE_KINDS] = {
        [TRACE_EXCEPTION] = MOMENT_EXCEPTION, [TRACE_PC] = MOMENT_PC,
        [TRACE_ASLEEP] = MOMENT_PC,           [TRACE_PMU] = MOMENT_PMU,
        [TRACE_MATCH] = MOMENT_MATCH,         [TRACE_DATA_PC] = MOMENT_DATA,
        [TRACE_ADDRESS] = MOMENT_DATA,        [TRACE_DATA_READ] = MOMENT_DATA,
        [TRACE_DATA_WRITTEN] = MOMENT_DATA};
    struct trace_moment moment = {
        .kind = kinds[packet->kind], .n = packet->n, .value = (uint32_t)packet->value, .size = packet->size};
    struct trace_moment *last = moments->n_group > 0 ? &moments->group[moments->n_group - 1] : NULL;
    bool is_value = packet->kind == TRACE_DATA_READ || packet->kind == TRACE_DATA_WRITTEN;
    if (is_value && last != NULL && last->kind == MOMENT_DATA && last->n == packet->n && last->has_pc &&
        moments->is_skewed) { /* the value of the access whose PC precedes it */
        last->value = moment.value;
        last->size = packet->size;
        last->written = packet->kind == TRACE_DATA_WRITTEN;
        moments->is_skewed = false;
        return;
    }
    moments->in_group++;
    bool beat = packet->kind == TRACE_EVENTS && (packet->value & TRACE_EVENT_CYCLES) != 0;
    moments->beats = moments->beats || beat;
    moments->n_beats += beat;
    moments->is_skewed = packet->kind == TRACE_DATA_PC;
    if (moment.kind == MOMENT_LOST)
        return;
    moment.written = packet->kind == TRACE_DATA_WRITTEN;
    if (packet->kind == TRACE_DATA_PC) {
        moment.has_pc = true;
        moment.pc = moment.value;
        moment.value = 0;
    }
    if (packet->kind == TRACE_ASLEEP)
        moment.value = packet->value == 0;
    if (moments->n_group < TRACE_GROUP)
        moments->group[moments->n_group++] = moment;
    else
        moments_break(moments, false);
}

static bool packet_is_possible(const struct trace_moments *moments, const struct trace_packet *packet)
{
    const uint32_t always = 1U << TRACE_SYNC | 1U << TRACE_OVERFLOW | 1U << TRACE_TIME;
    return ((always | moments->kinds) >> packet->kind & 1) != 0;
}

static void packet_take(struct trace_moments *moments, const struct trace_packet *packet)
{
    moments->packets++;
    if (moments->packet != NULL)
        moments->packet(moments->context, packet);
    switch (packet->kind) {
    case TRACE_SYNC:
        moments->is_guess = false;
        break;
    case TRACE_GLOBAL:
    case TRACE_EXTENSION:
        break;
    case TRACE_OVERFLOW:
        moments->overflows++;
        moments_break(moments, false);
        break;
    case TRACE_TIME:
        group_close(moments, packet);
        break;
    case TRACE_PRINT:
        moments->prints++;
        moments->in_group++;
        break;
    default:
        group_add(moments, packet);
    }
}

/* What packets may be if the first one begins at a byte of the raw ones. */
struct raw_packets {
    uint64_t begins, times; /* of each byte a bit: a packet, a timestamp begins there */
};

/* False: one of them is not possible, or a timestamp follows another one. */
static bool raw_decode(const struct trace_moments *moments, size_t from, struct raw_packets *out)
{
    enum { LEAST = 6 };
    struct trace_decoder decoder = {0};
    struct trace_packet packet;
    const uint8_t *at = moments->raw + from, *end = moments->raw + moments->n_raw;
    bool was_time = false;
    size_t n = 0, begin = from;
    *out = (struct raw_packets){0};
    while (trace_next(&decoder, &at, end, &packet)) {
        bool is_time = packet.kind == TRACE_TIME;
        if (!packet_is_possible(moments, &packet) || (was_time && is_time))
            return false;
        out->begins |= UINT64_C(1) << begin;
        out->times |= (uint64_t)is_time << begin;
        was_time = is_time;
        begin = (size_t)(at - moments->raw);
        n++;
    }
    return n >= LEAST;
}

static void moments_lose(struct trace_moments *moments)
{
    moments->aligned = false;
    moments->n_raw = 0;
    moments->raw_guess = false;
    moments->decoder = (struct trace_decoder){0};
    moments_break(moments, true);
}

static void moments_decode(struct trace_moments *moments, const uint8_t *bytes, size_t n)
{
    struct trace_packet packet;
    const uint8_t *at = bytes, *end = bytes + n;
    while (trace_next(&moments->decoder, &at, end, &packet)) {
        if (!packet_is_possible(moments, &packet)) {
            moments_lose(moments);
            return;
        }
        packet_take(moments, &packet);
    }
}

/* Where packets begin, wherever the first one does: a packet has at most 8 bytes, and what all places have in
 * common is certain. What is without a timestamp counts only if all is. The first one is not a timestamp:
 * what it belongs to is lost. 64: nowhere. *guess: a place that is not excluded; 64: there is none. */
static size_t raw_find(const struct trace_moments *moments, size_t *guess)
{
    struct raw_packets all = {.begins = UINT64_MAX}, one;
    bool timed = false;
    *guess = TRACE_ALIGN;
    for (size_t from = TRACE_PACKET_MOST; from-- > 0;) {
        if (!raw_decode(moments, from, &one) || (timed && one.times == 0))
            continue;
        if (!timed && one.times != 0)
            all.begins = UINT64_MAX;
        timed = one.times != 0;
        all.begins &= one.begins;
        all.times = one.times;
        *guess = from;
    }
    uint64_t certain = *guess < TRACE_ALIGN ? all.begins & ~all.times : 0;
    return certain != 0 ? (size_t)__builtin_ctzll(certain) : TRACE_ALIGN;
}

static void raw_take(struct trace_moments *moments)
{
    enum { UNCLEAR = 8 };
    size_t guess, from = raw_find(moments, &guess);
    moments->unclear += guess < TRACE_ALIGN;
    moments->is_guess = from == TRACE_ALIGN || moments->raw_guess;
    if (from == TRACE_ALIGN && moments->unclear > UNCLEAR)
        from = guess;
    if (from < TRACE_ALIGN) {
        size_t n = moments->n_raw;
        moments->aligned = true;
        moments->n_raw = moments->unclear = 0;
        moments->raw_guess = false;
        moments_decode(moments, moments->raw + from, n - from);
        return;
    }
    moments->n_raw -= TRACE_PACKET_MOST;
    memmove(moments->raw, moments->raw + TRACE_PACKET_MOST, moments->n_raw);
}

bool trace_moments_begin(struct trace_moments *moments)
{
    moments->held = calloc(TRACE_HELD, sizeof *moments->held);
    return moments->held != NULL;
}

void trace_moments_take(struct trace_moments *moments, const uint8_t *bytes, size_t n)
{
    while (n > 0) {
        if (moments->aligned) {
            moments_decode(moments, bytes, n > TRACE_ALIGN ? TRACE_ALIGN : n);
            size_t done = n > TRACE_ALIGN ? TRACE_ALIGN : n;
            bytes += done;
            n -= done;
            continue;
        }
        moments->raw[moments->n_raw++] = *bytes++;
        n--;
        if (moments->n_raw == TRACE_ALIGN)
            raw_take(moments);
    }
}

bool trace_moments_lack_zeros(struct trace_moments *moments, const uint8_t *bytes, size_t n)
{
    enum { ZEROS = 4 };
    struct trace_decoder decoder = moments->decoder;
    struct trace_packet packet;
    const uint8_t zeros[ZEROS] = {0}, *end = moments->raw + moments->n_raw, *at = end - (moments->n_raw > 0);
    (void)trace_next(&decoder, &at, end, &packet); /* what the last raw one may begin */
    if (!trace_lacks(&decoder, ZEROS))
        return false;
    for (at = zeros, end = zeros + ZEROS; trace_next(&decoder, &at, end, &packet);)
        if (!packet_is_possible(moments, &packet))
            return false;
    for (at = bytes, end = bytes + n; trace_next(&decoder, &at, end, &packet);)
        if (!packet_is_possible(moments, &packet))
            return false;
    moments->raw_guess = moments->raw_guess || !moments->aligned;
    return true;
}

void trace_moments_lose(struct trace_moments *moments)
{
    moments_lose(moments);
    moments->raw_guess = true;
}

void trace_moments_end(struct trace_moments *moments)
{
    if (moments->held != NULL)
        held_deliver(moments, MOMENT_UNPROVED, moments->is_guess);
}

void trace_moments_free(struct trace_moments *moments)
{
    free(moments->held);
    moments->held = NULL;
}
