/*
 * Baselines: an earlier run, read from the JSON lines that it wrote (schema pmu-probe/1). The file is not
 * trusted: its size, its lines and its columns are bounded, and every text is cleaned.
 */
#pragma once

#include "base/error.h"
#include "measure/result.h"
#include "measure/verdict.h"
#include "report/terminal.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

enum { BASELINE_FILE_MAX = 64 << 20, BASELINE_LINE_MAX = 1 << 20 };

struct baseline_column {
    char name[UTF8_CLEAN_ROOM(48)];
    bool unsupported;
    bool calibrated; /* the cost of halts was removed */
    struct verdict_side side;
};

struct baseline {
    char file[256];
    char started[32];             /* "2026-11-20T09:15:00Z" */
    char ended[256];              /* why it ended early; else "" */
    struct conditions conditions; /* without addresses and sources */
    size_t n;
    struct baseline_column columns[RESULT_COLUMNS];
};

/* ERROR_USAGE: no such file, not JSON, no summary (a run that was cut off), another schema. `path` may be a
   pipe; `cancel`, which may be NULL, ends the wait for its other end. */
bool baseline_read(const char *path, const volatile sig_atomic_t *cancel, struct baseline *out,
                   struct error *error);
/* The same for the bytes of a file; `path` is for messages. */
bool baseline_parse(const char *text, size_t size, const char *path, struct baseline *out,
                    struct error *error);
