// A chip's cores: see the header.
#include "cores.h"

#include "device/sysinfo.h"

#include "debug_bus.h"
#include "elf_load.h"

enum { SLICES_PER_S = 1000, DPIDR_VERSION = 0xF000, DPIDR_V3 = 0x3000, FIRST_AT = 0x2000 };

static void reset_all(void *cores)
{
    cores_reset(cores);
}

static uint64_t model_ns(void *self)
{
    const struct cores *c = self;
    return c->passed_ns;
}

uint64_t cores_now_ns(const struct cores *c)
{
    uint64_t halted = UINT64_MAX;
    for (size_t i = 0; i < c->count; i++)
        if (!c->each[i].parked && core_stood_ns(c->each[i].core) < halted)
            halted = core_stood_ns(c->each[i].core);
    return c->passed_ns + (c->by_wire ? 0 : halted);
}

static uint64_t chip_ns(void *self)
{
    return cores_now_ns(self);
}

// Of the chip's clock: at a lower pace it goes in slow motion
static void note_time(struct cores *c, uint64_t cycles, uint32_t pace_hz)
{
    uint32_t hz = pace_hz < CHIP_HZ ? CHIP_HZ : pace_hz;
    uint64_t due = cycles * 1000000000u + c->leftover;
    c->passed_ns += due / hz;
    c->leftover = due % hz;
}

static bool add_port(struct cores *c, const struct chip *chip, struct bus *of_the_core)
{
    struct adi *adi = &c->ports[c->port_count];
    bool v6 = chip->adi_v6 || (c->port_quirks & ADI_V6);
    *adi = (struct adi){.wire = WIRE_JTAG,
                        .dpidr = v6 ? (chip->dpidr & ~DPIDR_VERSION) | DPIDR_V3 : chip->dpidr,
                        .targetid = chip->targetid,
                        .instance = (uint32_t)c->port_count,
                        .quirks = c->port_quirks | (chip->adi_v6 ? ADI_V6 : 0),
                        .reset_system = reset_all,
                        .model_ns = model_ns,
                        .chip_ns = chip_ns,
                        .system = c,
                        .trace = c->trace};
    c->port_count++;
    for (size_t i = 0; i < chip->ap_count; i++) {
        const struct chip_ap *ap = &chip->aps[i];
        struct bus *bus = ap->debug_bus ? &c->debug_bus : ap->second ? &c->each[1].bus : of_the_core;
        if (!adi_add_ap(adi, (struct mem_ap){.bus = bus,
                                             .at = ap->at ? ap->at : FIRST_AT * (uint32_t)(i + 1),
                                             .no_memory = ap->no_memory,
                                             .idr = ap->idr,
                                             .base = ap->base,
                                             .tar_wrap = ap->wrap,
                                             .words_only = ap->words_only,
                                             .no_cortex_m = chip->debug != NULL}))
            return false;
    }
    return true;
}

static bool add(struct cores *c, const struct chip *chip, uint32_t start)
{
    struct one_core *one = &c->each[c->count];
    const struct core_plan plan = {.profile = chip->profile,
                                   .number = (unsigned)c->count,
                                   .start = start,
                                   .bus = &one->bus,
                                   .debug_bus = &c->debug_bus,
                                   .truth = &one->truth,
                                   .halt_cost = c->halt_cost,
                                   .trace_unit = c->tracing.route != TRACE_NOWHERE ? &c->tracing : NULL};
    if (!debug_bus_show(&c->debug_bus, &one->bus, chip->debug))
        return false;
    if (chip->sysinfo_base && !sysinfo_add(&one->bus, chip->sysinfo_base, &chip->chip_id))
        return false;
    if (chip->timer_base && !timer_add(&c->timer, &one->bus, chip->timer_base, chip->timer_cycles))
        return false;
    if (!trace_unit_add(&c->tracing, &one->bus))
        return false;
    one->core = chip->create(&plan);
    if (!one->core)
        return false;
    if (chip->timer_base)
        timer_sit(&c->timer, one->core);
    c->count++;
    if ((!c->port_count || !chip->one_port) && !add_port(c, chip, &one->bus))
        return false;
    one->adi = &c->ports[c->port_count - 1];
    return true;
}

bool cores_add_first(struct cores *c, const struct chip *chip)
{
    trace_unit_start(&c->tracing, chip->trace);
    return debug_bus_set_up(&c->debug_bus, chip->debug) && trace_unit_add_debug(&c->tracing, &c->debug_bus) &&
           add(c, chip, chip->start);
}

