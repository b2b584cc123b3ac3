/* list: the events of a core and the metrics made of them; probes: the links that can be reached. */
#include "commands/command.h"
#include "counters/events.h"
#include "counters/metric.h"
#include "report/json.h"
#include "report/terminal.h"
#include "run/connect.h"
#include "run/program.h"
#include "run/session.h"
#include "symbols/symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_GROUPS = 8 };

/* The events of one block of counters. */
struct group {
    char name[64];
    struct event_set *set; /* NULL: the counter has one fixed event, `only` */
    char only[EVENT_NAME];
    bool is_generic;
    const struct counter_block *block; /* of the core that is there; NULL: with --cpu */
    uint32_t midr;                     /* of the core or part; 0: a set alone */
    bool begun, titled;                /* as text: its name is printed; that metrics follow */
};

struct listing {
    const struct context *context;
    const char *pattern; /* NULL: all */
    struct metric_set *metrics;
    struct group groups[MOST_GROUPS];
    size_t n, events, shown_metrics;
    bool json;
    bool ok; /* the output did not fail */
};

static const char systick[] = "systick";

/* In any case, anywhere in the text. */
static bool contains(const char *text, const char *part)
{
    size_t length = strlen(part);
    for (; *text != '\0'; text++)
        if (strncasecmp(text, part, length) == 0)
            return true;
    return length == 0;
}

static bool list_is_wanted(const struct listing *self, const char *name, const char *words)
{
    return self->pattern == NULL || contains(name, self->pattern) || contains(words, self->pattern);
}

/* ---- which events exist */

/* "cortex-a9" */
static void name_part(const struct core_part *part, char out[LIST_NAME])
{
    snprintf(out, LIST_NAME, "%s", part->name);
    for (char *at = out; *at != '\0'; at++)
        if (*at == ' ')
            *at = '-';
        else if (*at >= 'A' && *at <= 'Z')
            *at = (char)(*at + ('a' - 'A'));
}

static struct group *list_add_group(struct listing *self, const char *name, const char *only)
{
    struct group *group = &self->groups[self->n < MOST_GROUPS ? self->n++ : MOST_GROUPS - 1];
    event_set_free(group->set);
    *group = (struct group){.set = NULL};
    snprintf(group->name, sizeof group->name, "%s", name);
    snprintf(group->only, sizeof group->only, "%s", only);
    return group;
}

/* Of a part, or NULL. A set that several parts share is called as this one is. */
static struct group *add_set(struct listing *self, const char *name, const struct core_part *part,
                             struct error *error)
{
    char as[LIST_NAME] = "";
    if (strcmp(name, systick) == 0)
        return list_add_group(self, name, "CPU_CYCLES");
    struct event_set *set = event_set_open(name, error);
    if (set == NULL)
        return NULL;
    bool is_generic = event_set_is_generic(name);
    if (part != NULL && part->pmu.events != NULL && strcmp(part->pmu.events, name) == 0 && !is_generic)
        name_part(part, as);
    struct group *group = list_add_group(self, as[0] != '\0' ? as : name, "");
    group->set = set;
    group->midr = part != NULL ? (uint32_t)part->number << 4 | EVENT_ANY_REVISION : 0;
    group->is_generic = is_generic;
    return group;
}

static const struct core_part *part_named(const char *name)
{
    char known[LIST_NAME];
    for (size_t i = 0; part_at(i) != NULL; i++) {
        name_part(part_at(i), known);
        if (strcasecmp(known, name) == 0)
            return part_at(i);
    }
    return NULL;
}

/* NULL: there is none. */
static const char *set_named(const char *name)
{
    const char *const *names;
    size_t n = event_cpus(&names);
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(names[i], name) == 0)
            return names[i];
    return strcasecmp(systick, name) == 0 ? systick : NULL;
}

bool list_cpu(size_t i, char out[LIST_NAME])
{
    const char *const *names;
    size_t n = event_cpus(&names), parts = 0, others = 0;
    for (; part_at(parts) != NULL; parts++)
        if (parts == i) {
            name_part(part_at(i), out);
            return true;
        }
    for (size_t k = 0; k <= n; k++) {
        const char *set = k < n ? names[k] : systick;
        if (part_named(set) == NULL && others++ == i - parts) {
            snprintf(out, LIST_NAME, "%s", set);
            return true;
        }
    }
    return false;
}

