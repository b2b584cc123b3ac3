/*
 * Lines of a recording: words with blanks between. Numbers are hexadecimal unless the function says decimal;
 * texts are in quotes, and what is not printable in them is escaped. Reading trusts nothing: each function
 * returns false where the line does not go on with what is asked for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line under construction. */
struct line {
    char *bytes; /* NULL: empty */
    size_t used, room;
    bool failed; /* out of memory: something is missing */
};

void line_add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
void line_add_text(struct line *line, const char *text);
void line_add_bytes(struct line *line, const uint8_t *bytes, size_t n);
void line_clear(struct line *line);
void line_free(struct line *line);

/* What is left of a line that ends with '\0'. */
struct words {
    const char *at;
};

bool words_are_over(const struct words *words);
/* The next word begins with this character, which is taken. */
bool words_take(struct words *words, char first);
bool words_number(struct words *words, uint64_t most, uint64_t *out);
bool words_decimal(struct words *words, uint64_t most, uint64_t *out);
/* Too long a text is refused. */
bool words_text(struct words *words, char *out, size_t size);
bool words_bytes(struct words *words, uint8_t *out, size_t n);

/*
 * Each text has a number from its first use on. The numbers count from 1, in the order in which texts were
 * added.
 */
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
