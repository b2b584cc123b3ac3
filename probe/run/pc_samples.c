/* SPDX-License-Identifier: MIT */
#include "run/pc_samples.h"

#include "counters/events.h"
#include "run/elf_files.h"
#include "run/program.h"
#include "run/trial.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

bool event_stop_find(const struct device *device, const struct event_request *wanted,
                     struct counter_pick *out, char errata[EVENT_ERRATA], struct error *error)
{
    const struct counter_block *block = device->block;
    struct event_set *set = block->events != NULL ? event_set_open(block->events, error) : NULL;
    const struct event *known = NULL;
    struct event_request named = *wanted;
    const struct event_request *event = &named;
    event_requests_name(&named, 1, set, block);
    if (set != NULL)
        known = event->by_code ? event_set_by_code(set, event->code) : event_set_find(set, event->name);
    *out = (struct counter_pick){.code = known != NULL ? known->code : event->code};
    memcpy(out->name, known != NULL ? known->name : event->name, sizeof out->name);
    event_errata(set, out->name, device_counted(device)->core.id, NULL, errata);
    event_set_free(set);
    if (known != NULL || event->by_code || error->kind != ERROR_NONE)
        return error->kind == ERROR_NONE;
    return error_advise(error, ERROR_USAGE, events_advice, "%s has no event %.48s", block->text, event->name);
}

bool event_stop_take(const struct core *core, const struct event_request *event, event_stop_try *try_it,
                     void *context, struct error *error)
{
    struct error first = {0};
    bool is_cycles = !event->by_code && strcasecmp(event->name, "CPU_CYCLES") == 0;
    bool matches = core_has(core, SYSTEM_SPACE) && is_cycles;
    if (matches && try_it(context, "dwt", 0, &first))
        return true;
    if (matches && first.kind != ERROR_NO_COUNTER && first.kind != ERROR_NO_COMPARATOR &&
        !error_is_written(&first))
        return error_copy(error, &first);
    if (try_it(context, NULL, 1, error))
        return true;
    /* The first way may have taken the comparator by now */
    if (matches &&
        (error->kind == ERROR_NO_COUNTER || error->kind == ERROR_NO_COMPARATOR || error->kind == ERROR_USAGE))
        *error = first;
    return false;
}

/* ---- pc samples */

enum { LIST_LEAST_US = 5000, LIST_MOST_US = 40000 };

static const struct request *request_of(const struct pc_samples *self)
{
    return self->session.request;
}

static void pc_samples_keep(struct pc_samples *self, const char *text)
{
    char *kept = self->n_notes < PC_SAMPLES_NOTES ? strdup(text) : NULL;
    if (kept != NULL)
        self->notes[self->n_notes++] = kept;
}

