// The control socket: by which a test sees the truth and makes trouble. See README.md for the commands.
#ifndef BOARD_CONTROL_H
#define BOARD_CONTROL_H

#include "board.h"

bool control_open(struct board *, uint16_t port);

#endif
