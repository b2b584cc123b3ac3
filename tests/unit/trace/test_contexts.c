/* What is charged to which exception, and slices of a word's values, from the bytes of the trace on. */
#include "../test.h"

#include "trace/contexts.h"

#include <stdio.h>
#include <stdlib.h>

static void say(char *out, const char *text)
{
    size_t used = strlen(out);
    snprintf(out + used, 1024 - used, "%s%s", used > 0 ? ", " : "", text);
}

/* "16 at 100: 160 own 100"; '~' before what is not exact. */
static void say_stay(void *context, const struct trace_stay *stay)
{
    static const char *const ends[] = {"", " unended", " lost", " cut"};
    char text[128], least[48] = "";
    if (stay->at_least > 0)
        snprintf(least, sizeof least, " at least %llu", (unsigned long long)stay->at_least);
    snprintf(text, sizeof text, "%u%s at %s%llu: %s%llu own %s%llu%s%s%s", stay->number,
             stay->entered ? "" : " unseen", stay->from_exact ? "" : "~", (unsigned long long)stay->from,
             stay->to_exact ? "" : "~", (unsigned long long)(stay->to - stay->from),
             stay->own_exact ? "" : "~", (unsigned long long)stay->own, ends[stay->end],
             stay->is_rest ? " rest" : "", least);
    say(context, text);
}

static void say_lost(void *context, uint64_t cycles)
{
    (void)cycles;
    say(context, "lost");
}

static void contexts_of(void *context, const struct trace_moment *moment)
{
    trace_contexts_take(context, moment);
}

static struct trace_contexts decode(const uint8_t *bytes, size_t n, char *said)
{
    struct trace_contexts contexts = {.context = said, .stay = say_stay, .lost = say_lost};
    struct trace_moments moments = {.kinds = 1U << TRACE_EXCEPTION | 1U << TRACE_DATA_WRITTEN,
                                    .plus = 1,
                                    .context = &contexts,
                                    .take = contexts_of,
                                    .aligned = true};
    said[0] = '\0';
    assert_true(trace_moments_begin(&moments));
    trace_moments_take(&moments, bytes, n);
    trace_moments_end(&moments);
    trace_contexts_end(&contexts);
    trace_moments_free(&moments);
    return contexts;
}

#define E(n)     0x0E, (n), 0x10
#define X(n)     0x0E, (n), 0x20
#define R(n)     0x0E, (n), 0x30
#define T(v)     0xC0, (v)
#define LATE(v)  0xD0, (v)
#define W(v)     0x8D, (v)
#define OVERFLOW 0x70
#define ROW(said, thread, between, ...)                                                                      \
    {                                                                                                        \
        sizeof((const uint8_t[]){__VA_ARGS__}), {__VA_ARGS__}, said, thread, between                         \
    }

struct row {
    size_t n;
    uint8_t bytes[80];
    const char *said;
    unsigned thread, between;
};

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char said[1024];
        struct trace_contexts contexts = decode(rows[i].bytes, rows[i].n, said);
        assert_string_equal(said, rows[i].said);
        assert_int_equal(contexts.thread, rows[i].thread);
        assert_int_equal(contexts.between, rows[i].between);
    }
}

/* A write between them may repeat the value. */
TEST(an_own_time_is_exact_if_each_time_within_is_proved)
{
    static const struct trace_moment moments[] = {
        {.kind = MOMENT_DATA, .written = true, .value = 1, .cycles = 10},
        {.kind = MOMENT_DATA, .written = true, .value = 2, .cycles = 20},
        {.kind = MOMENT_DATA, .written = true, .value = 2, .cycles = 30, .doubt = MOMENT_UNPROVED},
        {.kind = MOMENT_DATA, .written = true, .value = 3, .cycles = 40},
        {.kind = MOMENT_DATA, .written = true, .value = 3, .cycles = 50, .doubt = MOMENT_LATE},
        {.kind = MOMENT_DATA, .written = true, .value = 4, .cycles = 60}};
    char said[1024] = "";
    struct trace_contexts contexts = {.context = said, .stay = say_stay, .lost = say_lost};
    for (size_t i = 0; i < COUNT(moments); i++)
        trace_contexts_take(&contexts, &moments[i]);
    assert_string_equal(said, "1 unseen at ~10: 10 own ~10 rest, 2 at 20: 20 own ~0, 3 at 40: 20 own 20");
}

