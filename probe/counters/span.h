/* Spans: cuts event and metric files, and the text after -e, into lines and words. Any bytes are safe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
