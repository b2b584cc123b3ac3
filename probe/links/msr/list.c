#include "links/msr/list.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SLICE_MS = 50, NAP_NS = 200000 };

static bool is_register(struct address at)
{
    return at.space == SPACE_MSR && at.size == 8 && at.offset <= UINT32_MAX;
}

static bool is_judged(const struct step *step)
{
    return step->op == OP_UNTIL || step->op == OP_EXPECT;
}

static struct msr_op op_of(const struct step *step)
{
    return (struct msr_op){.kind = step->op == OP_TIME    ? MSR_TIME
                                   : step->op == OP_WRITE ? MSR_WRITE
                                                          : MSR_READ,
                           .cpu = step->at.unit,
                           .number = (uint32_t)step->at.offset,
                           .value = step->op == OP_WRITE ? step->value : 0};
}

/* Nothing may follow a read that ends the list if it does not match. */
static size_t gather(const struct step *steps, size_t n, struct msr_op *out)
{
    size_t count = 0;
    while (count < n && count < MSR_BATCH && (steps[count].op == OP_TIME || is_register(steps[count].at))) {
        out[count] = op_of(&steps[count]);
        if (is_judged(&steps[count++]))
            break;
    }
    return count;
}

static struct outcome execute(struct link *link, const struct step *steps, size_t n, uint64_t *results,
                              const struct deadline *deadline, struct error *error)
{
    struct msr_link *msr = (struct msr_link *)link;
    struct deadline slice = deadline_slice(deadline, SLICE_MS);
    for (size_t done = 0; done < n;) {
        struct msr_op ops[MSR_BATCH];
        size_t count = gather(steps + done, n - done, ops), ran = 0;
        if (count == 0) {
            error_set(error, ERROR_FAULT, "an MSR link has no address 0x%08" PRIX64 " of %u bytes",
                      steps[done].at.offset, (unsigned)steps[done].at.size);
            return (struct outcome){.why = TARGET_FAULT, .done = done};
        }
        enum why why = msr->carrier->run(msr, ops, count, results + done, &ran, error);
        done += ran;
        if (why != DONE)
            return (struct outcome){.why = why, .done = done};
        const struct step *last = &steps[done - 1];
        uint64_t value = results[done - 1];
        if (!is_judged(last) || (value & last->mask) == last->value)
            continue;
        done--;
        if (last->op == OP_EXPECT)
            return (struct outcome){.why = UNEXPECTED, .done = done, .saw = value};
        if (deadline_passed(&slice))
            return (struct outcome){.why = NOT_YET, .done = done, .saw = value};
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
    return (struct outcome){.why = DONE, .done = n};
}

static size_t views(struct link *link, struct link_view *out, size_t room, struct error *error)
{
    const struct msr_link *msr = (const struct msr_link *)link;
    (void)error;
    size_t n = 0;
    for (; n < msr->n_cpus && n < room; n++) {
        out[n] = (struct link_view){.unit = msr->cpus[n].number, .type = "msr", .core_id = msr->cpus[n].core};
        snprintf(out[n].name, sizeof out[n].name, "CPU %u", (unsigned)out[n].unit);
    }
    return n;
}

static void describe(struct link *link, char *out, size_t size)
{
    snprintf(out, size, "%s", ((const struct msr_link *)link)->name);
}

static void close_link(struct link *link)
{
    struct msr_link *msr = (struct msr_link *)link;
    msr->carrier->close(msr);
}

void msr_link_init(struct msr_link *link, const struct msr_carrier_ops *carrier)
{
    static const struct link_ops ops = {
        .execute = execute, .views = views, .describe = describe, .close = close_link, .exact_faults = true};
    link->link.ops = &ops;
    link->carrier = carrier;
}
