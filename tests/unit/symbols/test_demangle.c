#include "fixture.h"

#include "symbols/internal.h"

static enum likeness likeness(const char *wanted, const char *symbol)
{
    struct name_query request;
    name_query_init(&request, wanted, strlen(wanted));
    return name_compare(&request, symbol);
}

TEST(mangled_names_are_read)
{
    static const struct {
        const char *symbol, *plain, *signature;
    } names[] = {
        {"main", "main", "main"},
        {"crc.constprop.0", "crc.constprop.0", "crc.constprop.0"},
        {"_Z3foov", "foo", "foo()"},
        {"_ZL3fooi", "foo", "foo(int)"},
        {"_ZN2ns5Class3barEPKc", "ns::Class::bar", "ns::Class::bar(char const*)"},
        {"_ZNK2ns5Class3barEv", "ns::Class::bar", "ns::Class::bar() const"},
        {"_ZN2ns5ClassC2Ei", "ns::Class::Class", "ns::Class::Class(int)"},
        {"_ZN2ns5ClassD0Ev", "ns::Class::~Class", "ns::Class::~Class()"},
        {"_ZN12_GLOBAL__N_13fooEv", "foo", "foo()"},
        {"_Z3foov.constprop.0", "foo.constprop.0", "foo().constprop.0"},
        {"_ZN2nsplERKi", "ns::operator+", "ns::operator+(int const&)"},
        {"_ZNK3dsp3FirIiLi8EE7processEi", "dsp::Fir<int, 8>::process",
         "dsp::Fir<int, 8>::process(int) const"},
        {"_Z6thriceIaET_S0_", "thrice<signed char>", "thrice<signed char>(signed char)"},
        {"_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()",
         "main::{lambda(int)#1}::operator()(int) const"},
        {"_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write", "core::fmt::write"},
        {"_RNvCs1234_7mycrate3foo", "mycrate::foo", "mycrate::foo"},
        {"_RINvCs1234_7mycrate7genericmE", "mycrate::generic::<u32>", "mycrate::generic::<u32>"},
        {"_RNvCs1234_7mycrateu9gre_6ka8i", "mycrate::größe", "mycrate::größe"},
        {"_Z", "_Z", "_Z"},
        {"_ZN", "_ZN", "_ZN"},
        {"_R", "_R", "_R"},
        {"_ZN3fo", "_ZN3fo", "_ZN3fo"},
        {"_ZNC1E", "_ZNC1E", "_ZNC1E"},
        {"_Z99999999999999999999a", "_Z99999999999999999999a", "_Z99999999999999999999a"},
    };
    for (size_t i = 0; i < COUNT(names); i++) {
        char name[64];
        name_plain(name, sizeof name, names[i].symbol);
        assert_string_equal(name, names[i].plain);
        name_signature(name, sizeof name, names[i].symbol);
        assert_string_equal(name, names[i].signature);
        assert_int_equal(likeness(names[i].plain, names[i].symbol), LIKE_SAME);
        assert_int_equal(likeness(names[i].symbol, names[i].symbol), LIKE_SAME);
        assert_int_equal(likeness("fo", names[i].symbol), UNLIKE);
        assert_int_equal(likeness("", names[i].symbol), UNLIKE);
    }
}

/* A mangled name with a type of `n` arguments. */
static char *with_arguments(const char *begin, size_t n, const char *end)
{
    static const char argument[] = "10Parameters";
    char *out = malloc(strlen(begin) + n * strlen(argument) + strlen(end) + 1);
    assert_non_null(out);
    char *at = out + sprintf(out, "%s", begin);
    for (size_t i = 0; i < n; i++)
        at += sprintf(at, "%s", argument);
    sprintf(at, "%s", end);
    return out;
}

/* 1024 characters are libiberty's bound; the names beyond 16384 are not read. */
TEST(a_long_mangled_name_is_compared_as_a_short_one_is)
{
    static const size_t many[] = {1, 80, 90, 170, 180, 700, 1300};
    char name[64];
    for (size_t i = 0; i < COUNT(many); i++) {
        char *symbol = with_arguments("_Z3run4ListIJ", many[i], "EE");
        assert_true(name_plain(name, sizeof name, symbol));
        assert_string_equal(name, "run");
        assert_int_equal(likeness("run", symbol), LIKE_SAME);
        assert_int_equal(likeness("un", symbol), UNLIKE);
        assert_int_equal(likeness("run(int)", symbol), UNLIKE);
        assert_int_equal(likeness("Parameters", symbol), UNLIKE);
        free(symbol);
        symbol = with_arguments("_ZN4ListIJ", many[i], "EE3runEv");
        assert_int_equal(likeness("run", symbol), UNLIKE);
        assert_int_equal(likeness("List", symbol), UNLIKE);
        assert_true(name_plain(name, sizeof name, symbol) == (many[i] == 1));
        free(symbol);
    }
}

TEST(a_name_that_cannot_be_read_may_be_any_that_it_has_a_word_of)
{
    char *unread[] = {with_arguments("_Z3run4ListIJ", 1500, "EE"), with_arguments("_Z3run", 1, "?")};
    char name[64];
    for (size_t i = 0; i < COUNT(unread); i++) {
        assert_true(name_plain(name, sizeof name, unread[i]) == (i == 1));
        assert_int_equal(likeness("run", unread[i]), LIKE_SAME);
        assert_int_equal(likeness("run(int)", unread[i]), LIKE_SAME);
        assert_int_equal(likeness("un", unread[i]), UNLIKE);
        assert_int_equal(likeness("Para", unread[i]), UNLIKE);
        assert_int_equal(likeness("operator+", unread[i]), LIKE_SAME);
        assert_int_equal(likeness("_Z3runi", unread[i]), UNLIKE);
        free(unread[i]);
    }
    assert_int_equal(likeness("Reset", "_Reset"), UNLIKE);
    assert_int_equal(likeness("operator+", "_Reset"), UNLIKE);
}

