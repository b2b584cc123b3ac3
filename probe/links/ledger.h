/* SPDX-License-Identifier: MIT */
/*
 * The ledger: the only place from which a target is written. A register is held before it is written: the
 * ledger reads and keeps its value and the way to restore it, and undoes everything in reverse, however a run
 * ends. Registers that act instead of holding a value (resume, register transfer) are allowed by address and
 * not restored. A step list that writes anything else is refused before its first step runs.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "base/step.h"
#include "links/journal.h"
#include "links/link.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ledger;
struct left_alone;

struct ledger *ledger_new(struct link *link); /* NULL: out of memory */
void ledger_free(struct ledger *ledger);      /* restores nothing */

/* From here on the ledger's accesses go through `above`, and what is returned keeps the same book and makes
 * its own through the link that it had before. NULL: out of memory. */
struct ledger *ledger_beneath(struct ledger *ledger, struct link *above);
/* Takes that back, and frees `beneath`. */
void ledger_rejoin(struct ledger *ledger, struct ledger *beneath);
struct link *ledger_link(const struct ledger *ledger);
/* From here on everything held is in the journal before it is written. ledger_adopt takes over what the
 * journal of another run has, the oldest first: ledger_undo then puts it back, after all of this run. */
void ledger_keep_journal(struct ledger *ledger, struct journal *journal);
void ledger_sync(struct ledger *ledger);        /* the journal, before something that it does not see */
void ledger_end_journal(struct ledger *ledger); /* everything is undone, and the core is as before */
void ledger_note_given(struct ledger *ledger);  /* what was borrowed of the program is given back */
bool ledger_adopt(struct ledger *ledger, const struct journal_entry *entry, struct error *error);
bool ledger_release_core(struct ledger *ledger, const struct deadline *deadline, struct error *error);

/* Allows writes to a register that acts. */
bool ledger_allow(struct ledger *ledger, struct address at, struct error *error);
/* Reads and keeps the old value, unless the address is held already. `old` may be NULL. */
bool ledger_hold(struct ledger *ledger, struct address at, struct restore restore, uint64_t *old,
                 const struct deadline *deadline, struct error *error);
/* ledger_hold, then write. */
bool ledger_write(struct ledger *ledger, struct address at, uint64_t value, struct restore restore,
                  const struct deadline *deadline, struct error *error);
/* Makes a setting true, unless it is already. */
bool ledger_apply(struct ledger *ledger, const struct setting *setting, const struct deadline *deadline,
                  struct error *error);
/* Writes a lock's key, whatever its status says. It is closed after all else in its page is restored. */
bool ledger_open(struct ledger *ledger, const struct setting *lock, const struct deadline *deadline,
                 struct error *error);
/* In the same page of 4 KB, as the registers of one component are. */
bool ledger_same_page(struct address a, struct address b);
/*
 * An action of the undoing that takes more than a write; ledger_undo runs it in its turn. The context must
 * live until then.
 */
struct undo_action {
    void *context;
    bool (*undo)(void *context, const struct deadline *, struct error *);
};
bool ledger_push_undo(struct ledger *ledger, struct undo_action action, struct error *error);

/* The value found when the address was held; false if it is not held. */
bool ledger_old(const struct ledger *ledger, struct address at, uint64_t *old);
/* Restores one address and forgets it; nothing to do if it is not held. */
bool ledger_release(struct ledger *ledger, struct address at, const struct deadline *deadline,
                    struct error *error);

/* Whether it still holds what this run wrote; also true if it cannot be read. */
bool ledger_is_ours(struct ledger *ledger, struct address at, bool *ours, const struct deadline *deadline,
                    struct error *error);
/* Whether it holds another value than was last written; false if that cannot be read. */
bool ledger_is_overwritten(struct ledger *ledger, struct address at, const struct deadline *deadline);
/* Something else has written it: forgets it, and it is reported with what else is left alone. */
void ledger_leave(struct ledger *ledger, struct address at);
enum { LEDGER_USES = 16 };
/* The program has code that sets these bits, which start a counter: where this run has set them, they stay
 * set, for the value does not show whether the program counts with it by now. Before the address is held. */
