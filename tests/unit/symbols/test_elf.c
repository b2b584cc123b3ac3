#include "fixture.h"

#include <elf.h>

static void must_not_open(const void *bytes, size_t size, const char *words)
{
    struct error error = {.kind = ERROR_NONE};
    assert_null(symbols_open_memory(bytes, size, &error));
    assert_int_equal(error.kind, ERROR_ELF);
    if (strstr(error.text, words) == NULL)
        fail_msg("`%s` is not in: %s", words, error.text);
}

TEST(what_is_no_elf_is_named)
{
    must_not_open("", 0, "is empty");
    must_not_open(":10000000", 9, "an Intel HEX file");
    must_not_open("S00600004844521B", 16, "a Motorola S-record file");
    must_not_open("!<arch>\nx", 9, "a static library");
    must_not_open("UF2\nWQ]\x9e", 8, "a UF2 image");
    must_not_open("\x00\x40\x00\x20", 4, "it begins with 00 40 00 20");
    must_not_open("\177ELF", 4, "a damaged ELF file");
}

TEST(paths_that_cannot_be_read_are_named)
{
    struct error error = {.kind = ERROR_NONE};
    assert_null(symbols_open("/nonexistent/x.elf", &error));
    assert_error_is(&error, ERROR_ELF, "cannot open /nonexistent/x.elf: No such file or directory");
    assert_null(symbols_open("/", &error));
    assert_error_is(&error, ERROR_ELF, "/ is a directory, not an ELF file");
    assert_null(symbols_open("/dev/zero", &error));
    assert_string_equal(error.text, "/dev/zero is not a plain file, not an ELF file");
    symbols_close(NULL);
}

TEST(object_files_are_refused)
{
    size_t size = 0;
    uint8_t *bytes = fixture_bytes("blink", &size);
    bytes[offsetof(Elf32_Ehdr, e_type)] = ET_REL;
    must_not_open(bytes, size, "an object file");
    bytes[offsetof(Elf32_Ehdr, e_type)] = ET_CORE;
    must_not_open(bytes, size, "a core dump");
    free(bytes);
}

TEST(segments_are_what_the_target_must_hold)
{
    struct segment segments[8];
    struct symbols *symbols = fixture("blink");
    /* not .data, nor .ramfunc: they are loaded elsewhere than they run */
    assert_int_equal(symbols_segments(symbols, segments, 8), 1);
    assert_int_equal(segments[0].address, 0);
    struct location reset = must_locate(symbols, "Reset_Handler");
    uint32_t vector = 0;
    memcpy(&vector, segments[0].bytes + 4, sizeof vector);
    assert_int_equal(vector, reset.address + 1);
    assert_true(reset.high <= segments[0].size);
    assert_int_equal(symbols_segments(symbols, segments, 0), 0);
}

TEST(copied_code_is_known_where_it_is_loaded_and_where_it_runs)
{
    struct segment copied[8];
    struct symbols *symbols = fixture("blink");
    assert_int_equal(symbols_copied(symbols, copied, 8), 1);
    struct location function = must_locate(symbols, "*0x20000000");
    assert_int_equal(copied[0].address - copied[0].apart, function.low);
    assert_true(copied[0].address < 0x10000 && copied[0].size >= function.high - function.low);
    assert_int_equal(symbols_copied(symbols, copied, 0), 0);
    /* nothing is copied there, and no function is among the variables */
    assert_int_equal(symbols_copied(fixture("mixed"), copied, 8), 0);
}

/* One segment with code and variables: only what is never written */
TEST(writable_segments_give_their_constant_sections)
{
    struct segment segments[8];
    struct symbols *symbols = fixture("mixed");
    uint64_t sink = 0;
    uint64_t size = 0;
    assert_true(symbols_object(symbols, "sink", &sink, &size));
    size_t count = symbols_segments(symbols, segments, 8);
    assert_int_equal(count, 1);
    assert_int_equal(segments[0].address, must_locate(symbols, "in_arm_state").address);
    assert_true(segments[0].address + segments[0].size <= sink);
}

/* Other bytes of the same size in place of a string of the file, wherever it is */
static void rename_all(uint8_t *bytes, size_t size, const char *from, const char *to)
{
    unsigned found = 0;
    size_t length = strlen(from) + 1;
    for (size_t i = 1; i + length <= size; i++)
        if (bytes[i - 1] == '\0' && memcmp(bytes + i, from, length) == 0) {
            memcpy(bytes + i, to, length);
            found++;
        }
    assert_true(found > 0);
}

