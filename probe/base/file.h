/*
 * Files that the user names. A pipe may have no other end yet: we wait for it, and Ctrl-C ends the wait.
 */
#pragma once

#include <signal.h>
#include <stdio.h>

/* Neither truncates the file. `cancel` may be NULL. -1 with errno, EINTR after Ctrl-C. */
int file_open_to_read(const char *path, const volatile sig_atomic_t *cancel);
int file_open_to_write(const char *path, const volatile sig_atomic_t *cancel);
