/*
 * The client of the GDB remote protocol against a server that sends these bytes, whatever it is asked, and
 * then hangs up. Mutated packets mostly get their right checksum again: else nothing after the framing would
 * ever be reached.
 */
#include "debuggers/debugger.h"
#include "debuggers/gdb_packet.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROOM = 64 * 1024, LIMIT_MS = 2000, DAMAGED_ONE_IN = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

static void mend_checksums(uint8_t *data, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    size_t begin = size;
    uint8_t sum = 0;
    for (size_t i = 0; i + 2 < size; i++) {
        if (data[i] == '$' || data[i] == '%') {
            begin = i;
            sum = 0;
        } else if (data[i] == '#' && begin < i) {
            data[i + 1] = (uint8_t)digits[sum >> 4];
            data[i + 2] = (uint8_t)digits[sum & 0xF];
            begin = size;
            i += 2;
        } else {
            sum = (uint8_t)(sum + data[i]);
        }
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    size = LLVMFuzzerMutate(data, size, most);
    if (seed % DAMAGED_ONE_IN != 0)
        mend_checksums(data, size);
    return size;
}

/* What a recorded session did, in this order; each failure is as good as a success. */
static void play(struct debugger *debugger, const struct deadline *deadline)
{
    static const char *const registers[] = {"pc", "sp", "psp", "lr", "xpsr"};
    const struct debugger_ops *ops = debugger->ops;
    uint8_t bytes[256] = {0};
    struct debugger_stop stop;
    char text[256];
    uint64_t value;
    for (size_t i = 0; i < sizeof registers / sizeof *registers; i++) {
        struct error error = {0};
        ops->read_register(debugger, registers[i], &value, deadline, &error);
    }
    struct error errors[10] = {0};
    ops->read_memory(debugger, 0xE000ED00, bytes, 4, deadline, &errors[0]);
    ops->read_memory(debugger, 0, bytes, sizeof bytes, deadline, &errors[1]);
    ops->write_memory(debugger, 0x20010000, bytes, 4, deadline, &errors[2]);
    ops->write_memory(debugger, 0x20010000, bytes, 32, deadline, &errors[3]);
    ops->breakpoint(debugger, 0x270, 2, true, deadline, &errors[4]);
    if (ops->go(debugger, DEBUGGER_RUN, deadline, &errors[5]))
        ops->wait(debugger, &stop, deadline, &errors[6]);
    ops->read_register(debugger, "pc", &value, deadline, &errors[7]);
    ops->breakpoint(debugger, 0x270, 2, false, deadline, &errors[8]);
    memset(errors, 0, sizeof errors);
    if (ops->go(debugger, DEBUGGER_STEP, deadline, &errors[0]))
        ops->wait(debugger, &stop, deadline, &errors[1]);
    ops->monitor(debugger, "version", text, sizeof text, deadline, &errors[2]);
    if (ops->go(debugger, DEBUGGER_RUN, deadline, &errors[3]) && ops->interrupt(debugger, &errors[4]))
        ops->wait(debugger, &stop, deadline, &errors[5]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int pair[2], room = 4 * ROOM;
    if (size > ROOM || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) != 0)
        return 0;
    for (int i = 0; i < 2; i++)
        setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    struct deadline deadline = deadline_in_ms(LIMIT_MS, NULL);
    struct error error = {0};
    bool sent = write(pair[1], data, size) == (ssize_t)size && shutdown(pair[1], SHUT_WR) == 0;
    struct debugger *debugger = sent ? gdb_remote_open(pair[0], false, NULL, &deadline, &error) : NULL;
    if (debugger != NULL) {
        play(debugger, &deadline);
        debugger->ops->close(debugger, true);
    } else if (!sent) {
        close(pair[0]);
    }
    close(pair[1]);
    return 0;
}
