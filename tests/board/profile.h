// Which addresses a core spent its cycles at: the ground truth for what samples a program. An instruction's
// cycles are at its address, those of an exception's entry at the handler, those of its return at the
// instruction that returns, and those of sleep at the instruction that began it, kept apart. Also kept apart:
// the same cycles at the addresses that a sample has for them, where samples skid, and by the value that
// CONTEXTIDR had in them, where there is one.
#ifndef BOARD_PROFILE_H
#define BOARD_PROFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct profile;

// now: the core's cycles. NULL: no memory.
struct profile *profile_start(uint64_t now);
void profile_free(struct profile *);
enum profile_kind { PROFILE_EXECUTED, PROFILE_ASLEEP, PROFILE_SAMPLED, PROFILE_CONTEXT };
void profile_add(struct profile *, uint32_t where, enum profile_kind kind, uint64_t cycles);
// One JSON object. false: no memory, and nothing is printed.
bool profile_print(const struct profile *, uint64_t now, FILE *out);

#endif
