#include "fixture.h"

#include <time.h>

TEST(offset_is_added_within_the_function)
{
    struct symbols *symbols = fixture("blink");
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
    must_refuse(symbols, "fir_filter+0x1000", ERROR_SYMBOL, "is past its end");
    must_refuse(symbols, "fir_filter+0xffffffffffffffff", ERROR_SYMBOL, "is past its end");
    must_refuse(symbols, "fir_filter+", ERROR_SYMBOL, "no symbol");
    must_refuse(symbols, "fir_filter+-2", ERROR_SYMBOL, "no symbol");
    must_refuse(symbols, "fir_filter+0x11111111111111111", ERROR_SYMBOL, "no symbol");
}

TEST(address_gets_its_name)
{
    struct symbols *symbols = fixture("flash");
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
    struct symbols *symbols = fixture("blink");
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
}

TEST(aliases_are_one_place)
{
    struct symbols *symbols = fixture("blink");
    struct location handler = must_locate(symbols, "NMI_Handler");
    assert_string_equal(handler.name, "NMI_Handler");
    assert_int_equal(handler.address, must_locate(symbols, "HardFault_Handler").address);
    symbols_describe(symbols, handler.address, &handler);
    assert_string_equal(handler.name, "Default_Handler");
}

TEST(data_is_refused_as_code)
{
    struct symbols *symbols = fixture("blink");
    must_refuse(symbols, "ticks", ERROR_SYMBOL, "`ticks` is data (4 bytes at 0x2");
    must_refuse(symbols, "_etext", ERROR_SYMBOL, "outside the code");
    must_refuse(symbols, "stack_top", ERROR_SYMBOL, "outside the code");
    uint64_t address = 0;
    uint64_t size = 0;
    assert_true(symbols_object(symbols, "table", &address, &size));
    assert_int_equal(size, 16);
    assert_false(symbols_object(symbols, "main", &address, &size));
    assert_false(symbols_object(symbols, "hidden", &address, &size)); /* two static ones */
    assert_false(symbols_object(symbols, "nothing", &address, &size));
}

TEST(static_functions_of_one_name_are_listed)
{
    struct symbols *symbols = fixture("flash");
    must_refuse(symbols, "helper", ERROR_AMBIGUOUS, "`helper` is at 2 places:\n  ");
    must_refuse(symbols, "helper", ERROR_AMBIGUOUS, "\n  blink.c:helper   *0x08000");
    must_refuse(symbols, "helper", ERROR_AMBIGUOUS, "\n  other.c:helper   *0x08000");
    must_refuse(symbols, "helper+2", ERROR_AMBIGUOUS, "`helper+2` is at 2 places");
    symbols = fixture("nodebug");
    must_refuse(symbols, "helper", ERROR_AMBIGUOUS, "\n  other.c:helper   *0x");
}

/* What the list says must be accepted, or there is no way out of it: each name finds its address. */
static void listed_are_accepted(struct symbols *symbols, const char *text, unsigned wanted)
{
    struct location location;
    struct error error = {.kind = ERROR_NONE};
    assert_false(symbols_locate(symbols, text, &location, &error));
    assert_int_equal(error.kind, ERROR_AMBIGUOUS);
    unsigned count = 0;
    for (char *at = error.text; (at = strstr(at, "\n  ")) != NULL; count++) {
        at += strlen("\n  ");
        char name[128], address[32];
        const char *star = strstr(at, "*0x");
        assert_non_null(star);
        snprintf(address, sizeof address, "%.*s", (int)strcspn(star, " ,\n"), star);
        snprintf(name, sizeof name, "%.*s", (int)(star > at ? star - at - 3 : (ptrdiff_t)strlen(address)),
                 at);
        location = must_locate(symbols, name);
        assert_int_equal(location.address, must_locate(symbols, address).address);
        assert_true(location.is_function_entry);
        assert_string_equal(location.name, name[0] == '*' ? location.name : name);
    }
    assert_int_equal(count, wanted);
}

