/*
 * What the files of this room share. Each request to a link is one function for both ways: it says what it
 * asks (wire_ask), a recording carries it out, and each part of the answer passes through a wire_* function
 * that writes it to the file, or takes it from there. So a file has no form that one way writes and the other
 * cannot read.
 */
#pragma once

#include "base/deadline.h"
#include "wire/wire.h"
#include "wire/words.h"

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
    int fd;
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
void wire_write(struct wire *wire); /* `out` goes to the file */
void wire_note_time(struct wire *wire, int64_t now_us);
void wire_flush_times(struct wire *wire); /* to `out` */
void wire_note_signals(struct wire *wire);
char wire_peek(struct wire *wire); /* how the next line begins; '\0': there is none */
bool wire_next(struct wire *wire, struct words *out);
void wire_skip_readings(struct wire *wire);
void wire_take_signals(struct wire *wire);
void wire_advance(struct wire *wire, int64_t us);