static struct trace_contexts contexts_after(const struct trace_moment *moments, size_t n, char *said)
{
    struct trace_contexts contexts = {.context = said, .stay = say_stay, .lost = say_lost};
    said[0] = '\0';
    for (size_t i = 0; i < n; i++)
        trace_contexts_take(&contexts, &moments[i]);
    trace_contexts_end(&contexts);
    return contexts;
}

/* Cycle events alone show that time went on: to the end, and up to a loss. */
TEST(time_without_an_event_is_charged_to_what_runs)
{
    static const struct trace_moment hang[] = {
        {.kind = MOMENT_BEAT, .cycles = 5},
        {.kind = MOMENT_EXCEPTION, .n = TRACE_RETURN, .value = 0, .cycles = 10},
        {.kind = MOMENT_BEAT, .cycles = 1000},
        {.kind = MOMENT_EXCEPTION, .n = TRACE_ENTER, .value = 16, .cycles = 1010},
        {.kind = MOMENT_BEAT, .cycles = 2000},
        {.kind = MOMENT_BEAT, .cycles = 3000},
        {.kind = MOMENT_EXCEPTION, .n = TRACE_ENTER, .value = 17, .cycles = 3005, .doubt = MOMENT_UNPROVED}};
    static const struct trace_moment loss[] = {
        {.kind = MOMENT_EXCEPTION, .n = TRACE_ENTER, .value = 16, .cycles = 10},
        {.kind = MOMENT_BEAT, .cycles = 1000},
        {.kind = MOMENT_LOST, .cycles = 1200},
        {.kind = MOMENT_EXCEPTION, .n = TRACE_RETURN, .value = 0, .cycles = 1300, .doubt = MOMENT_UNPROVED},
        {.kind = MOMENT_BEAT, .cycles = 2000},
        {.kind = MOMENT_BEAT, .cycles = 3000}};
    char said[1024];
    struct trace_contexts contexts = contexts_after(hang, COUNT(hang), said);
    assert_string_equal(said, "17 at ~3005: ~0 own ~0 cut, 16 at 1010: ~1995 own ~1990 cut at least 1990");
    assert_int_equal(contexts.thread, 1000);
    contexts = contexts_after(loss, COUNT(loss), said);
    assert_string_equal(said, "16 at 10: ~990 own ~990 lost, lost");
    assert_int_equal(contexts.thread, 1000);
}

/* Sequences of DDI 0403 B1.5 with the times of their packets. */
TEST(each_handler_is_charged_with_its_own_code)
{
    static const struct row rows[] = {
        ROW("15 at 94: 14 own 14", 0, 9, E(15), T(0x5D), X(15), T(0x0D), R(0), T(8)),
        /* Tail-chained: no return between the two */
        ROW("16 at 200: 101 own 101, 17 at 308: 61 own 61", 0, 17, E(16), 0xC0, 0xC7, 1, X(16), T(0x64),
            E(17), 0x60, X(17), T(0x3C), R(0), T(9)),
        ROW("40 at 1030: 50 own 50, 16 at 1000: 160 own 100", 0, 20, E(16), 0xC0, 0xE7, 7, E(40), T(0x1D),
            X(40), T(0x31), R(16), T(9), X(16), T(0x45), R(0), T(9)),
        /* 40 arrived late, while 16 was being entered */
        ROW("40 at 1000: 50 own 50, 16 at 1057: 40 own 40", 0, 17, E(40), 0xC0, 0xE7, 7, X(40), T(0x31),
            E(16), 0x60, X(16), T(0x27), R(0), T(9)),
        /* Three deep, and one tail-chained inside */
        ROW("42 at 30: 10 own 10, 43 at 42: 8 own 8, 41 at 20: 45 own 24, 40 at 10: 70 own 23, 15 at 90: 5 "
            "own 5",
            12, 12, R(0), T(0), E(40), T(8), E(41), T(9), E(42), T(9), X(42), T(9), E(43), T(1), X(43), T(7),
            R(41), T(0), X(41), T(13), R(40), T(1), X(40), T(12), R(0), T(6), E(15), T(2), X(15), T(4)),
    };
    check_rows(rows, COUNT(rows));
}

