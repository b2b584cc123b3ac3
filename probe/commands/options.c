#include "commands/options.h"

#include "commands/values.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum kind {
    TEXT,
    NUMBER_CORE,
    FREQUENCY,
    COUNT,
    MILLISECONDS,
    SECONDS,
    FLAG,
    VERBOSE,
    OPENOCD,
    EVENTS,
    METRICS,
    FORMAT,
    JSON,
    CSV,
    PLACE,
    PROCESS
};

struct option {
    char letter;
    const char *name, *value;
    enum kind kind;
    size_t offset;
    const char *help;
};

#define AT(member) offsetof(struct options, member)

static const struct option table[] = {
    {'p', "probe", "PROBE", TEXT, AT(probe),
     "openocd[:HOST[:PORT]], cmsis-dap[:SERIAL], cmsis-dap-tcp:HOST[:PORT], gdb:HOST:PORT, msr[:CPU] or "
     "msr-agent:HOST[:PORT]"},
    {0, "counters", "PROBE", TEXT, AT(counters),
     "msr[:CPU] or msr-agent:HOST[:PORT]: delta takes the counters there, --probe does the run control"},
    {0, "transport", "WIRES", TEXT, AT(transport), "cmsis-dap: swd or jtag; default: what answers"},
    {0, "speed", "HZ", FREQUENCY, AT(speed_hz), "cmsis-dap: the clock on the wires; default: what they take"},
    {'f', "file", "FILE", OPENOCD, 0, "start an OpenOCD of our own with this file"},
    {'c', "tcl", "TCL", OPENOCD, 0, "... and this command, as OpenOCD's own -c"},
    {'s', "search", "DIR", OPENOCD, 0, "... and this folder to look for files, as OpenOCD's own -s"},
    {0, "elf", "FILE", TEXT, AT(elf), "the program on the target, for names and lines"},
    {'a', "all-cpus", NULL, FLAG, AT(all_cpus),
     "stat, watch: all CPUs of a Knights Corner card, with sums a core"},
    {'C', "core", "N", NUMBER_CORE, AT(core), "which core, as info numbers them"},
    {0, "counter", "BLOCK", TEXT, AT(counter), "dwt or systick; default: the best there is"},
    {0, "debug-base", "AP:ADDR", PLACE, AT(debug_base),
     "a core's debug registers, where no ROM table names them"},
    {0, "pmu-base", "AP:ADDR", PLACE, AT(pmu_base), "... and its PMU"},
    {0, "cti", "AP:ADDR", PLACE, AT(cti), "... and its cross trigger interface"},
    {0, "divide64", NULL, FLAG, AT(divide64),
     "the PMU's cycle counter moves every 64th cycle: wraps later, says less"},
    {0, "freq", "HZ", FREQUENCY, AT(freq_hz),
     "the core's clock (12M, 125MHz), when the program does not tell"},
    {'e', "event", "EVENTS", EVENTS, 0,
     "what to count, by name or raw code (r11): A,B,{C,D}; braces: in one pass"},
    {'M', "metric", "METRIC", METRICS, 0, "what to compute of them, as list shows; or a file of metrics"},
    {'r', "repeat", "N", COUNT, AT(hits),
     "exactly N hits of each pass; default: up to 100, or 2 s after the first"},
    {'I', "interval", "MS", MILLISECONDS, AT(interval_ms),
     "watch: time between lines, default 1000; stat: a line so often"},
    {0, "for", "TIME", SECONDS, AT(for_s), "watch, stat: how long, default until Ctrl-C"},
    {0, "timeout", "S", SECONDS, AT(timeout_s), "to wait for the start, and then for the end; default 10"},
    {0, "context", "ID", PROCESS, AT(process),
     "delta, calibrate: only where CONTEXTIDR is ID; or any: user mode, in whatever process"},
    {0, "tick", "SYMBOL", TEXT, AT(tick),
     "the program's tick variable: tells how often a SysTick wrapped that reloads fast"},
    {0, "on-max", "WORDS", TEXT, AT(on_max),
     "delta: r0,sp,lr,*0x20000000,variable,...: shown as they were at each new maximum"},
    {0, "baseline", "FILE", TEXT, AT(baseline), "delta: compare with an earlier run's JSON lines"},
    {0, "threshold", "PART", TEXT, AT(threshold), "... allowed slowdown, such as 2% or 0.02; default 0"},
    {0, "any-elf", NULL, FLAG, AT(any_elf), "... although that run's ELF has another name"},
    {0, "cpu", "NAME", TEXT, AT(cpu), "list: the events of this core (cortex-a9, dwt, ...)"},
    {0, "mend", NULL, FLAG, AT(mend), "doctor: mend it, and leave it so"},
    {0, "resume", NULL, FLAG, AT(resume), "let a halted core run, measure, and halt it again"},
    {0, "reset", NULL, FLAG, AT(reset), "delta: reset the target, and measure from there on"},
    {0, "halt", NULL, FLAG, AT(halt), "reset: stop at the first instruction"},
    {0, "no-calibrate", NULL, FLAG, AT(no_calibrate),
     "do not measure what a halt adds, and do not remove it"},
    {'j', "json", NULL, JSON, 0, "JSON lines instead of text"},
    {'x', "separator", "SEP", CSV, 0, "CSV with this character between fields"},
    {0, "format", "FORMAT", FORMAT, 0, "text, json, csv, junit or markdown"},
    {'o', "output", "FILE", TEXT, AT(output), "write there instead of to standard output"},
    {'v', "verbose", NULL, VERBOSE, AT(verbose),
     "tell on standard error what is connected to; -vv: all that is sent and comes back"},
    {'h', "help", NULL, FLAG, AT(help), "this text"},
    {0, "version", NULL, FLAG, AT(version), "the version"},
};

