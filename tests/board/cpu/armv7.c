// The life of an Armv7-A/R core: made, reset, described, put into states that a debugger may meet, taken
// down.
#include "cpu/armv7.h"
#include "cpu/armv8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CPSR_AT_RESET (CPSR_I | CPSR_F | CPSR_A)
enum { SCRATCH_SIZE = 4096, PRCR_NO_POWERDOWN = 1 };
enum { STOP_SKID = 16 };      // ours: no manual says how long an overflow takes through the cross trigger
enum { CTI_OUT_RESTART = 7 }; // DDI 0458C table 10.16

// An access that a device refuses reads as zero for the program, without an abort
static uint64_t device_read(uc_engine *uc, uint64_t offset, unsigned size, void *user)
{
    const struct device *d = user;
    uint32_t word = (uint32_t)offset & ~3u;
    (void)uc, (void)size;
    if (d->allows && !d->allows(d->self, word, false, BUS_CORE))
        return 0;
    return d->read(d->self, word, BUS_CORE) >> 8 * (offset & 3);
}

static void device_write(uc_engine *uc, uint64_t offset, unsigned size, uint64_t value, void *user)
{
    const struct device *d = user;
    (void)uc;
    if (size == 4 && (!d->allows || d->allows(d->self, (uint32_t)offset, true, BUS_CORE)))
        d->write(d->self, (uint32_t)offset, (uint32_t)value, BUS_CORE);
}

static void memory_changed(void *self, uint32_t address, uint32_t length)
{
    struct armv7 *v7 = self;
    uc_ctl_remove_cache(v7->uc, address & ~3u, (address & ~3u) + ((length + 7) & ~3u));
}

static bool map(struct armv7 *v7)
{
    struct bus *bus = v7->bus;
    for (size_t i = 0; i < bus->memory_count; i++) {
        const struct memory *m = &bus->memories[i];
        uint32_t allowed = UC_PROT_READ | UC_PROT_EXEC | (m->writable ? UC_PROT_WRITE : 0);
        if (uc_mem_map_ptr(v7->uc, m->base, m->size, allowed, m->bytes) != UC_ERR_OK)
            return false;
    }
    for (size_t i = 0; i < bus->device_count; i++) {
        struct device *d = &bus->devices[i];
        if (uc_mmio_map(v7->uc, d->base, d->size, device_read, d, device_write, d) != UC_ERR_OK)
            return false;
    }
    return uc_mem_map(v7->uc, V7_SCRATCH, SCRATCH_SIZE, UC_PROT_EXEC) == UC_ERR_OK;
}

void v7_reset(struct armv7 *v7)
{
    uc_context_restore(v7->uc, v7->fresh);
    v7->hyp = false;
    v7->other_stack = 0;
    v7->thumb = v7->start & 1;
    v7->pc = v7->start & ~1u;
    v7_set_cpsr(v7, CPSR_AT_RESET | (v7->profile->has_hyp ? MODE_HYP : MODE_SVC) | (v7->thumb ? CPSR_T : 0));
    for (unsigned i = 0; i <= 14; i++)
        v7_set_register(v7, i, 0);
    // A reset of the core leaves comparators and DBGDSCR's controls alone (DDI 0406C C5.3, C7)
    v7->debug.was_reset = true;
    v7->debug.sticky = 0;
    v7->pending = 0;
    v7->it_left = 0;
    v7->work++;
    v7->state = V7_RUNNING;
    core_leave_debug(v7->core);
    if (!v7->outside)
        pmu_v7_reset(&v7->pmu);
    l1d_empty(&v7->l1d);
    v7_comparators_changed(v7);
    core_forget_sample(v7->core);
    v7->debug.last_target = v7->debug.sampled_target = NO_SAMPLE;
    v7_log(v7, TRUTH_RESET, v7->pc, 0);
    if ((v7->debug.vcr & VCR_RESET) && v7_halting(v7))
        v7_halt(v7, MOE_VECTOR_CATCH);
}

