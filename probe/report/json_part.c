#include "report/json_part.h"

#include "base/version.h"
#include "report/number.h"
#include "report/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FIELD = 1024 };

struct json_part json_part_new(const char *type)
{
    struct json_part part = {.json = json_object(), .ok = true};
    if (type != NULL)
        part.ok = json_object_set_new(part.json, "type", json_string(type)) == 0;
    return part;
}

void json_part_put(struct json_part *part, const char *key, json_t *value)
{
    char clean[UTF8_CLEAN_ROOM(FIELD)];
    if (json_object_set_new(part->json, utf8_clean(clean, sizeof(clean), key), value) != 0)
        part->ok = false;
}

json_t *json_part_string(const char *text)
{
    char clean[UTF8_CLEAN_ROOM(FIELD)];
    return json_string(utf8_clean(clean, sizeof(clean), text));
}

void json_part_text(struct json_part *part, const char *key, const char *text)
{
    if (text[0] != '\0')
        json_part_put(part, key, json_part_string(text));
}

void json_part_unsigned(struct json_part *part, const char *key, uint64_t value)
{
    json_part_put(part, key, value <= INT64_MAX ? json_integer((json_int_t)value) : json_real((double)value));
}

void json_part_real(struct json_part *part, const char *key, double value)
{
    if (isfinite(value))
        json_part_put(part, key, json_real(value));
}

void json_part_bool(struct json_part *part, const char *key, bool value)
{
    json_part_put(part, key, json_boolean(value));
}

void json_part_hex(struct json_part *part, const char *key, uint64_t address)
{
    char text[32];
    snprintf(text, sizeof(text), "0x%08" PRIx64, address);
    json_part_put(part, key, json_string(text));
}

void json_part_object(struct json_part *part, const char *key, struct json_part inner)
{
    part->ok = part->ok && inner.ok;
    if (json_object_size(inner.json) > 0)
        json_part_put(part, key, inner.json);
    else
        json_decref(inner.json);
}

void json_part_array(struct json_part *part, const char *key, json_t *array)
{
    if (json_array_size(array) > 0)
        json_part_put(part, key, array);
    else
        json_decref(array);
}

void json_part_append(struct json_part *part, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0)
        part->ok = false;
}

/* The reals of a line in as few digits as are read back as the same number; the line only becomes shorter. */
static void shorten_reals(char *line)
{
    static const char of_number[] = "+-.0123456789eE";
    char *to = line;
    bool inside = false; /* of a string */
    for (const char *from = line; *from != '\0';) {
        if (inside && *from == '\\') {
            *to++ = *from++;
            *to++ = *from++;
            continue;
        }
        size_t length = inside ? 0 : strspn(from, of_number);
        if (length > NUMBER_ROOM || strcspn(from, ".eE") >= length) { /* not a real */
            inside ^= *from == '"';
            for (size_t i = 0; i < length || i == 0; i++)
                *to++ = *from++;
            continue;
        }
        char real[NUMBER_ROOM + 2], text[NUMBER_ROOM];
        memcpy(real, from, length);
        real[length] = '\0';
        number_shortest(text, sizeof(text), strtod(real, NULL));
        if (strpbrk(text, ".e") == NULL) /* it stays a real */
            snprintf(text + strlen(text), sizeof(text) - strlen(text), ".0");
        size_t used = strlen(text) <= length ? strlen(text) : length;
        memmove(to, used == length ? from : text, used);
        to += used;
        from += length;
    }
    *to = '\0';
}

/* One write a line: what is killed between two of them leaves whole lines. */
static bool write_whole(FILE *out, json_t *json, bool ok)
{
    char *line = ok ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(json);
    if (line == NULL) {
        errno = ENOMEM;
        return false;
    }
    shorten_reals(line);
    size_t length = strlen(line);
    line[length] = '\n'; /* in the place of the NUL: fwrite is told the length */
    ok = fwrite(line, 1, length + 1, out) == length + 1 && fflush(out) == 0;
    free(line);
    return ok;
}

bool json_part_write(FILE *out, struct json_part part)
{
    return write_whole(out, part.json, part.ok);
}

bool json_line_write(FILE *out, json_t *json)
{
    return write_whole(out, json, json != NULL);
}

bool json_command_header(FILE *out, const char *command, const char *link)
{
    struct json_part header = json_part_new(NULL), tool = json_part_new(NULL);
    struct tm utc;
    char text[64];
    time_t now = time(NULL);
    json_part_text(&header, "schema", JSON_SCHEMA);
    json_part_text(&header, "type", "header");
    json_part_text(&tool, "name", "pmu-probe");
    json_part_text(&tool, "version", PMU_PROBE_VERSION);
    json_part_object(&header, "tool", tool);
    json_part_text(&header, "command", command);
    json_part_text(&header, "link", link);
    if (gmtime_r(&now, &utc) != NULL && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc) > 0)
        json_part_text(&header, "started", text);
    return json_part_write(out, header);
}
