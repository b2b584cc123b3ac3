// CMSIS-DAP over TCP: see the header.
#include "dap/tcp.h"

#include <string.h>

enum { HEAD = 8, REQUEST = 1, REPLY = 2 };

static long received(void *self, struct client *client, const uint8_t *bytes, size_t length)
{
    struct dap_tcp *t = self;
    uint8_t reply[HEAD + PROCESSOR_PACKET] = {'D', 'A', 'P', 0};
    size_t used = 0;
    while (length - used >= HEAD) {
        const uint8_t *at = bytes + used;
        size_t size = at[4] | (size_t)at[5] << 8;
        if (memcmp(at, "DAP", 4) != 0 || at[6] != REQUEST || size > PROCESSOR_PACKET)
            return -1;
        if (length - used < HEAD + size)
            break;
        size_t answer = processor_packet(t->processor, at + HEAD, size, reply + HEAD);
        reply[4] = (uint8_t)answer;
        reply[5] = (uint8_t)(answer >> 8);
        reply[6] = REPLY;
        if (answer && !server_send(client, reply, HEAD + answer))
            return -1;
        used += HEAD + size;
    }
    return (long)used;
}

bool dap_tcp_open(struct dap_tcp *t, uint16_t port, struct processor *processor)
{
    t->processor = processor;
    t->server.received = received;
    t->server.self = t;
    return server_open(&t->server, port, 1);
}
