/*
 * OpenOCD's Tcl port, or another way to its interpreter: a request and its answer each end in 0x1a. Nothing
 * is believed of the other end: an answer has a largest size, and every wait an end.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "base/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct openocd_process;

enum openocd_end {
    OPENOCD_ANSWERED,
    OPENOCD_SILENT,    /* the deadline passed */
    OPENOCD_CANCELLED, /* likewise, by the user */
    OPENOCD_CLOSED,    /* the connection, or the process behind it, is gone */
    OPENOCD_TOO_LONG,  /* more than was allowed came without an end */
    OPENOCD_NO_MEMORY,
};

/* Somebody else who gets a script evaluated at OpenOCD's top level. */
struct openocd_voice {
    void *context;
    /* The answer, of at most `room` bytes, is what the script returned, by `return -code exit` too. */
    enum openocd_end (*ask)(void *context, const char *script, size_t length, char *answer, size_t room,
                            size_t *answer_length, const struct deadline *);
};

struct openocd_rpc {
    int fd;                            /* -1: not connected */
    const struct openocd_voice *voice; /* in place of a socket; NULL: there is none */
    struct openocd_process *process;   /* its log is read while we wait; NULL if it is not ours */
    const struct log *log;
    char *buffer; /* what has come and was not handed out */
    size_t used, room;
    size_t consumed; /* of the answer that was handed out last */
};

/* False and ERROR_NO_PROBE when nobody listens there. */
bool openocd_rpc_open(struct openocd_rpc *rpc, const char *host, uint16_t port,
                      const struct deadline *deadline, struct error *error);
void openocd_rpc_close(struct openocd_rpc *rpc);

enum openocd_end openocd_rpc_send(struct openocd_rpc *rpc, const char *request, size_t length,
                                  const struct deadline *deadline);
/* The next answer, without its 0x1a but with a NUL; it stays until the next call. */
enum openocd_end openocd_rpc_receive(struct openocd_rpc *rpc, size_t largest, const struct deadline *deadline,
                                     const char **answer, size_t *length);
/* What has come so far of an answer that did not end: for an error text. */
const char *openocd_rpc_pending(const struct openocd_rpc *rpc, size_t *length);
