#include "report/screen.h"

#include "report/canvas.h"
#include "report/terminal.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { ESCAPE_MS = 20 };

static const char enter[] = "\033[?1049h\033[?25l", leave[] = "\033[?25h\033[?1049l";

bool screen_open(struct screen *screen, int in, int out)
{
    *screen = (struct screen){.in = in, .out = out};
    if (terminal_is_dumb() || !isatty(in) || !isatty(out) || tcgetattr(in, &screen->before) != 0)
        return false;
    struct termios raw = screen->before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO); /* ISIG stays: Ctrl-C still interrupts */
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    if (tcsetattr(in, TCSANOW, &raw) != 0)
        return false;
    canvas_write(out, enter, strlen(enter));
    screen->open = true;
    return true;
}

void screen_close(struct screen *screen)
{
    if (!screen->open)
        return;
    canvas_write(screen->out, leave, strlen(leave));
    tcsetattr(screen->in, TCSANOW, &screen->before);
    screen->open = false;
}

/* The byte within this time; 0: none. */
static int next_byte(struct screen *screen, int ms)
{
    struct pollfd poll_in = {.fd = screen->in, .events = POLLIN};
    char byte;
    return poll(&poll_in, 1, ms) > 0 && read(screen->in, &byte, 1) == 1 ? byte : 0;
}

/* An arrow is an escape, "[" or "O", and a letter; Esc is an escape alone. */
static enum screen_key escaped_key(struct screen *screen)
{
    int mode = next_byte(screen, ESCAPE_MS);
    if (mode == 0)
        return SCREEN_BACK;
    int letter = mode == '[' || mode == 'O' ? next_byte(screen, ESCAPE_MS) : 0;
    return letter == 'A' ? SCREEN_UP : letter == 'B' ? SCREEN_DOWN : SCREEN_NO_KEY;
}

enum screen_key screen_wait_key(struct screen *screen, int ms)
{
    static const struct {
        char typed;
        enum screen_key key;
    } keys[] = {{' ', SCREEN_PAUSE},  {'p', SCREEN_PAUSE}, {'z', SCREEN_ZERO},  {'q', SCREEN_QUIT},
                {'s', SCREEN_SORT},   {'k', SCREEN_UP},    {'j', SCREEN_DOWN},  {'\r', SCREEN_ENTER},
                {'\n', SCREEN_ENTER}, {'d', SCREEN_DELTA}, {'l', SCREEN_COSTS}, {'a', SCREEN_ANNOTATE},
                {'g', SCREEN_PAGE}};
    struct pollfd poll_in = {.fd = screen->in, .events = POLLIN};
    char typed;
    if (poll(&poll_in, 1, ms) <= 0)
        return SCREEN_NO_KEY;
    ssize_t n = read(screen->in, &typed, 1);
    if (n <= 0) /* the terminal is gone */
        return (poll_in.revents & (POLLHUP | POLLERR)) != 0 ? SCREEN_QUIT : SCREEN_NO_KEY;
    if (typed == '\033')
        return escaped_key(screen);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].typed == typed)
            return keys[i].key;
    return SCREEN_NO_KEY;
}
