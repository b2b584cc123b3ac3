/* SPDX-License-Identifier: MIT */
/*
 * The journal: the ledger on disk. It has what it takes to put a target back if the run that changed it does
 * not end: killed, crashed, cut off. Each held register is in the file, with its old value, before the first
 * write to it. The file is removed when everything is put back.
 *
 * A journal is a file of lines in the state folder, one for each link and core. A file that cannot be
 * written on (the disk is full) is cut: its run goes on all the same, so that it lists less than was written.
 */
#pragma once

#include "base/error.h"
#include "base/step.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    JOURNAL_WROTE = 8,
    JOURNAL_WORDS = 32,
    JOURNAL_ENTRIES = 4096,
    JOURNAL_BORROWED = 64,
    JOURNAL_PATH = 4096
};

/* What the journal is of. */
struct journal_head {
    char link[256];    /* link_identity */
    char command[32];  /* "delta" */
    char core[48];     /* its name, */
    uint32_t id;       /* CPUID or MIDR, */
    uint64_t debug;    /* the address of its debug registers */
    uint16_t unit;     /* on this unit, */
    unsigned number;   /* and which one of the cores that the link shows */
    bool was_halted;   /* before the run */
    int64_t started_s; /* since 1970 */
    long process;
    /* How to connect again: options of pmu-probe */
    char words[JOURNAL_WORDS][256];
    size_t n_words;
};

/* A held register. */
struct journal_entry {
    unsigned id;
    struct address at;
    struct restore restore;
    uint64_t old;
    /* A register that cannot be read: what it was written for holds while (status & test) == set. Size 0: it
     * can be read. */
    struct address status;
    uint64_t test, set;
    uint64_t wrote[JOURNAL_WROTE]; /* values that the run wrote, */
    size_t n_wrote;
    bool wrote_others; /* and maybe further ones */
    bool used;         /* the program has code that sets restore.starts */
};

/* --- writing it ----------------------------------------------------------------------------------------- */

struct journal; /* NULL: none is kept; what is below does nothing then */

/* No file is made yet. NULL on error: there is no place for it. */
struct journal *journal_new(const struct journal_head *head, struct error *error);
/* That of a run that did not end, while it is put back: what is written to the target meanwhile is noted,
 * too, and nothing here removes the file. To one that is cut only what is borrowed can be added. */
struct journal_file;
struct journal *journal_reopen(const struct journal_file *file, struct error *error);
/* Another ledger starts to use it, whose numbers begin again. */
void journal_begin(struct journal *journal);
/* From here on `entry` is held, before number `index` of those held so far. */
void journal_hold(struct journal *journal, size_t index, const struct journal_entry *entry);
/* A value that is about to be written there. */
void journal_wrote(struct journal *journal, unsigned id, uint64_t value);
void journal_wrote_others(struct journal *journal, unsigned id);
/* It is put back, or its new value stays. */
void journal_drop(struct journal *journal, unsigned id);
/* The steps that give back what is borrowed of the program from here on; n 0: nothing is. False: they are not
 * noted. */
bool journal_borrow(struct journal *journal, const struct step *steps, size_t n);
/* Before a write to the target: the file is there, and what was noted so far is on disk. False if that
 * failed; then it is not tried again, and the warning was given. */
bool journal_sync(struct journal *journal);
/* Called once, when nothing more can be written: "PATH: No space left on device". */
struct journal_warning {
    void *context;
    void (*tell)(void *context, const char *problem);
};
void journal_warn(struct journal *journal, struct journal_warning warning);
/* Everything is put back: removes the file, unless something of the program is still borrowed. */
void journal_end(struct journal *journal);
void journal_free(struct journal *journal); /* leaves the file; NULL is allowed */

/* --- reading it ----------------------------------------------------------------------------------------- */

struct journal_file {
    char path[JOURNAL_PATH];
    struct journal_head head;
    struct journal_entry *entries; /* in the order of the ledger */
    size_t n, earlier; /* the first of them are of the run; the others, of a restore that did not end */
    struct step borrowed[JOURNAL_BORROWED];
    size_t n_borrowed;
    bool cut;      /* it could not be written on: its run may have written more to the target */
    bool headless; /* nothing but its name and time is known */
};

/* ERROR_USAGE: not a journal. `out` must be freed only if this succeeds. */
bool journal_read(const char *path, struct journal_file *out, struct error *error);
/* The same of bytes in memory. */
bool journal_parse(const char *bytes, size_t size, struct journal_file *out, struct error *error);
/* The program whose registers were borrowed is gone; the file says so from here on. */
void journal_forget_borrowed(struct journal_file *file);
void journal_file_free(struct journal_file *file);
/* The paths of the journals that lie there, those of one link, which the caller has locked, or of all for
 * NULL; the later ones of a target are first. Only those of runs that ended are of use: the link's lock shows
 * that. */
size_t journal_list(const char *link, char (*paths)[JOURNAL_PATH], size_t room);
