// Where a core's cycles go. The PC sample is any cycle of what the core ran last, each as likely as any
// other, and so is every instruction as likely as it is long. The first cycle is taken, and each later one
// replaces what was taken with a probability of one in as many as there have been; the cycles in between are
// passed over, for it can be drawn at once how many they are. So the sample is right wherever a run ends, be
// it in the middle of rounds that are worked out.
#include "cpu/core.h"

void core_begin(struct core *core)
{
    core->sample_from = core->sample_due = core->cycles;
    core->notice = core->truth->profile ? 0 : core->sample_due;
}

void core_forget_sample(struct core *core)
{
    core->sample = NO_SAMPLE;
    core_begin(core);
}

// After the p-th cycle the next q - p ones are all passed over with a probability of p in q
static void draw_next(struct core *core)
{
    uint64_t seen = core->sample_due - core->sample_from + 1;
    uint64_t share = (rng_next(&core->chance) & UINT32_MAX) + 1;
    core->sample_due = core->sample_from + (seen << 32) / share;
}

bool core_note(struct core *core, uint32_t address, bool asleep, uint64_t cycles)
{
    bool drawn = core->sample_due < core->cycles;
    if (drawn)
        core->sample = address;
    while (core->sample_due < core->cycles)
        draw_next(core);
    if (core->truth->profile)
        profile_add(core->truth->profile, address & ~THUMB_SAMPLE, asleep, cycles);
    else
        core->notice = core->sample_due;
    return drawn;
}

bool core_profile(struct core *core, bool on)
{
    profile_free(core->truth->profile);
    core->truth->profile = on ? profile_start(core->cycles) : NULL;
    core_begin(core);
    return !on || core->truth->profile;
}
