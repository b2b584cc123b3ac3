#include "commands/profiling.h"
#include "profile/annotation.h"
#include "profile/flame.h"
#include "profile/stacks.h"
#include "report/profile_file.h"
#include "report/profile_page.h"

#include <string.h>

enum { HOT_MOST = 10 };
static const double hot_part = 0.01;

struct page_parts {
    struct stacks stacks;
    struct flame flame;
    struct annotated_function functions[HOT_MOST];
    size_t n;
};

static bool has_function(const struct page_parts *parts, uint64_t entry)
{
    for (size_t i = 0; i < parts->n; i++)
        if (parts->functions[i].at.low == entry)
            return true;
    return false;
}

/* Those of each core that take a hundredth of its time. One whose code cannot be shown is left out. */
static bool annotate_hottest(const struct profile_report *report, struct symbols *symbols,
                             struct page_parts *parts, struct error *error)
{
    for (size_t core = 0; core < report->n; core++)
        for (size_t i = 0; i < report->shares[core].n && parts->n < HOT_MOST; i++) {
            const struct share *row = &report->shares[core].rows[i];
            struct error why = {0};
            if (row->part < hot_part || row->function == NULL || has_function(parts, row->address))
                continue;
            if (annotated_function_make(report->profile, symbols, report->elf, row->address,
                                        &parts->functions[parts->n], &why))
                parts->n++;
            else if (why.kind == ERROR_SYSTEM)
                return error_copy(error, &why);
        }
    return true;
}

bool profiling_page(FILE *out, const struct profile_report *report, struct symbols *symbols,
                    struct error *error)
{
    struct page_parts parts = {.n = 0};
    bool ok = (stacks_make(report->profile, symbols, false, &parts.stacks) &&
               flame_make(&parts.stacks, report->n, &parts.flame)) ||
              error_set(error, ERROR_SYSTEM, "out of memory");
    ok = ok && (symbols == NULL || annotate_hottest(report, symbols, &parts, error));
    if (ok) {
        const struct profile_page page = {.report = report,
                                          .stacks = &parts.stacks,
                                          .flame = &parts.flame,
                                          .functions = parts.functions,
                                          .n = parts.n};
        ok = profile_page(out, &page) || ferror(out) || error_set(error, ERROR_SYSTEM, "out of memory");
    }
    for (size_t i = 0; i < parts.n; i++)
        annotated_function_free(&parts.functions[i]);
    flame_free(&parts.flame);
    stacks_free(&parts.stacks);
    return ok;
}

bool profiling_wrote(int result, struct error *error)
{
    return result == 0 ||
           error_set(error, ERROR_SYSTEM, "the profile could not be written: %s", strerror(-result));
}

bool profiling_end(FILE *out, double elapsed_s, uint64_t samples, const struct error *why, bool cancelled,
                   struct error *error)
{
    bool failed = why->kind != ERROR_NONE;
    char lost[] = "lost", interrupt[] = "Ctrl-C", time[] = "time", text[sizeof why->text];
    snprintf(text, sizeof text, "%s", why->text);
    const struct profile_end end = {.known = true,
                                    .elapsed_s = elapsed_s,
                                    .samples = samples,
                                    .why = failed      ? lost
                                           : cancelled ? interrupt
                                                       : time,
                                    .error = failed ? text : NULL};
    return profiling_wrote(profile_file_end(out, &end), error);
}

bool profiling_sort(const struct options *options, bool contexts, enum shares_sort *out, struct error *error)
{
    static const char *const names[SHARES_SORTS] = {
        [SHARES_FUNCTION] = "function", [SHARES_LINE] = "line", [SHARES_FILE] = "file",
        [SHARES_ADDRESS] = "address",   [SHARES_TASK] = "task", [SHARES_EXCEPTION] = "exception",
        [SHARES_PROCESS] = "context"};
    for (int sort = 0; sort < (contexts ? SHARES_SORTS : SHARES_CONTEXTS); sort++)
        if (options->sort == NULL || strcmp(options->sort, names[sort]) == 0) {
            *out = (enum shares_sort)sort;
            return true;
        }
    return error_set(error, ERROR_USAGE, "--sort takes function, line, file%s; got \"%.64s\"",
                     contexts ? ", address, task, exception or context" : " or address", options->sort);
}