/* The name in list_cpu for "Cortex-A9", "a9", "n1", "m0plus" and so on; false: unknown. */
static bool list_find_cpu(const char *cpu, char out[LIST_NAME])
{
    static const char *const makes[] = {"", "cortex-", "neoverse-"};
    static const char plus[] = "plus";
    size_t n = strlen(cpu), tail = sizeof plus - 1;
    bool has_plus = n > tail && strcasecmp(cpu + n - tail, plus) == 0;
    if (n - (has_plus ? tail : 0) > LIST_NAME / 2)
        return false;
    for (size_t k = 0; k < sizeof makes / sizeof *makes; k++) {
        snprintf(out, LIST_NAME, "%s%.*s%s", makes[k], (int)(n - (has_plus ? tail : 0)), cpu,
                 has_plus ? "+" : "");
        if (part_named(out) != NULL || set_named(out) != NULL)
            return true;
    }
    return false;
}

/* A core that has no PMU has the counters of its profile (DDI 0403 C1.8, B3.3; DDI 0419 B3.3). */
static size_t sets_of_part(const struct core_part *part, const char *sets[LIST_SETS])
{
    bool has_dwt = part->architecture == ARMV7_M || part->architecture == ARMV8_M_MAIN;
    sets[0] = part->pmu.events != NULL ? part->pmu.events : has_dwt ? "dwt" : systick;
    sets[1] = systick;
    return has_dwt ? 2 : 1;
}

size_t list_sets(const char *cpu, const char *sets[LIST_SETS])
{
    char name[LIST_NAME];
    if (!list_find_cpu(cpu, name))
        return 0;
    const struct core_part *part = part_named(name);
    sets[0] = set_named(name);
    return part != NULL ? sets_of_part(part, sets) : 1;
}

static bool refuse_cpu(const char *cpu, struct error *error)
{
    static const char make[] = "cortex-";
    char room[NEAR_NAMES * (NEAR_LENGTH + 2) + 32], list[768] = "", name[LIST_NAME];
    struct near near;
    near_init(&near, cpu, strlen(cpu));
    for (size_t i = 0, used = 0; list_cpu(i, name); i++) {
        const char *brief = strncmp(name, make, sizeof make - 1) == 0 ? name + sizeof make - 1 : name;
        near_offer(&near, name);
        if (used + strlen(brief) + 2 < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, " %s", brief);
    }
    if (near.count > 0)
        return error_set(error, ERROR_USAGE, "no events are known for \"%.64s\"%s", cpu,
                         near_text(&near, room, sizeof room));
    return error_set(error, ERROR_USAGE, "no events are known for \"%.64s\"; there are:%s", cpu, list);
}

static bool list_add_cpu(struct listing *self, const char *cpu, struct error *error)
{
    const char *sets[LIST_SETS];
    char name[LIST_NAME];
    size_t n = list_sets(cpu, sets);
    if (n == 0)
        return refuse_cpu(cpu, error);
    for (size_t i = 0; i < n; i++)
        if (add_set(self, sets[i], list_find_cpu(cpu, name) ? part_named(name) : NULL, error) == NULL)
            return false;
    return true;
}

/* The blocks of the core that is there. */
static bool add_target(struct listing *self, struct session *session, struct error *error)
{
    const struct device_core *core = device_counted(&session->device);
    for (size_t i = 0; i < core->n_blocks; i++) {
        const struct counter_block *block = &core->blocks[i];
        if (block->unusable[0] != '\0')
            continue;
        struct group *group = block->events != NULL
                                  ? add_set(self, block->events, core_part(&core->core), error)
                                  : list_add_group(self, block->kind->name, block->counters[0].name);
        if (group == NULL)
            return false;
        group->block = block;
        group->midr = core->core.id;
    }
    return self->n > 0 || error_advise(error, ERROR_NO_COUNTER, "pmu-probe doctor says why.",
                                       "the core has no counter that can be used");
}

/* ---- printing them */

static const char *meaning_of(const struct group *group)
{
    return strcmp(group->only, "CPU_CYCLES") == 0 ? "cycles of the core; this counter has no other event"
                                                  : "ticks of its clock; this counter has no other event";
}

