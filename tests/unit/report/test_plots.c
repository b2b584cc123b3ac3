/* Plots: each thing is where its number says, and each text stays a text. */
#include "golden.h"

#include "report/plots.h"

#include <math.h>
#include <stdlib.h>

static const struct histogram_bin bins[] = {
    {.low = 100, .high = 109, .count = 40}, {.low = 110, .high = 119}, {.low = 120, .high = 124, .count = 1}};

static struct plot a_plot(void)
{
    return (struct plot){.out = output(),
                         .id = "p",
                         .title = "<b>",
                         .says = "\"&\x1b",
                         .height = 138, /* 100 pixels between the texts */
                         .x = {.from = 10, .to = 20},
                         .y = {.from = -1, .to = 1}};
}

/* Bars are as high as their counts, and an empty bin has none. */
TEST(a_histogram)
{
    struct plot plot = a_plot();
    const struct plot_rule rule = {.at = 90, .text = "baseline <90>"};
    plot_histogram(&plot, bins, 3, &rule, 1);
    output_is_golden("page/histogram.svg");
}

TEST(marks_differ_by_shape)
{
    struct plot plot = a_plot();
    plot_begin(&plot);
    for (size_t i = 0; i < PLOT_LOOKS; i++)
        plot_mark(&plot, 10 + 2 * (double)i, 1 - (double)i / 2, (enum plot_look)i, "<i>");
    plot_mark(&plot, 1e300, -1e300, PLOT_PLAIN, ""); /* at the border */
    plot_mark(&plot, NAN, NAN, PLOT_PLAIN, NULL);
    plot_line(&plot, (double[]){10, -1}, (double[]){20, 1}, PLOT_ODD, "low to high");
    plot_end(&plot);
    plot_key(plot.out, PLOT_BOUND, "at least <so much>");
    output_is_golden("page/marks.svg");
}

/* What a scale has, from left to right. */
static void scale_is(double from, double to, const char *unit, const char *expected)
{
    char got[256] = "";
    struct plot plot = a_plot();
    plot.x = (struct plot_axis){.from = from, .to = to, .unit = unit};
    plot.y = (struct plot_axis){.bare = true};
    plot_begin(&plot);
    plot_end(&plot);
    char *text = output_text(NULL);
    for (const char *at = text; (at = strstr(at, "fill=\"currentColor\">")) != NULL;) {
        at += strlen("fill=\"currentColor\">");
        size_t used = strlen(got);
        snprintf(got + used, sizeof got - used, "%s%.*s", used > 0 ? "|" : "", (int)strcspn(at, "<"), at);
    }
    free(text);
    assert_string_equal(got, expected);
}

TEST(scales_have_round_numbers)
{
    scale_is(0, 1.4, "s", "0.0 s|0.5 s|1.0 s");
    scale_is(18190, 18330, NULL, "18,200|18,250|18,300");
    scale_is(99.5, 124.5, NULL, "100|105|110|115|120");
    scale_is(7, 7, NULL, "7");
    scale_is(0, 0.003, "s", "0.000 s|0.001 s|0.002 s|0.003 s");
    scale_is(-5, 5, NULL, "-4|-2|0|2|4");
    scale_is(0, 18446744073709551615.0, NULL,
             "0|5,000,000,000,000,000,000|10,000,000,000,000,000,000|"
             "15,000,000,000,000,000,000");
}

TEST(frames_that_are_too_narrow_are_left_out)
{
    static struct call_node narrow[] = {{.width = 1e-9}, {.width = 1e-7}};
    const struct call_tree flame = {.nodes = narrow, .n = 2};
    assert_int_equal(flame_svg(output(), &(struct flame_svg){.flame = &flame}), 2);
    OUTPUT_LACKS("<title>");
}
