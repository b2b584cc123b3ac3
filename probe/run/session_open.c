/* SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "base/values.h"
#include "report/terminal.h"
#include "run/session.h"
#include <inttypes.h>
#include <stdarg.h>

#include "base/file.h"
#include "device/device.h"
#include "links/claim.h"
#include "run/connect.h"
#include "run/region_notes.h"
#include "run/tasks.h"
#include "run/trial.h"
#include "wire/wire.h"

#include <inttypes.h>
#include <stdio.h>

enum { ACCESS_MS = 5000, LAST_MS = 5000 };

struct deadline session_last_deadline(const struct session *session)
{
    return ending_deadline(session->around->ending, patience_ms(LAST_MS));
}

struct deadline session_deadline(const struct session *session)
{
    struct deadline deadline = deadline_in_ms(patience_ms(ACCESS_MS), session->around->cancel);
    deadline.ending = session->around->ending;
    return deadline;
}

const char *session_elf(const struct session *session)
{
    const char *named = session->request->elf;
    return named != NULL ? named : session->elf.found;
}

/* In a recording: what chip it is of. */
static void note_chip(const struct session *session)
{
    for (size_t i = 0; i < session->device.n_cores; i++) {
        const struct core *core = &session->device.cores[i].core;
        char text[128];
        snprintf(text, sizeof text, "chip: core %zu, %.64s, id 0x%08" PRIx32, i, core->name, core->id);
        wire_note(session->around->wire, text);
    }
}

static void log_target(const struct session *session)
{
    static const char *const states[] = {[CORE_RUNNING] = "running",
                                         [CORE_ASLEEP] = "asleep",
                                         [CORE_HALTED] = "halted",
                                         [CORE_LOCKUP] = "locked up",
                                         [CORE_HIDDEN] = "hidden"};
    const struct log *log = session->around->log;
    char text[128];
    link_describe(session->link, text, sizeof text);
    log_line(log, "connected: %s", text);
    note_chip(session);
    for (size_t i = 0; log != NULL && i < session->device.n_cores; i++) {
        const struct device_core *core = &session->device.cores[i];
        log_line(log,
                 "core %zu: %s, id 0x%08" PRIx32 ", %s, %u comparators, debug 0x%08" PRIx64
                 ", PMU 0x%08" PRIx64,
                 i, core->core.name, core->core.id, states[core->state], core->core.comparators,
                 core->core.debug_base, core->core.pmu_base);
        for (size_t k = 0; k < core->n_blocks; k++)
            log_line(log, "  %s: %s%s%s", core->blocks[k].text, core->blocks[k].state,
                     core->blocks[k].unusable[0] != '\0' ? "; " : "", core->blocks[k].unusable);
    }
}

static void note_past_cache(const struct session *session)
{
    for (size_t i = 0; i < session->device.n_cores; i++)
        if (session->device.cores[i].is_past_cache)
            request_note(session->request,
                         "OpenOCD reads memory past the data cache of core %zu: variables may be old. Give "
                         "it DAP apcsw 0x08000000 0x08000000 (dap names: DAP)",
                         i);
}

static bool find_target(struct session *session, int number, struct error *error)
{
    const struct request *request = session->request;
    const struct device_request wanted = {
        .core = request->counters != NULL ? -1
                                          : request->core, /* with --counters, -C names the CPU that counts */
        .debug = request->debug_base,
        .pmu = request->pmu_base,
        .cti = request->cti,
        .keeps_registers = session->restores};
    struct deadline deadline = session_deadline(session);
    if (!device_open(&session->device, session->link, &wanted, &deadline, error))
        return false;
    session->device.symbols = session->symbols;
    log_target(session);
    note_past_cache(session);
    return device_choose(&session->device, number, error);
}

/* One pmu-probe at a time: the one place where a link is claimed. */
static bool claim_link(const struct session *session, struct error *error)
{
    struct claim claim;
    claim_make(&claim, session->request->command);
    claim.takes_over = session->restores;
    return link_claim(session->link, &claim, error);
}

