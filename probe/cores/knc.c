#include "cores/knc.h"

#include <stdio.h>

enum { TSC = 0x10 };

struct address knc_msr(const struct core *core, uint64_t number)
{
    return (struct address){.space = SPACE_MSR, .size = 8, .unit = core->unit, .offset = number};
}

static size_t no_settings(const struct core *core, struct setting *out, size_t room)
{
    (void)core;
    (void)out;
    (void)room;
    return 0;
}

static size_t no_commands(const struct core *core, struct address *out, size_t room)
{
    (void)core;
    (void)out;
    (void)room;
    return 0;
}

static struct address status(const struct core *core)
{
    return knc_msr(core, TSC);
}

/* Whoever answers runs: asleep or not, no register tells. */
static enum core_state state(const struct core *core, uint64_t value)
{
    (void)core;
    (void)value;
    return CORE_RUNNING;
}

static const struct core_ops ops = {
    .settings = no_settings, .commands = no_commands, .status = status, .state = state};

void knc_describe(uint16_t cpu, struct core *out)
{
    *out = (struct core){.ops = &ops, .family = CORE_KNC, .unit = cpu};
    snprintf(out->name, sizeof out->name, "Knights Corner");
}