/* Of generic events, those that the core says it has. */
static bool list_is_shown(const struct listing *self, const struct group *group, const struct event *event)
{
    return list_is_wanted(self, event->name, event->words) &&
           (!group->is_generic || group->block == NULL ||
            group->block->kind->counters_for(group->block, event->code) != 0);
}

static bool list_has_event(void *self, const char *event)
{
    const struct group *group = self;
    return group->set != NULL && event_set_find(group->set, event) != NULL;
}

/* The i-th metric; NULL: this block does not support it, or it does not match the pattern. */
static const struct metric *metric_of(const struct listing *self, struct group *group, size_t i)
{
    const struct metric *metric = metric_set_at(self->metrics, i);
    bool possible = metric_set_find(self->metrics, metric->name, list_has_event, group) == metric;
    return possible && list_is_wanted(self, metric->name, metric->text) ? metric : NULL;
}

static size_t widest_name(const struct listing *self)
{
    size_t widest = 0;
    for (size_t g = 0; g < self->n; g++)
        for (size_t i = 0; self->groups[g].set != NULL && i < event_set_count(self->groups[g].set); i++) {
            const struct event *event = event_set_at(self->groups[g].set, i);
            size_t length = strlen(event->name);
            if (list_is_shown(self, &self->groups[g], event) && length > widest)
                widest = length;
        }
    return widest;
}

static void list_print_line(FILE *out, const char *first, const char *name, const char *words, size_t width)
{
    enum { CODE = 10, LEAST = 12, MOST = 34 };
    size_t column = CODE + (width < LEAST ? LEAST : width > MOST ? MOST : width) + 2;
    size_t length = CODE + strlen(name);
    fprintf(out, "  %-8s%s", first, name);
    if (words[0] == '\0') {
        fputc('\n', out);
    } else if (length + 2 > column) { /* a long name has its own line */
        fprintf(out, "\n%*s", (int)column, "");
        fold_text_at(out, TERMINAL_COLUMNS, column, column, words);
    } else {
        fprintf(out, "%*s", (int)(column - length), "");
        fold_text_at(out, TERMINAL_COLUMNS, column, column, words);
    }
}

/* Words, and after them why the numbers are wrong. */
static const char *words_with(const char *words, const char *errata, char *out, size_t size)
{
    snprintf(out, size, "%s", words);
    text_join(out, size, "; ", errata[0] != '\0' ? "~ " : "");
    text_add(out, size, "%s", errata);
    return out;
}

/* Its name, before the first of its events or metrics; and a title before the first metric. */
static void begin_group(struct listing *self, struct group *group, bool of_metrics)
{
    FILE *out = self->context->out;
    if (!group->begun)
        fprintf(out, "%s%s%s\n", self->events + self->shown_metrics > 0 ? "\n" : "", group->name,
                group->is_generic ? " (generic events)" : "");
    if (of_metrics && !group->titled)
        fprintf(out, "  metrics, for -M\n");
    group->begun = true;
    group->titled = group->titled || of_metrics;
}

static void show_event(struct listing *self, struct group *group, const struct event *event, size_t width)
{
    char code[16] = "-", errata[EVENT_ERRATA], words[sizeof event->words + EVENT_ERRATA + 4];
    event_errata(group->set, event->name, group->midr, NULL, errata);
    if (!self->json) {
        begin_group(self, group, false);
        if (group->set != NULL)
            snprintf(code, sizeof code, "0x%04" PRIX32, event->code);
        list_print_line(self->context->out, code, event->name,
                        words_with(event->words, errata, words, sizeof words), width);
    } else {
        struct json_part line = json_part_new("event");
        json_part_text(&line, "of", group->name);
        json_part_text(&line, "name", event->name);
        if (group->set != NULL)
            json_part_unsigned(&line, "code", event->code);
        json_part_text(&line, "words", event->words);
        json_part_text(&line, "errata", errata);
        self->ok = json_part_write(self->context->out, line) && self->ok;
    }
    self->events++;
}

