// Commands other than transfers: see the header. Numbers and layouts are CMSIS-DAP's "Commands and
// Responses".
#include "dap/processor.h"

#include <stdio.h>
#include <string.h>

enum command {
    INFO = 0x00,
    HOST_STATUS = 0x01,
    CONNECT = 0x02,
    DISCONNECT = 0x03,
    TRANSFER_CONFIGURE = 0x04,
    TRANSFER = 0x05,
    TRANSFER_BLOCK = 0x06,
    TRANSFER_ABORT = 0x07,
    WRITE_ABORT = 0x08,
    DELAY = 0x09,
    RESET_TARGET = 0x0A,
    SWJ_PINS = 0x10,
    SWJ_CLOCK = 0x11,
    SWJ_SEQUENCE = 0x12,
    SWD_CONFIGURE = 0x13,
    JTAG_SEQUENCE = 0x14,
    JTAG_CONFIGURE = 0x15,
    JTAG_IDCODE = 0x16,
    SWD_SEQUENCE = 0x1D,
    EXECUTE = 0x7F,
    INVALID = 0xFF,
};

enum { SWD = 1, JTAG = 2, DONE = 0, FAILED = 0xFF, DEFAULT_HZ = 1000000, TIMER_HZ = 1000000 };

uint32_t bytes_take(struct bytes *b, unsigned count)
{
    uint32_t value = 0;
    if ((size_t)(b->end - b->at) < count) {
        b->bad = true;
        b->at = b->end;
        return 0;
    }
    for (unsigned i = 0; i < count; i++)
        value |= (uint32_t)*b->at++ << (8 * i);
    return value;
}

void answer_put(struct answer *a, uint32_t value, unsigned count)
{
    if ((size_t)(a->end - a->at) < count) {
        a->full = true;
        return;
    }
    for (unsigned i = 0; i < count; i++)
        *a->at++ = (uint8_t)(value >> (8 * i));
}

void processor_init(struct processor *p)
{
    p->hz = DEFAULT_HZ;
    p->wait_retry = 100;
    p->match_mask = UINT32_MAX;
    p->line.turnaround = 1;
    p->line.devices = 1;
    p->line.ir_length[0] = 4;
}

void processor_pace(struct processor *p)
{
    uint64_t clocks = p->line.pins->clocks - p->paced, now = p->breathe(p->self);
    p->paced += clocks;
    p->counts.clocks += clocks;
    if (p->wire_ns < now) // it was idle
        p->wire_ns = now;
    p->wire_ns += clocks * 1000000000u / p->hz;
    while (p->breathe(p->self) < p->wire_ns)
        ;
}

static void put_text(struct answer *out, const char *text)
{
    size_t length = strlen(text) + 1;
    answer_put(out, (uint32_t)length, 1);
    for (size_t i = 0; i < length; i++)
        answer_put(out, (uint8_t)text[i], 1);
}

static void info(struct processor *p, struct bytes *in, struct answer *out)
{
    switch (bytes_take(in, 1)) {
    case 0x01:
        put_text(out, "pmu-probe");
        break;
    case 0x02:
        put_text(out, "Virtual CMSIS-DAP");
        break;
    case 0x03:
        put_text(out, p->serial);
        break;
    case 0x04:
        put_text(out, "2.1.1");
        break;
    case 0x09:
        put_text(out, "1.0");
        break;
    case 0xF0:
        answer_put(out, 1, 1);
        answer_put(out,
                   SWD | (p->line.pins->has_jtag ? JTAG : 0) | (p->atomic ? 1u << 4 : 0) |
                       (p->timer ? 1u << 5 : 0),
                   1);
        break;
    case 0xF1:
        answer_put(out, p->timer ? 4 : 0, 1);
        if (p->timer)
            answer_put(out, TIMER_HZ, 4);
        break;
    case 0xFE:
        answer_put(out, 1, 1);
        answer_put(out, p->quirks & QUIRK_COUNT_ZERO ? 0 : p->packet_count, 1);
        break;
    case 0xFF:
        answer_put(out, 2, 1);
        answer_put(out, (uint32_t)p->packet_size, 2);
        break;
    default: // nothing to tell
        answer_put(out, 0, 1);
        break;
    }
}

