/*
 * Reading pmu.tcl's answers.
 */
#include "links/openocd_reply.h"

#include "links/openocd_program.h"
#include "links/openocd_text.h"

#include <stdlib.h>
#include <string.h>

/* ---- words and numbers */

struct cursor {
    const char *at, *end;
};

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

/* A number of at most 64 bits, decimal or 0x..., and nothing else. */
static bool take_number(struct cursor *cursor, uint64_t *value)
{
    uint64_t base = 10;
    const char *at = cursor->at;
    if (cursor->end - at > 2 && at[0] == '0' && at[1] == 'x') {
        base = 16;
        at += 2;
    }
    uint64_t sum = 0;
    const char *first = at;
    for (; at < cursor->end; at++) {
        int digit = digit_value(*at);
        if (digit < 0 || (uint64_t)digit >= base)
            break;
        if (sum > (UINT64_MAX - (uint64_t)digit) / base)
            return false;
        sum = sum * base + (uint64_t)digit;
    }
    if (at == first)
        return false;
    cursor->at = at;
    *value = sum;
    return true;
}

static bool take_char(struct cursor *cursor, char c)
{
    if (cursor->at == cursor->end || *cursor->at != c)
        return false;
    cursor->at++;
    return true;
}

static bool take_word(struct cursor *cursor, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, word, length) != 0)
        return false;
    cursor->at += length;
    return true;
}

static bool fits(uint64_t value, unsigned size)
{
    return size >= 8 || value >> (8 * size) == 0;
}

/* ---- the answer to a list of steps */

bool openocd_reply_read(const char *text, size_t length, struct openocd_reply *reply)
{
    static const enum why whys[] = {DONE, NOT_YET, UNEXPECTED, TARGET_FAULT};
    struct cursor cursor = {text, text + length};
    uint64_t why = 0;
    *reply = (struct openocd_reply){0};
    if (!take_word(&cursor, "pmu ") || !take_number(&cursor, &reply->sequence) || !take_char(&cursor, ' ') ||
        !take_number(&cursor, &why) || !take_char(&cursor, ' ') || !take_number(&cursor, &reply->done) ||
        !take_char(&cursor, ' ') || !take_number(&cursor, &reply->saw) || !take_char(&cursor, ' ') ||
        !take_number(&cursor, &reply->count) || !take_char(&cursor, ' '))
        return false;
    if (why >= sizeof whys / sizeof whys[0])
        return false;
    reply->why = whys[why];
    reply->results = cursor.at;
    reply->end = cursor.end;
    const char *line_end = memchr(cursor.at, '\n', (size_t)(cursor.end - cursor.at));
    if ((line_end != NULL) != (reply->why == TARGET_FAULT))
        return false;
    if (line_end != NULL) {
        reply->end = line_end;
        reply->words = line_end + 1;
        reply->words_length = (size_t)(cursor.end - reply->words);
    }
    return true;
}

static bool is_met(const struct step *step, uint64_t value)
{
    return (value & step->mask) == step->value;
}

static bool take_result(struct cursor *cursor, const struct step *step, bool first, uint64_t *result)
{
    if ((!first && !take_char(cursor, ' ')) || !take_number(cursor, result))
        return false;
    if (step->op == OP_TIME)
        return true;
    if (!fits(*result, step->at.size))
        return false;
    return step->op == OP_READ || is_met(step, *result);
}

/* Why the list ended where it did must be something that the step there can cause. */
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
    struct cursor cursor = {reply->results, reply->end};
    size_t done = 0;
    uint64_t taken = 0;
    for (uint64_t item = 0; item < reply->done; item++) {
        if (done >= n)
            return false;
        size_t length = openocd_item_length(steps + done, n - done);
        for (; length > 0; length--, done++) {
            if (steps[done].op == OP_WRITE)
                continue;
            if (!take_result(&cursor, &steps[done], taken == 0, &results[done]))
                return false;
            taken++;
        }
    }
    /* Part of a block may have been read before it failed or time was up */
    if ((reply->why == TARGET_FAULT || reply->why == NOT_YET) && done < n) {
        size_t length = openocd_item_length(steps + done, n - done);
        for (; length > 1 && taken < reply->count; length--, done++, taken++)
            if (!take_result(&cursor, &steps[done], taken == 0, &results[done]))
                return false;
    }
    if (taken != reply->count || cursor.at != cursor.end || !is_plausible(reply, steps, n, done))
        return false;
    *outcome = (struct outcome){.why = reply->why, .done = done, .saw = reply->saw};
    return true;
}

/* ---- the list of targets */

/* "type,PORT,COREID,DBGBASE" where OpenOCD knows it. Numbers that are none leave the place unknown. */
static void take_place(struct link_view *view)
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

static bool take_target(struct cursor *cursor, size_t index, struct link_view *view)
{
    static const enum view_state states[] = {VIEW_UNKNOWN, VIEW_RUNNING, VIEW_HALTED, VIEW_RESET};
    uint64_t number = 0, state = 0;
    if (!take_char(cursor, '\n') || !take_number(cursor, &number) || number != index || index > UINT16_MAX ||
        !take_char(cursor, ' ') || !take_number(cursor, &state) ||
        state >= sizeof states / sizeof states[0] || !take_char(cursor, ' '))
        return false;
    size_t left = (size_t)(cursor->end - cursor->at);
    const char *line_end = memchr(cursor->at, '\n', left);
    if (line_end == NULL)
        line_end = cursor->end;
    const char *blank = memchr(cursor->at, ' ', (size_t)(line_end - cursor->at));
    if (blank == NULL || blank == cursor->at || blank + 1 == line_end)
        return false;
    *view = (struct link_view){.unit = (uint16_t)index, .state = states[state]};
    openocd_text_clean(cursor->at, (size_t)(blank - cursor->at), view->type, sizeof view->type);
    openocd_text_clean(blank + 1, (size_t)(line_end - blank - 1), view->name, sizeof view->name);
    take_place(view);
    view->is_core = strcmp(view->type, "mem_ap") != 0 && strcmp(view->type, "testee") != 0;
    cursor->at = line_end;
    return view->name[0] != '\0' && view->type[0] != '\0';
}

bool openocd_targets_read(const char *text, size_t length, struct link_view *out, size_t room, size_t *n)
{
    struct cursor cursor = {text, text + length};
    *n = 0;
    if (!take_word(&cursor, "pmu"))
        return false;
    while (cursor.at < cursor.end) {
        struct link_view view;
        if (!take_target(&cursor, *n, &view))
            return false;
        if (*n < room)
            out[*n] = view;
        ++*n;
    }
    return true;
}

bool openocd_version_read(const char *text, unsigned *major, unsigned *minor)
{
    struct cursor cursor = {text, text + strlen(text)};
    uint64_t first = 0, second = 0;
    if (!take_word(&cursor, "Open On-Chip Debugger ") || !take_number(&cursor, &first) ||
        !take_char(&cursor, '.') || !take_number(&cursor, &second) || first > 1000 || second > 1000)
        return false;
    *major = (unsigned)first;
    *minor = (unsigned)second;
    return true;
}
