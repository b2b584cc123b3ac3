#include "commands/options.h"

#include "commands/command.h"
#include "links/msr/msr.h"
#include "report/terminal.h"
#include "symbols/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Who said an option, strongest first. */
enum source { SOURCE_NONE, SOURCE_USER, SOURCE_FOLDER, SOURCE_OWN };

/* The state of reading; `typed` has each option as it stands on the command line, "" if it does not. */
struct reader {
    struct options *options;
    char typed[OPTION_MOST][24];
    enum source sources[OPTION_MOST];
    bool skips_refused; /* lines that a pmu-probe.conf must not have */
    enum command_id command;
    bool has_command;
    const struct option *waiting; /* the last word, which needs a value after it; NULL: it needs none */
    struct error *error;
};

static bool was_given(const struct reader *r, const struct option *option)
{
    return r->sources[option - option_table] == SOURCE_USER;
}

/* As it is called in errors. */
static void note_given(struct reader *r, const struct option *option, const char *as)
{
    r->sources[option - option_table] = SOURCE_USER;
    snprintf(r->typed[option - option_table], sizeof r->typed[0], "%s", as);
}

static bool is_for(const struct reader *r, const struct option *option)
{
    return !r->has_command || (option->commands >> r->command & 1) != 0;
}

static bool is_flag(const struct option *option)
{
    return option->value == NULL;
}

/* ---- the command line */

/* `before` is "--" on the command line. */
static const char *find_near(const char *name, size_t length, const char *before, char *out, size_t size)
{
    struct near near;
    near_init(&near, name, length);
    for (size_t i = 0; i < option_count; i++) {
        char offered[32];
        snprintf(offered, sizeof offered, "%s%s", before, option_table[i].name);
        near_offer(&near, offered);
    }
    return near_text(&near, out, size);
}

static bool refuse_unknown(const char *word, struct error *error)
{
    char room[384];
    size_t length = strcspn(word, "=");
    return error_set(error, ERROR_USAGE, "unknown option %.*s%s", (int)(length < 64 ? length : 64), word,
                     word[1] == '-' ? find_near(word, length, "--", room, sizeof room) : "");
}

/* -c is OpenOCD's, for a command in Tcl, and as perf has it, for a number. */
static const struct option *tell_apart(const struct option *option, const char *value)
{
    uint64_t number;
    return option != NULL && option->letter == 'c' && value != NULL && value_many(value, UINT64_MAX, &number)
               ? option_find("count", strlen("count"))
               : option;
}

static bool read_argument(struct reader *r, int argc, char **argv, int *i)
{
    const char *word = argv[*i], *value = NULL;
    const struct option *option;
    char typed[sizeof r->typed[0]];
    if (word[1] == '-') {
        size_t length = strcspn(word + 2, "=");
        option = option_find(word + 2, length);
        value = word[2 + length] == '=' ? word + 2 + length + 1 : NULL;
        snprintf(typed, sizeof typed, "--%s", option != NULL ? option->name : "");
    } else {
        option = option_find_letter(word[1]);
        value = word[2] != '\0' ? word + 2 : NULL;
        option = tell_apart(option, value != NULL ? value : *i + 1 < argc ? argv[*i + 1] : NULL);
        snprintf(typed, sizeof typed, "-%c", word[1]);
    }
    if (option == NULL)
        return refuse_unknown(word, r->error);
    bool counts = option->kind == OPTION_VERBOSE && word[1] != '-';
    for (; counts && value != NULL && *value == option->letter; value++)
        r->options->verbose++; /* -vv */
    if (counts && value != NULL && *value == '\0')
        value = NULL;
    if (is_flag(option) && value != NULL)
        return error_set(r->error, ERROR_USAGE, "%s takes no value; got \"%.64s\"", typed, value);
    if (!is_flag(option) && value == NULL) {
        const struct option_words *words = &option_words[option->kind];
        if (*i + 1 >= argc) {
            r->waiting = option;
            return error_set(r->error, ERROR_USAGE, "%s needs %s after it: %s %s", typed, words->noun, typed,
                             words->example != NULL ? words->example : option->value);
        }
        value = argv[++*i];
    }
    note_given(r, option, typed);
    return option_store(r->options, option, typed, value != NULL ? value : "", r->error);
}

static bool read_words(struct reader *r, int argc, char **argv)
{
    struct options *options = r->options;
    bool only_operands = false;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (!only_operands && strcmp(word, "--") == 0) {
            only_operands = true;
        } else if (!only_operands && word[0] == '-' && word[1] != '\0') {
            if (!read_argument(r, argc, argv, &i))
                return false;
        } else if (options->command == NULL) {
            options->command = word;
        } else if (options->n_operands < OPTION_OPERANDS) {
            options->operands[options->n_operands++] = word;
        } else {
            return error_set(r->error, ERROR_USAGE, "unexpected argument \"%.64s\"", word);
        }
    }
    return true;
}

