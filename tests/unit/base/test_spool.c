/* A spool between a writer that must not wait and a reader that takes its time, or goes away. */
#include "../test.h"

#include "base/deadline.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 1 << 20, NUMBERS = 400000 };

static int ours; /* the reader's end */
static int its;  /* what the spool writes to */
static struct spool *spool;
static volatile sig_atomic_t signals;

static void begin(bool sockets)
{
    int ends[2];
    assert_return_code(sockets ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends), errno);
    ours = ends[0];
    its = ends[1];
    signals = 0;
    signal(SIGPIPE, SIG_IGN);
    spool = spool_open(its, MOST, &signals);
    assert_non_null(spool);
}

static bool finish(void)
{
    bool whole = spool_close(spool);
    int reason = errno;
    close(its);
    errno = reason;
    return whole;
}

/* Writes bytes until the spool takes no more for a while; returns how many. */
static size_t fill(void)
{
    enum { PATIENCE_MS = 300 };
    static const char block[4096];
    int fd = spool_descriptor(spool);
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    fcntl(fd, F_SETFL, O_NONBLOCK);
    size_t n = 0;
    while (poll(&ready, 1, PATIENCE_MS) > 0) {
        ssize_t more = write(fd, block, sizeof block);
        n += more > 0 ? (size_t)more : 0;
    }
    return n;
}

static void read_all(size_t n)
{
    static char block[1 << 16];
    for (ssize_t more; n > 0; n -= (size_t)more) {
        more = read(ours, block, n < sizeof block ? n : sizeof block);
        assert_true(more > 0);
    }
}

static void goes_through(bool sockets)
{
    begin(sockets);
    FILE *file = fdopen(spool_descriptor(spool), "w");
    assert_non_null(file);
    signals = 1; /* more than `most` */
    for (unsigned i = 0; i < NUMBERS; i++)
        assert_int_equal(fwrite(&i, sizeof i, 1, file), 1); /* nobody reads */
    assert_int_equal(fclose(file), 0);
    FILE *reader = fdopen(ours, "r");
    assert_non_null(reader);
    for (unsigned i = 0, got; i < NUMBERS; i++)
        if (fread(&got, sizeof got, 1, reader) != 1 || got != i)
            fail_msg("%u: %u", i, got);
    assert_true(finish());
    assert_int_equal(fgetc(reader), EOF);
    fclose(reader);
}

TEST(all_of_it_arrives_in_its_order)
{
    goes_through(false);
    goes_through(true);
}

TEST(beyond_the_most_the_writer_waits_until_a_signal)
{
    enum { MORE = 1 << 17 }; /* in two pipes */
    begin(false);
    size_t n = fill();
    assert_in_range(n, MOST, MOST + 2 * MORE);
    signals = 1;
    static const char block[MOST];
    fcntl(spool_descriptor(spool), F_SETFL, 0);
    assert_int_equal(write(spool_descriptor(spool), block, MOST), MOST);
    assert_int_equal(write(spool_descriptor(spool), block, MOST), MOST);
    n += (size_t)2 * MOST;
    close(spool_descriptor(spool));
    read_all(n);
    assert_true(finish());
    close(ours);
}

TEST(after_a_second_signal_nobody_waits_for_the_reader)
{
    begin(false);
    assert_true(fill() > MOST);
    close(spool_descriptor(spool));
    signals = 2;
    assert_true(!finish() && errno == EINTR);
    close(ours);
}

TEST(a_reader_that_went_away)
{
    static const char block[MOST];
    begin(false);
    close(ours);
    while (write(spool_descriptor(spool), block, 1) > 0)
        deadline_nap();
    assert_int_equal(errno, EPIPE);
    close(spool_descriptor(spool));
    assert_true(!finish() && errno == EPIPE);
}

/* Only a run ends by that: who reads a report may turn its pages in peace. */
TEST(a_reader_that_takes_nothing_ends_a_run)
{
    for (int run = 0; run < 2; run++) {
        begin(false);
        if (run == 1)
            spool_ends_the_run(spool);
        assert_true(fill() > MOST);
        for (int i = 0; i < 3000 && (run == 0 || signals == 0); i++)
            deadline_nap();
        assert_int_equal(signals, run);
        signals = 2;
        close(spool_descriptor(spool));
        assert_int_equal(spool_has_ended_the_run(spool), run);
        assert_false(finish());
        close(ours);
    }
}
