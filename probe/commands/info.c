/* info: cores, counters and breakpoints, and who uses them already. Changes nothing. */
#include "commands/command.h"
#include "counters/events.h"
#include "debuggers/debugger.h"
#include "device/doctor.h"
#include "links/link.h"
#include "report/json.h"
#include "report/terminal.h"
#include "run/program.h"
#include "run/session.h"
#include "run/where.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LEFT = 192, STATE = 800, COMPARATORS = 32, BLOCK_TEXT = 128 };

struct info_command {
    const struct context *context;
    struct session session;
};

/* The addresses of the comparators that are enabled. */
struct comparators {
    uint64_t used[COMPARATORS];
    size_t n;
};

/* A debugger halted the chosen core for us; without us it would run. */
static bool is_held(const struct info_command *self, const struct device_core *core)
{
    return self->session.device.debugger != NULL && core == self->session.device.chosen &&
           core->state == CORE_RUNNING;
}

static void describe_state(struct info_command *self, const struct device_core *core, char *out, size_t size)
{
    char place[512];
    struct deadline deadline = session_deadline(&self->session);
    const char *state = "running";
    if (is_held(self, core))
        state = "halted by the debugger";
    else if (core->state == CORE_ASLEEP)
        state = "asleep";
    else if (core->state == CORE_LOCKUP)
        state = "locked up";
    if (core->state == CORE_HALTED) {
        session_place(&self->session, core->halted_at, place, sizeof place);
        snprintf(out, size, "halted at %s", place);
    } else if (core->state == CORE_HIDDEN) {
        hidden_describe(&self->session.device, core, out, size, &deadline);
    } else {
        snprintf(out, size, "%s", state);
    }
    size_t used = strlen(out);
    if (core->state != CORE_HIDDEN)
        where_describe_exception(&self->session, &core->core, core->state != CORE_HALTED, out + used,
                                 size - used);
}

