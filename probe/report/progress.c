#include "report/progress.h"

#include "base/deadline.h"
#include "report/number.h"
#include "report/terminal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { DELAY_US = 1000000, INTERVAL_US = 100000, STUCK_US = 1000000, LINE = 256 };

void progress_begin(struct progress *progress, FILE *to)
{
    *progress = (struct progress){.next_us = deadline_host_us() + DELAY_US};
    if (isatty(fileno(to)))
        progress->to = to;
}

/* A wrapped line could not be erased. The last column stays free, because some terminals wrap there. */
static void progress_cut(char *line, FILE *to)
{
    struct winsize window = {0};
    size_t room = 79;
    if (ioctl(fileno(to), TIOCGWINSZ, &window) == 0 && window.ws_col > 1)
        room = window.ws_col - 1U;
    size_t width = utf8_width(line);
    for (char *end = line + strlen(line); width > room; width--) {
        do
            end--;
        while (((unsigned char)*end & 0xC0) == 0x80); /* inside a UTF-8 character */
        *end = '\0';
    }
}

static void progress_put(struct progress *progress, const char *format, va_list list)
{
    char text[LINE], line[UTF8_CLEAN_ROOM(LINE)];
    vsnprintf(text, sizeof(text), format, list);
    terminal_text(line, sizeof(line), text);
    progress_cut(line, progress->to);

    size_t width = utf8_width(line);
    int rest = width < progress->width ? (int)(progress->width - width) : 0;
    /* Blanks, no escape sequence: TERM=dumb knows none */
    fprintf(progress->to, "\r%s%*s", line, rest, "");
    for (int i = 0; i < rest; i++)
        fputc('\b', progress->to);
    fflush(progress->to);
    progress->width = width;
}

static bool is_time(struct progress *progress, int64_t now)
{
    if (progress->to == NULL || now < progress->next_us)
        return false;
    progress->next_us = now + INTERVAL_US;
    return true;
}

void progress_show(struct progress *progress, const char *format, ...)
{
    if (!is_time(progress, progress->to != NULL ? deadline_host_us() : 0))
        return;
    va_list list;
    va_start(list, format);
    progress_put(progress, format, list);
    va_end(list);
}

void progress_now(struct progress *progress, const char *format, ...)
{
    if (progress->to == NULL)
        return;
    va_list list;
    va_start(list, format);
    progress_put(progress, format, list);
    va_end(list);
}

void progress_count(struct progress *progress, uint64_t done, uint64_t of, const char *what,
                    const char *state)
{
    char all[NUMBER_ROOM + 4] = "", left[NUMBER_ROOM + 16] = "", time[NUMBER_ROOM];
    if (progress->to == NULL)
        return;
    int64_t now = deadline_host_us();
    if (progress->first_us == 0 && done > 0) {
        progress->first = done;
        progress->first_us = now;
    }
    if (done != progress->last || progress->last_us == 0) {
        progress->last = done;
        progress->last_us = now;
    }
    if (!is_time(progress, now))
        return;
    bool is_stuck = done == 0 || now - progress->last_us > STUCK_US;
    if (of > 0)
        snprintf(all, sizeof all, " of %s", NUMBER(of));
    if (of > done && done > progress->first && !is_stuck) {
        double each = (double)(now - progress->first_us) / 1e6 / (double)(done - progress->first);
        double seconds = fmax(1, round(each * (double)(of - done)));
        snprintf(left, sizeof left, ", %s left",
                 seconds < 10 ? (snprintf(time, sizeof time, "%.0f s", seconds), time) : ELAPSED(seconds));
    }
    progress->next_us = now; /* show the line below now */
    progress_show(progress, "%s%s %s%s%s%s", NUMBER(done), all, what, left,
                  is_stuck && state[0] != '\0' ? ", " : "", is_stuck ? state : "");
}

void progress_clear(struct progress *progress)
{
    if (progress->to == NULL || progress->width == 0)
        return;
    fprintf(progress->to, "\r%*s\r", (int)progress->width, "");
    fflush(progress->to);
    progress->width = 0;
}
