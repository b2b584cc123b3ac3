/* SPDX-License-Identifier: MIT */
#include "report/plots.h"

#include "base/values.h"
#include "report/html.h"
#include "report/number.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { ABOVE = 16, BELOW = 22, TICKS_MOST = 6, TICKS_WIDE = 4, TICKS_UP = 5, WIDE = 7, LABEL = 160 };
enum { SPARK_WIDTH = 96, SPARK_HEIGHT = 18, INTERVAL_WIDTH = 160, SHARE_WIDTH = 60, SHARE_HEIGHT = 9 };
/* Percent of the width: room for half a mark. */
static const double INSET = 1.5;

/* The middle of light and dark: legible on both. */
static const char AXIS[] = "#8c959f", RULE[] = "#b35900";
static const struct {
    const char *class, *colour, *shape;
    bool filled;
} looks[PLOT_LOOKS] = {
    [PLOT_PLAIN] = {"plain", "#2f74c0", "M-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0-5 0", true},
    [PLOT_ODD] = {"odd", "#b8620a", "M-3.5-3.5L3.5 3.5M-3.5 3.5L3.5-3.5", false},
    [PLOT_BOUND] = {"bound", "#8250c4", "M0-4.5L4 3L-4 3Z", true},
    [PLOT_FAINT] = {"faint-mark", "#8c959f", "M-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0-5 0", false},
    [PLOT_GOOD] = {"good", "#1f8a46", "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0", true},
    [PLOT_BAD] = {"bad", "#d03b30", "M-4-4H4V4H-4Z", true},
    [PLOT_BAR] = {"plain", "#2f74c0", "M-5 5V-1H-1V-5H5V5Z", true},
    [PLOT_OUTLINE] = {"outline", "#b8620a", "M-6 5V-1H-1V-5H5V5", false},
    [PLOT_BAND] = {"band", "#1f8a46", "M-3-6H3V6H-3Z", true},
};

static double height_of(const struct plot *plot)
{
    return plot->height > 0 ? plot->height : PLOT_HEIGHT;
}

/* 0 to 1 */
static double plots_part_of(const struct plot_axis *axis, double value)
{
    double part = axis->to > axis->from ? (value - axis->from) / (axis->to - axis->from) : 0.5;
    return isnan(part) || part < 0 ? 0 : part > 1 ? 1 : part;
}

/* In percent of the width. */
static double place_x(const struct plot *plot, double x)
{
    return INSET + plots_part_of(&plot->x, x) * (100 - 2 * INSET);
}

/* In pixels from the top. */
static double place_y(const struct plot *plot, double y)
{
    return height_of(plot) - BELOW - plots_part_of(&plot->y, y) * (height_of(plot) - BELOW - ABOVE);
}

static void put_title(FILE *out, const char *label)
{
    if (label != NULL && label[0] != '\0')
        html_element(out, "title", NULL, label);
}

/* ---- scales */

/* 1, 2 or 5 times a power of ten, so that at most `most` steps cover the axis; 0: it is of no length. */
static double step_of(const struct plot_axis *axis, unsigned most)
{
    double least = (axis->to - axis->from) / most;
    if (!(least > 0) || !isfinite(least))
        return 0;
    double step = pow(10, floor(log10(least)));
    for (size_t i = 0; step < least && i < 3; i++)
        step *= i == 1 ? 2.5 : 2;
    return step;
}

static void tick_text(const struct plot_axis *axis, double value, double step, char out[NUMBER_ROOM + 16])
{
    char number[NUMBER_ROOM];
    int decimals = step > 0 && step < 1 ? (int)ceil(-log10(step) - 1e-9) : 0;
    number_decimal(number, sizeof number, value, decimals);
    snprintf(out, NUMBER_ROOM + 16, "%s%s%.12s", number, axis->unit != NULL ? " " : "", or_empty(axis->unit));
}

static void plots_put_text(const struct plot *plot, double x, double y, const char *anchor, const char *class,
                           const char *text)
{
    fprintf(plot->out,
            "<text class=\"%s\" x=\"%.2f%%\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"11\" "
            "fill=\"currentColor\">",
            class, x, y, anchor);
    html_text(plot->out, text);
    fputs("</text>\n", plot->out);
}

/* So that a text at the border is not cut. */
static const char *anchor_at(double percent)
{
    return percent < 12 ? "start" : percent > 88 ? "end" : "middle";
}

