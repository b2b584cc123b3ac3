#include "report/sentence.h"

#include "base/values.h"
#include "report/number.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool sentence_has(const json_t *line, const char *keys)
{
    char key[96];
    for (size_t length; *keys != '\0'; keys += length + (keys[length] == '|')) {
        length = strcspn(keys, "|");
        snprintf(key, sizeof key, "%.*s", (int)length, keys);
        if (field_is(line, key))
            return true;
    }
    return false;
}

static void add_list(char *out, size_t size, const json_t *list, const char *key)
{
    size_t i;
    const json_t *one;
    json_array_foreach(list, i, one)
        text_add(out, size, "%s%s", i > 0 ? ", " : "", field_text(one, key));
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
    const json_t *value = field_of(line, key + 1);
    if (key[0] == '!')
        return field_is(line, key + 1) && (!json_is_number(value) || json_number_value(value) > 0);
    if (key[0] == '^')
        return !sentence_has(line, key + 1);
    char how[32], *end = key + strcspn(key, ",=~#*");
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
