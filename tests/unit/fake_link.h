/*
 * A link over a few registers in memory, for unit tests: executes steps by the contract of link_execute, logs
 * every write, and fails at a given access if the test wants it.
 */
#pragma once

#include "links/link.h"

#include <string.h>

enum { FAKE_REGISTERS = 128, FAKE_LOG = 256 };

struct fake_link {
    struct link link;
    struct fake_register {
        uint64_t offset, value;
    } registers[FAKE_REGISTERS];
    size_t n;
    struct fake_write {
        struct address at;
        uint64_t value;
    } writes[FAKE_LOG];
    size_t n_writes;
    long fail_after; /* accesses until one fails; -1: never */
    enum why fail_with;
    uint64_t zeroes; /* bits that no register takes */
};

static uint64_t *fake_at(struct fake_link *fake, uint64_t offset)
{
    for (size_t i = 0; i < fake->n; i++)
        if (fake->registers[i].offset == offset)
            return &fake->registers[i].value;
    fake->registers[fake->n] = (struct fake_register){.offset = offset};
    return &fake->registers[fake->n++].value;
}

static struct outcome fake_execute(struct link *link, const struct step *steps, size_t n, uint64_t *results,
                                   const struct deadline *deadline, struct error *error)
{
    struct fake_link *fake = (struct fake_link *)link;
    (void)deadline;
    for (size_t i = 0; i < n; i++) {
        if (fake->fail_after == 0) {
            error_set(error,
                      fake->fail_with == LINK_LOST     ? ERROR_LINK_LOST
                      : fake->fail_with == TARGET_WAIT ? ERROR_ASLEEP
                                                       : ERROR_FAULT,
                      "as wanted");
            return (struct outcome){.why = fake->fail_with, .done = i};
        }
        if (fake->fail_after > 0)
            fake->fail_after--;
        uint64_t *at = fake_at(fake, steps[i].at.offset);
        results[i] = *at;
        if (steps[i].op == OP_WRITE) {
            *at = steps[i].value & ~fake->zeroes;
            if (fake->n_writes < FAKE_LOG)
                fake->writes[fake->n_writes++] = (struct fake_write){steps[i].at, steps[i].value};
        } else if ((steps[i].op == OP_UNTIL || steps[i].op == OP_EXPECT) &&
                   (*at & steps[i].mask) != steps[i].value) {
            return (struct outcome){
                .why = steps[i].op == OP_UNTIL ? NOT_YET : UNEXPECTED, .done = i, .saw = *at};
        }
    }
    return (struct outcome){.why = DONE, .done = n};
}

static void fake_init(struct fake_link *fake)
{
    static const struct link_ops ops = {.execute = fake_execute, .exact_faults = true};
    memset(fake, 0, sizeof *fake);
    fake->link.ops = &ops;
    fake->fail_after = -1;
}
