/* SPDX-License-Identifier: MIT */
#include "run/inventory.h"

#include "base/values.h"
#include "counters/events.h"
#include "debuggers/debugger.h"
#include "device/doctor.h"
#include "links/link.h"
#include "report/json.h"
#include "report/render.h"
#include "run/engine_use.h"
#include "trace/trace.h"

#include <stdio.h>

enum { STATE = 800, BLOCK_TEXT = 128 };

struct inventory {
    struct session *session;
    struct document *document;
    uint64_t shown; /* cores */
};

/* A debugger halted the chosen core for us; without us it would run. */
static bool is_held(const struct inventory *self, const struct device_core *core)
{
    return self->session->device.debugger != NULL && core == self->session->device.chosen &&
           core->state == CORE_RUNNING;
}

static const char *info_state_of(const struct inventory *self, const struct device_core *core)
{
    static const char *const words[] = {[CORE_RUNNING] = "running",
                                        [CORE_ASLEEP] = "asleep",
                                        [CORE_HALTED] = "halted",
                                        [CORE_LOCKUP] = "locked up",
                                        [CORE_HIDDEN] = "not readable"};
    return is_held(self, core) ? "halted by the debugger" : words[core->state];
}

/* What keeps a block from measuring, or what it does. If its registers refuse to be read, doctor's tests say
 * why. */
static const char *block_state(struct inventory *self, const struct device_core *core,
                               const struct counter_block *block, struct diagnosis *diagnosis)
{
    struct error ignored = {0};
    struct deadline deadline = session_deadline(self->session);
    if (block->n == 0 && block->unusable[0] != '\0' &&
        doctor_examine(&self->session->device, core, diagnosis, &deadline, &ignored) && !diagnosis->healthy)
        return diagnosis->reason;
    return block->unusable[0] != '\0' ? block->unusable : block->state;
}

/* False: run control and the breakpoints are the debugger's. */
static bool has_own_comparators(const struct inventory *self, const struct device_core *core)
{
    const struct debugger *debugger = self->session->device.debugger;
    return debugger == NULL || (core->core.comparators > 0 && !debugger->facts.is_emulator);
}

/* False: -C asks for another core. */
static bool info_is_shown(const struct inventory *self, const struct device_core *core)
{
    return self->session->request->core < 0 || core == self->session->device.chosen ||
           core == self->session->device.remote;
}

/* The number of the core that a component belongs to; -1: none. */
static int owner_of(const struct inventory *self, const struct component *component)
{
    for (size_t k = 0; component->base != 0 && k < self->session->device.n_cores; k++) {
        const struct core *core = &self->session->device.cores[k].core;
        if (component->base == core->debug_base || component->base == core->pmu_base ||
            component->base == core->cti_base)
            return (int)k;
    }
    return -1;
}

/* "PMUv3, 6 counters, generic events": not in the block's own text, by which runs are compared. */
static void describe_block(const struct counter_block *block, char out[BLOCK_TEXT])
{
    bool is_generic = block->events != NULL && event_set_is_generic(block->events);
    snprintf(out, BLOCK_TEXT, "%s%s", block->text, is_generic ? ", generic events" : "");
}

static json_t *info_take(struct json_part *into, struct json_part part)
{
    into->ok = into->ok && part.ok;
    return part.json;
}

static struct json_part place_part(struct inventory *self, uint64_t address)
{
    struct json_part part = json_part_new(NULL);
    char place[512];
    session_place(self->session, address, place, sizeof place);
    json_part_hex(&part, "address", address);
    json_part_text(&part, "place", place);
    return part;
}

static void info_add_state(struct inventory *self, const struct device_core *core, struct json_part *line,
                           struct json_part *unseen)
{
    struct session *session = self->session;
    char text[STATE];
    struct deadline deadline = session_deadline(session);
    json_part_text(line, "state", info_state_of(self, core));
    if (core->state == CORE_HALTED)
        json_part_object(line, "halted_at", place_part(self, core->halted_at));
    if (core->state == CORE_HIDDEN) {
        hidden_describe(&session->device, core, text, sizeof text, &deadline);
        json_part_text(line, "why", text);
    } else {
        where_describe_exception(session, &core->core, core->state != CORE_HALTED, text, sizeof text);
        row_text(unseen, "exception", text);
    }
}

static void info_add_blocks(struct inventory *self, const struct device_core *core, struct json_part *line)
{
    json_t *blocks = json_array();
    for (size_t i = 0; i < core->n_blocks; i++) {
        const struct counter_block *block = &core->blocks[i];
        struct json_part one = json_part_new(NULL);
        struct diagnosis diagnosis;
        char text[BLOCK_TEXT];
        describe_block(block, text);
        json_part_text(&one, "kind", block->kind->name);
        json_part_text(&one, "text", text);
        json_part_bool(&one, "usable", block->unusable[0] == '\0');
        json_part_text(&one, "state", block_state(self, core, block, &diagnosis));
        json_part_append(line, blocks, info_take(line, one));
    }
    json_part_array(line, "counters", blocks);
}

/* The places of the comparators that are enabled. */
static bool add_used(struct inventory *self, const struct core *core, struct json_part *part, json_t *used,
                     struct error *error)
{
    struct ledger *ledger = self->session->device.ledger;
    struct deadline deadline = session_deadline(self->session);
    struct setting on = core_comparators_on(core);
    uint64_t value, address, words[COMPARATOR_WORDS];
    if (!ledger_read(ledger, on.at, &value, &deadline, error))
        return false;
    bool enabled = (value & on.test) == on.set;
    for (unsigned i = 0; i < core->comparators; i++) {
        for (unsigned w = 0; w < core_comparator_words(core); w++)
            if (!ledger_read(ledger, core_comparator(core, i, w), &words[w], &deadline, error))
                return false;
        if (enabled && core_comparator_used(core, words, &address))
            json_part_append(part, used, info_take(part, place_part(self, address)));
    }
    return true;
}

