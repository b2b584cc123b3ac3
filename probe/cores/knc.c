#include "cores/architectures.h"

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

enum { RETURN_ADDRESS = 8 }; /* bytes that CALL pushes: Intel SDM volume 1, 6.4.1 */

/* Signals are the debugger's, interrupts the system's: neither shows. */
static size_t no_pending(const struct core *core, struct steps *list)
{
    (void)core;
    (void)list;
    return SIZE_MAX;
}

/* No register holds it at a function's entry. */
static bool returns_by_frame(const struct core *core, uint64_t lr)
{
    (void)core;
    (void)lr;
    return true;
}

static uint64_t frame(const struct core *core, uint64_t lr, uint64_t sp, uint64_t psp)
{
    (void)core;
    (void)lr;
    (void)psp;
    return sp;
}

static struct return_place frame_return(const struct core *core, uint64_t lr, uint64_t at,
                                        const uint64_t *words)
{
    (void)core;
    (void)lr;
    return (struct return_place){.pc = (words[0] & UINT32_MAX) | words[1] << 32, .sp = at + RETURN_ADDRESS};
}

static const struct core_ops x86_64_ops = {.settings = no_settings,
                                           .commands = no_commands,
                                           .add_pending = no_pending,
                                           .returns_by_frame = returns_by_frame,
                                           .frame = frame,
                                           .frame_return = frame_return};

void x86_64_describe(uint16_t unit, struct core *out)
{
    *out = (struct core){.ops = &x86_64_ops,
                         .family = CORE_X86_64,
                         .unit = unit,
                         .memory_unit = unit,
                         .unstoppable = "a debugger does that"};
    snprintf(out->name, sizeof out->name, "x86-64");
}
