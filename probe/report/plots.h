/* SPDX-License-Identifier: MIT */
/*
 * Plots in a page, as SVG: a frame with scales, and bars, marks and lines in it. A plot is as wide as its
 * place and its texts keep their size, so it is legible on a phone and on paper. Colours are in the
 * elements and, for light and dark, in plots.css: a server that forbids styles in pages leaves the first.
 * Marks differ by shape too. Each text may hold any bytes.
 */
#pragma once

#include "measure/statistics.h"
#include "profile/call_tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { PLOT_HEIGHT = 220 };

struct plot_axis {
    double from, to;  /* finite; `to` may equal `from`. What lies outside is drawn at the border. */
    const char *unit; /* after each number, such as "s"; NULL: none */
};

struct plot {
    FILE *out;
    const char *id;           /* its own in the page: letters, digits and '-' */
    const char *title, *says; /* its name, and what it shows, for who does not see it */
    unsigned height;          /* in pixels; 0: PLOT_HEIGHT */
    struct plot_axis x, y;
};

enum plot_look {
    PLOT_PLAIN, /* a dot */
    PLOT_ODD,   /* a cross */
    PLOT_BOUND, /* a triangle: the truth lies higher */
    PLOT_FAINT, /* a ring */
    PLOT_GOOD,  /* a dot */
    PLOT_BAD,   /* a square */
    PLOT_BAR,   /* of the key alone, as those below: what a histogram has */
    PLOT_OUTLINE,
    PLOT_BAND,
    PLOT_LOOKS,
};

/* In this order: begin, anything, end. */
void plot_begin(const struct plot *plot);
/* From the bottom up to `y`. `label` is shown by a browser when it is pointed at. */
void plot_mark(const struct plot *plot, double x, double y, enum plot_look look, const char *label);
/* A line from one point to another, with a label. */
void plot_line(const struct plot *plot, const double from[2], const double to[2], enum plot_look look,
               const char *label);
void plot_end(const struct plot *plot);

/* A histogram of hits, whole. Axes are made of the bins: n > 0. */
struct plot_rule {
    double at;
    const char *text;
};
struct plot_hits {
    const struct histogram_bin *bins;
    const struct histogram_bin *before; /* NULL, or an earlier run's in the same bins, as an outline. Heights
                                           are percent of each run's hits then. */
    uint64_t all, all_before;           /* each run's hits, with those far off, which are in no bin */
    size_t n;
    double low, high; /* a band; low >= high: none */
    const struct plot_rule *rules;
    size_t n_rules;
};
void plot_histogram(const struct plot *plot, const struct plot_hits *hits);

/* What the styles mean, for the text below a plot: its shape, then `text`. */
void plot_key(FILE *out, enum plot_look look, const char *text);

/* A bar in a cell of a table, as wide as its part of 1, before the same in words. */
void plot_share(FILE *out, double part);
/* Bars as small as a line of text, on a logarithmic axis; `title` says in words what they show. */
void plot_sparkline(FILE *out, const char *title, const struct histogram_bin *bins, size_t n,
                    const struct plot_axis *axis);

/* Where something lies, from `low` to `high` and most likely at `at`, on a scale from -`scale` to `scale`,
 * which is above 0: as small as that. A dashed line is at `limit`. */
struct plot_interval {
    double low, at, high, scale, limit;
    enum plot_look look;
};
void plot_interval(FILE *out, const char *title, const struct plot_interval *interval);

/*
 * A flame graph as SVG inside a page of html.h. Places and widths are in percent, so it is as wide as the
 * page; each frame is a separate <svg>, which cuts its text.
 */

struct flame_svg {
    const struct call_tree *flame;
    const struct stacks *stacks;
    const struct profile_about *about; /* of the cores */
};

/* Returns how many frames were left out because they are too narrow to be seen. */
size_t flame_svg(FILE *out, const struct flame_svg *svg);
