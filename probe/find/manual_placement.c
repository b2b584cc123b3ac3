#include "find/manual_placement.h"

#include "cores/architectures.h"
#include "find/discovery.h"

#include <inttypes.h>
#include <string.h>

/* Distances from a core's debug registers: next to them, as on Cortex-A9 (DDI 0388I 10.2) and A7, and the
 * Armv8 map of Cortex-A53 (DDI 0500J 11.10) and A57. */
enum { NEXT_PMU = 0x1000, ARMV8_CTI = 0x10000, ARMV8_PMU = 0x20000 };

static bool put_if(struct device *device, struct device_bus *bus, uint64_t base, uint8_t devtype,
                   const struct component **put, const struct deadline *deadline, struct error *error)
{
    struct component there;
    *put = NULL;
    if (!coresight_look(device->ledger, bus->unit, base, &there, deadline, error))
        return false;
    if (there.readable && there.devtype == devtype)
        *put = coresight_put(&bus->coresight, &there);
    return true;
}

bool manual_placement_put_core(struct device *device, struct device_bus *bus, uint64_t base,
                               const struct deadline *deadline, struct error *error)
{
    const struct component *debug, *pmu, *cti;
    if (!put_if(device, bus, base, DEVTYPE_CORE, &debug, deadline, error))
        return false;
    if (debug == NULL)
        return true;
    bool v8 = armv8_is_archid(component_archid(debug));
    if (v8 && (!put_if(device, bus, base + ARMV8_PMU, DEVTYPE_PMU, &pmu, deadline, error) ||
               !put_if(device, bus, base + ARMV8_CTI, DEVTYPE_CTI, &cti, deadline, error)))
        return false;
    return (v8 && pmu != NULL) || put_if(device, bus, base + NEXT_PMU, DEVTYPE_PMU, &pmu, deadline, error);
}

/* --- what the user says --------------------------------------------------------------------------------- */

struct placing {
    struct device *device;
    const struct link_view *views;
    size_t n;
    const struct deadline *deadline;
    struct error *error;
};

static struct device_bus *find_bus(const struct placing *p, const struct place *place)
{
    for (size_t i = 0; i < p->device->n_buses; i++)
        if ((p->device->buses[i].port & 0xFF) == place->port)
            return &p->device->buses[i];
    return NULL;
}

/* By which view a component is read that may stand on another bus than the core's debug registers. */
static bool find_unit(const struct placing *p, const struct place *place, uint16_t *unit)
{
    const struct device_bus *bus = find_bus(p, place);
    if (bus != NULL) {
        *unit = bus->unit;
        return true;
    }
    for (size_t i = 0; i < p->n; i++) {
        bool plain = strcmp(p->views[i].type, "ap") == 0 || strcmp(p->views[i].type, "mem_ap") == 0;
        if (plain && p->views[i].has_port && (p->views[i].port & 0xFF) == place->port) {
            *unit = p->views[i].unit;
            return true;
        }
    }
    return false;
}

static bool look(const struct placing *p, const char *option, const struct place *place, uint8_t devtype,
                 uint16_t *unit, struct component *out)
{
    char is[64], wanted[64];
    const struct component kind = {.readable = true, .class = 9, .devtype = devtype};
    if (!find_unit(p, place, unit))
        return error_set(p->error, ERROR_NO_CORE, "%s: no access port %u is seen", option, place->port);
    if (!coresight_look(p->device->ledger, *unit, place->base, out, p->deadline, p->error))
        return false;
    if (!out->readable)
        return error_set(p->error, ERROR_NO_CORE,
                         "%s: what is at 0x%08" PRIX64 " on access port %u does not say what it is", option,
                         place->base, place->port);
    if (out->devtype == devtype)
        return true;
    component_name(out, is, sizeof is);
    component_name(&kind, wanted, sizeof wanted);
    return error_set(p->error, ERROR_NO_CORE,
                     "%s: on access port %u, 0x%08" PRIX64 " is %s (part 0x%03X), not %s", option,
                     place->port, place->base, is, out->part, wanted);
}

static int core_at(const struct device *device, const struct device_bus *bus, uint64_t base)
{
    for (size_t i = 0; i < device->n_cores; i++)
        if (device->cores[i].core.family != CORE_M && device->cores[i].core.unit == bus->unit &&
            device->cores[i].core.debug_base == base)
            return (int)i;
    return -1;
}

