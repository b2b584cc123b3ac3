// CoreSight's formatter: bytes with the ID of their source, made into frames of 16 (DDI 0314H 9.5).
#ifndef BOARD_DEVICE_FORMATTER_H
#define BOARD_DEVICE_FORMATTER_H

#include <stdbool.h>
#include <stdint.h>

enum { FRAME_BYTES_16 = 16, FRAME_REPEATS_ID = 8 };

struct formatter {
    uint8_t frame[FRAME_BYTES_16];
    unsigned at; // the next byte of the frame
    unsigned id;
    bool holds; // a byte whose place depends on the next one's source
    uint8_t held;
    unsigned unchanged; // frames since the last ID
};

// true: the frame is whole, and the caller takes it
bool formatter_put(struct formatter *, unsigned id, uint8_t byte);
// Pads what there is. false: there is nothing
bool formatter_flush(struct formatter *);

#endif
