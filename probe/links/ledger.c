/* SPDX-License-Identifier: MIT */
#include "links/ledger_inside.h"

#include "base/arm_debug.h"
#include "base/values.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAP_US = 1000, SHORT_NAPS = 100, LONG_NAP_US = 4000 };

struct ledger *ledger_new(struct link *link)
{
    struct ledger *ledger = calloc(1, sizeof *ledger);
    struct ledger_book *book = calloc(1, sizeof *book);
    if (ledger == NULL || book == NULL) {
        free(ledger);
        free(book);
        return NULL;
    }
    *ledger = (struct ledger){.link = link, .book = book};
    return ledger;
}

struct ledger *ledger_beneath(struct ledger *ledger, struct link *above)
{
    struct ledger *beneath = calloc(1, sizeof *beneath);
    if (beneath == NULL)
        return NULL;
    *beneath = (struct ledger){.link = ledger->link, .book = ledger->book, .shares = true};
    ledger->link = above;
    return beneath;
}

void ledger_rejoin(struct ledger *ledger, struct ledger *beneath)
{
    ledger->link = beneath->link;
    ledger_free(beneath);
}

struct link *ledger_link(const struct ledger *ledger)
{
    return ledger->link;
}

void ledger_free(struct ledger *ledger)
{
    if (ledger != NULL && !ledger->shares) {
        free(ledger->book->held);
        free(ledger->book);
    }
    free(ledger);
}

bool ledger_release_core(struct ledger *ledger, const struct deadline *deadline, struct error *error)
{
    return ledger == NULL || link_release(ledger->link, deadline, error);
}

void ledger_keep_journal(struct ledger *ledger, struct journal *journal)
{
    ledger->book->journal = journal;
    journal_begin(journal);
}

void ledger_note_given(struct ledger *ledger)
{
    (void)journal_borrow(ledger->book->journal, NULL, 0);
}

void ledger_end_journal(struct ledger *ledger)
{
    journal_end(ledger->book->journal);
}

static bool ledger_make_room(struct ledger *ledger, struct error *error)
{
    struct ledger_book *book = ledger->book;
    struct ledger_entry *held = array_grow(book->held, book->n_held + 1, &book->room, sizeof *held);
    if (held == NULL)
        return error_memory(error);
    book->held = held;
    return true;
}

struct ledger_entry *ledger_find(const struct ledger *ledger, struct address at)
{
    for (size_t i = 0; i < ledger->book->n_held; i++)
        if (ledger->book->held[i].action.undo == NULL && address_same(ledger->book->held[i].is.at, at))
            return (struct ledger_entry *)&ledger->book->held[i];
    return NULL;
}

/* Puts a held address into the list, before number `index`. */
static struct ledger_entry *ledger_insert(struct ledger *ledger, size_t index, struct journal_entry is)
{
    struct ledger_entry *entry = &ledger->book->held[index];
    memmove(entry + 1, entry, (ledger->book->n_held - index) * sizeof *entry);
    ledger->book->n_held++;
    is.id = ++ledger->book->last_id;
    for (size_t i = 0; i < ledger->book->n_uses; i++)
        if (address_same(ledger->book->uses[i].at, is.at)) {
            is.restore.starts |= ledger->book->uses[i].bits;
            is.used = true;
        }
    *entry = (struct ledger_entry){.is = is};
    for (size_t i = index; i-- > 0;) /* the journal knows nothing of actions */
        index -= ledger->book->held[i].action.undo != NULL;
    journal_hold(ledger->book->journal, index, &entry->is);
    return entry;
}

/* What this run has written there by now is as much ours as what the other one wrote. */
static void add_own(struct ledger *ledger, struct journal_entry *is)
{
    const struct ledger_entry *own = ledger_find(ledger, is->at);
    if (own == NULL)
        return;
    is->wrote_others = is->wrote_others || own->is.wrote_others;
    for (size_t i = 0; i < own->is.n_wrote; i++) {
        if (is->n_wrote < JOURNAL_WROTE)
            is->wrote[is->n_wrote++] = own->is.wrote[i];
        else
            is->wrote_others = true;
    }
    ledger_forget(ledger, is->at);
}

