/*
 * A GDB server of the tests' own: a thread at the other end of a socket that answers each request from a
 * list, or lets a test answer by itself.
 */
#pragma once

#include "debuggers/gdb_packet.h"
#include "test.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct gdb_answer {
    const char *request, *answer; /* a request that begins so; the answer's payload, NULL: silence */
    bool raw;                     /* the answer is bytes, frame and all */
};

struct gdb_server {
    const struct gdb_answer *first, *then; /* lists, each to its NULL; `then` is what every server says */
    int fd;                                /* the client's end */
    int own;
    int listener; /* of one that serves a client after the other; -1: there is one connection */
    pthread_t thread;
    char asked[8192]; /* requests, a line each; read it after gdb_server_stop */
    size_t asked_n;
    unsigned interrupts;
};

/* In place of an answer: the server closes the connection. */
static const char gdb_hangs_up[] = "";

static const struct gdb_answer gdb_common[] = {
    {"qSupported", "PacketSize=400;qXfer:features:read+;QStartNoAckMode+", false},
    {"QStartNoAckMode", "OK", false},
    {"qXfer:features:read:target.xml:0",
     "l<target><architecture>arm</architecture><feature name=\"org.gnu.gdb.arm.m-profile\"><reg name=\"r0\" "
     "bitsize=\"32\"/>"
     "<reg name=\"sp\" bitsize=\"32\" regnum=\"13\"/><reg name=\"lr\" bitsize=\"32\"/><reg name=\"pc\" "
     "bitsize=\"32\"/>"
     "</feature></target>",
     false},
    {"?", "S05", false},
    {"vCont?", "vCont;c;C;s;S", false},
    {"qRcmd,76657273696f6e", "", false},
    {NULL, NULL, false}};

static inline void gdb_server_send(const struct gdb_server *server, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(server->own, bytes, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        bytes += sent;
        n -= (size_t)sent;
    }
}

static inline void gdb_server_answer(struct gdb_server *server, const char *request)
{
    const struct gdb_answer *lists[] = {server->first, server->then};
    char frame[8192];
    for (size_t l = 0; l < 2; l++)
        for (const struct gdb_answer *one = lists[l]; one != NULL && one->request != NULL; one++) {
            if (strncmp(one->request, request, strlen(one->request)) != 0)
                continue;
            if (one->answer == gdb_hangs_up)
                shutdown(server->own, SHUT_RDWR);
            else if (one->answer != NULL && one->raw)
                gdb_server_send(server, one->answer, strlen(one->answer));
            else if (one->answer != NULL)
                gdb_server_send(server, frame,
                                gdb_packet_frame(one->answer, strlen(one->answer), frame, sizeof frame));
            return;
        }
    gdb_server_send(server, "$#00", 4);
}

static inline void gdb_server_serve(struct gdb_server *server)
{
    char payload[4096];
    uint8_t bytes[1024];
    struct gdb_decoder decoder;
    ssize_t got;
    gdb_decoder_init(&decoder, payload, sizeof payload);
    while ((got = recv(server->own, bytes, sizeof bytes, 0)) > 0)
        for (size_t at = 0, taken; at < (size_t)got; at += taken) {
            if (decoder.state == GDB_BETWEEN && bytes[at] == 0x03) {
                server->interrupts++;
                gdb_server_answer(server, "\x03");
            }
            if (gdb_decoder_take(&decoder, bytes + at, (size_t)got - at, &taken) != GDB_PACKET)
                continue;
            int line = snprintf(server->asked + server->asked_n, sizeof server->asked - server->asked_n,
                                "%s\n", payload);
            server->asked_n += server->asked_n + (size_t)line < sizeof server->asked ? (size_t)line : 0;
            gdb_server_answer(server, payload);
        }
}

static inline void *gdb_server_main(void *data)
{
    struct gdb_server *server = data;
    if (server->listener < 0)
        gdb_server_serve(server);
    while (server->listener >= 0 && (server->own = accept(server->listener, NULL, NULL)) >= 0) {
        gdb_server_serve(server);
        close(server->own);
    }
    return NULL;
}

static inline void gdb_server_start(struct gdb_server *server, const struct gdb_answer *first)
{
    int pair[2];
    *server = (struct gdb_server){.first = first, .then = gdb_common, .listener = -1};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    server->fd = pair[0];
    server->own = pair[1];
    assert_int_equal(fcntl(pair[0], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(pthread_create(&server->thread, NULL, gdb_server_main, server), 0);
}

/* At a port of 127.0.0.1, which it returns. */
static inline uint16_t gdb_server_listen(struct gdb_server *server, const struct gdb_answer *first)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    *server = (struct gdb_server){
        .first = first, .then = gdb_common, .fd = -1, .own = -1, .listener = socket(AF_INET, SOCK_STREAM, 0)};
    assert_int_equal(bind(server->listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(server->listener, 4), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&at, &size), 0);
    assert_int_equal(pthread_create(&server->thread, NULL, gdb_server_main, server), 0);
    return ntohs(at.sin_port);
}

/* The client has closed its end, or does now. */
static inline void gdb_server_stop(struct gdb_server *server)
{
    if (server->listener >= 0) {
        shutdown(server->listener, SHUT_RDWR);
        pthread_join(server->thread, NULL);
        close(server->listener);
        return;
    }
    shutdown(server->own, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->own);
}
