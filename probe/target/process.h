/*
 * Processes: whose code is meant, where an operating system gives each program addresses of its own. The core
 * tells them apart by what the system writes into CONTEXTIDR.
 */
#pragma once

#include <stdint.h>

struct process {
    enum {
        PROCESS_NOT_SAID, /* code in user mode is refused: it may be anyone's */
        PROCESS_ANY,
        PROCESS_ID,
    } which;
    uint32_t id; /* CONTEXTIDR */
};
