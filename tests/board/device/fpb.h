// The breakpoint unit: FPB version 1 of Armv7-M (DDI 0403E C1.11), version 2 of Armv8-M (DDI 0553B D1.2,
// FP_CTRL and FP_COMPn), which reaches any address but does not remap, BPU of Armv6-M (DDI 0419 C1.8). Only
// instruction comparators that stop the core are modelled, not the remapping of the FPB nor its literal
// comparators.
#ifndef BOARD_DEVICE_FPB_H
#define BOARD_DEVICE_FPB_H

#include <stdbool.h>
#include <stdint.h>

enum { FPB_COMPARATORS = 8 };

struct fpb {
    bool v2;
    unsigned code, literal; // numbers of comparators, code first
    bool enabled;
    uint32_t comp[FPB_COMPARATORS];
    uint32_t remap;
    uint64_t bloom; // a bit for each address that may match, to dismiss the others fast
};

uint32_t fpb_read(const struct fpb *, uint32_t offset);
void fpb_power_on(struct fpb *);
void fpb_write(struct fpb *, uint32_t offset, uint32_t value);
bool fpb_match(const struct fpb *, uint32_t pc);

#endif
