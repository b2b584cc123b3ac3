#include "symbols/names.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The length of the character that may be shown here, 0 if none may */
static size_t character(const char *text, size_t length)
{
    const uint8_t *byte = (const uint8_t *)text;
    if (byte[0] < 0x80)
        return byte[0] >= 0x20 && byte[0] != 0x7f;
    size_t size = byte[0] >= 0xc2 && byte[0] < 0xe0   ? 2
                  : byte[0] >= 0xe0 && byte[0] < 0xf0 ? 3
                  : byte[0] >= 0xf0 && byte[0] < 0xf5 ? 4
                                                      : 0;
    if (size == 0 || size > length)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((byte[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (byte[0] == 0xe0 && byte[1] < 0xa0) || (byte[0] == 0xf0 && byte[1] < 0x90);
    bool surrogate = byte[0] == 0xed && byte[1] > 0x9f;
    bool beyond = byte[0] == 0xf4 && byte[1] > 0x8f;
    bool control = byte[0] == 0xc2 && byte[1] < 0xa0;
    return overlong || surrogate || beyond || control ? 0 : size;
}

void name_copy(char *out, size_t room, const char *text, size_t length)
{
    if (room == 0)
        return;
    size_t used = 0;
    for (size_t i = 0; i < length;) {
        size_t size = character(text + i, length - i);
        size_t wide = size ? size : 1;
        if (used + wide >= room)
            break;
        if (size == 0)
            out[used] = '?';
        else
            memcpy(out + used, text + i, size);
        used += wide;
        i += wide;
    }
    out[used] = '\0';
}

const char *name_of_file(const char *path)
{
    const char *base = path;
    for (const char *c = path; *c != '\0'; c++)
        if (*c == '/' || *c == '\\')
            base = c + 1;
    return base;
}

struct plain {
    char *out;
    size_t room, used;
    const char *last; /* the component before, which constructors repeat */
    size_t last_length;
};

static void plain_add(struct plain *plain, const char *text, size_t length)
{
    static const char anonymous[] = "_GLOBAL__N_1";
    if (length == strlen(anonymous) && memcmp(text, anonymous, length) == 0)
        return;
    int wrote = snprintf(plain->out + plain->used, plain->room - plain->used, "%s%.*s",
                         plain->used ? "::" : "", (int)length, text);
    if (wrote > 0)
        plain->used += (size_t)wrote;
    if (plain->used >= plain->room)
        plain->used = plain->room - 1;
    plain->last = text;
    plain->last_length = length;
}

/* <length><identifier> */
static const char *plain_source_name(struct plain *plain, const char *at)
{
    size_t length = 0;
    while (*at >= '0' && *at <= '9' && length < 10000)
        length = length * 10 + (size_t)(*at++ - '0');
    if (length == 0 || strnlen(at, length) < length)
        return NULL;
    plain_add(plain, at, length);
    return at + length;
}

static const char *plain_component(struct plain *plain, const char *at)
{
    if (*at == 'L')
        at++;
    if (*at >= '1' && *at <= '9')
        return plain_source_name(plain, at);
    if (at[0] == 'S' && at[1] == 't') {
        plain_add(plain, "std", 3);
        return at + 2;
    }
    bool constructor = at[0] == 'C' && at[1] >= '1' && at[1] <= '3';
    bool destructor = at[0] == 'D' && at[1] >= '0' && at[1] <= '2';
    if (plain->last == NULL || !(constructor || destructor))
        return NULL;
    char name[128];
    snprintf(name, sizeof name, "%s%.*s", destructor ? "~" : "", (int)plain->last_length, plain->last);
    const char *owner = plain->last;
    plain_add(plain, name, strlen(name));
    plain->last = owner;
    return at + 2;
}

/* The part of the Itanium C++ ABI's mangling that is only names; false for all else */
static bool demangle(struct plain *plain, const char *symbol)
{
    if (strncmp(symbol, "_Z", 2) != 0)
        return false;
    const char *at = symbol + 2;
    if (*at == 'N') {
        at++;
        at += strspn(at, "rVKRO");
        while (at != NULL && *at != 'E')
            at = plain_component(plain, at);
    } else {
        if (at[0] == 'S' && at[1] == 't')
            at = plain_component(plain, at);
        at = plain_component(plain, at);
    }
    if (at == NULL || plain->used == 0)
        return false;
    const char *clone = strchr(at, '.');
    if (clone != NULL)
        snprintf(plain->out + plain->used, plain->room - plain->used, "%s", clone);
    return true;
}

void name_plain(char *out, size_t room, const char *symbol)
{
    char buffer[256];
    struct plain plain = {.out = buffer, .room = sizeof buffer};
    const char *name = demangle(&plain, symbol) ? buffer : symbol;
    name_copy(out, room, name, strlen(name));
}

bool name_is(const char *symbol, const char *wanted, size_t length)
{
    if (strncmp(symbol, wanted, length) == 0 && symbol[length] == '\0')
        return true;
    if (symbol[0] != '_' || symbol[1] != 'Z')
        return false;
    char name[256] = "";
    struct plain plain = {.out = name, .room = sizeof name};
    return demangle(&plain, symbol) && strncmp(name, wanted, length) == 0 && name[length] == '\0';
}
