// The whole board, passed to whoever needs all of it: the control socket and main.
#ifndef BOARD_BOARD_H
#define BOARD_BOARD_H

#include "adi.h"
#include "bus.h"
#include "chip/chip.h"
#include "cpu/core.h"
#include "dap/tcp.h"
#include "front/bitbang.h"
#include "pace.h"
#include "server.h"
#include "truth.h"

struct board {
    const struct chip *chip;
    struct bus bus;
    uint8_t *flash, *ram;
    struct truth truth;
    struct halt_cost halt_cost;
    struct core *core;
    struct adi adi;
    struct pace pace;
    struct bitbang bitbang;
    struct pins pins;
    struct processor processor;
    struct dap_tcp dap_tcp;
    struct server control;
    bool quit;
};

#endif