TEST(a_time_that_is_not_exact_spoils_what_it_ends_or_begins)
{
    static const struct row rows[] = {
        ROW("16 at 10: ~10 own ~10, 17 at 25: 5 own 5", 0, 5, E(16), T(9), X(16), LATE(9), E(17), T(4), X(17),
            T(4)),
        ROW("16 at ~11: 10 own ~10", 0, 0, E(16), LATE(10), X(16), T(9)),
        /* What is interrupted, too, but not its end */
        ROW("40 at ~22: 5 own ~5, 16 at 10: 22 own ~15", 0, 2, E(16), T(9), E(40), LATE(11), X(40), T(4),
            R(16), T(1), X(16), T(2)),
        ROW("40 at 20: 5 own 5, 16 at 10: 21 own ~13", 0, 3, E(16), T(9), E(40), T(9), X(40), T(4), R(16),
            LATE(2), X(16), T(2)),
        /* Two packets with one time */
        ROW("16 at 10: ~11 own ~11, 17 at ~21: 5 own ~5", 0, 0, E(16), T(9), X(16), E(17), T(10), X(17),
            T(4)),
    };
    check_rows(rows, COUNT(rows));
}

TEST(nothing_is_paired_over_a_loss)
{
    static const struct row rows[] = {
        ROW("41 at 20: ~0 own ~0 lost, 40 at 10: ~10 own ~10 lost, lost, 41 unseen at ~30: 0 own ~0 rest, 15 "
            "at 35: 5 own 5, lost, 41 unseen at ~48: 0 own ~0",
            9, 10, R(0), T(0), E(40), T(8), E(41), T(9), OVERFLOW, X(41), T(9), E(15), T(4), X(15), T(4),
            R(0), 0x40, OVERFLOW, X(41), T(2)),
        /* Active when it began */
        ROW("40 at 10: 5 own 5, 16 unseen at ~17: 8 own ~8 rest", 0, 2, E(40), T(9), X(40), T(4), R(16), T(1),
            X(16), T(7)),
        ROW("16 at 10: ~0 own ~0 cut", 0, 0, E(16), T(9)),
    };
    check_rows(rows, COUNT(rows));
}

TEST(a_reset_or_a_handler_that_never_ends_leaves_nothing_behind)
{
    static const struct row rows[] = {
        /* An exception that is active is not entered */
        ROW("3 at 20: ~5 own ~5 unended, 16 at 10: ~15 own ~10 unended, 16 at 25: 5 own 5", 0, 0, E(16), T(9),
            E(3), T(9), E(16), T(4), X(16), T(4)),
        ROW("16 at 10: ~10 own ~10 unended", 0, 0, E(16), T(9), R(0), T(9)),
        /* 40 was left, and 16 goes on */
        ROW("40 at 20: ~10 own ~10 unended, 16 at 10: 25 own 15", 0, 0, E(16), T(9), E(40), T(9), R(16), T(9),
            X(16), T(4)),
        /* The end of what did not begin */
        ROW("40 unseen at ~20: 0 own ~0, 16 at 10: 25 own ~23", 0, 2, R(0), T(0), E(16), T(8), X(40), T(9),
            R(16), T(1), X(16), T(12)),
    };
    struct row last = rows[3];
    last.thread = 9;
    check_rows(rows, 3);
    check_rows(&last, 1);
}

TEST(a_burst_deeper_than_any_core_nests_is_bounded)
{
    char said[1024];
    uint8_t bytes[200 * 5];
    for (size_t i = 0; i < 200; i++)
        memcpy(&bytes[5 * i], ((const uint8_t[]){E(20 + (uint8_t)i), T(9)}), 5);
    struct trace_contexts contexts = decode(bytes, sizeof bytes, said);
    assert_true(contexts.n_torn <= CONTEXT_DEPTH);
    assert_non_null(strstr(said, "lost"));
}

/* The first write may repeat what was there. */
TEST(slices_last_until_another_value_is_written)
{
    static const struct row rows[] = {
        ROW("7 unseen at ~10: 15 own ~15 rest, 8 at 25: 5 own 5, 7 at 30: ~0 own ~0 cut", 0, 0, W(7), T(9),
            W(7), T(9), W(8), T(4), W(7), T(4)),
        ROW("7 unseen at ~10: 5 own ~5 rest, 8 at 15: ~0 own ~0 lost, lost, 8 unseen at ~25: 5 own ~5 rest, "
            "7 "
            "at 30: ~0 own ~0 cut",
            0, 0, W(7), T(9), W(8), T(4), OVERFLOW, W(8), T(9), W(7), T(4)),
        ROW("7 unseen at ~10: 5 own ~5 rest, 8 at 15: ~0 own ~0 lost, lost, 9 unseen at ~25: ~6 own ~6, 7 at "
            "~31: ~0 own ~0 cut",
            0, 0, W(7), T(9), W(8), T(4), OVERFLOW, W(9), T(9), W(7), LATE(5)),
    };
    check_rows(rows, COUNT(rows));
}
