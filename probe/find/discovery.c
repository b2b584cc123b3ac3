/* SPDX-License-Identifier: MIT */
#include "find/discovery.h"

#include "base/arm_debug.h"
#include "cores/architectures.h"
#include "cores/parts.h"
#include "knc/knc.h"

#include <inttypes.h>
#include <string.h>

/* --- access ports --------------------------------------------------------------------------------------- */

/* The view shows a bus, not one of the server's cores. */
static bool is_plain(const struct link_view *view)
{
    return strcmp(view->type, "ap") == 0 || strcmp(view->type, "mem_ap") == 0;
}

/* IHI 0031 C2.6: where its ROM table is, and what kind of access port it is. */
enum { AP_BASE = 0xF8, AP_IDR = 0xFC, BASE_NONE = 3 };
static const uint32_t BASE_ADDRESS = 0xFFFFF000, BASE_LEGACY_NONE = 0xFFFFFFFF;

/* False: it refuses to be read; ERROR_* only when the link itself failed. */
static bool read_identity(struct found *found, const struct steps *list, uint64_t *values)
{
    struct error unread = {0};
    if (coresight_insist(found->ledger, list, values, found->deadline, &unread))
        return true;
    if (!error_is_refusal(&unread))
        error_copy(found->error, &unread);
    return false;
}

/* False: it cannot be read; ERROR_* only when the link itself failed. */
static bool discovery_read_port(struct found *found, uint16_t port, uint64_t offset, uint32_t *value)
{
    struct step one =
        step_read((struct address){.space = SPACE_AP, .size = 4, .unit = port, .offset = offset});
    const struct steps list = {.items = &one, .n = 1, .room = 1};
    uint64_t word = 0;
    bool read = read_identity(found, &list, &word);
    *value = (uint32_t)word;
    return read;
}

/* False only when the link fails. */
static bool read_kind(struct found *found, uint16_t port, enum port_bus *kind)
{
    uint32_t idr;
    *kind = PORT_NONE;
    if (!discovery_read_port(found, port, AP_IDR, &idr))
        return found->error->kind == ERROR_NONE;
    if ((idr & IDR_CLASS) == IDR_CLASS_MEMORY)
        *kind = port_bus_of(idr);
    return true;
}

struct rom_table {
    bool there;
    uint64_t base;
};

/* False: it cannot be read; ERROR_* only when the link itself failed. */
static bool read_rom(struct found *found, uint16_t port, struct rom_table *rom)
{
    uint32_t base;
    *rom = (struct rom_table){0};
    if (!discovery_read_port(found, port, AP_BASE, &base))
        return false;
    rom->there = base != BASE_LEGACY_NONE && (base & BASE_NONE) != 2;
    rom->base = rom->there ? base & BASE_ADDRESS : 0;
    return true;
}

bool discovery_rom(struct ledger *ledger, const struct link_view *view, uint64_t *rom,
                   const struct deadline *deadline)
{
    struct error unread = {0};
    struct found found = {.ledger = ledger, .deadline = deadline, .error = &unread};
    struct rom_table table;
    bool there = view->has_port && read_rom(&found, view->port, &table) && table.there && table.base != 0;
    *rom = there ? table.base : 0;
    return there;
}

/* --- Cortex-M ------------------------------------------------------------------------------------------- */

/*
 * They have their debug registers on their own bus, at one address. A server says which of its targets is
 * one. A bare access port may lead anywhere, and on another bus a read at that address may do harm: we read
 * only if a ROM table names the System Control Space, or if nothing else can be at the debug port.
 */

/* Does a view lead to a Cortex-M? */
enum verdict {
    NO,
    YES,
    PERHAPS, /* an AHB-AP whose table does not name one */
};

/* An access port finds what the core's data cache holds if its accesses are cacheable. OpenOCD's files of
 * these chips make them so by apcsw, and shows it after an access. False only when the link fails. */
