// The whole board, for the control socket and main.
#ifndef BOARD_BOARD_H
#define BOARD_BOARD_H

#include "chip/chip.h"
#include "cores.h"
#include "dap/firmware.h"
#include "dap/tcp.h"
#include "front/bitbang.h"
#include "pace.h"
#include "server.h"
#include "usb/usb.h"

struct board {
    const struct chip *chip;
    struct chip without_rom; // what `chip` is with --no-rom-table
    uint8_t *flash, *ram;
    struct halt_cost halt_cost;
    struct cores cores;
    struct pace pace;
    struct bitbang bitbang;
    struct pins pins;
    struct processor processor;
    struct firmware firmware; // without --dap-firmware empty
    struct dap_tcp dap_tcp;
    struct usb *usb; // NULL without --usb
    struct server control;
    bool quit;
};

#endif
