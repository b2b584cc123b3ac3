/* SPDX-License-Identifier: MIT */
/*
 * Where the program waits for hardware: a short loop that stores nothing and goes on by what a load
 * from a device's address shows. Of Thumb code, as far as constants show the address.
 */
#include "symbols/internal.h"

/* The Peripheral region of a Cortex-M: DDI 0403 B3.1, DDI 0553 B8.1. */
enum { DEVICE_LOW = 0x40000000, DEVICE_HIGH = 0x60000000, LOOP_BYTES = 48 };

/* What a loop's instructions make of what they read from devices: as bits of registers. */
struct wait_loop {
    struct symbols *symbols;
    uint64_t low, high; /* its first instruction; the end of the jump back */
    uint64_t at, word;  /* the load; `at` 0: none */
    uint32_t tainted;
    bool flags, waits, works;
};

/* The registers that an instruction compares: CMP, CMN, TST, TEQ, CBZ; DDI 0403 A5.2 and A5.3.1, A5.3.11. */
static uint32_t compared(const struct code_instruction *one)
{
    uint32_t code = one->code;
    if (one->size == 4)
        return (code & 0xFA100F00) == 0xF0100F00   ? 1U << (code >> 16 & 0xF)
               : (code & 0xFE100F00) == 0xEA100F00 ? 1U << (code >> 16 & 0xF) | 1U << (code & 0xF)
                                                   : 0;
    if ((code & 0xF800) == 0x2800)
        return 1U << (code >> 8 & 7);
    if ((code & 0xFFC0) == 0x4280 || (code & 0xFFC0) == 0x4200 || (code & 0xFFC0) == 0x42C0)
        return 1U << (code & 7) | 1U << (code >> 3 & 7);
    if ((code & 0xFF00) == 0x4500)
        return 1U << ((code & 7) | (code >> 4 & 8)) | 1U << (code >> 3 & 0xF);
    return (code & 0xF500) == 0xB100 ? 1U << (code & 7) : 0;
}

/* Whether it sets the flags by its result, as those of two bytes do: DDI 0403 A5.2.1, A5.2.2, A5.3. */
static bool sets_flags(const struct code_instruction *one, const struct instruction *does)
{
    if (does->access != ACCESS_NONE || does->gives == GIVES_NONE)
        return false;
    return one->size == 2 ? one->code >> 12 < 4 || one->code >> 10 == 0x10
                          : (one->code & 0xF8100000) == 0xF0100000 || (one->code & 0xFE100000) == 0xEA100000;
}

/* A function that only reads, as one that says how late it is: a loop that calls it for a timeout waits. */
static bool only_reads(struct symbols *symbols, uint64_t function)
{
    enum { MOST_BYTES = 64 };
    struct extent extent = {0, 0};
    struct code_instruction one;
    if (table_around(symbols, function, &extent) == NULL || extent.low != function ||
        extent.high - extent.low > MOST_BYTES)
        return false;
    struct code_walk walk = {.symbols = symbols, .low = extent.low, .high = extent.high};
    while (code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        if (instruction_calls(&does) || (does.access == ACCESS_STORE && does.base != ARM_SP))
            return false;
    }
    return true;
}

static void wait_load(struct wait_loop *loop, const struct instruction *does,
                      const struct constants_known *now, uint64_t at)
{
    bool known = does->base < ARM_PC && constants_know(now, does->base) && does->index == NO_REGISTER;
    uint32_t word = known ? now->values[does->base] + (uint32_t)does->offset : 0;
    bool device = known && word >= DEVICE_LOW && word < DEVICE_HIGH;
    loop->tainted = (loop->tainted & ~does->writes) | (device ? does->list : 0);
    if (device && loop->at == 0) {
        loop->at = at;
        loop->word = word;
    }
}

static void wait_follow(struct wait_loop *loop, const struct code_instruction *one,
                        const struct instruction *does, const struct constants_known *now)
{
    bool by_zero = one->size == 2 && (one->code & 0xF500) == 0xB100;
    uint32_t reads =
        (does->from < ARM_PC ? 1U << does->from : 0) | (does->with < ARM_PC ? 1U << does->with : 0);
    bool of_device = ((reads | compared(one)) & loop->tainted) != 0;
    bool works =
        instruction_calls(does) && !(does->kind == GOES_CALL && only_reads(loop->symbols, does->target));
    loop->works = loop->works || works || does->kind == GOES_SUPERVISOR || does->kind == GOES_ASLEEP ||
                  (does->access == ACCESS_STORE && does->base != ARM_SP);
    if (instruction_calls(does))
        loop->tainted &= ~(uint32_t)0x500F; /* a callee may change R0 to R3, R12 and LR */
    if (does->kind == GOES_JUMP) {
        bool exits = does->target < loop->low || does->target >= loop->high || does->target <= one->address;
        loop->waits = loop->waits || (exits && does->conditional && (by_zero ? of_device : loop->flags));
        return;
    }
    if (does->access == ACCESS_LOAD) {
        wait_load(loop, does, now, one->address);
        return;
    }
    if (compared(one) != 0 || sets_flags(one, does))
        loop->flags = of_device;
    loop->tainted = of_device ? loop->tainted | does->writes : loop->tainted & ~does->writes;
}

/* Twice, as what the end makes of a register is there at the beginning again. */
static bool wait_is(struct wait_loop *loop, uint64_t function)
{
    for (int i = 0; i < 2; i++) {
        struct code_walk walk = {.symbols = loop->symbols, .low = function, .high = loop->high};
        struct constants constants = {.n = 0};
        struct code_instruction one;
        while (code_next(&walk, &one)) {
            struct instruction does = code_decode(&one);
            constants_arrive(&constants, one.address);
            if (one.address >= loop->low && !one.is_data)
                wait_follow(loop, &one, &does, &constants.now);
            (void)constants_follow(&constants, loop->symbols, &one, &does, UINT64_MAX);
        }
    }
    return loop->at != 0 && loop->waits && !loop->works;
}

size_t symbols_waits(struct symbols *symbols, struct symbols_wait *out, size_t room)
{
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX};
    struct code_instruction one;
    struct extent function = {0, 0};
    size_t n = 0;
    while (symbols->machine == EM_ARM && code_next(&walk, &one)) {
        struct instruction does = code_decode(&one);
        bool back = one.isa == ISA_THUMB && does.kind == GOES_JUMP && does.target <= one.address &&
                    one.address - does.target < LOOP_BYTES;
        if (!back || table_around(symbols, one.address, &function) == NULL || does.target < function.low)
            continue;
        struct wait_loop loop = {.symbols = symbols, .low = does.target, .high = one.address + one.size};
        if (!wait_is(&loop, function.low))
            continue;
        if (n < room)
            out[n] = (struct symbols_wait){.at = loop.at, .word = loop.word};
        n++;
    }
    return n;
}
