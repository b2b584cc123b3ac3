/*
 * Other servers in OpenOCD's place, and an OpenOCD that goes wrong.
 */
#include "openocd_peer.h"

#include "links/openocd.h"

#include <fcntl.h>

static struct peer peer;
static struct error error;

static int clean(void **state)
{
    (void)state;
    error_clear(&error);
    return 0;
}

#define CLEAN_TEST(name) TEST_WITH(name, clean, NULL)

static struct link *connect_within(int64_t ms)
{
    struct deadline deadline = deadline_in_ms(ms, NULL);
    return openocd_connect("127.0.0.1", peer.port, NULL, &deadline, &error);
}

/* ---- not an OpenOCD */

static bool says_nothing(struct peer *unused, const char *request)
{
    (void)unused;
    (void)request;
    return true;
}

static bool says_text(struct peer *self, const char *request)
{
    (void)request;
    peer_send(self, self->text, strlen(self->text));
    return true;
}

static bool closes(struct peer *self, const char *request)
{
    (void)request;
    if (self->text != NULL)
        peer_send(self, self->text, strlen(self->text));
    return false;
}

static bool never_stops(struct peer *self, const char *request)
{
    (void)request;
    char line[1024];
    memset(line, '4', sizeof line);
    while (!self->stop && send(self->fd, line, sizeof line, MSG_NOSIGNAL) > 0)
        ;
    return false;
}

static bool drips(struct peer *self, const char *request)
{
    (void)request;
    for (int i = 0; i < 200 && !self->stop; i++) {
        if (send(self->fd, i == 0 ? "4" : "2", 1, MSG_NOSIGNAL) <= 0)
            break;
        peer_pause(20);
    }
    return false;
}

static void assert_not_openocd(peer_answer *answer, const char *greeting, const char *text, int64_t ms,
                               const char *words)
{
    peer_start(&peer, answer, greeting, text);
    int64_t begin = deadline_now_us();
    struct link *link = connect_within(ms);
    int64_t took = deadline_now_us() - begin;
    assert_null(link);
    if (error.kind != ERROR_NOT_A_PROBE || strstr(error.text, words) == NULL)
        fail_msg("kind %d: %s", error.kind, error.text);
    assert_true(took < (ms + 60000) * 1000); /* the machine may be busy */
    peer_stop(&peer);
}

CLEAN_TEST(test_gdb_server)
{
    assert_not_openocd(says_text, NULL, "+$#00", 5000, "it sends \"+$#00\"");
}

CLEAN_TEST(test_telnet_server)
{
    assert_not_openocd(says_nothing, "\xff\xfb\x03\xff\xfe\"Open On-Chip Debugger\r\n\r> ", NULL, 5000,
                       "Open On-Chip Debugger");
}

CLEAN_TEST(test_web_server)
{
    assert_not_openocd(closes, NULL, "HTTP/1.1 400 Bad Request\r\n\r\n", 5000, "HTTP/1.1 400 Bad Request");
}

CLEAN_TEST(test_silence)
{
    assert_not_openocd(says_nothing, NULL, NULL, 300, "is open, but silent");
}

CLEAN_TEST(test_closed_at_once)
{
    assert_not_openocd(closes, NULL, NULL, 5000, "closes the connection when spoken to");
}

CLEAN_TEST(test_endless_garbage)
{
    assert_not_openocd(never_stops, NULL, NULL, 5000, "it sends \"4444");
}

CLEAN_TEST(test_slow_drip)
{
    assert_not_openocd(drips, NULL, NULL, 5000, "it sends \"42");
}

CLEAN_TEST(test_wrong_sum)
{
    assert_not_openocd(says_text, NULL, "43\x1a", 5000, "it sends \"43\"");
}

CLEAN_TEST(test_nobody_there)
{
    peer_start(&peer, says_nothing, NULL, NULL);
    peer_stop(&peer);
    assert_null(connect_within(2000));
    assert_int_equal(error.kind, ERROR_NO_PROBE);
    assert_non_null(strstr(error.text, "nothing listens on 127.0.0.1:"));
}

CLEAN_TEST(test_unknown_host)
{
    struct deadline deadline = deadline_in_ms(2000, NULL);
    assert_null(openocd_connect("no host", 6666, NULL, &deadline, &error));
    assert_int_equal(error.kind, ERROR_NO_PROBE);
}

CLEAN_TEST(test_cancelled)
{
    volatile sig_atomic_t cancel = 1;
    struct deadline deadline = deadline_in_ms(5000, &cancel);
    peer_start(&peer, says_nothing, NULL, NULL);
    assert_null(openocd_connect("127.0.0.1", peer.port, NULL, &deadline, &error));
    assert_int_equal(error.kind, ERROR_CANCELLED);
    peer_stop(&peer);
}

/* ---- an OpenOCD, but not one for us */

static bool is_old(struct peer *self, const char *request)
{
    if (strcmp(request, "version") != 0)
        return peer_behaves(self, request);
    peer_say(self, "Open On-Chip Debugger 0.11.0-rc2");
    return true;
}

