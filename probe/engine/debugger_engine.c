/* SPDX-License-Identifier: MIT */
/* The debugger engine. One breakpoint moves from the start to the end and back. Places are as core_code makes
 * them. */
#include "base/arm_debug.h"
#include "code/instruction.h"
#include "device/settings.h"
#include "engine/debuggee.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STILL_MS = 20 };

/* --- re-hits -------------------------------------------------------------------------------------------- */

/* The instruction after the one at `here`; 0: the core may go elsewhere, or the length is unknown. */
static uint64_t next_after(struct debugger_engine *self, uint64_t here)
{
    uint8_t code[4];
    bool thumb = debuggee_code_size(self, here) == THUMB_KIND;
    enum instruction_set isa = core_has(self->core, WIDE_REGISTERS) ? ISA_A64 : thumb ? ISA_THUMB : ISA_ARM;
    struct error unread = {0};
    struct deadline limit = debuggee_read_time(self);
    if (core_has(self->core, PROGRAM_ONLY)) /* its instructions vary in length */
        return 0;
    if (!self->debugger->ops->read_memory(self->debugger, core_place(self->core, here), code, sizeof code,
                                          &limit, &unread))
        return 0;
    uint32_t first = code[0] | (uint32_t)code[1] << 8, second = code[2] | (uint32_t)code[3] << 8;
    bool one_half = thumb && !instruction_is_wide(first);
    struct instruction one = instruction_of(isa,
                                            one_half ? first
                                            : thumb  ? first << 16 | second
                                                     : second << 16 | first,
                                            0);
    return one.kind == GOES_ON ? here + one.size : 0;
}

/*
 * Finds out whether a resume onto our own breakpoint executes nothing. With a server that steps over its
 * breakpoints, whole passages would be taken for the cost of a halt: a guard after the instruction shows it.
 * *moved: the core went on to the guard.
 */
static bool try_rehit(struct debugger_engine *self, uint64_t here, bool *moved, struct error *error)
{
    uint64_t guard = next_after(self, here), pc = 0;
    struct error refused = {0};
    *moved = false;
    if (guard == 0)
        return true;
    if (!debuggee_set_breakpoint(self, guard, true, &refused))
        return refused.kind == ERROR_ADDRESS || refused.kind == ERROR_NO_COMPARATOR ||
               error_copy(error, &refused);
    self->guard = guard;
    if (!debuggee_run_to_stop(self, WAIT_END, error) || !debuggee_register(self, CORE_PC, &pc, error))
        return false; /* disarm removes the guard */
    if (!debuggee_set_breakpoint(self, guard, false, error))
        return false;
    self->guard = BREAKPOINT_NONE;
    *moved = core_place(self->core, pc) == core_place(self->core, guard);
    self->rehit =
        core_place(self->core, pc) == core_place(self->core, here) ? REHIT_STOPS_AGAIN : REHIT_STEPS_OVER;
    return *moved || debuggee_confirm_stop(self, here, error);
}

/* From the stop at `here` to the same stop, delivered to the sink once nothing else turns out to have written
 * the counters. *moved: the core went on while the first one was tried. */
static bool run_rehits(struct debugger_engine *self, uint64_t here, unsigned rehits, bool *moved,
                       struct error *error)
{
    const struct progress before = self->progress; /* no time of the region passes in a re-hit */
    *moved = false;
    progress_note(&self->progress);
    if (rehits > 0 && self->rehit == REHIT_UNKNOWN && !try_rehit(self, here, moved, error))
        return false;
    self->progress = before;
    if (self->rehit != REHIT_STOPS_AGAIN)
        return true;
    struct raw_hit done[ENGINE_REHITS];
    unsigned n = 0, wanted = rehits < ENGINE_REHITS ? rehits : ENGINE_REHITS;
    bool reset = false;
    for (unsigned i = 0; i < wanted; i++) {
        struct raw_hit rehit = {.pairs = 1};
        bool pending = false;
        self->disturbed = false;
        progress_note(&self->progress);
        if (!debuggee_read_counters(self, rehit.from, &pending, NULL, error) ||
            !debuggee_run_to_stop(self, WAIT_END, error) || !debuggee_confirm_stop(self, here, error) ||
            !debuggee_read_counters(self, rehit.to, NULL, i + 1 == wanted ? &reset : NULL, error))
            return false;
        if (!pending && !self->disturbed) /* else a handler ran in it */
            done[n++] = rehit;
    }
    self->progress = before;
    if (reset)
        return error_reset(error);
    for (unsigned i = 0; i < n; i++)
        self->sink->rehit(self->sink->context, &done[i]);
    return true;
}

