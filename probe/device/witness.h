/*
 * The witness: the registers on which counts depend (enables, dividers, event selections) and what they must
 * hold for as long as is counted. A program, an operating system or another debugger can change any of them,
 * and then a count means nothing.
 */
#pragma once

#include "base/error.h"
#include "base/setting.h"
#include "base/step.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;

enum { WITNESS_ROOM = 40 };

struct witness {
    struct witness_item {
        struct address at;
        uint64_t mask, value;
        const char *name; /* "DWT_CTRL" */
    } items[WITNESS_ROOM];
    size_t n;
};

/* Where its words lie among a list's results. */
struct witness_places {
    uint16_t at[WITNESS_ROOM];
};

/* The bits that a setting tests, if it names its register. One setting for each address: the last one. */
void witness_take(struct witness *witness, const struct setting *setting);
/* Nothing for NULL. `core` is halted where an item is in SPACE_CP15, and reads it. */
void witness_add(const struct witness *witness, const struct core *core, struct steps *list,
                 struct witness_places *out);
/* The first item that has changed; NULL: none. *saw: what it holds. */
const struct witness_item *witness_changed(const struct witness *witness, const uint64_t *results,
                                           const struct witness_places *places, uint64_t *saw);
/* Always false, with ERROR_WRITTEN. */
bool witness_tell(const struct witness_item *item, uint64_t saw, struct error *error);
