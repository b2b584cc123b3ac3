// ITM: see the header. Time goes from event to event: what has entered and left the FIFO since the last one
// is worked out at the next, or at a read of a register or a sink.
#include "device/itm.h"

#include <stdlib.h>
#include <string.h>

enum { STIM_END = 0x80, TER = 0xE00, TPR = 0xE40, TCR = 0xE80, LAR = 0xFB0, LSR = 0xFB4 };
#define ITMENA          (1u << 0)
#define TSENA           (1u << 1)
#define SYNCENA         (1u << 2)
#define TXENA           (1u << 3)
#define STALLENA        (1u << 5)
#define PRESCALE_LSB    8
#define BUS_ID_LSB      16
#define BUSY            (1u << 23)
#define TCR_WRITABLE    0x007F030Fu
#define LAR_KEY         0xC5ACCE55u
#define LSR_IMPLEMENTED 1u
#define LSR_LOCKED      2u
#define FIFOREADY       1u
#define DISABLED        2u
enum { OVERFLOW = 0x70, HELD_UP = 37, AFTER_A_PRINT = 200 };

bool trace_quirk_parse(const char *text, struct trace_quirks *q)
{
    const struct {
        const char *name;
        bool *is;
    } known[] = {
        {"notrcpkt", &q->notrcpkt},
        {"no-trace-clock", &q->no_trace_clock},
        {"tcr-rewritten", &q->tcr_rewritten},
        {"plus-zero", &q->plus_zero},
        {"acpr-rewritten", &q->acpr_rewritten},
        {"sleep-stops", &q->sleep_stops},
        {"old-m3", &q->old_m3},
        {"m4-core", &q->m4_core},
        {"plain-etf", &q->plain_etf},
        {"no-match-id", &q->no_match_id},
        {"wide-counter", &q->wide_counter},
        {"fifo-stale", &q->fifo_stale},
        {"no-wide-port", &q->no_wide_port},
        {"dark-pin", &q->dark_pin},
        {"pin-used", &q->pin_used},
    };
    char *end = NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!strcmp(text, known[i].name)) {
            *known[i].is = true;
            return true;
        }
    }
    if (!strncmp(text, "late=", 5)) {
        q->late = (unsigned)strtoul(text + 5, &end, 10);
        return q->late && !*end;
    }
    if (!strncmp(text, "held=", 5)) {
        q->held = (unsigned)strtoul(text + 5, &end, 10);
        return q->held && !*end;
    }
    if (!strncmp(text, "drop=", 5)) {
        q->drop = (unsigned)strtoul(text + 5, &end, 10);
        return q->drop && !*end;
    }
    if (!strncmp(text, "baud-off=", 9)) {
        q->baud_permille = (int)(10 * strtod(text + 9, &end));
        return end != text + 9 && !*end;
    }
    return false;
}

