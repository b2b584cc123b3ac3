#include "run/pc_samples.h"

#include "counters/events.h"
#include "report/terminal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { LIST_LEAST_US = 5000, LIST_MOST_US = 40000 };

static const struct options *options_of(const struct profiling *self)
{
    return self->session.context->options;
}

bool profiling_open(struct profiling *self, struct error *error)
{
    struct session *session = &self->session;
    bool ok = session_open_elf(session, error) && session_open_target(session, error);
    self->by_halts = ok && !device_sees_running(&session->device);
    session->may_stop = self->by_halts;
    return ok;
}

/* --- taking the core ------------------------------------------------------------------------------------ */

static bool take_core(struct profiling *self, struct device_core *core, struct sampler *sampler,
                      struct error *error)
{
    struct session *session = &self->session;
    struct device *device = &session->device;
    struct deadline deadline = session_deadline(session);
    bool hidden;
    device->chosen = core;
    self->code = (struct sampler_code){.context = session, .place = session_sampled_place};
    sampler->code = &self->code;
    char place[512];
    if (!sampler_find(sampler, device, &hidden, &deadline, error))
        return false;
    session_place(session, device->chosen->halted_at, place, sizeof place);
    device->looks_only = true;
    return device_take(device, false, place, &deadline, error) &&
           (!hidden || sampler_find(sampler, device, &hidden, &deadline, error)) &&
           sampler_begin(sampler, &deadline, error);
}

/* Through a debugger, which has one core. */
static bool take_by_halts(struct profiling *self, struct error *error)
{
    struct session *session = &self->session;
    struct device *device = &session->device;
    struct deadline deadline = session_deadline(session);
    char place[512];
    if (options_of(self)->all_cpus)
        return error_set(error, ERROR_USAGE, "-a: through a GDB server samples are taken of one core");
    session_place(session, device->chosen->halted_at, place, sizeof place);
    if (!device_take(device, false, place, &deadline, error))
        return false;
    halt_sampler_begin(&self->halts, device);
    return true;
}

/* --- stops by events ------------------------------------------------------------------------------------ */

static bool is_cycles(const struct event_request *event)
{
    return !event->by_code && strcasecmp(event->name, "CPU_CYCLES") == 0;
}

/* The one event of -e; perf calls the cycles `cycles`. */
static bool read_event(const struct options *options, struct event_request *out, struct error *error)
{
    size_t n = 0;
    const char *text = options->n_events > 0 ? options->events[0] : "CPU_CYCLES";
    if (options->n_events > 1 || strpbrk(text, "{,") != NULL)
        return error_set(error, ERROR_USAGE, "-e: one event stops the core, and %.64s are several", text);
    return event_requests_parse(text, out, 1, &n, error);
}

bool profiling_find_event(const struct counter_block *block, const struct event_request *wanted,
                          struct counter_pick *out, struct error *error)
{
    struct event_set *set = block->events != NULL ? event_set_open(block->events, error) : NULL;
    const struct event *known = NULL;
    struct event_request named = *wanted;
    const struct event_request *event = &named;
    event_requests_name(&named, 1, set, block);
    if (set != NULL)
        known = event->by_code ? event_set_by_code(set, event->code) : event_set_find(set, event->name);
    *out = (struct counter_pick){.code = known != NULL ? known->code : event->code};
    memcpy(out->name, known != NULL ? known->name : event->name, sizeof out->name);
    event_set_free(set);
    if (known != NULL || event->by_code || error->kind != ERROR_NONE)
        return error->kind == ERROR_NONE;
    return error_advise(error, ERROR_USAGE, "pmu-probe list shows the events of this core.",
                        "%s has no event %.48s", block->text, event->name);
}

/* Without --every: what the event's rate makes of it. */
static bool choose_every(struct profiling *self, const struct counter_pick *event, uint64_t *every,
                         const struct deadline *deadline, struct error *error)
{
    struct device *device = &self->session.device;
    struct counter_pick picks[2];
    *every = options_of(self)->every;
    if (*every > 0)
        return true;
    size_t n =
        counter_stop_choose(device->block, event, event_sampler_most(EVENT_SAMPLER_MOST), picks, error);
    return n > 0 && device_program(device, picks, n, deadline, error) &&
           event_sampler_measure(device, n, &self->event_rate, every, deadline, error);
}