/* Of two that are read up to one place nothing is the other's. */
TEST(a_wanted_name_is_not_found_by_its_beginning)
{
    char *symbol = with_arguments("_Z3runI4ListIJ", 600, "EEEvT_"), name[8 * DEMANGLED_ROOM];
    assert_true(name_plain(name, sizeof name, symbol));
    assert_int_equal(likeness(name, symbol), UNLIKE); /* longer than a request's room */
    assert_int_equal(likeness("run", symbol), UNLIKE);
    free(symbol);
}

TEST(one_function_is_written_in_many_ways)
{
    static const struct {
        const char *symbol, *wanted[8];
    } same[] = {
        {"_ZN3dsp6filterEm",
         {"dsp::filter", "dsp::filter(unsigned long)", "dsp :: filter( unsigned  long )"}},
        {"_ZNK3dsp3FirIiLi8EE7processEi",
         {"dsp::Fir<int, 8>::process", "dsp::Fir<int,8>::process(int)",
          "dsp::Fir<int, 8>::process(int) const"}},
        {"_Z6thriceIaET_S0_",
         {"thrice<signed char>", "thrice<signed char>(signed char)",
          "signed char thrice<signed char>(signed char)"}},
        {"_ZN3dsp6VectorpLEi", {"dsp::Vector::operator+=", "dsp::Vector::operator+=(int)"}},
        {"_ZplN3dsp6VectorEi", {"operator+", "operator +", "operator+(dsp::Vector, int)"}},
        {"_ZN12_GLOBAL__N_13fooEi", {"foo", "(anonymous namespace)::foo(int)", "foo(int)"}},
        {"_Z4textB5cxx11i", {"text", "text[abi:cxx11](int)", "text(int)"}},
        {"_ZL6helperm.isra.0", {"helper.isra.0", "helper(unsigned long) [clone .isra.0]"}},
        {"_ZN4core3fmt5write17h0123456789abcdefE",
         {"core::fmt::write", "core::fmt::write::h0123456789abcdef"}},
        {"_RINvCs1234_7mycrate7genericmE", {"mycrate::generic::<u32>", "mycrate::generic<u32>"}},
        {"shared.lto_priv.0", {"shared", "shared.lto_priv.0"}},
        {"foo.llvm.123456789", {"foo"}},
        {"foo.__uniq.42.llvm.7", {"foo"}},
        {"nested.5", {"nested"}},
    };
    for (size_t i = 0; i < COUNT(same); i++)
        for (size_t k = 0; k < 8 && same[i].wanted[k] != NULL; k++)
            if (likeness(same[i].wanted[k], same[i].symbol) != LIKE_SAME)
                fail_msg("%s is not %s", same[i].wanted[k], same[i].symbol);
}

TEST(copies_and_parts_are_less_than_the_function)
{
    assert_int_equal(likeness("helper", "_ZL6helperm.isra.0"), LIKE_COPY);
    assert_int_equal(likeness("helper(unsigned long)", "_ZL6helperm.isra.0"), LIKE_COPY);
    assert_int_equal(likeness("crc", "crc.constprop.1"), LIKE_COPY);
    assert_int_equal(likeness("crc", "crc.lto_priv.2.constprop.0.isra.0"), LIKE_COPY);
    assert_int_equal(likeness("crc", "crc.part.0"), LIKE_PART);
    assert_int_equal(likeness("crc", "crc.cold"), LIKE_PART);
    assert_int_equal(likeness("crc", "crc.constprop.0.cold"), LIKE_PART);
    assert_int_equal(likeness("crc", "crc.cold.1"), LIKE_PART);
    assert_int_equal(likeness("crc", "crc32"), UNLIKE);
    assert_int_equal(likeness("crc", "crc.data"), UNLIKE);
    assert_int_equal(likeness("crc.constprop.0", "crc.constprop.1"), UNLIKE);
    assert_int_equal(likeness("dsp::filter(int)", "_ZN3dsp6filterEm"), UNLIKE);
    assert_int_equal(likeness("filter", "_ZN3dsp6filterEm"), UNLIKE);
    assert_int_equal(likeness("process", "_ZNK3dsp3FirIiLi8EE7processEi"), UNLIKE);
}

/* Substitutions that double with each step make megabytes of a hundred bytes */
TEST(names_without_end_are_given_up)
{
    char symbol[600] = "_Z1fSt4pairIiiE";
    for (int i = 0; i < 35; i++) {
        char digit = (char)(i < 10 ? '0' + i : 'A' + i - 10);
        size_t length = strlen(symbol);
        snprintf(symbol + length, sizeof symbol - length, "S_IS%c_S%c_E", digit, digit);
    }
    char name[128];
    name_signature(name, sizeof name, symbol);
    assert_int_equal(likeness("f", symbol), LIKE_SAME);
    assert_int_equal(likeness("f(int)", symbol), UNLIKE);
    for (size_t i = 0; i < strlen(symbol); i++) { /* cut anywhere */
        char cut[600];
        snprintf(cut, sizeof cut, "%.*s", (int)i, symbol);
        name_signature(name, sizeof name, cut);
    }
}