static uint64_t later(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

static unsigned bus_id(const struct itm *m)
{
    return m->tcr >> BUS_ID_LSB & 0x7F;
}

static uint64_t byte_time(const struct itm *m)
{
    return m->sink.byte_time ? m->sink.byte_time(m->sink.self, m->core, bus_id(m)) : ITM_NEVER;
}

static void leave(struct itm *m, uint64_t at)
{
    uint8_t byte = m->fifo[m->first];
    m->first = (m->first + 1) % ITM_FIFO_MOST;
    m->level--;
    m->head_since = at;
    m->bytes_out++;
    if (!m->quirks->drop || m->bytes_out % m->quirks->drop)
        m->sink.take(m->sink.self, m->core, bus_id(m), byte, at / ITM_FRACTION);
}

static void drain(struct itm *m, uint64_t until)
{
    while (m->level) {
        uint64_t takes = byte_time(m);
        if (takes == ITM_NEVER) { // as of then
            m->head_since = later(m->head_since, until * ITM_FRACTION);
            return;
        }
        if (m->head_since + takes > until * ITM_FRACTION)
            return;
        leave(m, m->head_since + takes);
    }
}

// When there is room for that number of bytes, if that is not before `from`
static uint64_t room_at(const struct itm *m, unsigned bytes, uint64_t from)
{
    if (m->level + bytes <= m->size)
        return from;
    uint64_t takes = byte_time(m);
    if (takes == ITM_NEVER || bytes > m->size)
        return ITM_NEVER;
    uint64_t left = m->head_since + takes * (m->level + bytes - m->size);
    return later(from, (left + ITM_FRACTION - 1) / ITM_FRACTION);
}

static void enter(struct itm *m, const uint8_t *bytes, unsigned length, uint64_t at)
{
    if (!m->level)
        m->head_since = later(m->head_since, at * ITM_FRACTION);
    for (unsigned i = 0; i < length; i++)
        m->fifo[(m->first + m->level++) % ITM_FIFO_MOST] = bytes[i];
    m->free = at + length;
}

// A timestamp as it would be if it began at that cycle; returns its length
static unsigned make_stamp(const struct itm *m, uint64_t at, uint8_t *bytes, uint64_t *reference)
{
    unsigned width = m->quirks->wide_counter ? 28 : 21, length = 0, shift = 2 * (m->tcr >> PRESCALE_LSB & 3);
    bool waited = at > m->free;
    *reference = waited ? at : m->event;
    uint64_t passed = (*reference >> shift) - (m->since >> shift);
    uint32_t value = (uint32_t)(passed - (passed && !m->quirks->plus_zero)) & ((1u << width) - 1);
    unsigned tc = (waited ? 1u : 0) | (m->late ? 2u : 0);
    if (!tc && value >= 1 && value <= 6) {
        bytes[0] = (uint8_t)(value << 4);
        return 1;
    }
    bytes[length++] = (uint8_t)(0xC0 | tc << 4);
    do {
        bytes[length++] = (uint8_t)((value & 0x7F) | (value > 0x7F ? 0x80 : 0));
        value >>= 7;
    } while (value);
    return length;
}

static bool has_wrapped(const struct itm *m, uint64_t when)
{
    unsigned width = m->quirks->wide_counter ? 28 : 21;
    return (m->tcr & TSENA) && when > m->since &&
           (when - m->since - 1) >> (m->tcr >> PRESCALE_LSB & 3) * 2 >> width;
}

static void write_source(struct itm *m, struct itm_source *s, uint64_t at)
{
    uint8_t overflow = OVERFLOW;
    // Waiting for another packet of the same group does not count
    bool waited = at > s->when && !(m->group && at == m->free);
    uint64_t event = waited ? at : s->when;
    bool joins = m->group; // an open group
    if (s->lost || has_wrapped(m, event)) {
        enter(m, &overflow, 1, at);
        at = m->free;
    }
    enter(m, s->bytes, s->length, at);
    trace_log_settle(m->log, s->index, TRACE_SENT);
    s->pending = s->lost = false;
    if (s == &m->source[ITM_SYNC])
        return;
    m->late = (joins && m->late) || waited;
    m->group = true;
    m->event = event;
}

static void write_stamp(struct itm *m, uint64_t at)
{
    uint8_t bytes[8];
    uint64_t reference;
    unsigned length = make_stamp(m, at, bytes, &reference);
    m->since = reference;
    m->group = m->late = false;
    enter(m, bytes, length, at);
}

// When the stamp can begin. One that waits is another, which may be longer
static uint64_t stamp_at(const struct itm *m)
{
    uint8_t bytes[8];
    uint64_t reference, at = m->free;
    unsigned length = make_stamp(m, at, bytes, &reference);
    at = room_at(m, length, at);
    if (at == m->free || at == ITM_NEVER)
        return at;
    length = make_stamp(m, at, bytes, &reference);
    return room_at(m, length, at);
}

static uint64_t source_at(const struct itm *m, const struct itm_source *s)
{
    unsigned length = s->length + (s->lost || has_wrapped(m, later(m->free, s->when)));
    return room_at(m, length, later(m->free, later(s->when, s->not_before)));
}

// Synchronization, then the program's packets, then those of the DWT, the oldest first
static struct itm_source *next_source(struct itm *m, uint64_t *at)
{
    struct itm_source *candidates[] = {&m->source[ITM_SYNC], &m->source[ITM_SWIT], NULL}, *best = NULL;
    for (unsigned i = ITM_COMPARATOR0; i < ITM_SOURCES; i++) {
        struct itm_source *s = &m->source[i];
        if (s->pending && (!candidates[2] || s->order < candidates[2]->order))
            candidates[2] = s;
    }
    *at = ITM_NEVER;
    for (unsigned i = 0; i < 3; i++) {
        if (!candidates[i] || !candidates[i]->pending)
            continue;
        uint64_t start = source_at(m, candidates[i]);
        if (start < *at) {
            best = candidates[i];
            *at = start;
        }
    }
    return best;
}

static void close_group(struct itm *m)
{
    if (m->group && !(m->tcr & TSENA)) {
        m->group = m->late = false;
        m->since = m->event;
    }
}

void itm_run(struct itm *m, uint64_t until)
{
    for (;;) {
        uint64_t at;
        close_group(m);
        struct itm_source *source = next_source(m, &at);
        bool stamp = m->group && stamp_at(m) < at;
        at = stamp ? stamp_at(m) : at;
        if ((!source && !stamp) || at > until)
            break;
        drain(m, at);
        if (stamp)
            write_stamp(m, at);
        else
            write_source(m, source, at);
    }
    drain(m, until);
}

bool itm_takes(const struct itm *m)
{
    return m->powered && (m->tcr & ITMENA) && (m->tcr & TXENA);
}

bool itm_wants_sync(const struct itm *m)
{
    return m->powered && (m->tcr & ITMENA) && (m->tcr & SYNCENA);
}

void itm_packet(struct itm *m, enum itm_from from, const uint8_t *bytes, unsigned length, uint64_t when,
                uint64_t index)
{
    struct itm_source *s = &m->source[from];
    if (when)
        itm_run(m, when - 1);
    if (s->pending) {
        s->lost = true;
        trace_log_settle(m->log, index, TRACE_LOST);
        return;
    }
    s->pending = true;
    s->when = when;
    s->length = length;
    s->index = index;
    s->order = m->packets;
    memcpy(s->bytes, bytes, length);
    m->packets++;
    s->not_before = m->quirks->late && m->packets % m->quirks->late == 0 ? when + HELD_UP : when;
    if (m->quirks->held && from == ITM_COMPARATOR0 && when - m->printed < AFTER_A_PRINT)
        s->not_before = when + m->quirks->held;
}

bool itm_stimulus(struct itm *m, unsigned port, unsigned size, uint32_t value, uint64_t now, uint64_t index)
{
    uint8_t bytes[5] = {(uint8_t)(port << 3 | (size == 4 ? 3 : size))};
    if (!m->powered || !(m->tcr & ITMENA) || !(m->ter >> port & 1))
        return false;
    for (unsigned i = 0; i < size; i++)
        bytes[1 + i] = (uint8_t)(value >> 8 * i);
    m->printed = now;
    itm_packet(m, ITM_SWIT, bytes, 1 + size, now, index);
    return true;
}

static bool is_busy(const struct itm *m)
{
    bool busy = m->level || (m->group && (m->tcr & TSENA));
    for (unsigned i = 0; i < ITM_SOURCES; i++)
        busy = busy || m->source[i].pending;
    return busy;
}

static uint32_t stimulus_state(const struct itm *m, unsigned port)
{
    bool enabled = (m->tcr & ITMENA) && (m->ter >> port & 1);
    bool ready = enabled && !m->source[ITM_SWIT].pending;
    return (ready ? FIFOREADY : 0) | (m->v8 && !enabled ? DISABLED : 0);
}

uint32_t itm_read(struct itm *m, uint32_t offset, uint64_t now)
{
    if (offset == LSR)
        return m->has_lock ? LSR_IMPLEMENTED | (m->locked ? LSR_LOCKED : 0) : 0;
    if (!m->powered)
        return 0;
    itm_run(m, now);
    if (offset < STIM_END)
        return stimulus_state(m, offset / 4);
    switch (offset) {
    case TER:
        return m->ter;
    case TPR:
        return m->tpr;
    case TCR:
        return m->tcr | (is_busy(m) ? BUSY : 0);
    default:
        return 0;
    }
}

static void drop_all(struct itm *m)
{
    for (unsigned i = 0; i < ITM_SOURCES; i++) {
        if (m->source[i].pending)
            trace_log_settle(m->log, m->source[i].index, TRACE_LOST);
        m->source[i].pending = m->source[i].lost = false;
    }
    m->group = m->late = false;
}

static void write_tcr(struct itm *m, uint32_t value, uint64_t now)
{
    uint32_t before = m->tcr;
    m->tcr = value & (TCR_WRITABLE | (m->v8 ? STALLENA : 0));
    if ((before & ITMENA) && !(m->tcr & ITMENA))
        drop_all(m);
    if (m->tcr & ~before & (ITMENA | TSENA))
        m->since = now;
}

void itm_write(struct itm *m, uint32_t offset, uint32_t value, uint64_t now)
{
    if (offset == LAR && m->has_lock)
        m->locked = value != LAR_KEY;
    if (!m->powered)
        return;
    itm_run(m, now);
    if (offset == TER)
        m->ter = value;
    else if (offset == TPR)
        m->tpr = m->v8 ? value & 0xF : value;
    else if (offset == TCR)
        write_tcr(m, value, now);
}

void itm_power(struct itm *m, bool powered, uint64_t now)
{
    if (powered == m->powered)
        return;
    itm_run(m, now);
    m->powered = powered;
    m->since = now;
    if (!powered)
        drop_all(m);
}

void itm_power_on(struct itm *m)
{
    m->ter = m->tpr = m->tcr = 0;
    m->locked = m->has_lock;
    m->powered = false;
    m->level = 0;
    drop_all(m);
}
