/* SPDX-License-Identifier: MIT */
#include "device/doctor.h"

#include "base/arm_debug.h"
#include "cores/architectures.h"
#include "debuggers/debugger.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct examination {
    struct device *device;
    const struct core *core;
    struct diagnosis *out;
    const struct deadline *deadline;
    struct error *error;
    bool lost;
};

/* False: it refuses to be read, or the link is lost. */
static bool doctor_look(struct examination *e, struct address at, uint32_t *value)
{
    struct error why = {0};
    uint64_t word = 0;
    *value = 0;
    if (e->lost)
        return false;
    if (!ledger_read(e->device->ledger, at, &word, e->deadline, &why)) {
        if (!error_is_refusal(&why)) {
            e->lost = true;
            error_set(e->error, why.kind, "%s", why.text);
        }
        return false;
    }
    *value = (uint32_t)word;
    return true;
}

__attribute__((format(printf, 5, 6))) static void doctor_note(struct examination *e, const char *name,
                                                              enum finding finding, const char *state,
                                                              const char *detail, ...)
{
    if (e->out->n == DOCTOR_TESTS)
        return;
    struct doctor_test *test = &e->out->tests[e->out->n++];
    test->finding = finding;
    snprintf(test->name, sizeof test->name, "%s", name);
    snprintf(test->state, sizeof test->state, "%s", state);
    va_list list;
    va_start(list, detail);
    vsnprintf(test->detail, sizeof test->detail, detail, list);
    va_end(list);
}

/* Only the first reason counts. */
static void blame(struct examination *e, const char *reason, const char *advice, const struct setting *mend)
{
    struct diagnosis *out = e->out;
    if (!out->healthy)
        return;
    out->healthy = false;
    snprintf(out->reason, sizeof out->reason, "%s", reason);
    snprintf(out->advice, sizeof out->advice, "%s", advice);
    out->mendable = mend != NULL;
    if (mend != NULL)
        out->mend = *mend;
}

static void test_bit(struct examination *e, const char *name, bool bad, const char *word, const char *bit,
                     unsigned value)
{
    doctor_note(e, name, bad ? FINDING_BAD : FINDING_OK, bad ? word : "ok", "%s = %u", bit, value);
}

static void unknown(struct examination *e, const char *name, const char *needs)
{
    doctor_note(e, name, FINDING_UNKNOWN, "unknown", "%s", needs);
}

static const char refuses[] = "%s refuses to be read";

static bool look_or_note(struct examination *e, const char *name, const char *which, struct address at,
                         uint32_t *value)
{
    bool seen = doctor_look(e, at, value);
    if (!seen)
        doctor_note(e, name, FINDING_UNKNOWN, "unknown", refuses, which);
    return seen;
}

static void no_power(struct examination *e, const char *which, const char *reason, const char *advice)
{
    doctor_note(e, "power", FINDING_BAD, "OFF", refuses, which);
    blame(e, reason, advice, NULL);
}

static const char only_the_chip[] = "Only the chip can allow it: fuses, secure boot, life cycle, a register.";

/* Two bits for each kind of debug: implemented, and allowed. Non-invasive debug of the Non-secure state is
 * bits 3:2, of the Secure one 7:6. */
static bool authenticated(uint32_t status)
{
    bool non_secure = (status >> 2 & 3) != 2, secure = (status >> 6 & 3) == 3;
    return non_secure || secure;
}

static void test_authentication(struct examination *e)
{
    uint32_t status;
    if (!look_or_note(e, "authentication", "PMAUTHSTATUS", core_pmu(e->core, CORESIGHT_AUTHSTATUS), &status))
        return;
    bool allowed = authenticated(status);
    doctor_note(e, "authentication", allowed ? FINDING_OK : FINDING_BAD, allowed ? "ok" : "REFUSED",
                "PMAUTHSTATUS = 0x%02" PRIX32, status);
    if (!allowed)
        blame(e, "the chip does not allow non-invasive debug (NIDEN and DBGEN are low)", only_the_chip, NULL);
}