static bool reach_through_cache(struct found *found, struct device_core *core)
{
    enum { AP_CSW = 0x00 };
    const uint32_t hprot_3 = 1U << 27; /* of CSW, IHI 0031 E1.3 */
    /* Without -ap-num OpenOCD takes the first AHB port, which these chips have at 0 */
    uint16_t port = core->view.has_port ? core->view.port : 0;
    bool is_known = core->view.has_port || strcmp(core->view.type, "cortex_m") == 0;
    uint32_t idr, csw;
    if ((core->core.quirks & HAS_DATA_CACHE) == 0 ||
        link_mark_cacheable(ledger_link(found->ledger), core->view.unit) || !core->core.caches_data ||
        !is_known)
        return true;
    if (!discovery_read_port(found, port, AP_CSW, &csw) || !discovery_read_port(found, port, AP_IDR, &idr))
        return found->error->kind == ERROR_NONE;
    core->is_past_cache = port_bus_of(idr) == PORT_AHB && (csw & hprot_3) == 0;
    return true;
}

static bool add_if_cortex_m(struct found *found, const struct link_view *view)
{
    struct step items[CORTEX_M_IDENTITY];
    uint64_t values[CORTEX_M_IDENTITY];
    struct steps list = {.items = items, .room = CORTEX_M_IDENTITY};
    if (found->n_cores == found->room) {
        found->cores_cut = true;
        return true;
    }
    struct device_core *core = &found->cores[found->n_cores];
    *core = (struct device_core){.view = *view};
    cortex_m_add_identity(view->unit, &list);
    if (!read_identity(found, &list, values))
        return found->error->kind == ERROR_NONE;
    if (!cortex_m_identify(view->unit, values, &core->core))
        return true;
    core->server_unit = view->unit;
    core->has_memory = true;
    found->n_cores++;
    return reach_through_cache(found, core);
}

/* The server calls it a Cortex-M. */
static bool discovery_is_told(const struct link_view *view)
{
    static const char *const names[] = {"cortex_m", "hla_target"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(view->type, names[i]) == 0)
            return view->is_core;
    return false;
}

/* ---- nothing found */

const char discovery_nothing[] = "no core that can be measured was found";

/* --- chips that let no debugger in ---------------------------------------------------------------------- */

/* The maker of an access port, as JEP106 numbers it (IDR[27:17], IHI 0031 C2.6.5), and how to open a chip. */
static const struct opener {
    uint32_t designer;
    const char *text;
} openers[] = {
    {0x144,
     "Nordic's CTRL-AP: nrfutil device recover (or OpenOCD's nrf52_recover) opens the chip and erases it."},
    {0x015, "Ask NXP's debug mailbox first (pyOCD, LinkServer); that erases nothing."},
    {0x373, "Silicon Labs' AAP: commander device unlock opens the chip and erases it."},
    {0x00E,
     "Freescale's MDM-AP: J-Link's unlock kinetis or OpenOCD's kinetis mdm mass_erase opens the chip and "
     "erases it, unless mass erase is disabled."},
};

/* Whether a memory port is closed by the chip: CSW.DeviceEn, IHI 0031 C2.6.4. */
static bool find_closed(struct found *found, uint16_t *port, const char **opener)
{
    enum { DESIGNER_SHIFT = 17, DESIGNER = 0x7FF, AP_CSW = 0x00, CSW_DEVICE_EN = 1 << 6 };
    bool closed = false;
    *opener = "Read-out protection does that; opening erases the chip: STM32CubeProgrammer an STM32 at RDP "
              "level 1 (2 stays), Renesas Flash Programmer an RA by its ID code.";
    for (size_t i = 0; i < found->n_views; i++) {
        uint32_t idr, csw;
        if (!discovery_is_bare(&found->views[i]) ||
            !discovery_read_port(found, found->views[i].port, AP_IDR, &idr))
            continue;
        for (size_t k = 0; k < sizeof openers / sizeof *openers; k++)
            if ((idr & IDR_CLASS) != IDR_CLASS_MEMORY &&
                (idr >> DESIGNER_SHIFT & DESIGNER) == openers[k].designer)
                *opener = openers[k].text;
        if (closed || (idr & IDR_CLASS) != IDR_CLASS_MEMORY ||
            !discovery_read_port(found, found->views[i].port, AP_CSW, &csw))
            continue;
        closed = (csw & CSW_DEVICE_EN) == 0;
        *port = found->views[i].port;
    }
    return closed;
}

