/* SPDX-License-Identifier: MIT */
/* The end of what the ledger holds: it reads before it writes. What no longer has this run's value stays as
 * it is. */
#include "links/ledger_inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TRIES = 3, LOOKS = 16 };

/* --- what is left alone --------------------------------------------------------------------------------- */

static uint64_t mask_of(const struct restore *restore)
{
    return restore->mask != 0 ? restore->mask : UINT64_MAX;
}

/* Bits that the run has written as 1. */
static uint64_t ones_of(const struct journal_entry *entry)
{
    uint64_t ones = 0;
    for (size_t i = 0; i < entry->n_wrote; i++)
        ones |= entry->wrote[i];
    return entry->wrote_others ? UINT64_MAX : ones;
}

/* Read-only bits and those that hardware changes differ from what was written: a register holds what the run
 * wrote if every bit that differs from before was written so. Where a bit is known to take what is written,
 * it must be as in one of the run's values. */
enum holds left_alone_holds(const struct journal_entry *entry, uint64_t now)
{
    const struct restore *restore = &entry->restore;
    uint64_t mask = mask_of(restore), exact = (restore->only_ours ? UINT64_MAX : restore->exact) & mask;
    uint64_t up = now & ~entry->old & mask, down = entry->old & ~now & mask, ones = 0, zeros = 0;
    uint64_t always = entry->old & mask & ~exact; /* bits that were never written as 0 */
    bool same = exact == 0;
    if (entry->status.size != 0)
        return entry->n_wrote > 0 && (now & entry->test) == entry->set ? HOLDS_OURS : HOLDS_OLD;
    if (restore->how == RESTORE_PAIR && restore->starts != 0)
        return (up & ~ones_of(entry)) != 0 ? HOLDS_OTHER : up != 0 ? HOLDS_OURS : HOLDS_OLD;
    if (up == 0 && down == 0)
        return restore->ends_rest && (now & ~mask) != 0 ? HOLDS_OURS : HOLDS_OLD;
    for (size_t i = 0; i < entry->n_wrote; i++) {
        if (restore->only_ours && ((entry->wrote[i] ^ now) & mask) == 0)
            return HOLDS_OURS;
        same = same || ((entry->wrote[i] ^ now) & exact) == 0;
        ones |= entry->wrote[i];
        zeros |= ~entry->wrote[i];
    }
    /* A unit that is switched off reads as zero */
    if (entry->wrote_others || (now == 0 && (always & ~zeros) != 0))
        return HOLDS_OURS;
    if (restore->only_ours || entry->n_wrote == 0 || !same)
        return HOLDS_OTHER;
    return (up & ~ones) == 0 && (down & ~zeros) == 0 ? HOLDS_OURS : HOLDS_OTHER;
}

/* The step that expects what the run has left there, `last` being what it wrote last; false if there is
 * nothing to compare. Where it does not match, left_alone_holds decides. */
static bool left_alone_expected(const struct journal_entry *entry, bool wrote, uint64_t last,
                                struct step *out)
{
    const struct restore *restore = &entry->restore;
    uint64_t mask = mask_of(restore), all = UINT64_MAX >> (64 - 8 * entry->at.size);
    if (entry->status.size != 0 || restore->moves || (!wrote && !restore->only_ours))
        return false;
    if (restore->how == RESTORE_PLAIN)
        *out = step_expect(entry->at, mask & all, (wrote ? last : entry->old) & mask & all);
    else if (restore->how == RESTORE_PAIR && restore->starts != 0)
        *out =
            step_expect(entry->at, mask & all & ~ones_of(entry), entry->old & mask & all & ~ones_of(entry));
    else
        return false;
    return true;
}

/* Once for each address. */
static void left_alone_add(struct left_alone *left, struct address at, enum left_why why, const char *name)
{
    for (size_t i = 0; i < left->n; i++)
        if (address_same(left->items[i].at, at))
            return;
    if (left->n == LEFT_ROOM)
        return;
    struct left_item *item = &left->items[left->n++];
    *item = (struct left_item){.at = at, .why = why};
    snprintf(item->name, sizeof item->name, "%s", name);
}

void left_alone_tell(const struct left_alone *left, enum left_why why, char *out, size_t size)
{
    size_t used = 0, n = 0;
    out[0] = '\0';
    for (size_t i = 0; i < left->n; i++) {
        if (left->items[i].why != why)
            continue;
        int more = snprintf(out + used, size - used, "%s%s",
                            n++ > 0               ? ", "
                            : why == LEFT_WRITTEN ? "left alone: "
                                                  : "left on: ",
                            left->items[i].name);
        used += (size_t)more < size - used ? (size_t)more : size - used - 1;
    }
    if (n > 0 && why == LEFT_WRITTEN)
        snprintf(out + used, size - used, ", something else has written %s since", n == 1 ? "it" : "them");
    else if (n > 0)
        snprintf(out + used, size - used, ", the program may use %s by now", n == 1 ? "it" : "them");
}

