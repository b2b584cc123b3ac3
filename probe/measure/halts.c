#include "measure/halts.h"

/* Between two stops of an unknown number of halts, to bound what may have gone by. */
enum { SOME_PAIRS = 1000 };

void halts_begin(struct halts *halts, const struct target *target, const struct clock *clock)
{
    *halts = (struct halts){.reading = &target->reading};
    halts->evaluation = (struct evaluation){.reading = &target->reading,
                                            .overheads = halts->overheads,
                                            .counts_cycles = target->block->counts_cycles,
                                            .bound_hz = clock->bound_hz};
}

void halts_rehit(void *context, const struct raw_hit *rehit)
{
    struct halts *halts = context;
    for (size_t i = 0; i < halts->reading->counted; i++)
        calibration_add(&halts->calibrations[i],
                        counter_elapsed(&halts->reading->counters[i], rehit->from[i], rehit->to[i]));
}

void halts_end(struct halts *halts)
{
    for (size_t i = 0; i < halts->reading->counted; i++)
        halts->overheads[i] = calibration_result(&halts->calibrations[i]);
}

void halts_between(const struct halts *halts, const uint64_t *from, const uint64_t *to, uint64_t us,
                   unsigned pairs, struct halts_count *out)
{
    struct widen went_by[READING_ROOM];
    const struct evaluation_span span = {
        .from = from, .to = to, .longest_us = us, .pairs = pairs > 0 ? pairs : SOME_PAIRS, .halted = true};
    evaluation_step(&halts->evaluation, &span, went_by);
    for (size_t i = 0; i < halts->reading->counted; i++) {
        const struct overhead *overhead = &halts->overheads[i];
        struct value value = evaluation_value(&halts->evaluation, i, &went_by[i], pairs);
        bool is_free = overhead->known && overhead->high == 0;
        out[i] =
            (struct halts_count){.count = value.count,
                                 .plus_minus = overhead_plus_minus(overhead, pairs) +
                                               counter_coarseness(&halts->reading->counters[i]),
                                 .at_least = value.at_least,
                                 .at_most = !is_free && (pairs == 0 || !overhead->known) && !value.at_least};
    }
}
