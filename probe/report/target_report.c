/* SPDX-License-Identifier: MIT */
#include "report/target_report.h"

#include "base/values.h"
#include "counters/events.h"
#include "report/page.h"
#include "report/sentence.h"
#include "report/views.h"

#include <stdlib.h>
#include <string.h>

enum { OF = 160, FACT = 2048 };

struct facts {
    struct document rows; /* of the view */
    char of[OF];          /* the group that has begun */
};

/* What a line says: the heading of a group, or a row in it; each text is a sentence. */
struct fact {
    const char *command, *type; /* type NULL: any */
    const char *when, *unless;  /* one of these keys is there; is not; NULL: always, never */
    const char *of;             /* of a heading: the name of the group; NULL: it is a row */
    bool once;                  /* unless that group has begun */
    const char *each;           /* a row for each in this list or object, with the line as `up` */
    const char *what, *name, *text;
    bool joins; /* see facts_add */
};

/* ---- rows */

static void facts_begin(struct facts *facts, const char *of, const char *about)
{
    char group[OF + FACT];
    struct json_part row = json_part_new(NULL);
    snprintf(group, sizeof group, "%s", of);
    text_join(group, sizeof group, "   ", about);
    snprintf(facts->of, sizeof facts->of, "%s", of);
    row_text(&row, "of", of);
    row_text(&row, "about", about);
    row_text(&row, "group", group);
    document_add(&facts->rows, row);
}

/* `joins`: with rows before it that differ in `what` alone it becomes one, "CPU 3 to CPU 7": a card has
 * hundreds of threads. */
static void facts_add(struct facts *facts, bool joins, const char *what, const char *name, const char *text)
{
    size_t last = json_array_size(facts->rows.lines) - 1;
    json_t *before = json_array_get(facts->rows.lines, last);
    struct json_part row = json_part_new(NULL);
    char range[2 * OF];
    snprintf(range, sizeof range, "%s", what);
    row_text(&row, "first", what);
    if (joins && strcmp(field_text(before, "name"), name) == 0 &&
        strcmp(field_text(before, "text"), text) == 0) {
        snprintf(range, sizeof range, "%s to %s", field_text(before, "first"), what);
        row_text(&row, "first", field_text(before, "first"));
        json_array_remove(facts->rows.lines, last);
    }
    row_text(&row, "of", facts->of);
    row_text(&row, "what", range);
    row_text(&row, "name", name);
    row_text(&row, "text", text);
    document_add(&facts->rows, row);
}

