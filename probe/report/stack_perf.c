#include "report/stack_formats.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <string.h>

enum { EVENTS_MOST = 1000000, NAME = UTF8_CLEAN_ROOM(512) };

/* Rows of one core that share an interval, one after the other. */
struct span {
    const struct stack *rows;
    size_t n;
    uint64_t samples;
};

static bool stack_perf_is_of(const struct span *span, const struct stack *row)
{
    return row->core == span->rows->core && row->from <= span->rows->from;
}

/* Rows are in time, so a later one is never earlier. */
static struct span stack_perf_span_from(const struct stacks *stacks, size_t at)
{
    struct span span = {.rows = &stacks->rows[at]};
    for (; at + span.n < stacks->n && stack_perf_is_of(&span, &span.rows[span.n]); span.n++)
        span.samples += span.rows[span.n].samples;
    return span;
}

/* Readers take a blank for the end of the name. */
static void join_words(char *text)
{
    while ((text = strpbrk(text, " ()")) != NULL)
        *text = '_';
}

static void module_of(const char *elf, char *out, size_t size)
{
    const char *slash = elf != NULL ? strrchr(elf, '/') : NULL;
    utf8_clean(out, size, slash != NULL ? slash + 1 : elf != NULL ? elf : "[unknown]");
    join_words(out);
}

static void stack_perf_put_frame(FILE *out, const struct stacks *stacks, const struct stack_place *place,
                                 const char *module)
{
    char name[NAME], offset[32] = "";
    const struct stack_function *function = &stacks->functions[place->function];
    bool has_offset = function->entry != 0 && place->address > function->entry;
    utf8_clean(name, sizeof name, function->name);
    if (has_offset)
        snprintf(offset, sizeof offset, "+0x%" PRIx64, place->address - function->entry);
    fprintf(out, "\t%16" PRIx64 " %s%s (%s)\n", place->address, name, offset,
            place->state == PROFILE_STATES ? module : "[core]");
}

static void put_event(FILE *out, const struct stack_report *report, const struct stack *row, double at,
                      uint64_t period, const char *module)
{
    const struct stacks *stacks = report->stacks;
    unsigned core = profile_core_number(&report->profile->about, row->core);
    fprintf(out, "core%u %u %.9f: %" PRIu64 " samples: \n", core, core + 1, at, period);
    for (size_t i = 0; i < row->depth; i++)
        stack_perf_put_frame(out, stacks, &stacks->places[stacks->frames[row->first + i]], module);
    fputc('\n', out);
}

static void put_span(FILE *out, const struct stack_report *report, const struct span *span, uint64_t most,
                     const char *module)
{
    uint64_t before = 0;
    for (size_t i = 0; i < span->n; i++) {
        const struct stack *row = &span->rows[i];
        for (uint64_t left = row->samples; left > 0 && !ferror(out);) {
            uint64_t period = left < most ? left : most;
            double part = (double)before / (double)span->samples;
            put_event(out, report, row, row->from + part * (row->to - row->from), period, module);
            before += period;
            left -= period;
        }
    }
}

bool stacks_perf_within(FILE *out, const struct stack_report *report, uint64_t events)
{
    char module[NAME];
    uint64_t samples = 0;
    for (size_t i = 0; i < report->stacks->n; i++)
        samples += report->stacks->rows[i].samples;
    module_of(report->elf, module, sizeof module);
    for (size_t at = 0; at < report->stacks->n && !ferror(out);) {
        struct span span = stack_perf_span_from(report->stacks, at);
        put_span(out, report, &span, samples / events + 1, module);
        at += span.n;
    }
    return fflush(out) == 0 && !ferror(out);
}

bool stacks_perf(FILE *out, const struct stack_report *report)
{
    return stacks_perf_within(out, report, EVENTS_MOST);
}
