#include "counters/events.h"
#include "counters/metric.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* As long as it is and without its NUL, so that reading on is noticed. */
static struct metric_set *parse_exact(const char *text, size_t n, struct error *error)
{
    char *exact = malloc(n > 0 ? n : 1);
    assert_non_null(exact);
    memcpy(exact, text, n);
    struct metric_set *set = metric_set_parse(exact, n, error);
    free(exact);
    return set;
}

static struct metric_set *parse(const char *text, struct error *error)
{
    return parse_exact(text, strlen(text), error);
}

static struct metric_set *parse_good(const char *text)
{
    struct error error = {0};
    struct metric_set *set = parse(text, &error);
    if (set == NULL)
        fail_msg("%s: %s", text, error.text);
    return set;
}

static bool core_offers(void *self, const char *event)
{
    return event_set_find(self, event) != NULL;
}

/* Counts differ by their powers of ten: A=1000, B=200, C=30; 4 cycles, 0.5 seconds, 8 Hz. */
static double value_of(const char *expression)
{
    char text[512];
    snprintf(text, sizeof text, "EVENTS A, B C\nMETRIC ALL = A+B+C\nMETRIC X = %s", expression);
    struct metric_set *set = parse_good(text);
    const struct metric *metric = metric_set_find(set, "x", NULL, NULL);
    double counts[METRIC_EVENTS];
    for (size_t i = 0; i < metric->n_events; i++)
        counts[i] = metric->events[i][0] == 'A' ? 1000 : metric->events[i][0] == 'B' ? 200 : 30;
    struct metric_input input = {.counts = counts, .cycles = 4, .seconds = 0.5, .hz = 8};
    double value = metric_evaluate(metric, &input);
    metric_set_free(set);
    return value;
}

TEST(expressions_have_their_value)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"1", 1},
        {" 2.5 ", 2.5},
        {".5", 0.5},
        {"A", 1000},
        {"c", 30},
        {"A-B-C", 770},
        {"A-(B-C)", 830},
        {"A/B/C", 5.0 / 30},
        {"A+B*C", 7000},
        {"(A+B)*C", 36000},
        {"A/B*C", 150},
        {"-A+B", -800},
        {"A--B", 1200},
        {"-(A*-B)", 200000},
        {"-A*B", -200000},
        {"CYCLES", 4},
        {"SECONDS", 0.5},
        {"HZ", 8},
        {"100*cycles/A", 0.4},
        {"C/SECONDS/HZ", 7.5},
        {"((((((((1))))))))", 1},
        {"A + A + A", 3000},
        {"1*-1*-1*-1*-1*-1*-1*-1*-1*-1*-1*-1*-1*-1*-1*-1*-1*-1*-1", 1}, /* long is not deep */
        {"(1)+(1)+(1)+(1)+(1)+(1)+(1)+(1)+(1)+(1)+(1)+(1)+(1)+(1)+(1)+(1)+(1)+(1)", 18},
        {"C + B * (A - C) / 2 - A", 96030},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        double value = value_of(cases[i].text);
        if (fabs(value - cases[i].value) > 1e-9)
            fail_msg("%s = %g, not %g", cases[i].text, value, cases[i].value);
    }
}

TEST(figures_that_do_not_exist_are_nan)
{
    assert_true(isnan(value_of("A/0")));
    assert_true(isnan(value_of("0/0")));
    assert_true(isnan(value_of("1/(B-200)")));
    assert_true(isnan(value_of("1/(1/(B-200))"))); /* not the 0 that infinity would make of it */
    struct metric_set *set = parse_good("EVENTS A, B\nMETRIC X = A + 0 * B");
    double counts[] = {1, NAN};
    struct metric_input input = {.counts = counts};
    assert_true(isnan(metric_evaluate(metric_set_at(set, 0), &input)));
    metric_set_free(set);
}

TEST(metrics_know_what_they_need)
{
    struct metric_set *set =
        parse_good("# mine\r\nEVENTS A, B,C\r\nMETRIC FIRST MB/s = B / (a * SECONDS) # per A\r\n"
                   "METRIC SECOND=C+c\r\n\r\nEVENTS D\r\nMETRIC first % = D/HZ\nMETRIC T = CYCLES");
    assert_int_equal(metric_set_count(set), 4);
    const struct metric *first = metric_set_at(set, 0), *second = metric_set_at(set, 1);
    assert_string_equal(first->name, "FIRST");
    assert_string_equal(first->unit, "MB/s");
    assert_int_equal(first->n_events, 2);
    assert_string_equal(first->events[0], "B");
    assert_string_equal(first->events[1], "A");
    assert_true(metric_uses(first, METRIC_SECONDS));
    assert_false(metric_uses(first, METRIC_CYCLES));
    assert_string_equal(first->text, "B / (a * SECONDS)");
    assert_string_equal(second->text, "C+c");
    assert_string_equal(second->unit, "");
    assert_int_equal(second->n_events, 1);
    assert_string_equal(second->events[0], "C");
    assert_string_equal(metric_set_at(set, 2)->unit, "%");
    assert_true(metric_uses(metric_set_at(set, 2), METRIC_HZ));
    assert_int_equal(metric_set_at(set, 3)->n_events, 0);
    assert_null(metric_set_at(set, 4));
    metric_set_free(set);
}