static enum mapping mapping_of(struct symbols *symbols, const char *text)
{
    return symbols_mapping(symbols, must_locate(symbols, text).address);
}

TEST(mapping_symbols_tell_code_from_data)
{
    uint64_t sink = 0, size = 0;
    struct symbols *symbols = fixture("mixed");
    assert_true(symbols_object(symbols, "sink", &sink, &size));
    assert_int_equal(mapping_of(symbols, "in_arm_state"), MAPPING_CODE);
    assert_int_equal(mapping_of(symbols, "in_thumb_state"), MAPPING_CODE);
    assert_int_equal(symbols_mapping(symbols, sink), MAPPING_DATA);
    assert_int_equal(symbols_mapping(symbols, 0x100), MAPPING_NONE);
    symbols = fixture("exits");
    uint64_t behind = must_locate(symbols, "many").high; /* constants, of no symbol's */
    assert_int_equal(symbols_mapping(symbols, behind - 2), MAPPING_CODE);
    assert_int_equal(symbols_mapping(symbols, (behind + 3) & ~UINT64_C(3)), MAPPING_DATA);
    symbols = fixture("writes_a64");
    assert_int_equal(mapping_of(symbols, "_start"), MAPPING_CODE);
}

TEST(without_mapping_symbols_only_variables_are_known)
{
    uint64_t sink = 0, length = 0;
    size_t size = 0;
    struct error error = {.kind = ERROR_NONE};
    uint8_t *bytes = fixture_bytes("mixed", &size);
    rename_all(bytes, size, "$d", "_d");
    struct symbols *symbols = symbols_open_memory(bytes, size, &error);
    assert_non_null(symbols);
    assert_int_equal(mapping_of(symbols, "in_thumb_state"), MAPPING_CODE);
    assert_true(symbols_object(symbols, "sink", &sink, &length));
    assert_int_equal(symbols_mapping(symbols, sink), MAPPING_DATA);
    assert_int_equal(symbols_mapping(symbols, sink + length - 1), MAPPING_DATA);
    assert_int_not_equal(symbols_mapping(symbols, sink + length), MAPPING_DATA);
    symbols_close(symbols);
    rename_all(bytes, size, "$t", "_t");
    symbols = symbols_open_memory(bytes, size, &error);
    assert_non_null(symbols);
    assert_int_not_equal(symbols_mapping(symbols, sink), MAPPING_CODE);
    symbols_close(symbols);
    free(bytes);
    symbols = fixture_open("stripped");
    assert_int_equal(symbols_mapping(symbols, 0x44), MAPPING_NONE);
    symbols_close(symbols);
    symbols = fixture_open("host");
    assert_int_equal(mapping_of(symbols, "work"), MAPPING_NONE);
    symbols_close(symbols);
}

TEST(build_id_is_hex)
{
    struct symbols *symbols = fixture("blink");
    const char *id = symbols_build_id(symbols);
    assert_int_equal(strlen(id), 40);
    assert_int_equal(strspn(id, "0123456789abcdef"), 40);
    assert_ptr_equal(symbols_build_id(symbols), id);
    symbols = fixture("mixed");
    assert_string_equal(symbols_build_id(symbols), "");
}

/* As sstrip leaves it: segments and nothing else */
TEST(file_without_sections_still_has_segments)
{
    size_t size = 0;
    uint8_t *bytes = fixture_bytes("blink", &size);
    memset(bytes + offsetof(Elf32_Ehdr, e_shoff), 0, 4);
    memset(bytes + offsetof(Elf32_Ehdr, e_shnum), 0, 4);
    struct error error = {.kind = ERROR_NONE};
    struct symbols *symbols = symbols_open_memory(bytes, size, &error);
    assert_non_null(symbols);
    struct segment segments[8];
    assert_int_equal(symbols_segments(symbols, segments, 8), 1);
    must_refuse(symbols, "main", ERROR_SYMBOL, "it is stripped");
    must_refuse(symbols, "blink.c:3", ERROR_SYMBOL, "no DWARF");
    struct location location = must_locate(symbols, "*0x41");
    assert_int_equal(location.address, 0x40);
    assert_int_equal(location.isa, ISA_THUMB); /* by the entry point */
    symbols_close(symbols);
    free(bytes);
}

