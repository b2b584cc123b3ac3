/* SPDX-License-Identifier: MIT */
#include "commands/command.h"

#include "base/file.h"
#include "report/render.h"
#include "report/run_report.h"
#include "report/stays_report.h"
#include "report/survey_report.h"
#include "report/terminal.h"
#include "run/session.h"
#include "symbols/symbols.h"

#include <string.h>

enum {
    TEXT = 1 << FORMAT_TEXT,
    JSON = 1 << FORMAT_JSON,
    CSV = 1 << FORMAT_CSV,
    STACKS = 1 << FORMAT_FOLDED | 1 << FORMAT_CALLGRIND | 1 << FORMAT_PERF,
    PAGE = 1 << FORMAT_HTML,
    MARKDOWN = 1 << FORMAT_MARKDOWN,
    TIMELINE = 1 << FORMAT_PERFETTO
};

static const char scripts_only[] = "For the scripts in gdb-scripts alone.";

const struct command commands[COMMANDS] = {
    [COMMAND_PROBES] = {.name = "probes",
                        .group = COMMANDS_TARGET,
                        .does = "what can be reached from here",
                        .about = "A running OpenOCD's targets, and CMSIS-DAP probes on USB.",
                        .examples = "probes\n-p cmsis-dap-tcp:board.local probes\n",
                        .formats = TEXT | JSON | CSV | MARKDOWN | PAGE,
                        .run = command_probes},
    [COMMAND_INFO] = {.name = "info",
                      .group = COMMANDS_TARGET,
                      .does = "cores, counters, breakpoints, who uses them",
                      .about = "Changes nothing on the target.",
                      .examples = "info\n-f openocd-cfg/boards/zynq7000.cfg info\n",
                      .formats = TEXT | JSON | CSV | MARKDOWN | PAGE,
                      .run = command_info},
    [COMMAND_DELTA] = {.name = "delta",
                       .operands = "FUNCTION | START END",
                       .does = "cycles from a start to an end, over many hits",
                       .about =
                           "FUNCTION is from entry to return; the same location twice, a round of a loop.",
                       .examples =
                           "--elf app.elf delta fir_filter\n--elf app.elf delta main.c:40 main.c:52 -r "
                           "500\n--elf app.elf delta fir_filter -e LD_RETIRED -M CPI --for 5s\n--elf app.elf "
                           "delta fir_filter --baseline main.jsonl --threshold 2%\n",
                       .words = run_words,
                       .needs = "a FUNCTION, or a START and an END",
                       .least = 1,
                       .most = 2,
                       .formats = TEXT | JSON | CSV | MARKDOWN | PAGE | TIMELINE,
                       .run = command_delta},
    [COMMAND_SURVEY] =
        {.name = "survey",
         .operands = "[PATTERN...]",
         .does = "cycles of many functions, and their shares",
         .about = "Functions that match a PATTERN of the shell, those that cost most (--hot N), or a file's "
                  "regions, by turns.",
         .examples = "--elf app.elf survey 'filter_*' 'Dsp::*'\n--elf app.elf survey --hot 10 "
                     "--write-regions app.regions\n--elf app.elf survey --regions app.regions --check\n",
         .words = survey_words,
         .most = OPTION_OPERANDS,
         .formats = TEXT | JSON | CSV | MARKDOWN | PAGE,
         .run = command_survey},
    [COMMAND_LINES] = {.name = "lines",
                       .operands = "FUNCTION",
                       .does = "the exact cost of each line of a function",
                       .about = "The core stops wherever another line begins.",
                       .examples =
                           "--elf app.elf lines fir_filter\n--elf app.elf lines fir_filter -r 20 -j\n",
                       .needs = "a FUNCTION",
                       .least = 1,
                       .most = 1,
                       .formats = TEXT | JSON | CSV | MARKDOWN | PAGE,
                       .run = command_lines},
    [COMMAND_STAT] = {.name = "stat",
                      .does = "counts over a time window while the core runs",
                      .about = "More events than counters take several windows of --for.",
                      .examples = "stat --for 2s\nstat --for 1s -e INST_RETIRED,L1D_CACHE_REFILL -M "
                                  "CPI\nstat -I 500ms -j -o counts.jsonl\n",
                      .formats = TEXT | JSON | CSV,
                      .run = command_stat},
    [COMMAND_WATCH] = {.name = "watch",
                       .does = "rates and totals, live",
                       .about = "A screen on a terminal, a line per interval elsewhere.",
                       .examples = "watch -M CPI\nwatch -e LSUCNT,CPICNT -I 200ms -j --for 10s\n",
                       .formats = TEXT | JSON | CSV,
                       .run = command_watch},
    [COMMAND_RECORD] =
        {.name = "record",
         .group = COMMANDS_PROFILE,
         .does = "where the running core spends its time",
         .about = "Samples the PC as fast as the link allows, or every N events of -e (--every N), for which "
                  "the core stops, into " PROFILE_NAME " or the file of -o.",
         .examples =
             "--elf app.elf record --for 10s\nrecord -a -o all.jsonl\n--elf app.elf record -e "
             "L1D_CACHE_REFILL --every 10k --for 10s\n--elf app.elf record -g --every 100k --for 10s\n",
         .formats = TEXT,
         .run = command_record},
    [COMMAND_TOP] =
        {.name = "top",
         .group = COMMANDS_PROFILE,
         .does = "which functions run now, live",
         .about = "A screen of the last 5 s on a terminal (? shows its keys), a list per interval elsewhere.",
         .examples = "--elf app.elf top\n--elf app.elf top -I 200ms -j --for 10s\n",
         .formats = TEXT | JSON,
         .run = command_top},
    [COMMAND_GUARD] =
        {.name = "guard",
         .operands = "FUNCTION",
         .does = "stops where a call has used up its budget",
         .about = "Exit code 1: a call had used it up.",
         .examples = "--elf app.elf guard control_step --budget 40us\n--elf app.elf guard control_step "
                     "--budget 1200 --keep\nguard fft --budget \"10 L1D_CACHE_REFILL\" -r 50 -o late.jsonl\n",
         .needs = "a FUNCTION",
         .least = 1,
         .most = 1,
         .formats = TEXT | JSON,
         .run = command_guard},
    [COMMAND_IRQ] = {.name = "irq",
                     .does = "every interrupt: calls, times, jitter",
                     .about = "By the exception trace of a Cortex-M with an ITM, without a halt. --regions "
                              "and --check judge handlers, with what interrupts them.",
                     .examples = "--elf app.elf irq\n"
                                 "--elf app.elf irq --for 10s --regions app.regions --check\n"
                                 "--elf app.elf irq --format perfetto -o irq.json\n",
                     .words = stays_words,
                     .formats = TEXT | JSON | CSV | MARKDOWN | PAGE | TIMELINE,
                     .run = command_irq},
    [COMMAND_TASKS] = {.name = "tasks",
                       .does = "slices of each task of an RTOS",
                       .about = "By the data trace of a Cortex-M with an ITM, without a halt: of FreeRTOS, "
                                "ThreadX or Zephyr, or by the word of --task.",
                       .examples = "--elf app.elf tasks\n"
                                   "--elf app.elf tasks --task state --for 10s\n"
                                   "--elf app.elf tasks --format perfetto -o tasks.json\n",
                       .words = stays_words,
                       .formats = TEXT | JSON | CSV | MARKDOWN | PAGE | TIMELINE,
                       .run = command_tasks},
    [COMMAND_DOCTOR] =
        {.name = "doctor",
         .group = COMMANDS_TARGET,
         .operands = "[LOCATION [END]]",
         .does = "why a counter cannot be read, and what helps",
         .about = "--elf shows lines that write the counter, a LOCATION what a halt there adds.",
         .examples = "doctor\n--elf app.elf doctor fir_filter\n-C 1 doctor --mend\n--elf app.elf doctor "
                     "--prove fir_filter\n",
         .most = 2,
         .formats = TEXT | JSON | CSV | MARKDOWN | PAGE,
         .run = command_doctor},
    [COMMAND_RESTORE] = {.name = "restore",
                         .group = COMMANDS_TARGET,
                         .does = "puts back what a killed pmu-probe has left",
                         .about = "It uses that run's journal and link; --force needs no journal.",
                         .examples =
                             "restore\n-p cmsis-dap:E6614103E7 restore\n--elf app.elf restore --force\n",
                         .formats = TEXT,
                         .run = command_restore},
    [COMMAND_RESET] = {.name = "reset",
                       .group = COMMANDS_TARGET,
                       .does = "resets the target",
                       .about = "",
                       .examples = "reset\nreset --halt\n",
                       .formats = TEXT,
                       .run = command_reset},
    [COMMAND_STUB] = {.name = "stub",
                      .group = COMMANDS_TARGET,
                      .operands = "ACTION",
                      .does = "lets the program read its own counters",
                      .about = "ACTION is " STUB_ACTIONS ".",
                      .examples = "stub enable\nstub status\n",
                      .needs = "an ACTION: " STUB_ACTIONS,
                      .least = 1,
                      .most = 1,
                      .formats = TEXT,
                      .run = command_stub},
    [COMMAND_CALIBRATE] = {.name = "calibrate",
                           .operands = "[LOCATION]",
                           .about = scripts_only,
                           .examples = "",
                           .most = 1,
                           .formats = TEXT,
                           .run = command_calibrate},
    [COMMAND_LIST] =
        {.name = "list",
         .group = COMMANDS_TARGET,
         .operands = "[PATTERN]",
         .does = "events and metrics: code, name and meaning",
         .about = "Of the core found, or of --cpu. PATTERN is part of a name or meaning, in any case.",
         .examples = "list\nlist --cpu cortex-a53 refill\n",
         .most = 1,
         .formats = TEXT | JSON | CSV | MARKDOWN | PAGE,
         .run = command_list},
    [COMMAND_REPORT] = {.name = "report",
                        .group = COMMANDS_PROFILE,
                        .operands = "[FILE]",
                        .does = "where the time went, from what record wrote",
                        .about = "FILE is " PROFILE_NAME
                                 " by default; --elf says where the recorded program is now.",
                        .examples =
                            "report\nreport --sort line before.jsonl\nreport --format html -o profile.html\n",
                        .most = 1,
                        .formats = TEXT | JSON | CSV | MARKDOWN | STACKS | PAGE,
                        .run = command_report},
    [COMMAND_ANNOTATE] = {.name = "annotate",
                          .group = COMMANDS_PROFILE,
                          .operands = "FUNCTION [FILE]",
                          .does = "where a function spends its time, by line",
                          .about =
                              "FILE is " PROFILE_NAME " by default. Shares are of the function's samples.",
                          .examples = "annotate fir_filter\nannotate fir_filter --hot 5 before.jsonl\n",
                          .needs = "a FUNCTION",
                          .least = 1,
                          .most = 2,
                          .formats = TEXT | JSON | CSV | MARKDOWN | PAGE,
                          .run = command_annotate},
    [COMMAND_COMPARE] = {.name = "compare",
                         .group = COMMANDS_PROFILE,
                         .operands = "OLD NEW [...]",
                         .does = "results of delta -j, or profiles",
                         .about = "As delta --baseline: each later file with the first, regions by name. Of "
                                  "profiles, what grew and shrank.",
                         .examples =
                             "compare main.jsonl branch.jsonl --threshold 2%\ncompare main.jsonl a.jsonl "
                             "b.jsonl --format markdown\ncompare before.jsonl profile.jsonl --sort line\n",
                         .needs = "two files or more",
                         .least = 2,
                         .most = OPTION_OPERANDS,
                         .formats = TEXT | JSON | CSV | MARKDOWN | PAGE,
                         .run = command_compare},
    [COMMAND_SHOW] = {.name = "show",
                      .group = COMMANDS_PROFILE,
                      .operands = "FILE",
                      .does = "an old result, in its formats",
                      .about = "FILE is what record, or -j of any command but watch and top, wrote.",
                      .examples = "show run.jsonl\nshow run.jsonl --format html -o run.html\n",
                      .needs = "a FILE",
                      .least = 1,
                      .most = 1,
                      .formats = TEXT | JSON | CSV | MARKDOWN | PAGE | STACKS,
                      .run = command_show},
    [COMMAND_SERVE] =
        {.name = "serve", .about = scripts_only, .examples = "", .formats = TEXT, .run = command_serve},
};