/* --- cores of other kinds ------------------------------------------------------------------------------- */

static bool is_rp2350(struct found *found)
{
    const struct address at = {.space = SPACE_DP, .size = 4, .offset = DP_TARGETID};
    struct error unread = {0};
    uint64_t id = 0;
    bool may_be = false;
    for (size_t i = 0; i < found->n_views; i++)
        may_be = may_be || discovery_is_bare(&found->views[i]) || discovery_is_told(&found->views[i]);
    return may_be && ledger_read(found->ledger, at, &id, found->deadline, &unread) && targetid_is_rp2350(id);
}

/* A core of the server's that is none of ours; NULL: there is none. */
static const struct link_view *other_core(const struct found *found)
{
    for (size_t i = 0; i < found->n_views; i++)
        if (found->views[i].is_core && !discovery_is_bare(&found->views[i]) &&
            !discovery_is_told(&found->views[i]))
            return &found->views[i];
    return NULL;
}

static bool nothing_found_is_ours(const struct link_view *view)
{
    static const char *const types[] = {"cortex_a", "cortex_r4", "aarch64", "armv8r"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(view->type, types[i]) == 0)
            return true;
    return false;
}

static bool tell_other(const struct link_view *view, struct error *why)
{
    if (!nothing_found_is_ours(view))
        return error_advise(why, ERROR_NO_CORE, "Arm's Cortex-M, -R and -A cores are measured.",
                            "%s: the target %s is of the type %s", discovery_nothing, view->name, view->type);
    if (!view->has_port)
        return error_advise(why, ERROR_NO_CORE,
                            "Give the target -ap-num and -dbgbase in OpenOCD's configuration.",
                            "%s: OpenOCD does not say on which access port the target %s (%s) is",
                            discovery_nothing, view->name, view->type);
    return error_set(why, ERROR_NO_CORE, "%s: nothing at access port %u is the target %s (%s)",
                     discovery_nothing, view->port & 0xFFU, view->name, view->type);
}

bool nothing_found(struct found *found, struct error *why)
{
    const struct link_view *other = other_core(found);
    const char *opener;
    uint16_t port;
    /* RP2350 datasheet, 3.9.1: the boot ROM switches to the cores for which the image in flash is */
    if (is_rp2350(found))
        error_advise(why, ERROR_NO_CORE,
                     "Its RISC-V cores run, as the program is for them: load one for Arm. Or its OTP forbids "
                     "debugging.",
                     "%s: the Arm cores of this RP2350 do not answer", discovery_nothing);
    else if (find_closed(found, &port, &opener))
        error_advise(why, ERROR_NO_CORE, opener,
                     "the chip closes access port %u to debuggers (CSW.DeviceEn is 0)", port & 0xFFU);
    else if (other != NULL)
        tell_other(other, why);
    else if (found->passed_over >= 0)
        error_set(why, ERROR_NO_CORE,
                  "%s. Access port %u has no ROM table that names a core. If it has a Cortex-M, give "
                  "--debug-base %u:0x%08X",
                  discovery_nothing, (unsigned)found->passed_over & 0xFFU,
                  (unsigned)found->passed_over & 0xFFU, (unsigned)DISCOVERY_M_SCS);
    else
        error_set(why, ERROR_NO_CORE, "%s", discovery_nothing);
    return found->error->kind == ERROR_NONE;
}

/* ---- the search */