void ledger_note_use(struct ledger *ledger, struct address at, uint64_t bits);
/* What was left alone since the last call. */
void ledger_take_left(struct ledger *ledger, struct left_alone *out);

/* Forgets one address: its new value stays. */
void ledger_forget(struct ledger *ledger, struct address at);
/* The same, but the journal keeps it: it is put back after a run that does not reach its end. */
void ledger_keep_at_end(struct ledger *ledger, struct address at);

/*
 * Executes a list from step `from` on. `results` are the whole list's, and the outcome's `done` counts from
 * the list's start. A list that overflowed is refused, and so is a write to an address neither held nor
 * allowed: ERROR_SYSTEM.
 */
struct outcome ledger_execute(struct ledger *ledger, const struct steps *list, size_t from, uint64_t *results,
                              const struct deadline *deadline, struct error *error);
/* Executes a whole list in which nothing is expected, and waits for what is not there yet. */
bool ledger_run(struct ledger *ledger, const struct steps *list, uint64_t *results,
                const struct deadline *deadline, struct error *error);
/* Executes a list of reads one by one, and the core itself makes those that only it can make. */
bool ledger_read_list(struct ledger *ledger, const struct steps *list, uint64_t *values,
                      const struct deadline *deadline, struct error *error);
/* One read. */
bool ledger_read(struct ledger *ledger, struct address at, uint64_t *value, const struct deadline *deadline,
                 struct error *error);

/* Bits that a read of this address clears: from here on ledger_saw says whether any read of any part of the
 * tool has met one. */
void ledger_watch(struct ledger *ledger, struct address at, uint64_t bits);
bool ledger_saw(const struct ledger *ledger);

size_t ledger_held(const struct ledger *ledger);
/* What is held as number `i`; false: an undo action. restore->starts: bits that may stay on. */
bool ledger_entry(const struct ledger *ledger, size_t i, struct address *at, struct restore *restore,
                  uint64_t *old);
/* "DWT_COMP2", for registers that every Cortex-M has; else its address, and false. */
bool ledger_name(const struct address *at, char *out, size_t size);
/* "DEMCR, DWT_CTRL, 0x80001100": the registers that are held, in the order of their first writes. */
void ledger_names(const struct ledger *ledger, char *out, size_t size);
/* Undoes everything, last first, and goes on after a failure. What could not be undone stays held. What holds
 * another value than the run's is left alone; a read that fails keeps nothing from being undone. */
bool ledger_undo(struct ledger *ledger, const struct deadline *deadline, struct error *error);

/*
 * What an end leaves alone. A place that a run has written is put back only if it still holds what the run
 * wrote. If not, something else has written it since, and has a use for what is there now. What starts a
 * counter stays on if the program may count with it by now, and so do the other registers of that counter.
 * One rule for the undoing at the end of a run, and for that of a run that did not end.
 */
/* What such a place holds: the run's value, the one from before the run, or another one. `now` is a read of
 * entry->status, if the entry has one. Pure. */
enum holds { HOLDS_OURS, HOLDS_OLD, HOLDS_OTHER };
enum holds left_alone_holds(const struct journal_entry *entry, uint64_t now);

enum left_why {
    LEFT_WRITTEN, /* something else has written it */
    LEFT_ON,      /* the program may use it */
    LEFT_WITH     /* it belongs to one that is left on */
};

enum { LEFT_ROOM = 64, LEFT_NAME = 32 };

struct left_alone {
    struct left_item {
        struct address at;
        enum left_why why;
        char name[LEFT_NAME];
    } items[LEFT_ROOM];
    size_t n;
};

/* "left alone: SYST_RVR, something else has written it since"; a line for each reason, "" for none. */
void left_alone_tell(const struct left_alone *left, enum left_why why, char *out, size_t size);