bool session_reach_target(struct session *session, struct error *error)
{
    struct error left = {0};
    if (session->link != NULL) /* for the search of an ELF file */
        return true;
    for (size_t i = 0; i < SURROUNDINGS_OUTPUTS; i++)
        if (session->around->outputs[i] != NULL)
            spool_ends_the_run(session->around->outputs[i]);
    session->link = connect_link(session->request, session->around, error);
    if (session->link == NULL || !claim_link(session, error) ||
        !find_target(session, session->request->core, error))
        return false;
    if (!session->restores && !session_check_left(session, &left)) {
        if (left.kind != ERROR_LEFT || !session->tolerates_left)
            return error_copy(error, &left);
        fprintf(stderr, "pmu-probe: %s. %s\n", left.text, error_advice(&left));
    }
    /* A server that reads a core with borrowed registers would take these for the program's */
    if (left.kind == ERROR_NONE && !session->restores && !link_server_recover(session->link, error))
        return false;
    session_begin_journal(session);
    return true;
}

bool session_look_again(struct session *session, int number, struct error *error)
{
    device_close(&session->device);
    if (!find_target(session, number, error))
        return false;
    session_begin_journal(session);
    return true;
}

bool session_look(struct session *session, const struct core *core, uint64_t address,
                  const struct deadline *deadline, uint32_t *out)
{
    struct step read = step_read(core_word(core, address));
    struct steps list = {.items = &read, .n = 1, .room = 1};
    struct error ignored = {0};
    uint64_t value;
    bool asleep;
    if (!awake_look(&session->device, core, &list, &value, &asleep, deadline, &ignored) ||
        (asleep && !session->elf.shown_in_sleep &&
         !awake_read(&session->device, core, &list, &value, &asleep, deadline, &ignored)))
        return false;
    *out = (uint32_t)value;
    return !asleep || session->elf.shown_in_sleep;
}

void session_place(const struct session *session, uint64_t address, char *out, size_t size)
{
    struct location location;
    symbols_describe(session->symbols, address, &location);
    if (location.source[0] != '\0')
        snprintf(out, size, "%s (%s)", location.source, location.name);
    else
        snprintf(out, size, "%s", location.name);
}

bool session_refuse_stop(const struct session *session, struct error *error)
{
    return error_set(error, ERROR_FOREIGN_STOP, "halted by someone else at 0x%08" PRIX64,
                     session->device.stopped_at); /* session_finish names the place */
}

bool session_check_run_control(const struct session *session, struct error *error)
{
    return session->device.debugger != NULL || core_has_run_control(&session->device.chosen->core) ||
           error_advise(error, ERROR_USAGE, "",
                        "%s needs run control: --probe gdb:HOST:PORT has it, with --counters for the MSRs; "
                        "stat and watch work here",
                        session->request->command);
}

bool session_take_core(struct session *session, bool resume, struct error *error)
{
    struct deadline deadline = session_deadline(session);
    char place[512];
    session_place(session, session->device.chosen->halted_at, place, sizeof place);
    return device_take(&session->device, resume, place, &deadline, error);
}

bool session_take(struct session *session, struct error *error)
{
    const struct request *request = session->request;
    session->device.divide = request->divide64;
    if (!session_take_core(session, request->resume, error))
        return false;
    struct deadline deadline = session_deadline(session);
    return device_take_block(&session->device, request->counter, &deadline, error);
}

bool session_sees_running(const struct session *session, const char *command, struct error *error)
{
    return device_sees_running(&session->device) ||
           (device_refuse_debugger(command, "; delta works here", error),
            error_prefix(error, "a GDB server shows only a halted core: "));
}

/* As it was when the link was opened. One that was never started sleeps in its boot ROM, and one that was may
 * sleep then, too. */
static bool another_core_runs(const struct session *session)
{
    const struct device *device = &session->device;
    bool runs = false, sleeps = false;
    for (size_t i = 0; i < device->n_cores; i++) {
        bool other = &device->cores[i] != device->chosen && !device->cores[i].view.counts_only;
        runs = runs || (other && device->cores[i].state == CORE_RUNNING);
        sleeps = sleeps || (other && device->cores[i].state == CORE_ASLEEP);
    }
    return runs || (sleeps && tasks_start_cores(session->symbols));
}

