#include "cores/core_ops.h"

#include <stdio.h>

static struct address word(uint16_t unit, uint64_t offset)
{
    return (struct address){.space = SPACE_MEMORY, .size = 4, .unit = unit, .offset = offset};
}

bool core_has(const struct core *core, enum core_trait trait)
{
    return (core->ops->traits & trait) != 0;
}

double core_fastest_hz(const struct core *core)
{
    return core->ops->fastest_hz;
}

enum pmu_kind core_mapped_pmu(const struct core *core)
{
    return core->pmu_base != 0 ? core->ops->mapped_pmu : PMU_NONE;
}

void core_register_name(const struct core *core, enum core_register which, char *out, size_t size)
{
    if (which >= CORE_R0)
        snprintf(out, size, "%c%u", core_has(core, WIDE_REGISTERS) ? 'x' : 'r',
                 (unsigned)(which - CORE_R0) & 31U);
    else
        snprintf(out, size, "%s", core->ops->register_names[which]);
}

const struct core_part *core_part(const struct core *core)
{
    return part_find(core->id);
}

uint64_t core_code(const struct core *core, uint64_t address, bool thumb)
{
    return core_place(core, address) | (core_has(core, THUMB_BY_BIT) && thumb ? 1 : 0);
}

bool core_is_thumb(const struct core *core, uint64_t code)
{
    return core_has(core, THUMB_ONLY) || (core_has(core, THUMB_BY_BIT) && (code & 1) != 0);
}

uint64_t core_code_of_lr(const struct core *core, uint64_t lr)
{
    return core_code(core, lr, (lr & 1) != 0);
}

uint64_t core_code_place(uint64_t code)
{
    return code & ~UINT64_C(1);
}

uint64_t core_place(const struct core *core, uint64_t code)
{
    return core_has(core, PROGRAM_ONLY) ? code : core_code_place(code);
}

/* One field for each kind of debug and security state: 2 is implemented but not allowed, 3 allowed; other
 * values count as allowed. DDI 0406C C11.11, DDI 0487 H9.2. */
bool core_may_halt(uint32_t authstatus)
{
    unsigned other = authstatus & 3, secure = authstatus >> 4 & 3;
    return other == 3 || secure == 3 || (other != 2 && secure != 2);
}

bool core_keeps_secure(const struct core *core, uint32_t authstatus)
{
    return core->processes && core_may_halt(authstatus) && (authstatus >> 4 & 3) == 2;
}

const char *core_may_be_unseen(const struct core *core)
{
    if (core->keeps_secure)
        return "; Secure code would not stop there, for SPIDEN is low (pmu-probe doctor)";
    return core->security == SECURITY_HIDDEN
               ? ". The chip allows no Secure debug (DAUTHSTATUS): Secure code is never stopped"
               : "";
}

struct address core_word(const struct core *core, uint64_t offset)
{
    return word(core->memory_unit, offset);
}

struct address core_debug(const struct core *core, uint64_t offset)
{
    return word(core->unit, core->debug_base + offset);
}

struct address core_pmu(const struct core *core, uint64_t offset)
{
    return word(core->pmu_unit, core->pmu_base + offset);
}

struct address core_cti(const struct core *core, uint64_t offset)
{
    return word(core->unit, core->cti_base + offset);
}

/* --- debug registers ------------------------------------------------------------------------------------ */

bool core_has_run_control(const struct core *core)
{
    return core->ops->run != NULL;
}

size_t core_settings(const struct core *core, struct setting *out, size_t room)
{
    return core_has_run_control(core) ? core->ops->run->settings(core, out, room) : 0;
}

size_t core_commands(const struct core *core, struct address *out, size_t room)
{
    return core_has_run_control(core) ? core->ops->run->commands(core, out, room) : 0;
}

struct address core_debug_enable(const struct core *core)
{
    return core->ops->run->debug_enable(core);
}

struct address core_status_register(const struct core *core)
{
    return core->ops->state->status_register(core);
}

enum core_state core_state_of(const struct core *core, uint64_t status)
{
    return core->ops->state->state_of(core, status);
}

bool core_may_be_unreadable(const struct core *core)
{
    return core->ops->state->unreadable != NULL;
}

const char *core_unreadable(const struct core *core, uint64_t status)
{
    return core_may_be_unreadable(core) ? core->ops->state->unreadable(core, status) : NULL;
}

void core_add_wait_halt(const struct core *core, struct steps *list)
{
    core->ops->run->add_wait_halt(core, list);
}

void core_add_run(const struct core *core, struct steps *list)
{
    core->ops->run->add_run(core, list);
}