/* Whether comparators may stop the core; counting alone does not need it. Invasive debug of the Non-secure
 * state is bits 1:0, of the Secure one 5:4. */
static void test_halting(struct examination *e)
{
    uint32_t status;
    if (!look_or_note(e, "halting", "DBGAUTHSTATUS", core_debug(e->core, CORESIGHT_AUTHSTATUS), &status))
        return;
    const char *state = "ok", *detail = "";
    if (!core_may_halt(status)) {
        state = "none";
        detail = ": delta cannot stop it";
    } else if (core_keeps_secure(e->core, status)) {
        state = "not Secure";
        detail = ": Secure code (OP-TEE) never stops, for SPIDEN is low";
    }
    doctor_note(e, "halting", FINDING_OK, state, "DBGAUTHSTATUS = 0x%02" PRIX32 "%s", status, detail);
}

static void test_software_lock(struct examination *e)
{
    uint32_t status;
    if (!look_or_note(e, "software lock", "PMLSR", core_pmu(e->core, CORESIGHT_LSR), &status))
        return;
    bool locked = (status & LSR_PRESENT) && (status & LSR_LOCKED);
    test_bit(e, "software lock", locked, "LOCKED", "PMLSR.SLK", locked);
    const struct setting mend = {.at = core_pmu(e->core, CORESIGHT_LAR),
                                 .test_at = core_pmu(e->core, CORESIGHT_LSR),
                                 .test = LSR_LOCKED,
                                 .set = 0,
                                 .key = LAR_KEY};
    if (locked)
        blame(e, "the PMU's software lock is closed", "Measurements open it, and close it again.", &mend);
}

static const char os_locked[] = "the OS lock is set, as after a reset",
                  os_lock_advice[] = "Measurements clear it, and set it again.";

static bool test_power(struct examination *e, const char *bit, uint32_t status)
{
    bool off = (status & PRSR_PU) == 0;
    test_bit(e, "power", off, "OFF", bit, !off);
    if (off)
        blame(e, "the core has no power", "Let the program keep it on.", NULL);
    return off;
}

static void examine_v8(struct examination *e)
{
    uint32_t status;
    if (!doctor_look(e, core_debug(e->core, EDPRSR), &status)) {
        no_power(e, "EDPRSR", "the debug power domain does not answer",
                 "Is the cluster powered and clocked?");
        return;
    }
    bool off = test_power(e, "EDPRSR.PU", status);
    bool double_locked = !off && (status & PRSR_DLK) != 0;
    if (off)
        unknown(e, "double lock", "needs power");
    else
        test_bit(e, "double lock", double_locked, "LOCKED", "EDPRSR.DLK", double_locked);
    if (double_locked)
        blame(e, "the OS double lock is set, as before power-down",
              "Only the program can clear it (OSDLR_EL1).", NULL);
    bool locked = !off && (status & PRSR_OSLK) != 0;
    if (off || double_locked)
        unknown(e, "OS lock", off ? "needs power" : "needs the double lock cleared");
    else
        test_bit(e, "OS lock", locked, "LOCKED", "EDPRSR.OSLK", locked);
    const struct setting open = {.at = core_debug(e->core, OSLAR_EL1), .always = true};
    if (locked && !double_locked)
        blame(e, os_locked, os_lock_advice, &open);
    bool hidden = off || double_locked || locked;
    test_authentication(e); /* its registers answer whatever is locked; a refusal shows as EPMAD too */
    test_halting(e);
    bool denied = (status & PRSR_EPMAD) != 0;
    if (hidden)
        unknown(e, "EPMAD", off ? "needs power" : "needs the locks cleared");
    else
        test_bit(e, "EPMAD", denied, "DENIED", "EDPRSR.EPMAD", denied);
    if (denied && !hidden)
        blame(e, "the program keeps debuggers off the PMU (MDCR_EL3.EPMAD)",
              "Firmware at EL3 has to allow it.", NULL);
    test_software_lock(e);
}