/* --- reading before it is written ----------------------------------------------------------------------- */

void ledger_note_use(struct ledger *ledger, struct address at, uint64_t bits)
{
    for (size_t i = 0; i < ledger->book->n_uses; i++)
        if (address_same(ledger->book->uses[i].at, at))
            return;
    if (ledger->book->n_uses < LEDGER_USES)
        ledger->book->uses[ledger->book->n_uses++] = (struct use){at, bits};
}

void ledger_take_left(struct ledger *ledger, struct left_alone *out)
{
    *out = ledger->book->left;
    ledger->book->left.n = 0;
}

static void undo_leave(struct ledger *ledger, const struct ledger_entry *entry, enum left_why why)
{
    char name[LEFT_NAME];
    if (!ledger_name(&entry->is.at, name, sizeof name) && entry->name != NULL)
        snprintf(name, sizeof name, "%s", entry->name);
    left_alone_add(&ledger->book->left, entry->is.at, why, name);
}

/* It cannot be read now, which keeps nothing from being undone. */
static bool is_hidden(const struct error *unread)
{
    return error_is_refusal(unread);
}

static enum holds ledger_undo_holds(const struct ledger_entry *entry, uint64_t now)
{
    enum holds found = left_alone_holds(&entry->is, now);
    return found == HOLDS_OTHER && entry->unknown ? HOLDS_OURS : found;
}

/* A register of a counter that is left on, or its lock. */
static bool belongs_to_left(const struct ledger *ledger, const struct ledger_entry *entry)
{
    const struct restore *restore = &entry->is.restore;
    bool belongs = restore->moves || restore->exact != 0 || entry->is.status.size != 0;
    for (size_t i = 0; belongs && i < ledger->book->left.n; i++)
        if (ledger->book->left.items[i].why == LEFT_ON &&
            ledger_same_page(ledger->book->left.items[i].at, entry->is.at))
            return true;
    return false;
}

/* What starts a counter was switched on for what is left on, too. */
static bool stays_on(const struct ledger *ledger, const struct ledger_entry *entry)
{
    bool stays = entry->is.used;
    for (size_t i = 0; i < ledger->book->left.n; i++)
        stays = stays || (ledger->book->left.items[i].why == LEFT_ON &&
                          ledger->book->left.items[i].at.space == entry->is.at.space &&
                          ledger->book->left.items[i].at.unit == entry->is.at.unit);
    return stays && entry->is.restore.starts != 0;
}

/* Bits that the run has set, that start a counter, and that stay. */
static uint64_t bits_left_on(struct ledger *ledger, const struct ledger_entry *entry, uint64_t now)
{
    uint64_t on = now & ~entry->is.old & entry->is.restore.starts;
    if (on == 0 || !stays_on(ledger, entry))
        return 0;
    undo_leave(ledger, entry, LEFT_ON);
    return on;
}

/* The reads before what starts a counter is switched off: the counter's other registers show whether
 * something else uses it by now. */
static size_t add_looks(const struct ledger *ledger, const struct ledger_entry *entry, struct step *steps,
                        const struct ledger_entry **looks)
{
    size_t n = 0;
    for (size_t i = 0; entry->is.restore.starts != 0 && i < ledger->book->n_held && n + 1 < LOOKS; i++) {
        const struct ledger_entry *other = &ledger->book->held[i];
        if (other->is.id == entry->is.id) /* those after it are undone by now */
            break;
        bool counts = other->is.restore.exact != 0 || other->is.restore.starts != 0;
        if (other->action.undo == NULL && counts && ledger_same_page(other->is.at, entry->is.at) &&
            !address_same(other->is.at, entry->is.at) &&
            left_alone_expected(&other->is, other->wrote, other->last, &steps[n]))
            looks[n++] = other;
    }
    if (left_alone_expected(&entry->is, entry->wrote, entry->last, &steps[n]))
        looks[n++] = entry;
    return n;
}

/* Writes if the reads before it allow that, in one list. */
static bool look_and_write(struct ledger *ledger, const struct ledger_entry *entry, uint64_t value,
                           bool *wrote, const struct deadline *deadline, struct error *error)
{
    struct step steps[LOOKS + 1];
    const struct ledger_entry *looks[LOOKS];
    uint64_t results[LOOKS + 1];
    size_t n = add_looks(ledger, entry, steps, looks);
    struct outcome outcome = {.done = 0};
    steps[n] = step_write(entry->is.at, value);
    ledger_note_write(ledger, entry->is.at, value);
    ledger_sync(ledger);
    for (;;) {
        struct error why = {0};
        *wrote = ledger_do_steps(ledger, steps, n + 1, results, &outcome, deadline, &why);
        if (*wrote)
            return true;
        bool hidden = outcome.why != UNEXPECTED && is_hidden(&why);
        if (outcome.done == n || (!hidden && outcome.why != UNEXPECTED))
            return error_copy(error, &why);
        const struct ledger_entry *seen = looks[outcome.done++];
        if (hidden || ledger_undo_holds(seen, outcome.saw) != HOLDS_OTHER)
            continue;
        undo_leave(ledger, seen, LEFT_WRITTEN);
        if (seen != entry)
            undo_leave(ledger, entry, LEFT_ON);
        return true;
    }
}

