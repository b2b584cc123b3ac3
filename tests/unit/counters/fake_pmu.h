/*
 * A link to one PMU, for unit tests: its 4 KB block as an array in which the registers that set, clear and
 * lock do so, and a log of every write. What no tool may do to it fails the test on the spot.
 */
#pragma once

#include "counters/counter.h"
#include "links/ledger.h"
#include "test.h"

#include <stdio.h>

enum { FAKE_WORDS = 0x400, FAKE_LOG = 128 };

static struct fake_pmu {
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
} f;

/* What is there, and what was made of it. */
static struct core core;
static struct counter_block block;

static inline uint32_t fake_read(uint64_t offset)
{
    f.n_reads++;
    for (size_t i = 0; i < 4; i++)
        assert_true(f.missing[i] == 0 || f.missing[i] != offset);
    switch (offset) {
    case 0xC20:
    case 0xC60:
        return f.words[(offset - 0x20) / 4];
    case 0xFB0:
        return 0;
    case 0xFB4:
        return f.locked ? 3 : 1;
    default:
        return f.words[offset / 4];
    }
}

static inline void fake_write(uint64_t offset, uint32_t value)
{
    uint32_t *word = &f.words[offset / 4];
    bool is_type = offset >= 0x400 && offset < 0x47C;
    if (offset == 0xFB0)
        f.locked = value != 0xC5ACCE55;
    if (f.locked || (f.traced_only && (f.demcr & 0x01000000) == 0))
        return;
    assert_true(!is_type || (value & 0xFFFF) != 0xFF);
    assert_true(offset < 0xE00 || offset == 0xE04 || offset == 0xFB0);
    assert_int_not_equal(offset, 0xCA0);
    if (offset == 0xE04)
        assert_int_equal(value & 6, 0);
    if (offset == 0xC00 || offset == 0xC40)
        *word |= value;
    else if (offset == 0xC20 || offset == 0xC60)
        f.words[(offset - 0x20) / 4] &= ~value;
    else if (offset == 0xC80)
        *word &= ~value;
    else if (offset == 0xE04)
        *word = (*word & 0xFFFFF800) | (value & 0x7FF);
    else
        *word = is_type || offset == 0x47C ? value & f.type_mask : value;
}

static inline struct outcome fake_execute(struct link *link, const struct step *steps, size_t n,
                                          uint64_t *results, const struct deadline *deadline,
                                          struct error *error)
{
    (void)link;
    (void)deadline;
    (void)error;
    for (size_t i = 0; i < n; i++) {
        bool demcr = steps[i].at.offset == 0xE000EDFC && f.traced_only;
        uint64_t offset = steps[i].at.offset - f.base;
        assert_true(demcr || offset < 4 * (uint64_t)FAKE_WORDS);
        assert_int_equal(steps[i].at.size, 4);
        if (steps[i].op == OP_READ || steps[i].op == OP_EXPECT) {
            results[i] = demcr ? f.demcr : fake_read(offset);
            if (steps[i].op == OP_EXPECT && (results[i] & steps[i].mask) != steps[i].value)
                return (struct outcome){.why = UNEXPECTED, .done = i, .saw = results[i]};
            continue;
        }
        assert_int_equal(steps[i].op, OP_WRITE);
        assert_true(f.n_writes < FAKE_LOG);
        uint32_t value = (uint32_t)steps[i].value;
        f.writes[f.n_writes++] = (struct fake_access){demcr ? 0xE000EDFC : offset, value};
        if (demcr)
            f.demcr = value;
        else
            fake_write(offset, value);
    }
    return (struct outcome){.why = DONE, .done = n};
}

static inline void fake_set_up(void)
{
    static const struct link_ops ops = {.execute = fake_execute, .exact_faults = true};
    f = (struct fake_pmu){.link = {.ops = &ops}, .type_mask = UINT32_MAX};
    f.ledger = ledger_new(&f.link);
    f.deadline = deadline_in_ms(60000, NULL);
    assert_non_null(f.ledger);
}

static inline void fake_tear_down(void)
{
    ledger_free(f.ledger);
}

#define FAKE_TEST(name) TEST_BETWEEN(name, fake_set_up, fake_tear_down)

static inline uint32_t *fake_word(uint64_t offset)
{
    return &f.words[offset / 4];
}

/* As target.c does it. */
static inline bool fake_identify(const struct block_kind *kind)
{
    struct step items[BLOCK_IDENTITY];
    uint64_t values[BLOCK_IDENTITY] = {0};
    struct steps list = {.items = items, .room = BLOCK_IDENTITY};
    kind->add_identity(&core, &list);
    assert_false(list.overflow);
    assert_int_equal(fake_execute(&f.link, items, list.n, values, NULL, NULL).why, DONE);
    return kind->identify(&core, values, &block);
}

/* Of a core without one. */
static inline void fake_must_not_read(const struct block_kind *kind, const struct core *other)
{
    struct step items[BLOCK_IDENTITY];
    struct steps list = {.items = items, .room = BLOCK_IDENTITY};
    kind->add_identity(other, &list);
    assert_int_equal(list.n, 0);
    assert_false(kind->identify(other, NULL, &block));
}

static inline void fake_take_found(void)
{
    f.n_writes = 0;
    for (size_t i = 0; i < block.n_settings; i++)
        assert_true(ledger_apply(f.ledger, &block.settings[i], &f.deadline, &f.error));
}

static inline void fake_take(const struct block_kind *kind)
{
    assert_true(fake_identify(kind));
    fake_take_found();
}

/* Programs counters, each with an event; false when the PMU does not show what was written. */
static inline bool fake_program(const struct counter_pick *picks, size_t n)
{
    struct setting settings[BLOCK_PASS_SETTINGS];
    size_t count = block.kind->program(&core, &block, picks, n, settings, BLOCK_PASS_SETTINGS);
    f.n_writes = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t now = 0;
        assert_true(ledger_apply(f.ledger, &settings[i], &f.deadline, &f.error));
        assert_true(ledger_read(f.ledger, settings[i].at, &now, &f.deadline, &f.error));
        if ((now & settings[i].test) != settings[i].set)
            return false;
    }
    return true;
}

static inline void fake_undo(void)
{
    f.n_writes = 0;
    assert_true(ledger_undo(f.ledger, &f.deadline, &f.error));
}

/* By each code in turn, in pairs: the counters that can count it. */
static inline void fake_counts(const uint32_t (*codes)[2], size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (block.kind->counters_for(&block, codes[i][0]) != codes[i][1])
            fail_msg("0x%X", (unsigned)codes[i][0]);
}

#define FAKE_COUNTS(...)                                                                                     \
    fake_counts((const uint32_t[][2]){__VA_ARGS__}, COUNT(((const uint32_t[][2]){__VA_ARGS__})))

static inline void fake_wrote(const struct fake_access *wanted, size_t n)
{
    for (size_t i = 0; i < n && i < f.n_writes; i++)
        if (f.writes[i].offset != wanted[i].offset || f.writes[i].value != wanted[i].value)
            fail_msg("write %zu is 0x%X to 0x%X, not 0x%X to 0x%X", i, (unsigned)f.writes[i].value,
                     (unsigned)f.writes[i].offset, (unsigned)wanted[i].value, (unsigned)wanted[i].offset);
    assert_int_equal(f.n_writes, n);
}

#define FAKE_WROTE(...)                                                                                      \
    fake_wrote((const struct fake_access[]){__VA_ARGS__}, COUNT(((const struct fake_access[]){__VA_ARGS__})))
