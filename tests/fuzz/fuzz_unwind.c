/*
 * Registers, memory and call frame information from outside, for the unwinder: a length of two bytes, a stack
 * of that length, then an ELF file. It must end, with frames in order, whatever these say.
 */
#include "symbols/unwind.h"

#include <stdlib.h>
#include <string.h>

enum { BASE = 0x20000000, FROM_STACK = 34, MOST_READS = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

struct stack {
    const uint8_t *bytes;
    size_t size;
    unsigned reads;
};

static bool read_stack(void *context, uint64_t address, void *out, size_t size)
{
    struct stack *stack = context;
    if (++stack->reads > MOST_READS)
        abort();
    if (address < BASE || address - BASE > stack->size || size > stack->size - (address - BASE))
        return false;
    memcpy(out, stack->bytes + (address - BASE), size);
    return true;
}

/* The stack's first words are the registers, too, with SP in the stack and PC as a function has it. */
static void make_core(struct symbols *symbols, const struct stack *stack, unsigned sp, unsigned pc,
                      struct unwind_core *core)
{
    struct segment code;
    uint32_t words[FROM_STACK] = {0};
    size_t n = stack->size < sizeof words ? stack->size : sizeof words;
    memcpy(words, stack->bytes, n);
    for (unsigned i = 0; i < UNWIND_VALUES; i++)
        core->value[i] = words[i];
    if (symbols_code(symbols, &code, 1) > 0 && code.size > 0)
        core->value[pc] = code.address + words[pc] % code.size;
    core->value[sp] = BASE + words[sp] % 64 * 4;
    core->psp = BASE + words[sp] / 64 % 64 * 4;
    core->known = words[0] & 1 ? UNWIND_NEEDS_ARM | UNWIND_NEEDS_A64 : UINT64_MAX;
    core->is_m = words[0] & 2;
    core->has_security = words[0] & 16;
    core->knows_psp = words[0] & 4;
    core->status = words[0] & 8 ? words[1] : 0;
}

static void check(const struct unwind_stack *found)
{
    if (found->count == 0 || found->count > UNWIND_FRAMES || strlen(unwind_end_text(found->end)) == 0)
        abort();
    for (size_t i = 1; i < found->count; i++)
        if ((found->at[i - 1].is_guess && !found->at[i].is_guess) ||
            found->at[i].has_taken != found->at[i].is_exact || unwind_place(&found->at[i]) > found->at[i].pc)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct unwind_stack found;
    struct error error = {.kind = ERROR_NONE};
    size_t length = size >= 2 ? (size_t)(bytes[0] | bytes[1] << 8) : SIZE_MAX;
    if (size < 2 || length > size - 2)
        return 0;
    struct stack stack = {.bytes = bytes + 2, .size = length};
    struct symbols *symbols = symbols_open_memory(bytes + 2 + length, size - 2 - length, &error);
    struct unwind *unwind = symbols != NULL ? unwind_open(symbols) : NULL;
    if (unwind != NULL) {
        struct symbols_machine machine;
        struct unwind_core core;
        symbols_machine(symbols, &machine);
        bool wide = strcmp(machine.name, "AArch64") == 0;
        make_core(symbols, &stack, wide ? UNWIND_A64_SP : UNWIND_ARM_SP, wide ? UNWIND_A64_PC : UNWIND_ARM_PC,
                  &core);
        unwind_find(unwind, &core, read_stack, &stack, &found);
        check(&found);
    }
    unwind_close(unwind);
    symbols_close(symbols);
    return 0;
}