TEST(listed_places_are_accepted)
{
    struct symbols *symbols = fixture("flash");
    listed_are_accepted(symbols, "helper", 2);
    symbols = fixture("nodebug");
    listed_are_accepted(symbols, "helper", 2);
    symbols = fixture("names");
    listed_are_accepted(symbols, "helper", 2);
    listed_are_accepted(symbols, "helper(unsigned long)", 2);
    listed_are_accepted(symbols, "update", 2);
    listed_are_accepted(symbols, "dsp::filter", 2);
    symbols = fixture("copies");
    listed_are_accepted(symbols, "several", 2);
    listed_are_accepted(symbols, "core::ptr::drop_in_place", 2);
}

TEST(strange_names_do_no_harm)
{
    struct symbols *symbols = fixture("blink");
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
}

TEST(near_names_are_proposed)
{
    struct symbols *symbols = fixture("blink");
    must_refuse(symbols, "fir_fliter", ERROR_SYMBOL,
                "no symbol `fir_fliter` in blink.elf; did you mean fir_filter?");
    must_refuse(symbols, "reset_handler", ERROR_SYMBOL, "did you mean Reset_Handler?");
    must_refuse(symbols, "filter", ERROR_SYMBOL, "did you mean fir_filter?");
    symbols = fixture("stripped");
    must_refuse(symbols, "main", ERROR_SYMBOL, "it is stripped");
}

TEST(cpp_names_are_found_mangled_and_plain)
{
    struct symbols *symbols = fixture("shapes");
    struct location area = must_locate(symbols, "geometry::Shape::area");
    assert_int_equal(area.address, must_locate(symbols, "_ZNK8geometry5Shape4areaEi").address);
    assert_string_equal(area.name, "geometry::Shape::area");
    assert_true(must_locate(symbols, "geometry::Shape::Shape").is_function_entry); /* C1 and C2 */
    must_refuse(symbols, "twice", ERROR_AMBIGUOUS, "\n  twice(int)   *0x1");       /* overloads */
    must_refuse(symbols, "twice", ERROR_AMBIGUOUS, "\n  twice(long)   *0x1");
    assert_true(must_locate(symbols, "twice( long )").address != must_locate(symbols, "twice(int)").address);
    must_refuse(symbols, "area", ERROR_SYMBOL, "did you mean geometry::Shape::area?");
    symbols_describe(symbols, area.address + 2, &area);
    assert_string_equal(area.name, "geometry::Shape::area+0x2");
}

TEST(cpp_functions_are_named_as_in_the_source)
{
    struct symbols *symbols = fixture("names");
    static const struct {
        const char *wanted, *symbol;
    } names[] = {
        {"dsp::filter(int)", "_ZN3dsp6filterEi"},
        {"dsp::filter(unsigned long)", "_ZN3dsp6filterEm"},
        {"dsp::Fir<int, 8>::process", "_ZNK3dsp3FirIiLi8EE7processEi"},
        {"dsp::Fir<int,16>::process(int) const", "_ZNK3dsp3FirIiLi16EE7processEi"},
        {"dsp::Vector::operator+=", "_ZN3dsp6VectorpLEi"},
        {"operator+", "_ZplN3dsp6VectorEi"},
        {"_start::{lambda(int)#1}::operator()", "_ZZ6_startENKUliE_clEi"},
        {"hidden_away", "_ZN12_GLOBAL__N_111hidden_awayEi"},
        {"names.cpp:hidden_away(int)", "_ZN12_GLOBAL__N_111hidden_awayEi"},
        {"names.cpp:dsp::unique_name", "_ZN3dsp11unique_nameEv"},
        {"sub/names.cpp:helper", "_ZL6helperm"},
        {"sub/names.cpp:helper(unsigned long)", "_ZL6helperm"},
        {"fixtures/names.cpp:helper", "_ZL6helperm.isra.0"},
    };
    for (size_t i = 0; i < COUNT(names); i++)
        assert_int_equal(must_locate(symbols, names[i].wanted).address,
                         must_locate(symbols, names[i].symbol).address);
    assert_string_equal(must_locate(symbols, "dsp::filter(int)").name, "dsp::filter(int)");
    assert_string_equal(must_locate(symbols, "dsp::filter(int)+2").name, "dsp::filter(int)+0x2");
    assert_int_equal(must_locate(symbols, "sub/names.cpp:update+2").address,
                     must_locate(symbols, "sub/names.cpp:update").address + 2);
    must_refuse(symbols, "uniqe_name", ERROR_SYMBOL, "did you mean dsp::unique_name?");
    must_refuse(symbols, "unique_name", ERROR_SYMBOL, "did you mean dsp::unique_name?");
    must_refuse(symbols, "names.cpp:updaet", ERROR_SYMBOL, "did you mean update?");
    must_refuse(symbols, "sub/names.cpp:die", ERROR_SYMBOL, ": die is in names.cpp:");
}

