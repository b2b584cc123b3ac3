// A debugger that tests drive by lines: what to do is read from standard input, each line is answered by one.
//   open HOST PORT          "ok SERVER ARCHITECTURE", each "-" when it does not say
//   read ADDRESS N          the bytes in hexadecimal
//   write ADDRESS HEX       "ok"; break|clear ADDRESS SIZE, run, step, interrupt likewise
//   wait MILLISECONDS       "trap", "requested", "fault", "watchpoint" or "runs", and the thread
//   register NAME           its value
//   monitor COMMAND         what it printed, in hexadecimal
//   close run|halted
// Numbers are hexadecimal but for N, SIZE, PORT and times. Errors are "error TEXT".
#include "debuggers/debugger.h"
#include "debuggers/gdb_packet.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT_MS = 10000, BYTES = 4096 };

static struct debugger *debugger;

static void answer(bool ok, const struct error *error, const char *text)
{
    printf("%s%s\n", ok ? "" : "error ", ok ? text : error->text);
    fflush(stdout);
}

static void do_open(char **words, const struct deadline *deadline)
{
    struct error error = {0};
    char text[256] = "";
    debugger = gdb_remote_connect(words[1], (uint16_t)strtoul(words[2], NULL, 10), NULL, deadline, &error);
    if (debugger != NULL)
        snprintf(text, sizeof text, "ok %s %s",
                 debugger->facts.server ? server_row(debugger->facts.server)->name : "-",
                 debugger->facts.architecture[0] ? debugger->facts.architecture : "-");
    answer(debugger != NULL, &error, text);
}

static void do_memory(char **words, const struct deadline *deadline)
{
    struct error error = {0};
    uint8_t bytes[BYTES];
    char text[2 * BYTES + 1] = "ok";
    uint64_t at = strtoull(words[1], NULL, 16);
    size_t n = strtoul(words[2], NULL, 10);
    bool ok;
    if (words[0][0] == 'r') {
        ok = debugger->ops->read_memory(debugger, at, bytes, n < BYTES ? n : BYTES, deadline, &error);
        if (ok)
            gdb_hex_write(bytes, n < BYTES ? n : BYTES, text);
    } else {
        ok = gdb_hex_read(words[2], strlen(words[2]), bytes, BYTES, &n) &&
             debugger->ops->write_memory(debugger, at, bytes, n, deadline, &error);
    }
    answer(ok, &error, text);
}

static void do_wait(char **words)
{
    static const char *const whys[] = {"trap", "requested", "fault", "watchpoint", "ended"};
    struct deadline deadline = deadline_in_ms(strtol(words[1], NULL, 10), NULL);
    struct error error = {0};
    struct debugger_stop stop = {0};
    char text[64] = "runs";
    enum debugger_wait how = debugger->ops->wait(debugger, &stop, &deadline, &error);
    if (how == DEBUGGER_STOPPED)
        snprintf(text, sizeof text, "%s %s", whys[stop.why], stop.thread);
    answer(how != DEBUGGER_GONE, &error, text);
}

static void do_monitor(const char *command, const struct deadline *deadline)
{
    struct error error = {0};
    char printed[1024], text[2 * sizeof printed + 1] = "";
    bool ok = debugger->ops->monitor(debugger, command, printed, sizeof printed, deadline, &error);
    if (ok)
        gdb_hex_write(printed, strlen(printed), text);
    answer(ok, &error, text);
}

static void do_line(char **words, const struct deadline *deadline)
{
    const struct debugger_ops *ops = debugger->ops;
    struct error error = {0};
    const char *verb = words[0];
    char text[32] = "ok";
    bool ok = true;
    uint64_t value;
    if (strcmp(verb, "break") == 0 || strcmp(verb, "clear") == 0) {
        ok = ops->breakpoint(debugger, strtoull(words[1], NULL, 16), (unsigned)strtoul(words[2], NULL, 10),
                             verb[0] == 'b', deadline, &error);
    } else if (strcmp(verb, "run") == 0 || strcmp(verb, "step") == 0) {
        ok = ops->go(debugger, verb[0] == 'r' ? DEBUGGER_RUN : DEBUGGER_STEP, deadline, &error);
    } else if (strcmp(verb, "interrupt") == 0) {
        ok = ops->interrupt(debugger, &error);
    } else if (strcmp(verb, "register") == 0) {
        ok = ops->read_register(debugger, words[1], &value, deadline, &error);
        if (ok)
            snprintf(text, sizeof text, "%" PRIx64, value);
    } else if (strcmp(verb, "close") == 0) {
        ops->close(debugger, strcmp(words[1], "run") == 0);
        debugger = NULL;
    } else {
        ok = error_set(&error, ERROR_USAGE, "no such verb");
    }
    answer(ok, &error, text);
}

int main(void)
{
    char line[2 * BYTES + 64];
    while (fgets(line, sizeof line, stdin) != NULL) {
        char *words[3] = {line, (char *)"", (char *)""};
        struct deadline deadline = deadline_in_ms(LIMIT_MS, NULL);
        line[strcspn(line, "\n")] = '\0';
        char *rest = strchr(line, ' ');
        bool is_monitor = strncmp(line, "monitor ", 8) == 0;
        for (size_t i = 1; i < 3 && rest != NULL && !is_monitor; i++) {
            *rest = '\0';
            words[i] = rest + 1;
            rest = strchr(words[i], ' ');
        }
        if (strcmp(words[0], "open") == 0)
            do_open(words, &deadline);
        else if (debugger == NULL)
            puts("error nothing is open");
        else if (is_monitor)
            do_monitor(line + 8, &deadline);
        else if (strcmp(words[0], "read") == 0 || strcmp(words[0], "write") == 0)
            do_memory(words, &deadline);
        else if (strcmp(words[0], "wait") == 0)
            do_wait(words);
        else
            do_line(words, &deadline);
        fflush(stdout);
    }
    if (debugger != NULL)
        debugger->ops->close(debugger, true);
    return 0;
}
