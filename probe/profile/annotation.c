/* SPDX-License-Identifier: MIT */
#include "profile/annotation.h"

#include "base/file.h"
#include "base/values.h"
#include "profile/shares.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TAB = 8 };

/* NULL: it cannot be read, or is none of those that are. */
static char *read_whole(const char *path, size_t *size, time_t *changed)
{
    struct stat about;
    int fd = file_open_plain(path, 0, &about);
    char *text = NULL;
    if (fd >= 0 && about.st_size <= SOURCE_TEXT_BYTES)
        text = malloc((size_t)about.st_size + 1);
    *size = 0;
    for (ssize_t n = 1; text != NULL && n > 0 && *size<(size_t)about.st_size; *size += n> 0 ? (size_t)n : 0)
        n = read(fd, text + *size, (size_t)about.st_size - *size);
    if (text != NULL) {
        text[*size] = '\0';
        *changed = about.st_mtime;
    }
    if (fd >= 0)
        close(fd);
    return text;
}

/* One line without its end and its tabs. NULL: out of memory. */
static char *copy_line(const char *text, size_t length)
{
    size_t tabs = 0, used = 0, column = 0;
    while (length > 0 && text[length - 1] == '\r')
        length--;
    for (size_t i = 0; i < length; i++)
        tabs += text[i] == '\t';
    char *line = malloc(length + tabs * TAB + 1);
    for (size_t i = 0; line != NULL && i < length; i++) {
        size_t blanks = text[i] == '\t' ? TAB - column % TAB : 0;
        memset(line + used, ' ', blanks);
        used += blanks;
        if (blanks == 0)
            line[used++] = text[i];
        if (text[i] == '\0')
            line[used - 1] = '?';
        column += blanks > 0 ? blanks : ((unsigned char)text[i] & 0xC0) != 0x80;
    }
    if (line != NULL)
        line[used] = '\0';
    return line;
}

static bool cut_lines(const char *text, size_t size, struct source_text *out)
{
    size_t n = 1;
    for (size_t i = 0; i < size; i++)
        n += text[i] == '\n';
    out->lines = calloc(n, sizeof(char *));
    bool ok = out->lines != NULL;
    for (size_t at = 0; ok && at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t length = end != NULL ? (size_t)(end - text) - at : size - at;
        out->lines[out->n] = copy_line(text + at, length);
        ok = out->lines[out->n] != NULL;
        out->n += ok;
        at += length + 1;
    }
    return ok;
}

/* False: out of memory. */
static bool try_path(const char *path, struct source_text *out)
{
    size_t size;
    char *text = read_whole(path, &size, &out->changed);
    if (text == NULL)
        return true;
    out->path = strdup(path);
    bool ok = out->path != NULL && cut_lines(text, size, out);
    free(text);
    return ok;
}

bool source_text_read(const char *path, struct source_text *out)
{
    *out = (struct source_text){.n = 0};
    bool ok = true;
    for (const char *end = path; ok && out->path == NULL && end[0] != '\0';) {
        ok = try_path(end, out);
        end += strcspn(end, "/\\");
        end += strspn(end, "/\\");
    }
    if (!ok)
        source_text_free(out);
    return ok;
}

const char *source_text_line(const struct source_text *text, unsigned line)
{
    return line >= 1 && line <= text->n ? text->lines[line - 1] : NULL;
}

void source_text_free(struct source_text *text)
{
    for (size_t i = 0; i < text->n; i++)
        free(text->lines[i]);
    free(text->lines);
    free(text->path);
    *text = (struct source_text){.n = 0};
}

/* ---- annotation */

struct making {
    const struct profile *profile;
    const struct listing *listing;
    uint64_t low, high;
    bool may_sleep; /* it has a WFI or WFE, or the doubt of sleep may be anywhere */
    double doubt;   /* of all samples; see struct shares */
    uint64_t asleep;
    struct annotation *out;
};

static int annotation_by_place(const void *a, const void *b)
{
    const struct annotated_line *one = a, *other = b;
    if (one->file != other->file)
        return one->file < other->file ? -1 : 1;
    return (one->line > other->line) - (one->line < other->line);
}

static bool find_lines(struct making *making)
{
    const struct listing *listing = making->listing;
    struct annotation *out = making->out;
    out->lines = calloc(listing->n + 1, sizeof *out->lines);
    out->line_of = calloc(listing->n + 1, sizeof *out->line_of);
    out->row_samples = calloc(listing->n + 1, sizeof *out->row_samples);
    if (out->lines == NULL || out->line_of == NULL || out->row_samples == NULL)
        return false;
    for (size_t i = 0; i < listing->n; i++)
        out->lines[i] = (struct annotated_line){.file = listing->rows[i].file, .line = listing->rows[i].line};
    out->line_count = sorted_join(out->lines, listing->n, sizeof *out->lines, annotation_by_place, NULL);
    for (size_t i = 0; i < listing->n; i++) {
        struct annotated_line wanted = {.file = listing->rows[i].file, .line = listing->rows[i].line};
        const struct annotated_line *line =
            bsearch(&wanted, out->lines, out->line_count, sizeof wanted, annotation_by_place);
        out->line_of[i] = (size_t)(line - out->lines);
    }
    return true;
}

