// What SELECT addresses in ADIv6 (IHI 0074 B2.2, C2, D3): a ROM table of class 9 at 0, and the access ports
// that it names, 4 KB each. A MEM-AP has its registers at 0xD00, the memory around TAR in its first KB (DAR0
// to DAR255), and at its end what every component has.
#ifndef BOARD_DEBUG_SPACE_H
#define BOARD_DEBUG_SPACE_H

#include "adi.h"

// Of a large space the table lies above the ports, so that its entries, of 64 bits, are negative. The ports
// are then those of an ADIv5 chip, in adapters (pyOCD and OpenOCD know them by ARCHID 0x0A47).
uint32_t debug_space_rom(const struct adi *);
// DAR among a MEM-AP's registers, after those that ADIv5 has, too
enum { AP_DAR = 0x1000, AP_DAR_SIZE = 0x400 };

enum space_place {
    SPACE_NOWHERE, // an access there dies
    SPACE_SILENT,  // reads as zero, whatever is written
    SPACE_SAYS,    // what the ROM table or the port says of itself
    SPACE_PORT,    // `reg` of a MEM-AP, as ADIv5 numbers it, or DAR
};

// The address is A[3:2] of the transaction. `ap` stays NULL for the ROM table.
enum space_place debug_space_find(struct adi *, unsigned address, struct mem_ap **ap, unsigned *reg);
uint32_t debug_space_says(const struct adi *, const struct mem_ap *, unsigned offset);

#endif
