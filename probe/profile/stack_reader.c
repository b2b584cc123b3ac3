#include "profile/stack_reader.h"

enum { LIST_ROOM = 1024, WORD = 4 };

bool stack_reader_open(struct stack_reader *reader, struct device *device, struct stack_stop stop,
                       struct symbols *symbols, struct error *error)
{
    *reader = (struct stack_reader){.device = device, .core = &device->chosen->core, .stop = stop};
    reader->unwind = unwind_open(symbols);
    return reader->unwind != NULL || error_set(error, ERROR_SYSTEM, "out of memory");
}

void stack_reader_close(struct stack_reader *reader)
{
    unwind_close(reader->unwind);
    *reader = (struct stack_reader){0};
}

/* --- registers ------------------------------------------------------------------------------------------ */

/* Index into unwind_core.value; UNWIND_VALUES and above: none. */
static unsigned stack_reader_value_of(const struct core *core, enum core_register which)
{
    bool wide = core_has(core, WIDE_REGISTERS);
    switch (which) {
    case CORE_SP:
        return wide ? UNWIND_A64_SP : UNWIND_ARM_SP;
    case CORE_LR:
        return wide ? UNWIND_A64_LR : UNWIND_ARM_LR;
    case CORE_PC:
        return wide ? UNWIND_A64_PC : UNWIND_ARM_PC;
    case CORE_PSP:
    case CORE_STATUS:
        return UNWIND_VALUES;
    default:
        return (unsigned)(which - CORE_R0);
    }
}

/* What a stack is found by; `all`: and all other registers. Returns how many. */
static size_t want_registers(const struct core *core, bool all, struct register_value *out)
{
    static const enum core_register last[] = {CORE_SP, CORE_LR, CORE_PC};
    bool wide = core_has(core, WIDE_REGISTERS);
    uint64_t needs = wide ? UNWIND_NEEDS_A64 : UNWIND_NEEDS_ARM;
    size_t n = 0;
    unsigned general = wide ? UNWIND_A64_LR : UNWIND_ARM_SP; /* SP, LR and PC follow them */
    for (unsigned i = 0; i < general; i++)
        if (all || (needs >> i & 1) != 0)
            out[n++] = (struct register_value){.which = (enum core_register)(CORE_R0 + i)};
    for (size_t i = 0; i < sizeof last / sizeof *last; i++)
        out[n++] = (struct register_value){.which = last[i]};
    if (core_has(core, SYSTEM_SPACE))
        out[n++] = (struct register_value){.which = CORE_PSP};
    if (all || !wide)
        out[n++] = (struct register_value){.which = CORE_STATUS};
    return n;
}

static bool read_at_counter_stop(struct stack_reader *reader, struct register_value *registers, size_t n,
                                 struct error *error)
{
    const struct core *core = reader->core;
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    size_t at[ENGINE_REGISTERS];
    core_add_ready(core, &list);
    for (size_t i = 0; i < n; i++)
        at[i] = core_add_register(core, &list, registers[i].which);
    if (!counter_stop_run(reader->stop.counter, &list, results, reader->deadline, error))
        return false;
    for (size_t i = 0; i < n; i++) {
        registers[i].value = core_register_value(core, registers[i].which, results, at[i]);
        registers[i].known = true;
    }
    return true;
}

static bool stack_reader_read_registers(struct stack_reader *reader, struct register_value *registers,
                                        size_t n, struct error *error)
{
    struct engine *engine = reader->stop.engine;
    if (engine == NULL ? !read_at_counter_stop(reader, registers, n, error)
                       : !engine->ops->read_registers(engine, registers, n, reader->deadline, error))
        return false;
    for (size_t i = 0; i < n; i++)
        if (registers[i].which == CORE_PC)
            registers[i].value = core_code_place(registers[i].value);
    return true;
}

static struct unwind_core stack_reader_core_of(const struct core *core,
                                               const struct register_value *registers, size_t n)
{
    struct unwind_core out = {.is_m = core_has(core, SYSTEM_SPACE)};
    for (size_t i = 0; i < n; i++) {
        unsigned value = stack_reader_value_of(core, registers[i].which);
        if (!registers[i].known)
            continue;
        if (value < UNWIND_VALUES) {
            out.value[value] = registers[i].value;
            out.known |= UINT64_C(1) << value;
        } else if (registers[i].which == CORE_PSP) {
            out.psp = registers[i].value;
            out.knows_psp = true;
        } else if (!core_has(core, WIDE_REGISTERS)) {
            out.status = (uint32_t)registers[i].value;
        }
    }
    return out;
}

