/* SPDX-License-Identifier: MIT */
#include "report/screen.h"

#include "report/canvas.h"
#include "report/number.h"
#include "report/terminal.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ESCAPE_MS = 20 };

static const char enter[] = "\033[?1049h\033[?25l", leave[] = "\033[?25h\033[?1049l";

static bool screen_enter(struct screen *screen)
{
    struct termios raw = screen->before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO); /* ISIG stays: Ctrl-C still interrupts */
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    if (tcsetattr(screen->in, TCSANOW, &raw) != 0)
        return false;
    canvas_write(screen->out, enter, strlen(enter));
    return true;
}

static void screen_leave(const struct screen *screen)
{
    canvas_write(screen->out, leave, strlen(leave));
    tcsetattr(screen->in, TCSANOW, &screen->before);
}

/* Ctrl-Z is blocked, so that it waits until the terminal is as it was. */
static sigset_t suspending(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTSTP);
    return set;
}

static bool screen_was_suspended(struct screen *screen)
{
    sigset_t pending, set = suspending();
    if (sigpending(&pending) != 0 || sigismember(&pending, SIGTSTP) != 1)
        return false;
    screen_leave(screen);
    pthread_sigmask(SIG_SETMASK, &screen->unblocked, NULL); /* it stops here */
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return screen_enter(screen);
}

static void screen_keep(struct screen *screen, enum screen_key key)
{
    if (key != SCREEN_NO_KEY && screen->n_kept < SCREEN_KEPT)
        screen->kept[screen->n_kept++] = key;
}

static enum screen_key screen_take_key(struct screen *screen, int ms);

static void screen_look(void *context)
{
    struct screen *screen = context;
    enum screen_key key = screen_take_key(screen, 0);
    if (key == SCREEN_QUIT)
        screen_close(screen);
    if (screen->stop == NULL || key == SCREEN_REDRAW)
        screen_keep(screen, key);
    if (screen->stop != NULL &&
        (key == SCREEN_BACK || *screen->quit != 0 || deadline_host_us() > screen->stop_us))
        *screen->stop = 1;
}

bool screen_open(struct screen *screen, int in, int out, volatile sig_atomic_t *quit)
{
    sigset_t set = suspending();
    *screen = (struct screen){.in = in, .out = out};
    screen->quit = quit;
    if (terminal_is_dumb() || !isatty(in) || !isatty(out) || tcgetattr(in, &screen->before) != 0)
        return false;
    pthread_sigmask(SIG_BLOCK, &set, &screen->unblocked);
    if (!screen_enter(screen)) {
        pthread_sigmask(SIG_SETMASK, &screen->unblocked, NULL);
        return false;
    }
    screen->watch = (struct deadline_watch){.look = screen_look, .context = screen};
    deadline_use_watch(&screen->watch);
    screen->open = true;
    return true;
}

void screen_close(struct screen *screen)
{
    if (!screen->open)
        return;
    screen->open = false;
    deadline_use_watch(NULL);
    screen_leave(screen);
    pthread_sigmask(SIG_SETMASK, &screen->unblocked, NULL);
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

static enum screen_key screen_key_of(char typed)
{
    static const struct {
        char typed;
        enum screen_key key;
    } keys[] = {{' ', SCREEN_PAUSE},  {'p', SCREEN_PAUSE}, {'z', SCREEN_ZERO},  {'q', SCREEN_QUIT},
                {'s', SCREEN_SORT},   {'k', SCREEN_UP},    {'j', SCREEN_DOWN},  {'\r', SCREEN_ENTER},
                {'\n', SCREEN_ENTER}, {'d', SCREEN_DELTA}, {'l', SCREEN_COSTS}, {'a', SCREEN_ANNOTATE},
                {'g', SCREEN_PAGE},   {'?', SCREEN_HELP},  {'h', SCREEN_HELP}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].typed == typed)
            return keys[i].key;
    return SCREEN_OTHER_KEY;
}

