/* Every option with every command; what command lines and files say. */
#include "commands/command.h"
#include "golden.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/pmu-probe-options-XXXXXX";

static int enter_folder(void **state)
{
    (void)state;
    unsetenv("PMU_PROBE");
    if (mkdtemp(folder) == NULL || chdir(folder) != 0)
        return -1;
    setenv("XDG_CONFIG_HOME", folder, 1);
    return 0;
}

static int leave_folder(void **state)
{
    (void)state;
    return chdir("/") != 0 || rmdir(folder) != 0;
}

static const char of_user[] = "pmu-probe/pmu-probe.conf";

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(chmod(name, 0644), 0);
}

static void write_config(const char *text)
{
    write_file("pmu-probe.conf", text);
}

static void write_own(const char *text)
{
    mkdir("pmu-probe", 0755);
    write_file(of_user, text);
}

static int no_config(void **state)
{
    (void)state;
    unsetenv("PMU_PROBE");
    setenv("XDG_CONFIG_HOME", folder, 1);
    unlink("pmu-probe.conf");
    unlink(of_user);
    rmdir("pmu-probe");
    return 0;
}

static bool read_words(struct options *options, struct error *error, const char *words)
{
    static char text[512];
    char *argv[32], *rest = text;
    int argc = 0;
    snprintf(text, sizeof text, "pmu-probe %s", words);
    for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest))
        argv[argc++] = word;
    error_clear(error);
    return options_read(options, argc, argv, error);
}

/* ---- every option with every command: taken, or refused by name */

/* As a user types it, by its letter or not, with what it is of no use without. */
static bool read_one(const struct option *option, size_t command, bool by_letter, char *typed, size_t size,
                     struct options *options, struct error *error)
{
    char words[128];
    const char *example =
        option_words[option->kind].example != NULL ? option_words[option->kind].example : "x";
    const struct option *other = option->needs.why != NULL
                                     ? option_find(option->needs.options, strcspn(option->needs.options, " "))
                                     : NULL;
    if (by_letter && option->letter != 0)
        snprintf(typed, size, "-%c", option->letter);
    else
        snprintf(typed, size, "--%s", option->name);
    FILE *out = fmemopen(words, sizeof words, "w");
    assert_non_null(out);
    fprintf(out, "%s ", typed);
    if (option->value != NULL && option->most > 0)
        fprintf(out, "%" PRIu64 " ", option->most);
    else if (option->value != NULL)
        fprintf(out, "%s ", example);
    if (other != NULL && (option->commands & other->commands & option->needs.commands) >> command & 1)
        fprintf(out, "--%s %s ", other->name, other->value != NULL ? "200" : "");
    fprintf(out, "%s", commands[command].name);
    for (unsigned i = 0; i < commands[command].least; i++)
        fprintf(out, " %s", command == COMMAND_STUB ? "status" : "main");
    fclose(out);
    return read_words(options, error, words);
}

TEST(each_rule_names_options)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];
        const struct option_rule *rules[OPTION_RULES + 1] = {&option->needs};
        for (size_t k = 0; k < OPTION_RULES; k++)
            rules[k + 1] = &option->rivals[k];
        for (size_t k = 0; k <= OPTION_RULES; k++) {
            const char *names = rules[k]->why != NULL ? rules[k]->options : "";
            for (size_t n; *names != '\0'; names += n + (names[n] == ' ')) {
                n = strcspn(names, " ");
                const struct option *other = option_find(names, n);
                if (other == NULL || other == option || (other->commands & option->commands) == 0)
                    fail_msg("--%s has a rule about %s", option->name, names);
            }
        }
    }
}

/* json, the example of a format, is not every command's. */
static bool takes(const struct option *option, size_t command)
{
    bool format = option->kind == OPTION_FORMAT;
    return (option->commands >> command & 1) != 0 &&
           (!format || (commands[command].formats >> FORMAT_JSON & 1) != 0);
}

static bool are_same(const struct options *a, const struct options *b)
{
    const unsigned char *left = (const unsigned char *)a, *right = (const unsigned char *)b;
    size_t same = 0;
    while (same < sizeof *a && left[same] == right[same])
        same++;
    return same == sizeof *a;
}

