/* SPDX-License-Identifier: MIT */
#include "device/release.h"

#include "device/own_stops.h"
#include "device/run.h"
#include "device/settings.h"

#include <string.h>
#include <unistd.h>

enum { LIST_ROOM = 64, GLANCE_US = 20000, BESIDE = 6, CHUNK = 256 };
enum { RESET_MS = 500, NAP_US = 2000 };

static const struct core *release_core_of(const struct device *device)
{
    return &device->chosen->core;
}

/* Not put back at the end. */
static bool write_for_good(struct device *device, struct address at, uint64_t value,
                           const struct deadline *deadline, struct error *error)
{
    if (!ledger_write(device->ledger, at, value, (struct restore){0}, deadline, error))
        return false;
    ledger_forget(device->ledger, at);
    return true;
}

/* --- registers ------------------------------------------------------------------------------------------ */

/* The value as found, not what we have written since. */
static bool read_found(struct device *device, struct address at, uint64_t *value,
                       const struct deadline *deadline, struct error *error)
{
    return ledger_old(device->ledger, at, value) || ledger_read(device->ledger, at, value, deadline, error);
}

/* All that is found is reported before anything is cleared: a server that forgets its own breakpoints clears
 * some of it before we can. */
enum pass { TELL, CLEAR };

static bool release_take_stop(struct device *device, const struct core_stop *stop, enum pass pass,
                              const struct release_sink *sink, bool *found, const struct deadline *deadline,
                              struct error *error)
{
    uint64_t value, place = 0;
    *found = false;
    if (!read_found(device, stop->at, &value, deadline, error))
        return false;
    uint64_t set = value & stop->field;
    if (set < stop->low || set > stop->high)
        return true;
    if (stop->place.size != 0 && !ledger_read(device->ledger, stop->place, &place, deadline, error))
        return false;
    if (stop->for_monitor && own_stops_are_there(device->ledger, release_core_of(device), deadline)) {
        if (pass == TELL && sink->own != NULL)
            sink->own(sink->context, stop->name, place);
        return true;
    }
    *found = true;
    if (pass == CLEAR)
        return write_for_good(device, stop->at, (value & stop->keep) | stop->key, deadline, error);
    sink->removed(sink->context, stop->name, stop->place.size != 0, place);
    return true;
}

static bool take_stops(struct device *device, const struct core_stops *stops, enum pass pass,
                       const struct release_sink *sink, bool *found, const struct deadline *deadline,
                       struct error *error)
{
    *found = false;
    for (size_t i = 0; i < stops->n; i++) {
        bool one;
        if (!release_take_stop(device, &stops->items[i], pass, sink, &one, deadline, error))
            return false;
        *found = *found || one;
    }
    return true;
}

bool release_first(struct device *device, const struct release_sink *sink, bool *again,
                   const struct deadline *deadline, struct error *error)
{
    struct core_stops stops = {.n = 0};
    core_add_first_stops(release_core_of(device), link_has_server(device->link), &stops);
    return take_stops(device, &stops, TELL, sink, again, deadline, error) &&
           take_stops(device, &stops, CLEAR, sink, again, deadline, error);
}

/* --- comparators ---------------------------------------------------------------------------------------- */

static bool release_take_comparators(struct device *device, enum pass pass, const struct release_sink *sink,
                                     const struct deadline *deadline, struct error *error)
{
    const struct core *core = release_core_of(device);
    struct setting on = core_comparators_on(core);
    uint64_t now;
    bool patched = false;
    if (!read_found(device, on.at, &now, deadline, error))
        return false;
    bool act = (now & on.test) == on.set;
    bool monitored = act && own_stops_are_there(device->ledger, core, deadline);
    for (unsigned i = 0; i < core->comparators; i++) {
        uint64_t words[COMPARATOR_WORDS], place = 0;
        bool used;
        if (!settings_read_comparator(device->ledger, core, i, words, &used, &place, deadline, error))
            return false;
        bool patch = used && core_comparator_patches(core, words[0]);
        patched = patched || patch;
        bool own = used && !patch && monitored;
        patched = patched || own;
        if (own && pass == TELL && sink->own != NULL)
            sink->own(sink->context, "breakpoint", core_code_place(place));
        if (!used || patch || own)
            continue;
        if (pass == CLEAR && !write_for_good(device, core_comparator(core, i, 0), 0, deadline, error))
            return false;
        if (pass == TELL && act)
            sink->removed(sink->context, "breakpoint", true, core_code_place(place));
    }
    if (pass == TELL || !core_has(core, COMPARATOR_SWITCH) || patched || !act ||
        link_has_server(device->link))
        return true;
    return write_for_good(device, on.at, on.key, deadline, error);
}

