/* A carrier whose other end is the model, and an executor on top of it. */
#pragma once

#include "dap_model.h"
#include "links/dap/adi.h"
#include "links/dap/executor.h"
#include "links/dap/probe.h"
#include "test.h"

#include <unistd.h>

struct model_carrier {
    struct carrier carrier;
    struct model *model;
    struct {
        uint8_t bytes[2048];
        size_t n;
    } replies[8];
    unsigned in, out;
    unsigned most;  /* in flight at a time */
    long lose_at;   /* number of the packet that is not sent any more; -1: never */
    long drop_at;   /* number of the packet whose reply never arrives; -1: never */
    long late_from; /* waiting replies that are right; the others get the newer one's length; -1: all */
    long sent;
};

static bool model_send(struct carrier *carrier, const uint8_t *packet, size_t n,
                       const struct deadline *deadline, struct error *error)
{
    struct model_carrier *self = (struct model_carrier *)carrier;
    (void)deadline;
    if (self->in - self->out >= (self->model->packet_count > 1 ? self->model->packet_count : 1))
        abort();
    if (self->sent++ == self->lose_at)
        return error_set(error, ERROR_LINK_LOST, "unplugged");
    unsigned at = self->in++ % 8;
    self->most = self->in - self->out > self->most ? self->in - self->out : self->most;
    self->replies[at].n = model_command(self->model, packet, n, self->replies[at].bytes);
    self->in -= self->sent - 1 == self->drop_at;
    if (self->in - self->out > 1 && self->late_from >= 0 && self->late_from-- == 0) {
        self->replies[self->out % 8].n = self->replies[at].n;
        self->late_from = 0;
    }
    return true;
}

static bool model_receive(struct carrier *carrier, uint8_t *packet, size_t room, size_t *n,
                          const struct deadline *deadline, struct error *error)
{
    struct model_carrier *self = (struct model_carrier *)carrier;
    if (self->in == self->out) {
        while (self->drop_at >= 0 && !deadline_passed(deadline))
            usleep(1000);
        return error_set(error, ERROR_LINK_LOST, "nothing was asked");
    }
    unsigned at = self->out++ % 8;
    size_t length = self->replies[at].n;
    if (self->model->pads) { /* as HID does; with what is not zero */
        memset(self->replies[at].bytes + length, 0xA5, sizeof self->replies[at].bytes - length);
        length = self->model->packet_size;
    }
    *n = length < room ? length : room;
    memcpy(packet, self->replies[at].bytes, *n);
    return true;
}

static void model_close(struct carrier *carrier)
{
    (void)carrier;
}

struct bench {
    struct model model;
    struct model_carrier carrier;
    struct dap_probe probe;
    struct executor executor;
    struct error error;
};

static void bench_carrier(struct bench *bench)
{
    static const struct carrier_ops ops = {
        .send = model_send, .receive = model_receive, .close = model_close};
    bench->carrier = (struct model_carrier){.carrier = {.ops = &ops, .name = "model"},
                                            .model = &bench->model,
                                            .lose_at = -1,
                                            .drop_at = -1,
                                            .late_from = -1};
    bench->carrier.carrier.takes_several = true;
    bench->carrier.carrier.padded = bench->model.pads;
    bench->probe = (struct dap_probe){.carrier = &bench->carrier.carrier};
    memset(&bench->executor, 0, sizeof bench->executor);
    bench->executor.adi.probe = &bench->probe;
    bench->executor.adi.wait_us = 1; /* so that a test need not wait */
    bench->error = (struct error){.kind = ERROR_NONE};
}

/* As `from` is, with its own parts. */
static inline void bench_copy(struct bench *bench, const struct bench *from)
{
    *bench = *from;
    bench->carrier.model = &bench->model;
    bench->probe.carrier = &bench->carrier.carrier;
    bench->executor.adi.probe = &bench->probe;
}

static bool bench_begin(struct bench *bench)
{
    struct adi *adi = &bench->executor.adi;
    executor_begin(&bench->executor);
    /* Small, so that a test need not wait */
    adi->match_ns = adi->match_least_ns = 400000;
    adi->match_retry = 25;
    return adi_configure(adi, adi->match_retry, &bench->error);
}

static bool bench_connect(struct bench *bench)
{
    struct deadline deadline = deadline_in_ms(5000, NULL);
    bench_carrier(bench);
    if (!probe_identify(&bench->probe, &deadline, &bench->error) ||
        !connect_target(&bench->executor.adi, DAP_WIRES_SWD, 0, &deadline, &bench->error) ||
        !connect_find_ports(&bench->executor.adi, &bench->executor.compiler.ap, &deadline, &bench->error))
        return false;
    return bench_begin(bench);
}
