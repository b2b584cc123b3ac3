/*
 * Other servers in OpenOCD's place, and an OpenOCD that goes wrong.
 */
#include "openocd_peer.h"

#include "links/openocd.h"

#include <fcntl.h>

static struct peer peer;
static struct error error;

static void clean(void)
{
    error_clear(&error);
}

#define CLEAN_TEST(name) TEST_BETWEEN(name, clean, test_nothing)

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

CLEAN_TEST(what_is_no_openocd_is_told_by_what_it_says)
{
    static const struct {
        peer_answer *answer;
        const char *greeting, *text;
        int64_t ms;
        const char *words;
    } others[] = {
        {says_text, NULL, "+$#00", 5000, "it sends \"+$#00\""}, /* a GDB server */
        {says_nothing, "\xff\xfb\x03\xff\xfe\"Open On-Chip Debugger\r\n\r> ", NULL, 5000,
         "Open On-Chip Debugger"}, /* by Telnet */
        {closes, NULL, "HTTP/1.1 400 Bad Request\r\n\r\n", 5000, "HTTP/1.1 400 Bad Request"},
        {says_nothing, NULL, NULL, 300, "is open, but silent"},
        {closes, NULL, NULL, 5000, "closes the connection when spoken to"},
        {never_stops, NULL, NULL, 5000, "it sends \"4444"},
        {drips, NULL, NULL, 5000, "it sends \"42"},
        {says_text, NULL, "43\x1a", 5000, "it sends \"43\""},
    };
    for (size_t i = 0; i < COUNT(others); i++) {
        peer_start(&peer, others[i].answer, others[i].greeting, others[i].text);
        int64_t begin = deadline_now_us();
        assert_null(connect_within(others[i].ms));
        int64_t took = deadline_now_us() - begin;
        assert_error(&error, ERROR_NOT_A_PROBE, others[i].words);
        assert_true(took < (others[i].ms + 60000) * 1000); /* the machine may be busy */
        peer_stop(&peer);
    }
}

CLEAN_TEST(test_nobody_there)
{
    peer_start(&peer, says_nothing, NULL, NULL);
    peer_stop(&peer);
    assert_null(connect_within(2000));
    assert_error(&error, ERROR_NO_PROBE, "nothing listens on 127.0.0.1:");
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
    assert_error(&error, ERROR_LINK_PROTOCOL, "is too old: Open On-Chip Debugger 0.11.0-rc2");
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
    for (size_t i = 0; i < COUNT(lists); i++) {
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
    (void)request;
    return peer_reply(self, self->sequence, self->text);
}

static bool answers_steps_with_garbage(struct peer *self, const char *request)
{
    (void)request;
    peer_say(self, self->text);
    return true;
}

static bool answers_another_request(struct peer *self, const char *request)
{
    (void)request;
    return peer_reply(self, self->sequence + 1, "0 2 0 2 1 2");
}

static bool repeats_old_answers(struct peer *self, const char *request)
{
    (void)request;
    for (int i = 0; i < 1000; i++)
        peer_reply(self, self->sequence - 1, "0 2 0 2 1 2");
    return true;
}

static bool closes_in_the_middle(struct peer *self, const char *request)
{
    (void)request;
    peer_send(self, "pmu 1 0 2", 9);
    return false;
}

static bool drips_answers(struct peer *self, const char *request)
{
    (void)request;
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
    peer_start_well(&peer, answer, text);
    struct link *link = connect_within(5000);
    if (link == NULL)
        fail_msg("%s", error.text);
    struct outcome outcome = read_two(link, results);
    if (outcome.why != LINK_LOST || outcome.done != 0 || error.kind != kind)
        fail_msg("why %d, done %zu, kind %d, %s; for %s", outcome.why, outcome.done, error.kind, error.text,
                 text == NULL ? "" : text);
    error_clear(&error);
    assert_int_equal(read_two(link, results).why, LINK_LOST);
    assert_error(&error, ERROR_LINK_LOST, "");
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
    for (size_t i = 0; i < COUNT(answers); i++)
        assert_lost(answers_steps_with_text, answers[i], ERROR_LINK_PROTOCOL);
}

CLEAN_TEST(test_garbage_instead_of_an_answer)
{
    assert_lost(answers_steps_with_garbage, "invalid command name \"pmu_execute\"", ERROR_LINK_PROTOCOL);
    assert_lost(answers_steps_with_garbage, "", ERROR_LINK_PROTOCOL);
    assert_lost(answers_another_request, NULL, ERROR_LINK_PROTOCOL);
    assert_lost(repeats_old_answers, NULL, ERROR_LINK_PROTOCOL);
    assert_lost(never_stops, NULL, ERROR_LINK_PROTOCOL);
    assert_lost(closes_in_the_middle, NULL, ERROR_LINK_LOST);
}

/* A number that is asked again was carried out, unless it did not arrive. */
static bool is_cut_before_it_answers(struct peer *self, const char *request)
{
    static uint64_t first;
    (void)request;
    if (self->executed++ == 0) {
        first = self->sequence;
        return false;
    }
    return self->sequence == first ? peer_reply(self, first, "0 2 0 2 0x1 2") : peer_reply(self, first, "7 ");
}

/* One that does not know pmu.tcl any more: what became of the list is not known. */
CLEAN_TEST(after_a_cut_the_request_is_sent_again_to_one_that_may_have_seen_it)
{
    for (int forgets = 0; forgets < 2; forgets++) {
        uint64_t results[2] = {0};
        peer_start_well(&peer, is_cut_before_it_answers, NULL);
        peer.forgets = forgets;
        peer.again = 1;
        struct link *link = connect_within(5000);
        assert_non_null(link);
        struct outcome outcome = read_two(link, results);
        assert_int_equal(outcome.why, forgets ? LINK_LOST : DONE);
        assert_int_equal(error.kind, forgets ? ERROR_LINK_LOST : ERROR_NONE);
        assert_int_equal(results[0], forgets ? 0 : 1);
        assert_int_equal(peer.executed, forgets ? 1 : 2);
        link_close(link);
        peer_stop(&peer);
    }
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
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t results[2] = {0};
        peer_start_well(&peer, cases[i].answer, cases[i].text);
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
