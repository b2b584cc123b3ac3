/* SPDX-License-Identifier: MIT */
/* One request and its answer, in both ways. */
#include "base/values.h"
#include "wire/inside.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 1 << 16, WHAT = 160 }; /* a result that grew by less is written as the difference */

/* What begins the request for a list of steps: "run 1-7 2*5"; "rest 4": the last four of the list before. */
static const char run[] = "run", rest[] = "rest";

static const char letters[] = {[DONE] = 'D',        [NOT_YET] = 'N',      [UNEXPECTED] = 'U',
                               [TARGET_WAIT] = 'W', [TARGET_FAULT] = 'F', [LINK_LOST] = 'L'};

/* As in the file, for good: numbers of enum error_kind change. */
static const char *const kinds[] = {
    [ERROR_NONE] = "none",
    [ERROR_USAGE] = "usage",
    [ERROR_SYMBOL] = "symbol",
    [ERROR_AMBIGUOUS] = "ambiguous",
    [ERROR_ELF] = "elf",
    [ERROR_ELF_MISMATCH] = "elf-mismatch",
    [ERROR_NO_PROBE] = "no-probe",
    [ERROR_NOT_A_PROBE] = "not-a-probe",
    [ERROR_IN_USE] = "in-use",
    [ERROR_LEFT] = "left",
    [ERROR_SERVER] = "server",
    [ERROR_NO_MSR] = "no-msr",
    [ERROR_NO_AGENT] = "no-agent",
    [ERROR_LINK_LOST] = "link-lost",
    [ERROR_LINK_PROTOCOL] = "link-protocol",
    [ERROR_FAULT] = "fault",
    [ERROR_ASLEEP] = "asleep",
    [ERROR_NO_TARGET] = "no-target",
    [ERROR_NO_CORE] = "no-core",
    [ERROR_NO_COUNTER] = "no-counter",
    [ERROR_WRITTEN] = "written",
    [ERROR_WRITER_SOUGHT] = "writer-sought",
    [ERROR_NO_COMPARATOR] = "no-comparator",
    [ERROR_ADDRESS] = "address",
    [ERROR_HALTED] = "halted",
    [ERROR_FOREIGN_STOP] = "foreign-stop",
    [ERROR_MOVED] = "moved",
    [ERROR_CLEARED] = "cleared",
    [ERROR_RESET] = "reset",
    [ERROR_NO_RESET] = "no-reset",
    [ERROR_LOCKUP] = "lockup",
    [ERROR_STATE] = "state",
    [ERROR_START] = "start",
    [ERROR_END] = "end",
    [ERROR_DIVERGED] = "diverged",
    [ERROR_CANCELLED] = "cancelled",
    [ERROR_SYSTEM] = "system",
    [ERROR_UNWRITTEN] = "unwritten",
};
_Static_assert(sizeof kinds / sizeof *kinds == ERROR_KINDS, "the last kind has a word, too");

static bool is_ok(const struct wire *wire)
{
    return wire->failure.kind == ERROR_NONE;
}

/* Whether parts of the answer are from the file. */
static bool exchange_takes(const struct wire *wire)
{
    return wire->replays && is_ok(wire);
}

/* --- what is asked -------------------------------------------------------------------------------------- */

void wire_step(struct line *line, const struct step *step)
{
    static const char *const verbs[] = {
        [OP_READ] = "read", [OP_WRITE] = "write", [OP_UNTIL] = "until", [OP_EXPECT] = "expect",
        [OP_COPY] = "copy", [OP_CHECK] = "check", [OP_TIME] = "time"};
    static const char *const spaces[] = {[SPACE_MEMORY] = "m",
                                         [SPACE_AP] = "ap",
                                         [SPACE_DP] = "dp",
                                         [SPACE_MSR] = "msr",
                                         [SPACE_CORE] = "core"};
    if (step->op == OP_TIME) {
        line_add(line, "time %s", step->value == TIME_BEFORE ? "before" : "after");
        return;
    }
    line_add(line, "%s%u %s%u %" PRIx64, verbs[step->op], step->at.size, spaces[step->at.space],
             step->at.unit, step->at.offset);
    if (step->op == OP_WRITE)
        line_add(line, " %" PRIx64, step->value);
    if (step->op == OP_UNTIL || step->op == OP_EXPECT)
        line_add(line, " %" PRIx64 " %" PRIx64 "%s", step->mask, step->value, step->once ? " once" : "");
    if (step->op == OP_READ && step->back > 0)
        line_add(line, " empties %u", step->back);
}

