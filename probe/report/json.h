/* SPDX-License-Identifier: MIT */
/*
 * Results as JSON lines, schema pmu-probe/1: a header, a line for each hit, a summary. Each line is flushed
 * at once, so a file without a summary is a run that was cut off. Unknown values are left out; an error of
 * the clock, an address or a bound of zero counts as unknown. Counts beyond 2^63-1 are written as reals.
 */
#pragma once

#include "measure/plan.h"
#include "measure/result.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define JSON_SCHEMA   "pmu-probe/1"
#define JSON_SCHEMA_2 "pmu-probe/2" /* of survey */

/* All return false when the line could not be written whole (disk full, out of memory); errno says why.
 * json_header and json_hit use only the names of the columns. */
bool json_header(FILE *out, const struct conditions *conditions, const struct column *columns, size_t n,
                 time_t started);
bool json_hit(FILE *out, const struct hit_result *hit, const struct summary *summary);

/*
 * Parts of JSON lines: objects under construction, and the line made of them. Texts are cleaned, so they may
 * be from outside.
 */

/* `ok` stays false after the first failure. */
struct json_part {
    json_t *json;
    bool ok;
};

struct json_part json_part_new(const char *type);                               /* NULL: no type */
void json_part_text(struct json_part *part, const char *key, const char *text); /* "" is left out */
void json_part_unsigned(struct json_part *part, const char *key, uint64_t value);
void json_part_real(struct json_part *part, const char *key,
                    double value); /* NaN and infinity are left out */
/* Leaves out 0, or false. */
void json_part_some(struct json_part *part, const char *key, uint64_t value);
void json_part_true(struct json_part *part, const char *key, bool value);
void json_part_bool(struct json_part *part, const char *key, bool value);
void json_part_hex(struct json_part *part, const char *key, uint64_t address);
/* These free what they put in, and leave out an empty object or array. */
void json_part_object(struct json_part *part, const char *key, struct json_part inner);
void json_part_array(struct json_part *part, const char *key, json_t *array);
void json_part_append(struct json_part *part, json_t *array, json_t *value);
void json_part_add(struct json_part *part, json_t *array, struct json_part inner);
/* Of a line, to be changed; of NULL an empty one. */
struct json_part json_part_copy(const json_t *line);
json_t *json_part_string(const char *text);
json_t *json_hex(uint64_t address);
/* A list of texts, or of rows. */
struct json_part json_list_new(void);
void json_list_say(struct json_part *list, const char *format, ...) __attribute__((format(printf, 2, 3)));
json_t *json_list_end(struct json_part list); /* NULL: out of memory */
/* By name; null for a metric without a value. */
struct json_part json_metrics(const struct metric_result *metrics, size_t n);
/* Units of metrics, and why some have no value. */
void json_metric_words(struct json_part *line, const struct metric_result *metrics, size_t n);

/* Parts of what delta writes. */
struct json_part json_header_part(const char *schema, const struct conditions *conditions,
                                  const struct column *columns, size_t n, time_t started);
/* The same of what is counted by a plan, which may be NULL, and begins now; `command` NULL: delta. */
struct json_part json_plan_header(const char *schema, const char *command,
                                  const struct conditions *conditions, const struct plan *plan);
struct json_part json_region_part(const struct conditions *conditions);
struct json_part json_hit_part(const struct hit_result *hit, const struct summary *summary);
void json_summary_fill(struct json_part *line, const struct summary *summary);

/* Writes the line and frees the part. False when the line could not be written whole; errno says why. */
bool json_part_write(FILE *out, struct json_part part);
bool json_line_write(FILE *out, const json_t *json);

/* The first line of a command that measures nothing. */
struct json_part json_command_part(const char *command, const char *link);
bool json_command_header(FILE *out, const char *command, const char *link);
