// Where trace goes: see the header.
#include "device/trace_unit.h"

#include <inttypes.h>

#include "device/coresight.h"

// TPIU, DDI 0314H and the TRMs of the cores
enum {
    SSPSR = 0x000,
    CSPSR = 0x004,
    ACPR = 0x010,
    SPPR = 0x0F0,
    FFSR = 0x300,
    FFCR = 0x304,
    FSCR = 0x308,
    DEVID = 0xFC8,
};
enum { SYNCHRONOUS, MANCHESTER, UART };
#define FFCR_ENFTC    (1u << 0)
#define FFCR_ENFCONT  (1u << 1)
#define FFCR_RESET    0x102u
#define FFCR_WRITABLE 0x143u
// CoreSight's TPIU, DDI 0480G 3.13.9 and 3.13.10: FFCR.FOnMan, StopFl; FFSR.FlInProg, FtStopped. Those of the
// cores cannot be stopped
#define FFCR_FLUSH   (1u << 6)
#define FFCR_STOPS   (1u << 12)
#define FFSR_FLUSHES (1u << 0)
#define FFSR_STOPPED (1u << 1)
enum { FLUSH_READS = 3 };
#define ACPR_WRITABLE 0x1FFFu
#define FFSR_IDLE     0x8u
#define DEVID_TPIU    0xCA0u
enum { UART_BITS = 10, BYTE_BITS = 8, EDGES = 2, TRACE_FRAME_LENGTH = 16 };
// RP2350 data sheet; pico-sdk's addressmap.h and coresight_trace.h. The funnel's inputs: bit 1 is the ETM of
// core 0 and bit 3 that of core 1 (czietz/etm-trace-rp2350, on a Pico 2), each next to its core's ITM; that
// the ITM of core 1 is bit 2 is inferred
enum {
    RP_ITM0 = 1 << 0,
    RP_ITM1 = 1 << 2,
    RP_PERIPHERALS = 0x40140000,
    RP_PERIPHERALS_SIZE = 0x10000,
    RP_FUNNEL = 0x7000,
    RP_TPIU = 0x8000,
    RP_FIFO = 0x50700000,
    RP_FIFO_SIZE = 0x4000,
    RP_SIO_SIZE = 0x1000,
    SIO_CPUID = 0,
    PAGE = 0x1000,
};
enum { FIFO_CTRL = 0, FIFO_DATA = 4, ALIAS_XOR = 1, ALIAS_SET = 2, ALIAS_CLEAR = 3 };
#define RP_SIO        0xD0000000u
#define CTRL_FLUSH    (1u << 0)
#define CTRL_OVERFLOW (1u << 1)
#define FULL_SYNC     0x7FFFFFFFu

static bool is_on(const struct trace_unit *u)
{
    return !u->quirks.no_trace_clock;
}

// The width of the port, of 1 to 32
static unsigned port_bits(const struct trace_unit *u)
{
    return u->tpiu.port_size ? 1 + (unsigned)__builtin_ctz(u->tpiu.port_size) : 1;
}

static uint64_t byte_time(void *self, unsigned core, unsigned id)
{
    const struct trace_unit *u = self;
    (void)id;
    (void)core;
    if (!is_on(u) || (u->route == TRACE_H7 && h7_stalls(&u->h7)))
        return ITM_NEVER;
    if (u->route == TRACE_H7 && !h7_to_pin(&u->h7))
        return ITM_FRACTION;
    if (u->route == TRACE_RP2350) // a transfer a cycle; the ITM gives a byte a cycle
        return port_bits(u) >= BYTE_BITS ? ITM_FRACTION : ITM_FRACTION * BYTE_BITS / port_bits(u);
    if (u->tpiu.protocol == SYNCHRONOUS)
        return ITM_FRACTION * BYTE_BITS / port_bits(u) + ITM_FRACTION / 2;
    uint64_t bits = u->tpiu.protocol == UART ? UART_BITS : UART_BITS * EDGES;
    return ITM_FRACTION * bits * (u->tpiu.prescaler + 1);
}

static uint32_t read_ffsr(struct trace_unit *u)
{
    if (u->route != TRACE_RP2350)
        return FFSR_IDLE;
    if (u->tpiu.flushing && --u->tpiu.flushing)
        return FFSR_FLUSHES;
    if (u->tpiu.formatting & FFCR_FLUSH && u->tpiu.formatting & FFCR_STOPS)
        u->tpiu.stopped = true;
    u->tpiu.formatting &= ~FFCR_FLUSH;
    return u->tpiu.stopped ? FFSR_STOPPED : 0;
}

