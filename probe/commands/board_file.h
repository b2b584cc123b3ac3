/*
 * Files of boards, for survey --boards. A board a line, read as word_file.h says:
 *
 *     NAME  PROBE  ELF  [OPTION [VALUE]]...
 *
 * The options are those that --boards excludes from the command line: what the probe and the core need. None
 * may start a program or change the target for good, since the file may have come with a folder.
 */
#pragma once

#include "base/error.h"
#include "commands/word_file.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

enum { BOARD_FILE_MOST = 16, BOARD_NAME = 32, BOARD_OPTIONS = WORD_FILE_WORDS - 3 };

struct board_line {
    unsigned line; /* from 1 */
    char name[BOARD_NAME];
    char probe[WORD_FILE_WORD], elf[WORD_FILE_WORD];
    char options[BOARD_OPTIONS][WORD_FILE_WORD]; /* as words of a command line */
    size_t n_options;
};

struct board_file {
    char file[256];
    size_t n;
    struct board_line *lines; /* owned */
};

/* ERROR_USAGE. Free it with board_file_free, after an error too. */
bool board_file_read(const char *path, const volatile sig_atomic_t *cancel, struct board_file *out,
                     struct error *error);
bool board_file_parse(const char *text, size_t size, const char *path, struct board_file *out,
                      struct error *error);
void board_file_free(struct board_file *file);
