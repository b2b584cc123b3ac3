// A chip's cores: see the header.
#include "cores.h"

#include "elf_load.h"

enum { SLICES_PER_S = 1000 };

static bool add(struct cores *c, const struct chip *chip, uint32_t vtor)
{
    struct one_core *one = &c->each[c->count];
    one->profile = *chip->core;
    one->profile.reset_vtor = vtor;
    one->core = cm_create(&one->profile, &one->bus, &one->truth, c->halt_cost);
    if (!one->core)
        return false;
    one->adi.wire = WIRE_JTAG;
    one->adi.dpidr = chip->dpidr;
    one->adi.targetid = chip->targetid;
    one->adi.instance = (uint32_t)c->count;
    one->adi.trace = c->trace;
    c->count++;
    return adi_add_ap(&one->adi, &one->bus, chip->ap_idr, chip->ap_base, chip->ap_wrap);
}

bool cores_add_first(struct cores *c, const struct chip *chip)
{
    return add(c, chip, chip->core->reset_vtor);
}

bool cores_add_second(struct cores *c, const struct chip *chip, const char *firmware)
{
    uint32_t vtor = chip->core->reset_vtor;
    if (!chip->second)
        return true;
    struct one_core *first = &c->each[0], *second = &c->each[1];
    for (size_t i = 0; i < first->bus.memory_count; i++)
        bus_add_memory(&second->bus, first->bus.memories[i]);
    bool parked = !elf_symbol(firmware, chip->second, &vtor);
    if (!add(c, chip, vtor))
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

size_t cores_targets(struct cores *c, struct swd_target *targets)
{
    for (size_t i = 0; i < c->count; i++) {
        struct adi *adi = &c->each[i].adi;
        targets[i] = (struct swd_target){.adi = adi};
        if (adi->targetid)
            targets[i].targetid = adi->targetid | adi->instance << 28;
    }
    return c->count;
}

bool cores_runnable(const struct cores *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->each[i].core->ops->runnable(c->each[i].core))
            return true;
    return false;
}

bool cores_run(struct cores *c, struct pace *pace)
{
    uint64_t credit = pace_credit(pace), slice = pace->hz / SLICES_PER_S, spent = 0;
    if (!credit || !cores_runnable(c))
        return false;
    for (size_t i = 0; i < c->count; i++) {
        struct core *core = c->each[i].core;
        uint64_t before = core->cycles;
        if (core->ops->runnable(core))
            core->ops->run(core, credit < slice ? credit : slice);
        if (core->cycles - before > spent)
            spent = core->cycles - before;
    }
    pace_spent(pace, spent);
    return credit > slice;
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
    for (size_t i = 0; i < c->count; i++) {
        struct one_core *one = &c->each[i];
        if (on)
            adi_power_on(&one->adi);
        one->adi.off = !on;
        one->core->ops->power(one->core, on);
    }
}
