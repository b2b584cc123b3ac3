/* SPDX-License-Identifier: MIT */
#include "sys.h"

/* arch/x86/include/asm/unistd_64.h of Linux */
enum {
    NR_READ = 0,
    NR_WRITE = 1,
    NR_OPEN = 2,
    NR_CLOSE = 3,
    NR_FSTAT = 5,
    NR_POLL = 7,
    NR_SIGPROCMASK = 14,
    NR_PREAD = 17,
    NR_PWRITE = 18,
    NR_SOCKET = 41,
    NR_SENDTO = 44,
    NR_RECVFROM = 45,
    NR_BIND = 49,
    NR_LISTEN = 50,
    NR_GETSOCKNAME = 51,
    NR_SETSOCKOPT = 54,
    NR_FLOCK = 73,
    NR_FTRUNCATE = 77,
    NR_GETUID = 102,
    NR_SETGROUPS = 116,
    NR_SETRESUID = 117,
    NR_SETRESGID = 119,
    NR_PRCTL = 157,
    NR_SETRLIMIT = 160,
    NR_RESTART = 219,
    NR_CLOCK_GETTIME = 228,
    NR_EXIT_GROUP = 231,
    NR_ACCEPT4 = 288,
    NR_SIGNALFD4 = 289
};
enum { EINTR = 4, EAGAIN = 11 };
enum { O_RDWR = 2, O_CREAT = 0100, O_NONBLOCK = 04000, O_NOFOLLOW = 0400000, O_CLOEXEC = 02000000 };
enum { S_IFMT = 0170000, S_IFREG = 0100000, OTHERS = 077, LOCK_EX = 2, LOCK_NB = 4 };
enum { AF_INET = 2, SOCK_STREAM = 1, SOCK_NONBLOCK = 04000, SOCK_CLOEXEC = 02000000, BACKLOG = 4 };
enum { SOL_SOCKET = 1, SO_REUSEADDR = 2, SO_KEEPALIVE = 9 };
enum {
    IPPROTO_TCP = 6,
    TCP_NODELAY = 1,
    TCP_KEEPIDLE = 4,
    TCP_KEEPINTVL = 5,
    TCP_KEEPCNT = 6,
    TCP_USER_TIMEOUT = 18
};
enum { MSG_DONTWAIT = 0x40, MSG_NOSIGNAL = 0x4000 };
enum { CLOCK_MONOTONIC = 1, RLIMIT_NOFILE = 7 };
enum { HANGUP = 1, INTERRUPT = 2, TERMINATE = 15 };
enum { PR_SET_DUMPABLE = 4, PR_SET_SECCOMP = 22, PR_CAPBSET_DROP = 24, PR_SET_NO_NEW_PRIVS = 38 };
enum { SECCOMP_MODE_FILTER = 2, LAST_CAPABILITY = 63, NOBODY = 65534 };

struct socket_address {
    uint16_t family;
    uint8_t port[2], address[4], rest[8];
};

static long call(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

/* Compilers call these wherever they like. Volatile, or they would make them call themselves. */
void *memcpy(void *to, const void *from, size_t n);
void *memset(void *to, int value, size_t n);

void *memcpy(void *to, const void *from, size_t n)
{
    volatile uint8_t *out = to;
    const uint8_t *in = from;
    for (size_t i = 0; i < n; i++)
        out[i] = in[i];
    return to;
}

void *memset(void *to, int value, size_t n)
{
    volatile uint8_t *out = to;
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)value;
    return to;
}

/* Names of the compiler's. */
uintptr_t __stack_chk_guard;
void __stack_chk_fail(void) __attribute__((noreturn));

void __stack_chk_fail(void)
{
    enum { ERR = 2, FAILED = 1 };
    sys_say(ERR, "msr-agent: its stack was overwritten\n");
    sys_exit(FAILED);
}

/* After the arguments and the environment Linux lists what else a program may want to know. */
struct known {
    long kind;
    const uintptr_t *value;
};

void sys_begin(const long *stack)
{
    enum { AT_NULL = 0, AT_RANDOM = 25 };
    const long *at = stack + 1 + stack[0] + 1;
    while (*at != 0)
        at++;
    for (const struct known *one = (const void *)(at + 1); one->kind != AT_NULL; one++)
        if (one->kind == AT_RANDOM) /* 16 bytes. The zero ends texts that run over */
            __stack_chk_guard = *one->value & ~(uintptr_t)0xFF;
}

