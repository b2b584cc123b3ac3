/* A live screen on a terminal of our own, read back as what a person would see. */
#pragma once

#include "golden.h"

#include "report/screen.h"
#include "report/terminal.h"

#include <fcntl.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { SCREEN_LINES = 64, SCREEN_LINE = 1024 };

static struct screens {
    int master, slave;
    struct screen screen;
    volatile sig_atomic_t quit;
    char got[65536];
    char lines[SCREEN_LINES][SCREEN_LINE];
    size_t n;
} f;

static inline int screens_end(void **state)
{
    (void)state;
    screen_close(&f.screen);
    if (f.slave > 0)
        close(f.slave);
    if (f.master > 0)
        close(f.master);
    memset(&f, 0, sizeof f);
    return 0;
}

static inline int screens_begin(void **state)
{
    (void)state;
    memset(&f, 0, sizeof f);
    setenv("TERM", "xterm", 1);
    return openpty(&f.master, &f.slave, NULL, NULL, NULL) != 0 || fcntl(f.master, F_SETFL, O_NONBLOCK) != 0;
}

static inline void resize(unsigned short columns, unsigned short lines)
{
    struct winsize window = {.ws_row = lines, .ws_col = columns};
    assert_int_equal(ioctl(f.slave, TIOCSWINSZ, &window), 0);
}

static inline const char *got(void)
{
    size_t n = 0;
    for (;;) {
        ssize_t one = read(f.master, f.got + n, sizeof f.got - 1 - n);
        if (one <= 0)
            break;
        n += (size_t)one;
    }
    f.got[n] = '\0';
    return f.got;
}

static inline void open_it(unsigned short columns, unsigned short lines)
{
    resize(columns, lines);
    assert_true(screen_open(&f.screen, f.slave, f.slave, &f.quit));
    got();
}

/* Takes the picture that was drawn apart. Each line ends in the sequence that clears what was behind it. */
static inline void take_picture(void)
{
    static const char home[] = "\033[H", end[] = "\033[K\r", rest[] = "\033[J";
    const char *text = got();
    /* The terminal itself adds a CR to each LF */
    assert_memory_equal(text, home, strlen(home));
    text += strlen(home);
    for (f.n = 0; strncmp(text, rest, strlen(rest)) != 0; f.n++) {
        const char *stop = strstr(text, end);
        assert_non_null(stop);
        assert_true(f.n < SCREEN_LINES && stop - text < SCREEN_LINE);
        snprintf(f.lines[f.n], SCREEN_LINE, "%.*s", (int)(stop - text), text);
        assert_null(strchr(f.lines[f.n], '\033'));
        text = stop + strlen(end);
        text += strspn(text, "\r\n");
    }
    assert_string_equal(text, rest);
}

static inline void picture_is_golden(const char *golden)
{
    golden_check(golden, f.got, strlen(f.got));
}
