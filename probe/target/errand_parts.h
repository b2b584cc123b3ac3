/*
 * Inside an errand: errand_stop.c halts the core, takes its registers and gives them back; errand.c has to do
 * with memory, and the run.
 */
#pragma once

#include "target/errand_list.h"

struct errand {
    struct target *target;
    const struct core *core;
    const struct errand_kind *kind;
    bool was_halted, was_reset, prepared;
    uint64_t as_found; /* the status register of a core that was halted */
    uint64_t guard;
    uint64_t general[ERRAND_GENERAL], other[ERRAND_OTHERS];
    struct errand_register others[ERRAND_OTHERS];
    size_t n_others;
    const uint32_t *image;
    size_t n;
    uint64_t at;
    uint32_t found[ERRAND_WORDS]; /* where the image is now */
    bool owes_memory, owes_registers, written;
    struct errand_list work;
};

/* Halts the core and takes its registers, in a state in which code can be run. */
bool errand_stop(struct errand *self, const struct deadline *deadline, struct error *error);
bool errand_read_status(struct errand *self, uint64_t *status, bool *halted, const struct deadline *deadline,
                        struct error *error);
/* Also after something went wrong while it ran; a core that was reset has nothing to be given back. */
bool errand_make_sure_halted(struct errand *self, const struct deadline *deadline, struct error *error);
/* Of self->others, after what is in the list already. */
bool errand_take_others(struct errand *self, size_t from, size_t end, uint64_t *values,
                        const struct deadline *deadline, struct error *error);
void errand_add_guard(struct errand *self, uint64_t value);