/* --- the call that is measured -------------------------------------------------------------------------- */

static bool debugger_engine_read_for_call(void *context, enum core_register which, uint64_t *out,
                                          struct error *error)
{
    return debuggee_register(context, which, out, error);
}

static bool can_watch(void *context, unsigned n, uint64_t at, bool *can, struct error *error)
{
    const struct debugger_engine *self = context;
    (void)n, (void)error;
    *can = self->can_watch && core_can_compare(self->core, core_place(self->core, at));
    return true;
}

static struct call_access access_to(struct debugger_engine *self)
{
    return (struct call_access){.device = self->device,
                                .region = &self->region,
                                .deadline = self->deadline,
                                .context = self,
                                .read = debugger_engine_read_for_call,
                                .can_stop = can_watch};
}

static bool read_stack(struct debugger_engine *self, uint64_t *words, struct error *error)
{
    struct step items[FRAME_WORDS];
    struct steps list = {.items = items, .room = FRAME_WORDS};
    struct deadline limit = debuggee_read_time(self);
    for (unsigned i = 0; i < FRAME_WORDS; i++)
        steps_add(&list, step_read(core_word(self->core, self->call.frame.sp + UINT64_C(4) * i)));
    return ledger_run(self->device->ledger, &list, words, &limit, error);
}

/* Halted at a function's entry. *inner: the function called itself. */
static bool find_return(struct debugger_engine *self, bool *inner, struct error *error)
{
    bool on_stack = frame_is_on_stack(self->core);
    uint64_t words[FRAME_WORDS];
    const struct call_access access = access_to(self);
    if ((!on_stack && !debuggee_register(self, CORE_LR, &self->call.frame.lr, error)) ||
        !debuggee_register(self, CORE_SP, &self->call.frame.sp, error) ||
        (on_stack && !read_stack(self, words, error)) ||
        !call_enter(&self->call, &access, words, inner, error))
        return false;
    self->progress.inner += *inner;
    self->progress.by_jump = self->call.by_jump;
    self->drops = !*inner && self->call.is_partial;
    return true;
}

static bool find_base(struct debugger_engine *self, struct error *error)
{
    uint64_t base;
    if (!debuggee_register(self, self->region.start_base, &base, error))
        return false;
    frame_find_base(&self->call.frame, self->core, &self->region, base);
    return true;
}

/* --- a hit ---------------------------------------------------------------------------------------------- */

static bool is_this_hit(struct debugger_engine *self, bool *ours, struct error *error)
{
    const struct call_access access = access_to(self);
    *ours = strcmp(self->stop.thread, self->thread) == 0;
    if (!*ours || !(self->region.to_return || self->region.in_function))
        return true;
    return call_check_end(&self->call, &access, ours, error);
}

static bool look_at_stop(struct debugger_engine *self, enum call_stop *what, struct error *error)
{
    uint64_t pc = 0;
    const struct call_access access = access_to(self);
    *what = CALL_ENDS;
    if (self->n_set == 0 || self->stop.why != DEBUGGER_TRAP)
        return true;
    if (!debuggee_register(self, CORE_PC, &pc, error))
        return false;
    const struct other_stop *other = others_find(&self->call.others, self->core, pc);
    if (other != NULL && !call_look(&self->call, &access, other, what, error))
        return false;
    bool leaves = *what == CALL_IS_LEFT || *what == CALL_BEGINS || *what == CALL_MAY_LEAVE;
    if (leaves && strcmp(self->stop.thread, self->thread) != 0)
        *what = CALL_IS_MADE;
    return true;
}

/* One instruction past a stop that is not the end. *again: it removes the call's frame. */
static bool step_past(struct debugger_engine *self, enum call_stop what, bool *again, struct error *error)
{
    const struct call_access access = access_to(self);
    uint64_t sp = 0, pc = 0;
    if (!debuggee_register(self, CORE_PC, &pc, error) ||
        !call_may_step(&self->region, self->core, pc, error) || !debuggee_step(self, error))
        return false;
    self->hit.pairs += 2;
    self->hit.steps++;
    self->hit.past++;
    if (self->call.exits_changed && !call_watch_exits(&self->call, &access, error))
        return false;
    if (what != CALL_MAY_LEAVE)
        return true;
    if (!debuggee_register(self, CORE_SP, &sp, error))
        return false;
    *again = call_is_left(&self->call, sp);
    return true;
}

