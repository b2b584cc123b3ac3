/* SPDX-License-Identifier: MIT */
/*
 * Steps and settings. A step is what a link executes. A measurement is a list of register accesses and waits;
 * a link runs the list as near to the target as it can. A setting is the value that a register needs during a
 * measurement, and how to restore it afterwards; the ledger makes steps of it. All of this is data and knows
 * nothing of cores or counters.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum space {
    SPACE_MEMORY, /* memory as one of the link's views sees it; unit = the view's number */
    SPACE_AP,     /* a register of an access port; unit = AP number, offset as in ADIv5 */
    SPACE_DP,     /* a register of the debug port */
    SPACE_MSR,    /* an x86 model-specific register; unit = CPU number */
    SPACE_CORE,   /* a register in CP15 or a System register: only the halted core reaches it, no link does */
};

struct address {
    uint8_t space; /* enum space */
    uint8_t size;  /* bytes of one access: 1, 2, 4 or 8 */
    uint16_t unit;
    uint64_t offset;
};

bool address_same(struct address a, struct address b);

enum op {
    OP_READ,   /* result: what was read */
    OP_WRITE,  /* result: unspecified */
    OP_UNTIL,  /* read again until (read & mask) == value; result: the read that matched */
    OP_EXPECT, /* a read with (read & mask) == value, else the list ends: UNEXPECTED; result: the read */
    OP_COPY,   /* a write of the result of the step `back` before it; result: unspecified */
    OP_CHECK,  /* OP_EXPECT on the result of the step `back` before it, without another read; result: that
                  result */
    OP_TIME,   /* result: microseconds on the link's own steadily running clock, see below */
};

/*
 * OP_TIME bounds when the steps around it reach the target. With value TIME_BEFORE the result is not later
 * than the step after it, with TIME_AFTER not earlier than the step before it.
 */
enum { TIME_BEFORE, TIME_AFTER };

enum { STEPS_MOST = UINT16_MAX }; /* a list's indexes have 16 bits */

/* What a step does to the core, or shows of it: from step to step it is known what the core does. */
enum step_mark {
    MARK_NONE,
    MARK_RUNS,      /* lets the core run */
    MARK_RUNS_HELD, /* the same, with interrupts held off */
    MARK_HOLDS,     /* the core stays halted and holds interrupts off */
    MARK_STEPS,     /* a single step */
    MARK_CONTROLS,  /* a halt, or the end of holding off */
    MARK_AWAITS_HALT,
    MARK_PROVES_STOP, /* proves that the core halted at our breakpoint */
    MARK_BORROWS      /* after it a register of the program may be changed, whose value is known by now */
};

/* A link may read more than once to compare. One that need not leaves out what mends that. */
enum step_reread {
    REREAD_FREE,  /* or what was read says */
    REREAD_HARMS, /* a second read sets an error */
    REREAD_MENDS  /* needed only after such a read */
};

struct step {
    struct address at;
    uint64_t value, mask;
    enum op op;
    enum step_mark mark;
    bool once; /* OP_EXPECT: a read changes the register, so that no second one decides */
    enum step_reread reread;
    uint16_t back; /* OP_COPY, OP_CHECK: how far before it the result is. OP_READ: it empties the register,
                      which as many steps before it have filled; 0: it does not */
    uint16_t
        since; /* the first step that gives something back: how far before it that is borrowed; 0: none */
    uint16_t gives; /* the same: how many steps give it back */
};

enum why {
    DONE,
    NOT_YET,      /* an OP_UNTIL used up its slice: the caller decides whether to go on from there */
    UNEXPECTED,   /* an OP_EXPECT did not match */
    TARGET_WAIT,  /* the target did not answer in time: asleep, or clocks off */
    TARGET_FAULT, /* the target refused the access */
    LINK_LOST,    /* unknown how far step `done` and those after it were carried out */
};

/* results[0..done) are valid, and nothing after step `done` touched the target. */
struct outcome {
    enum why why;
    size_t done;
    uint64_t saw; /* NOT_YET, UNEXPECTED: the last value read at step `done`; 0 if it is `once` */
};

struct step step_read(struct address at);
/* A read that empties a register. If its reply is lost, the `back` steps before it fill the register again.
 */