/* What the file says before the next request. */
static void take_sayings(struct wire *wire)
{
    struct words line;
    for (char kind = wire_peek(wire); is_ok(wire) && (kind == 's' || kind == 'q'); kind = wire_peek(wire)) {
        struct dictionary *dictionary = kind == 's' ? &wire->steps : &wire->requests;
        size_t before = dictionary->n;
        if (!wire_next(wire, &line))
            return; /* cut */
        const struct saying *added = line.at[1] == ' ' ? dictionary_add(dictionary, line.at + 2) : NULL;
        if (added == NULL || dictionary->n == before)
            (void)wire_damaged(wire);
    }
}

static bool exchange_begin(struct wire *wire)
{
    wire->count++;
    line_clear(&wire->line);
    if (wire->replays) {
        wire_skip_readings(wire);
        take_sayings(wire);
        return is_ok(wire);
    }
    wire_note_signals(wire);
    wire_flush_times(wire);
    return true;
}

/* The `k`th number of "run 1-7 2*5"; 0: there are fewer. */
static uint64_t exchange_number_at(const char *text, size_t k)
{
    struct words words = {.at = text + strlen(run)};
    uint64_t first, last, times;
    while (words_number(&words, UINT32_MAX, &first)) {
        last = first;
        times = 1;
        bool range = *words.at == '-', repeats = *words.at == '*';
        words.at += range || repeats;
        if ((range && (!words_number(&words, UINT32_MAX, &last) || last < first)) ||
            (repeats && !words_number(&words, UINT32_MAX, &times)))
            return 0;
        uint64_t length = range ? last - first + 1 : times;
        if (k < length)
            return range ? first + k : first;
        k -= (size_t)length;
    }
    return 0;
}

/* The step that the file has as the `k`th of a list; NULL: it has fewer. */
static const struct saying *step_on_file(const struct wire *wire, const char *text, size_t k)
{
    struct words words = {.at = text + strlen(rest)};
    uint64_t n;
    if (strncmp(text, rest, strlen(rest)) != 0)
        return dictionary_at(&wire->steps, exchange_number_at(text, k));
    bool ok = words_number(&words, wire->n_before, &n) && k < n;
    return ok ? wire->before[wire->n_before - n + k] : NULL;
}

static bool is_list(const char *text)
{
    return strncmp(text, run, strlen(run)) == 0 || strncmp(text, rest, strlen(rest)) == 0;
}

static bool diverge_in_list(struct wire *wire, const char *its, const struct step *steps, size_t n)
{
    const struct saying *other = NULL;
    struct line mine = {0};
    size_t k = 0;
    while (k < n && (other = step_on_file(wire, its, k)) != NULL && other == wire->asked[k])
        k++;
    other = step_on_file(wire, its, k);
    if (k < n)
        wire_step(&mine, &steps[k]);
    (void)wire_fail(wire,
                    "request %" PRIu64
                    " asks for \"%.*s\" as step %zu of %zu, and the file has \"%.*s\" there, in "
                    "line %zu",
                    wire->count, WHAT, mine.bytes != NULL ? mine.bytes : "nothing more", k + 1, n, WHAT,
                    other != NULL ? other->text : "nothing more", wire->number);
    line_free(&mine);
    return false;
}

static bool diverge(struct wire *wire, const struct saying *recorded, const struct step *steps, size_t n)
{
    const char *its = recorded != NULL ? recorded->text : "the end";
    if (steps != NULL && is_list(its))
        return diverge_in_list(wire, its, steps, n);
    return wire_fail(
        wire, "request %" PRIu64 " asks for %s\"%.*s\", and the file has \"%.*s\" there, in line %zu",
        wire->count, steps != NULL ? "steps, " : "", WHAT, wire->line.bytes, WHAT, its, wire->number);
}

/* Line "> US NUMBER". */
static bool match(struct wire *wire, const struct step *steps, size_t n)
{
    struct words line;
    uint64_t us, number;
    char next = wire_peek(wire);
    if (!wire_next(wire, &line))
        return wire_fail(wire,
                         "the file ends before request %" PRIu64 " (%.*s): the recorded run did not end",
                         wire->count, WHAT, wire->line.bytes);
    if (next == 'e')
        return diverge(wire, NULL, steps, n);
    if (next != '>' || (line.at++, !words_decimal(&line, UINT32_MAX, &us)) ||
        !words_number(&line, UINT32_MAX, &number) || !words_are_over(&line) ||
        (wire->request = dictionary_at(&wire->requests, number)) == NULL)
        return wire_damaged(wire);
    wire_advance(wire, (int64_t)us);
    return strcmp(wire->request->text, wire->line.bytes) == 0 || diverge(wire, wire->request, steps, n);
}

