// Transfers and replies: see the header.
#include "usb/device.h"

#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "dap/quirks.h"

enum { IN = 0x80, STEP_NS = 100000, TRACE_STEP_NS = 1000000 };

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void append(struct usb_queue *q, struct usb_transfer *t)
{
    t->next = NULL;
    if (q->last)
        q->last->next = t;
    else
        q->first = t;
    q->last = t;
}

static bool take_away(struct usb_queue *q, const struct usb_transfer *t)
{
    struct usb_transfer *before = NULL, *at = q->first;
    while (at && at != t) {
        before = at;
        at = at->next;
    }
    if (!at)
        return false;
    if (before)
        before->next = at->next;
    else
        q->first = at->next;
    if (q->last == at)
        q->last = before;
    return true;
}

static void finish(struct usb_transfer *t, int status, size_t actual)
{
    t->status = status;
    t->actual = actual;
    t->done(t);
}

// Only requests that are there now, because `done` may submit again
static void fail_all(struct usb_queue *q, int status)
{
    struct usb_queue failed = *q;
    *q = (struct usb_queue){0};
    while (failed.first) {
        struct usb_transfer *t = failed.first;
        failed.first = t->next;
        finish(t, status, 0);
    }
}

// One more transfer has been over the endpoints
static void count(struct usb_device *d, uint64_t *counter)
{
    ++*counter;
    if (d->limited && !--d->left)
        device_plug(d, false);
}

static void process(struct usb_device *d, unsigned pipe, const struct usb_report *request)
{
    struct usb_pipe *p = &d->pipes[pipe];
    // It stays this one while replies before it are delivered
    struct usb_reply *r = &p->replies[(p->first + p->held) % USB_PACKETS_MAX];
    const struct usb_meanwhile meanwhile = {
        .waited = request->arrived_ns <= d->done_ns, .look = d->look, .self = d->self};
    size_t size = d->function.packet_size;
    uint64_t resets = d->resets;
    d->executing = pipe;
    size_t got =
        d->function.packet(d->function.self, request->bytes, request->length, r->bytes, size, &meanwhile);
    d->executing = PIPES;
    d->done_ns = now_ns();
    if (!got || d->resets != resets || ((d->function.quirks & QUIRK_LOST_REPLY) && p->held))
        return;
    r->length = got < size ? got : size;
    for (unsigned i = 0; i < p->held && (d->function.quirks & QUIRK_LATE_LENGTH); i++)
        p->replies[(p->first + i) % USB_PACKETS_MAX].length = r->length;
    if (pipe == PIPE_V1) { // reports have one size
        memset(r->bytes + r->length, 0, size - r->length);
        r->length = size;
    }
    r->sent = 0;
    r->due_ns = request->arrived_ns + d->function.latency_us * UINT64_C(1000);
    p->held++;
}

// With the packet that is being executed, which needs a place for its reply
static unsigned held(const struct usb_device *d, unsigned pipe)
{
    return d->pipes[pipe].held + (d->executing == pipe);
}

// Whether full packets end a transfer that could be longer
static bool is_open(const struct usb_device *d, unsigned pipe, size_t length, size_t most)
{
    return (d->function.quirks & QUIRK_NO_ZLP) && pipe == PIPE_V2 && length && length < most &&
           length % d->descriptors.max_packet[pipe] == 0;
}

// True: a packet is ready to be executed. Part of it may have been there before.
static bool take_bytes(struct usb_device *d, unsigned pipe, const struct usb_transfer *t,
                       struct usb_report *request)
{
    struct usb_pipe *p = &d->pipes[pipe];
    size_t length = p->begun_length + t->length;
    memcpy(p->begun + p->begun_length, t->data, t->length);
    p->begun_length = is_open(d, pipe, length, d->function.packet_size) ? length : 0;
    if (p->begun_length)
        return false;
    memcpy(request->bytes, p->begun, length);
    request->length = length;
    return true;
}

