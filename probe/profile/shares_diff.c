#include "profile/shares_diff.h"

#include "base/values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *shares_diff_text_of(const char *text)
{
    return text != NULL ? text : "";
}

/* "fir.c:42" with or without its line. */
static int compare_sources(const char *one, const char *other, bool with_line)
{
    const char *colon = with_line ? NULL : strrchr(one, ':'), *its = with_line ? NULL : strrchr(other, ':');
    size_t length = colon != NULL ? (size_t)(colon - one) : strlen(one);
    size_t its_length = its != NULL ? (size_t)(its - other) : strlen(other);
    int order = memcmp(one, other, length < its_length ? length : its_length);
    return order != 0 ? order : (length > its_length) - (length < its_length);
}

static int compare_keys(const struct share *one, const struct share *other, enum shares_sort sort)
{
    if (one->state != other->state)
        return one->state < other->state ? -1 : 1;
    if (sort == SHARES_ADDRESS)
        return (one->address > other->address) - (one->address < other->address);
    int order = strcmp(shares_diff_text_of(one->function), shares_diff_text_of(other->function));
    return order != 0 ? order
                      : compare_sources(shares_diff_text_of(one->source), shares_diff_text_of(other->source),
                                        sort != SHARES_FUNCTION);
}

static int by_name(const void *a, const void *b)
{
    const struct share_change *one = a, *other = b;
    return compare_keys(one->row, other->row, SHARES_FUNCTION);
}

static int shares_diff_by_line(const void *a, const void *b)
{
    const struct share_change *one = a, *other = b;
    return compare_keys(one->row, other->row, SHARES_LINE);
}

static int shares_diff_by_address(const void *a, const void *b)
{
    const struct share_change *one = a, *other = b;
    return compare_keys(one->row, other->row, SHARES_ADDRESS);
}

static int (*order_of(enum shares_sort sort))(const void *, const void *)
{
    return sort == SHARES_ADDRESS    ? shares_diff_by_address
           : sort == SHARES_FUNCTION ? by_name
                                     : shares_diff_by_line;
}

static int by_change(const void *a, const void *b)
{
    const struct share_change *one = a, *other = b;
    if (one->is_noise != other->is_noise)
        return one->is_noise ? 1 : -1;
    double size = fabs(one->change), its_size = fabs(other->change);
    if (size < its_size || size > its_size)
        return size > its_size ? -1 : 1;
    return compare_keys(one->row, other->row, SHARES_LINE);
}

/* Two rows of one name become one: static functions of one name in files of one name. */
static void add_side(struct share_side *to, const struct share_side *more)
{
    if (more->samples == 0)
        return;
    to->plus_minus = to->samples == 0 ? more->plus_minus : hypot(to->plus_minus, more->plus_minus);
    to->samples += more->samples;
    to->part += more->part;
}

static void shares_diff_merge(void *first, const void *other)
{
    struct share_change *to = first;
    const struct share_change *row = other;
    to->row = to->now.samples > 0 ? to->row : row->row;
    add_side(&to->now, &row->now);
    add_side(&to->old, &row->old);
}

/* What did not occur once in this number of samples has a part below this, if samples were independent. */
static double least_error(const struct shares *shares)
{
    static const double chance = 0.05;
    return shares->samples > 0 ? fmin(-log(chance) / (double)shares->samples, 1) : NAN;
}

static void shares_diff_judge(struct share_change *row, const struct shares *now, const struct shares *old)
{
    if (row->now.samples == 0)
        row->now.plus_minus = least_error(now);
    if (row->old.samples == 0)
        row->old.plus_minus = least_error(old);
    row->change = row->now.part - row->old.part;
    row->plus_minus = hypot(row->now.plus_minus, row->old.plus_minus);
    row->is_noise = !(fabs(row->change) > row->plus_minus);
}

static struct share_side shares_diff_side_of(const struct share *row)
{
    return (struct share_side){.samples = row->samples, .part = row->part, .plus_minus = row->plus_minus};
}

bool shares_diff_make(const struct shares *now, const struct shares *old, struct shares_diff *out)
{
    *out = (struct shares_diff){.rows = calloc(now->n + old->n + 1, sizeof *out->rows)};
    if (out->rows == NULL)
        return false;
    for (size_t i = 0; i < now->n; i++)
        out->rows[out->n++] =
            (struct share_change){.row = &now->rows[i], .now = shares_diff_side_of(&now->rows[i])};
    for (size_t i = 0; i < old->n; i++)
        out->rows[out->n++] =
            (struct share_change){.row = &old->rows[i], .old = shares_diff_side_of(&old->rows[i])};
    out->n = sorted_join(out->rows, out->n, sizeof *out->rows, order_of(now->sort), shares_diff_merge);
    for (size_t i = 0; i < out->n; i++) {
        shares_diff_judge(&out->rows[i], now, old);
        out->noise += out->rows[i].is_noise;
    }
    qsort(out->rows, out->n, sizeof *out->rows, by_change);
    return true;
}

void shares_diff_free(struct shares_diff *diff)
{
    free(diff->rows);
    *diff = (struct shares_diff){0};
}
