/* The agent's client against an agent that sends prepared bytes, and the forms of --probe msr. */
#include "../test.h"

#include "knc/msr.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { GREETING = FRAME_HEADER + 2 * FRAME_CPU, MOST = 4096 };

/* One connection: sends the greeting, then for each request what was prepared; then closes. */
static struct server {
    int listening;
    uint16_t port;
    pthread_t thread;
    uint8_t greeting[MOST], answers[4][MOST];
    size_t n_greeting, n_answers[4], n;
    uint8_t requests[4][FRAME_REQUEST];
    size_t n_requests[4];
    volatile sig_atomic_t cancels; /* Ctrl-C, once there is a connection */
} server;

static volatile sig_atomic_t cancelled;

static struct deadline deadline;
static struct error error;

static void *serve(void *unused)
{
    (void)unused;
    int fd = accept(server.listening, NULL, NULL);
    if (fd < 0)
        return NULL;
    cancelled = server.cancels;
    (void)!write(fd, server.greeting, server.n_greeting);
    for (size_t i = 0; i < server.n; i++) {
        ssize_t n = recv(fd, server.requests[i], FRAME_REQUEST, 0);
        if (n <= 0)
            break;
        server.n_requests[i] = (size_t)n;
        (void)!write(fd, server.answers[i], server.n_answers[i]);
    }
    close(fd);
    return NULL;
}

static void set_up(void)
{
    static const uint8_t greeting[] = {'P', 'M', 'R', '1', 2, 0, 0, 0, 3, 0, 60, 0, 7, 0, 1, 0};
    memset(&server, 0, sizeof server);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    server.listening = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(server.listening >= 0 && bind(server.listening, (struct sockaddr *)&at, sizeof at) == 0 &&
                listen(server.listening, 1) == 0 &&
                getsockname(server.listening, (struct sockaddr *)&at, &size) == 0);
    server.port = ntohs(at.sin_port);
    memcpy(server.greeting, greeting, sizeof greeting);
    server.n_greeting = sizeof greeting;
    deadline = deadline_in_ms(60000, NULL);
    error_clear(&error);
    assert_int_equal(pthread_create(&server.thread, NULL, serve, NULL), 0);
}

static void tear_down(void)
{
    shutdown(server.listening, SHUT_RDWR);
    close(server.listening);
    assert_int_equal(pthread_join(server.thread, NULL), 0);
}

#define FRESH_TEST(name) TEST_BETWEEN(name, set_up, tear_down)

static struct link *open_link(void)
{
    char probe[64];
    snprintf(probe, sizeof probe, "msr-agent:127.0.0.1:%u", (unsigned)server.port);
    return msr_connect(probe, &deadline, &error);
}

static void prepare(size_t i, const char *bytes, size_t n)
{
    memcpy(server.answers[i], bytes, n);
    server.n_answers[i] = n;
    server.n = i + 1;
}

static struct address at(uint64_t number)
{
    return (struct address){.space = SPACE_MSR, .size = 8, .unit = 7, .offset = number};
}

FRESH_TEST(requests_and_answers)
{
    prepare(0, "PMRa\2\0\0\1\x88\x77\x66\x55\x44\x33\x22\x11\0\0\0\0\0\0\0\0", 24);
    prepare(1, "PMRa\1\0\1\2\5\0\0\0\0\0\0\0", 16);
    prepare(2, "PMRa\0\0\2\3", 8);
    struct link *link = open_link();
    assert_non_null(link);
    struct link_view views[4];
    assert_int_equal(link_views(link, views, 4, &error), 2);
    assert_int_equal(views[0].unit, 3);
    assert_int_equal(views[0].core_id, 60);
    struct step steps[3] = {step_read(at(0x20)), step_write(at(0x28), 0xA1B2C3D4E5F60718)};
    uint64_t results[3];
    assert_int_equal(link_execute(link, steps, 2, results, &deadline, &error).why, DONE);
    assert_true(results[0] == 0x1122334455667788);
    static const uint8_t wanted[] = {'P',  'M', 'R', 'q', 2,    0, 1,    0,    0,    0,    7,    0,   0x20, 0,
                                     0,    0,   0,   0,   0,    0, 0,    0,    0,    0,    1,    0,   7,    0,
                                     0x28, 0,   0,   0,   0x18, 7, 0xF6, 0xE5, 0xD4, 0xC3, 0xB2, 0xA1};
    struct outcome outcome = link_execute(link, steps, 2, results, &deadline, &error);
    assert_int_equal(outcome.why, TARGET_FAULT);
    assert_int_equal(outcome.done, 1);
    assert_has(error.text, "does not let MSR 0x28 of CPU 7 be written");
    assert_int_equal(server.n_requests[0], sizeof wanted);
    assert_memory_equal(server.requests[0], wanted, sizeof wanted);
    error_clear(&error);
    outcome = link_execute(link, steps, 1, results, &deadline, &error);
    assert_int_equal(outcome.why, TARGET_FAULT);
    assert_error(&error, ERROR_FAULT, "");
    assert_int_equal(link_execute(link, steps, 1, results, &deadline, &error).why, LINK_LOST);
    error_clear(&error);
    assert_int_equal(link_execute(link, steps, 1, results, &deadline, &error).why, LINK_LOST);
    assert_int_equal(error.kind, ERROR_LINK_LOST);
    link_close(link);
}