static void write_ffcr(struct trace_unit *u, uint32_t value)
{
    bool stops = u->route == TRACE_RP2350;
    uint32_t changed = (value ^ u->tpiu.formatting) & (FFCR_ENFTC | FFCR_ENFCONT);
    u->tpiu.unstopped += stops && changed && !u->tpiu.stopped;
    u->tpiu.formatting = value & (FFCR_WRITABLE | (stops ? FFCR_STOPS : 0));
    u->tpiu.flushing = stops && (value & FFCR_FLUSH) ? FLUSH_READS : 0;
    u->tpiu.stopped = u->tpiu.stopped && (value & FFCR_STOPS);
}

static void push(struct rp_fifo *f, uint32_t entry)
{
    if (f->flushed)
        return;
    if (f->count == RP_ENTRIES) {
        f->overflow = true;
        f->dropped++;
        return;
    }
    f->entries[(f->first + f->count++) % RP_ENTRIES] = entry;
}

static void to_fifo(struct trace_unit *u, uint8_t byte)
{
    struct rp_fifo *f = &u->fifo;
    unsigned bytes = port_bits(u) >= BYTE_BITS ? port_bits(u) / BYTE_BITS : 1;
    if (u->quirks.no_wide_port)
        bytes = 1;
    f->word |= (uint32_t)byte << 8 * f->filled++;
    if (f->filled < bytes)
        return;
    if (f->flushed || f->count > 0 || !rp_dma_takes(&u->dma, RP_FIFO + FIFO_DATA, f->word))
        push(f, f->word);
    f->word = 0;
    f->filled = 0;
}

static void to_pin(struct trace_unit *u, uint8_t byte)
{
    double off = 1 + u->quirks.baud_permille / 1000.0;
    if (u->quirks.pin_used || (u->quirks.dark_pin && u->dbgmcu && (*u->dbgmcu & u->pin_bits) != u->pin_bits))
        return;
    if (u->tpiu.protocol != MANCHESTER && u->tpiu.protocol != UART)
        return;
    u->line.bytes[u->line.next++ % TRACE_LINE] = byte;
    unsigned edges = u->tpiu.protocol == UART ? 1 : EDGES;
    if (u->listen)
        u->listen(u->listener, byte, u->tpiu.protocol, u->clock * off / edges / (u->tpiu.prescaler + 1));
}

static void to_port(struct trace_unit *u, uint8_t byte)
{
    if (u->route == TRACE_RP2350)
        to_fifo(u, byte);
    else
        to_pin(u, byte);
}

static void take(void *self, unsigned core, unsigned id, uint8_t byte, uint64_t cycle)
{
    struct trace_unit *u = self;
    (void)cycle;
    if (u->route == TRACE_RP2350 && (u->tpiu.stopped || !(u->funnel & (core ? RP_ITM1 : RP_ITM0))))
        return;
    if (u->route == TRACE_H7) {
        if (h7_to_etf(&u->h7))
            tmc_take(&u->h7.etf, id, byte);
        if (h7_to_pin(&u->h7))
            to_pin(u, byte);
        return;
    }
    if (!(u->tpiu.formatting & (FFCR_ENFTC | FFCR_ENFCONT))) {
        to_port(u, byte);
        return;
    }
    if (formatter_put(&u->formatter, id, byte))
        for (unsigned i = 0; i < TRACE_FRAME_LENGTH; i++)
            to_port(u, u->formatter.frame[i]);
}

void trace_unit_catch_up(struct trace_unit *u)
{
    for (size_t i = 0; i < u->count; i++)
        u->seats[i].catch_up(u->seats[i].core);
}

uint32_t tpiu_read(struct trace_unit *u, uint32_t offset)
{
    static const struct component is = {
        .part = 0x9A1, .class = COMPONENT_CORESIGHT, .devtype = 0x11, .devid = DEVID_TPIU};
    switch (offset) {
    case SSPSR:
        return u->route == TRACE_RP2350 ? UINT32_MAX : 0xB;
    case CSPSR:
        return u->tpiu.port_size;
    case ACPR:
        return u->tpiu.prescaler;
    case SPPR:
        return u->tpiu.protocol;
    case FFSR:
        return read_ffsr(u);
    case FFCR:
        return u->tpiu.formatting;
    case FSCR:
        return u->tpiu.sync;
    default:
        return offset >= COMPONENT_IDS ? component_read(&is, offset) : 0;
    }
}

