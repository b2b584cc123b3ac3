#include "cores/architectures.h"
#include "cores/instructions.h"
#include "device/blocks.h"
#include "device/remote_counters.h"
#include "engine/debugger_stops.h"
#include "engine/engine.h"
#include "engine/stops.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LIST_ROOM = READING_STEPS + 8, READ_MS = 5000, STILL_MS = 20 };

static struct deadline some_time(const struct deadline *deadline)
{
    return deadline_in_ms(patience_ms(READ_MS), deadline->cancel);
}

static uint64_t end_of(const struct debugger_engine *self)
{
    return self->region.to_return ? self->place.pc : self->region.end;
}

static bool is_pending(struct debugger_engine *self, bool *pending, const struct deadline *deadline,
                       struct error *error)
{
    struct step items[2];
    uint64_t results[2];
    struct steps list = {.items = items, .room = 2};
    struct deadline limit = some_time(deadline);
    size_t at = core_add_pending(self->core, &list);
    *pending = false;
    if (at == SIZE_MAX)
        return true;
    if (!ledger_run(self->device->ledger, &list, results, &limit, error))
        return false;
    *pending = core_pending(self->core, results[at]);
    return true;
}

/* --- a hit ---------------------------------------------------------------------------------------------- */

/* Where the call of this entry was made, to see when it is made again. */
static bool find_call(struct debugger_engine *self, const struct deadline *deadline, struct error *error)
{
    struct deadline limit = some_time(deadline);
    uint64_t call = POINT_NONE;
    if (self->call_known && self->call_lr == self->entry_lr)
        return true;
    self->n_others = 0;
    self->call_known = false;
    if (!self->can_watch)
        return true;
    if (!entry_call(self->device, self->entry_lr, &call, &limit, error))
        return false;
    self->call_lr = self->entry_lr;
    self->call_known = true;
    self->others[0] = call;
    self->n_others = call != POINT_NONE;
    return true;
}

static void take_exit(struct debugger_engine *self, size_t i)
{
    const struct exit_place *exit = &self->region.exits[i];
    self->place = (struct return_place){.pc = core_code(self->core, exit->at, true),
                                        .sp = (self->entry_sp - UINT64_C(4) * exit->popped) & UINT32_MAX};
}

/* A handler ends at its own return: what comes then may be another handler, or another task. */
static bool find_exits(struct debugger_engine *self, struct error *error)
{
    if (!exits_check(&self->region, error))
        return false;
    self->call_known = false;
    self->n_others = (unsigned)self->region.n_exits - 1;
    for (unsigned i = 0; i < self->n_others; i++)
        self->others[i] = core_code(self->core, self->region.exits[i + 1].at, true);
    take_exit(self, 0);
    return true;
}

/* A call that is the last thing in its function does not return there, but to what happens to come next. */
static bool check_return(const struct debugger_engine *self, struct error *error)
{
    const struct region *region = &self->region;
    uint64_t to = core_place(self->core, self->place.pc);
    if (!entry_check_return(self->core, self->entry_lr, error))
        return false;
    if (region->is_return == NULL || region->is_return(region->context, to))
        return true;
    return error_set(error, ERROR_STATE,
                     "the call that returns to 0x%08" PRIX64
                     " is the last instruction of its caller: it is not meant to return. Name an end as well",
                     to);
}

/* Halted at a start in the same function as the end: where this frame is then. */
static bool find_frame(struct debugger_engine *self, const struct deadline *deadline, struct error *error)
{
    uint64_t all = self->core->family == CORE_ARMV8 ? UINT64_MAX : UINT32_MAX;
    if (!debugger_engine_register(self, self->region.start_base, &self->entry_sp, deadline, error))
        return false;
    self->place.sp = (self->entry_sp + (uint64_t)self->region.apart) & all;
    return true;
}

