/*
 * An errand: a small image of ours, put into the RAM of the halted core, run to where it stops by itself, and
 * gone again. The core's registers and that memory are the ledger's to put back, whatever happens between;
 * then a core that was running goes on. Memory is reached through the core, as the program sees it.
 */
#pragma once

#include "cores/injected.h"
#include "device/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ERRAND_WORDS = 40 }; /* of an image, at most */

struct errand;

/* For target->chosen, which target_keep has made reachable. NULL: out of memory. Must outlive the undoing. */
struct errand *errand_new(struct target *target);
void errand_free(struct errand *errand); /* NULL is allowed */
/* Halts the core, and puts the image at `at`, or below the stack where the program has nothing (0). */
bool errand_load(struct errand *errand, const uint32_t *image, size_t n, uint64_t at,
                 const struct deadline *deadline, struct error *error);
/* Halts the core likewise, and reads memory as the core sees it; at most ERRAND_WORDS at a time. */
bool errand_look(struct errand *errand, uint64_t at, uint32_t *words, size_t n,
                 const struct deadline *deadline, struct error *error);
uint64_t errand_place(const struct errand *errand);
bool errand_was_there(const struct errand *errand); /* the image; nothing had to be written */
/* From word `entry` on, with two arguments, until it stops by itself; the results are R0 to R2. */
bool errand_run(struct errand *errand, size_t entry, const uint64_t *arguments, uint64_t *results,
                const struct deadline *deadline, struct error *error);
/* The image is to stay. */
void errand_leave_image(struct errand *errand);

/*
 * What an errand is made of: lists of instructions for the halted core, which can be begun again from their
 * start after any failure, and values that are taken until two looks agree. For errand.c and
 * errand_stop.c only.
 */
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

/*
 * Inside an errand: errand_stop.c halts the core, takes its registers and gives them back; errand.c has to do
 * with memory, and the run.
 */
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
