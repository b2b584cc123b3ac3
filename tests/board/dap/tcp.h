// CMSIS-DAP over TCP: each packet with a header of "DAP", length and direction, as OpenOCD's later versions
// speak it.
#ifndef BOARD_DAP_TCP_H
#define BOARD_DAP_TCP_H

#include "dap/processor.h"
#include "server.h"

struct dap_tcp {
    struct server server;
    struct processor *processor;
};

bool dap_tcp_open(struct dap_tcp *, uint16_t port, struct processor *);

#endif
