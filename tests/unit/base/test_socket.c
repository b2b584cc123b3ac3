/* Where a server listens, as --probe names it, and bytes that a connection takes by parts. Connections
 * themselves: tests/system. */
#include "../test.h"

#include "base/deadline.h"
#include "base/socket.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

TEST(an_address_is_a_host_and_a_port_each_with_a_default)
{
    static const struct {
        const char *text, *host;
        uint16_t port;
    } good[] = {{"", "localhost", 6666},    {"board.lab", "board.lab", 6666},
                {"board:1", "board", 1},    {":65535", "localhost", 65535},
                {"[::1]", "::1", 6666},     {"[fe80::1%eth0]:4441", "fe80::1%eth0", 4441},
                {"[]:80", "localhost", 80}, {"[10.0.0.1]:80", "10.0.0.1", 80}};
    static const char *const wrong[] = {
        "::1",     "::1:6666", "a:b:1",   "[::1",   "[::1]x", "[::1]6666", "h:",   "h:0",
        "h:+6666", "h: 1",     "h:65536", "h:0x10", "h:010",  "h:1x",      "h:-1", "h:99999999999999999999"};
    struct error error = {0};
    for (size_t i = 0; i < COUNT(good); i++) {
        char host[32] = "localhost";
        uint16_t port = 6666;
        if (!socket_address_read(good[i].text, host, sizeof host, &port, &error) ||
            strcmp(host, good[i].host) != 0 || port != good[i].port)
            fail_msg("%s: %s %u", good[i].text, host, (unsigned)port);
    }
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char host[32] = "localhost";
        uint16_t port = 6666;
        error = (struct error){0};
        if (socket_address_read(wrong[i], host, sizeof host, &port, &error) || error.kind != ERROR_USAGE ||
            strcmp(host, "localhost") != 0 || port != 6666)
            fail_msg("\"%s\" is read", wrong[i]);
    }
    char small[4] = "";
    uint16_t port = 0;
    assert_true(socket_address_read("abc", small, sizeof small, &port, &error));
    assert_false(socket_address_read("abcd", small, sizeof small, &port, &error));
}

enum { MANY = 1 << 20, LIMIT_MS = 60000 };

static uint8_t sent[MANY], received[MANY];

static void *socket_take_all(void *fd)
{
    struct deadline deadline = deadline_in_ms(LIMIT_MS, NULL);
    return socket_receive(*(int *)fd, received, sizeof received, &deadline) == 0 ? received : NULL;
}

TEST(what_a_connection_takes_by_parts_arrives_whole)
{
    struct deadline deadline = deadline_in_ms(LIMIT_MS, NULL);
    pthread_t reader;
    void *whole = NULL;
    int pair[2];
    for (size_t i = 0; i < sizeof sent; i++)
        sent[i] = (uint8_t)(i * i / 251);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(fcntl(pair[i], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(pthread_create(&reader, NULL, socket_take_all, &pair[1]), 0);
    assert_int_equal(socket_send(pair[0], sent, sizeof sent, &deadline), 0);
    assert_int_equal(pthread_join(reader, &whole), 0);
    assert_non_null(whole);
    assert_memory_equal(sent, received, sizeof sent);
    close(pair[0]);
    close(pair[1]);
}
