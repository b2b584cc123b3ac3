/*
 * The ledger: the only place from which a target is written. A register is held before it is written: its
 * value is read and kept together with the way back, and everything is undone in reverse on every way out.
 * Registers that act instead of hold a value (resume, register transfer) are allowed by name of address and
 * are not restored. A step list that writes anything else is refused before a single step is run.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "base/setting.h"
#include "base/step.h"
#include "links/link.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ledger;

/*
 * Who carries out accesses to a space that no link has. `leave`: they are over for now, and what was done to
 * make them possible is undone; called before anything else is accessed, too.
 */
struct ledger_halted_access {
    void *context;
    enum space space;
    bool (*access)(void *context, const struct step *, uint64_t *result, const struct deadline *,
                   struct error *);
    bool (*leave)(void *context, const struct deadline *, struct error *);
};

struct ledger *ledger_new(struct link *link); /* NULL: out of memory */
void ledger_free(struct ledger *ledger);      /* restores nothing */

void ledger_set_halted_access(struct ledger *ledger, struct ledger_halted_access halted);
bool ledger_release_core(struct ledger *ledger, const struct deadline *deadline, struct error *error);

/* Declares a register that acts. */
bool ledger_allow(struct ledger *ledger, struct address at, struct error *error);
/* Reads and keeps the old value; nothing to do when the address is held already. `old` may be NULL. */
bool ledger_hold(struct ledger *ledger, struct address at, struct restore restore, uint64_t *old,
                 const struct deadline *deadline, struct error *error);
/* ledger_hold, then write. */
bool ledger_write(struct ledger *ledger, struct address at, uint64_t value, struct restore restore,
                  const struct deadline *deadline, struct error *error);
/* Makes a setting true, unless it is already. */
bool ledger_apply(struct ledger *ledger, const struct setting *setting, const struct deadline *deadline,
                  struct error *error);
/* The key of a lock, whatever its status says. It is closed again behind all that is held in its page. */
bool ledger_open(struct ledger *ledger, const struct setting *lock, const struct deadline *deadline,
                 struct error *error);
/* Whether two registers are in the same page of 4 KB, as those of one component are. */
bool ledger_same_page(struct address a, struct address b);
/*
 * What takes more than a write to put back, undone in its turn. The context must live until then. Paid, it is
 * undone at once; forgotten, it never is.
 */
struct undo_action {
    void *context;
    bool (*undo)(void *context, const struct deadline *, struct error *);
};
bool ledger_push_undo(struct ledger *ledger, struct undo_action action, struct error *error);
bool ledger_run_undo(struct ledger *ledger, struct undo_action action, const struct deadline *deadline,
                     struct error *error);
void ledger_drop_undo(struct ledger *ledger, struct undo_action action);

/* The value found when the address was held; false if it is not held. */
bool ledger_old(const struct ledger *ledger, struct address at, uint64_t *old);
/* Puts one address back and forgets it; nothing to do when it is not held. */
bool ledger_release(struct ledger *ledger, struct address at, const struct deadline *deadline,
                    struct error *error);

/* Forgets one address without putting it back: its new value is to stay. */
void ledger_forget(struct ledger *ledger, struct address at);

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

size_t ledger_held(const struct ledger *ledger);
/* Undoes everything, last first, going on after a failure; what could not be undone stays held. */
bool ledger_undo(struct ledger *ledger, const struct deadline *deadline, struct error *error);
