/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { EXIT_USAGE = 2, EXIT_MEASURE = 3 };

#define IF_KILLED "After a killed debugger or pmu-probe: pmu-probe restore --force."

static const char *const advice_of[ERROR_KINDS] = {
    [ERROR_USAGE] = "pmu-probe help COMMAND shows its options.",
    [ERROR_SYMBOL] = ERROR_LOCATIONS " A macro has only lines.",
    [ERROR_AMBIGUOUS] = "Name one of them as written above.",
    [ERROR_ELF] = "Name the linker's ELF file: --elf FILE.",
    [ERROR_ELF_MISMATCH] = "Flash it, or name the program that runs; if it was moved: --load-offset.",
    [ERROR_NO_PROBE] = "Plug in a CMSIS-DAP probe, or let pmu-probe start OpenOCD: -f board/YOUR_BOARD.cfg",
    [ERROR_NOT_A_PROBE] = "Name OpenOCD's Tcl port (default 6666), not its GDB or telnet port.",
    [ERROR_IN_USE] = "If that one is surely gone, pmu-probe restore takes its place.",
    [ERROR_LEFT] = "pmu-probe restore puts the target back.",
    [ERROR_SERVER] = "Is the board file's adapter plugged in and free? -v shows what OpenOCD says.",
    [ERROR_NO_MSR] = "Load the driver (modprobe msr), and run pmu-probe as root.",
    [ERROR_NO_AGENT] =
        "Start msr-agent on the card, as root; it serves one client: ssh -L 2001:localhost:2001 CARD.",
    [ERROR_LINK_LOST] = "Check the cable, and OpenOCD's output. Then pmu-probe restore puts the target back; "
                        "a reset does not.",
    [ERROR_LINK_PROTOCOL] = "pmu-probe needs OpenOCD 0.12 or later, or another GDB server.",
    [ERROR_FAULT] = "Is the address mapped, and are the target's power and clocks on?",
    [ERROR_ASLEEP] =
        "Is it powered and connected? If it sleeps, wake it, or keep its debug clocks on (STM32: DBGMCU).",
    [ERROR_NO_TARGET] =
        "Are power, ground and debug wires connected? --transport and a lower --speed may help.",
    [ERROR_NO_CORE] = "pmu-probe info shows the cores; -C N takes one.",
    [ERROR_NO_COUNTER] = "pmu-probe info shows the counters; --counter NAME takes one.",
    [ERROR_WRITTEN] = "The program, an operating system (perf, cpuidle) or another debugger does this. "
                      "pmu-probe --elf FILE doctor names lines; --counter NAME takes another counter.",
    [ERROR_WRITER_SOUGHT] = "Change the program, or take another counter (info): --counter NAME.",
    [ERROR_NO_COMPARATOR] = "Remove a hardware breakpoint in the other debugger. " IF_KILLED,
    [ERROR_ADDRESS] =
        "Take a location in RAM with code, or in flash: of Cortex-M0, M3 and M4 below 0x20000000.",
    [ERROR_HALTED] = "--resume lets it run; or resume it in your debugger. " IF_KILLED,
    [ERROR_FOREIGN_STOP] =
        "The core is left halted there, for the debugger that set the breakpoint. " IF_KILLED,
    [ERROR_MOVED] = "Let OpenOCD's other clients (GDB, telnet, an IDE) leave the core alone.",
    [ERROR_CLEARED] =
        "Operating systems do this when a core idles (Linux: cpuidle.off=1), or by perf and gdb.",
    [ERROR_RESET] = "A watchdog, a brown-out, the program, or an idle Cortex-A's lost power did it (Linux: "
                    "cpuidle.off=1), or the program clears DEMCR.MON_REQ.",
    [ERROR_NO_RESET] = "Press the board's button, or let OpenOCD use its reset line: reset_config srst_only.",
    [ERROR_LOCKUP] = "A fault in a fault handler does this: check it, then pmu-probe reset.",
    [ERROR_START] = "Does the program get there? --timeout waits longer.",
    [ERROR_END] = "Does every way lead there? --timeout waits longer.",
};

