/* SPDX-License-Identifier: MIT */
/*
 * An OpenOCD that we start: without a shell, out of reach of the terminal's Ctrl-C (we need it to restore the
 * target), ended when we end. The end of its log is kept for error texts.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "base/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct openocd_process;

/* `path`; NULL: $PMU_OPENOCD, else the one in PATH, else one that PlatformIO, the Pico SDK or xPack have
 * installed for this user. Returns once it listens on its Tcl port. NULL on error, with the end of its log in
 * the text. */
struct openocd_process *openocd_process_start(const char *path, const char *const *options, size_t n,
                                              const struct log *log, const struct deadline *deadline,
                                              struct error *error);
/* `was_asked`: it was sent `shutdown` and gets a moment to end; then it is killed. NULL is allowed. */
void openocd_process_stop(struct openocd_process *process, bool was_asked);

pid_t openocd_process_pid(const struct openocd_process *process); /* for tests */
uint16_t openocd_process_port(const struct openocd_process *process);
int openocd_process_log_fd(const struct openocd_process *process); /* -1 when it has ended */
void openocd_process_read_log(struct openocd_process *process);
/* Always false, with ERROR_SERVER: `what`, and why: its error lines, or the end of its log if it has none. */
bool openocd_process_tell(struct openocd_process *process, const char *what, struct error *error);
/* The end of its log on one line, as much as fits. Waits a moment for the log's end. */
void openocd_process_last_words(struct openocd_process *process, char *out, size_t size);

/* --- a server's words, prepared for our error texts ----------------------------------------------------- */

/* One line, ASCII, no longer than `size`: line ends become "; ", runs of blanks one blank. */
void openocd_text_clean(const char *text, size_t length, char *out, size_t size);
/* The error lines of a log without their prefixes, one a line. False: there are none. */
bool openocd_text_errors(const char *log, size_t length, char *out, size_t size);
/* Whether these words of OpenOCD mean that the target did not answer in time. */
bool openocd_text_is_wait(const char *cleaned);
