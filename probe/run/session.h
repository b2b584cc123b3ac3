/* SPDX-License-Identifier: MIT */
/*
 * A session: the link and the target that a request names, with its program. What measures opens it, and must
 * close it whatever happens.
 */
#pragma once

#include "base/values.h"
#include "device/device.h"
#include "engine/engine.h"
#include "links/link.h"
#include "measure/result.h"
#include "report/canvas.h"
#include "run/request.h"
#include "symbols/symbols.h"

#include <stdbool.h>

enum { ELF_PATH = 512 };

struct journal_head;
struct named_region;

struct session {
    const struct request *request;
    const struct surroundings *around;
    /* What is done in it */
    const char *needs_name; /* a location that the program gives a meaning to; NULL: none */
    bool needs_elf;         /* whatever is named */
    bool may_stop;          /* the core is stopped anyway */
    bool polls;             /* it is counted between two moments of a running core, not between stops */
    bool tolerates_left;    /* what an earlier run has left on the target is only shown */
    bool restores;          /* it is what this session is for */

    struct symbols *symbols; /* NULL without an ELF */
    struct link *link;
    struct device device;
    struct journal *journal; /* of this run; NULL: none */
    bool lends_symbols;      /* another owner closes them */
    bool stop_named;         /* the error says where another one has halted the core */
    struct {
        char found[ELF_PATH];    /* the file that was not named; "" */
        bool by_core;            /* memory is read as the core sees it */
        bool shown_in_sleep;     /* memory of the sleeping core was right */
        bool may_be_other;       /* what it shows in sleep is not this ELF, which a note says */
        bool differs;            /* some of its code is another on the target */
        bool same_build;         /* its build ID is in place */
        char unseen[DOUBT_ROOM]; /* what of the whole program could not be compared; "": nothing */
        char other[64];          /* where its code is another; "" */
        struct extent *late;     /* functions to compare when the core first stops in them */
        size_t n_late, late_room;
        struct elf_doubt {
            struct extent code;
            char text[192];
        } * doubts; /* what is not shown of the code of functions; owned, as `late` */
        size_t n_doubts, doubts_room;
    } elf;
    struct {
        struct named_region *region; /* NULL: not a region */
        struct extent inside;        /* its code, as symbols_reach takes it; low 0: it is not known */
        bool may_sleep;              /* it has a WFI or WFE */
        bool by_parts;               /* many regions, each of which is searched by itself */
        bool may_watch, watches; /* the engine can watch for what changes the counter there; and it does */
        char own_write[112];     /* what own_code_check found first; "" */
        bool may_write;          /* and nothing shows whether it runs in a hit */
    } measured;
    struct code_places {
        uint64_t *at; /* owned */
        size_t n;
        bool known;
    } sleeps, asks; /* the program's WFI and WFE; its loads of DHCSR */
    struct {
        struct symbols_wait *items; /* owned: where the program waits for others */
        size_t n;
        bool known;
    } waits;
    struct {
        uint64_t at; /* SystemCoreClock, whose value is the clock; 0: another clock */
        uint32_t was;
        char change[96]; /* "" */
        bool stops;      /* so: the counter may stop while the core sleeps, and no other change is known */
        char doubt[160]; /* why a claimed clock was not believed; "" */
    } clock;
    struct {
        struct progress progress;
        bool shown;     /* that it takes long */
        bool was_reset; /* the target, meanwhile */
    } putting_back;
};

struct deadline session_deadline(const struct session *session);
/* For cleaning up: Ctrl-C, which often is its cause, does not cancel it, but begins the ending. */
struct deadline session_last_deadline(const struct session *session);

/*
 * Opening (session_open.c).
 */
const char *session_elf(const struct session *session); /* its name; "": none */
/* Link, target and the chosen core. */
bool session_reach_target(struct session *session, struct error *error);
/* Finds the target again, after everything done to it is undone. */
bool session_look_again(struct session *session, int number, struct error *error);
/* "main.c:88, main+0x12" or "0x10000200" */
void session_place(const struct session *session, uint64_t address, char *out, size_t size);
/* False, with ERROR_FOREIGN_STOP: where the core was seen halted by someone else (device->stopped_at). */
bool session_refuse_stop(const struct session *session, struct error *error);
/* Before a place of the user's or the program's goes into a register of a core of 32 bits, which would cut
 * it. */
