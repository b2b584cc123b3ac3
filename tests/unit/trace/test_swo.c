/* Which baud SWO is opened with, by what the probe makes of those that it is asked for. */
#include "fake_link.h"
#include "test.h"
#include "trace/trace.h"

#include <math.h>

enum { TRIES = 32, CLOCK = 64000000 };

static struct probe {
    struct fake_link fake; /* first */
    double makes[TRIES];   /* of each baud in turn: how far off it is; at the end 1 */
    uint32_t asked[TRIES];
    size_t n;
} probe;

static bool probe_start(struct link *link, struct link_trace *way, struct error *error)
{
    (void)link;
    (void)error;
    assert_true(probe.n < TRIES);
    probe.asked[probe.n] = way->baud;
    double makes = probe.makes[probe.n++];
    way->baud = (uint32_t)lround(way->baud * (makes > 0 ? makes : 1));
    return true;
}

/* The dividers that are tried, one after the other, until one is taken. */
static uint32_t divider_taken(void)
{
    static const struct link_ops ops = {
        .execute = fake_execute, .exact_faults = true, .trace_start = probe_start};
    static const struct trace_request request = {.clock_hz = CLOCK};
    struct device_core core = {.server_unit = 0};
    static struct device device;
    static struct trace trace;
    struct error error = {0};
    struct deadline deadline = deadline_in_ms(60000, NULL);
    bool more;
    fake_init(&probe.fake);
    probe.fake.link.ops = &ops;
    probe.n = 0;
    device = (struct device){.link = &probe.fake.link, .chosen = &core};
    device.ledger = ledger_new(&probe.fake.link);
    trace = (struct trace){.device = &device, .request = &request};
    assert_true(trace_swo.again(&trace, &more, &deadline, &error));
    assert_true(more);
    ledger_free(device.ledger);
    return trace.divider;
}

TEST(a_baud_that_is_off_is_passed_over_whichever_way)
{
    enum { FASTEST = 7 }; /* of 64 MHz, the first below 10 MBd */
    static const double off[] = {0.9, 0.985, 1.015, 1.1};
    for (size_t i = 0; i < COUNT(off); i++) {
        memset(probe.makes, 0, sizeof probe.makes);
        assert_int_equal(divider_taken(), FASTEST);
        probe.makes[0] = off[i];
        assert_int_equal(divider_taken(), FASTEST + 1);
        assert_int_equal(probe.n, 2);
        probe.makes[0] = 1 + (off[i] - 1) / 100;
        assert_int_equal(divider_taken(), FASTEST);
    }
}