/* False only when the link fails. */
static bool discovery_judge(struct found *found, const struct link_view *view, enum port_bus kind,
                            enum verdict *verdict)
{
    struct component scs;
    struct rom_table rom;
    *verdict = discovery_is_told(view) ? YES : NO;
    if (!discovery_is_bare(view) || kind != PORT_AHB)
        return true;
    *verdict = PERHAPS;
    if (!read_rom(found, view->port, &rom))
        return found->error->kind == ERROR_NONE;
    /* A table at 0 would be where a system has its vectors: BASE is not implemented. */
    if (!rom.there || rom.base == 0)
        return true;
    if (!coresight_find(found->ledger, view->unit, rom.base, DISCOVERY_M_SCS, &scs, found->deadline,
                        found->error))
        return false;
    /* Generic IP up to Armv7-M (DDI 0403E C1.2), CoreSight from Armv8-M on (DDI 0553 D1.2). */
    bool is_scs =
        scs.class == CLASS_GENERIC || (scs.class == CLASS_CORESIGHT && component_archid(&scs) == ARCHID_SCS);
    *verdict = scs.readable && is_scs ? YES : PERHAPS;
    return true;
}

/* At a debug port with AHB-APs only, and no table that names a core, no other kind of core can be. */
static bool is_alone(const struct found *found, const enum port_bus *kinds, const enum verdict *verdicts,
                     const struct link_view *view)
{
    for (size_t i = 0; i < found->n_views; i++)
        if (discovery_is_bare(&found->views[i]) && found->views[i].port >> 8 == view->port >> 8 &&
            (verdicts[i] == YES || (kinds[i] != PORT_NONE && kinds[i] != PORT_AHB)))
            return false;
    return true;
}

bool discovery_m_run(struct found *found)
{
    enum port_bus kinds[TARGET_VIEWS];
    enum verdict verdicts[TARGET_VIEWS];
    for (size_t i = 0; i < found->n_views; i++) {
        kinds[i] = PORT_NONE;
        if ((discovery_is_bare(&found->views[i]) && !read_kind(found, found->views[i].port, &kinds[i])) ||
            !discovery_judge(found, &found->views[i], kinds[i], &verdicts[i]))
            return false;
    }
    for (size_t i = 0; i < found->n_views; i++) {
        bool look = verdicts[i] == YES ||
                    (verdicts[i] == PERHAPS && is_alone(found, kinds, verdicts, &found->views[i]));
        if (look && !add_if_cortex_m(found, &found->views[i]))
            return false;
        if (verdicts[i] == PERHAPS && !look)
            found->passed_over = found->views[i].port;
    }
    return true;
}

/* --- debug buses ---------------------------------------------------------------------------------------- */

static const struct device_bus *find_bus(const struct found *found, uint16_t port)
{
    for (size_t i = 0; i < found->n_buses; i++)
        if (found->buses[i].port == port)
            return &found->buses[i];
    return NULL;
}

static bool has_cortex_m(const struct found *found, uint16_t port)
{
    for (size_t i = 0; i < found->n_cores; i++)
        if (found->cores[i].core.ops == &cortex_m_ops && found->cores[i].view.has_port &&
            found->cores[i].view.port == port)
            return true;
    return false;
}

/* Finds the view of a system bus on the same debug port: AXI before AHB. A port with a Cortex-M on it shows
 * that core's memory, and is the last. */
static bool find_memory(struct found *found, uint16_t port, uint16_t *unit)
{
    int best = 0;
    for (size_t i = 0; i < found->n_views; i++) {
        const struct link_view *view = &found->views[i];
        enum port_bus kind;
        if (!is_plain(view) || !view->has_port || view->port >> 8 != port >> 8 || view->port == port ||
            !read_kind(found, view->port, &kind) || kind == PORT_NONE || kind == PORT_APB)
            continue;
        int rank = has_cortex_m(found, view->port) ? 1 : kind == PORT_AXI ? 3 : 2;
        if (rank > best)
            *unit = view->unit;
        best = rank > best ? rank : best;
    }
    return best > 0;
}