bool ledger_adopt(struct ledger *ledger, const struct journal_entry *entry, struct error *error)
{
    size_t i = 0;
    struct journal_entry is = *entry;
    if (!ledger_make_room(ledger, error))
        return false;
    add_own(ledger, &is);
    while (i < ledger->book->n_held && ledger->book->held[i].adopted)
        i++;
    struct ledger_entry *added = ledger_insert(ledger, i, is);
    added->adopted = true;
    added->changed = is.wrote_others ? UINT64_MAX : 0;
    for (size_t k = 0; k < is.n_wrote; k++)
        added->changed |= is.old ^ is.wrote[k];
    added->wrote = is.n_wrote > 0;
    added->unknown = is.wrote_others;
    added->last = added->wrote ? is.wrote[is.n_wrote - 1] : 0;
    return true;
}

static void note_change(struct ledger *ledger, struct address at, uint64_t value)
{
    struct ledger_entry *entry = ledger_find(ledger, at);
    if (entry != NULL)
        entry->changed |= entry->is.old ^ value;
}

/* What the journal cannot take is written all the same: the user knows by a warning. */
void ledger_note_write(struct ledger *ledger, struct address at, uint64_t value)
{
    struct ledger_entry *entry = ledger_find(ledger, at);
    bool tells_itself = entry != NULL && entry->is.status.size == 0; /* what a lock reads as means nothing */
    if (entry == NULL)
        return;
    entry->wrote = true;
    entry->last = value;
    if (entry->is.wrote_others || (tells_itself && value == entry->is.old))
        return;
    for (size_t i = 0; i < entry->is.n_wrote; i++)
        if (entry->is.wrote[i] == value)
            return;
    if (entry->is.n_wrote < JOURNAL_WROTE) {
        entry->is.wrote[entry->is.n_wrote++] = value;
        journal_wrote(ledger->book->journal, entry->is.id, value);
    } else {
        entry->is.wrote_others = true;
        journal_wrote_others(ledger->book->journal, entry->is.id);
    }
}

void ledger_sync(struct ledger *ledger)
{
    (void)journal_sync(ledger->book->journal);
}

static bool ledger_may_write(const struct ledger *ledger, struct address at)
{
    for (size_t i = 0; i < ledger->book->n_allowed; i++)
        if (address_same(ledger->book->allowed[i], at))
            return true;
    return ledger_find(ledger, at) != NULL;
}

bool ledger_allow(struct ledger *ledger, struct address at, struct error *error)
{
    if (ledger_may_write(ledger, at))
        return true;
    if (ledger->book->n_allowed == LEDGER_ALLOWED)
        return error_set(error, ERROR_SYSTEM, "the ledger is full");
    ledger->book->allowed[ledger->book->n_allowed++] = at;
    return true;
}

void ledger_watch(struct ledger *ledger, struct address at, uint64_t bits)
{
    ledger->book->sticky_at = at;
    ledger->book->sticky = bits;
    ledger->book->seen = 0;
}

bool ledger_saw(const struct ledger *ledger)
{
    return ledger->book->seen != 0;
}

static struct outcome execute_watched(struct ledger *ledger, const struct step *steps, size_t n,
                                      uint64_t *results, const struct deadline *deadline, struct error *error)
{
    struct ledger_book *book = ledger->book;
    struct outcome outcome = link_execute(ledger->link, steps, n, results, deadline, error);
    for (size_t i = 0; book->sticky != 0 && i < outcome.done; i++)
        if (steps[i].op != OP_WRITE && steps[i].op != OP_TIME && steps[i].op != OP_COPY &&
            address_same(steps[i].at, book->sticky_at))
            book->seen |= results[i] & book->sticky;
    return outcome;
}

