/* Carries out a list of steps one by one, for comparison with the executor. */
#pragma once

#include "model_carrier.h"

#include <string.h>

static struct address word(uint32_t offset)
{
    return (struct address){.space = SPACE_MEMORY, .size = 4, .offset = offset};
}

/* One step after the other, straight on the target. */
static struct outcome direct(struct model *m, const struct step *steps, size_t n, uint64_t *results)
{
    for (size_t i = 0; i < n; i++) {
        const struct step *step = &steps[i];
        if (step->op == OP_TIME)
            continue;
        uint32_t offset = (uint32_t)step->at.offset;
        unsigned lane = step->at.size < 4 ? offset % 4 * 8 : 0;
        uint32_t shown = step->at.size < 4 ? (1U << 8 * step->at.size) - 1 : UINT32_MAX;
        if (step->op == OP_WRITE) {
            model_write(m, offset, (uint32_t)step->value << lane, shown << lane);
            continue;
        }
        unsigned patience = step->op == OP_UNTIL ? 1000 : 1;
        do {
            results[i] = model_read(m, offset) >> lane & shown;
        } while (step->op != OP_READ && (results[i] & step->mask) != step->value && --patience > 0);
        if (step->op != OP_READ && (results[i] & step->mask) != step->value)
            return (struct outcome){.why = step->op == OP_UNTIL ? NOT_YET : UNEXPECTED, .done = i};
    }
    return (struct outcome){.why = DONE, .done = n};
}

static size_t writes_of(const struct model *m, struct model_access *out)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n_log; i++)
        if (m->log[i].write)
            out[n++] = m->log[i];
    return n;
}

static void assert_same_results(const struct step *steps, size_t done, const uint64_t *got,
                                const uint64_t *wanted)
{
    for (size_t i = 0; i < done; i++) {
        uint64_t mask = steps[i].op == OP_UNTIL || steps[i].op == OP_EXPECT ? steps[i].mask : UINT64_MAX;
        if (steps[i].op == OP_TIME && got[i] == 0)
            fail_msg("step %zu has no time", i);
        /* the status register shows how often it was read */
        bool counted = steps[i].op == OP_READ && steps[i].at.offset == 0x3F04;
        if (steps[i].op == OP_WRITE || steps[i].op == OP_TIME || counted)
            continue;
        if ((got[i] & mask) != (wanted[i] & mask))
            fail_msg("step %zu: %llx instead of %llx", i, (unsigned long long)got[i],
                     (unsigned long long)wanted[i]);
    }
}

/* Checks the writes: in the wanted order, with at most `slack` more than wanted. */
static void assert_same_writes(const struct model *got, const struct model *wanted, size_t slack)
{
    static struct model_access a[MODEL_LOG], b[MODEL_LOG];
    size_t n = writes_of(got, a), m = writes_of(wanted, b);
    if (n < m || n > m + slack)
        fail_msg("%zu writes instead of %zu", n, m);
    assert_memory_equal(a, b, m * sizeof *a);
}

static void prepare(struct bench *bench, const struct model *spec)
{
    bench->model = *spec;
    if (!bench_connect(bench))
        fail_msg("%s", bench->error.text);
    if (spec->jtag) { /* the rest of a connection is for the wires */
        bench->executor.adi.jtag = true;
        assert_true(adi_measure_match(&bench->executor.adi, &bench->error) && bench_begin(bench));
        assert_int_equal(bench->executor.adi.loses_place, spec->loses_place);
    }
    for (uint32_t i = 0; i < 6; i++)
        model_cell(&bench->model, 0x23F0 + 4 * i)->value = 0x11110000 + i;
    for (uint32_t i = 0; i < 4; i++)
        model_cell(&bench->model, 0x1000 + 4 * i)->value = 0xA0B0C0D0 + i;
    bench->model.n_log = 0;
}
