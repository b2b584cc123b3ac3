#include "device/halted_list.h"

#include <unistd.h>

enum { LIST_ROOM = 32, TRIES = 5, NAP_US = 2000, RESTORE_MS = 1000 };

/* Whether the core still stands as it did. After a reset, the program that the registers belong to is gone.
 */
static bool halted_list_is_halted(struct ledger *ledger, const struct core *core,
                                  const struct deadline *deadline)
{
    struct error unread = {0};
    uint64_t status;
    return !ledger_read(ledger, core_status_register(core), &status, deadline, &unread) ||
           core_state_of(core, status) == CORE_HALTED;
}

static bool halted_list_give_back(struct ledger *ledger, const struct core *core, const struct steps *list,
                                  size_t done, uint64_t *results, const struct deadline *deadline)
{
    struct step items[8];
    uint64_t ignored[8];
    struct loan loan;
    if (!steps_loan(list->items, list->n, done, &loan) || !halted_list_is_halted(ledger, core, deadline))
        return true;
    for (int i = 0; i < TRIES; i++) {
        struct steps ready = {.items = items, .room = sizeof items / sizeof *items}, part = *list;
        struct error refused = {0};
        part.n = loan.end;
        core_add_recover_instruction(core, &ready, &list->items[loan.from]);
        bool is_ready =
            ready.n == 0 || ledger_execute(ledger, &ready, 0, ignored, deadline, &refused).why == DONE;
        if (is_ready && ledger_execute(ledger, &part, loan.from, results, deadline, &refused).why == DONE)
            return true;
        usleep(NAP_US);
    }
    return false;
}

/* A register's value may wait in the transfer register, and the program would find it full. To read another
 * one, which borrows nothing, empties it. */
static void empty_channel(struct ledger *ledger, const struct core *core, const struct deadline *deadline)
{
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    struct error ignored = {0};
    if (!core_has(core, BORROWS_REGISTERS) || !halted_list_is_halted(ledger, core, deadline))
        return;
    core_add_ready(core, &list);
    core_add_register(core, &list, CORE_LR);
    (void)ledger_run(ledger, &list, results, deadline, &ignored);
}

bool halted_list_run(struct ledger *ledger, const struct core *core, const struct steps *list,
                     uint64_t *results, const struct deadline *deadline, struct error *error)
{
    struct outcome outcome = {.why = NOT_YET};
    for (int tries = 0; outcome.why != DONE;) {
        struct error refused = {0};
        outcome = ledger_execute(ledger, list, outcome.done, results, deadline, &refused);
        bool waits = outcome.why == NOT_YET || outcome.why == TARGET_WAIT;
        bool over = deadline_passed(deadline);
        if (outcome.why == DONE)
            break;
        if (waits && !over && tries++ < TRIES * TRIES) {
            usleep(outcome.why == TARGET_WAIT ? NAP_US : 0);
            continue;
        }
        struct deadline last = deadline_in_ms(patience_ms(RESTORE_MS), NULL);
        bool gave = halted_list_give_back(ledger, core, list, outcome.done, results, &last);
        if (gave)
            empty_channel(ledger, core, &last);
        if (deadline_cancelled(deadline))
            return error_set(error, ERROR_CANCELLED, "cancelled");
        error_set(error, refused.kind != ERROR_NONE ? refused.kind : ERROR_ASLEEP, "%s",
                  refused.text[0] != '\0' ? refused.text : "the halted core does not answer");
        if (!gave)
            error_prefix(error, "registers of the program that were borrowed could not be given back: ");
        return false;
    }
    return true;
}