bool ledger_is_ours(struct ledger *ledger, struct address at, bool *ours, const struct deadline *deadline,
                    struct error *error)
{
    const struct ledger_entry *entry = ledger_find(ledger, at);
    struct step look;
    uint64_t now;
    struct error unread = {0};
    *ours = true;
    if (entry == NULL || !left_alone_expected(&entry->is, entry->wrote, entry->last, &look))
        return true;
    if (!ledger_read(ledger, at, &now, deadline, &unread))
        return is_hidden(&unread) || error_copy(error, &unread);
    *ours = (now & look.mask) == look.value || ledger_undo_holds(entry, now) != HOLDS_OTHER;
    return true;
}

bool ledger_is_overwritten(struct ledger *ledger, struct address at, const struct deadline *deadline)
{
    const struct ledger_entry *entry = ledger_find(ledger, at);
    struct step look;
    struct error unread = {0};
    uint64_t now;
    return entry != NULL && left_alone_expected(&entry->is, entry->wrote, entry->last, &look) &&
           ledger_read(ledger, at, &now, deadline, &unread) && (now & look.mask) != look.value;
}

void ledger_leave(struct ledger *ledger, struct address at)
{
    const struct ledger_entry *entry = ledger_find(ledger, at);
    if (entry == NULL)
        return;
    undo_leave(ledger, entry, LEFT_WRITTEN);
    ledger_forget(ledger, at);
}

/* --- undoing -------------------------------------------------------------------------------------------- */

/* On a link that may lose a write without an error, reads back. A register that never reads back as written
 * is written twice, which does no harm. */
static bool write_back(struct ledger *ledger, const struct ledger_entry *entry, uint64_t value, uint64_t mask,
                       const struct deadline *deadline, struct error *error)
{
    uint64_t now;
    if (link_faults_are_exact(ledger->link))
        return true;
    if (!ledger_read(ledger, entry->is.at, &now, deadline, error))
        return false;
    return ((now ^ entry->is.old) & mask) == 0 ||
           ledger_write_now(ledger, entry->is.at, value, deadline, error);
}

static bool write_and_check(struct ledger *ledger, const struct ledger_entry *entry, uint64_t value,
                            uint64_t mask, const struct deadline *deadline, struct error *error)
{
    return ledger_write_now(ledger, entry->is.at, value, deadline, error) &&
           write_back(ledger, entry, value, mask, deadline, error);
}

static bool put_back_plain(struct ledger *ledger, const struct ledger_entry *entry,
                           const struct deadline *deadline, struct error *error)
{
    const struct restore *restore = &entry->is.restore;
    uint64_t mask = mask_of(restore), now;
    uint64_t value = (entry->is.old & mask) | restore->key;
    struct error unread = {0};
    bool wrote;
    if (entry->is.at.space == SPACE_CORE) {
        bool ours;
        if (!ledger_is_ours(ledger, entry->is.at, &ours, deadline, error))
            return false;
        if (!ours) {
            undo_leave(ledger, entry, LEFT_WRITTEN);
            return true;
        }
    }
    if (stays_on(ledger, entry)) {
        bool read = ledger_read(ledger, entry->is.at, &now, deadline, &unread);
        if (!read && !is_hidden(&unread))
            return error_copy(error, &unread);
        if (read && bits_left_on(ledger, entry, now) != 0)
            return true;
    }
    if (entry->is.at.space == SPACE_CORE)
        return write_and_check(ledger, entry, value, mask, deadline, error);
    return look_and_write(ledger, entry, value, &wrote, deadline, error) &&
           (!wrote || write_back(ledger, entry, value, mask, deadline, error));
}

static bool put_back_pair(struct ledger *ledger, const struct ledger_entry *entry, uint64_t now,
                          const struct deadline *deadline, struct error *error)
{
    const struct restore *restore = &entry->is.restore;
    uint64_t mask = mask_of(restore);
    uint64_t came_up = now & ~entry->is.old & mask, went_down = entry->is.old & ~now & mask;
    if (restore->starts != 0 && ledger_undo_holds(entry, now) == HOLDS_OTHER) {
        came_up &= ones_of(&entry->is);
        undo_leave(ledger, entry, LEFT_WRITTEN);
    }
    came_up &= ~bits_left_on(ledger, entry, now);
    return (came_up == 0 || ledger_write_now(ledger, restore->clear, came_up, deadline, error)) &&
           (went_down == 0 || ledger_write_now(ledger, entry->is.at, went_down, deadline, error));
}

