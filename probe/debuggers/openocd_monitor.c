/* SPDX-License-Identifier: MIT */
#include "debuggers/openocd_monitor.h"

#include <stdio.h>
#include <string.h>

/*
 * A command is one line of bounded length, and its result is one packet, perhaps after log messages. So
 * scripts go in pieces, as Tcl strings, and answers arrive in pieces between two marks; a + after the first
 * mark says that more follows. Commands return the pieces: `echo` would print them on OpenOCD's terminal,
 * too.
 */
enum { MARK_BEGIN = 0x02, MARK_END = 0x03, PIECE = 2400, SMALL = 512 };

static const char preparation[] =
    "set ::pmu_in {}; proc pmu_monitor {} {set script $::pmu_in; set ::pmu_in {}; "
    "catch {uplevel #0 $script} ::pmu_out; pmu_more}; "
    "proc pmu_more {} {set piece [string range $::pmu_out 0 5999]; "
    "set ::pmu_out [string range $::pmu_out 6000 end]; "
    "format %c%s%s%c 2 [expr {$::pmu_out eq {} ? {.} : {+}}] $piece 3}; format {}";

static enum openocd_end monitor_end_of(const struct error *why)
{
    return why->kind == ERROR_LINK_LOST || why->kind == ERROR_LINK_PROTOCOL ? OPENOCD_CLOSED
           : why->kind == ERROR_CANCELLED                                   ? OPENOCD_CANCELLED
                                                                            : OPENOCD_SILENT;
}

/* Quotes a character for a Tcl string in quotes; returns the number of characters, 1 or 2. */
static size_t put_quoted(char c, char *out)
{
    size_t n = 0;
    if (c == '\n' || (strchr("\\\"$[]{};", c) != NULL && c != '\0'))
        out[n++] = '\\';
    if (c == '\n')
        out[n++] = 'n';
    else
        out[n++] = c;
    return n;
}

static bool openocd_monitor_tell(struct openocd_monitor *monitor, const struct deadline *deadline,
                                 struct error *error)
{
    error_clear(&monitor->why);
    return monitor->debugger->ops->monitor(monitor->debugger, monitor->line, monitor->reply,
                                           sizeof monitor->reply, deadline, &monitor->why) ||
           error_copy(error, &monitor->why);
}

/* The text between the marks. */
static enum openocd_end take_piece(const char *reply, char *out, size_t room, size_t *length, bool *more)
{
    const char *begin = strchr(reply, MARK_BEGIN), *end = strrchr(reply, MARK_END);
    if (begin == NULL || end == NULL || end - begin < 2)
        return OPENOCD_CLOSED;
    *more = begin[1] == '+';
    *length = (size_t)(end - begin - 2);
    if (*length > room)
        return OPENOCD_TOO_LONG;
    if (*more && *length == 0)
        return OPENOCD_CLOSED;
    memcpy(out, begin + 2, *length);
    return OPENOCD_ANSWERED;
}

/* Runs monitor->line and gets its whole answer. */
static enum openocd_end answer_to(struct openocd_monitor *monitor, char *answer, size_t room,
                                  size_t *answer_length, const struct deadline *deadline)
{
    static const char next[] = "pmu_more";
    bool more = true;
    *answer_length = 0;
    while (more) {
        struct error why = {0};
        size_t length = 0;
        if (!openocd_monitor_tell(monitor, deadline, &why))
            return monitor_end_of(&why);
        enum openocd_end end =
            take_piece(monitor->reply, answer + *answer_length, room - *answer_length, &length, &more);
        if (end != OPENOCD_ANSWERED)
            return end;
        *answer_length += length;
        memcpy(monitor->line, next, sizeof next);
    }
    return OPENOCD_ANSWERED;
}