TEST(every_option_with_every_command)
{
    for (size_t i = 0; i < option_count; i++)
        for (size_t c = 0; c < COMMANDS; c++)
            for (int by_letter = 0; by_letter < 2; by_letter++) {
                const struct option *option = &option_table[i];
                struct options options, none;
                struct error error = {0}, ignored = {0};
                char typed[32], other[32];
                bool asks = strcmp(option->name, "help") == 0 || strcmp(option->name, "version") == 0;
                bool read = read_one(option, c, by_letter != 0, typed, sizeof typed, &options, &error);
                if (read != (takes(option, c) || asks || option->is_idle))
                    fail_msg("%s with %s: %s", typed, commands[c].name, read ? "taken" : error.text);
                if (!read && (strncmp(error.text, typed, strlen(typed)) != 0 ||
                              strstr(error.text, commands[c].name) == NULL || error.kind != ERROR_USAGE))
                    fail_msg("%s with %s says: %s", typed, commands[c].name, error.text);
                /* What is taken is there afterwards */
                const struct option *quiet = option_find("quiet", strlen("quiet"));
                if (option == quiet)
                    quiet = option_find("output", strlen("output"));
                if (read && takes(quiet, c)) {
                    assert_true(read_one(quiet, c, false, other, sizeof other, &none, &ignored));
                    options.request.command = none.request.command = NULL;
                    memset(options.operands, 0, sizeof options.operands);
                    memset(none.operands, 0, sizeof none.operands);
                    if (are_same(&options, &none))
                        fail_msg("%s with %s leaves no trace", typed, commands[c].name);
                    options_free(&none);
                }
                options_free(&options);
            }
}

static bool has_option(const char *text, const struct option *option)
{
    char name[32];
    snprintf(name, sizeof name, "--%s%s", option->name, option->value != NULL ? " " : "");
    return strstr(text, name) != NULL;
}

/* Each line in 80 columns. To be freed. */
static char *help_text(const char *name, bool all)
{
    help_command(output(), name, all);
    char *text = output_text(NULL), row[512];
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        snprintf(row, sizeof row, "%.*s", (int)strcspn(line, "\n"), line);
        if (utf8_width(row) > TERMINAL_COLUMNS)
            fail_msg("too wide: %s", row);
    }
    return text;
}

/* The help of all: system/test_options.py. */
TEST(help_of_a_command_has_its_own_options_after_examples)
{
    for (size_t c = 0; c < COMMANDS; c++) {
        char *whole = help_text(commands[c].name, true);
        char *text = help_text(commands[c].name, false);
        if (commands[c].does != NULL)
            assert_memory_equal(strchr(text, '\n'), "\n  pmu-probe ", 13);
        for (size_t i = 0; i < option_count; i++) {
            const struct option *option = &option_table[i];
            bool taken = (option->commands >> c & 1) != 0;
            bool only_text = option->kind == OPTION_FORMAT && commands[c].formats == 1 << FORMAT_TEXT;
            bool mentioned = strstr(commands[c].examples, option->name) != NULL;
            if (taken && !has_option(whole, option))
                fail_msg("--%s is missing in: %s", option->name, whole);
            if (taken && !option->is_rare && !only_text && !has_option(text, option))
                fail_msg("--%s is missing in: %s", option->name, text);
            if (option->is_rare && !mentioned && has_option(text, option))
                fail_msg("--%s is in: %s", option->name, text);
        }
        free(text);
        free(whole);
    }
}

/* ---- what is read */

/* All that is not as by default, as words; the items of a list have a | between them. */
static void describe_list(FILE *out, const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s%s%s", i == 0 ? " " : "|", i == 0 ? name : "", list[i]);
}

static void describe_number(FILE *out, const char *name, double value, double usual)
{
    if (value != usual)
        fprintf(out, " %s%.12g", name, value);
}

#define TEXT(field)                                                                                          \
    {                                                                                                        \
#field "=", offsetof(struct options, field)                                                          \
    }
#define ASKED(field)                                                                                         \
    {                                                                                                        \
#field "=", offsetof(struct options, request.field)                                                  \
    }

