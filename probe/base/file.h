/*
 * Files that the user names. A pipe may have no other end yet: we wait for it, and Ctrl-C ends the wait.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* Neither truncates the file. `cancel` may be NULL. -1 with errno, EINTR after Ctrl-C. */
int file_open_to_read(const char *path, const volatile sig_atomic_t *cancel);
int file_open_to_write(const char *path, const volatile sig_atomic_t *cancel);
/* Up to `n` bytes, fewer at the end of the file; what the other end of a pipe or a terminal has not written
 * yet is awaited. -1 with errno, EINTR after Ctrl-C. */
ssize_t file_read(int fd, void *out, size_t n, const volatile sig_atomic_t *cancel);
/* All `n` bytes; false with errno. */
bool file_write(int fd, const void *bytes, size_t n);
/* Whether a line can be written now, and nobody waits for a reader. */
bool file_takes(int fd);