/* ---- what goes together */

/* The commands `help`, `help NAME` and `version` mean the same as the options. */
static void take_words_for_options(struct options *options)
{
    if (options->command != NULL && strcmp(options->command, "help") == 0) {
        options->help = true;
        options->command = options->n_operands > 0 ? options->operands[0] : NULL;
        options->n_operands = 0;
    } else if (options->command != NULL && strcmp(options->command, "version") == 0) {
        options->version = true;
        options->command = NULL;
    }
}

static bool check_operands(const struct reader *r)
{
    const struct options *options = r->options;
    const struct command *command = &commands[r->command];
    if (options->n_operands > command->most)
        return error_set(r->error, ERROR_USAGE, "unexpected argument \"%.64s\": %s takes %s",
                         options->operands[command->most], command->name,
                         command->operands[0] != '\0' ? command->operands : "options only");
    return options->n_operands >= command->least ||
           error_set(r->error, ERROR_USAGE, "%s needs %s", command->name, command->needs);
}

static bool sets_format(const struct option *option)
{
    return option->kind == OPTION_JSON || option->kind == OPTION_CSV || option->kind == OPTION_FORMAT;
}

static bool has_format(const struct reader *r)
{
    return !r->has_command || (commands[r->command].formats >> r->options->format & 1) != 0;
}

static bool refuse_format(const struct reader *r)
{
    const char *typed = "";
    static const char *const names[] = {
        "text", "JSON", "CSV", "JUnit", "Markdown", "folded stacks", "pprof", "callgrind", "perf script text",
        "HTML"};
    char list[112];
    size_t used = 0;
    unsigned formats = commands[r->command].formats;
    list[0] = '\0';
    for (unsigned i = 0; i < sizeof names / sizeof *names && used < sizeof list; i++)
        if ((formats >> i & 1) != 0)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
                                     used == 0                 ? ""
                                     : formats >> (i + 1) == 0 ? " or "
                                                               : ", ",
                                     names[i]);
    for (size_t i = 0; i < option_count; i++)
        if (was_given(r, &option_table[i]) && sets_format(&option_table[i]))
            typed = r->typed[i];
    return error_set(r->error, ERROR_USAGE, "%s: %s prints %s, not %s", typed, commands[r->command].name,
                     list, names[r->options->format]);
}

/* GDB's scripts name their own link for every command. */
static bool is_gdbs_own(const struct reader *r, const struct option *option)
{
    return strcmp(option->name, "probe") == 0 && r->options->probe != NULL &&
           strncmp(r->options->probe, "door:", strlen("door:")) == 0;
}

static bool check_rivals(const struct reader *r)
{
    const char *why;
    for (size_t i = 0; i < option_count; i++)
        for (size_t k = i + 1; k < option_count; k++) {
            const struct option *one = &option_table[i], *other = &option_table[k];
            if (was_given(r, one) && was_given(r, other) && !is_gdbs_own(r, one) &&
                !option_goes_with(one, other, &why))
                return error_set(r->error, ERROR_USAGE, "%s and %s: %s; leave one of them out", r->typed[i],
                                 r->typed[k], why);
        }
    return true;
}

static bool check_given(const struct reader *r)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];
        if (was_given(r, option) && !is_for(r, option) && (!sets_format(option) || has_format(r)))
            return option_refuse(option, r->typed[i], r->command, r->error);
    }
    return has_format(r) ? check_rivals(r) : refuse_format(r);
}

/* ---- pmu-probe.conf */

static bool are_named(const struct option *one, const char *name, const struct option *other,
                      const char *its_name)
{
    return strcmp(one->name, name) == 0 && strcmp(other->name, its_name) == 0;
}

/* Whether a stronger `said` leaves nothing for `option` to say. */
static bool takes_place(const struct reader *r, const struct option *said, const struct option *option)
{
    const char *why, *probe = r->options->probe;
    bool openocd = said->kind == OPTION_OPENOCD && option->kind == OPTION_OPENOCD;
    /* A separator may go with a format from the command line */
    bool formats = sets_format(said) && sets_format(option) && !was_given(r, said);
    bool limits = are_named(said, "for", option, "repeat") || are_named(said, "repeat", option, "for");
    bool counters = are_named(said, "probe", option, "counters") && probe != NULL && msr_spec_is(probe);
    return said == option || openocd || formats || limits || counters ||
           !option_goes_with(option, said, &why);
}

/* Whether a line of this pmu-probe.conf counts. */
static bool is_wanted(const struct reader *r, const struct option *option, enum source source)
{
    bool wanted = is_for(r, option);
    for (size_t i = 0; i < option_count && wanted; i++)
        wanted = r->sources[i] == SOURCE_NONE || r->sources[i] >= source ||
                 !takes_place(r, &option_table[i], option);
    /* The first of several lines counts */
    return wanted && (option->kind != OPTION_TEXT || *(char **)((char *)r->options + option->offset) == NULL);
}