FRESH_TEST(answers_that_no_agent_gives_end_the_link)
{
    static const struct {
        const char *bytes;
        size_t n;
    } wrong[] = {
        {"PMRx\1\0\0\1\0\0\0\0\0\0\0\0", 16},
        {"PMRa\2\0\0\1\0\0\0\0\0\0\0\0", 16},
        {"PMRa\1\0\0\2\0\0\0\0\0\0\0\0", 16},
        {"PMRa\0\0\0\1", 8},
        {"PMRa\1\0\1\1\0\0\0\0\0\0\0\0", 16},
        {"PMRa\0\0\3\1", 8},
        {"PMRa\0\0\4\1", 8},
        {"PMRa\xFF\xFF\0\1", 8},
        {"PMRa\1\0\0\1\0\0", 10},
        {"PMR", 3},
        {"", 0},
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        uint64_t result;
        struct step step = step_read(at(0x20));
        if (i > 0)
            set_up();
        prepare(0, wrong[i].bytes, wrong[i].n);
        struct link *link = open_link();
        assert_non_null(link);
        struct outcome outcome = link_execute(link, &step, 1, &result, &deadline, &error);
        assert_int_equal(outcome.why, LINK_LOST);
        assert_int_equal(outcome.done, 0);
        assert_true(error.kind == ERROR_LINK_LOST || error.kind == ERROR_LINK_PROTOCOL);
        link_close(link);
        if (i + 1 < COUNT(wrong))
            tear_down();
    }
}

FRESH_TEST(greetings_that_no_agent_gives_are_refused)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *what;
    } wrong[] = {
        {"PMR2\1\0\0\0\0\0\0\0", 12, "not an msr-agent"},
        {"PMR1\0\0\0\0", 8, "not an msr-agent"},
        {"PMR1\1\1\0\0", 8, "not an msr-agent"},
        {"PMR1\0\0\1\0", 8, "another client"},
        {"PMR1\2\0\0\0\4\0\0\0\4\0\0\0", 16, "no order"},
        {"PMR1\2\0\0\0\4\0\0\0\3\0\0\0", 16, "no order"},
        {"PMR1\2\0\0\0\4\0\0\0", 12, "closed"},
        {"SSH-2.0-OpenSSH", 15, "not an msr-agent"},
        {"", 0, "closed"},
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        if (i > 0)
            set_up();
        memcpy(server.greeting, wrong[i].bytes, wrong[i].n);
        server.n_greeting = wrong[i].n;
        assert_null(open_link());
        if (strstr(error.text, wrong[i].what) == NULL)
            fail_msg("greeting %zu: %s", i, error.text);
        if (i + 1 < COUNT(wrong))
            tear_down();
    }
}

FRESH_TEST(ctrl_c_ends_the_wait_for_an_agent_that_says_nothing)
{
    server.n_greeting = 0;
    server.n = 1;
    server.cancels = 1;
    deadline = deadline_in_ms(60000, &cancelled);
    assert_null(open_link());
    assert_error(&error, ERROR_CANCELLED, ": cancelled");
    cancelled = 0;
}

FRESH_TEST(nobody_there)
{
    tear_down();
    assert_null(open_link());
    assert_int_equal(error.kind, ERROR_NO_AGENT);
    set_up();
}

TEST(what_is_typed)
{
    static const char *const ours[] = {"msr",       "msr:0",           "msr:", "msr@/x", "msr:4@/x",
                                       "msr-agent", "msr-agent:card:1"};
    static const char *const others[] = {"",           "ms",          "msrx",    "msr-",
                                         "msr-agents", "msr-agent@x", "openocd", "MSR"};
    static const char *const wrong[] = {"msr:x",  "msr:4096", "msr:-1",        "msr:1x",
                                        "msr: 1", "msr:1:2",  "msr-agent:h:0", "msr-agent:a:b:c"};
    for (size_t i = 0; i < COUNT(ours); i++)
        assert_true(msr_spec_is(ours[i]));
    for (size_t i = 0; i < COUNT(others); i++)
        assert_false(msr_spec_is(others[i]));
    for (size_t i = 0; i < COUNT(wrong); i++) {
        error_clear(&error);
        assert_null(msr_connect(wrong[i], &deadline, &error));
        if (error.kind != ERROR_USAGE)
            fail_msg("%s: %s", wrong[i], error.text);
    }
    /* Longer than any name may be */
    static const char *const begins[] = {"msr@/", "msr-agent:"};
    for (size_t i = 0; i < 2; i++) {
        char probe[400] = "";
        memset(probe, 'x', sizeof probe - 1);
        memcpy(probe, begins[i], strlen(begins[i]));
        error_clear(&error);
        assert_null(msr_connect(probe, &deadline, &error));
        assert_int_equal(error.kind, ERROR_USAGE);
    }
}
