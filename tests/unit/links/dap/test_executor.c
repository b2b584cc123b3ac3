/* The executor: rows of reads, waits, refusals, times, power. */
#include "reference.h"

/* What runs, and what it is like in the beginning. */
static struct bench bench, first;
static struct model spec;

static void begin(void)
{
    model_init(&spec);
    prepare(&first, &spec);
    bench_copy(&bench, &first);
}

static struct outcome run(const struct step *steps, size_t n, uint64_t *results)
{
    struct deadline deadline = deadline_in_ms(10000, NULL);
    error_clear(&bench.error);
    return executor_run(&bench.executor, steps, n, results, &deadline, &bench.error);
}

/* ---- rows of reads, several packets in flight */

enum { ROW = 300 };

static void make_row(struct step *steps)
{
    for (size_t i = 0; i < ROW; i++)
        steps[i] = i % 11 == 10 ? step_time(TIME_AFTER) : step_read(word(0x23F0 + 4 * (uint32_t)(i % 6)));
    steps[ROW - 2] = step_write(word(0x1000), 9);
    steps[ROW - 1] = step_expect(word(0x1000), 0xFF, 9);
}

TEST(test_rows)
{
    static struct model reference;
    static struct step steps[ROW];
    static uint64_t got[ROW], wanted[ROW];
    static const unsigned sizes[] = {64, 128, 512};
    for (size_t i = 0; i < 3; i++) {
        model_init(&spec);
        spec.packet_size = sizes[i];
        spec.packet_count = 4;
        prepare(&bench, &spec);
        make_row(steps);
        reference = bench.model;
        unsigned before = bench.model.packets;
        for (size_t done = 0; done < ROW;) { /* on a busy machine in several slices of time */
            struct outcome outcome = run(steps + done, ROW - done, got + done);
            assert_true(outcome.why == DONE || outcome.why == NOT_YET);
            done += outcome.done;
        }
        direct(&reference, steps, ROW, wanted);
        assert_same_results(steps, ROW, got, wanted);
        assert_same_writes(&bench.model, &reference, 0);
        assert_int_equal(bench.carrier.most, i < 2 ? 4 : 3);
        assert_in_range(bench.model.packets - before, 1, 3 * ROW / ((sizes[i] - 3) / 2) + 2);
    }
}

TEST(test_trouble_in_rows)
{
    static struct model reference;
    static struct step steps[ROW];
    static uint64_t got[ROW], wanted[ROW];
    model_init(&spec);
    spec.packet_count = 4;
    prepare(&first, &spec);
    bench_copy(&bench, &first);
    make_row(steps);
    for (int trouble = TROUBLE_NO_ACK; trouble < TROUBLES; trouble++)
        for (long at = 0; at < 450; at += 3) {
            bench_copy(&bench, &first);
            reference = bench.model;
            direct(&reference, steps, ROW, wanted);
            bench.model.trouble = (enum model_trouble)trouble;
            bench.model.trouble_at = bench.model.transactions + at;
            size_t done = 0;
            memset(got, 0, sizeof got);
            struct outcome outcome = {.why = NOT_YET};
            for (int calls = 0; calls < 50 && done < ROW && outcome.why != LINK_LOST; calls++) {
                outcome = run(steps + done, ROW - done, got + done);
                done += outcome.done;
                if (outcome.why == TARGET_FAULT || outcome.why == TARGET_WAIT) {
                    size_t reads =
                        0; /* nothing after the failure ran, but for the read that fetches its word */
                    for (size_t i = 0; i < done; i++)
                        reads += steps[i].op != OP_TIME;
                    if (bench.model.n_log > reads + 2)
                        fail_msg("trouble %d at %ld: %zu reads, %zu wanted", trouble, at, bench.model.n_log,
                                 reads);
                }
            }
            assert_same_results(steps, done, got, wanted);
            if (outcome.why == LINK_LOST && steps[done].op != OP_WRITE)
                fail_msg("trouble %d at %ld: lost at %zu: %s", trouble, at, done, bench.error.text);
            if (outcome.why == LINK_LOST)
                assert_int_equal(steps[done].op, OP_WRITE);
            else
                assert_int_equal(done, ROW);
        }
}

/* ---- single cases */

