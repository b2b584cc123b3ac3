/* The programs under fixtures/, and the lines of their sources by what is written on them. */
#pragma once

#include "../test.h"

#include "symbols/symbols.h"

#include <stdio.h>
#include <stdlib.h>

static inline const char *fixture_path(const char *name, char *out, size_t room)
{
    const char *build = getenv("PMU_BUILD");
    snprintf(out, room, "%s/fixtures/%s.elf", build != NULL ? build : "build", name);
    return out;
}

static inline struct symbols *fixture_open(const char *name)
{
    char path[512];
    struct error error = {.kind = ERROR_NONE};
    struct symbols *symbols = symbols_open(fixture_path(name, path, sizeof path), &error);
    if (symbols == NULL)
        fail_msg("%s", error.text);
    return symbols;
}

/* One that stays open until the last test of the file has ended. */
static struct fixture_kept {
    const char *name;
    struct symbols *symbols;
} fixtures_kept[24];

static inline struct symbols *fixture(const char *name)
{
    struct fixture_kept *kept = fixtures_kept;
    while (kept->name != NULL && strcmp(kept->name, name) != 0)
        kept++;
    assert_true(kept < fixtures_kept + COUNT(fixtures_kept) - 1);
    if (kept->name == NULL)
        *kept = (struct fixture_kept){name, fixture_open(name)};
    return kept->symbols;
}

__attribute__((destructor)) static void fixtures_close(void)
{
    for (struct fixture_kept *kept = fixtures_kept; kept->name != NULL; kept++)
        symbols_close(kept->symbols);
}

/* The bytes of a program, to be damaged. The caller frees. */
static inline uint8_t *fixture_bytes(const char *name, size_t *size)
{
    char path[512];
    FILE *file = fopen(fixture_path(name, path, sizeof path), "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

/* "blink.c:53" for the line of blink.c that has `mark` on it; a buffer of the caller's */
static inline const char *fixture_line(const char *source, const char *mark, char *out, size_t room)
{
    char path[256];
    char line[512];
    int number = 0;
    bool found = false;
    snprintf(path, sizeof path, "tests/unit/symbols/fixtures/%s", source);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (!found && fgets(line, sizeof line, file) != NULL) {
        number++;
        found = strstr(line, mark) != NULL;
    }
    fclose(file);
    if (!found)
        fail_msg("no `%s` in %s", mark, path);
    snprintf(out, room, "%s:%d", source, number);
    return out;
}

/* Ends with where it lies in a checkout, and begins with where that was built. */
static inline void assert_fixture_path(const char *path, const char *source)
{
    char end[256];
    snprintf(end, sizeof end, "/tests/unit/symbols/fixtures/%s", source);
    assert_true(path[0] == '/' && strlen(path) > strlen(end));
    assert_string_equal(path + strlen(path) - strlen(end), end);
}

static inline struct location must_locate(struct symbols *symbols, const char *text)
{
    struct location location;
    struct error error = {.kind = ERROR_NONE};
    if (!symbols_locate(symbols, text, &location, &error))
        fail_msg("%s: %s", text, error.text);
    return location;
}

static inline uint64_t address_of(struct symbols *symbols, const char *name)
{
    return must_locate(symbols, name).address;
}

/* Fails to find `text`, with an error of this kind that has these words in it */
static inline void must_refuse(struct symbols *symbols, const char *text, enum error_kind kind,
                               const char *words)
{
    struct location location;
    struct error error = {.kind = ERROR_NONE};
    if (symbols_locate(symbols, text, &location, &error))
        fail_msg("%s was found at 0x%llx", text, (unsigned long long)location.address);
    assert_int_equal(error.kind, kind);
    if (strstr(error.text, words) == NULL)
        fail_msg("%s: `%s` is not in: %s", text, words, error.text);
}
