/*
 * Random lists of steps through compiler, executor and decoder and a modelled probe must end as the same
 * steps carried out one by one, whatever goes wrong at whichever transaction.
 */
#include "reference.h"

enum { STEPS = 60, LONG = 240, CALLS = 400 };

static uint32_t seed;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

/* Few addresses, so that windows, runs and returns are all frequent; across a 1 KB border, too. */
static uint32_t some_address(void)
{
    static const uint32_t bases[] = {0x1000, 0x1004, 0x1008, 0x100C, 0x2000, 0x2004, 0x23F8,
                                     0x23FC, 0x2400, 0x2404, 0x3F00, 0x3F04, 0x3F08, 0x3F0C};
    return bases[random_below(COUNT(bases))];
}

/* Steps that succeed most of the time: `expected` follows what a target would hold. */
static size_t make_steps(struct step *steps, size_t n, const struct model *before)
{
    static struct model copy;
    copy = *before;
    for (size_t i = 0; i < n; i++) {
        uint32_t at = some_address(), value;
        switch (random_below(12)) {
        case 0:
        case 1:
        case 2:
            steps[i] = step_read(word(at));
            model_read(&copy, at);
            break;
        case 3:
        case 4: /* a run of neighbours */
            for (uint32_t k = 0; k < 6 && i < n; k++, i++) {
                steps[i] = step_read(word(0x23F0 + 4 * k));
                model_read(&copy, 0x23F0 + 4 * k);
            }
            i--;
            break;
        case 5:
        case 6:
            value = random_below(1 << 20);
            steps[i] = step_write(word(at == 0x3F04 ? 0x2000 : at), value);
            model_write(&copy, (uint32_t)steps[i].at.offset, value, UINT32_MAX);
            break;
        case 7: { /* a wait that ends: the control word is written, the status appears */
            uint32_t control = random_below(12) << 28 | random_below(1 << 16);
            steps[i] = step_write(word(0x3F00), control);
            model_write(&copy, 0x3F00, control, UINT32_MAX);
            if (++i < n) {
                uint32_t mask = random_below(2) ? 0xFFFF : 0xF;
                steps[i] = step_until(word(0x3F04), mask, control & mask);
                while ((model_read(&copy, 0x3F04) & mask) != (control & mask))
                    ;
            }
            break;
        }
        case 8:
        case 9: {
            static const uint32_t masks[] = {0xFFFFFFFF, 0xFFFFFFFE, 0xFFFF, 0x10000};
            uint32_t mask = masks[random_below(4)];
            if (at == 0x3F04)
                at = 0x1000;
            value = model_read(&copy, at) & mask;
            if (random_below(25) == 0)
                value ^= mask & 0x10002;
            steps[i] = step_expect(word(at), mask, value);
            break;
        }
        case 10: /* narrow */
            steps[i] = random_below(2) ? step_write(word(at == 0x3F04 ? 0x1000 : at), random_below(256))
                                       : step_read(word(at));
            steps[i].at.size = random_below(2) ? 1 : 2;
            steps[i].at.offset = (at == 0x3F00 || at == 0x3F04 ? 0x1004 : at) + random_below(2) * 2;
            if (steps[i].op == OP_WRITE) {
                unsigned lane = (unsigned)(steps[i].at.offset % 4 * 8);
                uint32_t lanes = (steps[i].at.size == 1 ? 0xFFU : 0xFFFFU) << lane;
                model_write(&copy, (uint32_t)steps[i].at.offset, (uint32_t)steps[i].value << lane, lanes);
            }
            break;
        default:
            steps[i] = step_time(random_below(2) ? TIME_BEFORE : TIME_AFTER);
        }
    }
    return n;
}

static size_t make_list(struct step *steps, const struct model *before)
{
    return make_steps(steps, 5 + random_below(STEPS - 10), before);
}

static void run_plain(const struct model *spec, unsigned rounds)
{
    static struct bench bench;
    static struct model reference;
    struct step steps[STEPS + 8];
    uint64_t got[STEPS + 8] = {0}, wanted[STEPS + 8] = {0};
    prepare(&bench, spec);
    for (unsigned round = 0; round < rounds; round++) {
        size_t n = make_list(steps, &bench.model);
        reference = bench.model;
        reference.n_log = bench.model.n_log = 0;
        struct outcome right = direct(&reference, steps, n, wanted);
        struct outcome outcome = {.why = NOT_YET};
        size_t done = 0;
        memset(got, 0, sizeof got);
        for (int calls = 0; calls < 50 && outcome.why == NOT_YET && done < n; calls++) {
            struct deadline deadline = deadline_in_ms(10000, NULL);
            error_clear(&bench.error);
            outcome =
                executor_run(&bench.executor, steps + done, n - done, got + done, &deadline, &bench.error);
            done += outcome.done;
        }
        if (outcome.why != right.why || done != right.done)
            fail_msg("round %u: why %d at %zu instead of %d at %zu: %s", round, outcome.why, done, right.why,
                     right.done, bench.error.text);
        if (outcome.why == UNEXPECTED)
            assert_true((outcome.saw & steps[done].mask) != steps[done].value);
        assert_same_results(steps, done, got, wanted);
        assert_same_writes(&bench.model, &reference, 0);
        assert_int_equal(bench.model.overlong, 0);
    }
}