static bool find_stops(struct device *device, struct core_stops *stops, const struct deadline *deadline,
                       struct error *error)
{
    const struct core *core = release_core_of(device);
    struct step items[STOPS_IDENTITY];
    uint64_t identity[STOPS_IDENTITY];
    struct steps list = {.items = items, .room = STOPS_IDENTITY};
    stops->n = 0;
    core->ops->halts->add_identity(core, &list);
    if (!ledger_run(device->ledger, &list, identity, deadline, error))
        return false;
    core_add_stops(core, identity, stops);
    return true;
}

static bool take_all(struct device *device, const struct core_stops *stops, enum pass pass,
                     const struct release_sink *sink, const struct deadline *deadline, struct error *error)
{
    bool found;
    return release_take_comparators(device, pass, sink, deadline, error) &&
           take_stops(device, stops, pass, sink, &found, deadline, error);
}

bool release_stops(struct device *device, const struct release_sink *sink, const struct deadline *deadline,
                   struct error *error)
{
    struct core_stops stops;
    if (device->chosen->state == CORE_LOCKUP) /* its stops can be removed all the same */
        device->chosen->state = CORE_RUNNING;
    return device_keep(device, deadline, error) && find_stops(device, &stops, deadline, error) &&
           take_all(device, &stops, TELL, sink, deadline, error) &&
           link_server_forget(device->link, device->chosen->server_unit, deadline, error) &&
           take_all(device, &stops, CLEAR, sink, deadline, error);
}

bool release_look(struct device *device, const struct release_sink *sink, const struct deadline *deadline,
                  struct error *error)
{
    struct core_stops stops;
    return find_stops(device, &stops, deadline, error) &&
           take_all(device, &stops, TELL, sink, deadline, error);
}

/* --- breakpoint instructions ---------------------------------------------------------------------------- */

static uint16_t release_half_at(const uint8_t *bytes, size_t at)
{
    return (uint16_t)(bytes[at] | bytes[at + 1] << 8);
}

/* The code before or after it is as in the ELF file, so this code was the file's too. */
static bool is_known(const uint8_t *now, const uint8_t *bytes, size_t at, size_t size)
{
    bool before = at >= BESIDE && memcmp(now + at - BESIDE, bytes + at - BESIDE, BESIDE) == 0;
    size_t next = at + 2;
    bool behind = next + BESIDE <= size && memcmp(now + next, bytes + next, BESIDE) == 0;
    return before || behind;
}

static bool release_piece(struct device *device, uint64_t address, const uint8_t *bytes, size_t size,
                          const struct release_sink *sink, const struct deadline *deadline,
                          struct error *error)
{
    struct step items[CHUNK / 4];
    uint64_t words[CHUNK / 4];
    struct steps list = {.items = items, .room = CHUNK / 4};
    uint8_t now[CHUNK] = {0};
    for (size_t i = 0; i < size; i += 4)
        steps_add(&list, step_read(core_word(release_core_of(device), address + i)));
    if (!ledger_run(device->ledger, &list, words, deadline, error))
        return false;
    for (size_t i = 0; i < size; i++)
        now[i] = (uint8_t)(words[i / 4] >> (8 * (i % 4)));
    for (size_t i = 0; i < size; i += 2) {
        bool differs = release_half_at(now, i) != release_half_at(bytes, i);
        struct breakpoint_code code;
        if (!differs || !thumb_breakpoint(0, release_half_at(now, i), &code) ||
            !is_known(now, bytes, i, size))
            continue;
        enum mapping mapping = sink->mapping(sink->context, address + i);
        if (mapping == MAPPING_NONE)
            sink->left(sink->context, address + i);
        if (mapping != MAPPING_CODE)
            continue;
        struct address at = core_word(release_core_of(device), address + i);
        (void)core_breakpoint_instruction(release_core_of(device), &at.size);
        if (!write_for_good(device, at, release_half_at(bytes, i), deadline, error) ||
            !run_code_changed(device->ledger, release_core_of(device), address + i, deadline, error))
            return false;
        sink->removed(sink->context, "breakpoint instruction", true, address + i);
    }
    return true;
}

bool release_code(struct device *device, uint64_t address, const uint8_t *bytes, size_t size,
                  const struct release_sink *sink, const struct deadline *deadline, struct error *error)
{
    const struct core *core = release_core_of(device);
    uint8_t width = 0;
    (void)core_breakpoint_instruction(core, &width);
    if (width == 0 || core_can_compare(core, address))
        return true;
    size_t skip = (4 - address % 4) % 4;
    for (size_t at = skip; at + 4 <= size; at += CHUNK) {
        size_t left = (size - at) & ~(size_t)3;
        if (!release_piece(device, address + at, bytes + at, left < CHUNK ? left : CHUNK, sink, deadline,
                           error))
            return false;
    }
    return true;
}

/* --- let go --------------------------------------------------------------------------------------------- */

