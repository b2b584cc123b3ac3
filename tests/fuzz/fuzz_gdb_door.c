/*
 * The engine's end of the door against a GDB that says these bytes, whatever it is asked, and then hangs up.
 */
#include "debuggers/gdb_python.h"

#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROOM = 64 * 1024, LIMIT_MS = 2000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each failure is as good as a success. */
static void play(struct debugger *debugger, const struct deadline *deadline)
{
    const struct debugger_ops *ops = debugger->ops;
    uint8_t bytes[1500] = {0};
    struct debugger_stop stop;
    char text[256];
    uint64_t value;
    struct error errors[10] = {0};
    ops->read_register(debugger, "pc", &value, deadline, &errors[0]);
    ops->read_memory(debugger, 0xE000ED00, bytes, 4, deadline, &errors[1]);
    ops->read_memory(debugger, 0, bytes, sizeof bytes, deadline, &errors[2]);
    ops->write_memory(debugger, 0x20010000, bytes, 4, deadline, &errors[3]);
    ops->breakpoint(debugger, 0x270, 2, true, deadline, &errors[4]);
    if (ops->go(debugger, DEBUGGER_RUN, deadline, &errors[5]))
        ops->wait(debugger, &stop, deadline, &errors[6]);
    ops->monitor(debugger, "version", text, sizeof text, deadline, &errors[7]);
    if (ops->go(debugger, DEBUGGER_STEP, deadline, &errors[8]) && ops->interrupt(debugger, &errors[9]))
        ops->wait(debugger, &stop, deadline, &errors[9]);
}

/* Three of four begin with a greeting, and get further. Of the fourth none may name a server: it would be
 * called. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char greeting[] = "ok armv7e-m - - -\nok 4f\nok 0\n";
    int pair[2], room = 4 * ROOM;
    if (size == 0 || size > ROOM || (data[0] % 4 == 0 && memchr(data, ':', size) != NULL) ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) != 0)
        return 0;
    for (int i = 0; i < 2; i++)
        setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    struct deadline deadline = deadline_in_ms(LIMIT_MS, NULL);
    struct error error = {0};
    bool sent = data[0] % 4 == 0 || write(pair[1], greeting, sizeof greeting - 1) > 0;
    sent = sent && write(pair[1], data + 1, size - 1) == (ssize_t)size - 1 && shutdown(pair[1], SHUT_WR) == 0;
    struct debugger *debugger = sent ? gdb_python_open(pair[0], &deadline, &error) : NULL;
    if (debugger != NULL) {
        play(debugger, &deadline);
        debugger->ops->close(debugger, true);
    } else if (!sent) {
        close(pair[0]);
    }
    close(pair[1]);
    return 0;
}