void core_add_halt(const struct core *core, struct steps *list)
{
    core->ops->run->add_halt(core, list);
}

bool core_requests_stay(const struct core *core)
{
    return core->ops->run->requests_stay;
}

void core_add_single_step(const struct core *core, struct steps *list, unsigned n, uint64_t here)
{
    core->ops->run->add_single_step(core, list, n, here);
}

void core_add_reset(const struct core *core, struct steps *list)
{
    core->ops->run->add_reset(core, list);
}

void core_add_clear_breakpoint(const struct core *core, struct steps *list)
{
    if (core->ops->stop->add_clear_breakpoint != NULL)
        core->ops->stop->add_clear_breakpoint(core, list);
}

void core_add_wait_breakpoint(const struct core *core, struct steps *list)
{
    if (core->ops->stop->add_wait_breakpoint != NULL)
        core->ops->stop->add_wait_breakpoint(core, list);
    else
        core_add_wait_halt(core, list);
}

bool core_can_notice_resets(const struct core *core)
{
    return core->ops->stop->can_notice_resets(core);
}

bool core_marks_resets(const struct core *core)
{
    return core->resets == RESETS_NOTICED && core->ops->stop->mark_is_used != NULL;
}

bool core_mark_is_used(const struct core *core, uint64_t value)
{
    return core->ops->stop->mark_is_used != NULL && core->ops->stop->mark_is_used(core, value);
}

struct address core_reset_register(const struct core *core)
{
    return core->ops->stop->reset_register(core);
}

size_t core_add_reset_seen(const struct core *core, struct steps *list)
{
    return steps_add(list, step_read(core_reset_register(core)));
}

bool core_reset_seen(const struct core *core, uint64_t value)
{
    return core->ops->stop->reset_seen(core, value);
}

size_t core_add_reset_since(const struct core *core, struct steps *list)
{
    const struct core_stop_ops *ops = core->ops->stop;
    return ops->since_register == NULL ? core_add_reset_seen(core, list)
                                       : steps_add(list, step_read(ops->since_register(core)));
}

bool core_reset_since(const struct core *core, uint64_t value)
{
    const struct core_stop_ops *ops = core->ops->stop;
    return ops->reset_since == NULL ? core_reset_seen(core, value) : ops->reset_since(core, value);
}

bool core_stopped_by_trigger(const struct core *core, uint64_t cause)
{
    return (cause & core->ops->stop->trigger_mask) == core->ops->stop->trigger;
}

struct address core_cause_register(const struct core *core)
{
    const struct core_stop_ops *ops = core->ops->stop;
    return ops->cause_register == NULL ? core_status_register(core) : ops->cause_register(core);
}

size_t core_add_cause(const struct core *core, struct steps *list)
{
    return steps_add(list, step_read(core_cause_register(core)));
}

enum stop_cause core_cause(const struct core *core, uint64_t cause, uint64_t status)
{
    return core->ops->stop->cause(core, cause, status);
}

/* --- interrupts ----------------------------------------------------------------------------------------- */

bool core_can_hold(const struct core *core)
{
    return core->ops->interrupts != NULL;
}

void core_add_hold(const struct core *core, struct steps *list, bool held)
{
    core->ops->interrupts->add_hold(core, list, held);
}

void core_add_run_held(const struct core *core, struct steps *list)
{
    core->ops->interrupts->add_run_held(core, list);
}

void core_add_let_go(const struct core *core, struct steps *list)
{
    if (core_can_hold(core))
        core_add_hold(core, list, false);
    core_add_run(core, list);
}

bool core_runs_as_debug_ends(const struct core *core)
{
    return core->ops->run->add_run_undebugged == NULL;
}

void core_add_let_go_undebugged(const struct core *core, struct steps *list)
{
    if (!core_runs_as_debug_ends(core))
        core->ops->run->add_run_undebugged(core, list);
}

size_t core_add_pending(const struct core *core, struct steps *list)
{
    const struct core_interrupt_ops *ops = core->ops->interrupts;
    return ops == NULL ? SIZE_MAX : steps_add(list, step_read(ops->pending_register(core)));
}

bool core_pending(const struct core *core, uint64_t value)
{
    return core_can_hold(core) && core->ops->interrupts->pending(core, value);
}

bool core_held_pending(const struct core *core, uint64_t value)
{
    return core_can_hold(core) && core->ops->interrupts->held_pending(core, value);
}

bool core_entered(const struct core *core, uint64_t before, uint64_t after)
{
    return core_can_hold(core) && core->ops->interrupts->entered(core, before, after);
}

/* --- registers of a halted core ------------------------------------------------------------------------- */

