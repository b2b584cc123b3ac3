/* SPDX-License-Identifier: MIT */
/*
 * Sentences as data: texts with the values of a line in them.
 *
 *     {key}          a text or a number; a key is as of field_of
 *     {key,}         18,204
 *     {key=}         18,204 or 94.25
 *     {key~}         12 MHz
 *     {key#8}        0x0800041E: at least 8 digits
 *     {key@}         1.2 s
 *     {key%}         0.15 %, of a part
 *     {key/2}        4.00
 *     {key?one|many} by whether it is 1
 *     {key*place}    the `place` of each in a list
 *     {!key} {^key}  nothing, but in [] it must be more than 0 or true; must not be there
 *     [...]          left out unless all of its keys are there
 */
#pragma once

#include "report/document.h"

/* One of the keys, between which are |, is there, and not false. */
bool sentence_has(const json_t *line, const char *keys);
/* What does not fit is cut. */
void sentence_fill(char *out, size_t size, const char *sentence, const json_t *line);

struct sentence {
    const char *when, *unless; /* keys, between which are |: one is there and not 0, none is; NULL: always */
    const char *text;
};
/* Adds those that hold to a list of texts. */
void sentences_say(struct json_part *list, const json_t *line, const struct sentence *sentences, size_t n);
/* The same as one text, with "; " between them, at `key` of a row. */
void sentences_put(struct json_part *row, const char *key, const json_t *line,
                   const struct sentence *sentences, size_t n);
/* The same in a list. */
void sentences_join(struct json_part *list, const json_t *line, const struct sentence *sentences, size_t n);
