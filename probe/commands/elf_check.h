/*
 * The ELF check: the file is for a core like the chosen one, and the target runs it. Every address is taken
 * from the file, so another program's would make numbers of something else.
 */
#pragma once

#include "commands/session.h"

/* Whether a core can run such code, as far as both say what they are. Pure. */
bool elf_fits(const struct symbols_machine *machine, const struct core *core);
/* Of a session whose core is chosen; true without an ELF. */
bool elf_check(struct session *session, struct error *error);
