/* SPDX-License-Identifier: MIT */
#include "run/engine_use.h"

#include "base/values.h"
#include "cores/exception.h"
#include "device/run.h"
#include "links/ledger.h"
#include "profile/stacks.h"
#include "report/place_report.h"
#include "run/elf_files.h"
#include "run/values.h"

#include <stdio.h>

enum { WHERE_ROOM = 900, EXCEPTION_ROOM = 256, CALLERS = 4, FAULT_STEPS = 128, PLACES = 4 };

struct where {
    struct session *session;
    char text[WHERE_ROOM];
    bool is_moved;
    uint64_t by;
};

static bool read_exception(struct session *session, const struct core *core, uint64_t words[EXCEPTION_WORDS])
{
    struct step items[EXCEPTION_WORDS];
    struct steps list = {.items = items, .room = EXCEPTION_WORDS};
    struct deadline deadline = session_deadline(session);
    struct error unread = {0};
    return exception_add(core, &list) && ledger_run(session->device.ledger, &list, words, &deadline, &unread);
}

void where_describe_exception(struct session *session, const struct core *core, bool only_faults, char *out,
                              size_t size)
{
    uint64_t words[EXCEPTION_WORDS] = {0};
    char text[EXCEPTION_ROOM];
    bool is_fault = false;
    out[0] = '\0';
    if (!read_exception(session, core, words))
        return;
    exception_describe(core, words, &is_fault, text, sizeof text);
    if (text[0] != '\0' && (is_fault || !only_faults))
        snprintf(out, size, ", in %s", text);
}

/* The function alone: a line has room for a few. */
static void where_add_function(struct where *where, uint64_t address)
{
    struct location location;
    symbols_describe(where->session->symbols, address, &location);
    if (location.high != 0)
        symbols_describe(where->session->symbols, location.low, &location);
    text_add(where->text, sizeof where->text, "%s", location.name);
}

/* ", called by step, main; it interrupted work.c:12 (work+0x12), called by main" */
static void add_callers(struct where *where, const struct unwind_stack *stack)
{
    const char *before = ", called by ";
    for (size_t i = 1; i < stack->count && i <= CALLERS; i++) {
        const struct unwind_frame *frame = &stack->at[i];
        if (frame->has_taken) {
            char place[PLACE_ROOM];
            place_name(where->session->symbols, unwind_place(frame), place);
            text_add(where->text, sizeof where->text, "; it interrupted %s", place);
            before = ", called by ";
            continue;
        }
        text_add(where->text, sizeof where->text, "%s", before);
        where_add_function(where, unwind_place(frame));
        before = ", ";
    }
}

static void where_add_place(struct where *where, uint64_t pc)
{
    const struct core *core = &where->session->device.chosen->core;
    char place[PLACE_ROOM];
    place_name(where->session->symbols, core_place(core, core_code_place(pc)), place);
    text_add(where->text, sizeof where->text, "The core is in %s", place);
}

/* As a boot loader that has moved itself to RAM. */
static void where_add_moved(struct where *where, uint64_t pc)
{
    struct session *session = where->session;
    uint64_t by, place = core_place(&session->device.chosen->core, core_code_place(pc));
    char offset[VALUE_OFFSET], linked[PLACE_ROOM];
    if (session->symbols == NULL || symbols_is_code(session->symbols, place) ||
        !elf_memory_find_moved(session, place, &by))
        return;
    value_offset_text(by, offset);
    place_name(session->symbols, place - by, linked);
    text_add(where->text, sizeof where->text, ", and runs the ELF's code of %s: give --load-offset %s",
             linked, offset);
}

static void add_exception(struct where *where, uint64_t status)
{
    const struct core *core = &where->session->device.chosen->core;
    char text[EXCEPTION_ROOM];
    if (core_has(core, SYSTEM_SPACE))
        where_describe_exception(where->session, core, false, text, sizeof text);
    else
        exception_describe_mode(core, status, text, sizeof text);
    text_add(where->text, sizeof where->text, "%s%s",
             !core_has(core, SYSTEM_SPACE) && text[0] != '\0' ? ", in " : "", text);
}

