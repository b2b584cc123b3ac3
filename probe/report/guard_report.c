#include "report/guard_report.h"

#include "base/deadline.h"
#include "report/formats.h"
#include "report/json.h"
#include "report/number.h"
#include "report/place_report.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <string.h>

enum { INDENT = 2 };

static bool is_written(FILE *out)
{
    return fflush(out) == 0 && ferror(out) == 0;
}

/* --- text ----------------------------------------------------------------------------------------------- */

static void print_overrun(const struct guard_report *report, const struct guard_overrun *overrun)
{
    char place[PLACE_ROOM], clean[UTF8_CLEAN_ROOM(PLACE_ROOM)], counted[96], skid[NUMBER_ROOM],
        calls[NUMBER_ROOM];
    snprintf(place, sizeof place, "where its registers cannot be read");
    if (overrun->has_pc)
        place_name(report->symbols, overrun->place.stack.at[0].pc, place);
    fprintf(report->out, "overrun %" PRIu64 " after %s call%s: %s, after %s, skid %s\n", overrun->number,
            number_unsigned(calls, sizeof calls, overrun->calls), overrun->calls == 1 ? "" : "s",
            terminal_text(clean, sizeof clean, place),
            number_events(counted, sizeof counted, overrun->counted, report->event),
            number_unsigned(skid, sizeof skid, overrun->skid));
    if (!overrun->has_pc)
        return;
    place_print_callers(report->out, report->symbols, &overrun->place.stack, INDENT);
    if (overrun->is_elsewhere)
        fputs("  not in the call: another task ran, or the call was left without returning\n", report->out);
    place_print_registers(report->out, &overrun->place, INDENT);
}

static void print_end(const struct guard_report *report, const struct guard_result *result)
{
    char calls[NUMBER_ROOM], overruns[NUMBER_ROOM], time[NUMBER_ROOM], most[96], skid[96],
        unstopped[NUMBER_ROOM];
    number_unsigned(overruns, sizeof overruns, result->overruns);
    fprintf(report->out, "%s overrun%s; %s call%s returned in %s", result->overruns > 0 ? overruns : "no",
            result->overruns == 1 ? "" : "s", number_unsigned(calls, sizeof calls, result->calls),
            result->calls == 1 ? "" : "s", number_elapsed(time, sizeof time, result->elapsed_s));
    if (result->calls > 0)
        fprintf(report->out, ", the longest took %s",
                number_events(most, sizeof most, result->most, report->event));
    if (result->overruns > 0)
        fprintf(report->out, "\nthe budget was exceeded by at most %s",
                number_events(skid, sizeof skid, result->skid, report->event));
    fputc('\n', report->out);
    if (result->unstopped > 0)
        fprintf(report->out, "%s call%s over the budget returned before the core could be stopped\n",
                number_unsigned(unstopped, sizeof unstopped, result->unstopped),
                result->unstopped == 1 ? "" : "s");
    if (result->left > 0)
        fprintf(report->out, "%s call%s left without returning\n",
                number_unsigned(calls, sizeof calls, result->left), result->left == 1 ? " was" : "s were");
    if (result->end == GUARD_NO_RETURN)
        fputs("the last call did not return\n", report->out);
    if (result->is_kept)
        fputs("the core is left halted there, for a debugger\n", report->out);
}

/* --- JSON ----------------------------------------------------------------------------------------------- */

static bool write_begin(const struct guard_report *report)
{
    struct json_part line = json_part_new("guard");
    json_part_text(&line, "event", report->event);
    json_part_unsigned(&line, "budget", report->budget);
    if (report->budget_s > 0)
        json_part_real(&line, "budget_s", report->budget_s);
    json_part_text(&line, "stops_by", report->way);
    return json_part_write(report->out, line);
}

static bool write_overrun(const struct guard_report *report, const struct guard_overrun *overrun)
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
    return json_part_write(report->out, line);
}

static bool write_end(const struct guard_report *report, const struct guard_result *result)
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
    return json_part_write(report->out, line);
}

/* -------------------------------------------------------------------------------------------------------- */

bool guard_report_begin(const struct guard_report *report, const struct conditions *conditions)
{
    struct column column = {0};
    char budget[96], duration[NUMBER_ROOM];
    snprintf(column.name, sizeof column.name, "%s", report->event);
    if (report->format == FORMAT_JSON)
        return json_header(report->out, conditions, &column, 1, deadline_wall_s()) && write_begin(report);
    text_header(report->out, conditions);
    fprintf(report->out, "  budget %s", number_events(budget, sizeof budget, report->budget, report->event));
    if (report->budget_s > 0)
        fprintf(report->out, " (%s)", number_duration(duration, sizeof duration, report->budget_s));
    fprintf(report->out, ", by %s\n\n", report->way);
    return is_written(report->out);
}

bool guard_report_overrun(const struct guard_report *report, const struct guard_overrun *overrun)
{
    if (report->format == FORMAT_JSON)
        return write_overrun(report, overrun);
    print_overrun(report, overrun);
    return is_written(report->out);
}

bool guard_report_left(const struct guard_report *report, uint64_t number)
{
    if (report->format == FORMAT_JSON) {
        struct json_part line = json_part_new("left");
        json_part_unsigned(&line, "overrun", number);
        return json_part_write(report->out, line);
    }
    fputs("  the call had been left without returning: this is no overrun\n", report->out);
    return is_written(report->out);
}

bool guard_report_returned(const struct guard_report *report, uint64_t number, uint64_t counted)
{
    char text[96];
    if (report->format == FORMAT_JSON) {
        struct json_part line = json_part_new("returned");
        json_part_unsigned(&line, "overrun", number);
        json_part_unsigned(&line, "counted", counted);
        return json_part_write(report->out, line);
    }
    fprintf(report->out, "  returned after %s\n", number_events(text, sizeof text, counted, report->event));
    return is_written(report->out);
}

bool guard_report_end(const struct guard_report *report, const struct guard_result *result)
{
    if (report->format == FORMAT_JSON)
        return write_end(report, result);
    print_end(report, result);
    return is_written(report->out);
}
