#include "find/discovery.h"

#include "cores/architectures.h"
#include "find/manual_placement.h"

#include <stdlib.h>
#include <string.h>

/* IHI 0031 C2.6: what kind of access port it is, and where its ROM table is. */
enum { AP_BASE = 0xF8, AP_IDR = 0xFC, IDR_TYPE = 0xF };
enum { TYPE_AHB3 = 1, TYPE_APB = 2, TYPE_AHB5 = 5, TYPE_APB4 = 6, TYPE_AHB5_HPROT = 8 };
enum { IDR_CLASS = 0xF << 13, IDR_CLASS_MEMORY = 8 << 13, BASE_NONE = 3 };
static const uint32_t BASE_ADDRESS = 0xFFFFF000, BASE_LEGACY_NONE = 0xFFFFFFFF;

/* False: it cannot be read; ERROR_* only when the link itself failed. */
static bool read_port(struct device *device, uint16_t port, uint64_t offset, uint32_t *value,
                      const struct deadline *deadline, struct error *error)
{
    const struct address at = {.space = SPACE_AP, .size = 4, .unit = port, .offset = offset};
    struct error why = {0};
    uint64_t word = 0;
    bool read = ledger_read(device->ledger, at, &word, deadline, &why);
    if (!read && why.kind == ERROR_FAULT) { /* just once? What is behind it must not be missed */
        error_clear(&why);
        read = ledger_read(device->ledger, at, &word, deadline, &why);
    }
    *value = (uint32_t)word;
    if (!read && why.kind != ERROR_FAULT && why.kind != ERROR_ASLEEP)
        error_set(error, why.kind, "%s", why.text);
    return read;
}

bool discovery_port(struct device *device, uint16_t port, enum discovery_port *kind,
                    const struct deadline *deadline, struct error *error)
{
    uint32_t idr;
    *kind = PORT_UNREADABLE;
    if (!read_port(device, port, AP_IDR, &idr, deadline, error))
        return error->kind == ERROR_NONE;
    if ((idr & IDR_CLASS) != IDR_CLASS_MEMORY)
        return true;
    switch (idr & IDR_TYPE) {
    case TYPE_AHB3:
    case TYPE_AHB5:
    case TYPE_AHB5_HPROT:
        *kind = PORT_AHB;
        break;
    case TYPE_APB:
    case TYPE_APB4:
        *kind = PORT_APB;
        break;
    default:
        *kind = PORT_OTHER_MEMORY;
        break;
    }
    return true;
}

bool discovery_rom(struct device *device, uint16_t port, struct discovery_table *rom,
                   const struct deadline *deadline, struct error *error)
{
    uint32_t base;
    *rom = (struct discovery_table){0};
    if (!read_port(device, port, AP_BASE, &base, deadline, error))
        return false;
    rom->there = base != BASE_LEGACY_NONE && (base & BASE_NONE) != 2;
    rom->base = rom->there ? base & BASE_ADDRESS : 0;
    return true;
}

static const struct device_bus *find_bus(const struct device *device, uint16_t port)
{
    for (size_t i = 0; i < device->n_buses; i++)
        if (device->buses[i].port == port)
            return &device->buses[i];
    return NULL;
}

/* The view of a system bus beside the debug bus, on the same debug port. */
static bool find_memory(struct device *device, const struct link_view *views, size_t n, uint16_t port,
                        uint16_t *unit, const struct deadline *deadline, struct error *error)
{
    for (size_t i = 0; i < n; i++) {
        enum discovery_port kind;
        bool plain = strcmp(views[i].type, "ap") == 0 || strcmp(views[i].type, "mem_ap") == 0;
        if (!plain || !views[i].has_port || views[i].port >> 8 != port >> 8 || views[i].port == port)
            continue;
        if (discovery_port(device, views[i].port, &kind, deadline, error) &&
            (kind == PORT_AHB || kind == PORT_OTHER_MEMORY)) {
            *unit = views[i].unit;
            return true;
        }
    }
    return false;
}

/* A monitor of a cluster or a bus may have the DEVTYPE of a core's. DEVARCH tells them apart where there is
 * one: PMUv3, of any revision (DDI 0487 I5.3, PMDEVARCH). Those of Armv7 have none. */
static bool is_a(const struct component *component, uint8_t devtype)
{
    enum { ARCHITECT_AND_ID = ~0xF0000, PMU_V3 = 0x47702A16 };
    return component->devtype == devtype && (devtype != DEVTYPE_PMU || component->devarch == 0 ||
                                             (component->devarch & (uint32_t)ARCHITECT_AND_ID) == PMU_V3);
}