/* A debugger's registers do not have them. */
static void read_faults(struct where *where, struct exception_fault *fault)
{
    const struct device *device = &where->session->device;
    const struct core *core = &device->chosen->core;
    struct step items[FAULT_STEPS];
    uint64_t results[FAULT_STEPS];
    struct steps list = {.items = items, .room = FAULT_STEPS};
    struct deadline deadline = session_deadline(where->session);
    struct error unread = {0};
    size_t at[FAULT_WORDS];
    if (device->debugger == NULL && exception_add_faults(core, fault->status, &list, at) &&
        run_list(device->ledger, core, &list, results, &deadline, &unread))
        exception_take_faults(core, results, at, fault);
}

static bool is_thumb_before(struct symbols *symbols, uint64_t lr)
{
    struct location before;
    symbols_describe(symbols, lr - 2, &before);
    return before.isa == ISA_THUMB;
}

/* True in a fault, which shows where it was. */
static bool where_add_fault(struct where *where, struct engine *engine, uint64_t pc, uint64_t status,
                            const struct deadline *deadline)
{
    const struct core *core = &where->session->device.chosen->core;
    struct exception_fault fault = {.status = status, .pc = pc};
    struct register_value lr = {.which = CORE_LR};
    struct error unread = {0};
    uint64_t at;
    char place[PLACE_ROOM], text[EXCEPTION_ROOM];
    if (!exception_may_be_fault(core, status))
        return false;
    if (engine->ops->read_registers(engine, &lr, 1, deadline, &unread) && lr.known)
        fault.lr = lr.value;
    fault.in_thumb = is_thumb_before(where->session->symbols, fault.lr);
    read_faults(where, &fault);
    if (!exception_is_fault(core, &fault))
        return false;
    exception_describe_faults(core, &fault, text, sizeof text);
    text_add(where->text, sizeof where->text, "%s", text);
    if (!exception_interrupted(core, &fault, &at) ||
        (!fault.has_values && !symbols_is_code(where->session->symbols, at)))
        return true;
    place_name(where->session->symbols, at, place);
    text_add(where->text, sizeof where->text, "; %sit interrupted %s",
             exception_returns_by_lr(core, status) ? "by LR " : "", place);
    return true;
}

/* The core is halted. What cannot be read is left out. */
static void look_at_place(struct where *where, struct engine *engine)
{
    struct session *session = where->session;
    struct deadline deadline = session_deadline(session);
    struct register_value registers[] = {{.which = CORE_PC}, {.which = CORE_STATUS}};
    struct stack_reader reader = {0};
    struct error unread = {0};
    size_t n = core_has(&session->device.chosen->core, ARM_CODE) ? 2 : 1;
    if (!engine->ops->read_registers(engine, registers, n, &deadline, &unread) || !registers[0].known)
        return;
    where_add_place(where, registers[0].value);
    uint64_t status = registers[1].known ? registers[1].value : 0;
    if (n > 1)
        add_exception(where, status);
    where_add_moved(where, registers[0].value);
    bool is_fault = n > 1 && where_add_fault(where, engine, registers[0].value, status, &deadline);
    if (n > 1 && !is_fault && session->symbols != NULL &&
        stack_reader_open(&reader, &session->device, (struct stack_stop){.engine = engine}, session->symbols,
                          &unread) &&
        stack_reader_take(&reader, &deadline, &unread))
        add_callers(where, &reader.stack);
    stack_reader_close(&reader);
    text_add(where->text, sizeof where->text, ".");
}

/* A core that may be where no debugger sees it does not halt on request. */
static bool where_can_look(const struct session *session)
{
    const struct device *device = &session->device;
    const struct core *core = &device->chosen->core;
    bool can_halt = !device->looks_only &&
                    (device->debugger != NULL || (core_has_run_control(core) && core->unstoppable == NULL));
    return can_halt && *session->around->cancel == 0 && device->leave <= LEAVE_HALTED_AGAIN &&
           core_may_be_unseen(core)[0] == '\0';
}

