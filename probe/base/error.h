/*
 * Errors: the layer that fails states the fact and its kind, once. The advice and the exit code for each kind
 * stand in error.c and nowhere else.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum error_kind {
    ERROR_NONE,
    ERROR_USAGE,         /* the command line or a user's file is wrong */
    ERROR_SYMBOL,        /* a location names nothing in the ELF */
    ERROR_AMBIGUOUS,     /* a location names several addresses */
    ERROR_ELF,           /* the ELF cannot be used */
    ERROR_ELF_MISMATCH,  /* the target runs something else */
    ERROR_NO_PROBE,      /* nothing to connect to */
    ERROR_NOT_A_PROBE,   /* something answers, but in another protocol */
    ERROR_SERVER,        /* the server that we started does not come up */
    ERROR_NO_MSR,        /* this machine's model-specific registers cannot be reached */
    ERROR_NO_AGENT,      /* no agent serves another machine's registers */
    ERROR_LINK_LOST,     /* the link was lost */
    ERROR_LINK_PROTOCOL, /* the other end breaks its own protocol */
    ERROR_FAULT,         /* the target refused an access */
    ERROR_ASLEEP,        /* the target does not answer for now */
    ERROR_NO_CORE,       /* no core that we know */
    ERROR_NO_COUNTER,    /* no counter block that we can use */
    ERROR_WRITTEN,       /* the program or another debugger writes or stops the counter */
    ERROR_WRITER_SOUGHT, /* the same, after a search for the writer */
    ERROR_NO_COMPARATOR, /* all breakpoint units are taken */
    ERROR_ADDRESS,       /* no breakpoint is possible there */
    ERROR_PLACE,         /* the core cannot run code there */
    ERROR_HALTED,        /* the core was halted before we came */
    ERROR_FOREIGN_STOP,  /* another debugger's breakpoint */
    ERROR_CLEARED,       /* our breakpoint was removed */
    ERROR_RESET,         /* the target was reset during the measurement */
    ERROR_NO_RESET,      /* the target does not reset on request */
    ERROR_LOCKUP,        /* the core locked up */
    ERROR_STATE,         /* the core's state does not allow a measurement */
    ERROR_START,         /* the start was never reached */
    ERROR_END,           /* the end was never reached */
    ERROR_CANCELLED,     /* Ctrl-C or SIGTERM */
    ERROR_SYSTEM,        /* the host failed us: memory, files, processes */
    ERROR_KINDS
};

struct error {
    enum error_kind kind;
    char text[1024]; /* what was tried and what came back */
    /* The register that shows ERROR_WRITTEN, or that does not keep its value; NULL: none */
    const char *subject;
};

/* Keeps the first fact: a later call on the same error is ignored. Always returns false. */
bool error_set(struct error *error, enum error_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Puts words in front of a fact that is already set ("cannot restore: ..."). Always returns false. */
bool error_prefix(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds a fact on a line of its own; it becomes the error if there is none yet. Always returns false. */
bool error_add(struct error *error, const struct error *further);
void error_clear(struct error *error);
/* What the user can do next; NULL if the fact says it all. */
const char *error_advice(enum error_kind kind);
int error_exit_code(enum error_kind kind);