static const char *doubt_of_cores(const struct session *session, const struct named_region *named)
{
    if (session->device.n_cores < 2)
        return "";
    if (tasks_change_cores(session->symbols))
        return "pin the task: a hit that moves to another core is wrong, and nothing shows it";
    return !named->region.to_return && another_core_runs(session)
               ? "another core runs, too: an end that it reaches is not seen"
               : "";
}

/* Forked processes have the same code and stacks. Linux keeps CONTEXTIDR by CONFIG_PID_IN_CONTEXTIDR. */
static const char *doubt_of_processes(const struct process *process)
{
    if (process->which == PROCESS_ANY)
        return "--context any: a hit may begin in one process and end in another";
    return process->which == PROCESS_ID && process->id == 0
               ? "--context 0: where the system does not keep CONTEXTIDR, it is 0 in every process"
               : "";
}

void session_add_doubt(const struct session *session, struct named_region *named)
{
    const char *doubts[] = {doubt_of_cores(session, named), doubt_of_processes(&named->region.process)};
    for (size_t i = 0; i < sizeof doubts / sizeof *doubts; i++)
        doubt_add(named->region.doubt, doubts[i]);
}

bool session_check_address(const struct session *session, uint64_t address, const char *name,
                           struct error *error)
{
    const struct core *core = &session->device.chosen->core;
    return address <= UINT32_MAX || core_has(core, WIDE_REGISTERS) || !core_has(core, ARM_CODE) ||
           error_advise(error, ERROR_USAGE, "",
                        "%.64s is at 0x%" PRIx64 ", and addresses of the %s have 32 bits", name, address,
                        core->name);
}

void session_conditions(struct session *session, const struct clock *clock, struct conditions *out)
{
    const struct device *device = &session->device;
    *out = (struct conditions){.clock_hz = clock->hz,
                               .clock_error_hz = clock->error_hz,
                               .clock_off_hz = clock_may_be_off(clock),
                               .clock_awake = clock->awake,
                               .clock_sleeps_on = clock->sleeps_on};
    link_describe(session->link, out->link, sizeof out->link);
    if (device->chosen->core.numbered_by_unit)
        snprintf(out->core, sizeof out->core, "%.31s CPU %u, core %u", device->chosen->core.name,
                 (unsigned)device->chosen->core.unit, device->chosen->view.core_id);
    else if (device->remote != NULL)
        snprintf(out->core, sizeof out->core, "%.23s, counters of %.15s CPU %u", device->chosen->core.name,
                 device->remote->core.name, (unsigned)device->remote->core.unit);
    else
        snprintf(out->core, sizeof out->core, "%s core %d", device->chosen->core.name,
                 (int)(device->chosen - device->cores));
    snprintf(out->counter, sizeof out->counter, "%.63s", device->block->text);
    conditions_add_note(out, device->block->note);
    conditions_add_note(out, clock->doubt);
    if (device_counted(device)->core.security == SECURITY_HIDDEN) /* nothing says that they are */
        conditions_add_note(out, "what runs in Secure state may not be counted (DAUTHSTATUS)");
    snprintf(out->clock_source, sizeof out->clock_source, "%s", clock->source);
    if (session->symbols != NULL) {
        snprintf(out->elf, sizeof out->elf, "%.255s", session_elf(session));
        snprintf(out->build_id, sizeof out->build_id, "%s", symbols_build_id(session->symbols));
        uint64_t hash = symbols_hash(session->symbols);
        if (hash != 0)
            snprintf(out->elf_hash, sizeof out->elf_hash, "%016" PRIx64, hash);
    }
    char notes[REGION_NOTES];
    conditions_add_note(out, session->elf.unseen);
    if (session->measured.region == NULL)
        return;
    session->measured.may_sleep = region_notes(session, session->measured.region, notes);
    conditions_add_note(out, notes);
    conditions_add_note(out, session->measured.region->region.doubt);
}

void conditions_add_note(struct conditions *conditions, const char *text)
{
    text_join(conditions->note, sizeof conditions->note, "; ", text);
}

void request_note(const struct request *request, const char *format, ...)
{
    char text[sizeof((struct error *)NULL)->text + 256], clean[UTF8_CLEAN_ROOM(sizeof text)];
    va_list arguments;
    if (request->quiet)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "pmu-probe: %s\n", terminal_text(clean, sizeof clean, text));
}
