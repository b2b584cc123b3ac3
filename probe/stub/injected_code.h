/*
 * injected code: a small image of ours, put into the RAM of the halted core, run to where it stops by itself,
 * and gone again. The core's registers and that memory are the ledger's to put back, whatever happens
 * between; then a core that was running goes on. Memory is reached through the core, as the program sees it.
 */
#pragma once

#include "cores/injected.h"
#include "device/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INJECTED_WORDS = 40 }; /* of an image, at most */

struct injected_code;

/* For target->chosen, which device_keep has made reachable. NULL: out of memory. Must outlive the undoing. */
struct injected_code *injected_new(struct device *device);
void injected_free(struct injected_code *injected); /* NULL is allowed */
/* Halts the core, and puts the image at `at`, or below the stack where the program has nothing (0). */
bool injected_load(struct injected_code *injected, const uint32_t *image, size_t n, uint64_t at,
                   const struct deadline *deadline, struct error *error);
/* Halts the core likewise, and reads memory as the core sees it; at most INJECTED_WORDS at a time. */
bool injected_look(struct injected_code *injected, uint64_t at, uint32_t *words, size_t n,
                   const struct deadline *deadline, struct error *error);
uint64_t injected_place(const struct injected_code *injected);
bool injected_was_there(const struct injected_code *injected); /* the image; nothing had to be written */
/* From word `entry` on, with two arguments, until it stops by itself; the results are R0 to R2. */
bool injected_run(struct injected_code *injected, size_t entry, const uint64_t *arguments, uint64_t *results,
                  const struct deadline *deadline, struct error *error);
/* The image is to stay. */
void injected_leave_image(struct injected_code *injected);

/*
 * What injected code is made of: lists of instructions for the halted core, which can be begun again from
 * their start after any failure, and values that are taken until two looks agree. For injected code.c and
 * injected_stop.c only.
 */
enum { INJECTED_LIST = 1024, INJECTED_TAKEN = INJECTED_WORDS };

struct injected_list {
    struct ledger *ledger;
    const struct core *core;
    const struct injected_kind *kind;
    struct steps list;
    struct step items[INJECTED_LIST];
    uint64_t results[INJECTED_LIST];
    size_t taken[INJECTED_TAKEN], n_taken; /* indices of what was taken */
};

/* An empty list. */
void injected_list_new(struct injected_list *self);
/* One that tells the core to do something. */
void injected_list_begin(struct injected_list *self);
void injected_list_add(struct injected_list *self, const uint32_t *instructions,
                       size_t n); /* up to the first 0 */
/* R0 to R2 by its number: to be found in what injected_list_take gives. */
void injected_list_show(struct injected_list *self, unsigned general);
/* Once. */
bool injected_list_try(struct injected_list *self, const struct deadline *deadline, struct error *error);
/* As often as it takes. */
bool injected_list_run(struct injected_list *self, const struct deadline *deadline, struct error *error);
uint64_t injected_list_shown(const struct injected_list *self, size_t n);
/* Until what is shown is the same twice. */
bool injected_list_take(struct injected_list *self, uint64_t *values, const struct deadline *deadline,
                        struct error *error);

/*
 * Inside injected code: injected_stop.c halts the core, takes its registers and gives them back; injected
 * code.c has to do with memory, and the run.
 */
struct injected_code {
    struct device *device;
    const struct core *core;
    const struct injected_kind *kind;
    bool was_halted, was_reset, prepared;
    uint64_t as_found; /* the status register of a core that was halted */
    uint64_t guard;
    uint64_t general[INJECTED_GENERAL], other[INJECTED_OTHERS];
    struct injected_register others[INJECTED_OTHERS];
    size_t n_others;
    const uint32_t *image;
    size_t n;
    uint64_t at;
    uint32_t found[INJECTED_WORDS]; /* where the image is now */
    bool owes_memory, owes_registers, written;
    struct injected_list work;
};

/* Halts the core and takes its registers, in a state in which code can be run. */
bool injected_stop(struct injected_code *self, const struct deadline *deadline, struct error *error);
bool injected_read_status(struct injected_code *self, uint64_t *status, bool *halted,
                          const struct deadline *deadline, struct error *error);
/* Also after something went wrong while it ran; a core that was reset has nothing to be given back. */
bool injected_make_sure_halted(struct injected_code *self, const struct deadline *deadline,
                               struct error *error);
/* Of self->others, after what is in the list already. */
bool injected_take_others(struct injected_code *self, size_t from, size_t end, uint64_t *values,
                          const struct deadline *deadline, struct error *error);
void injected_add_guard(struct injected_code *self, uint64_t value);
