#include "fixture.h"

#include <time.h>

TEST(function_is_found_with_its_bounds)
{
    struct symbols *symbols = fixture_open("flash");
    struct location location = must_locate(symbols, "fir_filter");
    assert_string_equal(location.name, "fir_filter");
    assert_true(location.is_function_entry);
    assert_int_equal(location.isa, ISA_THUMB);
    assert_int_equal(location.address & 1, 0);
    assert_true(location.low == location.address && location.high > location.low);
    assert_memory_equal(location.source, "blink.c:", 8);
    symbols_close(symbols);
}

TEST(offset_is_added_within_the_function)
{
    struct symbols *symbols = fixture_open("blink");
    struct location entry = must_locate(symbols, "fir_filter");
    struct location hex = must_locate(symbols, "fir_filter+0x10");
    struct location decimal = must_locate(symbols, "fir_filter+16");
    assert_int_equal(hex.address, entry.address + 16);
    assert_int_equal(decimal.address, hex.address);
    assert_string_equal(decimal.name, "fir_filter+0x10");
    assert_false(hex.is_function_entry);
    assert_int_equal(hex.low, entry.low);
    assert_int_equal(hex.high, entry.high);
    assert_true(must_locate(symbols, "fir_filter+0").is_function_entry);
    must_refuse(symbols, "fir_filter+5", ERROR_SYMBOL, "between two instructions");
    must_refuse(symbols, "fir_filter+0x1000", ERROR_SYMBOL, "is behind its end");
    must_refuse(symbols, "fir_filter+0xffffffffffffffff", ERROR_SYMBOL, "is behind its end");
    must_refuse(symbols, "fir_filter+", ERROR_SYMBOL, "no symbol");
    must_refuse(symbols, "fir_filter+-2", ERROR_SYMBOL, "no symbol");
    must_refuse(symbols, "fir_filter+0x11111111111111111", ERROR_SYMBOL, "no symbol");
    symbols_close(symbols);
}

TEST(address_gets_its_name)
{
    struct symbols *symbols = fixture_open("flash");
    struct location entry = must_locate(symbols, "fir_filter");
    char text[32];
    snprintf(text, sizeof text, "*0x%llx", (unsigned long long)entry.address + 5);
    struct location location = must_locate(symbols, text);
    assert_int_equal(location.address, entry.address + 4);
    assert_string_equal(location.name, "fir_filter+0x4");
    location = must_locate(symbols, "*0x40000000");
    assert_string_equal(location.name, "0x40000000");
    assert_string_equal(location.source, "");
    assert_int_equal(location.low, 0);
    assert_int_equal(location.high, 0);
    must_refuse(symbols, "*0xgg", ERROR_SYMBOL, "no symbol");
    must_refuse(symbols, "*10000200", ERROR_SYMBOL, "no symbol");
    must_refuse(symbols, "*0200", ERROR_SYMBOL, "no symbol");
    symbols_close(symbols);
}

TEST(without_a_file_only_addresses_are_found)
{
    struct location location = must_locate(NULL, "*0x10000200");
    assert_int_equal(location.address, 0x10000200);
    assert_string_equal(location.name, "0x10000200");
    location = must_locate(NULL, "*0x10000201");
    assert_int_equal(location.address, 0x10000200);
    assert_int_equal(location.isa, ISA_THUMB);
    must_refuse(NULL, "main", ERROR_ELF, "no ELF file");
    must_refuse(NULL, "blink.c:3", ERROR_ELF, "no ELF file");
}

TEST(names_of_assembly_are_found)
{
    struct symbols *symbols = fixture_open("blink");
    struct location reset = must_locate(symbols, "Reset_Handler");
    struct location label = must_locate(symbols, "inner_label");
    assert_string_equal(label.name, "inner_label");
    assert_false(label.is_function_entry);
    assert_int_equal(label.low, reset.low);
    /* no size: up to the next symbol that other files know, whatever its type */
    struct location unsized = must_locate(symbols, "unsized");
    struct location next = must_locate(symbols, "unsized_next");
    struct location bare = must_locate(symbols, "bare_label");
    assert_true(unsized.is_function_entry && next.is_function_entry && bare.is_function_entry);
    assert_int_equal(unsized.high, next.address);
    assert_int_equal(next.high, bare.address);
    assert_int_equal(bare.high, bare.address + 4);
    assert_int_equal(bare.isa, ISA_THUMB);
    symbols_close(symbols);
}

TEST(aliases_are_one_place)
{
    struct symbols *symbols = fixture_open("blink");
    struct location handler = must_locate(symbols, "NMI_Handler");
    assert_string_equal(handler.name, "NMI_Handler");
    assert_int_equal(handler.address, must_locate(symbols, "HardFault_Handler").address);
    symbols_describe(symbols, handler.address, &handler);
    assert_string_equal(handler.name, "Default_Handler");
    symbols_close(symbols);
}

TEST(data_is_refused_as_code)
{
    struct symbols *symbols = fixture_open("blink");
    must_refuse(symbols, "ticks", ERROR_SYMBOL, "`ticks` is data (4 bytes at 0x2");
    must_refuse(symbols, "_etext", ERROR_SYMBOL, "is not in the code");
    must_refuse(symbols, "stack_top", ERROR_SYMBOL, "is not in the code");
    uint64_t address = 0;
    uint64_t size = 0;
    assert_true(symbols_object(symbols, "table", &address, &size));
    assert_int_equal(size, 16);
    assert_false(symbols_object(symbols, "main", &address, &size));
    assert_false(symbols_object(symbols, "hidden", &address, &size)); /* two static ones */
    assert_false(symbols_object(symbols, "nothing", &address, &size));
    symbols_close(symbols);
}