static long address_of(const void *pointer)
{
    return (long)(uintptr_t)pointer;
}

int sys_open(const char *path, bool to_write)
{
    return (int)call(NR_OPEN, address_of(path), (to_write ? O_RDWR : 0) | O_CLOEXEC, 0, 0, 0, 0);
}

/* As fstat fills it in. */
struct file_status {
    uint64_t device, inode, links;
    uint32_t mode, user, group, padding;
    uint64_t rest[15];
};

int sys_open_own(const char *path)
{
    enum { MODE = 0600 };
    struct file_status status = {0};
    int fd = (int)call(NR_OPEN, address_of(path), O_RDWR | O_CREAT | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC,
                       MODE, 0, 0, 0);
    if (fd < 0)
        return -1;
    bool own = call(NR_FSTAT, fd, address_of(&status), 0, 0, 0, 0) == 0 &&
               (status.mode & S_IFMT) == S_IFREG && (status.mode & OTHERS) == 0 && status.links == 1 &&
               status.user == (uint32_t)call(NR_GETUID, 0, 0, 0, 0, 0, 0);
    bool locked = own && call(NR_FLOCK, fd, LOCK_EX | LOCK_NB, 0, 0, 0, 0) == 0;
    if (locked)
        return fd;
    sys_close(fd);
    return own ? -2 : -1;
}

bool sys_empty(int fd)
{
    return call(NR_FTRUNCATE, fd, 0, 0, 0, 0, 0) == 0;
}

long sys_read(int fd, void *to, size_t n)
{
    return call(NR_READ, fd, address_of(to), (long)n, 0, 0, 0);
}

long sys_read_at(int fd, void *to, size_t n, uint64_t at)
{
    return call(NR_PREAD, fd, address_of(to), (long)n, (long)at, 0, 0);
}

long sys_write_at(int fd, const void *from, size_t n, uint64_t at)
{
    return call(NR_PWRITE, fd, address_of(from), (long)n, (long)at, 0, 0);
}

void sys_close(int fd)
{
    call(NR_CLOSE, fd, 0, 0, 0, 0, 0);
}

long sys_poll(struct sys_poll *polled, unsigned n, int ms)
{
    return call(NR_POLL, address_of(polled), n, ms, 0, 0, 0);
}

uint64_t sys_now_us(void)
{
    uint64_t now[2] = {0, 0};
    call(NR_CLOCK_GETTIME, CLOCK_MONOTONIC, address_of(now), 0, 0, 0, 0);
    return now[0] * 1000000 + now[1] / 1000;
}

void sys_say(int fd, const char *text)
{
    size_t n = 0;
    while (text[n] != '\0')
        n++;
    call(NR_WRITE, fd, address_of(text), (long)n, 0, 0, 0);
}

void sys_exit(int code)
{
    for (;;)
        call(NR_EXIT_GROUP, code, 0, 0, 0, 0, 0);
}

static void set_option(int fd, int level, int option, int value)
{
    call(NR_SETSOCKOPT, fd, level, option, address_of(&value), sizeof value, 0);
}

int sys_listen(uint32_t address, uint16_t *port)
{
    struct socket_address at = {.family = AF_INET, .port = {(uint8_t)(*port >> 8), (uint8_t)*port}};
    uint32_t size = sizeof at;
    for (int i = 0; i < 4; i++)
        at.address[i] = (uint8_t)(address >> (24 - 8 * i));
    int fd = (int)call(NR_SOCKET, AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, 0, 0, 0);
    if (fd < 0)
        return fd;
    set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    long failure = call(NR_BIND, fd, address_of(&at), sizeof at, 0, 0, 0);
    if (failure == 0)
        failure = call(NR_LISTEN, fd, BACKLOG, 0, 0, 0, 0);
    if (failure == 0)
        failure = call(NR_GETSOCKNAME, fd, address_of(&at), address_of(&size), 0, 0, 0);
    *port = (uint16_t)(at.port[0] << 8 | at.port[1]);
    return failure < 0 ? (int)failure : fd;
}

