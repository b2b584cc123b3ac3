/* A comparison for programs: a line beside those of report/json. */
#include "report/comparison.h"

#include "report/json_part.h"

#include <math.h>

/* All consume `value`, and take a NULL for what memory was short for: they return whether all is in place. */
static bool put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

/* An empty list or object, and an empty text, say nothing. */
static bool put_filled(json_t *object, const char *key, json_t *value)
{
    if (value == NULL)
        return false;
    if (json_array_size(value) + json_object_size(value) > 0)
        return put(object, key, value);
    json_decref(value);
    return true;
}

static bool put_text(json_t *object, const char *key, const char *text)
{
    return text[0] == '\0' || put(object, key, json_string(text));
}

static bool put_real(json_t *object, const char *key, double value)
{
    return !isfinite(value) || put(object, key, json_real(value));
}

static bool put_unsigned(json_t *object, const char *key, uint64_t value)
{
    return put(object, key, value <= INT64_MAX ? json_integer((json_int_t)value) : json_real((double)value));
}

static json_t *consumed_unless(bool ok, json_t *json)
{
    if (ok)
        return json;
    json_decref(json);
    return NULL;
}

static json_t *side_json(const struct verdict_side *side)
{
    json_t *json = json_object();
    bool ok = put_unsigned(json, "count", side->n);
    if (side->n > 0)
        ok = put_real(json, "mean", side->mean) && put_real(json, "sd", side->sd) &&
             put_unsigned(json, "min", side->min) && put_unsigned(json, "max", side->max) &&
             put_real(json, "plus_minus", side->plus_minus) && ok;
    if (side->at_least)
        ok = put(json, "at_least", json_true()) && ok;
    return consumed_unless(ok, json);
}

static json_t *line_json(const struct verdict_line *line)
{
    json_t *json = json_object();
    bool ok = put_text(json, "verdict", verdict_name(line->verdict)) &&
              put_real(json, "change", line->change) && put(json, "base", side_json(&line->base)) &&
              put(json, "now", side_json(&line->now)) && put_text(json, "why", line->why);
    return consumed_unless(ok, json);
}

static json_t *texts_json(const char (*texts)[384], size_t n)
{
    json_t *json = json_array();
    bool ok = json != NULL;
    for (size_t i = 0; i < n; i++)
        ok = json_array_append_new(json, json_string(texts[i])) == 0 && ok;
    return consumed_unless(ok, json);
}

static json_t *columns_json(const struct comparison *comparison)
{
    json_t *json = json_object();
    bool ok = json != NULL;
    for (size_t i = 0; i < comparison->n; i++)
        ok = put(json, comparison->lines[i].name, line_json(&comparison->lines[i])) && ok;
    return consumed_unless(ok, json);
}

static json_t *baseline_json(const struct comparison *comparison)
{
    json_t *json = json_object();
    bool ok = put(json, "file", json_string(comparison->file)) &&
              put_text(json, "started", comparison->started) &&
              put_text(json, "build_id", comparison->build_id);
    return consumed_unless(ok, json);
}

bool comparison_json(FILE *out, const struct comparison *comparison)
{
    json_t *json = json_object();
    bool whole = put_text(json, "type", "verdict") &&
                 put_text(json, "verdict", verdict_name(comparison->verdict)) &&
                 put_real(json, "threshold", comparison->threshold) &&
                 put(json, "baseline", baseline_json(comparison)) &&
                 put_filled(json, "columns", columns_json(comparison)) &&
                 put_filled(json, "not_comparable", texts_json(comparison->reasons, comparison->n_reasons)) &&
                 put_filled(json, "notes", texts_json(comparison->notes, comparison->n_notes));
    return json_line_write(out, consumed_unless(whole, json));
}
