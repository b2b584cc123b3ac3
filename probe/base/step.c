#include "base/step.h"

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

struct step step_write_back(struct address at, uint64_t value, size_t back)
{
    return (struct step){.op = OP_WRITE, .at = at, .value = value, .back = (uint16_t)back};
}

struct step step_expect_once(struct address at, uint64_t mask, uint64_t value)
{
    return (struct step){.op = OP_EXPECT, .at = at, .value = value, .mask = mask, .once = true};
}

struct step step_copy(struct address at, size_t back)
{
    return (struct step){.op = OP_COPY, .at = at, .back = (uint16_t)back};
}

struct step step_check(size_t back, uint64_t mask, uint64_t value)
{
    return (struct step){.op = OP_CHECK, .back = (uint16_t)back, .mask = mask, .value = value};
}

struct step step_copy_since(struct address at, size_t back, size_t borrowed)
{
    return (struct step){.op = OP_COPY, .at = at, .back = (uint16_t)back, .borrowed = (uint16_t)borrowed};
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

static bool writes_known(const struct step *step)
{
    return step->op == OP_WRITE && step->back != 0;
}

static bool restores(const struct step *step)
{
    return step->op == OP_COPY || writes_known(step);
}

/* Whether this step restores something that was saved or borrowed before `done`. */
static bool puts_back(const struct step *steps, size_t at, size_t done)
{
    size_t back = steps[at].borrowed != 0 ? steps[at].borrowed : steps[at].back;
    return restores(&steps[at]) && back + done > at;
}

bool steps_borrowed(const struct step *steps, size_t n, size_t done, size_t *from, size_t *end)
{
    size_t last = n;
    while (last > 0 && !(puts_back(steps, last - 1, done) && last + steps[last - 1].behind > done))
        last--;
    if (last-- == 0)
        return false;
    *end = last + 1 + steps[last].behind;
    *from = done;
    bool at_once = steps[last].borrowed == 0;
    if (at_once && done <= last && restores(&steps[done]))
        return true;
    /* The step at `done` may have been carried out. What was borrowed at once is restored from the copy under
     * way on; otherwise everything is restored, which does no harm. */
    *from = steps[last].back > last ? 0 : last - steps[last].back;
    while (!puts_back(steps, *from, done))
        ++*from;
    for (size_t i = *from; at_once && i < done; i++)
        if (puts_back(steps, i, done))
            *from = i;
    *from -= *from > 0 && steps[*from - 1].op == OP_UNTIL;
    return true;
}

bool steps_will_restore(const struct step *steps, size_t n, size_t done, size_t *from, size_t *end)
{
    size_t at = done;
    while (at < n && !writes_known(&steps[at]))
        at++;
    if (at == n)
        return false;
    return steps_borrowed(steps, n, at - steps[at].back + 1, from, end);
}

void step_name(const struct step *step, const char *view, char *out, size_t size)
{
    const struct address *at = &step->at;
    const char *verb = step->op == OP_WRITE ? "write" : "read";
    switch ((enum space)at->space) {
    case SPACE_MEMORY:
        snprintf(out, size, "%s 0x%08" PRIx64 " (%u byte%s)%s%s", verb, at->offset, at->size,
                 at->size == 1 ? "" : "s", view != NULL ? " on " : "", view != NULL ? view : "");
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