enum { OPTIONS = sizeof table / sizeof *table };

static bool add_word(const char **words, size_t *n, const char *text, const struct option *option,
                     struct error *error)
{
    if (*n == OPTION_EVENTS)
        return error_set(error, ERROR_USAGE, "more than %d times --%s", OPTION_EVENTS, option->name);
    words[(*n)++] = text;
    return true;
}

static bool store(struct options *options, const struct option *option, const char *text, struct error *error)
{
    static const char *const hz_units[] = {"", "hz", "k", "khz", "m", "mhz", "g", "ghz", NULL};
    static const double hz_scales[] = {1, 1, 1e3, 1e3, 1e6, 1e6, 1e9, 1e9};
    static const char *const s_units[] = {"", "s", "ms", "m", "min", NULL};
    static const double s_scales[] = {1, 1, 1e-3, 60, 60};
    void *at = (char *)options + option->offset;
    uint64_t count = 0;
    double value = 0;
    bool ok = true;
    switch (option->kind) {
    case TEXT:
        *(const char **)at = text;
        break;
    case NUMBER_CORE:
        ok = value_count(text, 1000, &count);
        *(int *)at = (int)count;
        break;
    case FREQUENCY:
        ok = value_scaled(text, hz_units, hz_scales, &value) && value > 0 && value < 1e11;
        *(double *)at = value;
        break;
    case COUNT:
        ok = value_count(text, UINT64_MAX / 8, &count) && count > 0;
        *(uint64_t *)at = count;
        break;
    case MILLISECONDS:
        ok = value_count(text, 86400000, &count) && count > 0;
        *(int64_t *)at = (int64_t)count;
        break;
    case SECONDS:
        ok = value_scaled(text, s_units, s_scales, &value) && value > 0 && value < 1e7;
        *(double *)at = value;
        break;
    case FLAG:
        *(bool *)at = true;
        break;
    case VERBOSE:
        ++*(unsigned *)at;
        break;
    case EVENTS:
        return add_word(options->events, &options->n_events, text, option, error);
    case METRICS:
        return add_word(options->metrics, &options->n_metrics, text, option, error);
    case JSON:
        options->format = FORMAT_JSON;
        break;
    case CSV:
        ok = text[0] != '\0' && text[1] == '\0' && strchr("\"\r\n", text[0]) == NULL;
        options->separator = text;
        options->format = FORMAT_CSV;
        break;
    case FORMAT:
        ok = value_format(text, &options->format);
        break;
    case PLACE:
        ok = value_place(text, at);
        break;
    case PROCESS:
        ok = value_process(text, at);
        break;
    case OPENOCD:
        if (options->n_openocd + 2 > OPTION_WORDS)
            return error_set(error, ERROR_USAGE, "too many options for OpenOCD");
        options->openocd[options->n_openocd++] = option->letter == 'f'   ? "-f"
                                                 : option->letter == 'c' ? "-c"
                                                                         : "-s";
        options->openocd[options->n_openocd++] = text;
        break;
    }
    if (!ok)
        return error_set(error, ERROR_USAGE, "--%s wants %s, not \"%.64s\"", option->name, option->value,
                         text);
    return true;
}

static bool is_flag(const struct option *option)
{
    return option->value == NULL;
}

static const struct option *find_option(const char *name, size_t length)
{
    for (size_t i = 0; i < OPTIONS; i++)
        if (strlen(table[i].name) == length && memcmp(table[i].name, name, length) == 0)
            return &table[i];
    return NULL;
}

static const struct option *find_letter(char letter)
{
    for (size_t i = 0; i < OPTIONS; i++)
        if (table[i].letter == letter)
            return &table[i];
    return NULL;
}

