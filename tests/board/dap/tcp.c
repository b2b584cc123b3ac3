// CMSIS-DAP over TCP: see the header.
#include "dap/tcp.h"

#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "pace.h"

enum { HEAD = 8, REQUEST = 1, REPLY = 2, LOOK_NS = 1000000, GLIMPSE = 4096, NS_PER_S = 1000000000 };

static const uint8_t signature[] = {'D', 'A', 'P', 0};

// Length of the frame that these bytes begin with: 0 if it is not all there, -1 if it is none
static long frame(const struct dap_tcp *t, const uint8_t *bytes, size_t length)
{
    if (memcmp(bytes, signature, length < sizeof signature ? length : sizeof signature) != 0)
        return -1;
    if (length < HEAD)
        return 0;
    size_t size = bytes[4] | (size_t)bytes[5] << 8;
    if (!size || size > t->processor->packet_size || bytes[6] != REQUEST || bytes[7])
        return -1;
    return length < HEAD + size ? 0 : (long)(HEAD + size);
}

static bool has_abort(const struct dap_tcp *t, const uint8_t *bytes, size_t length)
{
    long size;
    for (; length && (size = frame(t, bytes, length)) > 0; bytes += size, length -= (size_t)size)
        if (processor_is_abort(bytes + HEAD, (size_t)size - HEAD))
            return true;
    return false;
}

static void send_reply(struct dap_tcp *t, const uint8_t *bytes, size_t length)
{
    uint8_t packet[HEAD + PROCESSOR_PACKET] = {'D',  'A', 'P', 0, (uint8_t)length, (uint8_t)(length >> 8),
                                               REPLY};
    memcpy(packet + HEAD, bytes, length);
    t->lost = !server_send(t->client, packet, HEAD + length) || t->lost;
}

static void set_timer(const struct dap_tcp *t)
{
    uint64_t due = t->held ? t->replies[t->first].due_ns : 0; // 0 stops it
    struct itimerspec when = {
        .it_value = {.tv_sec = (time_t)(due / NS_PER_S), .tv_nsec = (long)(due % NS_PER_S)}};
    timerfd_settime(t->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static void deliver(struct dap_tcp *t, uint64_t now)
{
    if (!t->held || t->replies[t->first].due_ns > now)
        return;
    for (; t->held && t->replies[t->first].due_ns <= now; t->held--) {
        if (t->client && t->client->fd >= 0)
            send_reply(t, t->replies[t->first].bytes, t->replies[t->first].length);
        t->first = (t->first + 1) % PROCESSOR_COUNT;
    }
    set_timer(t);
}

// In the midst of a packet: replies that are due go out; has the host sent DAP_TransferAbort since, or left?
static bool stopped(void *carrier)
{
    struct dap_tcp *t = carrier;
    uint8_t bytes[GLIMPSE];
    uint64_t now = pace_now_ns();
    deliver(t, now);
    if (t->aborted || now - t->looked_ns < LOOK_NS)
        return t->aborted;
    t->looked_ns = now;
    ssize_t got = recv(t->client->fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    t->aborted =
        !got || (got > 0 && has_abort(t, bytes, (size_t)got)) || has_abort(t, t->behind, t->behind_length);
    return t->aborted;
}

static bool another_waits(const struct dap_tcp *t)
{
    int unread = 0;
    return t->behind_length || (!ioctl(t->client->fd, FIONREAD, &unread) && unread > 0);
}

static void execute(struct dap_tcp *t, const uint8_t *request, size_t length)
{
    struct processor *p = t->processor;
    struct dap_tcp_packet *reply = &t->replies[(t->first + t->held) % PROCESSOR_COUNT];
    t->aborted = false;
    t->looked_ns = pace_now_ns();
    p->stopped = stopped;
    p->carrier = t;
    reply->length = processor_packet(p, request, length, reply->bytes);
    p->stopped = NULL;
    p->waited = another_waits(t);
    if (!reply->length)
        return;
    if (!t->latency_ns && !t->held) {
        send_reply(t, reply->bytes, reply->length);
        return;
    }
    reply->due_ns = pace_now_ns() + t->latency_ns;
    if (!t->held++)
        set_timer(t);
}

// false: no buffer is free
static bool take(struct dap_tcp *t, const uint8_t *request, size_t length)
{
    unsigned count = t->processor->packet_count;
    size_t parked = 0;
    if (processor_is_abort(request, length))
        return true;
    if (t->held + t->parked_count >= count)
        return false;
    if (processor_is_queued(t->processor, request, length)) {
        struct dap_tcp_packet *new = &t->parked[t->parked_count++];
        new->length = length;
        memcpy(new->bytes, request, length);
        return true;
    }
    while (parked < t->parked_count) {
        execute(t, t->parked[parked].bytes, t->parked[parked].length);
        parked++;
    }
    t->parked_count = 0;
    execute(t, request, length);
    return true;
}

static size_t waiting(const struct dap_tcp *t, const uint8_t *bytes, size_t length)
{
    size_t count = t->held + t->parked_count;
    long size;
    for (; length && (size = frame(t, bytes, length)) > 0; bytes += size, length -= (size_t)size)
        count += !processor_is_abort(bytes + HEAD, (size_t)size - HEAD);
    return count;
}

static long received(void *self, struct client *client, const uint8_t *bytes, size_t length)
{
    struct dap_tcp *t = self;
    size_t used = 0, in_flight = waiting(t, bytes, length);
    t->client = client;
    if (in_flight > t->most_in_flight)
        t->most_in_flight = in_flight;
    while (used < length && !t->lost) {
        long size = frame(t, bytes + used, length - used);
        if (size < 0)
            return -1;
        if (!size)
            break;
        t->behind = bytes + used + size;
        t->behind_length = length - used - (size_t)size;
        if (!take(t, bytes + used + HEAD, (size_t)size - HEAD))
            break;
        used += (size_t)size;
    }
    return t->lost ? -1 : (long)used;
}

static void connected(void *self)
{
    struct dap_tcp *t = self;
    t->lost = false;
    t->held = t->parked_count = 0;
    set_timer(t);
}

bool dap_tcp_open(struct dap_tcp *t, uint16_t port, struct processor *processor)
{
    t->processor = processor;
    t->server.received = received;
    t->server.connected = connected;
    t->server.self = t;
    t->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return t->timer >= 0 && server_open(&t->server, port, 1);
}

void dap_tcp_close(struct dap_tcp *t)
{
    server_close(&t->server);
    if (t->timer > 0)
        close(t->timer);
    t->timer = 0;
}

size_t dap_tcp_polls(const struct dap_tcp *t, struct pollfd *polls)
{
    polls[0] = (struct pollfd){.fd = t->timer, .events = POLLIN};
    return 1 + server_polls(&t->server, polls + 1);
}

void dap_tcp_serve(struct dap_tcp *t, const struct pollfd *polls, size_t count)
{
    if (count != DAP_TCP_POLLS)
        return;
    if (polls[0].revents) {
        deliver(t, pace_now_ns());
        server_again(&t->server); // buffers have become free
    }
    server_serve(&t->server, polls + 1, count - 1);
}
