/*
 * Text from outside (a server, an ELF, a command line) before it is printed: whatever is not valid UTF-8,
 * would steer a terminal or has no width of its own becomes U+FFFD. What is left is taken as one column a
 * character.
 */
#pragma once

#include <stddef.h>

/* Room that utf8_clean needs for a text of at most `size` bytes, its NUL included. */
#define UTF8_CLEAN_ROOM(size) (3 * (size))

/* Cut after the last whole character that fits. Returns `out`. */
const char *utf8_clean(char *out, size_t size, const char *text);
/* Characters in a clean text. */
size_t utf8_width(const char *text);
