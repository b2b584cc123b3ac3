// SWO: see the header. Numbers and layouts are CMSIS-DAP's "SWO Commands".
#include "dap/swo.h"

#include <string.h>

#include "dap/processor.h"

enum { ACTIVE = 1 << 0, PAUSED = 1 << 1, STREAM_ERROR = 1 << 6, OVERRUN = 1 << 7 };
enum { ASKS_STATUS = 1, ASKS_COUNT = 2, ASKS_INDEX = 4, PARTIAL_NS = 50000000, STEP_HZ = 3000000, HEAD = 4 };
#define TOLERANCE 0.03 // of the baud rate, half a bit in ten and some

bool swo_parse(const char *text, unsigned *can)
{
    static const struct {
        const char *name;
        unsigned bit;
    } known[] = {{"uart", SWO_UART}, {"manchester", SWO_MANCHESTER}, {"stream", SWO_STREAM}};
    *can = 0;
    while (*text) {
        size_t length = strcspn(text, ","), i = 0;
        while (i < 3 && (strlen(known[i].name) != length || memcmp(known[i].name, text, length) != 0))
            i++;
        if (i == 3)
            return false;
        *can |= known[i].bit;
        text += length + (text[length] == ',');
    }
    return *can & (SWO_UART | SWO_MANCHESTER);
}

static bool understands(const struct swo *s, enum swo_mode mode, double sender_hz)
{
    double off = sender_hz / s->baud - 1;
    return s->mode == mode && off <= TOLERANCE && off >= -TOLERANCE;
}

void swo_receive(struct swo *s, uint8_t byte, enum swo_mode mode, double sender_hz)
{
    if (!s->active || !s->connected || !s->baud)
        return;
    if (!understands(s, mode, sender_hz)) {
        s->error = true;
        byte = (uint8_t)(byte << 1 | byte >> 7) ^ 0x24;
    }
    if (s->held == s->size) {
        s->overrun = true;
        s->lost++;
        return;
    }
    s->buffer[(s->first + s->held++) % s->size] = byte;
    s->taken++;
}

static size_t take(struct swo *s, uint8_t *bytes, size_t room)
{
    size_t count = s->held < room ? s->held : room;
    for (size_t i = 0; i < count; i++)
        bytes[i] = s->buffer[(s->first + i) % s->size];
    s->first = (s->first + count) % s->size;
    s->held -= count;
    return count;
}

static void arrive(struct swo *s)
{
    if (s->catch_up)
        s->catch_up(s->self);
}

size_t swo_stream(struct swo *s, uint8_t *bytes, size_t room, uint64_t now_ns)
{
    if (s->transport != SWO_BY_ENDPOINT)
        return 0;
    arrive(s);
    if (!s->held || !s->waiting_ns)
        s->waiting_ns = now_ns;
    size_t block = room < SWO_BLOCK ? room : SWO_BLOCK;
    bool due = s->held && (now_ns - s->waiting_ns >= PARTIAL_NS || !s->active);
    if (s->held < block && !due)
        return 0;
    s->waiting_ns = now_ns;
    return take(s, bytes, block);
}

void swo_transport(struct processor *p, struct bytes *in, struct answer *out)
{
    struct swo *s = &p->swo;
    unsigned transport = bytes_take(in, 1);
    if (in->bad)
        return;
    bool right = !s->active &&
                 (transport <= SWO_BY_COMMAND || (transport == SWO_BY_ENDPOINT && (s->can & SWO_STREAM)));
    if (right)
        s->transport = transport;
    answer_put(out, right ? DAP_DONE : DAP_FAILED, 1);
}

static void stop(struct swo *s)
{
    s->active = s->error = s->overrun = false;
}

void swo_set_mode(struct processor *p, struct bytes *in, struct answer *out)
{
    struct swo *s = &p->swo;
    unsigned mode = bytes_take(in, 1);
    if (in->bad)
        return;
    bool right = mode == SWO_OFF || (mode == SWO_AS_UART && (s->can & SWO_UART)) ||
                 (mode == SWO_AS_MANCHESTER && (s->can & SWO_MANCHESTER));
    s->mode = right ? mode : SWO_OFF;
    stop(s);
    answer_put(out, right ? DAP_DONE : DAP_FAILED, 1);
}

void swo_baudrate(struct processor *p, struct bytes *in, struct answer *out)
{
    struct swo *s = &p->swo;
    uint32_t baud = bytes_take(in, 4);
    if (in->bad)
        return;
    bool right = s->mode != SWO_OFF && baud && baud <= SWO_BAUD_MOST;
    if (right && s->by_steps) {
        uint32_t divisor = (STEP_HZ + baud / 2) / baud;
        baud = STEP_HZ / (divisor ? divisor : 1);
    }
    if (right)
        s->baud = baud;
    stop(s);
    answer_put(out, right ? baud : 0, 4);
}

void swo_control(struct processor *p, struct bytes *in, struct answer *out)
{
    struct swo *s = &p->swo;
    unsigned active = bytes_take(in, 1);
    if (in->bad)
        return;
    arrive(s);
    bool right = !active || (active == 1 && s->mode != SWO_OFF && s->baud);
    if (right && active && !s->active) {
        s->first = s->held = 0;
        s->taken = 0;
        s->error = s->overrun = false;
    }
    if (right)
        s->active = active;
    answer_put(out, right ? DAP_DONE : DAP_FAILED, 1);
}

// Errors are gone when they have been read
static uint8_t take_status(struct swo *s)
{
    unsigned status = (s->active ? ACTIVE : 0u) | (s->active && s->held == s->size ? PAUSED : 0u) |
                      (s->error ? STREAM_ERROR : 0u) | (s->overrun ? OVERRUN : 0u);
    s->error = s->overrun = false;
    return (uint8_t)status;
}

void swo_status(struct processor *p, struct bytes *in, struct answer *out)
{
    (void)in;
    arrive(&p->swo);
    answer_put(out, take_status(&p->swo), 1);
    answer_put(out, (uint32_t)p->swo.held, 4);
}

void swo_extended_status(struct processor *p, struct bytes *in, struct answer *out)
{
    struct swo *s = &p->swo;
    unsigned asked = bytes_take(in, 1);
    if (in->bad)
        return;
    arrive(s);
    if (asked & ASKS_STATUS)
        answer_put(out, take_status(s), 1);
    if (asked & ASKS_COUNT)
        answer_put(out, (uint32_t)s->held, 4);
    if (asked & ASKS_INDEX) {
        answer_put(out, s->taken, 4);
        answer_put(out, (uint32_t)(p->breathe(p->self) / 1000), 4);
    }
}

void swo_data(struct processor *p, struct bytes *in, struct answer *out)
{
    struct swo *s = &p->swo;
    size_t most = bytes_take(in, 2);
    if (in->bad)
        return;
    arrive(s);
    uint8_t status = take_status(s);
    size_t room = answer_room(out) < HEAD ? 0 : answer_room(out) - (HEAD - 1);
    if (most > room)
        most = room;
    uint8_t *head = out->at;
    answer_put(out, status, 1);
    answer_put(out, 0, 2);
    if (out->full)
        return;
    size_t count = s->transport == SWO_BY_COMMAND ? take(s, out->at, most) : 0;
    out->at += count;
    head[1] = (uint8_t)count;
    head[2] = (uint8_t)(count >> 8);
}
