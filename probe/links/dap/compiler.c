/* SPDX-License-Identifier: MIT */
#include "links/dap/compiler.h"

/* ---- predictions */

enum { STRIKES = 3 };

enum predict_advice {
    PREDICT_NOTHING, /* match with the step's own mask */
    PREDICT_LEARN,   /* the same, then read the word for predict_learn */
    PREDICT_WORD,    /* match all bits of *word */
};

static const struct predicted_write *last_write(const struct predictor *predictor, const struct step *step)
{
    for (size_t i = 0; i < PREDICT_WRITES; i++) {
        const struct predicted_write *write = &predictor->writes[i];
        if (write->used && write->unit == step->at.unit && write->offset == step->at.offset)
            return write;
    }
    return NULL;
}

static void predict_note_write(struct predictor *predictor, const struct step *step)
{
    struct predicted_write *write = (struct predicted_write *)last_write(predictor, step);
    if (write == NULL)
        write = &predictor->writes[predictor->next_write++ % PREDICT_WRITES];
    *write = (struct predicted_write){.unit = step->at.unit,
                                      .used = true,
                                      .offset = (uint32_t)step->at.offset,
                                      .value = (uint32_t)step->value};
}

/* *entry identifies the question in later calls. */
static enum predict_advice predict_ask(struct predictor *predictor, const struct step *step, uint8_t *entry,
                                       uint32_t *word)
{
    const struct predicted_write *write = last_write(predictor, step);
    struct prediction wanted = {.unit = step->at.unit,
                                .used = true,
                                .after_write = write != NULL,
                                .offset = (uint32_t)step->at.offset,
                                .mask = (uint32_t)step->mask,
                                .value = (uint32_t)step->value,
                                .written = write != NULL ? write->value : 0};
    *entry = 0;
    if (wanted.mask == UINT32_MAX)
        return PREDICT_NOTHING;
    for (size_t i = 0; i < PREDICTIONS; i++) {
        const struct prediction *one = &predictor->entries[i];
        if (!one->used || one->unit != wanted.unit || one->offset != wanted.offset ||
            one->mask != wanted.mask || one->value != wanted.value ||
            one->after_write != wanted.after_write || one->written != wanted.written)
            continue;
        *entry = (uint8_t)i;
        *word = one->word;
        if (one->strikes >= STRIKES)
            return PREDICT_NOTHING;
        return one->known ? PREDICT_WORD : PREDICT_LEARN;
    }
    *entry = (uint8_t)(predictor->next++ % PREDICTIONS);
    predictor->entries[*entry] = wanted;
    return PREDICT_LEARN;
}

/* What a question's word was, after the match on the step's own mask. */
static void predict_learn(struct predictor *predictor, uint8_t entry, uint32_t word)
{
    struct prediction *one = &predictor->entries[entry % PREDICTIONS];
    if ((word & one->mask) != one->value)
        return;
    one->word = word;
    one->known = true;
}

void predict_failed(struct predictor *predictor, uint8_t entry, uint32_t saw)
{
    struct prediction *one = &predictor->entries[entry % PREDICTIONS];
    if (saw != one->word && one->strikes < STRIKES)
        one->strikes++;
}

/* ---- packets */

/* Smaller packets have no room for guards: a byte more may cost a packet. */
enum { GUARDS_FROM = 128 };

struct compiling {
    struct compiler *compiler;
    struct packet *packet;
    const struct step *steps;
    size_t n, at;
    bool look;
    bool ended;
};

static const char no_register[] = "that register does not exist";