static void connect(struct processor *p, struct bytes *in, struct answer *out)
{
    unsigned port = bytes_take(in, 1);
    if (!port)
        port = SWD;
    if (port > JTAG || (port == JTAG && !p->line.pins->has_jtag))
        port = 0;
    p->port = port;
    p->line.jtag = port == JTAG;
    p->line.instruction = 0;
    answer_put(out, port, 1);
}

static void swj_pins(struct processor *p, struct bytes *in, struct answer *out)
{
    unsigned level = bytes_take(in, 1), select = bytes_take(in, 1);
    bytes_take(in, 4);
    if (select & 0x80)
        p->line.pins->reset(p->line.pins->self, !(level & 0x80));
    answer_put(out, (select & 0x80 ? level & 0x80 : 0x80) | 0x03, 1);
}

static void swj_sequence(struct processor *p, struct bytes *in, struct answer *out)
{
    unsigned count = bytes_take(in, 1), byte = 0;
    count = count ? count : 256;
    if ((size_t)(in->end - in->at) < (count + 7) / 8) {
        in->bad = true;
        return;
    }
    for (unsigned i = 0; i < count; i++, byte >>= 1) {
        if (i % 8 == 0)
            byte = bytes_take(in, 1);
        pins_clock(p->line.pins, true, byte & 1, true);
    }
    p->line.instruction = 0;
    processor_pace(p);
    answer_put(out, DONE, 1);
}

// Bits in or out, up to 64 a piece
static void swd_sequence(struct processor *p, struct bytes *in, struct answer *out)
{
    unsigned pieces = bytes_take(in, 1);
    answer_put(out, DONE, 1);
    while (pieces-- && !in->bad) {
        unsigned info = bytes_take(in, 1), count = info & 0x3F, byte = 0;
        bool input = info & 0x80;
        count = count ? count : 64;
        for (unsigned i = 0; i < count && !in->bad; i++) {
            if (!input && i % 8 == 0)
                byte = bytes_take(in, 1);
            bool level = pins_clock(p->line.pins, !input, byte >> i % 8 & 1, true);
            if (input) {
                byte = (i % 8 ? byte : 0) | (unsigned)level << i % 8;
                if (i % 8 == 7 || i + 1 == count)
                    answer_put(out, byte, 1);
            }
        }
    }
    processor_pace(p);
}

static void jtag_sequence(struct processor *p, struct bytes *in, struct answer *out)
{
    unsigned pieces = bytes_take(in, 1);
    answer_put(out, DONE, 1);
    while (pieces-- && !in->bad) {
        unsigned info = bytes_take(in, 1), count = info & 0x3F, byte = 0, got = 0;
        count = count ? count : 64;
        for (unsigned i = 0; i < count && !in->bad; i++) {
            if (i % 8 == 0) {
                byte = bytes_take(in, 1);
                got = 0;
            }
            got |= (unsigned)pins_tdo(p->line.pins) << i % 8;
            pins_clock(p->line.pins, true, info & 0x40, byte >> i % 8 & 1);
            if ((info & 0x80) && (i % 8 == 7 || i + 1 == count))
                answer_put(out, got, 1);
        }
    }
    p->line.instruction = 0;
    processor_pace(p);
}

static void jtag_configure(struct processor *p, struct bytes *in, struct answer *out)
{
    unsigned count = bytes_take(in, 1), lengths[LINE_DEVICES];
    for (unsigned i = 0; i < count && i < LINE_DEVICES; i++)
        lengths[i] = bytes_take(in, 1);
    bool right = count >= 1 && count <= LINE_DEVICES && !in->bad;
    for (unsigned i = 0; right && i < count; i++)
        right = lengths[i] >= 2 && lengths[i] <= 32;
    if (right) {
        p->line.devices = count;
        memcpy(p->line.ir_length, lengths, count * sizeof *lengths);
        p->line.index = 0;
        p->line.instruction = 0;
    }
    answer_put(out, right ? DONE : FAILED, 1);
}