bool ledger_do_steps(struct ledger *ledger, const struct step *steps, size_t n, uint64_t *results,
                     struct outcome *outcome, const struct deadline *deadline, struct error *error)
{
    for (unsigned naps = 0;; naps++) {
        struct error why = {0};
        size_t at = outcome->done;
        *outcome = execute_watched(ledger, steps + at, n - at, results + at, deadline, &why);
        outcome->done += at;
        if (outcome->why == DONE)
            return true;
        bool waits = outcome->why == NOT_YET || outcome->why == TARGET_WAIT;
        if (!waits)
            return error_copy(error, &why);
        if (deadline_passed(deadline))
            return error_set(error, deadline_cancelled(deadline) ? ERROR_CANCELLED : ERROR_ASLEEP,
                             "no answer in time for 0x%08" PRIx64 "%s%.200s", steps[outcome->done].at.offset,
                             why.text[0] != '\0' ? ": " : "", why.text);
        if (outcome->why == TARGET_WAIT)
            deadline_nap_us(naps < SHORT_NAPS ? NAP_US : LONG_NAP_US);
    }
}

static bool do_step(struct ledger *ledger, const struct step *step, uint64_t *result,
                    const struct deadline *deadline, struct error *error)
{
    struct outcome outcome = {.done = 0};
    return ledger_do_steps(ledger, step, 1, result, &outcome, deadline, error);
}

bool ledger_read(struct ledger *ledger, struct address at, uint64_t *value, const struct deadline *deadline,
                 struct error *error)
{
    struct step step = step_read(at);
    return do_step(ledger, &step, value, deadline, error);
}

bool ledger_write_now(struct ledger *ledger, struct address at, uint64_t value,
                      const struct deadline *deadline, struct error *error)
{
    struct step step = step_write(at, value);
    uint64_t result;
    ledger_note_write(ledger, at, value);
    ledger_sync(ledger);
    return do_step(ledger, &step, &result, deadline, error);
}

static bool change_now(struct ledger *ledger, struct address at, uint64_t value,
                       const struct deadline *deadline, struct error *error)
{
    note_change(ledger, at, value);
    return ledger_write_now(ledger, at, value, deadline, error);
}

bool ledger_same_page(struct address a, struct address b)
{
    return a.space == b.space && a.unit == b.unit && a.offset >> 12 == b.offset >> 12;
}

/* A lock may be closed only after what is in its page is restored. It can be held later than that: it was
 * open at first, and a core that lost its power has it closed. */
static size_t place_of_lock(const struct ledger *ledger, struct address at)
{
    size_t i = 0;
    while (i < ledger->book->n_held &&
           (ledger->book->held[i].action.undo != NULL || !ledger_same_page(ledger->book->held[i].is.at, at)))
        i++;
    return i;
}

static bool hold_at(struct ledger *ledger, size_t index, struct journal_entry is, uint64_t *old,
                    const struct deadline *deadline, struct error *error)
{
    struct ledger_entry *entry = ledger_find(ledger, is.at);
    if (entry == NULL) {
        if (!ledger_make_room(ledger, error) || !ledger_read(ledger, is.at, &is.old, deadline, error))
            return false;
        entry = ledger_insert(ledger, index, is);
    }
    entry->is.restore.exact |= is.restore.exact;
    entry->is.restore.starts |= is.restore.starts;
    if (old != NULL)
        *old = entry->is.old;
    return true;
}

bool ledger_hold(struct ledger *ledger, struct address at, struct restore restore, uint64_t *old,
                 const struct deadline *deadline, struct error *error)
{
    const struct journal_entry is = {.at = at, .restore = restore};
    return hold_at(ledger, ledger->book->n_held, is, old, deadline, error);
}

bool ledger_write(struct ledger *ledger, struct address at, uint64_t value, struct restore restore,
                  const struct deadline *deadline, struct error *error)
{
    return ledger_hold(ledger, at, restore, NULL, deadline, error) &&
           change_now(ledger, at, value, deadline, error);
}

