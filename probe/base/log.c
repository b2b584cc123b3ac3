/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include "base/deadline.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

enum { LINE_MOST = 512, TEXT_MOST = 4000 };

static bool log_begin(const struct log *log, unsigned level, const char *who)
{
    if (log == NULL || log->level < level)
        return false;
    fprintf(log->out, "%10.6f  %s", (double)(deadline_host_us() - log->begun_us) / 1e6, who);
    return true;
}

static void put_escaped(FILE *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte == '\n')
            fputs("\\n", out);
        else if (byte < ' ' || byte > '~')
            fprintf(out, "\\x%02x", byte);
        else
            fputc(byte, out);
    }
}

void log_line(const struct log *log, const char *format, ...)
{
    char text[LINE_MOST];
    if (log == NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length < 0 || !log_begin(log, LOG_BRIEF, ""))
        return;
    put_escaped(log->out, text, strlen(text));
    fputc('\n', log->out);
}

void log_words(const struct log *log, const char *who, const char *words, size_t n)
{
    for (size_t at = 0; at < n;) {
        size_t length = 0;
        while (at + length < n && words[at + length] != '\n')
            length++;
        if (length > 0 && log_begin(log, LOG_BRIEF, who)) {
            fputs(": ", log->out);
            put_escaped(log->out, words + at, length);
            fputc('\n', log->out);
        }
        at += length + 1;
    }
}

void log_bytes(const struct log *log, char way, const char *who, const uint8_t *bytes, size_t n,
               const char *what)
{
    if (!log_begin(log, LOG_ALL, who))
        return;
    fprintf(log->out, " %c", way);
    for (size_t i = 0; i < n; i++)
        fprintf(log->out, " %02x", bytes[i]);
    if (what != NULL)
        fprintf(log->out, "  %s", what);
    fputc('\n', log->out);
}

void log_text(const struct log *log, char way, const char *who, const char *text, size_t n)
{
    if (!log_begin(log, LOG_ALL, who))
        return;
    fprintf(log->out, " %c ", way);
    put_escaped(log->out, text, n < TEXT_MOST ? n : TEXT_MOST);
    if (n > TEXT_MOST)
        fprintf(log->out, " ... (%zu bytes)", n);
    fputc('\n', log->out);
}
