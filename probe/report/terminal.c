#include "report/terminal.h"

#include "report/utf8.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool is_terminal(FILE *to)
{
    int fd = fileno(to);
    return fd >= 0 && isatty(fd);
}

size_t terminal_columns(FILE *to)
{
    struct winsize window = {0};
    if (is_terminal(to) && ioctl(fileno(to), TIOCGWINSZ, &window) == 0 && window.ws_col > 0)
        return window.ws_col;
    return TERMINAL_COLUMNS;
}

bool terminal_is_dumb(void)
{
    const char *kind = getenv("TERM");
    return kind == NULL || kind[0] == '\0' || strcmp(kind, "dumb") == 0;
}

bool terminal_has_utf8(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

const char *terminal_colour(FILE *to, enum colour colour)
{
    static const char *const sequences[] = {[COLOUR_BAD] = "\033[31m",
                                            [COLOUR_GOOD] = "\033[32m",
                                            [COLOUR_ODD] = "\033[33m",
                                            [COLOUR_FAINT] = "\033[2m",
                                            [COLOUR_END] = "\033[0m"};
    const char *refused = getenv("NO_COLOR"); /* no-color.org: present, and not empty */
    if (!is_terminal(to) || terminal_is_dumb() || (refused != NULL && refused[0] != '\0'))
        return "";
    return sequences[colour];
}

const char *terminal_or(const char *utf8, const char *ascii)
{
    return terminal_has_utf8() ? utf8 : ascii;
}

/* How a character is written without it; "?" where nothing comes near. */
static const char *plain(const char *character, size_t length)
{
    static const char *const known[][2] = {{"±", "+-"}, {"µ", "u"}, {"█", "#"}, {"▌", ":"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i][0]) == length && memcmp(known[i][0], character, length) == 0)
            return known[i][1];
    return "?";
}

const char *terminal_text(char *out, size_t size, const char *text)
{
    utf8_clean(out, size, text);
    if (terminal_has_utf8())
        return out;
    /* What replaces a character is never longer than it */
    char *to = out;
    for (const char *at = out; *at != '\0';) {
        size_t length = 1;
        while (((unsigned char)at[length] & 0xC0) == 0x80)
            length++;
        const char *from = length > 1 ? plain(at, length) : at;
        size_t bytes = length > 1 ? strlen(from) : 1;
        memmove(to, from, bytes);
        to += bytes;
        at += length;
    }
    *to = '\0';
    return out;
}
