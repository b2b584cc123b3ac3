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
/* Those that several results have. */
#define SENTENCE_DOUBT "not proved to be exact: {doubt}"
#define SENTENCE_ENDED "it ended early: {ended}"
#define SENTENCE_LEFT  "{left,} call{left?|s} left without returning, not counted"
#define SENTENCE_CUT                                                                                         \
    "{cut,} call{cut?|s} had not ended[{!cut_at_least}, after at least {cut_at_least,} {cut_of}], not "      \
    "included"
#define SENTENCE_LEFT_OUT     "{calls.left_out%} of the calls left out"
#define SENTENCE_NO_TIMES     "no times: {clock_change}"
#define SENTENCE_UNCALIBRATED "overhead not measured: {uncalibrated}"
#define SENTENCE_NEAR         "median, p90 and p99: to 0.1 %"
#define SENTENCE_UNMEASURED   "what a halt adds was not measured, and is in the counts"
/* Adds those that hold to a list of texts. */
void sentences_say(struct json_part *list, const json_t *line, const struct sentence *sentences, size_t n);
/* The same as one text, with "; " between them, at `key` of a row. */
void sentences_put(struct json_part *row, const char *key, const json_t *line,
                   const struct sentence *sentences, size_t n);
/* The same in a list. */
void sentences_join(struct json_part *list, const json_t *line, const struct sentence *sentences, size_t n);
