/*
 * Unit tests that put themselves on the list: all of a folder are one program, with test_main.c.
 *
 *     TEST(what_is_claimed)
 *     {
 *         assert_true(...);
 *     }
 *
 * They run file by file, in the order in which a file has them. *state is cmocka's.
 */
#pragma once

// clang-format off
/* cmocka wants these before it, in this order. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

#include <stdbool.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct timespec;

/* What clock_gettime is to say of any clock, and what is to be done instead of sleeping. */
typedef int test_clock(struct timespec *now);
extern int test_clock_asked; /* by the last clock_gettime */
typedef void test_nap(uint64_t us);

void test_add(const char *file, int line, const char *name, CMUnitTestFunction test, CMFixtureFunction set_up,
              CMFixtureFunction tear_down);
void test_group(const char *file, CMFixtureFunction set_up, CMFixtureFunction tear_down);
void test_time(const char *file, test_clock *clock, test_nap *nap);

/* For whose time goes by in another way, if at all. */
void test_no_nap(uint64_t us);

#define TEST(name) TEST_WITH(name, NULL, NULL)

/* A test between two fixtures, each of which may be NULL. */
#define TEST_WITH(name, set_up, tear_down)                                                                   \
    static void name(void **state);                                                                          \
    __attribute__((constructor)) static void add_##name(void)                                                \
    {                                                                                                        \
        test_add(__BASE_FILE__, __LINE__, #name, name, set_up, tear_down);                                   \
    }                                                                                                        \
    static void name(void **state __attribute__((unused)))

/* A test between two functions without arguments, which set up what all tests of a file use, and put it away.
 */
#define TEST_BETWEEN(name, before, after)                                                                    \
    static int set_up_##name(void **state __attribute__((unused)))                                           \
    {                                                                                                        \
        before();                                                                                            \
        return 0;                                                                                            \
    }                                                                                                        \
    static int tear_down_##name(void **state __attribute__((unused)))                                        \
    {                                                                                                        \
        after();                                                                                             \
        return 0;                                                                                            \
    }                                                                                                        \
    TEST_WITH(name, set_up_##name, tear_down_##name)

static inline void test_nothing(void)
{
}

/* Once a file, after the functions: what runs before its first test and after its last one. */
#define TEST_GROUP(set_up, tear_down)                                                                        \
    __attribute__((constructor)) static void add_group(void)                                                 \
    {                                                                                                        \
        test_group(__BASE_FILE__, set_up, tear_down);                                                        \
    }

/* Once a file: while its tests run, libc's time is this. What is NULL stays real. */
#define TEST_TIME(clock, nap)                                                                                \
    __attribute__((constructor)) static void add_time(void)                                                  \
    {                                                                                                        \
        test_time(__BASE_FILE__, clock, nap);                                                                \
    }

/* --- errors --------------------------------------------------------------------------------------------- */

/* Of the struct error at `error`. It is cleared, for the next call that may fail. */
#define assert_error(error, why, words)                                                                      \
    do {                                                                                                     \
        assert_int_equal((error)->kind, why);                                                                \
        assert_has((error)->text, words);                                                                    \
        error_clear(error);                                                                                  \
    } while (0)

/* The same where the words are all of the text. */
#define assert_error_is(error, why, words)                                                                   \
    do {                                                                                                     \
        assert_int_equal((error)->kind, why);                                                                \
        assert_string_equal((error)->text, words);                                                           \
        error_clear(error);                                                                                  \
    } while (0)

/* The call returns false, with such an error. */
#define assert_fails(call, error, why, words)                                                                \
    do {                                                                                                     \
        assert_false(call);                                                                                  \
        assert_error(error, why, words);                                                                     \
    } while (0)

#define assert_has(text, words) test_has(text, words, __FILE__, __LINE__)

static inline void test_has(const char *text, const char *words, const char *file, int line)
{
    if (strstr(text, words) != NULL)
        return;
    print_error("`%s` is not in: %s\n", words, text);
    _fail(file, line);
}

/* --- sweeps, which let something go wrong at every place --------------------------------------------------
 */

/* `make soak` sets PMU_SOAK: then a sweep takes every place, and a random test all of its cases. */
bool test_soaks(void);

/* PMU_SEED, or a number of the clock's, which is printed. */
uint64_t test_seed(void);

/* `make soak` takes every `soak`-th place. `make check` takes one of each `check` places in a row: PMU_SEED
 * and the sweep's name choose it, so that a failure can be had again. */
struct test_sweep {
    bool soaks;
    uint64_t seed;
    long one_in;
};

__attribute__((format(printf, 3, 4))) struct test_sweep test_sweep(long soak, long check, const char *name,
                                                                   ...);
bool test_takes(const struct test_sweep *sweep, long place);

/* A twentieth of N random cases, but all of them in `make soak`. */
static inline size_t test_cases(size_t all)
{
    return test_soaks() ? all : all / 20;
}