static void examine_v7(struct examination *e)
{
    uint32_t status, os_lock;
    if (!doctor_look(e, core_debug(e->core, DBGPRSR), &status)) {
        no_power(e, "DBGPRSR", "the debug logic does not answer", "Is the core powered and clocked?");
        return;
    }
    (void)test_power(e, "DBGPRSR.PU", status);
    if (look_or_note(e, "OS lock", "DBGOSLSR", core_debug(e->core, DBGOSLSR), &os_lock)) {
        bool locked = (os_lock & OSLSR_LOCKED) != 0;
        test_bit(e, "OS lock", locked, "LOCKED", "DBGOSLSR.OSLK", locked);
        const struct setting open = {.at = core_debug(e->core, DBGOSLAR), .always = true};
        if (locked)
            blame(e, os_locked, os_lock_advice, &open);
    }
    test_halting(e);
    if (e->core->pmu_base == 0) {
        doctor_note(e, "PMU", FINDING_OK, "CP15 only", "not on the debug bus: read while the core is halted");
        return;
    }
    test_authentication(e);
    test_software_lock(e);
}

/* DDI 0553 D1.2: NSID and SID, 3 where a debugger may halt the core in that state. */
static void test_security(struct examination *e)
{
    enum { NSID = 3, SID = 3 << 4 };
    uint32_t status;
    if (!cortex_m_is_v8(e->core))
        return;
    if (!look_or_note(e, "authentication", "DAUTHSTATUS", cortex_m_authentication(e->core), &status))
        return;
    bool allowed = (status & NSID) == NSID, hidden = e->core->security == SECURITY_HIDDEN;
    doctor_note(e, "authentication", allowed ? FINDING_OK : FINDING_BAD,
                !allowed  ? "REFUSED"
                : !hidden ? "ok"
                          : "Non-secure only",
                "DAUTHSTATUS = 0x%02" PRIX32 "%s", status,
                hidden ? ": Secure code is never stopped, and may not be counted" : "");
    if (!allowed && (status & SID) != SID)
        blame(e, "the chip lets no debugger halt the core (DBGEN is low)", only_the_chip, NULL);
}

static void examine_m(struct examination *e)
{
    uint32_t demcr;
    if (!doctor_look(e, core_word(e->core, DEMCR), &demcr)) {
        no_power(e, "DEMCR", "the core's debug registers do not answer",
                 "Is the core asleep without a clock, or held in reset?");
        return;
    }
    bool traced = (demcr & DEMCR_TRCENA) != 0;
    /* Not a fault: a measurement switches it on */
    doctor_note(e, "trace", FINDING_OK, traced ? "ok" : "off", "DEMCR.TRCENA = %u%s", traced,
                traced ? "" : ": switched on while it is measured");
    test_security(e);
    if ((e->core->quirks & HALTS_IN_HANDLER) != 0)
        doctor_note(e, "erratum 3092511", FINDING_OK, "handled",
                    "stops in handlers are passed over, and taint the hit");
}

bool doctor_examine(struct device *device, const struct device_core *core, struct diagnosis *out,
                    const struct deadline *deadline, struct error *error)
{
    struct examination e = {
        .device = device, .core = &core->core, .out = out, .deadline = deadline, .error = error};
    *out = (struct diagnosis){.healthy = true};
    if (device->debugger != NULL && device->debugger->facts.is_emulator) {
        doctor_note(&e, "emulator", FINDING_BAD, "NO CYCLES", "its time is not a core's");
        blame(&e, "an emulator's cycles measure no code", DEBUGGER_ADVICE_EMULATOR, NULL);
    }
    if (core_has(e.core, SYSTEM_SPACE))
        examine_m(&e);
    else if (core_has(e.core, LOCKS_IN_PRSR))
        examine_v8(&e);
    else if (core_has(e.core, DEBUG_COMPONENT))
        examine_v7(&e);
    return !e.lost;
}

/* --- hidden cores --------------------------------------------------------------------------------------- */

static bool read_quietly(struct device *device, const struct core *core, uint64_t offset, uint64_t *value,
                         const struct deadline *deadline)
{
    struct error ignored = {0};
    return ledger_read(device->ledger, core_debug(core, offset), value, deadline, &ignored);
}

