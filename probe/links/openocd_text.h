/*
 * Words of a server's, made fit to stand in a line of ours.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* One line, ASCII, no longer than `size`: line ends become "; ", runs of blanks one blank. */
void openocd_text_clean(const char *text, size_t length, char *out, size_t size);
/* Do these words of OpenOCD's say that the target did not answer in time? */
bool openocd_text_is_wait(const char *cleaned);
