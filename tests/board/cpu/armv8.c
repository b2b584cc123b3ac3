// The life of an Armv8-A core: made, reset, described, put into states that a debugger may meet, taken down.
#include "cpu/armv8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SCRATCH_SIZE = 4096, LEVEL_AT_RESET = 3, PRCR_CORENPDRQ = 1 };
enum { STOP_SKID = 16 }; // ours: no manual says how long an overflow takes through the cross trigger

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
    struct armv8 *v8 = self;
    uint32_t from = address & ~3u, to = from + ((length + 7) & ~3u);
    uc_ctl_remove_cache(v8->uc, from, to);
    a32_forget_code(v8, from, to);
}

static bool map(struct armv8 *v8)
{
    struct bus *bus = v8->bus;
    for (size_t i = 0; i < bus->memory_count; i++) {
        const struct memory *m = &bus->memories[i];
        uint32_t allowed = UC_PROT_READ | UC_PROT_EXEC | (m->writable ? UC_PROT_WRITE : 0);
        if (uc_mem_map_ptr(v8->uc, m->base, m->size, allowed, m->bytes) != UC_ERR_OK)
            return false;
    }
    for (size_t i = 0; i < bus->device_count; i++) {
        struct device *d = &bus->devices[i];
        if (uc_mmio_map(v8->uc, d->base, d->size, device_read, d, device_write, d) != UC_ERR_OK)
            return false;
    }
    return uc_mem_map(v8->uc, V8_SCRATCH, SCRATCH_SIZE, UC_PROT_EXEC) == UC_ERR_OK;
}

// As power leaves the debug registers
static struct v8_debug fresh_debug(void)
{
    return (struct v8_debug){.os_locked = true,
                             .locked = true,
                             .monitor_locked = true,
                             .was_off = true,
                             .status = V8_STATUS_RUNNING};
}

static void reset_program(struct armv8 *v8)
{
    uc_context_restore(v8->uc, v8->fresh);
    memset(v8->sp, 0, sizeof v8->sp);
    for (unsigned i = 0; i < 31; i++)
        v8_set_x(v8, i, 0);
    v8_set_pstate(v8, LEVEL_AT_RESET << 2 | PSTATE_DAIF | PSTATE_SPSEL);
    v8_set(v8, UC_ARM64_REG_SP, 0);
    v8->pc = v8->start;
    v8->pending = 0;
    v8->work++;
    core_leave_debug(&v8->core);
    l1d_empty(&v8->l1d);
    core_forget_sample(&v8->core);
    v8_log(v8, TRUTH_RESET, v8->pc, 0);
}

// OSUCE and RCE, which are the same bits in both: with FEAT_DoPD those of CTIDEVCTL (DDI 0487 H3.7)
uint32_t v8_catches(const struct armv8 *v8)
{
    return v8->cti.has_control ? v8->cti.devctl : v8->debug.edecr;
}

void v8_reset(struct armv8 *v8, bool cold)
{
    struct v8_debug *d = &v8->debug;
    uint32_t edecr = d->edecr; // of the debug power domain
    if (cold) {
        const struct v8_debug was = *d;
        *d = fresh_debug();
        d->edecr = v8->cti.has_control ? 0 : edecr;       // which is of the core's domain then
        d->unsigned_non_secure = was.unsigned_non_secure; // these are wires
        d->unsigned_secure = was.unsigned_secure;
        d->lock_for_all = was.lock_for_all;
        d->lock_lies = was.lock_lies;
        d->idles_off = was.idles_off;
        cti_power_on(&v8->cti);
    }
    d->was_reset = true;
    d->status = V8_STATUS_RUNNING;
    d->edesr = v8_catches(v8) & EDECR_RCE;
    d->control &= EDSCR_HDE | EDSCR_TDA | EDSCR_INTDIS;
    memset(v8->regs, 0, sizeof v8->regs);
    v8->regs[R_MDCR_EL2] = v8->profile->pmu.counters;
    v8->state = V8_RUNNING;
    v8->stepping = false;
    pmu_v3_reset(&v8->pmu);
    v8_comparators_changed(v8);
    if (v8->user32)
        v8->aarch32 = NULL;
    if (v8->aarch32)
        a32_reset(v8);
    else
        reset_program(v8);
}