static bool is_os_locked(struct device *device, const struct core *core, uint64_t status,
                         const struct deadline *deadline)
{
    uint64_t lock;
    if (core_has(core, LOCKS_IN_PRSR))
        return (status & PRSR_OSLK) != 0;
    return read_quietly(device, core, DBGOSLSR, &lock, deadline) && (lock & OSLSR_LOCKED) != 0;
}

void hidden_describe(struct device *device, const struct device_core *core, char *out, size_t size,
                     const struct deadline *deadline)
{
    uint64_t status;
    if (!read_quietly(device, &core->core, EDPRSR, &status, deadline))
        snprintf(out, size, "locked or without power: its debug registers refuse");
    else if ((status & PRSR_PU) == 0)
        snprintf(out, size, "without power");
    else if (core_has(&core->core, LOCKS_IN_PRSR) && (status & PRSR_DLK) != 0)
        snprintf(out, size, "powered; OS double lock set, as before power-down");
    else if ((status & PRSR_R) != 0)
        snprintf(out, size, "powered, in reset");
    else if (is_os_locked(device, &core->core, status, deadline))
        snprintf(out, size, "powered, %s; OS lock set, as after a reset",
                 (status & PRSR_HALTED) != 0 ? "halted" : "running");
    else
        snprintf(out, size, "powered; its debug registers refuse: pmu-probe doctor finds why");
}

/* ---- snapshot */

static const char counts[] = "it counts on", status[] = "status, which changes while the core runs",
                  sticky[] = "sticky flags: a stop sets them, and a read clears them";

static struct snapshot_item *snapshot_find(struct snapshot *snapshot, struct address at)
{
    for (size_t i = 0; i < snapshot->n; i++)
        if (address_same(snapshot->items[i].at, at))
            return &snapshot->items[i];
    return NULL;
}

static struct snapshot_item *snapshot_add(struct snapshot *snapshot, struct address at, uint64_t promised,
                                          const char *moves)
{
    struct snapshot_item *item = snapshot_find(snapshot, at);
    if (item != NULL && item->moves == counts)
        return item;
    if (item == NULL) {
        if (snapshot->n == SNAPSHOT_ROOM) {
            snapshot->cut = true;
            return NULL;
        }
        item = &snapshot->items[snapshot->n++];
        *item = (struct snapshot_item){.at = at};
    }
    item->promised |= promised;
    item->moves = moves;
    return item;
}

static void add_restored(struct snapshot *snapshot, struct address at, const struct restore *restore)
{
    if (restore->how == RESTORE_CLEAR_NEW)
        (void)snapshot_add(snapshot, at, 0, sticky);
    else
        (void)snapshot_add(snapshot, at, restore->mask != 0 ? restore->mask : UINT64_MAX, status);
}

/* A register that is only written is shown by the one that is tested. */
static void snapshot_add_setting(struct snapshot *snapshot, const struct setting *setting)
{
    bool nothing = setting->test == 0 && setting->set == 0 && !setting->always && !setting->only_held;
    if (setting->only_watched)
        return;
    if (setting->test_at.size == 0) {
        if (nothing)
            (void)snapshot_add(snapshot, setting->at, 0, sticky);
        else
            add_restored(snapshot, setting->at, &setting->restore);
        return;
    }
    (void)snapshot_add(snapshot, setting->test_at, setting->test, sticky);
    struct snapshot_item *written = snapshot_add(snapshot, setting->at, 0, status);
    if (written != NULL)
        written->indirect = true;
}

