/* A run of a few calls, recorded and replayed: what the link answered, and what time it was. */
#include "base/deadline.h"
#include "links/link.h"
#include "test.h"
#include "wire/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

enum { VIEWS = VIEW_RESET + 1 };

/* One in each state. */
static size_t view_in_each_state(struct link *link, struct link_view *out, size_t room, struct error *error)
{
    (void)link;
    (void)error;
    assert_true(room >= VIEWS);
    for (unsigned i = 0; i < VIEWS; i++)
        out[i] = (struct link_view){.unit = (uint16_t)(i << 8),
                                    .name = "chip.cpu",
                                    .type = "cortex_a",
                                    .is_core = i != 1,
                                    .has_port = i != 2,
                                    .port = (uint16_t)(i + 1),
                                    .debug_base = 0x80010000 + i,
                                    .core_id = i,
                                    .state = (enum view_state)i,
                                    .counts_only = i == 3};
    return VIEWS;
}

static bool runs_nothing(struct link *link, uint16_t unit, bool runs, const struct deadline *deadline,
                         struct error *error)
{
    (void)link;
    (void)unit;
    (void)runs;
    (void)deadline;
    return error_set(error, ERROR_STATE, "not now");
}

/* `context`: not NULL if a server is between. */
static struct link *open_link(void *context, struct error *error)
{
    static const struct link_ops ops = {
        .views = view_in_each_state, .end = ends_badly, .close = close_nothing};
    static struct link_ops with_server;
    static struct link link;
    (void)error;
    with_server = ops;
    with_server.server_run = runs_nothing;
    link = (struct link){.ops = context != NULL ? &with_server : &ops};
    return &link;
}

/* What a run sees. */
struct seen {
    int64_t times[4];
    struct link_view views[VIEWS];
    size_t n_views;
    bool has_server;
    bool ended;
    struct error why;
};

static struct seen run(struct wire *wire, bool with_server, struct error *error)
{
    struct seen seen = {.times = {deadline_now_us()}};
    struct link *link = wire_connect(wire, open_link, with_server ? &seen : NULL, error);
    assert_non_null(link);
    seen.times[1] = deadline_now_us();
    seen.has_server = link_has_server(link);
    seen.n_views = link_views(link, seen.views, VIEWS, error);
    seen.ended = link_end(link, &seen.why);
    link_close(link);
    seen.times[2] = deadline_now_us();
    seen.times[3] = deadline_now_us();
    if (!wire_end(wire, 3, error))
        fail_msg("%s", error->text);
    wire_free(wire);
    return seen;
}

static void assert_views(const struct seen *seen)
{
    struct link_view views[VIEWS];
    assert_int_equal(seen->n_views, view_in_each_state(NULL, views, VIEWS, NULL));
    for (size_t i = 0; i < VIEWS; i++) {
        const struct link_view *is = &seen->views[i], *was = &views[i];
        if (is->unit != was->unit || strcmp(is->name, was->name) != 0 || strcmp(is->type, was->type) != 0 ||
            is->is_core != was->is_core || is->has_port != was->has_port || is->port != was->port ||
            is->debug_base != was->debug_base || is->core_id != was->core_id || is->state != was->state ||
            is->counts_only != was->counts_only)
            fail_msg("view %zu", i);
    }
}

static void record_and_replay(const char *path, bool with_server)
{
    char *words[] = {"pmu-probe", "info"};
    volatile sig_atomic_t cancel = 0;
    const struct wire_run of = {.version = "1", .n = 2, .words = words, .cancel = &cancel};
    struct error error = {0};
    struct wire *wire = wire_record(path, &of, &error);
    assert_non_null(wire);
    struct seen was = run(wire, with_server, &error);
    assert_false(was.ended);
    assert_string_equal(was.why.text, "the probe was unplugged");
    wire = wire_replay(path, &of, &error);
    assert_non_null(wire);
    struct seen is = run(wire, with_server, &error);
    assert_false(is.ended);
    assert_int_equal(is.why.kind, was.why.kind);
    assert_string_equal(is.why.text, was.why.text);
    for (size_t i = 0; i < COUNT(was.times); i++)
        assert_int_equal(is.times[i] - is.times[0], was.times[i] - was.times[0]);
    assert_true(was.has_server == with_server && is.has_server == with_server);
    assert_views(&was);
    assert_views(&is);
    unlink(path);
}

/* What cannot be read, and what is waited for in vain until Ctrl-C. */
TEST(a_file_that_cannot_be_read_is_no_recording)
{
    char folder[] = "/tmp/pmu-probe-wire-XXXXXX", path[64];
    char *words[] = {"pmu-probe", "info"};
    volatile sig_atomic_t cancel = 0;
    const struct wire_run of = {.version = "1", .n = 2, .words = words, .cancel = &cancel};
    struct error error = {0};
    assert_non_null(mkdtemp(folder));
    assert_null(wire_replay(folder, &of, &error));
    assert_error(&error, ERROR_USAGE, "cannot read");
    snprintf(path, sizeof path, "%s/run.wire", folder);
    assert_null(wire_replay(path, &of, &error));
    assert_error(&error, ERROR_USAGE, "run.wire: No such file");
    assert_int_equal(mkfifo(path, 0600), 0);
    cancel = 1;
    assert_null(wire_replay(path, &of, &error));
    assert_error_is(&error, ERROR_CANCELLED, "cancelled");
    unlink(path);
    rmdir(folder);
}

TEST(a_replay_sees_what_the_run_saw_up_to_its_end)
{
    char folder[] = "/tmp/pmu-probe-wire-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/run.wire", folder);
    record_and_replay(path, false);
    record_and_replay(path, true);
    rmdir(folder);
}
