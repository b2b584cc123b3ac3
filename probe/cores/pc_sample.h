/* SPDX-License-Identifier: MIT */
/*
 * PC samples: registers that show where a core is while it runs. Which of them a core has, how a value
 * becomes an address, and how a look at the core shows why there is none. Makes steps and reads results only.
 * Sources: DDI 0403 C1.8.5 (Cortex-M), DDI 0406C C11.11 (Armv7), DDI 0487 H9.2 and I5.3 (Armv8).
 */
#pragma once

#include "cores/core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pc_form {
    PC_FORM_M,         /* the address */
    PC_FORM_V7_OFFSET, /* 8 beyond it; in Thumb state 4 beyond it, and bit 0 is set */
    PC_FORM_V7,        /* the address; bit 0 is set in Thumb state */
    PC_FORM_V7_TARGET, /* of the last branch, to a word; bits 1:0 as before */
    PC_FORM_V8,        /* two words, the low one first */
    PC_FORM_V8_LEVELS, /* the same, with the Exception level in the topmost bits */
};

enum { PC_SAMPLE_WORDS = 2, PC_SAMPLE_IDENTITY = 3, PC_SAMPLE_SETTINGS = 1, PC_LOOK_WORDS = 2 };

struct pc_sample {
    const char *name; /* of the register: "DWT_PCSR" */
    enum pc_form form;
    size_t words;
    bool by_block;                      /* it shows where the block of code begins, not the instruction */
    struct address at[PC_SAMPLE_WORDS]; /* to be read in this order: the first read fixes the second word */
    bool has_context;
    struct address context; /* CONTEXTIDR as it was at the sample that was read last */
};

/* The reads that show which register a core has. They work while it runs; nothing if none are needed. */
void pc_sample_add_identity(const struct core *core, struct steps *list);
/* False if it has none. A Cortex-M shows only by its samples whether it has one: see pc_sample_proves. */
bool pc_sample_identify(const struct core *core, const uint64_t *identity, struct pc_sample *out);
/* What must be set so that it shows anything, besides the core's own settings for a look. */
size_t pc_sample_settings(const struct core *core, struct setting *out, size_t room);

/* Returns the index of the first word. */
size_t pc_sample_add(const struct pc_sample *sample, struct steps *list);
/* False if the words hold no address: the core is halted, or is not to be seen where it runs. */
bool pc_sample_address(const struct pc_sample *sample, const uint64_t *words, uint64_t *address);
/* A register that is not implemented reads as 0. */
bool pc_sample_proves(const struct pc_sample *sample, const uint64_t *words);

struct pc_look {
    enum core_state state;
    bool reset; /* since the last look; the first look may report an old one */
    bool held;  /* in reset, or without power, right now */
    bool off;   /* the samples show nothing, until all is set once more */
};

/* Returns the index of the first of PC_LOOK_WORDS. */
size_t pc_sample_add_look(const struct core *core, struct steps *list);
struct pc_look pc_sample_look(const struct core *core, const uint64_t *words);
