/* SPDX-License-Identifier: MIT */
#include "links/openocd_tcl.h"

#include "base/socket.h"
#include "base/values.h"
#include "links/openocd_process.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { END_OF_TEXT = 0x1a, READ_AT_LEAST = 4096, SPOKEN_ANSWER = 1 << 18 };

static enum openocd_end deadline_end(const struct deadline *deadline)
{
    return deadline_cancelled(deadline) ? OPENOCD_CANCELLED : OPENOCD_SILENT;
}

/* As socket_wait; meanwhile the log of an OpenOCD of ours is read. */
static enum openocd_end rpc_wait_for(struct openocd_rpc *rpc, short events, const struct deadline *deadline)
{
    for (;;) {
        struct pollfd fds[2] = {{.fd = rpc->fd, .events = events}, {.fd = -1, .events = POLLIN}};
        if (rpc->process != NULL)
            fds[1].fd = openocd_process_log_fd(rpc->process);
        int ready = poll(fds, 2, deadline_poll_ms(deadline));
        if (ready < 0 && errno != EINTR)
            return OPENOCD_CLOSED;
        if (ready > 0 && fds[1].revents != 0)
            openocd_process_read_log(rpc->process);
        if (ready > 0 && fds[0].revents != 0)
            return OPENOCD_ANSWERED;
        if (deadline_passed(deadline))
            return deadline_end(deadline);
    }
}

void openocd_rpc_close(struct openocd_rpc *rpc)
{
    if (rpc->fd >= 0)
        close(rpc->fd);
    rpc->fd = -1;
    free(rpc->buffer);
    rpc->buffer = NULL;
    rpc->used = rpc->room = rpc->consumed = 0;
}

/* Sends through the transport; the answer then waits in the buffer as if it had arrived over a socket. */
static enum openocd_end speak(struct openocd_rpc *rpc, const char *request, size_t length,
                              const struct deadline *deadline)
{
    size_t got = 0;
    char *buffer = array_grow(rpc->buffer, SPOKEN_ANSWER, &rpc->room, 1);
    if (buffer == NULL)
        return OPENOCD_NO_MEMORY;
    rpc->buffer = buffer;
    rpc->used = rpc->consumed = 0;
    enum openocd_end end = rpc->transport->ask(rpc->transport->context, request, length, rpc->buffer,
                                               SPOKEN_ANSWER - 1, &got, deadline);
    if (end == OPENOCD_ANSWERED) {
        rpc->buffer[got] = END_OF_TEXT;
        rpc->used = got + 1;
    }
    return end;
}

enum openocd_end openocd_rpc_send(struct openocd_rpc *rpc, const char *request, size_t length,
                                  const struct deadline *deadline)
{
    log_text(rpc->log, '>', "tcl", request, length > 0 ? length - 1 : 0);
    if (rpc->transport != NULL)
        return speak(rpc, request, length > 0 ? length - 1 : 0, deadline); /* without the socket's 0x1a */
    while (length > 0) {
        if (rpc->fd < 0)
            return OPENOCD_CLOSED;
        ssize_t sent = socket_try_send(rpc->fd, request, length);
        enum openocd_end end = sent == 0 ? rpc_wait_for(rpc, POLLOUT, deadline) : OPENOCD_ANSWERED;
        if (sent < 0 || end != OPENOCD_ANSWERED)
            return sent < 0 ? OPENOCD_CLOSED : end;
        request += sent;
        length -= (size_t)sent;
    }
    return OPENOCD_ANSWERED;
}

