// The performance monitor of an Armv8.1-M core: what its instructions are counted as, its page of the private
// bus, and the stop that an overflow may cause. Stacking by exceptions is neither a load nor a store, and
// does not go through the modelled cache.
#include "cpu/classify_v7.h"
#include "cpu/cortex_m.h"

static void on_memory(uc_engine *uc, uc_mem_type type, uint64_t address, int size, int64_t value, void *user)
{
    struct cortex_m *cm = user;
    (void)uc, (void)value;
    if (type == UC_MEM_WRITE)
        cm->stored = true;
    else
        cm->loaded = true;
    cm->unaligned |= (address & (unsigned)(size - 1)) != 0;
    if (!bus_bytes(cm->core.bus, (uint32_t)address, (uint32_t)size)) // a device, or nothing
        return;
    bool missed = l1d_refills(&cm->l1d, (uint32_t)address);
    cm->pmu.total[V81M_L1D]++;
    cm->pmu.total[V81M_L1D_REFILL] += missed;
    cm->stalled += missed ? cm->profile->miss_cycles : 0;
}

bool cm_hook_monitor(struct cortex_m *cm)
{
    uc_hook memory;
    if (!cm->pmu.counters && !cm->profile->miss_cycles)
        return true;
    return uc_hook_add(cm->uc, &memory, UC_HOOK_MEM_READ | UC_HOOK_MEM_WRITE, (void *)on_memory, cm, 1, 0) ==
           UC_ERR_OK;
}

static void account_branch(uint64_t *total, unsigned is, bool jumped)
{
    bool passed = jumped || (is & OP_ALWAYS);
    total[V81M_PC_WRITE] += (is & OP_PC_WRITE) && passed;
    total[V81M_RETURN] += (is & OP_RETURN) && passed;
    total[V81M_BRANCH_IMMEDIATE] += (is & OP_IMMEDIATE) != 0;
}

static bool halts_on_overflow(const struct cortex_m *cm)
{
    return (cm->debug.control & (C_DEBUGEN | C_PMOV)) == (C_DEBUGEN | C_PMOV);
}

static void watch_overflow(struct cortex_m *cm)
{
    if (!cm_looks_for_overflow(cm))
        return;
    pmu_v81m_settle(&cm->pmu);
    cm->attention |= cm->pmu.event;
}

void cm_account(struct cortex_m *cm, const struct decoded *instruction, bool jumped)
{
    uint64_t *total = cm->pmu.total;
    unsigned is = instruction->is;
    total[V81M_LOAD] += cm->loaded;
    total[V81M_STORE] += cm->stored;
    total[V81M_UNALIGNED] += cm->unaligned;
    cm->loaded = cm->stored = cm->unaligned = false;
    if (is & (OP_PC_WRITE | OP_IMMEDIATE))
        account_branch(total, is, jumped);
    watch_overflow(cm);
}

bool cm_looks_for_overflow(const struct cortex_m *cm)
{
    return pmu_v81m_freezes(&cm->pmu) || halts_on_overflow(cm);
}

bool cm_overflow_halts(struct cortex_m *cm)
{
    if (cm_looks_for_overflow(cm))
        pmu_v81m_settle(&cm->pmu);
    bool happened = cm->pmu.event;
    cm->pmu.event = false;
    return happened && halts_on_overflow(cm);
}

static uint32_t unit_read(void *self, uint32_t offset, enum bus_master master)
{
    struct cortex_m *cm = self;
    const struct component *is = &cm->profile->pmu;
    (void)master;
    if (offset >= COMPONENT_IDS)
        return component_read(is, offset);
    return pmu_v81m_read(&cm->pmu, offset);
}

static void unit_write(void *self, uint32_t offset, uint32_t value, enum bus_master master)
{
    struct cortex_m *cm = self;
    (void)master;
    pmu_v81m_write(&cm->pmu, offset, value);
    cm->attention = true;
}

bool cm_add_monitor(struct cortex_m *cm)
{
    if (!cm->pmu.counters)
        return true;
    return bus_add_device(
        cm->core.bus,
        (struct device){
            .base = 0xE0003000, .size = COMPONENT_SIZE, .read = unit_read, .write = unit_write, .self = cm});
}