bool ledger_apply(struct ledger *ledger, const struct setting *setting, const struct deadline *deadline,
                  struct error *error)
{
    uint64_t now;
    struct address test_at = setting->test_at.size != 0 ? setting->test_at : setting->at;
    if (!ledger_read(ledger, test_at, &now, deadline, error))
        return false;
    if (setting->only_held)
        return ledger_hold(ledger, setting->at, setting->restore, NULL, deadline, error);
    if (!setting->always && (now & setting->test) == setting->set)
        return true;
    if (setting->test_at.size != 0)
        now = 0;
    const struct journal_entry is = {.at = setting->at,
                                     .restore = setting->restore,
                                     .status = setting->test_at,
                                     .test = setting->test,
                                     .set = setting->set};
    size_t index = setting->lock ? place_of_lock(ledger, is.at) : ledger->book->n_held;
    if (!hold_at(ledger, index, is, NULL, deadline, error))
        return false;
    if (setting->watched != NULL)
        ledger_find(ledger, setting->at)->name = setting->watched;
    return change_now(ledger, setting->at, (now & setting->keep) | setting->set | setting->key, deadline,
                      error);
}

bool ledger_open(struct ledger *ledger, const struct setting *lock, const struct deadline *deadline,
                 struct error *error)
{
    if (ledger_find(ledger, lock->at) == NULL) {
        if (!ledger_make_room(ledger, error))
            return false;
        /* What its status says is not believed. */
        ledger_insert(
            ledger, place_of_lock(ledger, lock->at),
            (struct journal_entry){.at = lock->at, .restore = lock->restore, .status = lock->test_at});
    }
    return ledger_write_now(ledger, lock->at, lock->key, deadline, error);
}

bool ledger_old(const struct ledger *ledger, struct address at, uint64_t *old)
{
    const struct ledger_entry *entry = ledger_find(ledger, at);
    if (entry == NULL)
        return false;
    *old = entry->is.old;
    return true;
}

static bool check_list(const struct ledger *ledger, const struct steps *list, size_t from,
                       struct error *error)
{
    if (list->overflow)
        return error_set(error, ERROR_SYSTEM, "a step list grew too long");
    for (size_t i = from; i < list->n; i++) {
        const struct step *step = &list->items[i];
        if ((step->op == OP_WRITE || step->op == OP_COPY) && !ledger_may_write(ledger, step->at))
            return error_set(error, ERROR_SYSTEM,
                             "refused to write 0x%08" PRIX64 ", which the ledger does not hold",
                             step->at.offset);
    }
    return true;
}

static void note_list(struct ledger *ledger, const struct steps *list, size_t from)
{
    bool writes = false;
    for (size_t i = from; i < list->n; i++)
        if (list->items[i].op == OP_COPY) {
            struct ledger_entry *entry = ledger_find(ledger, list->items[i].at);
            if (entry != NULL)
                entry->unknown = true;
        } else if (list->items[i].op == OP_WRITE) {
            note_change(ledger, list->items[i].at, list->items[i].value);
            ledger_note_write(ledger, list->items[i].at, list->items[i].value);
            writes = true;
        }
    if (writes)
        ledger_sync(ledger);
}

/* How far the list may go on at `done` until the note of a loan must be made anew; NULL: there is none. */
static size_t noted_end(const struct steps *list, size_t done, const struct loan *noted)
{
    size_t next = steps_next_loan(list->items, list->n, done);
    struct loan other;
    while (next < list->n && noted != NULL && steps_loan(list->items, list->n, next + 1, &other) &&
           steps_same_loan(list->items, noted, &other))
        next = steps_next_loan(list->items, list->n, next + 1);
    return next < list->n ? next + 1 : next;
}

/* Notes the steps that give back the registers of the program that are borrowed while the list goes on at
 * `done`. Returns the step up to which that is right. The note of another list, which did not reach its end,
 * stays until then: a list that borrows nothing may be what gives them back. */