/* For the user, and for the profile. */
static void pc_samples_note(struct pc_samples *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void pc_samples_note(struct pc_samples *self, const char *format, ...)
{
    char text[sizeof((struct error *)NULL)->text + 256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    request_note(request_of(self), "%s", text);
    pc_samples_keep(self, text);
}

/* Of the check of the program. */
static void keep_doubts(struct pc_samples *self)
{
    if (self->session.elf.may_be_other)
        pc_samples_keep(self, PROGRAM_SLEPT);
    if (self->session.elf.unseen[0] != '\0')
        pc_samples_keep(self, self->session.elf.unseen);
    if (self->session.elf.differs)
        pc_samples_keep(self, "code differs from the ELF in places: names there may be wrong");
}

bool pc_samples_open(struct pc_samples *self, struct error *error)
{
    struct session *session = &self->session;
    bool ok = program_open(session, error) && program_open_target(session, error);
    self->by_halts = ok && !device_sees_running(&session->device);
    session->may_stop = self->by_halts;
    return ok;
}

/* --- taking the core ------------------------------------------------------------------------------------ */

static bool take_core(struct pc_samples *self, struct device_core *core, struct sampler *sampler,
                      struct error *error)
{
    struct session *session = &self->session;
    struct device *device = &session->device;
    struct deadline deadline = session_deadline(session);
    bool hidden;
    device->chosen = core;
    self->code = (struct sampler_code){.context = session, .place = own_code_sampled};
    sampler->code = &self->code;
    if (!sampler_find(sampler, device, &hidden, &deadline, error))
        return false;
    device->looks_only = true;
    return session_take_core(session, request_of(self)->resume, error) &&
           (!hidden || sampler_find(sampler, device, &hidden, &deadline, error)) &&
           sampler_begin(sampler, &deadline, error);
}

/* Through a debugger, which has one core. */
static bool take_by_halts(struct pc_samples *self, struct error *error)
{
    struct session *session = &self->session;
    if (request_of(self)->all_cpus)
        return error_set(error, ERROR_USAGE, "-a: through a GDB server one core is sampled");
    if (!session_take_core(session, request_of(self)->resume, error))
        return false;
    halt_sampler_begin(&self->halts, &session->device);
    return true;
}

/* --- stops by events ------------------------------------------------------------------------------------ */

/* The one event of -e; perf calls the cycles `cycles`. */
static bool pc_samples_read_event(const struct request *request, struct event_request *out,
                                  struct error *error)
{
    size_t n = 0;
    const char *text = request->n_events > 0 ? request->events[0] : "CPU_CYCLES";
    if (request->n_events > 1 || strpbrk(text, "{,") != NULL)
        return error_set(error, ERROR_USAGE, "-e: one event stops the core, not %.64s", text);
    return event_requests_parse(text, out, 1, &n, error);
}

/* Without --every: what the event's rate makes of it. */
static bool choose_every(struct pc_samples *self, const struct counter_pick *event, uint64_t *every,
                         const struct deadline *deadline, struct error *error)
{
    struct device *device = &self->session.device;
    struct counter_pick picks[2];
    *every = request_of(self)->every;
    if (*every > 0)
        return true;
    size_t n =
        counter_stop_choose(device->block, event, event_sampler_most(EVENT_SAMPLER_MOST), picks, error);
    return n > 0 && device_program(device, picks, n, deadline, error) &&
           event_sampler_measure(device, n, &self->event_rate, every, deadline, error);
}

/* A stop is late after such a write. Unlike other commands, record prints no notes of the counter. */
static void tell_own_writes(struct pc_samples *self)
{
    const char *what = self->session.measured.own_write;
    if (what[0] != '\0')
        pc_samples_note(self, "%s: where it runs, the shares are wrong", what);
}

static bool pc_samples_try_block(void *context, const char *name, unsigned way, struct error *error)
{
    struct pc_samples *self = context;
    struct event_sampler *sampler = &self->stops[way];
    struct device *device = &self->session.device;
    struct deadline deadline = session_deadline(&self->session);
    struct counter_pick pick, picks[2];
    uint64_t every;
    if (!device_take_block(device, name, &deadline, error) || !own_code_check(&self->session, error) ||
        !event_stop_find(device, &self->wanted, &pick, self->errata, error) ||
        !choose_every(self, &pick, &every, &deadline, error))
        return false;
    size_t n = counter_stop_choose(device->block, &pick, event_sampler_most(every), picks, error);
    if (n == 0 || !device_program(device, picks, n, &deadline, error) ||
        !event_sampler_begin(sampler, device, picks, n, every, &deadline, error))
        return false;
    memcpy(self->event, pick.name, sizeof self->event);
    self->by_stops = sampler;
    tell_own_writes(self);
    return true;
}

static bool check_stops(const struct pc_samples *self, struct error *error)
{
    const struct request *request = request_of(self);
    if (self->by_halts)
        return error_set(error, ERROR_USAGE, "%s: through a GDB server no counter stops the core",
                         request->stacks ? "-g" : "--every");
    if (request->all_cpus)
        return error_set(error, ERROR_USAGE, "-a: a counter stops its own core only; -C N takes another one");
    return !request->stacks || self->session.symbols != NULL ||
           error_set(error, ERROR_ELF, "-g needs --elf FILE");
}

static bool take_by_stops(struct pc_samples *self, struct error *error)
{
    struct session *session = &self->session;
    session->may_stop = true;
    if (!check_stops(self, error) || !pc_samples_read_event(request_of(self), &self->wanted, error) ||
        !session_take_core(session, request_of(self)->resume, error) ||
        !event_stop_take(&session->device.chosen->core, &self->wanted, pc_samples_try_block, self, error))
        return false;
    if (!request_of(self)->stacks)
        return true;
    self->by_stops->stacks = &self->stacks;
    return stack_reader_open(&self->stacks, &session->device,
                             (struct stack_stop){.counter = &self->by_stops->stop}, session->symbols, error);
}

/* NULL for an empty text, or without memory: the head then says less. */
static char *copy_of(const char *text)
{
    return text != NULL && text[0] != '\0' ? strdup(text) : NULL;
}

void pc_samples_about(const struct session *session, struct profile_about *about)
{
    const struct request *request = session->request;
    char text[128];
    time_t now = deadline_wall_s();
    struct tm utc;
    about->asked_s = request->for_s;
    if (gmtime_r(&now, &utc) != NULL && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc) > 0)
        about->date = copy_of(text);
    link_describe(session->link, text, sizeof text);
    about->probe = copy_of(text);
    if (session->symbols != NULL) {
        about->elf = copy_of(request->elf);
        about->load_offset = request->load_offset;
        about->build_id = copy_of(symbols_build_id(session->symbols));
    }
}

static bool fill_about(struct pc_samples *self, struct error *error)
{
    const struct session *session = &self->session;
    struct profile_about *about = &self->about;
    about->cores = calloc(self->n, sizeof *about->cores);
    about->numbers = calloc(self->n, sizeof *about->numbers);
    if (about->cores == NULL || about->numbers == NULL)
        return error_memory(error);
    for (; about->core_count < self->n; about->core_count++) {
        about->cores[about->core_count] =
            copy_of(session->device.cores[self->cores[about->core_count].number].core.name);
        about->numbers[about->core_count] = self->cores[about->core_count].number;
    }
    about->source = copy_of(self->by_halts           ? "halts"
                            : self->by_stops != NULL ? counter_stop_name(&self->by_stops->stop)
                                                     : self->cores[0].sampler.source.name);
    about->by_block = !self->by_halts && self->by_stops == NULL && self->cores[0].sampler.source.by_block;
    if (self->by_stops != NULL) {
        about->event = copy_of(self->event);
        about->errata = self->errata[0] != '\0' ? copy_of(self->errata) : NULL;
        about->every = self->by_stops->every;
    }
    pc_samples_about(session, about);
    keep_doubts(self);
    return true;
}

/* --- exceptions, tasks and processes ------------------------------------------------------------------- */

static bool begin_cortex_m(struct pc_samples *self, struct pc_samples_core *core, struct error *error)
{
    struct device *device = &self->session.device;
    const struct core *its = &device->cores[core->number].core;
    struct deadline deadline = session_deadline(&self->session);
    uint64_t address, ignored;
    struct error unread = {0};
    if (!tasks_find(&self->tasks, self->session.symbols, request_of(self)->task, core->number, &address,
                    error))
        return false;
    bool ok = address == 0 ||
              ledger_read(device->ledger, core_word(its, address), &ignored, &deadline, &unread) ||
              unread.kind == ERROR_ASLEEP; /* it wakes up */
    if (!ok && (request_of(self)->task != NULL || unread.kind != ERROR_FAULT)) {
        error_copy(error, &unread);
        return error_prefix(error, "--task: ");
    }
    address = ok ? address : 0;
    if (address != 0 && self->about.task == NULL)
        self->about.task = copy_of(self->tasks.variable);
    contexts_begin(&core->contexts, its, address, NULL);
    return true;
}

static bool begin_contexts(struct pc_samples *self, struct error *error)
{
    bool is_m = core_has(&self->session.device.chosen->core, SYSTEM_SPACE);
    if ((self->by_halts || !is_m) && request_of(self)->task != NULL)
        return error_set(error, ERROR_USAGE, "--task works on a Cortex-M only, and not through a GDB server");
    for (size_t i = 0; self->has_contexts && !self->by_halts && i < self->n; i++) {
        struct pc_samples_core *core = &self->cores[i];
        if (is_m && !begin_cortex_m(self, core, error))
            return false;
        if (!is_m)
            contexts_begin(&core->contexts, &self->session.device.cores[core->number].core, 0,
                           self->by_stops == NULL ? &core->sampler.source : NULL);
        core->sampler.contexts = &core->contexts;
        /* Stopped for its samples it is awake */
        core->contexts.hidden_in_sleep = self->by_stops == NULL && core->contexts.of[PROFILE_TASKS].is_read &&
                                         elf_memory_hides_in_sleep(&self->session);
        self->tasks.sleeps = core->contexts.hidden_in_sleep ? &self->session.device : self->tasks.sleeps;
        if (core->contexts.hidden_in_sleep)
            pc_samples_note(
                self,
                "memory cannot be read while the core sleeps: tasks are of the time awake, and not proved");
    }
    if (self->by_stops != NULL)
        self->by_stops->contexts = &self->cores[0].contexts;
    return true;
}

/* --- all cores ------------------------------------------------------------------------------------------ */

static unsigned pc_samples_number_of(const struct pc_samples *self, const struct device_core *core)
{
    return (unsigned)(core - self->session.device.cores);
}

/* With -a a core without this register, or without power, is not a failure. */
static bool may_be_left_out(const struct error *why)
{
    return why->kind == ERROR_NO_COUNTER || why->kind == ERROR_ASLEEP;
}

/* Cores of one kind: what a sample is must be the same for all. */
static bool take_one_of_all(struct pc_samples *self, struct device_core *core, struct error *error)
{
    const struct device_core *first = self->session.device.chosen;
    struct pc_samples_core *taken = &self->cores[self->n];
    struct error why = {0};
    if (core->view.counts_only || core->core.ops != first->core.ops)
        return true;
    if (take_core(self, core, &taken->sampler, &why)) {
        taken->number = pc_samples_number_of(self, core);
        self->n++;
        return true;
    }
    sampler_free(&taken->sampler);
    if (!may_be_left_out(&why)) {
        error_copy(error, &why);
        return error_prefix(error, "core %u: ", pc_samples_number_of(self, core));
    }
    pc_samples_note(self, "core %u is left out: %s", pc_samples_number_of(self, core), why.text);
    return true;
}

static bool pc_samples_take_all(struct pc_samples *self, struct error *error)
{
    struct device *device = &self->session.device;
    for (size_t i = 0; i < device->n_cores; i++) {
        struct device_core *chosen = device->chosen;
        bool ok = take_one_of_all(self, &device->cores[i], error);
        device->chosen = self->n > 0 ? &device->cores[self->cores[0].number] : chosen;
        if (!ok)
            return false;
    }
    return self->n > 0 ||
           error_set(error, ERROR_NO_COUNTER, "no core has a PC sample register that can be read");
}

bool pc_samples_take(struct pc_samples *self, struct error *error)
{
    struct device *device = &self->session.device;
    self->cores = calloc(device->n_cores, sizeof *self->cores);
    if (self->cores == NULL)
        return error_memory(error);
    const struct request *request = request_of(self);
    bool by_stops = request->every > 0 || request->n_events > 0 || request->stacks;
    if (request->all_cpus && !self->by_halts && !by_stops)
        return pc_samples_take_all(self, error) && fill_about(self, error) && begin_contexts(self, error);
    self->cores[0].number = pc_samples_number_of(self, device->chosen);
    self->n = 1;
    bool ok = by_stops         ? take_by_stops(self, error)
              : self->by_halts ? take_by_halts(self, error)
                               : take_core(self, device->chosen, &self->cores[0].sampler, error);
    return ok && fill_about(self, error) && begin_contexts(self, error);
}

/* --- sampling ------------------------------------------------------------------------------------------- */

/* Ctrl-C ends the run after a list, and does not cancel it. */
static struct deadline pc_samples_uncancelled(const struct pc_samples *self)
{
    struct deadline deadline = session_deadline(&self->session);
    deadline.cancel = NULL;
    return deadline;
}

bool pc_samples_is_over(const struct pc_samples *self)
{
    double for_s = request_of(self)->for_s;
    return *self->session.around->cancel != 0 || (for_s > 0 && self->elapsed_s >= for_s);
}

static int64_t list_us(const struct pc_samples *self, double us)
{
    double for_s = request_of(self)->for_s, left_us = (for_s - self->elapsed_s) * 1e6;
    us /= (double)self->n;
    us = us < LIST_LEAST_US ? LIST_LEAST_US : us > LIST_MOST_US ? LIST_MOST_US : us;
    us = for_s > 0 && us > left_us ? left_us : us;
    return us > 0 ? (int64_t)us : 0; /* the other cores have had the time that was left */
}

static void tell_handler(struct pc_samples *self)
{
    if (!self->by_stops->in_handler || self->noted_handler)
        return;
    self->noted_handler = true;
    pc_samples_note(self,
                    "stops are at the beginning of an interrupt's handler: unless %s counts interrupts, the "
                    "PMU's interrupt is enabled, and the shares are wrong",
                    self->event);
}

static void tell_lost(struct pc_samples *self)
{
    if (self->by_stops->lost == 0 || self->noted_lost)
        return;
    self->noted_lost = true;
    pc_samples_note(self,
                    "the counter of %s passed 0 without a stop: something else writes it, or an overflow was "
                    "lost (Cortex-A9: NXP ERR003719)",
                    self->event);
}

static bool take_samples(struct pc_samples *self, struct pc_samples_core *core, double us,
                         struct error *error)
{
    struct deadline deadline = pc_samples_uncancelled(self);
    if (self->by_stops != NULL)
        return event_sampler_take(self->by_stops, list_us(self, us), &core->tally, &deadline, error) &&
               (tell_handler(self), tell_lost(self), true);
    return self->by_halts ? halt_sampler_take(&self->halts, &core->tally, &deadline, error)
                          : sampler_take(&core->sampler, list_us(self, us), &core->tally, &deadline, error);
}

double pc_samples_stood(const struct pc_samples *self)
{
    double stood_s = self->by_stops != NULL ? self->stood_s : (double)self->halts.stood_us / 1e6;
    return self->elapsed_s > 0 ? fmin(stood_s / self->elapsed_s, 1) : 0;
}

/* A core that --resume let go: a debugger that halts it again, as by its user's breakpoint, waits for it. */
static bool check_resumed(struct pc_samples *self, const struct pc_samples_core *core, struct error *error)
{
    struct device *device = &self->session.device;
    struct deadline deadline = pc_samples_uncancelled(self);
    bool looks = request_of(self)->resume && !self->by_halts && self->by_stops == NULL;
    if (!looks || core->sampler.look.state != CORE_HALTED ||
        !device_stands(device, &device->stopped_at, &deadline))
        return true;
    device_leave_as(device, LEAVE_HALTED_FOREIGN);
    return session_refuse_stop(&self->session, error);
}

bool pc_samples_sample(struct pc_samples *self, double us, struct error *error)
{
    if (self->begun_us == 0)
        self->begun_us = deadline_now_us();
    for (size_t i = 0; i < self->n; i++) {
        bool ok =
            take_samples(self, &self->cores[i], us, error) && check_resumed(self, &self->cores[i], error);
        self->elapsed_s = (double)(deadline_now_us() - self->begun_us) / 1e6;
        if (!ok)
            return false;
    }
    return true;
}

bool pc_samples_are_many(const struct pc_samples *self)
{
    bool many = false;
    for (size_t i = 0; i < self->n; i++) {
        many = many || profile_tally_is_large(&self->cores[i].tally);
        for (size_t k = 0; k < PROFILE_CONTEXTS; k++)
            many = many || profile_tally_is_large(&self->cores[i].contexts.of[k].tally);
    }
    return many;
}

static bool close_tally(const struct pc_samples *self, struct profile_tally *tally, size_t core,
                        struct profile_interval *out, bool *any, struct error *error)
{
    *any = !profile_tally_is_empty(tally);
    tally->now.core = (unsigned)core;
    return !*any || profile_tally_close(tally, self->elapsed_s, out) || error_memory(error);
}

bool pc_samples_close(struct pc_samples *self, size_t core, struct profile_interval *out, bool *any,
                      struct error *error)
{
    struct profile_tally *tally = &self->cores[core].tally;
    if (!self->by_halts && self->by_stops == NULL)
        sampler_settle(&self->cores[core].sampler, tally);
    self->stood_s += tally->now.stood_s;
    return close_tally(self, tally, core, out, any, error);
}

bool pc_samples_close_contexts(struct pc_samples *self, size_t core, enum profile_context kind,
                               struct profile_interval *out, bool *any, struct error *error)
{
    return close_tally(self, &self->cores[core].contexts.of[kind].tally, core, out, any, error);
}

void pc_samples_meet_tasks(struct pc_samples *self)
{
    struct device *device = &self->session.device;
    struct deadline deadline = pc_samples_uncancelled(self);
    for (size_t i = 0; i < self->n; i++) {
        const struct profile_tally *seen = &self->cores[i].contexts.of[PROFILE_TASKS].tally;
        for (size_t k = 0; k < seen->room; k++)
            if (seen->slots[k].taken)
                task_rows_meet(&self->named, &self->tasks, device->ledger,
                               &device->cores[self->cores[i].number].core, seen->slots[k].count.address,
                               &deadline);
    }
}

bool pc_samples_look_at_tasks(struct pc_samples *self)
{
    struct deadline deadline = pc_samples_uncancelled(self);
    return task_rows_look(&self->named, &self->tasks, self->session.device.ledger, &deadline);
}

bool pc_samples_pause(struct pc_samples *self, struct error *error)
{
    sampler_free(&self->cores[0].sampler);
    self->cores[0].sampler = (struct sampler){0};
    return session_undo(&self->session, error);
}

/* No samples are missing of the time in between. */
bool pc_samples_go_on(struct pc_samples *self, struct error *error)
{
    struct pc_samples_core *core = &self->cores[0];
    bool ok = take_core(self, self->session.device.chosen, &core->sampler, error);
    self->elapsed_s = (double)(deadline_now_us() - self->begun_us) / 1e6;
    core->tally.now.from = self->elapsed_s;
    return ok;
}

void pc_samples_end(struct pc_samples *self, struct error *why)
{
    bool ok = why->kind == ERROR_NONE;
    if (why->kind == ERROR_LINK_LOST) /* the link's silence after Ctrl-C is not a failure */
        session_forgive(&self->session, why);
    if (why->kind == ERROR_CANCELLED)
        error_clear(why);
    for (size_t i = 0; ok && !self->by_halts && self->by_stops == NULL && i < self->n; i++) {
        struct deadline last = session_last_deadline(&self->session);
        sampler_end(&self->cores[i].sampler, &self->cores[i].tally, &last);
    }
}

void pc_samples_let_go(struct pc_samples *self)
{
    stack_reader_close(&self->stacks);
}

void pc_samples_free(struct pc_samples *self)
{
    for (size_t i = 0; i < self->n; i++) {
        sampler_free(&self->cores[i].sampler);
        profile_tally_free(&self->cores[i].tally);
        contexts_free(&self->cores[i].contexts);
    }
    free(self->cores);
    profile_about_free(&self->about);
    for (; self->n_notes > 0; self->n_notes--)
        free(self->notes[self->n_notes - 1]);
    self->cores = NULL;
    self->n = 0;
}
