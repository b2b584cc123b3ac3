// OpenOCD's remote_bitbang protocol: single characters that set and sample JTAG lines.
#ifndef BOARD_FRONT_BITBANG_H
#define BOARD_FRONT_BITBANG_H

#include "cpu/core.h"
#include "front/jtag.h"
#include "server.h"

struct bitbang {
    struct server server;
    struct jtag jtag;
    struct core *core; // whom the reset line resets
    bool clock;
};

bool bitbang_open(struct bitbang *, uint16_t port, struct adi *, uint32_t idcode, struct core *);

#endif
