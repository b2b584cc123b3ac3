// What an instruction is, remembered by address: its halfwords, what it costs, whether it needs care. What is
// remembered counts only as long as memory still holds the same halfwords, so nobody has to say when code
// changes.
#ifndef BOARD_CPU_DECODE_H
#define BOARD_CPU_DECODE_H

#include "bus.h"
#include "cpu/cost.h"

enum { DECODED = 1 << 12 };
enum { OP_YIELD = 0xBF10, OP_WFE = 0xBF20, OP_WFI = 0xBF30, OP_SEV = 0xBF40 };
enum { OP_SUBS_1 = 0x3801, OP_BNE_BACK = 0xD1FD }; // of R0; two bytes back from itself

struct decoded {
    uint32_t pc;
    const uint8_t *bytes; // where the memory holds all of it, else NULL
    uint16_t first, second;
    bool fetched; // the memory holds its first halfword at least
    bool wide;
    bool ours;           // the emulator lacks it or does it differently
    bool unmasks;        // CPS or MSR: it may unmask something
    uint8_t it;          // instructions in the IT block that it begins
    bool counts_down;    // SUBS Rn, #1, followed by a BNE back to it
    uint16_t is;         // as classify_v7.h says
    struct cost cost[2]; // going on to the next one, jumping elsewhere
};

struct decoder {
    const struct bus *bus;
    struct cost (*cost)(uint16_t first, uint16_t second, bool wide, bool jumped);
    bool has_it;
    struct decoded each[DECODED];
};

bool op_is_bkpt(uint16_t op);
bool op_is_svc(uint16_t op);

// The address after that many instructions
uint32_t decode_past(const struct decoder *, uint32_t pc, unsigned instructions);

// Decodes without remembered instructions; use decode()
const struct decoded *decode_anew(struct decoder *, struct decoded *, uint32_t pc);

// Valid until the next call for another address
static inline const struct decoded *decode(struct decoder *d, uint32_t pc)
{
    struct decoded *one = &d->each[(pc >> 1) % DECODED];
    if (one->pc == pc && one->bytes && __builtin_memcmp(one->bytes, &one->first, 2) == 0 &&
        (!one->wide || __builtin_memcmp(one->bytes + 2, &one->second, 2) == 0))
        return one;
    return decode_anew(d, one, pc);
}

#endif
