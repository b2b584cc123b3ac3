/*
 * OpenOCD's Tcl port, or another way to its interpreter: a request and its answer each end in 0x1a. Nothing
 * is believed of the other end: an answer has a largest size, and every wait an end.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "base/log.h"
#include "base/step.h"
#include "links/link.h"

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
struct tcl_transport {
    void *context;
    /* The answer, of at most `room` bytes, is what the script returned, by `return -code exit` too. */
    enum openocd_end (*ask)(void *context, const char *script, size_t length, char *answer, size_t room,
                            size_t *answer_length, const struct deadline *);
};

struct openocd_rpc {
    int fd;                                /* -1: not connected */
    const struct tcl_transport *transport; /* in place of a socket; NULL: there is none */
    struct openocd_process *process;       /* its log is read while we wait; NULL if it is not ours */
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

/*
 * Steps as the numbers that pmu.tcl carries out. Pure. Reads at consecutive addresses become one item,
 * a block read; every other step is an item of its own.
 */
enum { OPENOCD_BLOCK = 8192 }; /* elements; OpenOCD itself would take 65536 */

/* How many of the steps from here on make one item: at least 1. */
size_t openocd_item_length(const struct step *steps, size_t n);
/* NULL, or why OpenOCD cannot be asked for this step. */
const char *openocd_step_refusal(const struct step *step, size_t targets);
/*
 * Writes items, separated by blanks, until one is refused or there is no room for the next. Returns how
 * many steps are covered.
 */
size_t openocd_program_write(const struct step *steps, size_t n, size_t targets, char *out, size_t size);

/*
 * What pmu.tcl answers. Pure, and strict: the other end may be anything, and a number that is not
 * exactly what was asked for must not become a measurement.
 */
struct openocd_reply {
    uint64_t sequence;
    enum why why;  /* DONE, NOT_YET, UNEXPECTED or TARGET_FAULT */
    uint64_t done; /* items */
    uint64_t saw;
    uint64_t count; /* of results */
    const char *results, *end;
    const char *words; /* OpenOCD's own, after TARGET_FAULT */
    size_t words_length;
};

/* False: this is no answer of pmu.tcl's. Points into `text`. */
bool openocd_reply_read(const char *text, size_t length, struct openocd_reply *reply);
/*
 * Checks that the reply can be the answer to these steps, all of which were sent, and takes the results
 * out of it. `outcome->done` counts steps. TARGET_FAULT stays TARGET_FAULT whatever the words.
 */
bool openocd_reply_take(const struct openocd_reply *reply, const struct step *steps, size_t n,
                        uint64_t *results, struct outcome *outcome);

/* The list of targets. Returns how many there are, of which `room` are stored; false if it is no list. */
bool openocd_targets_read(const char *text, size_t length, struct link_view *out, size_t room, size_t *n);
/* "Open On-Chip Debugger 0.12.0": false if it is none. */
bool openocd_version_read(const char *text, unsigned *major, unsigned *minor);
