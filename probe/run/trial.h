/* SPDX-License-Identifier: MIT */
/*
 * Which counter a run takes and by which clock: what the program writes itself, and what is tried for a
 * moment, decides; and whether the clock was the same at the end. The program's own instructions that matter
 * for this are those that the ELF shows: which change the counter in use, and at which the core may sleep.
 */
#pragma once

#include "base/values.h"
#include "profile/sampler.h"
#include "run/region.h"
#include "run/session.h"

/* What is measured, for own_code_check, which may fill its region's writers if the engine can watch for
 * them. */
void own_code_measured(struct session *session, struct named_region *named, bool may_watch);
/* ERROR_WRITER_SOUGHT if the program can change the counter in what is measured, or in an exception handler
 * of a Cortex-M. A note says so if what is measured is the whole program, is not known, or calls what only
 * registers show. */
bool own_code_check(struct session *session, struct error *error);
/* Joins to a summary's doubt that the program itself may write the counter in a hit, and program_doubt. */
void own_code_doubt(const struct session *session, const struct region *region, char doubt[DOUBT_ROOM]);
/* Whether another try may do better than the one that ended with `why`: from here on, own_code_check lets
 * the engine watch for such an instruction, where it can. */
bool own_code_watch(struct session *session, const struct error *why);
/* Has the engine watch for what changes the counter in use, in `code` and in handlers: region->writers, and
 * in *first the first such instruction, if there are any. False: it cannot. */
bool own_code_watch_region(struct session *session, const struct extent *code, struct region *region,
                           uint64_t *first);
/* Whether this code, or what it calls, changes the counter: "main.c:96 (reset_timer) writes DWT_CYCCNT" */
bool own_code_writes_inside(const struct session *session, const struct extent *ranges, size_t n, char *out,
                            size_t size);

/* Adds what is not proved of the region: session_add_doubt's, and that its code waits for hardware. */
void own_code_doubts(struct session *session, struct named_region *named);

enum { OWN_CODE_VECTORS = 512 };
/* The handlers that the target has now, of a Cortex-M, and the exceptions' numbers, unless NULL; both have
 * room for OWN_CODE_VECTORS. Those of faults only if they may return. What cannot be read has none. */
size_t own_code_handlers(struct session *session, struct extent *out, uint16_t *numbers);
/* Whether the program leaves its table of handlers as it is, by the ELF. */
bool own_code_keeps_handlers(struct session *session);

/* Of a WFI or WFE in the code, or in what it calls by a number; "": there is none. */
void own_code_sleep_note(struct session *session, const struct extent *code, char *out, size_t size);
/* So, of a Cortex-M's load of DHCSR, by which a program sees that a debugger is there. */
void own_code_debugger_note(struct session *session, const struct extent *code, char *out, size_t size);
/* For a sampler_code, whose context is the session. */
enum sampler_place own_code_sampled(void *session, uint64_t address, uint64_t *sleeps_at);

bool trial_clock(struct session *session, struct clock *out, struct error *error);
/* Measures a clock that no one claims for longer, until it is well within what SWO's baud bears. *awake_hz:
 * the fastest that it was for a moment, as CYCCNT may stop while the core sleeps. */
bool trial_trace_clock(struct session *session, struct clock *clock, double *awake_hz, struct error *error);
/* The largest ring in the buffer that --trace-ram names, for trace; without that *bytes is 0. ERROR_USAGE. */
bool trial_trace_ring(const struct session *session, uint64_t *base, uint32_t *bytes, struct error *error);
/* Checks the program's code, measures the clock and tries the counter in use. */
bool trial_counter(struct session *session, struct clock *clock, double *seen_hz, struct error *error);
/* The same with another counter of the core. False with `why` if it has none, if `why` is not a reason for
 * another one, or if the request names a counter or events. */
bool trial_other(struct session *session, const struct error *why, struct clock *clock, double *seen_hz,
                 struct error *error);
/* trial_counter; if something else writes it, trial_other; then own_code_watch. */
bool trial_run(struct session *session, struct clock *clock, double *seen_hz, struct error *error);
/* Reads SystemCoreClock again, if it is the clock: "SystemCoreClock went from ...", "" if it is as before. */
const char *trial_clock_change(struct session *session);
/* At the end of a run: removes a clock that has changed since, as its times would be wrong. */
void trial_end_conditions(struct session *session, struct conditions *conditions);
