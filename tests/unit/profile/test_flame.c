/* Stacks as a flame graph: each sample is in one frame of each height, and no frame leaves its parent. */
#include "profiles.h"

#include "profile/call_tree.h"

#include <math.h>

static struct stack_function functions[] = {
    {.name = "leaf"}, {.name = "work"}, {.name = "main"}, {.name = "[asleep]"}};
static struct stack_place places[] = {
    {.state = PROFILE_STATES, .function = 0, .file = "a.c", .line = 9},
    {.state = PROFILE_STATES, .function = 0, .file = "a.h", .line = 9},
    {.state = PROFILE_STATES, .function = 1, .file = "a.c", .line = 21},
    {.state = PROFILE_STATES, .function = 1, .file = "a.c", .line = 22},
    {.state = PROFILE_STATES, .function = 2, .file = "a.c", .line = 40},
    {.state = PROFILE_ASLEEP, .function = 3},
};
/* The innermost first */
static size_t frames[] = {0, 2, 4, 1, 3, 4, 4, 2, 2, 4, 5};
static struct stack rows[] = {
    {.first = 0, .depth = 3, .samples = 10},            /* leaf < work < main */
    {.first = 3, .depth = 3, .samples = 20},            /* the same by other lines */
    {.first = 6, .depth = 1, .samples = 5},             /* main */
    {.first = 7, .depth = 3, .samples = 7},             /* work < work < main */
    {.core = 1, .first = 10, .depth = 1, .samples = 8}, /* asleep */
};
static const struct stacks stacks = {.functions = functions,
                                     .places = places,
                                     .frames = frames,
                                     .rows = rows,
                                     .function_count = 4,
                                     .place_count = 6,
                                     .frame_count = 11,
                                     .n = 5};

static const char *name_of(const struct call_node *frame)
{
    static char name[32];
    const struct stack_place *place = &places[frame->place];
    if (frame->kind == CALL_LINE)
        snprintf(name, sizeof name, "%s:%u", place->file, place->line);
    else
        snprintf(name, sizeof name, "%s",
                 frame->kind == CALL_ALL    ? "all"
                 : frame->kind == CALL_CORE ? "core"
                                            : functions[place->function].name);
    return name;
}

static void check_shape(const struct call_tree *flame)
{
    for (size_t i = 1; i < flame->n; i++) {
        const struct call_node *frame = &flame->nodes[i], *parent = &flame->nodes[frame->parent];
        double used = 0;
        assert_true(frame->parent < i && frame->depth == parent->depth + 1);
        assert_true(frame->x >= parent->x - 1e-12 &&
                    frame->x + frame->width <= parent->x + parent->width + 1e-12);
        for (size_t k = 1; k < i; k++)
            if (flame->nodes[k].parent == frame->parent) {
                used += flame->nodes[k].width;
                assert_true(flame->nodes[k].samples >= frame->samples);
            }
        assert_true(fabs(parent->x + used - frame->x) < 1e-12);
    }
}

TEST(frames_of_two_cores)
{
    static const struct {
        const char *name;
        unsigned depth;
        uint64_t samples;
    } expected[] = {{"all", 0, 50},     {"core", 1, 42},  {"core", 1, 8},   {"main", 2, 42},
                    {"[asleep]", 2, 8}, {"work", 3, 37},  {"a.c:40", 3, 5}, {"leaf", 4, 30},
                    {"work", 4, 7},     {"a.h:9", 5, 20}, {"a.c:9", 5, 10}, {"a.c:21", 5, 7}};
    struct call_tree flame;
    assert_true(flame_make(&stacks, 2, &flame));
    assert_int_equal(flame.n, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < flame.n; i++) {
        assert_string_equal(name_of(&flame.nodes[i]), expected[i].name);
        assert_int_equal(flame.nodes[i].depth, expected[i].depth);
        assert_int_equal(flame.nodes[i].samples, expected[i].samples);
    }
    assert_int_equal(flame.depth, 5);
    check_shape(&flame);
    call_tree_free(&flame);
}

TEST(one_core_has_no_frame)
{
    struct stacks first = stacks;
    struct call_tree flame;
    first.n = 4;
    assert_true(flame_make(&first, 1, &flame));
    assert_string_equal(name_of(&flame.nodes[1]), "main");
    assert_int_equal(flame.depth, 4);
    check_shape(&flame);
    call_tree_free(&flame);
}

TEST(no_samples)
{
    struct stacks none = {.n = 0};
    struct call_tree flame;
    assert_true(flame_make(&none, 1, &flame));
    assert_int_equal(flame.n, 1);
    assert_true(flame.nodes[0].width == 1);
    call_tree_free(&flame);
}

/* Stacks of any depth, some of them deep: sums are kept. */
TEST(random_stacks)
{
    enum { STACKS = 400, DEEP = 96 };
    static size_t deep[STACKS * DEEP];
    static struct stack many[STACKS];
    uint64_t seed = 3, all = 0, tops = 0;
    size_t used = 0;
    for (size_t i = 0; i < STACKS; i++) {
        size_t depth = 1 + (size_t)(profile_random(&seed) * (DEEP - 1));
        many[i] = (struct stack){.core = i % 2, .first = used, .depth = depth, .samples = 1 + i % 7};
        all += many[i].samples;
        for (size_t k = 0; k < depth; k++)
            deep[used++] = (size_t)(profile_random(&seed) * 5);
    }
    struct stacks random = stacks;
    struct call_tree flame;
    random.frames = deep;
    random.rows = many;
    random.n = STACKS;
    assert_true(flame_make(&random, 2, &flame));
    assert_int_equal(flame.nodes[0].samples, all);
    check_shape(&flame);
    for (size_t i = 0; i < flame.n; i++)
        tops += flame.nodes[i].kind == CALL_LINE ? flame.nodes[i].samples : 0;
    assert_int_equal(tops, all);
    call_tree_free(&flame);
}
