/*
 * What the models of Armv7 and Armv8-A cores have in common: the script that they run instead of code, and
 * what can go wrong at an access. Each has its `struct model`.
 */
#pragma once

#include "links/link.h"

#include <signal.h>
#include <string.h>

enum { MODEL_MHZ = 100, MODEL_COST = 11 };

enum model_kind {
    MODEL_AT,    /* an address is reached */
    MODEL_AT32,  /* Armv8: the same in AArch32 state, at EL0 */
    MODEL_BKPT,  /* a BKPT or HLT instruction of the program's, at `pc` */
    MODEL_CATCH, /* Armv8: an exception that a debugger catches, whose vector is `pc` */
    MODEL_HALT,  /* another debugger asks for a halt, at `pc` */
    MODEL_RESET, /* the core is reset, and begins the script again */
};

struct model_event {
    enum model_kind kind;
    uint32_t cycles, grow; /* after the event before, and as many more in each round of the script */
    uint64_t pc, sp, lr;   /* Armv7: bit 0 of pc is Thumb */
    uint32_t user;         /* not 0: in User mode or at EL0, and this is CONTEXTIDR */
    uint32_t context;      /* Armv7: what it is in System mode */
};

enum model_trouble {
    MODEL_FINE,
    MODEL_CANCEL,
    MODEL_WAIT,   /* refused for now, with nothing done */
    MODEL_REFUSE, /* for good, with nothing done */
    MODEL_TWICE,  /* a read whose answer got lost, made again by the probe */
    MODEL_LOSE,
    MODEL_LOSE_AFTER,
    MODEL_DO_RESET,
    MODEL_DO_HALT,
    MODEL_DO_PEND
};

struct model;

static inline void model_load_event(struct model *m);
