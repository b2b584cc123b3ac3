/* SPDX-License-Identifier: MIT */
#include "links/openocd_process.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    LOG_ROOM = 8192, /* some 80 lines; half of it is kept when it is full */
    LINE_ROOM = 512,
    ERRORS_ROOM = 700,
    LAST_WORDS_MS = 500, /* for a process that closed its connection to write its reason and end */
    SHUTDOWN_MS = 1000,
    TERMINATE_MS = 1000,
};

struct openocd_process {
    pid_t pid; /* 0: ended and reaped */
    int log_fd;
    uint16_t port; /* 0: not known yet */
    const struct log *to;
    char line[LINE_ROOM]; /* the beginning of a line that has not ended */
    size_t line_used;
    char log[LOG_ROOM + 1];
    size_t used;
};

/* ---- words of its log */

/* The gap between two words; the value is its length in the output. */
enum gap { GAP_NONE = 0, GAP_BLANK = 1, GAP_LINE = 2 };

static size_t put_gap(enum gap gap, char *out, size_t used, size_t room)
{
    if (gap == GAP_NONE || used == 0 || used + gap > room)
        return used;
    if (gap == GAP_LINE)
        out[used++] = ';';
    out[used++] = ' ';
    return used;
}

void openocd_text_clean(const char *text, size_t length, char *out, size_t size)
{
    if (size == 0)
        return;
    size_t used = 0, room = size - 1;
    enum gap gap = GAP_NONE;
    for (size_t i = 0; i < length; i++) {
        char byte = text[i];
        if (byte == '\n' || byte == '\r') {
            gap = GAP_LINE;
        } else if (byte == ' ' || byte == '\t' || byte == '\0') {
            gap = gap == GAP_NONE ? GAP_BLANK : gap;
        } else {
            used = put_gap(gap, out, used, room);
            gap = GAP_NONE;
            if (used >= room)
                break;
            if (byte < ' ' || byte > '~')
                byte = '?';
            out[used++] = byte;
        }
    }
    out[used] = '\0';
}

/* "Error: open failed", "boards/x.cfg:6: Error: set BOARD_PORT ..." */
static const char *error_in(const char *line, size_t length, size_t *left)
{
    static const char word[] = "Error: ";
    const char *found = memmem(line, length, word, sizeof word - 1);
    if (found == NULL)
        return NULL;
    found += sizeof word - 1;
    *left = length - (size_t)(found - line);
    return found;
}

bool openocd_text_errors(const char *log, size_t length, char *out, size_t size)
{
    size_t used = 0;
    for (size_t at = 0; at < length && used + 2 < size;) {
        const char *end = memchr(log + at, '\n', length - at);
        size_t line = end != NULL ? (size_t)(end - log) - at : length - at, left = 0;
        const char *words = error_in(log + at, line, &left);
        if (words != NULL) {
            char one[256];
            openocd_text_clean(words, left, one, sizeof one);
            bool again = used > 0 && strstr(out, one) != NULL;
            if (!again) {
                int more = snprintf(out + used, size - used, "%s%s", used > 0 ? "\n" : "", one);
                used += (size_t)more < size - used ? (size_t)more : size - used - 1;
            }
        }
        at += line + 1;
    }
    return used > 0;
}

bool openocd_text_is_wait(const char *cleaned)
{
    /* "Timeout during WAIT recovery" over JTAG, "... timed out" elsewhere. A stall that OpenOCD only
     * mentions ("stalled (WAIT) - slowing down") is not it. */
    return strcasestr(cleaned, "timeout") != NULL || strcasestr(cleaned, "timed out") != NULL;
}

/* ---- start */

static const char own_tcl[] =
#include "own_tcl.h"
    ;

static const char *const quiet_options[] = {
    "-c", "tcl_port 0", "-c", "telnet_port disabled", "-c", "gdb_port disabled", "-c", own_tcl,
};
enum { QUIET_OPTIONS = sizeof quiet_options / sizeof quiet_options[0] };

