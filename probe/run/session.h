/*
 * A session: the ELF, the link and the target. Every measuring command opens it, and must close it whatever
 * happens.
 */
#pragma once

#include "commands/command.h"
#include "device/device.h"
#include "engine/engine.h"
#include "links/dap/dap.h"
#include "links/link.h"
#include "measure/clock.h"
#include "measure/result.h"
#include "profile/sampler.h"
#include "report/progress.h"
#include "run/elf_search.h"
#include "symbols/symbols.h"

#include <stdbool.h>

/* Without --elf: whether the command goes on without, needs it for a name among its operands, or needs it. */
enum needs_elf { ELF_NOT_NEEDED, ELF_FOR_NAMES, ELF_NEEDED };

struct session {
    const struct context *context;
    enum needs_elf needs_elf;
    struct symbols *symbols; /* NULL without an ELF */
    char found[ELF_PATH];    /* the ELF that was not named; "" */
    struct link *link;
    struct device device;
    bool may_stop;           /* the command stops the core anyway */
    bool polls;              /* it counts between two moments of a running core, not between stops */
    bool tolerates_left;     /* what an earlier run has left on the target is only told */
    bool restores;           /* it is what this session is for */
    struct journal *journal; /* of this run; NULL: none */
    bool looks_by_core;      /* at memory, as the core sees it */
    struct progress putting_back;
    bool told;                     /* the user has seen that it takes long */
    bool stop_named;               /* the error says where another one has halted the core */
    bool lends_symbols;            /* someone else closes them */
    struct named_region *measured; /* NULL: not a region */
    struct extent inside;          /* its code, as symbols_reach takes it; low 0: it is not known */
    bool may_watch, watches;       /* the engine can watch for what changes the counter there; and it does */
    bool shown_in_sleep;           /* memory of the sleeping core was right */
    bool may_be_other;             /* what it shows in sleep is not this ELF, which was said */
    uint64_t clock_at;             /* SystemCoreClock, whose value is the clock; 0: another clock */
    uint32_t clock_was;
    char clock_change[96]; /* "" */
    uint64_t sleeps[64];   /* the program's WFI and WFE */
    size_t n_sleeps;
    bool sleeps_known, more_sleeps; /* more: than there is room for */
    char own_write[112];            /* what session_check_writes found first; "" */
};

/* The file of --elf. If a command that needs one got none, the target is connected first, and the newest file
 * there whose code it holds is taken, which a note says. */
bool session_open_elf(struct session *session, struct error *error);
const char *session_elf(const struct session *session); /* its name; "": none */
/* Link, target and the chosen core. */
bool session_reach_target(struct session *session, struct error *error);
/* What a run that did not end has left there: ERROR_LEFT. A journal of which nothing is left is removed. The
 * link must be ours, so no other run can be under way. */
bool session_check_left(struct session *session, struct error *error);
/* The same of a run whose journal is cut, always false; and what is to be done without a journal. */
struct journal_head;
bool session_unknown_left(const struct journal_head *head, struct error *error);
extern const char session_without_journal[];
/* All of the target was released: what such a run has left is gone, too. */
void session_forget_cut(const struct session *session);
/* The ledger writes this journal, NULL for none. The user gets a warning if it cannot be written. */
void session_use_journal(struct session *session, struct journal *journal);
/* "14:02", or with the day before it if that is not today. */
void session_when(int64_t seconds, char *out, size_t size);
/* Finds the target again, after everything done to it is undone. */
bool session_look_again(struct session *session, int number, struct error *error);
/* The same, and checks that the target runs the ELF. Changes nothing yet. */
bool session_open_target(struct session *session, struct error *error);
/* ERROR_USAGE if nothing can stop the chosen core. */
bool session_check_run_control(const struct session *session, struct error *error);
/* Takes the core and its counter: from here on the target is changed. */
bool session_take(struct session *session, struct error *error);
/* False with ERROR_USAGE if nothing can be read while the core runs, which `command` needs. */
bool session_sees_running(const struct session *session, const char *command, struct error *error);
bool session_clock(struct session *session, struct clock *out, struct error *error);
/*
 * Checks the program's own code, as far as the ELF tells: ERROR_WRITER_SOUGHT if it can change the counter in
 * use in what is measured (session_measures), or in an exception handler of a Cortex-M; if elsewhere, a note
 * says so.
 */
bool session_check_writes(struct session *session, struct error *error);
/* Whether another try may do better than the one that ended with `why`: from here on, session_check_writes
 * lets the engine watch for such an instruction, where it can. */
bool session_watch_writes(struct session *session, const struct error *why);
/* Has the engine watch for what changes the counter in use, in `code` and in handlers: region->writers, and
 * in *first the first such instruction, if there are any. False: it cannot. */
bool session_watch_region(struct session *session, const struct extent *code, struct region *region,
                          uint64_t *first);
/* Whether this code, or what it calls, changes the counter in use: "main.c:96 (reset_timer) writes
 * DWT_CYCCNT"
 */
bool session_writes_inside(const struct session *session, const struct extent *ranges, size_t n, char *out,
                           size_t size);
/* Checks the program's code, measures the clock and tries the counter in use. */
bool session_try_counter(struct session *session, struct clock *clock, double *seen_hz, struct error *error);
/* The same; if something else writes it, session_take_other; then session_watch_writes. */
bool session_trial(struct session *session, struct clock *clock, double *seen_hz, struct error *error);
/* The same with another counter of the core. False with `why` if it has none, if `why` is no reason for
 * another one, or if the user named a counter or events. */
bool session_take_other(struct session *session, const struct error *why, struct clock *clock,
                        double *seen_hz, struct error *error);
