#include "commands/options.h"
#include "test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/pmu-probe-options-XXXXXX";

static int enter_folder(void **state)
{
    (void)state;
    unsetenv("PMU_PROBE");
    return mkdtemp(folder) == NULL || chdir(folder) != 0;
}

static int leave_folder(void **state)
{
    (void)state;
    return chdir("/") != 0 || rmdir(folder) != 0;
}

static void write_config(const char *text)
{
    FILE *file = fopen("pmu-probe.conf", "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int no_config(void **state)
{
    (void)state;
    return unlink("pmu-probe.conf");
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

static char *described(const struct options *o)
{
    static const char *const formats[] = {"", "json", "csv", "junit", "markdown"};
    static const struct {
        const char *name;
        size_t at;
    } texts[] = {TEXT(command),   TEXT(probe), TEXT(counters), TEXT(elf), TEXT(counter),  TEXT(output),
                 TEXT(transport), TEXT(tick),  TEXT(on_max),   TEXT(cpu), TEXT(baseline), TEXT(threshold)};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *const *value = (const char *const *)((const char *)o + texts[i].at);
        describe_list(out, texts[i].name, value, *value != NULL);
    }
    describe_list(out, "operands=", o->operands, o->n_operands);
    describe_list(out, "events=", o->events, o->n_events);
    describe_list(out, "metrics=", o->metrics, o->n_metrics);
    describe_list(out, "openocd=", o->openocd, o->n_openocd);
    describe_list(out, "format=", &formats[o->format], o->format != FORMAT_TEXT);
    describe_list(out, "separator=", &o->separator, strcmp(o->separator, ",") != 0);
    describe_number(out, "core=", o->core, -1);
    describe_number(out, "freq=", o->freq_hz, 0);
    describe_number(out, "speed=", o->speed_hz, 0);
    describe_number(out, "hits=", (double)o->hits, 0);
    describe_number(out, "interval=", (double)o->interval_ms, o->interval_said ? -1 : 1000);
    describe_number(out, "timeout=", o->timeout_s, 10);
    describe_number(out, "for=", o->for_s, 0);
    fprintf(out, "%s%s%s%s%s%s", o->mend ? " mend" : "", o->resume ? " resume" : "",
            o->no_calibrate ? " no_calibrate" : "", o->quiet ? " quiet" : "", o->help ? " help" : "",
            o->version ? " version" : "");
    fclose(out);
    return text;
}

static void reads(const char *words, const char *expected)
{
    struct options options;
    struct error error;
    if (!read_words(&options, &error, words))
        fail_msg("\"%s\" is refused: %s", words, error.text);
    char *text = described(&options);
    if (strcmp(text + (*text == ' '), expected) != 0)
        fail_msg("\"%s\" is read as \"%s\", not \"%s\"", words, text, expected);
    free(text);
    options_free(&options);
}

/* With these words; where there is a pmu-probe.conf, by its second line. */
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

static void refuses(const char *words)
{
    struct options options;
    struct error error;
    if (read_words(&options, &error, words))
        fail_msg("accepted: %s", words);
    assert_int_equal(error.kind, ERROR_USAGE);
    if (access("pmu-probe.conf", F_OK) == 0 && strstr(error.text, "pmu-probe.conf:2: ") == NULL)
        fail_msg("no line: %s", error.text);
    options_free(&options);
}

TEST(options_stand_on_either_side)
{
    reads("", ""); /* all as by default */
    reads("-r 100 --elf=a.elf delta main -C1 *0x10 --freq 12.5MHz --for 500ms -j",
          "command=delta elf=a.elf operands=main|*0x10 format=json core=1 freq=12500000 hits=100 for=0.5");
    reads("-c one -f two info -s three", "command=info openocd=-c|one|-f|two|-s|three");
    /* behind "--" nothing is an option */
    reads("delta f --tick uwTick --on-max r0,*0x20000000 --baseline a.jsonl --threshold 2% -q "
          "--transport jtag --counter dwt -o out.txt --no-calibrate --speed 8MHz -- -r",
          "command=delta counter=dwt output=out.txt transport=jtag tick=uwTick on_max=r0,*0x20000000 "
          "baseline=a.jsonl threshold=2% operands=f|-r speed=8000000 no_calibrate quiet");
    reads("doctor --mend", "command=doctor mend");
    reads("list --cpu cortex-a9 refill", "command=list cpu=cortex-a9 operands=refill");
}

TEST(help_and_version_are_words_too)
{
    reads("help", "help");
    reads("help delta", "command=delta help");
    reads("delta --help", "command=delta help");
    reads("--help -I 5 delta", "command=delta interval=5 help"); /* somebody who asks is not refused */
    reads("version", "version");
    reads("-V", "version");
    refuses_with("help dleta", "unknown command \"dleta\"");
    refuses_with("stats", "unknown command \"stats\"; did you mean stat?");
    refuses_with("dleta main", "unknown command \"dleta\"; did you mean delta?");
    refuses_with("wathc", "unknown command \"wathc\"; did you mean watch?");
}

TEST(events_and_metrics_are_gathered)
{
    reads("stat -e A,B --event={C,D} -M ipc -eE --metric miss",
          "command=stat events=A,B|{C,D}|E metrics=ipc|miss");
    reads("-eA -eA -eA -eA -eA -eA -eA -eA -eA -eA -eA -eA -eA -eA -eA stat -eA",
          "command=stat events=A|A|A|A|A|A|A|A|A|A|A|A|A|A|A|A");
    refuses("-eA -eA -eA -eA -eA -eA -eA -eA -eA -eA -eA -eA -eA -eA -eA -eA stat -eA");
    assert_int_equal(OPTION_EVENTS, 16);
}

TEST(formats_and_separators)
{
    reads("stat", "command=stat");
    reads("stat --json", "command=stat format=json");
    reads("stat -x ;", "command=stat format=csv separator=;");
    reads("stat -x;", "command=stat format=csv separator=;");
    reads("stat --format csv", "command=stat format=csv");
    reads("delta f --format=junit", "command=delta operands=f format=junit");
    reads("delta f --format markdown", "command=delta operands=f format=markdown");
    reads("stat --format json", "command=stat format=json");
    reads("stat -j --format text", "command=stat");
    reads("stat --format junit -x ;", "command=stat format=csv separator=;");
    reads("stat -x \\t", "command=stat format=csv separator=\t");
    refuses_with("stat --format junit", "--format: stat prints text, JSON or CSV, not JUnit");
    refuses_with("info -x ,", "-x: info prints text or JSON, not CSV");
    refuses_with("stub -j status", "-j: stub prints text, not JSON");
    refuses_with("stub -j --format text status", "-j belongs to");
    refuses_with("--format xml stat", "unknown format \"xml\": text, json, csv, junit or markdown");
}

TEST(numbers_have_units)
{
    reads("--freq 12M", "freq=12000000");
    reads("--freq 125mhz", "freq=125000000");
    reads("--freq 32768", "freq=32768");
    reads("--freq 1.2GHz", "freq=1200000000");
    reads("--freq 48k", "freq=48000");
    reads("--for 5s", "for=5");
    reads("--for 2m --freq 1Hz", "freq=1 for=120");
    reads("--for 250ms", "for=0.25");
    reads("--for 1.5", "for=1.5");
    reads("--for 1h --timeout 500ms", "timeout=0.5 for=3600");
    reads("-I 200ms", "interval=200");
    reads("-I 200", "interval=200");
    reads("-I 1.5s", "interval=1500");
    reads("-r 1k", "hits=1000");
    reads("-r 1e3", "hits=1000");
    reads("-r 2M", "hits=2000000");
    reads("--speed 4M", "speed=4000000");
    reads("--speed 1e6", "speed=1000000");
}

#define REFUSES_EACH(...) refuses_each((const char *const[]){__VA_ARGS__, NULL})

static void refuses_each(const char *const *words)
{
    for (; *words != NULL; words++)
        refuses(*words);
}

TEST(nonsense_is_refused)
{
    REFUSES_EACH("-r 0", "-r -1", "-r 1x", "-r 99999999999999999999", "-I 0", "--core -2", "--freq fast",
                 "--freq 0", "--freq inf", "--speed 0", "--speed 1x", "--for -1", "--timeout nan",
                 "--timeout 1e9");
    REFUSES_EACH("-r 1m", "-r 1.5", "-r 1.0001k", "-r 010", "-r 1e", "-r 0x", "-r 1e30", "-r 1K2", "-r +5");
    REFUSES_EACH("-I 0.5ms", "-I 1us", "-I 25h", "--for 0x1p4", "--for +1", "--for 1e", "--for .", "--for s",
                 "--freq 0x10", "--freq 1.2.3", "--speed 0.4", "--speed 999", "--speed 5e9", "--speed 1m");
    REFUSES_EACH("stat -e {A", "stat -e A,,B", "stat -e 17", "stat -e A;B");
    REFUSES_EACH("-x ab", "-x \"", "-x a", "-x 1", "-x .", "--format xml", "--format JSON");
    REFUSES_EACH("-Z", "--nope", "--json=1", "--mend=1", "-j1");
    REFUSES_EACH("-r", "--elf", "-x", "--format", "-e", "-M", "--tick", "--on-max", "--baseline");
    refuses("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18");
}

TEST(a_refusal_says_what_is_taken)
{
    refuses_with("-r 1k5", "-r takes a whole number from 1 up, such as 200; got \"1k5\"");
    refuses_with("--repeat=x", "--repeat takes a whole number from 1 up");
    refuses_with("delta -r", "-r needs a number after it: -r 200");
    refuses_with("--elf", "--elf needs a value after it: --elf FILE");
    refuses_with("--freq 12m", "(write 12M for megahertz)");
    refuses_with("--speed 1", "which is 1 Hz (write 1M for 1 MHz)");
    refuses_with("--no-calibate", "unknown option --no-calibate; did you mean --no-calibrate?");
    refuses_with("-Z", "unknown option -Z");
    refuses_with("info x", "unexpected argument \"x\"");
    refuses_with("delta a b c", "unexpected argument \"c\"");
    refuses_with("delta", "delta needs a FUNCTION, or a START and an END");
}

/* Two that would leave nothing for each other to say. */
TEST(some_do_not_go_together)
{
    refuses_with("info -p x -f y", "-p and -f: both say how the target is reached");
    refuses_with("list --cpu cortex-a9 -C 1", "-C and --cpu: both say which core");
    refuses_with("list --cpu cortex-a9 --speed 1M", "--speed and --cpu");
    refuses_with("stat -a --resume", "-a and --resume");
    reads("-p door:3 list --cpu cortex-a9", "command=list probe=door:3 cpu=cortex-a9"); /* GDB's scripts */
}

#define CONFIG_TEST(name) TEST_WITH(name, NULL, no_config)

CONFIG_TEST(config_comes_after_the_command_line)
{
    write_config("# ours\nprobe = openocd:there:1234\n\n  elf=  app.elf  \nrepeat = 7\nresume\n");
    reads("delta f -r 9", "command=delta probe=openocd:there:1234 elf=app.elf operands=f hits=9 resume");
    setenv("PMU_PROBE", "openocd:here", 1);
    reads("delta f", "command=delta probe=openocd:here elf=app.elf operands=f hits=7 resume");
    reads("delta f -p gdb:x:1", "command=delta probe=gdb:x:1 elf=app.elf operands=f hits=7 resume");
    reads("delta f -f y", "command=delta elf=app.elf operands=f openocd=-f|y hits=7 resume");
    unsetenv("PMU_PROBE");
    write_config("event = A,B\nevent = C\nfile = a.cfg\nmetric = ipc\ntick = uwTick\nfreq = 12 \n");
    reads("delta f",
          "command=delta tick=uwTick operands=f events=A,B|C metrics=ipc openocd=-f|a.cfg freq=12");
    /* another OpenOCD altogether */
    reads("delta f -e X -c init --tick y",
          "command=delta tick=y operands=f events=X metrics=ipc openocd=-c|init freq=12");
}

/* It is for all commands: each takes its own from it. */
CONFIG_TEST(config_serves_every_command)
{
    write_config("repeat = 7\ncpu = cortex-a9\nmend\ninterval = 5\nall-cpus\njson\nbaseline = x\ncore = 1\n");
    reads("probes", "command=probes format=json");
    reads("stub status", "command=stub operands=status core=1");
    reads("delta f", "command=delta baseline=x operands=f format=json core=1 hits=7");
    reads("list", "command=list cpu=cortex-a9 format=json core=1");
    reads("list -C 2", "command=list format=json core=2"); /* which --cpu would leave without effect */
    write_config("format = junit\nthreshold = 2%\n");
    reads("info", "command=info");
    reads("stat", "command=stat");
    reads("delta f", "command=delta operands=f format=junit"); /* there is nothing to compare with */
    write_config("file = x.cfg\ntcl = init\n");
    reads("info -p openocd", "command=info probe=openocd");
    setenv("PMU_PROBE", "openocd:here", 1);
    reads("info", "command=info probe=openocd:here");
    unsetenv("PMU_PROBE");
    write_config("\nnope = 1\n"); /* not even this is in the way of help */
    reads("--help", "help");
    reads("help info", "command=info help");
    reads("--version", "version");
    reads("", "");
}

/* Each line of it says what it is about; what the command line says counts more, however it is said. */
CONFIG_TEST(config_does_not_turn_the_command_line_over)
{
    write_config("format = csv\n");
    reads("stat", "command=stat format=csv");
    reads("stat -j", "command=stat format=json");
    write_config("json\n");
    reads("stat", "command=stat format=json");
    reads("stat -x :", "command=stat format=csv separator=:");
    write_config("separator = ;\n");
    reads("stat", "command=stat format=csv separator=;");
    reads("stat --format csv", "command=stat format=csv separator=;");
    reads("stat --format text", "command=stat separator=;");
}

CONFIG_TEST(nonsense_in_the_config_is_refused_by_its_line)
{
    static const char *const wrong[] = {"\nfreq = fast\n", "\nrepeat\n",       "\nresume = no\n",
                                        "\n= 5\n",         "\nformat = xml\n", "\nseparator = ab\n",
                                        "\nnope = 1\n",    "\nelf\n",          "\nhelp\n",
                                        "\nversion\n",     "\nevent = {A\n",   "\ncore = x\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_config(wrong[i]);
        refuses("info");
    }
}

TEST(verbose_as_often_as_it_is_said)
{
    static const struct {
        const char *words;
        unsigned verbose;
    } rows[] = {{"info", 0}, {"-v info", 1}, {"info -vv", 2}, {"-v info -v", 2}, {"--verbose info", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct options options;
        struct error error = {0};
        assert_true(read_words(&options, &error, rows[i].words));
        assert_int_equal(options.verbose, rows[i].verbose);
        options_free(&options);
    }
    struct options options;
    struct error error = {0};
    assert_false(read_words(&options, &error, "-vx info"));
    assert_int_equal(error.kind, ERROR_USAGE);
    assert_false(read_words(&options, &error, "--verbose=2 info"));
    options_free(&options);
}

TEST_GROUP(enter_folder, leave_folder)
