#include "measure/changes.h"

#include "base/values.h"
#include "measure/verdict.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CUTS = 256, ORDERS = 20, ORDERS_MOST = 100000 };
static const double ALIKE_MOST = 0.9; /* beyond this the runs say nothing */

struct split {
    size_t at;
    double t, df; /* t infinite: both sides are exact */
    double between;
};

/* Means of [from, at) and [at, to), and what is left of the squares around them. */
struct sides {
    double left, right, squares;
};

static struct sides sides_of(const struct change_value *values, size_t from, size_t at, size_t to)
{
    struct sides sides = {0};
    for (size_t i = from; i < to; i++)
        *(i < at ? &sides.left : &sides.right) += values[i].value;
    sides.left /= (double)(at - from);
    sides.right /= (double)(to - at);
    for (size_t i = from; i < to; i++) {
        double off = values[i].value - (i < at ? sides.left : sides.right);
        sides.squares += off * off;
    }
    return sides;
}

static bool is_equal(const struct change_value *values, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (values[i].value != values[from].value || values[i].error > 0)
            return false;
    return true;
}

/* What is fitted to the same runs makes neighbours seem less alike by about this, 1 + 3r for each of two
 * numbers that are fitted. 0 to ALIKE_MOST. */
static double alike_corrected(double products, double squares, double runs)
{
    double found = squares > 0 ? products / squares : 0;
    found += 2 * (1 + 3 * fmax(found, 0)) / runs + 0.25 / sqrt(runs);
    return found < 0 ? 0 : fmin(found, ALIKE_MOST);
}

/* How alike neighbours are, around the means of the two sides: 0 to ALIKE_MOST. */
static double alike(const struct change_value *values, size_t from, size_t at, size_t to,
                    const struct sides *sides)
{
    if (!(sides->squares > 0))
        return 0;
    double products = 0, before = 0;
    for (size_t i = from; i < to; i++) {
        double off = values[i].value - (i < at ? sides->left : sides->right);
        products += i > from && i != at ? off * before : 0;
        before = off;
    }
    return alike_corrected(products, sides->squares, (double)(to - from));
}

/* The standard error of the difference of two sides, and its degrees of freedom. */
static struct split changes_judge(const struct change_value *values, size_t from, size_t at, size_t to)
{
    struct sides sides = sides_of(values, from, at, to);
    double runs = (double)(to - from), errors = 0;
    if (is_equal(values, from, at) && is_equal(values, at, to))
        return (struct split){.at = at, .t = sides.left != sides.right ? INFINITY : 0, .df = runs};
    for (size_t i = from; i < to; i++)
        errors += values[i].error * values[i].error;
    double df = runs > 3 ? runs - 2 : 1;
    double variance = fmax(sides.squares / df, errors / runs);
    double part = alike(values, from, at, to, &sides), fewer = (1 - part) / (1 + part);
    double error = sqrt(variance / fewer * (1 / (double)(at - from) + 1 / (double)(to - at)));
    return (struct split){
        .at = at, .t = error > 0 ? fabs(sides.right - sides.left) / error : 0, .df = fmax(df * fewer, 1)};
}

struct cut_place {
    size_t at;      /* the first run after the cut; that of the row if there is no place for one */
    double between; /* how much a cut there takes from the squares around the mean */
};

/* The cut that leaves the least squares around two means. */
static struct cut_place best_place(const struct change_value *values, size_t from, size_t to)
{
    double first = values[from].value, all = 0, left = 0;
    struct cut_place best = {.at = from, .between = -1};
    size_t equal = from + 1, unequal = to - 1; /* how far runs are equal to the first, and to the last */
    for (size_t i = from; i < to; i++)
        all += values[i].value - first;
    while (equal < to && is_equal(values, equal - 1, equal + 1))
        equal++;
    while (unequal > from && is_equal(values, unequal - 1, unequal + 1))
        unequal--;
    for (size_t at = from + 1; at < to; at++) {
        left += values[at - 1].value - first;
        size_t before = at - from, after = to - at;
        if (before < CHANGE_EQUAL_RUNS || after < CHANGE_EQUAL_RUNS)
            continue;
        if ((before < CHANGE_RUNS || after < CHANGE_RUNS) && (equal < at || unequal > at))
            continue;
        double apart = left / (double)before - (all - left) / (double)after;
        double between = apart * apart * ((double)before / (double)(to - from)) * (double)after;
        if (between > best.between)
            best = (struct cut_place){.at = at, .between = between};
    }
    return best;
}

static struct split best_split(const struct change_value *values, size_t from, size_t to)
{
    struct cut_place place = best_place(values, from, to);
    struct split split = {.at = from};
    if (place.at > from)
        split = changes_judge(values, from, place.at, to);
    split.between = place.between;
    return split;
}

/* Fisher and Yates. */
static void shuffle(struct change_value *values, size_t n, uint64_t *state)
{
    for (size_t i = n; i > 1; i--) {
        size_t other = (size_t)random_below(state, i);
        struct change_value value = values[i - 1];
        values[i - 1] = values[other];
        values[other] = value;
    }
}

/* The chance of such a difference at any place if the same runs were in another order: it supposes nothing of
 * how they vary, but that neighbours are no more alike than others. `chance`: a larger result need not be
 * exact. */