/* The monitor of a cluster or a bus may have the DEVTYPE of a core's PMU. DEVARCH, if there is one, shows
 * PMUv3 of any revision for a core (DDI 0487 I5.3, PMDEVARCH). PMUs of Armv7 have no DEVARCH. */
static bool is_a(const struct component *component, uint8_t devtype)
{
    enum { ARCHITECT_AND_ID = ~0xF0000, DEVARCH_PMU_V3 = 0x47702A16 };
    return component->devtype == devtype &&
           (devtype != DEVTYPE_PMU || component->devarch == 0 ||
            (component->devarch & (uint32_t)ARCHITECT_AND_ID) == DEVARCH_PMU_V3);
}

/* The component of a kind that belongs to a core, in the order of the tables. If there are as many as cores,
 * the nth belongs to the nth core; else the first one between the core and the next. One before the first
 * core belongs to no core. */
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

/* The server's own target for this core, which has its state and run control; else a view of the bus. */
static const struct link_view *view_of(const struct found *found, const struct device_bus *bus,
                                       uint64_t debug_base, unsigned number)
{
    const struct link_view *bare = NULL;
    for (size_t i = 0; i < found->n_views; i++) {
        if (!found->views[i].has_port || found->views[i].port != bus->port)
            continue;
        if (is_plain(&found->views[i]))
            bare = &found->views[i];
        else if (found->views[i].debug_base != 0 ? found->views[i].debug_base == debug_base
                                                 : found->views[i].core_id == number)
            return &found->views[i];
    }
    return bare;
}

static bool discovery_identify_armv7(struct found *found, uint16_t unit, uint64_t debug_base,
                                     struct core *out)
{
    struct step items[ARMV7_IDENTITY];
    uint64_t values[ARMV7_IDENTITY];
    struct steps list = {.items = items, .room = ARMV7_IDENTITY};
    armv7_add_identity(unit, debug_base, &list);
    return read_identity(found, &list, values) && armv7_identify(unit, debug_base, values, out);
}

/* The part number can be read even without power. */
static bool discovery_identify_armv8(struct found *found, uint16_t unit, const struct component *debug,
                                     const struct component *cti, struct core *out)
{
    struct step items[ARMV8_IDENTITY];
    uint64_t values[ARMV8_IDENTITY], cti_base = cti != NULL ? cti->base : 0;
    struct steps list = {.items = items, .room = ARMV8_IDENTITY};
    armv8_add_identity(unit, debug->base, cti_base, &list);
    if (read_identity(found, &list, values))
        armv8_identify(unit, debug->base, cti_base, values, out);
    else
        armv8_identify_hidden(unit, debug->base, cti_base, debug->part, out);
    return found->error->kind == ERROR_NONE;
}

static bool discovery_identify(struct found *found, uint16_t unit, const struct component *debug,
                               const struct component *cti, struct core *out)
{
    bool known = armv8_is_archid(component_archid(debug))
                     ? discovery_identify_armv8(found, unit, debug, cti, out)
                     : discovery_identify_armv7(found, unit, debug->base, out);
    if (!known)
        return false;
    out->cti_base = cti != NULL ? cti->base : 0;
    out->catches_by_cti = armv8_is(out) && cti != NULL && armv8_cti_catches(cti->devarch);
    return true;
}

static bool discovery_add_core(struct found *found, const struct device_bus *bus, size_t at, unsigned number)
{
    const struct coresight *coresight = &bus->coresight;
    const struct component *debug = &coresight->components[at];
    const struct link_view *view = view_of(found, bus, debug->base, number);
    struct device_core *core = &found->cores[found->n_cores];
    if (view == NULL)
        return true;
    if (found->n_cores == found->room) {
        found->cores_cut = true;
        return true;
    }
    *core = (struct device_core){.view = *view};
    const struct component *pmu = follower(coresight, at, DEVTYPE_PMU);
    const struct component *cti = follower(coresight, at, DEVTYPE_CTI);
    if (!discovery_identify(found, bus->unit, debug, cti, &core->core))
        return found->error->kind == ERROR_NONE;
    core->core.pmu_base = pmu != NULL ? pmu->base : 0;
    core->core.pmu_unit = bus->unit;
    core->server_unit = view->unit;
    core->has_memory = find_memory(found, bus->port, &core->core.memory_unit);
    if (found->error->kind != ERROR_NONE)
        return false;
    found->n_cores++;
    return true;
}

