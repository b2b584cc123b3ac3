/* Errors: the first fact stays, and its advice with it. */
#include "base/error.h"
#include "test.h"

TEST(the_first_fact_stays)
{
    struct error error = {0};
    const struct error other = {.kind = ERROR_HALTED, .text = "it stands"};
    assert_false(error_set(&error, ERROR_FAULT, "at %d", 1));
    assert_false(error_advise(&error, ERROR_RESET, "advice", "at %d", 2));
    assert_false(error_copy(&error, &other));
    assert_int_equal(error.kind, ERROR_FAULT);
    assert_string_equal(error.text, "at 1");
    assert_null(error.advice);
    assert_false(error_add(&error, &other));
    assert_string_equal(error.text, "at 1\nit stands");
    assert_false(error_add(&error, &other)); /* it says so already */
    assert_string_equal(error.text, "at 1\nit stands");
    error_set(NULL, ERROR_FAULT, "asked for by nobody");
}

TEST(advice_comes_from_the_kind_or_with_the_fact)
{
    struct error plain = {0}, own = {0}, none = {0}, copied = {0}, added = {0};
    error_set(&plain, ERROR_FAULT, "no");
    error_advise(&own, ERROR_FAULT, "Do that.", "no");
    error_advise(&none, ERROR_FAULT, "", "no");
    error_copy(&copied, &own);
    error_add(&added, &own);
    assert_has(error_advice(&plain), "mapped");
    assert_string_equal(error_advice(&own), "Do that.");
    assert_null(error_advice(&none));
    assert_string_equal(error_advice(&copied), "Do that.");
    assert_string_equal(error_advice(&added), "Do that.");
    error_clear(&own);
    error_set(&own, ERROR_CANCELLED, "cancelled");
    assert_null(error_advice(&own));
}

TEST(every_kind_has_an_exit_code)
{
    for (int kind = ERROR_NONE; kind < ERROR_KINDS; kind++)
        assert_int_equal(error_exit_code((enum error_kind)kind) > 0, kind != ERROR_NONE);
}
