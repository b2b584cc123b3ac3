/*
 * Sentences as data: texts with the values of a line in them.
 *
 *     {key}          a text or a number; a key is as of field_of
 *     {key,}         18,204
 *     {key=}         18,204 or 94.25
 *     {key~}         12 MHz
 *     {key#8}        0x0800041E: at least 8 digits
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
