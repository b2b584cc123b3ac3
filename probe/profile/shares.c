/* SPDX-License-Identifier: MIT */
#include "profile/shares.h"

#include "base/values.h"
#include "cores/exception.h"
#include "measure/verdict.h"

#include <inttypes.h>
#include <math.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FEW = 1000, /* samples */
    PATH = 4096,
    INSTRUCTION = 4,    /* bytes, the longest */
    SPARSE_LEAST = 32,  /* addresses */
    SPARSE_SAMPLES = 20 /* for each of them on average: else chance alone leaves gaps */
};
static const double large_part = 0.1, uneven_part = 0.5, sparse_part = 0.95;

/* A row under construction. Its key: a function's entry or an address, and the source where that counts. */
struct row {
    uint64_t id;
    struct share share;
    double now;      /* samples of this batch */
    double off;      /* the deviation of the batch before it */
    double squares;  /* of the batches' deviations so far */
    double products; /* of those of neighbours */
};

/* When a task was seen. */
struct life {
    bool seen;
    double first, last; /* the beginnings of intervals */
    size_t as;          /* the first task of its name that it is one with: its own index, or one below */
    bool has_namesake;  /* which lived at the same time; of the one in `as` */
};

struct making {
    const struct profile *profile;
    struct symbols *symbols;
    struct shares *out;
    struct profile_count *places; /* by address */
    struct row **row_of;          /* each of them */
    size_t n_places;
    struct life *lives; /* of the profile's tasks; of SHARES_TASK */
    void *tree;         /* of rows, by key */
    struct row **rows;  /* owned */
    size_t n, room;
    struct location function; /* of the last address */
    uint64_t judged;          /* the function of the last answer of place_may_sleep: its end; 0: none */
    bool sleeps;              /* that answer */
};

static const char *const state_names[PROFILE_STATES] = {
    [PROFILE_ASLEEP] = "[asleep]",
    [PROFILE_NOT_PERMITTED] = "[not permitted]",
    [PROFILE_HALTED] = "[halted]",
    [PROFILE_IN_RESET] = "[in reset]",
};

const char *shares_state_name(enum profile_state state)
{
    return state_names[state];
}

void shares_state_text(enum profile_state state, uint64_t n, uint64_t of, char *out, size_t size)
{
    const char *name = state_names[state] + 1; /* without its brackets */
    snprintf(out, size, "%.*s %.1f %%", (int)strlen(name) - 1, name, 100 * (double)n / (double)of);
}

static bool shares_is_of(const struct making *making, const struct profile_interval *interval)
{
    return interval->core == making->out->core;
}

/* ---- places */

static bool shares_gather_places(struct making *making)
{
    const struct profile *profile = making->profile;
    size_t n = 0;
    for (size_t i = 0; i < profile->interval_count; i++)
        n += shares_is_of(making, &profile->intervals[i]) ? profile->intervals[i].count_count : 0;
    making->places = calloc(n + 1, sizeof *making->places);
    making->row_of = calloc(n + 1, sizeof(struct row *));
    if (making->places == NULL || making->row_of == NULL)
        return false;
    n = 0;
    for (size_t i = 0; i < profile->interval_count; i++) {
        const struct profile_interval *interval = &profile->intervals[i];
        for (size_t k = 0; shares_is_of(making, interval) && k < interval->count_count; k++)
            making->places[n++] = interval->counts[k];
    }
    making->n_places = profile_counts_join(making->places, n);
    return true;
}

/* Samples at addresses whose neighbour instructions were never sampled. */
static bool is_sparse(const struct making *making)
{
    uint64_t alone = 0, all = 0;
    const struct profile_count *places = making->places;
    for (size_t i = 0; i < making->n_places; i++) {
        bool before = i > 0 && places[i].address - places[i - 1].address <= INSTRUCTION;
        bool behind = i + 1 < making->n_places && places[i + 1].address - places[i].address <= INSTRUCTION;
        alone += before || behind ? 0 : places[i].samples;
        all += places[i].samples;
    }
    return making->n_places >= SPARSE_LEAST && all / SPARSE_SAMPLES >= making->n_places &&
           (double)alone >= sparse_part * (double)all;
}

