/* What is typed after an option, into the options. */
#include "commands/command.h"
#include "commands/options.h"
#include "counters/events.h"
#include "measure/verdict.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_WISHES = 64 };

/* Of the command, if it is known by now. */
static bool values_refuse_format(const struct options *options, const char *text, struct error *error)
{
    char list[128] = "";
    size_t id = command_typed(options);
    bool known = id < COMMANDS;
    command_formats(known ? commands[id].formats : (1U << FORMATS) - 1, list, sizeof list);
    return error_set(error, ERROR_USAGE, "unknown format \"%.64s\": %s%s%s", text,
                     known ? commands[id].name : "", known ? " takes " : "", list);
}

/* Who writes 5 may mean seconds, as sleep, or milliseconds, as perf; 1000 is in milliseconds. */
static bool is_unclear_time(const char *text, double value)
{
    enum { CLEAR_MS = 100 };
    return value >= 1e-3 && value < CLEAR_MS * 1e-3 && isalpha((unsigned char)text[strlen(text) - 1]) == 0;
}

static bool refuse_value(const struct options *options, const struct option *option, const char *typed,
                         const char *text, struct error *error)
{
    const struct option_words *words = &option_words[option->kind];
    size_t length = strlen(text);
    uint64_t hz;
    double value;
    if (option->most > 0)
        return error_set(error, ERROR_USAGE,
                         "%.32s takes a number from %" PRIu64 " to %" PRIu64 "; got \"%.64s\"", typed,
                         option->least, option->most, text);
    if (option->kind == OPTION_FORMAT)
        return values_refuse_format(options, text, error);
    if (option->kind == OPTION_MILLISECONDS && value_seconds(text, 1e-3, &value) &&
        is_unclear_time(text, value))
        return error_set(error, ERROR_USAGE, "%.32s %.16s: write %.16sms or %.16ss", typed, text, text, text);
    error_set(error, ERROR_USAGE, "%.32s takes %s; got \"%.64s\"", typed, words->takes, text);
    size_t used = strlen(error->text), room = sizeof error->text - used;
    if (option->kind == OPTION_FREQUENCY && length > 1 && text[length - 1] == 'm')
        snprintf(error->text + used, room, " (write %.*sM for megahertz)",
                 (int)(length < 32 ? length - 1 : 31), text);
    if ((option->kind == OPTION_SPEED || option->kind == OPTION_FREQUENCY) && value_count(text, 999, &hz) &&
        hz > 0)
        snprintf(error->text + used, room, ", which is %.8s Hz (write %.8sM for %.8s MHz)", text, text, text);
    return false;
}

static bool values_add_word(const char **words, size_t *n, const char *text, const char *typed,
                            struct error *error)
{
    if (*n == REQUEST_EVENTS)
        return error_set(error, ERROR_USAGE, "more than %d times %s", REQUEST_EVENTS, typed);
    words[(*n)++] = text;
    return true;
}

/* Checks the syntax only: which events exist depends on the core. */
static bool check_events(const char *text, struct error *error)
{
    struct event_request requests[MOST_WISHES];
    size_t n = 0;
    return event_requests_parse(text, requests, MOST_WISHES, &n, error);
}

static bool add_openocd(struct options *options, const struct option *option, const char *text,
                        struct error *error)
{
    uint64_t number;
    if (option->letter == 'c' && value_many(text, UINT64_MAX, &number)) /* as perf has it */
        return error_set(
            error, ERROR_USAGE,
            "-c is a command for OpenOCD; to stop the core after every %.32s events, say --every %.32s", text,
            text);
    if (options->request.n_openocd + 2 > REQUEST_WORDS)
        return error_set(error, ERROR_USAGE, "too many options for OpenOCD");
    options->request.openocd[options->request.n_openocd++] = option->letter == 'f'   ? "-f"
                                                             : option->letter == 'c' ? "-c"
                                                                                     : "-s";
    options->request.openocd[options->request.n_openocd++] = text;
    return true;
}