const char *compiler_refusal(const struct compiler *compiler, const struct step *step)
{
    const struct address *at = &step->at;
    const struct access_port *port = NULL;
    if (step->op == OP_TIME)
        return NULL;
    if (at->space == SPACE_MEMORY || at->space == SPACE_AP) {
        port = ap_state_port((struct ap_state *)&compiler->ap, at->unit);
        if (port == NULL)
            return "that access port does not exist";
    }
    switch ((enum space)at->space) {
    case SPACE_MEMORY:
        if (!port->memory)
            return "that access port reaches no memory";
        if (at->size != 1 && at->size != 2 && at->size != 4)
            return "no access has that size";
        if (at->size < 4 && !port->narrow)
            return "that access port takes whole words only";
        if (at->offset > UINT32_MAX || at->offset % at->size != 0)
            return "that address does not exist";
        return NULL;
    case SPACE_AP:
        if (at->size != 4 || at->offset > (port->v6 ? 0xFFCU : 0xFCU) || at->offset % 4 != 0)
            return no_register;
        return NULL;
    case SPACE_DP:
        if (at->size != 4 || at->offset > 0xFC || at->offset % 4 != 0 ||
            (at->offset % 16 == DP_RDBUFF && step->op == OP_WRITE) || (at->offset > 0xF && compiler->jtag))
            return no_register;
        return NULL;
    case SPACE_MSR:
    case SPACE_CORE:
        break;
    }
    return "it cannot be reached through a debug port";
}

static const struct note *last_note(const struct packet *packet)
{
    for (size_t i = packet->n; i-- > 0;)
        if (packet->notes[i].kind != NOTE_MASK)
            return &packet->notes[i];
    return NULL;
}

static bool put_check(struct compiling *c)
{
    struct note note = {.kind = NOTE_CHECK, .request = TRANSFER_READ | DP_CTRL_STAT, .step = (uint32_t)c->at};
    return packet_put(c->packet, note, NULL);
}

/*
 * A write must have finished before a match: otherwise a failure does not show which of the two failed. And
 * some firmware mishandles a match directly after a posted read. Over SWD a read of RDBUFF fetches the word
 * first. Over JTAG each read is posted, so only a write helps; a write of the same mask stays inside the
 * probe.
 */
static bool put_guard(struct compiling *c)
{
    const struct note *last = last_note(c->packet);
    bool jtag = c->compiler->jtag;
    bool behind_write = last != NULL && last->kind == NOTE_WRITE && c->packet->limit >= GUARDS_FROM;
    bool behind_read = c->packet->n > 0 && note_posted(&c->packet->notes[c->packet->n - 1], jtag);
    if (jtag && behind_read)
        return !c->compiler->loses_place || ap_state_mask_again(&c->compiler->ap, c->packet, (uint32_t)c->at);
    if (!behind_write && !behind_read)
        return true;
    struct note note = {.kind = NOTE_GUARD, .request = TRANSFER_READ | DP_RDBUFF, .step = (uint32_t)c->at};
    return packet_put(c->packet, note, NULL);
}

/* A step's value on the bus: a narrow access uses its own byte lanes. */
static uint32_t on_bus(const struct step *step, uint64_t number, unsigned lane)
{
    if (step->at.size >= 4)
        return (uint32_t)number;
    return (uint32_t)(number & ((1U << 8 * step->at.size) - 1)) << lane;
}

/* False if the value has bits that an access of this size cannot show. */
static bool can_match(const struct step *step)
{
    uint64_t shown = (UINT64_C(1) << 8 * step->at.size) - 1;
    return (step->value & ~(step->mask & shown)) == 0;
}

static bool compile_match(struct compiling *c, uint8_t request, struct note note)
{
    const struct step *step = &c->steps[c->at];
    struct compiler *compiler = c->compiler;
    enum predict_advice advice = PREDICT_NOTHING;
    uint32_t mask = on_bus(step, step->mask, note.lane);
    note.word = on_bus(step, step->value, note.lane);
    if (step->at.space == SPACE_MEMORY && step->at.size == 4) {
        uint32_t word;
        advice = predict_ask(&compiler->predictor, step, &note.entry, &word);
        if (advice == PREDICT_WORD && !c->look) {
            note.word = word;
            note.predicted = true;
            mask = UINT32_MAX;
        }
    }
    note.kind = NOTE_MATCH;
    note.implied = note.step;
    note.request = (uint8_t)(request | TRANSFER_READ | TRANSFER_MATCH_VALUE);
    if (!ap_state_mask(&compiler->ap, c->packet, mask, (uint32_t)c->at) || !put_guard(c) ||
        !packet_put(c->packet, note, &note.word))
        return false;
    if (advice == PREDICT_LEARN) {
        note.kind = NOTE_LEARN;
        note.request = (uint8_t)(request | TRANSFER_READ);
        packet_put(c->packet, note, NULL); /* if it fits */
    }
    return true;
}

