// A probe's firmware in place of the board's own command processor: a shared object with the functions below,
// on the board's pins.
#ifndef BOARD_DAP_FIRMWARE_H
#define BOARD_DAP_FIRMWARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The board's pins for the firmware. Levels; a rising SWCLK/TCK is a cycle.
struct firmware_pins {
    void *self;
    void (*swclk)(void *self, bool level);
    void (*swdio)(void *self, bool level); // SWDIO or TMS
    void (*swdio_drive)(void *self, bool driven);
    bool (*swdio_level)(void *self);
    void (*tdi)(void *self, bool level);
    bool (*tdo)(void *self);
    void (*reset)(void *self, bool held); // nRESET
    uint64_t (*now_us)(void *self);
};

// The functions that the firmware must have
void firmware_start(const struct firmware_pins *pins);
size_t firmware_packet_size(void);
size_t firmware_packet(const uint8_t *request, size_t length, uint8_t *reply,
                       size_t room); // the reply's length

struct processor;

struct firmware {
    void *object;
    size_t (*packet)(const uint8_t *request, size_t length, uint8_t *reply, size_t room);
    struct processor *processor;
    struct firmware_pins pins;
    bool clock, level, driven, tdi;
};

// It decides on the size of the packets. false: the reason was printed to stderr
bool firmware_open(struct firmware *, const char *path, struct processor *);
size_t firmware_run(struct firmware *, const uint8_t *request, size_t length, uint8_t *reply);

#endif
