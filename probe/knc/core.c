/*
 * Cores without their own run control: threads of a Knights Corner, and programs on x86-64.
 */
#include "knc/knc.h"

#include <stdio.h>

enum { TSC = 0x10 };

struct address knc_msr(const struct core *core, uint64_t number)
{
    return (struct address){.space = SPACE_MSR, .size = 8, .unit = core->unit, .offset = number};
}

static struct address status_register(const struct core *core)
{
    return knc_msr(core, TSC);
}

/* A thread that answers runs. No register says whether it sleeps. */
static enum core_state knc_core_state_of(const struct core *core, uint64_t value)
{
    (void)core;
    (void)value;
    return CORE_RUNNING;
}

static const char *const register_names[] = {
    [CORE_PC] = "rip", [CORE_SP] = "rsp", [CORE_LR] = "", [CORE_PSP] = "", [CORE_STATUS] = "eflags"};

const struct core_ops knc_ops = {.traits = HIDES | MODEL_SPECIFIC,
                                 .fastest_hz = 5e9,
                                 .register_names = register_names,
                                 .state = &(const struct core_state_ops){.status_register = status_register,
                                                                         .state_of = knc_core_state_of}};

void knc_describe(uint16_t cpu, struct core *out)
{
    *out = (struct core){.ops = &knc_ops, .unit = cpu, .numbered_by_unit = true, .memory_hidden = true};
    snprintf(out->name, sizeof out->name, "Knights Corner");
}

enum { RETURN_ADDRESS = 8 }; /* bytes that CALL pushes: Intel SDM volume 1, 6.4.1 */

/* At a function's entry only the stack holds the return address. */
static bool knc_core_returns_by_frame(const struct core *core, uint64_t lr)
{
    (void)core;
    (void)lr;
    return true;
}

static struct return_place frame_return(const struct core *core, uint64_t sp, const uint64_t *words)
{
    (void)core;
    return (struct return_place){.pc = (words[0] & UINT32_MAX) | words[1] << 32, .sp = sp + RETURN_ADDRESS};
}

const struct core_ops x86_64_ops = {.traits = HIDES | PROGRAM_ONLY,
                                    .fastest_hz = 5e9,
                                    .register_names = register_names,
                                    .returns = &(const struct core_return_ops){
                                        .by_frame = knc_core_returns_by_frame, .frame_return = frame_return}};

void x86_64_describe(uint16_t unit, struct core *out)
{
    *out = (struct core){
        .ops = &x86_64_ops, .unit = unit, .memory_unit = unit, .unstoppable = "a debugger does that"};
    snprintf(out->name, sizeof out->name, "x86-64");
}
