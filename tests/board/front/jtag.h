// A JTAG test access port with a JTAG-DP (IEEE 1149.1; IHI 0031 B3). It takes clock edges and gives
// TDO.
#ifndef BOARD_FRONT_JTAG_H
#define BOARD_FRONT_JTAG_H

#include "adi.h"

struct jtag_request {
    bool waiting; // not accepted by the access port yet
    bool read;
    unsigned address;
    uint32_t value;
};

enum { SOC_600 = 0x4BA06477 }; // the IDCODE of a JTAG-DP of protocol 1

struct jtag {
    struct adi *adi;
    uint32_t idcode;
    bool protocol_1; // OK is a separate acknowledge
    unsigned state;
    unsigned instruction;
    uint64_t shift;
    unsigned length; // of the selected data register
    bool busy;       // WAIT was captured, so the scan's request is dropped
    uint32_t result; // of the last request
    struct jtag_request request;
};

void jtag_init(struct jtag *, struct adi *, uint32_t idcode);
void jtag_reset(struct jtag *);                     // TRST
void jtag_clock(struct jtag *, bool tms, bool tdi); // a rising edge of TCK
bool jtag_tdo(const struct jtag *);

#endif
