/*
 * What goes between this link and the agent on a card, as bytes; pure. All numbers are little-endian.
 *
 *     greeting   "PMR1"  u16 CPUs  u16 busy            then for each CPU: u16 number, u16 core
 *     request    "PMRq"  u16 accesses  u16 serial      each: u8 kind, u8 0, u16 CPU, u32 MSR, u64 value
 *     reply      "PMRa"  u16 done  u8 why  u8 serial   each that is done: u64 value
 */
#pragma once

#include "links/msr/list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FRAME_HEADER = 8, FRAME_CPU = 4, FRAME_OP = 16, FRAME_VALUE = 8 };
enum {
    FRAME_REQUEST = FRAME_HEADER + MSR_BATCH * FRAME_OP,
    FRAME_REPLY = FRAME_HEADER + MSR_BATCH * FRAME_VALUE
};

enum frame_why { FRAME_DONE, FRAME_REFUSED, FRAME_FAULT, FRAME_NONSENSE };

/* `out` has room for FRAME_REQUEST; returns the length. */
size_t frame_request(const struct msr_op *ops, size_t n, unsigned serial, uint8_t *out);
/* False: not what an agent sends. */
bool frame_greeting(const uint8_t *header, size_t *n_cpus, bool *busy);
bool frame_cpus(const uint8_t *bytes, size_t n, struct msr_cpu *out); /* rising, each once */
bool frame_reply(const uint8_t *header, size_t asked, unsigned serial, size_t *done, enum frame_why *why);
void frame_values(const uint8_t *bytes, size_t n, uint64_t *out);
