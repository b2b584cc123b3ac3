#include "commands/options.h"
#include "test.h"

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
    unlink("pmu-probe.conf");
    return chdir("/") != 0 || rmdir(folder) != 0;
}

static void write_config(const char *text)
{
    FILE *file = fopen("pmu-probe.conf", "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
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

TEST(options_stand_on_either_side)
{
    struct options options;
    struct error error;
    assert_true(read_words(&options, &error,
                           "-r 100 --elf=a.elf delta main -C1 *0x10 --freq 12.5MHz --for 500ms -j"));
    assert_string_equal(options.command, "delta");
    assert_int_equal(options.n_operands, 2);
    assert_string_equal(options.operands[1], "*0x10");
    assert_int_equal(options.hits, 100);
    assert_string_equal(options.elf, "a.elf");
    assert_int_equal(options.core, 1);
    assert_true(options.freq_hz == 12.5e6);
    assert_true(options.for_s == 0.5);
    assert_int_equal(options.format, FORMAT_JSON);
    options_free(&options);
}

TEST(openocd_options_keep_their_order)
{
    struct options options;
    struct error error;
    assert_true(read_words(&options, &error, "-c one -f two info -s three"));
    assert_int_equal(options.n_openocd, 6);
    assert_string_equal(options.openocd[0], "-c");
    assert_string_equal(options.openocd[3], "two");
    assert_string_equal(options.openocd[4], "-s");
    options_free(&options);
}

TEST(events_and_metrics_are_gathered)
{
    struct options options;
    struct error error;
    assert_true(read_words(&options, &error, "stat -e A,B --event={C,D} -M ipc -eE --metric miss"));
    assert_int_equal(options.n_events, 3);
    assert_string_equal(options.events[0], "A,B");
    assert_string_equal(options.events[1], "{C,D}");
    assert_string_equal(options.events[2], "E");
    assert_int_equal(options.n_metrics, 2);
    assert_string_equal(options.metrics[1], "miss");
    options_free(&options);
    const char *all = "-eA -eA -eA -eA -eA -eA -eA -eA -eA -eA -eA -eA -eA -eA -eA -eA stat -eA";
    char some[256];
    snprintf(some, sizeof some, "%.*s", (int)(strlen(all) - strlen(" -eA")), all);
    assert_true(read_words(&options, &error, some));
    assert_int_equal(options.n_events, OPTION_EVENTS);
    options_free(&options);
    assert_false(read_words(&options, &error, all));
    assert_int_equal(error.kind, ERROR_USAGE);
    options_free(&options);
}

TEST(formats_and_separators)
{
    static const struct {
        const char *words;
        enum format format;
        const char *separator;
    } cases[] = {{"stat", FORMAT_TEXT, ","},
                 {"stat --json", FORMAT_JSON, ","},
                 {"stat -x ;", FORMAT_CSV, ";"},
                 {"stat -x;", FORMAT_CSV, ";"},
                 {"stat --format csv", FORMAT_CSV, ","},
                 {"stat --format=junit", FORMAT_JUNIT, ","},
                 {"stat --format markdown", FORMAT_MARKDOWN, ","},
                 {"stat --format json", FORMAT_JSON, ","},
                 {"stat -j --format text", FORMAT_TEXT, ","},
                 {"stat --format junit -x ;", FORMAT_CSV, ";"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct options options;
        struct error error;
        assert_true(read_words(&options, &error, cases[i].words));
        assert_int_equal(options.format, cases[i].format);
        assert_string_equal(options.separator, cases[i].separator);
        options_free(&options);
    }
}

TEST(what_stands_by_default)
{
    struct options options;
    struct error error;
    assert_true(read_words(&options, &error, ""));
    assert_null(options.command);
    assert_null(options.probe);
    assert_int_equal(options.core, -1);
    assert_int_equal(options.hits, 0);
    assert_int_equal(options.interval_ms, 1000);
    assert_false(options.interval_said);
    assert_true(options.timeout_s == 10 && options.for_s == 0 && options.freq_hz == 0);
    assert_false(options.mend || options.resume || options.no_calibrate || options.help || options.version);
    options_free(&options);
}

TEST(words_are_kept_as_they_are)
{
    struct options options;
    struct error error;
    assert_true(read_words(&options, &error,
                           "delta f --tick uwTick --on-max r0,*0x20000000 --baseline a.jsonl --threshold 2% "
                           "--cpu cortex-a9 --transport jtag --counter dwt -o out.txt -I 250 --mend "
                           "--no-calibrate --speed 8MHz -- -r"));
    assert_string_equal(options.tick, "uwTick");
    assert_string_equal(options.on_max, "r0,*0x20000000");
    assert_string_equal(options.baseline, "a.jsonl");
    assert_string_equal(options.threshold, "2%");
    assert_string_equal(options.cpu, "cortex-a9");
    assert_string_equal(options.transport, "jtag");
    assert_string_equal(options.counter, "dwt");
    assert_string_equal(options.output, "out.txt");
    assert_int_equal(options.interval_ms, 250);
    assert_true(options.interval_said && options.mend && options.no_calibrate);
    assert_true(options.speed_hz == 8e6);
    assert_int_equal(options.n_operands, 2);
    assert_string_equal(options.operands[1], "-r"); /* behind "--" nothing is an option */
    assert_int_equal(options.hits, 0);
    options_free(&options);
}

TEST(numbers_have_units)
{
    static const struct {
        const char *words;
        double freq_hz, for_s;
    } cases[] = {{"--freq 12M", 12e6, 0},         {"--freq 125mhz", 125e6, 0}, {"--freq 32768", 32768, 0},
                 {"--freq 1.2GHz", 1.2e9, 0},     {"--freq 48k", 48e3, 0},     {"--for 5s", 0, 5},
                 {"--for 2m --freq 1Hz", 1, 120}, {"--for 250ms", 0, 0.25},    {"--for 1.5", 0, 1.5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct options options;
        struct error error;
        assert_true(read_words(&options, &error, cases[i].words));
        double off = options.freq_hz - cases[i].freq_hz;
        assert_true(off < 1e-3 && off > -1e-3 && options.for_s == cases[i].for_s);
        options_free(&options);
    }
}

TEST(nonsense_is_refused)
{
    static const char *const wrong[] = {"-r 0",
                                        "-r -1",
                                        "-r 1x",
                                        "-r",
                                        "--freq fast",
                                        "--freq 0",
                                        "--core -2",
                                        "-Z",
                                        "--nope",
                                        "--json=1",
                                        "--for -1",
                                        "--timeout nan",
                                        "--freq inf",
                                        "-I 0",
                                        "--elf",
                                        "--timeout 1e9",
                                        "-r 99999999999999999999",
                                        "-x",
                                        "-x ab",
                                        "-x \"",
                                        "--format",
                                        "--format xml",
                                        "--format JSON",
                                        "--mend=1",
                                        "-j1",
                                        "--speed 0",
                                        "--speed 1x",
                                        "-e",
                                        "-M",
                                        "--tick",
                                        "--on-max",
                                        "--baseline",
                                        "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct options options;
        struct error error;
        if (read_words(&options, &error, wrong[i]))
            fail_msg("accepted: %s", wrong[i]);
        assert_int_equal(error.kind, ERROR_USAGE);
        options_free(&options);
    }
}

TEST(config_comes_after_the_command_line)
{
    struct options options;
    struct error error;
    write_config("# ours\nprobe = openocd:there:1234\n\n  elf=  app.elf  \nrepeat = 7\nresume\n");
    assert_true(read_words(&options, &error, "info -r 9"));
    assert_string_equal(options.probe, "openocd:there:1234");
    assert_string_equal(options.elf, "app.elf");
    assert_int_equal(options.hits, 9);
    assert_true(options.resume);
    options_free(&options);
    setenv("PMU_PROBE", "openocd:here", 1);
    assert_true(read_words(&options, &error, "info"));
    assert_string_equal(options.probe, "openocd:here");
    options_free(&options);
    unsetenv("PMU_PROBE");
    write_config("nope = 1\n");
    assert_false(read_words(&options, &error, "info"));
    options_free(&options);
    write_config("elf\n");
    assert_false(read_words(&options, &error, "info"));
    options_free(&options);
    unlink("pmu-probe.conf");
}

/* Each line of it says what it is about; what the command line says counts more, however it is said. */
TEST(config_does_not_turn_the_command_line_over)
{
    static const struct {
        const char *config, *words;
        enum format format;
        const char *separator;
    } cases[] = {{"format = markdown\n", "stat", FORMAT_MARKDOWN, ","},
                 {"json\n", "stat", FORMAT_JSON, ","},
                 {"separator = ;\n", "stat", FORMAT_CSV, ";"},
                 {"format = markdown\n", "stat -j", FORMAT_JSON, ","},
                 {"json\n", "stat -x :", FORMAT_CSV, ":"},
                 {"separator = ;\n", "stat --format csv", FORMAT_CSV, ";"},
                 {"separator = ;\n", "stat --format text", FORMAT_TEXT, ";"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct options options;
        struct error error;
        write_config(cases[i].config);
        assert_true(read_words(&options, &error, cases[i].words));
        assert_int_equal(options.format, cases[i].format);
        assert_string_equal(options.separator, cases[i].separator);
        options_free(&options);
    }
    unlink("pmu-probe.conf");
}

TEST(config_of_events_and_openocd)
{
    struct options options;
    struct error error;
    write_config("event = A,B\nevent = C\nfile = a.cfg\nmetric = ipc\ntick = uwTick\nfreq = 12 \n");
    assert_true(read_words(&options, &error, "stat"));
    assert_int_equal(options.n_events, 2);
    assert_string_equal(options.events[1], "C");
    assert_int_equal(options.n_metrics, 1);
    assert_int_equal(options.n_openocd, 2);
    assert_string_equal(options.openocd[1], "a.cfg");
    assert_string_equal(options.tick, "uwTick");
    assert_true(options.freq_hz == 12);
    options_free(&options);
    assert_true(read_words(&options, &error, "stat -e X -c init --tick y"));
    assert_int_equal(options.n_events, 1);
    assert_string_equal(options.events[0], "X");
    assert_int_equal(options.n_openocd, 2); /* another OpenOCD altogether */
    assert_string_equal(options.openocd[0], "-c");
    assert_string_equal(options.tick, "y");
    options_free(&options);
    unlink("pmu-probe.conf");
}

TEST(nonsense_in_the_config_is_refused_by_its_line)
{
    static const char *const wrong[] = {"\nfreq = fast\n", "\nrepeat\n",       "\nresume = no\n",
                                        "\n= 5\n",         "\nformat = xml\n", "\nseparator = ab\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct options options;
        struct error error;
        write_config(wrong[i]);
        if (read_words(&options, &error, "info"))
            fail_msg("accepted: %s", wrong[i]);
        assert_int_equal(error.kind, ERROR_USAGE);
        assert_non_null(strstr(error.text, "pmu-probe.conf:2: "));
        options_free(&options);
    }
    unlink("pmu-probe.conf");
}

TEST_GROUP(enter_folder, leave_folder)
