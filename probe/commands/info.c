/* info: cores, counters and breakpoints, and who uses them already. Changes nothing. */
#include "commands/command.h"
#include "commands/session.h"
#include "report/utf8.h"

#include <inttypes.h>
#include <stdio.h>

static void print_state(struct session *session, const struct target_core *core, FILE *out)
{
    char place[512];
    switch (core->state) {
    case CORE_HALTED:
        session_place(session, core->halted_at, place, sizeof place);
        fprintf(out, "halted at %s\n", place);
        break;
    case CORE_ASLEEP:
        fprintf(out, "asleep\n");
        break;
    case CORE_LOCKUP:
        fprintf(out, "locked up\n");
        break;
    case CORE_RUNNING:
        fprintf(out, "running\n");
        break;
    }
}

static bool print_comparators(struct session *session, const struct core *core, FILE *out,
                              struct error *error)
{
    struct deadline deadline = session_deadline(session);
    struct setting on = core->ops->comparators_on(core);
    uint64_t value, address;
    fprintf(out, "  %-12s %u", "breakpoints", core->comparators);
    if (!ledger_read(session->target.ledger, on.at, &value, &deadline, error))
        return false;
    bool enabled = (value & on.test) == on.set;
    unsigned used = 0;
    for (unsigned i = 0; i < core->comparators; i++) {
        if (!ledger_read(session->target.ledger, core->ops->comparator(core, i), &value, &deadline, error))
            return false;
        if (enabled && core->ops->comparator_used(core, value, &address)) {
            char place[512];
            session_place(session, address, place, sizeof place);
            fprintf(out, "%s %s", used++ == 0 ? ", in use:" : ",", place);
        }
    }
    fprintf(out, "%s\n", used == 0 ? ", all free" : "");
    return true;
}

static bool print_core(struct session *session, size_t number, struct error *error)
{
    FILE *out = session->context->out;
    const struct target_core *core = &session->target.cores[number];
    char name[UTF8_CLEAN_ROOM(64)];
    fprintf(out, "\ncore %zu   %s   %s   ", number, core->core.name,
            utf8_clean(name, sizeof name, core->view.name));
    print_state(session, core, out);
    for (size_t i = 0; i < core->n_blocks; i++) {
        const struct counter_block *block = &core->blocks[i];
        fprintf(out, "  %-12s %-36s %s\n", block->kind->name, block->text,
                block->unusable[0] != '\0' ? block->unusable : block->state);
    }
    return print_comparators(session, &core->core, out, error);
}

/* SystemCoreClock of core 0's view, or what --freq says; measuring would need a core of our own. */
static void print_clock(struct session *session)
{
    uint64_t address, size, value;
    struct error ignored = {0};
    struct deadline deadline = session_deadline(session);
    if (session->symbols == NULL || !symbols_object(session->symbols, "SystemCoreClock", &address, &size) ||
        size != 4)
        return;
    if (ledger_read(session->target.ledger, core_word(&session->target.cores[0].core, address), &value,
                    &deadline, &ignored))
        fprintf(session->context->out, "\nclock    %.6g MHz   SystemCoreClock\n", (double)value / 1e6);
}

int command_info(const struct context *context, struct error *error)
{
    struct session session = {.context = context};
    char text[128];
    bool ok = command_is_plain(context, error);
    ok = ok && session_open_elf(&session, error) && session_open_target(&session, error);
    if (ok) {
        link_describe(session.link, text, sizeof text);
        fprintf(context->out, "%s\n", text);
        for (size_t i = 0; ok && i < session.target.n_cores; i++)
            ok = print_core(&session, i, error);
        if (ok)
            print_clock(&session);
    }
    struct error after = {0};
    if (!session_close(&session, &after))
        ok = error_add(error, &after);
    return ok ? EXIT_DONE : error_exit_code(error->kind);
}