void command_has_result(const struct context *context)
{
    if (context->keep != NULL)
        *context->keep = KEEP_ALL;
}

static bool is_unread(const struct context *context)
{
    for (size_t i = 0; i < SURROUNDINGS_OUTPUTS; i++)
        if (context->around.outputs[i] != NULL && spool_has_ended_the_run(context->around.outputs[i]))
            return true;
    return false;
}

void command_ended(const struct context *context, const struct error *why, char *out, size_t size)
{
    if (why->kind != ERROR_CANCELLED)
        error_on_one_line(why, out, size);
    else
        snprintf(out, size, "%s", is_unread(context) ? "nobody took the output" : "Ctrl-C");
}

void command_judges(const struct context *context, int code)
{
    if (context->verdict != NULL)
        *context->verdict = code;
}

void command_is_left(const struct context *context)
{
    if (context->left != NULL)
        *context->left = true;
}

int command_interrupted(const struct context *context, struct error *error)
{
    error_clear(error);
    if (is_unread(context))
        return context->verdict != NULL ? *context->verdict : EXIT_DONE;
    if (context->keep != NULL)
        *context->keep = KEEP_PART;
    return EXIT_INTERRUPTED;
}

bool command_wrote(bool written, struct error *error)
{
    return written || error_set(error, ERROR_UNWRITTEN, "the output could not be written");
}

