/* SPDX-License-Identifier: MIT */
#include "run/listing.h"

#include "counters/events.h"
#include "counters/metric.h"
#include "report/json.h"
#include "run/program.h"

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
};

struct listing {
    const char *pattern; /* NULL: all */
    struct metric_set *metrics;
    struct group groups[MOST_GROUPS];
    size_t n, events, shown_metrics;
    struct document *document; /* of the caller */
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
    bool found = near.count > 0;
    return error_set(error, ERROR_USAGE, "no events are known for \"%.64s\"%s%s", cpu,
                     found ? "" : "; there are:", found ? near_text(&near, room, sizeof room) : list);
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
    return self->n > 0 || device_refuse_counters(error);
}

/* ---- their lines */

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

static void list_add_event(struct listing *self, struct group *group, const struct event *event)
{
    char errata[EVENT_ERRATA];
    struct json_part line = json_part_new("event");
    event_errata(group->set, event->name, group->midr, NULL, errata);
    json_part_text(&line, "of", group->name);
    json_part_text(&line, "name", event->name);
    if (group->set != NULL)
        json_part_unsigned(&line, "code", event->code);
    json_part_text(&line, "words", event->words);
    json_part_text(&line, "errata", errata);
    document_add(self->document, line);
    self->events++;
}

static void list_add_metric(struct listing *self, struct group *group, const struct metric *metric)
{
    char errata[EVENT_ERRATA];
    struct json_part line = json_part_new("metric");
    json_t *events = json_array();
    metric_errata(metric, group->set, group->midr, errata);
    json_part_text(&line, "of", group->name);
    json_part_text(&line, "name", metric->name);
    json_part_text(&line, "unit", metric->unit);
    json_part_text(&line, "expression", metric->text);
    json_part_text(&line, "errata", errata);
    for (size_t i = 0; i < metric->n_events; i++)
        json_part_append(&line, events, json_part_string(metric->events[i]));
    json_part_array(&line, "events", events);
    document_add(self->document, line);
    self->shown_metrics++;
}

static void list_put_group(struct listing *self, struct group *group)
{
    struct event only = {.code = 0};
    snprintf(only.name, sizeof only.name, "%s", group->only);
    snprintf(only.words, sizeof only.words, "%s; this counter has no other event",
             strcmp(group->only, "CPU_CYCLES") == 0 ? "cycles of the core" : "ticks of its clock");
    for (size_t i = 0; group->set != NULL && i < event_set_count(group->set); i++)
        if (list_is_shown(self, group, event_set_at(group->set, i)))
            list_add_event(self, group, event_set_at(group->set, i));
    if (group->set == NULL && list_is_wanted(self, only.name, only.words))
        list_add_event(self, group, &only);
    for (size_t i = 0; i < metric_set_count(self->metrics); i++) {
        const struct metric *metric = metric_of(self, group, i);
        if (metric != NULL)
            list_add_metric(self, group, metric);
    }
}

static bool list_find(struct listing *self, const char *link, struct error *error)
{
    struct json_part line = json_part_new("summary");
    document_add(self->document, json_command_part("list", link));
    for (size_t i = 0; i < self->n; i++)
        list_put_group(self, &self->groups[i]);
    json_part_unsigned(&line, "events", self->events);
    json_part_unsigned(&line, "metrics", self->shown_metrics);
    document_add(self->document, line);
    return self->events + self->shown_metrics > 0 ||
           error_advise(error, ERROR_USAGE, "pmu-probe list without a pattern shows all.",
                        "no event or metric here has \"%.64s\" in its name or meaning", self->pattern);
}

bool listing_put(struct session *session, const char *cpu, const char *pattern, struct document *document,
                 struct error *error)
{
    struct listing self = {.document = document, .pattern = pattern, .metrics = metric_set_open(NULL, error)};
    char link[128] = "";
    bool ok = self.metrics != NULL;
    if (ok && cpu != NULL) {
        ok = list_add_cpu(&self, cpu, error);
    } else if (ok) {
        ok = program_open_target(session, error) && add_target(&self, session, error);
        if (ok)
            link_describe(session->link, link, sizeof link);
    }
    ok = ok && list_find(&self, link, error);
    for (size_t i = 0; i < self.n; i++)
        event_set_free(self.groups[i].set);
    metric_set_free(self.metrics);
    return ok;
}
