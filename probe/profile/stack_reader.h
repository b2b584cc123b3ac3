/* The registers of a halted core, and its call stack, from these and as much of its memory as that takes. */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "device/device.h"
#include "engine/counter_stop.h"
#include "engine/engine.h"
#include "symbols/unwind.h"

#include <stdbool.h>
#include <stdint.h>

enum { STACK_PIECES = 16, STACK_PIECE_WORDS = 64 };

/* What halts the core: one of these. */
struct stack_stop {
    struct counter_stop *counter;
    struct engine *engine; /* in engine_sink.ended */
};

struct stop_place {
    struct stop_register {
        char name[8];
        uint64_t value;
    } registers[ENGINE_REGISTERS];
    size_t n_registers;
    struct unwind_stack stack;
};

struct stack_reader {
    struct device *device;
    const struct core *core;
    const struct deadline *deadline; /* of the request under way */
    struct stack_stop stop;
    struct unwind *unwind;
    struct stack_piece {
        uint64_t address;
        bool is_there; /* else the memory cannot be read */
        uint32_t words[STACK_PIECE_WORDS];
    } pieces[STACK_PIECES];
    size_t n_pieces;
    struct unwind_stack stack; /* the last one */
};

/* `symbols` is borrowed. ERROR_ELF: no stacks can be found by it. */
bool stack_reader_open(struct stack_reader *reader, struct device *device, struct stack_stop stop,
                       struct symbols *symbols, struct error *error);
void stack_reader_close(struct stack_reader *reader);
/* The registers can be read, as core_unreadable says. The stack is in reader->stack. */
bool stack_reader_take(struct stack_reader *reader, const struct deadline *deadline, struct error *error);
/* The same, with all general registers. */
bool stack_reader_place(struct stack_reader *reader, struct stop_place *out, const struct deadline *deadline,
                        struct error *error);