int command_code(bool ok, const struct error *error)
{
    return ok ? EXIT_DONE : error_exit_code(error->kind);
}

int command_clock_code(const struct session *session, int code)
{
    return code == EXIT_DONE && session->clock.doubt[0] != '\0' ? EXIT_NOT_COMPARABLE : code;
}

const char *command_names(const struct options *options)
{
    for (size_t i = 0; i < options->n_operands; i++)
        if (options->operands[i][0] != '*')
            return options->operands[i];
    return NULL;
}

void command_formats(unsigned formats, char *out, size_t size)
{
    out[0] = '\0';
    for (unsigned i = 0; i < FORMATS; i++)
        if ((formats >> i & 1) != 0)
            list_add(out, size, value_format_name((enum format)i), formats >> (i + 1) == 0 ? " or " : NULL);
}

size_t command_typed(const struct options *options)
{
    size_t id = 0;
    while (id < COMMANDS &&
           (options->request.command == NULL || strcmp(commands[id].name, options->request.command) != 0))
        id++;
    return id;
}

struct rendering command_rendering(const struct context *context)
{
    return (struct rendering){.out = context->out,
                              .format = context->options->format,
                              .columns =
                                  context->columns > 0 ? context->columns : terminal_columns(context->out),
                              .separator = context->options->separator[0],
                              .explains = context->options->verbose > 0,
                              .command = &context->options->typed};
}

const struct command *command_find(const char *name, struct error *error)
{
    char room[256];
    struct near near;
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    if (former_refuse(name, strlen(name), error))
        return NULL;
    near_init(&near, name, strlen(name));
    for (size_t i = 0; i < COMMANDS; i++)
        if (commands[i].does != NULL)
            near_offer(&near, commands[i].name);
    error_advise(error, ERROR_USAGE,
                 near.count > 0 ? "" : "pmu-probe --help lists the commands; delta FUNCTION measures one.",
                 "unknown command \"%.64s\"%s", name, near_text(&near, room, sizeof room));
    return NULL;
}
