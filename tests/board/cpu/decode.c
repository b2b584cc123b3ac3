// The first reading of an instruction.
#include "cpu/decode.h"

#include "cpu/classify_v7.h"

#include <string.h>

bool op_is_bkpt(uint16_t op)
{
    return (op & 0xFF00) == 0xBE00;
}

bool op_is_svc(uint16_t op)
{
    return (op & 0xFF00) == 0xDF00;
}

static bool is_ours(uint16_t op)
{
    return op_is_bkpt(op) || op_is_svc(op) || op == OP_YIELD || op == OP_WFE || op == OP_WFI || op == OP_SEV;
}

static bool is_wide(uint16_t op)
{
    return op >= 0xE800; // 0b11101, 0b11110, 0b11111: DDI 0403E A5.1
}

static bool unmasks(uint16_t first, bool wide)
{
    return (first & 0xFFE8) == 0xB660 || (wide && (first & 0xFFE0) == 0xF380);
}

static uint8_t it_length(uint16_t op)
{
    return (op & 0xFF00) == 0xBF00 && (op & 0xF) ? (uint8_t)(4 - __builtin_ctz(op & 0xF)) : 0;
}

uint32_t decode_past(const struct decoder *d, uint32_t pc, unsigned instructions)
{
    while (instructions--) {
        uint16_t first = 0;
        const uint8_t *bytes = bus_bytes(d->bus, pc, sizeof first);
        if (bytes)
            memcpy(&first, bytes, sizeof first);
        pc += is_wide(first) ? 4 : 2;
    }
    return pc;
}

const struct decoded *decode_anew(struct decoder *d, struct decoded *one, uint32_t pc)
{
    const uint8_t *bytes = bus_bytes(d->bus, pc, 2), *rest = bus_bytes(d->bus, pc + 2, 2);
    uint16_t next = 0;
    *one = (struct decoded){.pc = pc, .fetched = bytes != NULL};
    if (bytes)
        memcpy(&one->first, bytes, 2);
    one->wide = is_wide(one->first);
    if (rest)
        memcpy(&next, rest, 2);
    one->second = one->wide ? next : 0;
    one->counts_down =
        (one->first & 0xF8FF) == OP_SUBS_1 && next == OP_BNE_BACK && bus_bytes(d->bus, pc, 4) != NULL;
    // Both halfwords in one memory follow each other
    one->bytes = one->wide ? bus_bytes(d->bus, pc, 4) : bytes;
    one->ours = is_ours(one->first);
    one->is = one->wide ? classify_thumb32((uint32_t)one->first << 16 | next) : classify_thumb16(one->first);
    one->unmasks = unmasks(one->first, one->wide);
    one->it = d->has_it ? it_length(one->first) : 0;
    for (unsigned jumped = 0; jumped < 2; jumped++)
        one->cost[jumped] = d->cost(one->first, one->second, one->wide, jumped);
    return one;
}
