#include "report/guard_report.h"

#include "report/formats.h"
#include "report/json.h"
#include "report/number.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

enum { PLACE = 512, INDENT = 2 };

static bool is_cycles(const struct guard_report *report)
{
    return strcmp(report->event, "CPU_CYCLES") == 0;
}

/* "1,204 cycles", "10 L1D_CACHE_REFILL" */
static const char *amount(const struct guard_report *report, uint64_t n, char *out, size_t size)
{
    char number[NUMBER_ROOM];
    number_unsigned(number, sizeof number, n);
    snprintf(out, size, "%s %s", number, !is_cycles(report) ? report->event : n == 1 ? "cycle" : "cycles");
    return out;
}

/* "main.c:88 (step+0x12)" */
static void place_of(const struct guard_report *report, uint64_t address, char *out, size_t size)
{
    struct location location;
    symbols_describe(report->symbols, address, &location);
    if (location.source[0] != '\0')
        snprintf(out, size, "%s (%s)", location.source, location.name);
    else
        snprintf(out, size, "%s", location.name);
}

static bool is_written(FILE *out)
{
    return fflush(out) == 0 && ferror(out) == 0;
}

/* --- text ----------------------------------------------------------------------------------------------- */

static void print_stack(const struct guard_report *report, const struct unwind_stack *stack)
{
    char place[PLACE], clean[UTF8_CLEAN_ROOM(PLACE)];
    for (size_t i = 1; i < stack->count; i++) {
        const struct unwind_frame *frame = &stack->at[i];
        place_of(report, unwind_place(frame), place, sizeof place);
        fprintf(report->out, "  %s %s%s\n", frame->has_taken ? "interrupted:" : "called by",
                terminal_text(clean, sizeof clean, place), frame->is_guess ? " (a guess)" : "");
    }
    if (stack->end != UNWIND_OUTERMOST)
        fprintf(report->out, "  the stack is cut short: %s\n", unwind_end_text(stack->end));
}

static void print_registers(const struct guard_report *report, const struct guard_overrun *overrun)
{
    struct fold fold = {.out = report->out, .columns = terminal_columns(report->out), .indent = INDENT};
    char text[40];
    for (size_t i = 0; i < overrun->n_registers; i++) {
        snprintf(text, sizeof text, "%s%s 0x%08" PRIX64, i == 0 ? "  " : "", overrun->registers[i].name,
                 overrun->registers[i].value);
        fold_put(&fold, text, i == 0 ? 0 : INDENT);
    }
    fold_end(&fold);
}

static void print_overrun(const struct guard_report *report, const struct guard_overrun *overrun)
{
    char place[PLACE], clean[UTF8_CLEAN_ROOM(PLACE)], counted[96], skid[NUMBER_ROOM], calls[NUMBER_ROOM];
    snprintf(place, sizeof place, "where its registers cannot be read");
    if (overrun->has_pc)
        place_of(report, overrun->stack->at[0].pc, place, sizeof place);
    fprintf(report->out, "overrun %" PRIu64 " after %s call%s: %s, after %s, skid %s\n", overrun->number,
            number_unsigned(calls, sizeof calls, overrun->calls), overrun->calls == 1 ? "" : "s",
            terminal_text(clean, sizeof clean, place),
            amount(report, overrun->counted, counted, sizeof counted),
            number_unsigned(skid, sizeof skid, overrun->skid));
    if (!overrun->has_pc)
        return;
    print_stack(report, overrun->stack);
    if (overrun->is_elsewhere)
        fputs("  not in the call: another task ran, or the call was left without returning\n", report->out);
    print_registers(report, overrun);
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
        fprintf(report->out, ", the longest took %s", amount(report, result->most, most, sizeof most));
    if (result->overruns > 0)
        fprintf(report->out, "\nthe budget was exceeded by at most %s",
                amount(report, result->skid, skid, sizeof skid));
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

static void put_place(const struct guard_report *report, struct json_part *part, uint64_t address)
{
    struct location location;
    symbols_describe(report->symbols, address, &location);
    json_part_hex(part, "address", address);
    json_part_text(part, "function", location.name);
    json_part_text(part, "source", location.source);
}

static void put_stack(const struct guard_report *report, struct json_part *line,
                      const struct unwind_stack *stack)
{
    json_t *frames = json_array();
    for (size_t i = 1; i < stack->count; i++) {
        struct json_part frame = json_part_new(NULL);
        put_place(report, &frame, unwind_place(&stack->at[i]));
        if (stack->at[i].is_guess)
            json_part_bool(&frame, "guess", true);
        if (stack->at[i].has_taken)
            json_part_bool(&frame, "interrupted", true);
        line->ok = line->ok && frame.ok;
        json_part_append(line, frames, frame.json);
    }
    json_part_array(line, "callers", frames);
    if (stack->end != UNWIND_OUTERMOST)
        json_part_text(line, "cut", unwind_end_text(stack->end));
}

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
    struct json_part line = json_part_new("overrun"), registers = json_part_new(NULL);
    json_part_unsigned(&line, "overrun", overrun->number);
    json_part_unsigned(&line, "calls", overrun->calls);
    json_part_unsigned(&line, "counted", overrun->counted);
    json_part_unsigned(&line, "skid", overrun->skid);
    for (size_t i = 0; i < overrun->n_registers; i++)
        json_part_hex(&registers, overrun->registers[i].name, overrun->registers[i].value);
    if (overrun->has_pc) {
        put_place(report, &line, overrun->stack->at[0].pc);
        put_stack(report, &line, overrun->stack);
    }
    if (overrun->is_elsewhere)
        json_part_bool(&line, "elsewhere", true);
    json_part_object(&line, "registers", registers);
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
        return json_header(report->out, conditions, &column, 1, time(NULL)) && write_begin(report);
    text_header(report->out, conditions);
    fprintf(report->out, "  budget %s", amount(report, report->budget, budget, sizeof budget));
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
    fprintf(report->out, "  returned after %s\n", amount(report, counted, text, sizeof text));
    return is_written(report->out);
}

bool guard_report_end(const struct guard_report *report, const struct guard_result *result)
{
    if (report->format == FORMAT_JSON)
        return write_end(report, result);
    print_end(report, result);
    return is_written(report->out);
}
