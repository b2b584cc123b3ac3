/* doctor: why a counter cannot be read, and what mends it. --mend is the one thing that leaves a trace. */
#include "device/doctor.h"
#include "commands/command.h"
#include "device/writers.h"
#include "measure/plausible.h"
#include "report/json.h"
#include "report/terminal.h"
#include "run/calibration.h"
#include "run/session.h"
#include "run/where.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The pause between two looks doubles until the counter has moved: a core may get little time, in a model. */
enum { PAUSE_MS = 20, PAUSES = 6, LEFT = 64, INDENT = 2 };

static bool is_json(const struct session *session)
{
    return session->context->options->format == FORMAT_JSON;
}

/* ---- which lines of the program write the counter: a watchpoint tells on a Cortex-M; of an A or R core the
 * ELF is searched for instructions that can */

enum { CANDIDATES = 6, PLACE = 512, STATE = 256 };

static void tell(const struct session *session, const char *text)
{
    FILE *out = session->context->out;
    if (!is_json(session)) {
        fold_beside(out, terminal_columns(out), "  ", text);
        return;
    }
    struct json_part line = json_part_new("note");
    json_part_text(&line, "text", text);
    json_part_write(out, line);
}

/* "writes.c:76 (write_it+0x12), 0x0800041E", or the address alone. */
static void place_of(const struct session *session, uint64_t address, char *out, size_t size)
{
    char place[PLACE - 32], digits[24];
    session_place(session, address, place, sizeof place);
    snprintf(digits, sizeof digits, "0x%08" PRIX64, address);
    snprintf(out, size, "%s%s%s", strcmp(place, digits) == 0 ? "" : place,
             strcmp(place, digits) == 0 ? "" : ", ", digits);
}

static void print_row(const struct session *session, const char *what, const char *name, const char *text)
{
    FILE *out = session->context->out;
    char left[LEFT];
    snprintf(left, sizeof left, "  %-15s %-10s ", what, name);
    fold_beside(out, terminal_columns(out), left, text);
}

/* A line of JSON that names an instruction; the caller adds what its method knows. */
static struct json_part writer_line(const struct session *session, const char *name, uint64_t address,
                                    const char *how)
{
    struct location location;
    struct json_part line = json_part_new("writer");
    symbols_describe(session->symbols, address, &location);
    json_part_text(&line, "register", name);
    json_part_hex(&line, "address", address);
    json_part_text(&line, "place", session->symbols != NULL ? location.name : "");
    json_part_text(&line, "source", location.source);
    json_part_text(&line, "how", how);
    return line;
}

/* ---- by the code */

static void put_candidate(const struct session *session, const char *name, uint64_t address)
{
    char place[PLACE];
    if (is_json(session)) {
        json_part_write(session->context->out, writer_line(session, name, address, "code"));
        return;
    }
    place_of(session, address, place, sizeof place);
    print_row(session, "may write it", name, place);
}

static void tell_candidates(const struct session *session, size_t n)
{
    char text[128], of[32] = "";
    if (n > CANDIDATES)
        snprintf(of, sizeof of, ", %d of %zu", CANDIDATES, n);
    snprintf(text, sizeof text, "Candidates%s: which of these instructions run is not known.", of);
    tell(session, text);
}

/* Lists a Cortex-M's stores to one register, or to all (NULL), whose address is a constant in the code. */
static void list_stores(const struct session *session, const struct counter_block *block, const char *only)
{
    uint64_t found[CANDIDATES];
    size_t all = 0, shown = 0;
    for (size_t i = 0; i < block->kind->n_registers; i++) {
        const struct counter_register *one = &block->kind->registers[i];
        if (only != NULL && strcmp(only, one->name) != 0)
            continue;
        size_t n = symbols_stores_to(session->symbols, one->word, found, CANDIDATES);
        for (size_t k = 0; k < n && shown < CANDIDATES; k++, shown++)
            put_candidate(session, one->name, found[k]);
        all += n;
    }
    if (all > 0)
        tell_candidates(session, all);
}

static void search(const struct session *session, const char *first)
{
    struct counter_write writes[CANDIDATES];
    if (session->symbols == NULL) {
        tell(session, "With --elf FILE the instructions that can write it are listed.");
        return;
    }
    size_t n = symbols_counter_writes(session->symbols, first, writes, CANDIDATES);
    for (size_t i = 0; i < n && i < CANDIDATES; i++)
        put_candidate(session, writes[i].name, writes[i].address);
    if (n > 0)
        tell_candidates(session, n);
    else
        tell(session,
             "No instruction of the ELF writes the performance monitor: an operating system, another "
             "program or another debugger does.");
}

