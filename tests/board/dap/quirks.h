// Faults of real probes, by name: `--dap-quirks no-match,count0`.
#ifndef BOARD_DAP_QUIRKS_H
#define BOARD_DAP_QUIRKS_H

#include <stdbool.h>

enum {
    QUIRK_NO_MATCH = 1 << 0,     // no-match: value matches are answered with a protocol error
    QUIRK_COUNT_ZERO = 1 << 1,   // count0: says that it takes 0 packets at once
    QUIRK_SHORT = 1 << 2,        // short: cuts the last byte off long replies
    QUIRK_NO_SEQUENCE = 1 << 3,  // no-sequence: does not know DAP_SWD_Sequence
    QUIRK_BLIND_MATCH = 1 << 4,  // blind-match: value matches succeed, whatever was read
    QUIRK_SIZE_ZERO = 1 << 5,    // size0: says that packets have no size
    QUIRK_NO_CAPS = 1 << 6,      // no-caps: does not say what it can do
    QUIRK_EMPTY = 1 << 7,        // empty: replies to transfers end after the command's number
    QUIRK_WRONG_ID = 1 << 8,     // wrong-id: replies to transfers begin with another command's number
    QUIRK_NO_BLOCK = 1 << 9,     // no-block: does not know DAP_TransferBlock
    QUIRK_FEWER_READS = 1 << 10, // fewer-reads: a match reads as often as its retries say, not once more
    QUIRK_LOSES_PLACE = 1 << 11, // loses-place: a match after a posted read is a read, its value are requests
    QUIRK_INVALID_MATCH = 1 << 12, // invalid-match: lists with a value match are answered by 0xFF
    QUIRK_LONG = 1 << 13,          // long: replies to transfers have a word too many
    QUIRK_PADDED = 1 << 14,        // padded: replies are filled up to the size of a packet
    QUIRK_SWO_STEPS = 1 << 15,     // swo-steps: its trace input has the baud rates 3 MHz / n alone

    // On USB: what is announced of packets at once is a lie
    QUIRK_MERGE = 1 << 16,       // merge: a packet that arrives before the one ahead is answered is swallowed
    QUIRK_LATE_LENGTH = 1 << 17, // late-length: a reply that waits is sent with the newer one's length
    QUIRK_LOST_REPLY = 1 << 18,  // lost-reply: while a reply waits, that to the next packet is dropped
    QUIRK_NO_ZLP = 1 << 19, // no-zlp: full packets do not end a transfer, unless it is as long as one can be

    QUIRK_CLOCK_RANGE = 1 << 20,   // clock-range: refuses clocks below 200 kHz and above 5 MHz
    QUIRK_CLOCK_FORGETS = 1 << 21, // clock-forgets: DAP_SWJ_Sequence puts the clock back to 1 MHz
    QUIRK_KEEPS_PORT = 1 << 22,    // keeps-port: refuses DAP_Connect until DAP_Disconnect
    QUIRK_FLOATS = 1 << 23,        // floats: without an acknowledge, lets go of SWDIO until DAP_Connect
    QUIRK_TRST_LOW = 1 << 24,      // trst-low: nTRST is low until DAP_SWJ_Pins raises it
    QUIRK_CROSSTALK =
        1 << 25, // crosstalk: above 4 MHz words whose bits alternate arrive damaged, parity right
};

// Names joined by commas. false: one of them is unknown.
bool quirks_parse(const char *text, unsigned *quirks);

#endif
