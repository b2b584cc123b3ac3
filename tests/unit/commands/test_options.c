#include "cmocka_all.h"
#include "commands/options.h"

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

static void options_stand_on_either_side(void **state)
{
    (void)state;
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

static void openocd_options_keep_their_order(void **state)
{
    (void)state;
    struct options options;
    struct error error;
    assert_true(read_words(&options, &error, "-c one -f two info -s three"));
    assert_int_equal(options.n_openocd, 6);
    assert_string_equal(options.openocd[0], "-c");
    assert_string_equal(options.openocd[3], "two");
    assert_string_equal(options.openocd[4], "-s");
    options_free(&options);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
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
                                        "-r 99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct options options;
        struct error error;
        if (read_words(&options, &error, wrong[i]))
            fail_msg("accepted: %s", wrong[i]);
        assert_int_equal(error.kind, ERROR_USAGE);
        options_free(&options);
    }
}

static void config_comes_after_the_command_line(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_stand_on_either_side),
        cmocka_unit_test(openocd_options_keep_their_order),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(config_comes_after_the_command_line),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