/* A wait or proof that we decide ourselves. */
static bool compile_look(struct compiling *c, uint8_t request, struct note note)
{
    note.kind = NOTE_LOOK;
    note.request = (uint8_t)(request | TRANSFER_READ);
    return packet_put(c->packet, note, NULL);
}

static bool compile_check(struct compiling *c, uint8_t request, struct note note)
{
    const struct step *step = &c->steps[c->at];
    bool by_hand = !c->compiler->match || !can_match(step);
    if (!c->look && !by_hand)
        return compile_match(c, request, note);
    if (!compile_look(c, request, note))
        return false;
    if (step->op == OP_UNTIL && !by_hand)
        return compile_match(c, request, note);
    c->ended = true;
    return true;
}

/* One read, whose word is matched where the debug port has it still (IHI 0031 B2.2.8), in the same packet. */
static bool compile_exact(struct compiling *c, uint8_t request, struct note note)
{
    struct packet *packet = c->packet;
    const size_t n = packet->n, length = packet->length, answer = packet->answer;
    const bool mask_known = c->compiler->ap.mask_known;
    const uint32_t mask = c->compiler->ap.mask;
    note.kind = NOTE_READ;
    note.request = (uint8_t)(request | TRANSFER_READ);
    note.word = (uint32_t)c->steps[c->at].value;
    note.implied = note.step;
    if (!ap_state_mask(&c->compiler->ap, packet, UINT32_MAX, (uint32_t)c->at) ||
        !packet_put(packet, note, NULL))
        return false;
    note.kind = NOTE_MATCH;
    note.request = TRANSFER_READ | TRANSFER_MATCH_VALUE | DP_RESEND;
    if (packet_put(packet, note, &note.word))
        return true;
    packet->n = n;
    packet->bytes[2] = (uint8_t)n;
    packet->length = length;
    packet->answer = answer;
    c->compiler->ap.mask_known = mask_known;
    c->compiler->ap.mask = mask;
    return false;
}

/* A proof on the register whose whole word was just matched needs no read. */
static bool is_implied(struct compiling *c)
{
    const struct step *step = &c->steps[c->at];
    struct note *last = c->packet->n > 0 ? &c->packet->notes[c->packet->n - 1] : NULL;
    if (step->op != OP_EXPECT || c->look || last == NULL || last->kind != NOTE_MATCH ||
        !c->compiler->ap.mask_known || c->compiler->ap.mask != UINT32_MAX)
        return false;
    const struct address *asked = &c->steps[last->step].at;
    if (step->at.space != SPACE_MEMORY || step->at.size != 4 || asked->space != step->at.space ||
        asked->size != step->at.size || asked->unit != step->at.unit || asked->offset != step->at.offset ||
        (last->word & step->mask) != step->value)
        return false;
    last->implied = (uint32_t)c->at;
    return true;
}

static bool compile_access(struct compiling *c)
{
    const struct step *step = &c->steps[c->at];
    struct compiler *compiler = c->compiler;
    uint8_t request;
    if (is_implied(c))
        return true;
    if (compiler->resends && step->reread == REREAD_MENDS)
        return true;
    if (!ap_state_step(&compiler->ap, c->packet, c->steps, c->n, c->at, &request))
        return false;
    struct note note = {.step = (uint32_t)c->at};
    if (step->at.space == SPACE_MEMORY && step->at.size < 4)
        note.lane = (uint8_t)(step->at.offset % 4 * 8);
    bool put = false;
    switch (step->op) {
    case OP_READ:
        note.kind = NOTE_READ;
        note.request = (uint8_t)(request | TRANSFER_READ);
        put = packet_put(c->packet, note, NULL);
        break;
    case OP_WRITE: {
        uint32_t data = on_bus(step, step->value, note.lane);
        note.kind = NOTE_WRITE;
        note.request = request;
        put = packet_put(c->packet, note, &data);
        if (put && step->at.space == SPACE_MEMORY)
            predict_note_write(&compiler->predictor, step);
        break;
    }
    case OP_UNTIL:
    case OP_EXPECT:
        put = compiler->resends && step->reread == REREAD_HARMS && !c->look ? compile_exact(c, request, note)
                                                                            : compile_check(c, request, note);
        break;
    case OP_COPY: /* not for links */
    case OP_CHECK:
    case OP_TIME:
        break;
    }
    if (put)
        ap_state_done(&compiler->ap, step, request);
    return put;
}

