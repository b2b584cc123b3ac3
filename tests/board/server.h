// Loopback TCP servers, also on a socket in the file system: each has a few clients with an input buffer
// each. Who they are for gets the bytes and answers by server_send.
#ifndef BOARD_SERVER_H
#define BOARD_SERVER_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SERVER_CLIENTS = 8, SERVER_INPUT = 1 << 18 };

struct client {
    int fd; // -1: free
    size_t held;
    unsigned number; // 0 at first; its server may keep something there
    uint8_t *input;  // SERVER_INPUT bytes
};

struct server {
    int listener, local; // -1: none
    uint16_t port;
    const char *path; // of `local`; removed with it
    unsigned limit;   // clients at a time
    struct client clients[SERVER_CLIENTS];
    // Given what a client has sent so far: how much of it was used up, or -1 to hang up
    long (*received)(void *self, struct client *, const uint8_t *bytes, size_t length);
    void (*connected)(void *self);
    void (*left)(void *self); // a client left, or was dropped
    void *self;
};

enum { SERVER_LISTENERS = 2, SERVER_POLLS = SERVER_CLIENTS + SERVER_LISTENERS };

bool server_open(struct server *, uint16_t port, unsigned limit);
// Also there, for the same clients: a third of the time that TCP takes. The path must live as long as the
// server
bool server_open_local(struct server *, const char *path);
void server_close(struct server *);
// Fills in what to wait for (returns how many), then deals with what arrived
size_t server_polls(const struct server *, struct pollfd *polls);
void server_serve(struct server *, const struct pollfd *polls, size_t count);
// Offers again what was not used up
void server_again(struct server *);
bool server_send(struct client *, const void *bytes, size_t length);

#endif
