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
    fprintf(out, "%s%s%s%s%s", o->mend ? " mend" : "", o->resume ? " resume" : "",
            o->no_calibrate ? " no_calibrate" : "", o->help ? " help" : "", o->version ? " version" : "");
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

/* Where there is a pmu-probe.conf, by its second line. */
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
    reads("delta f --tick uwTick --on-max r0,*0x20000000 --baseline a.jsonl --threshold 2% --cpu cortex-a9 "
          "--transport jtag --counter dwt -o out.txt -I 250 --mend --no-calibrate --speed 8MHz -- -r",
          "command=delta counter=dwt output=out.txt transport=jtag tick=uwTick on_max=r0,*0x20000000 "
          "cpu=cortex-a9 baseline=a.jsonl threshold=2% operands=f|-r speed=8000000 interval=250 mend "
          "no_calibrate");
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
    reads("stat --format=junit", "command=stat format=junit");
    reads("stat --format markdown", "command=stat format=markdown");
    reads("stat --format json", "command=stat format=json");
    reads("stat -j --format text", "command=stat");
    reads("stat --format junit -x ;", "command=stat format=csv separator=;");
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
    REFUSES_EACH("-x ab", "-x \"", "--format xml", "--format JSON");
    REFUSES_EACH("-Z", "--nope", "--json=1", "--mend=1", "-j1");
    REFUSES_EACH("-r", "--elf", "-x", "--format", "-e", "-M", "--tick", "--on-max", "--baseline");
    refuses("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18");
}

#define CONFIG_TEST(name) TEST_WITH(name, NULL, no_config)

CONFIG_TEST(config_comes_after_the_command_line)
{
    write_config("# ours\nprobe = openocd:there:1234\n\n  elf=  app.elf  \nrepeat = 7\nresume\n");
    reads("info -r 9", "command=info probe=openocd:there:1234 elf=app.elf hits=9 resume");
    setenv("PMU_PROBE", "openocd:here", 1);
    reads("info", "command=info probe=openocd:here elf=app.elf hits=7 resume");
    unsetenv("PMU_PROBE");
    write_config("event = A,B\nevent = C\nfile = a.cfg\nmetric = ipc\ntick = uwTick\nfreq = 12 \n");
    reads("stat", "command=stat tick=uwTick events=A,B|C metrics=ipc openocd=-f|a.cfg freq=12");
    /* another OpenOCD altogether */
    reads("stat -e X -c init --tick y", "command=stat tick=y events=X metrics=ipc openocd=-c|init freq=12");
}

/* Each line of it says what it is about; what the command line says counts more, however it is said. */
CONFIG_TEST(config_does_not_turn_the_command_line_over)
{
    write_config("format = markdown\n");
    reads("stat", "command=stat format=markdown");
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
                                        "\nnope = 1\n",    "\nelf\n"};
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
