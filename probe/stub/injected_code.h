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
