/* SPDX-License-Identifier: MIT */
#include "knc/msr.h"

#include "base/socket.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* MSRs of this machine: /dev/cpu/N/msr; the offset in the file is the register's number. */

enum { PATH = 512, UNOPENED = -1 };

struct msr_files {
    struct msr_link msr; /* first */
    char root[256];
    int fds[MSR_CPUS]; /* as in msr.cpus */
};

/* ERROR_NO_MSR has several causes; only the text shows which. */
static bool files_explain(const char *path, int failure, struct error *error)
{
    if (failure == ENOENT)
        return error_set(error, ERROR_NO_MSR,
                         "no %s: the msr driver is not loaded, or this CPU does not exist", path);
    if (failure == ENXIO || failure == EIO)
        return error_set(error, ERROR_NO_MSR, "%s: this CPU is off, or has no model-specific registers",
                         path);
    return error_set(error, ERROR_NO_MSR, "%s cannot be opened: %s", path, strerror(failure));
}

static bool open_file(struct msr_files *files, size_t at, struct error *error)
{
    char path[PATH];
    if (files->fds[at] != UNOPENED)
        return true;
    snprintf(path, sizeof path, "%s/dev/cpu/%u/msr", files->root, (unsigned)files->msr.cpus[at].number);
    files->fds[at] = open(path, O_RDWR | O_CLOEXEC);
    return files->fds[at] >= 0 || files_explain(path, errno, error);
}

static size_t knc_files_find_cpu(const struct msr_link *msr, uint16_t number)
{
    size_t at = 0;
    while (at < msr->n_cpus && msr->cpus[at].number != number)
        at++;
    return at;
}

static enum why knc_files_access_one(struct msr_files *files, const struct msr_op *op, uint64_t *result,
                                     struct error *error)
{
    size_t at = knc_files_find_cpu(&files->msr, op->cpu);
    if (op->kind == MSR_TIME) {
        *result = (uint64_t)deadline_now_us();
        return DONE;
    }
    if (at == files->msr.n_cpus) {
        error_set(error, ERROR_FAULT, "CPU %u is not one of this link", (unsigned)op->cpu);
        return TARGET_FAULT;
    }
    if (!open_file(files, at, error))
        return TARGET_FAULT;
    ssize_t n = op->kind == MSR_WRITE ? pwrite(files->fds[at], &op->value, sizeof op->value, op->number)
                                      : pread(files->fds[at], result, sizeof *result, op->number);
    if (n == (ssize_t)sizeof op->value)
        return DONE;
    error_advise(error, ERROR_FAULT, MSR_ADVICE, "CPU %u refuses to have MSR 0x%" PRIX32 " %s: %s",
                 (unsigned)op->cpu, op->number, op->kind == MSR_WRITE ? "written" : "read",
                 n < 0 ? strerror(errno) : "cut short");
    return TARGET_FAULT;
}

static enum why files_run(struct msr_link *link, const struct msr_op *ops, size_t n, uint64_t *results,
                          size_t *done, struct error *error)
{
    for (*done = 0; *done < n; ++*done) {
        enum why why = knc_files_access_one((struct msr_files *)link, &ops[*done], &results[*done], error);
        if (why != DONE)
            return why;
    }
    return DONE;
}

static void close_files(struct msr_link *link)
{
    struct msr_files *files = (struct msr_files *)link;
    for (size_t i = 0; i < MSR_CPUS; i++)
        if (files->fds[i] >= 0)
            close(files->fds[i]);
    free(files);
}

/* A card's system does not number its threads core by core. */
static uint16_t knc_files_core_of(const struct msr_files *files, unsigned cpu)
{
    char path[PATH];
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%u/topology/core_id", files->root, cpu);
    FILE *file = fopen(path, "re");
    char text[16] = "", *end;
    if (file == NULL)
        return (uint16_t)cpu;
    bool read = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    unsigned long core = strtoul(text, &end, 10);
    return read && end != text && core <= UINT16_MAX ? (uint16_t)core : (uint16_t)cpu;
}

static int knc_files_by_number(const void *a, const void *b)
{
    const struct msr_cpu *left = a, *right = b;
    return (left->number > right->number) - (left->number < right->number);
}

static void knc_files_add_cpu(struct msr_files *files, unsigned cpu)
{
    if (files->msr.n_cpus < MSR_CPUS)
        files->msr.cpus[files->msr.n_cpus++] =
            (struct msr_cpu){.number = (uint16_t)cpu, .core = knc_files_core_of(files, cpu)};
}

static bool list_cpus(struct msr_files *files, struct error *error)
{
    char path[PATH], *end;
    snprintf(path, sizeof path, "%s/dev/cpu", files->root);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return files_explain(path, errno, error);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        unsigned long cpu = strtoul(entry->d_name, &end, 10);
        if (end != entry->d_name && *end == '\0' && cpu <= UINT16_MAX)
            knc_files_add_cpu(files, (unsigned)cpu);
    }
    closedir(folder);
    qsort(files->msr.cpus, files->msr.n_cpus, sizeof *files->msr.cpus, knc_files_by_number);
    return files->msr.n_cpus > 0 ||
           error_set(error, ERROR_NO_MSR, "there is no CPU in %s: the msr driver is not loaded", path);
}

static struct link *msr_files_open(const char *root, int cpu, struct error *error)
{
    static const struct msr_carrier_ops ops = {.run = files_run, .close = close_files};
    struct msr_files *files = calloc(1, sizeof *files);
    if (files == NULL)
        return error_memory_null(error);
    for (size_t i = 0; i < MSR_CPUS; i++)
        files->fds[i] = UNOPENED;
    snprintf(files->root, sizeof files->root, "%s", root);
    if (cpu >= 0)
        knc_files_add_cpu(files, (unsigned)cpu);
    if ((cpu >= 0 || list_cpus(files, error)) && open_file(files, 0, error)) {
        if (cpu >= 0)
            snprintf(files->msr.name, sizeof files->msr.name, "msr:%d%s%.128s", cpu, *root != '\0' ? "@" : "",
                     root);
        else
            snprintf(files->msr.name, sizeof files->msr.name, "msr%s%.128s", *root != '\0' ? "@" : "", root);
        msr_link_init(&files->msr, &ops);
        return &files->msr.link;
    }
    close_files(&files->msr);
    return NULL;
}

/* ---- agent */

/* MSRs of another machine: the client of target-stub/knc. */

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

/* `out` has room for FRAME_REQUEST; returns the length. */
static size_t frame_request(const struct msr_op *ops, size_t n, unsigned serial, uint8_t *out)
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

static const char no_agent[] = "it does not answer as an msr-agent";
static const char version[] = "Start the msr-agent of this pmu-probe's release.";

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
           (is_beat(agent, bytes) || agent_lose(agent, ERROR_LINK_PROTOCOL, no_agent, error));
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
        agent_lose(agent, ERROR_LINK_PROTOCOL, no_agent, error);
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

static struct link *msr_agent_open(const char *host, uint16_t port, const struct deadline *deadline,
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
        error_memory(error);
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

/* ---- msr */

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