static bool belongs_to_the_command_line(const struct option *option)
{
    return option->offset == offsetof(struct options, help) ||
           option->offset == offsetof(struct options, version) ||
           option->offset == offsetof(struct options, trust_conf);
}

static bool check_line(const struct option *option, const char *key, const char *value, struct error *error)
{
    char room[384];
    if (option == NULL)
        return error_set(error, ERROR_USAGE, "unknown option \"%.64s\"%s", key,
                         find_near(key, strlen(key), "", room, sizeof room));
    if (belongs_to_the_command_line(option))
        return error_set(error, ERROR_USAGE, "%s belongs to the command line", option->name);
    if (is_flag(option) && value != NULL)
        return error_set(error, ERROR_USAGE, "%s takes no value", option->name);
    return is_flag(option) || value != NULL ||
           error_set(error, ERROR_USAGE, "write %s = %s", option->name, option->value);
}

static bool refuse_act(const struct option *option, const char *does, struct error *error)
{
    return error_advise(error, ERROR_USAGE,
                        "If you trust it, add --trust-conf; or write the line into your own "
                        "~/.config/pmu-probe/pmu-probe.conf.",
                        "%s %s, which a file that came with a folder must not", option->name, does);
}

static bool read_line(struct reader *r, enum source source, bool trusted, const char *key, const char *value)
{
    const struct option *option = option_find(key, strlen(key));
    if (!check_line(option, key, value, r->error))
        return false;
    const char *text = value != NULL ? value : "", *does = option_acts(option, text);
    bool wanted = is_wanted(r, option, source), refused = wanted && does != NULL && !trusted;
    if (refused && r->skips_refused)
        return true;
    if (refused)
        return refuse_act(option, does, r->error);
    if (wanted)
        r->sources[option - option_table] = source;
    /* A line that does not count must be right all the same */
    struct options unwanted = *r->options;
    return option_store(wanted ? r->options : &unwanted, option, option->name, text, r->error);
}

static bool read_conf(struct reader *r, enum conf_which which, bool *has_own)
{
    struct conf conf;
    struct options *options = r->options;
    char *key, *value;
    bool ok = conf_open(&conf, which, options->trust_conf, r->error);
    options->confs[which] = conf.text;
    if (!ok)
        return false;
    *has_own = conf.is_own;
    while (conf_next(&conf, &key, &value))
        if (!read_line(r, which == CONF_OWN ? SOURCE_OWN : SOURCE_FOLDER, conf.is_own || options->trust_conf,
                       key, value))
            return error_prefix(r->error, "%s:%u: ", conf.name, conf.line);
    return true;
}

static bool read_confs(struct reader *r)
{
    bool has_own = false;
    return read_conf(r, CONF_FOLDER, &has_own) && (has_own || read_conf(r, CONF_OWN, &has_own));
}

/* What commands want to know of the command line itself. Returns whether a format is on it. */
static bool note_said(struct reader *r)
{
    bool format = false;
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];
        bool given = was_given(r, option);
        format = format || (given && sets_format(option));
        r->options->interval_said =
            r->options->interval_said || (given && option->kind == OPTION_MILLISECONDS);
        r->options->wires_said =
            r->options->wires_said || (given && (option->kind == OPTION_SPEED ||
                                                 option->offset == offsetof(struct options, transport) ||
                                                 option->offset == offsetof(struct options, packets)));
    }
    return format;
}

/* After the command line: the environment, then the files. */
static bool read_the_rest(struct reader *r)
{
    struct options *options = r->options;
    const struct option *probe = option_find("probe", strlen("probe"));
    const char *from_environment = getenv("PMU_PROBE");
    bool threshold_given = options->threshold != NULL, any_elf_given = options->any_elf,
         format_given = note_said(r);
    if (!was_given(r, probe) && options->n_openocd == 0 && is_for(r, probe) && from_environment != NULL &&
        *from_environment != '\0') {
        options->probe = options->typed.probe = from_environment;
        note_given(r, probe, "$PMU_PROBE");
    }
    enum format format = options->format;
    if (!read_confs(r))
        return false;
    if (format_given || !has_format(r))
        options->format = format;
    bool compares = options->baseline != NULL || r->command == COMMAND_COMPARE;
    if (!threshold_given && !compares)
        options->threshold = NULL;
    options->any_elf = options->any_elf && (any_elf_given || compares);
    return true;
}

bool options_read(struct options *options, int argc, char **argv, struct error *error)
{
    struct reader reader = {.options = options, .error = error}, *r = &reader;
    *options = (struct options){.core = -1, .interval_ms = 1000, .timeout_s = 10, .separator = ","};
    if (!read_words(r, argc, argv))
        return false;
    take_words_for_options(options);
    if (options->command != NULL) {
        const struct command *command = command_find(options->command, error);
        if (command == NULL)
            return false;
        r->command = (enum command_id)(command - commands);
        r->has_command = true;
    }
    if (options->help || options->version || !r->has_command)
        return true;
    if (!check_operands(r) || !check_given(r) || !read_the_rest(r))
        return false;
    if (r->command == COMMAND_RECORD && options->output == NULL)
        options->output = PROFILE_NAME;
    options->typed.n = argc;
    options->typed.words = argv;
    options->typed.has_conf = options->confs[CONF_FOLDER] != NULL || options->confs[CONF_OWN] != NULL;
    return true;
}

