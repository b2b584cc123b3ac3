/*
 * What is sent to a server's monitor, and what is made of what that says.
 */
#include "../test.h"
#include "debuggers/monitor_memory.h"

#include <stdio.h>
#include <string.h>

static struct model {
    struct debugger debugger; /* first */
    char sent[128];
    const char *says;
    bool refuses;
} model;

static bool monitor(struct debugger *debugger, const char *command, char *out, size_t size,
                    const struct deadline *deadline, struct error *error)
{
    (void)debugger;
    (void)deadline;
    snprintf(model.sent, sizeof model.sent, "%s", command);
    snprintf(out, size, "%s", model.says);
    return !model.refuses || error_set(error, ERROR_FAULT, "there is no monitor");
}

static bool read_says(enum monitor_dialect dialect, uint64_t at, unsigned size, const char *says,
                      uint64_t *out)
{
    static const struct debugger_ops ops = {.monitor = monitor};
    struct deadline deadline = deadline_in_ms(1000, NULL);
    struct error error = {0};
    model = (struct model){.debugger = {.ops = &ops}, .says = says};
    bool ok = monitor_memory_read(&model.debugger, dialect, at, size, out, &deadline, &error);
    assert_int_equal(ok, error.kind == ERROR_NONE);
    assert_true(ok || error.kind == ERROR_FAULT);
    return ok;
}

static bool write_says(enum monitor_dialect dialect, unsigned size, uint64_t value, const char *says)
{
    static const struct debugger_ops ops = {.monitor = monitor};
    struct deadline deadline = deadline_in_ms(1000, NULL);
    struct error error = {0};
    model = (struct model){.debugger = {.ops = &ops}, .says = says};
    return monitor_memory_write(&model.debugger, dialect, 0xE0001000, size, value, &deadline, &error);
}

TEST(what_a_jlink_reads)
{
    uint64_t value;
    assert_true(read_says(MONITOR_JLINK, 0xE000ED00, 4,
                          "Reading from address 0xE000ED00 (Data = 0x410FC241)\r\n", &value));
    assert_string_equal(model.sent, "memU32 0xE000ED00"); /* with a second number it would write */
    assert_int_equal(value, 0x410FC241);
    assert_true(
        read_says(MONITOR_JLINK, 0xE000E400, 1, "Reading from address 0xE000E400 (Data = 0x7F)\n", &value));
    assert_string_equal(model.sent, "memU8 0xE000E400");
    assert_int_equal(value, 0x7F);
    assert_true(
        read_says(MONITOR_JLINK, 0x20, 2, "Reading from address 0x00000020 (Data = 0x1234)\n", &value));
    assert_string_equal(model.sent, "memU16 0x00000020");
    assert_int_equal(value, 0x1234);
}

TEST(what_pyocd_reads)
{
    uint64_t value;
    assert_true(read_says(MONITOR_PYOCD, 0xE000ED00, 4, "e000ed00:  410fc241    |A..A|\n", &value));
    assert_string_equal(model.sent, "read32 0xE000ED00");
    assert_int_equal(value, 0x410FC241);
    assert_true(read_says(MONITOR_PYOCD, 0xE000E400, 1, "e000e400:  7f     |.|\n", &value));
    assert_string_equal(model.sent, "read8 0xE000E400");
    assert_int_equal(value, 0x7F);
}

TEST(what_makes_no_sense)
{
    static const char *const texts[] = {
        "",
        "OK",
        "Error: unrecognized command 'memU32'\n",
        "Reading from address 0xE000ED04 (Data = 0x410FC241)\n", /* elsewhere */
        "Reading from address 0xE000ED00 (Data = 0x410FC2411)\n",
        "Reading from address 0xE000ED00 (Data = 0x410FC2)\n",
        "Reading from address 0xE000ED00 (Data = 0x410F\x01\x7F\xFF)\n",
        "Reading from address 0xE000ED00 (Data = 0x",
        "e000ed00:  ",
        "e000ed00:  410fc24g",
        "e000ed04:  410fc241",
    };
    uint64_t value;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_false(read_says(MONITOR_JLINK, 0xE000ED00, 4, texts[i], &value));
        assert_false(read_says(MONITOR_PYOCD, 0xE000ED00, 4, texts[i], &value));
    }
    assert_false(read_says(MONITOR_JLINK, 0, 8, "Reading from address 0x00000000 (Data = 0x0000000000000000)",
                           &value));
}

TEST(what_is_written)
{
    assert_true(write_says(MONITOR_JLINK, 4, 0x40000001, "Writing 0x40000001 @ address 0xE0001000\r\n"));
    assert_string_equal(model.sent, "memU32 0xE0001000 = 0x40000001");
    assert_true(write_says(MONITOR_JLINK, 1, 0x5, "Writing 0x05 @ address 0xE0001000\n"));
    assert_string_equal(model.sent, "memU8 0xE0001000 = 0x05");
    assert_false(write_says(MONITOR_JLINK, 4, 1, "Reading from address 0xE0001000 (Data = 0x00000000)"));
    assert_false(write_says(MONITOR_JLINK, 4, 1, ""));
    assert_true(write_says(MONITOR_PYOCD, 4, 0x40000001, "OK\n"));
    assert_string_equal(model.sent, "write32 0xE0001000 0x40000001");
    assert_true(write_says(MONITOR_PYOCD, 2, 0x12, ""));
    assert_string_equal(model.sent, "write16 0xE0001000 0x0012");
    assert_false(write_says(MONITOR_PYOCD, 4, 1, "Transfer failed: Memory transfer fault\n"));
    assert_false(write_says(MONITOR_PYOCD, 3, 1, "OK"));
}
