#include "report/fold.h"

#include "report/terminal.h"

#include <stdbool.h>
#include <string.h>

enum { WORD = 1536, NARROWEST = 24, DEEP = 6 };

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

static void put_words(struct fold *fold, const char *text)
{
    char word[WORD];
    for (size_t gap = 0; *text != '\0'; gap = 1) {
        size_t length = strcspn(text, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        fold_put(fold, word, gap);
        text += length + strspn(text + length, " ");
    }
    fold_end(fold);
}

void fold_text(FILE *out, size_t columns, size_t indent, const char *text)
{
    fold_text_at(out, columns, 0, indent, text);
}

void fold_text_at(FILE *out, size_t columns, size_t at, size_t indent, const char *text)
{
    struct fold fold = {.out = out, .columns = columns, .indent = indent, .used = at};
    put_words(&fold, text);
}

void fold_beside(FILE *out, size_t columns, const char *left, const char *text)
{
    size_t width = utf8_width(left);
    bool fits = width + utf8_width(text) <= columns || width + NARROWEST <= columns;
    struct fold fold = {.out = out, .columns = columns, .indent = fits ? width : DEEP, .used = width};
    size_t shown = strlen(left);
    while ((!fits || text[0] == '\0') && shown > 0 && left[shown - 1] == ' ') /* no line ends in one */
        shown--;
    fprintf(out, "%.*s", (int)shown, left);
    if (!fits) {
        fprintf(out, "\n%*s", DEEP, "");
        fold.used = DEEP;
    }
    put_words(&fold, text);
}
