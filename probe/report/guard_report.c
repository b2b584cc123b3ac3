#include "report/guard_report.h"

#include "base/deadline.h"
#include "base/values.h"
#include "report/conditions.h"
#include "report/editor.h"
#include "report/formats.h"
#include "report/json.h"
#include "report/number.h"
#include "report/place_report.h"
#include "report/terminal.h"
#include "report/views.h"

#include <inttypes.h>
#include <string.h>

enum { INDENT = 2, DEEP = 4 };

/* "69.58 µs (835 cycles)" with the time in which a budget was given; 0: it was given in events. */
static void amount_text(char *out, size_t size, uint64_t count, const char *event, double seconds)
{
    char events[192], name[UTF8_CLEAN_ROOM(96)];
    number_events(events, sizeof events, count, terminal_text(name, sizeof name / 3, event));
    if (seconds > 0)
        snprintf(out, size, "%s (%s)", DURATION(seconds), events);
    else
        snprintf(out, size, "%s", events);
}

static void guard_report_print_begin(const struct guard_view *view, const json_t *line)
{
    char budget[256], way[UTF8_CLEAN_ROOM(96)], clock[UTF8_CLEAN_ROOM(256)], text[2048];
    amount_text(budget, sizeof budget, field_count(line, "budget"), view->event,
                field_real(line, "budget_s"));
    snprintf(text, sizeof text, "budget %s%s%s, by %s", budget, view->clock[0] != '\0' ? " " : "",
             terminal_text(clock, sizeof clock, view->clock),
             terminal_text(way, sizeof way, field_text(line, "stops_by")));
    fprintf(view->out, "%*s", INDENT, "");
    fold_text_at(view->out, view->columns, INDENT, DEEP, text);
    fputc('\n', view->out);
}

static void print_overrun(const struct guard_view *view, const json_t *line)
{
    char place[PLACE_ROOM], clean[UTF8_CLEAN_ROOM(PLACE_ROOM)], counted[256];
    uint64_t n = field_count(line, "calls"), count = field_count(line, "counted");
    bool has_pc = field_of(line, "address") != NULL;
    snprintf(place, sizeof place, "where its registers cannot be read");
    if (has_pc)
        place_text(line, place);
    amount_text(counted, sizeof counted, count, view->event, (double)count * view->each_s);
    fprintf(view->out, "overrun %" PRIu64 " after %s call%s: %s, after %s, skid %s\n",
            field_count(line, "overrun"), NUMBER(n), PLURAL(n), terminal_text(clean, sizeof clean, place),
            counted, NUMBER(field_count(line, "skid")));
    if (!has_pc)
        return;
    place_print_callers(view->out, line, INDENT);
    if (field_is(line, "elsewhere"))
        fputs("  not in the call: another task ran, or the call was left without returning\n", view->out);
    place_print_registers(view->out, view->columns, line, INDENT);
}

static void guard_report_print_end(const struct guard_view *view, const json_t *line)
{
    FILE *out = view->out;
    const char *ended = field_text(line, "ended");
    char amount[256];
    uint64_t calls = field_count(line, "calls"), overruns = field_count(line, "overruns"),
             most = field_count(line, "most"), skid = field_count(line, "skid"),
             unstopped = field_count(line, "unstopped"), left = field_count(line, "left");
    fprintf(out, "%s overrun%s; ", overruns > 0 ? NUMBER(overruns) : "no", PLURAL(overruns));
    fprintf(out, "%s call%s returned in %s", NUMBER(calls), PLURAL(calls),
            ELAPSED(field_real(line, "elapsed_s")));
    amount_text(amount, sizeof amount, most, view->event, (double)most * view->each_s);
    if (calls > 0)
        fprintf(out, ", the longest took %s", amount);
    amount_text(amount, sizeof amount, skid, view->event, (double)skid * view->each_s);
    if (overruns > 0)
        fprintf(out, "\nthe budget was exceeded by at most %s", amount);
    fputc('\n', out);
    if (unstopped > 0)
        fprintf(out, "%s call%s over the budget returned before the core could be stopped\n",
                NUMBER(unstopped), PLURAL(unstopped));
    if (left > 0)
        fprintf(out, "%s call%s left without returning\n", NUMBER(left), left == 1 ? " was" : "s were");
    if (strcmp(ended, "no return") == 0)
        fputs("the last call did not return\n", out);
    if (strcmp(ended, "Ctrl-C") == 0 || strcmp(ended, "error") == 0)
        fprintf(out, "ended by %s\n", ended[0] == 'e' ? "an error" : ended);
    if (field_is(line, "kept"))
        fputs("the core is left halted there, for a debugger\n", out);
}

void guard_view_set(struct guard_view *view, const struct conditions *conditions)
{
    snprintf(view->guarded, sizeof view->guarded, "%s", conditions->start);
    conditions_clock_text(conditions, view->clock, sizeof view->clock);
}

/* Overruns alone. */
static bool guard_report_put_gcc(const struct guard_view *view, const json_t *line)
{
    const struct rendering to = {.out = view->out, .format = FORMAT_GCC};
    char text[1536], counted[256], budget[256];
    uint64_t count = field_count(line, "counted");
    json_t *rows = json_array();
    amount_text(counted, sizeof counted, count, view->event, (double)count * view->each_s);
    amount_text(budget, sizeof budget, view->budget, view->event, (double)view->budget * view->each_s);
    snprintf(text, sizeof text, "%.500s: %s so far, over the budget of %s", view->guarded, counted, budget);
    bool ok = editor_add(rows, field_text(line, "file"), field_text(line, "source"), text, true);
    return render_table(&to, &text_gcc, rows) && ok;
}

