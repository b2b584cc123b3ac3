/* SPDX-License-Identifier: MIT */
#include "commands/command.h"
#include "measure/delta.h"
#include "profile/event_sampler.h"
#include "report/terminal.h"
#include "wire/wire.h"

#include <stdio.h>
#include <string.h>

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
    IRQ = 1 << COMMAND_IRQ,
    TASKS = 1 << COMMAND_TASKS,
    COMPARE = 1 << COMMAND_COMPARE,
    SHOW = 1 << COMMAND_SHOW,
    RESTORE = 1 << COMMAND_RESTORE,
    RESET = 1 << COMMAND_RESET,
    SERVE = 1 << COMMAND_SERVE,
    ALL = (1 << COMMANDS) - 1,
    LINKED = ALL & ~(READING | COMPARE | SHOW),                   /* they reach for a target */
    TARGET = LINKED & ~PROBES,                                    /* they read a core */
    PROGRAM = (TARGET | READING | COMPARE | SHOW) & ~LIST,        /* and at what it runs */
    COUNTING = DELTA | SURVEY | STAT | WATCH | CALIBRATE | SERVE, /* they count events there */
    TAKING = COUNTING | LINES | DOCTOR                            /* they take its counters */
};

#define AT(member)    offsetof(struct options, request.member)
#define TYPED(member) offsetof(struct options, member)

static const char starts[] = "starts OpenOCD with commands";
static const char only_forced[] = "needs --force";
static const char only_unhalted[] = "needs --no-halt";
static const char writes[] = "names a file to write";
static const char stops[] = "stops the target";
static const char lets_run[] = "lets the target run";
static const char ends_after[] = "ends after --for TIME";
static const char one_core[] = "takes a core by -C N";
static const char which_core[] = "both say which core";
static const char reaches[] = "both name the link";

