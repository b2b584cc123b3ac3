#include "target/discovery_m.h"

#include "cores/cortex_m.h"
#include "target/discovery.h"

#include <string.h>

/* The System Control Space is of the class of generic IP up to Armv7-M (DDI 0403E C1.2), and a CoreSight
 * component of that architecture from Armv8-M on (DDI 0553 D1.2). */
enum { CLASS_CORESIGHT = 0x9, CLASS_GENERIC = 0xE, ARCHID_SCS = 0x2A04 };

/* What is known of a view. */
enum verdict {
    NO,
    YES,
    PERHAPS, /* an AHB-AP without a table that says so */
};

bool discovery_m_look(struct target *target, const struct link_view *view, const struct deadline *deadline,
                      struct error *error)
{
    struct step items[CORTEX_M_IDENTITY];
    uint64_t values[CORTEX_M_IDENTITY];
    struct steps list = {.items = items, .room = CORTEX_M_IDENTITY};
    if (target->n_cores == target->room) {
        target->cores_cut = true;
        return true;
    }
    struct target_core *core = &target->cores[target->n_cores];
    *core = (struct target_core){.view = *view};
    cortex_m_add_identity(view->unit, &list);
    struct error unreadable = {0};
    bool read = target_run(target, &list, values, deadline, &unreadable);
    if (!read && unreadable.kind == ERROR_FAULT) { /* just once? The next core must not take its number */
        unreadable = (struct error){0};
        read = target_run(target, &list, values, deadline, &unreadable);
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
    target->n_cores++;
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
static bool judge(struct target *target, const struct link_view *view, enum discovery_port kind,
                  enum verdict *verdict, const struct deadline *deadline, struct error *error)
{
    struct component scs;
    struct discovery_table rom;
    *verdict = is_told(view) ? YES : NO;
    if (!is_bare(view) || kind != PORT_AHB)
        return true;
    *verdict = PERHAPS;
    if (!discovery_rom(target, view->port, &rom, deadline, error))
        return error->kind == ERROR_NONE;
    /* A table at 0 would stand where a system has its vectors: BASE is not implemented. */
    if (!rom.there || rom.base == 0)
        return true;
    if (!coresight_find(target->ledger, view->unit, rom.base, DISCOVERY_M_SCS, &scs, deadline, error))
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

bool discovery_m_run(struct target *target, const struct link_view *views, size_t n,
                     const struct deadline *deadline, struct error *error)
{
    enum discovery_port kinds[TARGET_VIEWS];
    enum verdict verdicts[TARGET_VIEWS];
    for (size_t i = 0; i < n; i++) {
        kinds[i] = PORT_UNREADABLE;
        if ((is_bare(&views[i]) && !discovery_port(target, views[i].port, &kinds[i], deadline, error)) ||
            !judge(target, &views[i], kinds[i], &verdicts[i], deadline, error))
            return false;
    }
    for (size_t i = 0; i < n; i++) {
        bool look =
            verdicts[i] == YES || (verdicts[i] == PERHAPS && is_alone(views, n, kinds, verdicts, &views[i]));
        if (look && !discovery_m_look(target, &views[i], deadline, error))
            return false;
        if (verdicts[i] == PERHAPS && !look) {
            target->has_passed_over = true;
            target->passed_over = views[i].port;
        }
    }
    return true;
}
