#include "links/dap/compiler.h"

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
static bool take_look(struct decoding *d, const struct note *note, uint32_t word)
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
        predict_came_true(&d->compiler->predictor, note->entry);
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
        return take_look(d, note, word);
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
static bool take_all(struct decoding *d, size_t good, bool exact)
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

static void mismatch(struct decoding *d, size_t count)
{
    const struct note *note = &d->packet->notes[count];
    if (!take_all(d, count, true))
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
    if (!take_all(d, (size_t)(failed - packet->notes), false))
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
            mismatch(&d, count);
        } else if (ack == ACK_OK && count == packet->n) {
            d.out.step = packet->end;
            take_all(&d, count, true);
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