static bool has_d(void *self, const char *event)
{
    (void)self;
    return strcmp(event, "D") == 0;
}

TEST(the_first_section_that_the_core_has_applies)
{
    struct metric_set *set = parse_good(
        "EVENTS A, D\nMETRIC X = A/D\nEVENTS D\nMETRIC X = D\nEVENTS D, B\nMETRIC X = D+B\nMETRIC Y = B");
    assert_ptr_equal(metric_set_find(set, "X", NULL, NULL), metric_set_at(set, 0));
    assert_ptr_equal(metric_set_find(set, "x", has_d, NULL), metric_set_at(set, 1));
    assert_null(metric_set_find(set, "Y", has_d, NULL));
    assert_null(metric_set_find(set, "Z", NULL, NULL));
    metric_set_free(set);
}

TEST(errors_name_the_line)
{
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"CPI = A", "line 1: a line begins with EVENTS or METRIC, not \"CPI\""},
        {"METRIC X", "line 1: a METRIC is followed by ="},
        {"METRIC", "line 1: a METRIC is followed by ="},
        {"METRIC = 1", "line 1: a METRIC has a name"},
        {"METRIC X a b = 1", "line 1: one unit is enough"},
        {"METRIC X 1234567890123456 = 1", "line 1: this cannot be a unit"},
        {"METRIC X \xB5s = 1", "line 1: this cannot be a unit"},
        {"METRIC 1X = 1", "line 1: this cannot be a metric's name"},
        {"METRIC X = 1\n\nMETRIC x = 2", "line 3: its section has this metric already"},
        {"METRIC X =", "line 1: expected a number, a name or (, not the end of the line"},
        {"METRIC X = (1", "line 1: a ) is missing before the end of the line"},
        {"METRIC X = (1 # )", "line 1: a ) is missing"},
        {"METRIC X = 1)", "line 1: expected an operator, not \")\""},
        {"METRIC X = 1 2", "line 1: expected an operator, not \"2\""},
        {"METRIC X = 1 + * 2", "line 1: expected a number, a name or (, not \"* 2\""},
        {"METRIC X = 1 + ", "line 1: expected a number, a name or ("},
        {"METRIC X = 1 = 2", "line 1: expected an operator"},
        {"METRIC X = 1.2.3", "line 1: no number"},
        {"METRIC X = .", "line 1: no number"},
        {"METRIC X = 0x10", "line 1: expected an operator"},
        {"METRIC X = 12345678901234567890123456789012", "line 1: too long a number"},
        {"METRIC X = A", "line 1: EVENTS above does not name \"A\""},
        {"EVENTS A\nMETRIC X = A\nEVENTS B\nMETRIC Y = A + B",
         "line 4: EVENTS above does not name \"A + B\""},
        {"EVENTS A\nMETRIC X = "
         "A2345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678",
         "line 2: too long a name"},
        {"EVENTS "
         "A2345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678",
         "line 1: too long a name"},
        {"EVENTS A,a", "line 1: this event is here twice"},
        {"EVENTS A-B", "line 1: an expression cannot name this event"},
        {"EVENTS r11", "line 1: an expression cannot name this event"},
        {"EVENTS A, B\nMETRIC X = A\n# end", "line 1: no METRIC uses the event B"},
        {"EVENTS A\nEVENTS B\nMETRIC X = B", "line 1: no METRIC uses the event A"},
        {"METRIC X = ((((((((((((((((((1))))))))))))))))))", "line 1: nested too deep"},
        {"METRIC X = ------------------1", "line 1: nested too deep"},
        {"METRIC X = 1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1",
         "line 1: too long an expression"},
        {"EVENTS A B C D E F G H I J K L M N O P Q\nMETRIC X = A+B+C+D+E+F+G+H+I+J+K+L+M+N+O+P+Q",
         "line 2: too many events for one metric"},
        {"EVENTS A1 A2 A3 A4 A5 A6 A7 A8 A9 B1 B2 B3 B4 B5 B6 B7 B8 B9 C1 C2 C3 C4 C5 C6 C7 C8 C9 D1 D2 D3 "
         "D4 D5 D6",
         "line 1: too many events"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct error error = {0};
        struct metric_set *set = parse(bad[i].text, &error);
        if (set != NULL || error.kind != ERROR_USAGE || strstr(error.text, bad[i].part) != error.text)
            fail_msg("\"%s\" gave \"%s\", not \"%s\"", bad[i].text, error.text, bad[i].part);
    }
}

