/*
 * The ELF check: the file is for a core like the chosen one, and the target runs it. Every address is the
 * file's: with another program the numbers would be wrong.
 */
#pragma once

#include "run/session.h"

/* Whether a core can run such code, as far as the two identify themselves. Pure. */
bool elf_check_fits(const struct symbols_machine *machine, const struct core *core);
/* Whether the core can run it, and memory has its code, as it can be seen while the core runs. */
bool elf_check_is_there(struct session *session);
/* The session must have chosen its core; true without an ELF. */
bool elf_check(struct session *session, struct error *error);