static bool has_odd_targets(struct peer *self, const char *request)
{
    if (strcmp(request, "pmu_open") != 0)
        return peer_behaves(self, request);
    peer_say(self, self->text);
    return true;
}

CLEAN_TEST(test_old_version)
{
    peer_start(&peer, is_old, NULL, NULL);
    assert_null(connect_within(5000));
    assert_int_equal(error.kind, ERROR_LINK_PROTOCOL);
    assert_non_null(strstr(error.text, "is too old: Open On-Chip Debugger 0.11.0-rc2"));
    peer_stop(&peer);
}

CLEAN_TEST(test_list_of_targets_that_is_none)
{
    static const char *const lists[] = {
        "",
        "invalid command name \"pmu_open\"",
        "pmu\n0 1 cortex_m",
        "pmu\n0 9 cortex_m a",
        "pmu\n1 1 cortex_m a",
        "pmu\n0 1  a",
        "pmu\n0 1 cortex_m ",
        "pmu\n0 1 cortex_m a\n",
        "pmu 0 1 a b",
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        peer_start(&peer, has_odd_targets, NULL, lists[i]);
        assert_null(connect_within(5000));
        if (error.kind != ERROR_LINK_PROTOCOL)
            fail_msg("kind %d: %s; for %s", error.kind, error.text, lists[i]);
        error_clear(&error);
        peer_stop(&peer);
    }
}

/* ---- an OpenOCD that goes wrong when steps are sent */

static bool answers_steps_with_text(struct peer *self, const char *request)
{
    if (strncmp(request, "pmu_execute", 11) != 0)
        return peer_behaves(self, request);
    return peer_reply(self, self->sequence, self->text);
}

static bool answers_steps_with_garbage(struct peer *self, const char *request)
{
    if (strncmp(request, "pmu_execute", 11) != 0)
        return peer_behaves(self, request);
    peer_say(self, self->text);
    return true;
}

static bool answers_another_request(struct peer *self, const char *request)
{
    if (strncmp(request, "pmu_execute", 11) != 0)
        return peer_behaves(self, request);
    return peer_reply(self, self->sequence + 1, "0 2 0 2 1 2");
}

static bool repeats_old_answers(struct peer *self, const char *request)
{
    if (strncmp(request, "pmu_execute", 11) != 0)
        return peer_behaves(self, request);
    for (int i = 0; i < 1000; i++)
        peer_reply(self, self->sequence - 1, "0 2 0 2 1 2");
    return true;
}

static bool closes_in_the_middle(struct peer *self, const char *request)
{
    if (strncmp(request, "pmu_execute", 11) != 0)
        return peer_behaves(self, request);
    peer_send(self, "pmu 1 0 2", 9);
    return false;
}

static bool never_stops_answering(struct peer *self, const char *request)
{
    return strncmp(request, "pmu_execute", 11) == 0 ? never_stops(self, request)
                                                    : peer_behaves(self, request);
}

static bool drips_answers(struct peer *self, const char *request)
{
    if (strncmp(request, "pmu_execute", 11) != 0)
        return peer_behaves(self, request);
    char text[64];
    snprintf(text, sizeof text, "pmu %" PRIu64 " 0 2 0 2 0x1 2\x1a", self->sequence);
    for (const char *at = text; *at != '\0'; at++) {
        peer_send(self, at, 1);
        peer_pause(5);
    }
    return true;
}

static struct outcome read_two(struct link *link, uint64_t *results)
{
    struct address address = {.space = SPACE_MEMORY, .size = 4, .offset = 0x100};
    struct step steps[] = {step_read(address), step_expect(address, 0xff, 2)};
    struct deadline deadline = deadline_in_ms(200, NULL);
    return link_execute(link, steps, 2, results, &deadline, &error);
}

static void assert_lost(peer_answer *answer, const char *text, enum error_kind kind)
{
    uint64_t results[2];
    peer_start(&peer, answer, NULL, text);
    struct link *link = connect_within(5000);
    if (link == NULL)
        fail_msg("%s", error.text);
    struct outcome outcome = read_two(link, results);
    if (outcome.why != LINK_LOST || outcome.done != 0 || error.kind != kind)
        fail_msg("why %d, done %zu, kind %d, %s; for %s", outcome.why, outcome.done, error.kind, error.text,
                 text == NULL ? "" : text);
    error_clear(&error);
    assert_int_equal(read_two(link, results).why, LINK_LOST);
    assert_int_equal(error.kind, ERROR_LINK_LOST);
    error_clear(&error);
    link_close(link);
    peer_stop(&peer);
}

