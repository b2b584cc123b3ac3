// OpenOCD's remote_bitbang protocol: single characters that set and sample JTAG lines, and the letters of
// later versions that do so with SWD lines.
#ifndef BOARD_FRONT_BITBANG_H
#define BOARD_FRONT_BITBANG_H

#include "front/jtag.h"
#include "server.h"
#include "wire/swd.h"

struct bitbang {
    struct server server;
    struct jtag jtag;
    struct swd *swd;
    void (*reset)(void *self, bool held); // the reset line
    void *self;
    bool clock, driven, swclk, swdio;
};

// `path`: of a socket in the file system besides, or NULL. What the members `swd`, `reset` and `self` are is
// the caller's to say
bool bitbang_open(struct bitbang *, uint16_t port, const char *path, struct adi *, uint32_t idcode);

#endif