/* Runs on until this hit ends. *again: it never will, for its call was made again. */
static bool reach_end(struct debugger_engine *self, bool *again, struct error *error)
{
    *again = false;
    for (;;) {
        bool pending = false, ours = false;
        enum call_stop what = CALL_ENDS;
        call_forget_exit(&self->call, self->core);
        uint64_t end = debuggee_end(self);
        if (!debuggee_check_time(self, error) || !debuggee_move_breakpoint(self, end, error) ||
            !debuggee_set_others(self, true, error) ||
            !debuggee_read_counters(self, NULL, &pending, NULL, error))
            return false;
        self->hit.tainted = self->hit.tainted || pending;
        if (self->hit.past == 0 && self->region.start != end)
            self->hit.before_us = (uint64_t)deadline_now_us();
        if (!debuggee_run_to_stop(self, WAIT_END, error))
            return false;
        self->hit.after_us = (uint64_t)deadline_now_us();
        self->hit.pairs += self->stop.halts;
        self->hit.steps += self->stop.steps;
        if (!look_at_stop(self, &what, error))
            return false;
        if (what == CALL_ENDS &&
            (!debuggee_confirm_stop(self, debuggee_end(self), error) || !is_this_hit(self, &ours, error)))
            return false;
        *again = what == CALL_IS_LEFT || what == CALL_BEGINS;
        self->at_start = what == CALL_BEGINS;
        if (!debuggee_set_others(self, false, error))
            return false;
        if (ours)
            return device_check_remote(self->device, &self->stop, error);
        if (!*again && !step_past(self, what, again, error))
            return false;
        self->progress.lost += *again;
        if (*again)
            return true;
    }
}

static bool engine_read_words(struct debugger_engine *self, struct error *error)
{
    const struct at_end *at_end = self->request->at_end;
    struct deadline limit = debuggee_read_time(self);
    for (size_t i = 0; at_end != NULL && i < at_end->n; i++) {
        const struct at_end_word *word = &at_end->words[i];
        if (word->is_register
                ? !debuggee_register(self, word->which, &self->hit.words[i], error)
                : !ledger_read(self->device->ledger, word->at, &self->hit.words[i], &limit, error))
            return false;
    }
    return true;
}

static bool debugger_engine_deliver(struct debugger_engine *self, struct error *error)
{
    bool reset = false;
    if (!debuggee_read_counters(self, self->hit.to, NULL, &reset, error) || !engine_read_words(self, error) ||
        !engine_prove(&self->engine, &self->region, true, error))
        return false;
    if (reset)
        return error_reset(error);
    self->hit.end_address = debuggee_end(self);
    progress_note(&self->progress);
    if (self->drops) { /* it may have begun in the middle of a call */
        if (self->call.has_ended && self->sink->unproved != NULL)
            self->enough = !self->sink->unproved(self->sink->context, &self->hit) || self->enough;
        return true;
    }
    self->hits++;
    if (!self->sink->hit(self->sink->context, &self->hit) || self->hits >= self->request->hits)
        self->enough = true;
    if (self->sink->ended != NULL && !self->sink->ended(self->sink->context, error))
        return false;
    progress_note(&self->progress); /* and not the time that this took */
    return true;
}

static bool debugger_engine_read_registers(struct engine *engine, struct register_value *registers, size_t n,
                                           const struct deadline *deadline, struct error *error)
{
    struct debugger_engine *self = (struct debugger_engine *)engine;
    const struct deadline *before = self->deadline;
    bool ok = true;
    self->deadline = deadline; /* in `ended` the run's is kept */
    for (size_t i = 0; ok && i < n; i++) {
        struct error lacking = {0};
        registers[i].known = debuggee_register(self, registers[i].which, &registers[i].value, &lacking);
        ok = registers[i].known || lacking.kind == ERROR_FAULT || error_copy(error, &lacking);
    }
    self->deadline = before;
    return ok;
}

/* Waits at the start, and finds out where the hit ends. *inner: a function called itself, and is stepped past
 * its entry. */
