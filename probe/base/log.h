/* SPDX-License-Identifier: MIT */
/*
 * The log: what goes to a probe or a server and what it answers, for bug reports. NULL is a log that is
 * switched off.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* LOG_BRIEF: what we connected to and how it identifies itself. LOG_ALL: also each packet and command. */
enum log_level { LOG_BRIEF = 1, LOG_ALL };

struct log {
    FILE *out;
    unsigned level;
    int64_t begun_us; /* the log's times count from here */
};

void log_line(const struct log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Logs another program's output, line by line; unprintable bytes are escaped. */
void log_words(const struct log *log, const char *who, const char *words, size_t n);
/* `way` is '>' for sent and '<' for received bytes; `what` is a remark or NULL. */
void log_bytes(const struct log *log, char way, const char *who, const uint8_t *bytes, size_t n,
               const char *what);
void log_text(const struct log *log, char way, const char *who, const char *text, size_t n);