/* Distances from a core's debug registers: next to them, as on Cortex-A9 (DDI 0388I 10.2) and A7, and the
 * Armv8 map of Cortex-A53 (DDI 0500J 11.10) and A57. A cluster of the first kind has 32 KB of cores, each
 * with its PMU, and then their trigger interfaces; an RK3399 has its Cortex-A53 so. */
enum { NEXT_PMU = 0x1000, ARMV8_CTI = 0x10000, ARMV8_PMU = 0x20000 };
enum { PACKED_CORES = 0x8000, PACKED_CORE = 0x2000, PACKED_CTI = 0x1000 };

static uint64_t packed_cti(uint64_t debug_base)
{
    uint64_t within = debug_base % PACKED_CORES;
    return debug_base - within + PACKED_CORES + within / PACKED_CORE * PACKED_CTI;
}

static bool put_if(struct found *found, struct device_bus *bus, uint64_t base, uint8_t devtype,
                   const struct component **put)
{
    struct component there;
    *put = NULL;
    if (!coresight_look(found->ledger, bus->unit, base, &there, found->deadline, found->error))
        return false;
    if (there.readable && there.devtype == devtype)
        *put = coresight_put(&bus->coresight, &there);
    return true;
}

static bool discovery_put_core(struct found *found, struct device_bus *bus, uint64_t base)
{
    const struct component *debug, *pmu, *cti;
    if (!put_if(found, bus, base, DEVTYPE_CORE, &debug))
        return false;
    if (debug == NULL)
        return true;
    bool v8 = armv8_is_archid(component_archid(debug));
    if (v8 && (!put_if(found, bus, base + ARMV8_PMU, DEVTYPE_PMU, &pmu) ||
               !put_if(found, bus, base + ARMV8_CTI, DEVTYPE_CTI, &cti)))
        return false;
    if (v8 && pmu != NULL)
        return true;
    if (!put_if(found, bus, base + NEXT_PMU, DEVTYPE_PMU, &pmu))
        return false;
    return pmu == NULL || put_if(found, bus, packed_cti(base), DEVTYPE_CTI, &cti);
}

/* Without a table: adds cores where the server's configuration has their debug registers. */
static bool add_told(struct found *found, struct device_bus *bus)
{
    for (size_t i = 0; i < found->n_views; i++)
        if (found->views[i].has_port && found->views[i].port == bus->port &&
            found->views[i].debug_base != 0 && !discovery_put_core(found, bus, found->views[i].debug_base))
            return false;
    return true;
}

static bool add_bus(struct found *found, const struct link_view *view)
{
    struct rom_table rom;
    if (find_bus(found, view->port) != NULL)
        return true;
    if (found->n_buses == TARGET_BUSES) {
        found->buses_cut = true;
        return true;
    }
    if (!read_rom(found, view->port, &rom))
        return found->error->kind == ERROR_NONE;
    struct device_bus *bus = &found->buses[found->n_buses++];
    *bus = (struct device_bus){.unit = view->unit, .port = view->port, .has_rom = rom.there, .rom = rom.base};
    bool walked = !bus->has_rom || coresight_walk(found->ledger, bus->unit, bus->rom, &bus->coresight,
                                                  found->deadline, found->error);
    if (!walked)
        return false;
    if (bus->coresight.n <= 1 && !add_told(found, bus))
        return false;
    unsigned number = 0;
    for (size_t i = 0; i < bus->coresight.n; i++) {
        if (bus->coresight.components[i].devtype != DEVTYPE_CORE)
            continue;
        if (!discovery_add_core(found, bus, i, number++))
            return false;
    }
    return true;
}

