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

/* A copy of something that was saved: of a result before `done`. */
static bool puts_back(const struct step *steps, size_t at, size_t done)
{
    return steps[at].op == OP_COPY && steps[at].value + done > at;
}

bool steps_owe(const struct step *steps, size_t n, size_t done, size_t *from, size_t *end)
{
    size_t last = n;
    while (last > 0 && !(puts_back(steps, last - 1, done) && last + steps[last - 1].mask > done))
        last--;
    if (last-- == 0)
        return false;
    *end = last + 1 + (size_t)steps[last].mask;
    *from = done;
    if (done <= last && steps[done].op == OP_COPY)
        return true;
    /* The copy that was under way is made again, for it is not known how far that had come; else the first.
     */
    *from = steps[last].value > last ? 0 : last - (size_t)steps[last].value;
    while (!puts_back(steps, *from, done))
        ++*from;
    for (size_t i = *from; i < done; i++)
        if (puts_back(steps, i, done))
            *from = i;
    *from -= *from > 0 && steps[*from - 1].op == OP_UNTIL;
    return true;
}
