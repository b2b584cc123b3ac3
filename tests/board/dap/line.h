// The line: one DP or AP transfer over SWD or JTAG, bit by bit, as a probe's firmware does it.
#ifndef BOARD_DAP_LINE_H
#define BOARD_DAP_LINE_H

#include "dap/pins.h"

// The low bits of a CMSIS-DAP transfer request
enum { LINE_AP = 1 << 0, LINE_READ = 1 << 1, LINE_ADDRESS = 0xC, LINE_RDBUFF = LINE_READ | 0xC };
// Acknowledges as CMSIS-DAP reports them
enum { LINE_OK = 1, LINE_WAIT = 2, LINE_FAULT = 4, LINE_NONE = 7, LINE_PROTOCOL = 8 };

enum { LINE_DEVICES = 8 };

struct line {
    struct pins *pins;
    bool jtag;
    unsigned turnaround; // cycles
    bool data_phase;     // also after WAIT and FAULT
    unsigned idle;       // cycles after a transfer
    bool crosstalk;      // words whose bits alternate arrive with two of them wrong
    unsigned devices, ir_length[LINE_DEVICES];
    unsigned index;       // the device that transfers speak to
    unsigned instruction; // its instruction register, 0 if unknown
};

// Returns the acknowledge. On JTAG `data` of a read is what the read before this one was for.
unsigned line_transfer(struct line *, unsigned request, uint32_t *data);
// Whether a read gives its value only with the next one
bool line_posts(const struct line *, unsigned request);
// Whether `request` can fetch what `before` has posted, and post its own
bool line_chains(const struct line *, unsigned before, unsigned request);
uint32_t line_idcode(struct line *);
unsigned line_abort(struct line *, uint32_t value);

#endif
