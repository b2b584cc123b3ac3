/* The event files, as the build put them in. */
#include "counters/events.h"

#include <stdio.h>
#include <string.h>

#define TEXT(name, text) {name, text},
static const struct {
    const char *name, *text;
} files[] = {
#include "event_files.h"
};
#undef TEXT

#define TEXT(name, text) name,
static const char *const names[] = {
#include "event_files.h"
};
#undef TEXT

enum { FILES = sizeof files / sizeof *files };

static const char *find_text(void *self, const char *name, size_t *n)
{
    (void)self;
    for (size_t i = 0; i < FILES; i++)
        if (strcasecmp(files[i].name, name) == 0) {
            *n = strlen(files[i].text);
            return files[i].text;
        }
    return NULL;
}

struct event_set *event_set_open(const char *cpu, struct error *error)
{
    size_t n = 0;
    const char *text = find_text(NULL, cpu, &n);
    if (text != NULL)
        return event_set_parse(text, n, find_text, NULL, error);
    char list[512] = "";
    for (size_t i = 0, used = 0; i < FILES && used + strlen(names[i]) + 2 < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, " %s", names[i]);
    error_set(error, ERROR_USAGE, "no events are known for \"%.64s\"; there are:%s", cpu, list);
    return NULL;
}

size_t event_cpus(const char *const **out)
{
    *out = names;
    return FILES;
}