static bool read_argument(struct options *options, bool *said, int argc, char **argv, int *i,
                          struct error *error)
{
    const char *word = argv[*i], *value = NULL;
    const struct option *option;
    if (word[1] == '-') {
        size_t length = strcspn(word + 2, "=");
        option = find_option(word + 2, length);
        value = word[2 + length] == '=' ? word + 2 + length + 1 : NULL;
    } else {
        option = find_letter(word[1]);
        value = word[2] != '\0' ? word + 2 : NULL;
    }
    if (option == NULL)
        return error_set(error, ERROR_USAGE, "there is no option %.64s", word);
    for (; option->kind == VERBOSE && value != NULL && *value == option->letter && word[1] != '-'; value++)
        options->verbose++; /* -vv */
    if (option->kind == VERBOSE && value != NULL && *value == '\0' && word[1] != '-')
        value = NULL;
    if (is_flag(option) && value != NULL)
        return error_set(error, ERROR_USAGE, "--%s takes no value", option->name);
    if (!is_flag(option) && value == NULL) {
        if (*i + 1 >= argc)
            return error_set(error, ERROR_USAGE, "%.64s wants %s behind it", word, option->value);
        value = argv[++*i];
    }
    said[option - table] = true;
    return store(options, option, value != NULL ? value : "", error);
}

static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    return text;
}

static bool read_config_line(struct options *options, const bool *said, char *line, unsigned number,
                             struct error *error)
{
    char *key = trim(line);
    if (*key == '\0' || *key == '#')
        return true;
    char *equals = strchr(key, '=');
    char *value = equals != NULL ? trim(equals + 1) : NULL;
    if (equals != NULL)
        *equals = '\0';
    key = trim(key);
    const struct option *option = find_option(key, strlen(key));
    if (option == NULL)
        return error_set(error, ERROR_USAGE, "pmu-probe.conf:%u: there is no option \"%.64s\"", number, key);
    if (is_flag(option) && value != NULL)
        return error_set(error, ERROR_USAGE, "pmu-probe.conf:%u: %s takes no value", number, option->name);
    if (!is_flag(option) && value == NULL)
        return error_set(error, ERROR_USAGE, "pmu-probe.conf:%u: %s = %s is wanted", number, option->name,
                         option->value);
    if (said[option - table] ||
        (option->kind == TEXT && *(char **)((char *)options + option->offset) != NULL))
        return true;
    return store(options, option, value != NULL ? value : "", error) ||
           error_prefix(error, "pmu-probe.conf:%u: ", number);
}

static bool read_config(struct options *options, const bool *said, struct error *error)
{
    enum { LARGEST = 65536 };
    FILE *file = fopen("pmu-probe.conf", "re");
    if (file == NULL)
        return true;
    char *text = options->config = calloc(1, LARGEST + 1);
    size_t length = text != NULL ? fread(text, 1, LARGEST, file) : 0;
    bool whole = feof(file) != 0;
    fclose(file);
    if (text == NULL || !whole)
        return error_set(error, ERROR_USAGE, "pmu-probe.conf cannot be read, or is larger than 64 KiB");
    text[length] = '\0';
    unsigned number = 0;
    for (char *line = text; line != NULL;) {
        char *next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        if (!read_config_line(options, said, line, ++number, error))
            return false;
        line = next;
    }
    return true;
}

bool options_read(struct options *options, int argc, char **argv, struct error *error)
{
    bool said[OPTIONS] = {false}, only_operands = false;
    *options = (struct options){.core = -1, .interval_ms = 1000, .timeout_s = 10, .separator = ","};
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (!only_operands && strcmp(word, "--") == 0) {
            only_operands = true;
        } else if (!only_operands && word[0] == '-' && word[1] != '\0') {
            if (!read_argument(options, said, argc, argv, &i, error))
                return false;
        } else if (options->command == NULL) {
            options->command = word;
        } else if (options->n_operands < OPTION_OPERANDS) {
            options->operands[options->n_operands++] = word;
        } else {
            return error_set(error, ERROR_USAGE, "unexpected argument \"%.64s\"", word);
        }
    }
    const char *from_environment = getenv("PMU_PROBE");
    if (options->probe == NULL && from_environment != NULL && *from_environment != '\0')
        options->probe = from_environment;
    bool format_said = false;
    for (size_t i = 0; i < OPTIONS; i++) {
        enum kind kind = table[i].kind;
        options->interval_said = options->interval_said || (said[i] && kind == MILLISECONDS);
        format_said = format_said || (said[i] && (kind == JSON || kind == CSV || kind == FORMAT));
    }
    bool openocd_said = options->n_openocd > 0;
    for (size_t i = 0; openocd_said && i < OPTIONS; i++)
        said[i] = said[i] || table[i].kind == OPENOCD;
    enum format format = options->format;
    bool read = read_config(options, said, error);
    if (format_said) /* in whatever words */
        options->format = format;
    return read;
}

void options_free(struct options *options)
{
    free(options->config);
    options->config = NULL;
}

void options_print(FILE *out)
{
    for (size_t i = 0; i < OPTIONS; i++) {
        char left[64];
        int used = snprintf(left, sizeof left, table[i].letter ? "-%c, " : "    ", table[i].letter);
        snprintf(left + used, sizeof left - (size_t)used, "--%s%s%s", table[i].name,
                 table[i].value ? " " : "", table[i].value ? table[i].value : "");
        fprintf(out, "  %-24s%s\n", left, table[i].help);
    }
}
