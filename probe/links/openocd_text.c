/*
 * Cleaning a server's words.
 */
#include "links/openocd_text.h"

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

bool openocd_text_is_wait(const char *cleaned)
{
    /* "Timeout during WAIT recovery" over JTAG, "... timed out" elsewhere. A stall that OpenOCD only
     * mentions ("stalled (WAIT) - slowing down") is not it. */
    return strcasestr(cleaned, "timeout") != NULL || strcasestr(cleaned, "timed out") != NULL;
}
