// The truth of trace: see the header.
#include "device/trace_log.h"

#include <inttypes.h>
#include <stdlib.h>

bool trace_log_switch(struct trace_log *log, bool on)
{
    free(log->ring);
    *log = (struct trace_log){.ring = on ? calloc(TRACE_LOG_EVENTS, sizeof *log->ring) : NULL};
    return !on || log->ring;
}

uint64_t trace_log_add(struct trace_log *log, const struct trace_event *event)
{
    if (!log->ring)
        return 0;
    log->ring[log->next % TRACE_LOG_EVENTS] = *event;
    return log->next++;
}

void trace_log_settle(struct trace_log *log, uint64_t index, enum trace_fate fate)
{
    if (log->ring && index < log->next && log->next - index <= TRACE_LOG_EVENTS)
        log->ring[index % TRACE_LOG_EVENTS].fate = fate;
}

void trace_log_print(const struct trace_log *log, uint64_t from, FILE *out)
{
    static const char *const kinds[] = {
        [TRACE_MATCH] = "match", [TRACE_ENTER] = "enter", [TRACE_EXIT] = "exit",   [TRACE_RETURN] = "return",
        [TRACE_READ] = "read",   [TRACE_WRITE] = "write", [TRACE_CYCLE] = "cycle", [TRACE_SWIT] = "swit",
        [TRACE_SYNC] = "sync",   [TRACE_PC] = "pc",
    };
    static const char *const fates[] = {
        [TRACE_PENDING] = "pending", [TRACE_SENT] = "sent", [TRACE_LOST] = "lost", [TRACE_OFF] = "off"};
    uint64_t oldest = log->next > TRACE_LOG_EVENTS ? log->next - TRACE_LOG_EVENTS : 0;
    uint64_t first = from < oldest ? oldest : from, end = first > log->next ? first : log->next;
    if (end - first > TRACE_LOG_PER_REPLY)
        end = first + TRACE_LOG_PER_REPLY;
    fprintf(out, "{\"next\":%" PRIu64 ",\"end\":%" PRIu64 ",\"dropped\":%" PRIu64 ",\"events\":[", end,
            log->next, first - from);
    for (uint64_t i = first; i < end; i++) {
        const struct trace_event *e = &log->ring[i % TRACE_LOG_EVENTS];
        fprintf(out, "%s[%" PRIu64 ",\"%s\",%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",\"%s\"]",
                i == first ? "" : ",", i, kinds[e->kind], e->number, e->cycles, e->counted, e->value,
                fates[e->fate]);
    }
    fputs("]}", out);
}