struct step step_read_emptying(struct address at, size_t back);
struct step step_write(struct address at, uint64_t value);
struct step step_until(struct address at, uint64_t mask, uint64_t value);
struct step step_expect(struct address at, uint64_t mask, uint64_t value);
struct step step_expect_once(struct address at, uint64_t mask, uint64_t value);
struct step step_reread(enum step_reread reread, struct step step);
struct step step_copy(struct address at, size_t back);
struct step step_check(size_t back, uint64_t mask, uint64_t value);
struct step step_time(unsigned which);
struct step step_marked(enum step_mark mark, struct step step);
/* Whether it is a write to what halts and resumes the core. */
bool step_controls(const struct step *step);

/* A list under construction. Adding to a full list only sets `overflow`; ledger_execute refuses such a list.
 */
struct steps {
    struct step *items;
    size_t n, room;
    bool overflow;
};

/* Returns the index at which the step's result will be found. */
size_t steps_add(struct steps *list, struct step step);

/*
 * Loans. A list that changes a register of the program, such as R0, gives it back itself. Loans may be
 * nested: then the later one is given back first. A list that ends in between owes what is open.
 */
struct loan {
    size_t from, end; /* the steps that give it back */
    bool known;       /* they need no result of the list */
    size_t since;     /* the first step after which a register of the program may be changed; SIZE_MAX: it is
                         only the core's debug control */
};

/* The steps from `from` to the end of the list give back what is borrowed after step `since`. */
void steps_give_back(struct steps *list, size_t since, size_t from);
/*
 * Whether a list of `n` steps that ended at `done` owes something. Then *out gives all of it back, once what
 * was under way is over: a wait may be in front of it. If *out ends early, it goes on as a list that ended
 * there.
 */
bool steps_loan(const struct step *steps, size_t n, size_t done, struct loan *out);
/* The first step from `from` on after which more is borrowed; n: there is none. */
size_t steps_next_loan(const struct step *steps, size_t n, size_t from);
/* What a list may owe that goes on at `done`: what is open there, else the next loan, if what gives it back
 * is known before the list runs. */
bool steps_loan_or_next(const struct step *steps, size_t n, size_t done, struct loan *out);
/* Whether both give back the same, as far as that is known before the list runs. */
bool steps_same_loan(const struct step *steps, const struct loan *one, const struct loan *other);

/* The access in words: "read 0x40000000 (4 bytes) on rp2040.core0"; `view` may be NULL. */
void step_name(const struct step *step, const char *view, char *out, size_t size);

enum restore_how {
    RESTORE_PLAIN, /* write (old & mask) | key */
    RESTORE_BITS,  /* only the bits of mask; the others keep their present value */
    RESTORE_OURS, /* those of mask that the run's own writes changed; bits outside of it, such as a key, are 0
                   */
    RESTORE_CLEAR_NEW, /* write-1-to-clear: clears bits of mask set since, at `clear` if given */
    RESTORE_PAIR,      /* a set register with its clear register at `clear`: bits restored one by one */
};

struct restore {
    enum restore_how how;
    uint64_t mask; /* bits to restore; 0: all */
    uint64_t key;  /* or-ed into a plain restore */
    struct address clear;
    bool only_ours;  /* it stops the core: what it holds is one value, and it is restored before all else */
    uint64_t exact;  /* of a counter's registers: bits of which each is as it was written, or something else
                        has  written them */
    uint64_t starts; /* bits that start a counter; a program may have begun to count with it */
    bool moves;      /* it changes by itself: it is not compared, and stays if what starts it stays on */
    bool ends_rest;  /* bits outside of the mask are nobody's setting, such as a single step that a debugger
                        did not end: they are cleared */
};

struct setting {
    struct address at;
    struct address test_at; /* the register to test, if not `at`; size 0: `at` */
    uint64_t test;          /* nothing is written when (old & test) == set already ... */
    bool always;            /* ... unless this is true */
    bool only_held;         /* never written, only restored */
    bool only_watched;      /* neither written nor restored, only watched */
    bool lock;              /* a lock: while it is closed, the 4 KB around it ignore writes */
    bool only_to_stop;      /* needed only if we stop the core */
    bool catches_resets;    /* while it is set a reset halts the core, and the program does not boot */
    uint64_t keep;          /* else (old & keep) | set | key is written */
    uint64_t set, key;
    struct restore restore;
    /* The register's name, if the counts depend on the tested bits: they must not change meanwhile */
    const char *watched;
};
