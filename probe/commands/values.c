#include "commands/values.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool value_scaled(const char *text, const char *const *units, const double *scales, double *out)
{
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || errno != 0 || !isfinite(value) || value < 0)
        return false;
    for (size_t i = 0; units[i] != NULL; i++)
        if (strcasecmp(end, units[i]) == 0) {
            *out = value * scales[i];
            return true;
        }
    return false;
}

bool value_count(const char *text, uint64_t most, uint64_t *out)
{
    char *end;
    errno = 0;
    if (!isdigit((unsigned char)text[0]))
        return false;
    unsigned long long value = strtoull(text, &end, 0);
    if (end == text || *end != '\0' || errno != 0 || value > most)
        return false;
    *out = value;
    return true;
}

bool value_format(const char *text, enum format *out)
{
    static const char *const names[] = {[FORMAT_TEXT] = "text",
                                        [FORMAT_JSON] = "json",
                                        [FORMAT_CSV] = "csv",
                                        [FORMAT_JUNIT] = "junit",
                                        [FORMAT_MARKDOWN] = "markdown"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = (enum format)i;
            return true;
        }
    return false;
}

bool value_process(const char *text, struct process *out)
{
    uint64_t id = 0;
    bool any = strcmp(text, "any") == 0;
    if (!any && !value_count(text, UINT32_MAX, &id))
        return false;
    *out = (struct process){.which = any ? PROCESS_ANY : PROCESS_ID, .id = (uint32_t)id};
    return true;
}

/* A component begins on a page of its own. */
bool value_place(const char *text, struct place *out)
{
    enum { PAGE = 4096, PORTS = 255 };
    char number[16];
    uint64_t port, base;
    const char *colon = strchr(text, ':');
    size_t length = colon != NULL ? (size_t)(colon - text) : 0;
    if (length == 0 || length >= sizeof number)
        return false;
    snprintf(number, sizeof number, "%.*s", (int)length, text);
    if (!value_count(number, PORTS, &port) || !value_count(colon + 1, UINT64_MAX, &base) || base % PAGE != 0)
        return false;
    *out = (struct place){.said = true, .port = (unsigned)port, .base = base};
    return true;
}