/* In one file the compiler made a copy of `helper`, in the other it did not */
TEST(copy_in_one_file_is_as_good_as_the_function_in_another)
{
    struct symbols *symbols = fixture("names");
    must_refuse(symbols, "helper", ERROR_AMBIGUOUS, "\n  fixtures/names.cpp:helper   *0x1");
    must_refuse(symbols, "helper", ERROR_AMBIGUOUS, "\n  sub/names.cpp:helper   *0x1");
    must_refuse(symbols, "update", ERROR_AMBIGUOUS, "\n  fixtures/names.cpp:update   *0x1");
    struct location copy = must_locate(symbols, "fixtures/names.cpp:helper");
    assert_string_equal(copy.note, "measured as helper.isra.0, the compiler's copy of it");
}

TEST(copies_of_a_function_are_told)
{
    struct symbols *symbols = fixture("copies");
    struct location crc = must_locate(symbols, "crc");
    assert_int_equal(crc.address, must_locate(symbols, "copies.c:crc").address);
    assert_string_equal(crc.note,
                        "without the calls of crc.constprop.0, crc.part.0, made of it by the compiler");
    assert_string_equal(must_locate(symbols, "crc.constprop.0").note, "");
    struct location single = must_locate(symbols, "single");
    assert_string_equal(single.name, "single");
    assert_string_equal(single.note, "measured as single.constprop.0, the compiler's copy of it");
    must_refuse(symbols, "lonely", ERROR_SYMBOL, "only its part lonely.part.0 is left");
    assert_true(must_locate(symbols, "lonely.part.0").is_function_entry);
    assert_string_equal(must_locate(symbols, "shared").note, "");
    assert_true(must_locate(symbols, "nested").is_function_entry);
    must_refuse(symbols, "several", ERROR_AMBIGUOUS, "\n  several.constprop.1   *0x");
}

TEST(names_of_ada_d_and_fortran_are_those_of_the_source)
{
    struct symbols *symbols = fixture("copies");
    static const struct {
        const char *typed, *symbol;
    } names[] = {{"startup.run", "_ada_startup__run"},
                 {"dsp.filter.work", "_D3dsp6filter4workFiZi"},
                 {"waves::run", "__waves_MOD_run"},
                 {"run", "__waves_MOD_run"}};
    for (size_t i = 0; i < COUNT(names); i++)
        assert_int_equal(must_locate(symbols, names[i].typed).address,
                         must_locate(symbols, names[i].symbol).address);
    must_refuse(symbols, "filters.twist", ERROR_AMBIGUOUS, "filters__twist__2");
    struct location shown;
    symbols_describe(symbols, must_locate(symbols, "dsp.filter.work").address + 2, &shown);
    assert_string_equal(shown.name, "dsp.filter.work+0x2");
    symbols_describe(symbols, must_locate(symbols, "waves::run").address, &shown);
    assert_string_equal(shown.name, "waves::run");
    must_refuse(symbols, "dsp.filter", ERROR_SYMBOL, "no symbol");
}

