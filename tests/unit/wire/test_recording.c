/* A run of a few calls, recorded and replayed: what the link answered, and what time it was. */
#include "base/deadline.h"
#include "links/link.h"
#include "test.h"
#include "wire/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Each time it is read it is later than before, by more each time. */
static int64_t now_us, step_us;

static int clock_in_steps(struct timespec *now)
{
    now_us += step_us += 1000;
    *now = (struct timespec){.tv_sec = now_us / 1000000, .tv_nsec = now_us % 1000000 * 1000};
    return 0;
}

TEST_TIME(clock_in_steps, test_no_nap)

static bool ends_badly(struct link *link, struct error *error)
{
    (void)link;
    return error_set(error, ERROR_LINK_LOST, "the probe was unplugged");
}

static void close_nothing(struct link *link)
{
    (void)link;
}

static struct link *open_link(void *context, struct error *error)
{
    static const struct link_ops ops = {.end = ends_badly, .close = close_nothing};
    static struct link link;
    (void)context;
    (void)error;
    link = (struct link){.ops = &ops};
    return &link;
}

/* What a run sees. */
struct seen {
    int64_t times[4];
    bool ended;
    struct error why;
};

static struct seen run(struct wire *wire, struct error *error)
{
    struct seen seen = {.times = {deadline_now_us()}};
    struct link *link = wire_connect(wire, open_link, NULL, error);
    assert_non_null(link);
    seen.times[1] = deadline_now_us();
    seen.ended = link_end(link, &seen.why);
    link_close(link);
    seen.times[2] = deadline_now_us();
    seen.times[3] = deadline_now_us();
    if (!wire_end(wire, 3, error))
        fail_msg("%s", error->text);
    wire_free(wire);
    return seen;
}

TEST(a_replay_sees_what_the_run_saw_up_to_its_end)
{
    char folder[] = "/tmp/pmu-probe-wire-XXXXXX", path[64], *words[] = {"pmu-probe", "info"};
    volatile sig_atomic_t cancel = 0;
    const struct wire_run of = {.version = "1", .n = 2, .words = words, .cancel = &cancel};
    struct error error = {0};
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/run.wire", folder);
    struct wire *wire = wire_record(path, &of, &error);
    assert_non_null(wire);
    struct seen was = run(wire, &error);
    assert_false(was.ended);
    assert_string_equal(was.why.text, "the probe was unplugged");
    wire = wire_replay(path, &of, &error);
    assert_non_null(wire);
    struct seen is = run(wire, &error);
    assert_false(is.ended);
    assert_int_equal(is.why.kind, was.why.kind);
    assert_string_equal(is.why.text, was.why.text);
    for (size_t i = 0; i < COUNT(was.times); i++)
        assert_int_equal(is.times[i] - is.times[0], was.times[i] - was.times[0]);
    unlink(path);
    rmdir(folder);
}