static char *described(const struct options *o)
{
    static const char *const formats[] = {"", "json", "csv", "markdown"};
    static const struct {
        const char *name;
        size_t at;
    } texts[] = {ASKED(command), ASKED(probe),     ASKED(counters),    ASKED(elf),  ASKED(counter),
                 TEXT(output),   ASKED(transport), ASKED(tick),        ASKED(show), TEXT(cpu),
                 TEXT(baseline), TEXT(threshold),  ASKED(openocd_path)};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *const *value = (const char *const *)((const char *)o + texts[i].at);
        describe_list(out, texts[i].name, value, *value != NULL);
    }
    describe_list(out, "operands=", o->operands, o->n_operands);
    describe_list(out, "events=", o->request.events, o->request.n_events);
    describe_list(out, "metrics=", o->request.metrics, o->request.n_metrics);
    describe_list(out, "openocd=", o->request.openocd, o->request.n_openocd);
    describe_list(out, "format=", &formats[o->format], o->format != FORMAT_TEXT);
    describe_list(out, "separator=", &o->separator, strcmp(o->separator, ",") != 0);
    describe_number(out, "core=", o->request.core, -1);
    describe_number(out, "freq=", o->request.freq_hz, 0);
    describe_number(out, "speed=", o->request.speed_hz, 0);
    describe_number(out, "hits=", (double)o->request.hits, 0);
    describe_number(out, "every=", (double)o->request.every, 0);
    describe_number(out, "interval=", (double)o->request.interval_ms, o->request.interval_said ? -1 : 1000);
    describe_number(out, "timeout=", o->request.timeout_s, 10);
    describe_number(out, "for=", o->request.for_s, 0);
    describe_number(out, "verbose=", o->verbose, 0);
    fprintf(out, "%s%s%s%s%s%s", o->mend ? " mend" : "", o->request.resume ? " resume" : "",
            o->request.no_calibrate ? " no_calibrate" : "", o->request.quiet ? " quiet" : "",
            o->help ? " help" : "", o->version ? " version" : "");
    fclose(out);
    return text;
}

/* `expected` NULL: as anything. */
static void reads(const char *words, const char *expected)
{
    struct options options;
    struct error error;
    if (!read_words(&options, &error, words))
        fail_msg("\"%s\" is refused: %s", words, error.text);
    char *text = described(&options);
    if (expected != NULL && strcmp(text + (*text == ' '), expected) != 0)
        fail_msg("\"%s\" is read as \"%s\", not \"%s\"", words, text, expected);
    free(text);
    options_free(&options);
}

static void refuses_with(const char *words, const char *says)
{
    struct options options;
    struct error error;
    if (read_words(&options, &error, words))
        fail_msg("accepted: %s", words);
    assert_int_equal(error.kind, ERROR_USAGE);
    if (strstr(error.text, says) == NULL)
        fail_msg("\"%s\" says \"%s\", not \"%s\"", words, error.text, says);
    options_free(&options);
}

static void refuses_each(const char *const (*rows)[2], size_t n)
{
    for (size_t i = 0; i < n; i++)
        refuses_with(rows[i][0], rows[i][1]);
}

#define REFUSES_EACH(...)                                                                                    \
    refuses_each((const char *const[][2]){__VA_ARGS__},                                                      \
                 sizeof((const char *const[][2]){__VA_ARGS__}) / sizeof(const char *const[2]))

/* By these lines of a pmu-probe.conf. */
static void conf_reads(const char *conf, const char *words, const char *expected)
{
    write_config(conf);
    reads(words, expected);
}

static void conf_refuses(const char *conf, const char *words, const char *says)
{
    write_config(conf);
    refuses_with(words, says);
}

TEST(options_stand_on_either_side)
{
    reads("", ""); /* all as by default */
    reads("-r 100 --elf=a.elf delta main -C1 *0x10 --freq 12.5MHz --for 500ms -j",
          "command=delta elf=a.elf operands=main|*0x10 format=json core=1 freq=12500000 hits=100 for=0.5");
    reads("-c one -f two info -s three", "command=info openocd=-c|one|-f|two|-s|three");
    /* after "--" nothing is an option */
    reads("delta f --tick uwTick --show r0,*0x20000000 --baseline a.jsonl --threshold 2% -q "
          "--transport jtag --counter dwt -o out.txt --no-calibrate --speed 8MHz -- -r",
          "command=delta counter=dwt output=out.txt transport=jtag tick=uwTick show=r0,*0x20000000 "
          "baseline=a.jsonl threshold=2% operands=f|-r speed=8000000 no_calibrate quiet");
    reads("list --cpu cortex-a9 refill", "command=list cpu=cortex-a9 operands=refill");
    reads("record -g -e A", "command=record output=profile.jsonl events=A");
    reads("-v info -vv", "command=info verbose=3");
    reads("--verbose info", "command=info verbose=1");
    reads("--help -I 500 delta", "command=delta interval=500 help"); /* a question is not refused */
}

TEST(events_and_metrics_are_gathered)
{
    reads("stat -e A,B --event={C,D} -M ipc -eE --metric miss",
          "command=stat events=A,B|{C,D}|E metrics=ipc|miss");
    reads("-eA -eA -eA -eA -eA -eA -eA -eA -eA -eA -eA -eA -eA -eA -eA stat -eA",
          "command=stat events=A|A|A|A|A|A|A|A|A|A|A|A|A|A|A|A");
    refuses_with("-eA -eA -eA -eA -eA -eA -eA -eA -eA -eA -eA -eA -eA -eA -eA -eA stat -eA", "");
    assert_int_equal(REQUEST_EVENTS, 16);
}

