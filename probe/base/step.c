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
