/*
 * Files that the user names. One may be a pipe that has no other end yet; Ctrl-C ends that wait.
 */
#pragma once

#include <signal.h>
#include <stdio.h>

/* Opened for reading, or for writing without being cut off. `cancel` may be NULL. -1 with errno, EINTR after
 * Ctrl-C. */
int file_open_to_read(const char *path, const volatile sig_atomic_t *cancel);
int file_open_to_write(const char *path, const volatile sig_atomic_t *cancel);