/* "": each task stays on its core, as far as is known. */
const char *session_cores_note(const struct session *session);
/* Fills what the session knows of the conditions. */
void session_conditions(struct session *session, const struct clock *clock, struct conditions *out);
/* Reads SystemCoreClock again, if it is the clock: "SystemCoreClock went from ...", "" if it is as before. */
/* A word of the program's memory; false where it cannot be read, or only in a sleep that may show another. */
bool session_look(struct session *session, const struct core *core, uint64_t address,
                  const struct deadline *deadline, uint32_t *out);
const char *session_clock_change(struct session *session);
/* At the end of a run: removes a clock that has changed since, as its times would be wrong. */
void session_end_conditions(const struct session *session, struct conditions *conditions);
void conditions_add_note(struct conditions *conditions, const char *text); /* "": none */
/* Of a WFI or WFE of the code, or of what it calls by a number; "": there is none. */
enum { SLEEP_NOTE = 256 };
void session_sleep_note(struct session *session, const struct extent *code, char *out, size_t size);
/* For a sampler_code, whose context is the session. */
enum sampler_place session_sampled_place(void *session, uint64_t address);
/* "main.c:88, main+0x12" or "0x10000200" */
void session_place(const struct session *session, uint64_t address, char *out, size_t size);
/* Repeats `undo` until it works: a few times, or while a lost link may come back and the ending lasts. */
bool session_insist(struct session *session, bool (*undo)(void *, const struct deadline *, struct error *),
                    void *what, struct error *error);
/* Says what an undoing has left alone, and why. */
void session_tell_left(const struct session *session);
/* Restores the target; the core goes on. */
bool session_undo(struct session *session, struct error *error);
/* The engine that suits the run control of the chosen core. NULL on error. */
struct engine *session_engine(struct session *session, struct error *error);
/* Takes the engine's breakpoints away, with session_insist. */
bool session_disarm(struct session *session, struct engine *engine, struct error *error);
/* The end of an engine's use, which may have failed by `why`: disarms it, names the place of a foreign stop,
 * and checks what the counts depend on. False with `after`, which may be why an awaited stop did not come. */
bool session_end_engine(struct session *session, struct engine *engine, struct error *why,
                        struct error *after);
/* Restores the target and closes everything; false with `error` if something could not be restored. */
bool session_close(struct session *session, struct error *error);
/* After everything was put back: if Ctrl-C left the other side no time for its answer, the lost connection
 * was no failure. */
void session_forgive(const struct session *session, struct error *error);
/* The exit code of a measuring command, `code` if all went well. `after`: why the target was not put back. */
int session_exit(bool ok, int code, bool unwritten, const struct error *after, struct error *error);
/* session_close at the end of a command that did its work (`ok`) or failed with `error`. Returns the exit
 * code. */
int session_finish(struct session *session, bool ok, struct error *error);
/* For cleaning up: Ctrl-C, which often is its cause, does not cancel it, but begins the ending. */
struct deadline session_last_deadline(const struct session *session);
struct deadline session_deadline(const struct session *session);

/*
 * Connecting: the link that the options name, or the only one there is.
 */
enum { CONNECT_PROBES = 16 };

/* NULL on error. Without --probe: an OpenOCD on localhost, else the only CMSIS-DAP probe. */
struct link *connect_link(const struct context *context, struct error *error);
/* CMSIS-DAP probes that are plugged in. */
size_t connect_list(const struct context *context, struct dap_listed *out, size_t room);

/*
 * The region that the operands name, and what the ELF says of its calls and frames.
 */
struct named_region {
    struct location start, end;
    char file[512]; /* the whole path of the start's; since region_look_into */
    struct region region;
    enum frames frames;
};

/* The region of the function at `start`. */
void region_of_function(struct named_region *out, const struct options *options);
bool region_locate(struct named_region *out, struct symbols *symbols, const struct options *options,
                   struct error *error);
/* The same for a start and an end; `end` NULL: the function's return. */
bool region_locate_ends(struct named_region *out, struct symbols *symbols, const char *start, const char *end,
                        const struct options *options, struct error *error);
/* Where it begins and ends, for the header. */
void region_describe(const struct named_region *named, struct conditions *out);
/* The code between both ends; if they are in two functions it is not known, and `low` is 0. */
struct extent region_code(const struct named_region *named);
/* What is measured, for session_check_writes, which may fill its region's writers if the engine can watch for
 * them. */
void session_measures(struct session *session, struct named_region *named, bool may_watch);
/* Whether each core stops there. */
bool region_check_place(struct symbols *symbols, const struct location *at, struct error *error);
bool region_look_into(struct named_region *named, struct symbols *symbols, struct error *error);

/*
 * The proof that nothing is left on the target: prints what differs after a measurement from what was before.
 */
struct proof {
    size_t compared, moved, left, unknown; /* registers */
};

/* With operands the measurement is one of that region. `block`: the counters that are expected to be used. */
bool session_prove(struct session *session, const struct counter_block *block, struct proof *out,
                   struct error *error);

/*
 * The ELF check: the file is for a core like the chosen one, and the target runs it. Every address comes from
 * the file: with another program the numbers would be wrong.
 */
/* Whether a core can run such code, as far as the two identify themselves. Pure. */
bool elf_fits(const struct symbols_machine *machine, const struct core *core);
/* Whether the code at a core's PC is that of another place of the ELF alone: `by` is the --load-offset with
 * which it would be there. */
bool elf_find_moved(struct session *session, uint64_t pc, uint64_t *by);
/* Whether the core can run it, and memory has its code, as it can be seen while the core runs. */
bool elf_is_there(struct session *session);
/* The session must have chosen its core; true without an ELF. */
bool elf_check(struct session *session, struct error *error);
/* Whether the chip shows other than its memory while its core sleeps, as far as it sleeps within a moment. */
bool elf_hidden_in_sleep(struct session *session);
