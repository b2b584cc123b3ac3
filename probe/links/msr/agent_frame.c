#include "links/msr/agent_frame.h"

#include <string.h>

static void put(uint8_t *to, uint64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const uint8_t *from, size_t n)
{
    uint64_t value = 0;
    for (size_t i = n; i-- > 0;)
        value = value << 8 | from[i];
    return value;
}

size_t frame_request(const struct msr_op *ops, size_t n, unsigned serial, uint8_t *out)
{
    static const uint8_t tag[4] = {'P', 'M', 'R', 'q'};
    memcpy(out, tag, sizeof tag);
    put(out + 4, n, 2);
    put(out + 6, serial, 2);
    for (size_t i = 0; i < n; i++) {
        uint8_t *op = out + FRAME_HEADER + i * FRAME_OP;
        put(op, ops[i].kind, 2);
        put(op + 2, ops[i].cpu, 2);
        put(op + 4, ops[i].number, 4);
        put(op + 8, ops[i].value, 8);
    }
    return FRAME_HEADER + n * FRAME_OP;
}

bool frame_greeting(const uint8_t *header, size_t *n_cpus, bool *busy)
{
    *n_cpus = (size_t)get(header + 4, 2);
    *busy = get(header + 6, 2) != 0;
    return memcmp(header, "PMR1", 4) == 0 && *n_cpus <= MSR_CPUS && (*busy || *n_cpus > 0);
}

bool frame_cpus(const uint8_t *bytes, size_t n, struct msr_cpu *out)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = (struct msr_cpu){.number = (uint16_t)get(bytes + i * FRAME_CPU, 2),
                                  .core = (uint16_t)get(bytes + i * FRAME_CPU + 2, 2)};
        if (i > 0 && out[i].number <= out[i - 1].number)
            return false;
    }
    return true;
}

bool frame_reply(const uint8_t *header, size_t asked, unsigned serial, size_t *done, enum frame_why *why)
{
    *done = (size_t)get(header + 4, 2);
    *why = (enum frame_why)header[6];
    return memcmp(header, "PMRa", 4) == 0 && *done <= asked && header[6] <= FRAME_NONSENSE &&
           header[7] == (serial & 0xFF) && (*why == FRAME_DONE) == (*done == asked);
}

void frame_values(const uint8_t *bytes, size_t n, uint64_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = get(bytes + i * FRAME_VALUE, FRAME_VALUE);
}