/* Halted at a function's entry: learns where this call returns to. *inner: it was called by itself. */
static bool find_return(struct debugger_engine *self, bool *inner, const struct deadline *deadline,
                        struct error *error)
{
    uint64_t status = 0;
    bool has_lr = self->core->family != CORE_X86_64; /* there the stack has it */
    if ((has_lr && !debugger_engine_register(self, CORE_LR, &self->entry_lr, deadline, error)) ||
        !debugger_engine_register(self, CORE_SP, &self->entry_sp, deadline, error))
        return false;
    *inner = false;
    if (core_has_exception_modes(self->core) && !self->from_call &&
        (!debugger_engine_register(self, CORE_STATUS, &status, deadline, error) ||
         !entry_check(self->device, status, self->entry_lr, self->region.start, deadline, error)))
        return false;
    self->from_call = true;
    self->by_frame = core_returns_by_frame(self->core, self->entry_lr);
    if (!self->by_frame) {
        self->place =
            (struct return_place){.pc = core_code_of_lr(self->core, self->entry_lr), .sp = self->entry_sp};
        *inner = self->place.pc >= self->region.low && self->place.pc < self->region.high;
        self->inner += *inner;
        return *inner || (check_return(self, error) && find_call(self, deadline, error));
    }
    if (has_lr)
        return find_exits(self, error);
    struct step items[FRAME_WORDS];
    uint64_t words[FRAME_WORDS];
    struct steps list = {.items = items, .room = FRAME_WORDS};
    struct deadline limit = some_time(deadline);
    for (unsigned i = 0; i < FRAME_WORDS; i++)
        steps_add(&list, step_read(core_word(self->core, self->entry_sp + UINT64_C(4) * i)));
    if (!ledger_run(self->device->ledger, &list, words, &limit, error))
        return false;
    self->place = core_frame_return(self->core, self->entry_sp, words);
    *inner = self->place.pc >= self->region.low && self->place.pc < self->region.high;
    self->inner += *inner;
    return true;
}

/* Whether the stop at the end is that of this passage: of its core, and in its frame. */
static bool is_this_passage(struct debugger_engine *self, bool *ours, const struct deadline *deadline,
                            struct error *error)
{
    uint64_t sp = self->place.sp;
    *ours = strcmp(self->stop.thread, self->thread) == 0;
    if (!*ours || !(self->region.to_return || self->region.in_function))
        return true;
    enum core_register base = self->region.in_function ? self->region.end_base : CORE_SP;
    if (!debugger_engine_register(self, base, &sp, deadline, error))
        return false;
    *ours = sp == self->place.sp;
    return true;
}

/* The breakpoints besides; `set` false: away with them. */
static bool set_others(struct debugger_engine *self, bool set, const struct deadline *deadline,
                       struct error *error)
{
    for (; set && self->n_set < self->n_others; self->n_set++)
        if (!debugger_engine_point(self, self->others[self->n_set], true, deadline, error))
            return false;
    for (; !set && self->n_set > 0; self->n_set--)
        if (!debugger_engine_point(self, self->others[self->n_set - 1], false, deadline, error))
            return false;
    return true;
}

/* What a stop is while the end is waited for. */
enum stop_at { AT_END, AT_CALL_OF_ANOTHER, AT_CALL_AGAIN, AT_EXIT_NOT_TAKEN };

/* In the frame of the call that is waited for it is made again: so that one has not returned, and never will.
 */
static bool look_at_call(struct debugger_engine *self, enum stop_at *what, const struct deadline *deadline,
                         struct error *error)
{
    uint64_t sp = 0;
    if (!debugger_engine_register(self, CORE_SP, &sp, deadline, error))
        return false;
    bool ours = sp == self->entry_sp && strcmp(self->stop.thread, self->thread) == 0;
    *what = ours ? AT_CALL_AGAIN : AT_CALL_OF_ANOTHER;
    return true;
}

