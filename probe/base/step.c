#include "base/step.h"

struct step step_read(struct address at)
{
    return (struct step){.op = OP_READ, .at = at};
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
    return (struct step){.op = OP_EXPECT, .at = at, .mask = mask, .value = value, .once = true};
}

struct step step_copy(struct address at, size_t back)
{
    return (struct step){.op = OP_COPY, .at = at, .value = back};
}

struct step step_time(unsigned which)
{
    return (struct step){.op = OP_TIME, .value = which};
}

size_t steps_add(struct steps *list, struct step step)
{
    if (list->n == list->room) {
        list->overflow = true;
        return 0;
    }
    list->items[list->n] = step;
    return list->n++;
}

bool steps_owe(const struct step *steps, size_t n, size_t done, size_t *from, size_t *end)
{
    for (size_t at = n; at-- > done;) {
        if (steps[at].op != OP_COPY || steps[at].value + done <= at)
            continue;
        *end = at + 1;
        *from = steps[at].value > at ? 0 : at - (size_t)steps[at].value;
        while (steps[*from].op != OP_COPY)
            ++*from;
        return true;
    }
    return false;
}
