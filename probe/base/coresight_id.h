/*
 * What access ports and CoreSight components say that they are, and how ROM tables lead from one to the next.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* --- access ports: IDR, IHI 0031 C2.6.4 ----------------------------------------------------------------- */

enum { IDR_CLASS = 0xF << 13, IDR_CLASS_MEMORY = 8 << 13, IDR_TYPE = 0xF };

/* PORT_NONE: it has no memory, or cannot be read. */
enum port_bus { PORT_NONE, PORT_OTHER, PORT_JTAG, PORT_AHB, PORT_APB, PORT_AXI };

static inline enum port_bus port_bus_of(uint32_t idr)
{
    static const uint8_t buses[] = {PORT_JTAG, PORT_AHB, PORT_APB, PORT_OTHER, PORT_AXI,
                                    PORT_AHB,  PORT_APB, PORT_AXI, PORT_AHB};
    unsigned type = idr & IDR_TYPE;
    return type < sizeof buses ? (enum port_bus)buses[type] : PORT_OTHER;
}

/* --- components: IHI 0029 B2.2; DEVARCH, DEVID and DEVTYPE of class 9 only ------------------------------ */

enum {
    COMPONENT_DEVARCH = 0xFBC,
    COMPONENT_DEVID = 0xFC8,
    COMPONENT_DEVTYPE = 0xFCC,
    COMPONENT_PIDR4 = 0xFD0,
    COMPONENT_PIDR0 = 0xFE0,
    COMPONENT_CIDR0 = 0xFF0,
    COMPONENT_CIDR1 = 0xFF4
};
enum { CLASS_ROM = 0x1, CLASS_CORESIGHT = 0x9, CLASS_GENERIC = 0xE };
/* DEVARCH.ARCHID; the System Control Space's: DDI 0553 D1.2. */
enum { ARCHID_ROM = 0x0AF7, ARCHID_MEM_AP = 0x0A17, ARCHID_SCS = 0x2A04 };

/* --- ROM tables: IHI 0031 D2.2 (class 1) and IHI 0074 D3 (class 9) -------------------------------------- */

enum { ROM_DEPTH = 4 }; /* tables in tables that are followed */
static const uint32_t ROM_OFFSET = 0xFFFFF000;

enum rom_entry { ROM_END, ROM_ABSENT, ROM_PRESENT };

/* An entry of 0 ends a table; one that is not present is skipped. */
static inline enum rom_entry rom_entry_of(bool class_1, uint32_t entry)
{
    if (class_1 ? entry == 0 : (entry & 3) == 0)
        return ROM_END;
    return (class_1 ? (entry & 1) == 1 : (entry & 3) == 3) ? ROM_PRESENT : ROM_ABSENT;
}

/* How many words an entry has, by DEVID of class 9. */
static inline unsigned rom_entry_words(uint32_t devid)
{
    return (devid & 0xF) == 0 ? 1 : 2;
}

static inline unsigned rom_entries(bool class_1, unsigned words)
{
    return class_1 ? 960 : 512 / words;
}
