// Watchpoints of a Cortex-M: stores of the program that a comparator of the DWT waits for halt the core. Such
// a stop is asynchronous (DDI 0403E C1.5): on Armv7-M and later cores one and two instructions behind the
// store execute in turn, on an Armv6-M none. Stacking by exceptions is no store here.
#include "cpu/cortex_m.h"

static void on_store(uc_engine *uc, uc_mem_type type, uint64_t address, int size, int64_t value, void *user)
{
    struct cortex_m *cm = user;
    (void)uc, (void)type, (void)value;
    if (!cm_may_halt(cm) || !dwt_store(&cm->dwt, (uint32_t)address, (unsigned)size) || cm->watch_hit)
        return;
    cm->watch_hit = true;
    cm->watch_left = 1 + (cm->profile->watch_delay ? cm->watch_hits++ % cm->profile->watch_delay + 1 : 0);
}

bool cm_hook_stores(struct cortex_m *cm)
{
    bool wanted = dwt_watches(&cm->dwt);
    if (wanted == cm->stores_seen)
        return true;
    cm->stores_seen = wanted;
    // Code translated earlier does not call the hook. Not uc_ctl_flush_tlb, which clears a gigabyte.
    const struct bus *bus = cm->core.bus;
    for (size_t i = 0; i < bus->memory_count; i++) {
        uint64_t end = (uint64_t)bus->memories[i].base + bus->memories[i].size;
        if (uc_ctl_remove_cache(cm->uc, (uint64_t)bus->memories[i].base, end) != UC_ERR_OK)
            return false;
    }
    if (!wanted)
        return uc_hook_del(cm->uc, cm->store_hook) == UC_ERR_OK;
    return uc_hook_add(cm->uc, &cm->store_hook, UC_HOOK_MEM_WRITE, (void *)on_store, cm, 1, 0) == UC_ERR_OK;
}

void cm_watch_on(struct cortex_m *cm)
{
    if (cm->watch_left)
        cm->watch_left--;
    cm->attention |= !cm->watch_left;
}

bool cm_watch_halts(const struct cortex_m *cm)
{
    return cm->watch_hit && !cm->watch_left;
}
