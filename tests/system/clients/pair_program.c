/*
 * A program that moves the time of the modelled card (tests/card) itself, at known points: so that what the
 * card's counters count in each of its functions is known exactly.
 *
 *     pair-program CONTROL [threads]
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { ROUNDS = 1000000, DEPTH = 3 };

static int control;
static volatile unsigned spoiled, ticks;

static void advance(unsigned long cycles)
{
    char line[64];
    int n = snprintf(line, sizeof line, "advance %lu\n", cycles);
    if (pwrite(control, line, (size_t)n, 0) != n)
        exit(2);
}

/* How long each takes in the given round: the tests know these by heart. */
static unsigned long before(unsigned round)
{
    return 1000 + round * 37 % 101;
}

static unsigned long inside(unsigned round)
{
    return 100 + round * 61 % 257;
}

__attribute__((noinline, noipa)) void work(unsigned round)
{
    advance(inside(round));
}

/* Into itself, DEPTH times: 10 cycles on the way down, and on the way back, of each call. */
__attribute__((noinline, noipa)) void nested(unsigned depth)
{
    advance(10);
    if (depth > 1)
        nested(depth - 1);
    advance(10);
}

__attribute__((noinline, noipa)) void from_here(void)
{
    spoiled++;
}

__attribute__((noinline, noipa)) void to_there(void)
{
    spoiled++;
}

/* Goes through the end all the time, and is never measured. */
static void *other_thread(void *unused)
{
    (void)unused;
    for (;;) {
        to_there();
        usleep(500);
    }
    return NULL;
}

static void on_alarm(int number)
{
    (void)number;
    ticks++;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    control = argc > 1 ? open(argv[1], O_WRONLY | O_CLOEXEC) : -1;
    if (control < 0)
        return 2;
    if (argc > 2 && strcmp(argv[2], "threads") == 0)
        pthread_create(&thread, NULL, other_thread, NULL);
    if (argc > 2 && strcmp(argv[2], "signals") == 0) {
        struct itimerval every = {.it_interval.tv_usec = 2000, .it_value.tv_usec = 2000};
        signal(SIGALRM, on_alarm);
        setitimer(ITIMER_REAL, &every, NULL);
    }
    unsigned rounds = argc > 2 && strcmp(argv[2], "short") == 0 ? DEPTH : ROUNDS;
    for (unsigned round = 0; round < rounds; round++) {
        advance(before(round));
        work(round);
        nested(DEPTH);
        from_here();
        advance(round % 8 + 1);
        to_there();
    }
    return 0;
}