TEST(machine_of_aarch64_is_told)
{
    size_t size = 0;
    uint8_t *bytes = fixture_bytes("host", &size);
    bytes[offsetof(Elf64_Ehdr, e_machine)] = EM_AARCH64;
    struct error error = {.kind = ERROR_NONE};
    struct symbols *symbols = symbols_open_memory(bytes, size, &error);
    assert_non_null(symbols);
    assert_int_equal(must_locate(symbols, "work").isa, ISA_A64);
    assert_int_equal(must_locate(symbols, "work+4").isa, ISA_A64);
    must_refuse(symbols, "work+2", ERROR_SYMBOL, "between two instructions");
    symbols_close(symbols);
    free(bytes);
}

/* Calls all there is; what is returned matters to the sanitizers only */
static void ask_everything(const uint8_t *bytes, size_t size)
{
    static const char *const texts[] = {"main",  "helper", "fir_filter+4", "mian",
                                        "ticks", "*0x60",  "blink.c:30",   "nothing.c:1"};
    struct error error = {.kind = ERROR_NONE};
    struct symbols *symbols = symbols_open_memory(bytes, size, &error);
    if (symbols == NULL) {
        assert_int_not_equal(error.kind, ERROR_NONE);
        return;
    }
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct location location;
        error_clear(&error);
        bool found = symbols_locate(symbols, texts[i], &location, &error);
        assert_int_equal(found, error.kind == ERROR_NONE);
    }
    struct segment segments[8];
    size_t count = symbols_segments(symbols, segments, 8);
    for (size_t i = 0; i < count; i++) {
        assert_true(segments[i].size <= size);
        symbols_mapping(symbols, segments[i].address);
    }
    symbols_build_id(symbols);
    struct symbols_member member;
    (void)symbols_member(symbols, "Task", "name", &member);
    symbols_close(symbols);
}

TEST(files_cut_short_do_no_harm)
{
    static const char *const names[] = {"blink", "blink4", "blinkz", "host"};
    for (size_t i = 0; i < COUNT(names); i++) {
        size_t size = 0;
        uint8_t *bytes = fixture_bytes(names[i], &size);
        for (size_t length = 0; length < size; length += 13)
            ask_everything(bytes, length);
        must_not_open(bytes, size / 2, "is cut short");
        free(bytes);
    }
}

/* Headers and counts of all sorts, always the same ones so that a failure repeats */
TEST(damaged_files_do_no_harm)
{
    static const char *const names[] = {"blink", "blink4", "blinkz", "shapes", "names", "host"};
    uint32_t random = 1;
    for (size_t i = 0; i < COUNT(names); i++) {
        size_t size = 0;
        uint8_t *bytes = fixture_bytes(names[i], &size);
        for (int round = 0; round < 500; round++) {
            uint8_t before[4];
            size_t at[4];
            for (int j = 0; j < 4; j++) {
                random = random * 1664525 + 1013904223;
                at[j] = (random >> 8) % (round % 2 ? size : 512);
                before[j] = bytes[at[j]];
                bytes[at[j]] = random >> 30 ? (uint8_t)(random >> 4) : 0xff;
            }
            ask_everything(bytes, size);
            for (int j = 3; j >= 0; j--)
                bytes[at[j]] = before[j];
        }
        free(bytes);
    }
}

TEST(machine_is_told)
{
    static const struct {
        const char *fixture, *name;
        char profile;
    } table[] = {
        {"blink", "Armv7-M", 'M'},
        {"mixed", "Armv7-A", 'A'},
        {"host", "x86-64", 0},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        struct symbols *symbols = fixture(table[i].fixture);
        struct symbols_machine machine;
        symbols_machine(symbols, &machine);
        assert_string_equal(machine.name, table[i].name);
        assert_int_equal(machine.profile, table[i].profile);
    }
}

TEST(note_of_the_build_is_found_in_memory)
{
    struct symbols *symbols = fixture("flash");
    struct segment note;
    assert_true(symbols_build_note(symbols, &note));
    assert_int_equal(note.address >> 24, 0x08);
    assert_int_equal(note.size, 16 + 20);
    char first[3];
    snprintf(first, sizeof first, "%02x", note.bytes[16]);
    assert_memory_equal(symbols_build_id(symbols), first, 2);
    symbols = fixture("names"); /* linked without */
    assert_false(symbols_build_note(symbols, &note));
}
