/*
 * Output that a run does not wait for. A thread takes what is written and gives it to the reader of a pipe or
 * socket, as fast as that reads. The rest is kept in memory: a halted core must not wait until somebody
 * scrolls.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

struct spool;

enum { SPOOL_MOST = 32 << 20 };

/*
 * Writes to `to`, which the caller closes later. At most `most` bytes are kept; with more, a write blocks.
 * `signals` counts those of the user: after the first one everything is taken, however much; after the second
 * one nobody waits for the reader. NULL with errno.
 */
struct spool *spool_open(int to, size_t most, volatile sig_atomic_t *signals);
int spool_descriptor(const struct spool *spool); /* to write to; the caller closes it */
/* From now on a reader that takes nothing for 2 s (times $PMU_PROBE_PATIENCE) while a write waits ends the
 * run: it counts as a first signal. */
void spool_ends_the_run(struct spool *spool);
bool spool_has_ended_the_run(const struct spool *spool);
/* Waits for the reader; the descriptor is closed. False with errno: it did not get all; EINTR after a second
 * signal. */
bool spool_close(struct spool *spool);
