/*
 * Values: the text after an option. Each function returns false if it cannot read all of the text. None takes
 * signs, blanks, hexadecimal fractions or ambiguous text.
 */
#pragma once

#include "counters/counter.h"
#include "engine/engine.h"
#include "find/coresight.h"
#include "report/formats.h"

#include <stdbool.h>
#include <stdint.h>

/* "12M", "125MHz", "48k"; not "12m", which would be a millihertz. */
bool value_frequency(const char *text, double *out);
/* "500ms", "2s", "1.5min", "1h"; a number without a unit is multiplied by `plain`. */
bool value_seconds(const char *text, double plain, double *out);
/* A --load-offset as it is typed: "0x130000", "-0x1000" */
enum { VALUE_OFFSET = 20 };
void value_offset_text(uint64_t offset, char out[VALUE_OFFSET]);
/* Decimal, or hexadecimal after 0x. */
bool value_count(const char *text, uint64_t most, uint64_t *out);
/* "200", and other ways to write a whole number: "10k", "1e3", "2M". */
bool value_many(const char *text, uint64_t most, uint64_t *out);
/* One character, or \t for a tab. */
bool value_separator(const char *text, const char **out);
bool value_format(const char *text, enum format *out);
const char *value_format_name(enum format format);
/* "any", or a CONTEXTIDR */
bool value_process(const char *text, struct process *out);
/* What a call may use: "1200", "1200 cycles", "40us", "10 L1D_CACHE_REFILL". At least 1, and at most
 * INT32_MAX. */
struct budget_value {
    uint64_t events;        /* 0: a time is given */
    double seconds;         /* 0: events are given */
    char event[EVENT_NAME]; /* as typed; "CPU_CYCLES" for cycles and times */
};
bool value_budget(const char *text, struct budget_value *out);
/* AP:ADDR */
bool value_place(const char *text, struct place *out);
