/* SPDX-License-Identifier: MIT */
#include "run/examination.h"

#include "base/values.h"
#include "device/doctor.h"
#include "report/json.h"
#include "report/render.h"
#include "run/engine_use.h"
#include "run/program.h"
#include "run/region.h"
#include "run/trial.h"
#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- what a halt adds at a location */

static bool calibrate_locate(struct calibrating *self, const char *text, struct location *out,
                             struct error *error)
{
    self->location = out;
    return symbols_locate(self->session->symbols, text, out, error) &&
           region_check_place(self->session->symbols, out, error);
}

static bool calibrate_check_code(const struct calibrating *self, struct error *error)
{
    struct named_region named = {.region = {.to_return = true}};
    if (self->location == NULL)
        return true;
    named.start = *self->location;
    return program_check_region(self->session, &named, error);
}

/* By column. */
static struct json_part calibrate_columns(const struct calibrating *self)
{
    const struct reading *reading = &self->session->device.reading;
    struct json_part all = json_part_new(NULL);
    for (size_t i = 0; i < reading->counted; i++) {
        const struct overhead *overhead = &self->halts.overheads[i];
        struct json_part one = json_part_new(NULL);
        json_part_bool(&one, "calibrated", overhead->known);
        if (overhead->known) {
            json_part_real(&one, "overhead", overhead->mean);
            json_part_unsigned(&one, "min", overhead->low);
            json_part_unsigned(&one, "max", overhead->high);
            json_part_unsigned(&one, "rehits", overhead->kept);
            json_part_unsigned(&one, "plus_minus", overhead_plus_minus(overhead, 1));
        }
        json_part_object(&all, reading->counters[i].name, one);
    }
    return all;
}

/* Where it was measured, and on what. */
static void calibrate_add_place(const struct calibrating *self, struct document *document)
{
    const struct conditions *conditions = &self->conditions;
    struct json_part note = json_part_new("note"), unseen = json_part_new(NULL);
    char text[2 * sizeof conditions->core + sizeof conditions->counter];
    json_part_text(&note, "text", conditions->note);
    if (conditions->note[0] != '\0')
        document_add(document, note);
    else
        json_decref(note.json);
    snprintf(text, sizeof text, "%s   %s", conditions->core, conditions->counter);
    row_text(&unseen, "conditions", text);
    row_text(&unseen, "location", self->location != NULL ? self->location->name : "");
    document_add(document, unseen);
}

bool calibration_put(struct session *session, const char *at, struct document *document, struct error *error)
{
    struct location location = {0};
    struct calibrating *self = calloc(1, sizeof *self);
    if (self == NULL)
        return error_memory(error);
    self->session = session;
    bool ok = program_open(session, error) && (at == NULL || calibrate_locate(self, at, &location, error)) &&
              program_open_target(session, error) && calibrate_check_code(self, error) &&
              calibration_measure(self, error);
    if (ok) {
        struct json_part line = json_part_new("summary");
        document_add(document, json_command_part("doctor", ""));
        calibrate_add_place(self, document);
        json_part_object(&line, "columns", calibrate_columns(self));
        document_add(document, line);
    }
    calibration_close(self);
    free(self);
    return ok;
}

/* ---- the examination */

/* The pause between two reads doubles until the counter has moved: a core may get little time, in a model. */
enum { PAUSE_MS = 20, PAUSES = 6 };

/* ---- which lines of the program can write the counter: the ELF is searched for them */

enum { CANDIDATES = 6, STATE = 256 };

static void doctor_tell(struct examination *self, const char *text)
{
    struct json_part line = json_part_new("note");
    json_part_text(&line, "text", text);
    document_add(self->document, line);
}

static void put_candidate(struct examination *self, const char *name, uint64_t address)
{
    struct location location;
    struct json_part line = json_part_new("writer");
    symbols_describe(self->session->symbols, address, &location);
    json_part_text(&line, "register", name);
    json_part_hex(&line, "address", address);
    json_part_text(&line, "place", location.name);
    json_part_text(&line, "source", location.source);
    document_add(self->document, line);
}

static void tell_candidates(struct examination *self, size_t n)
{
    char text[128], of[32] = "";
    if (n > CANDIDATES)
        snprintf(of, sizeof of, ", %d of %zu", CANDIDATES, n);
    snprintf(text, sizeof text, "Candidates%s: which of these run is not known.", of);
    doctor_tell(self, text);
}

/* Lists a Cortex-M's stores to one register, or to all (NULL), whose address is a constant in the code.
 * False: there are none. */
