// The life of a core: made, reset, described, taken down.
#include "cpu/cortex_m.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PPB_BASE 0xE0000000u
#define PPB_SIZE 0x00100000u
#define XPSR_T   (1u << 24)
enum { STOP_SKID = 2 }; // ours; the architecture sets no limit

static uint64_t window_read(uc_engine *uc, uint64_t offset, unsigned size, void *user)
{
    const struct cm_window *w = user;
    uint32_t value = 0;
    (void)uc;
    bus_read(w->bus, w->base + (uint32_t)offset, size, &value, BUS_CORE);
    return value;
}

static void window_write(uc_engine *uc, uint64_t offset, unsigned size, uint64_t value, void *user)
{
    const struct cm_window *w = user;
    (void)uc;
    bus_write(w->bus, w->base + (uint32_t)offset, size, (uint32_t)value, BUS_CORE);
}

static bool map_window(struct cortex_m *cm, uint32_t base, uint32_t size)
{
    if (cm->window_count == CM_WINDOWS)
        return false;
    struct cm_window *w = &cm->windows[cm->window_count++];
    *w = (struct cm_window){.bus = cm->core.bus, .base = base};
    return uc_mmio_map(cm->uc, base, size, window_read, w, window_write, w) == UC_ERR_OK;
}

static void memory_changed(void *self, uint32_t address, uint32_t length)
{
    struct cortex_m *cm = self;
    uc_ctl_remove_cache(cm->uc, address & ~3u, (address & ~3u) + ((length + 7) & ~3u));
}

static bool map_memories(struct cortex_m *cm)
{
    const struct bus *bus = cm->core.bus;
    for (size_t i = 0; i < bus->memory_count; i++) {
        const struct memory *m = &bus->memories[i];
        uint32_t allowed = UC_PROT_READ | UC_PROT_EXEC | (m->writable ? UC_PROT_WRITE : 0);
        if (uc_mem_map_ptr(cm->uc, m->base, m->size, allowed, m->bytes) != UC_ERR_OK)
            return false;
    }
    for (size_t i = 0; i < bus->device_count; i++) // the chip's; the core's own ones follow later
        if (!map_window(cm, bus->devices[i].base, bus->devices[i].size))
            return false;
    return map_window(cm, PPB_BASE, PPB_SIZE);
}

static void reset_registers(struct cortex_m *cm)
{
    uint32_t sp = 0, pc = 0;
    bus_read(cm->core.bus, cm->system.vtor, 4, &sp, BUS_CORE);
    bus_read(cm->core.bus, cm->system.vtor + 4, 4, &pc, BUS_CORE);
    cm_set(cm, UC_ARM_REG_XPSR, XPSR_T);
    cm_set(cm, UC_ARM_REG_CONTROL, 0);
    cm_set(cm, UC_ARM_REG_PRIMASK, 0);
    if (cm->profile->v7m) {
        cm_set(cm, UC_ARM_REG_FAULTMASK, 0);
        cm_set(cm, UC_ARM_REG_BASEPRI, 0);
    }
    for (unsigned i = 0; i <= 12; i++)
        cm_set_selected(cm, i, 0);
    cm_set(cm, UC_ARM_REG_PSP, 0);
    cm_set(cm, UC_ARM_REG_MSP, sp & ~3u);
    cm_set(cm, UC_ARM_REG_SP, sp & ~3u);
    cm_set(cm, UC_ARM_REG_LR, UINT32_MAX);
    cm_set_pc(cm, pc);
}

