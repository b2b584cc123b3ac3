/* The whole link against a probe at a socket, in a thread: opened, used, lost, found again. */
#include "dap_model.h"
#include "links/dap/carrier.h"
#include "links/dap/dap.h"
#include "test.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum manner { ANSWERS, SAYS_NOTHING, CLOSES, TALKS_NONSENSE, ANSWERS_TOO_MUCH, ANSWERS_SHORT, HANGS_UP_SOON };

struct peer {
    struct model model;
    int listener;
    uint16_t port;
    pthread_t thread;
    atomic_int manner;
    atomic_int stale;   /* replies to an earlier program before the first */
    atomic_int told;    /* answers to an earlier program's questions about the probe */
    atomic_int packets; /* sent before it hangs up */
};

static bool read_all(int fd, uint8_t *out, size_t n)
{
    while (n > 0) {
        ssize_t got = recv(fd, out, n, 0);
        if (got <= 0)
            return false;
        out += got;
        n -= (size_t)got;
    }
    return true;
}

static bool write_slowly(int fd, const uint8_t *bytes, size_t n)
{
    size_t half = n / 2;
    return send(fd, bytes, half, MSG_NOSIGNAL) == (ssize_t)half &&
           send(fd, bytes + half, n - half, MSG_NOSIGNAL) == (ssize_t)(n - half);
}

static bool reply(int fd, const uint8_t *bytes, size_t n)
{
    uint8_t packet[8 + 2048] = {'D', 'A', 'P', 0, (uint8_t)n, (uint8_t)(n >> 8), 2, 0};
    memcpy(packet + 8, bytes, n < 2048 ? n : 2048);
    return write_slowly(fd, packet, 8 + (n < 2048 ? n : 2048));
}

static bool serve(struct peer *peer, int fd)
{
    uint8_t header[8], request[2048] = {0}, answer[2048] = {5, 1, 1};
    if (!read_all(fd, header, 8) || memcmp(header, "DAP\0", 4) != 0 || header[6] != 1)
        return false;
    size_t n = header[4] | (size_t)header[5] << 8;
    if (n > sizeof request || !read_all(fd, request, n))
        return false;
    while (atomic_load(&peer->stale) > 0) {
        atomic_fetch_sub(&peer->stale, 1);
        if (!reply(fd, answer, 7))
            return false;
    }
    while (atomic_load(&peer->told) > 0) {
        static const uint8_t size[] = {0, 2, 64, 0};
        atomic_fetch_sub(&peer->told, 1);
        if (!reply(fd, size, sizeof size))
            return false;
    }
    switch ((enum manner)atomic_load(&peer->manner)) {
    case SAYS_NOTHING:
        return true;
    case CLOSES:
        return false;
    case TALKS_NONSENSE:
        return write_slowly(fd, (const uint8_t *)"HTTP/1.1 400 Bad Request\r\n", 26);
    case ANSWERS_TOO_MUCH:
        return reply(fd, answer, 60000);
    case ANSWERS_SHORT:
        return reply(fd, answer, 0);
    case HANGS_UP_SOON:
        if (atomic_fetch_sub(&peer->packets, 1) <= 0)
            return false;
        break;
    case ANSWERS:
        break;
    }
    size_t length = model_command(&peer->model, request, n, answer);
    return reply(fd, answer, length);
}

static void *run_peer(void *context)
{
    struct peer *peer = context;
    for (;;) {
        int fd = accept(peer->listener, NULL, NULL);
        if (fd < 0)
            return NULL;
        int one = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        while (serve(peer, fd))
            ;
        close(fd);
    }
}

static int start(void **state)
{
    setenv("PMU_PROBE_PATIENCE", "20", 1);
    static struct peer peer;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    memset(&peer, 0, sizeof peer);
    model_init(&peer.model);
    peer.model.packet_size = 512;
    model_cell(&peer.model, 0x1000)->value = 0x12345678;
    peer.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(peer.listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(peer.listener, 4) != 0 ||
        getsockname(peer.listener, (struct sockaddr *)&at, &size) != 0)
        return -1;
    peer.port = ntohs(at.sin_port);
    *state = &peer;
    return pthread_create(&peer.thread, NULL, run_peer, &peer);
}

static int stop(void **state)
{
    unsetenv("PMU_PROBE_PATIENCE");
    struct peer *peer = *state;
    shutdown(peer->listener, SHUT_RDWR);
    pthread_join(peer->thread, NULL);
    close(peer->listener);
    return 0;
}

#define STARTED_TEST(name) TEST_WITH(name, start, stop)

enum { LIMIT_MS = 60000 }; /* of what answers, however busy the machine is */

static struct link *open_link(const struct peer *peer, struct error *error)
{
    struct probe_spec spec;
    char text[64];
    struct deadline deadline = deadline_in_ms(LIMIT_MS, NULL);
    snprintf(text, sizeof text, "cmsis-dap-tcp:127.0.0.1:%u", peer->port);
    assert_true(probe_spec_read(text, &spec, error));
    return dap_open(&spec, &deadline, error);
}

