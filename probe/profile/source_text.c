#include "profile/source_text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TAB = 8 };

/* NULL: it cannot be read, or is none of those that are. */
static char *read_whole(const char *path, size_t *size, time_t *changed)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    char *text = NULL;
    if (fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size <= SOURCE_TEXT_BYTES)
        text = malloc((size_t)about.st_size + 1);
    *size = 0;
    for (ssize_t n = 1; text != NULL && n > 0 && *size<(size_t)about.st_size; *size += n> 0 ? (size_t)n : 0)
        n = read(fd, text + *size, (size_t)about.st_size - *size);
    if (text != NULL) {
        text[*size] = '\0';
        *changed = about.st_mtime;
    }
    if (fd >= 0)
        close(fd);
    return text;
}

/* One line without its end and its tabs. NULL: out of memory. */
static char *copy_line(const char *text, size_t length)
{
    size_t tabs = 0, used = 0, column = 0;
    while (length > 0 && text[length - 1] == '\r')
        length--;
    for (size_t i = 0; i < length; i++)
        tabs += text[i] == '\t';
    char *line = malloc(length + tabs * TAB + 1);
    for (size_t i = 0; line != NULL && i < length; i++) {
        size_t blanks = text[i] == '\t' ? TAB - column % TAB : 0;
        memset(line + used, ' ', blanks);
        used += blanks;
        if (blanks == 0)
            line[used++] = text[i];
        if (text[i] == '\0')
            line[used - 1] = '?';
        column += blanks > 0 ? blanks : ((unsigned char)text[i] & 0xC0) != 0x80;
    }
    if (line != NULL)
        line[used] = '\0';
    return line;
}

static bool cut_lines(const char *text, size_t size, struct source_text *out)
{
    size_t n = 1;
    for (size_t i = 0; i < size; i++)
        n += text[i] == '\n';
    out->lines = calloc(n, sizeof(char *));
    bool ok = out->lines != NULL;
    for (size_t at = 0; ok && at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t length = end != NULL ? (size_t)(end - text) - at : size - at;
        out->lines[out->n] = copy_line(text + at, length);
        ok = out->lines[out->n] != NULL;
        out->n += ok;
        at += length + 1;
    }
    return ok;
}

/* False: out of memory. */
static bool try_path(const char *path, struct source_text *out)
{
    size_t size;
    char *text = read_whole(path, &size, &out->changed);
    if (text == NULL)
        return true;
    out->path = strdup(path);
    bool ok = out->path != NULL && cut_lines(text, size, out);
    free(text);
    return ok;
}

bool source_text_read(const char *path, struct source_text *out)
{
    *out = (struct source_text){.n = 0};
    bool ok = true;
    for (const char *end = path; ok && out->path == NULL && end[0] != '\0';) {
        ok = try_path(end, out);
        end += strcspn(end, "/\\");
        end += strspn(end, "/\\");
    }
    if (!ok)
        source_text_free(out);
    return ok;
}

const char *source_text_line(const struct source_text *text, unsigned line)
{
    return line >= 1 && line <= text->n ? text->lines[line - 1] : NULL;
}

void source_text_free(struct source_text *text)
{
    for (size_t i = 0; i < text->n; i++)
        free(text->lines[i]);
    free(text->lines);
    free(text->path);
    *text = (struct source_text){.n = 0};
}