// The program's registers return with the power, by firmware, and the OS lock open, by the system; what a
// debugger and the monitor had does not (DDI 0487H H6.3)
void v8_idle(struct armv8 *v8)
{
    struct v8_debug *d = &v8->debug;
    if (!d->idles_off || (d->edprcr & PRCR_CORENPDRQ))
        return;
    const struct v8_debug was = *d;
    *d = fresh_debug();
    d->os_locked = false;
    d->was_reset = true;
    d->edecr = was.edecr;
    d->edprcr = was.edprcr;
    d->unsigned_non_secure = was.unsigned_non_secure;
    d->unsigned_secure = was.unsigned_secure;
    d->idles_off = true;
    pmu_v3_reset(&v8->pmu);
    v8_comparators_changed(v8);
}

static bool runnable(const struct core *core)
{
    const struct armv8 *v8 = (const struct armv8 *)core;
    return v8->state != V8_HALTED && !v8->held_in_reset && !v8->off;
}

static void reset(struct core *core)
{
    v8_reset((struct armv8 *)core, false);
}

static void hold(struct core *core, bool in_reset)
{
    struct armv8 *v8 = (struct armv8 *)core;
    bool let_go = v8->held_in_reset && !in_reset;
    v8->held_in_reset = in_reset;
    if (let_go)
        v8_reset(v8, false);
}

static void power(struct core *core, bool on)
{
    struct armv8 *v8 = (struct armv8 *)core;
    v8->off = !on;
    if (!on)
        return;
    v8->work_at_run = UINT64_MAX;
    v8_reset(v8, true);
}

static bool interrupt(struct core *core, unsigned irq)
{
    struct armv8 *v8 = (struct armv8 *)core;
    if (irq >= V8_IRQS)
        return false;
    *v8_pending(v8) |= 1u << irq;
    v8_attend(v8);
    return true;
}

static void set_signals(struct armv8 *v8, bool non_secure_low, bool secure_low)
{
    v8->debug.unsigned_non_secure = non_secure_low;
    v8->debug.unsigned_secure = secure_low;
    v8->cti.authstatus = v8_authstatus(v8);
    v8_level_changed(v8);
}

static void lock_software(struct armv8 *v8, bool on, bool lies)
{
    v8->debug.locked = v8->debug.monitor_locked = v8->cti.locked = true;
    v8->debug.lock_for_all = v8->cti.lock_for_all = on;
    v8->debug.lock_lies = v8->cti.lock_lies = on && lies;
}

// As an operating system clears them when it takes a core down
static void clear_breakpoints(struct armv8 *v8)
{
    for (unsigned i = 0; i < V8_BREAKPOINTS; i++)
        v8->debug.bcr[i] = 0;
}

static bool set_state(struct core *core, const char *name, bool on)
{
    struct armv8 *v8 = (struct armv8 *)core;
    struct v8_debug *d = &v8->debug;
    if (!strcmp(name, "os-locked")) {
        d->os_locked = on;
    } else if (!strcmp(name, "double-locked")) {
        d->double_lock = on;
        d->os_locked |= on; // software sets both
        d->edprcr &= ~1u;
    } else if (!strcmp(name, "powered-off")) {
        if (v8->off == on)
            return true;
        power(core, !on);
    } else if (!strcmp(name, "epmad")) {
        v8->regs[R_MDCR_EL3] = (v8->regs[R_MDCR_EL3] & ~(uint64_t)MDCR_EPMAD) | (on ? MDCR_EPMAD : 0);
        set_signals(v8, false, on);
    } else if (!strcmp(name, "soft-locked")) {
        lock_software(v8, on, false);
    } else if (!strcmp(name, "lying-lock")) {
        lock_software(v8, on, true);
    } else if (!strcmp(name, "pmu-interrupt")) {
        v8->pmu_interrupts = on;
    } else if (!strcmp(name, "pmu-handler")) {
        v8->pmu_interrupts = v8->pmu_is_handled = on;
    } else if (!strcmp(name, "breakpoints-cleared")) {
        clear_breakpoints(v8);
    } else if (!strcmp(name, "loses-exclusives")) {
        d->loses_exclusives = on;
    } else if (!strcmp(name, "dirty-lines")) {
        v8->bus->dirty = on;
    } else if (!strcmp(name, "idles-off")) {
        d->idles_off = on;
    } else if (!strcmp(name, "dopd")) {
        cti_set_dopd(&v8->cti, on);
    } else if (!strcmp(name, "samples-in-monitor")) {
        d->samples_in_monitor = on;
    } else if (!strcmp(name, "erratum-855827")) {
        pmu_v3_set_erratum(&v8->pmu, on);
    } else if (!strcmp(name, "secure-low")) {
        set_signals(v8, false, on);
    } else if (!strcmp(name, "unauthenticated")) {
        set_signals(v8, on, on);
    } else {
        return false;
    }
    v8_comparators_changed(v8);
    return true;
}

