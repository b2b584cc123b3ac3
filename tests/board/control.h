// The control socket: how a test looks behind the scenes and makes trouble. See README.md for the commands.
#ifndef BOARD_CONTROL_H
#define BOARD_CONTROL_H

#include "board.h"

bool control_open(struct board *, uint16_t port);

#endif