TEST(the_rest_of_a_coroutine_is_named)
{
    static const char after[] = "begins a coroutine: what it does after a suspension is in ";
    struct symbols *symbols = fixture("copies");
    struct location actor;
    char note[160];
    snprintf(note, sizeof note, "%sdrv::read_sensor.actor", after);
    assert_string_equal(must_locate(symbols, "drv::read_sensor").note, note);
    actor = must_locate(symbols, "drv::read_sensor.actor");
    assert_string_equal(actor.name, "drv::read_sensor.actor");
    assert_int_not_equal(actor.address, must_locate(symbols, "drv::read_sensor").address);
    snprintf(note, sizeof note, "%sdrv::send.resume", after);
    assert_string_equal(must_locate(symbols, "drv::send").note, note);
}

TEST(another_name_of_the_same_code_is_named)
{
    struct symbols *symbols = fixture("copies");
    assert_string_equal(must_locate(symbols, "TIM2_IRQHandler").note,
                        "an alias of Default_Handler, as the program does not define it");
    assert_string_equal(must_locate(symbols, "Default_Handler").note,
                        "the same code as TIM2_IRQHandler and others: calls by either name are measured");
    assert_string_equal(must_locate(symbols, "uart2_poll").note,
                        "the same code as uart1_poll: calls by either name are measured");
    assert_string_equal(must_locate(symbols, "uart1_poll+2").note, "");
}

TEST(a_function_within_another_one)
{
    struct symbols *symbols = fixture("copies");
    struct location around = must_locate(symbols, "around"), within = must_locate(symbols, "within"), at;
    assert_true(around.low < within.low && within.high < around.high);
    assert_int_equal(around.next, within.low);
    assert_int_equal(within.next, within.high);
    symbols_describe(symbols, within.high - 2, &at);
    assert_string_equal(at.name, "within+0x2");
    symbols_describe(symbols, within.high, &at);
    assert_int_equal(at.low, around.low);
    assert_int_equal(at.next, around.high);
    assert_string_equal(at.name, "around+0x6");
}

TEST(rust_functions_are_found_without_their_hash)
{
    struct symbols *symbols = fixture("copies");
    static const char *const names[] = {
        "core::fmt::write",
        "core::fmt::write::h0123456789abcdef",
        "mycrate::foo",
        "mycrate::generic<u32>",
        "mycrate::generic::<u32>",
        "mycrate::inner::bar",
        "<T as core::convert::Into<U>>::into",
    };
    for (size_t i = 0; i < COUNT(names); i++)
        assert_true(must_locate(symbols, names[i]).is_function_entry);
    must_refuse(symbols, "core::fmt::wirte", ERROR_SYMBOL, "did you mean core::fmt::write?");
}

TEST(functions_that_are_inlined_are_named_where_they_stand)
{
    struct symbols *symbols = fixture("flash");
    char first[64], second[64], words[300];
    fixture_line("blink.c", "= square(led", first, sizeof first);
    fixture_line("blink.c", "= square(ticks", second, sizeof second);
    snprintf(words, sizeof words, "into main at %s and %s; name a range such as %s ", first,
             strchr(second, ':'), first);
    must_refuse(symbols, "square", ERROR_SYMBOL, words);
    must_refuse(symbols, "blink.c:square", ERROR_SYMBOL, words);
    symbols = fixture("names");
    must_refuse(symbols, "folded(int)", ERROR_SYMBOL, "is inlined where it is called");
    must_refuse(symbols, "dsp::folded_there", ERROR_SYMBOL, "is inlined where it is called");
    must_refuse(symbols, "folded_there", ERROR_SYMBOL, "no symbol");
    struct location location, end;
    struct error error = {.kind = ERROR_NONE};
    assert_false(symbols_locate(symbols, "folded", &location, &error));
    /* the range that is named is one */
    char *from = strstr(error.text, "such as ");
    assert_non_null(from);
    char *start = strtok(from + strlen("such as "), " "), *last = strtok(NULL, " ");
    location = must_locate(symbols, start);
    end = must_locate(symbols, last);
    assert_true(location.address < end.address);
}