TEST(test_wait_in_vain)
{
    uint64_t results[2];
    begin();
    struct step steps[] = {step_read(word(0x1000)), step_until(word(0x1004), 0xFF, 0x55)};
    int64_t begun = deadline_now_us();
    struct outcome outcome = run(steps, 2, results);
    int64_t us = deadline_now_us() - begun;
    assert_int_equal(outcome.why, NOT_YET);
    assert_int_equal(outcome.done, 1);
    assert_int_equal(outcome.saw, 0xA0B0C0D1);
    assert_true(us >= 45000); /* at most: how busy the machine is */
}

TEST(test_patience)
{
    uint64_t result;
    begin();
    struct step proof = step_expect(word(0x1000), 0xFF, 0x55), wait = step_until(word(0x1004), 0xFF, 0x55);
    assert_int_equal(bench.model.match_retry, 25);
    struct outcome outcome = run(&proof, 1, &result);
    assert_int_equal(outcome.why, UNEXPECTED);
    assert_int_equal(outcome.saw, 0xA0B0C0D0);
    assert_int_equal(bench.model.match_retry, 2); /* the next proof that fails costs less */
    for (int i = 0; i < 32 && bench.model.match_retry == 2; i++)
        run(&wait, 1, &result);
    assert_in_range(bench.model.match_retry, 3, 25); /* by how long they took */
    struct adi *adi = &bench.executor.adi;
    adi->match_ns = adi->match_least_ns;                              /* a busy machine has made more of it */
    assert_true(adi_adjust_match(adi, false, 1000000, &bench.error)); /* far slower than it was measured */
    assert_int_equal(bench.model.match_retry, 12);
    assert_true(adi_adjust_match(adi, false, 100, &bench.error));
    assert_int_equal(bench.model.match_retry, 25);
}

/* Where a read changes the register only the first one can prove anything: no read follows a match
 * that failed, and none follows trouble. */
TEST(test_one_read_decides)
{
    uint64_t results[3];
    begin();
    struct step steps[] = {step_read(word(0x1000)), step_expect_once(word(0x1004), UINT32_MAX, 0x55),
                           step_read(word(0x1008))};
    bench_copy(&bench, &first);
    unsigned packets = bench.model.packets;
    struct outcome outcome = run(steps, 3, results);
    assert_int_equal(outcome.why, UNEXPECTED);
    assert_int_equal(outcome.done, 1);
    assert_int_equal(outcome.saw, 0);
    assert_int_equal(bench.model.packets - packets, 2); /* the other one asks for fewer reads of a match */

    steps[1].value = 0xA0B0C0D1;
    unsigned unproved = 0;
    for (int trouble = TROUBLE_NO_ACK; trouble < TROUBLES; trouble++)
        for (long at = 0; at < 20; at++) {
            bench_copy(&bench, &first);
            bench.model.trouble = (enum model_trouble)trouble;
            bench.model.trouble_at = bench.model.transactions + at;
            outcome = run(steps, 3, results);
            size_t reads = 0;
            for (size_t i = 0; i < bench.model.n_log; i++)
                reads += bench.model.log[i].address == 0x1004;
            unproved += outcome.why == UNEXPECTED;
            if (outcome.why == DONE && reads > 2) /* the second one is posted by the match */
                fail_msg("trouble %d at %ld: proved by %zu reads", trouble, at, reads);
            if (outcome.why == UNEXPECTED)
                assert_int_equal(outcome.done, 1);
        }
    assert_true(unproved > 0);
}

/* The model's 0x2F04 shows what was written to 0x2F00, with a bit that the first read of it removes. */
TEST(test_a_read_that_empties_a_register_is_filled_again)
{
    enum { FIRST = 1 << 24, FILLED = 0x00ABCDEF };
    uint64_t results[4];
    begin();
    struct step steps[] = {step_read(word(0x1000)), step_write(word(0x2F00), FILLED),
                           step_read_emptying(word(0x2F04), 1), step_read(word(0x1008))};
    unsigned filled_again = 0;
    for (int trouble = TROUBLE_NO_ACK; trouble < TROUBLES; trouble++)
        for (long at = 0; at < 16; at++) {
            bench_copy(&bench, &first);
            bench.model.trouble = (enum model_trouble)trouble;
            bench.model.trouble_at = bench.model.transactions + at;
            bench.model.n_log = 0;
            struct outcome outcome = run(steps, 4, results);
            size_t done = outcome.done;
            if (outcome.why == TARGET_FAULT || outcome.why == TARGET_WAIT) { /* as an engine goes on */
                outcome = run(steps + done, 4 - done, results + done);
            }
            size_t fills = 0;
            for (size_t i = 0; i < bench.model.n_log; i++)
                fills += bench.model.log[i].write && bench.model.log[i].address == 0x2F00;
            filled_again += fills > 1;
            if (outcome.why == DONE && results[2] != (FIRST | FILLED))
                fail_msg("trouble %d at %ld: 0x%llx", trouble, at, (unsigned long long)results[2]);
        }
    assert_true(filled_again > 0);
}