TEST(test_packet_sizes)
{
    static struct model spec;
    static const unsigned sizes[] = {64, 65, 70, 127, 128, 256, 512, 1024};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        model_init(&spec);
        seed = (uint32_t)i;
        spec.packet_size = sizes[i];
        run_plain(&spec, CALLS);
        spec.pads = true;
        run_plain(&spec, CALLS / 4);
        spec.packet_count = 2;
        run_plain(&spec, CALLS / 4);
    }
}

TEST(test_over_jtag)
{
    static struct model spec;
    model_init(&spec);
    spec.jtag = true;
    seed = 99;
    run_plain(&spec, CALLS);
    spec.packet_size = 512;
    run_plain(&spec, CALLS);
}

/* free-dap's two ways. */
TEST(test_firmware_that_reads_less_often_or_loses_its_place)
{
    static struct model spec;
    for (unsigned kind = 0; kind < 8; kind++) {
        model_init(&spec);
        spec.jtag = kind & 1;
        spec.loses_place = spec.jtag;
        spec.fewer_reads = true;
        spec.packet_size = kind & 2 ? 512 : 64;
        spec.pads = kind & 4;
        seed = 50 + kind;
        run_plain(&spec, CALLS / 2);
    }
}

TEST(test_without_match)
{
    static struct model spec;
    model_init(&spec);
    spec.has_match = false;
    seed = 77;
    run_plain(&spec, CALLS / 4);
}

/* ---- trouble at every transaction */

/* What is heard when nobody acknowledges: three bits as they were on the line. */
static const uint8_t silences[] = {7, 0, 3, 5, 6};

static unsigned most_in_flight;

/* Enough packets without a failure for two to be in flight, and the trial of that. */
static void make_smooth(struct bench *bench)
{
    struct step steps[LONG];
    uint64_t results[LONG];
    struct deadline deadline = deadline_in_ms(10000, NULL);
    for (size_t i = 0; i < LONG; i++)
        steps[i] = i % 2 ? step_expect(word(0x2000), UINT32_MAX, i) : step_write(word(0x2000), i + 1);
    for (int i = 0; i < 3; i++)
        for (size_t done = 0; done < LONG;) { /* on a busy machine in several slices of time */
            struct outcome outcome = executor_run(&bench->executor, steps + done, LONG - done, results + done,
                                                  &deadline, &bench->error);
            assert_true(outcome.why == DONE || outcome.why == NOT_YET);
            done += outcome.done;
        }
    assert_int_equal(bench->carrier.most, 2);
    bench->model.n_log = 0;
}