static bool ask(struct wire *wire, const struct step *steps, size_t n, struct error *error)
{
    bool ok = is_ok(wire) && !wire->line.failed;
    if (wire->line.failed)
        ok = wire_fail(wire, "out of memory");
    if (wire->replays) {
        wire->inside = ok && match(wire, steps, n);
        return wire->inside || error_copy(error, &wire->failure);
    }
    size_t before = wire->requests.n;
    wire->request = dictionary_add(&wire->requests, wire->line.bytes != NULL ? wire->line.bytes : "");
    if (wire->requests.n > before)
        line_add(&wire->out, "q %s\n", wire->line.bytes);
    int64_t now_us = deadline_host_us();
    line_add(&wire->out, "> %" PRId64 " %zx\n", now_us - wire->noted_us,
             wire->request != NULL ? wire->request->number : 0);
    wire->out.failed |= wire->request == NULL || wire->line.failed;
    wire->noted_us = now_us;
    wire_write(wire);
    wire->inside = true;
    return true;
}

bool wire_ask(struct wire *wire, struct error *error, const char *format, ...)
{
    char text[2048];
    if (wire->replays && !is_ok(wire))
        return error_copy(error, &wire->failure);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *at = text; *at != '\0'; at++)
        if ((unsigned char)*at < ' ')
            *at = '?'; /* a line stays one */
    if (exchange_begin(wire))
        line_add(&wire->line, "%s", text);
    return ask(wire, NULL, 0, error);
}

/* The step's saying; a recording adds what is new. */
static struct saying *say_step(struct wire *wire, const struct step *step, struct line *text)
{
    line_clear(text);
    wire_step(text, step);
    if (text->failed)
        return NULL;
    if (wire->replays)
        return dictionary_find(&wire->steps, text->bytes);
    size_t before = wire->steps.n;
    struct saying *saying = dictionary_add(&wire->steps, text->bytes);
    if (wire->steps.n > before)
        line_add(&wire->out, "s %s\n", text->bytes);
    return saying;
}

/* How many steps from `i` on have numbers that grow by `by`. */
static size_t count_row(const struct wire *wire, size_t i, size_t n, size_t by)
{
    size_t length = 1;
    while (i + length < n && wire->asked[i] != NULL && wire->asked[i + length] != NULL &&
           wire->asked[i + length]->number == wire->asked[i]->number + by * length)
        length++;
    return length;
}

/* A list that took too long goes on. */
static bool is_rest(const struct wire *wire, size_t n)
{
    bool said = n > 1 && n < wire->n_before;
    for (size_t i = 0; said && i < n; i++)
        said = wire->asked[i] != NULL && wire->asked[i] == wire->before[wire->n_before - n + i];
    return said;
}

static void say_list(struct wire *wire, size_t n)
{
    if (is_rest(wire, n)) {
        line_add(&wire->line, "%s %zx", rest, n);
        return;
    }
    line_add(&wire->line, "%s", run);
    for (size_t i = 0; i < n;) {
        size_t number = wire->asked[i] != NULL ? wire->asked[i]->number : 0;
        size_t row = count_row(wire, i, n, 1), same = count_row(wire, i, n, 0);
        line_add(&wire->line, " %zx", number);
        if (row > 1)
            line_add(&wire->line, "-%zx", number + row - 1);
        else if (same > 1)
            line_add(&wire->line, "*%zx", same);
        i += row > same ? row : same;
    }
}

bool wire_ask_steps(struct wire *wire, const struct step *steps, size_t n, struct error *error)
{
    struct line text = {0};
    if (wire->replays && !is_ok(wire))
        return error_copy(error, &wire->failure);
    struct saying **asked = array_grow(wire->asked, n + 1, &wire->asked_room, sizeof(struct saying *));
    bool begun = exchange_begin(wire), room = asked != NULL;
    wire->asked = room ? asked : wire->asked;
    for (size_t i = 0; i < n && room; i++)
        wire->asked[i] = begun ? say_step(wire, &steps[i], &text) : NULL;
    for (size_t i = 0; i < n && room && !wire->replays; i++)
        wire->out.failed |= wire->asked[i] == NULL;
    if (room)
        say_list(wire, n);
    wire->line.failed |= !room || text.failed;
    line_free(&text);
    return ask(wire, steps, n, error);
}

static void keep_list(struct wire *wire, size_t n)
{
    struct saying **asked = wire->asked;
    size_t room = wire->asked_room;
    wire->asked = wire->before;
    wire->asked_room = wire->before_room;
    wire->before = asked;
    wire->before_room = room;
    wire->n_before = n;
}