void core_add_ready(const struct core *core, struct steps *list)
{
    if (core->ops->registers->add_ready != NULL)
        core->ops->registers->add_ready(core, list);
}

size_t core_add_register(const struct core *core, struct steps *list, enum core_register which)
{
    return core->ops->registers->add_register(core, list, which);
}

uint64_t core_register_value(const struct core *core, enum core_register which, const uint64_t *results,
                             size_t at)
{
    const struct core_register_ops *ops = core->ops->registers;
    return ops->register_value == NULL ? results[at] : ops->register_value(core, which, results, at);
}

void core_add_recover_instruction(const struct core *core, struct steps *list, const struct step *first)
{
    if (core->ops->registers->add_recover_instruction != NULL)
        core->ops->registers->add_recover_instruction(core, list, first);
}

bool core_halted_test(const struct core *core, struct step *out)
{
    if (!core_has_run_control(core) || core->ops->state->halted == 0)
        return false;
    *out = step_until(core_status_register(core), core->ops->state->halted, core->ops->state->halted);
    return true;
}

bool core_gives_first(const struct core *core, const struct step *step)
{
    return core->ops->registers->gives_first != NULL && core->ops->registers->gives_first(step);
}

void core_add_registers_done(const struct core *core, struct steps *list)
{
    if (core->ops->registers->add_registers_done != NULL)
        core->ops->registers->add_registers_done(core, list);
}

void core_add_expect_stop(const struct core *core, const struct breakpoint_setup *setup, struct steps *list,
                          uint64_t place, bool wait)
{
    core->ops->registers->add_expect_stop(core, setup, list, place, wait);
}

void core_add_proofs(const struct core *core, struct steps *list, const struct core_proof *proofs, size_t n,
                     const struct core_proof *spare, bool wait)
{
    core->ops->registers->add_proofs(core, list, proofs, n, spare, wait);
}

bool core_spare_register(const struct core *core, bool coprocessor, enum core_register *out)
{
    const struct core_register_ops *ops = core->ops->registers;
    *out = ops->spare;
    return *out != CORE_PC && (coprocessor || !ops->spare_for_coprocessor);
}

void core_add_coprocessor(const struct core *core, struct steps *list, const struct step *accesses, size_t n,
                          bool privileged, const struct core_proof *spare, size_t *at)
{
    core->ops->registers->add_coprocessor(core, list, accesses, n, privileged, spare, at);
}

const struct injected_kind *core_injected(const struct core *core)
{
    return core->ops->injected;
}

/* --- breakpoints ---------------------------------------------------------------------------------------- */

bool core_can_compare(const struct core *core, uint64_t address)
{
    const struct core_breakpoint_ops *ops = core->ops->breakpoints;
    return ops->can_compare == NULL || ops->can_compare(core, address);
}

struct setting core_comparators_on(const struct core *core)
{
    return core->ops->breakpoints->comparators_on(core);
}

unsigned core_comparator_words(const struct core *core)
{
    return core->ops->breakpoints->comparator_words;
}

struct address core_comparator(const struct core *core, unsigned n, unsigned word)
{
    return core->ops->breakpoints->comparator(core, n, word);
}

bool core_comparator_used(const struct core *core, const uint64_t *words, uint64_t *address)
{
    return core->ops->breakpoints->comparator_used(core, words, address);
}

bool core_comparator_patches(const struct core *core, uint64_t first_word)
{
    return core->ops->breakpoints->patches != NULL && core->ops->breakpoints->patches(core, first_word);
}

void core_add_comparator(const struct core *core, const struct breakpoint_setup *setup, struct steps *list,
                         unsigned n, uint64_t from, uint64_t to)
{
    core->ops->breakpoints->add_comparator(core, setup, list, n, from, to);
}

bool core_has_breakpoint_instruction(const struct core *core)
{
    return core->ops->breakpoints != NULL && core->ops->breakpoints->add_code_changed != NULL;
}

uint16_t core_breakpoint_instruction(const struct core *core, uint8_t *size)
{
    *size = core_has_breakpoint_instruction(core) ? 2 : 0;
    return core->ops->breakpoints->instruction;
}

void core_add_code_changed(const struct core *core, struct steps *list, uint64_t address)
{
    if (core->ops->breakpoints->add_code_changed != NULL)
        core->ops->breakpoints->add_code_changed(core, list, address);
}

bool core_breakpoint_code(const struct core *core, uint64_t pc, uint32_t word, struct breakpoint_code *out)
{
    const struct core_breakpoint_ops *ops = core->ops->breakpoints;
    return ops != NULL && ops->read_code != NULL && ops->read_code(pc, word, out);
}