/* ---- by a watchpoint */

/* One store, and how often the core stopped after it. */
struct seen {
    const char *name;
    uint64_t at; /* the store, or where the core stopped */
    bool exact;
    unsigned times;
};

static size_t gather(const struct session *session, const struct writers *writers, struct seen *out)
{
    size_t n = 0;
    for (size_t i = 0; i < writers->n; i++) {
        const struct writer *writer = &writers->items[i];
        struct seen one = {.name = writer->name, .at = writer->stop, .times = writer->times};
        one.exact = symbols_store_before(session->symbols, writer->registers, writer->word, &one.at);
        size_t same = 0;
        while (same < n && (out[same].at != one.at || out[same].exact != one.exact ||
                            strcmp(out[same].name, one.name) != 0))
            same++;
        if (same < n)
            out[same].times += one.times;
        else
            out[n++] = one;
    }
    return n;
}

static void put_seen(const struct session *session, const struct seen *seen)
{
    char place[PLACE], text[PLACE + 64];
    if (is_json(session)) {
        struct json_part line = writer_line(session, seen->name, seen->at, "watchpoint");
        json_part_bool(&line, "exact", seen->exact);
        json_part_unsigned(&line, "times", seen->times);
        json_part_write(session->context->out, line);
        return;
    }
    place_of(session, seen->at, place, sizeof place);
    snprintf(text, sizeof text, "%s%s: %u time%s", seen->exact ? "" : "at or a few instructions before ",
             place, seen->times, seen->times == 1 ? "" : "s");
    print_row(session, "written by", seen->name, text);
}

static void list_watched(const struct writers *writers, char *out, size_t size)
{
    out[0] = '\0';
    for (size_t i = 0; i < writers->n_watched; i++) {
        size_t used = strlen(out);
        snprintf(out + used, size - used, "%s%s", i == 0 ? "" : ", ", writers->watched[i]);
    }
}

static void put_end(const struct session *session, const struct writers *writers)
{
    char watched[96], text[512], place[PLACE];
    if (writers->hindrance[0] != '\0') {
        snprintf(text, sizeof text, "Who writes it was not watched%s: %s.",
                 writers->n_watched > 0 ? " to the end" : "", writers->hindrance);
        tell(session, text);
    }
    if (session->device.leave == LEAVE_HALTED_FOREIGN) {
        place_of(session, session->device.stopped_at, place, sizeof place);
        snprintf(text, sizeof text, "The core stands at %.200s.", place);
        tell(session, text);
    }
    if (writers->more)
        tell(session, "There are more places than these.");
    if (writers->n > 0 && session->symbols == NULL)
        tell(session, "With --elf FILE these are functions and lines.");
    if (writers->n > 0 || writers->hindrance[0] != '\0')
        return;
    list_watched(writers, watched, sizeof watched);
    snprintf(
        text, sizeof text,
        "A watchpoint saw no write of the program to %s. Another debugger may do it, or this core does not "
        "watch registers of its own.",
        watched);
    tell(session, text);
}

/* The counter that was found WRITTEN, perhaps before it could be taken; NULL: none is known. */
static const struct counter_block *written_block(const struct session *session)
{
    const struct device_core *core = session->device.chosen;
    const char *name = session->context->options->counter;
    if (session->device.block != NULL)
        return session->device.block;
    for (size_t i = 0; i < core->n_blocks; i++)
        if (name != NULL ? strcasecmp(core->blocks[i].kind->name, name) == 0
                         : core->blocks[i].unusable[0] == '\0')
            return &core->blocks[i];
    return NULL;
}

static void watch(struct session *session, const char *first)
{
    struct writers writers;
    struct seen seen[WRITERS_ROOM];
    struct error failed = {0};
    const char *unclear = NULL;
    struct deadline deadline = session_deadline(session);
    const struct counter_block *block = written_block(session);
    if (block == NULL)
        return;
    bool ok = writers_watch(&session->device, block, first, &writers, &deadline, &failed);
    if (!ok)
        snprintf(writers.hindrance, sizeof writers.hindrance, "%.150s", failed.text);
    size_t n = gather(session, &writers, seen);
    for (size_t i = 0; i < n; i++) {
        put_seen(session, &seen[i]);
        if (!seen[i].exact)
            unclear = seen[i].name;
    }
    put_end(session, &writers);
    if (session->symbols != NULL && (n == 0 || unclear != NULL))
        list_stores(session, block, unclear);
}

