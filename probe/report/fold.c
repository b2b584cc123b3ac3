#include "report/fold.h"

#include "report/utf8.h"

#include <string.h>

void fold_put(struct fold *fold, const char *piece, size_t gap)
{
    size_t width = utf8_width(piece);
    if (width == 0)
        return;
    if (fold->used > 0 && fold->used + gap + width > fold->columns) {
        fputc('\n', fold->out);
        fprintf(fold->out, "%*s", (int)fold->indent, "");
        fold->used = fold->indent;
    } else if (fold->used > 0) {
        fprintf(fold->out, "%*s", (int)gap, "");
        fold->used += gap;
    }
    fputs(piece, fold->out);
    fold->used += width;
}

void fold_end(struct fold *fold)
{
    if (fold->used > 0)
        fputc('\n', fold->out);
    fold->used = 0;
}

void fold_text(FILE *out, size_t columns, size_t indent, const char *text)
{
    struct fold fold = {.out = out, .columns = columns, .indent = indent};
    char word[1536];
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        fold_put(&fold, word, 1);
        text += length + strspn(text + length, " ");
    }
    fold_end(&fold);
}
