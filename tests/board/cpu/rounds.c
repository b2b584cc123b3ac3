// The shortest loop there is, SUBS Rn, #1 and BNE back to it, is a delay of a known length: its rounds differ
// in nothing but Rn. While nothing can happen between them they are worked out instead of executed one by
// one, with the same cycles, instructions and profile. The last ones are executed, so that the flags are
// right too.
#include "cpu/cortex_m.h"

enum { ROUNDS_LEFT = 2 }; // to be executed, before the loop's end and before anything else may happen

static uint64_t least(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

static bool somebody_looks(const struct cortex_m *cm, uint32_t pc)
{
    return cm->core.sample_skid || fpb_match(&cm->fpb, pc) || truth_watches(cm->core.truth, pc) ||
           dwt_at_code(&cm->dwt, pc) || cm_looks_for_overflow(cm) || cm->stop_cause;
}

void cm_skip_rounds(struct cortex_m *cm, const struct decoded *subs)
{
    struct core *core = &cm->core;
    uint16_t bne = 0;
    if (somebody_looks(cm, subs->pc) || somebody_looks(cm, subs->pc + 2))
        return;
    __builtin_memcpy(&bne, subs->bytes + 2, sizeof bne); // it may have changed since SUBS was decoded
    if (bne != OP_BNE_BACK)
        return;
    struct cost down = subs->cost[0], back = cm->profile->cost(bne, 0, false, true);
    uint64_t round = cost_cycles(down) + cost_cycles(back);
    uint64_t quiet = least(cm->pause_at - core->cycles, cm->systick.next_zero - core->counted) / round;
    int reg = UC_ARM_REG_R0 + (subs->first >> 8 & 7);
    uint32_t left = cm_get(cm, reg);
    uint64_t rounds = least(quiet, left);
    if (rounds <= ROUNDS_LEFT)
        return;
    rounds -= ROUNDS_LEFT;
    cm_set(cm, reg, left - (uint32_t)rounds);
    cm_retire_many(cm, subs->pc, down, rounds);
    cm_retire_many(cm, subs->pc + 2, back, rounds);
    cm->pmu.total[V81M_PC_WRITE] += rounds;
    cm->pmu.total[V81M_BRANCH_IMMEDIATE] += rounds;
}
