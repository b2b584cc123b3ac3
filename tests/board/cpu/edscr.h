// The status and control of a core as Armv8's external debug registers show them, whichever Execution state
// it is in.
#ifndef BOARD_CPU_EDSCR_H
#define BOARD_CPU_EDSCR_H

// Why it halted, as EDSCR.STATUS says it (DDI 0487H H9.2.43)
enum v8_status {
    V8_STATUS_RUNNING = 0x02,
    V8_STATUS_BREAKPOINT = 0x07,
    V8_STATUS_REQUEST = 0x13,
    V8_STATUS_STEP = 0x1B,
    V8_STATUS_UNLOCK_CATCH = 0x23,
    V8_STATUS_RESET_CATCH = 0x27,
    V8_STATUS_HLT = 0x2F,
};

// EDSCR
#define EDSCR_ERR    (1u << 6)
#define EDSCR_HDE    (1u << 14)
#define EDSCR_NS     (1u << 18)
#define EDSCR_MA     (1u << 20)
#define EDSCR_TDA    (1u << 21)
#define EDSCR_INTDIS (3u << 22)
#define EDSCR_ITE    (1u << 24)
#define EDSCR_TXU    (1u << 26)
#define EDSCR_RXO    (1u << 27)
#define EDSCR_ITO    (1u << 28)
#define EDSCR_TXFULL (1u << 29)
#define EDSCR_RXFULL (1u << 30)
// EDECR and EDESR
#define EDECR_OSUCE (1u << 0)
#define EDECR_RCE   (1u << 1)
#define EDECR_SS    (1u << 2)

#endif