static bool is_searched(const struct session *session)
{
    const struct core *core = &session->device.chosen->core;
    return core_has(core, ARM_CODE) && !core_has(core, SYSTEM_SPACE);
}

/* After a trial that found the counter WRITTEN for the reason `why`. Prints its own failures. */
static void name_writers(struct session *session, const struct error *why)
{
    if (writers_can_watch(&session->device))
        watch(session, why->subject);
    else if (is_searched(session))
        search(session, why->subject);
}

/* The counter is enabled and stands still. */
static void name_stoppers(const struct session *session)
{
    if (is_searched(session) && session->device.remote == NULL)
        search(session, "PMCR");
}

/* ---- the tests and the counter itself */

static void put_core(struct session *session)
{
    const struct device *device = &session->device;
    const struct core *core = &device->chosen->core;
    struct json_part line = json_part_new("core");
    char link[128];
    link_describe(session->link, link, sizeof link);
    json_command_header(session->context->out, "doctor", link);
    json_part_unsigned(&line, "number", (uint64_t)(device->chosen - device->cores));
    json_part_text(&line, "name", core->name);
    if (core->debug_base != 0)
        json_part_hex(&line, "debug_base", core->debug_base);
    if (core->pmu_base != 0)
        json_part_hex(&line, "pmu_base", core->pmu_base);
    json_part_write(session->context->out, line);
}

static void put_tests(FILE *out, const struct diagnosis *diagnosis)
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
        json_part_write(out, line);
    }
}

static void put_counter(FILE *out, const struct device *device, uint64_t first, uint64_t second, int ms)
{
    struct json_part line = json_part_new("counter");
    json_part_text(&line, "name", device->reading.counters[0].name);
    json_part_text(&line, "text", device->block->text);
    json_part_text(&line, "state", device->block->state);
    json_part_unsigned(&line, "first", first);
    json_part_unsigned(&line, "second", second);
    json_part_unsigned(&line, "ms", (uint64_t)ms);
    json_part_bool(&line, "moves", first != second);
    json_part_write(out, line);
}

static void put_written(struct session *session, const struct error *why)
{
    FILE *out = session->context->out;
    const struct counter_block *block = written_block(session);
    if (is_json(session)) {
        struct json_part line = json_part_new("counter");
        json_part_text(&line, "name", block != NULL ? block->counters[0].name : "");
        json_part_text(&line, "text", block != NULL ? block->text : "");
        json_part_bool(&line, "written", true);
        json_part_write(out, line);
    } else {
        fprintf(out, "  %-15s %-10s %s\n", "counter", "WRITTEN", block != NULL ? block->text : "");
    }
    name_writers(session, why);
}

/* What the measurements found that the options ask for. */
struct findings {
    struct proof proof;
    struct calibrating *calibration; /* owned; of a location without --prove, else NULL */
};

static bool put_summary(const struct session *session, const struct diagnosis *diagnosis, bool mended,
                        const struct findings *findings, struct error *error)
{
    const struct proof *proof = &findings->proof;
    struct json_part line = json_part_new("summary");
    json_part_bool(&line, "healthy", diagnosis->healthy);
    if (!diagnosis->healthy) {
        json_part_text(&line, "reason", diagnosis->reason);
        json_part_text(&line, "advice", diagnosis->advice);
        json_part_bool(&line, "mendable", diagnosis->mendable);
        json_part_bool(&line, "mended", mended);
    }
    if (session->context->options->prove) {
        json_part_bool(&line, "restored", proof->left == 0);
        json_part_unsigned(&line, "compared", proof->compared);
        json_part_unsigned(&line, "moved", proof->moved);
        json_part_unsigned(&line, "left", proof->left);
        json_part_unsigned(&line, "unknown", proof->unknown);
    }
    if (findings->calibration != NULL)
        json_part_object(&line, "columns", calibration_columns(findings->calibration));
    return json_part_write(session->context->out, line) ||
           error_set(error, ERROR_UNWRITTEN, "the output could not be written");
}

static void print_core(FILE *out, const struct device *device)
{
    const struct core *core = &device->chosen->core;
    fprintf(out, "core %d   %s", (int)(device->chosen - device->cores), core->name);
    if (core->debug_base != 0)
        fprintf(out, "   debug 0x%08" PRIX64, core->debug_base);
    if (core->pmu_base != 0)
        fprintf(out, "   PMU 0x%08" PRIX64, core->pmu_base);
    fprintf(out, "\n\n");
}

