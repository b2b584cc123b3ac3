/*
 * An OpenOCD of ours: started without a shell, out of reach of the terminal's Ctrl-C (we need it to put
 * the target right), gone when we are gone, and with the end of its log kept for error texts.
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

/* Returns when it listens on its Tcl port. NULL on error, with its last words in the text. */
struct openocd_process *openocd_process_start(const char *const *options, size_t n, const struct log *log,
                                              const struct deadline *deadline, struct error *error);
/* If it was asked to end, lets it do so for a moment; then makes it end. NULL is allowed. */
void openocd_process_stop(struct openocd_process *process, bool was_asked);

pid_t openocd_process_pid(const struct openocd_process *process); /* for tests */
uint16_t openocd_process_port(const struct openocd_process *process);
int openocd_process_log_fd(const struct openocd_process *process); /* -1 when it has ended */
void openocd_process_read_log(struct openocd_process *process);
/* Why it ended, or is about to: its error lines, one a line; without any, the end of its log. */
void openocd_process_why(struct openocd_process *process, char *out, size_t size);
/* The end of its log on one line, as much as fits, to the very end if it is about to end. */
void openocd_process_last_words(struct openocd_process *process, char *out, size_t size);

/*
 * Words of a server's, made fit to stand in a line of ours.
 */
/* One line, ASCII, no longer than `size`: line ends become "; ", runs of blanks one blank. */
void openocd_text_clean(const char *text, size_t length, char *out, size_t size);
/* Of a log, the lines that tell of an error, without what stands before the words; one line each in `out`.
 * False: there are none. */
bool openocd_text_errors(const char *log, size_t length, char *out, size_t size);
/* Do these words of OpenOCD's say that the target did not answer in time? */
bool openocd_text_is_wait(const char *cleaned);