TEST(functions_that_never_return_are_known)
{
    struct symbols *symbols = fixture("names");
    assert_true(must_locate(symbols, "die").never_returns);
    assert_false(must_locate(symbols, "die+2").never_returns);
    assert_false(must_locate(symbols, "other").never_returns);
}

/* GCC at -O0 gives zero-initialised variables no type */
TEST(variables_without_a_type_are_objects)
{
    struct symbols *symbols = fixture("copies");
    uint64_t address = 0, other = 0, size = 0;
    assert_true(symbols_object(symbols, "untyped", &address, &size));
    assert_int_equal(size, 4);
    assert_true(symbols_object(symbols, "typed", &other, &size));
    assert_true(symbols_object(symbols, "counted", &other, &size));
    assert_int_equal(other, address + 4);
    assert_int_equal(symbols_find_object(symbols, "bare", &other, &size), OBJECT_NONE);
    assert_int_equal(symbols_find_object(symbols, "_start", &other, &size), OBJECT_NONE);
    must_refuse(symbols, "untyped", ERROR_SYMBOL, "`untyped` is data (4 bytes at 0x1");
    symbols = fixture("blink");
    assert_int_equal(symbols_find_object(symbols, "hidden", &other, &size), OBJECT_SEVERAL);
}

TEST(instruction_set_is_told)
{
    struct symbols *symbols = fixture("mixed");
    struct location location = must_locate(symbols, "in_arm_state");
    assert_int_equal(location.isa, ISA_ARM);
    location = must_locate(symbols, "in_thumb_state");
    assert_int_equal(location.isa, ISA_THUMB);
    assert_int_equal(location.address & 1, 0);
    must_refuse(symbols, "in_arm_state+2", ERROR_SYMBOL, "between two instructions");
    assert_int_equal(must_locate(symbols, "in_thumb_state+2").isa, ISA_THUMB);
    symbols = fixture("stripped"); /* no symbols at all, but M-profile */
    assert_int_equal(must_locate(symbols, "*0x40").isa, ISA_THUMB);
    symbols = fixture("host");
    assert_int_equal(must_locate(symbols, "work").isa, ISA_OTHER);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* CPU time, which other programs hardly change. The limit is far above what it takes under sanitizers, and
 * far below quadratic. */
TEST(many_symbols_are_no_burden)
{
    double begin = seconds();
    struct symbols *symbols = fixture_open("many");
    assert_true(must_locate(symbols, "driver_of_device_99999").is_function_entry);
    must_refuse(symbols, "driver_of_dveice_500", ERROR_SYMBOL, "did you mean driver_of_device_500");
    symbols_close(symbols);
    assert_true(seconds() - begin < 5.0);
}

/* Static functions of one name differ by their files. */
TEST(each_function_has_a_name_that_finds_it_alone)
{
    struct symbols *symbols = fixture("blink");
    struct location location, found;
    struct error error = {0};
    char name[256];
    size_t i = 0, in_files = 0;
    uint64_t last = 0;
    for (; symbols_function(symbols, i, &location); i++) {
        assert_true(symbols_function_name(symbols, i, name, sizeof name));
        assert_true(symbols_locate(symbols, location.name, &found, &error));
        assert_true(found.address == location.address && location.address >= last);
        in_files += strstr(location.name, ".c:") != NULL;
        last = location.address;
    }
    assert_true(i > 5 && in_files > 0);
    assert_false(symbols_function_name(symbols, i, name, sizeof name));
}