const struct option *options_read_partly(struct options *options, int argc, char **argv)
{
    struct error ignored = {0};
    struct reader reader = {.options = options, .error = &ignored}, *r = &reader;
    *options = (struct options){.core = -1};
    read_words(r, argc, argv);
    for (size_t i = 0; options->command != NULL && i < COMMANDS && !r->has_command; i++) {
        r->has_command = strcmp(commands[i].name, options->command) == 0;
        r->command = (enum command_id)i;
    }
    error_clear(&ignored);
    r->skips_refused = true;
    read_confs(r);
    return r->waiting;
}

void options_free(struct options *options)
{
    for (int i = 0; i < CONFS; i++) {
        free(options->confs[i]);
        options->confs[i] = NULL;
    }
}

enum {
    PROBES = 1 << COMMAND_PROBES,
    INFO = 1 << COMMAND_INFO,
    DELTA = 1 << COMMAND_DELTA,
    SURVEY = 1 << COMMAND_SURVEY,
    LINES = 1 << COMMAND_LINES,
    STAT = 1 << COMMAND_STAT,
    WATCH = 1 << COMMAND_WATCH,
    RECORD = 1 << COMMAND_RECORD,
    TOP = 1 << COMMAND_TOP,
    GUARD = 1 << COMMAND_GUARD,
    DOCTOR = 1 << COMMAND_DOCTOR,
    STUB = 1 << COMMAND_STUB,
    CALIBRATE = 1 << COMMAND_CALIBRATE,
    LIST = 1 << COMMAND_LIST,
    REPORT = 1 << COMMAND_REPORT,
    ANNOTATE = 1 << COMMAND_ANNOTATE,
    READING = REPORT | ANNOTATE, /* they read what record wrote */
    HISTORY = 1 << COMMAND_HISTORY,
    COMPARE = 1 << COMMAND_COMPARE,
    RESTORE = 1 << COMMAND_RESTORE,
    RELEASE = 1 << COMMAND_RELEASE,
    RESET = 1 << COMMAND_RESET,
    SERVE = 1 << COMMAND_SERVE,
    ALL = (1 << COMMANDS) - 1,
    LINKED = ALL & ~(READING | HISTORY | COMPARE),                /* they reach for a target */
    TARGET = LINKED & ~(PROBES | RESTORE),                        /* they look at a core */
    PROGRAM = (TARGET | RESTORE | READING) & ~LIST,               /* and at what it runs */
    COUNTING = DELTA | SURVEY | STAT | WATCH | CALIBRATE | SERVE, /* they count events there */
    TAKING = COUNTING | LINES | DOCTOR                            /* they take its counters */
};

#define AT(member) offsetof(struct options, member)

