/* SPDX-License-Identifier: MIT */
/* What the agent is given on its command line. */
#ifndef KNC_OPTIONS_H
#define KNC_OPTIONS_H

#include "registers.h"

struct agent_options {
    uint32_t address;
    uint16_t port;
    const char *root;  /* "": this system's own */
    const char *state; /* the state file; "none": none */
    uint32_t idle_s;   /* so long a client may say nothing */
    bool all;          /* every CPU that there is, instead of those in `wanted` */
    uint8_t wanted[REGISTERS_CPUS / 8];
    const char *wrong; /* the word that was not understood */
};

/* False: `wrong` says where. */
bool options_read(struct agent_options *options, int argc, char **argv);

#endif
