/* SPDX-License-Identifier: MIT */
/*
 * Release, and reset: the ways back after a debugger that was killed, ourselves included. Release removes
 * everything that stops a core, and lets the core run; what it writes stays, so the ledger forgets it. Reset
 * starts the core anew, and the chip around it if the core can ask for that; the core halts at its first
 * instruction. Both use the core's own registers; a server's reset is in links/link.h.
 */
#pragma once

#include "device/device.h"
#include "symbols/symbols.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct release_sink {
    void *context;
    /* Something was removed, at `place` if it had one. */
    void (*removed)(void *context, const char *what, bool has_place, uint64_t place);
    enum mapping (*mapping)(void *context, uint64_t address);
    /* A breakpoint instruction stays there, or what has the form of one: the ELF file does not distinguish
     * code from data. */
    void (*left)(void *context, uint64_t place);
    /* A comparator stays, for it is the program's own. NULL: nobody asks. */
    void (*own)(void *context, const char *what, uint64_t place);
};

struct release {
    bool was_halted;
    uint64_t stood_at;
    bool may_have_borrowed;      /* a debugger was reading its registers: some may be lost */
    bool breakpoint_instruction; /* it is left halted at one, for it would stop there again */
    struct own_breakpoint own;   /* where it was halted, or halted again */
    bool halted_again;
    uint64_t stands_at;
};

/* Before release_stops: removes what could keep us from the core. `again`: something was there, and the
 * device must be opened anew. */
bool release_first(struct device *device, const struct release_sink *sink, bool *again,
                   const struct deadline *deadline, struct error *error);
/* Comparators, watchpoints and catches of the chosen core, which runs or is halted as before. */
bool release_stops(struct device *device, const struct release_sink *sink, const struct deadline *deadline,
                   struct error *error);
/* Reports them as release_stops does, and writes nothing. */
bool release_look(struct device *device, const struct release_sink *sink, const struct deadline *deadline,
                  struct error *error);
/* Replaces breakpoint instructions in code that no comparator reaches, if the code next to them is as in the
 * ELF file. A variable next to the code may have the value of one: only what the file marks as code is
 * written. */
bool release_code(struct device *device, uint64_t address, const uint8_t *bytes, size_t size,
                  const struct release_sink *sink, const struct deadline *deadline, struct error *error);
/* Lets the core run, unless `out` says otherwise. `by_server`: a server that has halted it does that, with
 * the values of the program's registers that it keeps. */
bool release_let_go(struct device *device, bool by_server, struct release *out,
                    const struct deadline *deadline, struct error *error);
/* Last: the same, and switches debug off. */
bool release_run(struct device *device, struct release *out, const struct deadline *deadline,
                 struct error *error);

/* After device_keep or device_take. Halts at the reset vector. The core's own settings are made again, the
 * counters' are not. */
bool reset_and_halt(struct device *device, const struct deadline *deadline, struct error *error);
bool reset_place(struct device *device, uint64_t *pc, const struct deadline *deadline, struct error *error);
/* Of a core that was not halted before: it runs on from the catch, if it is there. */
bool reset_let_go(void *device, const struct deadline *deadline, struct error *error);
bool reset_run(struct device *device, const struct deadline *deadline, struct error *error);
/* After reset_and_halt: lets the core run, on a Cortex-M with debug off, so that the program sees no
 * debugger. After a server's reset, which lets it run: whether it is halted_again, at `stands_at`. */
bool reset_end(struct device *device, struct release *out, const struct deadline *deadline,
               struct error *error);
