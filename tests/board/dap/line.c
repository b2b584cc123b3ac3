// Transfers on the line: see the header. SWD: IHI 0031 B4; JTAG: IHI 0031 B3.
#include "dap/line.h"

enum { IR_ABORT = 0x8, IR_DPACC = 0xA, IR_APACC = 0xB, IR_IDCODE = 0xE };
enum { DATA_BITS = 32 };

static void drive(struct line *l, uint32_t bits, unsigned count)
{
    for (; count; count--, bits >>= 1)
        pins_clock(l->pins, true, bits & 1, true);
}

static uint32_t sample(struct line *l, unsigned count)
{
    uint32_t bits = 0;
    for (unsigned i = 0; i < count; i++)
        bits |= (uint32_t)pins_clock(l->pins, false, true, true) << i;
    return bits;
}

static void let_go(struct line *l, unsigned count)
{
    while (count--)
        pins_clock(l->pins, false, true, true);
}

static bool odd(uint32_t value)
{
    return __builtin_parity(value);
}

// Parity does not see two
static uint32_t carried(const struct line *l, uint32_t value, unsigned bit)
{
    bool alternates = __builtin_popcount(value ^ value >> 1) > 24;
    return l->crosstalk && alternates ? value ^ 3u << bit : value;
}

static unsigned swd_read(struct line *l, uint32_t *data)
{
    uint32_t value = sample(l, DATA_BITS);
    bool right = (bool)sample(l, 1) == odd(value);
    let_go(l, l->turnaround);
    if (right)
        *data = carried(l, value, 20);
    return right ? LINE_OK : LINE_PROTOCOL;
}

static void swd_write(struct line *l, uint32_t value)
{
    let_go(l, l->turnaround);
    value = carried(l, value, 8);
    drive(l, value, DATA_BITS);
    drive(l, odd(value), 1);
}

static unsigned swd_transfer(struct line *l, unsigned request, uint32_t *data)
{
    unsigned four = request & 0xF, head = 1 | four << 1 | (unsigned)odd(four) << 5 | 1 << 7;
    bool read = request & LINE_READ;
    drive(l, head, 8);
    let_go(l, l->turnaround);
    unsigned ack = sample(l, 3);
    if (ack == LINE_OK) {
        if (read)
            ack = swd_read(l, data);
        else
            swd_write(l, *data);
        drive(l, 0, l->idle);
    } else if (ack == LINE_WAIT || ack == LINE_FAULT) {
        if (l->data_phase && read)
            let_go(l, DATA_BITS + 1);
        let_go(l, l->turnaround);
        if (l->data_phase && !read)
            drive(l, 0, DATA_BITS + 1);
    } else { // no answer, or an invalid one: let the data phase pass
        let_go(l, l->turnaround + DATA_BITS + 1);
    }
    return ack;
}

static void tms(struct line *l, uint32_t bits, unsigned count)
{
    drive(l, bits, count);
}

static bool shift(struct line *l, bool tdi, bool last)
{
    bool tdo = pins_tdo(l->pins);
    pins_clock(l->pins, true, last, tdi);
    return tdo;
}

// From Run-Test/Idle and back to it. Other devices of the chain get BYPASS.
static void set_instruction(struct line *l, unsigned instruction)
{
    if (l->instruction == instruction)
        return;
    unsigned left = 0;
    for (unsigned i = 0; i < l->devices; i++)
        left += l->ir_length[i];
    tms(l, 0x3, 4);
    // The bits that are shifted first end up in the device at TDO, which is number 0
    for (unsigned i = 0; i < l->devices; i++)
        for (unsigned bit = 0; bit < l->ir_length[i]; bit++, left--)
            shift(l, i == l->index ? instruction >> bit & 1 : true, left == 1);
    tms(l, 0x1, 2);
    l->instruction = instruction;
}

// In the shift state: cycles for the devices between this one and TDO, or TDI
static void pass(struct line *l, unsigned devices, bool last, bool tdi)
{
    for (unsigned i = 0; i < devices; i++)
        shift(l, tdi, last && i + 1 == devices);
}

// A data scan of up to 32 bits of the selected device, after what it was before
static uint32_t scan_data(struct line *l, uint32_t value, bool writes, bool tdi)
{
    unsigned after = l->devices - l->index - 1;
    uint32_t got = 0;
    for (unsigned i = 0; i < DATA_BITS; i++) {
        tdi = writes ? value >> i & 1 : tdi;
        got |= (uint32_t)shift(l, tdi, !after && i + 1 == DATA_BITS) << i;
    }
    pass(l, after, true, tdi);
    return got;
}

static void begin_scan(struct line *l)
{
    tms(l, 0x1, 3);
    pass(l, l->index, false, true);
}

// TDI keeps its level until the end
static void end_scan(struct line *l, bool tdi)
{
    pins_clock(l->pins, true, true, tdi);
    pins_clock(l->pins, true, false, tdi);
}

static unsigned jtag_transfer(struct line *l, unsigned request, uint32_t *data)
{
    bool read = request & LINE_READ, tdi = request >> 3 & 1;
    set_instruction(l, request & LINE_AP ? IR_APACC : IR_DPACC);
    begin_scan(l);
    // OK and WAIT have each other's numbers; all others are passed on unchanged
    unsigned ack = (unsigned)shift(l, request >> 1 & 1, false) << 1;
    ack |= (unsigned)shift(l, request >> 2 & 1, false);
    ack |= (unsigned)shift(l, tdi, false) << 2;
    if (ack != LINE_OK) {
        pins_clock(l->pins, true, true, tdi); // no more of it
    } else {
        uint32_t got = scan_data(l, read ? 0 : *data, !read, tdi);
        tdi = read ? tdi : *data >> 31;
        if (read)
            *data = got;
    }
    end_scan(l, tdi);
    drive(l, 0, l->idle);
    return ack;
}

unsigned line_transfer(struct line *l, unsigned request, uint32_t *data)
{
    return l->jtag ? jtag_transfer(l, request, data) : swd_transfer(l, request, data);
}

bool line_posts(const struct line *l, unsigned request)
{
    return l->jtag || request & LINE_AP;
}

bool line_chains(const struct line *l, unsigned before, unsigned request)
{
    return l->jtag ? !((before ^ request) & LINE_AP) : request & LINE_AP;
}

uint32_t line_idcode(struct line *l)
{
    set_instruction(l, IR_IDCODE);
    begin_scan(l);
    uint32_t got = scan_data(l, 0, false, true);
    end_scan(l, true);
    return got;
}

unsigned line_abort(struct line *l, uint32_t value)
{
    if (!l->jtag)
        return swd_transfer(l, 0, &value);
    set_instruction(l, IR_ABORT);
    begin_scan(l);
    pass(l, 3, false, false); // a write of register 0
    scan_data(l, value, true, false);
    end_scan(l, value >> 31);
    return LINE_OK;
}
