#include "wire/dictionary.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const void *saying)
{
    return ((const struct saying *)saying)->text;
}

static int compare_texts(const void *one, const void *other)
{
    return strcmp(text_of(one), text_of(other));
}

/* The tree compares sayings, of which a key has only the text. */
static struct saying *make_key(const char *text)
{
    size_t length = strlen(text);
    struct saying *key = calloc(1, sizeof *key + length + 1);
    if (key != NULL)
        memcpy(key->text, text, length + 1);
    return key;
}

struct saying *dictionary_find(const struct dictionary *dictionary, const char *text)
{
    struct saying *key = make_key(text);
    void *found = key == NULL ? NULL : tfind(key, &dictionary->tree, compare_texts);
    free(key);
    return found != NULL ? *(struct saying **)found : NULL;
}

static bool make_room(struct dictionary *dictionary)
{
    if (dictionary->n < dictionary->room)
        return true;
    size_t room = 2 * dictionary->room + 64;
    struct saying **sayings = realloc(dictionary->sayings, room * sizeof(struct saying *));
    if (sayings == NULL)
        return false;
    dictionary->sayings = sayings;
    dictionary->room = room;
    return true;
}

struct saying *dictionary_add(struct dictionary *dictionary, const char *text)
{
    struct saying *new = make_key(text);
    void *found =
        new == NULL || !make_room(dictionary) ? NULL : tsearch(new, &dictionary->tree, compare_texts);
    if (found == NULL || *(struct saying **)found != new) {
        free(new);
        return found != NULL ? *(struct saying **)found : NULL;
    }
    dictionary->sayings[dictionary->n++] = new;
    new->number = dictionary->n;
    return new;
}

struct saying *dictionary_at(const struct dictionary *dictionary, uint64_t number)
{
    return number == 0 || number > dictionary->n ? NULL : dictionary->sayings[number - 1];
}

void dictionary_free(struct dictionary *dictionary)
{
    while (dictionary->n > 0) {
        struct saying *last = dictionary->sayings[--dictionary->n];
        (void)tdelete(last, &dictionary->tree, compare_texts);
        free(last->answer);
        free(last);
    }
    free(dictionary->sayings);
    *dictionary = (struct dictionary){0};
}