static enum openocd_end monitor_ask(void *context, const char *script, size_t length, char *answer,
                                    size_t room, size_t *answer_length, const struct deadline *deadline)
{
    /* `append` alone would return all that is there by now */
    static const char head[] = "append ::pmu_in \"", tail[] = "\"; pmu_monitor", more[] = "\"; format {}";
    struct openocd_monitor *monitor = context;
    struct error why = {0};
    bool ready = monitor->prepared;
    monitor->prepared = false; /* after a failure nobody knows how much of a script is there */
    if (!ready) {
        memcpy(monitor->line, preparation, sizeof preparation);
        if (!openocd_monitor_tell(monitor, deadline, &why))
            return monitor_end_of(&why);
    }
    for (size_t at = 0;;) {
        size_t used = sizeof head - 1;
        memcpy(monitor->line, head, used);
        while (at < length && used < PIECE)
            used += put_quoted(script[at++], monitor->line + used);
        bool last = at == length;
        memcpy(monitor->line + used, last ? tail : more, last ? sizeof tail : sizeof more);
        if (last) {
            enum openocd_end end = answer_to(monitor, answer, room, answer_length, deadline);
            monitor->prepared = end == OPENOCD_ANSWERED;
            return end;
        }
        if (!openocd_monitor_tell(monitor, deadline, &why))
            return monitor_end_of(&why);
    }
}

void openocd_monitor_init(struct openocd_monitor *monitor, struct debugger *debugger)
{
    *monitor =
        (struct openocd_monitor){.transport = {.context = monitor, .ask = monitor_ask}, .debugger = debugger};
}

static bool ask_text(struct openocd_monitor *monitor, const char *script, char answer[SMALL],
                     const char *otherwise, const struct deadline *deadline, struct error *error)
{
    size_t length = 0;
    if (monitor_ask(monitor, script, strlen(script), answer, SMALL - 1, &length, deadline) !=
        OPENOCD_ANSWERED)
        return error_set(error, ERROR_LINK_PROTOCOL, "%s", otherwise);
    answer[length] = '\0';
    return true;
}

bool openocd_monitor_target(struct openocd_monitor *monitor, char *out, size_t size,
                            const struct deadline *deadline, struct error *error)
{
    char answer[SMALL];
    if (!ask_text(monitor, "target current", answer, "OpenOCD does not say which of its targets this is",
                  deadline, error))
        return false;
    snprintf(out, size, "%s", answer);
    return true;
}

bool openocd_monitor_mark(struct openocd_monitor *monitor, const char *mine, const char *dead, char *found,
                          size_t size, const struct deadline *deadline, struct error *error)
{
    char script[2 * SMALL], answer[SMALL];
    snprintf(script, sizeof script,
             "if {![info exists ::pmu_holder] || $::pmu_holder eq {%s}} {set ::pmu_holder {%s}}; "
             "format %%s $::pmu_holder",
             strpbrk(dead, "{}\\") == NULL ? dead : "", mine);
    if (!ask_text(monitor, script, answer, "OpenOCD does not say who uses it", deadline, error))
        return false;
    snprintf(found, size, "%s", answer);
    return true;
}

bool openocd_monitor_unmark(struct openocd_monitor *monitor, const char *mine,
                            const struct deadline *deadline, struct error *error)
{
    char script[SMALL], answer[SMALL];
    snprintf(script, sizeof script,
             "if {[info exists ::pmu_holder] && $::pmu_holder eq {%s}} {unset ::pmu_holder}; format {}",
             mine);
    return ask_text(monitor, script, answer, "OpenOCD does not answer", deadline, error);
}

bool openocd_monitor_way(struct openocd_monitor *monitor, char *out, size_t size,
                         const struct deadline *deadline, struct error *error)
{
    static const char script[] = "lindex $::pmu_path([lsearch [target names] [target current]])";
    static const char *const ways[] = {"in use, by the target's own memory commands",
                                       "in use, by a mem_ap target",
                                       "in use, by its access port's registers (apreg)"};
    char answer[SMALL];
    if (!ask_text(monitor, script, answer, "OpenOCD does not say how it reaches its target", deadline, error))
        return false;
    bool known = answer[0] >= '0' && answer[0] <= '2' && answer[1] == '\0';
    snprintf(out, size, "%s", known ? ways[answer[0] - '0'] : "in use");
    return true;
}