/* ---- shares of lines */

static bool is_inside(const struct making *making, uint64_t address)
{
    return address >= making->low && address < making->high;
}

/* The line, or 0 and 1: outside and inside the function. False: it does not count. */
static bool key_of(const struct making *making, bool by_line, uint64_t address, uint64_t *key)
{
    bool inside = is_inside(making, address);
    size_t row = inside && by_line ? listing_row_at(making->listing, address) : making->listing->n;
    *key = row < making->listing->n ? making->out->line_of[row] : inside;
    return !by_line || row < making->listing->n;
}

/* An interval with a key in the place of each address. */
static bool rewrite(const struct making *making, bool by_line, const struct profile_interval *from,
                    struct profile_interval *to)
{
    *to = *from;
    to->stacks = (struct call_stacks){0};
    to->counts = calloc(from->count_count + 1, sizeof *to->counts);
    to->count_count = 0;
    if (to->counts == NULL)
        return false;
    for (size_t i = 0; i < from->count_count; i++) {
        struct profile_count count = from->counts[i];
        if (key_of(making, by_line, count.address, &count.address))
            to->counts[to->count_count++] = count;
    }
    to->count_count = profile_counts_join(to->counts, to->count_count);
    to->asleep_doubt = by_line || !making->may_sleep ? 0 : from->asleep_doubt;
    for (int state = 0; by_line && state < PROFILE_STATES; state++)
        to->states[state] = 0;
    return true;
}

/* Batches give the errors of shares: those of a profile that has these keys only. */
static bool annotation_share_out(const struct making *making, bool by_line, struct shares *out)
{
    const struct profile *from = making->profile;
    struct profile profile = {.about = from->about};
    profile.intervals = calloc(from->interval_count + 1, sizeof *profile.intervals);
    bool ok = profile.intervals != NULL;
    for (size_t i = 0; ok && i < from->interval_count; i++) {
        if (from->intervals[i].core != making->out->core)
            continue;
        ok = rewrite(making, by_line, &from->intervals[i], &profile.intervals[profile.interval_count]);
        profile.interval_count += ok;
    }
    ok = ok && shares_make(&profile, making->out->core, SHARES_ADDRESS, NULL, out);
    for (size_t i = 0; i < profile.interval_count; i++)
        profile_interval_free(&profile.intervals[i]);
    free(profile.intervals);
    return ok;
}

static bool annotation_measure_function(struct making *making)
{
    struct shares shares;
    struct annotation *out = making->out;
    out->plus_minus = NAN;
    if (!annotation_share_out(making, false, &shares))
        return false;
    out->core_samples = shares.samples;
    for (size_t i = 0; i < shares.n; i++)
        if (shares.rows[i].state == PROFILE_STATES && shares.rows[i].address == 1) {
            out->samples = shares.rows[i].samples;
            out->part = shares.rows[i].part;
            out->plus_minus = shares.rows[i].plus_minus;
        }
    shares_free(&shares);
    return true;
}

/* Of the function's samples: those asleep are none of them, but may be. */
static void annotation_add_doubt(const struct making *making, uint64_t samples, struct annotated_line *line)
{
    double n = (double)samples;
    double doubt = making->may_sleep ? making->doubt * (double)making->out->core_samples / n : 0;
    double off = shares_doubt(fmin(doubt, 1), line->part, fmin((double)making->asleep / n, 1));
    if (isfinite(line->plus_minus))
        line->plus_minus = fmin(line->plus_minus + off, 1);
}

static bool measure_lines(struct making *making)
{
    struct shares shares;
    struct annotation *out = making->out;
    for (size_t i = 0; i < out->line_count; i++)
        out->lines[i].plus_minus = NAN;
    if (!annotation_share_out(making, true, &shares))
        return false;
    for (size_t i = 0; i < shares.n; i++) {
        struct annotated_line *line = &out->lines[shares.rows[i].address];
        line->samples = shares.rows[i].samples;
        line->part = shares.rows[i].part;
        line->plus_minus = shares.rows[i].plus_minus;
        annotation_add_doubt(making, shares.samples, line);
    }
    out->is_few = shares.is_few;
    shares_free(&shares);
    return true;
}

