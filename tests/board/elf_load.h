// Puts a firmware image into the board's memories.
#ifndef BOARD_ELF_LOAD_H
#define BOARD_ELF_LOAD_H

#include <stdbool.h>

#include "bus.h"

// Each PT_LOAD at its physical address. false: the reason was printed to stderr.
bool elf_load(struct bus *, const char *path);

#endif
