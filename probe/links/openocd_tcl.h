/* SPDX-License-Identifier: MIT */
/*
 * OpenOCD's Tcl port: requests and answers, each ended by 0x1a, over a socket or another transport; lists of
 * steps as requests for pmu.tcl; its answers. The other end is not trusted: answers have a largest size,
 * waits an end.
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
    OPENOCD_CANCELLED, /* the user cancelled */
    OPENOCD_CLOSED,    /* the connection, or the process at its other end, is gone */
    OPENOCD_TOO_LONG,  /* more bytes arrived than allowed, without an end */
    OPENOCD_NO_MEMORY,
};

/* Another way to get a script evaluated at OpenOCD's top level. */
struct tcl_transport {
    void *context;
    /* The answer, at most `room` bytes, is the script's result. */
    enum openocd_end (*ask)(void *context, const char *script, size_t length, char *answer, size_t room,
                            size_t *answer_length, const struct deadline *);
};

struct openocd_rpc {
    int fd;                                /* -1: not connected */
    const struct tcl_transport *transport; /* in place of a socket; NULL: none */
    struct openocd_process *process;       /* its log is read while we wait; NULL if we did not start it */
    const struct log *log;
    char *buffer; /* received and not yet handed out */
    size_t used, room;
    size_t consumed; /* length of the answer handed out last */
};

void openocd_rpc_close(struct openocd_rpc *rpc);

enum openocd_end openocd_rpc_send(struct openocd_rpc *rpc, const char *request, size_t length,
                                  const struct deadline *deadline);
/* The next answer, with a NUL in place of its 0x1a; valid until the next call. */
enum openocd_end openocd_rpc_receive(struct openocd_rpc *rpc, size_t largest, const struct deadline *deadline,
                                     const char **answer, size_t *length);
/* The beginning of an answer that did not end, for an error text. */
const char *openocd_rpc_pending(const struct openocd_rpc *rpc, size_t *length);

/*
 * Steps as the numbers that pmu.tcl carries out. Pure. Reads at consecutive addresses become one item, a
 * block read; every other step is one item.
 */
enum { OPENOCD_BLOCK = 8192 }; /* elements; OpenOCD itself would take 65536 */

/* How many steps from here on make one item: at least 1. */
size_t openocd_item_length(const struct step *steps, size_t n);
/* NULL, or why OpenOCD cannot be asked for this step. */
const char *openocd_step_refusal(const struct step *step, size_t targets);
/*
 * Writes items, separated by blanks, up to one that is refused or does not fit. Returns how many steps are
 * covered.
 */
size_t openocd_program_write(const struct step *steps, size_t n, size_t targets, char *out, size_t size);

/*
 * The answers of pmu.tcl. Pure and strict: the other end may be anything, and a wrong number must not become
 * a measurement.
 */
struct openocd_reply {
    uint64_t sequence;
    enum why why;  /* DONE, NOT_YET, UNEXPECTED, TARGET_FAULT, or LINK_LOST: the core is not ours any more */
    bool is_moved; /* LINK_LOST: by another client, `words` say how; nothing was carried out */
    uint64_t done; /* items */
    uint64_t saw;
    uint64_t count; /* of results */
    const char *results, *end;
    const char *words; /* OpenOCD's own, after TARGET_FAULT; or as above */
    size_t words_length;
};

/* False: not an answer of pmu.tcl. `reply` points into `text`, after which there is a NUL. */
bool openocd_reply_read(const char *text, size_t length, struct openocd_reply *reply);
/*
 * Checks that the reply can be the answer to these steps, all of which were sent, and takes its results.
 * `outcome->done` counts steps. TARGET_FAULT is not yet split by OpenOCD's words.
 */
bool openocd_reply_take(const struct openocd_reply *reply, const struct step *steps, size_t n,
                        uint64_t *results, struct outcome *outcome);

/* Reads the list of targets, after which there is a NUL; *n is how many there are, of which at most `room`
 * are stored. False: no list. */
bool openocd_targets_read(const char *text, size_t length, struct link_view *out, size_t room, size_t *n);
/* Reads "Open On-Chip Debugger 0.12.0", "xPack Open On-Chip Debugger v0.12.0+dev". */
bool openocd_version_read(const char *text, unsigned *major, unsigned *minor);
