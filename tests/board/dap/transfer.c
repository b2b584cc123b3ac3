// DAP_Transfer and DAP_TransferBlock. The order of things on the wire is the reference firmware's; so is what
// counts as done: in a list a posted read does, though after a failure its value is missing, in a block it
// does when its value is there.
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
    } while (ack == LINE_WAIT && retry-- && !processor_stopped(p));
    p->floats = ack == LINE_NONE && !p->line.jtag && (p->quirks & QUIRK_FLOATS);
    return ack;
}

static void put_stamp(struct transfer *t, unsigned request)
{
    if (t->p->timer && (request & TIMESTAMP))
        answer_put(t->answer, (uint32_t)(t->p->breathe(t->p->self) / 1000), 4);
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
    bool again = !(p->quirks & QUIRK_FEWER_READS) || retry-- > 0;
    if (p->quirks & QUIRK_NO_MATCH) {
        t->response = LINE_PROTOCOL;
        return false;
    }
    if (line_posts(&p->line, request)) {
        t->response = attempt(p, request, &data);
        if (t->response != LINE_OK)
            return false;
    }
    while (again) {
        t->response = attempt(p, request, &data);
        again = t->response == LINE_OK && (data & p->match_mask) != value && retry-- && !processor_stopped(p);
    }
    if (t->response == LINE_OK && (p->quirks & QUIRK_BLIND_MATCH))
        return true;
    if ((data & p->match_mask) != value) // whatever was acknowledged
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
    else if (t->unchecked || t->p->line.jtag) // over JTAG whatever was last
        t->response = attempt(t->p, LINE_RDBUFF, &data);
}

static size_t data_of(unsigned request)
{
    return !(request & LINE_READ) || (request & MATCH_VALUE) ? 4 : 0;
}

static size_t reply_of(const struct processor *p, unsigned request)
{
    bool read = request & LINE_READ;
    if (request & (read ? MATCH_VALUE : MATCH_MASK))
        return 0;
    return (read ? 4u : 0u) + (p->timer && (request & TIMESTAMP) ? 4u : 0u);
}

// All of the list is there, and so is room for all that it may bring
static bool whole(const struct processor *p, const struct bytes *in, const struct answer *out, unsigned count)
{
    struct bytes look = *in;
    size_t room = 2;
    while (count--) {
        unsigned request = bytes_take(&look, 1);
        bytes_skip(&look, data_of(request));
        room += reply_of(p, request);
    }
    return !look.bad && room <= answer_room(out);
}

// Without a wire, or with an index beyond the chain, nothing is done, and the reply says so
static bool reach(struct processor *p, unsigned index)
{
    p->line.index = p->port == PORT_JTAG ? index : 0;
    p->line.instruction = 0; // the host may have been at it
    return p->port == PORT_SWD || (p->port == PORT_JTAG && index < p->line.devices);
}

static bool any_match(const struct bytes *in, unsigned count)
{
    struct bytes look = *in;
    bool any = false;
    while (count--) {
        unsigned request = bytes_take(&look, 1);
        any = any || ((request & LINE_READ) && (request & MATCH_VALUE));
        bytes_skip(&look, data_of(request));
    }
    return any;
}

// As this firmware reads the request: with the quirk it goes on to the next one after the request's byte
static unsigned understood(const struct transfer *t, unsigned request)
{
    bool loses = (t->p->quirks & QUIRK_LOSES_PLACE) && t->posted && (request & LINE_READ) &&
                 line_posts(&t->p->line, request);
    return loses ? request & ~(unsigned)MATCH_VALUE : request;
}

void transfer_run(struct processor *p, struct bytes *in, struct answer *out)
{
    struct transfer t = {.p = p, .answer = out};
    unsigned index = bytes_take(in, 1), count = bytes_take(in, 1), done = 0;
    uint8_t *head = out->at;
    if (in->bad || !whole(p, in, out, count) || ((p->quirks & QUIRK_INVALID_MATCH) && any_match(in, count))) {
        in->bad = true;
        return;
    }
    answer_put(out, 0, 2);
    for (bool going = reach(p, index); count; count--) {
        struct bytes one = *in; // whatever is done with it, the next request follows it
        unsigned request = understood(&t, bytes_take(&one, 1));
        bytes_skip(in, 1 + data_of(request));
        if (!going || in->bad)
            continue;
        going =
            request & LINE_READ ? read_one(&t, request, &one) : write_one(&t, request, bytes_take(&one, 4));
        done += going;
        going = going && !processor_stopped(p);
    }
    finish(&t);
    head[0] = (uint8_t)done;
    head[1] = (uint8_t)t.response;
    in->bad = out->full = false; // a probe that loses its place does not notice
}

static unsigned read_block(struct transfer *t, unsigned request, unsigned count)
{
    uint32_t data = 0;
    unsigned done = 0;
    bool posts = line_posts(&t->p->line, request);
    t->response = posts ? attempt(t->p, request, &data) : LINE_OK;
    while (t->response == LINE_OK && done < count && !processor_stopped(t->p))
        done += fetch(t, posts && done + 1 == count ? LINE_RDBUFF : request);
    return done;
}

static unsigned write_block(struct transfer *t, unsigned request, unsigned count, struct bytes *in)
{
    unsigned done = 0;
    t->response = LINE_OK;
    while (t->response == LINE_OK && done < count && !processor_stopped(t->p))
        done += write_one(t, request, bytes_take(in, 4));
    finish(t);
    return done;
}

void transfer_block(struct processor *p, struct bytes *in, struct answer *out)
{
    struct transfer t = {.p = p, .answer = out};
    unsigned index = bytes_take(in, 1), count = bytes_take(in, 2), request = bytes_take(in, 1) & REGISTER;
    bool read = request & LINE_READ;
    size_t data = read ? 0 : 4 * (size_t)count;
    uint8_t *head = out->at;
    if (in->bad || bytes_left(in) < data || answer_room(out) < 3 + (read ? 4 * (size_t)count : 0)) {
        in->bad = true;
        return;
    }
    struct bytes words = *in;
    unsigned done = 0;
    bytes_skip(in, data);
    answer_put(out, 0, 3);
    if (count && reach(p, index))
        done = read ? read_block(&t, request, count) : write_block(&t, request, count, &words);
    head[0] = (uint8_t)done;
    head[1] = (uint8_t)(done >> 8);
    head[2] = (uint8_t)t.response;
}