static struct step read_1000(void)
{
    return step_read((struct address){.space = SPACE_MEMORY, .size = 4, .offset = 0x1000});
}

STARTED_TEST(test_the_whole_link)
{
    struct peer *peer = *state;
    struct error error = {0};
    atomic_store(&peer->stale, 3);
    const uint32_t found = peer->model.ports[0].csw = 0x43000052;
    struct link *link = open_link(peer, &error);
    if (link == NULL)
        fail_msg("%s", error.text);
    char text[128], wanted[64];
    link_describe(link, text, sizeof text);
    snprintf(wanted, sizeof wanted, "cmsis-dap-tcp 127.0.0.1:%u  SWD 10 MHz", peer->port);
    assert_string_equal(text, wanted);
    struct link_view views[4];
    assert_int_equal(link_views(link, views, 4, &error), 1);
    assert_string_equal(views[0].name, "AHB-AP 0");
    assert_string_equal(views[0].type, "ap");
    assert_true(views[0].is_core);
    assert_int_equal(views[0].unit, 0);
    assert_false(link_has_server(link));
    struct step step = read_1000();
    uint64_t result;
    struct deadline deadline = deadline_in_ms(LIMIT_MS, NULL);
    assert_int_equal(link_execute(link, &step, 1, &result, &deadline, &error).why, DONE);
    assert_int_equal(result, 0x12345678);
    assert_true(dap_packets(link) > 10);
    link_close(link);
    assert_int_equal(peer->model.ports[0].csw, found);
}

STARTED_TEST(what_another_program_was_told_is_not_taken_for_ours)
{
    struct peer *peer = *state;
    struct step step = read_1000();
    for (int told = 1; told <= 3; told++) {
        struct error error = {0};
        struct deadline deadline = deadline_in_ms(LIMIT_MS, NULL);
        uint64_t result;
        atomic_store(&peer->told, told);
        struct link *link = open_link(peer, &error);
        if (link == NULL)
            fail_msg("%d: %s", told, error.text);
        assert_int_equal(link_execute(link, &step, 1, &result, &deadline, &error).why, DONE);
        assert_int_equal(result, 0x12345678);
        link_close(link);
    }
}

STARTED_TEST(test_lost_and_found)
{
    struct peer *peer = *state;
    struct error error = {0};
    struct link *link = open_link(peer, &error);
    assert_non_null(link);
    struct step step = read_1000();
    uint64_t result;
    struct deadline deadline = deadline_in_ms(LIMIT_MS, NULL);
    atomic_store(&peer->manner, CLOSES);
    for (int i = 0; i < 2; i++) {
        error_clear(&error);
        assert_int_equal(link_execute(link, &step, 1, &result, &deadline, &error).why, LINK_LOST);
        assert_int_equal(error.kind, ERROR_LINK_LOST);
    }
    atomic_store(&peer->manner, ANSWERS);
    error_clear(&error);
    assert_int_equal(link_execute(link, &step, 1, &result, &deadline, &error).why, DONE);
    assert_int_equal(result, 0x12345678);
    link_close(link);
}

STARTED_TEST(test_bad_peers)
{
    unsetenv("PMU_PROBE_PATIENCE"); /* one of them says nothing */
    struct peer *peer = *state;
    static const struct {
        enum manner manner;
        enum error_kind kind;
    } bad[] = {{SAYS_NOTHING, ERROR_NOT_A_PROBE},
               {CLOSES, ERROR_LINK_LOST},
               {TALKS_NONSENSE, ERROR_LINK_PROTOCOL},
               {ANSWERS_TOO_MUCH, ERROR_LINK_PROTOCOL},
               {ANSWERS_SHORT, ERROR_LINK_LOST}};
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct error error = {0};
        atomic_store(&peer->manner, (int)bad[i].manner);
        assert_null(open_link(peer, &error));
        if (error.kind != bad[i].kind)
            fail_msg("case %zu: %d, %s", i, error.kind, error.text);
    }
    for (int packets = 0;; packets++) {
        struct error error = {0};
        atomic_store(&peer->packets, packets);
        atomic_store(&peer->manner, HANGS_UP_SOON);
        struct link *link = open_link(peer, &error);
        link_close(link);
        if (link != NULL)
            break;
        assert_int_equal(error.kind, ERROR_LINK_LOST);
    }
    atomic_store(&peer->manner, ANSWERS);
}

TEST(test_nobody_listens)
{
    struct error error = {0};
    struct deadline deadline = deadline_in_ms(1000, NULL);
    assert_null(tcp_connect("127.0.0.1", 1, &deadline, &error));
    assert_int_equal(error.kind, ERROR_NO_PROBE);
}