/* What has no debug registers is known by its view. */
static void add_view(struct found *found, const struct link_view *view, bool has_memory,
                     void (*describe)(uint16_t unit, struct core *))
{
    if (found->n_cores == found->room)
        return;
    struct device_core *core = &found->cores[found->n_cores++];
    *core = (struct device_core){.view = *view, .server_unit = view->unit, .has_memory = has_memory};
    describe(view->unit, &core->core);
}

bool discovery_run(struct found *found)
{
    for (size_t i = 0; i < found->n_views; i++) {
        enum port_bus kind;
        if (strcmp(found->views[i].type, "msr") == 0)
            add_view(found, &found->views[i], false, knc_describe);
        if (strcmp(found->views[i].type, "x86_64") == 0)
            add_view(found, &found->views[i], true, x86_64_describe);
        if (!found->views[i].has_port)
            continue;
        if (!read_kind(found, found->views[i].port, &kind))
            return false;
        if (kind == PORT_APB && !add_bus(found, &found->views[i]))
            return false;
    }
    return true;
}

/* --- what the user says --------------------------------------------------------------------------------- */

static const char debug_base[] = "--debug-base";

static struct device_bus *bus_at(struct found *found, const struct place *place)
{
    for (size_t i = 0; i < found->n_buses; i++)
        if ((found->buses[i].port & 0xFF) == place->port)
            return &found->buses[i];
    return NULL;
}

static bool find_unit(struct found *found, const struct place *place, uint16_t *unit)
{
    const struct device_bus *bus = bus_at(found, place);
    if (bus != NULL) {
        *unit = bus->unit;
        return true;
    }
    for (size_t i = 0; i < found->n_views; i++) {
        if (is_plain(&found->views[i]) && found->views[i].has_port &&
            (found->views[i].port & 0xFF) == place->port) {
            *unit = found->views[i].unit;
            return true;
        }
    }
    return false;
}

static bool no_port(struct found *found, const char *option, const struct place *place)
{
    return error_set(found->error, ERROR_NO_CORE, "%s: no access port %u is seen", option, place->port);
}

static bool discovery_look(struct found *found, const char *option, const struct place *place,
                           uint8_t devtype, uint16_t *unit, struct component *out)
{
    char is[64], wanted[64];
    const struct component kind = {.readable = true, .class = 9, .devtype = devtype};
    if (!find_unit(found, place, unit))
        return no_port(found, option, place);
    if (!coresight_look(found->ledger, *unit, place->base, out, found->deadline, found->error))
        return false;
    if (!out->readable)
        return error_set(found->error, ERROR_NO_CORE,
                         "%s: what is at 0x%08" PRIX64 " on access port %u does not say what it is", option,
                         place->base, place->port);
    if (out->devtype == devtype)
        return true;
    component_name(out, is, sizeof is);
    component_name(&kind, wanted, sizeof wanted);
    return error_set(found->error, ERROR_NO_CORE,
                     "%s: on access port %u, 0x%08" PRIX64 " is %s (part 0x%03X), not %s", option,
                     place->port, place->base, is, out->part, wanted);
}

static int core_at(const struct found *found, const struct device_bus *bus, uint64_t base)
{
    for (size_t i = 0; i < found->n_cores; i++)
        if (!core_has(&found->cores[i].core, SYSTEM_SPACE) && found->cores[i].core.unit == bus->unit &&
            found->cores[i].core.debug_base == base)
            return (int)i;
    return -1;
}