// Without room for the reply a real probe sends NAKs, which leave the transfer waiting
static bool take_request(struct usb_device *d, unsigned pipe)
{
    struct usb_pipe *p = &d->pipes[pipe];
    struct usb_transfer *t = p->out.first;
    struct usb_report request;
    if (!t || held(d, pipe) >= d->function.packet_count)
        return false;
    request.arrived_ns = t->arrived_ns ? t->arrived_ns : now_ns();
    take_away(&p->out, t);
    if (p->begun_length + t->length > d->function.packet_size) {
        p->begun_length = 0;
        finish(t, EPIPE, 0);
        return true;
    }
    bool swallowed = t->crowded && (d->function.quirks & QUIRK_MERGE);
    bool whole = !swallowed && take_bytes(d, pipe, t, &request);
    finish(t, 0, t->length); // before it is processed, as a probe with buffers does
    count(d, &d->counts.out);
    if (whole && request.length && d->plugged)
        process(d, pipe, &request);
    return true;
}

static bool take_report(struct usb_device *d)
{
    if (!d->report_count)
        return false;
    struct usb_report request = d->reports[0];
    d->report_count--;
    memmove(d->reports, d->reports + 1, d->report_count * sizeof *d->reports);
    process(d, PIPE_V1, &request);
    return true;
}

static bool give_reply(struct usb_device *d, unsigned pipe)
{
    struct usb_pipe *p = &d->pipes[pipe];
    struct usb_reply *r = &p->replies[p->first];
    struct usb_transfer *t = p->in.first;
    if (!t || !p->held || (d->function.latency_us && r->due_ns > now_ns()))
        return false;
    size_t rest = r->length - r->sent, room = t->length - t->actual, length = rest < room ? rest : room;
    // A transfer can end between packets, not inside one
    bool babble = length < rest && (!length || length % d->descriptors.max_packet[pipe]);
    if (!babble)
        memcpy(t->data + t->actual, r->bytes + r->sent, length);
    r->sent += length;
    if (babble || r->sent == r->length) {
        p->first = (p->first + 1) % USB_PACKETS_MAX;
        p->held--;
    }
    size_t got = babble ? 0 : t->actual + length;
    if (!babble && is_open(d, pipe, got, t->length)) {
        t->actual = got;
        return true;
    }
    take_away(&p->in, t);
    finish(t, babble ? EOVERFLOW : 0, got);
    count(d, &d->counts.in);
    return true;
}

// One that is full, or shorter: the probe has no more
static bool give_trace(struct usb_device *d)
{
    struct usb_transfer *t = d->trace.first;
    size_t got = t ? d->function.stream(d->function.self, t->data, t->length) : 0;
    if (!got)
        return false;
    take_away(&d->trace, t);
    finish(t, 0, got);
    count(d, &d->counts.in);
    return true;
}

static bool can_take(const struct usb_device *d)
{
    bool can = d->report_count;
    for (unsigned i = 0; i < PIPES; i++)
        can |= d->pipes[i].out.first && d->pipes[i].held < d->function.packet_count;
    return can && d->plugged;
}

// So that the poll loop returns when the next reply is due, or at once for the next request
static void set_timer(const struct usb_device *d)
{
    uint64_t next = can_take(d) ? 1 : 0;
    for (unsigned i = 0; i < PIPES; i++) {
        const struct usb_pipe *p = &d->pipes[i];
        if (p->in.first && p->held && (!next || p->replies[p->first].due_ns < next))
            next = p->replies[p->first].due_ns;
    }
    // In small steps, for the cores make up for what went by between two, and a reply would be late by that
    uint64_t soon = now_ns() + STEP_NS;
    next = next > soon ? soon : next;
    if (d->trace.first && !next)
        next = now_ns() + TRACE_STEP_NS;
    struct itimerspec at = {.it_value = {(time_t)(next / 1000000000u), (long)(next % 1000000000u)}};
    timerfd_settime(d->timer, TFD_TIMER_ABSTIME, &at, NULL);
}

void device_deliver(struct usb_device *d)
{
    for (unsigned i = 0; i < PIPES; i++)
        while (d->plugged && give_reply(d, i))
            continue;
    while (d->plugged && give_trace(d))
        continue;
}

