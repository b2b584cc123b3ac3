/*
 * An errand: a small image of ours, put into the RAM of the halted core, run to where it stops by itself, and
 * gone again. The core's registers and that memory are the ledger's to put back, whatever happens between;
 * then a core that was running goes on. Memory is reached through the core, as the program sees it.
 */
#pragma once

#include "cores/errand.h"
#include "target/target.h"

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
