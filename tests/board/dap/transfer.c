// DAP_Transfer and DAP_TransferBlock. The order of things on the wire is the reference firmware's.
#include "dap/processor.h"

enum { MATCH_VALUE = 1 << 4, MATCH_MASK = 1 << 5, TIMESTAMP = 1 << 7, MISMATCH = 1 << 4, REGISTER = 0xF };

struct transfer {
    struct processor *p;
    struct answer *answer;
    unsigned response;
    bool posted; // a read's value is still to be fetched
    unsigned posted_request;
    bool unchecked; // a write's fate shows with the next transfer only
};

static unsigned attempt(struct processor *p, unsigned request, uint32_t *data)
{
    unsigned ack, retry = p->wait_retry;
    do {
        ack = line_transfer(&p->line, request & REGISTER, data);
        p->counts.transfers++;
        processor_pace(p);
    } while (ack == LINE_WAIT && retry--);
    return ack;
}

static void put_stamp(struct transfer *t, unsigned request)
{
    if (request & TIMESTAMP)
        answer_put(t->answer, t->p->timer ? (uint32_t)(t->p->breathe(t->p->self) / 1000) : 0, 4);
}

// Fetches what was posted, by `request` or by RDBUFF
static bool fetch(struct transfer *t, unsigned request)
{
    uint32_t data = 0;
    t->response = attempt(t->p, request, &data);
    if (t->response != LINE_OK)
        return false;
    answer_put(t->answer, data, 4);
    return true;
}

static bool match(struct transfer *t, unsigned request, uint32_t value)
{
    struct processor *p = t->p;
    uint32_t data = 0;
    unsigned retry = p->match_retry;
    if (p->quirks & QUIRK_NO_MATCH) {
        t->response = LINE_PROTOCOL;
        return false;
    }
    if (line_posts(&p->line, request)) {
        t->response = attempt(p, request, &data);
        if (t->response != LINE_OK)
            return false;
    }
    do {
        t->response = attempt(p, request, &data);
    } while (t->response == LINE_OK && (data & p->match_mask) != value && retry--);
    if (t->response == LINE_OK && (data & p->match_mask) != value)
        t->response |= MISMATCH;
    return t->response == LINE_OK;
}

static bool read_one(struct transfer *t, unsigned request, struct bytes *in)
{
    struct processor *p = t->p;
    if (t->posted) {
        bool chains = line_chains(&p->line, t->posted_request, request) && !(request & MATCH_VALUE);
        if (!fetch(t, chains ? request : LINE_RDBUFF))
            return false;
        t->posted = chains;
        if (chains)
            put_stamp(t, request);
        t->posted_request = request;
        if (chains)
            return true;
    }
    t->unchecked = false;
    if (request & MATCH_VALUE)
        return match(t, request, bytes_take(in, 4));
    uint32_t data = 0;
    t->response = attempt(p, request, &data);
    if (t->response != LINE_OK)
        return false;
    put_stamp(t, request);
    t->posted = line_posts(&p->line, request);
    t->posted_request = request;
    if (!t->posted)
        answer_put(t->answer, data, 4);
    return true;
}

static bool write_one(struct transfer *t, unsigned request, uint32_t value)
{
    if (t->posted && !fetch(t, LINE_RDBUFF))
        return false;
    t->posted = false;
    if (request & MATCH_MASK) {
        t->p->match_mask = value;
        t->response = LINE_OK;
        return true;
    }
    t->response = attempt(t->p, request, &value);
    t->unchecked = true;
    if (t->response == LINE_OK)
        put_stamp(t, request);
    return t->response == LINE_OK;
}

static void finish(struct transfer *t)
{
    uint32_t data;
    if (t->response != LINE_OK)
        return;
    if (t->posted)
        fetch(t, LINE_RDBUFF);
    else if (t->unchecked)
        t->response = attempt(t->p, LINE_RDBUFF, &data);
}

void transfer_run(struct processor *p, struct bytes *in, struct answer *out)
{
    struct transfer t = {.p = p, .answer = out};
    p->line.index = bytes_take(in, 1);
    unsigned count = bytes_take(in, 1), done = 0;
    uint8_t *head = out->at;
    answer_put(out, 0, 2);
    if (p->line.index >= p->line.devices)
        p->line.index = 0;
    if (!p->port || in->bad || out->full)
        return;
    for (; done < count; done++) {
        unsigned request = bytes_take(in, 1);
        bool read = request & LINE_READ;
        uint32_t value = read ? 0 : bytes_take(in, 4);
        struct answer before = *out;
        if (in->bad || !(read ? read_one(&t, request, in) : write_one(&t, request, value)) || in->bad)
            break;
        if (out->full) {
            *out = before;
            break;
        }
    }
    finish(&t);
    head[0] = (uint8_t)done;
    head[1] = (uint8_t)t.response;
}

void transfer_block(struct processor *p, struct bytes *in, struct answer *out)
{
    struct transfer t = {.p = p, .answer = out, .response = LINE_OK};
    p->line.index = bytes_take(in, 1);
    unsigned count = bytes_take(in, 2), request = bytes_take(in, 1) & REGISTER, done = 0;
    uint8_t *head = out->at;
    answer_put(out, 0, 3);
    if (p->line.index >= p->line.devices)
        p->line.index = 0;
    if (!p->port || in->bad || out->full)
        return;
    for (; done < count; done++) {
        bool read = request & LINE_READ;
        uint32_t value = read ? 0 : bytes_take(in, 4);
        if (in->bad || !(read ? read_one(&t, request, in) : write_one(&t, request, value)) || out->full)
            break;
    }
    finish(&t);
    head[0] = (uint8_t)done;
    head[1] = (uint8_t)(done >> 8);
    head[2] = (uint8_t)t.response;
}