TEST(test_refused_steps)
{
    uint64_t results[3];
    begin();
    const struct address wrong[] = {
        {.space = SPACE_MEMORY, .size = 4, .offset = 0x1002},
        {.space = SPACE_MEMORY, .size = 4, .offset = UINT64_C(0x100000000)},
        {.space = SPACE_MEMORY, .size = 8, .offset = 0x1000},
        {.space = SPACE_MEMORY, .size = 4, .unit = 7, .offset = 0x1000},
        {.space = SPACE_MEMORY, .size = 4, .unit = 0x300, .offset = 0x1000},
        {.space = SPACE_AP, .size = 4, .offset = 0x100},
        {.space = SPACE_DP, .size = 4, .offset = 0x200},
        {.space = SPACE_MSR, .size = 8, .offset = 0x10},
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct step steps[] = {step_read(word(0x1000)), step_time(TIME_BEFORE), step_read(wrong[i])};
        struct outcome outcome = run(steps, 3, results);
        assert_int_equal(outcome.why, TARGET_FAULT);
        assert_int_equal(outcome.done, 2);
        assert_int_equal(results[0], 0xA0B0C0D0);
        assert_int_equal(bench.error.kind, ERROR_FAULT);
    }
}

TEST(test_registers_of_the_ports)
{
    uint64_t results[6];
    begin();
    struct address tar = {.space = SPACE_AP, .size = 4, .offset = 0x04}, idr = tar, stat = tar;
    idr.offset = 0xFC;
    stat.space = SPACE_DP;
    struct step steps[] = {step_read(word(0x1004)), step_read(stat),
                           step_read(idr),          step_write(tar, 0x1008),
                           step_read(word(0x1004)), step_expect(word(0x1008), UINT32_MAX, 0xA0B0C0D2)};
    struct outcome outcome = run(steps, 6, results);
    assert_int_equal(outcome.why, DONE);
    assert_int_equal(results[1], 0xF0000000);
    assert_int_equal(results[2], 0x04770031);
    assert_int_equal(results[4], 0xA0B0C0D1);
}

TEST(test_times)
{
    uint64_t results[7];
    begin();
    struct step steps[] = {step_time(TIME_AFTER),          step_time(TIME_BEFORE),
                           step_write(word(0x3F00), 0x55), step_time(TIME_AFTER),
                           step_time(TIME_BEFORE),         step_until(word(0x3F04), 0xFF, 0x55),
                           step_time(TIME_AFTER)};
    uint64_t begun = (uint64_t)deadline_now_us();
    assert_int_equal(run(steps, 7, results).why, DONE);
    uint64_t over = (uint64_t)deadline_now_us();
    assert_true(begun <= results[1] && results[1] <= results[3] && results[3] <= over &&
                results[4] <= results[6]);
    struct step none[] = {step_time(TIME_BEFORE), step_time(TIME_AFTER)};
    assert_int_equal(run(none, 2, results).why, DONE);
    assert_true(over <= results[0] && results[0] <= results[1]);
}

TEST(test_power_lost)
{
    uint64_t result;
    begin();
    struct step step = step_read(word(0x1000));
    bench.model.ports[0].control = 0;
    bench.model.silent = true;
    struct outcome outcome = run(&step, 1, &result);
    assert_int_equal(outcome.why, LINK_LOST);
    assert_error(&bench.error, ERROR_RESET, "");
    assert_int_equal(run(&step, 1, &result).why, DONE);
    bench.model.dead = true;
    outcome = run(&step, 1, &result);
    assert_int_equal(outcome.why, TARGET_WAIT);
    assert_int_equal(bench.error.kind, ERROR_ASLEEP);
    bench.model.dead = false;
    bench.model.silent = true;
    assert_int_equal(run(&step, 1, &result).why, DONE);
}
