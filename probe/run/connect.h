/* SPDX-License-Identifier: MIT */
/*
 * Connecting: the link that a request names, or the only one there is. -f finds OpenOCD's files for boards
 * by name: they are part of pmu-probe, where `make install` or the source tree has them, relative to this
 * program.
 */
#pragma once

#include "base/error.h"
#include "links/dap/dap.h"
#include "links/link.h"
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
/* Each board without .cfg: `take` may be called with none. */
void board_files_each(const struct board_files *, void (*take)(void *context, const char *name),
                      void *context);

enum { CONNECT_PROBES = 16 };

/* NULL on error. Without a probe: an OpenOCD on localhost, else the only CMSIS-DAP probe. */
struct link *connect_link(const struct request *request, const struct surroundings *around,
                          struct error *error);
/* CMSIS-DAP probes that are plugged in. */
size_t connect_list(const struct surroundings *around, struct dap_listed *out, size_t room);
