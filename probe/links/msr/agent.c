/* MSRs of another machine: the client of target-stub/knc. */
#include "base/socket.h"
#include "links/msr/msr.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- frames */

static void put(uint8_t *to, uint64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const uint8_t *from, size_t n)
{
    uint64_t value = 0;
    for (size_t i = n; i-- > 0;)
        value = value << 8 | from[i];
    return value;
}

size_t frame_request(const struct msr_op *ops, size_t n, unsigned serial, uint8_t *out)
{
    static const uint8_t tag[4] = {'P', 'M', 'R', 'q'};
    memcpy(out, tag, sizeof tag);
    put(out + 4, n, 2);
    put(out + 6, serial, 2);
    for (size_t i = 0; i < n; i++) {
        uint8_t *op = out + FRAME_HEADER + i * FRAME_OP;
        put(op, ops[i].kind, 2);
        put(op + 2, ops[i].cpu, 2);
        put(op + 4, ops[i].number, 4);
        put(op + 8, ops[i].value, 8);
    }
    return FRAME_HEADER + n * FRAME_OP;
}

bool frame_greeting(const uint8_t *header, size_t *n_cpus, bool *busy)
{
    *n_cpus = (size_t)get(header + 4, 2);
    *busy = get(header + 6, 2) != 0;
    return memcmp(header, "PMR1", 4) == 0 && *n_cpus <= MSR_CPUS && (*busy || *n_cpus > 0);
}

bool frame_cpus(const uint8_t *bytes, size_t n, struct msr_cpu *out)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = (struct msr_cpu){.number = (uint16_t)get(bytes + i * FRAME_CPU, 2),
                                  .core = (uint16_t)get(bytes + i * FRAME_CPU + 2, 2)};
        if (i > 0 && out[i].number <= out[i - 1].number)
            return false;
    }
    return true;
}

bool frame_reply(const uint8_t *header, size_t asked, unsigned serial, size_t *done, enum frame_why *why)
{
    *done = (size_t)get(header + 4, 2);
    *why = (enum frame_why)header[6];
    return memcmp(header, "PMRa", 4) == 0 && *done <= asked && header[6] <= FRAME_NONSENSE &&
           header[7] == (serial & 0xFF) && (*why == FRAME_DONE) == (*done == asked);
}

void frame_values(const uint8_t *bytes, size_t n, uint64_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = get(bytes + i * FRAME_VALUE, FRAME_VALUE);
}

/* ---- the link */

/* An answer under way is awaited even after Ctrl-C: without it nothing can be restored. */
enum { ANSWER_MS = 5000 };

struct msr_agent {
    struct msr_link msr; /* first */
    int fd;              /* -1: lost */
    unsigned serial;
    struct ending *ending; /* may be NULL */
};

static const char version[] = "If it is an msr-agent, start the one that came with this pmu-probe.";

static bool lose(struct msr_agent *agent, enum error_kind kind, const char *what, struct error *error)
{
    if (agent->fd >= 0)
        close(agent->fd);
    agent->fd = -1;
    return error_advise(error, kind, kind == ERROR_LINK_PROTOCOL ? version : NULL, "%s: %s", agent->msr.name,
                        what);
}

static bool send_all(struct msr_agent *agent, const uint8_t *bytes, size_t n, const struct deadline *deadline,
                     struct error *error)
{
    int failure = socket_send(agent->fd, bytes, n, deadline);
    return failure == 0 ||
           lose(agent, ERROR_LINK_LOST, socket_failure(failure, "it takes no more requests"), error);
}

static bool receive_all(struct msr_agent *agent, uint8_t *bytes, size_t n, const struct deadline *deadline,
                        struct error *error)
{
    int failure = socket_receive(agent->fd, bytes, n, deadline);
    return failure == 0 || lose(agent, ERROR_LINK_LOST, socket_failure(failure, "no answer"), error);
}

static enum why explain(const struct msr_agent *agent, const struct msr_op *op, enum frame_why why,
                        struct error *error)
{
    const char *what = op->kind == MSR_WRITE ? "written" : "read";
    if (why == FRAME_REFUSED)
        error_advise(error, ERROR_FAULT,
                     "The counters of msr: and msr-agent: are those of a Knights Corner card; other CPUs do "
                     "not have them.",
                     "%s does not let MSR 0x%" PRIX32 " of CPU %u be %s", agent->msr.name, op->number,
                     (unsigned)op->cpu, what);
    else
        error_advise(error, ERROR_FAULT,
                     "The counters of msr: and msr-agent: are those of a Knights Corner card; other CPUs do "
                     "not have them.",
                     "CPU %u refuses to have MSR 0x%" PRIX32 " %s", (unsigned)op->cpu, op->number, what);
    return TARGET_FAULT;
}

