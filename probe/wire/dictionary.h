/*
 * Each text has a number from its first use on. The numbers count from 1, in the order in which texts were
 * added.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct saying {
    size_t number;
    uint64_t result; /* of a step: the last one */
    char *answer;    /* to a request: the last one; NULL: none */
    char text[];
};

struct dictionary {
    struct saying **sayings;
    size_t n, room;
    void *tree;
};

/* NULL: it has not been added. */
struct saying *dictionary_find(const struct dictionary *dictionary, const char *text);
/* NULL: out of memory. What has been added before is returned again. */
struct saying *dictionary_add(struct dictionary *dictionary, const char *text);
/* NULL: no text has this number. */
struct saying *dictionary_at(const struct dictionary *dictionary, uint64_t number);
void dictionary_free(struct dictionary *dictionary);