static bool debugger_engine_reach_start(struct debugger_engine *self, bool *inner, struct error *error)
{
    *inner = false;
    if (!debuggee_move_breakpoint(self, self->region.start, error) ||
        (!self->at_start && !debuggee_run_to_stop(self, WAIT_START, error)))
        return false;
    self->at_start = false;
    if (!debuggee_confirm_stop(self, self->region.start, error) ||
        !device_check_remote(self->device, &self->stop, error) ||
        !engine_prove(&self->engine, &self->region, false, error))
        return false;
    snprintf(self->thread, sizeof self->thread, "%s", self->stop.thread);
    if (self->region.in_function)
        return find_base(self, error);
    if (!self->region.to_return)
        return true;
    if (!find_return(self, inner, error))
        return false;
    return !*inner || (call_may_step(&self->region, self->core, self->region.start, error) &&
                       debuggee_check_time(self, error) && debuggee_step(self, error));
}

/* One passage from start to end, with *rehits at either end if it becomes a hit; then *rehits is 0. */
static bool pass_once(struct debugger_engine *self, unsigned *rehits, struct error *error)
{
    bool inner = false, again = false, moved = false;
    if (!debugger_engine_reach_start(self, &inner, error))
        return false;
    if (inner)
        return true;
    if (!run_rehits(self, self->region.start, *rehits, &moved, error))
        return false;
    if (moved)
        return true;
    bool round = self->region.start == debuggee_end(self);
    bool steps = round || others_find(&self->call.others, self->core, self->region.start) != NULL;
    self->hit = (struct raw_hit){.pairs = steps ? 2 : 1, .steps = steps ? 1 : 0};
    if (!debuggee_read_counters(self, self->hit.from, NULL, NULL, error))
        return false;
    self->hit.before_us = (uint64_t)deadline_now_us();
    self->under_way = true;
    if (self->progress.lost == 0)
        progress_note(&self->progress);
    if ((steps && !debuggee_step(self, error)) || !reach_end(self, &again, error))
        return false;
    self->under_way = false;
    call_over(&self->call, &self->region);
    if (again) {
        if (self->sink->left != NULL)
            self->sink->left(self->sink->context, &self->hit);
        return true;
    }
    if (!debugger_engine_deliver(self, error))
        return false;
    unsigned after = *rehits;
    *rehits = 0;
    if (after > 0 && !debuggee_move_breakpoint(self, debuggee_end(self), error))
        return false;
    if (!run_rehits(self, debuggee_end(self), after, &moved, error))
        return false;
    self->at_start = round && !moved;
    return true;
}

/* --- the engine ----------------------------------------------------------------------------------------- */

/* The server has it halted, and its own register says that it runs. */
static bool runs_all_the_same(struct debugger_engine *self)
{
    uint64_t status;
    struct deadline limit = debuggee_read_time(self);
    struct error unread = {0};
    return core_has_run_control(self->core) &&
           ledger_read(self->device->ledger, core_status_register(self->core), &status, &limit, &unread) &&
           core_state_of(self->core, status) != CORE_HALTED;
}

/* A counter that runs while the core is halted would count the debugger's time. */
static bool stands_still(struct debugger_engine *self, struct error *error)
{
    uint64_t before[READING_ROOM], after[READING_ROOM];
    const struct reading *reading = &self->device->reading;
    if (!debuggee_read_counters(self, before, NULL, NULL, error))
        return false;
    deadline_nap_us(INT64_C(1000) * STILL_MS);
    if (!debuggee_read_counters(self, after, NULL, NULL, error))
        return false;
    for (size_t i = 0; i < reading->counted; i++)
        if (before[i] != after[i] && runs_all_the_same(self))
            return error_reset(error);
        else if (before[i] != after[i])
            return error_set(error, ERROR_NO_COUNTER,
                             "%s goes on while the core is halted: it would count the debugger's time%s",
                             reading->counters[i].name, device_remote_advice(self->device));
    return true;
}

/* Whether the server has a second breakpoint, tried for a moment after the entry's first instruction. */
static bool try_second(struct debugger_engine *self, struct error *error)
{
    struct error refused = {0};
    uint64_t second = self->region.start + debuggee_code_size(self, self->region.start);
    self->can_watch = true;
    if (!self->region.may_be_left || !self->region.to_return || core_has(self->core, PROGRAM_ONLY))
        return true;
    self->can_watch = debuggee_set_breakpoint(self, second, true, &refused);
    if (self->can_watch)
        return debuggee_set_breakpoint(self, second, false, error);
    if (refused.kind != ERROR_ADDRESS && refused.kind != ERROR_NO_COMPARATOR)
        return error_copy(error, &refused);
    self->call.doubt = "the server has no second breakpoint" CALL_COUNTS_ON;
    return true;
}

