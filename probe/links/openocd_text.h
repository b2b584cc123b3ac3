/*
 * Words of a server's, made fit to stand in a line of ours.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* One line, ASCII, no longer than `size`: line ends become "; ", runs of blanks one blank. */
void openocd_text_clean(const char *text, size_t length, char *out, size_t size);
/* Of a log, the lines that tell of an error, without what stands before the words; one line each in `out`.
 * False: there are none. */
bool openocd_text_errors(const char *log, size_t length, char *out, size_t size);
/* Do these words of OpenOCD's say that the target did not answer in time? */
bool openocd_text_is_wait(const char *cleaned);
