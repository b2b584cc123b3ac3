/*
 * Names: makes the names in a file printable, and suggests near names for a misspelt one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Copies the whole characters that fit; control characters and broken UTF-8 become '?'. */
void name_copy(char *out, size_t room, const char *text, size_t length);
const char *name_of_file(const char *path); /* after the last / or \ */
/* Whether `tail` is the last parts of `path`. */
bool path_ends_with(const char *path, const char *tail, size_t length);

/* The best five of the names that are offered. Whole names only: each can be typed. */
enum { NEAR_NAMES = 5, NEAR_LENGTH = 64, NEAR_NAME = 512, NEAR_TEXT = 700 };

struct near {
    char wanted[NEAR_LENGTH];
    size_t length;
    size_t count;
    struct near_name {
        unsigned score;
        char name[NEAR_NAME];
    } best[NEAR_NAMES];
};

void near_init(struct near *near, const char *wanted, size_t length);
void near_offer(struct near *near, const char *name);
/* "; did you mean a, b?", or "" if no name is near. */
const char *near_text(const struct near *near, char *out, size_t room);
