#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { EXIT_USAGE = 2, EXIT_MEASURE = 3 };

static const char *const advice_of[ERROR_KINDS] = {
    [ERROR_USAGE] = "pmu-probe --help shows the commands; pmu-probe help COMMAND, its options.",
    [ERROR_SYMBOL] =
        "A location is function, file.c:function, ns::Class::method(int), file.c:42 or *0x10000200.",
    [ERROR_AMBIGUOUS] = "Name one of them as it is written above.",
    [ERROR_ELF] = "Give the ELF file that the linker wrote, with --elf FILE.",
    [ERROR_ELF_MISMATCH] =
        "Flash the program that --elf names, or name the one that the target runs. If it was moved in "
        "memory, --load-offset says how far.",
    [ERROR_NO_PROBE] =
        "Plug in a CMSIS-DAP probe, start OpenOCD (openocd -f board/YOUR_BOARD.cfg), or let pmu-probe "
        "start it: -f board/YOUR_BOARD.cfg",
    [ERROR_NOT_A_PROBE] = "Name OpenOCD's Tcl port (tcl_port, default 6666), not its GDB or telnet port.",
    [ERROR_IN_USE] = "One pmu-probe at a time. If that one is gone for good and this machine cannot know: "
                     "pmu-probe restore takes its place.",
    [ERROR_LEFT] = "pmu-probe restore puts the target back as it was before that run.",
    [ERROR_SERVER] = "Is the adapter plugged in and free, and does the board file name it? -v shows all that "
                     "OpenOCD says.",
    [ERROR_NO_MSR] = "Load the driver (modprobe msr), and run pmu-probe as root: it needs CAP_SYS_RAWIO.",
    [ERROR_NO_AGENT] =
        "Start msr-agent on the card, as root; it serves one client at a time, on the card's own "
        "loopback unless you choose another address: ssh -L 2001:localhost:2001 CARD brings it here.",
    [ERROR_LINK_LOST] =
        "Check the cable, and OpenOCD's own output if it is in between. A reset alone does not undo what "
        "pmu-probe could not restore: debug registers outlive it. Run pmu-probe restore, or power the "
        "target off and on; pmu-probe restore --force removes breakpoints alone.",
    [ERROR_LINK_PROTOCOL] =
        "pmu-probe needs OpenOCD 0.12 or later, or a GDB server that keeps to the protocol.",
    [ERROR_FAULT] = "Is the address mapped, and are the target's power and clocks on?",
    [ERROR_ASLEEP] =
        "Is the target powered and connected? If it sleeps: wake it, or keep its debug clocks on in sleep "
        "(DBGMCU on STM32).",
    [ERROR_NO_TARGET] = "Is the target powered, and are its debug wires and ground connected? --transport "
                        "and a lower --speed may help.",
    [ERROR_NO_CORE] = "pmu-probe info shows what can be seen; -C N takes another core.",
    [ERROR_NO_COUNTER] = "pmu-probe info shows the counter blocks; --counter NAME takes one.",
    [ERROR_WRITTEN] =
        "The program, an operating system (perf, or cpuidle, which cuts an idle core's power) or "
        "another debugger does this, and then no count is right. pmu-probe --elf FILE doctor names the "
        "lines of the program that do it. --counter NAME takes a counter that nothing else uses (pmu-probe "
        "info shows them).",
    [ERROR_WRITER_SOUGHT] = "Change the program, or take a counter that nothing else uses: --counter NAME "
                            "(pmu-probe info shows them).",
    [ERROR_NO_COMPARATOR] = "Remove a hardware breakpoint in the other debugger, then try again. "
                            "If an earlier pmu-probe was killed: pmu-probe restore --force.",
    [ERROR_ADDRESS] = "Take a location in flash, or in RAM that the program runs from.",
    [ERROR_PLACE] = "Name RAM that the core may execute: stub ACTION LOCATION.",
    [ERROR_HALTED] = "Use --resume to run it during the measurement, or resume it in your debugger. "
                     "(If an earlier pmu-probe was killed: pmu-probe restore --force.)",
    [ERROR_FOREIGN_STOP] = "The core is left halted there for the debugger that set the breakpoint. "
                           "If an earlier pmu-probe was killed: pmu-probe restore --force.",
    [ERROR_CLEARED] =
        "An operating system clears breakpoints when it takes a core down or wakes it (CPU hotplug, "
        "suspend, "
        "cpuidle), and sets its own (perf, gdb on the target). Linux: boot with cpuidle.off=1 and "
        "keep perf's breakpoints and other debuggers away.",
    [ERROR_RESET] =
        "Something reset the target: a watchdog, a brown-out, the program itself, or on Cortex-A "
        "the power that an idle core lost (Linux: cpuidle.off=1). A program that clears DEMCR.MON_REQ of "
        "a Cortex-M has the same signs. No number is made of a region with a reset in it.",
    [ERROR_NO_RESET] =
        "Not every core takes a debugger's request: press the board's button, or let OpenOCD do "
        "it with its reset line (-f board/YOUR_BOARD.cfg, reset_config srst_only).",
    [ERROR_LOCKUP] = "A fault inside a fault handler does this. Reset the target (pmu-probe reset) "
                     "and check the faulting code first.",
    [ERROR_START] = "Does the program get there? A longer --timeout waits longer.",
    [ERROR_END] = "Does every way from the start lead to the end? A longer --timeout waits longer.",
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

bool error_add(struct error *error, const struct error *further)
{
    if (error->kind == ERROR_NONE)
        return error_copy(error, further);
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