/* At one of a handler's other exits, which it may pass without returning. */
static bool look_at_exit(struct debugger_engine *self, size_t which, enum stop_at *what,
                         const struct deadline *deadline, struct error *error)
{
    uint64_t status = 0;
    take_exit(self, which);
    if (!self->region.exits[which].conditional)
        return true;
    if (!debugger_engine_register(self, CORE_STATUS, &status, deadline, error))
        return false;
    if (!cortex_m_condition_holds(status))
        *what = AT_EXIT_NOT_TAKEN;
    return true;
}

static bool look_at_stop(struct debugger_engine *self, enum stop_at *what, const struct deadline *deadline,
                         struct error *error)
{
    uint64_t pc = 0;
    *what = AT_END;
    if (self->n_set == 0 || self->stop.why != DEBUGGER_TRAP)
        return true;
    if (!debugger_engine_register(self, CORE_PC, &pc, deadline, error))
        return false;
    for (unsigned i = 0; i < self->n_set; i++)
        if (core_place(self->core, pc) == core_place(self->core, self->others[i]))
            return self->by_frame ? look_at_exit(self, i + 1, what, deadline, error)
                                  : look_at_call(self, what, deadline, error);
    return true;
}

/* *again: the hit that was begun will not come. */
static bool reach_end(struct debugger_engine *self, bool *again, const struct deadline *deadline,
                      struct error *error)
{
    *again = false;
    for (;;) {
        bool pending = false, ours = false;
        enum stop_at what = AT_END;
        if (self->by_frame && self->region.to_return && self->core->family == CORE_M)
            take_exit(self, 0);
        uint64_t end = end_of(self);
        if (!debugger_engine_check_time(self, error) || !debugger_engine_move(self, end, deadline, error) ||
            !set_others(self, true, deadline, error) || !is_pending(self, &pending, deadline, error))
            return false;
        self->hit.tainted = self->hit.tainted || pending;
        if (self->hit.past == 0 && self->region.start != end)
            self->hit.before_us = (uint64_t)deadline_now_us();
        if (!debugger_engine_run(self, WAIT_END, deadline, error))
            return false;
        self->hit.after_us = (uint64_t)deadline_now_us();
        self->hit.pairs += self->stop.halts;
        self->hit.steps += (self->stop.halts + 1) / 2;
        if (!look_at_stop(self, &what, deadline, error))
            return false;
        if (what == AT_END && (!debugger_engine_prove(self, end_of(self), deadline, error) ||
                               !is_this_passage(self, &ours, deadline, error)))
            return false;
        *again = what == AT_CALL_AGAIN;
        self->lost += *again;
        if (!set_others(self, false, deadline, error))
            return false;
        if (*again)
            return true;
        if (ours)
            return remote_counters_check(self->device, &self->stop, error);
        if (!debugger_engine_step(self, deadline, error))
            return false;
        self->hit.pairs += 2;
        self->hit.steps++;
        self->hit.past++;
    }
}

static bool read_words(struct debugger_engine *self, const struct deadline *deadline, struct error *error)
{
    const struct at_end *at_end = self->request->at_end;
    struct deadline limit = some_time(deadline);
    for (size_t i = 0; at_end != NULL && i < at_end->n; i++) {
        const struct at_end_word *word = &at_end->words[i];
        if (word->is_register
                ? !debugger_engine_register(self, word->which, &self->hit.words[i], deadline, error)
                : !ledger_read(self->device->ledger, word->at, &self->hit.words[i], &limit, error))
            return false;
    }
    return true;
}

static bool deliver(struct debugger_engine *self, const struct deadline *deadline, struct error *error)
{
    bool reset = false;
    if (!debugger_engine_read(self, self->hit.to, NULL, &reset, deadline, error) ||
        !read_words(self, deadline, error))
        return false;
    if (reset) {
        self->was_reset = true;
        return error_set(error, ERROR_RESET, "the target was reset");
    }
    self->hit.end_address = end_of(self);
    self->hits++;
    if (!self->sink->hit(self->sink->context, &self->hit) || self->hits >= self->request->hits)
        self->enough = true;
    return true;
}