static void run_troubled(unsigned size, bool pads, bool jtag, bool pairs, enum model_trouble trouble,
                         uint32_t list_seed)
{
    static struct bench bench, begin;
    static struct model reference;
    struct step steps[LONG + 8];
    uint64_t got[LONG + 8] = {0}, wanted[LONG + 8] = {0};
    static struct model spec;
    model_init(&spec);
    spec.packet_size = size;
    spec.packet_count = pairs ? 2 : 1;
    spec.pads = pads;
    spec.jtag = jtag;
    spec.nobody = silences[list_seed % sizeof silences];
    prepare(&begin, &spec);
    if (pairs)
        make_smooth(&begin);
    seed = list_seed;
    size_t n = pairs ? make_steps(steps, LONG, &begin.model) : make_list(steps, &begin.model);
    struct test_sweep sweep =
        test_sweep(1, pairs ? 32 : 8, "%u, %d, %d, %d, %u", size, pads, jtag, (int)trouble, list_seed);
    for (long at = 0; at < 4000; at++) {
        if (!test_takes(&sweep, at))
            continue;
        bench_copy(&bench, &begin);
        bench.carrier.most = 0;
        reference = bench.model;
        struct outcome right = direct(&reference, steps, n, wanted);
        bench.model.trouble = trouble;
        bench.model.trouble_at = bench.model.transactions + at;
        bool over = false;
        size_t done = 0;
        memset(got, 0, sizeof got);
        struct outcome outcome = {.why = NOT_YET};
        for (int calls = 0; calls < 50; calls++) {
            struct deadline deadline = deadline_in_ms(10000, NULL);
            error_clear(&bench.error);
            outcome =
                executor_run(&bench.executor, steps + done, n - done, got + done, &deadline, &bench.error);
            done += outcome.done;
            if (outcome.why == LINK_LOST || outcome.why == DONE || outcome.why == UNEXPECTED || done == n)
                break;
            assert_true(outcome.why == NOT_YET || bench.error.kind != ERROR_NONE);
        }
        over = bench.model.transactions <= bench.model.trouble_at;
        most_in_flight = bench.carrier.most > most_in_flight ? bench.carrier.most : most_in_flight;
        if (trouble == TROUBLE_LATE) /* nothing was given up */
            assert_int_equal(bench.model.aborts, 0);
        if (outcome.why == LINK_LOST) { /* a write whose end nobody knows */
            assert_int_equal(steps[done].op, OP_WRITE);
            assert_true(trouble == TROUBLE_STUCK || trouble == TROUBLE_STUCK_DONE);
            reference = begin.model;
            reference.n_log = 0;
            direct(&reference, steps, done, wanted);
            assert_same_results(steps, done, got, wanted);
            bench.model.n_log = bench.model.n_log > MODEL_LOG ? MODEL_LOG : bench.model.n_log;
            assert_same_writes(&bench.model, &reference, 1);
            continue;
        }
        if (outcome.why != right.why || done != right.done)
            fail_msg("trouble %d at %ld: why %d at %zu instead of %d at %zu: %s", trouble, at, outcome.why,
                     done, right.why, right.done, bench.error.text);
        assert_same_results(steps, done, got, wanted);
        assert_same_writes(&bench.model, &reference, 0);
        if (over)
            return;
    }
    fail_msg("no end");
}

TEST(test_trouble_anywhere)
{
    for (int trouble = TROUBLE_NO_ACK; trouble < TROUBLES; trouble++)
        for (uint32_t list = 0; list < 12; list++) {
            run_troubled(512, false, false, false, (enum model_trouble)trouble, list);
            run_troubled(512, true, false, false, (enum model_trouble)trouble, list + 100);
        }
}

TEST(test_trouble_with_two_packets_in_flight)
{
    for (int trouble = TROUBLE_NO_ACK; trouble < TROUBLES; trouble++)
        for (uint32_t list = 0; list < 12; list++) {
            most_in_flight = 0;
            run_troubled(256, list % 2 != 0, false, true, (enum model_trouble)trouble, list + 500);
            assert_int_equal(most_in_flight, 2);
        }
}

/* Small packets have no room for guards: a write lost just before a wait is the caller's proofs' to find. */
TEST(test_trouble_on_the_wires_in_small_packets)
{
    for (int trouble = TROUBLE_NO_ACK; trouble <= TROUBLE_DATA; trouble++)
        for (uint32_t list = 0; list < 12; list++)
            run_troubled(64, list % 2 != 0, false, false, (enum model_trouble)trouble, list + 200);
}

TEST(test_trouble_over_jtag)
{
    for (int trouble = TROUBLE_NO_ACK; trouble < TROUBLES; trouble++)
        for (uint32_t list = 0; list < 12; list++) {
            if (trouble == TROUBLE_ACK_LOST || trouble == TROUBLE_PARITY || trouble == TROUBLE_DATA)
                continue; /* JTAG has no data phase to lose, and no parity */
            run_troubled(64, list % 2 != 0, true, false, (enum model_trouble)trouble, list + 300);
            run_troubled(512, list % 2 == 0, true, false, (enum model_trouble)trouble, list + 400);
        }
}

TEST(test_probe_taken_away_at_each_packet)
{
    static struct bench bench;
    static struct model spec, reference;
    struct step steps[STEPS + 8];
    uint64_t got[STEPS + 8] = {0}, wanted[STEPS + 8] = {0};
    for (long at = 0;; at++) {
        model_init(&spec);
        prepare(&bench, &spec);
        seed = 5;
        size_t n = make_list(steps, &bench.model);
        bench.carrier.lose_at = bench.carrier.sent + at;
        reference = bench.model;
        struct deadline deadline = deadline_in_ms(10000, NULL);
        struct outcome outcome = executor_run(&bench.executor, steps, n, got, &deadline, &bench.error);
        if (outcome.why != LINK_LOST)
            break;
        assert_int_equal(bench.error.kind, ERROR_LINK_LOST);
        direct(&reference, steps, outcome.done, wanted);
        assert_same_results(steps, outcome.done, got, wanted);
        assert_same_writes(&bench.model, &reference, 0);
        assert_int_equal(executor_run(&bench.executor, steps, n, got, &deadline, &bench.error).why,
                         LINK_LOST);
    }
}