/* Runs in the child: only calls that are safe between fork and exec. */
static _Noreturn void become_openocd(char *const *argv, int log_fd, int failure_fd, pid_t parent)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* SIGTERM waits for a script that may never end */
    if (getppid() != parent)
        _exit(1);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL); /* which main ignores */
    signal(SIGXCPU, SIG_IGN); /* it has our limit, see openocd_be_told_of_its_limit */
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(log_fd, STDOUT_FILENO) >= 0 &&
        dup2(log_fd, STDERR_FILENO) >= 0)
        execvp(argv[0], argv);
    int failure = errno;
    ssize_t ignored = write(failure_fd, &failure, sizeof failure);
    (void)ignored;
    _exit(127);
}

/* The child has our limit of CPU time for itself, and may get there first. It does not end at that; we do, as
 * if it were ours, while it still takes what puts the target back. */
static void openocd_be_told_of_its_limit(pid_t pid)
{
    clockid_t spent;
    if (clock_getcpuclockid(pid, &spent) == 0)
        deadline_tell_cpu(spent);
}

/* 0 when the child runs OpenOCD, else an errno. */
static int fork_openocd(struct openocd_process *process, char *const *argv)
{
    /* OpenOCD must never block on its log: what does not fit into the pipe is lost */
    int log[2], failed[2];
    if (pipe2(log, O_CLOEXEC | O_NONBLOCK) != 0)
        return errno;
    if (pipe2(failed, O_CLOEXEC) != 0) {
        int failure = errno;
        close(log[0]);
        close(log[1]);
        return failure;
    }
    pid_t self = getpid();
    pid_t pid = fork();
    if (pid == 0)
        become_openocd(argv, log[1], failed[1], self);
    int failure = pid < 0 ? errno : 0;
    close(log[1]);
    close(failed[1]);
    if (pid > 0) {
        process->pid = pid;
        process->log_fd = log[0];
        openocd_be_told_of_its_limit(pid);
        ssize_t got = 0;
        do {
            got = read(failed[0], &failure, sizeof failure);
        } while (got < 0 && errno == EINTR);
        if (got != (ssize_t)sizeof failure)
            failure = 0;
    } else {
        close(log[0]);
    }
    close(failed[0]);
    return failure;
}

static void find_port(struct openocd_process *process)
{
    static const char before[] = "Listening on port ", after[] = " for tcl connections";
    for (const char *at = process->log; (at = strstr(at, before)) != NULL;) {
        at += sizeof before - 1;
        char *end = NULL;
        unsigned long port = strtoul(at, &end, 10);
        if (strncmp(end, after, sizeof after - 1) == 0 && port > 0 && port <= UINT16_MAX)
            process->port = (uint16_t)port;
    }
}

/* Logs whole lines as they arrive; long ones in pieces. */
static void openocd_process_pass_on(struct openocd_process *process, const char *text, size_t n)
{
    for (size_t i = 0; process->to != NULL && i < n; i++) {
        if (text[i] != '\n')
            process->line[process->line_used++] = text[i];
        if (text[i] == '\n' || process->line_used == LINE_ROOM) {
            log_words(process->to, "openocd", process->line, process->line_used);
            process->line_used = 0;
        }
    }
}

