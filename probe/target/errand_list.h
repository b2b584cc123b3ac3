/*
 * What an errand is made of: lists of instructions for the halted core, which can be begun again from their
 * start after any failure, and values that are taken until two looks agree. For errand.c and
 * errand_stop.c only.
 */
#pragma once

#include "target/errand.h"

enum { ERRAND_LIST = 1024, ERRAND_TAKEN = ERRAND_WORDS };

struct errand_list {
    struct ledger *ledger;
    const struct core *core;
    const struct errand_kind *kind;
    struct steps list;
    struct step items[ERRAND_LIST];
    uint64_t results[ERRAND_LIST];
    size_t taken[ERRAND_TAKEN], n_taken; /* indices of what was taken */
};

/* An empty list. */
void errand_list_new(struct errand_list *self);
/* One that tells the core to do something. */
void errand_list_begin(struct errand_list *self);
void errand_list_add(struct errand_list *self, const uint32_t *instructions,
                     size_t n); /* up to the first 0 */
/* R0 to R2 by its number: to be found in what errand_list_take gives. */
void errand_list_show(struct errand_list *self, unsigned general);
/* Once. */
bool errand_list_try(struct errand_list *self, const struct deadline *deadline, struct error *error);
/* As often as it takes. */
bool errand_list_run(struct errand_list *self, const struct deadline *deadline, struct error *error);
uint64_t errand_list_shown(const struct errand_list *self, size_t n);
/* Until what is shown is the same twice. */
bool errand_list_take(struct errand_list *self, uint64_t *values, const struct deadline *deadline,
                      struct error *error);
