/*
 * The log: what goes to a probe or a server and what comes back, for a report of a fault. Whoever has
 * something to tell is handed one; NULL is a log that nobody reads.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* LOG_BRIEF: what was connected to, and what it says it is. LOG_ALL: each packet and command as well. */
enum log_level { LOG_BRIEF = 1, LOG_ALL };

struct log {
    FILE *out;
    unsigned level;
    int64_t begun_us; /* times are told from here on */
};

void log_line(const struct log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Somebody else's words, a line each; what cannot be printed is escaped. */
void log_words(const struct log *log, const char *who, const char *words, size_t n);
/* `way` is '>' for what is sent and '<' for what has come; `what` is words on it, or NULL. */
void log_bytes(const struct log *log, char way, const char *who, const uint8_t *bytes, size_t n,
               const char *what);
void log_text(const struct log *log, char way, const char *who, const char *text, size_t n);