CLEAN_TEST(test_answers_that_cannot_be)
{
    static const char *const answers[] = {
        "0 2 0 1 1",                      /* too few results */
        "0 2 0 3 1 2 3",                  /* too many */
        "0 2 0 2 1 2 ",                   /* more than was announced */
        "0 2 0 2 1",                      /* less than was announced */
        "0 2 0 2 1 3",                    /* an expectation met that is not */
        "0 2 0 2 0x100000000 2",          /* too large for its size */
        "0 2 0 2 1 -2",                   /* negative */
        "0 2 0 2 1 0x",                   /* no digits */
        "0 2 0 2 1 2f",                   /* not a number */
        "0 1 0 1 1",                      /* done, but not all of it */
        "0 99999999999999999999 0 2 1 2", /* a number beyond 64 bits */
        "0 18446744073709551615 0 2 1 2",
        "0 2 0 18446744073709551615 1 2",
        "1 1 5 1 1",          /* not yet, at a step that waits for nothing */
        "2 0 1 0 ",           /* unexpected, at a step that expects nothing */
        "2 1 2 1 1",          /* unexpected, but what was expected */
        "2 2 0 2 1 2",        /* unexpected, at no step */
        "7 0 0 0 ",           /* ended for no known reason */
        "0 2 0 2 1 2\nwords", /* words without a fault */
        "3 1 0 1 1",          /* a fault without words */
        "3 1 0 2 1 2\nwords", /* a fault and a result of the same step */
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        assert_lost(answers_steps_with_text, answers[i], ERROR_LINK_PROTOCOL);
}

CLEAN_TEST(test_garbage_instead_of_an_answer)
{
    assert_lost(answers_steps_with_garbage, "invalid command name \"pmu_execute\"", ERROR_LINK_PROTOCOL);
    assert_lost(answers_steps_with_garbage, "", ERROR_LINK_PROTOCOL);
    assert_lost(answers_another_request, NULL, ERROR_LINK_PROTOCOL);
    assert_lost(repeats_old_answers, NULL, ERROR_LINK_PROTOCOL);
    assert_lost(never_stops_answering, NULL, ERROR_LINK_PROTOCOL);
    assert_lost(closes_in_the_middle, NULL, ERROR_LINK_LOST);
}

/* A number that is asked again was carried out, unless it did not arrive. */
static bool is_cut_before_it_answers(struct peer *self, const char *request)
{
    static uint64_t first;
    if (strncmp(request, "pmu_execute", 11) != 0)
        return peer_behaves(self, request);
    if (self->executed++ == 0) {
        first = self->sequence;
        return false;
    }
    return self->sequence == first ? peer_reply(self, first, "0 2 0 2 0x1 2") : peer_reply(self, first, "7 ");
}

CLEAN_TEST(a_cut_connection_is_made_again_and_the_request_sent_again)
{
    uint64_t results[2] = {0};
    peer_start(&peer, is_cut_before_it_answers, NULL, NULL);
    peer.again = 1;
    struct link *link = connect_within(5000);
    assert_non_null(link);
    struct outcome outcome = read_two(link, results);
    assert_string_equal(error.text, "");
    assert_int_equal(outcome.why, DONE);
    assert_int_equal(results[0], 1);
    assert_int_equal(peer.executed, 2);
    link_close(link);
    peer_stop(&peer);
}

/* It does not know pmu.tcl any more: what became of the list is not known, and the next one is served. */
CLEAN_TEST(a_list_that_another_openocd_may_not_have_seen_is_lost)
{
    uint64_t results[2] = {0};
    peer_start(&peer, is_cut_before_it_answers, NULL, NULL);
    peer.forgets = true;
    peer.again = 1;
    struct link *link = connect_within(5000);
    assert_non_null(link);
    struct outcome outcome = read_two(link, results);
    assert_int_equal(outcome.why, LINK_LOST);
    assert_int_equal(error.kind, ERROR_LINK_LOST);
    assert_int_equal(peer.executed, 1);
    link_close(link);
    peer_stop(&peer);
}

CLEAN_TEST(test_good_answers)
{
    static const struct {
        peer_answer *answer;
        const char *text;
        struct outcome outcome;
    } cases[] = {
        {answers_steps_with_text, "0 2 0 2 0x1 2", {.why = DONE, .done = 2}},
        {answers_steps_with_text, "2 1 0x3 1 1", {.why = UNEXPECTED, .done = 1, .saw = 3}},
        {answers_steps_with_text, "1 1 0 1 1", {.why = NOT_YET, .done = 1}},
        {answers_steps_with_text, "3 1 0 1 1\nno way", {.why = TARGET_FAULT, .done = 1}},
        {answers_steps_with_text, "3 0 0 0 \nIt Timed Out", {.why = TARGET_WAIT}},
        {drips_answers, NULL, {.why = DONE, .done = 2}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t results[2] = {0};
        peer_start(&peer, cases[i].answer, NULL, cases[i].text);
        struct link *link = connect_within(60000);
        assert_non_null(link);
        struct outcome outcome = read_two(link, results);
        assert_int_equal(outcome.why, cases[i].outcome.why);
        assert_int_equal(outcome.done, cases[i].outcome.done);
        assert_int_equal(outcome.saw, cases[i].outcome.saw);
        assert_true(outcome.done == 0 || results[0] == 1);
        error_clear(&error);
        link_close(link);
        peer_stop(&peer);
    }
}