enum openocd_end openocd_rpc_receive(struct openocd_rpc *rpc, size_t largest, const struct deadline *deadline,
                                     const char **answer, size_t *length)
{
    if (rpc->consumed > 0) {
        rpc->used -= rpc->consumed;
        memmove(rpc->buffer, rpc->buffer + rpc->consumed, rpc->used);
        rpc->consumed = 0;
    }
    size_t seen = 0;
    for (;;) {
        char *end = rpc->used > seen ? memchr(rpc->buffer + seen, END_OF_TEXT, rpc->used - seen) : NULL;
        if (end != NULL) {
            *end = '\0';
            *answer = rpc->buffer;
            *length = (size_t)(end - rpc->buffer);
            rpc->consumed = *length + 1;
            log_text(rpc->log, '<', "tcl", *answer, *length);
            return *length > largest ? OPENOCD_TOO_LONG : OPENOCD_ANSWERED;
        }
        seen = rpc->used;
        if (rpc->used > largest)
            return OPENOCD_TOO_LONG;
        if (rpc->fd < 0)
            return OPENOCD_CLOSED;
        char *buffer = array_grow(rpc->buffer, rpc->used + READ_AT_LEAST, &rpc->room, 1);
        if (buffer == NULL)
            return OPENOCD_NO_MEMORY;
        rpc->buffer = buffer;
        enum openocd_end ready = rpc_wait_for(rpc, POLLIN, deadline);
        if (ready != OPENOCD_ANSWERED)
            return ready;
        ssize_t got = socket_try_receive(rpc->fd, rpc->buffer + rpc->used, rpc->room - rpc->used);
        if (got < 0)
            return OPENOCD_CLOSED;
        rpc->used += (size_t)got;
        /* An endless answer in small pieces always leaves the socket ready */
        if (deadline_passed(deadline) &&
            (rpc->used == seen || memchr(rpc->buffer + seen, END_OF_TEXT, rpc->used - seen) == NULL))
            return deadline_end(deadline);
    }
}

const char *openocd_rpc_pending(const struct openocd_rpc *rpc, size_t *length)
{
    *length = rpc->used - rpc->consumed;
    return rpc->buffer == NULL ? "" : rpc->buffer + rpc->consumed;
}

/* ---- the request for a list of steps */

enum { UNIT_AP = 0x10000, UNIT_DP = 0x20000, MOVED = 5 };

static bool openocd_tcl_continues(const struct step *before, const struct step *after)
{
    return after->op == OP_READ && after->at.space == SPACE_MEMORY && after->at.unit == before->at.unit &&
           after->at.size == before->at.size && after->at.offset == before->at.offset + before->at.size &&
           after->at.offset > before->at.offset;
}

size_t openocd_item_length(const struct step *steps, size_t n)
{
    size_t length = 1;
    if (steps[0].op == OP_READ && steps[0].at.space == SPACE_MEMORY)
        while (length < n && length < OPENOCD_BLOCK &&
               openocd_tcl_continues(&steps[length - 1], &steps[length]))
            length++;
    return length;
}

const char *openocd_step_refusal(const struct step *step, size_t targets)
{
    const struct address *at = &step->at;
    if (step->op == OP_TIME)
        return NULL;
    switch ((enum space)at->space) {
    case SPACE_MEMORY:
        if (at->unit >= targets)
            return "that target does not exist";
        if (at->size != 1 && at->size != 2 && at->size != 4 && at->size != 8)
            return "no access has that size";
        return NULL;
    case SPACE_AP:
    case SPACE_DP:
        if (at->size != 4 || at->offset > (at->space == SPACE_AP ? 0xffc : 0xfc) || at->offset % 4 != 0)
            return "that register does not exist";
        return NULL;
    case SPACE_MSR:
    case SPACE_CORE:
        break;
    }
    return "it cannot be reached through OpenOCD";
}

static uint64_t fitted(uint64_t value, unsigned size)
{
    return size < 8 ? value & ((UINT64_C(1) << (8 * size)) - 1) : value;
}

static int write_item(const struct step *step, size_t length, char *out, size_t size)
{
    static const unsigned numbers[] = {[OP_READ] = 0, [OP_WRITE] = 1, [OP_UNTIL] = 2, [OP_EXPECT] = 3};
    const struct address *at = &step->at;
    unsigned unit = at->unit + (at->space == SPACE_AP ? UNIT_AP : at->space == SPACE_DP ? UNIT_DP : 0);
    bool waits = step->op == OP_UNTIL || step->op == OP_EXPECT;
    uint64_t a = step->op == OP_WRITE ? fitted(step->value, at->size) : waits ? step->mask : length;
    if (step->op == OP_TIME)
        return snprintf(out, size, "4 0 0 0 0 0 ");
    return snprintf(out, size, "%u %u %u 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64 " ", numbers[step->op], unit,
                    8U * at->size, at->offset, a, waits ? step->value : 0);
}