/* Halts the core with no engine armed, for `look`. False, with the error of the halt, if the core could not
 * be let go. */
static bool halt_and_look(struct where *where, void (*look)(struct where *, struct engine *),
                          struct error *error)
{
    struct session *session = where->session;
    struct error unread = {0};
    if (!where_can_look(session))
        return true;
    struct engine *engine = session_engine(session, &unread);
    if (engine == NULL)
        return true;
    struct deadline deadline = session_deadline(session);
    if (engine->ops->stand(engine, &deadline, &unread))
        look(where, engine);
    bool ok = session_disarm(session, engine, error);
    engine->ops->free(engine);
    return ok;
}

static bool where_read_pc(struct where *where, struct engine *engine, uint64_t *out)
{
    struct session *session = where->session;
    struct register_value pc = {.which = CORE_PC};
    struct deadline deadline = session_deadline(session);
    struct error unread = {0};
    if (!engine->ops->read_registers(engine, &pc, 1, &deadline, &unread) || !pc.known)
        return false;
    *out = core_place(&session->device.chosen->core, core_code_place(pc.value));
    return true;
}

static void look_whether_moved(struct where *where, struct engine *engine)
{
    uint64_t pc;
    where->is_moved =
        where_read_pc(where, engine, &pc) && elf_memory_find_moved(where->session, pc, &where->by);
}

bool where_moved(struct session *session, uint64_t *by)
{
    struct where where = {.session = session};
    const struct device_core *chosen = session->device.chosen;
    struct error ignored = {0};
    struct deadline deadline = session_deadline(session);
    if (chosen->state == CORE_HALTED)
        return elf_memory_find_moved(session, core_place(&chosen->core, chosen->halted_at), by);
    if (!device_take(&session->device, false, "", &deadline, &ignored) || !where_can_look(session))
        return false;
    for (int i = 0; i < PLACES && !where.is_moved; i++)
        if (!halt_and_look(&where, look_whether_moved, &ignored))
            return false;
    *by = where.by;
    return where.is_moved;
}

bool where_tell(struct session *session, struct error *error)
{
    struct error after = {0}, place = {.kind = error->kind};
    struct where where = {.session = session};
    if (error->kind != ERROR_START && error->kind != ERROR_END)
        return true;
    if (!halt_and_look(&where, look_at_place, &after))
        return error_replace(error, &after);
    snprintf(place.text, sizeof place.text, "%s", where.text);
    if (where.text[0] != '\0')
        error_add(error, &place);
    return true;
}

/* ---- engine use */

/* Whether the use did its work is *ok. */
static bool use_one(struct session *session, struct engine *engine, engine_use *use, void *context, bool *ok,
                    struct error *why, struct error *after)
{
    struct deadline deadline = session_deadline(session);
    *ok = use(context, engine, &deadline, why);
    bool sound = session_end_engine(session, engine, why, after);
    engine->ops->free(engine);
    return sound;
}

bool engine_use_quietly(struct session *session, engine_use *use, void *context, struct error *why,
                        struct error *after)
{
    bool ok;
    struct engine *engine = session_engine(session, why);
    return engine == NULL || use_one(session, engine, use, context, &ok, why, after);
}

bool engine_use_this(struct session *session, struct engine *engine, engine_use *use, void *context,
                     struct error *error)
{
    struct error after = {0};
    bool ok;
    if (!use_one(session, engine, use, context, &ok, error, &after))
        ok = error_copy(error, &after);
    return where_tell(session, error) && ok;
}

bool engine_use_once(struct session *session, engine_use *use, void *context, struct error *error)
{
    struct engine *engine = session_engine(session, error);
    return engine != NULL && engine_use_this(session, engine, use, context, error);
}
