/* Files of boards: what they may say, and what the errors name. */
#include "../test.h"

#include "commands/board_file.h"

#include <stdio.h>
#include <string.h>

static struct board_file file;
static struct error error;

static int set_up(void **state)
{
    (void)state;
    error_clear(&error);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    board_file_free(&file);
    return 0;
}

#define FRESH_TEST(name) TEST_WITH(name, set_up, tear_down)

static bool parse(const char *text)
{
    board_file_free(&file);
    error_clear(&error);
    return board_file_parse(text, strlen(text), "lab.boards", &file, &error);
}

FRESH_TEST(a_line_has_a_board_and_its_options)
{
    assert_true(parse(
        "# the table in room 3\n"
        "pico-1  cmsis-dap:usb:1-1.4  build/pico.elf\n"
        "zynq    openocd:lab3  \"my builds/zynq.elf\"  -C 1 --freq 667M --baseline main.jsonl  # slow\n"));
    assert_int_equal(file.n, 2);
    assert_string_equal(file.lines[0].name, "pico-1");
    assert_string_equal(file.lines[0].probe, "cmsis-dap:usb:1-1.4");
    assert_string_equal(file.lines[0].elf, "build/pico.elf");
    assert_int_equal(file.lines[0].n_options, 0);
    assert_int_equal(file.lines[0].line, 2);
    assert_string_equal(file.lines[1].elf, "my builds/zynq.elf");
    assert_int_equal(file.lines[1].n_options, 6);
    assert_string_equal(file.lines[1].options[0], "-C");
    assert_string_equal(file.lines[1].options[1], "1");
    assert_string_equal(file.lines[1].options[5], "main.jsonl");
}

FRESH_TEST(errors_name_the_line)
{
    static const struct {
        const char *text, *error;
    } wrong[] = {
        {"", "lab.boards: it names no board"},
        {"a b\n", "lab.boards:1: a board is a name, what --probe takes, and an ELF file"},
        {"\na openocd e.elf extra\n", "lab.boards:2: \"extra\" is no option"},
        {"a openocd e.elf -C\n", "-C needs"},
        {"a openocd e.elf -C two\n", "lab.boards:1: -C"},
        {"a openocd e.elf --frequency 1M\n", "\"--frequency\" is no option"},
        {"a openocd e.elf --elf f.elf\n", "--elf is not an option of a board"},
        {"a openocd e.elf --probe openocd\n", "--probe is not an option of a board"},
        {"a openocd e.elf --check\n", "--check is not an option of a board"},
        {"a openocd e.elf -j\n", "-j is not an option of a board"},
        {"a openocd e.elf --boards b\n", "--boards is not an option of a board"},
        {"a openocd e.elf -c \"echo hi\"\n",
         "-c starts OpenOCD with commands, and this file must not do that"},
        {"a openocd e.elf --tcl \"exec sh\"\n", "--tcl starts OpenOCD with commands"},
        {"a openocd e.elf -f board.cfg\n", "-f starts OpenOCD with commands"},
        {"a openocd e.elf -s .\n", "-s starts OpenOCD with commands"},
        {"a openocd e.elf -o out\n", "-o names a file to write"},
        {"a openocd e.elf --resume\n", "--resume lets the target run"},
        {"a msr:0@/tmp/x e.elf\n", "names files to write, and this file must not do that"},
        {"a openocd e.elf --counters msr:0@/tmp/x\n", "--counters names files to write"},
        {"a openocd e.elf\na openocd:1 f.elf\n", "lab.boards:2: line 1 has the name \"a\", too"},
        {"a openocd e.elf\nb openocd f.elf\n", "lab.boards:2: line 1 has the probe \"openocd\", too"},
        {"012345678901234567890123456789012 openocd e.elf\n", "the name is too long"},
        {"\"\" openocd e.elf\n", "the name is empty"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(parse(wrong[i].text));
        assert_int_equal(error.kind, ERROR_USAGE);
        if (strstr(error.text, wrong[i].error) == NULL)
            fail_msg("%s: %s", wrong[i].text, error.text);
    }
}

FRESH_TEST(many_boards_are_labgrids)
{
    char text[4096] = "";
    size_t used = 0;
    for (int i = 0; i <= BOARD_FILE_MOST; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "b%d openocd:h%d e.elf\n", i, i);
    assert_false(parse(text));
    assert_non_null(strstr(error.text, "lab.boards:17: more than 16 boards; labgrid is for so many"));
    *strrchr(text, 'b') = '\0';
    assert_true(parse(text));
    assert_int_equal(file.n, BOARD_FILE_MOST);
}
