/*
 * OpenOCD's files for boards, part of pmu-probe, where `make install` or the source tree has them,
 * relative to this program. -f finds them by name.
 */
#pragma once

#include "base/error.h"
#include "run/request.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    BOARD_FOLDERS = 3,
    BOARD_PATH = PATH_MAX + 64,
    BOARD_NAME = 64,
    BOARD_WORDS = REQUEST_WORDS + 2 * BOARD_FOLDERS
};

struct board_files {
    char folders[BOARD_FOLDERS][BOARD_PATH]; /* the first has the boards; "": not there */
    char names[REQUEST_WORDS][BOARD_NAME];   /* of files that were named without .cfg */
};

void board_files_find(struct board_files *);
/* OpenOCD's options with whole names, and folders in which it finds the rest; returns how many words. */
size_t board_files_words(struct board_files *, const struct request *, const char *words[BOARD_WORDS]);
/* In place of OpenOCD's words about a file that it cannot find: the boards that there are. Always false. */
bool board_files_advise(const struct board_files *, const struct request *, struct error *);
/* Each board without .cfg: `take` may be called with none. */
void board_files_each(const struct board_files *, void (*take)(void *context, const char *name),
                      void *context);
