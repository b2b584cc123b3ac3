/* SPDX-License-Identifier: MIT */
/*
 * A client's session as bytes in and bytes out. All numbers are little-endian.
 *
 *     greeting   "PMR1"  u16 CPUs  u16 busy            then for each CPU: u16 number, u16 core
 *     request    "PMRq"  u16 accesses  u16 serial      each: u8 kind, u8 0, u16 CPU, u32 MSR, u64 value
 *     reply      "PMRa"  u16 done  u8 why  u8 serial   each that is done: u64 value
 *
 * Kinds: 0 reads, 1 writes, 2 returns microseconds of a steady clock. Why: 0 all done, 1 the next one is not
 * served, 2 the processor refused it, 3 the request was invalid, and the agent drops the client. The agent
 * stops at the first access that is not done.
 *
 * A client that says nothing for 30 s (--idle) is left, and one that stops in the middle of a request for 5
 * s. One that waits for something asks for the time now and then (kind 2), also before its first other
 * request.
 */
#ifndef KNC_SESSION_H
#define KNC_SESSION_H

#include "registers.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SESSION_ACCESSES = 64,
    SESSION_REQUEST = 8 + SESSION_ACCESSES * 16,
    SESSION_OUT = 8 + REGISTERS_CPUS * 4
};

struct session {
    struct registers *registers;
    uint64_t (*now_us)(void);
    uint8_t in[SESSION_REQUEST];
    unsigned n_in; /* 0: between two requests */
    uint8_t out[SESSION_OUT];
    unsigned n_out, sent;
    bool over; /* to be left when all is sent */
};

void session_begin(struct session *session, struct registers *registers, uint64_t (*now_us)(void));
/* For one that connects while another is served; `out` has room for 8 bytes. */
void session_busy(uint8_t *out);
/* Where the next bytes go, and how many at most; 0: not before all is sent. */
unsigned session_room(struct session *session, uint8_t **to);
/* This number of bytes arrived there. */
void session_take(struct session *session, unsigned n);

#endif