TEST(formats_and_separators)
{
    reads("stat -x ;", "command=stat format=csv separator=;");
    reads("stat -x\\t", "command=stat format=csv separator=\t");
    reads("delta f --format=markdown", "command=delta operands=f format=markdown");
    reads("stat -j --format text", "command=stat");
    reads("stat --format markdown -x ;", "command=stat format=csv separator=;");
    REFUSES_EACH(
        {"stat --format markdown", "--format: stat prints text, json or csv, not markdown"},
        {"stub -j status", "-j: stub prints text, not json"},
        {"stub -j --format text status", "-j is not for stub"},
        {"delta f --outliers 5 -x ,", "-x: delta --outliers prints text, json or html, not csv"},
        {"--format xml",
         "unknown format \"xml\": text, json, csv, markdown, folded, callgrind, perf, html or perfetto"},
        {"delta f --baseline a --any-elf", "there is no --any-elf: use no option"},
        {"report --diff old.jsonl", "there is no --diff: use compare OLD NEW"},
        {"delta f --format junit", "there is no --format junit: use pytest or CTest"},
        {"report --format pprof", "there is no --format pprof: use --format folded"},
        {"delta f -j --format=gcc", "there is no --format gcc: use -j"},
        {"delta f --format md",
         "unknown format \"md\": delta takes text, json, csv, markdown, html or perfetto"},
        {"stub status --format yaml -j", "unknown format \"yaml\": stub takes text"});
}

/* The forms of numbers are in run/test_values.c: here is what each option takes them for. A machine that is
 * busy needs more of the default of --timeout; what the user says is meant so. */
TEST(numbers_have_units)
{
    reads("--freq 125mhz --for 1.5 -I 200", "freq=125000000 interval=200 for=1.5");
    reads("--for 1h --timeout 500ms -I 1.5s", "interval=1500 timeout=0.5 for=3600");
    reads("-r 1k --speed 4M -I 5ms", "speed=4000000 hits=1000 interval=5");
    setenv("PMU_PROBE_PATIENCE", "3", 1);
    reads("delta f", "command=delta operands=f timeout=30");
    reads("delta f --timeout 4s", "command=delta operands=f timeout=4");
    setenv("PMU_PROBE_PATIENCE", "none", 1);
    reads("delta f", "command=delta operands=f");
    unsetenv("PMU_PROBE_PATIENCE");
}

static void each_is_refused(const char *const *words)
{
    for (; *words != NULL; words++)
        refuses_with(*words, "");
}

#define NONSENSE(...) each_is_refused((const char *const[]){__VA_ARGS__, NULL})

