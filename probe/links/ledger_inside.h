/* SPDX-License-Identifier: MIT */
/*
 * The ledger's own structures, which two files share: what it holds and writes (ledger.c), and what it undoes
 * (ledger_undo.c).
 */
#pragma once

#include "links/ledger.h"

enum { LEDGER_ALLOWED = 128, LEDGER_NAME = 32 };

struct ledger_entry {
    struct journal_entry is;
    uint64_t changed;          /* bits, by what was written up to now */
    struct undo_action action; /* undo NULL: an address is held */
    bool adopted;              /* it is from the journal of another run */
    bool wrote, unknown;       /* some value; one that only the target knows */
    uint64_t last;             /* it, if known */
    const char *name;          /* NULL: by its address */
};

struct ledger_book {
    struct ledger_entry *held;
    size_t n_held, room;
    struct address allowed[LEDGER_ALLOWED];
    size_t n_allowed;
    struct journal *journal; /* NULL: none is kept */
    unsigned last_id;
    struct use {
        struct address at;
        uint64_t bits;
    } uses[LEDGER_USES];
    size_t n_uses;
    struct left_alone left;
    struct address sticky_at; /* of ledger_watch */
    uint64_t sticky, seen;
};

struct ledger {
    struct link *link;
    struct ledger_book *book;
    bool shares; /* another one frees the book */
};

struct ledger_entry *ledger_find(const struct ledger *ledger, struct address at);
/* To be called before each write that ledger_write_now does not make. */
void ledger_note_write(struct ledger *ledger, struct address at, uint64_t value);
/* Does not ask whether it may: the address is held by now. */
bool ledger_write_now(struct ledger *ledger, struct address at, uint64_t value,
                      const struct deadline *deadline, struct error *error);
/* Makes steps from *outcome.done on, again and again while the target asks to wait: then nothing of the step
 * was done. */
bool ledger_do_steps(struct ledger *ledger, const struct step *steps, size_t n, uint64_t *results,
                     struct outcome *outcome, const struct deadline *deadline, struct error *error);