static const struct fact known[] = {
    {"info", "header", .of = "", .text = "{link}"},
    {"info", "access", .of = "access", .once = true},
    {"info", "access", .what = "[* {!used}]{way}", .text = "{why}"},
    {"info", "access", .when = "used", .unless = "writes",
     .text = "nothing can be measured in this way; it is only read"},
    {"info", "bus", .of = "AP {ap}", .text = "APB-AP   [ROM table {rom#8}][{^rom}no ROM table]"},
    {"info", "bus", .each = "components", .what = "{base#8}", .name = "{name}",
     .text = "[part {part#3}][, core {core}]"},
    {"info", "bus", .when = "cut", .text = "and more"},
    {"info", "core", .unless = "breakpoints", .of = "{name}", .once = true},
    {"info", "core", .unless = "up.breakpoints", .each = "counters", .what = "{up.view}", .name = "{text}",
     .text = "{state}", .joins = true},
    {"info", "core", .when = "breakpoints", .of = "core {number}",
     .text = "{name}   {view}   [{^why}{state}][ at {halted_at.place}]{exception}{why}"},
    {"info", "core", .when = "up.breakpoints", .each = "counters", .what = "{kind}", .name = "{text}",
     .text = "{state}"},
    {"info", "core", .when = "trace", .what = "trace", .name = "{trace.emits}",
     .text = "[through {trace.through}]{trace.why}"},
    {"info", "core", .when = "breakpoints", .what = "breakpoints",
     .text = "[{!breakpoints.of}the debugger's own]{breakpoints.count}[, in use: {breakpoints.used*place}]"
             "[{^breakpoints.of|breakpoints.used|why|unread}, all free]"},
    {"info", "summary", .when = "more_buses", .of = "",
     .text = "there are more debug buses: {buses} are shown"},
    {"info", "summary", .when = "more_cores", .of = "", .text = "there are more cores: {cores} are shown"},
    {"info", "summary", .when = "clock", .of = "clock", .text = "[{clock.hz~}   ]{clock.source}"},

    {"list", "event", .of = "{of}", .once = true, .text = "[{!generic}(generic events)]"},
    {"list", "event", .what = "{code#4}[{^code}-]", .name = "{name}",
     .text = "{words}[{!words}{!errata}; ][~ {errata}]"},
    {"list", "metric", .of = "{of}", .once = true, .text = "[{!generic}(generic events)]"},
    {"list", "metric", .what = "for -M", .name = "{name} {unit}", .text = "{expression}[; ~ {errata}]"},

    {"probes", "link", .of = "{link}"},
    {"probes", "link", .each = "targets", .what = "{name}", .name = "{type}", .text = "{state}"},
    {"probes", "link", .unless = "targets|unread", .text = "no targets"},
    {"probes", "probe", .of = "cmsis-dap:{serial}", .text = "[usb:{usb}   ]{id}   {interface}   {name}"},
    {"probes", "probe", .when = "problem", .text = "{problem}"},
    {"probes", "probe", .unless = "problem",
     .text = "CMSIS-DAP {protocol}, packets of {packet_size} bytes, [{!one}one at a time (it announces "
             "{packet_count})][{^one}{packet_count} at once][{!swd}, SWD][{!jtag}, JTAG][{!atomic}, "
             "atomic][{!timer}, timer]"},
    {"probes", "adapter", .of = "{name}", .text = "[usb:{usb}   ]{id}   {serial}"},
    {"probes", "adapter", .text = "{way}"},
    {"probes", "summary", .when = "nothing", .of = "",
     .text = "no probe found: no debug adapter is plugged in, and {nothing}"},
    {"probes", "summary", .when = "nothing", .text = "{advice}"},

    {"doctor", "core", .of = "core {number}", .text = "{name}[   debug {debug_base#8}][   PMU {pmu_base#8}]"},
    {"doctor", "test", .what = "{name}", .name = "{state}", .text = "{detail}"},
    {"doctor", "counter", .when = "written", .what = "counter", .name = "WRITTEN", .text = "{text}"},
    {"doctor", "counter", .unless = "written", .what = "counter", .name = "[{!moves}ok][{^moves}STOPPED]",
     .text = "{name}: {first}, and {ms} ms later {second}"},
    {"doctor", "counter", .unless = "written", .what = "found", .name = "{state}", .text = "{text}"},
    {"doctor", "writer", .what = "may write it", .name = "{register}",
     .text = "[{source} ({place}), ][{^source}{named}, ]{address#8}"},
    {"doctor", "note", .text = "{text}"},
    {"doctor", "register", .name = "[{!left}LEFT][{^left}moved]",
     .text = "{address#8}[, {name}]: {before#1} became {after#1}[: {reason}]"},
    {"doctor", "summary", .when = "columns", .of = "", .text = "{conditions}"},
    {"doctor", "summary", .each = "columns", .when = "calibrated",
     .text = "halt overhead at {up.location}[{^up.location}this place]: {overhead=} {unit} ({rehits} trials, "
             "min {min,}, max {max,}[{!plus_minus}; ±{plus_minus,} per hit])"},
    {"doctor", "summary", .each = "columns", .unless = "calibrated",
     .text = "halt overhead at {up.location}[{^up.location}this place]: {key} <not counted>: no trial "
             "succeeded"},
    {"doctor", "summary", .when = "compared", .what = "restored",
     .name = "[{!restored}ok][{^restored}NOT ALL]",
     .text = "[{!left}{left} of {compared} registers are not as before][{!restored}all {compared} registers "
             "are as before][{!restored}{!moved}, but {moved} that move by themselves][{!unknown}; {unknown} "
             "could not be read]"},
    {"doctor", NULL, .when = "advice", .of = "", .text = "The counters cannot be read: {reason}."},
    {"doctor", NULL, .when = "advice", .text = "{advice}"},
    {"doctor", "summary", .when = "mended", .of = "",
     .text = "Mended, and left so[: {written#8} was written]."},
    {"doctor", "summary", .when = "mendable", .unless = "mended|columns|compared", .of = "",
     .text = "To mend it and leave it so:  pmu-probe -C {number} doctor --mend"},
};