static void set_fact(struct error *error, enum error_kind kind, const char *advice, const char *format,
                     va_list arguments)
{
    if (error == NULL || error->kind != ERROR_NONE)
        return;
    error->kind = kind;
    error->advice = advice;
    vsnprintf(error->text, sizeof error->text, format, arguments);
}

bool error_set(struct error *error, enum error_kind kind, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    set_fact(error, kind, NULL, format, arguments);
    va_end(arguments);
    return false;
}

bool error_memory(struct error *error)
{
    return error_set(error, ERROR_SYSTEM, "out of memory");
}

bool error_reset(struct error *error)
{
    return error_set(error, ERROR_RESET, "the target was reset");
}

bool error_lockup(struct error *error)
{
    return error_set(error, ERROR_LOCKUP, "the core is locked up");
}

void *error_null(struct error *error, enum error_kind kind, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    set_fact(error, kind, NULL, format, arguments);
    va_end(arguments);
    return NULL;
}

bool error_advise(struct error *error, enum error_kind kind, const char *advice, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    set_fact(error, kind, advice, format, arguments);
    va_end(arguments);
    return false;
}

void *error_memory_null(struct error *error)
{
    (void)error_memory(error);
    return NULL;
}

bool error_copy(struct error *error, const struct error *why)
{
    if (error != NULL && error->kind == ERROR_NONE)
        *error = *why;
    return false;
}

bool error_is_written(const struct error *error)
{
    return error->kind == ERROR_WRITTEN || error->kind == ERROR_WRITER_SOUGHT;
}

bool error_is_refusal(const struct error *error)
{
    return error->kind == ERROR_FAULT || error->kind == ERROR_ASLEEP;
}

bool error_replace(struct error *error, const struct error *why)
{
    error_clear(error);
    return error_copy(error, why);
}

bool error_prefix(struct error *error, const char *format, ...)
{
    if (error == NULL)
        return false;
    char text[sizeof error->text];
    va_list arguments;
    va_start(arguments, format);
    int used = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (used >= 0 && (size_t)used < sizeof text)
        snprintf(text + used, sizeof text - (size_t)used, "%s", error->text);
    memcpy(error->text, text, sizeof text);
    return false;
}

/* A line, or the lines. */
static bool has_line(const char *text, const char *line)
{
    const size_t n = strlen(line);
    for (const char *at = text; at != NULL; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, line, n) == 0 && (at[n] == '\0' || at[n] == '\n'))
            return true;
    }
    return false;
}

bool error_add(struct error *error, const struct error *further)
{
    if (error->kind == ERROR_NONE)
        return error_copy(error, further);
    if (has_line(error->text, further->text))
        return false;
    size_t used = strlen(error->text);
    snprintf(error->text + used, sizeof error->text - used, "\n%s", further->text);
    error->added = true;
    return false;
}

void error_clear(struct error *error)
{
    error->kind = ERROR_NONE;
    error->text[0] = '\0';
    error->subject = NULL;
    error->advice = NULL;
    error->holder = 0;
    error->added = false;
}

const char *error_advice(const struct error *error)
{
    if (error->advice != NULL)
        return error->advice[0] != '\0' ? error->advice : NULL;
    return (unsigned)error->kind < ERROR_KINDS ? advice_of[error->kind] : NULL;
}

int error_exit_code(enum error_kind kind)
{
    return kind == ERROR_NONE ? 0 : kind <= ERROR_ELF ? EXIT_USAGE : EXIT_MEASURE;
}

const char *error_on_one_line(const struct error *error, char *out, size_t size)
{
    size_t used = 0;
    for (const char *at = error->text; *at != '\0' && used + 3 < size;) {
        if (*at != '\n') {
            out[used++] = *at++;
            continue;
        }
        at++;
        bool is_item = *at == ' ', begins_list = used > 0 && out[used - 1] == ':';
        if (!begins_list && used > 0 && out[used - 1] != '.')
            out[used++] = is_item ? ',' : '.';
        out[used++] = ' ';
        at += strspn(at, " ");
    }
    if (size > 0)
        out[used] = '\0';
    return out;
}
