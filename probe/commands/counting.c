#include "commands/counting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool read_wishes(const struct options *options, struct event_wish *wishes, size_t *n,
                        struct error *error)
{
    for (size_t i = 0; i < options->n_events; i++)
        if (!event_wishes_parse(options->events[i], wishes, PLAN_COLUMNS, n, error))
            return false;
    return true;
}

static bool find_word(struct session *session, const char *name, struct address *out)
{
    uint64_t address, size;
    if (session->symbols == NULL || !symbols_object(session->symbols, name, &address, &size))
        return false;
    *out = core_word(&session->target.chosen->core, address);
    out->size = (uint8_t)(size == 1 || size == 2 ? size : 4);
    return size <= 4 || size == 8; /* of eight bytes the low four change */
}

/* How much the variable goes up by at a time: ST's HAL keeps that in another one. */
static bool read_each(struct session *session, const char *name, uint64_t *each, struct error *error)
{
    struct address at;
    struct deadline deadline = session_deadline(session);
    *each = 1;
    if (strcmp(name, "uwTick") != 0 || !find_word(session, "uwTickFreq", &at))
        return true;
    return ledger_read(session->target.ledger, at, each, &deadline, error);
}

static bool take_tick(struct counting *counting, struct session *session, const struct clock *clock,
                      struct error *error)
{
    const char *name = session->context->options->tick;
    struct beside_tick tick = {0};
    struct deadline deadline = session_deadline(session);
    if (strcmp(session->target.block->kind->name, "systick") != 0)
        return error_set(error, ERROR_USAGE, "--tick belongs to SysTick, not to %s",
                         session->target.block->kind->name);
    if (!find_word(session, name, &tick.variable))
        return error_set(error, ERROR_SYMBOL, "the ELF has no variable \"%.64s\" of up to 8 bytes", name);
    if (!read_each(session, name, &tick.each, error))
        return false;
    if (strcmp(name, "xTickCount") == 0 && !find_word(session, "xPendedTicks", &tick.pended))
        (void)find_word(session, "uxPendedTicks", &tick.pended);
    return beside_take_tick(&counting->beside, &session->target, &tick, error) &&
           beside_check(&counting->beside, &session->target, clock, &deadline, error);
}

/* A counter that wraps within a slice of a wait needs something slower beside it. */
static bool take_beside(struct counting *counting, struct session *session, const struct clock *clock,
                        struct error *error)
{
    struct deadline deadline = session_deadline(session);
    if (session->context->options->tick != NULL)
        return take_tick(counting, session, clock, error);
    if (strcmp(session->target.block->kind->name, "systick") != 0 || !session->target.block->counts_cycles)
        return true;
    return beside_take_timer(&counting->beside, &session->target, clock, &deadline, error);
}

bool counting_open(struct counting *counting, struct session *session, const struct clock *clock,
                   struct error *error)
{
    struct target *target = &session->target;
    struct event_wish wishes[PLAN_COLUMNS];
    size_t n = 0;
    *counting = (struct counting){.plan = calloc(1, sizeof *counting->plan)};
    if (counting->plan == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    if (target->block->events != NULL &&
        (counting->set = event_set_open(target->block->events, error)) == NULL)
        return false;
    if (!read_wishes(session->context->options, wishes, &n, error) ||
        !plan_make(counting->plan, target->block, counting->set, wishes, n, error))
        return false;
    const struct plan_pass *first = &counting->plan->passes[0];
    struct deadline deadline = session_deadline(session);
    return target_program(target, first->picks, first->n, &deadline, error) &&
           take_beside(counting, session, clock, error);
}

void counting_close(struct counting *counting)
{
    event_set_free(counting->set);
    free(counting->plan);
    *counting = (struct counting){0};
}

static bool name_register(const char *name, enum core_register *out)
{
    static const struct {
        const char *name;
        enum core_register which;
    } special[] = {
        {"pc", CORE_PC}, {"sp", CORE_SP}, {"lr", CORE_LR}, {"psp", CORE_PSP}, {"xpsr", CORE_STATUS}};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if (strcasecmp(name, special[i].name) == 0) {
            *out = special[i].which;
            return true;
        }
    char *end;
    if ((name[0] != 'r' && name[0] != 'R') || name[1] < '0' || name[1] > '9')
        return false;
    unsigned long number = strtoul(name + 1, &end, 10);
    *out = (enum core_register)(CORE_R0 + number);
    return *end == '\0' && number <= 12;
}

static bool read_word(struct session *session, const char *name, struct at_end_word *out, struct error *error)
{
    *out = (struct at_end_word){0};
    if (name_register(name, &out->which)) {
        out->is_register = true;
        return true;
    }
    if (name[0] != '*')
        return find_word(session, name, &out->at) ||
               error_set(error, ERROR_SYMBOL,
                         "--on-max: \"%.48s\" is no register (r0 to r12, sp, lr, pc, psp, xpsr), no *ADDRESS "
                         "and no "
                         "variable of the ELF",
                         name);
    char *end;
    errno = 0;
    unsigned long long address = strtoull(name + 1, &end, 0);
    if (end == name + 1 || *end != '\0' || errno != 0 || address > UINT32_MAX || address % 4 != 0)
        return error_set(error, ERROR_USAGE, "--on-max: \"%.48s\" is no address of a word", name);
    out->at = core_word(&session->target.chosen->core, address);
    return true;
}

bool counting_words(struct counting *counting, struct session *session, struct result_words *names,
                    struct error *error)
{
    const char *at = session->context->options->on_max;
    for (names->n = 0; at != NULL && *at != '\0'; names->n++) {
        size_t length = strcspn(at, ",");
        if (names->n == RESULT_WORDS || length == 0 || length >= sizeof names->names[0])
            return error_set(error, ERROR_USAGE, "--on-max wants up to %d words with commas between them",
                             RESULT_WORDS);
        memcpy(names->names[names->n], at, length);
        names->names[names->n][length] = '\0';
        if (!read_word(session, names->names[names->n], &counting->at_end.words[names->n], error))
            return false;
        at += length + (at[length] == ',');
    }
    counting->at_end.n = names->n;
    return true;
}