const struct option option_table[] = {
    {'p', "probe", "PROBE", OPTION_TEXT, AT(probe), LINKED,
     "openocd[:HOST[:PORT]], cmsis-dap[:SERIAL], cmsis-dap:usb:PORT, cmsis-dap-tcp:HOST[:PORT], "
     "gdb:HOST:PORT, msr[:CPU] or msr-agent:HOST[:PORT]"},
    {0, "counters", "PROBE", OPTION_TEXT, AT(counters),
     PROBES | INFO | DELTA | SURVEY | DOCTOR | LIST | RESTORE,
     "msr[:CPU] or msr-agent:HOST[:PORT]: read the counters there, and let --probe do the run control"},
    {0, "transport", "WIRES", OPTION_TEXT, AT(transport), LINKED,
     "cmsis-dap: swd or jtag; default: what answers"},
    {0, "speed", "HZ", OPTION_SPEED, AT(speed_hz), LINKED,
     "cmsis-dap: SWD or JTAG clock; default: the fastest that works"},
    {0, "packets", "N", OPTION_COUNT, AT(packets), LINKED,
     "cmsis-dap: packets in flight at most; default: as many as its firmware can take"},
    {'f', "file", "FILE", OPTION_OPENOCD, 0, LINKED, "start OpenOCD with this file"},
    {'c', "tcl", "TCL", OPTION_OPENOCD, 0, LINKED, "start OpenOCD with this command, its -c"},
    {'s', "search", "DIR", OPTION_OPENOCD, 0, LINKED, "start OpenOCD with this folder for files, its -s"},
    {0, "elf", "FILE", OPTION_TEXT, AT(elf), PROGRAM, "the program on the target, for names and lines"},
    {'C', "core", "N", OPTION_CORE, AT(core), TARGET, "which core, as info numbers them"},
    {'a', "all-cpus", NULL, OPTION_FLAG, AT(all_cpus), STAT | WATCH | RECORD | TOP,
     "record and top: all cores of the target, by turns; stat and watch: all CPUs of a Knights Corner card"},
    {0, "counter", "BLOCK", OPTION_TEXT, AT(counter), TAKING,
     "dwt, systick or pmu; default: the best there is"},
    {0, "debug-base", "AP:ADDR", OPTION_PLACE, AT(debug_base), TARGET,
     "base of a core's debug registers, if no ROM table lists them"},
    {0, "pmu-base", "AP:ADDR", OPTION_PLACE, AT(pmu_base), TARGET, "the base of the PMU, as --debug-base"},
    {0, "cti", "AP:ADDR", OPTION_PLACE, AT(cti), TARGET,
     "the base of the cross trigger interface, as --debug-base"},
    {0, "divide64", NULL, OPTION_FLAG, AT(divide64), TAKING,
     "count every 64th cycle: the counter wraps later and is less exact"},
    {0, "freq", "HZ", OPTION_FREQUENCY, AT(freq_hz), TAKING | GUARD,
     "the core's clock (12M, 125MHz), if the program has no SystemCoreClock"},
    {'e', "event", "EVENTS", OPTION_EVENT, 0, COUNTING | RECORD,
     "what to count, by name or raw code (r11, 0x11): A,B,{C,D}; braces: in one pass; record: what stops the "
     "core"},
    {0, "count", "N", OPTION_COUNT, AT(every), RECORD,
     "-c N: stop the core behind every N events of -e (10k; default: of CPU_CYCLES) and sample where it is; "
     "-e alone: some hundred times a second"},
    {'g', "call-graph", NULL, OPTION_FLAG, AT(stacks), RECORD | REPORT,
     "record: keep the call stack of each sample (with -c N, and --elf); report: the tree of calls"},
    {'M', "metric", "METRICS", OPTION_METRIC, 0, DELTA | SURVEY | STAT | WATCH,
     "what to compute from the counts: A,B as list shows them, or a file of metrics"},
    {'r', "repeat", "N", OPTION_COUNT, AT(hits), DELTA | SURVEY | LINES | GUARD,
     "number of hits (200, 10k), of each function; default: 100 or 2 s, whichever comes first; survey: as "
     "many as come; guard: of overruns, default 1"},
    {0, "budget", "BUDGET", OPTION_TEXT, AT(budget), GUARD,
     "what a call may use: cycles (1200), a time (40us), or \"10 L1D_CACHE_REFILL\""},
    {0, "keep", NULL, OPTION_FLAG, AT(keep), GUARD, "leave the core halted at the last overrun"},
    {0, "for", "TIME", OPTION_SECONDS, AT(for_s),
     DELTA | SURVEY | LINES | STAT | WATCH | RECORD | TOP | GUARD,
     "how long to count (500ms, 2s, 1h); default: until Ctrl-C; delta: at most so long, but at least one "
     "hit; survey: for all functions together, default four turns of 250 ms each"},
    {0, "hot", "N", OPTION_COUNT, AT(hot), SURVEY | ANNOTATE,
     "the N functions in which samples find the core most often; annotate: the N lines, the hottest first"},
    {0, "warmup", "N", OPTION_COUNT, AT(warmup), DELTA, "measure N hits first, and do not count them"},
    {0, "precision", "PART", OPTION_PART, AT(precision), DELTA,
     "end when half of the mean's 95 % interval is that small (1%, 0.01); at most -r N hits, or --for TIME, "
     "default 1min"},
    {'I', "interval", "TIME", OPTION_MILLISECONDS, AT(interval_ms), STAT | WATCH | TOP,
     "time between lines (200ms, 1s; a plain number is in ms); watch and top: default 1s"},
    {0, "timeout", "TIME", OPTION_SECONDS, AT(timeout_s), DELTA | LINES | GUARD | CALIBRATE | DOCTOR,
     "give up when the start or the end is not reached within this time (default 10s)"},
    {0, "context", "ID", OPTION_PROCESS, AT(process), DELTA | SURVEY | LINES | GUARD | CALIBRATE | DOCTOR,
     "count only while CONTEXTIDR is ID; any: user mode, in any process"},
    {0, "tick", "SYMBOL", OPTION_TEXT, AT(tick), DELTA | SURVEY,
     "the program's tick variable, which shows how often a fast SysTick wrapped"},
    {0, "on-max", "WORDS", OPTION_TEXT, AT(on_max), DELTA,
     "r0,sp,lr,*0x20000000,variable,...: show them as they were at each new maximum"},
    {0, "outliers", "N", OPTION_COUNT, AT(outliers), DELTA,
     "show registers and call stack at the end of the N slowest hits, at most 64"},
    {0, "no-calibrate", NULL, OPTION_FLAG, AT(no_calibrate), DELTA | SURVEY | GUARD | SERVE,
     "do not measure and remove what a halt adds"},
    {0, "baseline", "FILE", OPTION_TEXT, AT(baseline), DELTA | SURVEY,
     "compare with an earlier run's JSON lines"},
    {0, "threshold", "PART", OPTION_TEXT, AT(threshold), DELTA | SURVEY | COMPARE,
     "allowed slowdown against the baseline (2%, 0.02); default 0"},
    {0, "any-elf", NULL, OPTION_FLAG, AT(any_elf), DELTA | SURVEY | COMPARE,
     "compare although that run's ELF has another name"},
    {0, "regions", "FILE", OPTION_TEXT, AT(regions), SURVEY, "the regions of this file, and their budgets"},
    {0, "boards", "FILE", OPTION_TEXT, AT(boards), SURVEY,
     "on each board of this file at the same time; a line: NAME PROBE ELF OPTIONS"},
    {0, "check", NULL, OPTION_FLAG, AT(check), SURVEY,
     "judge the regions by their budgets: exit code 1 if one is exceeded"},
    {0, "write-regions", "FILE", OPTION_TEXT, AT(write_regions), SURVEY,
     "write a file for --regions, with what was seen"},
    {0, "reset", NULL, OPTION_FLAG, AT(reset), DELTA, "reset the target, and measure from the reset on"},
    {0, "halt", NULL, OPTION_FLAG, AT(halt), RESET, "stop at the first instruction"},
    {0, "resume", NULL, OPTION_FLAG, AT(resume), TAKING | GUARD,
     "let a halted core run, measure, and halt it again"},
    {0, "mend", NULL, OPTION_FLAG, AT(mend), DOCTOR, "repair it, and leave it repaired"},
    {0, "prove", NULL, OPTION_FLAG, AT(prove), DOCTOR,
     "measure, put everything back, and compare the registers with those before"},
    {0, "cpu", "NAME", OPTION_TEXT, AT(cpu), LIST,
     "the events of this core (cortex-a9, cortex-m4, ...), without a target"},
    {0, "sort", "KEY", OPTION_TEXT, AT(sort), TOP | REPORT,
     "shares by function (the default), line, file or address; report: by task, exception or context, too"},
    {0, "task", "VARIABLE", OPTION_TEXT, AT(task), RECORD,
     "the RTOS' variable, or its *ADDRESS, that tells which task runs; FreeRTOS, ThreadX and Zephyr need "
     "none"},
    {0, "diff", "OLD", OPTION_TEXT, AT(diff), REPORT,
     "compare with OLD, which record wrote before: what grew and what shrank"},
    {'j', "json", NULL, OPTION_JSON, 0, ALL & ~(STUB | RECORD | RESTORE | RELEASE | RESET | SERVE),
     "JSON lines instead of text"},
    {'x', "separator", "SEP", OPTION_CSV, 0, DELTA | STAT | REPORT,
     "CSV with this character between fields (\\t: a tab)"},
    {0, "format", "FORMAT", OPTION_FORMAT, 0, ALL & ~SERVE,
     "text, json, csv, junit, markdown, folded, pprof, callgrind, perf or html"},
    {'o', "output", "FILE", OPTION_TEXT, AT(output), ALL & ~SERVE,
     "write to this file instead of standard output; record: default " PROFILE_NAME
     "; guard: a profile of the overruns"},
    {'v', "verbose", NULL, OPTION_VERBOSE, AT(verbose), ALL,
     "print the connection on standard error; -vv: all that is sent and received"},
    {'q', "quiet", NULL, OPTION_FLAG, AT(quiet), ALL, "no progress and no notes on standard error"},
    {0, "trust-conf", NULL, OPTION_FLAG, AT(trust_conf), ALL,
     "let pmu-probe.conf of this folder start OpenOCD, name files to write, and act on the target"},
    {'h', "help", NULL, OPTION_FLAG, AT(help), ALL, "this text; with a command, the text for it"},
    {'V', "version", NULL, OPTION_FLAG, AT(version), ALL, "the version"},
};

