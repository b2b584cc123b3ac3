/* info: cores, counters and breakpoints, and who uses them already. Changes nothing. */
#include "base/values.h"
#include "commands/command.h"
#include "counters/events.h"
#include "debuggers/debugger.h"
#include "device/doctor.h"
#include "links/link.h"
#include "report/document.h"
#include "report/render.h"
#include "report/terminal.h"
#include "run/engine_use.h"
#include "run/program.h"
#include "run/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEFT = 192, STATE = 800, BLOCK_TEXT = 128 };

struct info_command {
    const struct context *context;
    struct session session;
    uint64_t shown; /* cores */
    bool unwritten; /* a line of JSON */
};

/* A debugger halted the chosen core for us; without us it would run. */
static bool is_held(const struct info_command *self, const struct device_core *core)
{
    return self->session.device.debugger != NULL && core == self->session.device.chosen &&
           core->state == CORE_RUNNING;
}

static const char *info_state_of(const struct info_command *self, const struct device_core *core)
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
static const char *block_state(struct info_command *self, const struct device_core *core,
                               const struct counter_block *block, struct diagnosis *diagnosis)
{
    struct error ignored = {0};
    struct deadline deadline = session_deadline(&self->session);
    if (block->n == 0 && block->unusable[0] != '\0' &&
        doctor_examine(&self->session.device, core, diagnosis, &deadline, &ignored) && !diagnosis->healthy)
        return diagnosis->reason;
    return block->unusable[0] != '\0' ? block->unusable : block->state;
}

/* False: run control and the breakpoints are the debugger's. */
static bool has_own_comparators(const struct info_command *self, const struct device_core *core)
{
    const struct debugger *debugger = self->session.device.debugger;
    return debugger == NULL || (core->core.comparators > 0 && !debugger->facts.is_emulator);
}

/* False: -C asks for another core. */
static bool info_is_shown(const struct info_command *self, const struct device_core *core)
{
    return self->context->options->request.core < 0 || core == self->session.device.chosen ||
           core == self->session.device.remote;
}

