/* SPDX-License-Identifier: MIT */
/*
 * What chips want to be written before their trace leaves by SWO, next to DEMCR, DWT, ITM and TPIU. Chips
 * are known by the ROM table of the core's access port: designer and part number. Of all others this is the
 * program's, or the board file's.
 */
#include "base/arm_debug.h"
#include "find/coresight.h"
#include "trace/trace.h"

#include <stdio.h>

enum { ROM_V7 = 0xE00FF000 }; /* DDI 0403 C1.2, where the link does not say which port it is */

enum { PIN_PARTS = 24 };

static const struct trace_pins {
    uint16_t designer, parts[PIN_PARTS]; /* none: all of this designer */
    bool is_v8;
    uint32_t at, clear, set;
    const char *name;
    uint32_t port;  /* GPIO, whose pin 3 is SWO as alternate function 0; 0: not known */
    double port_hz; /* the pin's clock after that; 0: the core's */
} trace_pins_table[] = {
    /* DBGMCU_CR: TRACE_IOEN, and TRACE_MODE asynchronous: RM0090 38.16.3. F2, F4, F7, L1 have GPIOB here */
    {.designer = 0x020,
     .parts = {0x411, 0x413, 0x419, 0x423, 0x431, 0x433, 0x421, 0x434, 0x458, 0x441, 0x463, 0x449, 0x451,
               0x452, 0x416, 0x427, 0x429, 0x436, 0x437},
     .at = 0xE0042004,
     .clear = 0xC0,
     .set = 0x20,
     .name = "DBGMCU_CR",
     .port = 0x40020400},
    /* The same register; F3, L4, G4 and WB: OpenOCD's stm32f3x.cfg, stm32l4x.cfg, stm32g4x.cfg. WL (0x497),
     * whose manual does not name the bits: STM32CubeWL issue 20, and probe-rs' stm32_armv7.rs */
    {.designer = 0x020,
     .parts = {0x422, 0x432, 0x438, 0x439, 0x446, 0x415, 0x435, 0x461, 0x462, 0x464, 0x470, 0x471, 0x468,
               0x469, 0x479, 0x494, 0x495, 0x497},
     .at = 0xE0042004,
     .clear = 0xC0,
     .set = 0x20,
     .name = "DBGMCU_CR",
     .port = 0x48000400},
    /* F1: RM0008 31.16.3; its pins have no alternate functions of this kind */
    {.designer = 0x020,
     .parts = {0x410, 0x412, 0x414, 0x418, 0x420, 0x428, 0x430},
     .at = 0xE0042004,
     .clear = 0xC0,
     .set = 0x20,
     .name = "DBGMCU_CR"},
    /* TRACE_IOEN and TRACE_EN of L5, U3, U5: OpenOCD's stm32l5x.cfg, stm32u5x.cfg */
    {.designer = 0x020,
     .parts = {0x472, 0x482, 0x455, 0x481, 0x476, 0x454},
     .is_v8 = true,
     .at = 0xE0044004,
     .clear = 0xC0,
     .set = 0x30,
     .name = "DBGMCU_CR",
     .port = 0x42020400},
    /* The same bits of an H5, as its core sees them: its core is at access port 1, and 0xE0044004 is what
     * port 0 sees. RM0481 59.12.4, DBGMCU_BASE of ST's stm32h563xx.h, STM32H5xx_DFP, Black Magic's pull
     * request 1897 */
    {.designer = 0x020,
     .parts = {0x484, 0x474, 0x478},
     .is_v8 = true,
     .at = 0x44024004,
     .clear = 0xC0,
     .set = 0x30,
     .name = "DBGMCU_CR",
     .port = 0x42020400},
    /* CLOCK.TRACECONFIG: TRACEMUX serial, TRACEPORTSPEED 32 MHz: nrf52_bitfields.h; OpenOCD's nrf52.cfg */
    {.designer = 0x244,
     .at = 0x4000055C,
     .clear = 0x30003,
     .set = 0x10000,
     .name = "TRACECONFIG",
     .port_hz = 32e6}};

static const struct trace_pins *pins_find(const struct trace *trace, const struct deadline *deadline)
{
    const struct device_core *chosen = trace->device->chosen;
    struct error unread = {0};
    struct component table;
    uint64_t rom;
    if (!discovery_rom(trace->device->ledger, &chosen->view, &rom, deadline))
        rom = ROM_V7;
    if (!coresight_look(trace->device->ledger, chosen->core.unit, rom, &table, deadline, &unread) ||
        !table.readable)
        return NULL;
    for (size_t i = 0; i < sizeof trace_pins_table / sizeof *trace_pins_table; i++) {
        const struct trace_pins *pins = &trace_pins_table[i];
        bool fits = pins->parts[0] == 0;
        for (size_t k = 0; k < PIN_PARTS && pins->parts[k] != 0; k++)
            fits = fits || pins->parts[k] == table.part;
        if (fits && pins->designer == table.designer && pins->is_v8 == trace->is_v8)
            return pins;
    }
    return NULL;
}

bool trace_open_pin(struct trace *trace, const struct deadline *deadline, struct error *error)
{
    const struct trace_pins *pins = pins_find(trace, deadline);
    if (pins == NULL)
        return true;
    const struct setting on = {.at = core_word(&trace->device->chosen->core, pins->at),
                               .test = pins->clear | pins->set,
                               .keep = ~(uint64_t)pins->clear,
                               .set = pins->set,
                               .restore = {.how = RESTORE_BITS, .mask = pins->clear | pins->set},
                               .watched = pins->name};
    trace->with_clock = *trace->request;
    trace->with_clock.clock_hz = pins->port_hz > 0 ? pins->port_hz : trace->request->clock_hz;
    trace->request = &trace->with_clock;
    return trace_set(trace, on, deadline, error);
}

/* GPIO of STM32 from F2 on: MODER, and the alternate functions of pins 0 to 7. RM0090 8.4 */
bool trace_pin_is_used(struct trace *trace, const struct deadline *deadline)
{
    enum { MODER = 0x00, AFRL = 0x20, PIN = 3, ALTERNATE = 2 };
    const struct trace_pins *pins = pins_find(trace, deadline);
    const struct core *core = &trace->device->chosen->core;
    struct error unread = {0};
    uint64_t mode, function;
    if (pins == NULL || pins->port == 0 ||
        !ledger_read(trace->device->ledger, core_word(core, pins->port + MODER), &mode, deadline, &unread) ||
        !ledger_read(trace->device->ledger, core_word(core, pins->port + AFRL), &function, deadline, &unread))
        return false;
    return mode != 0 && ((mode >> 2 * PIN & 3) != ALTERNATE || (function >> 4 * PIN & 0xF) != 0);
}