/* Waits at the start, and for a function learns the way back. *again: this passage is none. */
static bool reach_start(struct debugger_engine *self, bool *again, const struct deadline *deadline,
                        struct error *error)
{
    *again = false;
    if (!self->at_start && (!debugger_engine_move(self, self->region.start, deadline, error) ||
                            !debugger_engine_run(self, WAIT_START, deadline, error)))
        return false;
    self->at_start = false;
    if (!debugger_engine_prove(self, self->region.start, deadline, error) ||
        !remote_counters_check(self->device, &self->stop, error))
        return false;
    snprintf(self->thread, sizeof self->thread, "%s", self->stop.thread);
    if (self->region.in_function)
        return find_frame(self, deadline, error);
    if (!self->region.to_return)
        return true;
    return find_return(self, again, deadline, error) &&
           (!*again ||
            (debugger_engine_check_time(self, error) && debugger_engine_step(self, deadline, error)));
}

static bool pass_once(struct debugger_engine *self, unsigned *rehits, const struct deadline *deadline,
                      struct error *error)
{
    bool again = false, moved = false, round = false;
    if (!reach_start(self, &again, deadline, error))
        return false;
    if (again)
        return true;
    if (!debugger_engine_rehits(self, self->region.start, *rehits, &moved, deadline, error))
        return false;
    if (moved)
        return true;
    round = self->region.start == end_of(self);
    self->hit = (struct raw_hit){.pairs = round ? 2 : 1, .steps = round ? 1 : 0};
    if (!debugger_engine_read(self, self->hit.from, NULL, NULL, deadline, error))
        return false;
    self->hit.before_us = (uint64_t)deadline_now_us();
    self->under_way = true;
    if (self->lost == 0)
        debugger_engine_step_forward(self);
    if ((round && !debugger_engine_step(self, deadline, error)) || !reach_end(self, &again, deadline, error))
        return false;
    self->under_way = false;
    if (again) {
        if (self->sink->left != NULL)
            self->sink->left(self->sink->context);
        return true;
    }
    debugger_engine_step_forward(self);
    if (!deliver(self, deadline, error))
        return false;
    unsigned after = *rehits;
    *rehits = 0;
    if (after > 0 && !debugger_engine_move(self, end_of(self), deadline, error))
        return false;
    if (!debugger_engine_rehits(self, end_of(self), after, &moved, deadline, error))
        return false;
    self->at_start = round && !moved;
    return true;
}

/* --- the engine ----------------------------------------------------------------------------------------- */

/* A counter that goes on while the core stands would count the debugger's time. */
static bool stands_still(struct debugger_engine *self, const struct deadline *deadline, struct error *error)
{
    uint64_t before[READING_ROOM], after[READING_ROOM];
    const struct reading *reading = &self->device->reading;
    if (!debugger_engine_read(self, before, NULL, NULL, deadline, error))
        return false;
    nanosleep(&(struct timespec){.tv_nsec = STILL_MS * 1000000L}, NULL);
    if (!debugger_engine_read(self, after, NULL, NULL, deadline, error))
        return false;
    for (size_t i = 0; i < reading->counted; i++)
        if (before[i] != after[i])
            return error_set(
                error, ERROR_NO_COUNTER,
                "%s goes on while the core is halted: what it would count is the debugger's time%s",
                reading->counters[i].name, remote_counters_advice(self->device));
    return true;
}

static bool debugger_engine_run_hits(struct engine *engine, const struct engine_request *request,
                                     const struct engine_sink *sink, const struct deadline *deadline,
                                     struct error *error)
{
    struct debugger_engine *self = (struct debugger_engine *)engine;
    unsigned rehits = request->rehits;
    self->request = request;
    self->sink = sink;
    self->hits = 0;
    self->enough = self->under_way = false;
    debugger_engine_step_forward(self);
    /* Of each pass, where others may run on what is counted */
    if (self->device->remote != NULL && !stands_still(self, deadline, error))
        return false;
    while (!self->enough)
        if (!pass_once(self, &rehits, deadline, error))
            return false;
    if (request->rehits > 0 && self->rehit != REHIT_STOPS_AGAIN)
        snprintf(engine->uncalibrated, sizeof engine->uncalibrated, "%s",
                 self->rehit == REHIT_STEPS_OVER
                     ? "the debugger steps over a breakpoint when it resumes there"
                 : self->core->family == CORE_X86_64
                     ? "where an x86-64 instruction ends is not known, nor whether a resume steps over it"
                     : "it cannot be told whether a resumed core stops again at once");
    return true;
}