static enum screen_key screen_take_key(struct screen *screen, int ms)
{
    struct pollfd poll_in = {.fd = screen->in, .events = POLLIN};
    char typed;
    if (screen_was_suspended(screen))
        return SCREEN_REDRAW;
    if (poll(&poll_in, 1, ms) <= 0)
        return SCREEN_NO_KEY;
    ssize_t n = read(screen->in, &typed, 1);
    bool gone = n <= 0 && (poll_in.revents & (POLLHUP | POLLERR)) != 0; /* the terminal */
    enum screen_key key = gone              ? SCREEN_QUIT
                          : n <= 0          ? SCREEN_NO_KEY
                          : typed == '\033' ? escaped_key(screen)
                                            : screen_key_of(typed);
    if (key == SCREEN_QUIT && *screen->quit == 0)
        *screen->quit = 1;
    return key;
}

enum screen_key screen_wait_key(struct screen *screen, int ms)
{
    if (screen->n_kept == 0)
        return screen->open ? screen_take_key(screen, ms) : SCREEN_NO_KEY;
    enum screen_key key = screen->kept[0];
    memmove(screen->kept, screen->kept + 1, --screen->n_kept * sizeof *screen->kept);
    return key;
}

void screen_put(const struct screen *screen, struct canvas *canvas)
{
    if (screen->open)
        canvas_end(canvas, screen->out);
}

/* ---- a text in place of the picture */

size_t screen_count_lines(const char *text)
{
    size_t n = 0;
    for (const char *at = text; *at != '\0'; at += strcspn(at, "\n"), at += *at != '\0')
        n++;
    return n;
}

size_t screen_draw_page(const struct screen *screen, struct screen_page *page)
{
    struct canvas canvas;
    char line[CANVAS_LINE], place[4 * NUMBER_ROOM];
    canvas_begin(&canvas, screen->out);
    canvas_text(&canvas, page->title);
    canvas_line(&canvas, "");
    size_t all = screen_count_lines(page->text), used = canvas.used + CANVAS_FOOT + 1;
    size_t room = canvas.lines > used ? canvas.lines - used : 1, n = 0, last = all > room ? all - room : 0;
    page->first = page->first < last ? page->first : last;
    size_t first = page->first;
    for (const char *at = page->text; *at != '\0'; at += *at != '\0', n++) {
        size_t length = strcspn(at, "\n");
        if (n >= first && n < first + room) {
            snprintf(line, sizeof line, "%.*s", (int)length, at);
            canvas_cut(line, canvas.columns);
            canvas_line(&canvas, line);
        }
        at += length;
    }
    snprintf(place, sizeof place, "lines %zu to %zu of %zu", first + 1,
             all < first + room ? all : first + room, all);
    const char *const where[] = {all > room ? place : ""};
    static const char *const keys[] = {"q quit", "esc back", "up, down", "space more"};
    canvas_line(&canvas, "");
    canvas_pieces(&canvas, where, 1);
    canvas_pieces(&canvas, keys, sizeof keys / sizeof *keys);
    screen_put(screen, &canvas);
    return room;
}

void screen_page_obey(const struct screen *screen, struct screen_page *page, enum screen_key key)
{
    size_t screenful = screen_draw_page(screen, page);
    if (key == SCREEN_DOWN)
        page->first++;
    else if (key == SCREEN_UP)
        page->first -= page->first > 0;
    else if (key == SCREEN_PAUSE)
        page->first += screenful;
    else if (key == SCREEN_BACK || key == SCREEN_ENTER || key == SCREEN_HELP)
        screen_page_end(page);
}

bool screen_page_open(struct screen_page *page, const char *title, const char *text)
{
    screen_page_end(page);
    snprintf(page->title, sizeof page->title, "%s", title);
    page->text = strdup(text);
    return page->text != NULL;
}

void screen_page_end(struct screen_page *page)
{
    free(page->text);
    *page = (struct screen_page){.text = NULL};
}