void cm_reset(struct cortex_m *cm)
{
    // DHCSR.C_DEBUGEN, most of DEMCR, DFSR and the breakpoint unit outlive a system reset (DDI 0403E C1.4,
    // "Debug and reset")
    cm->debug.control &= C_DEBUGEN;
    cm->debug.demcr &= ~MON_BITS; // the rest of DEMCR is reset by power alone (DDI 0403E C1.6.5)
    cm->debug.was_reset = true;
    cm->reset_requested = false;
    cm->event = false;
    cm->waiting_for_event = false;
    cm->was_asleep = false;
    cm->stop_cause = 0;
    cm->attention = true;
    cm->work++;
    nvic_reset(&cm->nvic);
    systick_reset(&cm->systick, cm->core.counted);
    systick_reset(&cm->other_systick, cm->core.counted);
    cm_trace_catch_up(cm);
    dwt_reset(&cm->dwt, cm_dwt_now(cm));
    cm_trace_set_up(cm);
    l1d_empty(&cm->l1d);
    cm->system = (struct cm_system){.vtor = cm->reset_vtor,
                                    .ccr = (cm->profile->v7m ? 0x200 : 0x208) | cm->profile->ccr_always};
    reset_registers(cm);
    cm->state = CM_RUNNING;
    core_leave_debug(&cm->core);
    core_forget_sample(&cm->core);
    cm_log(cm, TRUTH_RESET, cm_pc(cm), 0);
    if ((cm->debug.demcr & VC_CORERESET) && cm_may_halt(cm))
        cm_halt(cm, DFSR_VCATCH);
}

static bool runnable(const struct core *core)
{
    const struct cortex_m *cm = (const struct cortex_m *)core;
    return cm->state != CM_HALTED && !cm->held_in_reset && !cm->off;
}

static void reset(struct core *core)
{
    cm_reset((struct cortex_m *)core);
}

static void hold(struct core *core, bool in_reset)
{
    struct cortex_m *cm = (struct cortex_m *)core;
    bool let_go = cm->held_in_reset && !in_reset;
    cm->held_in_reset = in_reset;
    if (let_go)
        cm_reset(cm);
}

static void power(struct core *core, bool on)
{
    struct cortex_m *cm = (struct cortex_m *)core;
    cm->off = !on;
    if (!on)
        return;
    cm->debug = (struct cm_debug){0};
    memset(cm->dbgmcu, 0, sizeof cm->dbgmcu);
    cm->work_at_run = UINT64_MAX;
    cm->dwt_lock_closed = cm->profile->dwt_lock;
    itm_power_on(&cm->itm);
    fpb_power_on(&cm->fpb);
    pmu_v81m_power_on(&cm->pmu);
    cm_reset(cm);
}

static bool interrupt(struct core *core, unsigned irq)
{
    if (irq >= NVIC_IRQS)
        return false;
    cm_pend((struct cortex_m *)core, EXC_IRQ0 + irq);
    return true;
}

#define DBG_SLEEP 1u

static bool sleeps(const void *self)
{
    const struct cortex_m *cm = self;
    return cm->state == CM_ASLEEP && !(cm->dbgmcu[0] & DBG_SLEEP);
}

static bool set_state(struct core *core, const char *name, bool on)
{
    struct cortex_m *cm = (struct cortex_m *)core;
    if (strcmp(name, "sleepy-memory") == 0) {
        core->bus->unclocked = on ? sleeps : NULL;
        core->bus->unclocked_self = cm;
        return true;
    }
    if (strcmp(name, "dirty-cache") == 0 && cm->profile->data_cache) {
        cm->flavour.dirty_cache = on;
        return bus_dirty_cache(core->bus, on);
    }
    if (strcmp(name, "dwt-locked") == 0 && cm->profile->dwt_lock)
        cm->flavour.dwt_locked = on;
    else if (strcmp(name, "dwt-lock-lies") == 0 && cm->profile->dwt_lock)
        cm->flavour.dwt_locked = cm->flavour.dwt_lock_lies = on;
    else if (strcmp(name, "no-cyccnt") == 0)
        cm->flavour.no_cyccnt = on;
    else if (strcmp(name, "loses-exclusives") == 0)
        cm->flavour.loses_exclusives = on;
    else if (strcmp(name, "it-stops-if-done") == 0 && cm->profile->v7m)
        cm->flavour.stops_if_done = on;
    else if (strcmp(name, "monitor-key") == 0 && cm->profile->v81m)
        cm->flavour.monitor_key = on;
    else if (strcmp(name, "late-arrival") == 0)
        cm->flavour.late_arrival = on;
    else if (strcmp(name, "no-secure-debug") == 0 && cm->profile->security)
        cm->flavour.security.refuses_secure = on;
    else if (strcmp(name, "riscv") == 0 && cm->profile->security)
        cm->flavour.security.silent = on;
    else if (strcmp(name, "non-secure") == 0 && cm->profile->security)
        cm->flavour.security.non_secure_program = on;
    else
        return false;
    dwt_secure(&cm->dwt, cm_is_secure(cm), cm_dwt_now(cm));
    return true;
}