const size_t option_count = sizeof option_table / sizeof *option_table;
_Static_assert(sizeof option_table / sizeof *option_table <= OPTION_MOST, "options.c has room for them");

const struct option_words option_words[OPTION_KINDS] = {
    [OPTION_TEXT] = {"", "a value", NULL},
    [OPTION_CORE] = {"a core's number as info shows it, such as 1", "a number", "1"},
    [OPTION_FREQUENCY] = {"a frequency such as 12M or 125MHz", "a frequency", "12M"},
    [OPTION_SPEED] = {"a frequency from 1k to 1G, such as 4M", "a frequency", "4M"},
    [OPTION_COUNT] = {"a whole number from 1 up, such as 200", "a number", "200"},
    [OPTION_MILLISECONDS] = {"a time from 1ms up, such as 200ms or 1s", "a time", "200ms"},
    [OPTION_SECONDS] = {"a time such as 500ms, 2s or 1min", "a time", "2s"},
    [OPTION_PART] = {"a part above 0 and below 1, such as 1% or 0.01", "a part", "1%"},
    [OPTION_FLAG] = {"", "", NULL},
    [OPTION_VERBOSE] = {"", "", NULL},
    [OPTION_OPENOCD] = {"", "a value", NULL},
    [OPTION_EVENT] = {"", "events", "CPU_CYCLES"},
    [OPTION_METRIC] = {"", "a metric", "CPI"},
    [OPTION_FORMAT] = {"text, json, csv, junit, markdown, folded, pprof, callgrind, perf or html", "a format",
                       "json"},
    [OPTION_JSON] = {"", "", NULL},
    [OPTION_CSV] = {"one character, or \\t for a tab; no quote, letter or digit", "a character", ","},
    [OPTION_PLACE] = {"AP:ADDR, such as 1:0x80090000, where a page begins", "a place", "1:0x80090000"},
    [OPTION_PROCESS] = {"an ID such as 0x2A, or any", "an ID", "0x2A"},
};