static void put_fact(struct facts *facts, const struct fact *fact, const json_t *line)
{
    char of[OF], what[OF], name[FACT], text[FACT];
    if ((fact->when != NULL && !sentence_has(line, fact->when)) ||
        (fact->unless != NULL && sentence_has(line, fact->unless)))
        return;
    sentence_fill(of, sizeof of, or_empty(fact->of), line);
    sentence_fill(what, sizeof what, or_empty(fact->what), line);
    sentence_fill(name, sizeof name, or_empty(fact->name), line);
    sentence_fill(text, sizeof text, or_empty(fact->text), line);
    if (fact->of == NULL)
        facts_add(facts, fact->joins, what, name, text);
    else if ((of[0] != '\0' || text[0] != '\0') && !(fact->once && strcmp(facts->of, of) == 0))
        facts_begin(facts, of, text);
}

static void put_each(struct facts *facts, const struct fact *fact, const json_t *line, const json_t *one,
                     const char *key)
{
    struct json_part row = json_part_copy(one);
    json_object_set(row.json, "up", (json_t *)line);
    row_text(&row, "key", key);
    row_text(&row, "unit", strcmp(key, "CPU_CYCLES") == 0 ? "cycles" : key);
    put_fact(facts, fact, row.json);
    json_decref(row.json);
}

/* What the sentences need beyond the keys of the line. */
static void complete(const struct document *document, struct json_part *line)
{
    const char *place = field_text(line->json, "place");
    row_text(line, "named", strtoull(place, NULL, 0) == 0 ? place : "");
    row_flag(line, "generic", event_set_is_generic(field_text(line->json, "of")));
    row_flag(line, "one",
             field_count(line->json, "packets_in_flight") < field_count(line->json, "packet_count"));
    if (line_is_of(line->json, "summary")) {
        json_t *buses = document_rows(document, "bus", NULL);
        row_real(line, "buses", (double)json_array_size(buses));
        row_real(line, "number", (double)field_count(document_line(document, "core"), "number"));
        json_decref(buses);
    }
}

static void put_line(struct facts *facts, const char *command, const json_t *line)
{
    const char *type = field_text(line, "type"), *key;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        const struct fact *fact = &known[k];
        json_t *list = fact->each != NULL ? (json_t *)field_of(line, fact->each) : NULL, *one;
        size_t i;
        if (strcmp(fact->command, command) != 0 || (fact->type != NULL && strcmp(fact->type, type) != 0))
            continue;
        if (fact->each == NULL)
            put_fact(facts, fact, line);
        json_array_foreach(list, i, one)
            put_each(facts, fact, line, one, "");
        json_object_foreach(list, key, one)
            put_each(facts, fact, line, one, key);
    }
}

bool target_write(const struct rendering *to, const struct document *document)
{
    const char *of = field_text(document_line(document, "header"), "command");
    const struct view view = facts_view(of, to->format);
    const struct page page = {.to = to, .title = view.caption, .document = document};
    const json_t *line, *unseen = NULL;
    size_t i;
    if (!document->ok || to->format == FORMAT_JSON)
        return document->ok && document_write(to->out, document);
    struct facts facts = {.rows = document_new()};
    json_array_foreach(document->lines, i, line) {
        struct json_part whole = json_part_copy(line);
        if (unseen != NULL)
            json_object_update_missing(whole.json, (json_t *)unseen);
        complete(document, &whole);
        put_line(&facts, of, whole.json);
        json_decref(whole.json);
        unseen = line_is_of(line, "") ? line : NULL;
    }
    page_begin(&page);
    struct rendering whole = *to;
    whole.uncut = strcmp(of, "probes") == 0; /* there are commands to copy */
    bool ok = render_table(&whole, &view, document_end(facts.rows));
    return page_end(&page) && ok;
}
