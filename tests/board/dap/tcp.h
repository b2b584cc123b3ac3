// CMSIS-DAP over TCP: each packet with a header of "DAP", length and direction, as OpenOCD's later versions
// speak it. Anything else ends the connection. As on USB, a reply takes its latency to arrive while the next
// packets are already being executed, and the probe has a limited number of buffers.
#ifndef BOARD_DAP_TCP_H
#define BOARD_DAP_TCP_H

#include "dap/processor.h"
#include "server.h"

struct dap_tcp_packet {
    uint64_t due_ns; // of a reply
    size_t length;
    uint8_t bytes[PROCESSOR_PACKET];
};

struct dap_tcp {
    struct server server;
    struct processor *processor;
    uint64_t latency_ns;     // from the last bit on the wire to the reply; set any time
    uint64_t most_in_flight; // requests that were not answered yet

    struct client *client;
    const uint8_t *behind; // what follows the packet that is being executed
    size_t behind_length;
    bool aborted, lost;
    uint64_t looked_ns;
    int timer;                                     // goes off when a reply is due
    struct dap_tcp_packet parked[PROCESSOR_COUNT]; // requests that wait for one that does not only queue
    size_t parked_count;
    struct dap_tcp_packet replies[PROCESSOR_COUNT]; // a ring
    size_t first, held;
};

enum { DAP_TCP_POLLS = SERVER_POLLS + 1 };

bool dap_tcp_open(struct dap_tcp *, uint16_t port, struct processor *);
void dap_tcp_close(struct dap_tcp *);
// Fills in what to wait for (returns how many), then deals with what arrived
size_t dap_tcp_polls(const struct dap_tcp *, struct pollfd *polls);
void dap_tcp_serve(struct dap_tcp *, const struct pollfd *polls, size_t count);

#endif
