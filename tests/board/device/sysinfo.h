// The one register of RP2040's SYSINFO that says what chip it is: CHIP_ID (data sheet 2.20).
#ifndef BOARD_DEVICE_SYSINFO_H
#define BOARD_DEVICE_SYSINFO_H

#include "bus.h"

// `id` must outlive the bus
bool sysinfo_add(struct bus *, uint32_t base, const uint32_t *id);

#endif