/* ---- rows */

static int by_key(const void *a, const void *b)
{
    const struct row *one = a, *other = b;
    if (one->share.state != other->share.state)
        return one->share.state < other->share.state ? -1 : 1;
    if (one->id != other->id)
        return one->id < other->id ? -1 : 1;
    const char *source = one->share.source, *its = other->share.source;
    return strcmp(or_empty(source), or_empty(its));
}

static void row_free(struct row *row)
{
    free(row->share.function);
    free(row->share.source);
    free(row);
}

static void no_free(void *row)
{
    (void)row;
}

/* Takes over what `wanted` owns. NULL: out of memory. */
static struct row *shares_find_row(struct making *making, struct row *wanted)
{
    struct row **found = tfind(wanted, &making->tree, by_key);
    if (found != NULL) {
        row_free(wanted);
        return *found;
    }
    struct row **more = array_grow(making->rows, making->n + 1, &making->room, sizeof(struct row *));
    if (more == NULL) {
        row_free(wanted);
        return NULL;
    }
    making->rows = more;
    making->rows[making->n++] = wanted;
    return tsearch(wanted, &making->tree, by_key) != NULL ? wanted : NULL;
}

/* False: out of memory. An empty text is unknown: NULL. */
static bool shares_copy_text(char **out, const char *text)
{
    *out = text[0] != '\0' ? strdup(text) : NULL;
    return text[0] == '\0' || *out != NULL;
}

const struct location *shares_function_of(struct symbols *symbols, uint64_t address, struct location *last)
{
    if (last->high > last->low && address >= last->low && address < last->next)
        return last;
    symbols_describe(symbols, address, last);
    uint64_t low = last->low, high = last->high;
    if (high <= low)
        return last;
    symbols_describe(symbols, low, last);
    /* As it was found, whatever else there is around its entry */
    if (last->low != low || last->high != high)
        last->next = low;
    last->low = low;
    last->high = high;
    return last;
}

/* Takes out "./" and "name/../". */
static void path_clean(char *path)
{
    char *end = path; /* of what stays */
    for (const char *from = path; *from != '\0';) {
        size_t length = strcspn(from, "/") + (from[strcspn(from, "/")] == '/');
        char *back = end;
        while (back > path && (back == end || back[-1] != '/'))
            back--;
        bool can_go_back = end - back > 1 && strncmp(back, "../", 3) != 0;
        if (strncmp(from, "../", 3) == 0 && can_go_back) {
            end = back;
        } else if (strncmp(from, "./", 2) != 0) {
            memmove(end, from, length);
            end += length;
        }
        from += length;
    }
    *end = '\0';
}

/* The end of a path, with this number of names before the last one; the whole path: it has no more. */
static const char *path_end(const char *path, size_t names)
{
    const char *at = path + strlen(path);
    for (size_t i = 0; i <= names && at > path; i++)
        for (at -= at > path && at[-1] == '/'; at > path && at[-1] != '/'; at--)
            ;
    return at;
}

/* Whether another row's path has this end, too. */
static bool is_shared_end(const struct making *making, const struct row *row, size_t names)
{
    const char *end = path_end(row->share.source, names);
    for (size_t i = 0; i < making->n && end > row->share.source; i++) {
        const char *other = making->rows[i]->share.source;
        if (making->rows[i] != row && other != NULL && strcmp(path_end(other, names), end) == 0)
            return true;
    }
    return false;
}

/* Of each path the shortest end that no other one has. False: out of memory. */
static bool shorten_files(struct making *making)
{
    char **ends = calloc(making->n + 1, sizeof *ends);
    bool ok = ends != NULL;
    for (size_t i = 0; i < making->n && ok; i++) {
        const struct row *row = making->rows[i];
        size_t names = 0;
        if (row->share.source == NULL)
            continue;
        while (is_shared_end(making, row, names))
            names++;
        ends[i] = strdup(path_end(row->share.source, names));
        ok = ends[i] != NULL;
    }
    for (size_t i = 0; ends != NULL && i < making->n; i++) {
        if (ok && ends[i] != NULL) {
            free(making->rows[i]->share.source);
            making->rows[i]->share.source = ends[i];
        } else {
            free(ends[i]);
        }
    }
    free(ends);
    return ok;
}