static bool judge_core(struct making *making)
{
    struct shares shares;
    if (!shares_make(making->profile, making->out->core, SHARES_ADDRESS, NULL, &shares))
        return false;
    making->out->is_sparse = shares.is_sparse;
    making->may_sleep |= shares.asleep_anywhere;
    making->doubt = shares.asleep_doubt;
    making->asleep = shares.states[PROFILE_ASLEEP];
    shares_free(&shares);
    return true;
}

/* ---- instructions */

static void annotation_count_rows(struct making *making)
{
    const struct profile *profile = making->profile;
    struct annotation *out = making->out;
    for (size_t i = 0; i < profile->interval_count; i++) {
        const struct profile_interval *interval = &profile->intervals[i];
        for (size_t k = 0; interval->core == out->core && k < interval->count_count; k++) {
            const struct profile_count *count = &interval->counts[k];
            size_t row = is_inside(making, count->address) ? listing_row_at(making->listing, count->address)
                                                           : making->listing->n;
            if (row < making->listing->n)
                out->row_samples[row] += count->samples;
        }
    }
}

static bool is_between_its_own(const struct making *making, size_t row)
{
    const struct listing *listing = making->listing;
    const size_t *line_of = making->out->line_of;
    return row > 0 && row + 1 < listing->n && line_of[row - 1] == line_of[row] &&
           line_of[row + 1] == line_of[row] && !listing->rows[row - 1].is_data &&
           !listing->rows[row + 1].is_data;
}

static bool find_borders(struct making *making)
{
    struct annotation *out = making->out;
    uint64_t *sure = calloc(out->line_count + 1, sizeof *sure);
    if (sure == NULL)
        return false;
    for (size_t i = 0; i < making->listing->n; i++)
        if (is_between_its_own(making, i))
            sure[out->line_of[i]] += out->row_samples[i];
    for (size_t i = 0; i < out->line_count; i++)
        out->lines[i].at_border = sure[i] < out->lines[i].samples - out->lines[i].samples / 2;
    free(sure);
    return true;
}

static void annotation_free(struct annotation *annotation)
{
    free(annotation->lines);
    free(annotation->line_of);
    free(annotation->row_samples);
    *annotation = (struct annotation){0};
}

/* False: out of memory. */
static bool annotate(const struct profile *profile, unsigned core, const struct annotated_function *function,
                     bool may_sleep, struct annotation *out)
{
    *out = (struct annotation){.core = core};
    struct making making = {.profile = profile,
                            .listing = &function->listing,
                            .low = function->at.low,
                            .high = function->at.high,
                            .may_sleep = may_sleep,
                            .out = out};
    bool ok = find_lines(&making) && judge_core(&making) && annotation_measure_function(&making) &&
              measure_lines(&making);
    if (ok) {
        annotation_count_rows(&making);
        ok = find_borders(&making);
    }
    if (!ok)
        annotation_free(out);
    return ok;
}

static bool annotate_cores(const struct profile *profile, struct symbols *symbols,
                           struct annotated_function *out)
{
    bool ok = true, may_sleep = symbols_may_sleep(symbols, out->at.low, out->at.high);
    for (size_t i = 0; i < profile->about.core_count && ok; i++) {
        ok = annotate(profile, (unsigned)i, out, may_sleep, &out->cores[i]);
        out->core_count += ok;
    }
    return ok;
}

static bool read_texts(struct annotated_function *out)
{
    bool ok = true;
    for (size_t i = 0; i < out->listing.file_count && ok; i++)
        ok = source_text_read(out->listing.files[i], &out->texts[i]);
    return ok;
}

bool annotated_function_make(const struct profile *profile, struct symbols *symbols, const char *elf,
                             uint64_t address, struct annotated_function *out, struct error *error)
{
    struct stat about;
    struct location around = {0};
    *out = (struct annotated_function){.built = stat(elf, &about) == 0 ? about.st_mtime : 0};
    out->at = *shares_function_of(symbols, address, &around);
    if (out->at.high <= out->at.low)
        return error_set(error, ERROR_SYMBOL, "no function is known around 0x%08" PRIx64, address);
    if (!listing_make(symbols, out->at.low, out->at.high, &out->listing, error))
        return false;
    out->texts = calloc(out->listing.file_count + 1, sizeof *out->texts);
    out->cores = calloc(profile->about.core_count + 1, sizeof *out->cores);
    bool ok =
        out->texts != NULL && out->cores != NULL && read_texts(out) && annotate_cores(profile, symbols, out);
    if (!ok)
        annotated_function_free(out);
    return ok || error_memory(error);
}

void annotated_function_free(struct annotated_function *function)
{
    for (size_t i = 0; function->cores != NULL && i < function->core_count; i++)
        annotation_free(&function->cores[i]);
    for (size_t i = 0; function->texts != NULL && i < function->listing.file_count; i++)
        source_text_free(&function->texts[i]);
    free(function->cores);
    free(function->texts);
    listing_free(&function->listing);
    *function = (struct annotated_function){.built = 0};
}
