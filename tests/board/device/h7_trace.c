// STM32H7: see the header.
#include "device/h7_trace.h"

#include "device/coresight.h"
#include "device/trace_unit.h"

enum { BLOCK = 0x1000, SIZE = 0x20000, OF_DEBUGGERS = 0xE00E0000, OF_SOFTWARE = 0x5C000000 };
enum { IDCODE = 0x000, CR = 0x004, CTRL = 0x000, LAR = 0xFB0, LSR = 0xFB4 };
// RM0433 60.5.8: the clocks of the pins, of domain 1 and of domain 3
#define TRACECLKEN   (1u << 20)
#define D1DBGCKEN    (1u << 21)
#define D3DBGCKEN    (1u << 22)
#define CR_WRITABLE  0x107001C7u
#define IDC          0x20036450u // of the 743, revision V
#define LAR_KEY      0xC5ACCE55u
#define SWTF_CM7     (1u << 0)
#define CSTF_ITM     (1u << 1) // of the M7; that of an M4 is in no source
#define FUNNEL_RESET 0x300u
#define FUNNEL_HOLD  0xF00u
enum {
    PLAIN_PORTS = 2,
    PLAIN_PART = 0x123
}; // DEVID.PORTCOUNT of the funnel: it has no enables for more ports

static enum h7_block block_at(uint32_t offset)
{
    static const struct {
        uint32_t page;
        enum h7_block is;
    } blocks[] = {{0x01, H7_DBGMCU}, {0x03, H7_SWO}, {0x04, H7_SWO_FUNNEL},
                  {0x13, H7_FUNNEL}, {0x14, H7_ETF}, {0x15, H7_TPIU}};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (blocks[i].page == offset / BLOCK)
            return blocks[i].is;
    return H7_BLOCKS;
}

// SWO and its funnel are in domain 3, the others in domain 1
static bool is_clocked(const struct h7_trace *h, enum h7_block block)
{
    if (h->unit->quirks.plain_etf)
        return block == H7_FUNNEL || block == H7_ETF;
    if (block == H7_DBGMCU)
        return true;
    return h->dbgmcu & (block == H7_SWO || block == H7_SWO_FUNNEL ? D3DBGCKEN : D1DBGCKEN);
}

bool h7_to_pin(const struct h7_trace *h)
{
    return is_clocked(h, H7_SWO) && (h->swo_funnel & SWTF_CM7);
}

bool h7_to_etf(const struct h7_trace *h)
{
    return is_clocked(h, H7_ETF) && (h->funnel & CSTF_ITM) && !h->unit->quirks.m4_core;
}

bool h7_stalls(const struct h7_trace *h)
{
    return (h7_to_pin(h) && !(h->dbgmcu & TRACECLKEN)) || (h7_to_etf(h) && !tmc_takes(&h->etf));
}

static uint32_t read_block(struct h7_trace *h, enum h7_block block, uint32_t offset, bool locks)
{
    static const struct component
        funnel = {.part = 0x908, .class = COMPONENT_CORESIGHT, .devtype = 0x12},
        of_two = {.part = 0x908, .class = COMPONENT_CORESIGHT, .devtype = 0x12, .devid = PLAIN_PORTS},
        swo = {.part = 0x914, .class = COMPONENT_CORESIGHT, .devtype = 0x11, .devid = 0xEA0};
    if (offset == LSR && block != H7_DBGMCU)
        return locks ? 1u | (h->open[block] ? 0 : 2u) : 0;
    switch (block) {
    case H7_DBGMCU:
        return offset == IDCODE ? IDC : offset == CR ? h->dbgmcu : 0;
    case H7_SWO:
        return offset >= COMPONENT_IDS ? component_read(&swo, offset) : tpiu_read(h->unit, offset);
    case H7_SWO_FUNNEL:
        return offset == CTRL ? h->swo_funnel : component_read(&funnel, offset);
    case H7_FUNNEL:
        return offset == CTRL ? h->funnel
                              : component_read(h->unit->quirks.plain_etf ? &of_two : &funnel, offset);
    case H7_ETF:
        return tmc_read(&h->etf, offset);
    default:
        return 0;
    }
}

