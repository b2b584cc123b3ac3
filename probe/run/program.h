/*
 * The program of a session: the file that is named, else the newest here whose code the target holds. It is
 * for a core like the chosen one, and the target runs it: every address is the file's, with another program
 * the numbers would be wrong.
 */
#pragma once

#include "run/session.h"

/* Whether a core can run such code, as far as the two identify themselves. Pure. */
bool elf_check_fits(const struct symbols_machine *machine, const struct core *core);

/* If a session that needs an ELF has none named, the target is connected first, and a note says which file
 * was taken. */
bool program_open(struct session *session, struct error *error);
/* Reaches the target, and checks that it runs the ELF. Changes nothing yet. */
bool program_open_target(struct session *session, struct error *error);
