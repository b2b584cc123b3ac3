/* SPDX-License-Identifier: MIT */
#include "cores/pc_sample.h"

#include "base/arm_debug.h"
#include "cores/architectures.h"
#include "cores/parts.h"

enum { DBGPCSR_OLD = 0x084, DBGPCSR = 0x0A0, EDPCSR_LOW = 0x0A0, EDPCSR_HIGH = 0x0AC };
enum { PMPCSR_LOW = 0x200, PMPCSR_HIGH = 0x204 };
enum { DBGCIDSR = 0x0A4, EDCIDSR = 0x0A4, PMCID1SR = 0x208 };
enum { DEVID1 = 0xFC4, DEVID = 0xFC8 }; /* DBGDEVID, EDDEVID, PMDEVID alike */
enum { DIDR_PCSR = 1 << 13, DIDR_DEVID = 1 << 15 };
enum { DEVID_PC_SAMPLE = 0xF, DEVID_HAS_CONTEXT = 2, DEVID1_PC_OFFSET = 0xF };
enum { IDENTITY_V7_DIDR, IDENTITY_V7_DEVID, IDENTITY_V7_DEVID1 };
enum { IDENTITY_V8_DEBUG, IDENTITY_V8_PMU };

/* The same value in each of these registers. */
static const uint32_t NO_SAMPLE = UINT32_MAX;

/* PMPCSR: NS in bit 63, EL in bits 62:61, and an address of 56 bits below them. */
enum { LEVELS_ADDRESS_BITS = 56 };

/* --- which one ------------------------------------------------------------------------------------------ */

void pc_sample_add_identity(const struct core *core, struct steps *list)
{
    if (core->ops == &armv7_ops) {
        steps_add(list, step_read(core_debug(core, DBGDIDR)));
        steps_add(list, step_read(core_debug(core, DEVID)));
        steps_add(list, step_read(core_debug(core, DEVID1)));
    } else if (armv8_is(core)) {
        steps_add(list, step_read(core_debug(core, DEVID)));
        if (core->pmu_base != 0)
            steps_add(list, step_read(core_pmu(core, DEVID)));
    }
}

static bool has_context(uint64_t devid)
{
    return (devid & DEVID_PC_SAMPLE) >= DEVID_HAS_CONTEXT;
}

static bool pc_sample_identify_armv7(const struct core *core, const uint64_t *identity, struct pc_sample *out)
{
    uint64_t didr = identity[IDENTITY_V7_DIDR];
    bool has_devid = (didr & DIDR_DEVID) != 0;
    bool is_new = has_devid && (identity[IDENTITY_V7_DEVID] & DEVID_PC_SAMPLE) != 0;
    if (!is_new && (didr & DIDR_PCSR) == 0)
        return false;
    bool plain = has_devid && (identity[IDENTITY_V7_DEVID1] & DEVID1_PC_OFFSET) != 0;
    bool target = (core_part(core)->quirks & SAMPLES_TARGETS) != 0;
    *out = (struct pc_sample){.name = "DBGPCSR",
                              .form = target  ? PC_FORM_V7_TARGET
                                      : plain ? PC_FORM_V7
                                              : PC_FORM_V7_OFFSET,
                              .words = 1,
                              .by_block = target,
                              .at = {core_debug(core, is_new ? DBGPCSR : DBGPCSR_OLD)},
                              .has_context = is_new && has_context(identity[IDENTITY_V7_DEVID]),
                              .context = core_debug(core, DBGCIDSR)};
    return true;
}

/* Armv8.2 moved it from the debug registers into the PMU. */
static bool pc_sample_identify_armv8(const struct core *core, const uint64_t *identity, struct pc_sample *out)
{
    if ((identity[IDENTITY_V8_DEBUG] & DEVID_PC_SAMPLE) != 0) {
        *out = (struct pc_sample){.name = "EDPCSR",
                                  .form = PC_FORM_V8,
                                  .words = 2,
                                  .at = {core_debug(core, EDPCSR_LOW), core_debug(core, EDPCSR_HIGH)},
                                  .has_context = has_context(identity[IDENTITY_V8_DEBUG]),
                                  .context = core_debug(core, EDCIDSR)};
        return true;
    }
    if (core->pmu_base == 0 || (identity[IDENTITY_V8_PMU] & DEVID_PC_SAMPLE) == 0)
        return false;
    *out = (struct pc_sample){.name = "PMPCSR",
                              .form = PC_FORM_V8_LEVELS,
                              .words = 2,
                              .at = {core_pmu(core, PMPCSR_LOW), core_pmu(core, PMPCSR_HIGH)},
                              .has_context = true, /* with PMPCSR, DDI 0487 I5.3.26 */
                              .context = core_pmu(core, PMCID1SR)};
    return true;
}

