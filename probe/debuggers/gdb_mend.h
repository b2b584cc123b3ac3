/*
 * After a fault on the connection to a GDB server: what still works so that registers are put back and the
 * core runs on. A damaged packet or a pause leaves the connection usable, if question and answer are brought
 * in step again; else a new connection is made. If neither works, the server is asked blindly to let the core
 * go: one that was only stopped may read it when it goes on.
 */
#pragma once

#include "debuggers/gdb_session.h"

/* Makes a lost session usable to undo things, and halts the core; nothing to do if it is not lost. Tries for
 * a short time in all, and then fails at once. */
bool gdb_mend(struct gdb_session *session, struct debugger_facts *facts, const struct deadline *deadline,
              struct error *error);
/* Of a halted core: one whose answer was lost may be set, though nobody counts on it. */
bool gdb_clear_breakpoints(struct gdb_session *session, const struct deadline *deadline, struct error *error);
/* Ends a session so that the core runs on. False: it is left halted, or nobody knows; the error says it. */
bool gdb_let_go(struct gdb_session *session, struct debugger *debugger, struct error *error);
