/* SPDX-License-Identifier: MIT */
#include "base/arm_debug.h"
#include "base/values.h"
#include "cores/architectures.h"
#include "counters/counter.h"

#include <stdio.h>
#include <string.h>

enum { CSR_ENABLE = 1 << 0, CSR_TICKINT = 1 << 1, CSR_CLKSOURCE = 1 << 2, RELOAD = 0xFFFFFF };
/* What an idle one gets: nearly all of it, and no program's usual value, so that the end sees whether the
 * program has started it since. */
enum { OUR_RELOAD = 0xFFFFFE };

/* A debugger's Secure access reaches the banked registers of the core's present security state, or those that
 * SBRSEL selects if SBRSELEN is set: DDI 0553 D1.2. A write changes CDS unless CDSKEY is set. */
enum { DSCSR = 0xE000EE08, SBRSELEN = 1 << 0, SBRSEL = 1 << 1, CDS = 1 << 16, CDSKEY = 1 << 17 };

static const char syst_rvr[] = "SYST_RVR";

static void systick_add_identity(const struct core *core, struct steps *list)
{
    if (!core_has(core, SYSTEM_SPACE))
        return;
    /* The only read of SYST_CSR: it may clear COUNTFLAG, for which the program may wait. */
    steps_add(list, step_read(core_word(core, SYST_CSR)));
    steps_add(list, step_read(core_word(core, SYST_RVR)));
    if (core->security == SECURITY_OPEN)
        steps_add(list, step_read(core_word(core, DSCSR)));
}

/* Of the two SysTicks, selects that of the core's present security state for the whole run. */
static void add_bank(const struct core *core, uint64_t dscsr, struct counter_block *out)
{
    bool selected = dscsr & SBRSELEN, secure = (dscsr & (selected ? SBRSEL : CDS)) != 0;
    uint64_t bank = SBRSELEN | (secure ? SBRSEL : 0);
    out->look_again = !selected;
    /* DSCSR may read as zero: then accesses are Non-secure, and reach the only SysTick. */
    out->settings[out->n_settings++] = (struct setting){.at = core_word(core, DSCSR),
                                                        .test = secure ? SBRSELEN | SBRSEL : 0,
                                                        .set = bank,
                                                        .always = !selected,
                                                        .key = CDSKEY,
                                                        .restore = {.mask = SBRSELEN | SBRSEL, .key = CDSKEY},
                                                        .watched = secure ? "DSCSR" : NULL};
    snprintf(out->text, sizeof out->text, "%s SysTick", secure ? "Secure" : "Non-secure");
}