static double chance_of_order(const struct change_value *values, size_t n, double between, double chance)
{
    unsigned orders = (unsigned)fmin(ceil(ORDERS / chance), ORDERS_MOST), as_great = 0, tried = 0;
    uint64_t state = 0x9E3779B97F4A7C15;
    struct change_value *shuffled = calloc(n, sizeof *shuffled);
    if (shuffled == NULL)
        return 1;
    memcpy(shuffled, values, n * sizeof *values);
    /* Rounding must not distinguish equal orders */
    for (; tried < orders && as_great <= chance * orders; tried++) {
        shuffle(shuffled, n, &state);
        as_great += best_place(shuffled, 0, n).between >= between * (1 - 1e-9);
    }
    free(shuffled);
    return (as_great + 1.0) / (tried + 1.0);
}

/* The chance of such a difference without a change, at most. `places`: any of them might have been the
 * greatest. */
static double changes_chance_of(const struct change_value *values, const struct split *split, size_t from,
                                size_t to, size_t places, double chance)
{
    double by_noise =
        isfinite(split->t) ? 2 * verdict_student_above(split->t, split->df) * (double)places : 0;
    if (by_noise > chance)
        return by_noise;
    return fmax(by_noise, chance_of_order(values + from, to - from, split->between, chance));
}

/* By the noise between neighbours, which steps do not add to. */
static bool is_apart(const struct change_value *values, size_t from, size_t at, size_t to)
{
    struct sides sides = sides_of(values, from, at, to);
    double differences = 0, runs = (double)(to - from);
    for (size_t i = from + 1; i < to; i++)
        differences += i == at ? 0 : pow(values[i].value - values[i - 1].value, 2) / 2;
    double error = sqrt(differences / (runs - 1) * (1 / (double)(at - from) + 1 / (double)(to - at)));
    return fabs(sides.left - sides.right) > 3 * error;
}

static void changes_insert(struct change *changes, size_t n, size_t at)
{
    for (; n > 0 && changes[n - 1].at > at; n--)
        changes[n] = changes[n - 1];
    changes[n] = (struct change){.at = at};
}

static size_t stretch_end(const struct change *changes, size_t n, size_t from, size_t runs)
{
    for (size_t i = 0; i < n; i++)
        if (changes[i].at > from)
            return changes[i].at;
    return runs;
}

/* Cuts in every stretch whose halves differ, measured by how much neighbours differ: too many rather than too
 * few, because levels that are not cut apart yet have the form of noise. */
static size_t changes_cut(const struct change_value *values, size_t n, struct change *out, size_t room)
{
    size_t found = 0;
    for (size_t from = 0; from < n && found < room;) {
        size_t to = stretch_end(out, found, from, n);
        struct split split = best_split(values, from, to);
        if (split.at > from && is_apart(values, from, split.at, to))
            changes_insert(out, found++, split.at);
        else
            from = to;
    }
    return found;
}

size_t changes_find(const struct change_value *values, size_t n, double chance, struct change *out,
                    size_t room)
{
    struct change cuts[CUTS];
    size_t found = changes_cut(values, n, cuts, CUTS);
    chance /= 2; /* several stretches may be tried */
    for (;;) {
        double worst = 0;
        size_t weakest = 0;
        for (size_t i = 0; i < found; i++) {
            size_t from = i > 0 ? cuts[i - 1].at : 0, to = i + 1 < found ? cuts[i + 1].at : n;
            struct split split = best_split(values, from, to);
            cuts[i].at = split.at > from ? split.at : cuts[i].at;
            double now = split.at > from ? changes_chance_of(values, &split, from, to, n - 1, chance) : 1;
            weakest = now >= worst ? i : weakest;
            worst = fmax(worst, now);
        }
        if (found == 0 || worst <= chance)
            break;
        memmove(&cuts[weakest], &cuts[weakest + 1], (--found - weakest) * sizeof *cuts);
    }
    for (size_t i = 0; i < found && i < room; i++) {
        size_t from = i > 0 ? cuts[i - 1].at : 0, to = i + 1 < found ? cuts[i + 1].at : n;
        struct sides sides = sides_of(values, from, cuts[i].at, to);
        out[i] = (struct change){.at = cuts[i].at, .before = sides.left, .after = sides.right};
    }
    return found < room ? found : room;
}

/* --- a slow rise ---------------------------------------------------------------------------------------- */

bool changes_trend(const struct change_value *values, size_t n, double chance, struct change *out)
{
    enum { TREND_RUNS = 8 };
    double middle = ((double)n - 1) / 2, mean = 0, spread = 0, slope = 0, squares = 0, products = 0,
           before = 0;
    if (n < TREND_RUNS)
        return false;
    for (size_t i = 0; i < n; i++)
        mean += values[i].value / (double)n;
    for (size_t i = 0; i < n; i++) {
        spread += ((double)i - middle) * ((double)i - middle);
        slope += ((double)i - middle) * (values[i].value - mean);
    }
    slope /= spread;
    for (size_t i = 0; i < n; i++) {
        double off = values[i].value - mean - slope * ((double)i - middle);
        squares += off * off + values[i].error * values[i].error;
        products += i > 0 ? off * before : 0;
        before = off;
    }
    double part = alike_corrected(products, squares, (double)n), fewer = (1 - part) / (1 + part),
           df = fmax(((double)n - 2) * fewer, 1);
    double error = sqrt(squares / ((double)n - 2) / fewer / spread);
    bool is_exact = !(error > 0);
    *out = (struct change){.before = mean - slope * middle, .after = mean + slope * middle};
    return slope != 0 && (is_exact || 2 * verdict_student_above(fabs(slope) / error, df) <= chance);
}