size_t openocd_program_write(const struct step *steps, size_t n, size_t targets, char *out, size_t size)
{
    size_t covered = 0, used = 0;
    out[0] = '\0';
    while (covered < n && openocd_step_refusal(&steps[covered], targets) == NULL) {
        size_t length = openocd_item_length(steps + covered, n - covered);
        int written = write_item(&steps[covered], length, out + used, size - used);
        if (written < 0 || (size_t)written >= size - used) {
            out[used] = '\0';
            break;
        }
        used += (size_t)written;
        covered += length;
    }
    return covered;
}

/* ---- the answer to a list of steps */

static bool fits(uint64_t value, unsigned size)
{
    return fitted(value, size) == value;
}

bool openocd_reply_read(const char *text, size_t length, struct openocd_reply *reply)
{
    static const enum why whys[] = {DONE, NOT_YET, UNEXPECTED, TARGET_FAULT, LINK_LOST, LINK_LOST};
    uint64_t of[5];
    *reply = (struct openocd_reply){.end = text + length};
    const char *at = strncmp(text, "pmu ", 4) == 0 ? numbers_read(text + 4, EITHER_BASE, of, 5) : NULL;
    if (at == NULL || *at != ' ' || of[1] >= sizeof whys / sizeof *whys)
        return false;
    reply->sequence = of[0];
    reply->why = whys[of[1]];
    reply->done = of[2];
    reply->saw = of[3];
    reply->count = of[4];
    reply->results = at + 1;
    const char *line_end = memchr(reply->results, '\n', (size_t)(reply->end - reply->results));
    reply->is_moved = of[1] == MOVED;
    if ((line_end != NULL) != (reply->why == TARGET_FAULT || reply->is_moved))
        return false;
    if (line_end != NULL) {
        reply->words = line_end + 1;
        reply->words_length = (size_t)(reply->end - reply->words);
        reply->end = line_end;
    }
    return true;
}

static bool is_met(const struct step *step, uint64_t value)
{
    return (value & step->mask) == step->value;
}

static bool take_result(const char **at, const struct step *step, bool first, uint64_t *result)
{
    if (!first && *(*at)++ != ' ')
        return false;
    *at = numbers_read(*at, EITHER_BASE, result, 1);
    if (*at == NULL || (step->op != OP_TIME && !fits(*result, step->at.size)))
        return false;
    return step->op == OP_READ || step->op == OP_TIME || is_met(step, *result);
}

/* Whether the step at `done` can have ended the list in this way. */
static bool is_plausible(const struct openocd_reply *reply, const struct step *steps, size_t n, size_t done)
{
    if (reply->why == DONE)
        return done == n;
    if (done >= n)
        return false;
    const struct step *step = &steps[done];
    if (reply->why == UNEXPECTED)
        return step->op == OP_EXPECT && fits(reply->saw, step->at.size) && !is_met(step, reply->saw);
    if (reply->why == NOT_YET)
        return reply->saw == 0 ||
               (step->op == OP_UNTIL && fits(reply->saw, step->at.size) && !is_met(step, reply->saw));
    return reply->saw == 0;
}

