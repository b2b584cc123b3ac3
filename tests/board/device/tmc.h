// CoreSight's Trace Memory Controller as an ETF of 4 KB (DDI 0461B): frames in, words out, as a circular
// buffer or a FIFO that software reads.
#ifndef BOARD_DEVICE_TMC_H
#define BOARD_DEVICE_TMC_H

#include "device/formatter.h"

enum { TMC_WORDS = 1024 };

struct tmc {
    uint32_t memory[TMC_WORDS];
    unsigned read, level; // words
    bool full;            // the circular buffer has wrapped
    bool capturing, stopped;
    uint32_t mode, formatting, trigger, watermark, sync;
    unsigned most; // the highest level since that was read
    struct formatter formatter;
};

void tmc_power_on(struct tmc *);
// Whether it takes a byte now, and what it does with one
bool tmc_takes(const struct tmc *);
void tmc_take(struct tmc *, unsigned id, uint8_t byte);
uint32_t tmc_read(struct tmc *, uint32_t offset);
void tmc_write(struct tmc *, uint32_t offset, uint32_t value);

#endif
