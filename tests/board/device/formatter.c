// Formatter: see the header. An ID can only be at an even place. So a byte at an even place waits for the
// next one: if that is another source's, the new ID goes first, and its flag shows that the byte after it is
// still of the old source.
#include "device/formatter.h"

enum { FLAGS = 15, LAST = 14 };

static void begin_frame(struct formatter *f)
{
    for (unsigned i = 0; i < FRAME_BYTES_16; i++)
        f->frame[i] = 0;
    f->at = 0;
    f->unchanged++;
}

static void put_data(struct formatter *f, uint8_t byte)
{
    if (f->at % 2) {
        f->frame[f->at++] = byte;
        return;
    }
    f->frame[f->at] = byte & 0xFE;
    f->frame[FLAGS] |= (uint8_t)((byte & 1) << f->at / 2);
    f->at++;
}

static void put_id(struct formatter *f, unsigned id, bool next_is_old)
{
    f->frame[f->at] = (uint8_t)(id << 1 | 1);
    f->frame[FLAGS] |= (uint8_t)(next_is_old << f->at / 2);
    f->at++;
    f->id = id;
    f->unchanged = 0;
}

bool formatter_put(struct formatter *f, unsigned id, uint8_t byte)
{
    if (f->at == FLAGS) // the caller has taken the last one
        begin_frame(f);
    if (f->holds) {
        f->holds = false;
        if (id == f->id) {
            put_data(f, f->held);
            put_data(f, byte);
            return f->at == FLAGS;
        }
        put_id(f, id, true);
        put_data(f, f->held);
        if (f->at == LAST) {
            put_data(f, byte);
            return true;
        }
        f->held = byte;
        f->holds = true;
        return false;
    }
    bool says = id != f->id || (f->at == 0 && f->unchanged > FRAME_REPEATS_ID);
    if (says && f->at == LAST) { // the ID is for the next frame
        put_id(f, id, false);
        f->held = byte;
        f->holds = true;
        return true;
    }
    if (says) {
        put_id(f, id, false);
        put_data(f, byte);
        return f->at == FLAGS;
    }
    if (f->at == LAST) {
        put_data(f, byte);
        return true;
    }
    f->held = byte;
    f->holds = true;
    return false;
}

bool formatter_flush(struct formatter *f)
{
    if (f->at == FLAGS)
        begin_frame(f);
    if (!f->at && !f->holds)
        return false;
    if (f->holds) {
        f->holds = false;
        put_id(f, 0, true);
        put_data(f, f->held);
    } else if (f->at < FLAGS) {
        put_id(f, 0, false);
    }
    while (f->at < FLAGS)
        put_data(f, 0);
    return true;
}
