/* SPDX-License-Identifier: MIT */
/*
 * Call stacks: of a halted core, from its registers and as much of its memory as that takes; and samples as
 * stacks of frames, as formats for other programs want them. A sample of the program counter alone is a
 * stack of one frame. Names are those of `report`, so sums by function are the same. A frame that is guessed
 * says so in its name, and a stack that is cut short has "[cut short]" as its outermost frame.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "device/device.h"
#include "engine/counter_stop.h"
#include "engine/engine.h"
#include "profile/profile.h"
#include "symbols/symbols.h"
#include "symbols/unwind.h"

#include <stdbool.h>
#include <stddef.h>
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
        size_t n;
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

struct stack_function {
    char *name;    /* as a row of the table by function, distinct where several have one; without
                      symbols the address */
    size_t plain;  /* bytes of `name` before that, and before a mark */
    char *file;    /* of its entry; NULL: unknown */
    unsigned line; /* of its entry; 0: unknown */
    uint64_t entry;
    bool is_guess;   /* as its places */
    bool is_outside; /* no code of the program: a state, code without a function, what is cut short */
};

struct stack_place {
    enum profile_state state; /* PROFILE_STATES: an address */
    uint64_t address;
    bool is_guess;   /* the frame below it may have another caller */
    bool is_cut;     /* no address: what follows is not known */
    bool is_part;    /* of a function from which it was moved away (f.cold): */
    uint64_t whole;  /* the entry of that, the frame above */
    size_t function; /* index into stacks.functions */
    char *file;      /* of the line, which inlined code has from elsewhere; NULL: unknown */
    unsigned line;   /* 0: unknown */
};

struct stack {
    unsigned core;
    double from, to; /* s: the samples were taken within */
    size_t first;    /* index into stacks.frames, the innermost frame first */
    size_t depth;
    uint64_t samples;
};

struct stacks {
    struct stack_function *functions;
    struct stack_place *places; /* by rising address, then states, and then the end of those cut */
    size_t *frames;             /* indices into `places` */
    struct stack *rows;
    size_t function_count, place_count, frame_count, n;
};

/* One row for each core and place; `in_time`: for each interval anew, in the order of time. `symbols` may be
 * NULL. False: out of memory, and `out` is empty. */
bool stacks_make(const struct profile *profile, struct symbols *symbols, bool in_time, struct stacks *out);
void stacks_free(struct stacks *stacks);
bool stacks_are_in(const struct profile *profile);