/* A number, or any other text, below the x axis. */
static void plot_tick(const struct plot *plot, double x, const char *text)
{
    double at = place_x(plot, x);
    plots_put_text(plot, at, height_of(plot) - 6, anchor_at(at), "tick", text);
}

static void put_x_scale(const struct plot *plot)
{
    char text[NUMBER_ROOM + 16];
    const struct plot_axis *axis = &plot->x;
    tick_text(axis, axis->to, step_of(axis, TICKS_MOST), text);
    double step = step_of(axis, strlen(text) > WIDE ? TICKS_WIDE : TICKS_MOST);
    if (!(step > 0)) {
        tick_text(axis, axis->from, step, text);
        plot_tick(plot, axis->from, text);
        return;
    }
    double first = ceil(axis->from / step - 1e-9);
    for (unsigned i = 0; i <= TICKS_MOST && (first + i) * step <= axis->to + step * 1e-9; i++) {
        tick_text(axis, (first + i) * step, step, text);
        plot_tick(plot, (first + i) * step, text);
    }
}

/* The grid first and, above what is drawn, its numbers. */
static void put_y_scale(const struct plot *plot, bool numbers)
{
    char text[NUMBER_ROOM + 16];
    const struct plot_axis *axis = &plot->y;
    double step = step_of(axis, TICKS_UP), first = step > 0 ? ceil(axis->from / step - 1e-9) : 0;
    for (unsigned i = 0; i <= TICKS_UP; i++) {
        double value = step > 0 ? (first + i) * step : axis->from, y = place_y(plot, value);
        if (value > axis->to + step * 1e-9 || (i > 0 && !(step > 0)))
            break;
        tick_text(axis, value, step, text);
        if (numbers)
            plots_put_text(plot, 0, y - 3, "start", "tick", text);
        else
            fprintf(plot->out,
                    "<line class=\"grid\" x1=\"0\" x2=\"100%%\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
                    "stroke-width=\"0.5\"/>\n",
                    y, y, AXIS);
    }
}

void plot_begin(const struct plot *plot)
{
    fprintf(plot->out,
            "<svg class=\"plot\" role=\"img\" aria-labelledby=\"%s-title %s-says\" width=\"100%%\" "
            "height=\"%.0f\">\n<title id=\"%s-title\">",
            plot->id, plot->id, height_of(plot), plot->id);
    html_text(plot->out, plot->title);
    fprintf(plot->out, "</title>\n<desc id=\"%s-says\">", plot->id);
    html_text(plot->out, plot->says);
    fprintf(plot->out,
            "</desc>\n<line class=\"axis\" x1=\"0\" x2=\"100%%\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n",
            height_of(plot) - BELOW, height_of(plot) - BELOW, AXIS);
    put_y_scale(plot, false);
    put_x_scale(plot);
}

void plot_end(const struct plot *plot)
{
    put_y_scale(plot, true);
    fputs("</svg>\n", plot->out);
}

/* ---- what is in them */

static void plots_put_bar(FILE *out, double x, double width, double top, double bottom, const char *label)
{
    fprintf(out, "<rect class=\"bar\" x=\"%.3f%%\" width=\"%.3f%%\" y=\"%.1f\" height=\"%.1f\" fill=\"%s\">",
            x, width, top, bottom - top, looks[PLOT_PLAIN].colour);
    put_title(out, label);
    fputs("</rect>\n", out);
}

/* A tenth of the width is the gap to the next one. */
static void plot_bar(const struct plot *plot, double from, double to, double y, const char *label)
{
    double x = place_x(plot, from), width = place_x(plot, to) - x;
    plots_put_bar(plot->out, x + width * 0.05, width * 0.9, place_y(plot, y), height_of(plot) - BELOW, label);
}

static void put_shape(FILE *out, enum plot_look look)
{
    if (looks[look].filled)
        fprintf(out, "<path d=\"%s\" fill=\"%s\"/>", looks[look].shape, looks[look].colour);
    else
        fprintf(out, "<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"/>", looks[look].shape,
                looks[look].colour);
}

/* A separate element is placed by percent, and a path in it by pixels. */
void plot_mark(const struct plot *plot, double x, double y, enum plot_look look, const char *label)
{
    fprintf(plot->out, "<svg class=\"mark %s\" x=\"%.3f%%\" y=\"%.1f\" overflow=\"visible\">",
            looks[look].class, place_x(plot, x), place_y(plot, y));
    put_title(plot->out, label);
    put_shape(plot->out, look);
    fputs("</svg>\n", plot->out);
}

