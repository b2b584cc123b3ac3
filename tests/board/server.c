// Sockets: see the header.
#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { SEND_SECONDS = 10 }; // a client that reads nothing for so long is hung up on

bool server_open(struct server *s, uint16_t port, unsigned limit)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t length = sizeof a;
    int one = 1;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    s->limit = limit < SERVER_CLIENTS ? limit : SERVER_CLIENTS;
    for (unsigned i = 0; i < SERVER_CLIENTS; i++)
        s->clients[i].fd = -1;
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->listener < 0)
        return false;
    setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(s->listener, (struct sockaddr *)&a, sizeof a) || listen(s->listener, 4) ||
        getsockname(s->listener, (struct sockaddr *)&a, &length))
        return false;
    s->port = ntohs(a.sin_port);
    return true;
}

bool server_open_local(struct server *s, const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof a.sun_path)
        return false;
    memcpy(a.sun_path, path, strlen(path) + 1);
    s->local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->local < 0 || bind(s->local, (struct sockaddr *)&a, sizeof a))
        return false;
    s->path = path;
    return listen(s->local, 4) == 0;
}

static void hang_up(struct server *s, struct client *c)
{
    bool was_there = c->fd >= 0;
    if (was_there)
        close(c->fd);
    free(c->input);
    *c = (struct client){.fd = -1};
    if (was_there && s->left)
        s->left(s->self);
}

void server_close(struct server *s)
{
    for (unsigned i = 0; i < SERVER_CLIENTS; i++)
        hang_up(s, &s->clients[i]);
    if (s->listener >= 0)
        close(s->listener);
    if (s->local >= 0)
        close(s->local);
    if (s->path)
        unlink(s->path);
    s->listener = s->local = -1;
    s->path = NULL;
}

static unsigned free_slot(const struct server *s)
{
    unsigned i = 0;
    while (i < s->limit && s->clients[i].fd >= 0)
        i++;
    return i;
}

size_t server_polls(const struct server *s, struct pollfd *polls)
{
    // With no slot free a further client waits in the kernel's queue
    bool room = free_slot(s) < s->limit;
    polls[0] = (struct pollfd){.fd = room ? s->listener : -1, .events = POLLIN};
    polls[1] = (struct pollfd){.fd = room ? s->local : -1, .events = POLLIN};
    for (unsigned i = 0; i < SERVER_CLIENTS; i++)
        polls[i + SERVER_LISTENERS] = (struct pollfd){.fd = s->clients[i].fd, .events = POLLIN};
    return SERVER_POLLS;
}

static void accept_one(struct server *s, int listener)
{
    struct timeval patience = {.tv_sec = SEND_SECONDS};
    int one = 1, fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    unsigned slot = free_slot(s);
    if (fd < 0)
        return;
    struct client *c = &s->clients[slot < s->limit ? slot : 0];
    if (slot >= s->limit || !(c->input = malloc(SERVER_INPUT))) {
        close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    c->fd = fd;
    c->held = 0;
    if (s->connected)
        s->connected(s->self);
}

static void offer(struct server *s, struct client *c)
{
    long used = s->received(s->self, c, c->input, c->held);
    if (used < 0 || (size_t)used > c->held || (!used && c->held == SERVER_INPUT)) {
        hang_up(s, c); // it asked for it, or it sent a line that never ends
        return;
    }
    c->held -= (size_t)used;
    memmove(c->input, c->input + used, c->held);
}

void server_again(struct server *s)
{
    for (unsigned i = 0; i < SERVER_CLIENTS; i++)
        if (s->clients[i].fd >= 0 && s->clients[i].held)
            offer(s, &s->clients[i]);
}

static void receive(struct server *s, struct client *c)
{
    ssize_t got = recv(c->fd, c->input + c->held, SERVER_INPUT - c->held, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        hang_up(s, c);
        return;
    }
    c->held += (size_t)got;
    offer(s, c);
}

void server_serve(struct server *s, const struct pollfd *polls, size_t count)
{
    if (count != SERVER_POLLS)
        return;
    const struct pollfd *clients = polls + SERVER_LISTENERS;
    for (unsigned i = 0; i < SERVER_CLIENTS; i++)
        if (clients[i].revents && s->clients[i].fd == clients[i].fd && clients[i].fd >= 0)
            receive(s, &s->clients[i]);
    for (unsigned i = 0; i < SERVER_LISTENERS; i++)
        if (polls[i].revents)
            accept_one(s, polls[i].fd);
}

bool server_send(struct client *c, const void *bytes, size_t length)
{
    const uint8_t *from = bytes;
    while (length) {
        ssize_t sent = send(c->fd, from, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        from += sent;
        length -= (size_t)sent;
    }
    return true;
}
