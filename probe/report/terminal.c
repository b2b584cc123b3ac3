/* SPDX-License-Identifier: MIT */
#include "report/terminal.h"

#include <langinfo.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

/* Returns the bytes of the character; 0 if it is invalid (overlong, surrogate, beyond U+10FFFF). */
static size_t terminal_decode(const unsigned char *text, uint32_t *character)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = text[0] < 0x80             ? 1
                    : (text[0] & 0xE0) == 0xC0 ? 2
                    : (text[0] & 0xF0) == 0xE0 ? 3
                    : (text[0] & 0xF8) == 0xF0 ? 4
                                               : 0;
    if (length == 0)
        return 0;
    uint32_t value = length == 1 ? text[0] : text[0] & (0x7FU >> length);
    for (size_t i = 1; i < length; i++) {
        if (!is_continuation(text[i]))
            return 0;
        value = value << 6 | (text[i] & 0x3FU);
    }
    if (value < least[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
        return 0;
    *character = value;
    return length;
}

static bool terminal_is_printable(uint32_t character)
{
    static const struct {
        uint32_t from, to;
    } hidden[] = {
        {0x00, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},       {0x0300, 0x036F}, {0x061C, 0x061C},
        {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F},   {0x20D0, 0x20FF}, {0xFE00, 0xFE0F},
        {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE0FFF},
    };
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
        if (character >= hidden[i].from && character <= hidden[i].to)
            return false;
    return true;
}

const char *utf8_clean(char *out, size_t size, const char *text)
{
    size_t used = 0;
    for (const char *at = text; *at != '\0';) {
        uint32_t character = 0;
        size_t length = terminal_decode((const unsigned char *)at, &character);
        bool keep = length > 0 && terminal_is_printable(character);
        const char *from = keep ? at : replacement;
        size_t bytes = keep ? length : sizeof(replacement) - 1;
        if (used + bytes >= size)
            break;
        memcpy(out + used, from, bytes);
        used += bytes;
        at += length > 0 ? length : 1;
    }
    if (size > 0)
        out[used] = '\0';
    return out;
}

bool error_set_in_file(struct error *error, const char *file, unsigned line, const char *format, ...)
{
    char fact[320], clean[UTF8_CLEAN_ROOM(sizeof fact)];
    va_list facts;
    va_start(facts, format);
    vsnprintf(fact, sizeof fact, format, facts);
    va_end(facts);
    utf8_clean(clean, sizeof clean, fact);
    return line > 0 ? error_set(error, ERROR_USAGE, "%s:%u: %s", file, line, clean)
                    : error_set(error, ERROR_USAGE, "%s: %s", file, clean);
}

size_t utf8_width(const char *text)
{
    size_t width = 0;
    for (; *text != '\0'; text++)
        width += !is_continuation((unsigned char)*text);
    return width;
}

void utf8_cut(char *text, size_t width)
{
    for (size_t n = 0; *text != '\0' && (is_continuation((unsigned char)*text) || n++ < width);)
        text++;
    *text = '\0';
}

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

bool output_flush(FILE *out)
{
    return fflush(out) == 0 && !ferror(out);
}

bool terminal_is_dumb(void)
{
    const char *kind = getenv("TERM");
    return kind == NULL || kind[0] == '\0' || strcmp(kind, "dumb") == 0;
}

static bool terminal_has_utf8(void)
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

/* The ASCII for a character; "?" if there is none. */
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
    /* The ASCII is never longer than the character */
    char *to = out;
    for (const char *at = out; *at != '\0';) {
        size_t length = 1;
        while (is_continuation((unsigned char)at[length]))
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
    while ((!fits || text[0] == '\0') && shown > 0 && left[shown - 1] == ' ') /* no line ends in a blank */
        shown--;
    fprintf(out, "%.*s", (int)shown, left);
    if (!fits) {
        fprintf(out, "\n%*s", DEEP, "");
        fold.used = DEEP;
    }
    put_words(&fold, text);
}
