/*
 * Any bytes as the file that `report` reads. What is refused is so with a fact that says where; what is read
 * keeps what the header promises, is the same when it is written and read again, and has shares that sum up.
 */
#include "profile/shares.h"
#include "report/annotation_table.h"
#include "report/profile_file.h"
#include "report/profile_table.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool condition)
{
    if (!condition)
        abort();
}

static void look_at(const struct profile *profile)
{
    demand(profile->about.core_count >= 1 && profile->about.core_count <= PROFILE_CORES_MAX);
    demand(profile->interval_count <= profile->about.core_count * PROFILE_INTERVALS_MAX);
    for (size_t i = 0; i < profile->interval_count; i++) {
        const struct profile_interval *interval = &profile->intervals[i];
        demand(interval->core < profile->about.core_count);
        demand(interval->from >= 0 && interval->to >= interval->from && isfinite(interval->to));
        demand(i == 0 || profile->intervals[i - 1].from <= interval->from);
        for (size_t k = 0; k < interval->count_count; k++) {
            demand(interval->counts[k].samples > 0);
            demand(k == 0 || interval->counts[k - 1].address < interval->counts[k].address);
        }
    }
}

static struct profile *written_and_read(const struct profile *profile)
{
    char *text = NULL;
    size_t size = 0;
    struct profile *again = NULL;
    struct error error = {0};
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    demand(profile_file_begin(out, &profile->about) == 0);
    for (size_t i = 0; i < profile->interval_count; i++)
        demand(profile_file_add(out, &profile->intervals[i]) == 0);
    demand(!profile->end.known || profile_file_end(out, &profile->end) == 0);
    fclose(out);
    demand(profile_file_parse(text, size, "p.jsonl", &again, &error));
    free(text);
    return again;
}

/* Intervals, which were merged, are as they were: there are not too many of them. */
static void compare(const struct profile *one, const struct profile *other)
{
    demand(one->about.core_count == other->about.core_count && one->end.known == other->end.known);
    demand(one->interval_count == other->interval_count);
    for (size_t i = 0; i < one->interval_count; i++) {
        const struct profile_interval *a = &one->intervals[i], *b = &other->intervals[i];
        demand(a->core == b->core && a->from == b->from && a->to == b->to && a->resets == b->resets);
        demand(a->count_count == b->count_count);
        demand(memcmp(a->states, b->states, sizeof a->states) == 0);
        for (size_t k = 0; k < a->count_count; k++)
            demand(a->counts[k].address == b->counts[k].address &&
                   a->counts[k].samples == b->counts[k].samples);
    }
}

static size_t lines_of(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += *text == '\n';
    return n;
}

/* Folded stacks have a line for each row, whatever the names are. */
static void print(const struct profile_report *report)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return;
    demand(profile_write(&(struct rendering){.out = out, .format = FORMAT_FOLDED}, report));
    fclose(out);
    demand(lines_of(text) == report->shares[0].n);
    free(text);
    out = open_memstream(&text, &size);
    if (out == NULL)
        return;
    for (enum format format = FORMAT_TEXT; format <= FORMAT_MARKDOWN; format++)
        demand(profile_write(
            &(struct rendering){.out = out, .format = format, .columns = 80, .separator = ','}, report));
    fclose(out);
    demand(strlen(text) == size);
    free(text);
}

/* Whatever the texts are, the page has its two scripts. */
static void draw(const struct profile_report *report)
{
    char *text = NULL;
    size_t size = 0;
    struct stacks stacks;
    struct call_tree flame = {.n = 0};
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return;
    if (stacks_make(report->profile, NULL, false, &stacks) &&
        flame_make(&stacks, report->profile->about.core_count, &flame)) {
        const struct profile_page page = {.report = report, .stacks = &stacks, .flame = &flame};
        demand(profile_page(&(struct rendering){.out = out, .format = FORMAT_HTML}, &page));
        fflush(out);
        const char *first = strstr(text, "<script"),
                   *second = first != NULL ? strstr(first + 1, "<script") : NULL;
        demand(second != NULL && strstr(second + 1, "<script") == NULL && strlen(text) == size);
    }
    fclose(out);
    free(text);
    call_tree_free(&flame);
    stacks_free(&stacks);
}

/* Against itself nothing has changed. */
static void differ(const struct profile_report *report)
{
    char *text = NULL;
    size_t size = 0;
    struct profile_pair pair = {.now = 0};
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return;
    if (shares_diff_make(report->shares, report->shares, &pair.diff)) {
        const struct profile_diff_report both = {.now = report, .old = report, .pairs = &pair, .n = 1};
        struct document document = profile_diff_document(&both);
        demand(pair.diff.n == report->shares->n && pair.diff.noise == pair.diff.n);
        for (enum format format = FORMAT_TEXT; format <= FORMAT_HTML; format++)
            if (format <= FORMAT_CSV || format == FORMAT_MARKDOWN || format == FORMAT_HTML)
                demand(profile_show(
                    &(struct rendering){.out = out, .format = format, .columns = 80, .separator = ','},
                    &document));
        document_free(&document);
        shares_diff_free(&pair.diff);
    }
    fclose(out);
    demand(strlen(text) == size);
    free(text);
}

static void share(const struct profile *profile)
{
    struct shares shares;
    uint64_t samples = 0;
    if (!shares_make(profile, 0, SHARES_FUNCTION, NULL, &shares))
        return;
    for (size_t i = 0; i < shares.n; i++) {
        samples += shares.rows[i].samples;
        demand(shares.rows[i].part > 0 && shares.rows[i].part <= 1);
        demand(isnan(shares.rows[i].plus_minus) ||
               (shares.rows[i].plus_minus >= 0 && shares.rows[i].plus_minus <= 1));
    }
    demand(samples == shares.samples && shares.batches <= SHARES_BATCHES);
    const struct profile_report report = {
        .profile = profile, .file = "p.jsonl", .no_names = "", .shares = &shares, .n = 1};
    print(&report);
    draw(&report);
    differ(&report);
    shares_free(&shares);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct profile *profile = NULL;
    struct error error = {0};
    /* Exactly as long as it is, so that reading past the end is noticed */
    char *text = malloc(size > 0 ? size : 1);
    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    bool ok = profile_file_parse(text, size, "p.jsonl", &profile, &error);
    free(text);
    demand(ok == (error.kind == ERROR_NONE) && ok == (profile != NULL));
    if (!ok) {
        demand(error.kind == ERROR_USAGE && strncmp(error.text, "p.jsonl:", 8) == 0);
        return 0;
    }
    look_at(profile);
    struct profile *again = written_and_read(profile);
    if (again != NULL)
        compare(profile, again);
    profile_file_free(again);
    share(profile);
    profile_file_free(profile);
    return 0;
}
