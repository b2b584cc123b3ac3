/* SPDX-License-Identifier: MIT */
/*
 * Files that the user names. A pipe may have no other end yet: we wait for it, and Ctrl-C ends the wait.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Neither truncates the file. `cancel` may be NULL. -1 with errno, EINTR after Ctrl-C. */
int file_open_to_read(const char *path, const volatile sig_atomic_t *cancel);
int file_open_to_write(const char *path, const volatile sig_atomic_t *cancel);
/* A plain file that may be anyone's: nothing else is opened to be read, so nothing is waited for and no
 * device does anything. `flags`: O_NOFOLLOW or 0. -1 with errno; EISDIR or EINVAL: it is none, and *status
 * says what. */
int file_open_plain(const char *path, int flags, struct stat *status);
/* Up to `n` bytes, fewer at the end of the file; what the other end of a pipe or a terminal has not written
 * yet is awaited. -1 with errno, EINTR after Ctrl-C. */
ssize_t file_read(int fd, void *out, size_t n, const volatile sig_atomic_t *cancel);
/* The size of the text without a byte order mark (UTF-8), as editors on Windows write it: it goes. */
size_t file_drop_mark(char *text, size_t size);
/* All `n` bytes; false with errno. */
bool file_write(int fd, const void *bytes, size_t n);
/* Takes the file of an open descriptor until it is closed; false: someone else has it, whichever user's. */
bool file_take(int fd);
/* Whether a line can be written now, and nobody waits for a reader. */
bool file_takes(int fd);

/*
 * Output that a run does not wait for. A thread takes what is written and passes it on to a pipe or socket,
 * as fast as its reader takes it. The rest stays in memory, so that a paused `less` does not keep the core
 * halted.
 */

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