void tpiu_write(struct trace_unit *u, uint32_t offset, uint32_t value)
{
    trace_unit_catch_up(u);
    if (offset == CSPSR && value) {
        u->tpiu.unstopped += u->route == TRACE_RP2350 && !u->tpiu.stopped && value != u->tpiu.port_size;
        u->tpiu.port_size = value & -value;
    } else if (offset == ACPR)
        u->tpiu.prescaler = value & ACPR_WRITABLE;
    else if (offset == SPPR)
        u->tpiu.protocol = value & 3;
    else if (offset == FFCR)
        write_ffcr(u, value);
    else if (offset == FSCR)
        u->tpiu.sync = value;
}

static uint32_t read_fifo(struct trace_unit *u)
{
    struct rp_fifo *f = &u->fifo;
    trace_unit_catch_up(u);
    if ((u->tpiu.formatting & FFCR_ENFCONT) && !f->flushed) { // the port never rests: it is full of these
        f->overflow = true;
        return FULL_SYNC;
    }
    if (!f->count)
        return u->quirks.fifo_stale ? f->last : 0;
    f->last = f->entries[f->first];
    f->first = (f->first + 1) % RP_ENTRIES;
    f->count--;
    return f->last;
}

static uint32_t rp_fifo_read(void *self, uint32_t offset, enum bus_master master)
{
    struct trace_unit *u = self;
    (void)master;
    trace_unit_catch_up(u);
    if (offset % PAGE == FIFO_DATA)
        return read_fifo(u);
    return offset % PAGE == FIFO_CTRL
               ? (u->fifo.flushed ? CTRL_FLUSH : 0) | (u->fifo.overflow ? CTRL_OVERFLOW : 0)
               : 0;
}

static void rp_fifo_write(void *self, uint32_t offset, uint32_t value, enum bus_master master)
{
    struct trace_unit *u = self;
    struct rp_fifo *f = &u->fifo;
    (void)master;
    if (offset % PAGE != FIFO_CTRL)
        return;
    trace_unit_catch_up(u);
    uint32_t before = f->flushed ? CTRL_FLUSH : 0;
    switch (offset / PAGE) {
    case ALIAS_XOR:
        value ^= before;
        break;
    case ALIAS_SET:
        value |= before;
        break;
    case ALIAS_CLEAR: // of what writing ones clears, nothing is left to clear
        value = before & ~value;
        break;
    default:
        break;
    }
    if (value & CTRL_OVERFLOW)
        f->overflow = false;
    f->flushed = value & CTRL_FLUSH;
    if (f->flushed)
        f->count = f->filled = f->word = 0;
}

static uint32_t rp_read(void *self, uint32_t offset, enum bus_master master)
{
    static const struct component funnel = {.part = 0x9EB, .class = COMPONENT_CORESIGHT, .devtype = 0x12};
    struct trace_unit *u = self;
    (void)master;
    if (offset / PAGE == RP_TPIU / PAGE)
        return tpiu_read(u, offset % PAGE);
    if (offset / PAGE != RP_FUNNEL / PAGE)
        return 0;
    return offset % PAGE == 0 ? u->funnel : component_read(&funnel, offset % PAGE);
}

static void rp_write(void *self, uint32_t offset, uint32_t value, enum bus_master master)
{
    struct trace_unit *u = self;
    (void)master;
    if (offset / PAGE == RP_TPIU / PAGE)
        tpiu_write(u, offset % PAGE, value);
    if (offset != RP_FUNNEL)
        return;
    trace_unit_catch_up(u);
    u->funnel = value & 0xFFF;
}

// Single-cycle IO: each core sees its own, and debuggers see the one of the core that they go through
static uint32_t sio_read(void *self, uint32_t offset, enum bus_master master)
{
    const struct trace_seat *seat = self;
    (void)master;
    return offset == SIO_CPUID ? seat->number : 0;
}

static void sio_write(void *self, uint32_t offset, uint32_t value, enum bus_master master)
{
    (void)self, (void)offset, (void)value, (void)master;
}