static size_t note_borrowed(struct ledger *ledger, const struct steps *list, size_t done,
                            const uint64_t *results, bool *noted)
{
    struct step given[JOURNAL_BORROWED];
    struct loan loan;
    size_t n = 0;
    bool some =
        steps_loan_or_next(list->items, list->n, done, &loan) && loan.end - loan.from <= JOURNAL_BORROWED;
    for (size_t i = loan.from; some && ledger->book->journal != NULL && i < loan.end; i++) {
        struct step step = list->items[i];
        if (step.op == OP_COPY)
            step = step_write(step.at, results[i - step.back]);
        given[n++] = step;
    }
    if (some || *noted)
        (void)journal_borrow(ledger->book->journal, given, n);
    *noted = some;
    return noted_end(list, done, some ? &loan : NULL);
}

struct outcome ledger_execute(struct ledger *ledger, const struct steps *list, size_t from, uint64_t *results,
                              const struct deadline *deadline, struct error *error)
{
    if (!check_list(ledger, list, from, error))
        return (struct outcome){.why = TARGET_FAULT, .done = from};
    note_list(ledger, list, from);
    struct outcome outcome = {.why = DONE, .done = from};
    bool noted = from > 0; /* by an earlier call */
    while (outcome.why == DONE && outcome.done < list->n) {
        size_t at = outcome.done, end = note_borrowed(ledger, list, at, results, &noted);
        outcome = execute_watched(ledger, list->items + at, end - at, results + at, deadline, error);
        outcome.done += at;
    }
    if (outcome.why == DONE)
        (void)note_borrowed(ledger, list, list->n, results, &noted);
    return outcome;
}

bool ledger_run(struct ledger *ledger, const struct steps *list, uint64_t *results,
                const struct deadline *deadline, struct error *error)
{
    size_t done = 0;
    while (done < list->n || list->overflow) {
        struct outcome outcome = ledger_execute(ledger, list, done, results, deadline, error);
        done = outcome.done;
        if (outcome.why == DONE)
            break;
        if (outcome.why != NOT_YET)
            return error_set(error, ERROR_FAULT, "step %zu of %zu failed", done, list->n);
        if (deadline_passed(deadline))
            return error_set(error, deadline_cancelled(deadline) ? ERROR_CANCELLED : ERROR_ASLEEP,
                             "the target does not answer");
    }
    return true;
}

bool ledger_read_list(struct ledger *ledger, const struct steps *list, uint64_t *values,
                      const struct deadline *deadline, struct error *error)
{
    if (!check_list(ledger, list, 0, error))
        return false;
    for (size_t i = 0; i < list->n; i++)
        if (!ledger_read(ledger, list->items[i].at, &values[i], deadline, error))
            return false;
    return true;
}

/* Registers that every Cortex-M has at the same address. */
static const char *ledger_name_of(const struct address *at, unsigned *number)
{
    static const struct {
        uint32_t first, apart, count;
        const char *name;
    } registers[] = {
        {DWT_CTRL, 0, 1, "DWT_CTRL"},
        {DWT_CYCCNT, 0, 1, "DWT_CYCCNT"},
        {DWT_CPICNT, 0, 1, "DWT_CPICNT"},
        {DWT_EXCCNT, 0, 1, "DWT_EXCCNT"},
        {DWT_SLEEPCNT, 0, 1, "DWT_SLEEPCNT"},
        {DWT_LSUCNT, 0, 1, "DWT_LSUCNT"},
        {DWT_FOLDCNT, 0, 1, "DWT_FOLDCNT"},
        {DWT_COMP0, 16, 16, "DWT_COMP"},
        {DWT_MASK0, 16, 16, "DWT_MASK"},
        {DWT_FUNCTION0, 16, 16, "DWT_FUNCTION"},
        {FP_CTRL, 0, 1, "FP_CTRL"},
        {FP_REMAP, 0, 1, "FP_REMAP"},
        {FP_COMP0, 4, 128, "FP_COMP"},
        {SYST_CSR, 0, 1, "SYST_CSR"},
        {SYST_RVR, 0, 1, "SYST_RVR"},
        {SYST_CVR, 0, 1, "SYST_CVR"},
        {DFSR, 0, 1, "DFSR"},
        {DHCSR, 0, 1, "DHCSR"},
        {DCRSR, 0, 1, "DCRSR"},
        {DCRDR, 0, 1, "DCRDR"},
        {DEMCR, 0, 1, "DEMCR"},
    };
    for (size_t i = 0; at->space == SPACE_MEMORY && i < sizeof registers / sizeof *registers; i++) {
        uint64_t off = at->offset - registers[i].first;
        uint32_t apart = registers[i].apart;
        if (at->offset < registers[i].first || (apart == 0 ? off != 0 : off % apart != 0))
            continue;
        *number = apart == 0 ? UINT32_MAX : (unsigned)(off / apart);
        if (apart == 0 || off / apart < registers[i].count)
            return registers[i].name;
    }
    return NULL;
}

