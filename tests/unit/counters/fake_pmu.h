/*
 * A link to one PMU, for unit tests: its 4 KB block as an array in which the registers that set, clear and
 * lock do so, and a log of every write. What no tool may do to it fails the test on the spot.
 */
#pragma once

#include "counters/counter.h"
#include "links/ledger.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

enum { FAKE_WORDS = 0x400, FAKE_LOG = 128 };

struct fake_pmu {
    struct link link;
    uint64_t base;
    uint32_t words[FAKE_WORDS];
    uint32_t demcr;
    uint32_t type_mask;  /* bits of an event type that exist */
    uint64_t missing[4]; /* offsets that this PMU does not have */
    bool locked, traced_only;
    struct fake_access {
        uint64_t offset, value;
    } writes[FAKE_LOG];
    size_t n_writes, n_reads;
    struct ledger *ledger;
    struct deadline deadline;
    struct error error;
};

static uint32_t fake_read(struct fake_pmu *f, uint64_t offset)
{
    f->n_reads++;
    for (size_t i = 0; i < 4; i++)
        assert_true(f->missing[i] == 0 || f->missing[i] != offset);
    switch (offset) {
    case 0xC20:
    case 0xC60:
        return f->words[(offset - 0x20) / 4];
    case 0xFB0:
        return 0;
    case 0xFB4:
        return f->locked ? 3 : 1;
    default:
        return f->words[offset / 4];
    }
}

static void fake_write(struct fake_pmu *f, uint64_t offset, uint32_t value)
{
    uint32_t *word = &f->words[offset / 4];
    bool is_type = offset >= 0x400 && offset < 0x47C;
    if (offset == 0xFB0)
        f->locked = value != 0xC5ACCE55;
    if (f->locked || (f->traced_only && (f->demcr & 0x01000000) == 0))
        return;
    assert_true(!is_type || (value & 0xFFFF) != 0xFF);
    assert_true(offset < 0xE00 || offset == 0xE04 || offset == 0xFB0);
    assert_int_not_equal(offset, 0xCA0);
    if (offset == 0xE04)
        assert_int_equal(value & 6, 0);
    if (offset == 0xC00 || offset == 0xC40)
        *word |= value;
    else if (offset == 0xC20 || offset == 0xC60)
        f->words[(offset - 0x20) / 4] &= ~value;
    else if (offset == 0xC80)
        *word &= ~value;
    else if (offset == 0xE04)
        *word = (*word & 0xFFFFF800) | (value & 0x7FF);
    else
        *word = is_type || offset == 0x47C ? value & f->type_mask : value;
}

static struct outcome fake_execute(struct link *link, const struct step *steps, size_t n, uint64_t *results,
                                   const struct deadline *deadline, struct error *error)
{
    struct fake_pmu *f = (struct fake_pmu *)link;
    (void)deadline;
    (void)error;
    for (size_t i = 0; i < n; i++) {
        bool demcr = steps[i].at.offset == 0xE000EDFC && f->traced_only;
        uint64_t offset = steps[i].at.offset - f->base;
        assert_true(demcr || offset < 4 * (uint64_t)FAKE_WORDS);
        assert_int_equal(steps[i].at.size, 4);
        if (steps[i].op == OP_READ || steps[i].op == OP_EXPECT) {
            results[i] = demcr ? f->demcr : fake_read(f, offset);
            if (steps[i].op == OP_EXPECT && (results[i] & steps[i].mask) != steps[i].value)
                return (struct outcome){.why = UNEXPECTED, .done = i, .saw = results[i]};
            continue;
        }
        assert_int_equal(steps[i].op, OP_WRITE);
        assert_true(f->n_writes < FAKE_LOG);
        uint32_t value = (uint32_t)steps[i].value;
        f->writes[f->n_writes++] = (struct fake_access){demcr ? 0xE000EDFC : offset, value};
        if (demcr)
            f->demcr = value;
        else
            fake_write(f, offset, value);
    }
    return (struct outcome){.why = DONE, .done = n};
}

static int fake_set_up(void **state)
{
    static const struct link_ops ops = {.execute = fake_execute, .exact_faults = true};
    static struct fake_pmu fake;
    fake = (struct fake_pmu){.link = {.ops = &ops}, .type_mask = UINT32_MAX};
    fake.ledger = ledger_new(&fake.link);
    fake.deadline = deadline_in_ms(60000, NULL);
    *state = &fake;
    return fake.ledger == NULL;
}

static int fake_tear_down(void **state)
{
    ledger_free(((struct fake_pmu *)*state)->ledger);
    return 0;
}

#define FAKE_TEST(name) TEST_WITH(name, fake_set_up, fake_tear_down)

static uint32_t *fake_word(struct fake_pmu *f, uint64_t offset)
{
    return &f->words[offset / 4];
}

/* As target.c does it. */
static bool fake_identify(struct fake_pmu *f, const struct block_kind *kind, const struct core *core,
                          struct counter_block *block)
{
    struct step items[BLOCK_IDENTITY];
    uint64_t values[BLOCK_IDENTITY] = {0};
    struct steps list = {.items = items, .room = BLOCK_IDENTITY};
    kind->add_identity(core, &list);
    assert_false(list.overflow);
    assert_int_equal(fake_execute(&f->link, items, list.n, values, NULL, NULL).why, DONE);
    return kind->identify(core, values, block);
}

static size_t fake_reads(const struct block_kind *kind, const struct core *core)
{
    struct step items[BLOCK_IDENTITY];
    struct steps list = {.items = items, .room = BLOCK_IDENTITY};
    kind->add_identity(core, &list);
    return list.n;
}

static void fake_take(struct fake_pmu *f, const struct counter_block *block)
{
    f->n_writes = 0;
    for (size_t i = 0; i < block->n_settings; i++)
        assert_true(ledger_apply(f->ledger, &block->settings[i], &f->deadline, &f->error));
}

/* Programs counters, each with an event; false when the PMU does not show what was written. */
static bool fake_program(struct fake_pmu *f, const struct core *core, const struct counter_block *block,
                         const struct counter_pick *picks, size_t n)
{
    struct setting settings[BLOCK_PASS_SETTINGS];
    size_t count = block->kind->program(core, block, picks, n, settings, BLOCK_PASS_SETTINGS);
    f->n_writes = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t now = 0;
        assert_true(ledger_apply(f->ledger, &settings[i], &f->deadline, &f->error));
        assert_true(ledger_read(f->ledger, settings[i].at, &now, &f->deadline, &f->error));
        if ((now & settings[i].test) != settings[i].set)
            return false;
    }
    return true;
}

static void fake_undo(struct fake_pmu *f)
{
    f->n_writes = 0;
    assert_true(ledger_undo(f->ledger, &f->deadline, &f->error));
}

static void fake_wrote(const struct fake_pmu *f, const struct fake_access *wanted, size_t n)
{
    for (size_t i = 0; i < n && i < f->n_writes; i++)
        if (f->writes[i].offset != wanted[i].offset || f->writes[i].value != wanted[i].value)
            fail_msg("write %zu is 0x%X to 0x%X, not 0x%X to 0x%X", i, (unsigned)f->writes[i].value,
                     (unsigned)f->writes[i].offset, (unsigned)wanted[i].value, (unsigned)wanted[i].offset);
    assert_int_equal(f->n_writes, n);
}

#define FAKE_WROTE(f, ...)                                                                                   \
    fake_wrote((f), (const struct fake_access[]){__VA_ARGS__},                                               \
               sizeof((const struct fake_access[]){__VA_ARGS__}) / sizeof(struct fake_access))
