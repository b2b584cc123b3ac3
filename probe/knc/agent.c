/* MSRs of another machine: the client of target-stub/knc. */
#include "base/socket.h"
#include "knc/msr.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* ---- frames */

static void agent_put(uint8_t *to, uint64_t value, size_t n)
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
    agent_put(out + 4, n, 2);
    agent_put(out + 6, serial, 2);
    for (size_t i = 0; i < n; i++) {
        uint8_t *op = out + FRAME_HEADER + i * FRAME_OP;
        agent_put(op, ops[i].kind, 2);
        agent_put(op + 2, ops[i].cpu, 2);
        agent_put(op + 4, ops[i].number, 4);
        agent_put(op + 8, ops[i].value, 8);
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
/* The agent leaves a client that says nothing for 30 s. A thread speaks for one that waits for a hit or for
 * the next line: it asks for the time after 8 to 16 s, and its answer is read before the next one. */
enum { BEAT_S = 8, BEAT_REPLY = FRAME_HEADER + FRAME_VALUE };

struct msr_agent {
    struct msr_link msr; /* first */
    int fd;              /* -1: lost */
    unsigned serial;
    pthread_t heart;
    bool has_heart, has_spoken, is_over; /* spoken: since the last beat */
    bool owes_beat;                      /* its answer is still to be read; its serial is the last one */
    pthread_mutex_t lock;                /* of all that is above, but while the link is made */
    pthread_cond_t over;
    struct ending *ending; /* may be NULL */
};

static const char version[] = "If it is an msr-agent, start the one of this pmu-probe's release.";

static bool agent_lose(struct msr_agent *agent, enum error_kind kind, const char *what, struct error *error)
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
           agent_lose(agent, ERROR_LINK_LOST, socket_failure(failure, "it takes no more requests"), error);
}

static bool receive_all(struct msr_agent *agent, uint8_t *bytes, size_t n, const struct deadline *deadline,
                        struct error *error)
{
    int failure = socket_receive(agent->fd, bytes, n, deadline);
    return failure == 0 || agent_lose(agent, ERROR_LINK_LOST, socket_failure(failure, "no answer"), error);
}

static enum why agent_explain(const struct msr_agent *agent, const struct msr_op *op, enum frame_why why,
                              struct error *error)
{
    const char *what = op->kind == MSR_WRITE ? "written" : "read";
    if (why == FRAME_REFUSED)
        error_advise(error, ERROR_FAULT, MSR_ADVICE, "%s does not let MSR 0x%" PRIX32 " of CPU %u be %s",
                     agent->msr.name, op->number, (unsigned)op->cpu, what);
    else
        error_advise(error, ERROR_FAULT, MSR_ADVICE, "CPU %u refuses to have MSR 0x%" PRIX32 " %s",
                     (unsigned)op->cpu, op->number, what);
    return TARGET_FAULT;
}

static bool is_beat(const struct msr_agent *agent, const uint8_t *reply)
{
    size_t values;
    enum frame_why why;
    return frame_reply(reply, 1, agent->serial, &values, &why) && why == FRAME_DONE;
}

/* Never waits: it holds the lock. What is wrong with the connection shows in the next request. */
static void beat(struct msr_agent *agent)
{
    uint8_t bytes[FRAME_REQUEST];
    struct msr_op time = {.kind = MSR_TIME};
    if (agent->owes_beat &&
        (recv(agent->fd, bytes, BEAT_REPLY, MSG_DONTWAIT | MSG_PEEK) != BEAT_REPLY ||
         !is_beat(agent, bytes) || recv(agent->fd, bytes, BEAT_REPLY, MSG_DONTWAIT) != BEAT_REPLY))
        return;
    agent->serial++;
    size_t n = frame_request(&time, 1, agent->serial & 0xFFFF, bytes);
    ssize_t sent = send(agent->fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);
    agent->owes_beat = sent == (ssize_t)n;
    if (!agent->owes_beat) {
        close(agent->fd); /* or half a request would precede the next one */
        agent->fd = -1;
    }
}

static void *live(void *self)
{
    struct msr_agent *agent = self;
    pthread_mutex_lock(&agent->lock);
    while (!agent->is_over) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += BEAT_S;
        agent->has_spoken = false;
        while (!agent->is_over && pthread_cond_timedwait(&agent->over, &agent->lock, &until) == 0)
            ;
        if (!agent->is_over && !agent->has_spoken && agent->fd >= 0)
            beat(agent);
    }
    pthread_mutex_unlock(&agent->lock);
    return NULL;
}

