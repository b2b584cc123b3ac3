/*
 * Injected code: a small image of ours is put into the RAM of the halted core, runs until it stops by itself,
 * and is removed. The ledger restores the core's registers and that memory, whatever happens in between, and
 * then lets a core run on that was running. Memory is reached through the core, as the program sees it.
 */
#pragma once

#include "device/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INJECTED_WORDS = 40 }; /* of an image, at most */

struct injected_code;

/* For device->chosen, after device_keep. NULL: out of memory. Must outlive the undoing of the ledger. */
struct injected_code *injected_new(struct device *device);
void injected_free(struct injected_code *injected); /* NULL is allowed */
/* Halts the core, and puts the image at `at`; 0: below the program's stack. */
bool injected_load(struct injected_code *injected, const uint32_t *image, size_t n, uint64_t at,
                   const struct deadline *deadline, struct error *error);
/* Halts the core, and reads memory as the core sees it; at most INJECTED_WORDS at a time. */
bool injected_look(struct injected_code *injected, uint64_t at, uint32_t *words, size_t n,
                   const struct deadline *deadline, struct error *error);
uint64_t injected_place(const struct injected_code *injected);
bool injected_was_there(const struct injected_code *injected); /* memory held the image already */
/* Runs from word `entry` with two arguments until the code stops by itself; the results are R0 to R2. */
bool injected_run(struct injected_code *injected, size_t entry, const uint64_t *arguments, uint64_t *results,
                  const struct deadline *deadline, struct error *error);
/* Leaves the image in memory. */
void injected_leave_image(struct injected_code *injected);
