/*
 * Errors: the layer that fails states the fact and its kind, once; what to do about each kind of
 * failure, and the exit code that it ends in, stand in error.c and nowhere else.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum error_kind {
    ERROR_NONE,
    ERROR_USAGE,         /* the command line or a file of the user's is wrong */
    ERROR_SYMBOL,        /* a location names nothing in the ELF */
    ERROR_AMBIGUOUS,     /* a location names several addresses */
    ERROR_ELF,           /* the ELF cannot be used */
    ERROR_ELF_MISMATCH,  /* the target runs something else */
    ERROR_NO_PROBE,      /* nothing to connect to */
    ERROR_NOT_A_PROBE,   /* something answers, but not what we speak */
    ERROR_SERVER,        /* the server that we start does not come up */
    ERROR_NO_MSR,        /* this machine's model-specific registers cannot be reached */
    ERROR_NO_AGENT,      /* no agent there that serves us another machine's */
    ERROR_LINK_LOST,     /* the link went away under us */
    ERROR_LINK_PROTOCOL, /* the other end breaks its own protocol */
    ERROR_FAULT,         /* the target refused an access */
    ERROR_ASLEEP,        /* the target does not answer for now */
    ERROR_NO_CORE,       /* no core that we know */
    ERROR_NO_COUNTER,    /* no counter block that we can use */
    ERROR_WRITTEN,       /* somebody else writes or stops the counter */
    ERROR_WRITER_SOUGHT, /* likewise, and who does was looked for */
    ERROR_NO_COMPARATOR, /* all breakpoint units are taken */
    ERROR_ADDRESS,       /* no breakpoint can be put there */
    ERROR_PLACE,         /* the core cannot run code there */
    ERROR_HALTED,        /* the core was halted before we came */
    ERROR_FOREIGN_STOP,  /* another debugger's breakpoint */
    ERROR_CLEARED,       /* our breakpoint was taken away under us */
    ERROR_RESET,         /* the target was reset under us */
    ERROR_NO_RESET,      /* it was asked for a reset, and does not */
    ERROR_LOCKUP,        /* the core locked up */
    ERROR_STATE,         /* the core is in a state in which it cannot be measured */
    ERROR_START,         /* start never reached */
    ERROR_END,           /* end never reached */
    ERROR_CANCELLED,     /* Ctrl-C or SIGTERM */
    ERROR_SYSTEM,        /* the host failed us: memory, files, processes */
    ERROR_KINDS
};

struct error {
    enum error_kind kind;
    char text[1024]; /* what was tried and what came back */
    /* The register that speaks for ERROR_WRITTEN, or does not take what it is to hold; NULL: none */
    const char *subject;
};

/* Keeps the first fact: a later call on the same error is ignored. Always returns false. */
bool error_set(struct error *error, enum error_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Puts words in front of a fact that is already set ("cannot restore: ..."). Always returns false. */
bool error_prefix(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A further fact, on a line of its own; becomes the error itself when there is none yet. Always returns
 * false. */
bool error_add(struct error *error, const struct error *further);
void error_clear(struct error *error);
/* What the user can do next; NULL where the fact says it all. */
const char *error_advice(enum error_kind kind);
int error_exit_code(enum error_kind kind);