static void cut_line(char *source)
{
    char *colon = strrchr(source, ':');
    if (colon != NULL)
        *colon = '\0';
}

static void name_exception(uint64_t number, char *out, size_t size)
{
    const char *name = number == 0 ? "[none]" : exception_name(number);
    if (number >= EXCEPTION_IRQS)
        snprintf(out, size, "IRQ %" PRIu64, number - EXCEPTION_IRQS);
    else if (name != NULL)
        snprintf(out, size, "%s", name);
    else
        snprintf(out, size, "exception %" PRIu64, number);
}

static void see_lives(struct making *making)
{
    const struct profile *profile = making->profile;
    for (size_t i = 0; i < profile->interval_count; i++)
        for (size_t k = 0; k < profile->intervals[i].count_count; k++)
            for (size_t task = 0; task < profile->task_count; task++) {
                struct life *life = &making->lives[task];
                double from = profile->intervals[i].from;
                if (profile->tasks[task].value != profile->intervals[i].counts[k].address)
                    continue;
                life->first = life->seen ? fmin(life->first, from) : from;
                life->last = life->seen ? fmax(life->last, from) : from;
                life->seen = true;
            }
}

/* One was there before the other, and they share one interval at most. */
static bool are_apart(const struct life *one, const struct life *other)
{
    return !one->seen || !other->seen || (one->last <= other->first && one->first < other->last) ||
           (other->last <= one->first && other->first < one->last);
}

/* Whether `task` may be `as` made anew. */
static bool is_made_anew(const struct making *making, size_t task, size_t as)
{
    for (size_t i = as; i < task; i++)
        if (making->lives[i].as == as && !are_apart(&making->lives[i], &making->lives[task]))
            return false;
    return true;
}

/* A task that was made anew is another one with its name; two of one name that live at once are not. */
static bool tell_lives(struct making *making)
{
    const struct profile_task *tasks = making->profile->tasks;
    size_t n = making->profile->task_count;
    making->lives = calloc(n + 1, sizeof *making->lives);
    if (making->lives == NULL)
        return false;
    see_lives(making);
    for (size_t i = 0; i < n; i++) {
        struct life *life = &making->lives[i];
        life->as = i;
        for (size_t k = 0; k < i && life->as == i; k++) {
            if (making->lives[k].as != k || strcmp(tasks[k].name, tasks[i].name) != 0)
                continue;
            if (is_made_anew(making, i, k))
                life->as = k;
            else
                life->has_namesake = making->lives[k].has_namesake = true;
        }
    }
    return true;
}

/* SIZE_MAX: it has no name. */
static size_t find_task(const struct making *making, uint64_t value)
{
    for (size_t i = 0; i < making->profile->task_count; i++)
        if (making->profile->tasks[i].value == value)
            return making->lives[i].as;
    return SIZE_MAX;
}

/* An RTOS may count its tasks, or point to them. */
static void name_task(struct symbols *symbols, uint64_t value, char *out, size_t size)
{
    enum { NO_ADDRESS = 256 };
    if (value < NO_ADDRESS)
        snprintf(out, size, "%" PRIu64, value);
    else if (symbols == NULL || !symbols_describe_object(symbols, value, out, size))
        snprintf(out, size, "0x%08" PRIx64, value);
}

