/* SPDX-License-Identifier: MIT */
/*
 * Applying settings, and checking that they hold: a register that ignores writes must not end in a number.
 * Some chips' locks say that they are open and still ignore writes: a setting that does not hold is written
 * once more after the lock's key. The witness: registers on which counts depend (enables, dividers, event
 * selections), and the bits that they must hold while we count. If something else changes one of them, a
 * count means nothing.
 */
#pragma once

#include "base/error.h"
#include "base/step.h"
#include "cores/core.h"
#include "links/ledger.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ledger_apply, then a read. ERROR_NO_COUNTER: the register does not hold what was written. `locks` are the
 * settings, n of them, among which its lock may be. *again: a lock had lied, and all that it protects and
 * that was set before must be set again. */
bool settings_apply(struct ledger *ledger, const struct setting *setting, const struct setting *locks,
                    size_t n, bool *again, const struct deadline *deadline, struct error *error);

bool settings_apply_each(struct ledger *ledger, const struct setting *settings, size_t n,
                         const struct deadline *deadline, struct error *error);

/* Which of a core's settings: those that reading it needs, those that only stopping it needs, or all. */
enum apply_what { APPLY_TO_LOOK, APPLY_TO_STOP, APPLY_ALL };
bool settings_apply_core(struct ledger *ledger, const struct core *core, enum apply_what what,
                         const struct deadline *deadline, struct error *error);

/* Counters ignore writes while DEMCR.TRCENA is 0. If something else has cleared it, or it would be restored
 * before them, sets it and restores the counters that are held; errors are left to the undoing of all. */
void settings_undo_counters(struct ledger *ledger, const struct core *core, const struct deadline *deadline);

/* All of the core's settings for a run. Resets are noticed from here on if that can be, else caught.
 * ERROR_RESET: there was one since an earlier call. */
bool settings_watch_resets(struct ledger *ledger, struct core *core, const struct deadline *deadline,
                           struct error *error);

/* What halting the core needs, if no breakpoint is set. */
bool settings_prepare_halts(struct ledger *ledger, struct core *core, const struct deadline *deadline,
                            struct error *error);

/* Whether a catch of resets that the core did not have before is still to be undone. */
bool settings_catch_is_left(const struct ledger *ledger, const struct core *core);

/* *used: a breakpoint is in comparator `n`, at *address. `words` has room for COMPARATOR_WORDS. */
bool settings_read_comparator(struct ledger *ledger, const struct core *core, unsigned n, uint64_t *words,
                              bool *used, uint64_t *address, const struct deadline *deadline,
                              struct error *error);
/* Switches the comparators' unit on. Comparators that were left over in a unit that was off are switched off
 * first: they must not wake up with it. */
bool settings_switch_on_comparators(struct ledger *ledger, const struct core *core,
                                    const struct deadline *deadline, struct error *error);

struct core;
struct core_spare;

enum { WITNESS_ROOM = 40 };

struct witness {
    struct witness_item {
        struct address at;
        uint64_t mask, value;
        const char *name; /* "DWT_CTRL" */
        const char *resets_unseen;
    } items[WITNESS_ROOM];
    size_t n;
    /* Why no register may show that the core was reset, as words, or NULL: set before witness_take. */
    const char *resets_unseen;
};

/* Indices of its words among a list's results. */
struct witness_places {
    uint16_t at[WITNESS_ROOM];
};

/* Takes the bits that a setting tests, if the setting names its register. For one address the last setting
 * counts. */
void witness_take(struct witness *witness, const struct setting *setting);
/* Adds reads of all items; none for NULL. Items in SPACE_CORE are read by `core`, which must be halted;
 * `spare` is as for core_add_coprocessor. */
void witness_add(const struct witness *witness, const struct core *core, const struct core_spare *spare,
                 struct steps *list, struct witness_places *out);
/* The first item that has changed, and in *saw its value; NULL: none. */
const struct witness_item *witness_changed(const struct witness *witness, const uint64_t *results,
                                           const struct witness_places *places, uint64_t *saw);
/* Always false, with ERROR_WRITTEN. */
bool witness_tell(const struct witness_item *item, uint64_t saw, struct error *error);
