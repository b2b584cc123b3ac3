/*
 * The wire to a GDB server: packets out and in, acknowledged for as long as the server wants that, and each
 * wait with an end. All room that it takes is in the struct. What cannot be understood any more (silence
 * where an answer is due, damage again and again) makes the wire lost: an answer must never be taken for that
 * of another question.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "base/log.h"
#include "debuggers/gdb_packet.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GDB_PAYLOAD = 32 * 1024, GDB_FRAME = 2 * GDB_PAYLOAD + 8, GDB_CHUNK = 4096 };

struct gdb_wire {
    int fd;
    bool acks, lost, hung_up;      /* hung_up: by the other end */
    char payload[GDB_PAYLOAD + 1]; /* what came last */
    struct gdb_decoder decoder;
    uint8_t in[GDB_CHUNK];
    size_t in_n, in_taken;
    char out[GDB_FRAME]; /* what was sent last, to be sent again */
    size_t out_n;
    unsigned repeats, damages;
    const struct log *log;
};

enum gdb_came { GDB_CAME, GDB_CAME_NOT, GDB_CAME_NEVER };

/* `fd` is non-blocking, and belongs to the wire from now on. */
void gdb_wire_init(struct gdb_wire *wire, int fd);
void gdb_wire_close(struct gdb_wire *wire);
bool gdb_wire_send(struct gdb_wire *wire, const void *payload, size_t n, const struct deadline *deadline,
                   struct error *error);
/* One byte outside of packets. */
bool gdb_wire_send_raw(struct gdb_wire *wire, char byte, const struct deadline *deadline,
                       struct error *error);
/* The next packet, into wire->payload, acknowledged. GDB_CAME_NOT: the deadline passed; `error` is set for
 * GDB_CAME_NEVER only. */
enum gdb_came gdb_wire_receive(struct gdb_wire *wire, size_t *length, const struct deadline *deadline,
                               struct error *error);
/* Marks it lost; always false. */
bool gdb_wire_lose(struct gdb_wire *wire, enum error_kind kind, const char *why, struct error *error);
