#include "commands/option_table.h"

#include "report/fold.h"
#include "report/terminal.h"

#include <string.h>

enum {
    PROBES = 1 << COMMAND_PROBES,
    INFO = 1 << COMMAND_INFO,
    DELTA = 1 << COMMAND_DELTA,
    STAT = 1 << COMMAND_STAT,
    WATCH = 1 << COMMAND_WATCH,
    DOCTOR = 1 << COMMAND_DOCTOR,
    STUB = 1 << COMMAND_STUB,
    CALIBRATE = 1 << COMMAND_CALIBRATE,
    LIST = 1 << COMMAND_LIST,
    RELEASE = 1 << COMMAND_RELEASE,
    RESET = 1 << COMMAND_RESET,
    SERVE = 1 << COMMAND_SERVE,
    ALL = (1 << COMMANDS) - 1,
    TARGET = ALL & ~PROBES,                              /* they look at a core */
    PROGRAM = TARGET & ~LIST,                            /* and at what it runs */
    COUNTING = DELTA | STAT | WATCH | CALIBRATE | SERVE, /* they count events there */
    TAKING = COUNTING | DOCTOR                           /* they take its counters */
};

#define AT(member) offsetof(struct options, member)

const struct option option_table[] = {
    {'p', "probe", "PROBE", OPTION_TEXT, AT(probe), ALL,
     "openocd[:HOST[:PORT]], cmsis-dap[:SERIAL], cmsis-dap-tcp:HOST[:PORT], gdb:HOST:PORT, msr[:CPU] or "
     "msr-agent:HOST[:PORT]"},
    {0, "counters", "PROBE", OPTION_TEXT, AT(counters), PROBES | INFO | DELTA | DOCTOR | LIST,
     "msr[:CPU] or msr-agent:HOST[:PORT]: take the counters there, while --probe does the run control"},
    {0, "transport", "WIRES", OPTION_TEXT, AT(transport), ALL,
     "cmsis-dap: swd or jtag; default: what answers"},
    {0, "speed", "HZ", OPTION_SPEED, AT(speed_hz), ALL,
     "cmsis-dap: SWD or JTAG clock; default: the fastest that works"},
    {0, "packets", "N", OPTION_COUNT, AT(packets), ALL,
     "cmsis-dap: packets in flight at most; default: what its firmware is known to bear"},
    {'f', "file", "FILE", OPTION_OPENOCD, 0, ALL, "start an OpenOCD of our own with this file"},
    {'c', "tcl", "TCL", OPTION_OPENOCD, 0, ALL, "and with this command, as OpenOCD's -c"},
    {'s', "search", "DIR", OPTION_OPENOCD, 0, ALL, "and with this folder for files, as OpenOCD's -s"},
    {0, "elf", "FILE", OPTION_TEXT, AT(elf), PROGRAM, "the program on the target, for names and lines"},
    {'C', "core", "N", OPTION_CORE, AT(core), TARGET, "which core, as info numbers them"},
    {'a', "all-cpus", NULL, OPTION_FLAG, AT(all_cpus), STAT | WATCH,
     "all CPUs of a Knights Corner card, with sums for each core"},
    {0, "counter", "BLOCK", OPTION_TEXT, AT(counter), TAKING,
     "dwt, systick or pmu; default: the best there is"},
    {0, "debug-base", "AP:ADDR", OPTION_PLACE, AT(debug_base), TARGET,
     "a core's debug registers, where no ROM table names them"},
    {0, "pmu-base", "AP:ADDR", OPTION_PLACE, AT(pmu_base), TARGET, "likewise its PMU"},
    {0, "cti", "AP:ADDR", OPTION_PLACE, AT(cti), TARGET, "likewise its cross trigger interface"},
    {0, "divide64", NULL, OPTION_FLAG, AT(divide64), TAKING,
     "count every 64th cycle: the counter wraps later and is less exact"},
    {0, "freq", "HZ", OPTION_FREQUENCY, AT(freq_hz), TAKING,
     "the core's clock (12M, 125MHz), where the program does not tell"},
    {'e', "event", "EVENTS", OPTION_EVENT, 0, COUNTING,
     "what to count, by name or raw code (r11, 0x11): A,B,{C,D}; braces: in one pass"},
    {'M', "metric", "METRICS", OPTION_METRIC, 0, DELTA | STAT | WATCH,
     "what to compute of the counts: A,B as list shows them, or a file of metrics"},
    {'r', "repeat", "N", OPTION_COUNT, AT(hits), DELTA,
     "number of hits (200, 10k); default: 100 or 2 s, whichever comes first"},
    {0, "for", "TIME", OPTION_SECONDS, AT(for_s), DELTA | STAT | WATCH,
     "how long to count (500ms, 2s, 1h); default: until Ctrl-C; delta: at most so long, but at least one "
     "hit"},
    {'I', "interval", "TIME", OPTION_MILLISECONDS, AT(interval_ms), STAT | WATCH,
     "time between lines (200ms, 1s; a plain number is in ms); watch: default 1s"},
    {0, "timeout", "TIME", OPTION_SECONDS, AT(timeout_s), DELTA | CALIBRATE,
     "give up when the start or the end is not reached within this time (default 10s)"},
    {0, "context", "ID", OPTION_PROCESS, AT(process), DELTA | CALIBRATE,
     "only where CONTEXTIDR is ID; or any: user mode, in any process"},
    {0, "tick", "SYMBOL", OPTION_TEXT, AT(tick), DELTA,
     "the program's tick variable: it tells how often a SysTick wrapped that reloads fast"},
    {0, "on-max", "WORDS", OPTION_TEXT, AT(on_max), DELTA,
     "r0,sp,lr,*0x20000000,variable,...: show them as they were at each new maximum"},
    {0, "no-calibrate", NULL, OPTION_FLAG, AT(no_calibrate), DELTA | SERVE,
     "do not measure what a halt adds, and do not remove it"},
    {0, "baseline", "FILE", OPTION_TEXT, AT(baseline), DELTA, "compare with an earlier run's JSON lines"},
    {0, "threshold", "PART", OPTION_TEXT, AT(threshold), DELTA,
     "allowed slowdown against the baseline (2%, 0.02); default 0"},
    {0, "any-elf", NULL, OPTION_FLAG, AT(any_elf), DELTA, "compare although that run's ELF has another name"},
    {0, "reset", NULL, OPTION_FLAG, AT(reset), DELTA, "reset the target, and measure from there on"},
    {0, "halt", NULL, OPTION_FLAG, AT(halt), RESET, "stop at the first instruction"},
    {0, "resume", NULL, OPTION_FLAG, AT(resume), TAKING, "let a halted core run, measure, and halt it again"},
    {0, "mend", NULL, OPTION_FLAG, AT(mend), DOCTOR, "repair it, and leave it so"},
    {0, "cpu", "NAME", OPTION_TEXT, AT(cpu), LIST,
     "the events of this core (cortex-a9, cortex-m4, ...), without a target"},
    {'j', "json", NULL, OPTION_JSON, 0, ALL & ~(STUB | RELEASE | RESET | SERVE),
     "JSON lines instead of text"},
    {'x', "separator", "SEP", OPTION_CSV, 0, DELTA | STAT,
     "CSV with this character between fields (\\t: a tab)"},
    {0, "format", "FORMAT", OPTION_FORMAT, 0, ALL & ~SERVE, "text, json, csv, junit or markdown"},
    {'o', "output", "FILE", OPTION_TEXT, AT(output), ALL & ~SERVE,
     "write there instead of to standard output"},
    {'v', "verbose", NULL, OPTION_VERBOSE, AT(verbose), ALL,
     "tell on standard error what is connected to; -vv: all that is sent and comes back"},
    {'q', "quiet", NULL, OPTION_FLAG, AT(quiet), ALL, "no progress and no notes on standard error"},
    {'h', "help", NULL, OPTION_FLAG, AT(help), ALL, "this text; with a command, that of the command"},
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
    [OPTION_FLAG] = {"", "", NULL},
    [OPTION_VERBOSE] = {"", "", NULL},
    [OPTION_OPENOCD] = {"", "a value", NULL},
    [OPTION_EVENT] = {"", "events", "CPU_CYCLES"},
    [OPTION_METRIC] = {"", "a metric", "CPI"},
    [OPTION_FORMAT] = {"text, json, csv, junit or markdown", "a format", "json"},
    [OPTION_JSON] = {"", "", NULL},
    [OPTION_CSV] = {"one character, or \\t for a tab; no quote, letter or digit", "a character", ","},
    [OPTION_PLACE] = {"AP:ADDR, such as 1:0x80090000, where a page begins", "a place", "1:0x80090000"},
    [OPTION_PROCESS] = {"an ID such as 0x2A, or any", "an ID", "0x2A"},
};

