/* SPDX-License-Identifier: MIT */
/*
 * msr-agent: serves the PMU's MSRs of a Knights Corner card to one client at a time. See session.h for what
 * is spoken and registers.h for what is served.
 */
#include "options.h"
#include "session.h"
#include "state.h"
#include "sys.h"

enum { PATH = 256, SLOW_MS = 5000, FOREVER = -1, OTHER_FILES = 16 };
enum { OUT = 1, ERR = 2 };

struct agent {
    struct agent_options options;
    struct registers registers;
    int fds[REGISTERS_CPUS];
    struct session session;
    int listening, signals, client; /* client -1: none */
    uint64_t since_us;              /* the client has owed us something, or sent nothing */
    int state;                      /* the state file; -1: none */
    bool has_header;                /* written to it */
    uint8_t boot[STATE_BOOT];
};

static char *add_text(char *to, const char *end, const char *text)
{
    while (*text != '\0' && to < end - 1)
        *to++ = *text++;
    *to = '\0';
    return to;
}

static char *add_number(char *to, const char *end, uint32_t number)
{
    char digits[12];
    unsigned n = sizeof digits;
    digits[--n] = '\0';
    do {
        digits[--n] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return add_text(to, end, digits + n);
}

static int fail(const char *what, const char *which)
{
    sys_say(ERR, "msr-agent: ");
    sys_say(ERR, what);
    sys_say(ERR, which);
    sys_say(ERR, "\n");
    return 1;
}

/* ---- the card */

static bool read_msr(void *self, unsigned at, uint32_t msr, uint64_t *value)
{
    return sys_read_at(((const struct agent *)self)->fds[at], value, sizeof *value, msr) == sizeof *value;
}

static bool write_msr(void *self, unsigned at, uint32_t msr, uint64_t value)
{
    return sys_write_at(((const struct agent *)self)->fds[at], &value, sizeof value, msr) == sizeof value;
}

/* ---- the state file */

static bool write_record(const struct agent *agent, const uint8_t *record, size_t at)
{
    return sys_write_at(agent->state, record, STATE_RECORD, at) == STATE_RECORD;
}

static bool note_cpu(void *self, const struct served_cpu *cpu)
{
    struct agent *agent = self;
    uint8_t record[STATE_RECORD];
    if (agent->state < 0)
        return true;
    if (!agent->has_header) {
        state_header(record, agent->boot);
        agent->has_header = write_record(agent, record, 0);
    }
    state_record(record, cpu);
    return agent->has_header && write_record(agent, record, state_place(cpu));
}

/* When nothing is changed any more. */
static void empty_state(struct agent *agent)
{
    if (agent->state >= 0 && sys_empty(agent->state))
        agent->has_header = false;
}

static bool read_boot(struct agent *agent)
{
    int fd = sys_open("/proc/sys/kernel/random/boot_id", false);
    long n = fd < 0 ? 0 : sys_read(fd, agent->boot, STATE_BOOT);
    if (fd >= 0)
        sys_close(fd);
    return n == STATE_BOOT;
}

/* What an agent that was killed had changed. */
static int put_back_for_another(struct agent *agent)
{
    char text[16];
    uint32_t n = 0;
    for (unsigned i = 0; i < agent->registers.n_cpus; i++)
        n += agent->registers.cpus[i].changed != 0;
    registers_took_over(&agent->registers);
    bool ok = registers_put_back(&agent->registers);
    empty_state(agent);
    if (!ok)
        return fail("not all that an agent left, which was killed, could be put back; see ",
                    agent->options.state);
    if (n > 0) {
        add_number(text, text + sizeof text, n);
        sys_say(ERR, "msr-agent: an agent was killed here; put back what it had changed on ");
        sys_say(ERR, text);
        sys_say(ERR, n == 1 ? " CPU\n" : " CPUs\n");
    }
    return 0;
}

/* Opens it, and does what it says. 0, or the exit code. */
static int open_state(struct agent *agent)
{
    static uint8_t file[STATE_MOST + 1];
    const char *path = agent->options.state;
    int foreign;
    agent->state = -1;
    if (path[0] == 'n' && path[1] == 'o' && path[2] == 'n' && path[3] == 'e' && path[4] == '\0')
        return 0;
    agent->state = sys_open_own(path);
    if (agent->state == -2)
        return fail("another agent runs here, with the state file ", path);
    if (agent->state < 0)
        return fail("no state file there that is root's alone (--state FILE; none: what is changed when the "
                    "agent is killed stays so): ",
                    path);
    long n = sys_read_at(agent->state, file, sizeof file, 0);
    if (n < 0 || !read_boot(agent))
        return fail("cannot read the state file, or which boot this is: ", path);
    switch (state_read(file, (size_t)n, agent->boot, &agent->registers, &foreign)) {
    case STATE_GARBLED:
        return fail("nothing was put back: it is damaged, or no state file of an agent (remove it): ", path);
    case STATE_OTHER_BOOT:
        fail("nothing was put back: the card has booted since what was noted in ", path);
        empty_state(agent);
        return 0;
    case STATE_FITS:
        if (foreign >= 0)
            return fail("nothing was put back: --cpus leaves out CPUs that are noted in ", path);
        return put_back_for_another(agent);
    case STATE_EMPTY:
    default:
        return 0;
    }
}

/* ---- CPUs */

/* On any other processor these numbers mean something else. */
static bool is_knights_corner(void)
{
    enum { FAMILY = 11, MODEL = 1, LEAF = 1 };
    uint32_t a = LEAF, b, c = 0, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    return (a >> 8 & 0xF) == FAMILY && (a >> 4 & 0xF) == MODEL;
}

static uint16_t core_of(const struct agent *agent, unsigned cpu)
{
    char path[PATH], text[16];
    const char *end = path + PATH;
    char *at = add_text(path, end, agent->options.root);
    at = add_text(at, end, "/sys/devices/system/cpu/cpu");
    at = add_number(at, end, cpu);
    add_text(at, end, "/topology/core_id");
    int fd = sys_open(path, false);
    long n = fd < 0 ? 0 : sys_read(fd, text, sizeof text);
    if (fd >= 0)
        sys_close(fd);
    uint32_t core = 0;
    long i = 0;
    for (; i < n && i < 5 && text[i] >= '0' && text[i] <= '9'; i++)
        core = core * 10 + (uint32_t)(text[i] - '0');
    return (uint16_t)(i > 0 ? core : cpu);
}

static bool open_cpus(struct agent *agent)
{
    struct registers *registers = &agent->registers;
    registers->access = (struct access){read_msr, write_msr, note_cpu, agent};
    sys_allow_files(REGISTERS_CPUS + OTHER_FILES);
    for (unsigned cpu = 0; cpu < REGISTERS_CPUS; cpu++) {
        char path[PATH];
        const char *end = path + PATH;
        if (!agent->options.all && (agent->options.wanted[cpu / 8] >> cpu % 8 & 1) == 0)
            continue;
        char *at = add_text(path, end, agent->options.root);
        at = add_text(at, end, "/dev/cpu/");
        at = add_number(at, end, cpu);
        add_text(at, end, "/msr");
        int fd = sys_open(path, true);
        if (fd < 0 && agent->options.all)
            continue;
        if (fd < 0) {
            fail("cannot open ", path);
            return false;
        }
        agent->fds[registers->n_cpus] = fd;
        registers->cpus[registers->n_cpus++] =
            (struct served_cpu){.number = (uint16_t)cpu, .core = core_of(agent, cpu)};
    }
    if (registers->n_cpus == 0)
        fail("no /dev/cpu/N/msr can be opened: modprobe msr, and root's rights, are wanted", "");
    return registers->n_cpus > 0;
}

/* ---- clients */

static void leave(struct agent *agent)
{
    sys_close(agent->client);
    agent->client = -1;
    if (!registers_put_back(&agent->registers))
        fail("some register could not be put back", "");
    empty_state(agent);
}

static void welcome(struct agent *agent)
{
    int fd = sys_accept(agent->listening);
    if (fd < 0)
        return;
    if (agent->client >= 0) {
        uint8_t busy[8];
        session_busy(busy);
        sys_send(fd, busy, sizeof busy);
        sys_close(fd);
        return;
    }
    agent->client = fd;
    agent->since_us = sys_now_us();
    session_begin(&agent->session, &agent->registers, sys_now_us);
}

/* Half a request, or an answer that is not taken: time runs. */
static bool owes(const struct agent *agent)
{
    return agent->session.n_in > 0 || agent->session.n_out > 0;
}

static void send_some(struct agent *agent)
{
    struct session *session = &agent->session;
    long n = sys_send(agent->client, session->out + session->sent, session->n_out - session->sent);
    if (n < 0 && sys_is_try_again(n))
        return;
    if (n <= 0) {
        leave(agent);
        return;
    }
    session->sent += (unsigned)n;
    if (session->sent < session->n_out)
        return;
    session->n_out = session->sent = 0;
    if (session->over)
        leave(agent);
}

static void receive_some(struct agent *agent)
{
    uint8_t *to;
    unsigned room = session_room(&agent->session, &to);
    if (room == 0)
        return;
    long n = sys_receive(agent->client, to, room);
    if (n < 0 && sys_is_try_again(n))
        return;
    if (n <= 0) {
        leave(agent);
        return;
    }
    if (!owes(agent))
        agent->since_us = sys_now_us();
    session_take(&agent->session, (unsigned)n);
    if (agent->session.n_out > 0) {
        agent->since_us = sys_now_us();
        send_some(agent);
    }
}

static uint32_t patience_ms(const struct agent *agent)
{
    uint32_t idle_ms = agent->options.idle_s * 1000;
    return owes(agent) && idle_ms > SLOW_MS ? SLOW_MS : idle_ms;
}

/* By now: what has just arrived sets its own beginning. */
static bool is_late(const struct agent *agent)
{
    return sys_now_us() - agent->since_us > (uint64_t)patience_ms(agent) * 1000;
}

static void serve(struct agent *agent, short happened)
{
    if (agent->session.n_out > 0 && (happened & SYS_WRITABLE) != 0)
        send_some(agent);
    else if (agent->session.n_out == 0 && happened != 0)
        receive_some(agent);
    else if (happened != 0)
        leave(agent);
    if (agent->client >= 0 && is_late(agent))
        leave(agent);
}

/* Until a signal arrives. */
static void run(struct agent *agent)
{
    for (;;) {
        struct sys_poll polled[3] = {
            {agent->signals, SYS_READABLE, 0},
            {agent->listening, SYS_READABLE, 0},
            {agent->client, agent->session.n_out > 0 ? SYS_WRITABLE : SYS_READABLE, 0}};
        bool has_client = agent->client >= 0;
        sys_poll(polled, has_client ? 3 : 2, has_client ? (int)patience_ms(agent) + 1 : FOREVER);
        if (polled[0].happened != 0)
            break;
        if (has_client)
            serve(agent, polled[2].happened);
        if (polled[1].happened != 0)
            welcome(agent);
    }
    if (agent->client >= 0)
        leave(agent);
}

static void announce(const struct agent *agent)
{
    char text[PATH];
    const char *end = text + PATH;
    char *at = add_text(text, end, "msr-agent: ");
    at = add_number(at, end, agent->registers.n_cpus);
    at = add_text(at, end, " CPUs on ");
    for (int i = 0; i < 4; i++) {
        at = add_number(at, end, agent->options.address >> (24 - 8 * i) & 0xFF);
        at = add_text(at, end, i < 3 ? "." : ":");
    }
    at = add_number(at, end, agent->options.port);
    add_text(at, end, "\n");
    sys_say(OUT, text);
}

static int start(int argc, char **argv)
{
    static struct agent agent;
    if (!options_read(&agent.options, argc, argv)) {
        fail("not understood: ", agent.options.wrong);
        sys_say(ERR, "usage: msr-agent [--listen 127.0.0.1] [--port 2001] [--cpus 0,4-7]\n"
                     "       [--state /var/run/pmu-probe-agent.state|none] [--idle 30] [--root DIR]\n");
        return 2;
    }
    if (agent.options.root[0] == '\0' && !is_knights_corner())
        return fail(
            "this processor is not a Knights Corner: its registers of these numbers mean other things", "");
    agent.client = -1;
    agent.signals = sys_signals();
    if (agent.signals < 0)
        return fail("signals cannot be waited for", "");
    if (!open_cpus(&agent) || open_state(&agent) != 0)
        return 1;
    agent.listening = sys_listen(agent.options.address, &agent.options.port);
    if (agent.listening < 0)
        return fail("cannot listen: is the address of this machine, and the port free?", "");
    if (!sys_drop_privileges())
        return fail("root's rights cannot be given up", "");
    announce(&agent);
    run(&agent);
    return 0;
}

/* Linux begins here, with the arguments on the stack. */
__asm__(".text\n"
        ".globl _start\n"
        ".type _start, @function\n"
        "_start:\n"
        "    xorl %ebp, %ebp\n"
        "    movq %rsp, %rdi\n"
        "    andq $-16, %rsp\n"
        "    call agent_start\n");

void agent_start(long *stack) __attribute__((noreturn, used));
void agent_start(long *stack)
{
    sys_begin(stack);
    sys_exit(start((int)stack[0], (char **)(stack + 1)));
}