static void print_totals(FILE *json, const uint64_t *totals)
{
    for (unsigned i = 0; i < DWT_PROFILES; i++)
        fprintf(json, "%s%" PRIu64, i ? "," : ",\"profile\":[", totals[i]);
    fputc(']', json);
}

static void print_words(FILE *json, const char *name, const uint32_t *words, unsigned count)
{
    fprintf(json, ",\"%s\":[", name);
    for (unsigned i = 0; i < count; i++)
        fprintf(json, "%s%" PRIu32, i ? "," : "", words[i]);
    fputc(']', json);
}

static void print_monitor(FILE *json, struct pmu_v81m *p)
{
    static const struct {
        const char *name;
        uint32_t offset;
    } registers[] = {{"pmu_ctrl", 0xE04},
                     {"pmu_cntenset", 0xC00},
                     {"pmu_intenset", 0xC40},
                     {"pmu_ovsset", 0xCC0},
                     {"pmu_ccntr", 0x07C}};
    uint32_t values[PMU_V81M_COUNTERS], types[PMU_V81M_COUNTERS];
    if (!p->counters)
        return;
    for (size_t i = 0; i < sizeof registers / sizeof *registers; i++)
        fprintf(json, ",\"%s\":%" PRIu32, registers[i].name, pmu_v81m_read(p, registers[i].offset));
    for (unsigned i = 0; i < p->counters; i++) {
        values[i] = p->counter[i].value;
        types[i] = p->counter[i].type;
    }
    print_words(json, "pmu_evcntr", values, p->counters);
    print_words(json, "pmu_evtyper", types, p->counters);
}

static void describe(struct core *core, FILE *json)
{
    static const char *const states[] = {"running", "asleep", "halted", "lockup"};
    struct cortex_m *cm = (struct cortex_m *)core;
    cm_settle(cm);
    fprintf(json, "\"run\":\"%s\",\"pc\":%" PRIu32 ",\"sp\":%" PRIu32 ",\"lr\":%" PRIu32 ",\"xpsr\":%" PRIu32,
            states[cm->state], cm_pc(cm), cm_get(cm, UC_ARM_REG_SP), cm_get(cm, UC_ARM_REG_LR),
            cm_get(cm, UC_ARM_REG_XPSR));
    fprintf(json, ",\"dhcsr\":%" PRIu32 ",\"demcr\":%" PRIu32 ",\"dfsr\":%" PRIu32 ",\"fp_ctrl\":%" PRIu32,
            cm->debug.control, cm->debug.demcr, cm->debug.dfsr, fpb_read(&cm->fpb, 0));
    print_words(json, "fp_comp", cm->fpb.comp, cm->fpb.code + cm->fpb.literal);
    fprintf(json, ",\"dwt_ctrl\":%" PRIu32 ",\"cyccnt\":%" PRIu32, dwt_control(&cm->dwt),
            dwt_cyccnt(&cm->dwt, cm_dwt_now(cm)));
    print_totals(json, cm->dwt.total);
    print_monitor(json, &cm->pmu);
    print_words(json, "dbgmcu", cm->dbgmcu, cm->profile->dbgmcu_idcode ? 3 : 0);
    print_words(json, "dwt_comp", cm->dwt.comp, cm->dwt.comparators);
    print_words(json, "dwt_mask", cm->dwt.mask, cm->dwt.comparators);
    print_words(json, "dwt_function", cm->dwt.function, cm->dwt.comparators);
    fprintf(json, ",\"syst_csr\":%" PRIu32 ",\"syst_rvr\":%" PRIu32 ",\"syst_cvr\":%" PRIu32,
            systick_peek(&cm->systick, 0), systick_peek(&cm->systick, 4), systick_peek(&cm->systick, 8));
    fprintf(json, ",\"icsr\":%" PRIu32 ",\"dcrdr\":%" PRIu32, cm_icsr(cm), cm->debug.dcrdr);
    fprintf(json,
            ",\"cycles\":%" PRIu64 ",\"counted\":%" PRIu64 ",\"instructions\":%" PRIu64 ",\"halts\":%" PRIu64
            ",\"altered\":%" PRIu64 ",\"borrowed\":%" PRIu64,
            core->cycles, core->counted, core->instructions, core->halts, cm->altered, cm_borrowed(cm));
}

