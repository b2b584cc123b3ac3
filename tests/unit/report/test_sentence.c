/* Sentences with values of a line: each form of a value, what is left out, what is cut. */
#include "report/results.h"
#include "report/sentence.h"
#include "test.h"

static const char line_text[] =
    "{'name':'fir','n':18204,'zero':0,'mean':94.25,'hz':12000000,'at':'0x0800041e','code':17,'yes':true,"
    "'no':false,'of':{'name':'core'},'places':[{'place':'a'},{'place':'b'}],'huge':18446744073709551615.0}";

static void says(const char *sentence, const char *expected)
{
    char out[64], quoted[sizeof line_text];
    json_error_t error;
    snprintf(quoted, sizeof quoted, "%s", line_text);
    for (char *at = quoted; (at = strchr(at, '\'')) != NULL;)
        *at = '"';
    json_t *line = json_loads(quoted, 0, &error);
    assert_non_null(line);
    sentence_fill(out, sizeof out, sentence, line);
    json_decref(line);
    assert_string_equal(out, expected);
}

TEST(a_value_in_each_form)
{
    says("{name} of {of.name}, {none|name}", "fir of core, fir");
    says("{n} {n,} {mean=} {hz~}", "18204 18,204 94.25 12 MHz");
    says("{at#8} {at#1} {code#4} {zero}", "0x0800041E 0x800041E 0x0011 0");
    says("in use: {places*place}", "in use: a, b");
    says("{huge}", "18446744073709551615");
    says("{none}{yes}{no}{", "");
}

TEST(a_part_is_left_out_unless_all_of_its_keys_are_there)
{
    says("a[, {n} hits][, {none} more][ {name} {none}]", "a, 18204 hits");
    says("[{zero} is there][, {!zero}none][{!yes}, true][{!no}, false][{!name}, text]",
         "0 is there, true, text");
    says("[{^none}absent][{^no}, false][{^zero}, zero][{^none|name}, either]", "absent, false");
    says("name   [{none}]  ", "name");
}

TEST(what_does_not_fit_is_cut)
{
    says("{name} {name} {name} {name} {name} {name} {name} {name} {name} {name} {name} {name} {name} {name} "
         "{n} {n}",
         "fir fir fir fir fir fir fir fir fir fir fir fir fir fir 18204 1");
}