TEST(static_functions_of_one_name_are_listed)
{
    struct symbols *symbols = fixture_open("flash");
    must_refuse(symbols, "helper", ERROR_AMBIGUOUS, "`helper` is at 2 places:\n  *0x08000");
    must_refuse(symbols, "helper", ERROR_AMBIGUOUS, "  helper, blink.c:");
    must_refuse(symbols, "helper", ERROR_AMBIGUOUS, "  helper, other.c:");
    must_refuse(symbols, "helper+2", ERROR_AMBIGUOUS, "`helper+2` is at 2 places");
    symbols_close(symbols);
    symbols = fixture_open("nodebug");
    must_refuse(symbols, "helper", ERROR_AMBIGUOUS, "  helper, other.c");
    symbols_close(symbols);
}

/* What the list says must be accepted, or there is no way out of it */
TEST(listed_places_are_accepted)
{
    struct symbols *symbols = fixture_open("flash");
    struct location location;
    struct error error = {.kind = ERROR_NONE};
    assert_false(symbols_locate(symbols, "helper", &location, &error));
    unsigned count = 0;
    for (char *at = error.text; (at = strstr(at, "*0x")) != NULL; at++, count++) {
        char text[32];
        snprintf(text, sizeof text, "%.*s", (int)strcspn(at, " "), at);
        location = must_locate(symbols, text);
        assert_string_equal(location.name, "helper");
        assert_true(location.is_function_entry);
    }
    assert_int_equal(count, 2);
    symbols_close(symbols);
}

TEST(strange_names_do_no_harm)
{
    struct symbols *symbols = fixture_open("blink");
    must_refuse(symbols, "x; shutdown [exec ls]", ERROR_SYMBOL, "no symbol `x; shutdown [exec ls]`");
    must_refuse(symbols, "", ERROR_SYMBOL, "no symbol ``");
    must_refuse(symbols, "*", ERROR_SYMBOL, "no symbol `*`");
    must_refuse(symbols, ":", ERROR_SYMBOL, "no symbol");
    must_refuse(symbols, "+4", ERROR_SYMBOL, "no symbol");
    must_refuse(symbols, ":4", ERROR_SYMBOL, "no symbol");
    must_refuse(symbols, "/:4", ERROR_SYMBOL, "no source file");
    must_refuse(symbols, "a\x1b[2Jb%s%n", ERROR_SYMBOL, "`a?[2Jb%s%n`");
    char text[5000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    must_refuse(symbols, text, ERROR_SYMBOL, "no symbol `xxx");
    memcpy(text + sizeof text - 4, ":12", 4);
    must_refuse(symbols, text, ERROR_SYMBOL, "no source file `xxx");
    symbols_close(symbols);
}

TEST(near_names_are_proposed)
{
    struct symbols *symbols = fixture_open("blink");
    must_refuse(symbols, "fir_fliter", ERROR_SYMBOL,
                "no symbol `fir_fliter` in blink.elf; did you mean fir_filter?");
    must_refuse(symbols, "reset_handler", ERROR_SYMBOL, "did you mean Reset_Handler?");
    must_refuse(symbols, "filter", ERROR_SYMBOL, "did you mean fir_filter?");
    symbols_close(symbols);
    symbols = fixture_open("stripped");
    must_refuse(symbols, "main", ERROR_SYMBOL, "it is stripped");
    symbols_close(symbols);
}

TEST(cpp_names_are_found_mangled_and_plain)
{
    struct symbols *symbols = fixture_open("shapes");
    struct location area = must_locate(symbols, "geometry::Shape::area");
    assert_int_equal(area.address, must_locate(symbols, "_ZNK8geometry5Shape4areaEi").address);
    assert_string_equal(area.name, "geometry::Shape::area");
    assert_true(must_locate(symbols, "geometry::Shape::Shape").is_function_entry); /* C1 and C2 */
    must_refuse(symbols, "twice", ERROR_AMBIGUOUS, "`twice` is at 2 places");      /* overloads */
    must_refuse(symbols, "area", ERROR_SYMBOL, "did you mean geometry::Shape::area?");
    symbols_describe(symbols, area.address + 2, &area);
    assert_string_equal(area.name, "geometry::Shape::area+0x2");
    symbols_close(symbols);
}

TEST(instruction_set_is_told)
{
    struct symbols *symbols = fixture_open("mixed");
    struct location location = must_locate(symbols, "in_arm_state");
    assert_int_equal(location.isa, ISA_ARM);
    location = must_locate(symbols, "in_thumb_state");
    assert_int_equal(location.isa, ISA_THUMB);
    assert_int_equal(location.address & 1, 0);
    must_refuse(symbols, "in_arm_state+2", ERROR_SYMBOL, "between two instructions");
    assert_int_equal(must_locate(symbols, "in_thumb_state+2").isa, ISA_THUMB);
    symbols_close(symbols);
    symbols = fixture_open("stripped"); /* no symbols at all, but M-profile */
    assert_int_equal(must_locate(symbols, "*0x40").isa, ISA_THUMB);
    symbols_close(symbols);
    symbols = fixture_open("host");
    assert_int_equal(must_locate(symbols, "work").isa, ISA_OTHER);
    symbols_close(symbols);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The limit is far above what it takes, even under sanitizers on a busy machine, and far below quadratic */
TEST(many_symbols_are_no_burden)
{
    double begin = seconds();
    struct symbols *symbols = fixture_open("many");
    assert_true(must_locate(symbols, "driver_of_device_99999").is_function_entry);
    must_refuse(symbols, "driver_of_dveice_500", ERROR_SYMBOL, "did you mean driver_of_device_500");
    symbols_close(symbols);
    assert_true(seconds() - begin < 5.0);
}