void plot_line(const struct plot *plot, const double from[2], const double to[2], enum plot_look look,
               const char *label)
{
    fprintf(plot->out,
            "<line class=\"line %s\" x1=\"%.3f%%\" y1=\"%.1f\" x2=\"%.3f%%\" y2=\"%.1f\" stroke=\"%s\" "
            "stroke-width=\"2\"%s>",
            looks[look].class, place_x(plot, from[0]), place_y(plot, from[1]), place_x(plot, to[0]),
            place_y(plot, to[1]), looks[look].colour, look == PLOT_ODD ? " stroke-dasharray=\"2 2\"" : "");
    put_title(plot->out, label);
    fputs("</line>\n", plot->out);
}

/* A dashed line over all of the height, with its text next to it. */
static void plot_rule_at_x(const struct plot *plot, double x, const char *text)
{
    double at = place_x(plot, x);
    fprintf(plot->out,
            "<line class=\"rule\" x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"%d\" y2=\"%.1f\" stroke=\"%s\" "
            "stroke-width=\"2\" stroke-dasharray=\"5 3\"/>\n",
            at, at, ABOVE - 3, height_of(plot) - BELOW, RULE);
    plots_put_text(plot, at, ABOVE - 5, anchor_at(at), "beside", text);
}

void plot_key(FILE *out, enum plot_look look, const char *text)
{
    fprintf(out,
            "<span class=\"key\"><svg class=\"mark %s\" width=\"12\" height=\"12\" viewBox=\"-6 -6 12 12\" "
            "aria-hidden=\"true\">",
            looks[look].class);
    put_shape(out, look);
    fputs("</svg> ", out);
    html_text(out, text);
    fputs("</span>\n", out);
}

/* ---- histograms */

static uint64_t highest_of(const struct histogram_bin *bins, size_t n)
{
    uint64_t highest = 1;
    for (size_t i = 0; i < n; i++)
        highest = bins[i].count > highest ? bins[i].count : highest;
    return highest;
}

static const char *label_of(const struct histogram_bin *bin, char out[LABEL])
{
    bool wide = bin->high > bin->low;
    snprintf(out, LABEL, "%s%s%s: %s hit%s", NUMBER(bin->low), wide ? " to " : "",
             wide ? NUMBER(bin->high) : "", NUMBER(bin->count), PLURAL(bin->count));
    return out;
}

/* Paths have no percent: this one is in a frame of 1000 by 1000 that is stretched. */
static void put_outline(const struct plot *plot, const struct histogram_bin *bins, size_t n, double scale)
{
    double width = 100 - 2 * INSET, height = height_of(plot) - BELOW - ABOVE;
    fprintf(plot->out,
            "<svg x=\"%.3f%%\" width=\"%.3f%%\" y=\"%d\" height=\"%.1f\" viewBox=\"0 0 1000 1000\" "
            "preserveAspectRatio=\"none\" overflow=\"visible\"><path class=\"outline\" fill=\"none\" "
            "stroke=\"%s\" stroke-width=\"2\" vector-effect=\"non-scaling-stroke\" d=\"",
            INSET, width, ABOVE, height, looks[PLOT_OUTLINE].colour);
    for (size_t i = 0; i < n; i++) {
        double y = 1000 * (1 - plots_part_of(&plot->y, scale * (double)bins[i].count));
        double from = 1000 * plots_part_of(&plot->x, (double)bins[i].low - 0.5),
               to = 1000 * plots_part_of(&plot->x, (double)bins[i].high + 0.5);
        if (i == 0)
            fprintf(plot->out, "M%.1f 1000", from);
        fprintf(plot->out, "V%.1fH%.1f", y, to);
    }
    fputs("V1000\"/></svg>\n", plot->out);
}

static void put_band(const struct plot *plot, double low, double high)
{
    double from = place_x(plot, low), width = fmax(place_x(plot, high) - from, 0.2);
    if (low < high)
        fprintf(plot->out,
                "<rect class=\"band\" x=\"%.3f%%\" width=\"%.3f%%\" y=\"%d\" height=\"%.1f\" fill=\"%s\" "
                "fill-opacity=\"0.35\"/>\n",
                from, width, ABOVE, height_of(plot) - BELOW - ABOVE, looks[PLOT_BAND].colour);
}