static void show_metric(struct listing *self, struct group *group, const struct metric *metric, size_t width)
{
    char name[EVENT_NAME + METRIC_UNIT + 2], errata[EVENT_ERRATA],
        words[sizeof metric->text + EVENT_ERRATA + 4];
    metric_errata(metric, group->set, group->midr, errata);
    if (!self->json) {
        begin_group(self, group, true);
        snprintf(name, sizeof name, "%s%s%s", metric->name, metric->unit[0] != '\0' ? " " : "", metric->unit);
        list_print_line(self->context->out, "", name, words_with(metric->text, errata, words, sizeof words),
                        width);
    } else {
        struct json_part line = json_part_new("metric");
        json_t *events = json_array();
        json_part_text(&line, "of", group->name);
        json_part_text(&line, "name", metric->name);
        json_part_text(&line, "unit", metric->unit);
        json_part_text(&line, "expression", metric->text);
        json_part_text(&line, "errata", errata);
        for (size_t i = 0; i < metric->n_events; i++)
            json_part_append(&line, events, json_part_string(metric->events[i]));
        json_part_array(&line, "events", events);
        self->ok = json_part_write(self->context->out, line) && self->ok;
    }
    self->shown_metrics++;
}

static void show_group(struct listing *self, struct group *group, size_t width)
{
    struct event only = {.code = 0};
    snprintf(only.name, sizeof only.name, "%s", group->only);
    snprintf(only.words, sizeof only.words, "%s", meaning_of(group));
    for (size_t i = 0; group->set != NULL && i < event_set_count(group->set); i++)
        if (list_is_shown(self, group, event_set_at(group->set, i)))
            show_event(self, group, event_set_at(group->set, i), width);
    if (group->set == NULL && list_is_wanted(self, only.name, only.words))
        show_event(self, group, &only, width);
    for (size_t i = 0; i < metric_set_count(self->metrics); i++) {
        const struct metric *metric = metric_of(self, group, i);
        if (metric != NULL)
            show_metric(self, group, metric, width);
    }
}

static bool list_show(struct listing *self, const char *link, struct error *error)
{
    FILE *out = self->context->out;
    size_t width = widest_name(self);
    self->ok = !self->json || json_command_header(out, "list", link);
    for (size_t i = 0; i < self->n; i++)
        show_group(self, &self->groups[i], width);
    if (self->events + self->shown_metrics == 0)
        return error_advise(error, ERROR_USAGE, "pmu-probe list without a pattern shows all.",
                            "no event or metric here has \"%.64s\" in its name or meaning", self->pattern);
    if (self->json) {
        struct json_part line = json_part_new("summary");
        json_part_unsigned(&line, "events", self->events);
        json_part_unsigned(&line, "metrics", self->shown_metrics);
        self->ok = json_part_write(out, line) && self->ok;
    }
    return command_wrote(self->ok, error);
}

int command_list(const struct context *context, struct error *error)
{
    const struct options *options = context->options;
    struct session session = {
        .request = &context->options->request, .around = &context->around, .tolerates_left = true};
    struct listing self = {.context = context,
                           .json = options->format == FORMAT_JSON,
                           .pattern = options->n_operands > 0 ? options->operands[0] : NULL};
    char link[128] = "";
    self.metrics = metric_set_open(NULL, error);
    bool ok = self.metrics != NULL;
    if (ok && options->cpu != NULL) {
        ok = list_add_cpu(&self, options->cpu, error);
    } else if (ok) {
        ok = program_open_target(&session, error) && add_target(&self, &session, error);
        if (ok)
            link_describe(session.link, link, sizeof link);
    }
    ok = ok && list_show(&self, link, error);
    int code = command_code(session_finish(&session, ok, error), error);
    for (size_t i = 0; i < self.n; i++)
        event_set_free(self.groups[i].set);
    metric_set_free(self.metrics);
    return code;
}

static const char *state_word(const struct link_view *view)
{
    static const char *const words[] = {
        [VIEW_UNKNOWN] = "", [VIEW_RUNNING] = "running", [VIEW_HALTED] = "halted", [VIEW_RESET] = "in reset"};
    return view->is_core ? words[view->state] : "";
}

enum { VIEWS = 64 };

static bool list_is_json(const struct context *context)
{
    return context->options->format == FORMAT_JSON;
}