static void destroy(struct core *core)
{
    struct armv8 *v8 = (struct armv8 *)core;
    a32_destroy(v8);
    if (v8->fresh)
        uc_context_free(v8->fresh);
    if (v8->uc)
        uc_close(v8->uc);
    free(v8);
}

static const struct core_ops operations = {
    .runnable = runnable,
    .run = v8_run,
    .reset = reset,
    .hold = hold,
    .power = power,
    .interrupt = interrupt,
    .set_state = set_state,
    .describe = v8_describe,
    .destroy = destroy,
};

static bool make_emulator(struct armv8 *v8)
{
    return uc_open(UC_ARCH_ARM64, UC_MODE_ARM, &v8->uc) == UC_ERR_OK &&
           uc_ctl_set_cpu_model(v8->uc, (int)v8->profile->emulated_as) == UC_ERR_OK && map(v8) &&
           v8_hook(v8) && uc_context_alloc(v8->uc, &v8->fresh) == UC_ERR_OK &&
           uc_context_save(v8->uc, v8->fresh) == UC_ERR_OK;
}

static void restart_requested(void *self)
{
    v8_restart(self);
}

static void halt_requested(void *self)
{
    v8_attend(self);
}

static void wire_cti(struct armv8 *v8, struct bus *debug_bus)
{
    const struct v8_profile *profile = v8->profile;
    v8->cti = (struct cti){
        .is = {.base = profile->cti_base + v8->number * profile->stride, .is = profile->cti},
        .bus = debug_bus,
        .affinity = profile->mpidr + v8->number,
        .restarts = 1,
        .authstatus = v8_authstatus(v8),
        .restart = restart_requested,
        .request = halt_requested,
        .self = v8,
    };
}

struct core *v8_create(const struct core_plan *plan)
{
    struct armv8 *v8 = calloc(1, sizeof *v8);
    if (!v8)
        return NULL;
    v8->core = (struct core){
        .ops = &operations, .bus = plan->bus, .truth = plan->truth, .halt_cost = plan->halt_cost};
    v8->core.skid = STOP_SKID;
    v8->profile = plan->profile;
    v8->number = plan->number;
    v8->start = plan->start;
    v8->bus = plan->bus;
    v8->work_at_run = UINT64_MAX;
    v8->pmu.profile = &v8->profile->pmu;
    v8->pmu.totals = v8->totals;
    v8->pmu.counted = &v8->core.counted;
    v8->classifier.bus = plan->bus;
    plan->truth->codes = v8->profile->pmu.codes;
    plan->truth->code_count = v8->profile->pmu.count;
    plan->bus->changed = memory_changed;
    plan->bus->changed_self = v8;
    wire_cti(v8, plan->debug_bus);
    if (!(v8->profile->aarch32 ? a32_create(v8, plan) : make_emulator(v8)) ||
        !v8_add_devices(v8, plan->debug_bus)) {
        destroy(&v8->core);
        return NULL;
    }
    v8_reset(v8, true);
    return &v8->core;
}
