/* SPDX-License-Identifier: MIT */
/*
 * What the files of this room share. Each request to a link is one function for both ways: it says what it
 * asks (wire_ask), a recording carries it out, and each part of the answer passes through a wire_* function
 * that writes it to the file, or takes it from there. So a file has no form that one way writes and the other
 * cannot read.
 */
#pragma once

#include "base/deadline.h"
#include "base/output.h"
#include "wire/wire.h"

/*
 * Lines of a recording: words with blanks between. Numbers are hexadecimal unless the function says decimal;
 * texts are in quotes, and what is not printable in them is escaped. Reading trusts nothing: each function
 * returns false where the line does not go on with what is asked for.
 */
/* A line under construction. */
struct line {
    char *bytes; /* NULL: empty */
    size_t used, room;
    bool failed; /* out of memory: something is missing */
};

void line_add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
void line_add_text(struct line *line, const char *text);
void line_add_bytes(struct line *line, const uint8_t *bytes, size_t n);
void line_clear(struct line *line);
void line_free(struct line *line);

/* What is left of a line that ends with '\0'. */
struct words {
    const char *at;
};

bool words_are_over(const struct words *words);
/* The next word begins with this character, which is taken. */
bool words_take(struct words *words, char first);
bool words_number(struct words *words, uint64_t most, uint64_t *out);
bool words_decimal(struct words *words, uint64_t most, uint64_t *out);
/* Too long a text is refused. */
bool words_text(struct words *words, char *out, size_t size);
bool words_bytes(struct words *words, uint8_t *out, size_t n);

/*
 * Each text has a number from its first use on. The numbers count from 1, in the order in which texts were
 * added.
 */
struct saying {
    size_t number;
    uint64_t result; /* of a step: the last one */
    char *answer;    /* to a request: the last one; NULL: none */
    char text[];
};

struct dictionary {
    struct saying **sayings;
    size_t n, room;
    void *tree;
};

/* NULL: it has not been added. */
struct saying *dictionary_find(const struct dictionary *dictionary, const char *text);
/* NULL: out of memory. What has been added before is returned again. */
struct saying *dictionary_add(struct dictionary *dictionary, const char *text);
/* NULL: no text has this number. */
struct saying *dictionary_at(const struct dictionary *dictionary, uint64_t number);
void dictionary_free(struct dictionary *dictionary);

enum { WIRE_VERSION = 1 };

struct wire {
    const char *name;
    bool replays;
    struct wire_run run;
    struct deadline_clock clock;
    struct error failure; /* what ends it: a write that failed, a divergence; or ERROR_NONE */
    char origin[512];     /* the recorded run, in words */
    struct dictionary steps, requests, texts;
    struct saying **asked, **before; /* the steps of the list under way, and of the one before it */
    size_t asked_room, n_before, before_room;
    struct saying *request;
    uint64_t count; /* of requests */
    bool inside;    /* one is under way: time is the host's, or does not go on */
    uint64_t link_us;
    int64_t began_us, noted_us;
    int64_t wall_s;
    sig_atomic_t signals; /* as noted */
    struct line line;     /* the answer under way; in a replay the request */
    /* Of a recording */
    struct output output;
    bool writes, linked; /* a write that failed was the last; the link was opened */
    struct line out, times;
    /* Of a replay */
    char *text, *at, *end;
    size_t number; /* of the line that was taken last */
    struct words words, readings;
    int64_t now_us;
};

/* False: it has failed, and `error` says so. */
bool wire_ask(struct wire *wire, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool wire_ask_steps(struct wire *wire, const struct step *steps, size_t n, struct error *error);
/* The answer begins. Its parts, in a replay: zeros if it has failed. */
void wire_answer(struct wire *wire);
void wire_flag(struct wire *wire, bool *flag);
void wire_number(struct wire *wire, uint64_t most, uint64_t *number);
void wire_text(struct wire *wire, char *text, size_t size);
void wire_bytes(struct wire *wire, void *bytes, size_t n);
void wire_outcome(struct wire *wire, const struct step *steps, size_t n, struct outcome *outcome,
                  uint64_t *results);
/* The answer is complete. False: it has failed; then `error` says so. */
bool wire_answered(struct wire *wire, struct error *error);
/* The same with the link's error as the last part, which `error` takes over. */
bool wire_closed(struct wire *wire, struct error *why, struct error *error);
/* The whole answer of what works or does not. Takes both ways' `ok` and `why`. */
bool wire_worked(struct wire *wire, bool ok, struct error *why, struct error *error);

/* The words of a step. */
void wire_step(struct line *line, const struct step *step);
/* Always false. The first failure counts; it ends the run as Ctrl-C does. */
bool wire_fail(struct wire *wire, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Always false: the line taken last is not what it must be. */
bool wire_damaged(struct wire *wire);

/* Lines of the file. */
void wire_write(struct wire *wire);       /* `out` goes to the file */
void wire_flush_times(struct wire *wire); /* to `out` */
void wire_note_signals(struct wire *wire);
char wire_peek(struct wire *wire); /* how the next line begins; '\0': there is none */
bool wire_next(struct wire *wire, struct words *out);
void wire_skip_readings(struct wire *wire);
void wire_take_signals(struct wire *wire);
void wire_advance(struct wire *wire, int64_t us);
