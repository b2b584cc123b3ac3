/*
 * What whoever reads a stream can be shown: how wide a line may be, which characters, which colours. A stream
 * that is no terminal has 80 columns and no colour. main() calls setlocale once; tests choose their own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { TERMINAL_COLUMNS = 80 };

enum colour { COLOUR_BAD, COLOUR_GOOD, COLOUR_ODD, COLOUR_FAINT, COLOUR_END };

size_t terminal_columns(FILE *to);
bool terminal_is_dumb(void); /* TERM is "dumb" or missing: it knows no escape sequences */
bool terminal_has_utf8(void);
/* An escape sequence, or "": no terminal, a dumb one, or NO_COLOR is set. */
const char *terminal_colour(FILE *to, enum colour colour);
/* The first where UTF-8 is shown, else the second. */
const char *terminal_or(const char *utf8, const char *ascii);
/* utf8_clean, and in plain ASCII where nothing else is shown. */
const char *terminal_text(char *out, size_t size, const char *text);

/*
 * Text from outside (a server, an ELF, a command line) before it is printed: whatever is not valid UTF-8,
 * would steer a terminal or has no width of its own becomes U+FFFD. What is left is taken as one column a
 * character.
 */
/* Room that utf8_clean needs for a text of at most `size` bytes, its NUL included. */
#define UTF8_CLEAN_ROOM(size) (3 * (size))

/* Cut after the last whole character that fits. Returns `out`. */
const char *utf8_clean(char *out, size_t size, const char *text);
/* Characters in a clean text. */
size_t utf8_width(const char *text);

/*
 * A progress line for what takes more than a second: on a terminal only, rewritten in place, gone at the
 * end, so that neither a log nor the result ever shows it.
 */
struct progress {
    FILE *to;        /* NULL: not a terminal */
    int64_t next_us; /* not shown before */
    size_t width;    /* characters on the screen now */
    /* Of progress_count: the first of them, and the last. */
    uint64_t first, last;
    int64_t first_us, last_us;
};

void progress_begin(struct progress *progress, FILE *to);
/* Replaces the line; cheap enough to be called for every hit. */
void progress_show(struct progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same at once, before something that may take long. */
void progress_now(struct progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "120 of 1,000 hits, 3 s left"; `of` 0: nobody knows how many. `state` is told while none comes. */
void progress_count(struct progress *progress, uint64_t done, uint64_t of, const char *what,
                    const char *state);
/* Takes the line off the screen, so that something else can be printed. */
void progress_clear(struct progress *progress);