void openocd_process_read_log(struct openocd_process *process)
{
    while (process->log_fd >= 0) {
        if (process->used > LOG_ROOM / 2) {
            size_t drop = process->used - LOG_ROOM / 2;
            process->used -= drop;
            memmove(process->log, process->log + drop, process->used);
        }
        ssize_t got = read(process->log_fd, process->log + process->used, LOG_ROOM - process->used);
        if (got > 0) {
            /* A NUL in it would hide the rest from strstr */
            for (ssize_t i = 0; i < got; i++)
                if (process->log[process->used + (size_t)i] == '\0')
                    process->log[process->used + (size_t)i] = '?';
            openocd_process_pass_on(process, process->log + process->used, (size_t)got);
            process->used += (size_t)got;
            process->log[process->used] = '\0';
            if (process->port == 0)
                find_port(process);
        } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
            close(process->log_fd);
            process->log_fd = -1;
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

/* Waits until the log has grown or ended, and reads it. */
static void wait_for_log(struct openocd_process *process, const struct deadline *deadline)
{
    struct pollfd fd = {.fd = process->log_fd, .events = POLLIN};
    if (poll(&fd, 1, deadline_poll_ms(deadline)) > 0)
        openocd_process_read_log(process);
}

static bool has_ended(struct openocd_process *process)
{
    if (process->pid != 0) {
        pid_t pid = waitpid(process->pid, NULL, WNOHANG);
        if (pid == process->pid || (pid < 0 && errno == ECHILD))
            process->pid = 0;
    }
    return process->pid == 0;
}

static bool ends_within(struct openocd_process *process, int64_t ms)
{
    struct deadline deadline = deadline_in_ms(ms, NULL);
    while (!has_ended(process) && !deadline_passed(&deadline))
        deadline_nap();
    return process->pid == 0;
}

void openocd_process_last_words(struct openocd_process *process, char *out, size_t size)
{
    struct deadline deadline = deadline_in_ms(patience_ms(LAST_WORDS_MS), NULL);
    while (process->log_fd >= 0 && !deadline_passed(&deadline))
        wait_for_log(process, &deadline);
    char cleaned[2 * LOG_ROOM];
    openocd_text_clean(process->log, process->used, cleaned, sizeof cleaned);
    size_t length = strlen(cleaned);
    const char *end = length >= size ? cleaned + length - (size - 1) : cleaned;
    /* The greeting and its copyright say nothing about why */
    const char *first = strstr(end, "doxygen/bugs.html; ");
    if (first != NULL)
        end = strchr(first, ' ') + 1;
    snprintf(out, size, "%s", end);
}

bool openocd_process_tell(struct openocd_process *process, const char *what, struct error *error)
{
    static const char adapter[] =
        "Name the adapter before the chip: -f interface/YOUR_ADAPTER.cfg -c 'transport "
        "select swd' (stlink-dap.cfg: dapdirect_swd).",
                      script[] = "Check the words of -c, and the files of -f.";
    static const struct {
        const char *words, *advice;
    } known[] = {
        {"does not support any transports", adapter},
        {"unable to select a session transport", adapter},
        {"doesn't support '",
         "Take the transport of this adapter: 'hla_swd' with stlink.cfg, 'dapdirect_swd' "
         "with stlink-dap.cfg, else 'swd' or 'jtag'."},
        {"invalid command name", script},
        {"wrong # args", script},
        {"can't read \"", script},
        {"missing close-b", script},
        {"unmatched", script},
        {"Unexpected command line argument", script},
    };
    char words[ERRORS_ROOM];
    openocd_process_last_words(process, words, sizeof words);
    (void)openocd_text_errors(process->log, process->used, words, sizeof words);
    if (strstr(words, "Can't find ") != NULL)
        return error_advise(error, ERROR_SERVER,
                            "This OpenOCD lacks that file (Debian: ls /usr/share/openocd/scripts); --openocd "
                            "PATH names another.",
                            "%s: %s", what, words);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(words, known[i].words) != NULL)
            return error_advise(error, ERROR_SERVER, known[i].advice, "%s: %s", what, words);
    return error_set(error, ERROR_SERVER, "%s: %s", what, words);
}

void openocd_process_stop(struct openocd_process *process, bool was_asked)
{
    if (process == NULL)
        return;
    if (process->pid != 0 && !(was_asked && ends_within(process, SHUTDOWN_MS))) {
        kill(process->pid, SIGTERM);
        if (!ends_within(process, TERMINATE_MS)) {
            kill(process->pid, SIGKILL);
            while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR)
                ;
        }
    }
    if (process->log_fd >= 0)
        close(process->log_fd);
    free(process);
}