static bool add_breakpoints(struct inventory *self, const struct device_core *core, struct json_part *line,
                            struct error *error)
{
    struct json_part part = json_part_new(NULL);
    json_t *used = json_array();
    bool ok = true;
    if (!has_own_comparators(self, core)) {
        json_part_text(&part, "of", "debugger");
    } else {
        json_part_unsigned(&part, "count", core->core.comparators);
        ok = core->state == CORE_HIDDEN || add_used(self, &core->core, &part, used, error);
    }
    json_part_array(&part, "used", used);
    json_part_object(line, "breakpoints", part);
    return ok;
}

/* What the chosen core can emit while it runs, and through which way that would leave it. */
static void info_add_trace(struct inventory *self, const struct device_core *core, struct json_part *line)
{
    struct device *device = &self->session->device;
    struct deadline deadline = session_deadline(self->session);
    struct trace_prospect trace;
    if (core != device->chosen || core->state == CORE_HIDDEN || !core_has(&core->core, SYSTEM_SPACE) ||
        device->debugger != NULL)
        return;
    struct json_part part = json_part_new(NULL);
    trace_foresee(device, &trace, &deadline);
    json_part_text(&part, "emits", trace.emits);
    json_part_text(&part, trace.comes ? "through" : "why", trace.how.text);
    json_part_object(line, "trace", part);
}

/* Of a core that is not read whole the line has what was read. */
static bool info_put_core(struct inventory *self, size_t number, struct error *error)
{
    const struct device_core *core = &self->session->device.cores[number];
    struct json_part line = json_part_new("core"), unseen = json_part_new(NULL);
    json_part_unsigned(&line, "number", number);
    json_part_text(&line, "name", core->core.name);
    json_part_text(&line, "view", core->view.name);
    info_add_state(self, core, &line, &unseen);
    info_add_blocks(self, core, &line);
    info_add_trace(self, core, &line);
    bool ok = core->core.numbered_by_unit || add_breakpoints(self, core, &line, error);
    if (!ok)
        row_flag(&unseen, "unread", true);
    document_add(self->document, unseen);
    document_add(self->document, line);
    self->shown++;
    return ok;
}

/* The components that the ROM tables of a debug bus list. */
static struct json_part bus_line(const struct inventory *self, const struct device_bus *bus)
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
        int owner = owner_of(self, component);
        json_part_hex(&one, "base", component->base);
        component_name(component, name, sizeof name);
        json_part_text(&one, "name", name);
        if (component->readable)
            json_part_hex(&one, "part", component->part);
        if (owner >= 0)
            json_part_unsigned(&one, "core", (uint64_t)owner);
        json_part_append(&line, components, info_take(&line, one));
    }
    json_part_array(&line, "components", components);
    if (bus->coresight.cut)
        json_part_bool(&line, "cut", true);
    return line;
}

/* How the PMU is reached through a debugger, and why the other ways failed. */
static struct json_part access_line(const struct debugger *debugger, enum access_way way)
{
    struct json_part line = json_part_new("access");
    bool used = way == debugger->access.used;
    json_part_text(&line, "way", access_name(way));
    json_part_bool(&line, "used", used);
    json_part_text(&line, "why", debugger->access.why[way]);
    if (used)
        json_part_bool(&line, "writes", !debugger->access.only_looks);
    return line;
}

/* SystemCoreClock as core 0 sees it: measuring would disturb the core. False: not known. */
static bool read_clock(struct inventory *self, uint32_t *hz)
{
    uint64_t address, size;
    struct deadline deadline = session_deadline(self->session);
    return !self->session->device.chosen->core.memory_hidden && self->session->symbols != NULL &&
           symbols_object(self->session->symbols, "SystemCoreClock", &address, &size) && size == 4 &&
           session_look(self->session, &self->session->device.cores[0].core, address, &deadline, hz);
}

static void info_put_end(struct inventory *self)
{
    const struct device *device = &self->session->device;
    struct json_part line = json_part_new("summary");
    uint32_t hz;
    json_part_unsigned(&line, "cores", self->shown);
    if (device->buses_cut)
        json_part_bool(&line, "more_buses", true);
    if (device->cores_cut)
        json_part_bool(&line, "more_cores", true);
    if (read_clock(self, &hz)) {
        struct json_part clock = json_part_new(NULL);
        if (hz > 0)
            json_part_unsigned(&clock, "hz", hz);
        json_part_text(&clock, "source", hz > 0 ? "SystemCoreClock" : "SystemCoreClock is 0: give --freq");
        json_part_object(&line, "clock", clock);
    }
    document_add(self->document, line);
}

bool inventory_put(struct session *session, bool opened, struct document *document, struct error *error)
{
    struct inventory self = {.session = session, .document = document};
    const struct device *device = &session->device;
    const struct debugger *debugger = session->link != NULL ? link_debugger(session->link) : NULL;
    bool has_access = debugger != NULL && debugger->access.settled;
    char text[128];
    if (!opened && !has_access)
        return false;
    link_describe(session->link, text, sizeof text);
    document_add(document, json_command_part("info", text));
    for (enum access_way way = 0; has_access && way < ACCESS_WAYS; way++)
        document_add(document, access_line(debugger, way));
    if (!opened)
        return false;
    for (size_t i = 0; i < device->n_buses; i++)
        document_add(document, bus_line(&self, &device->buses[i]));
    for (size_t i = 0; i < device->n_cores; i++)
        if (info_is_shown(&self, &device->cores[i]) && !info_put_core(&self, i, error))
            return false;
    info_put_end(&self);
    return true;
}