static bool runnable(const struct core *core)
{
    const struct armv7 *v7 = (const struct armv7 *)core;
    return v7->state != V7_HALTED && !v7->held_in_reset && !v7->off;
}

static void reset(struct core *core)
{
    v7_reset((struct armv7 *)core);
}

static void hold(struct core *core, bool in_reset)
{
    struct armv7 *v7 = (struct armv7 *)core;
    bool let_go = v7->held_in_reset && !in_reset;
    v7->held_in_reset = in_reset;
    if (let_go)
        v7_reset(v7);
}

// As power leaves the debug registers: locked, where there is a lock
static struct v7_debug fresh_debug(const struct v7_profile *profile)
{
    return (struct v7_debug){
        .os_locked = profile->v71, .locked = true, .monitor_locked = true, .was_off = true};
}

// The chip's settings of the core outlive the core's power
static void lose_debug(struct armv7 *v7)
{
    const struct v7_debug was = v7->debug;
    v7->debug = fresh_debug(v7->profile);
    v7->debug.lock_for_all = was.lock_for_all;
    v7->debug.secure_low = was.secure_low;
    v7->debug.idles_off = was.idles_off;
    v7->debug.as_documented = was.as_documented;
    v7->debug.resets_unseen = was.resets_unseen;
}

// The program's registers return with the power, by firmware, and the OS lock open, by the system; what a
// debugger and the monitor had does not (DDI 0406C C7.2)
void v7_idle(struct armv7 *v7)
{
    if (v7->outside)
        v8_idle(v7->outside);
    if (!v7->debug.idles_off || (v7->debug.prcr & PRCR_NO_POWERDOWN))
        return;
    lose_debug(v7);
    v7->debug.os_locked = false;
    v7->debug.was_reset = true;
    pmu_v7_reset(&v7->pmu);
    v7_comparators_changed(v7);
}

static bool set_state(struct core *core, const char *name, bool on)
{
    struct armv7 *v7 = (struct armv7 *)core;
    struct v7_debug *d = &v7->debug;
    if (!strcmp(name, "lying-lock")) {
        d->locked = d->monitor_locked = v7->cti.locked = true;
        d->lock_for_all = v7->cti.lock_for_all = v7->cti.lock_lies = on;
    } else if (!strcmp(name, "pmu-interrupt")) {
        v7->pmu_interrupts = on;
    } else if (!strcmp(name, "pmu-handler")) {
        v7->pmu_interrupts = v7->pmu_is_handled = on;
    } else if (!strcmp(name, "breakpoints-cleared")) { // as an operating system does that takes a core down
        memset(d->bcr, 0, sizeof d->bcr);
    } else if (!strcmp(name, "dirty-lines")) {
        v7->bus->dirty = on;
    } else if (!strcmp(name, "idles-off")) {
        d->idles_off = on;
    } else if (!strcmp(name, "erratum-740663")) {
        pmu_v7_set_erratum(&v7->pmu, on);
    } else if (!strcmp(name, "loses-exclusives")) {
        d->loses_exclusives = on;
    } else if (!strcmp(name, "secure-low")) {
        d->secure_low = on;
    } else if (!strcmp(name, "hyp-mode") && v7->profile->pmu.version == 2) {
        v7->svc_is_hyp = on;
        v7_mode_changed(v7);
    } else if (!strcmp(name, "resets-unseen") && v7->profile->samples_targets) {
        d->resets_unseen = on;
    } else if (!strcmp(name, "lost-overflows") && v7->profile->samples_targets) {
        v7->pmu.loses = on ? 2 : 0;
    } else if (!strcmp(name, "all-overflows-lost") && v7->profile->samples_targets) {
        v7->pmu.loses = on ? 1 : 0;
    } else if (!strcmp(name, "documented-samples") && v7->profile->samples_targets) {
        d->as_documented = on;
    } else {
        return false;
    }
    v7_comparators_changed(v7);
    return true;
}

static void power(struct core *core, bool on)
{
    struct armv7 *v7 = (struct armv7 *)core;
    v7->off = !on;
    if (!on)
        return;
    lose_debug(v7);
    cti_power_on(&v7->cti);
    v7->work_at_run = UINT64_MAX;
    v7_reset(v7);
}

