/* Steps on MSRs as batches for a carrier, and how --probe names one. */
#include "knc/msr.h"

#include "base/socket.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* A batch ends with a read that may end the list. */
static size_t msr_gather(const struct step *steps, size_t n, struct msr_op *out)
{
    size_t count = 0;
    while (count < n && count < MSR_BATCH && (steps[count].op == OP_TIME || is_register(steps[count].at))) {
        out[count] = op_of(&steps[count]);
        if (is_judged(&steps[count++]))
            break;
    }
    return count;
}

static struct outcome msr_execute(struct link *link, const struct step *steps, size_t n, uint64_t *results,
                                  const struct deadline *deadline, struct error *error)
{
    struct msr_link *msr = (struct msr_link *)link;
    struct deadline slice = deadline_slice(deadline, LINK_SLICE_MS);
    for (size_t done = 0; done < n;) {
        struct msr_op ops[MSR_BATCH];
        size_t count = msr_gather(steps + done, n - done, ops), ran = 0;
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
        deadline_nap();
    }
    return (struct outcome){.why = DONE, .done = n};
}

static size_t msr_views(struct link *link, struct link_view *out, size_t room, struct error *error)
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

static void msr_describe(struct link *link, char *out, size_t size)
{
    snprintf(out, size, "%s", ((const struct msr_link *)link)->name);
}

static void msr_close_link(struct link *link)
{
    struct msr_link *msr = (struct msr_link *)link;
    msr->carrier->close(msr);
}

void msr_link_init(struct msr_link *link, const struct msr_carrier_ops *carrier)
{
    static const struct link_ops ops = {.execute = msr_execute,
                                        .views = msr_views,
                                        .describe = msr_describe,
                                        .close = msr_close_link,
                                        .exact_faults = true};
    link->link.ops = &ops;
    link->carrier = carrier;
}

static const char files_word[] = "msr", agent_word[] = "msr-agent";
enum { MOST_CPU = 4095 };

/* The text after the word, from one of the characters of `next` on; NULL: another word. */
static const char *msr_after(const char *probe, const char *word, const char *next)
{
    size_t length = strlen(word);
    if (strncmp(probe, word, length) != 0 || (probe[length] != '\0' && strchr(next, probe[length]) == NULL))
        return NULL;
    return probe + length;
}

bool msr_spec_is(const char *probe)
{
    return msr_after(probe, files_word, ":@") != NULL || msr_after(probe, agent_word, ":") != NULL;
}

static bool msr_read_number(const char *text, const char *end, unsigned long most, unsigned long *out)
{
    char *stop;
    errno = 0;
    *out = strtoul(text, &stop, 10);
    return *text >= '0' && *text <= '9' && stop == end && errno == 0 && *out <= most;
}

static struct link *connect_files(const char *rest, struct error *error)
{
    unsigned long cpu = 0;
    const char *at = strchr(rest, '@');
    const char *end = at != NULL ? at : rest + strlen(rest);
    bool one = *rest == ':' && rest + 1 != end;
    if (one && !msr_read_number(rest + 1, end, MOST_CPU, &cpu)) {
        error_set(error, ERROR_USAGE, "--probe msr:%.64s: expected a CPU's number after the colon", rest + 1);
        return NULL;
    }
    if (at != NULL && strlen(at + 1) >= 256) {
        error_set(error, ERROR_USAGE, "--probe: the folder's name is too long");
        return NULL;
    }
    return msr_files_open(at != NULL ? at + 1 : "", one ? (int)cpu : -1, error);
}

static struct link *connect_agent(const char *rest, const struct deadline *deadline, struct error *error)
{
    char host[256] = "localhost";
    uint16_t port = MSR_AGENT_PORT;
    if (!socket_address_read(rest + (*rest == ':'), host, sizeof host, &port, error))
        return NULL;
    return msr_agent_open(host, port, deadline, error);
}

struct link *msr_connect(const char *probe, const struct deadline *deadline, struct error *error)
{
    const char *rest = msr_after(probe, agent_word, ":");
    if (rest != NULL)
        return connect_agent(rest, deadline, error);
    rest = msr_after(probe, files_word, ":@");
    return rest != NULL ? connect_files(rest, error) : NULL;
}
