/* SPDX-License-Identifier: MIT */
/*
 * Recordings of links: what a run asked of its link, what was answered, and what time it was (`--wire FILE`).
 * A replay (`-p replay:FILE`) answers from the file, so that the same command runs again without a probe.
 *
 * The cut is at the link (links/link.h, debuggers/debugger.h), because every access of every command passes
 * there, whatever the probe: one form of file, which people can read, for all of them. What our own protocol
 * code makes of packets is one level lower; `-vv` shows that. The journal, locks and the host's files stay
 * outside: a replay has no journal, and takes the same ELF.
 *
 * The file. Lines of words; numbers are hexadecimal, times are decimal microseconds since what was noted
 * before:
 *
 *     pmu-probe wire 1, pmu-probe 1.0     the format's version, the tool's
 *     command delta work -r 100           without folders
 *     elf "app.elf" 5 1a2b3c4d            its size and CRC-32; "elf -": none
 *     began 6543210 123456789 1           seconds since 1970; the monotonic clock; $PMU_PROBE_PATIENCE
 *     # chip ...                          a remark
 *
 *     s read4 m0 e000edf0                 a step; each one is written once, and has the next number
 *
 *     q run 1-7 2*5                       a request, in the same way; of a list of steps, their numbers
 *     q rest 4                            the last four steps of the list before, which goes on
 *
 *     t 12 3 !1 5                         readings of the clock since then; "!1": the first Ctrl-C
 *
 *     > 17 2                              request 2 is asked, 17 us after that
 *     < 153 D .6 +1f                      its answer, after 153 us: "D" as `letters` in exchange.c, then
 *                                         results: ".6" six as they were, "+1f" that much more, or the value
 *     end 0                               the exit code; without it the run was cut
 *
 * A request is written before it is carried out: what a run hung or was killed in is the last line.
 *
 * Time. While a run is recorded or replayed, all that reads the clock above the link reads it from here
 * (base/deadline.h). A replay that reads it more often than the run did gets times that go on slowly, so that
 * every wait ends; what it does not read is skipped. Signals occur where they were seen.
 */
#pragma once

#include "base/error.h"
#include "links/link.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

struct wire;

/* What a recording and its replay are about. */
struct wire_run {
    const char *version;
    int n; /* words of the command line; the first is the program's name */
    char *const *words;
    const char *elf; /* NULL: none */
    volatile sig_atomic_t *cancel;
    struct ending *ending;
};

/* NULL on error. From here on this thread's clock is the wire's, until wire_end. */
struct wire *wire_record(const char *path, const struct wire_run *run, struct error *error);
struct wire *wire_replay(const char *path, const struct wire_run *run, struct error *error);
/* The same of bytes, for tests; `name` is for messages. Takes `text`, which has room for a '\0' after it. */
struct wire *wire_replay_text(char *text, size_t size, const char *name, const struct wire_run *run,
                              struct error *error);
bool wire_replays(const struct wire *wire);
/* The FILE of "replay:FILE"; NULL: another probe. */
const char *wire_spec(const char *probe);

/* The link that `open` opens, recorded; a replay does not call it. NULL on error. */
struct link *wire_connect(struct wire *wire, struct link *(*open)(void *context, struct error *),
                          void *context, struct error *error);
/* A remark in the file. */
void wire_note(struct wire *wire, const char *text);

/* The run has ended. False: the file could not be written, or the replay is not what was recorded; then
 * `error` is that, whatever followed from it. */
bool wire_end(struct wire *wire, int code, struct error *error);
void wire_free(struct wire *wire); /* texts of errors may point into it; NULL is allowed */
