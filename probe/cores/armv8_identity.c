#include "cores/armv8.h"

#include "cores/armv8_transfer.h"

#include <stdio.h>

/* DEVARCH.ARCHID, DDI 0487 H9.2: the version of the architecture above what they have in common. */
enum { ARCHID_FAMILY = 0xFFF, ARCHID_A = 0xA15, ARCHID_V8 = 6, ARCHID_V8R = 0x6A05 };
enum { DFR_BREAKPOINTS = 12, DFR_CONTEXTS = 28 }; /* ID_AA64DFR0.BRPs, CTX_CMPs: so many and one */
enum { DEVID_TRIGGERS = 8, DEVID_CHANNELS = 16 }; /* CTIDEVID.NUMTRIG, NUMCHAN */
enum { TRIGGERS_ON = 1, DEVID_TRIGGERS_MASK = 0xFF, CHANNELS_MASK = 0x3F };
enum { ARM = 0x41, R52 = 0xD13 };

bool armv8_is_archid(uint16_t archid)
{
    return archid == ARCHID_V8R || ((archid & ARCHID_FAMILY) == ARCHID_A && archid >> 12 >= ARCHID_V8);
}

void armv8_add_identity(uint16_t unit, uint64_t debug_base, uint64_t cti_base, struct steps *list)
{
    const struct core core = {.unit = unit, .debug_base = debug_base, .cti_base = cti_base};
    steps_add(list, step_read(armv8_word(&core, MIDR)));
    steps_add(list, step_read(armv8_word(&core, EDDFR)));
    steps_add(list, step_read(armv8_word(&core, DBGAUTHSTATUS)));
    if (cti_base == 0)
        return;
    steps_add(list, step_read(core_cti(&core, CTICONTROL)));
    steps_add(list, step_read(core_cti(&core, CTIDEVID)));
    for (uint32_t i = 0; i < ARMV8_TRIGGERS; i++)
        steps_add(list, step_read(core_cti(&core, CTIINEN0 + 4 * i)));
    for (uint32_t i = 0; i < ARMV8_TRIGGERS; i++)
        steps_add(list, step_read(core_cti(&core, CTIOUTEN0 + 4 * i)));
}

static void name_core(struct core *core, bool revision)
{
    static const struct {
        uint16_t part;
        const char *name;
    } parts[] = {
        {0xD01, "Cortex-A32"}, {0xD02, "Cortex-A34"}, {0xD03, "Cortex-A53"}, {0xD04, "Cortex-A35"},
        {0xD05, "Cortex-A55"}, {0xD06, "Cortex-A65"}, {0xD07, "Cortex-A57"}, {0xD08, "Cortex-A72"},
        {0xD09, "Cortex-A73"}, {0xD0A, "Cortex-A75"}, {0xD0B, "Cortex-A76"}, {0xD13, "Cortex-R52"},
    };
    uint32_t implementer = core->id >> 24, part = core->id >> 4 & 0xFFF;
    char name[32];
    snprintf(name, sizeof name, "Armv8 core %02X:%03X", implementer, part);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (implementer == ARM && parts[i].part == part)
            snprintf(name, sizeof name, "%s", parts[i].name);
    if (revision)
        snprintf(core->name, sizeof core->name, "%s r%up%u", name, core->id >> 20 & 0xF, core->id & 0xF);
    else
        snprintf(core->name, sizeof core->name, "%s", name);
}

static uint32_t last_of(uint32_t channels)
{
    uint32_t last = channels;
    while ((last & (last - 1)) != 0)
        last &= last - 1;
    return last;
}

/* The last two that nothing is on, for other debuggers start with the first: OpenOCD takes 0 and 1, and so
 * may one that has not come yet. */
static void choose_channels(const uint64_t *values, struct core *core)
{
    uint32_t triggers = values[ARMV8_TRIGGER_CHANNELS] >> DEVID_TRIGGERS & DEVID_TRIGGERS_MASK;
    uint32_t channels = values[ARMV8_TRIGGER_CHANNELS] >> DEVID_CHANNELS & CHANNELS_MASK;
    uint32_t free = channels >= 31 ? 0x7FFFFFFF : (UINT32_C(1) << channels) - 1;
    core->triggers_off = (values[ARMV8_TRIGGER_CONTROL] & TRIGGERS_ON) == 0;
    for (uint32_t i = 0; i < ARMV8_TRIGGERS && i < triggers && !core->triggers_off; i++)
        free &= ~(uint32_t)(values[ARMV8_INPUTS + i] | values[ARMV8_OUTPUTS + i]);
    core->run_channel = last_of(free);
    core->halt_channel = last_of(free & ~core->run_channel);
    if (core->halt_channel == 0)
        core->unstoppable =
            "its cross trigger interface has no two channels left (after a crash: pmu-probe release)";
}

void armv8_identify(uint16_t unit, uint64_t debug_base, uint64_t cti_base, const uint64_t *values,
                    struct core *out)
{
    *out = (struct core){.ops = &armv8_ops,
                         .family = CORE_ARMV8,
                         .unit = unit,
                         .debug_base = debug_base,
                         .cti_base = cti_base,
                         .id = (uint32_t)values[ARMV8_MIDR],
                         .comparators = (values[ARMV8_DFR] >> DFR_BREAKPOINTS & 0xF) + 1,
                         .context_comparators = (values[ARMV8_DFR] >> DFR_CONTEXTS & 0xF) + 1};
    out->processes = (out->id >> 4 & 0xFFF) != R52;
    out->keeps_secure = core_keeps_secure(out, (uint32_t)values[ARMV8_AUTHSTATUS]);
    name_core(out, true);
    if (!core_may_halt((uint32_t)values[ARMV8_AUTHSTATUS]))
        out->unstoppable = "the chip does not allow invasive debug (DBGEN is low)";
    else if (cti_base == 0)
        out->unstoppable = "no cross trigger interface was found for it";
    else
        choose_channels(values, out);
    if (out->unstoppable != NULL)
        out->comparators = 0;
}

void armv8_identify_hidden(uint16_t unit, uint64_t debug_base, uint64_t cti_base, uint16_t part,
                           struct core *out)
{
    *out = (struct core){.ops = &armv8_ops,
                         .family = CORE_ARMV8,
                         .unit = unit,
                         .debug_base = debug_base,
                         .cti_base = cti_base,
                         .id = (uint32_t)ARM << 24 | (uint32_t)part << 4,
                         .unstoppable = "its debug registers refuse to be read"};
    name_core(out, false);
}
