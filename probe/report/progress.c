#include "report/progress.h"

#include "base/deadline.h"
#include "report/utf8.h"

#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { DELAY_US = 1000000, INTERVAL_US = 100000, LINE = 256 };

void progress_begin(struct progress *progress, FILE *to)
{
    *progress = (struct progress){.next_us = deadline_now_us() + DELAY_US};
    if (isatty(fileno(to)))
        progress->to = to;
}

/* A line that wraps could not be erased again; the last column stays free as some terminals wrap there. */
static void cut(char *line, FILE *to)
{
    struct winsize window = {0};
    size_t room = 79;
    if (ioctl(fileno(to), TIOCGWINSZ, &window) == 0 && window.ws_col > 1)
        room = window.ws_col - 1U;
    size_t width = utf8_width(line);
    for (char *end = line + strlen(line); width > room; width--) {
        do
            end--;
        while (((unsigned char)*end & 0xC0) == 0x80);
        *end = '\0';
    }
}

void progress_show(struct progress *progress, const char *format, ...)
{
    if (progress->to == NULL)
        return;
    int64_t now = deadline_now_us();
    if (now < progress->next_us)
        return;
    progress->next_us = now + INTERVAL_US;

    char text[LINE], line[UTF8_CLEAN_ROOM(LINE)];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    utf8_clean(line, sizeof(line), text);
    cut(line, progress->to);

    size_t width = utf8_width(line);
    int rest = width < progress->width ? (int)(progress->width - width) : 0;
    /* Blanks rather than an escape sequence: TERM=dumb knows none */
    fprintf(progress->to, "\r%s%*s", line, rest, "");
    for (int i = 0; i < rest; i++)
        fputc('\b', progress->to);
    fflush(progress->to);
    progress->width = width;
}

void progress_clear(struct progress *progress)
{
    if (progress->to == NULL || progress->width == 0)
        return;
    fprintf(progress->to, "\r%*s\r", (int)progress->width, "");
    fflush(progress->to);
    progress->width = 0;
}
