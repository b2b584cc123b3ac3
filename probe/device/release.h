/*
 * Release: the way back after a debugger that was killed, ourselves included. Takes away what stops a core,
 * whoever set it, and lets the core go. What it writes is to stay, so the ledger forgets it.
 */
#pragma once

#include "device/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct release_sink {
    void *context;
    /* Each that was taken away; where it was, if it was anywhere. */
    void (*removed)(void *context, const char *what, bool has_place, uint64_t place);
    /* Whether the ELF file says that this is inside a function. */
    bool (*is_code)(void *context, uint64_t address);
};

struct release {
    bool was_halted;
    uint64_t stood_at;
    bool may_have_borrowed;      /* its registers were being read: it may have lost some */
    bool breakpoint_instruction; /* it stands at one, which it cannot be let run over: it is left halted */
    bool halted_again;
    uint64_t stands_at;
};

/* Before release_stops: what of others could keep the core from being taken. `again`: something was, and the
 * target must be opened anew. */
bool release_first(struct device *device, const struct release_sink *sink, bool *again,
                   const struct deadline *deadline, struct error *error);
/* Takes the chosen core, which stays as it is: comparators, watchpoints, catches. */
bool release_stops(struct device *device, const struct release_sink *sink, const struct deadline *deadline,
                   struct error *error);
/* Breakpoint instructions in code that no comparator reaches, where the code beside them is as in the ELF
 * file. Data may lie between. */
bool release_code(struct device *device, uint64_t address, const uint8_t *bytes, size_t size,
                  const struct release_sink *sink, const struct deadline *deadline, struct error *error);
/* Last: the core runs from here on, unless `out` says otherwise. */
bool release_run(struct device *device, struct release *out, const struct deadline *deadline,
                 struct error *error);

/*
 * Reset: the chosen core, and the chip around it where the core can ask for that, starts anew and stands at
 * its first instruction. By the core's own registers; a server's reset is links/link.h's.
 */
/* After device_keep or device_take. Halts at the reset vector; what a reset clears of the core's own settings
 * is set again, the counters' are not. */
bool reset_and_halt(struct device *device, const struct deadline *deadline, struct error *error);
/* Where it stands then. */
bool reset_place(struct device *device, uint64_t *pc, const struct deadline *deadline, struct error *error);
/* Lets the core go from there. */
bool reset_run(struct device *device, const struct deadline *deadline, struct error *error);