bool openocd_reply_take(const struct openocd_reply *reply, const struct step *steps, size_t n,
                        uint64_t *results, struct outcome *outcome)
{
    const char *at = reply->results;
    size_t done = 0;
    uint64_t taken = 0;
    for (uint64_t item = 0; item < reply->done; item++) {
        if (done >= n)
            return false;
        size_t length = openocd_item_length(steps + done, n - done);
        for (; length > 0; length--, done++) {
            if (steps[done].op == OP_WRITE)
                continue;
            if (!take_result(&at, &steps[done], taken == 0, &results[done]))
                return false;
            taken++;
        }
    }
    /* A block may have been read in part before it failed or time was up */
    if ((reply->why == TARGET_FAULT || reply->why == NOT_YET) && done < n) {
        size_t length = openocd_item_length(steps + done, n - done);
        for (; length > 1 && taken < reply->count; length--, done++, taken++)
            if (!take_result(&at, &steps[done], taken == 0, &results[done]))
                return false;
    }
    if (taken != reply->count || at != reply->end || !is_plausible(reply, steps, n, done))
        return false;
    *outcome = (struct outcome){.why = reply->why, .done = done, .saw = reply->saw};
    return true;
}

/* ---- the list of targets */

/* "type,PORT,COREID,DBGBASE" if OpenOCD knows these; nonsense in it counts as unknown. */
static void openocd_tcl_take_place(struct link_view *view)
{
    char *comma = strchr(view->type, ',');
    unsigned long long numbers[3] = {0};
    if (comma == NULL)
        return;
    const char *at = comma;
    size_t n = 0;
    for (; n < 3 && *at == ','; n++) {
        char *end;
        numbers[n] = strtoull(at + 1, &end, 10);
        if (end == at + 1)
            break;
        at = end;
    }
    *comma = '\0';
    if (n < 3 || *at != '\0' || numbers[0] > UINT16_MAX || numbers[1] > UINT16_MAX)
        return;
    view->has_port = true;
    view->port = (uint16_t)numbers[0];
    view->core_id = (unsigned)numbers[1];
    view->debug_base = numbers[2];
}

/* A line "NUMBER STATE TYPE NAME". */
static bool take_target(const char *line, const char *end, size_t index, struct link_view *view)
{
    uint64_t of[2];
    const char *type = numbers_read(line, 10, of, 2);
    if (type == NULL || *type++ != ' ' || of[0] != index || index > UINT16_MAX || of[1] > VIEW_RESET)
        return false;
    const char *blank = type < end ? memchr(type, ' ', (size_t)(end - type)) : NULL;
    if (blank == NULL || blank == type || blank + 1 == end)
        return false;
    *view = (struct link_view){.unit = (uint16_t)index, .state = (enum view_state)of[1]};
    openocd_text_clean(type, (size_t)(blank - type), view->type, sizeof view->type);
    openocd_text_clean(blank + 1, (size_t)(end - blank - 1), view->name, sizeof view->name);
    openocd_tcl_take_place(view);
    view->is_core = strcmp(view->type, "mem_ap") != 0 && strcmp(view->type, "testee") != 0;
    return view->name[0] != '\0' && view->type[0] != '\0';
}

bool openocd_targets_read(const char *text, size_t length, struct link_view *out, size_t room, size_t *n)
{
    const char *whole = text + length, *line = text + 3;
    *n = 0;
    if (strncmp(text, "pmu", 3) != 0)
        return false;
    while (line < whole) {
        struct link_view view;
        if (*line++ != '\n')
            return false;
        const char *end = memchr(line, '\n', (size_t)(whole - line));
        end = end != NULL ? end : whole;
        if (!take_target(line, end, *n, &view))
            return false;
        if (*n < room)
            out[*n] = view;
        ++*n;
        line = end;
    }
    return true;
}

/* Vendors put words before it, and a letter before the number. */
bool openocd_version_read(const char *text, unsigned *major, unsigned *minor)
{
    static const char before[] = "Open On-Chip Debugger";
    const char *at = strstr(text, before);
    uint64_t first, second;
    if (at == NULL)
        return false;
    at += sizeof before - 1;
    at += strspn(at, " ");
    at = numbers_read(at + (*at == 'v'), 10, &first, 1);
    if (at == NULL || *at != '.' || numbers_read(at + 1, 10, &second, 1) == NULL || first > 1000 ||
        second > 1000)
        return false;
    *major = (unsigned)first;
    *minor = (unsigned)second;
    return true;
}
