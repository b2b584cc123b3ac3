/* SPDX-License-Identifier: MIT */
/*
 * Events that the counters of a core can count, by name, code and a few words. The sets are text files in
 * probe/events, which the build embeds: a set each, or several that each begin with a line `set NAME`. A set
 * may take over another's events with `use`. Also parses the argument of -e.
 */
#pragma once

#include "base/error.h"
#include "counters/counter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Spans: cuts event and metric files, and the text after -e, into lines and words. Any bytes are safe. */

struct span {
    const char *at;
    size_t n;
};

struct lines {
    struct span rest;
    unsigned line; /* the number of the last line that was taken */
};

/* For printf's "%.*s"; at most as much as a message should quote. */
#define SPAN_QUOTE(span) (int)((span).n < 40 ? (span).n : 40), (span).at

/* The next line that is not empty, without comment and surrounding blanks. False at the end. */
bool lines_next(struct lines *lines, struct span *line);
struct span span_trimmed(struct span span); /* without the blanks around it */
/* Takes the first word off; false when there is none. */
bool span_word(struct span *rest, struct span *word);
bool span_is(struct span span, const char *word);
/* False when it does not fit with its NUL, or holds a NUL. */
bool span_copy(struct span span, char *out, size_t size);
/* No control characters, nothing beyond ASCII. */
bool span_is_printable(struct span span);

/* [A-Za-z0-9_.:=-], and not read as a code instead. */
bool span_is_event_name(struct span span);
/* An event's code in place of a name: perf's r11, or 0x11. */
bool span_is_code(struct span span, uint32_t *code);

struct event {
    uint32_t code;
    char name[EVENT_NAME];
    char words[96];
};

/* Why a core counts an event wrongly. */
struct event_erratum {
    uint32_t code;
    uint16_t part;       /* in MIDR */
    uint8_t first, last; /* which revisions: variant << 4 | revision */
    bool is_vague;       /* the source does not say which: all are taken for affected */
    char number[16], words[96];
};

struct event_set;

extern const char events_advice[]; /* for who names another event or metric */

/* By its name ("cortex-a9", "dwt"), in any case. NULL: there is none. */
struct event_set *event_set_open(const char *cpu, struct error *error);

/*
 * `other` finds the text of a set that is named after `use`, NULL: none. Lines are:
 *     use SET                  its events belong to this one too,
 *     except 0x08 0x13-0x1D    but for these,
 *     use SET 0x08 0x13-0x1D   these alone do,
 *     0x11 CPU_CYCLES words    an event,
 *     erratum 0x68 740663 0xC09 r0p0-r3p0 words    why that part counts it wrongly; in place of the revisions
 *                              `any`: the source does not say which.
 * Codes and names are unique in a set. ERROR_USAGE with the line for anything else.
 */
struct event_set *event_set_parse(const char *text, size_t n,
                                  const char *(*other)(void *self, const char *name, size_t *n), void *self,
                                  struct error *error);
void event_set_free(struct event_set *set);

size_t event_set_count(const struct event_set *set);
const struct event *event_set_at(const struct event_set *set, size_t i);
const struct event *event_set_find(const struct event_set *set, const char *name); /* in any case */
const struct event *event_set_by_code(const struct event_set *set, uint32_t code);

enum { EVENT_ERRATA = 320 };
/* In MIDR's place of the revision: of any. */
#define EVENT_ANY_REVISION UINT32_C(0x00F0000F)
/* "erratum 740663: ..." of each that this core has; `event` may have modifiers. Those with the number `but`
 * in them are left out. "": it has none. `set` may be NULL. */
void event_errata(const struct event_set *set, const char *event, uint32_t midr, const char *but,
                  char out[EVENT_ERRATA]);

/* The names of all embedded sets, sorted. */
size_t event_cpus(const char *const **names);
/* Whether a set has what an architecture names, for cores whose own events are not known: "armv7-common". */
bool event_set_is_generic(const char *cpu);

struct event_request {
    char name[EVENT_NAME]; /* as typed */
    uint32_t code;         /* if by_code */
    bool by_code;
    unsigned group; /* 0: alone; those with the same number must be counted together */
};

/* Appends "CPU_CYCLES,{LD_RETIRED,ST_RETIRED},r11,0x11" to the *n requests in `out`, which an error
 * (ERROR_USAGE) leaves unchanged. */
bool event_requests_parse(const char *text, struct event_request *out, size_t room, size_t *n,
                          struct error *error);
/* Whether perf calls an event so, on any processor. */
bool event_is_generic(const char *name);
/* Replaces codes by the names that the set has for them, and perf's generic names (cycles, instructions,
 * cache-misses ...) by those of events that the block can count. `set` may be NULL. */
void event_requests_name(struct event_request *requests, size_t n, const struct event_set *set,
                         const struct counter_block *block);