static bool name_context(struct making *making, uint64_t value, struct row *row)
{
    char name[256];
    bool is_task = making->out->sort == SHARES_TASK;
    size_t at = is_task ? find_task(making, value) : SIZE_MAX;
    row->id = row->share.address = value;
    if (at != SIZE_MAX) {
        const struct profile_task *task = &making->profile->tasks[at];
        row->id = task->value;
        row->share.address = task->value & UINT32_MAX;
        snprintf(name, sizeof name, making->lives[at].has_namesake ? "%.200s (0x%08" PRIx64 ")" : "%.200s",
                 task->name, row->share.address);
        return shares_copy_text(&row->share.function, name);
    }
    if (is_task)
        name_task(making->symbols, value, name, sizeof name);
    else if (making->out->sort == SHARES_PROCESS)
        snprintf(name, sizeof name, "0x%" PRIX64, value);
    else
        name_exception(value, name, sizeof name);
    return shares_copy_text(&row->share.function, name);
}

static bool name_row(struct making *making, uint64_t address, struct row *row)
{
    enum shares_sort sort = making->out->sort;
    struct location at = {0};
    if (sort >= SHARES_CONTEXTS)
        return name_context(making, address, row);
    if (sort != SHARES_FUNCTION)
        symbols_describe(making->symbols, address, &at);
    row->share.address = address;
    if (sort == SHARES_ADDRESS) {
        row->id = address;
        return shares_copy_text(&row->share.function, at.high > at.low ? at.name : "") &&
               shares_copy_text(&row->share.source, at.source);
    }
    if (sort == SHARES_FILE) {
        char path[PATH];
        symbols_file(making->symbols, address, path, sizeof path);
        cut_line(at.source);
        path_clean(path);
        return shares_copy_text(&row->share.source, path[0] != '\0' ? path : at.source);
    }
    const struct location *function = shares_function_of(making->symbols, address, &making->function);
    bool known = function->high > function->low;
    row->id = known ? function->low : UINT64_MAX;
    if (sort == SHARES_FUNCTION && known)
        row->share.address = function->low;
    return shares_copy_text(&row->share.function, known ? function->name : "") &&
           shares_copy_text(&row->share.source, sort == SHARES_LINE ? at.source
                                                : known             ? function->source
                                                                    : "");
}

/* Whether samples at the address may count as sleep, or awake by mistake. */
static bool place_may_sleep(struct making *making, uint64_t address)
{
    const struct shares *out = making->out;
    if (!(out->asleep_doubt > 0))
        return false;
    if (out->asleep_anywhere || making->symbols == NULL || !symbols_is_code(making->symbols, address))
        return true;
    const struct location *function = shares_function_of(making->symbols, address, &making->function);
    if (function->high <= function->low)
        return true;
    if (making->judged != function->high)
        making->sleeps = symbols_may_sleep(making->symbols, function->low, function->high);
    making->judged = function->high;
    return making->sleeps;
}

static bool shares_make_rows(struct making *making)
{
    for (size_t i = 0; i < making->n_places; i++) {
        const struct profile_count *place = &making->places[i];
        struct row *row = calloc(1, sizeof *row);
        if (row == NULL)
            return false;
        row->share.state = PROFILE_STATES;
        if (!name_row(making, place->address, row)) {
            row_free(row);
            return false;
        }
        making->row_of[i] = shares_find_row(making, row);
        if (making->row_of[i] == NULL)
            return false;
        making->row_of[i]->share.samples += place->samples;
        making->row_of[i]->share.may_sleep |= place_may_sleep(making, place->address);
    }
    return true;
}

static bool make_state_rows(struct making *making, struct row *out[PROFILE_STATES])
{
    for (int state = 0; state < PROFILE_STATES; state++) {
        out[state] = NULL;
        if (making->out->states[state] == 0)
            continue;
        struct row *row = calloc(1, sizeof *row);
        if (row == NULL)
            return false;
        row->share.state = (enum profile_state)state;
        row->share.samples = making->out->states[state];
        row->share.may_sleep = state == PROFILE_ASLEEP;
        out[state] = shares_find_row(making, row);
        if (out[state] == NULL)
            return false;
    }
    return true;
}

/* ---- batches */

/* How many samples each batch has. An interval belongs to the batch in which its middle sample lies. */
static size_t batch_of(uint64_t before, uint64_t samples, uint64_t all)
{
    double middle = (double)before + (double)samples / 2;
    size_t batch = (size_t)(middle / (double)all * SHARES_BATCHES);
    return batch < SHARES_BATCHES ? batch : SHARES_BATCHES - 1;
}

