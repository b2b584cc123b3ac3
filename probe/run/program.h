/* SPDX-License-Identifier: MIT */
/*
 * The program of a session: the file that is named, else the newest here whose code the target holds. It is
 * for a core like the chosen one, and the target runs it: every address is the file's, with another program
 * the numbers would be wrong. Code decides, and the build ID's note: what is written after the link, or by
 * the program, makes a note.
 */
#pragma once

#include "base/values.h"
#include "run/region.h"
#include "run/session.h"

/* Whether a core can run such code, as far as the two identify themselves. Pure. */
bool elf_check_fits(const struct symbols_machine *machine, const struct core *core);

#define PROGRAM_NOT_KNOWN "it is not known whether the target runs this ELF"
#define PROGRAM_SLEPT     PROGRAM_NOT_KNOWN ": its core sleeps, and memory may read wrongly"

/* If a session that needs an ELF has none named, the target is connected first, and a note says which file
 * was taken. */
bool program_open(struct session *session, struct error *error);
/* Reaches the target, and checks that it runs the ELF. Changes nothing yet. */
bool program_open_target(struct session *session, struct error *error);
/* Whether the core has such addresses. ERROR_USAGE. */
bool program_check_places(const struct session *session, const struct named_region *named,
                          struct error *error);
/* After that: the same of the functions of a region, whole. What the program has yet to copy is compared when
 * the core first stops in it. */
bool program_check_region(struct session *session, const struct named_region *named, struct error *error);
/* Of one of many regions: if possible when the core first stops in it. */
bool program_check_quickly(struct session *session, const struct named_region *named, struct error *error);
/* So, as engine.prove. */
bool program_prove(void *session, uint64_t place, struct error *error);
/* False: it has no result, as something of it is still to be compared. */
bool program_is_proved(const struct session *session, const struct region *region);
/* Joins to a result's doubt that code is not the ELF's, or could not be compared. */
void program_doubt(const struct session *session, const struct region *region, char doubt[DOUBT_ROOM]);
/* What the regions checked so far have left. */
void program_forget(struct session *session);
