/* Texts that fold between their words. */
#include "../test.h"

#include "report/fold.h"

#include <stdlib.h>

static FILE *out;
static char *text;
static size_t size;

static int set_up(void **state)
{
    (void)state;
    out = open_memstream(&text, &size);
    return out == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    fclose(out);
    free(text);
    return 0;
}

static void is(const char *wanted)
{
    fflush(out);
    assert_string_equal(text, wanted);
}

TEST_WITH(words_are_wrapped, set_up, tear_down)
{
    fold_text_at(out, 80, 0, 4, "one two");
    for (int i = 0; i < 70; i++)
        fputc('-', out);
    fold_text_at(out, 80, 70, 2,
                 "ten \xC2\xB5\xC2\xB5\xC2\xB5\xC2\xB5\xC2\xB5 below"); /* characters, not bytes */
    is("one two\n"
       "----------------------------------------------------------------------ten \xC2\xB5\xC2\xB5\xC2\xB5"
       "\xC2\xB5\xC2\xB5\n  below\n");
}

TEST_WITH(a_text_stands_beside_what_it_explains, set_up, tear_down)
{
    fold_beside(out, 42, "  name            ", "words that explain the name, and some more");
    is("  name            words that explain the\n"
       "                  name, and some more\n");
}

TEST_WITH(where_there_is_no_room_beside_it_stands_below, set_up, tear_down)
{
    fold_beside(out, 24, "  a long name  ", "words that explain");
    is("  a long name\n      words that explain\n");
}
