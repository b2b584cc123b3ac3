/*
 * The ways to a core's PMU through a debugger, in the order in which they are tried, and what became of each:
 * `info` prints it. Which one is taken is settled once, when the debugger's link is opened.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct debugger;

enum access_way {
    ACCESS_MEMORY,  /* the debugger's own reading and writing of memory */
    ACCESS_OPENOCD, /* OpenOCD's monitor command, which reaches every bus */
    ACCESS_JLINK,   /* a J-Link GDB server's monitor command */
    ACCESS_PYOCD,   /* pyOCD's */
    ACCESS_WAYS
};

struct access {
    bool settled;               /* there was something to choose */
    enum access_way used;       /* ACCESS_WAYS: there is none */
    bool only_looks;            /* what is written by the one that is used has no effect */
    char why[ACCESS_WAYS][192]; /* of the one that is used how, of the others why not */
};

/* "J-Link's monitor" */
const char *access_name(enum access_way way);
/* Does not change what has been said of a way already. */
void access_say(struct access *access, enum access_way way, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Of OpenOCD's: it is another server, of that name or, "", of none. */
void access_say_not_openocd(struct access *access, const char *server);

/*
 * Single words of a core's memory by one of the ways to it, and whether such a way is any good: some servers
 * show a Cortex-M's registers and ignore what is written to them, which only reading back tells.
 */
/* By ACCESS_MEMORY, ACCESS_JLINK or ACCESS_PYOCD; of 1, 2, 4 or, by the first, 8 bytes. */
bool access_read(struct debugger *debugger, enum access_way way, uint64_t at, unsigned size, uint64_t *out,
                 const struct deadline *deadline, struct error *error);
bool access_write(struct debugger *debugger, enum access_way way, uint64_t at, unsigned size, uint64_t value,
                  const struct deadline *deadline, struct error *error);

/*
 * Tries the ways to a Cortex-M's registers, one after the other, and settles debugger->access. Nothing is
 * left changed. Where none will do it is the debugger's memory, which then says itself what is wrong with it.
 * A core that is not halted to its own debug registers is an emulator's. False: the debugger itself failed.
 */
bool access_settle_m(struct debugger *debugger, const struct deadline *deadline, struct error *error);