/* Signals are for the main thread. Without a thread, the agent may leave a client that waits long. */
static void begin_to_live(struct msr_agent *agent)
{
    sigset_t all, before;
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_mutex_init(&agent->lock, NULL);
    pthread_cond_init(&agent->over, &steady);
    pthread_condattr_destroy(&steady);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    agent->has_heart = pthread_create(&agent->heart, NULL, live, agent) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* What the last beat was answered. */
static bool take_beat(struct msr_agent *agent, const struct deadline *deadline, struct error *error)
{
    uint8_t bytes[BEAT_REPLY];
    if (!agent->owes_beat)
        return true;
    agent->owes_beat = false;
    return receive_all(agent, bytes, sizeof bytes, deadline, error) &&
           (is_beat(agent, bytes) ||
            agent_lose(agent, ERROR_LINK_PROTOCOL, "it does not answer as an msr-agent", error));
}

static enum why run_alone(struct msr_agent *agent, const struct msr_op *ops, size_t n, uint64_t *results,
                          size_t *done, struct error *error)
{
    struct deadline deadline = ending_answer(agent->ending, patience_ms(ANSWER_MS));
    uint8_t bytes[FRAME_REQUEST];
    enum frame_why why;
    *done = 0;
    if (agent->fd < 0) {
        error_set(error, ERROR_LINK_LOST, "%s: the connection is lost", agent->msr.name);
        return LINK_LOST;
    }
    if (!take_beat(agent, &deadline, error))
        return LINK_LOST;
    agent->serial++;
    size_t length = frame_request(ops, n, agent->serial & 0xFFFF, bytes), values = 0;
    if (!send_all(agent, bytes, length, &deadline, error) ||
        !receive_all(agent, bytes, FRAME_HEADER, &deadline, error))
        return LINK_LOST;
    if (!frame_reply(bytes, n, agent->serial, &values, &why) || why == FRAME_NONSENSE) {
        agent_lose(agent, ERROR_LINK_PROTOCOL, "it does not answer as an msr-agent", error);
        return LINK_LOST;
    }
    if (!receive_all(agent, bytes, values * FRAME_VALUE, &deadline, error))
        return LINK_LOST;
    ending_answered(agent->ending);
    frame_values(bytes, values, results);
    *done = values;
    return why == FRAME_DONE ? DONE : agent_explain(agent, &ops[values], why, error);
}

static enum why agent_run(struct msr_link *link, const struct msr_op *ops, size_t n, uint64_t *results,
                          size_t *done, struct error *error)
{
    struct msr_agent *agent = (struct msr_agent *)link;
    pthread_mutex_lock(&agent->lock);
    enum why why = run_alone(agent, ops, n, results, done, error);
    agent->has_spoken = true;
    pthread_mutex_unlock(&agent->lock);
    return why;
}

static void close_agent(struct msr_link *link)
{
    struct msr_agent *agent = (struct msr_agent *)link;
    if (agent->has_heart) {
        pthread_mutex_lock(&agent->lock);
        agent->is_over = true;
        pthread_cond_signal(&agent->over);
        pthread_mutex_unlock(&agent->lock);
        pthread_join(agent->heart, NULL);
    }
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
        return agent_lose(agent, ERROR_CANCELLED, "cancelled", error);
    if (failure != 0)
        return agent_lose(agent, ERROR_NO_AGENT, socket_failure(failure, "open, but silent: it sent nothing"),
                          error);
    if (!frame_greeting(header, &agent->msr.n_cpus, &busy))
        return agent_lose(agent, ERROR_NO_AGENT, "it is not an msr-agent, or one of another version", error);
    if (busy)
        return agent_lose(agent, ERROR_NO_AGENT, "it serves another client already", error);
    if (!receive_all(agent, bytes, agent->msr.n_cpus * FRAME_CPU, deadline, error))
        return false;
    return frame_cpus(bytes, agent->msr.n_cpus, agent->msr.cpus) ||
           agent_lose(agent, ERROR_LINK_PROTOCOL, "it lists CPUs in no order", error);
}

struct link *msr_agent_open(const char *host, uint16_t port, const struct deadline *deadline,
                            struct error *error)
{
    static const struct msr_carrier_ops ops = {.run = agent_run, .close = close_agent};
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
    if (greet(agent, deadline, error)) {
        begin_to_live(agent);
        return &agent->msr.link;
    }
    close_agent(&agent->msr);
    return NULL;
}