static void destroy(struct core *core)
{
    struct cortex_m *cm = (struct cortex_m *)core;
    if (cm->uc)
        uc_close(cm->uc);
    trace_log_switch(&cm->trace_log, false);
    free(cm);
}

static struct trace_log *trace(struct core *core)
{
    struct cortex_m *cm = (struct cortex_m *)core;
    cm_trace_catch_up(cm);
    return cm->trace_unit ? &cm->trace_log : NULL;
}

static const struct core_ops operations = {
    .runnable = runnable,
    .run = cm_run,
    .reset = reset,
    .hold = hold,
    .power = power,
    .interrupt = interrupt,
    .set_state = set_state,
    .describe = describe,
    .trace = trace,
    .destroy = destroy,
};

static void name_counts(const struct cm_profile *profile, struct truth *truth)
{
    if (profile->event_counters) {
        truth->codes = pmu_v81m_codes();
        truth->code_count = V81M_EVENTS;
    } else if (profile->v7m) {
        dwt_name_totals(&truth->codes, &truth->code_count);
    }
}

struct core *cm_create(const struct core_plan *plan)
{
    const struct cm_profile *profile = plan->profile;
    struct cortex_m *cm = calloc(1, sizeof *cm);
    if (!cm)
        return NULL;
    cm->core = (struct core){
        .ops = &operations, .bus = plan->bus, .truth = plan->truth, .halt_cost = plan->halt_cost};
    cm->core.skid = profile->v7m ? STOP_SKID : 0;
    cm->profile = profile;
    cm->trace_unit = plan->trace_unit;
    cm->reset_vtor = plan->start;
    cm->decoder.bus = plan->bus;
    cm->decoder.cost = profile->cost;
    cm->decoder.has_it = profile->v7m;
    cm->work_at_run = UINT64_MAX;
    cm->dwt_lock_closed = profile->dwt_lock;
    cm->systick.reference = cm->other_systick.reference = profile->reference;
    cm->nvic.priority_mask = profile->priority_mask;
    cm->dwt.has_counters = profile->v7m;
    cm->dwt.v8m = profile->v81m;
    cm->dwt.secure = cm->dwt.has_cycdiss = profile->security;
    cm->fpb.v2 = profile->fpb_v2;
    cm->dwt.comparators = profile->watchpoints;
    cm->fpb.code = profile->code_comparators;
    cm->fpb.literal = profile->literal_comparators;
    cm->pmu.counters = profile->event_counters;
    cm->pmu.counted = &cm->core.counted;
    name_counts(profile, plan->truth);
    plan->bus->security = profile->security ? &cm->flavour.security : NULL;
    plan->bus->changed = memory_changed;
    plan->bus->changed_self = cm;
    // Not UC_MODE_MCLASS: it forces another model, whatever is asked for
    if (uc_open(UC_ARCH_ARM, UC_MODE_THUMB, &cm->uc) != UC_ERR_OK ||
        uc_ctl_set_cpu_model(cm->uc, profile->emulated_as) != UC_ERR_OK || !map_memories(cm) ||
        !cm_hook(cm) || !cm_hook_monitor(cm) || !cm_add_devices(cm)) {
        destroy(&cm->core);
        return NULL;
    }
    cm_reset(cm);
    return &cm->core;
}
