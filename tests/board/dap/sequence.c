// Commands that move the pins directly: DAP_SWJ_Pins, DAP_SWJ_Sequence, DAP_SWD_Sequence, DAP_JTAG_Sequence.
#include "dap/processor.h"

enum {
    PIN_CLOCK = 1 << 0,
    PIN_TMS = 1 << 1,
    PIN_TDI = 1 << 2,
    PIN_TDO = 1 << 3,
    PIN_TRST = 1 << 5,
    PIN_RESET = 1 << 7
};
enum { WAIT_MAX_US = 3000000, WAIT_STEP_US = 100, NS_PER_US = 1000 };
enum {
    COUNT = 0x3F,
    COUNT_MAX = 64,
    SWJ_COUNT_MAX = 256,
    SWD_INPUT = 0x80,
    JTAG_TMS = 0x40,
    JTAG_CAPTURE = 0x80
};

static unsigned bytes_of(unsigned bits)
{
    return (bits + 7) / 8;
}

static unsigned count_of(unsigned info)
{
    return info & COUNT ? info & COUNT : COUNT_MAX;
}

static unsigned pins_now(const struct processor *p)
{
    const struct pins *pins = p->line.pins;
    unsigned level = p->levels & (PIN_CLOCK | PIN_TDI | PIN_TRST | PIN_RESET);
    level |= swd_level(&pins->swd, true, p->levels & PIN_TMS) ? PIN_TMS : 0u;
    return level | (pins_tdo(pins) ? PIN_TDO : 0u);
}

void sequence_pins(struct processor *p, struct bytes *in, struct answer *out)
{
    unsigned wanted = bytes_take(in, 1), select = bytes_take(in, 1), before = p->levels;
    uint32_t wait = bytes_take(in, 4);
    if (in->bad)
        return;
    select &= PIN_CLOCK | PIN_TMS | PIN_TDI | PIN_TRST | PIN_RESET;
    if (p->port != PORT_NONE) {
        p->levels = (before & ~select) | (wanted & select);
        p->line.pins->trst_low = !(p->levels & PIN_TRST);
        if ((before ^ p->levels) & PIN_RESET)
            p->line.pins->reset(p->line.pins->self, !(p->levels & PIN_RESET));
        if (p->levels & ~before & PIN_CLOCK)
            pins_clock(p->line.pins, true, p->levels & PIN_TMS, p->levels & PIN_TDI);
        p->line.instruction = 0;
        processor_pace(p);
    }
    wait = wait < WAIT_MAX_US ? wait : WAIT_MAX_US;
    while (wait && ((pins_now(p) ^ wanted) & select) && !processor_stopped(p)) {
        uint32_t step = wait < WAIT_STEP_US ? wait : WAIT_STEP_US;
        processor_pass(p, (uint64_t)step * NS_PER_US);
        wait -= step;
    }
    answer_put(out, pins_now(p), 1);
}

void sequence_swj(struct processor *p, struct bytes *in, struct answer *out)
{
    unsigned count = bytes_take(in, 1), byte = 0;
    count = count ? count : SWJ_COUNT_MAX;
    if (in->bad || bytes_left(in) < bytes_of(count)) {
        in->bad = true;
        return;
    }
    for (unsigned i = 0; i < count; i++, byte >>= 1) {
        if (i % 8 == 0)
            byte = bytes_take(in, 1);
        if (p->port != PORT_NONE)
            pins_clock(p->line.pins, !p->floats, byte & 1, true);
    }
    if (p->quirks & QUIRK_CLOCK_FORGETS)
        processor_set_clock(p, PROCESSOR_HZ);
    p->line.instruction = 0;
    processor_pace(p);
    answer_put(out, p->port != PORT_NONE ? DAP_DONE : DAP_FAILED, 1);
}

// All sequences are there, and so is room for what they bring
static bool whole(const struct bytes *in, const struct answer *out, unsigned pieces, bool jtag)
{
    struct bytes look = *in;
    size_t room = 1;
    while (pieces--) {
        unsigned info = bytes_take(&look, 1), length = bytes_of(count_of(info));
        room += info & (jtag ? JTAG_CAPTURE : SWD_INPUT) ? length : 0;
        bytes_skip(&look, jtag || !(info & SWD_INPUT) ? length : 0);
    }
    return !look.bad && room <= answer_room(out);
}

static bool one_clock(struct processor *p, unsigned info, bool bit, bool jtag)
{
    struct pins *pins = p->line.pins;
    if (!jtag)
        return pins_clock(pins, !(info & SWD_INPUT), bit, true);
    bool tdo = pins_tdo(pins);
    pins_clock(pins, true, info & JTAG_TMS, bit);
    return tdo;
}

static void piece(struct processor *p, struct bytes *in, struct answer *out, bool jtag)
{
    unsigned info = bytes_take(in, 1), byte = 0, got = 0, count = count_of(info);
    bool brings = info & (jtag ? JTAG_CAPTURE : SWD_INPUT), takes = jtag || !brings;
    for (unsigned i = 0; i < count; i++) {
        if (i % 8 == 0) {
            byte = takes ? bytes_take(in, 1) : 0;
            got = 0;
        }
        got |= (unsigned)one_clock(p, info, byte >> i % 8 & 1, jtag) << i % 8;
        if (brings && (i % 8 == 7 || i + 1 == count))
            answer_put(out, got, 1);
    }
}

static void run(struct processor *p, struct bytes *in, struct answer *out, bool jtag)
{
    unsigned pieces = bytes_take(in, 1);
    if (in->bad || !whole(in, out, pieces, jtag)) {
        in->bad = true;
        return;
    }
    bool right = p->port == (jtag ? PORT_JTAG : PORT_SWD);
    answer_put(out, right ? DAP_DONE : DAP_FAILED, 1);
    while (pieces--) {
        if (right) {
            piece(p, in, out, jtag);
            continue;
        }
        unsigned info = bytes_take(in, 1);
        bytes_skip(in, jtag || !(info & SWD_INPUT) ? bytes_of(count_of(info)) : 0);
    }
    p->line.instruction = 0;
    processor_pace(p);
}

void sequence_swd(struct processor *p, struct bytes *in, struct answer *out)
{
    run(p, in, out, false);
}

void sequence_jtag(struct processor *p, struct bytes *in, struct answer *out)
{
    run(p, in, out, true);
}
