// The passing of cycles. Program time moves with instructions, exceptions and sleep only; what the counters
// see is that and the costs of halts. Nothing here knows of the host's clock.
#include "cpu/cortex_m.h"

void cm_settle(struct cortex_m *cm)
{
    if (systick_advance(&cm->systick, cm->core.counted))
        cm_pend(cm, EXC_SYSTICK);
}

void cm_count(struct cortex_m *cm, uint64_t counted)
{
    cm->core.counted += counted;
    cm_settle(cm);
}

void cm_spend(struct cortex_m *cm, enum dwt_profile profile, uint32_t pc, uint64_t cycles)
{
    core_spend(&cm->core, pc, profile == DWT_SLEEP, cycles);
    if (profile == DWT_SLEEP && cm->trace_unit && cm->trace_unit->quirks.sleep_stops)
        cm->slept += cycles;
    cm->dwt.total[profile] += cycles;
    if (cm->core.counted >= cm->systick.next_zero)
        cm_settle(cm);
}

static inline void retire(struct cortex_m *cm, uint32_t pc, struct cost cost, uint64_t times)
{
    uint64_t cycles = cost_cycles(cost) * times;
    cm->core.instructions += times;
    cm->pmu.total[V81M_INSTRUCTION] += times;
    cm->work += times;
    cm->debug.retired = true;
    core_spend(&cm->core, pc, false, cycles);
    if (cost.cpi)
        cm->dwt.total[DWT_CPI] += cost.cpi * times;
    if (cost.lsu)
        cm->dwt.total[DWT_LSU] += cost.lsu * times;
    if (cost.folded)
        cm->dwt.total[DWT_FOLD] += times;
    if (cm->core.counted >= cm->systick.next_zero)
        cm_settle(cm);
}

void cm_retire_many(struct cortex_m *cm, uint32_t pc, struct cost cost, uint64_t times)
{
    retire(cm, pc, cost, times);
}

void cm_retire(struct cortex_m *cm, uint32_t pc, struct cost cost)
{
    retire(cm, pc, cost, 1);
}

void cm_log(struct cortex_m *cm, enum truth_kind kind, uint32_t pc, uint32_t extra)
{
    if (!truth_watching(cm->core.truth))
        return;
    truth_log(cm->core.truth,
              (struct truth_event){.kind = kind,
                                   .pc = pc,
                                   .cycles = cm->core.cycles,
                                   .counted = cm->core.counted,
                                   .sp = cm_get(cm, UC_ARM_REG_SP),
                                   .lr = cm_get(cm, UC_ARM_REG_LR),
                                   .extra = extra},
              cm->pmu.counters ? cm->pmu.total : cm->dwt.total);
}