/* A stop comes late after such a write. Unlike other commands, record prints no notes of the counter. */
static void tell_own_writes(const struct profiling *self)
{
    const char *what = self->session.own_write;
    char clean[UTF8_CLEAN_ROOM(sizeof self->session.own_write)];
    if (what[0] != '\0' && !options_of(self)->quiet)
        fprintf(stderr, "pmu-probe: %s: where it runs, the shares are wrong\n",
                terminal_text(clean, sizeof clean, what));
}

static bool try_block(struct profiling *self, const char *name, struct event_sampler *sampler,
                      const struct event_request *event, struct error *error)
{
    struct device *device = &self->session.device;
    struct deadline deadline = session_deadline(&self->session);
    struct counter_pick pick, picks[2];
    uint64_t every;
    if (!device_take_block(device, name, &deadline, error) || !session_check_writes(&self->session, error) ||
        !profiling_find_event(device->block, event, &pick, error) ||
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

/* On a Cortex-M the DWT comes first, as its match needs no interrupt: what it lacks, the PMU may have. */
static bool take_to_stop(struct profiling *self, struct error *error)
{
    struct session *session = &self->session;
    struct device *device = &session->device;
    struct deadline deadline = session_deadline(session);
    struct event_request event = {0};
    struct error first = {0};
    char place[512];
    session_place(session, device->chosen->halted_at, place, sizeof place);
    if (!read_event(options_of(self), &event, error) || !device_take(device, false, place, &deadline, error))
        return false;
    bool matches = core_has(&device->chosen->core, SYSTEM_SPACE) && is_cycles(&event);
    if (matches && try_block(self, "dwt", &self->stops[0], &event, &first))
        return true;
    bool again = !matches || first.kind == ERROR_NO_COUNTER || first.kind == ERROR_NO_COMPARATOR;
    if (!again)
        return error_copy(error, &first);
    if (try_block(self, NULL, &self->stops[1], &event, error))
        return true;
    if (matches && (error->kind == ERROR_NO_COUNTER || error->kind == ERROR_USAGE))
        *error = first;
    return false;
}

static bool check_stops(const struct profiling *self, struct error *error)
{
    const struct options *options = options_of(self);
    if (self->by_halts)
        return error_set(error, ERROR_USAGE, "%s: through a GDB server no counter stops the core",
                         options->stacks ? "-g" : "--every");
    if (options->all_cpus)
        return error_set(error, ERROR_USAGE,
                         "-a: a counter stops the core that it is in, and the run is of that core's stops; "
                         "-C N takes another one");
    return !options->stacks || self->session.symbols != NULL ||
           error_set(error, ERROR_ELF, "-g: stacks are found by the program's ELF file, and none is given");
}

static bool take_by_stops(struct profiling *self, struct error *error)
{
    struct session *session = &self->session;
    session->may_stop = true;
    if (!check_stops(self, error) || !take_to_stop(self, error))
        return false;
    if (!options_of(self)->stacks)
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

void profiling_about(const struct session *session, struct profile_about *about)
{
    const struct options *options = session->context->options;
    char text[128];
    time_t now = deadline_wall_s();
    struct tm utc;
    about->asked_s = options->for_s;
    if (gmtime_r(&now, &utc) != NULL && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc) > 0)
        about->date = copy_of(text);
    link_describe(session->link, text, sizeof text);
    about->probe = copy_of(text);
    if (session->symbols != NULL) {
        about->elf = copy_of(options->elf);
        about->load_offset = options->load_offset;
        about->build_id = copy_of(symbols_build_id(session->symbols));
    }
}

static bool fill_about(struct profiling *self, struct error *error)
{
    const struct session *session = &self->session;
    struct profile_about *about = &self->about;
    about->cores = calloc(self->n, sizeof *about->cores);
    about->numbers = calloc(self->n, sizeof *about->numbers);
    if (about->cores == NULL || about->numbers == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    for (; about->core_count < self->n; about->core_count++) {
        about->cores[about->core_count] =
            copy_of(session->device.cores[self->cores[about->core_count].number].core.name);
        about->numbers[about->core_count] = self->cores[about->core_count].number;
    }
    about->source = copy_of(self->by_halts           ? "halts"
                            : self->by_stops != NULL ? counter_stop_name(&self->by_stops->stop)
                                                     : self->cores[0].sampler.source.name);
    if (self->by_stops != NULL) {
        about->event = copy_of(self->event);
        about->every = self->by_stops->every;
    }
    profiling_about(session, about);
    return true;
}

/* --- exceptions, tasks and processes ------------------------------------------------------------------- */

static bool begin_cortex_m(struct profiling *self, struct profiling_core *core, struct error *error)
{
    struct device *device = &self->session.device;
    const struct core *its = &device->cores[core->number].core;
    struct deadline deadline = session_deadline(&self->session);
    uint64_t address, ignored;
    struct error unread = {0};
    if (!tasks_find(&self->tasks, self->session.symbols, options_of(self)->task, core->number, &address,
                    error))
        return false;
    bool ok = address == 0 ||
              ledger_read(device->ledger, core_word(its, address), &ignored, &deadline, &unread) ||
              unread.kind == ERROR_ASLEEP; /* it wakes up */
    if (!ok && (options_of(self)->task != NULL || unread.kind != ERROR_FAULT)) {
        error_copy(error, &unread);
        return error_prefix(error, "--task: ");
    }
    address = ok ? address : 0;
    if (address != 0 && self->about.task == NULL)
        self->about.task = copy_of(self->tasks.variable);
    contexts_begin(&core->contexts, its, address, NULL);
    return true;
}

static bool begin_contexts(struct profiling *self, struct error *error)
{
    bool is_m = core_has(&self->session.device.chosen->core, SYSTEM_SPACE);
    if ((self->by_halts || !is_m) && options_of(self)->task != NULL)
        return error_set(error, ERROR_USAGE, "--task works on a Cortex-M only, and not through a GDB server");
    for (size_t i = 0; self->has_contexts && !self->by_halts && i < self->n; i++) {
        struct profiling_core *core = &self->cores[i];
        if (is_m && !begin_cortex_m(self, core, error))
            return false;
        if (!is_m)
            contexts_begin(&core->contexts, &self->session.device.cores[core->number].core, 0,
                           self->by_stops == NULL ? &core->sampler.source : NULL);
        core->sampler.contexts = &core->contexts;
        core->contexts.hidden_in_sleep =
            core->contexts.of[PROFILE_TASKS].is_read && elf_hidden_in_sleep(&self->session);
        if (core->contexts.hidden_in_sleep && !options_of(self)->quiet)
            fputs("pmu-probe: the memory of this chip cannot be read while its core sleeps: tasks are those "
                  "of the time "
                  "awake\n",
                  stderr);
    }
    if (self->by_stops != NULL)
        self->by_stops->contexts = &self->cores[0].contexts;
    return true;
}

/* --- all cores ------------------------------------------------------------------------------------------ */

static unsigned number_of(const struct profiling *self, const struct device_core *core)
{
    return (unsigned)(core - self->session.device.cores);
}

static void tell_left_out(const struct profiling *self, const struct device_core *core,
                          const struct error *why)
{
    char clean[UTF8_CLEAN_ROOM(sizeof why->text)];
    if (!options_of(self)->quiet)
        fprintf(stderr, "pmu-probe: core %u is left out: %s\n", number_of(self, core),
                terminal_text(clean, sizeof clean, why->text));
}

/* With -a a core that has no such register, or no power, is no failure. */
static bool may_be_left_out(const struct error *why)
{
    return why->kind == ERROR_NO_COUNTER || why->kind == ERROR_ASLEEP;
}

/* Cores of one kind: what a sample is must be the same for all. */
static bool take_one_of_all(struct profiling *self, struct device_core *core, struct error *error)
{
    const struct device_core *first = self->session.device.chosen;
    struct profiling_core *taken = &self->cores[self->n];
    struct error why = {0};
    if (core->view.counts_only || core->core.ops != first->core.ops)
        return true;
    if (take_core(self, core, &taken->sampler, &why)) {
        taken->number = number_of(self, core);
        self->n++;
        return true;
    }
    sampler_free(&taken->sampler);
    if (!may_be_left_out(&why)) {
        error_copy(error, &why);
        return error_prefix(error, "core %u: ", number_of(self, core));
    }
    tell_left_out(self, core, &why);
    return true;
}

static bool take_all(struct profiling *self, struct error *error)
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

bool profiling_take(struct profiling *self, struct error *error)
{
    struct device *device = &self->session.device;
    self->cores = calloc(device->n_cores, sizeof *self->cores);
    if (self->cores == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    const struct options *options = options_of(self);
    bool by_stops = options->every > 0 || options->n_events > 0 || options->stacks;
    if (options->all_cpus && !self->by_halts && !by_stops)
        return take_all(self, error) && fill_about(self, error) && begin_contexts(self, error);
    self->cores[0].number = number_of(self, device->chosen);
    self->n = 1;
    bool ok = by_stops         ? take_by_stops(self, error)
              : self->by_halts ? take_by_halts(self, error)
                               : take_core(self, device->chosen, &self->cores[0].sampler, error);
    return ok && fill_about(self, error) && begin_contexts(self, error);
}

/* --- sampling ------------------------------------------------------------------------------------------- */

/* Ctrl-C ends the run behind a list, and does not cancel it. */
static struct deadline uncancelled(const struct profiling *self)
{
    struct deadline deadline = session_deadline(&self->session);
    deadline.cancel = NULL;
    return deadline;
}

bool profiling_is_over(const struct profiling *self)
{
    double for_s = options_of(self)->for_s;
    return *self->session.context->cancel != 0 || (for_s > 0 && self->elapsed_s >= for_s);
}

static int64_t list_us(const struct profiling *self, double us)
{
    double for_s = options_of(self)->for_s, left_us = (for_s - self->elapsed_s) * 1e6;
    us /= (double)self->n;
    us = us < LIST_LEAST_US ? LIST_LEAST_US : us > LIST_MOST_US ? LIST_MOST_US : us;
    us = for_s > 0 && us > left_us ? left_us : us;
    return us > 0 ? (int64_t)us : 0; /* the other cores have had the time that was left */
}

static void tell_handler(struct profiling *self)
{
    if (!self->by_stops->in_handler || self->told_handler || options_of(self)->quiet)
        return;
    self->told_handler = true;
    fprintf(
        stderr,
        "pmu-probe: stops come at the beginning of an interrupt's handler: unless %s counts interrupts, its "
        "overflow raises the PMU's interrupt, which is enabled at the interrupt controller, and the shares "
        "are wrong\n",
        self->event);
}

static bool take_samples(struct profiling *self, struct profiling_core *core, double us, struct error *error)
{
    struct deadline deadline = uncancelled(self);
    if (self->by_stops != NULL)
        return event_sampler_take(self->by_stops, list_us(self, us), &core->tally, &deadline, error) &&
               (tell_handler(self), true);
    return self->by_halts ? halt_sampler_take(&self->halts, &core->tally, &deadline, error)
                          : sampler_take(&core->sampler, list_us(self, us), &core->tally, &deadline, error);
}

double profiling_stood(const struct profiling *self)
{
    double stood_s = self->by_stops != NULL ? self->stood_s : (double)self->halts.stood_us / 1e6;
    return self->elapsed_s > 0 ? fmin(stood_s / self->elapsed_s, 1) : 0;
}

bool profiling_sample(struct profiling *self, double us, struct error *error)
{
    if (self->begun_us == 0)
        self->begun_us = deadline_now_us();
    for (size_t i = 0; i < self->n; i++) {
        bool ok = take_samples(self, &self->cores[i], us, error);
        self->elapsed_s = (double)(deadline_now_us() - self->begun_us) / 1e6;
        if (!ok)
            return false;
    }
    return true;
}

static bool close_tally(const struct profiling *self, struct profile_tally *tally, size_t core,
                        struct profile_interval *out, bool *any, struct error *error)
{
    *any = !profile_tally_is_empty(tally);
    tally->now.core = (unsigned)core;
    return !*any || profile_tally_close(tally, self->elapsed_s, out) ||
           error_set(error, ERROR_SYSTEM, "out of memory");
}

bool profiling_close(struct profiling *self, size_t core, struct profile_interval *out, bool *any,
                     struct error *error)
{
    struct profile_tally *tally = &self->cores[core].tally;
    if (!self->by_halts && self->by_stops == NULL)
        sampler_settle(&self->cores[core].sampler, tally);
    self->stood_s += tally->now.stood_s;
    return close_tally(self, tally, core, out, any, error);
}

bool profiling_close_contexts(struct profiling *self, size_t core, enum profile_context kind,
                              struct profile_interval *out, bool *any, struct error *error)
{
    return close_tally(self, &self->cores[core].contexts.of[kind].tally, core, out, any, error);
}

bool profiling_name_task(struct profiling *self, size_t core, uint64_t task, char name[TASK_NAME])
{
    struct device *device = &self->session.device;
    struct deadline deadline = uncancelled(self);
    return tasks_name(&self->tasks, device->ledger, &device->cores[self->cores[core].number].core, task, name,
                      &deadline);
}

bool profiling_pause(struct profiling *self, struct error *error)
{
    sampler_free(&self->cores[0].sampler);
    self->cores[0].sampler = (struct sampler){0};
    return session_undo(&self->session, error);
}

/* The samples of the time in between are no missing ones. */
bool profiling_go_on(struct profiling *self, struct error *error)
{
    struct profiling_core *core = &self->cores[0];
    bool ok = take_core(self, self->session.device.chosen, &core->sampler, error);
    self->elapsed_s = (double)(deadline_now_us() - self->begun_us) / 1e6;
    core->tally.now.from = self->elapsed_s;
    return ok;
}

void profiling_end(struct profiling *self, struct error *why)
{
    bool ok = why->kind == ERROR_NONE;
    if (why->kind == ERROR_LINK_LOST) /* the link's silence after Ctrl-C is no failure */
        session_forgive(&self->session, why);
    if (why->kind == ERROR_CANCELLED)
        error_clear(why);
    for (size_t i = 0; ok && !self->by_halts && self->by_stops == NULL && i < self->n; i++) {
        struct deadline last = session_last_deadline(&self->session);
        sampler_end(&self->cores[i].sampler, &self->cores[i].tally, &last);
    }
}

int profiling_finish(struct profiling *self, bool ok, struct error *error)
{
    stack_reader_close(&self->stacks); /* before its symbols */
    int code = session_finish(&self->session, ok, error);
    for (size_t i = 0; i < self->n; i++) {
        sampler_free(&self->cores[i].sampler);
        profile_tally_free(&self->cores[i].tally);
        contexts_free(&self->cores[i].contexts);
    }
    free(self->cores);
    profile_about_free(&self->about);
    self->cores = NULL;
    self->n = 0;
    return code;
}

bool profiling_sort(const struct options *options, bool contexts, enum shares_sort *out, struct error *error)
{
    static const char *const names[SHARES_SORTS] = {
        [SHARES_FUNCTION] = "function", [SHARES_LINE] = "line", [SHARES_FILE] = "file",
        [SHARES_ADDRESS] = "address",   [SHARES_TASK] = "task", [SHARES_EXCEPTION] = "exception",
        [SHARES_PROCESS] = "context"};
    for (int sort = 0; sort < (contexts ? SHARES_SORTS : SHARES_CONTEXTS); sort++)
        if (options->sort == NULL || strcmp(options->sort, names[sort]) == 0) {
            *out = (enum shares_sort)sort;
            return true;
        }
    return error_set(error, ERROR_USAGE, "--sort takes function, line, file%s; got \"%.64s\"",
                     contexts ? ", address, task, exception or context" : " or address", options->sort);
}
