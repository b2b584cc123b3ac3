/* SPDX-License-Identifier: MIT */
#include "links/openocd_trace.h"

#include "base/socket.h"
#include "links/openocd_process.h"

#include <stdlib.h>
#include <string.h>

enum { TRACE_MESSAGE = 1 << 16, TRACE_WAIT_MS = 20 };

/* 16: it is none. */
static unsigned digit_of(char letter)
{
    static const char digits[] = "0123456789abcdef";
    const char *found = letter != '\0' ? strchr(digits, letter) : NULL;
    return found != NULL ? (unsigned)(found - digits) : 16;
}

const char *openocd_trace_message(const char *text, size_t length, size_t *digits)
{
    static const char head[] = "type target_trace data ";
    enum { HEAD = sizeof head - 1 };
    if (length < HEAD || memcmp(text, head, HEAD) != 0)
        return NULL;
    size_t n = 0;
    while (HEAD + n < length && digit_of(text[HEAD + n]) < 16)
        n++;
    size_t end = HEAD + n;
    bool whole = n % 2 == 0 && length - end == 2 && text[end] == '\r' && text[end + 1] == '\n';
    *digits = n;
    return whole ? text + HEAD : NULL;
}

bool openocd_trace_answer(const char *text, size_t length, struct link_trace *out)
{
    static const char head[] = "pmu ";
    char *end;
    if (strncmp(text, head, sizeof head - 1) != 0 || text[sizeof head - 1] < '0' ||
        text[sizeof head - 1] > '9')
        return false;
    unsigned long baud = strtoul(text + sizeof head - 1, &end, 10);
    if (baud > UINT32_MAX || end[0] != ' ' || (end[1] != '0' && end[1] != '1'))
        return false;
    out->baud = (uint32_t)baud;
    out->fixed = end[1] == '1';
    openocd_text_clean(end + 2, length - (size_t)(end + 2 - text), out->why, sizeof out->why);
    return true;
}

static bool trace_is_gone(struct openocd_trace *trace, struct error *error)
{
    openocd_trace_close(trace);
    return error_set(error, ERROR_LINK_LOST, "OpenOCD closed the connection for its trace");
}

bool openocd_trace_open(struct openocd_trace *trace, const struct openocd_session *session,
                        const struct deadline *deadline, struct error *error)
{
    /* 0.12 has the first command, later ones the second */
    static const char ask[] = "if {[catch {tcl_trace on}]} {tcl trace on}; format traced\x1a";
    const char *answer = "";
    size_t length = 0;
    if (trace->rpc.fd >= 0)
        return true;
    *trace = (struct openocd_trace){.rpc = {.process = session->process, .log = session->rpc.log}};
    trace->rpc.fd = socket_connect(session->host, session->port, deadline, error);
    if (trace->rpc.fd < 0)
        return false;
    if (openocd_rpc_send(&trace->rpc, ask, sizeof ask - 1, deadline) == OPENOCD_ANSWERED &&
        openocd_rpc_receive(&trace->rpc, TRACE_MESSAGE, deadline, &answer, &length) == OPENOCD_ANSWERED &&
        strcmp(answer, "traced") == 0)
        return true;
    openocd_trace_close(trace);
    return error_set(error, ERROR_LINK_PROTOCOL, "OpenOCD at %s does not send trace (tcl_trace)",
                     session->peer);
}

static size_t take_digits(struct openocd_trace *trace, uint8_t *out, size_t room)
{
    size_t n = trace->left / 2 < room ? trace->left / 2 : room;
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)(digit_of(trace->hex[2 * i]) << 4 | digit_of(trace->hex[2 * i + 1]));
    trace->hex += 2 * n;
    trace->left -= 2 * n;
    return n;
}

bool openocd_trace_take(struct openocd_trace *trace, uint8_t *out, size_t room, size_t *n,
                        struct error *error)
{
    struct deadline soon = deadline_in_ms(TRACE_WAIT_MS, NULL);
    const char *text;
    size_t length;
    *n = take_digits(trace, out, room);
    while (*n == 0) {
        enum openocd_end end = openocd_rpc_receive(&trace->rpc, TRACE_MESSAGE, &soon, &text, &length);
        if (end == OPENOCD_SILENT || end == OPENOCD_CANCELLED)
            return true;
        if (end != OPENOCD_ANSWERED)
            return trace_is_gone(trace, error);
        trace->hex = openocd_trace_message(text, length, &trace->left);
        if (trace->hex == NULL) {
            openocd_trace_close(trace);
            return error_set(error, ERROR_LINK_PROTOCOL, "OpenOCD sends \"%.60s\" in place of trace", text);
        }
        *n = take_digits(trace, out, room);
    }
    return true;
}

void openocd_trace_close(struct openocd_trace *trace)
{
    openocd_rpc_close(&trace->rpc);
    trace->hex = NULL;
    trace->left = 0;
}
