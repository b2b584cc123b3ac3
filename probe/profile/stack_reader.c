#include "profile/stack_reader.h"

#include <string.h>

enum { LIST_ROOM = 1024, REGISTERS = UNWIND_VALUES + 2, WORD = 4 };

bool stack_reader_open(struct stack_reader *reader, struct device *device, struct counter_stop *stop,
                       struct symbols *symbols, struct error *error)
{
    *reader = (struct stack_reader){.device = device, .stop = stop};
    reader->unwind = unwind_open(symbols);
    return reader->unwind != NULL || error_set(error, ERROR_SYSTEM, "out of memory");
}

void stack_reader_close(struct stack_reader *reader)
{
    unwind_close(reader->unwind);
    *reader = (struct stack_reader){0};
}

/* --- registers ------------------------------------------------------------------------------------------ */

/* What the registers are called by which a stack is found: in the order of struct unwind_core, and behind
 * these PSP and the status. */
struct wanted {
    enum core_register which[REGISTERS];
    unsigned value[REGISTERS]; /* index into unwind_core.value; UNWIND_VALUES: PSP, one more: the status */
    size_t n;
};

static void want(struct wanted *wanted, enum core_register which, unsigned value)
{
    wanted->which[wanted->n] = which;
    wanted->value[wanted->n++] = value;
}

static void want_all(const struct core *core, struct wanted *out)
{
    bool wide = core->family == CORE_ARMV8;
    uint64_t needs = wide ? UNWIND_NEEDS_A64 : UNWIND_NEEDS_ARM;
    unsigned sp = wide ? UNWIND_A64_SP : UNWIND_ARM_SP, lr = wide ? UNWIND_A64_LR : UNWIND_ARM_LR,
             pc = wide ? UNWIND_A64_PC : UNWIND_ARM_PC;
    *out = (struct wanted){0};
    for (unsigned i = 0; i < UNWIND_VALUES; i++)
        if ((needs >> i & 1) != 0)
            want(out,
                 i == sp   ? CORE_SP
                 : i == lr ? CORE_LR
                 : i == pc ? CORE_PC
                           : (enum core_register)(CORE_R0 + i),
                 i);
    if (core->family == CORE_M)
        want(out, CORE_PSP, UNWIND_VALUES);
    if (!wide)
        want(out, CORE_STATUS, UNWIND_VALUES + 1);
}

static bool read_registers(struct stack_reader *reader, struct unwind_core *out,
                           const struct deadline *deadline, struct error *error)
{
    const struct core *core = reader->stop->core;
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    struct wanted wanted;
    size_t at[REGISTERS];
    want_all(core, &wanted);
    core_add_ready(core, &list);
    for (size_t i = 0; i < wanted.n; i++)
        at[i] = core_add_register(core, &list, wanted.which[i]);
    if (!counter_stop_run(reader->stop, &list, results, deadline, error))
        return false;
    *out = (struct unwind_core){.is_m = core->family == CORE_M};
    for (size_t i = 0; i < wanted.n; i++) {
        uint64_t value = core_register_value(core, wanted.which[i], results, at[i]);
        if (wanted.value[i] < UNWIND_VALUES) {
            out->value[wanted.value[i]] = wanted.which[i] == CORE_PC ? core_code_place(value) : value;
            out->known |= UINT64_C(1) << wanted.value[i];
        } else if (wanted.value[i] == UNWIND_VALUES) {
            out->psp = value;
            out->knows_psp = true;
        } else {
            out->status = (uint32_t)value;
        }
    }
    return true;
}

/* --- memory --------------------------------------------------------------------------------------------- */

static const struct stack_piece *find_piece(const struct stack_reader *reader, uint64_t address)
{
    for (size_t i = 0; i < reader->n_pieces; i++) {
        const struct stack_piece *piece = &reader->pieces[i];
        if (address >= piece->address && address - piece->address < sizeof piece->words)
            return piece;
    }
    return NULL;
}

static bool copy_memory(void *context, uint64_t address, void *out, size_t size)
{
    uint8_t *to = out;
    for (size_t i = 0; i < size; i++) {
        const struct stack_piece *piece = find_piece(context, address + i);
        if (piece == NULL || !piece->is_there)
            return false;
        uint64_t offset = address + i - piece->address;
        to[i] = (uint8_t)(piece->words[offset / WORD] >> 8 * (offset % WORD));
    }
    return true;
}

/* Addresses of no memory are the program's fault, or the stack's that is taken for one. */
static bool read_piece(struct stack_reader *reader, uint64_t address, const struct deadline *deadline,
                       struct error *error)
{
    struct step items[STACK_PIECE_WORDS];
    uint64_t results[STACK_PIECE_WORDS];
    struct steps list = {.items = items, .room = STACK_PIECE_WORDS};
    struct stack_piece *piece = &reader->pieces[reader->n_pieces++];
    struct error refused = {0};
    *piece = (struct stack_piece){.address = address & ~(uint64_t)(WORD - 1)};
    for (size_t i = 0; i < STACK_PIECE_WORDS; i++)
        steps_add(&list, step_read(core_word(reader->stop->core, piece->address + WORD * i)));
    piece->is_there = ledger_run(reader->device->ledger, &list, results, deadline, &refused);
    if (!piece->is_there && refused.kind != ERROR_FAULT)
        return error_copy(error, &refused);
    for (size_t i = 0; i < STACK_PIECE_WORDS && piece->is_there; i++)
        piece->words[i] = (uint32_t)results[i];
    return true;
}

bool stack_reader_take(struct stack_reader *reader, const struct deadline *deadline, struct error *error)
{
    struct unwind_core core;
    if (!read_registers(reader, &core, deadline, error))
        return false;
    reader->n_pieces = 0;
    uint64_t sp = core.value[reader->stop->core->family == CORE_ARMV8 ? UNWIND_A64_SP : UNWIND_ARM_SP];
    for (uint64_t next = sp;;) {
        if (!read_piece(reader, next, deadline, error))
            return false;
        unwind_find(reader->unwind, &core, copy_memory, reader, &reader->stack);
        next = reader->stack.unread;
        while (reader->stack.end == UNWIND_NO_MEMORY && find_piece(reader, next) != NULL &&
               find_piece(reader, next)->is_there)
            next++; /* what was asked for begins in a piece that is there */
        if (reader->stack.end != UNWIND_NO_MEMORY || find_piece(reader, next) != NULL ||
            reader->n_pieces == STACK_PIECES)
            return true;
    }
}