/* The core must be halted. `add_first` may be NULL. */
static bool release_read_pc(struct device *device, void (*add_first)(const struct core *, struct steps *),
                            uint64_t *pc, const struct deadline *deadline, struct error *error)
{
    const struct core *core = release_core_of(device);
    struct step items[LIST_ROOM];
    uint64_t values[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    if (add_first != NULL)
        add_first(core, &list);
    size_t at = core_add_register(core, &list, CORE_PC);
    core_add_registers_done(core, &list);
    if (!run_list(device->ledger, core, &list, values, deadline, error))
        return false;
    *pc = core_code_place(core_register_value(core, CORE_PC, values, at));
    return true;
}

static bool release_look_at(struct device *device, bool *halted, uint64_t *pc,
                            const struct deadline *deadline, struct error *error)
{
    const struct core *core = release_core_of(device);
    uint64_t status;
    *pc = 0;
    if (!ledger_read(device->ledger, core_status_register(core), &status, deadline, error))
        return false;
    *halted = core_state_of(core, status) == CORE_HALTED;
    if (!*halted || (core_unreadable(core, status) != NULL))
        return true;
    /* A server that has halted the core takes it for granted that instructions can be executed. */
    struct step back = step_write(core_status_register(core), status);
    const struct steps list = {.items = &back, .n = 1, .room = 1};
    return release_read_pc(device, core_add_unlock, pc, deadline, error) &&
           (!core_has(core, BORROWS_REGISTERS) ||
            ledger_run(device->ledger, &list, &status, deadline, error));
}

static bool release_run_on(struct device *device, bool by_server, const struct deadline *deadline,
                           struct error *error)
{
    const struct core *core = release_core_of(device);
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    bool server;
    if (core->unstoppable != NULL && core_has(core, RUN_BY_TRIGGER))
        return error_set(error, ERROR_NO_CORE, "the core cannot be let run: %s", core->unstoppable);
    if (!device_server_has(device, &server, error))
        return false;
    if (server && by_server)
        return link_server_run(device->link, device->chosen->server_unit, true, deadline, error);
    core_add_unlock(core, &list);
    core_add_let_go(core, &list);
    return ledger_run(device->ledger, &list, results, deadline, error);
}

static bool switch_debug_off(struct device *device, const struct deadline *deadline, struct error *error)
{
    struct core_stops last = {.n = 0};
    bool found;
    core_add_last_stops(release_core_of(device), &last);
    return take_stops(device, &last, CLEAR, NULL, &found, deadline, error);
}

/* A server would switch debug on again. */
static bool can_leave(const struct device *device, const struct release *out)
{
    return out->own.is_own && !link_has_server(device->link);
}

/* With debug off the instruction stops it no more. */
static bool leave_own(struct device *device, const struct release *out, const struct deadline *deadline,
                      struct error *error)
{
    const struct core *core = release_core_of(device);
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    core_add_unlock(core, &list);
    core_add_let_go_undebugged(core, &list);
    return (!out->own.is_call || own_breakpoint_skip(device->ledger, core, out->stood_at, deadline, error)) &&
           ledger_run(device->ledger, &list, results, deadline, error) &&
           switch_debug_off(device, deadline, error);
}

bool release_let_go(struct device *device, bool by_server, struct release *out,
                    const struct deadline *deadline, struct error *error)
{
    const struct core *core = release_core_of(device);
    *out = (struct release){0};
    if (!release_look_at(device, &out->was_halted, &out->stood_at, deadline, error))
        return false;
    if (out->was_halted) {
        out->may_have_borrowed =
            device->chosen->state == CORE_HALTED && core_may_have_borrowed(core, device->chosen->status);
        out->own = device_own_breakpoint(device, out->stood_at, deadline);
        if (can_leave(device, out))
            return leave_own(device, out, deadline, error);
        out->breakpoint_instruction = out->own.code.name != NULL;
        if (out->breakpoint_instruction) {
            device_leave_as(device, LEAVE_HALTED_FOREIGN);
            return true;
        }
        if (!release_run_on(device, by_server, deadline, error))
            return false;
        deadline_nap_us(GLANCE_US);
        if (!release_look_at(device, &out->halted_again, &out->stands_at, deadline, error))
            return false;
        if (out->halted_again) {
            out->own = device_own_breakpoint(device, out->stands_at, deadline);
            if (can_leave(device, out)) {
                out->stood_at = out->stands_at;
                out->halted_again = false;
                return leave_own(device, out, deadline, error);
            }
            device_leave_as(device, LEAVE_HALTED_FOREIGN);
        }
    }
    return true;
}

bool release_run(struct device *device, struct release *out, const struct deadline *deadline,
                 struct error *error)
{
    if (!release_let_go(device, true, out, deadline, error))
        return false;
    return out->breakpoint_instruction || out->halted_again || link_has_server(device->link) ||
           switch_debug_off(device, deadline, error);
}

/* --- reset ---------------------------------------------------------------------------------------------- */

/* Arms the catch of a reset, and clears an older catch. */
static bool release_apply_settings(struct device *device, const struct deadline *deadline,
                                   struct error *error)
{
    device->chosen->core.resets = RESETS_CAUGHT;
    return settings_apply_core(device->ledger, release_core_of(device), APPLY_ALL, deadline, error);
}

/* The target may refuse to answer during the reset. */
static bool wait_for_reset(struct device *device, const struct deadline *deadline, struct error *error)
{
    const struct core *core = release_core_of(device);
    struct deadline soon = deadline_slice(deadline, patience_ms(RESET_MS));
    for (bool seen = false;; deadline_nap_us(NAP_US)) {
        struct error unread = {0};
        uint64_t cause = 0, status = 0;
        bool read = ledger_read(device->ledger, core_reset_register(core), &cause, &soon, &unread) &&
                    ledger_read(device->ledger, core_status_register(core), &status, &soon, &unread);
        if (!read && !error_is_refusal(&unread))
            return error_copy(error, &unread);
        seen = seen || (read && core_reset_seen(core, cause));
        if (seen && read && core_state_of(core, status) == CORE_HALTED)
            return true;
        if (deadline_cancelled(deadline))
            return error_set(error, ERROR_CANCELLED, "cancelled");
        if (deadline_passed(&soon))
            return seen ? error_set(error, ERROR_ASLEEP, "the core was reset, but does not halt")
                        : error_set(error, ERROR_NO_RESET, "the core did not reset");
    }
}

bool reset_run(struct device *device, const struct deadline *deadline, struct error *error)
{
    return run_add(device->ledger, release_core_of(device), core_add_run, deadline, error);
}

/* Both at once where that can be: the program could reach a breakpoint instruction in between. */
static bool run_without_debug(struct device *device, const struct deadline *deadline, struct error *error)
{
    struct core_stops last = {.n = 0};
    if (!core_runs_as_debug_ends(release_core_of(device)))
        return reset_run(device, deadline, error);
    core_add_last_stops(release_core_of(device), &last);
    return write_for_good(device, last.items[0].at, last.items[0].key, deadline, error);
}

bool reset_end(struct device *device, struct release *out, const struct deadline *deadline,
               struct error *error)
{
    *out = (struct release){0};
    if (!link_has_server(device->link))
        return run_without_debug(device, deadline, error);
    if (core_has(release_core_of(device), BORROWS_REGISTERS)) /* its server may be at its registers */
        return true;
    deadline_nap_us(GLANCE_US);
    if (!release_look_at(device, &out->halted_again, &out->stands_at, deadline, error))
        return false;
    if (out->halted_again)
        out->own = device_own_breakpoint(device, out->stands_at, deadline);
    return true;
}

bool reset_let_go(void *device_, const struct deadline *deadline, struct error *error)
{
    struct device *device = device_;
    const struct core *core = release_core_of(device);
    uint64_t status;
    if (device->chosen->state == CORE_HALTED)
        return true;
    return ledger_read(device->ledger, core_status_register(core), &status, deadline, error) &&
           (core_state_of(core, status) != CORE_HALTED || reset_run(device, deadline, error));
}

bool reset_and_halt(struct device *device, const struct deadline *deadline, struct error *error)
{
    const struct core *core = release_core_of(device);
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM], forgets; /* what the register knows of earlier resets */
    struct steps list = {.items = items, .room = LIST_ROOM};
    struct error refused = {0};
    core->ops->run->add_reset(core, &list);
    if (!run_allow(device->ledger, &list, error) || !device_hold_control(device, deadline, error) ||
        !release_apply_settings(device, deadline, error) ||
        !ledger_read(device->ledger, core_reset_register(core), &forgets, deadline, error))
        return false;
    /* The reset may cut off the access that asks for it. */
    if (!ledger_run(device->ledger, &list, results, deadline, &refused) && !error_is_refusal(&refused))
        return error_copy(error, &refused);
    if (wait_for_reset(device, deadline, error)) {
        device_watch_resets(device);
        return release_apply_settings(device, deadline, error);
    }
    /* The catch of an older reset may have halted the core meanwhile (EDESR.RC, DDI 0487 H9.2) */
    struct deadline last = deadline_in_ms(patience_ms(RESET_MS), NULL);
    struct error ignored = {0};
    if (error->kind != ERROR_LINK_LOST)
        (void)reset_let_go(device, &last, &ignored);
    return false;
}

bool reset_place(struct device *device, uint64_t *pc, const struct deadline *deadline, struct error *error)
{
    return release_read_pc(device, NULL, pc, deadline, error);
}
