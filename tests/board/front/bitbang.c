// remote_bitbang: see the header. All samples that a chunk of input asks for go out in one write.
#include "front/bitbang.h"

static void reset_lines(struct bitbang *b, unsigned lines)
{
    if (lines & 2)
        jtag_reset(&b->jtag);
    b->reset(b->self, lines & 1);
}

static void swd_lines(struct bitbang *b, unsigned lines)
{
    bool clock = lines & 2;
    b->swdio = lines & 1;
    if (clock && !b->swclk)
        swd_clock(b->swd, b->driven, b->swdio);
    b->swclk = clock;
}

static long received(void *self, struct client *client, const uint8_t *bytes, size_t length)
{
    struct bitbang *b = self;
    char samples[4096];
    size_t sampled = 0;
    for (size_t i = 0; i < length; i++) {
        uint8_t c = bytes[i];
        if (c >= '0' && c <= '7') { // TCK, TMS, TDI
            unsigned lines = c - '0';
            if ((lines & 4) && !b->clock)
                jtag_clock(&b->jtag, lines & 2, lines & 1);
            b->clock = lines & 4;
        } else if (c == 'R') {
            samples[sampled++] = jtag_tdo(&b->jtag) ? '1' : '0';
        } else if (c >= 'd' && c <= 'g') { // SWCLK, SWDIO
            swd_lines(b, c - 'd');
        } else if (c == 'O' || c == 'o') {
            b->driven = c == 'O';
        } else if (c == 'c') {
            samples[sampled++] = swd_level(b->swd, b->driven, b->swdio) ? '1' : '0';
        } else if (c >= 'r' && c <= 'u') { // TRST, SRST
            reset_lines(b, c - 'r');
        } else if (c == 'Q') {
            return -1;
        }
        if (sampled == sizeof samples) {
            if (!server_send(client, samples, sampled))
                return -1;
            sampled = 0;
        }
    }
    if (sampled && !server_send(client, samples, sampled))
        return -1;
    return (long)length;
}

static void connected(void *self)
{
    struct bitbang *b = self;
    b->clock = b->driven = b->swclk = b->swdio = false;
    b->reset(b->self, false);
}

bool bitbang_open(struct bitbang *b, uint16_t port, const char *path, struct adi *adi, uint32_t idcode)
{
    jtag_init(&b->jtag, adi, idcode);
    b->server.received = received;
    b->server.connected = connected;
    b->server.self = b;
    return server_open(&b->server, port, 1) && (!path || server_open_local(&b->server, path));
}