static void jtag_idcode(struct processor *p, struct bytes *in, struct answer *out)
{
    unsigned index = bytes_take(in, 1);
    if (p->port != JTAG || index >= p->line.devices) {
        answer_put(out, FAILED, 1);
        return;
    }
    p->line.index = index;
    answer_put(out, DONE, 1);
    answer_put(out, line_idcode(&p->line), 4);
    processor_pace(p);
}

static void write_abort(struct processor *p, struct bytes *in, struct answer *out)
{
    unsigned index = bytes_take(in, 1);
    uint32_t value = bytes_take(in, 4);
    bool right = p->port && !in->bad && (p->port == SWD || index < p->line.devices);
    if (right) {
        p->line.index = p->port == JTAG ? index : 0;
        right = line_abort(&p->line, value) == LINE_OK;
        processor_pace(p);
    }
    answer_put(out, right ? DONE : FAILED, 1);
}

static void configure(struct processor *p, unsigned command, struct bytes *in, struct answer *out)
{
    uint32_t hz;
    unsigned value;
    switch (command) {
    case TRANSFER_CONFIGURE:
        p->line.idle = bytes_take(in, 1);
        p->wait_retry = bytes_take(in, 2);
        p->match_retry = bytes_take(in, 2);
        break;
    case SWJ_CLOCK:
        hz = bytes_take(in, 4);
        if (!hz) {
            answer_put(out, FAILED, 1);
            return;
        }
        p->hz = hz;
        break;
    default:
        value = bytes_take(in, 1);
        p->line.turnaround = (value & 3) + 1;
        p->line.data_phase = value & 4;
        break;
    }
    answer_put(out, DONE, 1);
}

static void obey(struct processor *p, struct bytes *in, struct answer *out, bool nested)
{
    unsigned command = bytes_take(in, 1);
    if (command == SWD_SEQUENCE && (p->quirks & QUIRK_NO_SEQUENCE))
        command = INVALID;
    answer_put(out, command, 1);
    switch ((enum command)command) {
    case INFO:
        info(p, in, out);
        return;
    case CONNECT:
        connect(p, in, out);
        return;
    case HOST_STATUS:
        bytes_take(in, 2);
        break;
    case DISCONNECT:
        p->port = 0;
        break;
    case TRANSFER_CONFIGURE:
    case SWJ_CLOCK:
    case SWD_CONFIGURE:
        configure(p, command, in, out);
        return;
    case TRANSFER:
        transfer_run(p, in, out);
        return;
    case TRANSFER_BLOCK:
        transfer_block(p, in, out);
        return;
    case WRITE_ABORT:
        write_abort(p, in, out);
        return;
    case DELAY:
        bytes_take(in, 2);
        break;
    case RESET_TARGET: // no sequence of the device's own
        answer_put(out, 0, 2);
        return;
    case SWJ_PINS:
        swj_pins(p, in, out);
        return;
    case SWJ_SEQUENCE:
        swj_sequence(p, in, out);
        return;
    case SWD_SEQUENCE:
        swd_sequence(p, in, out);
        return;
    case JTAG_SEQUENCE:
        jtag_sequence(p, in, out);
        return;
    case JTAG_CONFIGURE:
        jtag_configure(p, in, out);
        return;
    case JTAG_IDCODE:
        jtag_idcode(p, in, out);
        return;
    case EXECUTE:
        if (p->atomic && !nested) {
            unsigned count = bytes_take(in, 1);
            answer_put(out, count, 1);
            while (count-- && in->at < in->end && !out->full)
                obey(p, in, out, true);
            return;
        }
        out->at[-1] = INVALID;
        in->at = in->end;
        return;
    default: // also TRANSFER_ABORT, which has no answer, outside of a packet
        out->at[-1] = INVALID;
        in->at = in->end;
        return;
    }
    answer_put(out, DONE, 1);
}

size_t processor_packet(struct processor *p, const uint8_t *request, size_t length, uint8_t *reply)
{
    struct bytes in = {.at = request, .end = request + length};
    struct answer out = {.at = reply, .end = reply + p->packet_size};
    p->counts.packets++;
    if (!length || (length == 1 && request[0] == TRANSFER_ABORT))
        return 0;
    obey(p, &in, &out, false);
    size_t used = (size_t)(out.at - reply);
    if ((p->quirks & QUIRK_SHORT) && used > 8)
        used--;
    return used;
}