// One packet at a time: the poll loop has others to serve, too
bool device_move(struct usb_device *d)
{
    bool taken = d->plugged && take_report(d);
    for (unsigned i = 0; i < PIPES && d->plugged && !taken; i++)
        taken = take_request(d, i);
    device_deliver(d);
    set_timer(d);
    return taken;
}

void device_submit(struct usb_device *d, struct usb_transfer *t)
{
    unsigned pipe = descriptors_pipe_of_endpoint(&d->descriptors, t->endpoint);
    if (!d->plugged || pipe == PIPES) {
        finish(t, d->plugged ? ENOENT : ESHUTDOWN, 0);
        return;
    }
    struct usb_queue *q = t->endpoint == ENDPOINT_TRACE ? &d->trace
                          : t->endpoint & IN            ? &d->pipes[pipe].in
                                                        : &d->pipes[pipe].out;
    unsigned before = held(d, pipe);
    for (const struct usb_transfer *one = q->first; one; one = one->next)
        before++;
    t->arrived_ns = before < d->function.packet_count ? now_ns() : 0;
    t->crowded = before > 0;
    t->actual = 0;
    append(q, t);
}

void device_cancel(struct usb_device *d, struct usb_transfer *t, int status)
{
    if (take_away(&d->trace, t)) {
        finish(t, status, 0);
        return;
    }
    for (unsigned i = 0; i < PIPES; i++) {
        if (take_away(&d->pipes[i].in, t) || take_away(&d->pipes[i].out, t)) {
            finish(t, status, 0);
            return;
        }
    }
}

int device_control(struct usb_device *d, const uint8_t setup[SETUP_BYTES], uint8_t *data, size_t room)
{
    static const uint8_t set_output_report[] = {0x21, 0x09, 0x00, 0x02};
    d->counts.control++;
    if (memcmp(setup, set_output_report, sizeof set_output_report) != 0)
        return descriptors_control(&d->descriptors, setup, data, room);
    if (descriptors_pipe_of_interface(&d->descriptors, setup[4]) != PIPE_V1 || !room ||
        room > d->function.packet_size || held(d, PIPE_V1) + d->report_count >= d->function.packet_count)
        return -1;
    struct usb_report *new = &d->reports[d->report_count++];
    new->arrived_ns = now_ns();
    new->length = room;
    memcpy(new->bytes, data, room);
    return (int)room;
}

void device_reset(struct usb_device *d)
{
    d->resets++;
    d->report_count = 0;
    for (unsigned i = 0; i < PIPES; i++) {
        d->pipes[i].held = 0;
        d->pipes[i].begun_length = 0;
    }
}

void device_plug(struct usb_device *d, bool plugged)
{
    if (d->plugged == plugged)
        return;
    d->plugged = plugged;
    d->limited = false;
    d->hid_driver = plugged && d->function.v1;
    d->generation += plugged;
    d->hid_generation += plugged;
    device_reset(d);
    for (unsigned i = 0; i < PIPES; i++) {
        fail_all(&d->pipes[i].out, ESHUTDOWN);
        fail_all(&d->pipes[i].in, ESHUTDOWN);
    }
    fail_all(&d->trace, ESHUTDOWN);
    d->changed(d->self);
}

void device_bind_hid(struct usb_device *d, bool bound)
{
    if (d->hid_driver == bound)
        return;
    d->hid_driver = bound;
    d->hid_generation += bound;
    fail_all(&d->pipes[PIPE_V1].out, ESHUTDOWN);
    fail_all(&d->pipes[PIPE_V1].in, ESHUTDOWN);
    d->changed(d->self);
}

bool device_open(struct usb_device *d, const struct usb_function *f)
{
    d->function = *f;
    d->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    d->executing = PIPES;
    d->plugged = true;
    d->hid_driver = f->v1;
    d->generation = d->hid_generation = 1;
    descriptors_make(&d->descriptors, f);
    return d->timer >= 0;
}

void device_close(struct usb_device *d)
{
    if (d->timer >= 0)
        close(d->timer);
}