static void snapshot_add_core(struct snapshot *snapshot, const struct core *core)
{
    struct setting settings[CORE_SETTINGS], on = core_comparators_on(core);
    struct core_stops stops = {.n = 0};
    struct core either = *core;
    for (int i = 0; i < 2; i++) {
        either.resets = i == 0 ? RESETS_CAUGHT : RESETS_NOTICED;
        size_t n = core_settings(&either, settings, CORE_SETTINGS);
        for (size_t k = 0; k < n; k++)
            snapshot_add_setting(snapshot, &settings[k]);
    }
    snapshot_add_setting(snapshot, &on);
    for (unsigned n = 0; n < core->comparators; n++)
        for (unsigned word = 0; word < core_comparator_words(core); word++)
            (void)snapshot_add(snapshot, core_comparator(core, n, word), UINT64_MAX, status);
    core_add_first_stops(core, false, &stops);
    for (size_t i = 0; i < stops.n; i++)
        (void)snapshot_add(snapshot, stops.items[i].at, stops.items[i].field, status);
}

void snapshot_list(struct snapshot *snapshot, const struct device *device, const struct counter_block *block)
{
    const struct core *core = &device->chosen->core;
    *snapshot = (struct snapshot){0};
    for (size_t i = 0; block != NULL && i < block->n; i++) {
        (void)snapshot_add(snapshot, block->counters[i].low, 0, counts);
        if (block->counters[i].high.size != 0)
            (void)snapshot_add(snapshot, block->counters[i].high, 0, counts);
    }
    for (size_t i = 0; block != NULL && i < block->n_settings; i++)
        snapshot_add_setting(snapshot, &block->settings[i]);
    if (core_has_run_control(core))
        snapshot_add_core(snapshot, core);
}

bool snapshot_read(struct snapshot *snapshot, struct ledger *ledger, const struct deadline *deadline,
                   struct error *error)
{
    for (size_t i = 0; i < snapshot->n; i++) {
        struct snapshot_item *item = &snapshot->items[i];
        struct error refused = {0};
        if (item->indirect || item->known || item->at.space != SPACE_MEMORY)
            continue;
        item->known = ledger_read(ledger, item->at, &item->value, deadline, &refused);
        if (!item->known && !error_is_refusal(&refused))
            return error_copy(error, &refused);
    }
    return true;
}

/* What may stay on at the end, and the registers of the same counter with it, are not promised. */
static void exempt(struct snapshot *snapshot, const struct ledger *ledger, struct address on, uint64_t starts)
{
    struct address at;
    struct restore restore;
    uint64_t old;
    for (size_t i = 0; starts != 0 && i < ledger_held(ledger); i++) {
        struct snapshot_item *item =
            ledger_entry(ledger, i, &at, &restore, &old) ? snapshot_find(snapshot, at) : NULL;
        if (item != NULL && address_same(at, on))
            item->promised &= ~starts;
        else if (item != NULL && restore.exact != 0 && ledger_same_page(at, on))
            item->promised = 0;
    }
}

void snapshot_add_held(struct snapshot *snapshot, const struct ledger *ledger)
{
    struct address at;
    struct restore restore;
    uint64_t old;
    for (size_t i = 0; i < ledger_held(ledger); i++) {
        if (!ledger_entry(ledger, i, &at, &restore, &old))
            continue;
        struct snapshot_item *item = snapshot_find(snapshot, at);
        if (item == NULL) {
            add_restored(snapshot, at, &restore);
            item = snapshot_find(snapshot, at);
        }
        exempt(snapshot, ledger, at, restore.starts);
        if (item == NULL || item->known || item->indirect)
            continue;
        item->value = old;
        item->known = true;
    }
}

void snapshot_copy_list(struct snapshot *out, const struct snapshot *from)
{
    *out = *from;
    for (size_t i = 0; i < out->n; i++)
        out->items[i].known = false;
}

bool snapshot_is_complete(const struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->n; i++)
        if (!snapshot->items[i].known && !snapshot->items[i].indirect)
            return false;
    return true;
}

enum snapshot_finding snapshot_compare(const struct snapshot *before, const struct snapshot *after, size_t i)
{
    const struct snapshot_item *was = &before->items[i], *is = &after->items[i];
    if (!was->known || !is->known)
        return SNAPSHOT_UNKNOWN;
    uint64_t changed = was->value ^ is->value;
    if (changed == 0)
        return SNAPSHOT_SAME;
    return (changed & was->promised) != 0 ? SNAPSHOT_LEFT : SNAPSHOT_MOVED;
}
