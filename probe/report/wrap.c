#include "report/wrap.h"

#include <stdbool.h>
#include <string.h>

/* Columns of one word in UTF-8. */
static size_t width_of(const char *word, size_t length)
{
    size_t width = 0;
    for (size_t i = 0; i < length; i++)
        width += ((unsigned char)word[i] & 0xC0) != 0x80;
    return width;
}

void wrap_print(FILE *out, const char *text, size_t at, size_t indent)
{
    size_t column = at;
    bool first = true;
    for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
        size_t length = strcspn(text, " "), width = width_of(text, length);
        if (!first && column + 1 + width > WRAP_WIDTH) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
            first = true;
        }
        fprintf(out, "%s%.*s", first ? "" : " ", (int)length, text);
        column += width + !first;
        first = false;
        text += length;
    }
    fputc('\n', out);
}
