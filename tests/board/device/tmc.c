// TMC: see the header.
#include "device/tmc.h"

#include "device/coresight.h"

enum {
    RSZ = 0x004,
    STS = 0x00C,
    RRD = 0x010,
    RRP = 0x014,
    RWP = 0x018,
    TRG = 0x01C,
    CTL = 0x020,
    MODE = 0x028,
    LBUFLEVEL = 0x02C,
    CBUFLEVEL = 0x030,
    BUFWM = 0x034,
    FFSR = 0x300,
    FFCR = 0x304,
    PSCR = 0x308,
};
enum { CIRCULAR, SOFTWARE_FIFO, HARDWARE_FIFO };
#define STS_FULL      (1u << 0)
#define STS_READY     (1u << 2)
#define STS_FT_EMPTY  (1u << 3)
#define STS_EMPTY     (1u << 4)
#define FFCR_ENFT     (1u << 0)
#define FFCR_FLUSHMAN (1u << 6)
#define FFCR_STOPONFL (1u << 12)
#define FFSR_STOPPED  (1u << 1)
#define NOTHING       UINT32_MAX
enum { FRAME_WORDS_4 = 4, WORD_BYTES = 4 };

void tmc_power_on(struct tmc *t)
{
    *t = (struct tmc){.stopped = true};
}

static bool takes_more(const struct tmc *t)
{
    return t->capturing && !t->stopped;
}

// One that captures nothing lets the trace go by
bool tmc_takes(const struct tmc *t)
{
    return !takes_more(t) || t->mode != SOFTWARE_FIFO || t->level + FRAME_WORDS_4 <= TMC_WORDS;
}

static void store(struct tmc *t, uint32_t word)
{
    if (t->level == TMC_WORDS) { // circular: the oldest goes
        t->read = (t->read + 1) % TMC_WORDS;
        t->level--;
        t->full = true;
    }
    t->memory[(t->read + t->level++) % TMC_WORDS] = word;
    if (t->level > t->most)
        t->most = t->level;
}

static void store_frame(struct tmc *t)
{
    const uint8_t *b = t->formatter.frame;
    for (unsigned i = 0; i < FRAME_WORDS_4; i++, b += WORD_BYTES)
        store(t, b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24);
}

void tmc_take(struct tmc *t, unsigned id, uint8_t byte)
{
    if (!takes_more(t) || t->mode == HARDWARE_FIFO) // further on is the TPIU, with nothing on its port
        return;
    if (formatter_put(&t->formatter, id, byte))
        store_frame(t);
}

static void flush(struct tmc *t)
{
    if (takes_more(t) && t->level + FRAME_WORDS_4 <= TMC_WORDS && formatter_flush(&t->formatter))
        store_frame(t);
    t->stopped = t->stopped || (t->formatting & FFCR_STOPONFL);
}

// A FIFO that was switched off, or has stopped, still has to be read empty
static bool is_ready(const struct tmc *t)
{
    return (!t->capturing || t->stopped) && (t->mode != SOFTWARE_FIFO || !t->level);
}

// A circular buffer can be read when it has stopped, and after the capture
static uint32_t take_word(struct tmc *t)
{
    if (!t->level || (t->mode != SOFTWARE_FIFO && !is_ready(t)))
        return NOTHING;
    uint32_t word = t->memory[t->read];
    t->read = (t->read + 1) % TMC_WORDS;
    t->level--;
    return word;
}

static uint32_t take_most(struct tmc *t)
{
    uint32_t most = t->most;
    t->most = t->level;
    return most;
}

uint32_t tmc_read(struct tmc *t, uint32_t offset)
{
    static const struct component is = {
        .part = 0x961, .class = COMPONENT_CORESIGHT, .devtype = 0x32, .devid = 2u << 6 | 2u << 8};
    bool fifo_full = t->mode == SOFTWARE_FIFO && t->level + FRAME_WORDS_4 > TMC_WORDS;
    switch (offset) {
    case RSZ:
        return TMC_WORDS;
    case STS:
        return (t->full || fifo_full ? STS_FULL : 0) | (is_ready(t) ? STS_READY : 0) |
               (t->stopped || !t->capturing ? STS_FT_EMPTY : 0) | (t->level ? 0 : STS_EMPTY);
    case RRD:
        return take_word(t);
    case RRP:
        return WORD_BYTES * t->read;
    case RWP:
        return WORD_BYTES * ((t->read + t->level) % TMC_WORDS);
    case TRG:
        return t->trigger;
    case CTL:
        return t->capturing;
    case MODE:
        return t->mode;
    case LBUFLEVEL:
        return take_most(t);
    case CBUFLEVEL:
        return t->capturing ? t->level : 0;
    case BUFWM:
        return t->watermark;
    case FFSR:
        return t->stopped || !t->capturing ? FFSR_STOPPED : 0;
    case FFCR:
        return t->formatting;
    case PSCR:
        return t->sync;
    default:
        return offset >= COMPONENT_IDS ? component_read(&is, offset) : 0;
    }
}

static void capture(struct tmc *t, bool on)
{
    if (on == t->capturing)
        return;
    if (!on && t->mode == CIRCULAR)
        flush(t);
    t->capturing = on;
    if (!on)
        return;
    t->stopped = t->full = false;
    t->read = t->level = t->most = 0;
    t->formatter = (struct formatter){.id = 0};
}

void tmc_write(struct tmc *t, uint32_t offset, uint32_t value)
{
    if (offset == CTL)
        capture(t, value & 1);
    else if (offset == MODE && !t->capturing && is_ready(t))
        t->mode = (value & 3) <= HARDWARE_FIFO ? value & 3 : CIRCULAR;
    else if (offset == TRG)
        t->trigger = value;
    else if (offset == BUFWM)
        t->watermark = value;
    else if (offset == PSCR)
        t->sync = value;
    else if (offset == FFCR) {
        uint32_t kept =
            t->capturing ? t->formatting & FFCR_ENFT : value & FFCR_ENFT; // EnFt: only while it rests
        t->formatting = (value & ~(FFCR_FLUSHMAN | FFCR_ENFT)) | kept;
        if (value & FFCR_FLUSHMAN)
            flush(t);
    }
}