/* The nth for the nth core where there are as many of a kind as cores, in the order of the tables; else the
 * one behind its core and before the next. What stands before the first core belongs to none. */
static const struct component *follower(const struct coresight *coresight, size_t core, uint8_t devtype)
{
    const struct component *components = coresight->components, *nth = NULL, *behind = NULL;
    size_t number = 0, cores = 0, kinds = 0;
    for (size_t i = 0; i < core; i++)
        number += components[i].devtype == DEVTYPE_CORE;
    for (size_t i = 0; i < coresight->n; i++) {
        cores += components[i].devtype == DEVTYPE_CORE;
        if (!is_a(&components[i], devtype) || cores == 0)
            continue;
        if (kinds++ == number)
            nth = &components[i];
        if (cores == number + 1 && behind == NULL)
            behind = &components[i];
    }
    return kinds == cores ? nth : behind;
}

/* The server's own target for this core, whose state and run control it is. */
static const struct link_view *view_of(const struct link_view *views, size_t n, const struct device_bus *bus,
                                       uint64_t debug_base, unsigned number)
{
    const struct link_view *bare = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!views[i].has_port || views[i].port != bus->port)
            continue;
        bool plain = strcmp(views[i].type, "ap") == 0 || strcmp(views[i].type, "mem_ap") == 0;
        if (plain)
            bare = &views[i];
        else if (views[i].debug_base != 0 ? views[i].debug_base == debug_base : views[i].core_id == number)
            return &views[i];
    }
    return bare;
}

/* False: it refuses to be read; ERROR_* only when the link itself failed. */
static bool read_identity(struct device *device, const struct steps *list, uint64_t *values,
                          const struct deadline *deadline, struct error *error)
{
    struct error unread = {0};
    if (ledger_run(device->ledger, list, values, deadline, &unread))
        return true;
    if (unread.kind == ERROR_FAULT) { /* just once? The next core must not take its number */
        error_clear(&unread);
        if (ledger_run(device->ledger, list, values, deadline, &unread))
            return true;
    }
    if (unread.kind != ERROR_FAULT && unread.kind != ERROR_ASLEEP)
        error_set(error, unread.kind, "%s", unread.text);
    return false;
}

static bool identify_armv7(struct device *device, uint16_t unit, uint64_t debug_base, struct core *out,
                           const struct deadline *deadline, struct error *error)
{
    struct step items[ARMV7_IDENTITY];
    uint64_t values[ARMV7_IDENTITY];
    struct steps list = {.items = items, .room = ARMV7_IDENTITY};
    armv7_add_identity(unit, debug_base, &list);
    return read_identity(device, &list, values, deadline, error) &&
           armv7_identify(unit, debug_base, values, out);
}

/* Its part number can be read even without power. */
static bool identify_armv8(struct device *device, uint16_t unit, const struct component *debug,
                           const struct component *cti, struct core *out, const struct deadline *deadline,
                           struct error *error)
{
    struct step items[ARMV8_IDENTITY];
    uint64_t values[ARMV8_IDENTITY], cti_base = cti != NULL ? cti->base : 0;
    struct steps list = {.items = items, .room = ARMV8_IDENTITY};
    armv8_add_identity(unit, debug->base, cti_base, &list);
    if (read_identity(device, &list, values, deadline, error))
        armv8_identify(unit, debug->base, cti_base, values, out);
    else
        armv8_identify_hidden(unit, debug->base, cti_base, debug->part, out);
    return error->kind == ERROR_NONE;
}

bool discovery_identify(struct device *device, uint16_t unit, const struct component *debug,
                        const struct component *cti, struct core *out, const struct deadline *deadline,
                        struct error *error)
{
    bool known = armv8_is_archid(component_archid(debug))
                     ? identify_armv8(device, unit, debug, cti, out, deadline, error)
                     : identify_armv7(device, unit, debug->base, out, deadline, error);
    if (known)
        out->cti_base = cti != NULL ? cti->base : 0;
    return known;
}