/* --- what is answered ----------------------------------------------------------------------------------- */

/* Line "< US ...", or "< US =": as the last time. */
static void take_answer(struct wire *wire)
{
    uint64_t us;
    char next = wire_peek(wire);
    if (!wire_next(wire, &wire->words)) {
        (void)wire_fail(wire,
                        "the file ends within request %" PRIu64 " (%.*s): the recorded run was cut there",
                        wire->count, WHAT, wire->request->text);
        return;
    }
    if (next != '<' || (wire->words.at++, !words_decimal(&wire->words, UINT32_MAX, &us))) {
        (void)wire_damaged(wire);
        return;
    }
    wire_advance(wire, (int64_t)us);
    struct saying *request = wire->request;
    if (words_take(&wire->words, '=')) {
        wire->words.at = request->answer != NULL ? request->answer : "";
        return;
    }
    free(request->answer);
    request->answer = strdup(wire->words.at);
    if (request->answer == NULL)
        (void)wire_fail(wire, "out of memory");
}

void wire_answer(struct wire *wire)
{
    if (!wire->replays) {
        wire->inside = false;
        line_clear(&wire->line);
        wire_note_signals(wire);
        int64_t now_us = deadline_host_us();
        line_add(&wire->out, "< %" PRId64, now_us - wire->noted_us);
        wire->noted_us = now_us;
    } else if (is_ok(wire)) {
        take_answer(wire);
    }
}

void wire_number(struct wire *wire, uint64_t most, uint64_t *number)
{
    if (!wire->replays)
        line_add(&wire->line, " %" PRIx64, *number);
    else if (*number = 0, exchange_takes(wire) && !words_number(&wire->words, most, number))
        (void)wire_damaged(wire);
}

void wire_flag(struct wire *wire, bool *flag)
{
    uint64_t number = *flag ? 1 : 0;
    wire_number(wire, 1, &number);
    *flag = number == 1;
}

void wire_text(struct wire *wire, char *text, size_t size)
{
    if (!wire->replays) {
        line_add_text(&wire->line, text);
        return;
    }
    text[0] = '\0';
    if (exchange_takes(wire) && !words_text(&wire->words, text, size)) {
        text[0] = '\0';
        (void)wire_damaged(wire);
    }
}

void wire_bytes(struct wire *wire, void *bytes, size_t n)
{
    if (!wire->replays)
        line_add_bytes(&wire->line, bytes, n);
    else if (memset(bytes, 0, n), exchange_takes(wire) && !words_bytes(&wire->words, bytes, n))
        (void)wire_damaged(wire);
}

/* Repeats that were not written yet. */
static void put_same(struct wire *wire, size_t *same)
{
    if (*same > 0)
        line_add(&wire->line, *same > 1 ? " .%zx" : " .", *same);
    *same = 0;
}

static void put_results(struct wire *wire, const struct step *steps, size_t n, const uint64_t *results)
{
    size_t same = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t *last = steps[i].op == OP_TIME   ? &wire->link_us
                         : wire->asked[i] != NULL ? &wire->asked[i]->result
                                                  : NULL;
        if (steps[i].op == OP_WRITE || last == NULL)
            continue;
        uint64_t before = *last, more = results[i] - before;
        *last = results[i];
        if (more == 0) {
            same++;
            continue;
        }
        put_same(wire, &same);
        if (results[i] > before && more < SMALL)
            line_add(&wire->line, " +%" PRIx64, more);
        else
            line_add(&wire->line, " %" PRIx64, results[i]);
    }
    put_same(wire, &same);
}

static void exchange_take_results(struct wire *wire, const struct step *steps, size_t n, uint64_t *results)
{
    uint64_t same = 0;
    for (size_t i = 0; i < n && is_ok(wire); i++) {
        results[i] = 0;
        if (steps[i].op == OP_WRITE)
            continue;
        uint64_t *last = steps[i].op == OP_TIME ? &wire->link_us : &wire->asked[i]->result, more = 0;
        if (same == 0 && words_take(&wire->words, '.')) {
            same = 1;
            if (*wire->words.at != ' ' && *wire->words.at != '\0' &&
                (!words_number(&wire->words, n, &same) || same == 0))
                (void)wire_damaged(wire);
        }
        if (same > 0)
            same--;
        else if (words_take(&wire->words, '+') ? !words_number(&wire->words, SMALL, &more)
                                               : (*last = 0, !words_number(&wire->words, UINT64_MAX, &more)))
            (void)wire_damaged(wire);
        *last += more;
        results[i] = *last;
    }
    if (same > 0)
        (void)wire_damaged(wire);
}