static void add_to_batch(struct making *making, const struct profile_interval *interval,
                         struct row *states[PROFILE_STATES])
{
    for (size_t i = 0; i < interval->count_count; i++) {
        size_t until = sorted_until(making->places, making->n_places, sizeof *making->places,
                                    interval->counts[i].address);
        making->row_of[until - 1]->now += (double)interval->counts[i].samples;
    }
    for (int state = 0; state < PROFILE_STATES; state++)
        if (states[state] != NULL)
            states[state]->now += (double)interval->states[state];
}

static void end_batch(struct making *making, uint64_t samples)
{
    if (samples == 0)
        return;
    making->out->batches++;
    making->out->squares += (double)samples * (double)samples;
    for (size_t i = 0; i < making->n; i++) {
        struct row *row = making->rows[i];
        double off = row->now - row->share.part * (double)samples;
        row->squares += off * off;
        row->products += off * row->off;
        row->off = off;
        row->now = 0;
    }
}

/* What was not met once in this number of independent samples has a part below this, with 95 %. */
static double part_unmet(double samples)
{
    static const double chance = 0.05;
    return fmin(-log(chance) / samples, 1);
}

static double batches_of_equal_size(const struct shares *shares)
{
    double n = (double)shares->samples;
    return shares->batches >= SHARES_BATCHES_LEAST ? n * n / shares->squares : 0;
}

/* A row of no or of all samples has not varied, and does not show how long what varies lasts: up to a batch.
 */
static double error_of_no_change(const struct shares *shares)
{
    double batches = batches_of_equal_size(shares);
    return batches >= 2 ? part_unmet(batches) : NAN;
}

/* The error of a ratio of two sums over batches. Batches of different sizes vary as fewer equal ones would
 * (Kish's effective number). Neighbours that deviate alike say that what varies lasts as long as a batch:
 * then the sum of all varies more than theirs (Newey and West's estimate, of one lag). A small share varies
 * with its size: if few bursts were seen there may well be more, so that the interval is that of a score
 * test, which reaches further up; of a large share, of which all else is a small one, further down. Equal
 * batches prove no more than independent samples would. */
static void measure_error(const struct shares *shares, const struct row *row, struct share *out)
{
    static const double in_one_tail = 0.025;
    double n = (double)shares->samples, batches = batches_of_equal_size(shares), part = out->part;
    double lesser = fmin(part, 1 - part);
    out->plus_minus = error_of_no_change(shares);
    if (!isfinite(out->plus_minus) || !(lesser > 0))
        return;
    double squares = (row->squares + 2 * fmax(row->products, 0)) * batches / (batches - 1);
    double half = sqrt(squares) / n * verdict_student_quantile(in_one_tail, batches - 1);
    double skew = fabs(1 - 2 * part) * half / lesser;
    half *= skew / 2 + sqrt(1 + skew * skew / 4);
    out->plus_minus = fmin(fmax(half, part_unmet(n)), 1);
    out->lasts = squares / (n * part * (1 - part)) * shares->seconds / n;
}

double shares_doubt(double doubt, double part, double asleep)
{
    return fmin(doubt, fmax(part, asleep));
}

static double part_asleep_of(const struct shares *shares)
{
    return shares->samples > 0 ? (double)shares->states[PROFILE_ASLEEP] / (double)shares->samples : 0;
}

/* The chance of which states were read is that of all batches. */
static void shares_add_doubt(struct shares *shares, struct share *share)
{
    bool asleep = share->state == PROFILE_ASLEEP;
    if (!isfinite(share->plus_minus))
        return;
    if (share->may_sleep)
        share->doubt = shares_doubt(shares->asleep_doubt, share->part, asleep ? 1 : part_asleep_of(shares));
    share->doubt = fmin(share->doubt, 1 - share->plus_minus);
    share->plus_minus += share->doubt;
    shares->hides_doubt &= !(share->doubt > 0);
}