int sys_accept(int fd)
{
    enum { IDLE_S = 10, BETWEEN_S = 5, TRIES = 3, UNANSWERED_MS = 25000 };
    int client = (int)call(NR_ACCEPT4, fd, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC, 0, 0);
    if (client < 0)
        return client;
    set_option(client, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(client, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(client, IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S);
    set_option(client, IPPROTO_TCP, TCP_KEEPINTVL, BETWEEN_S);
    set_option(client, IPPROTO_TCP, TCP_KEEPCNT, TRIES);
    set_option(client, IPPROTO_TCP, TCP_USER_TIMEOUT, UNANSWERED_MS);
    return client;
}

long sys_send(int fd, const void *from, size_t n)
{
    return call(NR_SENDTO, fd, address_of(from), (long)n, MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
}

long sys_receive(int fd, void *to, size_t n)
{
    return call(NR_RECVFROM, fd, address_of(to), (long)n, MSG_DONTWAIT, 0, 0);
}

bool sys_is_try_again(long result)
{
    return result == -EAGAIN || result == -EINTR;
}

int sys_signals(void)
{
    uint64_t set = 1U << (HANGUP - 1) | 1U << (INTERRUPT - 1) | 1U << (TERMINATE - 1);
    call(NR_SIGPROCMASK, 0, address_of(&set), 0, sizeof set, 0, 0);
    return (int)call(NR_SIGNALFD4, -1, address_of(&set), sizeof set, SOCK_CLOEXEC, 0, 0);
}

void sys_allow_files(unsigned n)
{
    uint64_t limits[2] = {n, n};
    call(NR_SETRLIMIT, RLIMIT_NOFILE, address_of(limits), 0, 0, 0, 0);
}

/* ---- privileges */

/* linux/filter.h and linux/seccomp.h */
struct filter_step {
    uint16_t code;
    uint8_t if_true, if_false;
    uint32_t k;
};
enum { LOAD_WORD = 0x20, JUMP_EQUAL = 0x15, RETURN = 0x06, NUMBER_OFFSET = 0, ARCH_OFFSET = 4 };
static const uint32_t ALLOW = 0x7FFF0000, DENY_EPERM = 0x00050001, KILL = 0, X86_64 = 0xC000003E;

/* Reading and writing what is open, and sockets from the one that listens. Card kernels before 3.5 have no
 * such filter: then it stays with what a user has. */
static void allow_only_what_is_used(void)
{
    static const uint32_t allowed[] = {
        NR_READ,     NR_WRITE,      NR_CLOSE,   NR_POLL,          NR_PREAD,      NR_PWRITE,  NR_SENDTO,
        NR_RECVFROM, NR_SETSOCKOPT, NR_RESTART, NR_CLOCK_GETTIME, NR_EXIT_GROUP, NR_ACCEPT4, NR_FTRUNCATE};
    enum { ALLOWED = sizeof allowed / sizeof *allowed, STEPS = ALLOWED + 6 };
    struct filter_step steps[STEPS];
    unsigned n = 0;
    steps[n++] = (struct filter_step){LOAD_WORD, 0, 0, ARCH_OFFSET};
    steps[n++] = (struct filter_step){JUMP_EQUAL, 1, 0, X86_64};
    steps[n++] = (struct filter_step){RETURN, 0, 0, KILL};
    steps[n++] = (struct filter_step){LOAD_WORD, 0, 0, NUMBER_OFFSET};
    for (unsigned i = 0; i < ALLOWED; i++)
        steps[n++] = (struct filter_step){JUMP_EQUAL, (uint8_t)(ALLOWED - i), 0, allowed[i]};
    steps[n++] = (struct filter_step){RETURN, 0, 0, DENY_EPERM};
    steps[n++] = (struct filter_step){RETURN, 0, 0, ALLOW};
    struct {
        uint16_t n;
        const struct filter_step *steps;
    } program = {(uint16_t)n, steps};
    call(NR_PRCTL, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, address_of(&program), 0, 0, 0);
}

bool sys_drop_privileges(void)
{
    if (call(NR_GETUID, 0, 0, 0, 0, 0, 0) == 0) {
        for (long i = 0; i <= LAST_CAPABILITY; i++)
            call(NR_PRCTL, PR_CAPBSET_DROP, i, 0, 0, 0, 0); /* those that are not there refuse */
        if (call(NR_SETGROUPS, 0, 0, 0, 0, 0, 0) != 0 ||
            call(NR_SETRESGID, NOBODY, NOBODY, NOBODY, 0, 0, 0) != 0 ||
            call(NR_SETRESUID, NOBODY, NOBODY, NOBODY, 0, 0, 0) != 0)
            return false;
    }
    call(NR_PRCTL, PR_SET_DUMPABLE, 0, 0, 0, 0, 0);
    call(NR_PRCTL, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0);
    allow_only_what_is_used();
    return true;
}