static enum why run(struct msr_link *link, const struct msr_op *ops, size_t n, uint64_t *results,
                    size_t *done, struct error *error)
{
    struct msr_agent *agent = (struct msr_agent *)link;
    struct deadline deadline = ending_answer(agent->ending, patience_ms(ANSWER_MS));
    uint8_t bytes[FRAME_REQUEST];
    enum frame_why why;
    *done = 0;
    if (agent->fd < 0) {
        error_set(error, ERROR_LINK_LOST, "%s: the connection is lost", agent->msr.name);
        return LINK_LOST;
    }
    agent->serial++;
    size_t length = frame_request(ops, n, agent->serial & 0xFFFF, bytes), values = 0;
    if (!send_all(agent, bytes, length, &deadline, error) ||
        !receive_all(agent, bytes, FRAME_HEADER, &deadline, error))
        return LINK_LOST;
    if (!frame_reply(bytes, n, agent->serial, &values, &why) || why == FRAME_NONSENSE) {
        lose(agent, ERROR_LINK_PROTOCOL, "it does not answer as an msr-agent", error);
        return LINK_LOST;
    }
    if (!receive_all(agent, bytes, values * FRAME_VALUE, &deadline, error))
        return LINK_LOST;
    ending_answered(agent->ending);
    frame_values(bytes, values, results);
    *done = values;
    return why == FRAME_DONE ? DONE : explain(agent, &ops[values], why, error);
}

static void close_agent(struct msr_link *link)
{
    struct msr_agent *agent = (struct msr_agent *)link;
    if (agent->fd >= 0)
        close(agent->fd);
    free(agent);
}

static bool greet(struct msr_agent *agent, const struct deadline *deadline, struct error *error)
{
    uint8_t header[FRAME_HEADER], bytes[MSR_CPUS * FRAME_CPU];
    bool busy;
    int failure = socket_receive(agent->fd, header, FRAME_HEADER, deadline);
    if (failure == SOCKET_LATE && deadline_cancelled(deadline))
        return lose(agent, ERROR_CANCELLED, "cancelled", error);
    if (failure != 0)
        return lose(agent, ERROR_NO_AGENT, socket_failure(failure, "open, but silent: not a byte came"),
                    error);
    if (!frame_greeting(header, &agent->msr.n_cpus, &busy))
        return lose(agent, ERROR_NO_AGENT, "it is no msr-agent, or one of another version", error);
    if (busy)
        return lose(agent, ERROR_NO_AGENT, "it serves another client already", error);
    if (!receive_all(agent, bytes, agent->msr.n_cpus * FRAME_CPU, deadline, error))
        return false;
    return frame_cpus(bytes, agent->msr.n_cpus, agent->msr.cpus) ||
           lose(agent, ERROR_LINK_PROTOCOL, "it lists CPUs in no order", error);
}

struct link *msr_agent_open(const char *host, uint16_t port, const struct deadline *deadline,
                            struct error *error)
{
    static const struct msr_carrier_ops ops = {.run = run, .close = close_agent};
    struct error unconnected = {0};
    int fd = socket_connect(host, port, deadline, &unconnected);
    if (fd < 0) {
        error_set(error, unconnected.kind == ERROR_NO_PROBE ? ERROR_NO_AGENT : unconnected.kind, "%s",
                  unconnected.text);
        return NULL;
    }
    struct msr_agent *agent = calloc(1, sizeof *agent);
    if (agent == NULL) {
        close(fd);
        error_set(error, ERROR_SYSTEM, "out of memory");
        return NULL;
    }
    agent->fd = fd;
    agent->ending = deadline->ending;
    snprintf(agent->msr.name, sizeof agent->msr.name, "msr-agent %.128s:%u", host, (unsigned)port);
    msr_link_init(&agent->msr, &ops);
    if (greet(agent, deadline, error))
        return &agent->msr.link;
    close_agent(&agent->msr);
    return NULL;
}