static bool list_stores(struct examination *self, const struct counter_block *block, const char *only)
{
    uint64_t found[CANDIDATES];
    size_t all = 0, shown = 0;
    for (size_t i = 0; i < block->kind->n_registers; i++) {
        const struct counter_register *one = &block->kind->registers[i];
        if (only != NULL && strcmp(only, one->name) != 0 &&
            (one->also == NULL || strcmp(only, one->also) != 0))
            continue;
        size_t n = symbols_stores_to(self->session->symbols, one->word, found, CANDIDATES);
        for (size_t k = 0; k < n && shown < CANDIDATES; k++, shown++)
            put_candidate(self, one->name, found[k]);
        all += n;
    }
    if (all > 0)
        tell_candidates(self, all);
    return all > 0;
}

static const char none_writes[] =
    "The ELF has no instruction known to write it: a pointer, an operating system or a debugger does.";

static void search(struct examination *self, const char *first)
{
    struct counter_write writes[CANDIDATES];
    size_t n = symbols_counter_writes(self->session->symbols, first, writes, CANDIDATES);
    for (size_t i = 0; i < n && i < CANDIDATES; i++)
        put_candidate(self, writes[i].name, writes[i].address);
    if (n > 0)
        tell_candidates(self, n);
    else
        doctor_tell(self, none_writes);
}

/* The counter that was found WRITTEN, perhaps before it could be taken; NULL: none is known. */
static const struct counter_block *written_block(const struct examination *self)
{
    const struct device_core *core = self->session->device.chosen;
    const char *name = self->session->request->counter;
    if (self->session->device.block != NULL)
        return self->session->device.block;
    for (size_t i = 0; i < core->n_blocks; i++)
        if (name != NULL ? strcasecmp(core->blocks[i].kind->name, name) == 0
                         : core->blocks[i].unusable[0] == '\0')
            return &core->blocks[i];
    return NULL;
}

static bool is_searched(const struct examination *self)
{
    const struct core *core = &self->session->device.chosen->core;
    return core_has(core, ARM_CODE) && !core_has(core, SYSTEM_SPACE);
}

/* After a trial that found the counter WRITTEN for the reason `why`. */
static void name_writers(struct examination *self, const struct error *why)
{
    const struct counter_block *block = written_block(self);
    if (self->session->symbols == NULL)
        doctor_tell(self, "--elf FILE lists the instructions that can write it.");
    else if (is_searched(self))
        search(self, why->subject);
    else if (block != NULL && !list_stores(self, block, why->subject) && !list_stores(self, block, NULL))
        doctor_tell(self, none_writes);
}

/* The counter is enabled and does not count. */
static void name_stoppers(struct examination *self)
{
    if (is_searched(self) && self->session->device.remote == NULL && self->session->symbols != NULL)
        search(self, "PMCR");
}

/* ---- the tests and the counter itself */

static void doctor_put_core(struct examination *self)
{
    const struct device *device = &self->session->device;
    const struct core *core = &device->chosen->core;
    struct json_part line = json_part_new("core");
    char link[128];
    link_describe(self->session->link, link, sizeof link);
    document_add(self->document, json_command_part("doctor", link));
    json_part_unsigned(&line, "number", (uint64_t)(device->chosen - device->cores));
    json_part_text(&line, "name", core->name);
    if (core->debug_base != 0)
        json_part_hex(&line, "debug_base", core->debug_base);
    if (core->pmu_base != 0)
        json_part_hex(&line, "pmu_base", core->pmu_base);
    document_add(self->document, line);
}

static void put_tests(struct examination *self, const struct diagnosis *diagnosis)
{
    static const char *const findings[] = {
        [FINDING_OK] = "ok", [FINDING_BAD] = "bad", [FINDING_UNKNOWN] = "unknown"};
    for (size_t i = 0; i < diagnosis->n; i++) {
        const struct doctor_test *test = &diagnosis->tests[i];
        struct json_part line = json_part_new("test");
        json_part_text(&line, "name", test->name);
        json_part_text(&line, "finding", findings[test->finding]);
        json_part_text(&line, "state", test->state);
        json_part_text(&line, "detail", test->detail);
        document_add(self->document, line);
    }
}

/* What irq, tasks and delta --no-halt would find. A core whose trace does not arrive is healthy, too. */
static void doctor_add_trace(struct device *device, struct diagnosis *diagnosis,
                             const struct deadline *deadline)
{
    const struct core *core = &device->chosen->core;
    struct trace_prospect trace;
    if (diagnosis->n == DOCTOR_TESTS || !diagnosis->healthy || !core_has(core, SYSTEM_SPACE) ||
        device->debugger != NULL)
        return;
    struct doctor_test *test = &diagnosis->tests[diagnosis->n++];
    trace_foresee(device, &trace, deadline);
    bool is_fault = !trace.comes && strcmp(trace.how.state, "none") != 0;
    *test = (struct doctor_test){.finding = is_fault ? FINDING_BAD : FINDING_OK, .name = "trace out"};
    snprintf(test->state, sizeof test->state, "%s", trace.how.state);
    if (trace.comes)
        snprintf(test->detail, sizeof test->detail, "%s through %.90s", trace.emits, trace.how.text);
    else
        snprintf(test->detail, sizeof test->detail, "%s", trace.how.text);
}