static bool interrupt(struct core *core, unsigned irq)
{
    struct armv7 *v7 = (struct armv7 *)core;
    if (irq >= V7_IRQS)
        return false;
    v7->pending |= 1u << irq;
    v7->attention = true;
    return true;
}

static void print_words(FILE *json, const char *name, const uint32_t *words, unsigned count)
{
    fprintf(json, ",\"%s\":[", name);
    for (unsigned i = 0; i < count; i++)
        fprintf(json, "%s%" PRIu32, i ? "," : "", words[i]);
    fputc(']', json);
}

static void print_monitor(FILE *json, struct pmu_v7 *p)
{
    static const struct {
        const char *name;
        uint32_t offset;
    } registers[] = {{"pmcr", 0xE04},      {"pmcntenset", 0xC00}, {"pmovsr", 0xC80},   {"pmintenset", 0xC40},
                     {"pmuserenr", 0xE08}, {"pmccntr", 0x07C},    {"pmccfiltr", 0x47C}};
    uint32_t values[PMU_V7_COUNTERS], types[PMU_V7_COUNTERS];
    for (size_t i = 0; i < sizeof registers / sizeof *registers; i++)
        fprintf(json, ",\"%s\":%" PRIu32, registers[i].name, pmu_v7_read(p, registers[i].offset));
    for (unsigned i = 0; i < p->profile->counters; i++) {
        values[i] = p->counter[i].value;
        types[i] = p->counter[i].type;
    }
    fprintf(json, ",\"pmselr\":%" PRIu32, p->select);
    print_words(json, "pmxevcntr", values, p->profile->counters);
    print_words(json, "pmxevtyper", types, p->profile->counters);
}

static void describe(struct core *core, FILE *json)
{
    static const char *const states[] = {"running", "asleep", "halted"};
    struct armv7 *v7 = (struct armv7 *)core;
    const struct v7_debug *d = &v7->debug;
    fprintf(json, "\"run\":\"%s\",\"pc\":%" PRIu32 ",\"sp\":%" PRIu32 ",\"lr\":%" PRIu32 ",\"cpsr\":%" PRIu32,
            states[v7->state], v7->pc, v7_get(v7, UC_ARM_REG_SP), v7_get(v7, UC_ARM_REG_LR), v7_cpsr(v7));
    fprintf(json,
            ",\"dscr\":%" PRIu32 ",\"moe\":%u,\"vcr\":%" PRIu32 ",\"ecr\":%" PRIu32 ",\"prcr\":%" PRIu32,
            d->control, d->moe, d->vcr, d->ecr, d->prcr);
    fprintf(
        json,
        ",\"rx_full\":%s,\"os_locked\":%s,\"locked\":%s,\"pmu_locked\":%s,\"claims\":%u,\"pending\":%" PRIu32,
        d->rx_full ? "true" : "false", d->os_locked ? "true" : "false", d->locked ? "true" : "false",
        d->monitor_locked ? "true" : "false", d->claims, v7->pending);
    print_words(json, "bvr", d->bvr, v7->profile->breakpoints);
    print_words(json, "bcr", d->bcr, v7->profile->breakpoints);
    print_words(json, "wvr", d->wvr, v7->profile->watchpoints);
    print_words(json, "wcr", d->wcr, v7->profile->watchpoints);
    print_monitor(json, &v7->pmu);
    cti_print(&v7->cti, json);
    fprintf(json,
            ",\"cycles\":%" PRIu64 ",\"counted\":%" PRIu64 ",\"instructions\":%" PRIu64 ",\"halts\":%" PRIu64
            ",\"altered\":%" PRIu64 ",\"borrowed\":%" PRIu64,
            core->cycles, core->counted, core->instructions, core->halts, v7->altered, v7_borrowed(v7));
}

void v7_destroy(struct armv7 *v7)
{
    if (v7->fresh)
        uc_context_free(v7->fresh);
    if (v7->uc)
        uc_close(v7->uc);
    free(v7);
}