const struct option option_table[] = {
    {'p', "probe", "PROBE", OPTION_TEXT, AT(probe), LINKED, .help = REQUEST_PROBES,
     .values = "openocd cmsis-dap cmsis-dap-tcp: gdb: msr msr-agent: replay:",
     .brief = "the probe: cmsis-dap, openocd, gdb:HOST:PORT, ...", .group = OPTIONS_LINK, .is_common = true},
    {0, "counters", "PROBE", OPTION_TEXT, AT(counters),
     PROBES | INFO | DELTA | SURVEY | DOCTOR | LIST | RESTORE,
     .help = "where the counters are, if not --probe: msr[:CPU] or msr-agent:HOST[:PORT]",
     .values = "msr msr-agent:", .instead = {{NULL, "takes the counters of --probe", STAT | WATCH}},
     .group = OPTIONS_LINK, .is_rare = true},
    {0, "transport", "WIRES", OPTION_TEXT, AT(transport), LINKED,
     .help = "cmsis-dap: swd or jtag; default: what answers", .values = "swd jtag", .of_dap = true,
     .brief = "swd or jtag", .group = OPTIONS_LINK},
    {0, "speed", "HZ", OPTION_SPEED, AT(speed_hz), LINKED,
     .help = "cmsis-dap: clock; default: the fastest that works", .of_dap = true, .group = OPTIONS_LINK},
    {0, "packets", "N", OPTION_COUNT, AT(packets), LINKED,
     .help = "cmsis-dap: most packets in flight; default: as its firmware allows", .of_dap = true,
     .group = OPTIONS_LINK, .is_rare = true},
    {0, "wire", "FILE", OPTION_TEXT, TYPED(wire), LINKED, .file = FILE_WRITTEN,
     .help = "record the link in this file, for -p replay:FILE", .acts = writes, .group = OPTIONS_LINK},
    {'f', "file", "FILE", OPTION_OPENOCD, 0, LINKED, .help = "start OpenOCD with this file", .acts = starts,
     .rivals = {{"probe", reaches, ALL}}, .group = OPTIONS_LINK, .is_common = true},
    {'c', "tcl", "TCL", OPTION_OPENOCD, 0, LINKED, .help = "start OpenOCD with this command", .acts = starts,
     .rivals = {{"probe", reaches, ALL}}, .group = OPTIONS_LINK},
    {'s', "search", "DIR", OPTION_OPENOCD, 0, LINKED, .help = "start OpenOCD with this folder for files",
     .acts = starts, .rivals = {{"probe", reaches, ALL}}, .group = OPTIONS_LINK, .is_rare = true},
    {0, "openocd", "PATH", OPTION_TEXT, AT(openocd_path), LINKED, .acts = "names a program to run",
     .help = "which OpenOCD is started; default: $PMU_OPENOCD, or of PATH, PlatformIO, the Pico SDK, xPack",
     .rivals = {{"probe", reaches, ALL}}, .needs = {"file tcl", "needs -f FILE", ALL}, .group = OPTIONS_LINK,
     .is_rare = true},
    {0, "elf", "FILE", OPTION_TEXT, AT(elf), PROGRAM, .file = FILE_READ,
     .help = "the program; default: the one that runs, of this folder, build/, target/ or .pio/build/",
     .brief = "the program on the target", .is_common = true, .is_idle = true},
    {0, "load-offset", "OFFSET", OPTION_OFFSET, AT(load_offset), PROGRAM,
     .help = "how far above the addresses of --elf the program runs (0x130000, -0x1000)", .is_rare = true},
    {'C', "core", "N", OPTION_CORE, AT(core), TARGET, .help = "which core, as info numbers them",
     .instead = {{NULL, "shows all", PROBES | READING}}, .needs = {"force", only_forced, RESTORE},
     .is_common = true},
    {'a', "all-cpus", NULL, OPTION_FLAG, AT(all_cpus), STAT | WATCH | RECORD | TOP,
     .help = "record and top: all cores, by turns; stat and watch: all CPUs of a Knights Corner card",
     .rivals = {{"core", "-a takes all, -C N one", ALL},
                {"resume", "it is of one core that is halted", ALL},
                {"divide64", "a card's counters cannot be divided", ALL},
                {"interval", "stat -a prints once; watch -a repeats", STAT}},
     .instead = {{NULL, one_core, DELTA | SURVEY | INFO | DOCTOR}}},
    {0, "counter", "BLOCK", OPTION_TEXT, AT(counter), TAKING,
     .help = "dwt, systick or pmu; default: the best", .values = "dwt systick pmu"},
    {0, "debug-base", "AP:ADDR", OPTION_PLACE, AT(debug_base), TARGET,
     .help = "base of a core's debug registers, if no ROM table has it",
     .rivals = {{"core", which_core, ALL}}, .needs = {"force", only_forced, RESTORE}, .group = OPTIONS_LINK,
     .is_rare = true},
    {0, "pmu-base", "AP:ADDR", OPTION_PLACE, AT(pmu_base), TARGET, .help = "base of the PMU",
     .needs = {"force", only_forced, RESTORE}, .group = OPTIONS_LINK, .is_rare = true},
    {0, "cti", "AP:ADDR", OPTION_PLACE, AT(cti), TARGET, .help = "base of the cross trigger interface",
     .needs = {"force", only_forced, RESTORE}, .group = OPTIONS_LINK, .is_rare = true},
    {0, "divide64", NULL, OPTION_FLAG, AT(divide64), TAKING,
     .help = "count every 64th cycle: less exact, later wraps", .is_rare = true},
    {0, "freq", "HZ", OPTION_FREQUENCY, AT(freq_hz), TAKING | GUARD | IRQ | TASKS,
     .help = "the core's clock (12M); default: SystemCoreClock"},
    {'e', "event", "EVENTS", OPTION_EVENT, 0, COUNTING | RECORD,
     .help = "what to count, by name or raw code (r11, 0x11): A,B,{C,D}; braces: in one pass; record: what "
             "stops the core",
     .instead = {{NULL, "counts cycles", LINES}, {NULL, "takes the event with --budget \"N EVENT\"", GUARD}},
     .brief = "what to count: A,B,...; list shows them", .is_common = true},
    {0, "every", "N", OPTION_COUNT, AT(every), RECORD,
     .help = "stop the core for a sample every N events of -e (default CPU_CYCLES); -e alone: some hundred "
             "times a second",
     .least = EVENT_SAMPLER_LEAST, .most = EVENT_SAMPLER_MOST},
    {'g', "call-graph", NULL, OPTION_FLAG, AT(stacks), RECORD | REPORT,
     .help = "record: keep call stacks, for which each sample stops the core (needs --elf); report: the tree "
             "of calls"},
    {'M', "metric", "METRICS", OPTION_METRIC, 0, DELTA | SURVEY | STAT | WATCH,
     .help = "what to compute from the counts (CPI): A,B of list, or a file of metrics",
     .brief = "what to compute from the counts, such as CPI"},
    {'r', "repeat", "N", OPTION_COUNT, AT(hits), DELTA | SURVEY | LINES | GUARD,
     .help = "number of hits (200, 10k); delta and lines: default 100, at most 2 s; survey: of each "
             "function, default all; guard: overruns, default 1",
     .instead = {{NULL, ends_after, STAT | WATCH | RECORD | TOP}}, .brief = "number of hits",
     .is_common = true},
    {0, "budget", "BUDGET", OPTION_TEXT, TYPED(budget), GUARD,
     .help = "what a call may use: 1200 (cycles), 40us or \"10 L1D_CACHE_REFILL\""},
    {0, "keep", NULL, OPTION_FLAG, AT(keep), GUARD, .help = "leave the core halted at the last overrun",
     .acts = stops},
    {0, "for", "TIME", OPTION_SECONDS, AT(for_s),
     DELTA | SURVEY | LINES | STAT | WATCH | RECORD | TOP | GUARD | IRQ | TASKS,
     .help = "how long (500ms, 2s, 1h); delta and lines: for one hit at least; survey: in all, default four "
             "turns of 250 ms each; irq and tasks: default 2 s; stat, watch, record, top and guard: default "
             "until Ctrl-C",
     .brief = "how long (500ms, 2s, 1h)", .is_common = true},
    {0, "hot", "N", OPTION_COUNT, AT(hot), SURVEY | ANNOTATE,
     .help = "survey: the N functions with most samples; annotate: the N hottest lines"},
    {0, "warmup", "N", OPTION_COUNT, AT(warmup), DELTA, .help = "measure N hits first that do not count",
     .instead = {{NULL, "counts no hits", STAT | WATCH | RECORD | TOP}}},
    {0, "precision", "PART", OPTION_PART, AT(precision), DELTA,
     .help = "end when the mean is known to that part (1%, 0.01), or after -r, --for or 1min",
     .instead = {{NULL, ends_after, STAT | WATCH | RECORD | TOP}}},
    {'I', "interval", "TIME", OPTION_MILLISECONDS, AT(interval_ms), STAT | WATCH | TOP,
     .help = "time between lines (200ms); watch and top: default 1s",
     .instead = {{NULL, "writes each hit with -j", DELTA}, {NULL, "chooses its intervals", RECORD}}},
    {0, "timeout", "TIME", OPTION_SECONDS, AT(timeout_s), DELTA | LINES | TOP | GUARD | CALIBRATE | DOCTOR,
     .help = "how long to wait for start or end; default 10s",
     .instead = {{NULL, "waits as long as its slices, longer with --for", SURVEY},
                 {NULL, "waits for no location", STAT | WATCH}}},
    {0, "context", "ID", OPTION_PROCESS, AT(process), DELTA | SURVEY | LINES | GUARD | CALIBRATE | DOCTOR,
     .help = "count only while CONTEXTIDR is ID; any: user mode, in any process", .values = "any",
     .is_rare = true},
    {0, "calls", "FUNCTIONS", OPTION_TEXT, AT(calls), STAT,
     .help = "count calls of up to four functions (Cortex-M52, M55, M85)"},
    {0, "no-halt", NULL, OPTION_FLAG, AT(no_halt), DELTA,
     .help = "never stop the core: trace of Cortex-M33, M55, M85",
     .rivals = {{"event metric counter divide64 tick", "trace shows cycles alone", DELTA},
                {"outliers show", "only a halted core shows registers", DELTA},
                {"reset resume", "--no-halt measures a core that runs", DELTA},
                {"context", "trace shows no process", DELTA}},
     .brief = "never stop the core (Cortex-M33, M55, M85)"},
    {0, "trace", "WAY", OPTION_TEXT, AT(trace), DELTA | IRQ | TASKS,
     .help = "how trace leaves the chip: fifo (RP2350), etf (a buffer) or swo; default: the first there",
     .values = "fifo etf swo", .needs = {"no-halt", only_unhalted, DELTA},
     .rivals = {{"trace-ram", "is another way: one of the two", DELTA | IRQ | TASKS}}, .is_rare = true},
    {0, "trace-ram", "BUFFER", OPTION_TEXT, AT(trace_ram), DELTA | IRQ | TASKS,
     .help = "RP2350: an unused DMA channel writes the trace over this variable of 256 bytes to 32 KB, or "
             "*ADDRESS:BYTES",
     .needs = {"no-halt", only_unhalted, DELTA}, .is_rare = true},
    {0, "swo-baud", "BAUD", OPTION_SPEED, AT(swo_baud), DELTA | IRQ | TASKS,
     .help = "the fastest SWO to try (2M); default: 10M", .needs = {"no-halt", only_unhalted, DELTA},
     .is_rare = true},
    {0, "tick", "SYMBOL", OPTION_TEXT, AT(tick), DELTA | SURVEY,
     .help = "the program's tick variable, which counts the wraps of SysTick",
     .instead = {{NULL, "reads SysTick often enough", STAT | WATCH}}, .is_rare = true},
    {0, "outliers", "N", OPTION_COUNT, AT(outliers), DELTA,
     .help = "show registers and call stack of the N slowest hits", .least = 1, .most = SLOW_HITS_MOST,
     .formats = 1 << FORMAT_TEXT | 1 << FORMAT_JSON | 1 << FORMAT_HTML},
    {0, "show", "WORDS", OPTION_TEXT, AT(show), DELTA,
     .help = "r0,sp,*0x20000000,variable,...: show them too, of --outliers or the longest hit"},
    {0, "no-calibrate", NULL, OPTION_FLAG, AT(no_calibrate), DELTA | SURVEY | GUARD | SERVE,
     .help = "do not remove what a halt adds", .instead = {{NULL, "halts nothing", STAT | WATCH}},
     .is_rare = true},
    {0, "baseline", "FILE", OPTION_TEXT, TYPED(baseline), DELTA | SURVEY, .file = FILE_READ,
     .help = "compare with an earlier run's JSON lines",
     .instead = {{NULL, "compares nothing", STAT | WATCH},
                 {NULL, "shows one profile: use compare OLD NEW", REPORT},
                 {NULL, "takes the earlier file first", COMPARE}}},
    {0, "threshold", "PART", OPTION_TEXT, TYPED(threshold), DELTA | SURVEY | COMPARE,
     .help = "allowed slowdown (2%, 0.02); default 0", .needs = {"baseline", "needs --baseline FILE", ALL},
     .instead = {{NULL, "compares nothing", STAT | WATCH}}},
    {0, "regions", "FILE", OPTION_TEXT, TYPED(regions), SURVEY | IRQ, .file = FILE_READ,
     .help = "the regions and budgets of this file; irq: handlers"},
    {0, "check", NULL, OPTION_FLAG, TYPED(check), SURVEY | IRQ,
     .help = "exit code 1 if a region exceeds its budget", .needs = {"regions", "needs --regions FILE", ALL}},
    {0, "write-regions", "FILE", OPTION_TEXT, TYPED(write_regions), SURVEY, .file = FILE_WRITTEN,
     .help = "write what was seen, for --regions", .acts = writes},
    {0, "reset", NULL, OPTION_FLAG, AT(reset), DELTA, .help = "measure from a reset on",
     .acts = "resets the target",
     .rivals = {{"resume", "a reset core runs anyway", ALL},
                {"warmup", "each hit is the first after a reset", ALL},
                {"tick", "a reset zeroes it", ALL}}},
    {0, "force", NULL, OPTION_FLAG, TYPED(force), RESTORE,
     .help = "remove all breakpoints, other debuggers' too, and let the cores go (-C N: one)",
     .acts = lets_run, .rivals = {{"counters", "counters have no breakpoints", ALL}}},
    {0, "halt", NULL, OPTION_FLAG, AT(halt), RESET, .help = "stop at the first instruction", .acts = stops},
    {0, "resume", NULL, OPTION_FLAG, AT(resume), TAKING | GUARD | RECORD | TOP,
     .help = "let a halted core run meanwhile", .acts = lets_run, .is_rare = true},
    {0, "mend", NULL, OPTION_FLAG, TYPED(mend), DOCTOR, .help = "repair it for good",
     .acts = "changes the target"},
    {0, "prove", NULL, OPTION_FLAG, TYPED(prove), DOCTOR,
     .help = "compare the registers before and after a measurement",
     .rivals = {{"mend", "--mend keeps its repairs", ALL}}},
    {0, "cpu", "NAME", OPTION_TEXT, TYPED(cpu), LIST,
     .help = "the events of this core (cortex-a9, ...), without a target",
     .rivals = {{"probe counters transport speed packets file tcl search pmu-base cti",
                 "--cpu connects nothing", ALL},
                {"core debug-base", which_core, ALL}},
     .instead = {{NULL, one_core, ALL & ~(LIST | PROBES)}}},
    {0, "sort", "KEY", OPTION_TEXT, TYPED(sort), TOP | REPORT | COMPARE,
     .help = "by function (the default), line, file or address; report: task, exception or context, too",
     .values = "function line file address task exception context"},
    {0, "task", "VARIABLE", OPTION_TEXT, AT(task), RECORD | TASKS | DELTA,
     .needs = {"no-halt", only_unhalted, DELTA}, .help = "the variable (or *ADDRESS) of the running task"},
    {'j', "json", NULL, OPTION_JSON, 0, ALL & ~(STUB | RECORD | RESTORE | RESET | CALIBRATE | SERVE),
     .help = "JSON lines instead of text", .instead = {{NULL, "always writes JSON lines to -o", RECORD}},
     .is_common = true},
    {'x', "separator", "SEP", OPTION_CSV, 0,
     PROBES | INFO | DELTA | SURVEY | LINES | STAT | WATCH | DOCTOR | LIST | REPORT | COMPARE | SHOW | IRQ |
         TASKS,
     .help = "CSV with this separator (\\t: a tab)", .is_rare = true},
    {0, "format", "FORMAT", OPTION_FORMAT, 0, ALL & ~SERVE,
     .help = "text, json, csv, markdown, folded, callgrind, perf, html or perfetto"},
    {'o', "output", "FILE", OPTION_TEXT, TYPED(output), ALL & ~SERVE, .file = FILE_WRITTEN,
     .help = "write to this file; record: default " PROFILE_NAME "; guard: a profile of the overruns",
     .acts = writes, .brief = "write to this file", .is_common = true},
    {'v', "verbose", NULL, OPTION_VERBOSE, TYPED(verbose), ALL,
     .help = "print the connection, and what tables mean; -vv: all that is sent and received",
     .group = OPTIONS_TOOL},
    {'q', "quiet", NULL, OPTION_FLAG, AT(quiet), ALL, .help = "no progress and no notes",
     .group = OPTIONS_TOOL},
    {0, "trust-conf", NULL, OPTION_FLAG, TYPED(trust_conf), ALL,
     .help = "let this folder's pmu-probe.conf start OpenOCD, name files to write, and act on the target",
     .group = OPTIONS_TOOL, .is_rare = true},
    {'h', "help", NULL, OPTION_FLAG, TYPED(help), ALL, .help = "this text; with a command, the text for it",
     .brief = "this text", .group = OPTIONS_TOOL},
    {0, "all", NULL, OPTION_FLAG, TYPED(help_all), ALL, .help = "with --help: everything",
     .group = OPTIONS_TOOL, .needs = {"help", "needs --help", ALL}},
    {'V', "version", NULL, OPTION_FLAG, TYPED(version), ALL, .help = "the version", .group = OPTIONS_TOOL},
};