/* Whether the server has one for a writer, next to those before it, which are left set. */
static bool try_writer(void *context, unsigned n, uint64_t at, bool *can, struct error *error)
{
    struct debugger_engine *self = context;
    struct error refused = {0};
    *can = debuggee_set_breakpoint(self, at, true, &refused);
    self->n_set = *can ? n + 1 : n;
    return *can || refused.kind == ERROR_ADDRESS || refused.kind == ERROR_NO_COMPARATOR ||
           error_copy(error, &refused);
}

static bool try_writers(struct debugger_engine *self, struct error *error)
{
    struct call_access access = access_to(self);
    access.can_stop = try_writer;
    self->n_set = 0;
    return call_begin(&self->call, &access, error);
}

static bool debugger_arm(struct engine *engine, const struct region *region, const struct deadline *deadline,
                         struct error *error)
{
    struct debugger_engine *self = (struct debugger_engine *)engine;
    self->deadline = deadline;
    self->debugger->undoing = false;
    self->region = *region;
    self->region.start = core_code(self->core, region->start, region->start_is_thumb);
    self->region.end = core_code(self->core, region->end, region->end_is_thumb);
    if (!process_check_debugged(&region->process, error))
        return false;
    const struct setting step = core_debugger_step(self->core);
    if (!settings_apply_core(self->device->ledger, self->core, APPLY_ALL, deadline, error) ||
        (step.at.size != 0 && !ledger_apply(self->device->ledger, &step, deadline, error)))
        return false;
    self->drops = false;
    /* Both ends, so that a refused one shows now; the start may be among the others, too */
    if (!stands_still(self, error) ||
        !debuggee_move_breakpoint(self, region->to_return ? self->region.start : self->region.end, error) ||
        !try_writers(self, error) || !try_second(self, error) || !debuggee_set_others(self, false, error) ||
        !debuggee_move_breakpoint(self, self->region.start, error))
        return false;
    call_doubt(&self->call, region, engine);
    return true;
}

static bool debugger_engine_run(struct engine *engine, const struct engine_request *request,
                                const struct engine_sink *sink, const struct deadline *deadline,
                                struct error *error)
{
    struct debugger_engine *self = (struct debugger_engine *)engine;
    unsigned rehits = request->rehits;
    self->deadline = deadline;
    self->request = request;
    self->sink = sink;
    self->hits = 0;
    self->enough = self->under_way = false;
    engine->under_way = NULL;
    progress_note(&self->progress);
    /* In each pass, if other programs run on the counted core */
    if (self->device->remote != NULL && !stands_still(self, error))
        return false;
    while (!self->enough && pass_once(self, &rehits, error))
        ;
    engine->under_way = !self->enough && self->under_way && !self->drops ? &self->hit : NULL;
    call_doubt(&self->call, &self->region, engine);
    if (!self->enough)
        return false;
    if (request->rehits > 0 && self->rehit != REHIT_STOPS_AGAIN)
        snprintf(engine->uncalibrated, sizeof engine->uncalibrated, "%s",
                 self->rehit == REHIT_STEPS_OVER ? "the debugger steps over a breakpoint where it resumes"
                 : core_has(self->core, PROGRAM_ONLY)
                     ? "it is not known where an x86-64 instruction ends"
                     : "it is not known whether a resumed core stops again at once");
    return true;
}

static bool clear_guard(struct debugger_engine *self, struct error *error)
{
    if (self->guard != BREAKPOINT_NONE && !debuggee_set_breakpoint(self, self->guard, false, error))
        return false;
    self->guard = BREAKPOINT_NONE;
    return true;
}

/* A single step ended there, or the request to go on after one was lost. Where a branch was stepped that is
 * not known. */
static bool is_after_step(const struct debugger_engine *self, uint64_t pc)
{
    uint64_t beyond = pc - core_place(self->core, self->stepped);
    bool is_next = self->stepped != BREAKPOINT_NONE && (beyond == 2 || beyond == 4);
    return self->stop.why == DEBUGGER_TRAP && (self->steps || is_next);
}