bool core_debug_is_on(const struct core *core, uint64_t debug_enable)
{
    return (debug_enable & core->ops->breakpoints->debug_on) != 0;
}

bool core_can_skip(const struct core *core)
{
    return core->ops->breakpoints->add_skip != NULL;
}

void core_add_skip(const struct core *core, struct steps *list, uint64_t pc)
{
    if (core->ops->breakpoints->add_skip != NULL)
        core->ops->breakpoints->add_skip(core, list, pc);
}

/* --- halt sources --------------------------------------------------------------------------------------- */

static const struct core_halt_ops *halts_of(const struct core *core)
{
    static const struct core_halt_ops none = {.borrowed_mark = 0};
    return core->ops->halts != NULL ? core->ops->halts : &none;
}

void core_stops_add(struct core_stops *stops, struct core_stop stop)
{
    if (stops->n < CORE_STOPS)
        stops->items[stops->n++] = stop;
}

void core_stops_add_bits(struct core_stops *stops, const char *name, struct address at, uint64_t bits)
{
    core_stops_add(stops,
                   (struct core_stop){
                       .name = name, .at = at, .field = bits, .low = 1, .high = UINT64_MAX, .keep = ~bits});
}

void core_add_first_stops(const struct core *core, bool server, struct core_stops *out)
{
    if (halts_of(core)->add_first != NULL)
        halts_of(core)->add_first(core, server, out);
}

void core_add_stops_identity(const struct core *core, struct steps *list)
{
    if (halts_of(core)->add_identity != NULL)
        halts_of(core)->add_identity(core, list);
}

void core_add_stops(const struct core *core, const uint64_t *identity, struct core_stops *out)
{
    if (halts_of(core)->add_stops != NULL)
        halts_of(core)->add_stops(core, identity, out);
}

void core_add_last_stops(const struct core *core, struct core_stops *out)
{
    if (halts_of(core)->add_last != NULL)
        halts_of(core)->add_last(core, out);
}

uint64_t core_borrowed_mark(const struct core *core)
{
    return halts_of(core)->borrowed_mark;
}

bool core_has_not_left(const struct core *core, uint64_t status)
{
    return halts_of(core)->has_not_left != NULL && halts_of(core)->has_not_left(status);
}

bool core_may_have_borrowed(const struct core *core, uint64_t status)
{
    return halts_of(core)->may_have_borrowed != NULL && halts_of(core)->may_have_borrowed(status);
}

void core_add_unlock(const struct core *core, struct steps *list)
{
    if (halts_of(core)->add_unlock != NULL)
        halts_of(core)->add_unlock(core, list);
    else if (core_has_run_control(core))
        core_add_ready(core, list);
}

/* --- processes ------------------------------------------------------------------------------------------ */

size_t core_add_mode(const struct core *core, struct steps *list)
{
    return core->ops->processes->add_mode(core, list);
}

bool core_in_user_mode(const struct core *core, uint64_t mode)
{
    return core->ops->processes->in_user_mode(core, mode);
}

bool core_add_context(const struct core *core, struct steps *list, size_t *at)
{
    if (core->ops->processes->add_context == NULL)
        return false;
    *at = core->ops->processes->add_context(core, list);
    return true;
}

uint64_t core_context_comparator(const struct core *core, bool on)
{
    return core->ops->processes->context_off | (on ? core->ops->processes->context_on : 0);
}

/* --- where a function returns to ------------------------------------------------------------------------ */

bool core_has_exception_modes(const struct core *core)
{
    return core->ops->returns != NULL && core->ops->returns->exception_mode != NULL;
}

const char *core_exception_mode(const struct core *core, uint64_t status)
{
    return core_has_exception_modes(core) ? core->ops->returns->exception_mode(core, status) : NULL;
}

bool core_called_from(const struct core *core, uint64_t lr, uint32_t before, uint64_t function)
{
    return !core_has_exception_modes(core) || core->ops->returns->called_from(core, lr, before, function);
}

bool core_returns_by_frame(const struct core *core, uint64_t lr)
{
    const struct core_return_ops *ops = core->ops->returns;
    return ops != NULL && ops->by_frame != NULL && ops->by_frame(core, lr);
}

const char *core_no_return(const struct core *core, uint64_t lr)
{
    const struct core_return_ops *ops = core->ops->returns;
    return ops != NULL && ops->no_return != NULL ? ops->no_return(core, lr) : NULL;
}

struct return_place core_frame_return(const struct core *core, uint64_t sp, const uint64_t *words)
{
    return core->ops->returns->frame_return(core, sp, words);
}