void plot_histogram(const struct plot *plot, const struct plot_hits *hits)
{
    char label[LABEL];
    const struct histogram_bin *bins = hits->bins, *before = hits->before;
    size_t n = hits->n;
    double scale = before != NULL ? 100 / fmax((double)hits->all, 1) : 1,
           its_scale = 100 / fmax((double)hits->all_before, 1);
    struct plot whole = *plot;
    whole.x.from = (double)bins[0].low - 0.5;
    whole.x.to = (double)bins[n - 1].high + 0.5;
    whole.y =
        (struct plot_axis){.to = scale * (double)highest_of(bins, n), .unit = before != NULL ? "%" : NULL};
    if (before != NULL)
        whole.y.to = fmax(whole.y.to, its_scale * (double)highest_of(before, n));
    for (size_t i = 0; i < hits->n_rules; i++) { /* a rule is in the frame */
        whole.x.from = fmin(whole.x.from, hits->rules[i].at - 0.5);
        whole.x.to = fmax(whole.x.to, hits->rules[i].at + 0.5);
    }
    plot_begin(&whole);
    for (size_t i = 0; i < n; i++)
        if (bins[i].count > 0)
            plot_bar(&whole, (double)bins[i].low - 0.5, (double)bins[i].high + 0.5,
                     scale * (double)bins[i].count, label_of(&bins[i], label));
    put_band(&whole, hits->low, hits->high);
    if (before != NULL)
        put_outline(&whole, before, n, its_scale);
    for (size_t i = 0; i < hits->n_rules; i++)
        plot_rule_at_x(&whole, hits->rules[i].at, hits->rules[i].text);
    plot_end(&whole);
}

void plot_share(FILE *out, double part)
{
    double wide = 100 * fmin(part, 1);
    fprintf(out, "<svg class=\"part\" aria-hidden=\"true\" width=\"%d\" height=\"%d\">", SHARE_WIDTH,
            SHARE_HEIGHT);
    fprintf(out, "<rect class=\"bar\" x=\"%.1f%%\" width=\"%.1f%%\" height=\"%d\" fill=\"%s\"/></svg> ",
            100 - wide, wide, SHARE_HEIGHT, looks[PLOT_PLAIN].colour);
}

/* Where it is on a logarithmic axis, in percent. */
static double place_log(const struct plot_axis *axis, double value)
{
    double from = log(fmax(axis->from - 0.5, 0.5)), to = log(axis->to + 0.5);
    return to > from ? 100 * (log(fmax(value, 0.5)) - from) / (to - from) : 0;
}

void plot_sparkline(FILE *out, const char *title, const struct histogram_bin *bins, size_t n,
                    const struct plot_axis *axis)
{
    enum { LEAST = 2 };
    char label[LABEL];
    fprintf(out, "<svg class=\"spark\" role=\"img\" width=\"%d\" height=\"%d\"", SPARK_WIDTH, SPARK_HEIGHT);
    html_attribute(out, "aria-label", title);
    fputs(">\n", out);
    double highest = (double)highest_of(bins, n);
    for (size_t i = 0; i < n; i++) {
        if (bins[i].count == 0)
            continue;
        /* What is there is seen, however rare */
        double height = fmax((double)bins[i].count / highest * SPARK_HEIGHT, 1.5);
        double from = place_log(axis, (double)bins[i].low - 0.5),
               wide = fmax(place_log(axis, (double)bins[i].high + 0.5) - from, LEAST);
        plots_put_bar(out, fmin(from, 100 - wide), wide, SPARK_HEIGHT - height, SPARK_HEIGHT,
                      label_of(&bins[i], label));
    }
    fputs("</svg>", out);
}

static void put_upright(FILE *out, const char *class, double x, const char *colour, const char *dashes)
{
    fprintf(out, "<line class=\"%s\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" y2=\"%d\" stroke=\"%s\"%s/>\n",
            class, x, x, SPARK_HEIGHT, colour, dashes);
}