bool option_store(struct options *options, const struct option *option, const char *typed, const char *text,
                  struct error *error)
{
    static const double slowest_hz = 1e3, fastest_hz = 1e9; /* of a probe's wires */
    void *at = (char *)options + option->offset;
    uint64_t count = 0;
    double value = 0;
    bool ok = true;
    switch (option->kind) {
    case OPTION_TEXT:
        *(const char **)at = text;
        break;
    case OPTION_CORE:
        ok = value_count(text, 1000, &count);
        *(int *)at = (int)count;
        break;
    case OPTION_FREQUENCY:
        /* Who writes 12 means megahertz; 12Hz is taken at its word */
        ok = value_frequency(text, &value) && value > 0 && value < 1e11 && !value_count(text, 999, &count);
        *(double *)at = value;
        break;
    case OPTION_SPEED:
        ok = value_frequency(text, &value) && value >= slowest_hz && value <= fastest_hz;
        *(double *)at = value;
        break;
    case OPTION_COUNT:
        ok = value_many(text, option->most > 0 ? option->most : UINT64_MAX / 8, &count) && count > 0 &&
             count >= option->least;
        *(uint64_t *)at = count;
        break;
    case OPTION_MILLISECONDS:
        ok = value_seconds(text, 1e-3, &value) && value >= 1e-3 && value <= 86400 &&
             !is_unclear_time(text, value);
        *(int64_t *)at = ok ? (int64_t)(value * 1e3 + 0.5) : 0;
        break;
    case OPTION_SECONDS:
        ok = value_seconds(text, 1, &value) && value > 0 && value < 1e7;
        *(double *)at = value;
        break;
    case OPTION_PART:
        ok = verdict_threshold(text, &value) && value > 0 && value < 1;
        *(double *)at = value;
        break;
    case OPTION_FLAG:
        *(bool *)at = true;
        break;
    case OPTION_VERBOSE:
        ++*(unsigned *)at;
        break;
    case OPTION_EVENT:
        return check_events(text, error) &&
               values_add_word(options->request.events, &options->request.n_events, text, typed, error);
    case OPTION_METRIC:
        return values_add_word(options->request.metrics, &options->request.n_metrics, text, typed, error);
    case OPTION_JSON:
        options->format = FORMAT_JSON;
        break;
    case OPTION_CSV:
        ok = value_separator(text, &options->separator);
        options->format = FORMAT_CSV;
        break;
    case OPTION_FORMAT:
        ok = value_format(text, &options->format);
        break;
    case OPTION_PLACE:
        ok = value_place(text, at);
        break;
    case OPTION_PROCESS:
        ok = value_process(text, at);
        break;
    case OPTION_OFFSET:
        ok = value_count(text + (text[0] == '-'), UINT64_MAX, &count) && count % 4 == 0;
        *(uint64_t *)at = text[0] == '-' ? 0 - count : count;
        break;
    case OPTION_OPENOCD:
        return add_openocd(options, option, text, error);
    case OPTION_KINDS:
        break;
    }
    return ok || refuse_value(options, option, typed, text, error);
}

void option_forget(struct options *options, const struct option *option, const struct options *usual)
{
    static const size_t rooms[OPTION_KINDS] = {[OPTION_TEXT] = sizeof(char *),
                                               [OPTION_CORE] = sizeof(int),
                                               [OPTION_FREQUENCY] = sizeof(double),
                                               [OPTION_SPEED] = sizeof(double),
                                               [OPTION_COUNT] = sizeof(uint64_t),
                                               [OPTION_MILLISECONDS] = sizeof(int64_t),
                                               [OPTION_SECONDS] = sizeof(double),
                                               [OPTION_PART] = sizeof(double),
                                               [OPTION_FLAG] = sizeof(bool),
                                               [OPTION_PLACE] = sizeof(struct place),
                                               [OPTION_PROCESS] = sizeof(struct process),
                                               [OPTION_OFFSET] = sizeof(uint64_t)};
    memcpy((char *)options + option->offset, (const char *)usual + option->offset, rooms[option->kind]);
}