/* What to do instead, for options that users expect with a command. */
static const struct {
    const char *option;
    unsigned commands;
    const char *instead;
} hints[] = {
    {"repeat", STAT | WATCH | RECORD | TOP, "ends after --for TIME"},
    {"warmup", STAT | WATCH | RECORD | TOP | CALIBRATE, "counts no hits"},
    {"precision", STAT | WATCH | RECORD | TOP, "ends after --for TIME"},
    {"timeout", SURVEY, "waits for its slices: a longer --for makes them longer"},
    {"event", LINES, "counts cycles"},
    {"event", GUARD, "takes the event with --budget \"N EVENT\""},
    {"counter", GUARD, "takes the counter that can stop the core"},
    {"interval", DELTA, "writes each hit as it comes with -j"},
    {"interval", RECORD, "chooses the length of its intervals"},
    {"json", RECORD, "writes JSON lines anyway, to the file of -o"},
    {"for", CALIBRATE, "ends by itself; --timeout limits the wait"},
    {"cpu", ALL & ~(LIST | PROBES), "takes a core by -C N"},
    {"all-cpus", DELTA | SURVEY | CALIBRATE | INFO | DOCTOR, "takes a core by -C N"},
    {"metric", CALIBRATE, "takes events, by -e"},
    {"baseline", STAT | WATCH, "compares nothing"},
    {"baseline", REPORT, "compares two profiles with --diff OLD"},
    {"baseline", COMPARE, "takes the earlier file first"},
    {"threshold", STAT | WATCH, "compares nothing"},
    {"tick", STAT | WATCH, "looks at SysTick often enough where that can be done"},
    {"no-calibrate", STAT | WATCH, "reads the counters while the core runs"},
    {"no-calibrate", CALIBRATE, "does nothing else"},
    {"timeout", STAT | WATCH, "waits for no location"},
    {"elf", LIST, "looks at no program"},
    {"core", PROBES | READING, "shows all"},
    {"counters", STAT | WATCH, "needs no second link: --probe names the counters"},
};

const struct option *option_find(const char *name, size_t length)
{
    for (size_t i = 0; i < option_count; i++)
        if (strlen(option_table[i].name) == length && memcmp(option_table[i].name, name, length) == 0)
            return &option_table[i];
    return NULL;
}

const struct option *option_find_letter(char letter)
{
    for (size_t i = 0; i < option_count; i++)
        if (option_table[i].letter == letter)
            return &option_table[i];
    return NULL;
}

/* "delta, stat and watch" */
static void name_commands(unsigned bits, char *out, size_t size)
{
    size_t used = 0;
    bits &= ~(unsigned)SERVE;
    out[0] = '\0';
    for (unsigned i = 0; i < COMMANDS && used < size; i++) {
        if ((bits >> i & 1) == 0)
            continue;
        bool last = bits >> (i + 1) == 0;
        used += (size_t)snprintf(out + used, size - used, "%s%s",
                                 used == 0 ? ""
                                 : last    ? " and "
                                           : ", ",
                                 commands[i].name);
    }
}

bool option_refuse(const struct option *option, const char *typed, enum command_id command,
                   struct error *error)
{
    char takers[128];
    name_commands(option->commands, takers, sizeof takers);
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (strcmp(hints[i].option, option->name) == 0 && (hints[i].commands >> command & 1) != 0)
            return error_set(error, ERROR_USAGE, "%.32s belongs to %s: %s %s", typed, takers,
                             commands[command].name, hints[i].instead);
    return error_set(error, ERROR_USAGE, "%.32s belongs to %s, not to %s (%s)", typed, takers,
                     commands[command].name, option->help);
}

static const char its_own[] = "each board has its own in that file";