static void put_counter(struct examination *self, uint64_t first, uint64_t second, int ms)
{
    const struct device *device = &self->session->device;
    const char *name = device->reading.counters[0].name, *state = device->block->state;
    struct json_part line = json_part_new("counter");
    json_part_text(&line, "name", name);
    json_part_text(&line, "text", device->block->text);
    json_part_text(&line, "state", state);
    json_part_unsigned(&line, "first", first);
    json_part_unsigned(&line, "second", second);
    json_part_unsigned(&line, "ms", (uint64_t)ms);
    json_part_bool(&line, "moves", first != second);
    document_add(self->document, line);
}

static void put_written(struct examination *self, const struct error *why)
{
    const struct counter_block *block = written_block(self);
    struct json_part line = json_part_new("counter");
    json_part_text(&line, "name", block != NULL ? block->counters[0].name : "");
    json_part_text(&line, "text", block != NULL ? block->text : "");
    json_part_bool(&line, "written", true);
    document_add(self->document, line);
    name_writers(self, why);
}

/* Of a run that `failed` people alone see why the core is not healthy. */
static void doctor_put_summary(struct examination *self, const struct diagnosis *diagnosis, bool mended,
                               bool failed)
{
    const struct proof *proof = &self->proof;
    struct json_part line = json_part_new(failed ? NULL : "summary");
    json_part_bool(&line, "healthy", diagnosis->healthy);
    if (!diagnosis->healthy) {
        json_part_text(&line, "reason", diagnosis->reason);
        json_part_text(&line, "advice", diagnosis->advice);
        json_part_bool(&line, "mendable", diagnosis->mendable);
        json_part_bool(&line, "mended", mended);
    }
    if (self->prove) {
        json_part_bool(&line, "restored", proof->left == 0);
        json_part_unsigned(&line, "compared", proof->compared);
        json_part_unsigned(&line, "moved", proof->moved);
        json_part_unsigned(&line, "left", proof->left);
        json_part_unsigned(&line, "unknown", proof->unknown);
    }
    if (self->calibration != NULL)
        json_part_object(&line, "columns", calibrate_columns(self->calibration));
    document_add(self->document, line);
}

/* *second equals *first if the counter did not count for *ms. */
static bool read_twice(struct device *device, uint64_t *first, uint64_t *second, int *ms,
                       const struct deadline *deadline, struct error *error)
{
    uint64_t values[READING_ROOM], before, after;
    if (!device_read(device, values, &before, &after, deadline, error))
        return false;
    *first = *second = values[0];
    *ms = 0;
    for (int i = 0, pause = PAUSE_MS; i < PAUSES && *second == *first; i++, pause *= 2) {
        if (!device_run_for(device, pause, deadline, error) ||
            !device_read(device, values, &before, &after, deadline, error))
            return false;
        *second = values[0];
        *ms += pause;
    }
    return true;
}

static bool check_movement(struct examination *self, bool moves, uint64_t status, struct error *error)
{
    const struct core *counted = &device_counted(&self->session->device)->core;
    if (moves || core_state_of(counted, status) == CORE_ASLEEP)
        return true;
    name_stoppers(self);
    return error_set(error, ERROR_NO_COUNTER, "%s does not count while the core runs",
                     self->session->device.reading.counters[0].name);
}

/* It was right while it was read; where these run, it is not. */
static void name_own_writes(struct examination *self)
{
    const struct device *device = &self->session->device;
    size_t n = 0;
    for (size_t i = 0; i < device->n_changes; i++)
        if (device->changes[i].kind == device->block->kind && n++ < CANDIDATES)
            put_candidate(self, device->changes[i].name, device->changes[i].at);
    if (n > 0)
        doctor_tell(self, "These instructions change it: counts in which one runs are wrong.");
}

/* What is written may count from stop to stop all the same. */
static bool counts_at_stops(struct examination *self, struct error *error)
{
    if (error->kind != ERROR_WRITTEN || !device_follow_reload(&self->session->device, error->subject))
        return false;
    doctor_tell(self, "delta, survey and lines count with it; what is longer than one period is \"at "
                      "least\". stat and watch cannot.");
    error_clear(error);
    return true;
}

