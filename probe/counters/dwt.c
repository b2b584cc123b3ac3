#include "counters/dwt.h"

#include "cores/cortex_m.h"

#include <stdio.h>

enum { DEMCR = 0xE000EDFC, DWT_CTRL = 0xE0001000, DWT_CYCCNT = 0xE0001004 };
enum { DEMCR_TRCENA = 1 << 24, CTRL_CYCCNTENA = 1 << 0, CTRL_NOCYCCNT = 1 << 25 };

static void add_identity(const struct core *core, struct steps *list)
{
    steps_add(list, step_read(core_word(core, DEMCR)));
    steps_add(list, step_read(core_word(core, DWT_CTRL)));
}

static bool identify(const struct core *core, const uint64_t *values, struct counter_block *out)
{
    uint64_t demcr = values[0], ctrl = values[1];
    *out = (struct counter_block){.kind = &dwt_kind, .counts_cycles = true};
    snprintf(out->text, sizeof out->text, "DWT CYCCNT, 32 bits");
    if (cortex_m_is_v6(core)) {
        snprintf(out->text, sizeof out->text, "DWT");
        snprintf(out->unusable, sizeof out->unusable, "Armv6-M has a DWT without counters");
        return true;
    }
    bool traced = (demcr & DEMCR_TRCENA) != 0;
    if (traced && (ctrl & CTRL_NOCYCCNT)) {
        snprintf(out->unusable, sizeof out->unusable, "this core has no CYCCNT (DWT_CTRL.NOCYCCNT is set)");
        return true;
    }
    bool runs = traced && (ctrl & CTRL_CYCCNTENA);
    snprintf(out->state, sizeof out->state, "%s", runs ? "runs" : "idle");
    if (!runs)
        snprintf(out->note, sizeof out->note, "CYCCNT was off and is switched on for the time");
    out->n = 1;
    out->counters[0] = (struct counter){.low = core_word(core, DWT_CYCCNT), .bits = 32};
    snprintf(out->counters[0].name, sizeof out->counters[0].name, "CPU_CYCLES");
    out->settings[out->n_settings++] = (struct setting){
        .at = core_word(core, DEMCR), .test = DEMCR_TRCENA, .set = DEMCR_TRCENA, .keep = UINT64_MAX};
    if (!runs) { /* a counter that nobody runs gets its value back */
        out->settings[out->n_settings++] =
            (struct setting){.at = core_word(core, DWT_CYCCNT), .always = true, .keep = UINT64_MAX};
        out->settings[out->n_settings++] = (struct setting){.at = core_word(core, DWT_CTRL),
                                                            .test = CTRL_CYCCNTENA,
                                                            .set = CTRL_CYCCNTENA,
                                                            .keep = UINT64_MAX};
    }
    return true;
}

const struct block_kind dwt_kind = {.name = "dwt", .add_identity = add_identity, .identify = identify};