/* Behind an access port that the user vouches for. */
static bool place_cortex_m(const struct placing *p, const struct place *place, int *number)
{
    struct device *device = p->device;
    for (size_t i = 0; i < p->n; i++) {
        const struct link_view *view = &p->views[i];
        if (!view->is_core || !view->has_port || (view->port & 0xFF) != place->port)
            continue;
        for (size_t k = 0; k < device->n_cores; k++)
            if (device->cores[k].core.family == CORE_M && device->cores[k].core.unit == view->unit) {
                *number = (int)k;
                return true;
            }
        size_t before = device->n_cores;
        *number = (int)before;
        if (!discovery_m_look(device, view, p->deadline, p->error))
            return false;
        return device->n_cores > before ||
               error_set(p->error, ERROR_NO_CORE, "--debug-base: no Cortex-M answers behind access port %u",
                         place->port);
    }
    return error_set(p->error, ERROR_NO_CORE, "--debug-base: no access port %u is seen", place->port);
}

static bool place_core(const struct placing *p, const struct place *place, int *number)
{
    uint16_t unit = 0;
    struct component there;
    struct device_bus *bus = find_bus(p, place);
    if (bus == NULL && place->base == DISCOVERY_M_SCS)
        return place_cortex_m(p, place, number);
    if (bus == NULL)
        return error_set(p->error, ERROR_NO_CORE, "--debug-base: access port %u leads to no debug bus",
                         place->port);
    *number = core_at(p->device, bus, place->base);
    if (*number >= 0)
        return true;
    if (!look(p, "--debug-base", place, DEVTYPE_CORE, &unit, &there))
        return false;
    size_t before = bus->coresight.n;
    if (!manual_placement_put_core(p->device, bus, place->base, p->deadline, p->error))
        return false;
    size_t at = 0;
    while (at < bus->coresight.n && bus->coresight.components[at].base != place->base)
        at++;
    unsigned order = 0;
    for (size_t i = 0; i < at && i < before; i++)
        order += bus->coresight.components[i].devtype == DEVTYPE_CORE;
    if (at < bus->coresight.n &&
        !discovery_add_core(p->device, p->views, p->n, bus, at, order, p->deadline, p->error))
        return false;
    *number = core_at(p->device, bus, place->base);
    return *number >= 0 ||
           error_set(p->error, ERROR_NO_CORE,
                     "--debug-base: the core at 0x%08" PRIX64 " is none that is known", place->base);
}

static bool place_pmu(const struct placing *p, const struct place *place, struct core *core)
{
    struct component there;
    if (core->family == CORE_M)
        return error_set(p->error, ERROR_USAGE,
                         "--pmu-base: a Cortex-M has its PMU where all of them have it");
    if (!look(p, "--pmu-base", place, DEVTYPE_PMU, &core->pmu_unit, &there))
        return false;
    core->pmu_base = place->base;
    return true;
}

static bool place_cti(const struct placing *p, const struct place *place, struct core *core)
{
    struct component there, debug;
    uint16_t unit = 0;
    if (core->family != CORE_ARMV8)
        return error_set(p->error, ERROR_USAGE, "--cti: only Armv8-A cores are halted by one");
    if (!look(p, "--cti", place, DEVTYPE_CTI, &unit, &there))
        return false;
    if (unit != core->unit)
        return error_set(p->error, ERROR_USAGE, "--cti: it must be on the bus of the core's debug registers");
    if (!coresight_look(p->device->ledger, core->unit, core->debug_base, &debug, p->deadline, p->error))
        return false;
    struct core with = {0};
    if (!discovery_identify(p->device, core->unit, &debug, &there, &with, p->deadline, p->error))
        return error_set(p->error, ERROR_NO_CORE, "--cti: the core does not answer any more");
    with.memory_unit = core->memory_unit;
    with.pmu_unit = core->pmu_unit;
    with.pmu_base = core->pmu_base;
    *core = with;
    return true;
}

bool manual_placement_run(struct device *device, const struct link_view *views, size_t n,
                          const struct device_request *request, const struct deadline *deadline,
                          struct error *error)
{
    const struct placing p = {.device = device, .views = views, .n = n, .deadline = deadline, .error = error};
    int number = request->core;
    if (request->debug.said && !place_core(&p, &request->debug, &number))
        return false;
    device->preferred = number < 0 ? 0 : number;
    if ((size_t)device->preferred >= device->n_cores)
        return true; /* target_choose says it */
    struct core *core = &device->cores[device->preferred].core;
    return (!request->pmu.said || place_pmu(&p, &request->pmu, core)) &&
           (!request->cti.said || place_cti(&p, &request->cti, core));
}
