/*
 * The witness: registers on which counts depend (enables, dividers, event selections), and the bits that they
 * must hold while we count. If something else changes one of them, a count means nothing.
 */
#pragma once

#include "base/error.h"
#include "base/step.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;
struct core_proof;

enum { WITNESS_ROOM = 40 };

struct witness {
    struct witness_item {
        struct address at;
        uint64_t mask, value;
        const char *name; /* "DWT_CTRL" */
    } items[WITNESS_ROOM];
    size_t n;
};

/* Indices of its words among a list's results. */
struct witness_places {
    uint16_t at[WITNESS_ROOM];
};

/* Takes the bits that a setting tests, if the setting names its register. For one address the last setting
 * counts. */
void witness_take(struct witness *witness, const struct setting *setting);
/* Adds reads of all items; none for NULL. Items in SPACE_CORE are read by `core`, which must be halted;
 * `spare` is as for core_add_coprocessor. */
void witness_add(const struct witness *witness, const struct core *core, const struct core_proof *spare,
                 struct steps *list, struct witness_places *out);
/* The first item that has changed, and in *saw its value; NULL: none. */
const struct witness_item *witness_changed(const struct witness *witness, const uint64_t *results,
                                           const struct witness_places *places, uint64_t *saw);
/* Always false, with ERROR_WRITTEN. */
bool witness_tell(const struct witness_item *item, uint64_t saw, struct error *error);