static void read_begin(struct guard_view *view, const json_t *line)
{
    double seconds = field_real(line, "budget_s");
    snprintf(view->event, sizeof view->event, "%s", field_text(line, "event"));
    view->budget = field_count(line, "budget");
    view->each_s = seconds > 0 && view->budget > 0 ? seconds / (double)view->budget : 0;
}

static void guard_report_print_line(struct guard_view *view, const json_t *line)
{
    const char *type = field_text(line, "type");
    char amount[256];
    uint64_t counted = field_count(line, "counted");
    if (strcmp(type, "guard") == 0) {
        guard_report_print_begin(view, line);
    } else if (strcmp(type, "overrun") == 0) {
        print_overrun(view, line);
    } else if (strcmp(type, "left") == 0) {
        fputs("  the call had been left without returning: this is not an overrun\n", view->out);
    } else if (strcmp(type, "returned") == 0) {
        amount_text(amount, sizeof amount, counted, view->event, (double)counted * view->each_s);
        fprintf(view->out, "  returned after %s\n", amount);
    } else if (strcmp(type, "guard_end") == 0) {
        guard_report_print_end(view, line);
    }
}

bool guard_put_line(struct guard_view *view, const json_t *line)
{
    const char *type = field_text(line, "type");
    if (strcmp(type, "guard") == 0)
        read_begin(view, line);
    if (view->format != FORMAT_GCC)
        guard_report_print_line(view, line);
    return view->format != FORMAT_GCC || strcmp(type, "overrun") != 0 || guard_report_put_gcc(view, line);
}

/* Each line is written at once. */
static bool guard_report_put(struct guard_report *report, struct json_part line)
{
    if (report->format == FORMAT_JSON)
        return json_part_write(report->out, line);
    report->view.out = report->out;
    report->view.format = report->format;
    report->view.columns = terminal_columns(report->out);
    report->view.budget = report->budget;
    report->view.each_s = report->budget > 0 ? report->budget_s / (double)report->budget : 0;
    snprintf(report->view.event, sizeof report->view.event, "%s", report->event);
    bool ok = guard_put_line(&report->view, line.json) && line.ok;
    json_decref(line.json);
    return fflush(report->out) == 0 && ferror(report->out) == 0 && ok;
}

/* --- JSON ----------------------------------------------------------------------------------------------- */

static bool write_begin(struct guard_report *report)
{
    struct json_part line = json_part_new("guard");
    json_part_text(&line, "event", report->event);
    json_part_unsigned(&line, "budget", report->budget);
    if (report->budget_s > 0)
        json_part_real(&line, "budget_s", report->budget_s);
    json_part_text(&line, "stops_by", report->way);
    return guard_report_put(report, line);
}

bool guard_report_overrun(struct guard_report *report, const struct guard_overrun *overrun)
{
    struct json_part line = json_part_new("overrun");
    json_part_unsigned(&line, "overrun", overrun->number);
    json_part_unsigned(&line, "calls", overrun->calls);
    json_part_unsigned(&line, "counted", overrun->counted);
    json_part_unsigned(&line, "skid", overrun->skid);
    if (overrun->has_pc)
        place_put_stack(&line, report->symbols, &overrun->place.stack);
    if (overrun->is_elsewhere)
        json_part_bool(&line, "elsewhere", true);
    place_put_registers(&line, &overrun->place);
    return guard_report_put(report, line);
}

bool guard_report_end(struct guard_report *report, const struct guard_result *result)
{
    static const char *const why[] = {[GUARD_OVERRUNS] = "overruns",
                                      [GUARD_TIME] = "time",
                                      [GUARD_CANCELLED] = "Ctrl-C",
                                      [GUARD_NO_RETURN] = "no return",
                                      [GUARD_FAILED] = "error"};
    struct json_part line = json_part_new("guard_end");
    json_part_unsigned(&line, "calls", result->calls);
    json_part_unsigned(&line, "overruns", result->overruns);
    json_part_unsigned(&line, "unstopped", result->unstopped);
    if (result->left > 0)
        json_part_unsigned(&line, "left", result->left);
    json_part_unsigned(&line, "most", result->most);
    if (result->halt_most >= result->halt_least)
        json_part_unsigned(&line, "halt_cost", result->halt_least);
    if (result->overruns > 0)
        json_part_unsigned(&line, "skid", result->skid);
    json_part_real(&line, "elapsed_s", result->elapsed_s);
    json_part_text(&line, "ended", why[result->end]);
    if (result->is_kept)
        json_part_bool(&line, "kept", true);
    return guard_report_put(report, line);
}

bool guard_report_begin(struct guard_report *report, const struct conditions *conditions)
{
    struct column column = {0};
    snprintf(column.name, sizeof column.name, "%s", report->event);
    if (report->format == FORMAT_JSON && !json_header(report->out, conditions, &column, 1, deadline_wall_s()))
        return false;
    if (report->format == FORMAT_TEXT)
        text_header(report->out, conditions);
    guard_view_set(&report->view, conditions);
    return write_begin(report);
}

bool guard_report_left(struct guard_report *report, uint64_t number)
{
    struct json_part line = json_part_new("left");
    json_part_unsigned(&line, "overrun", number);
    return guard_report_put(report, line);
}

bool guard_report_returned(struct guard_report *report, uint64_t number, uint64_t counted)
{
    struct json_part line = json_part_new("returned");
    json_part_unsigned(&line, "overrun", number);
    json_part_unsigned(&line, "counted", counted);
    return guard_report_put(report, line);
}