static void put_link(const struct context *context, const char *text, const struct link_view *views, size_t n)
{
    struct json_part line = json_part_new("link");
    json_t *targets = json_array();
    json_part_text(&line, "link", text);
    for (size_t i = 0; i < n; i++) {
        struct json_part one = json_part_new(NULL);
        json_part_text(&one, "name", views[i].name);
        json_part_text(&one, "type", views[i].type);
        json_part_text(&one, "state", state_word(&views[i]));
        line.ok = line.ok && one.ok;
        json_part_append(&line, targets, one.json);
    }
    json_part_array(&line, "targets", targets);
    json_part_write(context->out, line);
}

static void print_link(const struct context *context, struct link *link, struct error *error)
{
    struct link_view views[VIEWS];
    char text[128], name[UTF8_CLEAN_ROOM(64)], type[UTF8_CLEAN_ROOM(32)];
    link_describe(link, text, sizeof text);
    size_t n = link_views(link, views, VIEWS, error);
    if (list_is_json(context)) {
        put_link(context, text, views, n);
        return;
    }
    fprintf(context->out, "%s\n", text);
    if (n == 0 && error->kind == ERROR_NONE)
        fprintf(context->out, "  no targets\n");
    for (size_t i = 0; i < n; i++)
        fprintf(context->out, "  %-24s %-12s %s\n", utf8_clean(name, sizeof name, views[i].name),
                utf8_clean(type, sizeof type, views[i].type), state_word(&views[i]));
}

static const char *interface_words(const struct dap_found *found)
{
    if (found->speaks_both)
        return found->kind == DAP_HID ? "v1 (HID), and v2" : "v2 (bulk), and v1";
    return found->kind == DAP_HID ? "v1 (HID)" : "v2 (bulk)";
}

static void put_plugged(const struct context *context, const struct dap_listed *listed)
{
    const struct dap_info *info = &listed->info;
    const struct dap_found *found = &listed->found;
    struct json_part line = json_part_new("probe");
    char id[16];
    snprintf(id, sizeof id, "%04x:%04x", found->vendor, found->product);
    json_part_text(&line, "id", id);
    json_part_text(&line, "serial", found->serial);
    json_part_text(&line, "usb", found->usb);
    json_part_text(&line, "name", found->name);
    json_part_text(&line, "interface", interface_words(found));
    json_part_text(&line, "problem", found->problem);
    if (found->problem[0] == '\0') {
        json_part_text(&line, "protocol", info->protocol);
        json_part_unsigned(&line, "packet_size", info->packet_size);
        json_part_unsigned(&line, "packet_count", info->packet_count);
        json_part_unsigned(&line, "packets_in_flight", listed->window);
        json_part_bool(&line, "swd", info->capabilities & DAP_CAN_SWD || !info->capabilities_known);
        json_part_bool(&line, "jtag", info->capabilities & DAP_CAN_JTAG);
        json_part_bool(&line, "atomic", info->capabilities & DAP_CAN_ATOMIC);
        json_part_bool(&line, "timer", info->capabilities & DAP_CAN_TIMER);
    }
    json_part_write(context->out, line);
}

/* In front of where it is plugged in. */
static const char *usb_words(const char *usb)
{
    return usb[0] != '\0' ? "   usb:" : "";
}

static void print_plugged(const struct context *context, const struct dap_listed *listed)
{
    if (list_is_json(context)) {
        put_plugged(context, listed);
        return;
    }
    char name[UTF8_CLEAN_ROOM(64)], serial[UTF8_CLEAN_ROOM(64)], firmware[UTF8_CLEAN_ROOM(32)],
        problem[UTF8_CLEAN_ROOM(200)];
    const struct dap_info *info = &listed->info;
    fprintf(context->out, "cmsis-dap:%s%s%s   %04x:%04x   %s   %s\n",
            utf8_clean(serial, sizeof serial, listed->found.serial), usb_words(listed->found.usb),
            listed->found.usb, listed->found.vendor, listed->found.product, interface_words(&listed->found),
            utf8_clean(name, sizeof name, listed->found.name));
    if (listed->found.problem[0] != '\0') {
        fprintf(context->out, "  %s\n", utf8_clean(problem, sizeof problem, listed->found.problem));
        return;
    }
    char many[64];
    snprintf(many, sizeof many,
             listed->window < info->packet_count ? "one at a time (it announces %u)" : "%u at once",
             info->packet_count);
    fprintf(context->out, "  CMSIS-DAP %s, packets of %zu bytes, %s%s%s%s%s\n",
            utf8_clean(firmware, sizeof firmware, info->protocol), info->packet_size, many,
            info->capabilities & DAP_CAN_SWD || !info->capabilities_known ? ", SWD" : "",
            info->capabilities & DAP_CAN_JTAG ? ", JTAG" : "",
            info->capabilities & DAP_CAN_ATOMIC ? ", atomic" : "",
            info->capabilities & DAP_CAN_TIMER ? ", timer" : "");
}

