/*
 * Something else at the other end of the connection: a thread that plays an OpenOCD up to a point, and
 * then whatever a test wants.
 */
#pragma once

#include "base/deadline.h"
#include "test.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct peer;

/* Answers one request, in its own way. False: close the connection. */
typedef bool peer_answer(struct peer *peer, const char *request);

struct peer {
    peer_answer *answer, *steps; /* steps: of a list of steps; NULL: answer has that, too */
    const char *greeting;        /* sent to each client */
    const char *text;            /* for the answer function */
    int listener, fd;
    uint16_t port;
    uint64_t sequence; /* of the request */
    unsigned again;    /* the number of further connections that are served; others are closed at once */
    bool forgets;      /* its pmu.tcl with each connection, as another OpenOCD would */
    char loaded[32];
    unsigned executed; /* for the answer function */
    atomic_bool stop;
    pthread_t thread;
};

static inline void peer_send(struct peer *peer, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(peer->fd, text, length, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        text += sent;
        length -= (size_t)sent;
    }
}

static inline void peer_say(struct peer *peer, const char *text)
{
    peer_send(peer, text, strlen(text));
    peer_send(peer, "\x1a", 1);
}

/* "pmu SEQUENCE rest" */
static inline bool peer_reply(struct peer *peer, uint64_t sequence, const char *rest)
{
    char text[4096];
    snprintf(text, sizeof text, "pmu %" PRIu64 " %s", sequence, rest);
    peer_say(peer, text);
    return true;
}

/* What a well-behaved OpenOCD with one target says until steps are sent. */
static inline bool peer_behaves(struct peer *peer, const char *request)
{
    const char *version = strstr(request, "\npmu_say ");
    if (strncmp(request, "expr", 4) == 0)
        peer_say(peer, "42");
    else if (strcmp(request, "version") == 0)
        peer_say(peer, "Open On-Chip Debugger 0.12.0");
    else if (strncmp(request, "format", 6) == 0) {
        char loaded[48];
        snprintf(loaded, sizeof loaded, "exec %s", peer->forgets ? "0" : peer->loaded);
        peer_say(peer, loaded);
    } else if (strlen(request) > 2000 && version != NULL) {
        snprintf(peer->loaded, sizeof peer->loaded, "%s", version + strlen("\npmu_say "));
        peer_say(peer, peer->loaded);
    } else if (strncmp(request, "pmu_answer ", 11) == 0)
        peer_reply(peer, peer->sequence, "0 0 0 0 ");
    else if (strcmp(request, "pmu_open") == 0)
        peer_say(peer, "pmu\n0 1 cortex_m chip.cpu");
    else
        return false;
    return true;
}

static inline void peer_talk(struct peer *peer)
{
    size_t used = 0, room = 1 << 18;
    char *request = malloc(room);
    bool going = true;
    if (peer->greeting != NULL)
        peer_send(peer, peer->greeting, strlen(peer->greeting));
    while (going && !peer->stop && used < room) {
        ssize_t got = recv(peer->fd, request + used, room - used, 0);
        if (got <= 0)
            break;
        used += (size_t)got;
        for (char *end; going && (end = memchr(request, 0x1a, used)) != NULL;) {
            *end = '\0';
            const char *digits = strpbrk(request, "0123456789");
            peer->sequence = digits == NULL ? 0 : strtoull(digits, NULL, 10);
            bool steps = peer->steps != NULL && strncmp(request, "pmu_execute", 11) == 0;
            going = steps ? peer->steps(peer, request) : peer->answer(peer, request);
            used -= (size_t)(end + 1 - request);
            memmove(request, end + 1, used);
        }
    }
    free(request);
}

static inline void *peer_main(void *argument)
{
    struct peer *peer = argument;
    for (unsigned n = 0; (peer->fd = accept(peer->listener, NULL, NULL)) >= 0; n++) {
        if (n <= peer->again)
            peer_talk(peer);
        close(peer->fd);
    }
    return NULL;
}

static inline void peer_start(struct peer *peer, peer_answer *answer, const char *greeting, const char *text)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    memset(peer, 0, sizeof *peer);
    peer->answer = answer;
    peer->greeting = greeting;
    peer->text = text;
    strcpy(peer->loaded, "0");
    peer->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(peer->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(peer->listener, 1), 0);
    assert_int_equal(getsockname(peer->listener, (struct sockaddr *)&address, &size), 0);
    peer->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&peer->thread, NULL, peer_main, peer), 0);
}

/* One that behaves until steps are sent. */
static inline void peer_start_well(struct peer *peer, peer_answer *steps, const char *text)
{
    peer_start(peer, peer_behaves, NULL, text);
    peer->steps = steps;
}

static inline void peer_stop(struct peer *peer)
{
    peer->stop = true;
    shutdown(peer->listener, SHUT_RDWR);
    pthread_join(peer->thread, NULL);
    close(peer->listener);
}

static inline void peer_pause(int64_t ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}