bool pc_sample_identify(const struct core *core, const uint64_t *identity, struct pc_sample *out)
{
    if (core->ops == &armv7_ops)
        return pc_sample_identify_armv7(core, identity, out);
    if (armv8_is(core))
        return pc_sample_identify_armv8(core, identity, out);
    *out = (struct pc_sample){
        .name = "DWT_PCSR", .form = PC_FORM_M, .words = 1, .at = {core_word(core, DWT_PCSR)}};
    return core_has(core, SYSTEM_SPACE);
}

size_t pc_sample_settings(const struct core *core, struct setting *out, size_t room)
{
    if (!core_has(core, SYSTEM_SPACE) || room == 0)
        return 0;
    out[0] = cortex_m_trace(core);
    return 1;
}

/* --- a sample ------------------------------------------------------------------------------------------- */

size_t pc_sample_add(const struct pc_sample *sample, struct steps *list)
{
    size_t at = steps_add(list, step_read(sample->at[0]));
    for (size_t i = 1; i < sample->words; i++)
        steps_add(list, step_read(sample->at[i]));
    return at;
}

/* Bits 1:0 are 10 where the core executes neither ARM nor Thumb code: how far beyond it the value then is, is
 * implementation defined. */
static bool address_v7(uint32_t value, bool offset, uint64_t *address)
{
    if (value & 1)
        *address = (uint32_t)((value & ~1U) - (offset ? 4 : 0));
    else
        *address = (uint32_t)(value - (offset ? 8 : 0));
    return (value & 3) != 2;
}

/* Erratum 751471 of the Cortex-A9: of a Thumb address bit 1 is lost. The upper half of the word is taken,
 * which is in the right function unless one with a single 16-bit instruction begins at the lower half. */
static bool address_of_target(uint32_t value, uint64_t *address)
{
    *address = (value & ~3U) | (value & 1) << 1;
    return (value & 3) != 2;
}

bool pc_sample_address(const struct pc_sample *sample, const uint64_t *words, uint64_t *address)
{
    enum { SIGN = LEVELS_ADDRESS_BITS - 1 };
    const uint64_t top = UINT64_MAX << LEVELS_ADDRESS_BITS;
    uint32_t low = (uint32_t)words[0];
    uint64_t wide;
    if (low == NO_SAMPLE)
        return false;
    switch (sample->form) {
    case PC_FORM_M:
        *address = low & ~1U;
        return low != 0;
    case PC_FORM_V7_OFFSET:
    case PC_FORM_V7:
        return address_v7(low, sample->form == PC_FORM_V7_OFFSET, address);
    case PC_FORM_V7_TARGET:
        return address_of_target(low, address);
    case PC_FORM_V8:
        *address = (words[1] << 32) | low;
        return true;
    case PC_FORM_V8_LEVELS:
        wide = (words[1] << 32) | low;
        *address = (wide >> SIGN & 1) != 0 ? wide | top : wide & ~top;
        return true;
    }
    return false;
}

bool pc_sample_proves(const struct pc_sample *sample, const uint64_t *words)
{
    return sample->form != PC_FORM_M || (uint32_t)words[0] != 0;
}

/* --- a look --------------------------------------------------------------------------------------------- */

/* DHCSR also shows resets. DBGPRSR and EDPRSR are read first: after a loss of power only reading them makes
 * the others readable. */
size_t pc_sample_add_look(const struct core *core, struct steps *list)
{
    bool is_m = core_has(core, SYSTEM_SPACE);
    size_t at = steps_add(list, step_read(is_m ? core_status_register(core) : core_debug(core, DBGPRSR)));
    steps_add(list, step_read(is_m ? core_word(core, DEMCR) : core_status_register(core)));
    return at;
}

struct pc_look pc_sample_look(const struct core *core, const uint64_t *words)
{
    if (core_has(core, SYSTEM_SPACE))
        return (struct pc_look){.state = core_state_of(core, words[0]),
                                .reset = (words[0] & DHCSR_S_RESET_ST) != 0,
                                .off = (words[1] & DEMCR_TRCENA) == 0};
    return (struct pc_look){.state = core_state_of(core, words[1]),
                            .reset = (words[0] & (PRSR_SPD | PRSR_R | PRSR_SR)) != 0,
                            .held = (words[0] & PRSR_R) != 0 || (words[0] & PRSR_PU) == 0,
                            .off = core_has(core, LOCKS_IN_PRSR) && (words[0] & PRSR_OSLK) != 0};
}
