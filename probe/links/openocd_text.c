/*
 * Cleaning a server's words.
 */
#include "links/openocd_text.h"

#include <stdio.h>
#include <string.h>

/* What stands between two words, by its length: a line end weighs more than a blank. */
enum gap { GAP_NONE = 0, GAP_BLANK = 1, GAP_LINE = 2 };

static size_t put_gap(enum gap gap, char *out, size_t used, size_t room)
{
    if (gap == GAP_NONE || used == 0 || used + gap > room)
        return used;
    if (gap == GAP_LINE)
        out[used++] = ';';
    out[used++] = ' ';
    return used;
}

void openocd_text_clean(const char *text, size_t length, char *out, size_t size)
{
    if (size == 0)
        return;
    size_t used = 0, room = size - 1;
    enum gap gap = GAP_NONE;
    for (size_t i = 0; i < length; i++) {
        char byte = text[i];
        if (byte == '\n' || byte == '\r') {
            gap = GAP_LINE;
        } else if (byte == ' ' || byte == '\t' || byte == '\0') {
            gap = gap == GAP_NONE ? GAP_BLANK : gap;
        } else {
            used = put_gap(gap, out, used, room);
            gap = GAP_NONE;
            if (used >= room)
                break;
            if (byte < ' ' || byte > '~')
                byte = '?';
            out[used++] = byte;
        }
    }
    out[used] = '\0';
}

/* "Error: open failed", "boards/x.cfg:6: Error: set BOARD_PORT ..." */
static const char *error_in(const char *line, size_t length, size_t *left)
{
    static const char word[] = "Error: ";
    for (size_t i = 0; i + sizeof word - 1 <= length; i++)
        if (memcmp(line + i, word, sizeof word - 1) == 0) {
            *left = length - i - (sizeof word - 1);
            return line + i + sizeof word - 1;
        }
    return NULL;
}

bool openocd_text_errors(const char *log, size_t length, char *out, size_t size)
{
    size_t used = 0;
    for (size_t at = 0; at < length && used + 2 < size;) {
        const char *end = memchr(log + at, '\n', length - at);
        size_t line = end != NULL ? (size_t)(end - log) - at : length - at, left = 0;
        const char *words = error_in(log + at, line, &left);
        if (words != NULL) {
            char one[256];
            openocd_text_clean(words, left, one, sizeof one);
            bool again = used > 0 && strstr(out, one) != NULL;
            if (!again) {
                int more = snprintf(out + used, size - used, "%s%s", used > 0 ? "\n" : "", one);
                used += (size_t)more < size - used ? (size_t)more : size - used - 1;
            }
        }
        at += line + 1;
    }
    return used > 0;
}

bool openocd_text_is_wait(const char *cleaned)
{
    /* "Timeout during WAIT recovery" over JTAG, "... timed out" elsewhere. A stall that OpenOCD only
     * mentions ("stalled (WAIT) - slowing down") is not it. */
    return strcasestr(cleaned, "timeout") != NULL || strcasestr(cleaned, "timed out") != NULL;
}
