/*
 * Debug adapters that are plugged in and do not speak CMSIS-DAP: what they are, and how they are reached all
 * the same. Pure.
 */
#pragma once

#include <stdint.h>

struct adapter {
    uint16_t vendor, product; /* product 0: any of that vendor */
    const char *name;         /* "ST-Link V2-1" */
    const char *way;          /* "reached through OpenOCD: ..." */
};

/* One that is plugged in. */
struct adapter_found {
    const struct adapter *adapter;
    uint16_t vendor, product;
    char name[64], serial[64]; /* as it calls itself; may be empty */
};

const struct adapter *adapter_find(uint16_t vendor, uint16_t product); /* NULL: none that is known */
