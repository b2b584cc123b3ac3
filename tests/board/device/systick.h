// The SysTick timer (DDI 0419 B3.3, DDI 0403E B3.3): a 24-bit down counter. It is worked out from the count
// of cycles when it is read or when it must pend its exception, never ticked. With CLKSOURCE = 0 it counts
// the chip's reference clock, an edge at each count that its cycles divide, and that stops with the core's
// own.
#ifndef BOARD_DEVICE_SYSTICK_H
#define BOARD_DEVICE_SYSTICK_H

#include <stdbool.h>
#include <stdint.h>

struct systick_reference {
    unsigned cycles;      // of the core in one of it; 0: there is none
    uint32_t calibration; // SYST_CALIB
};

struct systick {
    struct systick_reference reference;
    bool enabled, interrupts, countflag;
    bool of_processor; // CLKSOURCE, as it was written
    uint32_t reload, value;
    uint64_t at;        // `value` was right at this count
    uint64_t next_zero; // count of the next step from 1 to 0, UINT64_MAX if there is none
};

void systick_reset(struct systick *, uint64_t now);
// Brings it to `now`. true: its exception becomes pending.
bool systick_advance(struct systick *, uint64_t now);
// Offsets from SYST_CSR; call systick_advance first
uint32_t systick_read(struct systick *, uint32_t offset, bool clears_countflag);
uint32_t systick_peek(const struct systick *, uint32_t offset);
void systick_write(struct systick *, uint32_t offset, uint32_t value);

#endif