/* The number of the core that a component belongs to; -1: none. */
static int owner_of(const struct info_command *self, const struct component *component)
{
    for (size_t k = 0; component->base != 0 && k < self->session.device.n_cores; k++) {
        const struct core *core = &self->session.device.cores[k].core;
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

static bool info_is_json(const struct info_command *self)
{
    return self->context->options->format == FORMAT_JSON;
}

/* ---- the lines. What people alone see has keys that JSON does not have. */

static json_t *info_take(struct json_part *into, struct json_part part)
{
    into->ok = into->ok && part.ok;
    return part.json;
}

static struct json_part place_part(struct info_command *self, uint64_t address)
{
    struct json_part part = json_part_new(NULL);
    char place[512];
    session_place(&self->session, address, place, sizeof place);
    json_part_hex(&part, "address", address);
    json_part_text(&part, "place", place);
    return part;
}

static void info_add_state(struct info_command *self, const struct device_core *core, struct json_part *line)
{
    struct session *session = &self->session;
    char text[STATE];
    struct deadline deadline = session_deadline(session);
    json_part_text(line, "state", info_state_of(self, core));
    if (core->state == CORE_HALTED)
        json_part_object(line, "halted_at", place_part(self, core->halted_at));
    if (core->state == CORE_HIDDEN) {
        hidden_describe(&session->device, core, text, sizeof text, &deadline);
        json_part_text(line, "why", text);
    } else if (!info_is_json(self)) {
        where_describe_exception(session, &core->core, core->state != CORE_HALTED, text, sizeof text);
        row_text(line, "exception", text);
    }
}

static void info_add_blocks(struct info_command *self, const struct device_core *core, struct json_part *line)
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
static bool add_used(struct info_command *self, const struct core *core, struct json_part *part, json_t *used,
                     struct error *error)
{
    struct ledger *ledger = self->session.device.ledger;
    struct deadline deadline = session_deadline(&self->session);
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

static bool add_breakpoints(struct info_command *self, const struct device_core *core, struct json_part *line,
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
    if (ok || info_is_json(self))
        json_part_object(line, "breakpoints", part);
    else
        json_decref(part.json);
    return ok;
}

/* Of a core that is not read whole the line has what was read. */
static struct json_part info_core_line(struct info_command *self, size_t number, bool *ok,
                                       struct error *error)
{
    const struct device_core *core = &self->session.device.cores[number];
    struct json_part line = json_part_new("core");
    json_part_unsigned(&line, "number", number);
    json_part_text(&line, "name", core->core.name);
    json_part_text(&line, "view", core->view.name);
    info_add_state(self, core, &line);
    info_add_blocks(self, core, &line);
    *ok = core->core.numbered_by_unit || add_breakpoints(self, core, &line, error);
    return line;
}

/* The components that the ROM tables of a debug bus list. */
static struct json_part bus_line(const struct info_command *self, const struct device_bus *bus)
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

/* ---- as text */

static uint64_t info_number_at(const json_t *line, const char *key)
{
    return strtoull(field_text(line, key), NULL, 0);
}

static void print_breakpoints(FILE *out, const struct json_part *core)
{
    const json_t *used = field_of(core->json, "breakpoints.used");
    char left[LEFT], piece[UTF8_CLEAN_ROOM(512) + 2];
    uint64_t count = field_count(core->json, "breakpoints.count");
    if (field_of(core->json, "breakpoints.of") != NULL) {
        fprintf(out, "  %-12s %s\n", "breakpoints", "the debugger's own");
        return;
    }
    if (field_of(core->json, "why") != NULL) {
        fprintf(out, "  %-12s %" PRIu64 "\n", "breakpoints", count);
        return;
    }
    int width = snprintf(left, sizeof left, "  %-12s %" PRIu64 ",", "breakpoints", count);
    struct fold fold = {
        .out = out, .columns = terminal_columns(out), .indent = (size_t)width + 1, .used = (size_t)width};
    fputs(left, out);
    fold_put(&fold, used == NULL ? "all free" : "in use:", 1);
    for (size_t i = 0, n = json_array_size(used); i < n; i++) {
        snprintf(piece, sizeof piece, "%s%s", field_text(json_array_get(used, i), "place"),
                 i + 1 < n ? "," : "");
        fold_put(&fold, piece, 1);
    }
    fold_end(&fold);
}

static void print_core(FILE *out, const struct json_part *core)
{
    const json_t *line = core->json, *blocks = field_of(line, "counters");
    const char *place = field_text(line, "halted_at.place"), *why = field_text(line, "why");
    char name[UTF8_CLEAN_ROOM(64)], left[LEFT + UTF8_CLEAN_ROOM(64)], state[STATE];
    snprintf(left, sizeof left, "core %" PRIu64 "   %s   %s   ", field_count(line, "number"),
             field_text(line, "name"), terminal_text(name, sizeof name, field_text(line, "view")));
    if (why[0] != '\0')
        snprintf(state, sizeof state, "%s", why);
    else
        snprintf(state, sizeof state, "%s%s%s%s", field_text(line, "state"), place[0] != '\0' ? " at " : "",
                 place, field_text(line, "exception"));
    fputc('\n', out);
    fold_beside(out, terminal_columns(out), left, state);
    for (size_t i = 0; i < json_array_size(blocks); i++) {
        const json_t *block = json_array_get(blocks, i);
        snprintf(left, sizeof left, "  %-12s %-36s ", field_text(block, "kind"), field_text(block, "text"));
        fold_beside(out, terminal_columns(out), left, field_text(block, "state"));
    }
    if (field_of(line, "breakpoints") != NULL)
        print_breakpoints(out, core);
}

static void print_bus(FILE *out, const struct json_part *bus)
{
    const json_t *line = bus->json, *components = field_of(line, "components");
    fprintf(out, "\nAP %" PRIu64 "   APB-AP   ", field_count(line, "ap"));
    if (field_of(line, "rom") != NULL)
        fprintf(out, "ROM table 0x%08" PRIX64 "\n", info_number_at(line, "rom"));
    else
        fprintf(out, "no ROM table\n");
    for (size_t i = 0; i < json_array_size(components); i++) {
        const json_t *one = json_array_get(components, i);
        const char *name = field_text(one, "name");
        if (field_of(one, "part") == NULL) {
            fprintf(out, "  0x%08" PRIX64 "   %s\n", info_number_at(one, "base"), name);
            continue;
        }
        fprintf(out, "  0x%08" PRIX64 "   %-14s part 0x%03" PRIX64, info_number_at(one, "base"), name,
                info_number_at(one, "part"));
        if (field_of(one, "core") != NULL)
            fprintf(out, "   core %" PRIu64, field_count(one, "core"));
        fputc('\n', out);
    }
    if (field_is(line, "cut"))
        fprintf(out, "  and more\n");
}

/* SystemCoreClock as core 0 sees it: measuring would disturb the core. False: not known. */
static bool read_clock(struct info_command *self, uint32_t *hz)
{
    uint64_t address, size;
    struct deadline deadline = session_deadline(&self->session);
    return !self->session.device.chosen->core.memory_hidden && self->session.symbols != NULL &&
           symbols_object(self->session.symbols, "SystemCoreClock", &address, &size) && size == 4 &&
           session_look(&self->session, &self->session.device.cores[0].core, address, &deadline, hz);
}

static bool is_any_shown(const struct info_command *self, const struct device_core *cores, size_t from,
                         size_t to)
{
    for (size_t i = from; i < to; i++)
        if (info_is_shown(self, &cores[i]))
            return true;
    return false;
}

/* One line for a run of threads whose counters are in the same state: a card has hundreds. */
static void print_threads(const struct info_command *self)
{
    FILE *out = self->context->out;
    const struct device_core *cores = self->session.device.cores;
    size_t n = 0;
    for (size_t i = 0; i < self->session.device.n_cores; i++) {
        if (!self->session.device.cores[i].core.numbered_by_unit)
            continue;
        if (n++ == 0)
            cores = &self->session.device.cores[i];
    }
    if (n == 0)
        return;
    fprintf(out, "\n%s, %zu CPU%s\n", cores[0].core.name, n, PLURAL(n));
    for (size_t i = 0, end; i < n; i = end) {
        const struct counter_block *block = &cores[i].blocks[0];
        const char *state = block->unusable[0] != '\0' ? block->unusable : block->state;
        for (end = i + 1; end < n; end++) {
            const struct counter_block *next = &cores[end].blocks[0];
            if (strcmp(next->unusable[0] != '\0' ? next->unusable : next->state, state) != 0)
                break;
        }
        if (!is_any_shown(self, cores, i, end))
            continue;
        char which[32];
        if (self->context->options->request.core >= 0)
            snprintf(which, sizeof which, "CPU %d", self->context->options->request.core);
        else if (end - i == 1)
            snprintf(which, sizeof which, "CPU %u", (unsigned)cores[i].core.unit);
        else
            snprintf(which, sizeof which, "CPUs %u to %u", (unsigned)cores[i].core.unit,
                     (unsigned)cores[end - 1].core.unit);
        char left[LEFT];
        snprintf(left, sizeof left, "  %-18s %-36s ", which, block->text);
        fold_beside(out, terminal_columns(out), left, state);
    }
}

static void print_access(FILE *out, const struct json_part *access)
{
    char left[LEFT], text[UTF8_CLEAN_ROOM(192)];
    snprintf(left, sizeof left, "%c %-18s ", field_is(access->json, "used") ? '*' : ' ',
             field_text(access->json, "way"));
    fold_beside(out, terminal_columns(out), left,
                terminal_text(text, sizeof text, field_text(access->json, "why")));
}

/* ---- in either way */

/* Writes the line, or prints it, and frees it. */
static void info_put(struct info_command *self, struct json_part line,
                     void (*print)(FILE *, const struct json_part *))
{
    FILE *out = self->context->out;
    if (info_is_json(self)) {
        self->unwritten = !json_part_write(out, line) || self->unwritten;
        return;
    }
    print(out, &line);
    json_decref(line.json);
}

static void put_access(struct info_command *self, const struct debugger *debugger)
{
    FILE *out = self->context->out;
    if (!info_is_json(self))
        fprintf(out, "\naccess\n");
    for (enum access_way way = 0; way < ACCESS_WAYS; way++)
        info_put(self, access_line(debugger, way), print_access);
    if (!info_is_json(self) && debugger->access.only_looks)
        fprintf(out, "nothing can be measured in this way; it is only read\n");
}

/* Of a processor with many threads text has a line for several. */
static bool info_put_core(struct info_command *self, size_t number, struct error *error)
{
    bool ok = true;
    const struct device_core *core = &self->session.device.cores[number];
    if (!info_is_shown(self, core) || (core->core.numbered_by_unit && !info_is_json(self)))
        return true;
    struct json_part line = info_core_line(self, number, &ok, error);
    info_put(self, line, print_core);
    self->shown++;
    return ok;
}

static void end_text(struct info_command *self)
{
    FILE *out = self->context->out;
    const struct device *device = &self->session.device;
    uint32_t hz;
    if (device->buses_cut)
        fprintf(out, "\nthere are more debug buses: %d are shown\n", TARGET_BUSES);
    if (device->cores_cut)
        fprintf(out, "\nthere are more cores: %zu are shown\n", device->room);
    print_threads(self);
    if (read_clock(self, &hz))
        fprintf(out, "\nclock    %.6g MHz   SystemCoreClock\n", (double)hz / 1e6);
}

static bool end_json(struct info_command *self, struct error *error)
{
    const struct device *device = &self->session.device;
    struct json_part line = json_part_new("summary");
    uint32_t hz;
    json_part_unsigned(&line, "cores", self->shown);
    if (device->buses_cut)
        json_part_bool(&line, "more_buses", true);
    if (device->cores_cut)
        json_part_bool(&line, "more_cores", true);
    if (read_clock(self, &hz)) {
        struct json_part clock = json_part_new(NULL);
        json_part_unsigned(&clock, "hz", hz);
        json_part_text(&clock, "source", "SystemCoreClock");
        json_part_object(&line, "clock", clock);
    }
    return command_wrote(json_part_write(self->context->out, line) && !self->unwritten, error);
}

static void info_begin(struct info_command *self)
{
    char text[128];
    link_describe(self->session.link, text, sizeof text);
    if (info_is_json(self))
        self->unwritten = !json_command_header(self->context->out, "info", text);
    else
        fprintf(self->context->out, "%s\n", text);
}

/* The ways to a PMU are worth knowing also if the target was not opened. */
static bool info_show(struct info_command *self, bool opened, struct error *error)
{
    const struct device *device = &self->session.device;
    const struct debugger *debugger = self->session.link != NULL ? link_debugger(self->session.link) : NULL;
    bool has_access = debugger != NULL && debugger->access.settled;
    if (!opened && (!has_access || info_is_json(self)))
        return false;
    info_begin(self);
    if (has_access)
        put_access(self, debugger);
    if (!opened)
        return false;
    for (size_t i = 0; i < device->n_buses; i++)
        info_put(self, bus_line(self, &device->buses[i]), print_bus);
    for (size_t i = 0; i < device->n_cores; i++)
        if (!info_put_core(self, i, error))
            return false;
    if (info_is_json(self))
        return end_json(self, error);
    end_text(self);
    return true;
}

int command_info(const struct context *context, struct error *error)
{
    struct info_command self = {.context = context,
                                .session = {.request = &context->options->request,
                                            .around = &context->around,
                                            .tolerates_left = true}};
    struct session *session = &self.session;
    bool ok = program_open(session, error) && program_open_target(session, error);
    ok = info_show(&self, ok, error);
    return command_code(session_finish(session, ok, error), error);
}