static void take_outcome(struct wire *wire, size_t n, struct outcome *outcome)
{
    *outcome = (struct outcome){.why = DONE, .done = n};
    while (outcome->why < LINK_LOST && !words_take(&wire->words, letters[outcome->why]))
        outcome->why++;
    if (outcome->why == LINK_LOST && !words_take(&wire->words, letters[LINK_LOST]))
        (void)wire_damaged(wire);
    uint64_t done = n;
    if (outcome->why != DONE &&
        (!words_number(&wire->words, n, &done) || !words_number(&wire->words, UINT64_MAX, &outcome->saw)))
        (void)wire_damaged(wire);
    outcome->done = (size_t)done;
    if (outcome->why != DONE && done >= n) /* no link answers that */
        (void)wire_damaged(wire);
}

void wire_outcome(struct wire *wire, const struct step *steps, size_t n, struct outcome *outcome,
                  uint64_t *results)
{
    if (!wire->replays) {
        line_add(&wire->line, " %c", letters[outcome->why]);
        if (outcome->why != DONE)
            line_add(&wire->line, "%zx %" PRIx64, outcome->done, outcome->saw);
        put_results(wire, steps, outcome->done, results);
    }
    if (exchange_takes(wire))
        take_outcome(wire, n, outcome);
    if (exchange_takes(wire))
        exchange_take_results(wire, steps, outcome->done, results);
    if (wire->replays && !is_ok(wire))
        *outcome = (struct outcome){.why = LINK_LOST};
    keep_list(wire, n);
}

static void take_error(struct wire *wire, struct error *error)
{
    char kind[24], advice[sizeof error->text];
    struct saying *kept = NULL;
    bool ok = words_text(&wire->words, kind, sizeof kind) &&
              words_text(&wire->words, error->text, sizeof error->text);
    while (ok && error->kind < ERROR_KINDS &&
           (kinds[error->kind] == NULL || strcmp(kinds[error->kind], kind) != 0))
        error->kind++;
    bool has_advice = ok && !words_are_over(&wire->words);
    ok = ok && error->kind < ERROR_KINDS && (!has_advice || words_text(&wire->words, advice, sizeof advice));
    if (ok && has_advice && (kept = dictionary_add(&wire->texts, advice)) != NULL)
        error->advice = kept->text;
    if (!ok || (has_advice && kept == NULL)) {
        error_clear(error);
        (void)wire_damaged(wire);
    }
}

static void pass_error(struct wire *wire, struct error *error)
{
    if (wire->replays) {
        error_clear(error);
        if (exchange_takes(wire) && words_take(&wire->words, '!'))
            take_error(wire, error);
        return;
    }
    if (error->kind == ERROR_NONE)
        return;
    line_add(&wire->line, " !");
    line_add_text(&wire->line, kinds[error->kind]);
    line_add_text(&wire->line, error->text);
    if (error->advice != NULL)
        line_add_text(&wire->line, error->advice);
}

/* What the links themselves note of an answer. */
static void note_answer(struct wire *wire)
{
    wire->inside = true;
    ending_answered(wire->run.ending);
    wire->inside = false;
    wire_take_signals(wire);
}

static void put_answer(struct wire *wire)
{
    struct saying *request = wire->request;
    const char *answer = wire->line.bytes != NULL ? wire->line.bytes : "";
    bool same = request != NULL && request->answer != NULL && strcmp(request->answer, answer) == 0;
    line_add(&wire->out, "%s\n", same ? " =" : answer);
    if (request != NULL && !same) {
        free(request->answer);
        request->answer = strdup(answer);
    }
    wire->out.failed |= wire->line.failed;
    wire_write(wire);
}

bool wire_answered(struct wire *wire, struct error *error)
{
    if (!wire->replays) {
        put_answer(wire);
        return true;
    }
    if (is_ok(wire) && !words_are_over(&wire->words))
        (void)wire_damaged(wire);
    wire->inside = false;
    if (is_ok(wire))
        note_answer(wire);
    return is_ok(wire) || error_copy(error, &wire->failure);
}

bool wire_closed(struct wire *wire, struct error *why, struct error *error)
{
    pass_error(wire, why);
    if (!wire_answered(wire, error))
        return false;
    error_copy(error, why);
    return true;
}

bool wire_worked(struct wire *wire, bool ok, struct error *why, struct error *error)
{
    wire_answer(wire);
    wire_flag(wire, &ok);
    return wire_closed(wire, why, error) && ok;
}