/* Whether the server has a breakpoint more, for a moment at the entry's second instruction. */
static bool try_second(struct debugger_engine *self, const struct deadline *deadline, struct error *error)
{
    struct error refused = {0};
    self->can_watch = false;
    uint64_t beside = self->region.start + debugger_engine_code_size(self, self->region.start);
    if (!self->region.may_be_left || !self->region.to_return || self->core->family == CORE_X86_64)
        return true;
    self->can_watch = debugger_engine_point(self, beside, true, deadline, &refused);
    if (self->can_watch)
        return debugger_engine_point(self, beside, false, deadline, error);
    if (refused.kind != ERROR_ADDRESS && refused.kind != ERROR_NO_COMPARATOR)
        return error_set(error, refused.kind, "%s", refused.text);
    snprintf(self->engine.limit, sizeof self->engine.limit,
             "the server has no second breakpoint: a call that is left without returning, and made again, is "
             "taken for one");
    return true;
}

static bool debugger_engine_arm(struct engine *engine, const struct region *region,
                                const struct deadline *deadline, struct error *error)
{
    struct debugger_engine *self = (struct debugger_engine *)engine;
    self->region = *region;
    self->region.start = core_code(self->core, region->start, region->start_is_thumb);
    self->region.end = core_code(self->core, region->end, region->end_is_thumb);
    if (!process_check_debugged(&region->process, error))
        return false;
    if (!device_apply_core(self->device->ledger, self->core, APPLY_ALL, deadline, error))
        return false;
    /* Both ends, to know at once that they can be had */
    return stands_still(self, deadline, error) &&
           (region->to_return || debugger_engine_move(self, self->region.end, deadline, error)) &&
           debugger_engine_move(self, self->region.start, deadline, error) &&
           try_second(self, deadline, error);
}

static bool clear_guard(struct debugger_engine *self, const struct deadline *deadline, struct error *error)
{
    if (self->guard != POINT_NONE && !debugger_engine_point(self, self->guard, false, deadline, error))
        return false;
    self->guard = POINT_NONE;
    return true;
}

static bool is_other(const struct debugger_engine *self, uint64_t place)
{
    for (unsigned i = 0; i < self->n_set; i++)
        if (core_place(self->core, self->others[i]) == place)
            return true;
    return false;
}

static bool debugger_engine_disarm(struct engine *engine, const struct deadline *deadline,
                                   struct error *error)
{
    struct debugger_engine *self = (struct debugger_engine *)engine;
    uint64_t pc = 0;
    bool ran = self->debugger->ops->is_running(self->debugger);
    if (!debugger_halt(self->debugger, &self->stop, error))
        return false;
    if (ran && self->stop.why != DEBUGGER_REQUESTED) { /* it stopped by itself in the last moment */
        if (!debugger_engine_register(self, CORE_PC, &pc, deadline, error))
            return false;
        self->engine.stopped_at = core_place(self->core, pc);
        self->foreign = core_place(self->core, pc) != core_place(self->core, self->point) &&
                        !is_other(self, core_place(self->core, pc));
    }
    if (self->foreign)
        device_leave_as(self->device, LEAVE_HALTED_FOREIGN);
    return clear_guard(self, deadline, error) && set_others(self, false, deadline, error) &&
           debugger_engine_move(self, POINT_NONE, deadline, error);
}

static void debugger_engine_free(struct engine *engine)
{
    free(engine);
}