TEST(nonsense_is_refused)
{
    NONSENSE("-r 0", "-r -1", "-r 1.0001k", "--core -2", "--freq fast", "--freq 0", "--speed 0", "--speed 1x",
             "--for -1", "--for s", "--timeout nan", "--timeout 1e9", "-I 1us", "-I 25h", "--speed 0.4",
             "--speed 999", "--speed 5e9", "--speed 1m", "stat -e {A", "stat -e A,,B", "stat -e 17",
             "stat -e A;B", "-x ab", "-x \"", "-x a", "-x 1", "-x .", "--format JSON", "--json=1", "--mend=1",
             "-j1", "-vx info", "--nope", "--verbose=2", "-x", "--format", "-e", "-M", "--tick", "--show",
             "--baseline", "-r 99999999999999999999", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18");
}

/* Two may leave nothing for each other to say, one may be of no use without another, one may have another
 * name now. */
TEST(a_refusal_says_what_is_taken)
{
    REFUSES_EACH(
        {"help dleta", "unknown command \"dleta\""},
        {"stats", "unknown command \"stats\"; did you mean stat?"},
        {"wathc", "unknown command \"wathc\"; did you mean watch?"},
        {"-r 1k5", "-r takes a whole number from 1 up, such as 200; got \"1k5\""},
        {"delta -r", "-r needs a whole number after it: -r 200"},
        {"--elf", "--elf needs a value after it: --elf FILE"}, {"--freq 12m", "(write 12M for megahertz)"},
        {"--freq 12", "which is 12 Hz (write 12M for 12 MHz)"}, {"-I 5", "-I 5: write 5ms or 5s"},
        {"--freq 0x10", "--freq takes a frequency, such as 12M; got \"0x10\""},
        {"watch --for 0.0000001", "--for takes a time from 1ms up, such as 2s; got \"0.0000001\""},
        {"--timeout 1e-7", "--timeout takes a time from 1ms up"},
        {"watch --interval=1.5", "--interval 1.5: write 1.5ms or 1.5s"},
        {"-I 0", "-I takes a time from 1ms up"}, {"--speed 1", "which is 1 Hz (write 1M for 1 MHz)"},
        {"--no-calibate", "unknown option --no-calibate; did you mean --no-calibrate?"},
        {"-Z", "unknown option -Z"}, {"delta", "delta needs a FUNCTION, or a START and an END"},
        {"delta f --outliers 65", "--outliers takes a number from 1 to 64; got \"65\""},
        {"record --every 99", "--every takes a number from 100 to 1073741823; got \"99\""},
        {"info -p x -f y", "-p and -f: both name the link"},
        {"list --cpu cortex-a9 -C 1", "-C and --cpu: both say which core"},
        {"stat -a --resume", "-a and --resume"}, {"stat -a -I 500", "-a and -I: stat -a prints once"},
        {"doctor --prove --mend", "--mend and --prove: --mend keeps its repairs"},
        {"survey --check f", "--check needs --regions FILE"},
        {"delta f --threshold 2%", "--threshold needs --baseline FILE"},
        {"record -c 10k", "for 10k events say --every 10k"}, {"-c5000 record", "say --every 5000"},
        {"record --count=1e6", "there is no --count: use -r N"},
        {"delta f --on-max sp", "there is no --on-max: use --outliers N --show WORDS"},
        {"survey --boards x", "there is no --boards: use a process for each board"},
        {"release", "there is no release: use restore --force"},
        {"locate main", "there is no locate: use delta"},
        {"history results", "there is no history: use compare OLD NEW [...]"},
        {"restore -C 1", "-C needs --force"},
        {"restore --force --counters msr", "--counters and --force: counters have no breakpoints"});
    reads("watch -a -I 500", "command=watch interval=500");
    reads("-p door:3 list --cpu cortex-a9", "command=list probe=door:3 cpu=cortex-a9"); /* GDB's scripts */
    reads("restore --force -C 1", "command=restore core=1");
    reads("-c init record --every 200", "command=record output=profile.jsonl openocd=-c|init every=200");
}

#define CONFIG_TEST(name) TEST_WITH(name, NULL, no_config)

CONFIG_TEST(config_comes_after_the_command_line)
{
    conf_reads("# ours\nprobe = openocd:there:1234\n\n  elf=  app.elf  \nrepeat = 7\nno-calibrate\n",
               "delta f -r 9",
               "command=delta probe=openocd:there:1234 elf=app.elf operands=f hits=9 no_calibrate");
    setenv("PMU_PROBE", "openocd:here", 1);
    reads("delta f", "command=delta probe=openocd:here elf=app.elf operands=f hits=7 no_calibrate");
    reads("delta f -p gdb:x:1", "command=delta probe=gdb:x:1 elf=app.elf operands=f hits=7 no_calibrate");
    reads("delta f -f y", "command=delta elf=app.elf operands=f openocd=-f|y hits=7 no_calibrate");
    unsetenv("PMU_PROBE");
    conf_refuses("interval = 5\nformat = md\n", "watch", "pmu-probe.conf:1: interval 5: write 5ms or 5s");
    refuses_with("delta f", "pmu-probe.conf:1: interval 5: write 5ms or 5s");
    conf_refuses("format = md\n", "watch",
                 "pmu-probe.conf:1: unknown format \"md\": watch takes text, json or csv");
    conf_reads(
        "event = A,B\nevent = C\nfile = a.cfg\nmetric = ipc\ntick = uwTick\nfreq = 12M \n",
        "delta f --trust-conf",
        "command=delta tick=uwTick operands=f events=A,B|C metrics=ipc openocd=-f|a.cfg freq=12000000");
    /* another OpenOCD altogether */
    reads("delta f -e X -c init --tick y",
          "command=delta tick=y operands=f events=X metrics=ipc openocd=-c|init freq=12000000");
}

CONFIG_TEST(the_own_config_comes_last)
{
    write_own("probe = gdb:a:1\nelf = own.elf\nrepeat = 7\nevent = X\ncore = 3\nformat = json\n");
    reads("delta f", "command=delta probe=gdb:a:1 elf=own.elf operands=f events=X format=json core=3 hits=7");
    conf_reads("elf = app.elf\nevent = A\nevent = B\nformat = csv\ncore = 2\n", "delta f",
               "command=delta probe=gdb:a:1 elf=app.elf operands=f events=A|B format=csv core=2 hits=7");
    reads("delta f -e Y -r 1",
          "command=delta probe=gdb:a:1 elf=app.elf operands=f events=Y format=csv core=2 "
          "hits=1");
    setenv("XDG_CONFIG_HOME", "relative", 1); /* which would be the current folder's */
    setenv("HOME", folder, 1);
    assert_int_equal(mkdir("relative", 0755), 0);
    assert_int_equal(mkdir("relative/pmu-probe", 0755), 0);
    write_file("relative/pmu-probe/pmu-probe.conf", "repeat = 5\n");
    reads("delta f", "command=delta elf=app.elf operands=f events=A|B format=csv core=2");
    assert_int_equal(rename("relative", ".config"), 0);
    setenv("XDG_CONFIG_HOME", "", 1); /* the same as none */
    reads("delta f", "command=delta elf=app.elf operands=f events=A|B format=csv core=2 hits=5");
    unlink(".config/pmu-probe/pmu-probe.conf");
    rmdir(".config/pmu-probe");
    rmdir(".config");
    write_own("oops = 1\n");
    setenv("XDG_CONFIG_HOME", folder, 1);
    refuses_with("info", "/pmu-probe/pmu-probe.conf:1: unknown option \"oops\"");
    reads("help info", "command=info help");
}

/* A group of options is one thing; who says one of it says all. */
CONFIG_TEST(groups_of_options_are_said_once)
{
    write_own("file = own.cfg\nsearch = dir\nfor = 3s\ncounters = msr\n");
    reads("delta f", "command=delta counters=msr operands=f openocd=-f|own.cfg|-s|dir for=3");
    reads("delta f -p gdb:a:1", "command=delta probe=gdb:a:1 counters=msr operands=f for=3");
    reads("delta f -p msr:1", "command=delta probe=msr:1 operands=f for=3"); /* they are there already */
    reads("delta f -c init -r 9", "command=delta counters=msr operands=f openocd=-c|init hits=9");
    reads("list --cpu cortex-a9", "command=list cpu=cortex-a9");
    setenv("PMU_PROBE", "gdb:e:1", 1);
    reads("delta f", "command=delta probe=gdb:e:1 counters=msr operands=f for=3");
    unsetenv("PMU_PROBE");
    conf_reads("probe = gdb:f:1\nrepeat = 5\n", "delta f",
               "command=delta probe=gdb:f:1 counters=msr operands=f hits=5");
}

/* A file in a folder is data; one that the user wrote, or trusts, is more. */
CONFIG_TEST(only_the_users_own_config_acts)
{
    static const char *const acts[] = {
        "file = x.cfg", "tcl = exec touch pwned", "search = .",         "output = x", "reset", "resume",
        "mend",         "probe = msr:0@card",     "counters = msr@card"};
    static const char *const of[] = {"delta f ", "doctor "};
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        char text[64], trusted[64];
        const char *command = of[strcmp(acts[i], "mend") == 0];
        snprintf(text, sizeof text, "# not\n%s\n", acts[i]);
        conf_refuses(text, command, "which this folder's file must not");
        snprintf(trusted, sizeof trusted, "%s --trust-conf", command);
        reads(trusted, NULL);
        unlink("pmu-probe.conf");
        write_own(text);
        reads(command, NULL);
        unlink(of_user);
    }
    /* What does not count does nothing */
    conf_reads("file = x.cfg\noutput = y\nmend\nhalt\n", "info -p gdb:a:1 -o z",
               "command=info probe=gdb:a:1 output=z");
    refuses_with("info -p gdb:a:1", "pmu-probe.conf:2: output names a file to write");
    conf_refuses("trust-conf\n", "info", "pmu-probe.conf:1: trust-conf belongs to the command line");
    write_own("trust-conf\n");
    unlink("pmu-probe.conf");
    refuses_with("info", "trust-conf belongs to the command line");
    /* The folder's file is the user's own one */
    write_own("output = y\n");
    assert_int_equal(chdir("pmu-probe"), 0);
    reads("info", "command=info output=y");
    assert_int_equal(chdir(".."), 0);
}

