// Commands other than transfers and sequences: see the header. Numbers and layouts are CMSIS-DAP's "Commands
// and Responses".
#include "dap/processor.h"

#include <string.h>
#include <time.h>

#include "dap/firmware.h"

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
    SWO_TRANSPORT = 0x17,
    SWO_MODE = 0x18,
    SWO_BAUDRATE = 0x19,
    SWO_CONTROL = 0x1A,
    SWO_STATUS = 0x1B,
    SWO_DATA = 0x1C,
    SWD_SEQUENCE = 0x1D,
    SWO_EXTENDED_STATUS = 0x1E,
    QUEUE = 0x7E,
    EXECUTE = 0x7F,
    INVALID = 0xFF,
};

enum { LOWEST_HZ = 1000, RANGE_LEAST = 200000, RANGE_MOST = 5000000, CROSSTALK_HZ = 4000000 };
enum { RESET_PULSE_NS = 1000000, NS_PER_US = 1000 };
enum {
    LEVELS_IDLE = 0xA7,
    PIN_TRST = 0x20,
    LONG_REPLY = 8,
    WORD = 4,
    PADDING = 0xA5,
    CATCH_UP_NS = 500000,
    NAP_NS = 100000,
    IDLE_MOST_NS = 1000000
};
#define NS_PER_S 1000000000u

static unsigned idle_levels(const struct processor *p)
{
    return p->quirks & QUIRK_TRST_LOW ? LEVELS_IDLE & ~(unsigned)PIN_TRST : LEVELS_IDLE;
}

void processor_set_clock(struct processor *p, uint32_t hz)
{
    p->hz = hz < LOWEST_HZ ? LOWEST_HZ : hz;
    p->line.crosstalk = (p->quirks & QUIRK_CROSSTALK) && hz > CROSSTALK_HZ;
}

void processor_init(struct processor *p)
{
    processor_set_clock(p, PROCESSOR_HZ);
    p->wait_retry = 100;
    p->levels = idle_levels(p);
    p->line.pins->trst_low = !(p->levels & PIN_TRST);
    p->line.turnaround = 1;
    p->line.devices = 1;
    p->line.ir_length[0] = 4;
}

bool processor_stopped(const struct processor *p)
{
    return p->stopped && p->stopped(p->carrier);
}

// A host that sleeps for less only gets more to do. false: the wire may be so far ahead of the host's clock
static bool nap(uint64_t ns)
{
    const struct timespec time = {.tv_nsec = NAP_NS};
    if (ns < NAP_NS)
        return false;
    nanosleep(&time, NULL);
    return true;
}

void processor_pass(struct processor *p, uint64_t ns)
{
    uint64_t now;
    p->wire_ns += ns;
    p->counts.busy_ns += ns;
    if (p->pass) {
        p->pass(p->self, ns);
        return;
    }
    while ((now = p->breathe(p->self)) < p->wire_ns) {
        if (processor_stopped(p)) {
            p->wire_ns = now;
            return;
        }
        if (p->naps && !nap(p->wire_ns - now))
            return;
    }
}

// Time lost by slow execution is made up for; time in which the wire was idle is not
static void begin_packet(struct processor *p)
{
    if (p->pass) {
        if (!p->waited)
            p->pass(p->self, rng_upto(&p->idle, IDLE_MOST_NS));
        p->waited = false;
        return;
    }
    uint64_t now = p->breathe(p->self);
    if (p->wire_ns + CATCH_UP_NS < now || (!p->waited && p->wire_ns < now))
        p->wire_ns = now;
    p->waited = false;
}

void processor_pace(struct processor *p)
{
    uint64_t clocks = p->line.pins->clocks - p->paced;
    p->paced += clocks;
    p->counts.clocks += clocks;
    if (p->port == PORT_JTAG)
        p->counts.jtag_clocks += clocks;
    else
        p->counts.swd_clocks += clocks;
    processor_pass(p, clocks * NS_PER_S / (p->wire_hz ? p->wire_hz : p->hz));
}

static void host_status(struct processor *p, struct bytes *in, struct answer *out)
{
    (void)p;
    bytes_take(in, 2);
    answer_put(out, DAP_DONE, 1);
}

static void connect(struct processor *p, struct bytes *in, struct answer *out)
{
    unsigned port = bytes_take(in, 1);
    if (in->bad)
        return;
    if (port == PORT_NONE) // which one is up to the probe
        port = PORT_SWD;
    if (p->port != PORT_NONE && (p->quirks & QUIRK_KEEPS_PORT)) {
        answer_put(out, PORT_NONE, 1);
        return;
    }
    p->floats = false;
    if (port > PORT_JTAG || (port == PORT_JTAG && !p->line.pins->has_jtag))
        port = PORT_NONE;
    p->port = port;
    p->line.jtag = port == PORT_JTAG;
    p->swo.connected = port == PORT_SWD;
    p->line.instruction = 0;
    answer_put(out, port, 1);
}

