#include "counters/counter.h"

#include <stdio.h>
#include <string.h>

enum { SYST_CSR = 0xE000E010, SYST_RVR = 0xE000E014, SYST_CVR = 0xE000E018 };
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
             "SysTick's reload changes: what is longer than one period of it counts as \"at least\"");
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
