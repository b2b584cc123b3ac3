/* info -j: a line a debug bus, a core, a way that was tried; all that the text says. */
#include "commands/info.h"
#include "debuggers/debugger.h"
#include "report/json_part.h"
#include "target/hidden.h"

#include <inttypes.h>
#include <stdio.h>

static const char *state_of(const struct session *session, const struct target_core *core)
{
    if (session->target.debugger != NULL && core == session->target.chosen && core->state == CORE_RUNNING)
        return "halted by the debugger";
    switch (core->state) {
    case CORE_HALTED:
        return "halted";
    case CORE_ASLEEP:
        return "asleep";
    case CORE_LOCKUP:
        return "locked up";
    case CORE_HIDDEN:
        return "not readable";
    case CORE_RUNNING:
        break;
    }
    return "running";
}

static struct json_part place_part(struct session *session, uint64_t address)
{
    struct json_part part = json_part_new(NULL);
    char place[512];
    session_place(session, address, place, sizeof place);
    json_part_hex(&part, "address", address);
    json_part_text(&part, "place", place);
    return part;
}

static json_t *take(struct json_part *into, struct json_part part)
{
    into->ok = into->ok && part.ok;
    return part.json;
}

static bool put_breakpoints(struct session *session, const struct target_core *core, struct json_part *line,
                            struct error *error)
{
    struct json_part part = json_part_new(NULL);
    struct info_comparators found = {.n = 0};
    bool ok = true;
    if (!info_has_own_comparators(session, core)) {
        json_part_text(&part, "of", "debugger");
    } else {
        json_part_unsigned(&part, "count", core->core.comparators);
        if (core->state != CORE_HIDDEN)
            ok = info_comparators(session, &core->core, &found, error);
    }
    json_t *used = json_array();
    for (size_t i = 0; i < found.n; i++)
        json_part_append(&part, used, take(&part, place_part(session, found.used[i])));
    json_part_array(&part, "used", used);
    json_part_object(line, "breakpoints", part);
    return ok;
}

static bool put_core(struct session *session, size_t number, bool *written, struct error *error)
{
    const struct target_core *core = &session->target.cores[number];
    struct json_part line = json_part_new("core");
    json_t *blocks = json_array();
    json_part_unsigned(&line, "number", number);
    json_part_text(&line, "name", core->core.name);
    json_part_text(&line, "view", core->view.name);
    json_part_text(&line, "state", state_of(session, core));
    if (core->state == CORE_HALTED)
        json_part_object(&line, "halted_at", place_part(session, core->halted_at));
    if (core->state == CORE_HIDDEN) {
        char why[512];
        struct deadline deadline = session_deadline(session);
        hidden_describe(&session->target, core, why, sizeof why, &deadline);
        json_part_text(&line, "why", why);
    }
    for (size_t i = 0; i < core->n_blocks; i++) {
        const struct counter_block *block = &core->blocks[i];
        struct json_part one = json_part_new(NULL);
        struct diagnosis diagnosis;
        json_part_text(&one, "kind", block->kind->name);
        json_part_text(&one, "text", block->text);
        json_part_bool(&one, "usable", block->unusable[0] == '\0');
        json_part_text(&one, "state", info_block_state(session, core, block, &diagnosis));
        json_part_append(&line, blocks, take(&line, one));
    }
    json_part_array(&line, "counters", blocks);
    bool ok = core->core.family == CORE_KNC || put_breakpoints(session, core, &line, error);
    *written = json_part_write(session->context->out, line) && *written;
    return ok;
}

static bool put_bus(const struct session *session, const struct target_bus *bus)
{
    struct json_part line = json_part_new("bus");
    json_t *components = json_array();
    json_part_unsigned(&line, "ap", bus->port & 0xFFU);
    if (bus->has_rom)
        json_part_hex(&line, "rom", bus->rom);
    for (size_t i = 0; i < bus->coresight.n; i++) {
        const struct component *component = &bus->coresight.components[i];
        struct json_part one = json_part_new(NULL);
        char name[64];
        int owner = info_owner(session, component);
        json_part_hex(&one, "base", component->base);
        component_name(component, name, sizeof name);
        json_part_text(&one, "name", name);
        if (component->readable)
            json_part_hex(&one, "part", component->part);
        if (owner >= 0)
            json_part_unsigned(&one, "core", (uint64_t)owner);
        json_part_append(&line, components, take(&line, one));
    }
    json_part_array(&line, "components", components);
    if (bus->coresight.cut)
        json_part_bool(&line, "cut", true);
    return json_part_write(session->context->out, line);
}

static bool put_access(const struct session *session, const struct debugger *debugger)
{
    bool written = true;
    for (enum access_way way = 0; way < ACCESS_WAYS; way++) {
        struct json_part line = json_part_new("access");
        json_part_text(&line, "way", access_name(way));
        json_part_bool(&line, "used", way == debugger->access.used);
        json_part_text(&line, "why", debugger->access.why[way]);
        if (way == debugger->access.used)
            json_part_bool(&line, "writes", !debugger->access.only_looks);
        written = json_part_write(session->context->out, line) && written;
    }
    return written;
}

bool info_json(struct session *session, struct error *error)
{
    FILE *out = session->context->out;
    const struct debugger *debugger = link_debugger(session->link);
    char link[128];
    uint64_t hz, shown = 0;
    link_describe(session->link, link, sizeof link);
    bool written = json_command_header(out, "info", link), ok = true;
    if (debugger != NULL && debugger->access.settled)
        written = put_access(session, debugger) && written;
    for (size_t i = 0; i < session->target.n_buses; i++)
        written = put_bus(session, &session->target.buses[i]) && written;
    for (size_t i = 0; ok && i < session->target.n_cores; i++) {
        if (!info_is_shown(session, &session->target.cores[i]))
            continue;
        ok = put_core(session, i, &written, error);
        shown++;
    }
    if (!ok)
        return false;
    struct json_part line = json_part_new("summary");
    json_part_unsigned(&line, "cores", shown);
    if (session->target.buses_cut)
        json_part_bool(&line, "more_buses", true);
    if (session->target.cores_cut)
        json_part_bool(&line, "more_cores", true);
    if (session->target.chosen->core.family != CORE_KNC && info_clock(session, &hz)) {
        struct json_part clock = json_part_new(NULL);
        json_part_unsigned(&clock, "hz", hz);
        json_part_text(&clock, "source", "SystemCoreClock");
        json_part_object(&line, "clock", clock);
    }
    written = json_part_write(out, line) && written;
    return written || error_set(error, ERROR_SYSTEM, "the output could not be written");
}
