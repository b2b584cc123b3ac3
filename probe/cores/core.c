/* SPDX-License-Identifier: MIT */
#include "cores/core.h"

#include "base/arm_debug.h"

#include <stdio.h>

static struct address word(uint16_t unit, uint64_t offset)
{
    return (struct address){.space = SPACE_MEMORY, .size = 4, .unit = unit, .offset = offset};
}

void core_register_name(const struct core *core, enum core_register which, char *out, size_t size)
{
    if (which >= CORE_R0)
        snprintf(out, size, "%c%u", core_has(core, WIDE_REGISTERS) ? 'x' : 'r',
                 (unsigned)(which - CORE_R0) & 31U);
    else
        snprintf(out, size, "%s", core->ops->register_names[which]);
}

bool core_debug_name(const struct core *core, struct address at, char *out, size_t size)
{
    for (const struct core_debug_name *one = core->ops->debug_names; one != NULL && one->name != NULL;
         one++) {
        for (uint32_t i = 0; i == 0 || i < one->count; i++) {
            uint32_t offset = one->offset + one->apart * i;
            if (one->in_cti && core->cti_base == 0)
                break;
            if (!address_same(at, one->in_cti ? core_cti(core, offset) : core_debug(core, offset)))
                continue;
            if (one->count == 0)
                snprintf(out, size, "%s", one->name);
            else
                snprintf(out, size, "%s%u%s", one->name, (unsigned)i, one->after != NULL ? one->after : "");
            return true;
        }
    }
    return false;
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
    return core->security == SECURITY_HIDDEN ? ". The chip never stops in Secure code (DAUTHSTATUS)" : "";
}

struct setting core_open_lock(struct address lock, struct address status)
{
    return (struct setting){.at = lock,
                            .test_at = status,
                            .lock = true,
                            .test = LSR_LOCKED,
                            .key = LAR_KEY,
                            .restore = {.mask = 1}};
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

void core_add_let_go(const struct core *core, struct steps *list)
{
    if (core_can_hold(core))
        core_add_hold(core, list, false);
    core_add_run(core, list);
}

bool core_take_state(struct core *core, bool wide)
{
    if (core_has(core, WIDE_REGISTERS) == wide)
        return true;
    if (core->ops->other_state == NULL || (core_part(core)->quirks & ONLY_AARCH32) != 0)
        return false;
    core->ops = core->ops->other_state;
    core_note_state(core, core->ops->state->at_first);
    return true;
}

bool core_halted_test(const struct core *core, struct step *out)
{
    if (!core_has_run_control(core) || core->ops->state->halted == 0)
        return false;
    *out = step_until(core_status_register(core), core->ops->state->halted, core->ops->state->halted);
    return true;
}

bool core_spare_register(const struct core *core, bool coprocessor, bool call, enum core_register *out)
{
    const struct core_register_ops *ops = core->ops->registers;
    *out = call ? CORE_LR : ops->spare;
    return *out != CORE_PC && (coprocessor || !ops->spare_for_coprocessor) && (!call || ops->spare_is_lr);
}

struct core_spare_at core_spare_add(const struct core *core, enum core_register which, struct steps *list)
{
    struct core_spare_at at = {.held = core_add_register(core, list, which)};
    if (core->ops->registers->selector != NULL) {
        const struct step read = step_read(core->ops->registers->selector());
        core_add_coprocessor(core, list, &read, 1, NULL, &at.selector);
    }
    return at;
}

struct core_spare core_spare_take(const struct core *core, enum core_register which,
                                  const struct core_spare_at *at, const uint64_t *results)
{
    struct core_spare out = {
        .held = {.which = which, .value = core_register_value(core, which, results, at->held)}};
    if (core->ops->registers->selector != NULL)
        out.selector = results[at->selector];
    return out;
}

void settings_add(struct settings *list, struct setting setting)
{
    if (list->n < list->room)
        list->out[list->n++] = setting;
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
