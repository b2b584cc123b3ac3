/*
 * What an end leaves alone. A place that a run has written is put back only if it still holds what the run
 * wrote. If not, something else has written it since, and has a use for what is there now. What starts a
 * counter stays on if the program may count with it by now, and so do the other registers of that counter.
 * One rule for the undoing at the end of a run, and for that of a run that did not end.
 */
#pragma once

#include "links/journal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What such a place holds: the run's value, the one from before the run, or another one. `now` is a read of
 * entry->status, if the entry has one. Pure. */
enum holds { HOLDS_OURS, HOLDS_OLD, HOLDS_OTHER };
enum holds left_alone_holds(const struct journal_entry *entry, uint64_t now);

/* The step that expects what the run has left there, `last` being what it wrote last; false if there is
 * nothing to compare. Where it does not match, left_alone_holds decides. */
bool left_alone_expected(const struct journal_entry *entry, bool wrote, uint64_t last, struct step *out);

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

/* Once for each address. */
void left_alone_add(struct left_alone *left, struct address at, enum left_why why, const char *name);
/* "left alone: SYST_RVR, something else has written it since"; a line for each reason, "" for none. */
void left_alone_tell(const struct left_alone *left, enum left_why why, char *out, size_t size);
