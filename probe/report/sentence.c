/* SPDX-License-Identifier: MIT */
#include "report/sentence.h"

#include "base/values.h"
#include "report/number.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCE = 2048 };

/* A number above 0, or anything but false. */
static bool is_some(const json_t *value)
{
    return value != NULL && !json_is_false(value) && (!json_is_number(value) || json_number_value(value) > 0);
}

/* `some`: of numbers only one above 0. */
static bool has_any(const json_t *line, const char *keys, bool some)
{
    char key[96];
    for (size_t length; *keys != '\0'; keys += length + (keys[length] == '|')) {
        length = strcspn(keys, "|");
        snprintf(key, sizeof key, "%.*s", (int)length, keys);
        if (some ? is_some(field_of(line, key)) : field_is(line, key))
            return true;
    }
    return false;
}

bool sentence_has(const json_t *line, const char *keys)
{
    return has_any(line, keys, false);
}

static void add_list(char *out, size_t size, const json_t *list, const char *key)
{
    size_t i;
    const json_t *one;
    json_array_foreach(list, i, one)
        text_add(out, size, "%s%s", i > 0 ? ", " : "", field_text(one, key));
}

static void add_choice(char *out, size_t size, bool is_one, const char *both)
{
    size_t first = strcspn(both, "|");
    if (is_one)
        text_add(out, size, "%.*s", (int)first, both);
    else if (both[first] != '\0')
        text_add(out, size, "%s", both + first + 1);
}

static void sentence_add_value(char *out, size_t size, const json_t *value, const char *how)
{
    double real = json_number_value(value);
    if (how[0] == ',')
        text_add(out, size, "%s", NUMBER(count_of(value)));
    else if (how[0] == '=')
        text_add(out, size, "%s", MEAN(real));
    else if (how[0] == '~')
        text_add(out, size, "%s", FREQUENCY(real));
    else if (how[0] == '#')
        text_add(out, size, "0x%0*" PRIX64, (int)strtol(how + 1, NULL, 10),
                 json_is_string(value) ? (uint64_t)strtoull(json_string_value(value), NULL, 0)
                                       : count_of(value));
    else if (how[0] == '@')
        text_add(out, size, "%s", ELAPSED(real));
    else if (how[0] == '%')
        text_add(out, size, "%s", PART(real));
    else if (how[0] == '/')
        text_add(out, size, "%s", DECIMAL(real, (int)strtol(how + 1, NULL, 10)));
    else if (how[0] == '?')
        add_choice(out, size, count_of(value) == 1, how + 1);
    else if (how[0] == '*')
        add_list(out, size, value, how + 1);
    else if (json_is_number(value))
        text_add(out, size, "%" PRIu64, count_of(value));
    else
        text_add(out, size, "%s", text_or_empty(value));
}

/* Of what is between the braces. False: in [] it is left out. */
static bool add_key(char *out, size_t size, const char *text, size_t length, const json_t *line)
{
    char key[96];
    snprintf(key, sizeof key, "%.*s", (int)length, text);
    if (key[0] == '!')
        return is_some(field_of(line, key + 1));
    if (key[0] == '^')
        return !sentence_has(line, key + 1);
    char how[32], *end = key + strcspn(key, ",=~#@%/?*");
    snprintf(how, sizeof how, "%s", end);
    *end = '\0';
    if (!field_is(line, key))
        return false;
    sentence_add_value(out, size, field_of(line, key), how);
    return true;
}

void sentence_fill(char *out, size_t size, const char *sentence, const json_t *line)
{
    size_t begin = 0;
    bool all = true;
    out[0] = '\0';
    while (*sentence != '\0') {
        size_t length = strcspn(sentence, "[]{}");
        text_add(out, size, "%.*s", (int)length, sentence);
        sentence += length;
        if (*sentence == '[') {
            begin = strlen(out);
            all = true;
        } else if (*sentence == ']' && !all) {
            out[begin] = '\0';
        } else if (*sentence == '{') {
            length = strcspn(++sentence, "}");
            all = add_key(out, size, sentence, length, line) && all;
            sentence += length;
        }
        sentence += *sentence != '\0';
    }
    for (size_t end = strlen(out); end > 0 && out[end - 1] == ' ';)
        out[--end] = '\0';
}

static bool sentence_holds(const struct sentence *one, const json_t *line)
{
    return (one->when == NULL || has_any(line, one->when, true)) &&
           (one->unless == NULL || !has_any(line, one->unless, true));
}

void sentences_say(struct json_part *list, const json_t *line, const struct sentence *sentences, size_t n)
{
    char text[SENTENCE];
    for (size_t i = 0; i < n; i++)
        if (sentence_holds(&sentences[i], line)) {
            sentence_fill(text, sizeof text, sentences[i].text, line);
            json_list_say(list, "%s", text);
        }
}

static void sentences_text(char *all, size_t size, const json_t *line, const struct sentence *sentences,
                           size_t n)
{
    char text[SENTENCE];
    all[0] = '\0';
    for (size_t i = 0; i < n; i++)
        if (sentence_holds(&sentences[i], line)) {
            sentence_fill(text, sizeof text, sentences[i].text, line);
            text_join(all, size, "; ", text);
        }
}

void sentences_put(struct json_part *row, const char *key, const json_t *line,
                   const struct sentence *sentences, size_t n)
{
    char all[2 * SENTENCE];
    sentences_text(all, sizeof all, line, sentences, n);
    json_part_text(row, key, all);
}

void sentences_join(struct json_part *list, const json_t *line, const struct sentence *sentences, size_t n)
{
    char all[2 * SENTENCE];
    sentences_text(all, sizeof all, line, sentences, n);
    if (all[0] != '\0')
        json_list_say(list, "%s", all);
}