/* --- memory --------------------------------------------------------------------------------------------- */

static const struct stack_piece *stack_reader_find_piece(const struct stack_reader *reader, uint64_t address)
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
        const struct stack_piece *piece = stack_reader_find_piece(context, address + i);
        if (piece == NULL || !piece->is_there)
            return false;
        uint64_t offset = address + i - piece->address;
        to[i] = (uint8_t)(piece->words[offset / WORD] >> 8 * (offset % WORD));
    }
    return true;
}

/* Addresses of no memory are the program's fault, or the stack's that is taken for one. */
static bool read_piece(struct stack_reader *reader, uint64_t address, struct error *error)
{
    struct step items[STACK_PIECE_WORDS];
    uint64_t results[STACK_PIECE_WORDS];
    struct steps list = {.items = items, .room = STACK_PIECE_WORDS};
    struct stack_piece *piece = &reader->pieces[reader->n_pieces++];
    struct error refused = {0};
    *piece = (struct stack_piece){.address = address & ~(uint64_t)(WORD - 1)};
    for (size_t i = 0; i < STACK_PIECE_WORDS; i++)
        steps_add(&list, step_read(core_word(reader->core, piece->address + WORD * i)));
    piece->is_there = ledger_run(reader->device->ledger, &list, results, reader->deadline, &refused);
    if (!piece->is_there && refused.kind != ERROR_FAULT)
        return error_copy(error, &refused);
    for (size_t i = 0; i < STACK_PIECE_WORDS && piece->is_there; i++)
        piece->words[i] = (uint32_t)results[i];
    return true;
}

static bool find_stack(struct stack_reader *reader, const struct unwind_core *core, struct error *error)
{
    reader->n_pieces = 0;
    for (uint64_t next = core->value[stack_reader_value_of(reader->core, CORE_SP)];;) {
        if (!read_piece(reader, next, error))
            return false;
        unwind_find(reader->unwind, core, copy_memory, reader, &reader->stack);
        next = reader->stack.unread;
        while (reader->stack.end == UNWIND_NO_MEMORY && stack_reader_find_piece(reader, next) != NULL &&
               stack_reader_find_piece(reader, next)->is_there)
            next++; /* what was asked for begins in a piece that is there */
        if (reader->stack.end != UNWIND_NO_MEMORY || stack_reader_find_piece(reader, next) != NULL ||
            reader->n_pieces == STACK_PIECES)
            return true;
    }
}

static bool stack_reader_take_all(struct stack_reader *reader, bool all, struct register_value *registers,
                                  size_t *n, struct error *error)
{
    *n = want_registers(reader->core, all, registers);
    if (!stack_reader_read_registers(reader, registers, *n, error))
        return false;
    struct unwind_core core = stack_reader_core_of(reader->core, registers, *n);
    return find_stack(reader, &core, error);
}

bool stack_reader_take(struct stack_reader *reader, const struct deadline *deadline, struct error *error)
{
    struct register_value registers[ENGINE_REGISTERS];
    size_t n;
    reader->deadline = deadline;
    return stack_reader_take_all(reader, false, registers, &n, error);
}

bool stack_reader_place(struct stack_reader *reader, struct stop_place *out, const struct deadline *deadline,
                        struct error *error)
{
    struct register_value registers[ENGINE_REGISTERS];
    size_t n;
    reader->deadline = deadline;
    if (!stack_reader_take_all(reader, true, registers, &n, error))
        return false;
    out->n_registers = 0;
    for (size_t i = 0; i < n; i++) {
        struct stop_register *to = &out->registers[out->n_registers];
        if (!registers[i].known)
            continue;
        core_register_name(reader->core, registers[i].which, to->name, sizeof to->name);
        to->value = registers[i].value;
        out->n_registers++;
    }
    out->stack = reader->stack;
    return true;
}
