// The trace of an STM32H7 (RM0433 60.5): two funnels, an ETF, a CoreSight SWO block, and DBGMCU, which gives
// them their clocks. Debuggers find them through access port 2, software at 0x5C000000, where their locks
// hold.
#ifndef BOARD_DEVICE_H7_TRACE_H
#define BOARD_DEVICE_H7_TRACE_H

#include "bus.h"
#include "device/tmc.h"

struct trace_unit;

enum h7_block { H7_DBGMCU, H7_SWO, H7_SWO_FUNNEL, H7_FUNNEL, H7_ETF, H7_TPIU, H7_BLOCKS };

struct h7_trace {
    struct trace_unit *unit;
    uint32_t dbgmcu, swo_funnel, funnel;
    bool open[H7_BLOCKS]; // the lock, which holds for software
    struct tmc etf;
};

void h7_trace_power_on(struct h7_trace *, struct trace_unit *);
bool h7_trace_add(struct h7_trace *, struct bus *of_the_core);
bool h7_trace_add_debug(struct h7_trace *, struct bus *of_debuggers);
bool h7_to_pin(const struct h7_trace *);
bool h7_to_etf(const struct h7_trace *);
// Whether something takes no byte now
bool h7_stalls(const struct h7_trace *);

#endif