CONFIG_TEST(a_config_has_quotes_comments_and_a_home)
{
    setenv("HOME", "/home/me", 1);
    write_config(
        "elf = \"a b # c.elf\"  # ours\nprobe = 'gdb:x:1'# too\nrepeat = 7 # times\nno-calibrate # a = b\n");
    reads("delta f", "command=delta probe=gdb:x:1 elf=a b # c.elf operands=f hits=7 no_calibrate");
    conf_reads("\xEF\xBB\xBF"
               "elf = app.elf\n",
               "info", "command=info elf=app.elf");
    conf_reads("elf = ~/app#1.elf\n", "info", "command=info elf=/home/me/app#1.elf");
    conf_reads("elf = '~/app.elf'\n", "info", "command=info elf=~/app.elf");
    conf_refuses("#\nelf = \"app.elf\n", "info", "pmu-probe.conf:2: a quote is not closed");
    conf_refuses("#\nelf = \"app\".elf\n", "info", "pmu-probe.conf:2: there is more after the closing quote");
}

CONFIG_TEST(the_config_above_is_found_up_to_the_home)
{
    char here[PATH_MAX];
    assert_non_null(getcwd(here, sizeof here));
    write_config("elf = build/app.elf\n");
    assert_int_equal(mkdir("low", 0755), 0);
    assert_int_equal(mkdir("low/lower", 0755), 0);
    assert_int_equal(chdir("low/lower"), 0);
    setenv("HOME", here, 1);
    reads("survey *", "command=survey elf=../../build/app.elf operands=*");
    write_file("../../pmu-probe.conf",
               "metric = CPI,mine.metrics,sub/a.metrics,/b.metrics\nprobe = replay:a.wires\n");
    reads("delta f", "command=delta probe=replay:../../a.wires operands=f "
                     "metrics=CPI,../../mine.metrics,../../sub/a.metrics,/b.metrics");
    write_file("../../pmu-probe.conf", "openocd = tools/openocd\nfile = x.cfg\n");
    reads("info --trust-conf", "command=info openocd_path=../../tools/openocd openocd=-f|x.cfg");
    write_file("../../pmu-probe.conf", "openocd = openocd-13\nfile = x.cfg\n");
    reads("info --trust-conf", "command=info openocd_path=openocd-13 openocd=-f|x.cfg");
    write_file("../../pmu-probe.conf", "probe = gdb:a:1\ncounters = msr:2@sys\n");
    reads("info --trust-conf", "command=info probe=gdb:a:1 counters=msr:2@../../sys");
    write_file("../../pmu-probe.conf", "elf = build/app.elf\n");
    write_file("../pmu-probe.conf", "file = x.cfg\n");
    refuses_with("info", "../pmu-probe.conf:1: file starts OpenOCD with commands");
    unlink("../pmu-probe.conf");
    char low[PATH_MAX + 8];
    snprintf(low, sizeof low, "%s/low", here);
    setenv("HOME", low, 1);
    reads("info", "command=info");
    assert_int_equal(chdir(here), 0);
    rmdir("low/lower");
    rmdir("low");
}