bool discovery_add_core(struct device *device, const struct link_view *views, size_t n,
                        const struct device_bus *bus, size_t at, unsigned number,
                        const struct deadline *deadline, struct error *error)
{
    const struct coresight *coresight = &bus->coresight;
    const struct component *debug = &coresight->components[at];
    const struct link_view *view = view_of(views, n, bus, debug->base, number);
    struct device_core *core = &device->cores[device->n_cores];
    if (view == NULL)
        return true;
    if (device->n_cores == device->room) {
        device->cores_cut = true;
        return true;
    }
    *core = (struct device_core){.view = *view};
    const struct component *pmu = follower(coresight, at, DEVTYPE_PMU);
    const struct component *cti = follower(coresight, at, DEVTYPE_CTI);
    if (!discovery_identify(device, bus->unit, debug, cti, &core->core, deadline, error))
        return error->kind == ERROR_NONE;
    core->core.pmu_base = pmu != NULL ? pmu->base : 0;
    core->core.pmu_unit = bus->unit;
    core->server_unit = view->unit;
    core->has_memory = find_memory(device, views, n, bus->port, &core->core.memory_unit, deadline, error);
    if (error->kind != ERROR_NONE)
        return false;
    device->n_cores++;
    return true;
}

/* Without a table: where the server was told that a core's debug registers are. */
static bool add_told(struct device *device, const struct link_view *views, size_t n, struct device_bus *bus,
                     const struct deadline *deadline, struct error *error)
{
    for (size_t i = 0; i < n; i++)
        if (views[i].has_port && views[i].port == bus->port && views[i].debug_base != 0 &&
            !manual_placement_put_core(device, bus, views[i].debug_base, deadline, error))
            return false;
    return true;
}

static bool add_bus(struct device *device, const struct link_view *views, size_t n,
                    const struct link_view *view, const struct deadline *deadline, struct error *error)
{
    struct discovery_table rom;
    if (find_bus(device, view->port) != NULL)
        return true;
    if (device->n_buses == TARGET_BUSES) {
        device->buses_cut = true;
        return true;
    }
    if (!discovery_rom(device, view->port, &rom, deadline, error))
        return error->kind == ERROR_NONE;
    struct device_bus *bus = &device->buses[device->n_buses++];
    *bus = (struct device_bus){.unit = view->unit, .port = view->port, .has_rom = rom.there, .rom = rom.base};
    bool walked = !bus->has_rom ||
                  coresight_walk(device->ledger, bus->unit, bus->rom, &bus->coresight, deadline, error);
    if (!walked)
        return false;
    if (bus->coresight.n <= 1 && !add_told(device, views, n, bus, deadline, error))
        return false;
    unsigned number = 0;
    for (size_t i = 0; i < bus->coresight.n; i++) {
        if (bus->coresight.components[i].devtype != DEVTYPE_CORE)
            continue;
        if (!discovery_add_core(device, views, n, bus, i, number++, deadline, error))
            return false;
    }
    return true;
}

static void add_thread(struct device *device, const struct link_view *view)
{
    if (device->n_cores == device->room)
        return;
    struct device_core *core = &device->cores[device->n_cores++];
    *core = (struct device_core){.view = *view, .server_unit = view->unit};
    knc_describe(view->unit, &core->core);
}

static void add_program(struct device *device, const struct link_view *view)
{
    if (device->n_cores == TARGET_CORES)
        return;
    struct device_core *core = &device->cores[device->n_cores++];
    *core = (struct device_core){.view = *view, .server_unit = view->unit, .has_memory = true};
    x86_64_describe(view->unit, &core->core);
}

bool discovery_run(struct device *device, const struct link_view *views, size_t n,
                   const struct deadline *deadline, struct error *error)
{
    for (size_t i = 0; i < n; i++) {
        enum discovery_port kind;
        if (strcmp(views[i].type, "msr") == 0)
            add_thread(device, &views[i]);
        if (strcmp(views[i].type, "x86_64") == 0)
            add_program(device, &views[i]);
        if (!views[i].has_port)
            continue;
        if (!discovery_port(device, views[i].port, &kind, deadline, error))
            return false;
        if (kind == PORT_APB && !add_bus(device, views, n, &views[i], deadline, error))
            return false;
    }
    return true;
}

/* The System Control Space is of the class of generic IP up to Armv7-M (DDI 0403E C1.2), and a CoreSight
 * component of that architecture from Armv8-M on (DDI 0553 D1.2). */
enum { CLASS_CORESIGHT = 0x9, CLASS_GENERIC = 0xE, ARCHID_SCS = 0x2A04 };

/* What is known of a view. */
enum verdict {
    NO,
    YES,
    PERHAPS, /* an AHB-AP without a table that says so */
};

