/* SPDX-License-Identifier: MIT */
/*
 * What the agent wants of Linux, as system calls, so that it needs no library: x86-64 and k1om have the same
 * ones. They return a negative errno on failure.
 */
#ifndef KNC_SYS_H
#define KNC_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SYS_READABLE = 1, SYS_WRITABLE = 4 };
struct sys_poll {
    int fd;
    short events, happened;
};

int sys_open(const char *path, bool to_write);
/* A plain file of this user's that no one else may read, made if there is none, and locked until the
 * process ends; -1: it cannot be had, or is not this kind of file, -2: another process has the lock. */
int sys_open_own(const char *path);
long sys_read(int fd, void *to, size_t n);
long sys_read_at(int fd, void *to, size_t n, uint64_t at);
long sys_write_at(int fd, const void *from, size_t n, uint64_t at);
bool sys_empty(int fd);
void sys_close(int fd);
long sys_poll(struct sys_poll *polled, unsigned n, int ms);
uint64_t sys_now_us(void); /* monotonic */
void sys_say(int fd, const char *text);
void sys_exit(int code) __attribute__((noreturn));

/* IPv4, address and port as numbers; the port is filled in when it was 0. */
int sys_listen(uint32_t address, uint16_t *port);
int sys_accept(int fd);                            /* without waiting, and with keep-alive */
long sys_send(int fd, const void *from, size_t n); /* without waiting */
long sys_receive(int fd, void *to, size_t n);      /* without waiting */
bool sys_is_try_again(long result);
/* A descriptor that is readable once SIGINT, SIGTERM or SIGHUP arrived; they do nothing else any more. */
int sys_signals(void);
/* Allows as many open files as it takes. */
void sys_allow_files(unsigned n);

/* Draws the canary of -fstack-protector; `stack` is what Linux starts a program with. */
void sys_begin(const long *stack);
/* From the call on this process can do nothing but use what it has open. False: it could not be made so. */
bool sys_drop_privileges(void);

#endif