CONFIG_TEST(a_config_that_others_may_write_is_refused)
{
    static const mode_t modes[] = {0664, 0646, 0666, 0620};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        write_config("core = 1\n");
        assert_int_equal(chmod("pmu-probe.conf", modes[i]), 0);
        refuses_with("info",
                     modes[i] & 2 ? "because everybody may write it" : "because its group may write it");
        refuses_with("info --trust-conf", "pmu-probe.conf is not read");
        unlink("pmu-probe.conf");
        write_own("core = 1\n");
        assert_int_equal(chmod(of_user, modes[i]), 0);
        refuses_with("info", "/pmu-probe/pmu-probe.conf is not read");
        unlink(of_user);
    }
    /* A link is as good as its file */
    write_file("data", "core = 1\n");
    assert_int_equal(symlink("data", "pmu-probe.conf"), 0);
    reads("info", "command=info core=1");
    assert_int_equal(chmod("data", 0666), 0);
    refuses_with("info", "everybody may write it");
    unlink("data");
    reads("info", "command=info"); /* it leads nowhere */
    unlink("pmu-probe.conf");
    for (int is_pipe = 0; is_pipe < 2; is_pipe++) {
        assert_int_equal(is_pipe ? mkfifo("pmu-probe.conf", 0644) : mkdir("pmu-probe.conf", 0755), 0);
        refuses_with("info", "pmu-probe.conf is not a plain file");
        remove("pmu-probe.conf");
    }
    if (geteuid() != 0)
        return;
    enum { OTHER = 1234 };
    write_config("core = 1\n");
    assert_int_equal(chown("pmu-probe.conf", OTHER, (gid_t)-1), 0);
    unsetenv("SUDO_UID");
    refuses_with("info", "pmu-probe.conf is not read, because it belongs to user 1234");
    reads("info --trust-conf", "command=info core=1");
    setenv("SUDO_UID", "1234", 1);
    reads("info", "command=info core=1");
    setenv("SUDO_UID", "1235", 1);
    refuses_with("info", "belongs to user 1234");
    unsetenv("SUDO_UID");
}

