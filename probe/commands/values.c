#include "commands/options.h"

#include "commands/command.h"
#include "counters/events.h"
#include "measure/verdict.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_WISHES = 64 };

static size_t digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* Digits with at most one point and perhaps an exponent; *end points after them. */
static bool read_decimal(const char *text, double *out, const char **end)
{
    char number[64];
    size_t n = digits(text), behind = text[n] == '.' ? digits(text + n + 1) : 0;
    if (n + behind == 0)
        return false;
    n += text[n] == '.' ? 1 + behind : 0;
    if (text[n] == 'e' || text[n] == 'E') {
        size_t sign = text[n + 1] == '+' || text[n + 1] == '-';
        size_t exponent = digits(text + n + 1 + sign);
        n += exponent > 0 ? 1 + sign + exponent : 0;
    }
    if (n >= sizeof number)
        return false;
    memcpy(number, text, n);
    number[n] = '\0';
    *out = strtod(number, NULL);
    *end = text + n;
    return isfinite(*out);
}

struct unit {
    const char *name;
    double scale;
};

static bool scale(double *value, const char *name, const struct unit *units, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(name, units[i].name) == 0) {
            *value *= units[i].scale;
            return true;
        }
    return false;
}

bool value_frequency(const char *text, double *out)
{
    static const struct unit units[] = {{"", 1},    {"hz", 1},    {"k", 1e3}, {"khz", 1e3},
                                        {"m", 1e6}, {"mhz", 1e6}, {"g", 1e9}, {"ghz", 1e9}};
    const char *end;
    double value;
    if (!read_decimal(text, &value, &end) || strcmp(end, "m") == 0 ||
        !scale(&value, end, units, sizeof units / sizeof *units))
        return false;
    *out = value;
    return true;
}

void value_offset_text(uint64_t offset, char out[VALUE_OFFSET])
{
    bool below = offset > INT64_MAX;
    snprintf(out, VALUE_OFFSET, "%s0x%" PRIX64, below ? "-" : "", below ? 0 - offset : offset);
}

bool value_seconds(const char *text, double plain, double *out)
{
    static const struct unit units[] = {{"s", 1}, {"ms", 1e-3}, {"m", 60}, {"min", 60}, {"h", 3600}};
    const char *end;
    double value;
    if (!read_decimal(text, &value, &end))
        return false;
    if (*end == '\0')
        value *= plain;
    else if (!scale(&value, end, units, sizeof units / sizeof *units))
        return false;
    *out = value;
    return true;
}

bool value_count(const char *text, uint64_t most, uint64_t *out)
{
    char *end;
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    if (!isdigit((unsigned char)text[0]) || (hex && !isxdigit((unsigned char)text[2])))
        return false;
    if (!hex && text[0] == '0' && text[1] != '\0') /* octal to some */
        return false;
    errno = 0;
    unsigned long long value = strtoull(text, &end, hex ? 16 : 10);
    if (*end != '\0' || errno != 0 || value > most)
        return false;
    *out = value;
    return true;
}

bool value_many(const char *text, uint64_t most, uint64_t *out)
{
    enum { EXACT_BITS = 53 };
    const char *end;
    double value;
    if (value_count(text, most, out))
        return true;
    if (!read_decimal(text, &value, &end) || (text[0] == '0' && text[1] != '.'))
        return false;
    bool has_exponent =
        memchr(text, 'e', (size_t)(end - text)) != NULL || memchr(text, 'E', (size_t)(end - text)) != NULL;
    bool kilo = strcmp(end, "k") == 0 || strcmp(end, "K") == 0, mega = strcmp(end, "M") == 0;
    if (!(kilo || mega || (has_exponent && *end == '\0')))
        return false;
    value *= kilo ? 1e3 : mega ? 1e6 : 1;
    if (value != floor(value) || value > ldexp(1, EXACT_BITS) || (uint64_t)value > most)
        return false;
    *out = (uint64_t)value;
    return true;
}

/* Of a whole number that is followed by a blank and a word. */
static bool read_events(const char *text, struct budget_value *out)
{
    char number[32];
    size_t length = strcspn(text, " "), blanks = strspn(text + length, " ");
    const char *event = text + length + blanks;
    if (length >= sizeof number || (text[length] != '\0' && *event == '\0') || strchr(event, ' ') != NULL ||
        strlen(event) >= sizeof out->event)
        return false;
    memcpy(number, text, length);
    number[length] = '\0';
    bool cycles = *event == '\0' || strcmp(event, "cycles") == 0 || strcmp(event, "cycle") == 0;
    snprintf(out->event, sizeof out->event, "%s", cycles ? "CPU_CYCLES" : event);
    return value_many(number, INT32_MAX, &out->events) && out->events > 0;
}