static void disconnect(struct processor *p, struct bytes *in, struct answer *out)
{
    (void)in;
    p->port = PORT_NONE;
    p->swo.connected = false;
    if (p->levels != idle_levels(p))
        p->line.pins->reset(p->line.pins->self, false);
    p->levels = idle_levels(p);
    p->line.pins->trst_low = !(p->levels & PIN_TRST);
    answer_put(out, DAP_DONE, 1);
}

static void transfer_configure(struct processor *p, struct bytes *in, struct answer *out)
{
    unsigned idle = bytes_take(in, 1), wait_retry = bytes_take(in, 2), match_retry = bytes_take(in, 2);
    if (in->bad)
        return;
    p->line.idle = idle;
    p->wait_retry = wait_retry;
    p->match_retry = match_retry;
    answer_put(out, DAP_DONE, 1);
}

static void swj_clock(struct processor *p, struct bytes *in, struct answer *out)
{
    uint32_t hz = bytes_take(in, 4);
    if (in->bad)
        return;
    bool right = hz && (!(p->quirks & QUIRK_CLOCK_RANGE) || (hz >= RANGE_LEAST && hz <= RANGE_MOST));
    if (right)
        processor_set_clock(p, hz);
    answer_put(out, right ? DAP_DONE : DAP_FAILED, 1);
}

static void swd_configure(struct processor *p, struct bytes *in, struct answer *out)
{
    unsigned value = bytes_take(in, 1);
    if (in->bad)
        return;
    p->line.turnaround = (value & 3) + 1;
    p->line.data_phase = value & 4;
    answer_put(out, DAP_DONE, 1);
}

static void jtag_configure(struct processor *p, struct bytes *in, struct answer *out)
{
    unsigned count = bytes_take(in, 1), lengths[LINE_DEVICES] = {0};
    bool right = count >= 1 && count <= LINE_DEVICES;
    for (unsigned i = 0; i < count; i++) {
        unsigned length = bytes_take(in, 1);
        right = right && length >= 2 && length <= 32;
        if (right)
            lengths[i] = length;
    }
    if (in->bad)
        return;
    if (right) {
        p->line.devices = count;
        memcpy(p->line.ir_length, lengths, sizeof lengths);
        p->line.index = 0;
        p->line.instruction = 0;
    }
    answer_put(out, right ? DAP_DONE : DAP_FAILED, 1);
}

static void jtag_idcode(struct processor *p, struct bytes *in, struct answer *out)
{
    unsigned index = bytes_take(in, 1);
    if (in->bad || answer_room(out) < 5) {
        out->full = !in->bad;
        return;
    }
    bool right = p->port == PORT_JTAG && index < p->line.devices;
    answer_put(out, right ? DAP_DONE : DAP_FAILED, 1);
    if (!right)
        return;
    p->line.index = index;
    p->line.instruction = 0;
    answer_put(out, line_idcode(&p->line), 4);
    processor_pace(p);
}

static void write_abort(struct processor *p, struct bytes *in, struct answer *out)
{
    unsigned index = bytes_take(in, 1);
    uint32_t value = bytes_take(in, 4);
    if (in->bad)
        return;
    bool right = p->port == PORT_SWD || (p->port == PORT_JTAG && index < p->line.devices);
    if (right) {
        p->line.index = p->port == PORT_JTAG ? index : 0;
        p->line.instruction = 0;
        line_abort(&p->line, value); // whatever is acknowledged
        processor_pace(p);
    }
    answer_put(out, right ? DAP_DONE : DAP_FAILED, 1);
}

static void delay(struct processor *p, struct bytes *in, struct answer *out)
{
    uint64_t us = bytes_take(in, 2);
    if (in->bad)
        return;
    processor_pass(p, us * NS_PER_US);
    answer_put(out, DAP_DONE, 1);
}

static void reset_target(struct processor *p, struct bytes *in, struct answer *out)
{
    struct pins *pins = p->line.pins;
    (void)in;
    pins->reset(pins->self, true);
    processor_pass(p, RESET_PULSE_NS);
    pins->reset(pins->self, false);
    p->levels |= LEVELS_IDLE;
    answer_put(out, DAP_DONE, 1);
    answer_put(out, 1, 1); // there is such a sequence, and it was carried out
}

typedef void (*command)(struct processor *, struct bytes *, struct answer *);