/* Anyone may write into /tmp: that must not end the runs of all who work below it. */
CONFIG_TEST(a_config_of_another_user_above_is_passed_over)
{
    enum { OTHER = 1234 };
    char here[PATH_MAX];
    if (geteuid() != 0)
        return;
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(mkdir("low", 0755), 0);
    assert_int_equal(mkdir("low/lower", 0755), 0);
    write_file("pmu-probe.conf", "core = 1\n");
    assert_int_equal(chdir("low/lower"), 0);
    setenv("HOME", here, 1);
    for (int kind = 0; kind < 5; kind++) {
        if (kind == 0)
            write_file("../pmu-probe.conf", "core = 2\nnonsense\n");
        else if (kind == 1)
            assert_int_equal(mkfifo("../pmu-probe.conf", 0666), 0);
        else if (kind == 2)
            assert_int_equal(mkdir("../pmu-probe.conf", 0755), 0);
        else
            assert_int_equal(symlink(kind == 3 ? "/etc/passwd" : "pmu-probe.conf", "../pmu-probe.conf"), 0);
        assert_int_equal(lchown("../pmu-probe.conf", OTHER, (gid_t)-1), 0);
        reads("info", "command=info core=1");
        if (kind == 0)
            refuses_with("info --trust-conf", "../pmu-probe.conf:2: unknown option \"nonsense\"");
        assert_int_equal(remove("../pmu-probe.conf"), 0);
    }
    assert_int_equal(chdir(here), 0);
    unlink("pmu-probe.conf");
    rmdir("low/lower");
    rmdir("low");
}

CONFIG_TEST(a_config_is_text_of_some_length)
{
    static char text[65536 + 1];
    for (size_t i = 0; i < sizeof text - 1; i += 8)
        snprintf(text + i, 9, "core=%c \n", i + 8 < sizeof text - 1 ? '1' : '2');
    conf_reads(text, "info", "command=info core=2");
    FILE *file = fopen("pmu-probe.conf", "a");
    assert_non_null(file);
    fputc('#', file);
    fclose(file);
    refuses_with("info", "larger than 64 KiB");
    file = fopen("pmu-probe.conf", "w");
    assert_non_null(file);
    assert_int_equal(fwrite("core = 1\n\0file = x", 1, 18, file), 18);
    fclose(file);
    refuses_with("info", "it has a zero byte");
}

/* What the command line makes useless is left out; of two lines that exclude each other one counts. */
CONFIG_TEST(config_says_nothing_that_is_of_no_use)
{
    conf_reads("threshold = 2%\ncheck\noutliers = 5\n", "delta f", "command=delta operands=f");
    reads("delta f --baseline a", "command=delta baseline=a threshold=2% operands=f");
    reads("delta f -x ,", "command=delta operands=f format=csv");
    reads("survey f", "command=survey operands=f");
    conf_reads("core = 1\nall-cpus\ninterval = 500\n", "stat", "command=stat");
    reads("stat -C 2", "command=stat core=2 interval=500");
    conf_reads("cpu = cortex-a9\nmend\njson\n", "list -C 2", "command=list format=json core=2");
}

/* Each line of it says what it is about; what the command line says counts more, in whatever form. */
CONFIG_TEST(config_does_not_turn_the_command_line_over)
{
    conf_reads("format = csv\n", "stat", "command=stat format=csv");
    reads("stat -j", "command=stat format=json");
    conf_reads("json\n", "stat", "command=stat format=json");
    reads("stat -x :", "command=stat format=csv separator=:");
    conf_reads("separator = ;\n", "stat", "command=stat format=csv separator=;");
    reads("stat --format csv", "command=stat format=csv separator=;");
    reads("stat --format text", "command=stat separator=;");
}

CONFIG_TEST(nonsense_in_the_config_is_refused_by_its_line)
{
    static const char *const wrong[] = {"\nfreq = fast\n", "\nrepeat\n",       "\nresume = no\n",
                                        "\n= 5\n",         "\nformat = xml\n", "\nseparator = ab\n",
                                        "\nnope = 1\n",    "\nelf\n",          "\nhelp\n",
                                        "\nversion\n",     "\nevent = {A\n",   "\ncore = x\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        conf_refuses(wrong[i], "info", "pmu-probe.conf:2: ");
    conf_refuses("\ncount = 5k\n", "record", "pmu-probe.conf:2: there is no --count: use -r N");
}

TEST_GROUP(enter_folder, leave_folder)