bool value_budget(const char *text, struct budget_value *out)
{
    static const struct unit parts[] = {{"s", 1}, {"ms", 1e3}, {"us", 1e6}, {"ns", 1e9}}; /* of a second */
    const char *end;
    double value, part = 1;
    *out = (struct budget_value){.events = 0};
    if (read_events(text, out))
        return true;
    if (!read_decimal(text, &value, &end) || !scale(&part, end, parts, sizeof parts / sizeof *parts) ||
        !(value > 0))
        return false;
    *out = (struct budget_value){.seconds = value / part, .event = "CPU_CYCLES"};
    return true;
}

bool value_separator(const char *text, const char **out)
{
    bool tab = strcmp(text, "\\t") == 0;
    if (!tab && (text[0] == '\0' || text[1] != '\0' || isalnum((unsigned char)text[0]) ||
                 strchr("\"\r\n.-", text[0]) != NULL))
        return false;
    *out = tab ? "\t" : text;
    return true;
}

static const char *const format_names[] = {[FORMAT_TEXT] = "text",
                                           [FORMAT_JSON] = "json",
                                           [FORMAT_CSV] = "csv",
                                           [FORMAT_JUNIT] = "junit",
                                           [FORMAT_MARKDOWN] = "markdown",
                                           [FORMAT_FOLDED] = "folded",
                                           [FORMAT_PPROF] = "pprof",
                                           [FORMAT_CALLGRIND] = "callgrind",
                                           [FORMAT_PERF] = "perf",
                                           [FORMAT_HTML] = "html",
                                           [FORMAT_GCC] = "gcc"};

bool value_format(const char *text, enum format *out)
{
    for (size_t i = 0; i < sizeof format_names / sizeof *format_names; i++)
        if (strcmp(text, format_names[i]) == 0) {
            *out = (enum format)i;
            return true;
        }
    return false;
}

void value_format_names(unsigned formats, char *out, size_t size)
{
    size_t n = sizeof format_names / sizeof *format_names;
    out[0] = '\0';
    formats &= (1U << n) - 1;
    for (size_t i = 0; i < n; i++)
        if ((formats >> i & 1) != 0)
            list_add(out, size, format_names[i], formats >> (i + 1) == 0 ? " or " : NULL);
}

bool value_process(const char *text, struct process *out)
{
    uint64_t id = 0;
    bool any = strcmp(text, "any") == 0;
    if (!any && !value_count(text, UINT32_MAX, &id))
        return false;
    *out = (struct process){.which = any ? PROCESS_ANY : PROCESS_ID, .id = (uint32_t)id};
    return true;
}

/* A component begins at a page boundary. */
bool value_place(const char *text, struct place *out)
{
    enum { PAGE = 4096, PORTS = 255 };
    char number[16];
    uint64_t port, base;
    const char *colon = strchr(text, ':');
    size_t length = colon != NULL ? (size_t)(colon - text) : 0;
    if (length == 0 || length >= sizeof number)
        return false;
    snprintf(number, sizeof number, "%.*s", (int)length, text);
    if (!value_count(number, PORTS, &port) || !value_count(colon + 1, UINT64_MAX, &base) || base % PAGE != 0)
        return false;
    *out = (struct place){.said = true, .port = (unsigned)port, .base = base};
    return true;
}

/* ---- into the options */

/* Those of the command, if it is known by now. */
static bool refuse_format(const struct options *options, const char *text, struct error *error)
{
    char list[128];
    size_t id = 0;
    while (id < COMMANDS && (options->command == NULL || strcmp(commands[id].name, options->command) != 0))
        id++;
    bool known = id < COMMANDS;
    value_format_names(known ? commands[id].formats : ~0U, list, sizeof list);
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
        return refuse_format(options, text, error);
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

static bool add_word(const char **words, size_t *n, const char *text, const char *typed, struct error *error)
{
    if (*n == OPTION_EVENTS)
        return error_set(error, ERROR_USAGE, "more than %d times %s", OPTION_EVENTS, typed);
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
    if (options->n_openocd + 2 > OPTION_WORDS)
        return error_set(error, ERROR_USAGE, "too many options for OpenOCD");
    options->openocd[options->n_openocd++] = option->letter == 'f'   ? "-f"
                                             : option->letter == 'c' ? "-c"
                                                                     : "-s";
    options->openocd[options->n_openocd++] = text;
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
        return check_events(text, error) && add_word(options->events, &options->n_events, text, typed, error);
    case OPTION_METRIC:
        return add_word(options->metrics, &options->n_metrics, text, typed, error);
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