void plot_interval(FILE *out, const char *title, const struct plot_interval *interval)
{
    const struct plot plot = {.out = out,
                              .height = SPARK_HEIGHT + ABOVE + BELOW,
                              .x = {.from = -interval->scale, .to = interval->scale},
                              .y = {.to = 1}};
    double from = place_x(&plot, interval->low), to = place_x(&plot, interval->high);
    fprintf(out, "<svg class=\"spark\" role=\"img\" width=\"%d\" height=\"%d\"", INTERVAL_WIDTH,
            SPARK_HEIGHT);
    html_attribute(out, "aria-label", title);
    fputs(">\n", out);
    html_element(out, "title", NULL, title);
    put_upright(out, "axis", place_x(&plot, 0), AXIS, "");
    put_upright(out, "rule", place_x(&plot, interval->limit), RULE, " stroke-dasharray=\"3 2\"");
    fprintf(out,
            "<rect class=\"interval %s\" x=\"%.2f%%\" width=\"%.2f%%\" y=\"%d\" height=\"4\" fill=\"%s\" "
            "fill-opacity=\"0.5\"/>\n",
            looks[interval->look].class, from, fmax(to - from, 0.5), SPARK_HEIGHT / 2 - 2,
            looks[interval->look].colour);
    fprintf(out, "<svg class=\"mark %s\" x=\"%.2f%%\" y=\"%d\" overflow=\"visible\">",
            looks[interval->look].class, place_x(&plot, interval->at), SPARK_HEIGHT / 2);
    put_shape(out, interval->look);
    fputs("</svg>\n</svg>", out);
}

/* ---- flame svg */

enum { FRAME_HEIGHT = 18, COLOURS = 6, NAME = 512 };
/* Of the whole: what is narrower cannot be seen, nor reached by keys. */
static const double seen = 0.0001, reached = 0.005;

/* The same for a function wherever it is. */
static unsigned colour_of(const char *name)
{
    uint32_t hash = 2166136261U; /* FNV-1a */
    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619U;
    return (hash >> 8) % COLOURS;
}

static void name_frame(const struct flame_svg *svg, const struct call_node *frame, char *out, size_t room)
{
    const struct stack_place *place = &svg->stacks->places[frame->place];
    if (frame->kind == CALL_ALL)
        snprintf(out, room, "all");
    else if (frame->kind == CALL_CORE)
        snprintf(out, room, "core %u %.60s", profile_core_number(svg->about, frame->core),
                 or_empty(svg->about->cores[frame->core]));
    else if (frame->kind == CALL_LINE)
        snprintf(out, room, "%.400s:%u", or_empty(place->file), place->line);
    else
        snprintf(out, room, "%s", svg->stacks->functions[place->function].name);
}

static void put_class(FILE *out, const struct flame_svg *svg, const struct call_node *frame)
{
    const struct stack_place *place = &svg->stacks->places[frame->place];
    bool state = frame->kind == CALL_FUNCTION && place->state != PROFILE_STATES;
    if (frame->kind == CALL_ALL || frame->kind == CALL_CORE)
        fputs("f a", out);
    else if (state)
        fputs("f s", out);
    else
        fprintf(out, "f c%u%s", colour_of(svg->stacks->functions[place->function].name),
                frame->kind == CALL_LINE ? " l" : "");
}

static void flame_svg_put_frame(FILE *out, const struct flame_svg *svg, const struct call_node *frame)
{
    char name[NAME];
    name_frame(svg, frame, name, sizeof name);
    fputs("<svg class=\"", out);
    put_class(out, svg, frame);
    fprintf(out, "\" x=\"%.5f%%\" y=\"%u\" width=\"%.5f%%\" height=\"%d\"", frame->x * 100,
            (svg->flame->depth - frame->depth) * FRAME_HEIGHT, frame->width * 100, FRAME_HEIGHT);
    if (frame->width >= reached)
        fputs(" tabindex=\"0\" role=\"button\"", out);
    fputs("><title>", out);
    html_text(out, name);
    fprintf(out, ", %.2f %%, %s sample%s</title><rect width=\"100%%\" height=\"100%%\"/>", frame->width * 100,
            NUMBER(frame->samples), PLURAL(frame->samples));
    fputs("<text x=\"4\" y=\"13\">", out);
    html_text(out, name);
    fputs("</text></svg>\n", out);
}

size_t flame_svg(FILE *out, const struct flame_svg *svg)
{
    const struct call_tree *flame = svg->flame;
    size_t left_out = 0;
    fprintf(
        out,
        "<svg id=\"flame\" role=\"group\" aria-label=\"Flame graph: each frame is as wide as its share of "
        "all samples; the tables below have the same numbers\" width=\"100%%\" height=\"%u\">\n",
        (flame->depth + 1) * FRAME_HEIGHT);
    for (size_t i = 0; i < flame->n; i++)
        if (flame->nodes[i].width >= seen)
            flame_svg_put_frame(out, svg, &flame->nodes[i]);
        else
            left_out++;
    fputs("</svg>\n", out);
    return left_out;
}
