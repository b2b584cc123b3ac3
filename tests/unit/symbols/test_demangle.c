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