static bool debugger_engine_disarm(struct engine *engine, const struct deadline *deadline,
                                   struct error *error)
{
    struct debugger_engine *self = (struct debugger_engine *)engine;
    uint64_t pc = 0;
    bool ran = self->debugger->ops->is_running(self->debugger);
    self->deadline = deadline;
    self->debugger->undoing = true;
    if (!debugger_halt(self->debugger, &self->stop, error))
        return false;
    if (ran && self->stop.why != DEBUGGER_REQUESTED) { /* it stopped by itself just before */
        if (!debuggee_register(self, CORE_PC, &pc, error))
            return false;
        self->engine.stopped_at = core_place(self->core, pc);
        pc = self->engine.stopped_at;
        self->foreign_stop = !is_after_step(self, pc) && pc != core_place(self->core, self->breakpoint) &&
                             pc != core_place(self->core, self->left) && /* the request to go on was lost */
                             (self->n_set == 0 || others_find(&self->call.others, self->core, pc) == NULL);
    }
    if (self->foreign_stop)
        device_leave_as(self->device, LEAVE_HALTED_FOREIGN);
    return clear_guard(self, error) && debuggee_set_others(self, false, error) &&
           debuggee_move_breakpoint(self, BREAKPOINT_NONE, error);
}

static bool debugger_stand(struct engine *engine, const struct deadline *deadline, struct error *error)
{
    struct debugger_engine *self = (struct debugger_engine *)engine;
    (void)deadline;
    return debugger_halt(self->debugger, &self->stop, error);
}

static void debugger_engine_free_engine(struct engine *engine)
{
    free(engine);
}

struct engine *debugger_engine_new(struct device *device)
{
    static const struct engine_ops ops = {.arm = debugger_arm,
                                          .run = debugger_engine_run,
                                          .stand = debugger_stand,
                                          .read_registers = debugger_engine_read_registers,
                                          .disarm = debugger_engine_disarm,
                                          .free = debugger_engine_free_engine};
    struct debugger_engine *self = calloc(1, sizeof *self);
    if (self == NULL)
        return NULL;
    self->engine.ops = &ops;
    self->device = device;
    self->debugger = device->debugger;
    self->core = &device->chosen->core;
    self->breakpoint = self->left = self->guard = self->stepped = BREAKPOINT_NONE;
    return &self->engine;
}

/* --- where the core is ---------------------------------------------------------------------------------- */

/* The PC, as code. */
static bool find_here(struct debugger_engine *self, uint64_t *here, struct error *error)
{
    uint64_t pc, status = 0;
    if (!debuggee_register(self, CORE_PC, &pc, error) ||
        (core_has(self->core, THUMB_BY_BIT) && !debuggee_register(self, CORE_STATUS, &status, error)))
        return false;
    *here = core_code(self->core, pc, core_has(self->core, THUMB_ONLY) || (status & CPSR_T) != 0);
    return true;
}

static bool ignore_hit(void *context, const struct raw_hit *hit)
{
    (void)context;
    (void)hit;
    return false;
}

bool debugger_engine_calibrate_here(struct engine *engine, unsigned rehits, unsigned steps,
                                    const struct engine_sink *sink, const struct deadline *deadline,
                                    struct error *error)
{
    enum { TIMEOUT_MS = 5000 };
    struct debugger_engine *self = (struct debugger_engine *)engine;
    const struct engine_request request = {.rehits = rehits, .timeout_ms = patience_ms(TIMEOUT_MS)};
    struct engine_sink own = *sink;
    uint64_t here;
    bool moved = false;
    if (own.hit == NULL)
        own.hit = ignore_hit;
    self->deadline = deadline;
    self->request = &request;
    self->sink = &own;
    progress_note(&self->progress);
    for (;;) {
        if (!find_here(self, &here, error) || !debuggee_move_breakpoint(self, here, error) ||
            !run_rehits(self, here, rehits, &moved, error) ||
            !debuggee_move_breakpoint(self, BREAKPOINT_NONE, error))
            return false;
        if (self->rehit != REHIT_UNKNOWN || steps-- == 0)
            return true;
        if (!debuggee_step(self, error)) /* past a branch: no place for a guard is known */
            return false;
    }
}

bool debugger_engine_read(struct engine *engine, uint64_t *values, bool *reset,
                          const struct deadline *deadline, struct error *error)
{
    struct debugger_engine *self = (struct debugger_engine *)engine;
    self->deadline = deadline;
    return debuggee_read_counters(self, values, NULL, reset, error);
}