static void put_adapter(const struct context *context, const struct adapter_found *found)
{
    struct json_part line = json_part_new("adapter");
    char id[16];
    snprintf(id, sizeof id, "%04x:%04x", found->vendor, found->product);
    json_part_text(&line, "id", id);
    json_part_text(&line, "serial", found->serial);
    json_part_text(&line, "usb", found->usb);
    json_part_text(&line, "name", found->adapter->name);
    json_part_text(&line, "way", found->adapter->way);
    json_part_write(context->out, line);
}

static void print_adapter(const struct context *context, const struct adapter_found *found)
{
    char serial[UTF8_CLEAN_ROOM(64)];
    if (list_is_json(context)) {
        put_adapter(context, found);
        return;
    }
    utf8_clean(serial, sizeof serial, found->serial);
    fprintf(context->out, "%s%s%s   %04x:%04x%s%s\n  %s\n", found->adapter->name, usb_words(found->usb),
            found->usb, found->vendor, found->product, serial[0] != '\0' ? "   " : "", serial,
            found->adapter->way);
}

static int list_end(const struct context *context, size_t probes, const struct error *error)
{
    if (error->kind != ERROR_NONE)
        return error_exit_code(error->kind);
    if (list_is_json(context)) {
        struct json_part line = json_part_new("summary");
        json_part_unsigned(&line, "probes", probes);
        json_part_write(context->out, line);
    }
    return EXIT_DONE;
}

/* To find nothing is not a failure, but another program on OpenOCD's port is one. */
static int tell_nothing(const struct context *context, const struct error *no_server, struct error *error)
{
    if (no_server->kind != ERROR_NO_PROBE) {
        *error = *no_server;
        return error_exit_code(error->kind);
    }
    if (!list_is_json(context))
        fprintf(context->out,
                "no probe found: no CMSIS-DAP probe and no other debug adapter is plugged in, and %s\n%s\n",
                no_server->text, error_advice(no_server));
    return list_end(context, 0, error);
}

/* Lists a running OpenOCD and all probes and adapters that are plugged in. */
static int list_all(const struct context *context, struct error *error)
{
    struct dap_listed listed[CONNECT_PROBES];
    struct adapter_found adapters[CONNECT_PROBES];
    struct error no_server = {0};
    struct request at_home = context->options->request;
    at_home.probe = "openocd";
    const struct surroundings home = {.cancel = context->around.cancel, .wire = context->around.wire};
    if (list_is_json(context))
        json_command_header(context->out, "probes", "");
    struct link *link = connect_link(&at_home, &home, &no_server);
    if (link != NULL)
        print_link(context, link, error);
    link_close(link);
    size_t n = connect_list(&context->around, listed, CONNECT_PROBES);
    for (size_t i = 0; i < n; i++)
        print_plugged(context, &listed[i]);
    size_t others = dap_list_adapters(listed, n, adapters, CONNECT_PROBES);
    for (size_t i = 0; i < others; i++)
        print_adapter(context, &adapters[i]);
    if (link == NULL && n == 0 && others == 0)
        return tell_nothing(context, &no_server, error);
    if (link == NULL && no_server.kind != ERROR_NO_PROBE)
        request_note(&context->options->request, "%s", no_server.text);
    return list_end(context, n, error);
}

int command_probes(const struct context *context, struct error *error)
{
    if (context->options->request.probe == NULL && context->options->request.n_openocd == 0 &&
        !context->options->request.wires_said)
        return list_all(context, error);
    struct link *link = connect_link(&context->options->request, &context->around, error);
    if (link == NULL)
        return error_exit_code(error->kind);
    if (list_is_json(context))
        json_command_header(context->out, "probes", "");
    print_link(context, link, error);
    link_close(link);
    return list_end(context, 0, error);
}
