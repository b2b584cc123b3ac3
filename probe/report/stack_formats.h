/* SPDX-License-Identifier: MIT */
/*
 * A profile for other programs, from stacks: folded, callgrind, perf's script text. Each sample is in
 * it once, by address, with function and line. Each function returns false if the output could not be written
 * whole, or memory ran out.
 */
#pragma once

#include "profile/stacks.h"

#include <stdbool.h>
#include <stdio.h>

struct stack_report {
    const struct profile *profile;
    const struct stacks *stacks;
    const char *elf; /* that the names are from; NULL: none */
};

/* A line for each stack, the outermost frame first: "core 0;main;work 30", as flame graphs are made of. */
bool stacks_folded(FILE *out, const struct stack_report *report);
/* The cores are added up, as the format has no cores. */
bool stacks_callgrind(FILE *out, const struct stack_report *report);
/* As `perf script` prints it: `stacks` must be in time. Samples of an interval are spread evenly over it.
 * Where there are more than a million, an event stands for several of one place: that is its period. */
bool stacks_perf(FILE *out, const struct stack_report *report);
/* The same with about `most` events at most, and one for each row. */
bool stacks_perf_within(FILE *out, const struct stack_report *report, uint64_t events);
