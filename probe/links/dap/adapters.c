#include "links/dap/adapters.h"

#include <stddef.h>

enum { ST = 0x0483, SEGGER = 0x1366, FTDI = 0x0403, RASPBERRY_PI = 0x2E8A };

#define STLINK "reached through OpenOCD: pmu-probe -f interface/stlink.cfg -f target/YOUR_CHIP.cfg info"
#define LOADER                                                                                               \
    "in its boot loader: plug it in again; if it stays there, ST's STSW-LINK007 loads its firmware anew"
#define JLINK                                                                                                \
    "reached through OpenOCD: pmu-probe -f interface/jlink.cfg -c 'transport select swd' -f "                \
    "target/YOUR_CHIP.cfg info"
#define MPSSE                                                                                                \
    "a debug adapter may be built on it, reached through OpenOCD: pmu-probe -f "                             \
    "interface/ftdi/YOUR_ADAPTER.cfg -f target/YOUR_CHIP.cfg info"
#define BOOTSEL(image)                                                                                       \
    "no probe yet: load the debugprobe firmware, " image                                                     \
    ", by copying it to its drive; to be measured, press no button when you plug it in"

/* The product IDs of OpenOCD 0.12: src/jtag/drivers/stlink_usb.c, and its interface files for FTDI's. */
static const struct adapter adapters[] = {
    {ST, 0x3744, "ST-Link V1", STLINK},
    {ST, 0x3748, "ST-Link V2", STLINK},
    {ST, 0x374B, "ST-Link V2-1", STLINK},
    {ST, 0x3752, "ST-Link V2-1", STLINK},
    {ST, 0x374D, "ST-Link V3", LOADER},
    {ST, 0x374E, "ST-Link V3", STLINK},
    {ST, 0x374F, "ST-Link V3", STLINK},
    {ST, 0x3753, "ST-Link V3", STLINK},
    {ST, 0x3754, "ST-Link V3", STLINK},
    {ST, 0x3755, "ST-Link V3PWR", LOADER},
    {ST, 0x3757, "ST-Link V3PWR", STLINK},
    {SEGGER, 0, "J-Link", JLINK},
    {FTDI, 0x6010, "FTDI FT2232", MPSSE},
    {FTDI, 0x6011, "FTDI FT4232H", MPSSE},
    {FTDI, 0x6014, "FTDI FT232H", MPSSE},
    {RASPBERRY_PI, 0x0003, "Pico in BOOTSEL mode", BOOTSEL("debugprobe_on_pico.uf2")},
    {RASPBERRY_PI, 0x000F, "Pico 2 in BOOTSEL mode", BOOTSEL("debugprobe_on_pico2.uf2")},
};

const struct adapter *adapter_find(uint16_t vendor, uint16_t product)
{
    for (size_t i = 0; i < sizeof adapters / sizeof *adapters; i++)
        if (adapters[i].vendor == vendor && (adapters[i].product == product || adapters[i].product == 0))
            return &adapters[i];
    return NULL;
}