static void destroy(struct core *core)
{
    v7_destroy((struct armv7 *)core);
}

static const struct core_ops operations = {
    .runnable = runnable,
    .run = v7_run,
    .reset = reset,
    .hold = hold,
    .power = power,
    .interrupt = interrupt,
    .describe = describe,
    .set_state = set_state,
    .destroy = destroy,
};

static bool make_emulator(struct armv7 *v7)
{
    return uc_open(UC_ARCH_ARM, UC_MODE_ARM, &v7->uc) == UC_ERR_OK &&
           uc_ctl_set_cpu_model(v7->uc, v7->profile->emulated_as) == UC_ERR_OK && map(v7) && v7_hook(v7) &&
           uc_context_alloc(v7->uc, &v7->fresh) == UC_ERR_OK &&
           uc_context_save(v7->uc, v7->fresh) == UC_ERR_OK;
}

static void restart_requested(void *self)
{
    struct armv7 *v7 = self;
    if (v7->state == V7_HALTED)
        v7_resume(v7);
}

static void halt_requested(void *self)
{
    struct armv7 *v7 = self;
    v7->attention = true;
}

static void wire_cti(struct armv7 *v7, struct bus *debug_bus)
{
    const struct v7_profile *profile = v7->profile;
    v7->cti = (struct cti){
        .is = {.base = profile->cti_base + v7->number * profile->cti_stride, .is = profile->cti},
        .bus = debug_bus,
        .authstatus = profile->authstatus,
        .restarts = CTI_OUT_RESTART,
        .restart = restart_requested,
        .request = halt_requested,
        .self = v7,
    };
    cti_power_on(&v7->cti);
}

static void begin(struct armv7 *v7, struct core *core, const struct core_plan *plan,
                  const struct v7_profile *profile)
{
    v7->core = core;
    v7->profile = profile;
    v7->number = plan->number;
    v7->start = plan->start;
    v7->bus = plan->bus;
    v7->work_at_run = UINT64_MAX;
    v7->classifier.bus = plan->bus;
    plan->truth->codes = profile->pmu.codes;
    plan->truth->code_count = profile->pmu.count;
    plan->bus->changed = memory_changed;
    plan->bus->changed_self = v7;
}

struct armv7 *v7_create_user(struct armv8 *v8)
{
    struct armv7 *v7 = calloc(1, sizeof *v7);
    if (!v7)
        return NULL;
    v7->outside = v8;
    v7->core = &v8->core;
    v7->profile = v8->profile->user32;
    v7->bus = v8->bus;
    v7->classifier.bus = v8->bus;
    if (make_emulator(v7))
        return v7;
    v7_destroy(v7);
    return NULL;
}

struct armv7 *v7_create_inside(struct armv8 *v8, struct core *core, const struct core_plan *plan,
                               const struct v7_profile *profile)
{
    struct armv7 *v7 = calloc(1, sizeof *v7);
    if (!v7)
        return NULL;
    v7->outside = v8;
    begin(v7, core, plan, profile);
    if (make_emulator(v7))
        return v7;
    v7_destroy(v7);
    return NULL;
}

struct core *v7_create(const struct core_plan *plan)
{
    struct armv7 *v7 = calloc(1, sizeof *v7);
    if (!v7)
        return NULL;
    v7->own = (struct core){.ops = &operations,
                            .bus = plan->bus,
                            .truth = plan->truth,
                            .halt_cost = plan->halt_cost,
                            .skid = STOP_SKID};
    begin(v7, &v7->own, plan, plan->profile);
    v7->debug = fresh_debug(v7->profile);
    v7->pmu.profile = &v7->profile->pmu;
    v7->pmu.totals = v7->totals;
    v7->pmu.counted = &v7->core->counted;
    wire_cti(v7, plan->debug_bus);
    if (!make_emulator(v7) || !v7_add_devices(v7, plan->debug_bus)) {
        v7_destroy(v7);
        return NULL;
    }
    v7_reset(v7);
    return v7->core;
}
