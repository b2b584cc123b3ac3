/* SPDX-License-Identifier: MIT */
#include "session.h"

#include <stddef.h>

enum { HEADER = 8, CPU = 4, ACCESS = 16, VALUE = 8 };
enum { KIND_READ, KIND_WRITE, KIND_TIME };
enum { WHY_NONSENSE = 3 };

static void put(uint8_t *to, uint64_t value, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const uint8_t *from, unsigned n)
{
    uint64_t value = 0;
    while (n-- > 0)
        value = value << 8 | from[n];
    return value;
}

static void put_tag(uint8_t *to, char last)
{
    to[0] = 'P';
    to[1] = 'M';
    to[2] = 'R';
    to[3] = (uint8_t)last;
}

void session_busy(uint8_t *out)
{
    put_tag(out, '1');
    put(out + 4, 0, 2);
    put(out + 6, 1, 2);
}

void session_begin(struct session *session, struct registers *registers, uint64_t (*now_us)(void))
{
    session->registers = registers;
    session->now_us = now_us;
    session->n_in = session->sent = 0;
    session->over = false;
    put_tag(session->out, '1');
    put(session->out + 4, registers->n_cpus, 2);
    put(session->out + 6, 0, 2);
    for (unsigned i = 0; i < registers->n_cpus; i++) {
        uint8_t *cpu = session->out + HEADER + (size_t)i * CPU;
        put(cpu, registers->cpus[i].number, 2);
        put(cpu + 2, registers->cpus[i].core, 2);
    }
    session->n_out = HEADER + registers->n_cpus * CPU;
}

static unsigned n_accesses(const struct session *session)
{
    return (unsigned)get(session->in + 4, 2);
}

static bool is_sound(const struct session *session)
{
    const uint8_t *in = session->in;
    return in[0] == 'P' && in[1] == 'M' && in[2] == 'R' && in[3] == 'q' && n_accesses(session) > 0 &&
           n_accesses(session) <= SESSION_ACCESSES;
}

unsigned session_room(struct session *session, uint8_t **to)
{
    *to = session->in + session->n_in;
    if (session->n_out > 0 || session->over)
        return 0;
    if (session->n_in < HEADER)
        return HEADER - session->n_in;
    return HEADER + n_accesses(session) * ACCESS - session->n_in;
}

static void answer(struct session *session, unsigned done, unsigned why)
{
    put_tag(session->out, 'a');
    put(session->out + 4, done, 2);
    session->out[6] = (uint8_t)why;
    session->out[7] = session->in[6];
    session->n_out = HEADER + done * VALUE;
    session->sent = session->n_in = 0;
    session->over = why == WHY_NONSENSE;
}

static unsigned carry_out(struct session *session, const uint8_t *access, uint64_t *value)
{
    uint16_t cpu = (uint16_t)get(access + 2, 2);
    uint32_t msr = (uint32_t)get(access + 4, 4);
    *value = 0;
    if (access[1] != 0)
        return WHY_NONSENSE;
    switch (access[0]) {
    case KIND_READ:
        return registers_read(session->registers, cpu, msr, value);
    case KIND_WRITE:
        return registers_write(session->registers, cpu, msr, get(access + 8, 8));
    case KIND_TIME:
        *value = session->now_us();
        return ANSWER_DONE;
    default:
        return WHY_NONSENSE;
    }
}

void session_take(struct session *session, unsigned n)
{
    session->n_in += n;
    if (session->n_in < HEADER)
        return;
    if (!is_sound(session)) {
        answer(session, 0, WHY_NONSENSE);
        return;
    }
    unsigned count = n_accesses(session), done = 0, why = ANSWER_DONE;
    if (session->n_in < HEADER + count * ACCESS)
        return;
    for (; done < count; done++) {
        uint64_t value;
        why = carry_out(session, session->in + HEADER + (size_t)done * ACCESS, &value);
        if (why != ANSWER_DONE)
            break;
        put(session->out + HEADER + (size_t)done * VALUE, value, VALUE);
    }
    answer(session, done, why);
}