const size_t option_count = sizeof option_table / sizeof *option_table;
_Static_assert(sizeof option_table / sizeof *option_table <= OPTION_MOST, "options.c has room for them");

const struct option_words option_words[OPTION_KINDS] = {
    [OPTION_TEXT] = {"a value", "", NULL},
    [OPTION_CORE] = {"a number", " that info shows", "1"},
    [OPTION_FREQUENCY] = {"a frequency", "", "12M"},
    [OPTION_SPEED] = {"a frequency", " from 1k to 1G", "4M"},
    [OPTION_COUNT] = {"a whole number", " from 1 up", "200"},
    [OPTION_MILLISECONDS] = {"a time", " from 1ms up", "200ms"},
    [OPTION_SECONDS] = {"a time", " from 1ms up", "2s"},
    [OPTION_PART] = {"a part", " above 0 and below 1", "1%"},
    [OPTION_OPENOCD] = {"a value", "", NULL},
    [OPTION_EVENT] = {"events", "", "CPU_CYCLES"},
    [OPTION_METRIC] = {"a metric", "", "CPI"},
    [OPTION_FORMAT] = {"a format", "", "json"},
    [OPTION_CSV] = {"a character", " (no quote, letter or digit) or \\t", ";"},
    [OPTION_PLACE] = {"a place", " AP:ADDR", "1:0x80090000"},
    [OPTION_PROCESS] = {"an ID", " or any", "0x2A"},
    [OPTION_OFFSET] = {"a multiple of 4", "", "0x130000"},
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

void list_add(char *list, size_t size, const char *name, const char *before_last)
{
    size_t used = strlen(list);
    snprintf(list + used, size - used, "%s%s",
             used == 0             ? ""
             : before_last != NULL ? before_last
                                   : ", ",
             name);
}

enum { SHORT_LIST = 4 };

/* "delta, stat and watch". How many they are. */
static unsigned name_commands(unsigned bits, char *out, size_t size)
{
    unsigned count = 0;
    bits &= ~(unsigned)(SERVE | CALIBRATE);
    out[0] = '\0';
    for (unsigned i = 0; i < COMMANDS; i++)
        if ((bits >> i & 1) != 0) {
            list_add(out, size, commands[i].name, bits >> (i + 1) == 0 ? " and " : NULL);
            count++;
        }
    return count;
}

bool option_refuse(const struct option *option, const char *typed, enum command_id command,
                   struct error *error)
{
    char takers[128];
    bool few = name_commands(option->commands, takers, sizeof takers) <= SHORT_LIST;
    for (size_t i = 0; i < OPTION_RULES && option->instead[i].why != NULL; i++)
        if ((option->instead[i].commands >> command & 1) != 0)
            return error_set(error, ERROR_USAGE, "%.32s is not for %s, which %s", typed,
                             commands[command].name, option->instead[i].why);
    return few ? error_set(error, ERROR_USAGE, "%.32s belongs to %s, not to %s", typed, takers,
                           commands[command].name)
               : error_set(error, ERROR_USAGE, "%.32s is not for %s", typed, commands[command].name);
}

bool option_is_in(const struct option *option, const char *names)
{
    size_t length = strlen(option->name);
    for (const char *at = names; (at = strstr(at, option->name)) != NULL; at += length)
        if ((at == names || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

const char *option_excludes(const struct option *option, const struct option *other, unsigned bits)
{
    for (size_t i = 0; i < OPTION_RULES && option->rivals[i].why != NULL; i++)
        if ((option->rivals[i].commands & bits) != 0 && option_is_in(other, option->rivals[i].options))
            return option->rivals[i].why;
    return NULL;
}

/* The DIR of "msr:1@DIR"; NULL: another link. */
static const char *msr_folder(const struct option *option, const char *value)
{
    bool link = strcmp(option->name, "probe") == 0 || strcmp(option->name, "counters") == 0;
    const char *at = link && strncmp(value, "msr", 3) == 0 ? strchr(value, '@') : NULL;
    return at != NULL ? at + 1 : NULL;
}

const char *option_acts(const struct option *option, const char *value)
{
    return msr_folder(option, value) != NULL ? writes : option->acts;
}

const char *option_files(const struct option *option, const char *value)
{
    if (strcmp(option->name, "probe") == 0 && wire_spec(value) != NULL)
        return wire_spec(value);
    if (msr_folder(option, value) != NULL)
        return msr_folder(option, value);
    if (option->value == NULL)
        return NULL;
    bool is_program =
        strcmp(option->value, "PATH") == 0 && strchr(value, '/') != NULL; /* else it is in PATH */
    bool is_file = strcmp(option->value, "FILE") == 0 || strcmp(option->value, "DIR") == 0;
    return is_program || is_file || option->kind == OPTION_METRIC ? value : NULL;
}

void option_print(FILE *out, const struct option *option, const char *help)
{
    enum { COLUMN = 29 };
    char left[64];
    int used = snprintf(left, sizeof left, option->letter ? "  -%c, " : "      ", option->letter);
    snprintf(left + used, sizeof left - (size_t)used, "--%s%s%s", option->name, option->value ? " " : "",
             option->value ? option->value : "");
    fprintf(out, "%-*s", COLUMN, left);
    fold_text_at(out, TERMINAL_COLUMNS, COLUMN, COLUMN, help);
}
