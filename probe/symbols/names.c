#include "symbols/names.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The length of the printable character here; 0 if there is none. */
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

static bool is_separator(char c)
{
    return c == '/' || c == '\\';
}

bool path_ends_with(const char *path, const char *tail, size_t length)
{
    size_t all = strlen(path);
    for (; length > 2 && tail[0] == '.' && is_separator(tail[1]); length -= 2)
        tail += 2;
    if (length == 0 || all < length)
        return false;
    const char *end = path + all - length;
    for (size_t i = 0; i < length; i++)
        if (end[i] != tail[i] && !(is_separator(end[i]) && is_separator(tail[i])))
            return false;
    return all == length || is_separator(end[-1]) || is_separator(tail[0]);
}

enum { FAR = UINT32_MAX, MOST_EDITS = 3 };

static unsigned char lower(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/*
 * The number of edits, or more than `most`. Two swapped letters are one edit. Only the diagonal band that can
 * stay within `most` is computed, and a hopeless row ends it: so a wrong name in a table of 100000 costs
 * milliseconds.
 */
static unsigned edits(const char *a, size_t a_length, const char *b, size_t b_length, unsigned most)
{
    unsigned rows[3][NEAR_LENGTH + 1];
    unsigned *second = rows[0];
    unsigned *above = rows[1];
    unsigned *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        above[j] = (unsigned)j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t from = i > most ? i - most : 1;
        size_t to = i + most < b_length ? i + most : b_length;
        unsigned best = row[from - 1] = from == 1 ? (unsigned)i : most + 1;
        for (size_t j = from; j <= to; j++) {
            unsigned cost = above[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));
            if (row[j - 1] + 1 < cost)
                cost = row[j - 1] + 1;
            if (j < i + most && above[j] + 1 < cost)
                cost = above[j] + 1;
            if (i > 1 && j > 1 && second[j - 2] + 1 < cost && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]))
                cost = second[j - 2] + 1;
            row[j] = cost;
            if (cost < best)
                best = cost;
        }
        if (best > most)
            return best;
        unsigned *last = second;
        second = above;
        above = row;
        row = last;
    }
    return above[b_length];
}

static unsigned score_of(const struct near *near, const char *name, size_t length)
{
    size_t wanted = near->length;
    unsigned most = wanted < 3 ? 1 : wanted / 3 < MOST_EDITS ? (unsigned)(wanted / 3) : MOST_EDITS;
    size_t gap = length > wanted ? length - wanted : wanted - length;
    if (gap <= most && length < NEAR_LENGTH) {
        unsigned count = edits(near->wanted, wanted, name, length, most);
        if (count <= most)
            return count;
    }
    if (wanted < 3)
        return FAR;
    const char *inside = strcasestr(name, near->wanted);
    if (inside == NULL)
        return FAR;
    return MOST_EDITS + (inside == name ? 1 : 2);
}

/* The text after the next "::" outside brackets; NULL: there is none. The name of an operator ends the
 * search. */
static const char *behind_colons(const char *name)
{
    int depth = 0;
    for (const char *at = name; *at != '\0'; at++) {
        depth += strchr("(<[{", *at) != NULL ? 1 : strchr(")>]}", *at) != NULL ? -1 : 0;
        if (depth == 0 && at[0] == ':' && at[1] == ':')
            return at + 2;
    }
    return NULL;
}

/* Users leave out namespaces: the name after them counts, too, a little less. */
static unsigned score(const struct near *near, const char *name)
{
    unsigned best = score_of(near, name, strlen(name));
    for (const char *tail = behind_colons(name); tail != NULL; tail = behind_colons(tail)) {
        unsigned inner = score_of(near, tail, strlen(tail));
        if (inner < best && inner + 1 < best)
            best = inner + 1;
    }
    return best;
}

void near_init(struct near *near, const char *wanted, size_t length)
{
    *near = (struct near){.count = 0};
    const char *parameters = length > 1 ? memchr(wanted + 1, '(', length - 1) : NULL;
    if (parameters != NULL)
        length = (size_t)(parameters - wanted);
    near->length = length < NEAR_LENGTH ? length : NEAR_LENGTH - 1;
    memcpy(near->wanted, wanted, near->length);
}

static bool better(const struct near_name *a, const struct near_name *b)
{
    if (a->score != b->score)
        return a->score < b->score;
    size_t a_length = strlen(a->name);
    size_t b_length = strlen(b->name);
    return a_length != b_length ? a_length < b_length : strcmp(a->name, b->name) < 0;
}

void near_offer(struct near *near, const char *name)
{
    struct near_name offer = {.score = score(near, name)};
    if (near->length == 0 || offer.score == (unsigned)FAR || strlen(name) >= sizeof offer.name)
        return;
    name_copy(offer.name, sizeof offer.name, name, strlen(name));
    for (size_t i = 0; i < near->count; i++)
        if (strcmp(near->best[i].name, offer.name) == 0)
            return;
    size_t place = near->count;
    while (place > 0 && better(&offer, &near->best[place - 1]))
        place--;
    if (place == NEAR_NAMES)
        return;
    if (near->count < NEAR_NAMES)
        near->count++;
    memmove(&near->best[place + 1], &near->best[place], (near->count - place - 1) * sizeof offer);
    near->best[place] = offer;
}

const char *near_text(const struct near *near, char *out, size_t room)
{
    static const char begin[] = "; did you mean ";
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < near->count; i++) {
        const char *joint = used == 0 ? begin : ", ";
        if (used + strlen(joint) + strlen(near->best[i].name) + sizeof "?" > room)
            continue;
        used += (size_t)snprintf(out + used, room - used, "%s%s", joint, near->best[i].name);
    }
    if (used > 0)
        snprintf(out + used, room - used, "?");
    return out;
}