struct engine *debugger_engine_new(struct device *device)
{
    static const struct engine_ops ops = {.arm = debugger_engine_arm,
                                          .run = debugger_engine_run_hits,
                                          .disarm = debugger_engine_disarm,
                                          .free = debugger_engine_free};
    struct debugger_engine *self = calloc(1, sizeof *self);
    if (self == NULL)
        return NULL;
    self->engine.ops = &ops;
    self->device = device;
    self->debugger = device->debugger;
    self->core = &device->chosen->core;
    self->point = self->left = self->guard = POINT_NONE;
    return &self->engine;
}

enum { STEPWISE_REHIT_LIST_ROOM = READING_STEPS + WITNESS_ROOM + 8, REHITS = 32 };

bool debugger_engine_read(struct debugger_engine *self, uint64_t *values, bool *pending, bool *reset,
                          const struct deadline *deadline, struct error *error)
{
    struct step items[STEPWISE_REHIT_LIST_ROOM];
    uint64_t results[STEPWISE_REHIT_LIST_ROOM];
    struct steps list = {.items = items, .room = STEPWISE_REHIT_LIST_ROOM};
    struct deadline limit = some_time(deadline);
    size_t at = reading_add(&self->device->reading, false, &list);
    size_t pending_at = pending != NULL ? core_add_pending(self->core, &list) : SIZE_MAX;
    bool may_reset = reset != NULL && core_has_run_control(self->core);
    struct witness_places places;
    if (reset != NULL)
        witness_add(&self->device->witness, self->core, &list, &places);
    size_t reset_at = may_reset ? core_add_reset_seen(self->core, &list) : SIZE_MAX;
    if (!ledger_run(self->device->ledger, &list, results, &limit, error))
        return false;
    reading_take(&self->device->reading, false, results, at, values);
    if (pending != NULL)
        *pending = pending_at != SIZE_MAX && core_pending(self->core, results[pending_at]);
    if (reset != NULL)
        *reset = may_reset && core_reset_seen(self->core, results[reset_at]);
    if (reset == NULL || *reset)
        return true;
    uint64_t saw = 0;
    const struct witness_item *changed = witness_changed(&self->device->witness, results, &places, &saw);
    return changed == NULL || witness_tell(changed, saw, error);
}

/* Where the instruction behind the one at `here` begins; 0: the core may go elsewhere. */
static uint64_t next_after(struct debugger_engine *self, uint64_t here, const struct deadline *deadline)
{
    uint8_t code[4];
    unsigned size = 4;
    struct error unread = {0};
    struct deadline limit = some_time(deadline);
    if (self->core->family == CORE_X86_64) /* whose instructions are of any length */
        return 0;
    if (!self->debugger->ops->read_memory(self->debugger, core_place(self->core, here), code, sizeof code,
                                          &limit, &unread))
        return 0;
    uint16_t first = (uint16_t)(code[0] | code[1] << 8), second = (uint16_t)(code[2] | code[3] << 8);
    uint32_t word = first | (uint32_t)second << 16;
    bool falls = self->core->family == CORE_ARMV8 ? a64_falls_through(word)
                 : debugger_engine_code_size(self, here) == THUMB_KIND
                     ? thumb_falls_through(first, second, &size)
                     : arm_falls_through(word);
    return falls ? here + size : 0;
}

/*
 * Whether a resume onto our own breakpoint executes nothing. A server that steps over its breakpoints would
 * make whole passages look like the cost of a halt: a second breakpoint behind the instruction tells. *moved:
 * the core did.
 */