/* A step's debug port; SPACE_DP has its number in the same bits. */
static unsigned debug_port(const struct step *step)
{
    return step->at.unit >> 8;
}

static void compile_steps(struct compiling *c)
{
    const struct step *first = NULL;
    struct packet *packet = c->packet;
    while (c->at < c->n && !c->ended) {
        const struct step *step = &c->steps[c->at];
        if (step->op == OP_TIME) {
            c->at++;
            if (step->value == TIME_AFTER)
                packet->end = c->at; /* the times before it are not later */
            continue;
        }
        if (compiler_refusal(c->compiler, step) != NULL)
            return;
        if (first == NULL)
            first = step;
        if (debug_port(step) != debug_port(first))
            return;
        if (!compile_access(c))
            return;
        c->look = false;
        c->at++;
        packet->end = c->at;
        if (c->compiler->jtag && step->op == OP_WRITE && !put_check(c))
            return;
    }
    if (c->at == c->n)
        packet->end = c->n;
    while (packet->end < c->n && c->steps[packet->end].op == OP_TIME &&
           c->steps[packet->end].value == TIME_AFTER)
        packet->end++;
}

/* Assumes nothing that the previous packet may not have done. */
static bool open_gate(struct compiling *c, const struct access_port *port, uint32_t token)
{
    struct ap_state *ap = &c->compiler->ap;
    struct note gate = {.kind = NOTE_GATE,
                        .request = TRANSFER_AP | TRANSFER_READ | TRANSFER_MATCH_VALUE | AP_TAR,
                        .step = (uint32_t)c->at};
    ap->select_known = ap->mask_known = false;
    return ap_state_register(ap, c->packet, port, AP_TAR, c->at) &&
           ap_state_mask(ap, c->packet, UINT32_MAX, (uint32_t)c->at) && packet_put(c->packet, gate, &token);
}

static void leave_token(struct compiling *c, struct access_port *port, uint32_t token)
{
    struct note note = {.kind = NOTE_SETUP, .request = TRANSFER_AP | AP_TAR, .step = (uint32_t)c->at};
    if (ap_state_register(&c->compiler->ap, c->packet, port, AP_TAR, c->at) &&
        packet_put(c->packet, note, &token)) {
        port->tar_known = true;
        port->tar = token;
    }
}

void compiler_packet(struct compiler *compiler, const struct step *steps, size_t n, size_t first, bool look,
                     const struct compiler_gates *gates, struct packet *packet)
{
    struct compiling c = {
        .compiler = compiler, .packet = packet, .steps = steps, .n = n, .at = first, .look = look};
    struct access_port *port = NULL;
    for (size_t at = first; gates != NULL && port == NULL && at < n; at++)
        if (steps[at].op != OP_TIME)
            port = ap_state_port(&compiler->ap, steps[at].at.unit);
    packet_begin(packet, compiler->packet_size, compiler->index, first);
    if (port != NULL && gates->ahead) /* SELECT and TAR */
        packet->reserve = (struct packet_reserve){.transfers = 2, .length = 10};
    if (compiler->jtag)
        packet->reserve = (struct packet_reserve){.transfers = 1, .length = 1, .answer = 4};
    if (port != NULL && gates->behind)
        (void)open_gate(&c, port, gates->behind_token);
    compile_steps(&c);
    packet->reserve = (struct packet_reserve){0};
    if (port != NULL && gates->ahead)
        leave_token(&c, port, gates->ahead_token);
    const struct note *last = last_note(packet);
    if (compiler->jtag && last != NULL && last->kind != NOTE_CHECK)
        put_check(&c);
}

/* --- replies to results --------------------------------------------------------------------------------- */

