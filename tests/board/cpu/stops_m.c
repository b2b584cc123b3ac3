// What halts a Cortex-M, or is for its DebugMonitor exception, with instructions still to execute, since such
// a stop is asynchronous (DDI 0403E C1.5):
//
// * Stores that a comparator of the DWT waits for. On Armv7-M and later cores one and two instructions after
//   the store execute in turn, on an Armv6-M none. Stacking by exceptions is not a store here.
// * The cycle counter, when it matches a comparator, and an overflow of the performance monitor: core.skid
//   instructions after the one in which it happened.
#include "cpu/cortex_m.h"

#include <string.h>

static bool has_use(const struct cortex_m *cm)
{
    return cm_may_halt(cm) || cm_monitors(cm);
}

// One that occurs while another is on its way joins that
static void stop_soon(struct cortex_m *cm, uint32_t cause, unsigned instructions)
{
    if (!cm->stop_cause)
        cm->stop_left = instructions;
    cm->stop_cause |= cause;
}

static void on_store(uc_engine *uc, uc_mem_type type, uint64_t address, int size, int64_t value, void *user)
{
    struct cortex_m *cm = user;
    (void)uc, (void)type;
    cm_trace_data(cm, (uint32_t)address, (unsigned)size, (uint32_t)value, true);
    if (!has_use(cm) || !dwt_store(&cm->dwt, (uint32_t)address, (unsigned)size))
        return;
    stop_soon(cm, DFSR_DWTTRAP,
              1 + (cm->profile->watch_delay ? cm->watch_hits++ % cm->profile->watch_delay + 1 : 0));
}

// Before the load, and so without its value; a device's would change by being read
static void on_load(uc_engine *uc, uc_mem_type type, uint64_t address, int size, int64_t unknown, void *user)
{
    struct cortex_m *cm = user;
    uint32_t value = 0;
    (void)uc, (void)type, (void)unknown;
    const uint8_t *bytes = size <= 4 ? bus_bytes(cm->core.bus, (uint32_t)address, (uint32_t)size) : NULL;
    if (bytes)
        memcpy(&value, bytes, (size_t)size);
    cm_trace_data(cm, (uint32_t)address, (unsigned)size, value, false);
}

static bool set_hook(struct cortex_m *cm, uc_hook *hook, bool wanted, int kind, void *callback)
{
    if (!wanted)
        return uc_hook_del(cm->uc, *hook) == UC_ERR_OK;
    return uc_hook_add(cm->uc, hook, kind, callback, cm, 1, 0) == UC_ERR_OK;
}

bool cm_hook_stores(struct cortex_m *cm)
{
    bool stores = dwt_watches(&cm->dwt) || dwt_traces(&cm->dwt, true), loads = dwt_traces(&cm->dwt, false);
    bool new_stores = stores != cm->stores_seen, new_loads = loads != cm->loads_seen;
    if (!new_stores && !new_loads)
        return true;
    cm->stores_seen = stores;
    cm->loads_seen = loads;
    // Code translated earlier does not call the hook. Not uc_ctl_flush_tlb, which clears a gigabyte.
    const struct bus *bus = cm->core.bus;
    for (size_t i = 0; i < bus->memory_count; i++) {
        uint64_t end = (uint64_t)bus->memories[i].base + bus->memories[i].size;
        if (uc_ctl_remove_cache(cm->uc, (uint64_t)bus->memories[i].base, end) != UC_ERR_OK)
            return false;
    }
    return (!new_stores || set_hook(cm, &cm->store_hook, stores, UC_HOOK_MEM_WRITE, (void *)on_store)) &&
           (!new_loads || set_hook(cm, &cm->load_hook, loads, UC_HOOK_MEM_READ, (void *)on_load));
}

void cm_stop_comes(struct cortex_m *cm)
{
    if (cm->stop_left)
        cm->stop_left--;
    cm->attention |= !cm->stop_left;
}

void cm_look_at_counters(struct cortex_m *cm)
{
    bool matched = dwt_cycle_event(&cm->dwt, cm_dwt_now(cm)), useful = has_use(cm);
    if (!useful)
        cm->stop_cause = 0;
    if (matched && useful) {
        cm_log(cm, TRUTH_MATCH, cm_pc(cm), cm->dwt.comp[0]);
        stop_soon(cm, DFSR_DWTTRAP, cm->core.skid);
    }
    if (cm_overflow_halts(cm)) {
        cm_log(cm, TRUTH_OVERFLOW, cm_pc(cm), cm->pmu.overflown & cm->pmu.interrupts);
        stop_soon(cm, DFSR_PMU, cm->core.skid);
    }
}

// What the counters do on the way into Debug state stops nothing
void cm_forget_counters(struct cortex_m *cm)
{
    dwt_cycle_event(&cm->dwt, cm_dwt_now(cm));
    cm_overflow_halts(cm);
}

bool cm_stops_now(const struct cortex_m *cm)
{
    return cm->stop_cause && !cm->stop_left;
}

// A watchpoint is asynchronous: its DebugMonitor exception is pending until the priority lets it in (DDI
// 0403E C1.3 and C1.6.5)
bool cm_stop(struct cortex_m *cm)
{
    if (cm_may_halt(cm)) {
        cm_halt(cm, 0);
        return true;
    }
    cm->debug.dfsr |= cm->stop_cause;
    cm->stop_cause = 0;
    cm_pend(cm, EXC_DEBUGMONITOR);
    return false;
}

uint64_t cm_quiet_until(struct cortex_m *cm)
{
    uint64_t now = cm->core.cycles, quiet = cm->slice_end > now ? cm->slice_end - now : 0;
    bool stands_still = cm->state == CM_ASLEEP && cm->trace_unit && cm->trace_unit->quirks.sleep_stops;
    uint64_t match = has_use(cm) && !stands_still ? dwt_cycles_to_match(&cm->dwt, cm_dwt_now(cm)) : DWT_NEVER;
    return now + (match < quiet ? match : quiet);
}
