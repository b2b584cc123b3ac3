#include "commands/board_runs.h"

#include "base/deadline.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHUNK = 1 << 14, POLL_MS = 100, LAST_MS = 30000 };

/* --- start ---------------------------------------------------------------------------------------------- */

/* Runs in the child: only calls that are safe between fork and exec. Ctrl-C at the terminal reaches it
 * through us alone, once for each time. */
static _Noreturn void become(char *const *argv, int out, int err, pid_t parent)
{
    sigset_t none;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
        dup2(err, STDERR_FILENO) >= 0)
        execv("/proc/self/exe", argv);
    static const char failed[] = "pmu-probe: this program cannot start itself\n";
    ssize_t ignored = write(err, failed, sizeof failed - 1);
    (void)ignored;
    _exit(EXIT_FAILURE);
}

static bool start(struct board_run *run, char *const *argv)
{
    int out[2], err[2];
    pid_t self = getpid();
    if (pipe2(out, O_CLOEXEC) != 0)
        return false;
    if (pipe2(err, O_CLOEXEC) != 0) {
        close(out[0]);
        close(out[1]);
        return false;
    }
    pid_t pid = fork();
    if (pid == 0)
        become(argv, out[1], err[1], self);
    int why = errno;
    close(out[1]);
    close(err[1]);
    run->out.fd = out[0];
    run->err.fd = err[0];
    run->pid = pid > 0 ? pid : 0;
    errno = why;
    return pid > 0;
}

/* --- what they say -------------------------------------------------------------------------------------- */

static bool make_room(struct board_pipe *pipe)
{
    if (pipe->room - pipe->used > CHUNK)
        return true;
    size_t room = 2 * pipe->room + 2 * (size_t)CHUNK;
    char *more = realloc(pipe->text, room);
    if (more == NULL)
        return false;
    pipe->text = more;
    pipe->room = room;
    return true;
}

/* Beyond the limit it is read on and dropped: a process whose pipe is full would not end. */
static void take(struct board_pipe *pipe)
{
    char rest[CHUNK];
    bool keep = !pipe->cut && pipe->used + CHUNK <= pipe->most && make_room(pipe);
    pipe->cut = !keep;
    ssize_t got = read(pipe->fd, keep ? pipe->text + pipe->used : rest, CHUNK);
    if (got > 0 && keep) {
        pipe->used += (size_t)got;
        pipe->text[pipe->used] = '\0';
    }
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) {
        close(pipe->fd);
        pipe->fd = -1;
    }
}

static void take_all(struct board_run *runs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct pollfd fds[] = {{.fd = runs[i].out.fd, .events = POLLIN},
                               {.fd = runs[i].err.fd, .events = POLLIN}};
        if (runs[i].pid == 0 || poll(fds, 2, 0) <= 0)
            continue;
        if (fds[0].revents != 0)
            take(&runs[i].out);
        if (fds[1].revents != 0)
            take(&runs[i].err);
    }
}

static void wait_for_any(struct board_run *runs, size_t n)
{
    struct pollfd fds[64];
    nfds_t used = 0;
    for (size_t i = 0; i < n && used + 2 <= sizeof fds / sizeof *fds; i++) {
        if (runs[i].pid == 0)
            continue;
        fds[used++] = (struct pollfd){.fd = runs[i].out.fd, .events = POLLIN};
        fds[used++] = (struct pollfd){.fd = runs[i].err.fd, .events = POLLIN};
    }
    (void)poll(fds, used, POLL_MS);
}

/* --- how they end --------------------------------------------------------------------------------------- */

static void reap(struct board_run *run)
{
    int status;
    if (run->pid == 0 || run->out.fd >= 0 || run->err.fd >= 0)
        return;
    pid_t pid = waitpid(run->pid, &status, WNOHANG);
    if (pid == 0 || (pid < 0 && errno == EINTR))
        return;
    run->pid = 0;
    run->code = pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    run->signal = pid > 0 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void send_all(const struct board_run *runs, size_t n, int number)
{
    for (size_t i = 0; i < n; i++)
        if (runs[i].pid != 0)
            kill(runs[i].pid, number);
}

static size_t count_ended(const struct board_run *runs, size_t n)
{
    size_t ended = 0;
    for (size_t i = 0; i < n; i++)
        ended += runs[i].pid == 0;
    return ended;
}

/* A run that does not end long after Ctrl-C is ended without its consent; its journal stays. */
static void pass_on(const struct board_run *runs, size_t n, sig_atomic_t signals, sig_atomic_t *seen,
                    int64_t *since_us)
{
    if (signals > *seen && *seen == 0)
        *since_us = deadline_now_us();
    if (signals > *seen)
        send_all(runs, n, SIGINT);
    *seen = signals;
    if (*seen > 0 && deadline_now_us() - *since_us > 1000 * patience_ms(LAST_MS))
        send_all(runs, n, SIGKILL);
}

bool board_runs(struct board_run *runs, size_t n, char *const *const *argv,
                const volatile sig_atomic_t *signals, void (*progress)(void *context, size_t ended),
                void *context, struct error *error)
{
    bool ok = true;
    sig_atomic_t seen = 0;
    int64_t since_us = 0;
    for (size_t i = 0; i < n; i++) {
        runs[i].out = (struct board_pipe){.fd = -1, .most = BOARD_RUN_BYTES};
        runs[i].err = (struct board_pipe){.fd = -1, .most = BOARD_RUN_WORDS + CHUNK};
        runs[i].code = -1;
    }
    for (size_t i = 0; i < n && ok; i++)
        ok = start(&runs[i], argv[i]) || error_set(error, ERROR_SYSTEM, "cannot start a process for %s: %s",
                                                   runs[i].name, strerror(errno));
    if (!ok)
        send_all(runs, n, SIGINT);
    for (size_t ended = count_ended(runs, n); ended < n; ended = count_ended(runs, n)) {
        progress(context, ended);
        pass_on(runs, n, *signals, &seen, &since_us);
        wait_for_any(runs, n);
        take_all(runs, n);
        for (size_t i = 0; i < n; i++)
            reap(&runs[i]);
    }
    return ok;
}

void board_run_free(struct board_run *run)
{
    if (run->out.fd >= 0)
        close(run->out.fd);
    if (run->err.fd >= 0)
        close(run->err.fd);
    free(run->out.text);
    free(run->err.text);
}
