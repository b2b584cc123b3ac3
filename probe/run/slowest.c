/* SPDX-License-Identifier: MIT */
#include "run/slowest.h"

#include "counters/events.h"
#include "profile/stacks.h"
#include "report/place_report.h"

#include <stdlib.h>

enum { READ_MS = 5000 };

struct slowest {
    size_t wanted;
    struct symbols *symbols;
    struct slow_hits hits;
    struct stack_reader reader;
    struct stop_place places[SLOW_HIT_SLOTS];
    const struct region *region;
    const char *counts_exceptions;
};

bool slowest_open(struct slowest **out, struct session *session, struct error *error)
{
    const struct request *request = session->request;
    *out = NULL;
    if (request->outliers == 0)
        return true;
    if (session->symbols == NULL)
        return error_set(error, ERROR_ELF, "--outliers needs --elf FILE");
    struct slowest *slowest = calloc(1, sizeof *slowest);
    if (slowest == NULL)
        return error_memory(error);
    slowest->wanted = (size_t)request->outliers;
    slowest->symbols = session->symbols;
    session->lends_symbols = true;
    *out = slowest;
    return true;
}

void slowest_close(struct slowest *slowest)
{
    if (slowest == NULL)
        return;
    stack_reader_close(&slowest->reader); /* before its symbols */
    symbols_close(slowest->symbols);
    free(slowest);
}

/* The event of the core by which a hit would show them. */
static const char *event_of_exceptions(const struct counter_block *block)
{
    struct error none = {0};
    struct event_set *set = block->events != NULL ? event_set_open(block->events, &none) : NULL;
    bool taken = set != NULL && event_set_find(set, "EXC_TAKEN") != NULL;
    event_set_free(set);
    for (size_t i = 0; i < block->n && !taken; i++)
        if (result_exceptions(block->counters[i].name) == RESULT_EXCEPTIONS_CYCLES)
            return "EXCCNT";
    return taken ? "EXC_TAKEN" : NULL;
}

bool slowest_begin(struct slowest *slowest, struct session *session, const struct region *region,
                   struct engine *engine, struct error *error)
{
    const struct core *core = &session->device.chosen->core;
    if (slowest == NULL)
        return true;
    if (!core_has(core, ARM_CODE))
        return error_set(error, ERROR_USAGE, "--outliers finds stacks on Arm cores alone, not on %s",
                         core->name);
    slow_hits_begin(&slowest->hits, slowest->wanted);
    slowest->region = region;
    slowest->counts_exceptions = event_of_exceptions(session->device.block);
    stack_reader_close(&slowest->reader); /* of the run before */
    return stack_reader_open(&slowest->reader, &session->device, (struct stack_stop){.engine = engine},
                             slowest->symbols, error);
}

struct slow_hits *slowest_hits(struct slowest *slowest)
{
    return slowest != NULL ? &slowest->hits : NULL;
}

bool slowest_read(struct slowest *slowest, size_t slot, struct error *error)
{
    const struct region *region = slowest->region;
    struct stop_place *place = &slowest->places[slot];
    struct deadline deadline = deadline_in_ms(patience_ms(READ_MS), NULL); /* after Ctrl-C as well */
    if (!stack_reader_place(&slowest->reader, place, &deadline, error))
        return false;
    /* A call has returned, and is after its instruction; a handler ends inside itself. */
    struct unwind_frame *end = &place->stack.at[0];
    end->is_exact = !region->to_return || (end->pc >= region->low && end->pc < region->high);
    return true;
}

void slowest_lines(const struct slowest *slowest, struct document *document, const struct summary *summary,
                   struct json_part *line)
{
    if (slowest == NULL)
        return;
    const struct outlier_report report = {.symbols = slowest->symbols,
                                          .summary = summary,
                                          .hits = &slowest->hits,
                                          .places = slowest->places,
                                          .counts_exceptions = slowest->counts_exceptions};
    outlier_lines(document, &report);
    outlier_summary(line, &report);
}