/* What takes an option's place where somebody expects it. */
static const struct {
    const char *option;
    unsigned commands;
    const char *instead;
} hints[] = {
    {"repeat", STAT | WATCH, "ends after --for TIME"},
    {"interval", DELTA, "writes each hit as it comes with -j"},
    {"for", CALIBRATE, "ends by itself; --timeout limits the wait"},
    {"cpu", ALL & ~(LIST | PROBES), "takes a core by -C N"},
    {"all-cpus", DELTA | CALIBRATE | INFO | DOCTOR, "takes a core by -C N"},
    {"metric", CALIBRATE, "takes events, by -e"},
    {"baseline", STAT | WATCH, "compares nothing"},
    {"threshold", STAT | WATCH, "compares nothing"},
    {"tick", STAT | WATCH, "looks at SysTick often enough where that can be done"},
    {"no-calibrate", STAT | WATCH, "reads the counters while the core runs"},
    {"no-calibrate", CALIBRATE, "does nothing else"},
    {"timeout", STAT | WATCH, "waits for no location"},
    {"elf", LIST, "looks at no program"},
    {"core", PROBES, "shows all"},
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

/* What one of them says leaves nothing for the other to say. */
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
    {"all-cpus", "core", "-a takes all CPUs, -C N one"},
    {"all-cpus", "resume", "the CPUs of a card are never halted"},
    {"reset", "resume", "after a reset the core runs anyway"},
    {"reset", "tick", "the program sets it to 0 after a reset"},
    {"all-cpus", "divide64", "the counters of a card cannot be divided"},
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
