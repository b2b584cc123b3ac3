/* Bytes that a file or pipe takes in pieces. */
#include "../test.h"

#include "base/file.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { BYTES = 1 << 19, PIPE = 1 << 12 };

static unsigned char sent[BYTES], taken[BYTES];
static volatile sig_atomic_t signals;

static void on_signal(int number)
{
    (void)number;
    signals++;
}

/* Interrupts the writer each time before it makes room, so that a write ends with what the pipe has taken. */
static void *read_slowly(void *context)
{
    const int *ends = context;
    for (size_t n = 0; n < BYTES;) {
        kill(getpid(), SIGUSR1);
        ssize_t more = read(ends[0], taken + n, BYTES - n < 1000 ? BYTES - n : 1000);
        if (more <= 0)
            break;
        n += (size_t)more;
    }
    return NULL;
}

TEST(a_write_that_signals_cut_goes_on_where_it_was)
{
    struct sigaction before, action = {.sa_handler = on_signal}; /* without SA_RESTART */
    sigset_t mask;
    pthread_t reader;
    int ends[2];
    for (size_t i = 0; i < BYTES; i++)
        sent[i] = (unsigned char)(i >> 8 ^ i * 7);
    assert_int_equal(pipe(ends), 0);
    assert_true(fcntl(ends[1], F_SETPIPE_SZ, PIPE) >= 0);
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    sigaction(SIGUSR1, &action, &before);
    pthread_sigmask(SIG_BLOCK, &mask, NULL); /* the reader has it so: only the writer is interrupted */
    assert_int_equal(pthread_create(&reader, NULL, read_slowly, ends), 0);
    pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
    assert_true(file_write(ends[1], sent, BYTES));
    close(ends[1]);
    pthread_join(reader, NULL);
    close(ends[0]);
    sigaction(SIGUSR1, &before, NULL);
    assert_true(signals > 0);
    assert_memory_equal(taken, sent, BYTES);
}

TEST(a_byte_order_mark_is_no_text)
{
    char text[] = "\xEF\xBB\xBF"
                  "a b\n",
         cut[] = "\xEF\xBB";
    assert_int_equal(file_drop_mark(text, strlen(text)), 4);
    assert_string_equal(text, "a b\n");
    assert_int_equal(file_drop_mark(text, 4), 4);
    assert_int_equal(file_drop_mark(cut, 2), 2);
}