static void print_tests(FILE *out, const struct diagnosis *diagnosis)
{
    for (size_t i = 0; i < diagnosis->n; i++) {
        char left[LEFT];
        snprintf(left, sizeof left, "  %-15s %-10s ", diagnosis->tests[i].name, diagnosis->tests[i].state);
        fold_beside(out, terminal_columns(out), left, diagnosis->tests[i].detail);
    }
}

/* *second equals *first if the counter stood still for *ms. */
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

static bool check_movement(const struct session *session, bool moves, uint64_t status, struct error *error)
{
    const struct core *counted = &device_counted(&session->device)->core;
    if (moves || core_state_of(counted, status) == CORE_ASLEEP)
        return true;
    name_stoppers(session);
    return error_set(error, ERROR_NO_COUNTER, "%s stands still while the core runs",
                     session->device.reading.counters[0].name);
}

/* It was right while it was looked at; where these run, it is not. */
static void name_own_writes(const struct session *session)
{
    const struct device *device = &session->device;
    size_t n = 0;
    for (size_t i = 0; i < device->n_changes; i++)
        if (device->changes[i].kind == device->block->kind && n++ < CANDIDATES)
            put_candidate(session, device->changes[i].name, device->changes[i].at);
    if (n > 0)
        tell(session, "These instructions of the program change it: counts in which one runs are wrong.");
}

/* What is written may count from stop to stop all the same. */
static bool counts_at_stops(struct session *session, struct error *error)
{
    if (error->kind != ERROR_WRITTEN || !device_follow_reload(&session->device, error->subject))
        return false;
    tell(session,
         "delta, survey and lines count with it, from stop to stop: what is longer than one period of it is "
         "\"at least\". stat and watch cannot.");
    error_clear(error);
    return true;
}

/* The counter itself: on a running core it moves between two reads. */
static bool try_counter(struct session *session, struct error *error)
{
    FILE *out = session->context->out;
    struct device *device = &session->device;
    const struct core *counted = &device_counted(device)->core;
    uint64_t first, second, status;
    int ms;
    struct deadline deadline = session_deadline(session);
    struct clock clock;
    double seen_hz;
    session->polls = true;
    if (!session_take(session, error) || !session_try_counter(session, &clock, &seen_hz, error)) {
        if (error->kind == ERROR_WRITTEN)
            put_written(session, error);
        else if (error->kind == ERROR_NO_COUNTER && error->subject != NULL)
            name_writers(session, error);
        return counts_at_stops(session, error);
    }
    if (!read_twice(device, &first, &second, &ms, &deadline, error) ||
        !ledger_read(device->ledger, core_status_register(counted), &status, &deadline, error))
        return false;
    const char *name = device->reading.counters[0].name;
    bool moves = first != second;
    if (is_json(session)) {
        put_counter(out, device, first, second, ms);
        name_own_writes(session);
        return check_movement(session, moves, status, error);
    }
    fprintf(out, "  %-15s %-10s %s: %" PRIu64 ", and %d ms later %" PRIu64 "\n", "counter",
            moves ? "ok" : "STANDS", name, first, ms, second);
    fprintf(out, "  %-15s %-10s %s\n", "found", device->block->state, device->block->text);
    name_own_writes(session);
    return check_movement(session, moves, status, error);
}

static bool mend(struct session *session, const struct diagnosis *diagnosis, struct error *error)
{
    struct ledger *ledger = session->device.ledger;
    struct deadline deadline = session_deadline(session);
    const struct setting *setting = &diagnosis->mend;
    if (!ledger_apply(ledger, setting, &deadline, error))
        return false;
    ledger_forget(ledger, setting->at); /* so that it is not undone */
    if (!is_json(session))
        fprintf(session->context->out, "\nMended, and left so: 0x%08" PRIX64 " was written.\n",
                setting->at.offset);
    return true;
}

/* A core that hangs in a fault handler gives counts, but not of the program. */
static void tell_fault(struct session *session)
{
    char exception[STATE], text[STATE + 32];
    where_describe_exception(session, &session->device.chosen->core, true, exception, sizeof exception);
    snprintf(text, sizeof text, "the core is%s", exception[0] != '\0' ? exception + 1 : "");
    if (exception[0] != '\0')
        tell(session, text);
}

static bool is_of_location(const struct options *options)
{
    return options->n_operands > 0 && !options->prove;
}

static bool look_at_location(struct session *session, struct calibrating *calibration, struct error *error)
{
    if (!calibration_measure(calibration, error)) {
        if (error->kind == ERROR_WRITTEN)
            put_written(session, error);
        return false;
    }
    if (!is_json(session)) {
        fputc('\n', session->context->out);
        calibration_text(calibration);
    } else if (calibration->conditions.note[0] != '\0') {
        tell(session, calibration->conditions.note);
    }
    return true;
}