static void reset_tpiu(struct trace_unit *u)
{
    u->tpiu = (struct tpiu){.port_size = 1, .protocol = MANCHESTER, .formatting = FFCR_RESET};
}

void trace_unit_start(struct trace_unit *u, enum trace_route route)
{
    u->route = route;
    if (!u->itm_fifo)
        u->itm_fifo = ITM_FIFO;
    trace_unit_power_on(u);
}

void trace_unit_power_on(struct trace_unit *u)
{
    reset_tpiu(u);
    u->funnel = 0x300;
    u->formatter = (struct formatter){.id = 0};
    u->fifo = (struct rp_fifo){.flushed = true};
    rp_dma_power_on(&u->dma);
    h7_trace_power_on(&u->h7, u);
}

bool trace_unit_add_debug(struct trace_unit *u, struct bus *bus)
{
    return u->route != TRACE_H7 || h7_trace_add_debug(&u->h7, bus);
}

bool trace_unit_add(struct trace_unit *u, struct bus *bus)
{
    if (u->route == TRACE_H7)
        return h7_trace_add(&u->h7, bus);
    if (u->route != TRACE_RP2350 || u->count == TRACE_CORES)
        return true;
    u->seats[u->count].number = (uint32_t)u->count;
    return bus_add_device(bus, (struct device){.base = RP_SIO,
                                               .size = RP_SIO_SIZE,
                                               .read = sio_read,
                                               .write = sio_write,
                                               .self = &u->seats[u->count]}) &&
           bus_add_device(bus, (struct device){.base = RP_PERIPHERALS,
                                               .size = RP_PERIPHERALS_SIZE,
                                               .read = rp_read,
                                               .write = rp_write,
                                               .self = u}) &&
           bus_add_device(bus, (struct device){.base = RP_FIFO,
                                               .size = RP_FIFO_SIZE,
                                               .read = rp_fifo_read,
                                               .write = rp_fifo_write,
                                               .self = u}) &&
           rp_dma_add(&u->dma, bus);
}

void trace_unit_sit(struct trace_unit *u, struct itm *itm, void (*catch_up)(void *core), void *core)
{
    if (u->route == TRACE_NOWHERE || u->count == TRACE_CORES)
        return;
    itm->core = (unsigned)u->count;
    itm->sink = (struct itm_sink){.self = u, .byte_time = byte_time, .take = take};
    u->seats[u->count] = (struct trace_seat){
        .unit = u, .itm = itm, .catch_up = catch_up, .core = core, .number = (uint32_t)u->count};
    u->count++;
}

void trace_unit_print(struct trace_unit *u, FILE *out)
{
    uint64_t from = u->line.next > TRACE_LINE ? u->line.next - TRACE_LINE : 0;
    trace_unit_catch_up(u);
    fprintf(out,
            "{\"fifo\":%u,\"overflow\":%s,\"dropped\":%" PRIu64 ",\"cspsr\":%" PRIu32 ",\"acpr\":%" PRIu32,
            u->fifo.count, u->fifo.overflow ? "true" : "false", u->fifo.dropped, u->tpiu.port_size,
            u->tpiu.prescaler);
    fprintf(out,
            ",\"etf\":%u,\"swo_funnel\":%" PRIu32 ",\"cs_funnel\":%" PRIu32
            ",\"etf_capturing\":%s,\"h7_dbgmcu\":%" PRIu32,
            u->h7.etf.level, u->h7.swo_funnel, u->h7.funnel, u->h7.etf.capturing ? "true" : "false",
            u->h7.dbgmcu);
    fprintf(out, ",\"may_trace\":%" PRIu32 ",\"dma_set\":%u,\"unstopped\":%u", u->dma.may_trace,
            rp_dma_set(&u->dma), u->tpiu.unstopped);
    fprintf(out,
            ",\"sppr\":%" PRIu32 ",\"ffcr\":%" PRIu32 ",\"funnel\":%" PRIu32 ",\"from\":%" PRIu64
            ",\"line\":\"",
            u->tpiu.protocol, u->tpiu.formatting, u->funnel, from);
    for (uint64_t i = from; i < u->line.next; i++)
        fprintf(out, "%02x", u->line.bytes[i % TRACE_LINE]);
    fputs("\"}", out);
}
