/*
 * msr-agent: serves the PMU's MSRs of a Knights Corner card to one client at a time. See session.h for what
 * is spoken and registers.h for what is served.
 */
#include "options.h"
#include "session.h"
#include "sys.h"

enum { PATH = 256, SLOW_US = 5000000, FOREVER = -1, OTHER_FILES = 16 };
enum { OUT = 1, ERR = 2 };

struct agent {
    struct agent_options options;
    struct registers registers;
    int fds[REGISTERS_CPUS];
    struct session session;
    int listening, signals, client; /* client -1: none */
    uint64_t since_us;              /* the client has owed us something */
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
    registers->access = (struct access){read_msr, write_msr, agent};
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

/* By now: what has just come sets its own beginning. */
static bool is_late(const struct agent *agent)
{
    return owes(agent) && sys_now_us() - agent->since_us > SLOW_US;
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

/* Until a signal comes. */
static void run(struct agent *agent)
{
    for (;;) {
        struct sys_poll polled[3] = {
            {agent->signals, SYS_READABLE, 0},
            {agent->listening, SYS_READABLE, 0},
            {agent->client, agent->session.n_out > 0 ? SYS_WRITABLE : SYS_READABLE, 0}};
        bool has_client = agent->client >= 0;
        sys_poll(polled, has_client ? 3 : 2, has_client && owes(agent) ? SLOW_US / 1000 : FOREVER);
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
        sys_say(ERR, "usage: msr-agent [--listen 127.0.0.1] [--port 2001] [--cpus 0,4-7] [--root DIR]\n");
        return 2;
    }
    if (agent.options.root[0] == '\0' && !is_knights_corner())
        return fail("this processor is no Knights Corner: its registers of these numbers mean other things",
                    "");
    agent.client = -1;
    agent.signals = sys_signals();
    if (agent.signals < 0)
        return fail("signals cannot be waited for", "");
    if (!open_cpus(&agent))
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