static bool place_cortex_m(struct found *found, const struct place *place, int *number)
{
    for (size_t i = 0; i < found->n_views; i++) {
        const struct link_view *view = &found->views[i];
        if (!view->is_core || !view->has_port || (view->port & 0xFF) != place->port)
            continue;
        for (size_t k = 0; k < found->n_cores; k++)
            if (core_has(&found->cores[k].core, SYSTEM_SPACE) && found->cores[k].core.unit == view->unit) {
                *number = (int)k;
                return true;
            }
        size_t before = found->n_cores;
        *number = (int)before;
        if (!add_if_cortex_m(found, view))
            return false;
        return found->n_cores > before ||
               error_set(found->error, ERROR_NO_CORE, "%s: no Cortex-M answers at access port %u", debug_base,
                         place->port);
    }
    return no_port(found, debug_base, place);
}

static bool place_core(struct found *found, const struct place *place, int *number)
{
    uint16_t unit = 0;
    struct component there;
    struct device_bus *bus = bus_at(found, place);
    if (bus == NULL && place->base == DISCOVERY_M_SCS)
        return place_cortex_m(found, place, number);
    if (bus == NULL)
        return error_set(found->error, ERROR_NO_CORE, "%s: access port %u leads to no debug bus", debug_base,
                         place->port);
    *number = core_at(found, bus, place->base);
    if (*number >= 0)
        return true;
    if (!discovery_look(found, debug_base, place, DEVTYPE_CORE, &unit, &there))
        return false;
    size_t before = bus->coresight.n;
    if (!discovery_put_core(found, bus, place->base))
        return false;
    size_t at = 0;
    while (at < bus->coresight.n && bus->coresight.components[at].base != place->base)
        at++;
    unsigned order = 0;
    for (size_t i = 0; i < at && i < before; i++)
        order += bus->coresight.components[i].devtype == DEVTYPE_CORE;
    if (at < bus->coresight.n && !discovery_add_core(found, bus, at, order))
        return false;
    *number = core_at(found, bus, place->base);
    return *number >= 0 ||
           error_set(found->error, ERROR_NO_CORE, "%s: the core at 0x%08" PRIX64 " is of an unknown kind",
                     debug_base, place->base);
}

static bool place_pmu(struct found *found, const struct place *place, struct core *core)
{
    struct component there;
    if (core_has(core, SYSTEM_SPACE))
        return error_set(found->error, ERROR_USAGE, "--pmu-base: not for a Cortex-M");
    if (!discovery_look(found, "--pmu-base", place, DEVTYPE_PMU, &core->pmu_unit, &there))
        return false;
    core->pmu_base = place->base;
    return true;
}

static bool place_cti(struct found *found, const struct place *place, struct core *core)
{
    struct component there = {0}, debug = {0};
    uint16_t unit = 0;
    if (!core_has(core, DEBUG_COMPONENT))
        return error_set(found->error, ERROR_USAGE, "--cti: only A and R cores are halted by one");
    if (!discovery_look(found, "--cti", place, DEVTYPE_CTI, &unit, &there))
        return false;
    if (unit != core->unit)
        return error_set(found->error, ERROR_USAGE, "--cti: it must be on the core's debug bus");
    if (!coresight_look(found->ledger, core->unit, core->debug_base, &debug, found->deadline, found->error))
        return false;
    struct core with = {0};
    if (!discovery_identify(found, core->unit, &debug, &there, &with))
        return error_set(found->error, ERROR_NO_CORE, "--cti: the core does not answer any more");
    with.memory_unit = core->memory_unit;
    with.pmu_unit = core->pmu_unit;
    with.pmu_base = core->pmu_base;
    *core = with;
    return true;
}

bool discovery_place(struct found *found, const struct device_request *request)
{
    int number = request->core;
    if (request->debug.said && !place_core(found, &request->debug, &number))
        return false;
    found->preferred = number < 0 ? 0 : number;
    if ((size_t)found->preferred >= found->n_cores)
        return true; /* device_choose says it */
    struct core *core = &found->cores[found->preferred].core;
    return (!request->pmu.said || place_pmu(found, &request->pmu, core)) &&
           (!request->cti.said || place_cti(found, &request->cti, core));
}