struct decoding {
    struct compiler *compiler;
    const struct packet *packet;
    const struct step *steps;
    const uint8_t *reply;
    size_t n, used; /* bytes of the reply; bytes taken */
    uint64_t *results;
    struct decoded out;
    size_t look;   /* step whose NOTE_LOOK matched; SIZE_MAX: none */
    size_t looked; /* step that had one; SIZE_MAX: none */
};

static uint32_t next_word(struct decoding *d)
{
    const uint8_t *at = d->reply + d->used;
    d->used += 4;
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint64_t off_bus(const struct decoding *d, const struct note *note, uint32_t word)
{
    unsigned size = d->steps[note->step].at.size;
    return size >= 4 ? word : word >> note->lane & ((1U << 8 * size) - 1);
}

/* The last transfer before `count` that went over the wires. */
static const struct note *wire_note_below(const struct packet *packet, size_t count)
{
    for (size_t i = count; i-- > 0;)
        if (packet->notes[i].kind != NOTE_MASK)
            return &packet->notes[i];
    return NULL;
}

/* Whether a read alone decides: no match follows it. */
static bool look_decides(const struct packet *packet, const struct note *look)
{
    for (const struct note *note = look + 1; note < packet->notes + packet->n; note++)
        if (note->kind == NOTE_MATCH && note->step == look->step)
            return false;
    return true;
}

/* False: the packet ends here. */
static bool compiler_take_look(struct decoding *d, const struct note *note, uint32_t word)
{
    const struct step *step = &d->steps[note->step];
    uint64_t saw = off_bus(d, note, word);
    d->out.saw = saw;
    d->looked = note->step;
    d->results[note->step] = saw;
    if ((saw & step->mask) == step->value) {
        d->look = note->step;
        return true;
    }
    if (!look_decides(d->packet, note))
        return true;
    d->out.end = DECODE_MISMATCH;
    d->out.step = note->step;
    d->out.saw_known = true;
    return false;
}

static void take_match(struct decoding *d, const struct note *note)
{
    uint64_t word = off_bus(d, note, note->word);
    d->results[note->step] = word;
    for (size_t at = note->step + 1; at <= note->implied; at++)
        if (d->steps[at].op != OP_TIME)
            d->results[at] = word;
    if (note->predicted)
        d->compiler->predictor.entries[note->entry % PREDICTIONS].strikes = 0;
}

/* Takes one transfer that was carried out. False: the packet ends here. */
static bool decoder_take(struct decoding *d, const struct note *note)
{
    uint32_t word = note_answers(note) ? next_word(d) : 0;
    switch ((enum note_kind)note->kind) {
    case NOTE_READ:
        d->results[note->step] = off_bus(d, note, word);
        break;
    case NOTE_WRITE:
        d->results[note->step] = 0;
        break;
    case NOTE_MATCH:
        take_match(d, note);
        break;
    case NOTE_LOOK:
        return compiler_take_look(d, note, word);
    case NOTE_LEARN:
        d->results[note->step] = word;
        predict_learn(&d->compiler->predictor, note->entry, word);
        break;
    case NOTE_CHECK:
        if (word & (STAT_STICKY_ERR | STAT_STICKY_ORUN)) {
            d->out.end = DECODE_FAULT;
            d->out.step = d->out.unchecked;
            return false;
        }
        d->out.unchecked = note->step;
        break;
    case NOTE_SETUP:
    case NOTE_MASK:
    case NOTE_GATE:
    case NOTE_GUARD:
        break;
    }
    return true;
}

/*
 * Takes the first `good` transfers. `exact`: the reply must end with their words, since a longer reply is
 * from firmware that read the request differently. After a failure some firmware adds a word.
 */
static bool compiler_take_all(struct decoding *d, size_t good, bool exact)
{
    size_t length = TRANSFER_HEAD;
    for (size_t i = 0; i < good; i++)
        length += note_answers(&d->packet->notes[i]) ? 4 : 0;
    if (d->n < length || (exact && !d->compiler->padded && d->n != length)) {
        d->out.end = DECODE_BROKEN;
        d->out.step = d->packet->first;
        return false;
    }
    for (size_t i = 0; i < good; i++)
        if (!decoder_take(d, &d->packet->notes[i]))
            return false;
    return true;
}

static void compiler_mismatch(struct decoding *d, size_t count)
{
    const struct note *note = &d->packet->notes[count];
    if (!compiler_take_all(d, count, true))
        return;
    if (note->kind == NOTE_GATE) {
        d->out.end = DECODE_NO_ACK;
        return;
    }
    if (d->look == note->step) { /* the read before it matched */
        d->out.step = note->step + 1;
        return;
    }
    d->out.end = DECODE_MISMATCH;
    d->out.step = note->step;
    d->out.saw_known = d->looked == note->step;
    d->out.note = note;
}

/*
 * Transfer `count`, or what follows the last one, was not acknowledged. Writes are buffered, and a read of an
 * access port brings its word with the next transfer: so the transfer before may be the one that failed.
 */
static void not_acknowledged(struct decoding *d, size_t count, enum decode_end end)
{
    const struct packet *packet = d->packet;
    const struct note *before = wire_note_below(packet, count);
    const struct note *failed = count < packet->n ? &packet->notes[count] : before;
    if (before != NULL && note_posted(before, d->compiler->jtag)) {
        failed = before;
    } else if (before != NULL && before->kind == NOTE_WRITE) {
        d->out.write = true;
        d->out.written = before->step;
        /* No guard between them: a core falling asleep in the wait is far likelier than a failing write */
        d->out.behind = count < packet->n && failed->kind == NOTE_MATCH;
        if (end != DECODE_NO_ACK && !d->out.behind)
            failed = before;
    }
    if (failed == NULL) /* an empty packet */
        failed = &packet->notes[0];
    if (!compiler_take_all(d, (size_t)(failed - packet->notes), false))
        return;
    d->out.end = end;
    d->out.step = failed->step;
    if (d->out.write && end == DECODE_NO_ACK && count == packet->n) {
        d->results[d->out.written] = 0;
        d->out.step = d->out.written + 1;
    }
}

struct decoded decode(struct compiler *compiler, const struct packet *packet, const struct step *steps,
                      const uint8_t *reply, size_t n, uint64_t *results)
{
    struct decoding d = {.compiler = compiler,
                         .packet = packet,
                         .steps = steps,
                         .reply = reply,
                         .n = n,
                         .used = TRANSFER_HEAD,
                         .look = SIZE_MAX,
                         .looked = SIZE_MAX};
    d.results = results;
    d.out = (struct decoded){.end = DECODE_BROKEN, .step = packet->first, .unchecked = packet->first};
    if (protocol_check(reply, n, DAP_TRANSFER) != ANSWER_GOOD || n < TRANSFER_HEAD || reply[1] > packet->n)
        return d.out;
    size_t count = reply[1];
    uint8_t ack = reply[2];
    if ((ack & ~(ACK_BITS | ACK_PROTOCOL_ERROR | ACK_MISMATCH)) != 0)
        return d.out;
    d.out.end = DECODE_DONE;
    if ((ack & ACK_PROTOCOL_ERROR) == 0 && (ack & ACK_BITS) == ACK_OK) {
        bool cut = (ack & ACK_MISMATCH) != 0 && count < packet->n &&
                   (packet->notes[count].request & TRANSFER_MATCH_VALUE) != 0;
        if (cut) {
            compiler_mismatch(&d, count);
        } else if (ack == ACK_OK && count == packet->n) {
            d.out.step = packet->end;
            compiler_take_all(&d, count, true);
        } else {
            d.out.end = DECODE_BROKEN;
        }
        return d.out;
    }
    /* Any other acknowledge is what was on the line: 0 if it is held low, 7 if it is pulled up */
    enum decode_end end = DECODE_NO_ACK;
    if ((ack & ACK_PROTOCOL_ERROR) == 0 && (ack & ACK_BITS) == ACK_WAIT)
        end = DECODE_WAIT;
    else if ((ack & ACK_PROTOCOL_ERROR) == 0 && (ack & ACK_BITS) == ACK_FAULT)
        end = DECODE_FAULT;
    not_acknowledged(&d, count, end);
    return d.out;
}