static bool wait_for_port(struct openocd_process *process, const struct deadline *deadline,
                          struct error *error)
{
    while (process->port == 0 && process->log_fd >= 0 && !deadline_passed(deadline))
        wait_for_log(process, deadline);
    if (process->port != 0)
        return true;
    if (deadline_cancelled(deadline))
        return error_set(error, ERROR_CANCELLED, "cancelled");
    return openocd_process_tell(
        process,
        process->log_fd < 0 ? "OpenOCD could not start" : "OpenOCD did not open its Tcl port in time", error);
}

/* Where others put it, below the user's home. The last of several is the newest, as far as names show it. */
static bool find_elsewhere(char *out, size_t size)
{
    static const char *const places[] = {"/.platformio/packages/tool-openocd*/bin/openocd",
                                         "/.pico-sdk/openocd/*/openocd",
                                         "/.local/xPacks/@xpack-dev-tools/openocd/*/.content/bin/openocd"};
    const char *home = getenv("HOME");
    bool found = false;
    for (size_t i = 0; home != NULL && !found && i < sizeof places / sizeof *places; i++) {
        char pattern[PATH_MAX];
        glob_t paths = {0};
        int n = snprintf(pattern, sizeof pattern, "%s%s", home, places[i]);
        if (n > 0 && (size_t)n < sizeof pattern && glob(pattern, 0, NULL, &paths) == 0)
            for (size_t k = paths.gl_pathc; k-- > 0 && !found;)
                found = access(paths.gl_pathv[k], X_OK) == 0 &&
                        (size_t)snprintf(out, size, "%s", paths.gl_pathv[k]) < size;
        globfree(&paths);
    }
    return found;
}

struct openocd_process *openocd_process_start(const char *path, const char *const *options, size_t n,
                                              const struct log *log, const struct deadline *deadline,
                                              struct error *error)
{
    struct openocd_process *process = calloc(1, sizeof *process);
    char **argv = calloc(n + QUIET_OPTIONS + 2, sizeof *argv);
    if (process == NULL || argv == NULL) {
        error_memory(error);
        free(process);
        free(argv);
        return NULL;
    }
    process->log_fd = -1;
    process->to = log;
    /* Our options are first: OpenOCD refuses them after the user's `init` */
    size_t used = 0;
    char elsewhere[PATH_MAX];
    const char *named = path != NULL ? path : getenv("PMU_OPENOCD");
    bool is_named = named != NULL && named[0] != '\0';
    argv[used++] = (char *)(is_named ? named : "openocd");
    for (size_t i = 0; i < QUIET_OPTIONS; i++)
        argv[used++] = (char *)quiet_options[i];
    for (size_t i = 0; i < n; i++)
        argv[used++] = (char *)options[i];
    for (size_t i = 0; i < used; i++)
        log_line(log, "%s%s", i == 0 ? "starting " : "  ", argv[i] == own_tcl ? "(own.tcl)" : argv[i]);
    int failure = fork_openocd(process, argv);
    if (failure == ENOENT && !is_named && find_elsewhere(elsewhere, sizeof elsewhere)) {
        argv[0] = elsewhere;
        close(process->log_fd);
        (void)waitpid(process->pid, NULL, 0);
        log_line(log, "not in PATH; starting %s", elsewhere);
        failure = fork_openocd(process, argv);
    }
    static const char get_it[] = "Install it (apt install openocd), or say where it is: --openocd PATH.";
    if (failure == ENOENT && !is_named)
        error_advise(error, ERROR_NO_PROBE, get_it, "openocd is not in PATH");
    else if (failure != 0)
        error_advise(error, ERROR_NO_PROBE, get_it, "cannot run %.200s: %s", argv[0], strerror(failure));
    free(argv);
    if (failure != 0 || !wait_for_port(process, deadline, error)) {
        openocd_process_stop(process, false);
        return NULL;
    }
    return process;
}

pid_t openocd_process_pid(const struct openocd_process *process)
{
    return process->pid;
}

uint16_t openocd_process_port(const struct openocd_process *process)
{
    return process->port;
}

int openocd_process_log_fd(const struct openocd_process *process)
{
    return process->log_fd;
}