static void measure_errors(struct making *making, struct row *states[PROFILE_STATES])
{
    struct shares *out = making->out;
    uint64_t before = 0, in_batch = 0;
    size_t batch = 0;
    for (size_t i = 0; i < making->n; i++)
        making->rows[i]->share.part = (double)making->rows[i]->share.samples / (double)out->samples;
    for (size_t i = 0; i < making->profile->interval_count; i++) {
        const struct profile_interval *interval = &making->profile->intervals[i];
        uint64_t samples = shares_is_of(making, interval) ? profile_interval_samples(interval) : 0;
        if (samples == 0)
            continue;
        size_t of = batch_of(before, samples, out->samples);
        if (of != batch) {
            end_batch(making, in_batch);
            in_batch = 0;
            batch = of;
        }
        add_to_batch(making, interval, states);
        in_batch += samples;
        before += samples;
    }
    end_batch(making, in_batch);
    out->hides_doubt = out->asleep_doubt > 0 && isfinite(error_of_no_change(out));
    for (size_t i = 0; i < making->n; i++) {
        struct share *share = &making->rows[i]->share;
        measure_error(out, making->rows[i], share);
        if (share->part >= large_part && share->lasts > 0 && share->plus_minus > uneven_part * share->part)
            out->is_uneven = true;
        shares_add_doubt(out, share);
    }
}

static void sum_up(struct making *making)
{
    struct shares *out = making->out;
    double from = 0, to = 0;
    bool begun = false;
    for (size_t i = 0; i < making->profile->interval_count; i++) {
        const struct profile_interval *interval = &making->profile->intervals[i];
        if (!shares_is_of(making, interval))
            continue;
        from = begun ? fmin(from, interval->from) : interval->from;
        to = fmax(to, interval->to);
        begun = true;
        out->samples += profile_interval_samples(interval);
        out->resets += interval->resets;
        out->stood_s += interval->stood_s;
        if (interval->to >= to)
            out->asleep_doubt = fmin(interval->asleep_doubt, 1);
        out->asleep_anywhere |= interval->asleep_anywhere;
        out->events += interval->events;
        for (int state = 0; state < PROFILE_STATES; state++)
            out->states[state] += interval->states[state];
    }
    out->seconds = to - from;
}

/* The largest first; equal ones in the order of their addresses, then states. */
static int shares_by_samples(const void *a, const void *b)
{
    const struct row *one = *(struct row *const *)a, *other = *(struct row *const *)b;
    if (one->share.samples != other->share.samples)
        return one->share.samples > other->share.samples ? -1 : 1;
    if (one->share.state != other->share.state)
        return one->share.state > other->share.state ? -1 : 1;
    if (one->share.address != other->share.address)
        return one->share.address < other->share.address ? -1 : 1;
    return by_key(one, other);
}

static bool move_rows(struct making *making)
{
    struct shares *out = making->out;
    out->rows = calloc(making->n + 1, sizeof *out->rows);
    if (out->rows == NULL)
        return false;
    if (making->n > 0)
        qsort(making->rows, making->n, sizeof(struct row *), shares_by_samples);
    for (size_t i = 0; i < making->n; i++) {
        out->rows[out->n++] = making->rows[i]->share;
        making->rows[i]->share.function = making->rows[i]->share.source = NULL;
    }
    return true;
}

enum profile_context shares_context(enum shares_sort sort)
{
    return sort == SHARES_TASK      ? PROFILE_TASKS
           : sort == SHARES_PROCESS ? PROFILE_PROCESSES
                                    : PROFILE_EXCEPTIONS;
}

/* Owns nothing. */
static struct profile contexts_of(const struct profile *profile, enum shares_sort sort)
{
    const struct profile_contexts *contexts = &profile->contexts[shares_context(sort)];
    return (struct profile){.about = profile->about,
                            .intervals = contexts->intervals,
                            .interval_count = contexts->interval_count,
                            .tasks = profile->tasks,
                            .task_count = profile->task_count};
}