static bool try_rehit(struct debugger_engine *self, uint64_t here, bool *moved,
                      const struct deadline *deadline, struct error *error)
{
    uint64_t guard = next_after(self, here, deadline), pc = 0;
    struct error refused = {0};
    *moved = false;
    if (guard == 0)
        return true;
    if (!debugger_engine_point(self, guard, true, deadline, &refused))
        return refused.kind == ERROR_ADDRESS || refused.kind == ERROR_NO_COMPARATOR ||
               error_set(error, refused.kind, "%s", refused.text);
    self->guard = guard;
    bool ok = debugger_engine_run(self, WAIT_END, deadline, error) &&
              debugger_engine_register(self, CORE_PC, &pc, deadline, error);
    if (!ok)
        return false; /* disarm takes the guard away */
    if (!debugger_engine_point(self, guard, false, deadline, error))
        return false;
    self->guard = POINT_NONE;
    *moved = core_place(self->core, pc) == core_place(self->core, guard);
    self->rehit =
        core_place(self->core, pc) == core_place(self->core, here) ? REHIT_STOPS_AGAIN : REHIT_STEPS_OVER;
    return *moved || debugger_engine_prove(self, here, deadline, error);
}

bool debugger_engine_rehits(struct debugger_engine *self, uint64_t here, unsigned rehits, bool *moved,
                            const struct deadline *deadline, struct error *error)
{
    *moved = false;
    if (rehits > 0 && self->rehit == REHIT_UNKNOWN && !try_rehit(self, here, moved, deadline, error))
        return false;
    if (self->rehit != REHIT_STOPS_AGAIN)
        return true;
    for (unsigned i = 0; i < rehits && i < REHITS; i++) {
        struct raw_hit rehit = {.pairs = 1};
        bool pending = false;
        self->disturbed = false;
        if (!debugger_engine_read(self, rehit.from, &pending, NULL, deadline, error) ||
            !debugger_engine_run(self, WAIT_END, deadline, error) ||
            !debugger_engine_prove(self, here, deadline, error) ||
            !debugger_engine_read(self, rehit.to, NULL, NULL, deadline, error))
            return false;
        if (!pending && !self->disturbed) /* else a handler ran in it */
            self->sink->rehit(self->sink->context, &rehit);
    }
    return true;
}

static bool nothing(void *context, const struct raw_hit *hit)
{
    (void)context;
    (void)hit;
    return false;
}

/* Where the core stands, as code. */
static bool find_here(struct debugger_engine *self, uint64_t *here, const struct deadline *deadline,
                      struct error *error)
{
    enum { T_BIT = 1 << 5 };
    uint64_t pc, status = 0;
    if (!debugger_engine_register(self, CORE_PC, &pc, deadline, error) ||
        (self->core->family == CORE_ARMV7 &&
         !debugger_engine_register(self, CORE_STATUS, &status, deadline, error)))
        return false;
    *here = core_code(self->core, pc, self->core->family == CORE_M || (status & T_BIT) != 0);
    return true;
}

bool debugger_engine_calibrate_here(struct engine *engine, unsigned rehits, unsigned steps,
                                    const struct engine_sink *sink, const struct deadline *deadline,
                                    struct error *error)
{
    enum { TIMEOUT_MS = 5000 };
    struct debugger_engine *self = (struct debugger_engine *)engine;
    const struct engine_request request = {.rehits = rehits, .timeout_ms = patience_ms(TIMEOUT_MS)};
    struct engine_sink told = *sink;
    uint64_t here;
    bool moved = false;
    if (told.hit == NULL)
        told.hit = nothing;
    self->request = &request;
    self->sink = &told;
    debugger_engine_step_forward(self);
    for (;;) {
        if (!find_here(self, &here, deadline, error) || !debugger_engine_move(self, here, deadline, error) ||
            !debugger_engine_rehits(self, here, rehits, &moved, deadline, error) ||
            !debugger_engine_move(self, POINT_NONE, deadline, error))
            return false;
        if (self->rehit != REHIT_UNKNOWN || steps-- == 0)
            return true;
        if (!debugger_engine_step(self, deadline, error)) /* a branch, behind which no guard can be put */
            return false;
    }
}

bool debugger_engine_look(struct engine *engine, uint64_t *values, bool *reset,
                          const struct deadline *deadline, struct error *error)
{
    return debugger_engine_read((struct debugger_engine *)engine, values, NULL, reset, deadline, error);
}