TEST(as_many_events_as_a_metric_may_have)
{
    struct metric_set *set = parse_good("EVENTS A B C D E F G H I J K L M N O P\n"
                                        "METRIC X = A+B+C+D+E+F+G+H+I+J+K+L+M+N+O+P+A");
    assert_int_equal(metric_set_at(set, 0)->n_events, METRIC_EVENTS);
    metric_set_free(set);
}

TEST(a_nul_ends_nothing)
{
    static const char text[] = "METRIC X = 1\0+ 2";
    struct error error = {0};
    assert_null(parse_exact(text, sizeof text - 1, &error));
    assert_has(error.text, "this cannot be read");
}

/* Every core that we know has the metrics that its events allow, made of the right ones. */
TEST(embedded_metrics_fit_the_cores)
{
    static const struct {
        const char *cpu, *metric, *event; /* NULL: none there */
    } wanted[] = {
        {"cortex-a9", "CPI", "INST_OUT_OF_RENAME_STAGE"},
        {"cortex-a9", "BRANCH_MISS", "BR_MIS_PRED"},
        {"cortex-a8", "L1D_MISS", "L1D_CACHE_REFILL"},
        {"cortex-a53", "IPC", "INST_RETIRED"},
        {"cortex-a76", "BRANCH_MISS", "BR_MIS_PRED_RETIRED"},
        {"cortex-r5", "CPI", "INST_RETIRED"},
        {"cortex-r52", "CPI", "INST_RETIRED"},
        {"cortex-m55", "CPI", "INST_RETIRED"},
        {"cortex-m55", "INSTRUCTIONS", NULL},
        {"dwt", "CPI", "CPICNT"},
        {"dwt", "INSTRUCTIONS", "CPICNT"},
        {"dwt", "L1D_MISS", NULL},
        {"knc", "L1D_MISS", "DATA_READ_MISS_OR_WRITE_MISS"},
        {"knc", "BRANCH_MISS", NULL}, /* a lower bound is all that it has */
        {"knc", "LEAST_BRANCH_MISS", "BRANCHES_MISPREDICTED"},
        {"knc", "CPI", "CPU_CLK_UNHALTED"},
        {"knc", "CPI_CORE", "INSTRUCTIONS_EXECUTED"},
        {"knc", "L2_MISS", "L2_READ_MISS"},
        {"knc", "VECTORIZATION", "VPU_ELEMENTS_ACTIVE"},
        {"cortex-a9", "VECTORIZATION", NULL},
    };
    struct error error = {0};
    struct metric_set *all = metric_set_open(NULL, &error);
    if (all == NULL)
        fail_msg("%s", error.text);
    for (size_t i = 0; i < COUNT(wanted); i++) {
        struct event_set *events = event_set_open(wanted[i].cpu, &error);
        const struct metric *metric = metric_set_find(all, wanted[i].metric, core_offers, events);
        if (wanted[i].event == NULL)
            assert_null(metric);
        else {
            assert_non_null(metric);
            assert_string_equal(metric->events[0], wanted[i].event);
        }
        event_set_free(events);
    }
    metric_set_free(all);
}

static double dwt_value(const struct metric_set *set, const char *name)
{
    static const struct {
        const char *event;
        double count;
    } counts[] = {{"CPICNT", 200}, {"EXCCNT", 24}, {"SLEEPCNT", 100}, {"LSUCNT", 60}, {"FOLDCNT", 7}};
    double in_order[METRIC_EVENTS] = {0};
    const struct metric *metric = metric_set_find(set, name, NULL, NULL);
    assert_non_null(metric);
    for (size_t i = 0; i < metric->n_events; i++)
        for (size_t k = 0; k < COUNT(counts); k++)
            if (strcmp(metric->events[i], counts[k].event) == 0)
                in_order[i] = counts[k].count;
    struct metric_input input = {.counts = in_order, .cycles = 1000};
    return metric_evaluate(metric, &input);
}

TEST(the_dwt_counts_instructions)
{
    struct error error = {0};
    struct metric_set *set = metric_set_open("DWT", &error);
    assert_non_null(set);
    assert_true(dwt_value(set, "INSTRUCTIONS") == 623);
    assert_true(fabs(dwt_value(set, "CPI") - 1000.0 / 623) < 1e-12);
    assert_true(fabs(dwt_value(set, "IPC") - 0.623) < 1e-12);
    assert_true(dwt_value(set, "INSTRUCTIONS_532314") == 723); /* sleep is in CPICNT there */
    metric_set_free(set);
    assert_null(metric_set_open("nothing", &error));
    assert_has(error.text, "there are: cpi dwt misses");
}