static bool systick_identify(const struct core *core, const uint64_t *values, struct counter_block *out)
{
    if (!core_has(core, SYSTEM_SPACE))
        return false;
    uint64_t csr = values[0], rvr = values[1] & RELOAD;
    bool idle = (csr & CSR_ENABLE) == 0;
    uint64_t reload = idle ? OUR_RELOAD : rvr;
    *out = (struct counter_block){.kind = &systick_kind, .n = 1};
    snprintf(out->text, sizeof out->text, "SysTick");
    if (core->security == SECURITY_OPEN)
        add_bank(core, values[2], out);
    out->counts_cycles = idle || (csr & CSR_CLKSOURCE) != 0;
    out->counters[0] = (struct counter){.low = core_word(core, SYST_CVR),
                                        .bits = 24,
                                        .per_cycle = 1,
                                        .down = true,
                                        .zero_is_top = true,
                                        .modulus = reload + 1};
    snprintf(out->counters[0].name, sizeof out->counters[0].name, "%s",
             out->counts_cycles ? "CPU_CYCLES" : "SYSTICK");
    size_t named = strlen(out->text);
    snprintf(out->text + named, sizeof out->text - named, ", 24 bits, reload 0x%06X", (unsigned)reload);
    if (!idle) {
        snprintf(out->state, sizeof out->state, "runs%s%s", csr & CSR_TICKINT ? ", interrupts the core" : "",
                 out->counts_cycles ? "" : ", from a clock that is not the core's");
        if (!out->counts_cycles)
            snprintf(out->note, sizeof out->note,
                     "SysTick counts its reference clock (SYST_CSR.CLKSOURCE is 0), not cycles");
        if (rvr == 0)
            snprintf(out->unusable, sizeof out->unusable, "its reload value is 0: it does not count");
        out->may_reload = true;
        /* SYST_CSR is not watched: a read may clear the program's COUNTFLAG. */
        out->settings[out->n_settings++] = (struct setting){.at = core_word(core, SYST_RVR),
                                                            .test = RELOAD,
                                                            .set = rvr,
                                                            .only_watched = true,
                                                            .watched = syst_rvr};
        return true;
    }
    snprintf(out->state, sizeof out->state, "idle");
    snprintf(out->note, sizeof out->note, "SysTick was unused: used for this run (its old count is lost)");
    out->settings[out->n_settings++] = (struct setting){.at = core_word(core, SYST_RVR),
                                                        .test = RELOAD,
                                                        .set = OUR_RELOAD,
                                                        .restore = {.mask = RELOAD, .exact = RELOAD},
                                                        .watched = syst_rvr};
    /* Any write clears the count; the next tick loads the reload value. */
    out->settings[out->n_settings++] = (struct setting){
        .at = core_word(core, SYST_CVR), .always = true, .restore = {.mask = RELOAD, .moves = true}};
    out->settings[out->n_settings++] =
        (struct setting){.at = core_word(core, SYST_CSR),
                         .test = CSR_ENABLE,
                         .set = CSR_ENABLE | CSR_CLKSOURCE,
                         .always = true,
                         .restore = {.mask = CSR_ENABLE | CSR_TICKINT | CSR_CLKSOURCE,
                                     .exact = CSR_ENABLE | CSR_TICKINT | CSR_CLKSOURCE,
                                     .starts = CSR_ENABLE},
                         .watched = "SYST_CSR"};
    return true;
}

static bool follow_reload(struct counter_block *block, const char *changed)
{
    struct counter *counter = &block->counters[0];
    char *reload = strstr(block->text, ", reload");
    if (!block->may_reload || reload == NULL || strcmp(changed, syst_rvr) != 0)
        return false;
    block->may_reload = false;
    counter->reloads = true;
    counter->high = block->settings[--block->n_settings].at; /* nor does it have to stay the same */
    *reload = '\0';
    snprintf(block->note, sizeof block->note,
             "SysTick's reload changes: what is longer than one period is \"at least\"");
    return true;
}

static const struct counter_register registers[] = {{.name = "SYST_CVR", .word = 0xE000E018},
                                                    {.name = "SYST_RVR", .word = 0xE000E014},
                                                    {.name = "SYST_CSR", .word = 0xE000E010, .on = 1}};

const struct block_kind systick_kind = {.name = "systick",
                                        .registers = registers,
                                        .n_registers = sizeof registers / sizeof *registers,
                                        .add_identity = systick_add_identity,
                                        .identify = systick_identify,
                                        .follow_reload = follow_reload};

/* ---- dwt */

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
    if (!runs)
        snprintf(out->note, sizeof out->note, "CYCCNT was off; enabled for this measurement%s",
                 shows ? ", in Secure state too (DWT_CTRL.CYCDISS)" : "");
    if (hides && !shows)
        text_join(out->note, sizeof out->note, "; ",
                  "Secure cycles are not counted (DWT_CTRL.CYCDISS is set)");
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

static const struct counter_register dwt_registers[] = {{.name = "DWT_CYCCNT", .word = 0xE0001004},
                                                        {.name = "DWT_CTRL", .word = 0xE0001000, .on = 1},
                                                        {.name = "DEMCR", .word = 0xE000EDFC, .on = 1 << 24}};

const struct block_kind dwt_kind = {.name = "dwt",
                                    .registers = dwt_registers,
                                    .n_registers = sizeof dwt_registers / sizeof *dwt_registers,
                                    .add_identity = dwt_add_identity,
                                    .identify = dwt_identify,
                                    .program = dwt_program,
                                    .counters_for = dwt_counters_for};