static bool read_comparators(struct info_command *self, const struct core *core, struct comparators *out,
                             struct error *error)
{
    struct deadline deadline = session_deadline(&self->session);
    struct setting on = core_comparators_on(core);
    uint64_t value, address, words[COMPARATOR_WORDS];
    out->n = 0;
    if (!ledger_read(self->session.device.ledger, on.at, &value, &deadline, error))
        return false;
    bool enabled = (value & on.test) == on.set;
    for (unsigned i = 0; i < core->comparators; i++) {
        for (unsigned w = 0; w < core_comparator_words(core); w++)
            if (!ledger_read(self->session.device.ledger, core_comparator(core, i, w), &words[w], &deadline,
                             error))
                return false;
        if (enabled && out->n < COMPARATORS && core_comparator_used(core, words, &address))
            out->used[out->n++] = address;
    }
    return true;
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

static bool print_comparators(struct info_command *self, const struct core *core, FILE *out,
                              struct error *error)
{
    struct comparators found;
    char left[LEFT], place[512], piece[sizeof place + 2];
    if (!read_comparators(self, core, &found, error))
        return false;
    int width = snprintf(left, sizeof left, "  %-12s %u,", "breakpoints", core->comparators);
    struct fold fold = {
        .out = out, .columns = terminal_columns(out), .indent = (size_t)width + 1, .used = (size_t)width};
    fputs(left, out);
    fold_put(&fold, found.n == 0 ? "all free" : "in use:", 1);
    for (size_t i = 0; i < found.n; i++) {
        session_place(&self->session, found.used[i], place, sizeof place);
        snprintf(piece, sizeof piece, "%s%s", place, i + 1 < found.n ? "," : "");
        fold_put(&fold, piece, 1);
    }
    fold_end(&fold);
    return true;
}

/* False: run control and the breakpoints are the debugger's. */
static bool has_own_comparators(const struct info_command *self, const struct device_core *core)
{
    const struct debugger *debugger = self->session.device.debugger;
    return debugger == NULL || (core->core.comparators > 0 && !debugger->facts.is_emulator);
}

/* False: -C asks for another core. */
static bool is_shown(const struct info_command *self, const struct device_core *core)
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

static bool print_core(struct info_command *self, size_t number, struct error *error)
{
    FILE *out = self->context->out;
    const struct device_core *core = &self->session.device.cores[number];
    char name[UTF8_CLEAN_ROOM(64)], line[LEFT + UTF8_CLEAN_ROOM(64)], state[STATE];
    snprintf(line, sizeof line, "core %zu   %s   %s   ", number, core->core.name,
             terminal_text(name, sizeof name, core->view.name));
    describe_state(self, core, state, sizeof state);
    fputc('\n', out);
    fold_beside(out, terminal_columns(out), line, state);
    for (size_t i = 0; i < core->n_blocks; i++) {
        const struct counter_block *block = &core->blocks[i];
        struct diagnosis diagnosis;
        char left[LEFT], text[BLOCK_TEXT];
        describe_block(block, text);
        snprintf(left, sizeof left, "  %-12s %-36s ", block->kind->name, text);
        fold_beside(out, terminal_columns(out), left, block_state(self, core, block, &diagnosis));
    }
    if (!has_own_comparators(self, core)) {
        fprintf(out, "  %-12s %s\n", "breakpoints", "the debugger's own");
        return true;
    }
    if (core->state != CORE_HIDDEN)
        return print_comparators(self, &core->core, out, error);
    fprintf(out, "  %-12s %u\n", "breakpoints", core->core.comparators);
    return true;
}

/* The components that the ROM tables of a debug bus list. */
static void print_bus(struct info_command *self, const struct device_bus *bus)
{
    FILE *out = self->context->out;
    fprintf(out, "\nAP %u   APB-AP   ", bus->port & 0xFFU);
    if (bus->has_rom)
        fprintf(out, "ROM table 0x%08" PRIX64 "\n", bus->rom);
    else
        fprintf(out, "no ROM table\n");
    for (size_t i = 0; i < bus->coresight.n; i++) {
        const struct component *component = &bus->coresight.components[i];
        char name[64];
        component_name(component, name, sizeof name);
        char owner[32] = "";
        int number = owner_of(self, component);
        if (number >= 0)
            snprintf(owner, sizeof owner, "core %d", number);
        if (component->readable)
            fprintf(out, "  0x%08" PRIX64 "   %-14s part 0x%03X%s%s\n", component->base, name,
                    component->part, owner[0] != '\0' ? "   " : "", owner);
        else
            fprintf(out, "  0x%08" PRIX64 "   %s\n", component->base, name);
    }
    if (bus->coresight.cut)
        fprintf(out, "  and more\n");
}

/* SystemCoreClock as core 0 sees it: measuring would disturb the core. False: not known. */
static bool read_clock(struct info_command *self, uint32_t *hz)
{
    uint64_t address, size;
    struct deadline deadline = session_deadline(&self->session);
    return self->session.symbols != NULL &&
           symbols_object(self->session.symbols, "SystemCoreClock", &address, &size) && size == 4 &&
           session_look(&self->session, &self->session.device.cores[0].core, address, &deadline, hz);
}

static void print_clock(struct info_command *self)
{
    uint32_t hz;
    if (read_clock(self, &hz))
        fprintf(self->context->out, "\nclock    %.6g MHz   SystemCoreClock\n", (double)hz / 1e6);
}

static bool is_any_shown(const struct info_command *self, const struct device_core *cores, size_t from,
                         size_t to)
{
    for (size_t i = from; i < to; i++)
        if (is_shown(self, &cores[i]))
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
    fprintf(out, "\n%s, %zu CPUs\n", cores[0].core.name, n);
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

/* How the PMU is reached through a debugger, and why the other ways failed. */
static void print_access(const struct debugger *debugger, FILE *out)
{
    if (debugger == NULL || !debugger->access.settled)
        return;
    fprintf(out, "\naccess\n");
    for (enum access_way way = 0; way < ACCESS_WAYS; way++) {
        const char *why = debugger->access.why[way];
        char text[UTF8_CLEAN_ROOM(192)];
        char left[LEFT];
        snprintf(left, sizeof left, "%c %-18s ", way == debugger->access.used ? '*' : ' ', access_name(way));
        fold_beside(out, terminal_columns(out), left, terminal_text(text, sizeof text, why));
    }
    if (debugger->access.only_looks)
        fprintf(out, "nothing can be measured in this way; it is only looked at\n");
}

static bool print(struct info_command *self, bool opened, struct error *error)
{
    FILE *out = self->context->out;
    const struct debugger *debugger = self->session.link != NULL ? link_debugger(self->session.link) : NULL;
    char text[128];
    if (opened || (debugger != NULL && debugger->access.settled)) {
        link_describe(self->session.link, text, sizeof text);
        fprintf(out, "%s\n", text);
    }
    print_access(debugger, out);
    if (!opened)
        return false;
    for (size_t i = 0; i < self->session.device.n_buses; i++)
        print_bus(self, &self->session.device.buses[i]);
    for (size_t i = 0; i < self->session.device.n_cores; i++) {
        const struct device_core *core = &self->session.device.cores[i];
        if (!core->core.numbered_by_unit && is_shown(self, core) && !print_core(self, i, error))
            return false;
    }
    if (self->session.device.buses_cut)
        fprintf(out, "\nthere are more debug buses: %d are looked at\n", TARGET_BUSES);
    if (self->session.device.cores_cut)
        fprintf(out, "\nthere are more cores: %zu are looked at\n", self->session.device.room);
    print_threads(self);
    if (!self->session.device.chosen->core.memory_hidden)
        print_clock(self);
    return true;
}

/* ---- as JSON lines */

static const char *state_of(const struct info_command *self, const struct device_core *core)
{
    if (is_held(self, core))
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

static struct json_part place_part(struct info_command *self, uint64_t address)
{
    struct json_part part = json_part_new(NULL);
    char place[512];
    session_place(&self->session, address, place, sizeof place);
    json_part_hex(&part, "address", address);
    json_part_text(&part, "place", place);
    return part;
}

static json_t *take(struct json_part *into, struct json_part part)
{
    into->ok = into->ok && part.ok;
    return part.json;
}

static bool put_breakpoints(struct info_command *self, const struct device_core *core, struct json_part *line,
                            struct error *error)
{
    struct json_part part = json_part_new(NULL);
    struct comparators found = {.n = 0};
    bool ok = true;
    if (!has_own_comparators(self, core)) {
        json_part_text(&part, "of", "debugger");
    } else {
        json_part_unsigned(&part, "count", core->core.comparators);
        if (core->state != CORE_HIDDEN)
            ok = read_comparators(self, &core->core, &found, error);
    }
    json_t *used = json_array();
    for (size_t i = 0; i < found.n; i++)
        json_part_append(&part, used, take(&part, place_part(self, found.used[i])));
    json_part_array(&part, "used", used);
    json_part_object(line, "breakpoints", part);
    return ok;
}

static bool put_core(struct info_command *self, size_t number, bool *written, struct error *error)
{
    const struct device_core *core = &self->session.device.cores[number];
    struct json_part line = json_part_new("core");
    json_t *blocks = json_array();
    json_part_unsigned(&line, "number", number);
    json_part_text(&line, "name", core->core.name);
    json_part_text(&line, "view", core->view.name);
    json_part_text(&line, "state", state_of(self, core));
    if (core->state == CORE_HALTED)
        json_part_object(&line, "halted_at", place_part(self, core->halted_at));
    if (core->state == CORE_HIDDEN) {
        char why[512];
        struct deadline deadline = session_deadline(&self->session);
        hidden_describe(&self->session.device, core, why, sizeof why, &deadline);
        json_part_text(&line, "why", why);
    }
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
        json_part_append(&line, blocks, take(&line, one));
    }
    json_part_array(&line, "counters", blocks);
    bool ok = core->core.numbered_by_unit || put_breakpoints(self, core, &line, error);
    *written = json_part_write(self->context->out, line) && *written;
    return ok;
}

static bool put_bus(const struct info_command *self, const struct device_bus *bus)
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
        json_part_append(&line, components, take(&line, one));
    }
    json_part_array(&line, "components", components);
    if (bus->coresight.cut)
        json_part_bool(&line, "cut", true);
    return json_part_write(self->context->out, line);
}

