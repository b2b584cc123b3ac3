/* SPDX-License-Identifier: MIT */
#include "base/step.h"

#include "base/values.h"

#include <inttypes.h>
#include <stdio.h>

bool address_same(struct address a, struct address b)
{
    return a.space == b.space && a.unit == b.unit && a.offset == b.offset && a.size == b.size;
}

struct step step_read(struct address at)
{
    return (struct step){.op = OP_READ, .at = at};
}

struct step step_read_emptying(struct address at, size_t back)
{
    return (struct step){.op = OP_READ, .at = at, .back = (uint16_t)back};
}

struct step step_write(struct address at, uint64_t value)
{
    return (struct step){.op = OP_WRITE, .at = at, .value = value};
}

struct step step_until(struct address at, uint64_t mask, uint64_t value)
{
    return (struct step){.op = OP_UNTIL, .at = at, .value = value, .mask = mask};
}

struct step step_expect(struct address at, uint64_t mask, uint64_t value)
{
    return (struct step){.op = OP_EXPECT, .at = at, .value = value, .mask = mask};
}

struct step step_expect_once(struct address at, uint64_t mask, uint64_t value)
{
    return (struct step){.op = OP_EXPECT, .at = at, .value = value, .mask = mask, .once = true};
}

struct step step_reread(enum step_reread reread, struct step step)
{
    step.reread = reread;
    return step;
}

struct step step_copy(struct address at, size_t back)
{
    return (struct step){.op = OP_COPY, .at = at, .back = (uint16_t)back};
}

struct step step_check(size_t back, uint64_t mask, uint64_t value)
{
    return (struct step){.op = OP_CHECK, .back = (uint16_t)back, .mask = mask, .value = value};
}

struct step step_time(unsigned which)
{
    return (struct step){.op = OP_TIME, .value = which};
}

struct step step_marked(enum step_mark mark, struct step step)
{
    step.mark = mark;
    return step;
}

bool step_controls(const struct step *step)
{
    return step->mark >= MARK_RUNS && step->mark <= MARK_CONTROLS;
}

size_t steps_add(struct steps *list, struct step step)
{
    if (list->n == list->room || list->n == STEPS_MOST) {
        list->overflow = true;
        return 0;
    }
    list->items[list->n] = step;
    return list->n++;
}

void steps_give_back(struct steps *list, size_t since, size_t from)
{
    if (list->overflow)
        return;
    list->items[from].since = (uint16_t)(from - since);
    list->items[from].gives = (uint16_t)(list->n - from);
}

static bool step_is_open(const struct step *steps, size_t at, size_t done)
{
    return steps[at].since != 0 && at - steps[at].since < done && at + steps[at].gives > done;
}

bool steps_loan(const struct step *steps, size_t n, size_t done, struct loan *out)
{
    size_t first = 0, last = n;
    while (first < n && !step_is_open(steps, first, done))
        first++;
    if (first == n)
        return false;
    while (!step_is_open(steps, last - 1, done))
        last--;
    *out = (struct loan){
        .from = first, .end = last - 1 + steps[last - 1].gives, .known = true, .since = SIZE_MAX};
    for (size_t i = out->from; i < out->end; i++) {
        size_t since = i - steps[i].since;
        out->known = out->known && steps[i].op != OP_COPY;
        if (step_is_open(steps, i, done) && steps[since].mark == MARK_BORROWS)
            out->since = since < out->since ? since : out->since;
    }
    return true;
}

size_t steps_next_loan(const struct step *steps, size_t n, size_t from)
{
    while (from < n && steps[from].mark != MARK_BORROWS)
        from++;
    return from;
}

bool steps_loan_or_next(const struct step *steps, size_t n, size_t done, struct loan *out)
{
    size_t next = steps_next_loan(steps, n, done);
    return steps_loan(steps, n, done, out) || (next < n && steps_loan(steps, n, next + 1, out) && out->known);
}

bool steps_same_loan(const struct step *steps, const struct loan *one, const struct loan *other)
{
    const struct step *a = steps + one->from, *b = steps + other->from;
    size_t n = one->end - one->from;
    bool same = one->known && other->known && other->end - other->from == n;
    for (size_t i = 0; same && i < n; i++)
        same = a[i].op == b[i].op && address_same(a[i].at, b[i].at) && a[i].value == b[i].value &&
               a[i].mask == b[i].mask;
    return same;
}

void step_name(const struct step *step, const char *view, char *out, size_t size)
{
    const struct address *at = &step->at;
    const char *verb = step->op == OP_WRITE ? "write" : "read";
    switch ((enum space)at->space) {
    case SPACE_MEMORY:
        snprintf(out, size, "%s 0x%08" PRIx64 " (%u byte%s)%s%s", verb, at->offset, at->size,
                 PLURAL(at->size), view != NULL ? " on " : "", view != NULL ? view : "");
        return;
    case SPACE_AP:
        snprintf(out, size, "%s register 0x%02" PRIx64 " of AP %u", verb, at->offset, at->unit & 0xFFU);
        return;
    case SPACE_DP:
        snprintf(out, size, "%s register 0x%02" PRIx64 " of the debug port", verb, at->offset);
        return;
    case SPACE_MSR:
    case SPACE_CORE:
        break;
    }
    snprintf(out, size, "%s 0x%" PRIx64 " of CPU %u", verb, at->offset, at->unit);
}