bool session_check_address(const struct session *session, uint64_t address, const char *name,
                           struct error *error);
/* ERROR_USAGE if nothing can stop the chosen core. */
bool session_check_run_control(const struct session *session, struct error *error);
/* False with ERROR_USAGE if nothing can be read while the core runs, which `command` needs. */
bool session_sees_running(const struct session *session, const char *command, struct error *error);
/* A word of the program's memory; false where it cannot be read, or only in a sleep that may show another. */
bool session_look(struct session *session, const struct core *core, uint64_t address,
                  const struct deadline *deadline, uint32_t *out);
/* Takes the core, which goes on after it; from here on the target is changed. */
bool session_take_core(struct session *session, bool resume, struct error *error);
/* The same, and its counter. */
bool session_take(struct session *session, struct error *error);
/* To the region's doubt: what other cores may do. */
void session_add_doubt(const struct session *session, struct named_region *named);
/* Fills what the session knows of the conditions. */
void session_conditions(struct session *session, const struct clock *clock, struct conditions *out);
void conditions_add_note(struct conditions *conditions, const char *text); /* "": none */

/*
 * What an earlier run has left, and this run's journal (session_undo.c).
 */
/* What a run that did not end has left there: ERROR_LEFT. A journal of which nothing is left is removed. The
 * link must be ours, so no other run can be under way. */
bool session_check_left(struct session *session, struct error *error);
/* The same of a run whose journal is cut, always false; and what is to be done without a journal. */
bool session_unknown_left(const struct session *session, const struct journal_head *head,
                          struct error *error);
const char *session_without_journal(const struct session *session); /* NULL: of no link */
/* All of the target was released: what such a run has left is gone, too. */
void session_forget_cut(struct session *session);
void session_begin_journal(struct session *session);
/* The ledger writes this journal, NULL for none. The user gets a warning if it cannot be written. */
void session_use_journal(struct session *session, struct journal *journal);
/* "14:02", or with the day before it if that is not today. */
void session_when(int64_t seconds, char *out, size_t size);

/*
 * Engines, and undoing (session_undo.c).
 */
/* The engine that suits the run control of the chosen core. NULL on error. */
struct engine *session_engine(struct session *session, struct error *error);
/* Removes the engine's breakpoints, as often as session_undo tries. */
bool session_disarm(struct session *session, struct engine *engine, struct error *error);
/* The end of an engine's use, which may have failed by `why`: disarms it, names the place of a foreign stop,
 * and checks what the counts depend on. False with `after`, which may be why an awaited stop did not occur.
 */
bool session_end_engine(struct session *session, struct engine *engine, struct error *why,
                        struct error *after);
/* Says what an undoing has left alone, and why. */
void session_tell_left(const struct session *session);
/* Restores the target, as often as a lost link may be there again and the ending lasts; the core goes on. */
bool session_undo(struct session *session, struct error *error);
/* Does part of it again and again, as long as the link may answer once more and the user has not cut it
 * short. */
bool session_undo_insist(struct session *session,
                         bool (*undo)(void *, const struct deadline *, struct error *), void *what,
                         struct error *error);
/* Restores the target and closes everything; false with `error` if something could not be restored. */
bool session_close(struct session *session, struct error *error);
/* After everything was put back: if Ctrl-C left the other side no time for its answer, the lost connection
 * was not a failure. */
void session_forgive(const struct session *session, struct error *error);
/* Puts the target back after work that was done (`ok`) or failed with `error`, to which it adds what is known
 * then, and closes the session unless it stays open. `after`: why the target was not put back. */
void session_settle(struct session *session, bool stays_open, bool ok, struct error *error,
                    struct error *after);
/* session_close after work that was done (`ok`) or failed with `error`, which says what was left. False: one
 * of them failed. */
bool session_finish(struct session *session, bool ok, struct error *error);
/* Adds why the target was not put back to an error, or makes it one; false if it was not. */
bool session_add_failure(const struct error *after, bool ok, struct error *error);
