/*
 * The program of a session: the file that is named, else the newest here whose code the target holds.
 */
#pragma once

#include "run/session.h"

/* If a session that needs an ELF has none named, the target is connected first, and a note says which file
 * was taken. */
bool program_open(struct session *session, struct error *error);
/* Reaches the target, and checks that it runs the ELF. Changes nothing yet. */
bool program_open_target(struct session *session, struct error *error);
