/*
 * What a stop is: nobody's wish any more, and of several cores that are threads of one GDB server, which
 * one's. OpenOCD does so for cores that it was told belong together (`target smp`, hwthread).
 */
#pragma once

#include "debuggers/gdb_session.h"

/* On which core a stop was; nothing where the server's threads are no cores. */
bool gdb_name_core(struct gdb_session *session, const struct debugger_facts *facts,
                   struct debugger_stop *stop, const struct deadline *deadline, struct error *error);
/* Likewise of the first stop, which settles whether they are. */
bool gdb_find_cores(struct gdb_session *session, struct debugger_facts *facts, struct debugger_stop *stop,
                    const struct deadline *deadline, struct error *error);
/* OpenOCD keeps a request that came too late, until the core runs again: that stop is nobody's wish. */
bool gdb_is_belated(struct gdb_session *session, const struct debugger_stop *stop);