bool shares_make(const struct profile *profile, unsigned core, enum shares_sort sort, struct symbols *symbols,
                 struct shares *out)
{
    bool of_contexts = sort >= SHARES_CONTEXTS;
    const struct profile contexts = contexts_of(profile, sort);
    struct making making = {.profile = of_contexts ? &contexts : profile, .symbols = symbols, .out = out};
    struct row *states[PROFILE_STATES];
    *out = (struct shares){.sort = symbols != NULL || of_contexts ? sort : SHARES_ADDRESS, .core = core};
    sum_up(&making);
    bool ok = (sort != SHARES_TASK || tell_lives(&making)) && shares_gather_places(&making) &&
              shares_make_rows(&making) && make_state_rows(&making, states);
    if (ok) {
        measure_errors(&making, states);
        out->is_few = out->samples < FEW || out->batches < SHARES_BATCHES_LEAST;
        out->is_uneven = out->is_uneven && !out->is_few;
        out->is_sparse = !of_contexts && is_sparse(&making);
        ok = (out->sort != SHARES_FILE || shorten_files(&making)) && move_rows(&making);
    }
    tdestroy(making.tree, no_free);
    for (size_t i = 0; i < making.n; i++)
        row_free(making.rows[i]);
    free(making.rows);
    free(making.row_of);
    free(making.places);
    free(making.lives);
    if (!ok)
        shares_free(out);
    return ok;
}

void shares_free(struct shares *shares)
{
    for (size_t i = 0; i < shares->n; i++) {
        free(shares->rows[i].function);
        free(shares->rows[i].source);
    }
    free(shares->rows);
    *shares = (struct shares){0};
}

/* ---- shares diff */

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
    int order = strcmp(or_empty(one->function), or_empty(other->function));
    return order != 0
               ? order
               : compare_sources(or_empty(one->source), or_empty(other->source), sort != SHARES_FUNCTION);
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
    to->lasts = fmax(to->lasts, more->lasts);
    to->may_sleep |= more->may_sleep;
    to->doubt += more->doubt;
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

static bool has_varied(const struct share_side *side)
{
    return side->part > 0 && side->part < 1;
}

/* What a side has not seen change lasts as long as on the other side, if that has. */
static void shares_diff_bound(struct share_side *side, const struct shares *its,
                              const struct share_side *other)
{
    if (has_varied(side))
        return;
    side->plus_minus = error_of_no_change(its);
    if (has_varied(other)) {
        double samples = other->lasts > 0 ? other->lasts * (double)its->samples / its->seconds : 1;
        side->plus_minus = its->samples > 0 ? part_unmet((double)its->samples / fmax(samples, 1)) : NAN;
    }
}

/* A row that this side does not have may have what is asleep. */
static void shares_diff_doubt(struct share_side *side, const struct shares *its, bool asleep, bool may_sleep)
{
    if (side->samples == 0 && may_sleep)
        side->doubt = shares_doubt(its->asleep_doubt, 0, asleep ? 1 : part_asleep_of(its));
    if (isfinite(side->plus_minus))
        side->plus_minus = fmin(side->plus_minus + fmin(side->doubt, its->asleep_doubt), 1);
}

static void shares_diff_judge(struct share_change *row, const struct shares *now, const struct shares *old)
{
    bool asleep = row->row->state == PROFILE_ASLEEP;
    bool may_sleep = row->now.may_sleep || row->old.may_sleep;
    shares_diff_bound(&row->now, now, &row->old);
    shares_diff_bound(&row->old, old, &row->now);
    shares_diff_doubt(&row->now, now, asleep, may_sleep);
    shares_diff_doubt(&row->old, old, asleep, may_sleep);
    row->change = row->now.part - row->old.part;
    row->plus_minus = hypot(row->now.plus_minus, row->old.plus_minus);
    row->is_noise = !(fabs(row->change) > row->plus_minus);
}

static struct share_side shares_diff_side_of(const struct share *row)
{
    return (struct share_side){.samples = row->samples,
                               .part = row->part,
                               .plus_minus = row->plus_minus - row->doubt,
                               .lasts = row->lasts,
                               .may_sleep = row->may_sleep,
                               .doubt = row->doubt};
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
