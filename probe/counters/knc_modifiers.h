/*
 * What may stand behind the name of a Knights Corner event: "cmask=2:inv:u".
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Adds to the code what the words between colons say: u, k (user mode, kernel mode; default both), edge, any
 * (all threads of the core), cmask=N (cycles with N or more of it), inv (cycles with less), spflt.
 */
bool knc_modifiers_read(const char *text, uint32_t *code, struct error *error);