/* A measurement tries the counter, too. */
static bool look_closer(struct session *session, struct findings *findings, struct error *error)
{
    tell_fault(session);
    if (findings->calibration != NULL)
        return look_at_location(session, findings->calibration, error);
    return session->context->options->prove
               ? session_prove(session, written_block(session), &findings->proof, error)
               : try_counter(session, error);
}

static bool examine_as_json(struct session *session, bool *healthy, struct findings *findings,
                            struct error *error)
{
    struct diagnosis diagnosis;
    struct deadline deadline = session_deadline(session);
    put_core(session);
    if (!doctor_examine(&session->device, session->device.chosen, &diagnosis, &deadline, error))
        return false;
    put_tests(session->context->out, &diagnosis);
    *healthy = diagnosis.healthy;
    bool mending = !diagnosis.healthy && diagnosis.mendable && session->context->options->mend;
    bool closer = diagnosis.healthy || session->context->options->prove || findings->calibration != NULL;
    return (!closer || look_closer(session, findings, error)) &&
           (!mending || mend(session, &diagnosis, error)) &&
           put_summary(session, &diagnosis, mending, findings, error);
}

static bool examine(struct session *session, bool *healthy, struct findings *findings, struct error *error)
{
    FILE *out = session->context->out;
    struct diagnosis diagnosis;
    struct deadline deadline = session_deadline(session);
    if (is_json(session))
        return examine_as_json(session, healthy, findings, error);
    print_core(out, &session->device);
    if (!doctor_examine(&session->device, session->device.chosen, &diagnosis, &deadline, error))
        return false;
    print_tests(out, &diagnosis);
    *healthy = diagnosis.healthy;
    if (diagnosis.healthy)
        return look_closer(session, findings, error);
    char reason[sizeof diagnosis.reason + 64];
    snprintf(reason, sizeof reason, "The counters cannot be read: %s.", diagnosis.reason);
    fputc('\n', out);
    fold_text(out, terminal_columns(out), INDENT, reason);
    fold_text(out, terminal_columns(out), INDENT, diagnosis.advice);
    if (session->context->options->prove || findings->calibration != NULL)
        return look_closer(session, findings, error);
    if (!diagnosis.mendable)
        return true;
    if (session->context->options->mend)
        return mend(session, &diagnosis, error);
    fprintf(out, "To mend it and leave it so:  pmu-probe -C %d doctor --mend\n",
            (int)(session->device.chosen - session->device.cores));
    return true;
}

static bool open_location(struct session *session, struct findings *findings, struct error *error)
{
    const struct options *options = session->context->options;
    if (!is_of_location(options))
        return true;
    if (options->n_operands > 1)
        return error_set(error, ERROR_USAGE, "doctor takes an END only with --prove");
    findings->calibration = calloc(1, sizeof *findings->calibration);
    if (findings->calibration == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    findings->calibration->session = session;
    return calibration_locate(findings->calibration, error);
}

static void close_location(struct findings *findings)
{
    if (findings->calibration != NULL)
        calibration_close(findings->calibration);
    free(findings->calibration);
}

int command_doctor(const struct context *context, struct error *error)
{
    const struct options *options = context->options;
    bool measures = is_of_location(options), healthy = true;
    struct session session = {.context = context,
                              .needs_elf = measures ? ELF_FOR_NAMES : ELF_NOT_NEEDED,
                              .tolerates_left = !measures,
                              .may_stop = measures};
    struct findings findings = {0};
    bool ok = session_open_elf(&session, error) && open_location(&session, &findings, error) &&
              session_open_target(&session, error) && examine(&session, &healthy, &findings, error);
    close_location(&findings);
    /* A counter that stands still, or that something else writes, is a finding */
    bool found = error->kind == ERROR_NO_COUNTER || error->kind == ERROR_WRITTEN;
    if (found)
        command_has_result(context);
    if (error->kind == ERROR_WRITTEN)
        error->kind = ERROR_WRITER_SOUGHT;
    int code = session_finish(&session, ok, error);
    if (code != EXIT_DONE)
        return found ? EXIT_UNHEALTHY : code;
    if (options->prove) /* a lock that a measurement opens is no finding here */
        return findings.proof.left == 0 ? EXIT_DONE : EXIT_UNHEALTHY;
    return healthy || options->mend || measures ? EXIT_DONE : EXIT_UNHEALTHY;
}
