/*
 * Any bytes as a region file. What is refused is so with a fact that names the file; what is read keeps what
 * the header promises, and reads back when it is written.
 */
#include "run/region.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool condition)
{
    if (!condition)
        abort();
}

static void look_at(const struct region_file *file)
{
    demand(file->n > 0 && file->n <= REGION_FILE_MOST);
    for (size_t i = 0; i < file->n; i++) {
        const struct region_line *line = &file->lines[i];
        demand(line->line > 0 && line->name[0] != '\0' && line->start[0] != '\0');
        demand(memchr(line->name, '\0', sizeof line->name) != NULL);
        demand(memchr(line->start, '\0', sizeof line->start) != NULL);
        demand(memchr(line->end, '\0', sizeof line->end) != NULL);
        demand(line->budget.of == BUDGET_NONE || (isfinite(line->budget.limit) && line->budget.limit > 0));
        demand(isfinite(line->threshold));
    }
}

/* A word with quotes in it cannot be written in quotes. */
static bool has_quotes(const struct region_line *line)
{
    return strchr(line->name, '"') != NULL || strchr(line->start, '"') != NULL ||
           strchr(line->end, '"') != NULL;
}

static void write_and_read(const struct region_file *file)
{
    char *text = NULL;
    size_t size = 0, n = 0;
    struct region_file again;
    struct error error = {0};
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return;
    for (size_t i = 0; i < file->n; i++)
        if (!has_quotes(&file->lines[i])) {
            demand(region_file_write(out, &file->lines[i]));
            n++;
        }
    fclose(out);
    if (n > 0) {
        demand(region_file_parse(text, size, "b", &again, &error) && again.n == n);
        look_at(&again);
        region_file_free(&again);
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct region_file file;
    struct error error = {0};
    char *text = malloc(size > 0 ? size : 1);
    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    bool ok = region_file_parse(text, size, "a.regions", &file, &error);
    free(text);
    demand(ok == (error.kind == ERROR_NONE));
    if (ok) {
        look_at(&file);
        write_and_read(&file);
    } else {
        demand(error.kind == ERROR_USAGE && strncmp(error.text, "a.regions:", 10) == 0);
    }
    region_file_free(&file);
    return 0;
}
