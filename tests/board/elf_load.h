// Puts a firmware image into the board's memories.
#ifndef BOARD_ELF_LOAD_H
#define BOARD_ELF_LOAD_H

#include <stdbool.h>

#include "bus.h"

// Each PT_LOAD at its physical address. false: the reason was printed to stderr.
bool elf_load(struct bus *, const char *path);
// false: the file has no symbol of that name
bool elf_symbol(const char *path, const char *name, uint32_t *value);

#endif