static command command_of(const struct processor *p, unsigned number)
{
    static const command commands[] = {
        [INFO] = info_answer,
        [HOST_STATUS] = host_status,
        [CONNECT] = connect,
        [DISCONNECT] = disconnect,
        [TRANSFER_CONFIGURE] = transfer_configure,
        [TRANSFER] = transfer_run,
        [TRANSFER_BLOCK] = transfer_block,
        [WRITE_ABORT] = write_abort,
        [DELAY] = delay,
        [RESET_TARGET] = reset_target,
        [SWJ_PINS] = sequence_pins,
        [SWJ_CLOCK] = swj_clock,
        [SWJ_SEQUENCE] = sequence_swj,
        [SWD_CONFIGURE] = swd_configure,
        [JTAG_SEQUENCE] = sequence_jtag,
        [JTAG_CONFIGURE] = jtag_configure,
        [JTAG_IDCODE] = jtag_idcode,
        [SWO_TRANSPORT] = swo_transport,
        [SWO_MODE] = swo_set_mode,
        [SWO_BAUDRATE] = swo_baudrate,
        [SWO_CONTROL] = swo_control,
        [SWO_STATUS] = swo_status,
        [SWO_DATA] = swo_data,
        [SWD_SEQUENCE] = sequence_swd,
        [SWO_EXTENDED_STATUS] = swo_extended_status,
    };
    bool of_swo = (number >= SWO_TRANSPORT && number <= SWO_DATA) || number == SWO_EXTENDED_STATUS;
    if (number >= sizeof commands / sizeof *commands || (of_swo && !p->swo.can) ||
        (number == SWD_SEQUENCE && (p->quirks & QUIRK_NO_SEQUENCE)) ||
        (number == TRANSFER_BLOCK && (p->quirks & QUIRK_NO_BLOCK)))
        return NULL;
    return commands[number];
}

// false: not understood, so nothing after it can be
static bool obey(struct processor *p, struct bytes *in, struct answer *out)
{
    const struct answer before = *out;
    unsigned number = bytes_take(in, 1);
    command run = in->bad ? NULL : command_of(p, number);
    if (run) {
        answer_put(out, number, 1);
        run(p, in, out);
        if (!in->bad && !out->full)
            return true;
    }
    p->counts.malformed++;
    *out = before;
    answer_put(out, INVALID, 1);
    return false;
}

// Several commands in one packet
static void execute(struct processor *p, struct bytes *in, struct answer *out)
{
    uint8_t *head = out->at;
    bytes_take(in, 1);
    unsigned count = bytes_take(in, 1), done = 0;
    answer_put(out, EXECUTE, 1);
    answer_put(out, 0, 1);
    for (bool going = true; going && done < count; done++)
        going = obey(p, in, out);
    head[1] = (uint8_t)done;
}

static size_t spoil(const struct processor *p, uint8_t *reply, size_t length)
{
    bool transfer = reply[0] == TRANSFER || reply[0] == TRANSFER_BLOCK;
    if (transfer && (p->quirks & QUIRK_WRONG_ID))
        reply[0] ^= 0x40;
    if (transfer && (p->quirks & QUIRK_EMPTY))
        return 1;
    size_t more = 0;
    if (transfer && (p->quirks & QUIRK_LONG) && length + WORD <= p->packet_size)
        more = WORD;
    if (p->quirks & QUIRK_PADDED)
        more = p->packet_size - length;
    memset(reply + length, PADDING, more);
    return (p->quirks & QUIRK_SHORT) && length > LONG_REPLY ? length - 1 : length + more;
}

bool processor_is_queued(const struct processor *p, const uint8_t *request, size_t length)
{
    return p->atomic && length > 1 && request[0] == QUEUE;
}

bool processor_is_abort(const uint8_t *request, size_t length)
{
    return length && request[0] == TRANSFER_ABORT;
}

// The board listens to some of its firmware's commands: how fast the wires are, and which
static void follow(struct processor *p, const uint8_t *request, size_t length)
{
    struct bytes in = {.at = request, .end = request + length};
    unsigned number = bytes_take(&in, 1);
    uint32_t value = bytes_take(&in, number == SWJ_CLOCK ? 4 : 1);
    if (number == SWJ_CLOCK && value)
        p->hz = value < LOWEST_HZ ? LOWEST_HZ : value;
    if (number == CONNECT)
        p->port = value;
}

size_t processor_packet(struct processor *p, const uint8_t *request, size_t length, uint8_t *reply)
{
    struct bytes in = {.at = request, .end = request + length};
    struct answer out = {.full = false};
    out.at = reply;
    out.end = reply + p->packet_size;
    if (!length || processor_is_abort(request, length))
        return 0;
    p->counts.packets++;
    begin_packet(p);
    if (p->firmware) {
        follow(p, request, length);
        return firmware_run(p->firmware, request, length, reply);
    }
    if (p->atomic && length > 1 && (request[0] == EXECUTE || request[0] == QUEUE))
        execute(p, &in, &out);
    else
        obey(p, &in, &out);
    return spoil(p, reply, (size_t)(out.at - reply));
}