bool cores_add_second(struct cores *c, const struct chip *chip, const char *firmware)
{
    uint32_t start = chip->start;
    if (!chip->second)
        return true;
    struct one_core *first = &c->each[0], *second = &c->each[1];
    for (size_t i = 0; i < first->bus.memory_count; i++)
        bus_add_memory(&second->bus, first->bus.memories[i]);
    bool parked = !elf_symbol(firmware, chip->second, &start);
    if (!add(c, chip, start))
        return false;
    first->bus.twin = &second->bus;
    second->bus.twin = &first->bus;
    second->parked = parked;
    second->core->ops->hold(second->core, parked);
    return true;
}

void cores_destroy(struct cores *c)
{
    for (size_t i = 0; i < CORES; i++) {
        if (c->each[i].core)
            c->each[i].core->ops->destroy(c->each[i].core);
        truth_free(&c->each[i].truth);
    }
}

void cores_seed(struct cores *c, uint64_t seed)
{
    for (size_t i = 0; i < c->count; i++)
        c->each[i].core->chance.state = seed ^ (0x9C0FE5D3u + i);
}

void cores_set_skid(struct cores *c, unsigned instructions)
{
    for (size_t i = 0; i < c->count; i++)
        c->each[i].core->skid = instructions;
}

void cores_set_sample_skid(struct cores *c, unsigned instructions)
{
    for (size_t i = 0; i < c->count; i++)
        c->each[i].core->sample_skid = instructions;
}

size_t cores_targets(struct cores *c, struct swd_target *targets)
{
    for (size_t i = 0; i < c->port_count; i++) {
        struct adi *adi = &c->ports[i];
        targets[i] = (struct swd_target){.adi = adi};
        if (adi->targetid)
            targets[i].targetid = adi->targetid | adi->instance << 28;
        targets[i].alone = adi->targetid && (adi->quirks & ADI_V6);
        targets[i].together = adi->quirks & ADI_ALL_HIGH  ? SWD_ONE_WINS
                              : adi->quirks & ADI_ALL_LOW ? SWD_ZERO_WINS
                                                          : SWD_SILENT;
    }
    return c->port_count;
}

bool cores_runnable(const struct cores *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->each[i].core->ops->runnable(c->each[i].core))
            return true;
    return timer_goes_on(&c->timer);
}

// Cycles that the busiest core spent
static uint64_t run_slice(struct cores *c, uint64_t slice)
{
    uint64_t spent = 0;
    for (size_t i = 0; i < c->count; i++) {
        struct core *core = c->each[i].core;
        uint64_t before = core->cycles, lead = timer_lead(&c->timer, i);
        if (core->ops->runnable(core) && lead < slice)
            core->ops->run(core, slice - lead);
        if (core->cycles - before > spent)
            spent = core->cycles - before;
    }
    timer_pass(&c->timer, slice);
    return spent;
}

bool cores_run(struct cores *c, struct pace *pace)
{
    uint64_t credit = pace_credit(pace), slice = pace->hz / SLICES_PER_S, spent = 0;
    bool runnable = cores_runnable(c);
    if (c->no_catch_up && (c->stood || !runnable)) {
        pace_spent(pace, credit);
        c->stood = !runnable;
        return false;
    }
    if (!credit || !runnable)
        return false;
    if (slice > credit)
        slice = credit;
    spent = run_slice(c, slice);
    spent = timer_goes_on(&c->timer) ? slice : spent;
    pace_spent(pace, spent);
    note_time(c, spent, pace->hz);
    c->stood = !cores_runnable(c);
    return credit > slice;
}

void cores_run_for(struct cores *c, struct pace *pace, uint64_t ns)
{
    for (uint64_t cycles = pace_skip(pace, ns), slice; cycles; cycles -= slice) {
        slice = pace->hz / SLICES_PER_S < cycles ? pace->hz / SLICES_PER_S : cycles;
        run_slice(c, slice);
        note_time(c, slice, pace->hz);
    }
}

void cores_reset(struct cores *c)
{
    for (size_t i = 0; i < c->count; i++)
        c->each[i].core->ops->reset(c->each[i].core);
}

void cores_hold(struct cores *c, bool in_reset)
{
    for (size_t i = 0; i < c->count; i++)
        c->each[i].core->ops->hold(c->each[i].core, in_reset || c->each[i].parked);
}

void cores_power(struct cores *c, bool on)
{
    for (size_t i = 0; i < c->port_count; i++) {
        if (on)
            adi_power_on(&c->ports[i]);
        c->ports[i].off = !on;
    }
    for (size_t i = 0; i < c->count; i++)
        c->each[i].core->ops->power(c->each[i].core, on);
    if (!on)
        return;
    timer_power_on(&c->timer);
    trace_unit_power_on(&c->tracing);
}

bool cores_set_state(struct cores *c, const char *name, bool on)
{
    for (size_t i = 0; i < c->count; i++) {
        struct core *core = c->each[i].core;
        if (!core->ops->set_state || !core->ops->set_state(core, name, on))
            return false;
    }
    return true;
}
