/*
 * The ways to a core's PMU through a debugger, in the order in which they are tried, and what became of each:
 * `info` prints it. Which one is taken is settled once, when the debugger's link is opened.
 */
#pragma once

#include <stdbool.h>

enum access_way {
    ACCESS_MEMORY,    /* the debugger's own reading and writing of memory */
    ACCESS_REGISTERS, /* a PMU among the server's registers, as its description names them */
    ACCESS_OPENOCD,   /* OpenOCD's monitor command, which reaches every bus */
    ACCESS_JLINK,     /* a J-Link GDB server's monitor command */
    ACCESS_PYOCD,     /* pyOCD's */
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