/* Pairs of options that exclude each other. */
static const struct {
    const char *one, *other, *why;
} rivals[] = {
    {"probe", "file", "both say how the target is reached"},
    {"probe", "tcl", "both say how the target is reached"},
    {"probe", "search", "both say how the target is reached"},
    {"cpu", "probe", "with --cpu nothing is connected"},
    {"cpu", "counters", "with --cpu nothing is connected"},
    {"cpu", "transport", "with --cpu nothing is connected"},
    {"cpu", "speed", "with --cpu nothing is connected"},
    {"cpu", "packets", "with --cpu nothing is connected"},
    {"cpu", "file", "with --cpu nothing is connected"},
    {"cpu", "tcl", "with --cpu nothing is connected"},
    {"cpu", "search", "with --cpu nothing is connected"},
    {"cpu", "core", "both say which core"},
    {"cpu", "debug-base", "both say which core"},
    {"cpu", "pmu-base", "with --cpu nothing is connected"},
    {"cpu", "cti", "with --cpu nothing is connected"},
    {"core", "debug-base", "both say which core"},
    {"all-cpus", "core", "-a takes all, -C N one"},
    {"all-cpus", "resume", "the CPUs of a card are never halted"},
    {"reset", "resume", "after a reset the core runs anyway"},
    {"reset", "warmup", "each hit is the first after a reset"},
    {"reset", "tick", "the program sets it to 0 after a reset"},
    {"all-cpus", "divide64", "the counters of a card cannot be divided"},
    {"boards", "probe", its_own},
    {"boards", "counters", its_own},
    {"boards", "transport", its_own},
    {"boards", "speed", its_own},
    {"boards", "packets", its_own},
    {"boards", "file", its_own},
    {"boards", "tcl", its_own},
    {"boards", "search", its_own},
    {"boards", "elf", its_own},
    {"boards", "core", its_own},
    {"boards", "counter", its_own},
    {"boards", "debug-base", its_own},
    {"boards", "pmu-base", its_own},
    {"boards", "cti", its_own},
    {"boards", "freq", its_own},
    {"boards", "context", its_own},
    {"boards", "tick", its_own},
    {"boards", "baseline", its_own},
    {"boards", "threshold", its_own},
    {"boards", "any-elf", its_own},
    {"boards", "hot", "each board would choose others; name the functions"},
    {"boards", "write-regions", "the file would be written by each board"},
};

bool option_goes_with(const struct option *one, const struct option *other, const char **why)
{
    for (size_t i = 0; i < sizeof rivals / sizeof *rivals; i++) {
        bool ahead = strcmp(rivals[i].one, one->name) == 0 && strcmp(rivals[i].other, other->name) == 0;
        bool behind = strcmp(rivals[i].one, other->name) == 0 && strcmp(rivals[i].other, one->name) == 0;
        *why = rivals[i].why;
        if (ahead || behind)
            return false;
    }
    return true;
}

static const struct {
    const char *option, *does;
} acts[] = {
    {"file", "starts OpenOCD with commands"},
    {"tcl", "starts OpenOCD with commands"},
    {"search", "starts OpenOCD with commands"},
    {"output", "names a file to write"},
    {"write-regions", "names a file to write"},
    {"reset", "resets the target"},
    {"halt", "stops the target"},
    {"keep", "stops the target"},
    {"resume", "lets the target run"},
    {"mend", "changes the target for good"},
};

const char *option_acts(const struct option *option, const char *value)
{
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
        if (strcmp(acts[i].option, option->name) == 0)
            return acts[i].does;
    bool link = strcmp(option->name, "probe") == 0 || strcmp(option->name, "counters") == 0;
    return link && strncmp(value, "msr", 3) == 0 && strchr(value, '@') != NULL ? "names files to write"
                                                                               : NULL;
}

/* The values of options that take one of a few. A value with a colon at its end goes on. */
static const struct {
    const char *option, *values;
} known_values[] = {
    {"probe", "openocd cmsis-dap cmsis-dap-tcp: gdb: msr msr-agent:"},
    {"counters", "msr msr-agent:"},
    {"transport", "swd jtag"},
    {"counter", "dwt systick pmu"},
    {"context", "any"},
    {"format", "text json csv junit markdown folded pprof callgrind perf html"},
    {"sort", "function line file address task exception context"},
};

const char *option_values(const struct option *option)
{
    for (size_t i = 0; i < sizeof known_values / sizeof *known_values; i++)
        if (strcmp(known_values[i].option, option->name) == 0)
            return known_values[i].values;
    return "";
}

void option_print(FILE *out, const struct option *option)
{
    enum { COLUMN = 29 };
    char left[64];
    int used = snprintf(left, sizeof left, option->letter ? "  -%c, " : "      ", option->letter);
    snprintf(left + used, sizeof left - (size_t)used, "--%s%s%s", option->name, option->value ? " " : "",
             option->value ? option->value : "");
    fprintf(out, "%-*s", COLUMN, left);
    fold_text_at(out, TERMINAL_COLUMNS, COLUMN, COLUMN, option->help);
}
