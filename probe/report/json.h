/*
 * Results as JSON lines, schema pmu-probe/1: a header, a line a hit, a summary, each line flushed at once.
 * A file without a summary is a run that was cut off. What is not known is left out; the clock's error and
 * an address or a bound that are zero count as not known. Counts beyond 2^63-1 are written as reals.
 */
#pragma once

#include "measure/result.h"
#include "report/counts.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* All return false when the line could not be written whole (disk full, out of memory); errno says why. Of
   the columns json_header and json_hit use the names only. */
bool json_header(FILE *out, const struct conditions *conditions, const struct column *columns, size_t n,
                 time_t started);
bool json_hit(FILE *out, const struct hit_result *hit, const struct summary *summary);
/* A line of `type` with what was counted in a window. */
bool json_counts(FILE *out, const char *type, const struct counts *counts);
bool json_summary(FILE *out, const struct summary *summary);

/*
 * Parts of JSON lines: objects that are being filled, and the line that comes of them. Texts are cleaned, so
 * that they may come from anywhere.
 */
#define JSON_SCHEMA "pmu-probe/1"

/* One failure is remembered to the end. */
struct json_part {
    json_t *json;
    bool ok;
};

struct json_part json_part_new(const char *type); /* NULL: without a type */
void json_part_put(struct json_part *part, const char *key, json_t *value);
void json_part_text(struct json_part *part, const char *key, const char *text); /* nothing for "" */
void json_part_unsigned(struct json_part *part, const char *key, uint64_t value);
void json_part_real(struct json_part *part, const char *key, double value); /* nothing for NaN */
void json_part_bool(struct json_part *part, const char *key, bool value);
void json_part_hex(struct json_part *part, const char *key, uint64_t address);
/* These consume what they put in; what is empty is left out. */
void json_part_object(struct json_part *part, const char *key, struct json_part inner);
void json_part_array(struct json_part *part, const char *key, json_t *array);
void json_part_append(struct json_part *part, json_t *array, json_t *value);
json_t *json_part_string(const char *text);

/* Both consume. False when the line could not be written whole (disk full, out of memory); errno says why. */
bool json_part_write(FILE *out, struct json_part part);
bool json_line_write(FILE *out, json_t *json);

/* The first line of a command that measures nothing. */
bool json_command_header(FILE *out, const char *command, const char *link);