static bool put_back(struct ledger *ledger, const struct ledger_entry *entry, const struct deadline *deadline,
                     struct error *error)
{
    const struct restore *restore = &entry->is.restore;
    if (entry->action.undo != NULL)
        return entry->action.undo(entry->action.context, deadline, error);
    uint64_t mask = mask_of(restore);
    if (belongs_to_left(ledger, entry)) {
        undo_leave(ledger, entry, LEFT_WITH);
        return true;
    }
    if (restore->how == RESTORE_PLAIN)
        return put_back_plain(ledger, entry, deadline, error);
    uint64_t now;
    if (!ledger_read(ledger, entry->is.at, &now, deadline, error))
        return false;
    if (restore->how == RESTORE_PAIR)
        return put_back_pair(ledger, entry, now, deadline, error);
    uint64_t came_up = now & ~entry->is.old & mask;
    if (restore->how == RESTORE_CLEAR_NEW)
        return came_up == 0 ||
               ledger_write_now(ledger, restore->clear.size != 0 ? restore->clear : entry->is.at, came_up,
                                deadline, error);
    uint64_t written = restore->how == RESTORE_OURS ? mask : UINT64_MAX;
    if (restore->how == RESTORE_OURS)
        mask &= entry->changed;
    if (mask != 0)
        mask &= ~bits_left_on(ledger, entry, now);
    return mask == 0 || write_and_check(ledger, entry, ((entry->is.old & mask) | (now & ~mask)) & written,
                                        mask, deadline, error);
}

bool ledger_release(struct ledger *ledger, struct address at, const struct deadline *deadline,
                    struct error *error)
{
    struct ledger_entry *entry = ledger_find(ledger, at);
    if (entry == NULL)
        return true;
    if (!put_back(ledger, entry, deadline, error))
        return false;
    ledger_forget(ledger, at);
    return true;
}

static void cannot_restore(struct error *error, const struct ledger_entry *entry, const struct error *why)
{
    char name[LEDGER_NAME], place[LEDGER_NAME] = "";
    if (ledger_name(&entry->is.at, name, sizeof name))
        snprintf(place, sizeof place, " (0x%08" PRIX64 ")", entry->is.at.offset);
    error_set(error, why->kind, "could not restore %s%s to 0x%" PRIX64 ": %s", name, place, entry->is.old,
              why->text);
}

/* Why nothing further is tried. */
static bool ledger_undo_is_given_up(const struct deadline *deadline, struct error *why)
{
    if (deadline->ending == NULL || !ending_is_over(deadline->ending))
        return false;
    if (ending_is_cut(deadline->ending))
        error_set(why, ERROR_CANCELLED, "you did not want to wait for it");
    else
        error_set(why, ERROR_LINK_LOST, "no answer in time");
    return true;
}

bool ledger_undo(struct ledger *ledger, const struct deadline *deadline, struct error *error)
{
    size_t left = ledger->book->n_held; /* entries from here on stay held, for a later call */
    bool lost = false;
    struct error first = {0};
    for (size_t i = ledger->book->n_held; i-- > 0;) {
        const struct ledger_entry entry = ledger->book->held[i]; /* an action may move the list */
        struct error one = {0};
        bool back = false;
        lost = lost || ledger_undo_is_given_up(deadline, &one);
        /* Tries again at once: the next to be undone may be what this one needs (the clock of a DWT). */
        for (int tries = 0; !lost && !back && tries < TRIES && one.kind != ERROR_LINK_LOST; tries++) {
            error_clear(&one);
            back = put_back(ledger, &entry, deadline, &one);
        }
        if (back && entry.action.undo == NULL)
            journal_drop(ledger->book->journal, entry.is.id);
        if (back)
            continue;
        lost = lost || one.kind == ERROR_LINK_LOST; /* nothing further can work */
        if (entry.action.undo != NULL)
            error_set(&first, one.kind, "%s", one.text);
        else if (!lost || first.kind == ERROR_NONE)
            cannot_restore(&first, &entry, &one);
        ledger->book->held[--left] = entry;
    }
    size_t n_left = ledger->book->n_held - left;
    if (n_left > 0)
        memmove(ledger->book->held, ledger->book->held + left, n_left * sizeof *ledger->book->held);
    ledger->book->n_held = n_left;
    struct error last = {0};
    if (!ledger_release_core(ledger, deadline, &last) && first.kind == ERROR_NONE)
        first = last;
    return first.kind == ERROR_NONE || error_copy(error, &first);
}
