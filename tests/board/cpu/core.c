// How long a core is halted, where its cycles go, and the PC sample. A sample is any cycle since the one
// before was read, each as likely as any other, so that an instruction is as likely as it is long. It is not
// the instruction at the end of a run: how often a read is there depends on how fast the host executes, not
// on the core's cycles.
//
// The first cycle is taken, and each later one replaces what was taken with a probability of one in as many
// as there have been. How many are passed over until that happens is drawn at once.
//
// With a skid the sample's address is that of an instruction before the one that the cycle is in. Then each
// instruction is noted.
#include "cpu/core.h"

#include "pace.h"

enum { SAMPLE_AGE = 1024 }; // where nobody reads, a sample gets no older by much

static void restart(struct core *core)
{
    core->sample_from = core->sample_due = core->cycles;
    core->notice = core->truth->profile || core->sample_skid ? 0 : core->sample_due;
}

void core_enter_debug(struct core *core)
{
    core->in_debug = true;
    core->halts++;
    core->stands_since = pace_now_ns();
    core->wire_since = *core->wire_ns;
}

void core_leave_debug(struct core *core)
{
    core->stood_ns = core_stood_ns(core);
    core->stood_wire_ns += core->in_debug ? *core->wire_ns - core->wire_since : 0;
    core->in_debug = false;
}

uint64_t core_stood_ns(const struct core *core)
{
    return core->stood_ns + (core->in_debug ? pace_now_ns() - core->stands_since : 0);
}

void core_begin(struct core *core)
{
    if (core->cycles - core->sample_from >= SAMPLE_AGE)
        restart(core);
}

uint32_t core_sample(struct core *core)
{
    restart(core);
    return core->sample;
}

void core_forget_sample(struct core *core)
{
    core->sample = NO_SAMPLE;
    for (size_t i = 0; i < SAMPLE_SKID_MOST; i++)
        core->behind[i] = NO_SAMPLE;
    restart(core);
}

// After the p-th cycle the next q - p ones are all passed over with a probability of p in q
static void draw_next(struct core *core)
{
    uint64_t seen = core->sample_due - core->sample_from + 1;
    uint64_t share = (rng_next(&core->chance) & UINT32_MAX) + 1;
    core->sample_due = core->sample_from + (seen << 32) / share;
}

// Asleep it is the instruction that began the sleep
static uint32_t sampled_at(struct core *core, uint32_t address, bool asleep)
{
    if (!core->sample_skid || asleep)
        return address;
    uint32_t at = core->behind[core->sample_skid - 1];
    for (unsigned i = core->sample_skid - 1; i > 0; i--)
        core->behind[i] = core->behind[i - 1];
    core->behind[0] = address;
    return at != NO_SAMPLE ? at : address; // it is the first one
}

bool core_note(struct core *core, uint32_t address, bool asleep, uint64_t cycles)
{
    bool drawn = core->sample_due < core->cycles;
    uint32_t at = sampled_at(core, address, asleep);
    if (drawn)
        core->sample = at;
    while (core->sample_due < core->cycles)
        draw_next(core);
    if (core->truth->profile) {
        enum profile_kind kind = asleep ? PROFILE_ASLEEP : PROFILE_EXECUTED;
        profile_add(core->truth->profile, address & ~THUMB_SAMPLE, kind, cycles);
        if (core->sample_skid)
            profile_add(core->truth->profile, at & ~THUMB_SAMPLE, PROFILE_SAMPLED, cycles);
    } else if (!core->sample_skid) {
        core->notice = core->sample_due;
    }
    return drawn;
}

bool core_profile(struct core *core, bool on)
{
    profile_free(core->truth->profile);
    core->truth->profile = on ? profile_start(core->cycles) : NULL;
    restart(core);
    return !on || core->truth->profile;
}