bool ledger_name(const struct address *at, char *out, size_t size)
{
    unsigned number = UINT32_MAX;
    const char *name = ledger_name_of(at, &number);
    if (name != NULL && number != UINT32_MAX)
        snprintf(out, size, "%s%u", name, number);
    else if (name != NULL)
        snprintf(out, size, "%s", name);
    else
        snprintf(out, size, "0x%08" PRIX64, at->offset);
    return name != NULL;
}

size_t ledger_held(const struct ledger *ledger)
{
    return ledger->book->n_held;
}

bool ledger_entry(const struct ledger *ledger, size_t i, struct address *at, struct restore *restore,
                  uint64_t *old)
{
    const struct ledger_entry *entry = &ledger->book->held[i];
    *at = entry->is.at;
    *restore = entry->is.restore;
    restore->starts = entry->is.used ? restore->starts : 0;
    *old = entry->is.old;
    return entry->action.undo == NULL;
}

void ledger_names(const struct ledger *ledger, char *out, size_t size)
{
    size_t used = 0, others = 0;
    out[0] = '\0';
    for (size_t i = 0; i < ledger->book->n_held; i++) {
        char name[LEDGER_NAME];
        if (ledger->book->held[i].action.undo != NULL)
            continue;
        (void)ledger_name(&ledger->book->held[i].is.at, name, sizeof name);
        if (others > 0 || used + strlen(name) + sizeof ", and 18446744073709551615 more" > size)
            others++;
        else
            used += (size_t)snprintf(out + used, size - used, "%s%s", used > 0 ? ", " : "", name);
    }
    if (others > 0)
        snprintf(out + used, size - used, " and %zu more", others);
}

static void take_out(struct ledger *ledger, struct ledger_entry *entry)
{
    size_t after = ledger->book->n_held - (size_t)(entry - ledger->book->held) - 1;
    memmove(entry, entry + 1, after * sizeof *entry);
    ledger->book->n_held--;
}

static void ledger_drop(struct ledger *ledger, struct ledger_entry *entry)
{
    if (entry->action.undo == NULL)
        journal_drop(ledger->book->journal, entry->is.id);
    take_out(ledger, entry);
}

void ledger_forget(struct ledger *ledger, struct address at)
{
    struct ledger_entry *entry = ledger_find(ledger, at);
    if (entry != NULL)
        ledger_drop(ledger, entry);
}

void ledger_keep_at_end(struct ledger *ledger, struct address at)
{
    struct ledger_entry *entry = ledger_find(ledger, at);
    if (entry != NULL)
        take_out(ledger, entry);
}

static struct ledger_entry *find_action(struct ledger *ledger, struct undo_action action)
{
    for (size_t i = ledger->book->n_held; i-- > 0;)
        if (ledger->book->held[i].action.undo == action.undo &&
            ledger->book->held[i].action.context == action.context)
            return &ledger->book->held[i];
    return NULL;
}

bool ledger_push_undo(struct ledger *ledger, struct undo_action action, struct error *error)
{
    if (find_action(ledger, action) != NULL)
        return true;
    if (!ledger_make_room(ledger, error))
        return false;
    ledger->book->held[ledger->book->n_held++] = (struct ledger_entry){.action = action};
    return true;
}
