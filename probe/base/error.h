/* SPDX-License-Identifier: MIT */
/*
 * Errors: the layer that fails states the fact and its kind, once. error.c has the exit code of each kind and
 * what the user can do about it; where that does not fit the fact, the fact has its own advice.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum error_kind {
    ERROR_NONE,          /* the next four are about what the user gave: exit code 2 */
    ERROR_USAGE,         /* the command line, or a file that the user wrote, is wrong */
    ERROR_SYMBOL,        /* a location names nothing in the ELF */
    ERROR_AMBIGUOUS,     /* a location names several addresses */
    ERROR_ELF,           /* the ELF cannot be used */
    ERROR_ELF_MISMATCH,  /* the target runs something else */
    ERROR_NO_PROBE,      /* nothing to connect to */
    ERROR_NOT_A_PROBE,   /* something answers, but not what we speak */
    ERROR_IN_USE,        /* another pmu-probe uses it */
    ERROR_LEFT,          /* a run that did not end has left the target changed */
    ERROR_SERVER,        /* the server that we launch does not start */
    ERROR_NO_MSR,        /* this machine's model-specific registers cannot be reached */
    ERROR_NO_AGENT,      /* no agent there that serves us another machine's */
    ERROR_LINK_LOST,     /* the link went away under us */
    ERROR_LINK_PROTOCOL, /* the other end breaks its own protocol */
    ERROR_FAULT,         /* the target refused an access */
    ERROR_ASLEEP,        /* the target does not answer for now */
    ERROR_NO_TARGET,     /* the probe works, but nothing answers it */
    ERROR_NO_CORE,       /* no core that we know */
    ERROR_NO_COUNTER,    /* no counter block that we can use */
    ERROR_WRITTEN,       /* something else writes or stops the counter */
    ERROR_WRITER_SOUGHT, /* the same, after a search for what does it */
    ERROR_NO_COMPARATOR, /* all breakpoint units are taken */
    ERROR_ADDRESS,       /* no breakpoint can be put there */
    ERROR_HALTED,        /* the core was halted before we connected */
    ERROR_FOREIGN_STOP,  /* another debugger's breakpoint */
    ERROR_MOVED,         /* another client of the server halted, stepped or resumed the core */
    ERROR_CLEARED,       /* our breakpoint was removed by something else */
    ERROR_RESET,         /* the target was reset under us */
    ERROR_NO_RESET,      /* the target ignores our request for a reset */
    ERROR_LOCKUP,        /* the core locked up */
    ERROR_STATE,         /* the core is in a state in which it cannot be measured */
    ERROR_START,         /* start never reached */
    ERROR_END,           /* end never reached */
    ERROR_DIVERGED,      /* a replay is not what was recorded */
    ERROR_CANCELLED,     /* Ctrl-C or SIGTERM */
    ERROR_SYSTEM,        /* the host failed us: memory, files, processes */
    ERROR_UNWRITTEN,     /* the output does not take what is written */
    ERROR_KINDS
};

struct error {
    enum error_kind kind;
    char text[1024]; /* what was tried and what was answered */
    /* The register that ERROR_WRITTEN is about, or that does not take a value; NULL: none */
    const char *subject;
    const char *advice; /* in place of the kind's, "" for none; NULL: the kind's */
    bool may_be_reset;  /* of ERROR_WRITTEN: a reset that no register shows does that, too */
    long holder;        /* of ERROR_IN_USE: the process that has the lock (base/state.h); 0: not known */
    bool added;         /* there are further facts than that of its kind */
};

/* Keeps the first fact: a later call on the same error is ignored. Always returns false. */
bool error_set(struct error *error, enum error_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for functions that return a pointer: always returns NULL. */
void *error_null(struct error *error, enum error_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Memory ran out: false, NULL. */
bool error_memory(struct error *error);
bool error_reset(struct error *error);  /* ERROR_RESET */
bool error_lockup(struct error *error); /* ERROR_LOCKUP */
void *error_memory_null(struct error *error);
/* The same as error_set with its own advice, a constant. */
bool error_advise(struct error *error, enum error_kind kind, const char *advice, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Takes over all of `why`, unless a fact is set already. Always returns false. */
bool error_copy(struct error *error, const struct error *why);
/* Another counter may help. */
bool error_is_written(const struct error *error);
/* The target refused an access, or does not answer for now: another one may work. */
bool error_is_refusal(const struct error *error);
/* In place of what is set already. Always returns false. */
bool error_replace(struct error *error, const struct error *why);
/* Puts words in front of a fact that is already set ("cannot restore: ..."). Always returns false. */
bool error_prefix(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A further fact, on its own line; becomes the error itself when there is none yet. Always returns false. */
bool error_add(struct error *error, const struct error *further);
void error_clear(struct error *error);
/* Its facts on one line, for tables and summaries: "one. Another", and of a list "these: one, another". */
const char *error_on_one_line(const struct error *error, char *out, size_t size);
/* What the user can do next; NULL if the fact says it all. */
#define ERROR_LOCATIONS                                                                                      \
    "A location is function, function+0x10, file.c:function, ns::Class::method(int), file.c:42 or "          \
    "*0x10000200."
const char *error_advice(const struct error *error);
int error_exit_code(enum error_kind kind);