static void write_block(struct h7_trace *h, enum h7_block block, uint32_t offset, uint32_t value)
{
    enum { SWO_CODR = 0x010, SWO_SPPR = 0x0F0 };
    switch (block) {
    case H7_DBGMCU:
        h->dbgmcu = offset == CR ? value & CR_WRITABLE : h->dbgmcu;
        break;
    case H7_SWO:
        if (offset == SWO_CODR || offset == SWO_SPPR)
            tpiu_write(h->unit, offset, value);
        break;
    case H7_SWO_FUNNEL:
        h->swo_funnel = offset == CTRL ? value & 0xFFF : h->swo_funnel;
        break;
    case H7_FUNNEL:
        if (offset == CTRL)
            h->funnel = value & (h->unit->quirks.plain_etf ? FUNNEL_HOLD | ((1u << PLAIN_PORTS) - 1) : 0xFFF);
        break;
    case H7_ETF:
        tmc_write(&h->etf, offset, value);
        break;
    default:
        break;
    }
}

static uint32_t read_at(struct h7_trace *h, uint32_t offset, bool locks)
{
    enum h7_block block = block_at(offset);
    if (block == H7_BLOCKS || !is_clocked(h, block))
        return 0;
    trace_unit_catch_up(h->unit);
    return read_block(h, block, offset % BLOCK, locks);
}

static void write_at(struct h7_trace *h, uint32_t offset, uint32_t value, bool locks)
{
    enum h7_block block = block_at(offset);
    if (block == H7_BLOCKS || !is_clocked(h, block))
        return;
    trace_unit_catch_up(h->unit);
    if (offset % BLOCK == LAR && block != H7_DBGMCU)
        h->open[block] = value == LAR_KEY;
    else if (!locks || block == H7_DBGMCU || h->open[block])
        write_block(h, block, offset % BLOCK, value);
}

static uint32_t software_read(void *self, uint32_t offset, enum bus_master master)
{
    (void)master;
    return read_at(self, offset, true);
}

static void software_write(void *self, uint32_t offset, uint32_t value, enum bus_master master)
{
    (void)master;
    write_at(self, offset, value, true);
}

static uint32_t debugger_read(void *self, uint32_t offset, enum bus_master master)
{
    (void)master;
    return read_at(self, offset, false);
}

static void debugger_write(void *self, uint32_t offset, uint32_t value, enum bus_master master)
{
    (void)master;
    write_at(self, offset, value, false);
}

void h7_trace_power_on(struct h7_trace *h, struct trace_unit *unit)
{
    *h = (struct h7_trace){.unit = unit, .swo_funnel = FUNNEL_RESET, .funnel = FUNNEL_RESET};
    tmc_power_on(&h->etf);
}

bool h7_trace_add(struct h7_trace *h, struct bus *of_the_core)
{
    return bus_add_device(
        of_the_core,
        (struct device){
            .base = OF_SOFTWARE, .size = SIZE, .read = software_read, .write = software_write, .self = h});
}

bool h7_trace_add_debug(struct h7_trace *h, struct bus *of_debuggers)
{
    static const uint32_t entries[] = {0x00003003, 0x00004003, 0x00013003, 0x00014003, 0x00015003};
    static const struct rom_table rom = {.base = OF_DEBUGGERS,
                                         .is = {.part = 0x450, .designer = 0x20, .class = COMPONENT_ROM},
                                         .entries = entries,
                                         .count = sizeof entries / sizeof *entries};
    static const struct rom_table plain = {
        .base = OF_DEBUGGERS,
        .is = {.part = PLAIN_PART, .designer = 0x20, .class = COMPONENT_ROM},
        .entries = entries,
        .count = sizeof entries / sizeof *entries};
    return rom_table_add(of_debuggers, h->unit->quirks.plain_etf ? &plain : &rom) &&
           bus_add_device(of_debuggers, (struct device){.base = OF_DEBUGGERS,
                                                        .size = SIZE,
                                                        .read = debugger_read,
                                                        .write = debugger_write,
                                                        .self = h});
}
