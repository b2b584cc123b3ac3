/* The parts of a page: whatever a text holds, it is a text. */
#include "golden.h"
#include "profiles.h"

#include "report/html.h"
#include "report/plots.h"

TEST(texts_are_escaped)
{
    enum { LONG = 16 * HTML_TEXT };
    static char longest[LONG];
    FILE *out = output();
    html_text(out, "<script>alert('1 & \"2\"')</script>");
    html_text(out, "\xFF\x1b[31m\xE2\x80\x8Bx");
    output_is("&lt;script&gt;alert(&#39;1 &amp; &quot;2&quot;&#39;)&lt;/script&gt;"
              "\xEF\xBF\xBD\xEF\xBF\xBD[31m\xEF\xBF\xBDx");
    memset(longest, '<', LONG - 1);
    html_text(output(), longest);
    char *got = output_text(NULL);
    size_t length = strlen(got) / strlen("&lt;");
    assert_true(length >= HTML_TEXT && length < LONG - 1 && strlen(got) % strlen("&lt;") == 0);
    free(got);
}

/* Names of a program that wants to be markup; a frame that is too narrow to be seen. */
TEST(a_flame_graph)
{
    static struct stack_function functions[] = {
        {.name = "a\"><script>alert(1)</script>"}, {.name = "main"}, {.name = "[asleep]"}};
    static struct stack_place places[] = {
        {.state = PROFILE_STATES, .function = 0, .file = "<b>.c", .line = 9},
        {.state = PROFILE_STATES, .function = 1, .file = "a.c", .line = 40},
        {.state = PROFILE_ASLEEP, .function = 2},
    };
    static size_t frames[] = {0, 1, 1, 2};
    static struct stack rows[] = {{.first = 0, .depth = 2, .samples = 6000},
                                  {.first = 2, .depth = 1, .samples = 3999},
                                  {.core = 1, .first = 3, .depth = 1, .samples = 40000},
                                  {.core = 1, .first = 2, .depth = 1, .samples = 1}};
    const struct stacks stacks = {.functions = functions,
                                  .places = places,
                                  .frames = frames,
                                  .rows = rows,
                                  .function_count = 3,
                                  .place_count = 3,
                                  .frame_count = 4,
                                  .n = 4};
    static char first[] = "Cortex-M4", second[] = "<i>";
    char *cores[] = {first, second};
    const struct profile_about about = {.cores = cores, .core_count = 2};
    struct flame flame;
    assert_true(flame_make(&stacks, 2, &flame));
    const struct flame_svg svg = {.flame = &flame, .stacks = &stacks, .about = &about};
    assert_int_equal(flame_svg(output(), &svg), 2);
    output_is_golden("page/flame.svg");
    flame_free(&flame);
}