static bool put_access(const struct info_command *self, const struct debugger *debugger)
{
    bool written = true;
    for (enum access_way way = 0; way < ACCESS_WAYS; way++) {
        struct json_part line = json_part_new("access");
        json_part_text(&line, "way", access_name(way));
        json_part_bool(&line, "used", way == debugger->access.used);
        json_part_text(&line, "why", debugger->access.why[way]);
        if (way == debugger->access.used)
            json_part_bool(&line, "writes", !debugger->access.only_looks);
        written = json_part_write(self->context->out, line) && written;
    }
    return written;
}

static bool print_json(struct info_command *self, struct error *error)
{
    FILE *out = self->context->out;
    const struct debugger *debugger = link_debugger(self->session.link);
    char link[128];
    uint64_t shown = 0;
    uint32_t hz;
    link_describe(self->session.link, link, sizeof link);
    bool written = json_command_header(out, "info", link), ok = true;
    if (debugger != NULL && debugger->access.settled)
        written = put_access(self, debugger) && written;
    for (size_t i = 0; i < self->session.device.n_buses; i++)
        written = put_bus(self, &self->session.device.buses[i]) && written;
    for (size_t i = 0; ok && i < self->session.device.n_cores; i++) {
        if (!is_shown(self, &self->session.device.cores[i]))
            continue;
        ok = put_core(self, i, &written, error);
        shown++;
    }
    if (!ok)
        return false;
    struct json_part line = json_part_new("summary");
    json_part_unsigned(&line, "cores", shown);
    if (self->session.device.buses_cut)
        json_part_bool(&line, "more_buses", true);
    if (self->session.device.cores_cut)
        json_part_bool(&line, "more_cores", true);
    if (!self->session.device.chosen->core.memory_hidden && read_clock(self, &hz)) {
        struct json_part clock = json_part_new(NULL);
        json_part_unsigned(&clock, "hz", hz);
        json_part_text(&clock, "source", "SystemCoreClock");
        json_part_object(&line, "clock", clock);
    }
    written = json_part_write(out, line) && written;
    return written || error_set(error, ERROR_UNWRITTEN, "the output could not be written");
}

int command_info(const struct context *context, struct error *error)
{
    struct info_command self = {.context = context,
                                .session = {.request = &context->options->request,
                                            .around = &context->around,
                                            .tolerates_left = true}};
    struct session *session = &self.session;
    bool ok = program_open(session, error) && program_open_target(session, error);
    if (context->options->format == FORMAT_JSON)
        ok = ok && print_json(&self, error);
    else
        ok = print(&self, ok, error);
    return command_code(session_finish(session, ok, error), error);
}
