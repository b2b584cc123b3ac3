#include "counters/counter.h"

#include "base/arm_debug.h"
#include "cores/architectures.h"

#include <stdio.h>

static const uint32_t DWT_BASE = 0xE0001000;
enum {
    CTRL_CYCCNTENA = 1 << 0,
    CTRL_CPIEVTENA = 1 << 17, /* EXC, SLEEP, LSU and FOLD follow */
    CTRL_CYCDISS = 1 << 23,   /* Armv8-M: CYCCNT does not count in Secure state, DDI 0553 D1.2 */
    CTRL_NOPRFCNT = 1 << 24,
    CTRL_NOCYCCNT = 1 << 25,
};
enum { PROFILE = 1, COUNTERS = 6 }; /* the first of the profiling counters; all */

static const char dwt_ctrl[] = "DWT_CTRL";
static const char *const names[COUNTERS] = {"CPU_CYCLES", "CPICNT", "EXCCNT",
                                            "SLEEPCNT",   "LSUCNT", "FOLDCNT"};

static void dwt_add_identity(const struct core *core, struct steps *list)
{
    if (!core_has(core, SYSTEM_SPACE))
        return;
    steps_add(list, step_read(core_word(core, DEMCR)));
    steps_add(list, step_read(core_word(core, DWT_CTRL)));
}

/* The counters follow each other from CYCCNT on; all but that one are 8 bits wide, DDI 0403 C1.8.8. */
static void dwt_add_counters(const struct core *core, struct counter_block *out, size_t n)
{
    for (out->n = 0; out->n < n; out->n++) {
        struct counter *counter = &out->counters[out->n];
        *counter = (struct counter){.low = core_word(core, DWT_CYCCNT + 4 * out->n),
                                    .bits = out->n < PROFILE ? 32 : 8,
                                    .per_cycle = 1};
        snprintf(counter->name, sizeof counter->name, "%s", names[out->n]);
    }
}

static bool dwt_identify(const struct core *core, const uint64_t *values, struct counter_block *out)
{
    if (!core_has(core, SYSTEM_SPACE))
        return false;
    uint64_t demcr = values[0], ctrl = values[1];
    bool ours = out->look_again; /* TRCENA was off */
    *out = (struct counter_block){.kind = &dwt_kind, .events = "dwt", .counts_cycles = true};
    snprintf(out->text, sizeof out->text, "DWT CYCCNT, 32 bits");
    if (cortex_m_is_baseline(core)) {
        snprintf(out->text, sizeof out->text, "DWT");
        snprintf(out->unusable, sizeof out->unusable, "%s has a DWT without counters",
                 cortex_m_is_v6(core) ? "Armv6-M" : "Armv8-M Baseline");
        return true;
    }
    bool traced = (demcr & DEMCR_TRCENA) != 0;
    if (traced && (ctrl & CTRL_NOCYCCNT)) {
        snprintf(out->unusable, sizeof out->unusable, "this core has no CYCCNT (DWT_CTRL.NOCYCCNT is set)");
        return true;
    }
    bool runs = traced && !ours && (ctrl & CTRL_CYCCNTENA);
    snprintf(out->state, sizeof out->state, "%s", runs ? "runs" : "idle");
    bool hides = traced && core->security != SECURITY_NONE && (ctrl & CTRL_CYCDISS) != 0;
    bool shows =
        hides && !runs && core->security == SECURITY_OPEN; /* the program's own count stays its own */
    const uint64_t hidden = shows ? CTRL_CYCDISS : 0;
    out->look_again = !traced; /* DWT_CTRL may read as zero until then */
    if (hides && !shows)
        snprintf(out->note, sizeof out->note, "%sSecure cycles are not counted (DWT_CTRL.CYCDISS is set)",
                 runs ? "" : "CYCCNT was off; enabled for this measurement; ");
    else if (!runs)
        snprintf(out->note, sizeof out->note, "CYCCNT was off; enabled for this measurement%s",
                 shows ? ", in Secure state too (DWT_CTRL.CYCDISS)" : "");
    dwt_add_counters(core, out, ctrl & CTRL_NOPRFCNT ? PROFILE : COUNTERS);
    out->settings[out->n_settings++] = cortex_m_trace(core);
    if ((core->quirks & HAS_DWT_LOCK) != 0)
        out->settings[out->n_settings++] = core_open_lock(core_word(core, DWT_BASE + CORESIGHT_LAR),
                                                          core_word(core, DWT_BASE + CORESIGHT_LSR));
    if (!runs) /* a counter that was off gets its value back */
        out->settings[out->n_settings++] = (struct setting){.at = core_word(core, DWT_CYCCNT),
                                                            .always = true,
                                                            .keep = UINT64_MAX,
                                                            .restore = {.moves = true}};
    out->settings[out->n_settings++] =
        (struct setting){.at = core_word(core, DWT_CTRL),
                         .test = CTRL_CYCCNTENA | hidden,
                         .only_watched = runs,
                         .set = CTRL_CYCCNTENA,
                         .keep = ~hidden,
                         .restore = {.exact = CTRL_CYCCNTENA | hidden, .starts = CTRL_CYCCNTENA},
                         .watched = dwt_ctrl};
    return true;
}

/* Switching a profiling counter on clears it, so one that counts already is left alone. */
static size_t dwt_program(const struct core *core, const struct counter_block *block,
                          const struct counter_pick *picks, size_t n, struct setting *out, size_t room)
{
    (void)block;
    uint64_t wanted = 0;
    for (size_t i = 0; i < n; i++)
        if (picks[i].counter >= PROFILE)
            wanted |= (uint64_t)CTRL_CPIEVTENA << (picks[i].counter - PROFILE);
    if (wanted == 0 || room == 0)
        return 0;
    out[0] = (struct setting){.at = core_word(core, DWT_CTRL),
                              .test = wanted,
                              .set = wanted,
                              .keep = UINT64_MAX,
                              .watched = dwt_ctrl};
    return 1;
}

static uint32_t dwt_counters_for(const struct counter_block *block, uint32_t code)
{
    return code < block->n ? 1U << code : 0;
}

static const struct counter_register registers[] = {{.name = "DWT_CYCCNT", .word = 0xE0001004},
                                                    {.name = "DWT_CTRL", .word = 0xE0001000, .on = 1},
                                                    {.name = "DEMCR", .word = 0xE000EDFC, .on = 1 << 24}};

const struct block_kind dwt_kind = {.name = "dwt",
                                    .registers = registers,
                                    .n_registers = sizeof registers / sizeof *registers,
                                    .add_identity = dwt_add_identity,
                                    .identify = dwt_identify,
                                    .program = dwt_program,
                                    .counters_for = dwt_counters_for};