bool discovery_m_look(struct device *device, const struct link_view *view, const struct deadline *deadline,
                      struct error *error)
{
    struct step items[CORTEX_M_IDENTITY];
    uint64_t values[CORTEX_M_IDENTITY];
    struct steps list = {.items = items, .room = CORTEX_M_IDENTITY};
    if (device->n_cores == device->room) {
        device->cores_cut = true;
        return true;
    }
    struct device_core *core = &device->cores[device->n_cores];
    *core = (struct device_core){.view = *view};
    cortex_m_add_identity(view->unit, &list);
    struct error unreadable = {0};
    bool read = ledger_run(device->ledger, &list, values, deadline, &unreadable);
    if (!read && unreadable.kind == ERROR_FAULT) { /* just once? The next core must not take its number */
        unreadable = (struct error){0};
        read = ledger_run(device->ledger, &list, values, deadline, &unreadable);
    }
    if (!read) {
        if (unreadable.kind == ERROR_LINK_LOST || unreadable.kind == ERROR_CANCELLED ||
            unreadable.kind == ERROR_LINK_PROTOCOL)
            return error_set(error, unreadable.kind, "%s", unreadable.text);
        return true;
    }
    if (!cortex_m_identify(view->unit, values, &core->core))
        return true;
    core->server_unit = view->unit;
    core->has_memory = true;
    device->n_cores++;
    return true;
}

static bool is_bare(const struct link_view *view)
{
    return strcmp(view->type, "ap") == 0 && view->has_port;
}

/* By what a server calls it. */
static bool is_told(const struct link_view *view)
{
    static const char *const names[] = {"cortex_m", "hla_target"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(view->type, names[i]) == 0)
            return view->is_core;
    return false;
}

static bool is_scs(const struct component *component)
{
    return component->readable &&
           (component->class == CLASS_GENERIC ||
            (component->class == CLASS_CORESIGHT && component_archid(component) == ARCHID_SCS));
}

/* False only when the link fails. */
static bool judge(struct device *device, const struct link_view *view, enum discovery_port kind,
                  enum verdict *verdict, const struct deadline *deadline, struct error *error)
{
    struct component scs;
    struct discovery_table rom;
    *verdict = is_told(view) ? YES : NO;
    if (!is_bare(view) || kind != PORT_AHB)
        return true;
    *verdict = PERHAPS;
    if (!discovery_rom(device, view->port, &rom, deadline, error))
        return error->kind == ERROR_NONE;
    /* A table at 0 would stand where a system has its vectors: BASE is not implemented. */
    if (!rom.there || rom.base == 0)
        return true;
    if (!coresight_find(device->ledger, view->unit, rom.base, DISCOVERY_M_SCS, &scs, deadline, error))
        return false;
    *verdict = is_scs(&scs) ? YES : PERHAPS;
    return true;
}

/* Behind a debug port with nothing but AHB-APs, of which no table names a core, there is no other kind of
 * core. */
static bool is_alone(const struct link_view *views, size_t n, const enum discovery_port *kinds,
                     const enum verdict *verdicts, const struct link_view *view)
{
    for (size_t i = 0; i < n; i++)
        if (is_bare(&views[i]) && views[i].port >> 8 == view->port >> 8 &&
            (verdicts[i] == YES || kinds[i] == PORT_APB || kinds[i] == PORT_OTHER_MEMORY))
            return false;
    return true;
}

bool discovery_m_run(struct device *device, const struct link_view *views, size_t n,
                     const struct deadline *deadline, struct error *error)
{
    enum discovery_port kinds[TARGET_VIEWS];
    enum verdict verdicts[TARGET_VIEWS];
    for (size_t i = 0; i < n; i++) {
        kinds[i] = PORT_UNREADABLE;
        if ((is_bare(&views[i]) && !discovery_port(device, views[i].port, &kinds[i], deadline, error)) ||
            !judge(device, &views[i], kinds[i], &verdicts[i], deadline, error))
            return false;
    }
    for (size_t i = 0; i < n; i++) {
        bool look =
            verdicts[i] == YES || (verdicts[i] == PERHAPS && is_alone(views, n, kinds, verdicts, &views[i]));
        if (look && !discovery_m_look(device, &views[i], deadline, error))
            return false;
        if (verdicts[i] == PERHAPS && !look) {
            device->has_passed_over = true;
            device->passed_over = views[i].port;
        }
    }
    return true;
}