/* The counter itself: on a running core it moves between two reads. */
static bool try_counter(struct examination *self, struct error *error)
{
    struct device *device = &self->session->device;
    const struct core *counted = &device_counted(device)->core;
    uint64_t first, second, status;
    int ms;
    struct deadline deadline = session_deadline(self->session);
    struct clock clock;
    double seen_hz;
    self->session->polls = true;
    if (!session_take(self->session, error) || !trial_counter(self->session, &clock, &seen_hz, error)) {
        if (error->kind == ERROR_WRITTEN)
            put_written(self, error);
        else if (error->kind == ERROR_NO_COUNTER && error->subject != NULL)
            name_writers(self, error);
        return counts_at_stops(self, error);
    }
    if (!read_twice(device, &first, &second, &ms, &deadline, error) ||
        !ledger_read(device->ledger, core_status_register(counted), &status, &deadline, error))
        return false;
    put_counter(self, first, second, ms);
    name_own_writes(self);
    if (self->session->clock.doubt[0] != '\0')
        doctor_tell(self, self->session->clock.doubt);
    return check_movement(self, first != second, status, error);
}

static bool doctor_mend(struct examination *self, const struct diagnosis *diagnosis, struct error *error)
{
    struct ledger *ledger = self->session->device.ledger;
    struct deadline deadline = session_deadline(self->session);
    const struct setting *setting = &diagnosis->mend;
    if (!ledger_apply(ledger, setting, &deadline, error))
        return false;
    ledger_forget(ledger, setting->at); /* so that it is not undone */
    struct json_part unseen = json_part_new(NULL);
    row_hex(&unseen, "written", setting->at.offset);
    document_add(self->document, unseen);
    return true;
}

/* A core that hangs in a fault handler gives counts, but not of the program. */
static void tell_fault(struct examination *self)
{
    char exception[STATE], text[STATE + 32];
    where_describe_exception(self->session, &self->session->device.chosen->core, true, exception,
                             sizeof exception);
    snprintf(text, sizeof text, "the core is%s", exception[0] != '\0' ? exception + 1 : "");
    if (exception[0] != '\0')
        doctor_tell(self, text);
}

static bool look_at_location(struct examination *self, struct error *error)
{
    if (!calibration_measure(self->calibration, error)) {
        if (error->kind == ERROR_WRITTEN)
            put_written(self, error);
        return false;
    }
    calibrate_add_place(self->calibration, self->document);
    return true;
}

/* ---- the proof that nothing is left */

static void put_register(void *context, const struct proof_register *it)
{
    struct examination *self = context;
    struct json_part line = json_part_new("register");
    json_part_text(&line, "name", it->name);
    json_part_hex(&line, "address", it->offset);
    json_part_hex(&line, "before", it->before);
    json_part_hex(&line, "after", it->after);
    json_part_bool(&line, "left", it->moves == NULL);
    json_part_text(&line, "reason", or_empty(it->moves));
    document_add(self->document, line);
}

static bool doctor_prove(struct examination *self, struct error *error)
{
    self->proof = (struct proof){.block = written_block(self),
                                 .start = self->start,
                                 .end = self->end,
                                 .context = self,
                                 .differs = put_register};
    return proof_make(self->session, &self->proof, error);
}

/* A measurement tries the counter, too. */
static bool look_closer(struct examination *self, struct error *error)
{
    tell_fault(self);
    if (self->calibration != NULL)
        return look_at_location(self, error);
    return self->prove ? doctor_prove(self, error) : try_counter(self, error);
}

static bool examine(struct examination *self, struct error *error)
{
    struct device *device = &self->session->device;
    struct diagnosis diagnosis;
    struct deadline deadline = session_deadline(self->session);
    doctor_put_core(self);
    if (!doctor_examine(device, device->chosen, &diagnosis, &deadline, error))
        return false;
    doctor_add_trace(device, &diagnosis, &deadline);
    put_tests(self, &diagnosis);
    self->healthy = diagnosis.healthy;
    bool closer = diagnosis.healthy || self->prove || self->calibration != NULL,
         mending = !diagnosis.healthy && diagnosis.mendable && self->mend,
         ok = (!closer || look_closer(self, error)) && (!mending || doctor_mend(self, &diagnosis, error));
    if (ok || !diagnosis.healthy)
        doctor_put_summary(self, &diagnosis, mending, !ok);
    return ok;
}

static bool open_location(struct examination *self, struct error *error)
{
    if (self->start == NULL || self->prove)
        return true;
    if (self->end != NULL)
        return error_set(error, ERROR_USAGE, "doctor takes an END only with --prove");
    self->calibration = calloc(1, sizeof *self->calibration);
    if (self->calibration == NULL)
        return error_memory(error);
    self->calibration->session = self->session;
    return calibrate_locate(self->calibration, self->start, &self->location, error);
}

bool examination_make(struct examination *self, struct error *error)
{
    return program_open(self->session, error) && open_location(self, error) &&
           program_open_target(self->session, error) &&
           (self->calibration == NULL || calibrate_check_code(self->calibration, error)) &&
           examine(self, error);
}

void examination_free(struct examination *self)
{
    if (self->calibration != NULL)
        calibration_close(self->calibration);
    free(self->calibration);
}
