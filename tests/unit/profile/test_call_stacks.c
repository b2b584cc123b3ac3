/* Call stacks: each once in a set, with all its frames in the formats, and as a tree of calls. */
#include "../symbols/fixture.h"
#include "profiles.h"

#include "profile/call_tree.h"

static uint64_t at_function(struct symbols *symbols, const char *name)
{
    struct location found;
    struct error error = {0};
    assert_true(symbols_locate(symbols, name, &found, &error));
    return found.address;
}

static void add(struct call_stacks *set, uint64_t samples, enum unwind_end end, size_t guessed, size_t depth,
                const uint64_t *at)
{
    uint64_t copy[UNWIND_FRAMES];
    memcpy(copy, at, depth * sizeof *at);
    assert_true(call_stacks_add(
        set, &(struct call_stack){
                 .samples = samples, .at = copy, .depth = depth, .sure = depth - guessed, .end = end}));
}

#define ADD(set, samples, end, guessed, ...)                                                                 \
    add(set, samples, end, guessed, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t),                    \
        (uint64_t[]){__VA_ARGS__})

TEST(equal_stacks_are_one)
{
    struct call_stacks set = {0}, other = {0};
    for (unsigned i = 0; i < 500; i++)
        ADD(&set, 1, UNWIND_OUTERMOST, 0, 0x100 + 2 * (i % 50), 0x200);
    assert_int_equal(set.n, 50);
    ADD(&set, 1, UNWIND_NO_CALL, 0, 0x100, 0x200);   /* cut short */
    ADD(&set, 1, UNWIND_OUTERMOST, 1, 0x100, 0x200); /* guessed */
    ADD(&set, 1, UNWIND_OUTERMOST, 0, 0x100);        /* another depth */
    assert_int_equal(set.n, 53);
    ADD(&other, 5, UNWIND_OUTERMOST, 0, 0x100, 0x200);
    ADD(&other, 7, UNWIND_OUTERMOST, 0, 0x300);
    assert_true(call_stacks_merge(&set, &other));
    assert_int_equal(set.n, 54);
    assert_int_equal(set.rows[0].samples, 15);
    call_stacks_free(&set);
    call_stacks_free(&other);
}

TEST(each_end_has_a_name_in_the_file)
{
    assert_null(call_stack_end_name(UNWIND_OUTERMOST));
    for (int i = UNWIND_OUTERMOST + 1; i <= UNWIND_TOO_DEEP; i++) {
        enum unwind_end end;
        assert_true(call_stack_end_find(call_stack_end_name((enum unwind_end)i), &end) &&
                    end == (enum unwind_end)i);
    }
    enum unwind_end end;
    assert_false(call_stack_end_find("bored", &end));
}

/* main calls fir_filter, whole, guessed and cut short, in two intervals. */
static struct profile *with_calls(struct symbols *symbols)
{
    uint64_t fir = at_function(symbols, "fir_filter"), top = at_function(symbols, "main");
    struct profile *profile = profile_new(1);
    for (unsigned i = 0; i < 2; i++) {
        struct profile_interval *interval = profile_interval(profile, 0, i, i + 1);
        bool first = fir < top;
        profile_count(interval, first ? fir : top, first ? 17 : 3);
        profile_count(interval, first ? top : fir, first ? 3 : 17);
        interval->states[PROFILE_NOT_PERMITTED] = 1;
        ADD(&interval->stacks, 10, UNWIND_OUTERMOST, 0, fir, top + 2);
        ADD(&interval->stacks, 5, UNWIND_OUTERMOST, 1, fir, top + 2);
        ADD(&interval->stacks, 2, UNWIND_NO_RULES, 0, fir);
        ADD(&interval->stacks, 3, UNWIND_OUTERMOST, 0, top);
    }
    return profile;
}

static const struct stack *find_stack(const struct stacks *stacks, size_t depth, const char *outermost)
{
    for (size_t i = 0; i < stacks->n; i++) {
        const struct stack *row = &stacks->rows[i];
        size_t last = stacks->places[stacks->frames[row->first + row->depth - 1]].function;
        if (row->depth == depth && strcmp(stacks->functions[last].name, outermost) == 0)
            return row;
    }
    fail_msg("no stack of %zu frames ends with %s", depth, outermost);
    return NULL;
}

TEST(frames_tell_what_is_guessed_and_what_is_cut)
{
    struct symbols *symbols = fixture_open("blink");
    struct profile *profile = with_calls(symbols);
    struct stacks stacks;
    assert_true(stacks_are_in(profile));
    assert_true(stacks_make(profile, symbols, false, &stacks));
    assert_int_equal(stacks.n, 5);
    assert_int_equal(find_stack(&stacks, 2, "main")->samples, 20);
    assert_int_equal(find_stack(&stacks, 2, "main [guessed]")->samples, 10);
    assert_int_equal(find_stack(&stacks, 2, "[cut short]")->samples, 4);
    assert_int_equal(find_stack(&stacks, 1, "main")->samples, 6);
    assert_int_equal(find_stack(&stacks, 1, "[not permitted]")->samples, 2);
    stacks_free(&stacks);
    assert_true(stacks_make(profile, symbols, true, &stacks));
    assert_int_equal(stacks.n, 10);
    assert_true(stacks.rows[4].from <= 0 && stacks.rows[5].from >= 1);
    stacks_free(&stacks);
    symbols_close(symbols);
    profile_file_free(profile);
}

TEST(a_function_has_what_it_calls)
{
    struct symbols *symbols = fixture_open("blink");
    struct profile *profile = with_calls(symbols);
    struct stacks stacks;
    struct shares shares;
    assert_true(stacks_make(profile, symbols, false, &stacks));
    assert_true(shares_make(profile, 0, SHARES_FUNCTION, symbols, &shares));
    assert_true(call_tree_add_children(&stacks, &shares));
    assert_true(shares.has_children);
    assert_int_equal(shares.n, 3);
    assert_string_equal(shares.rows[0].function, "main");
    assert_int_equal(shares.rows[0].children, 36); /* guessed ones, too */
    assert_int_equal(shares.rows[0].samples, 6);
    assert_string_equal(shares.rows[1].function, "fir_filter");
    assert_int_equal(shares.rows[1].children, 34);
    assert_int_equal(shares.rows[2].children, 2);
    shares_free(&shares);
    stacks_free(&stacks);
    symbols_close(symbols);
    profile_file_free(profile);
}

/* As where code begins at address 0, which does not mark unknown code. */
TEST(a_function_at_address_0_has_what_it_calls)
{
    char boot[] = "boot", leaf[] = "leaf", named[] = "[asleep]", unknown[] = "[unknown]",
         asleep[] = "[asleep]";
    struct stack_function functions[] = {{.name = boot, .plain = 4},
                                         {.name = leaf, .plain = 4, .entry = 0x10},
                                         {.name = named, .plain = 8, .entry = 0x20},
                                         {.name = unknown, .plain = 9, .is_outside = true},
                                         {.name = asleep, .plain = 8, .is_outside = true}};
    struct stack_place places[] = {
        {.function = 0}, {.function = 1}, {.function = 2}, {.function = 3}, {.function = 4}};
    size_t frames[] = {1, 0, 0, 2, 0, 3, 4};
    struct stack rows[] = {{.first = 0, .depth = 2, .samples = 20},
                           {.first = 2, .depth = 1, .samples = 5},
                           {.first = 3, .depth = 2, .samples = 4},
                           {.first = 5, .depth = 1, .samples = 3},
                           {.first = 6, .depth = 1, .samples = 2}};
    struct stacks stacks = {.functions = functions,
                            .places = places,
                            .frames = frames,
                            .rows = rows,
                            .function_count = 5,
                            .place_count = 5,
                            .frame_count = 7,
                            .n = 5};
    for (int sampled = 0; sampled < 2; sampled++) { /* with a row already, and as one that only calls */
        struct shares shares = {.rows = calloc(2, sizeof *shares.rows)};
        if (sampled)
            shares.rows[shares.n++] =
                (struct share){.state = PROFILE_STATES, .function = strdup(boot), .samples = 5};
        shares.rows[shares.n++] = (struct share){.state = PROFILE_ASLEEP, .samples = 2};
        assert_true(call_tree_add_children(&stacks, &shares));
        assert_int_equal(shares.n, 5);
        assert_string_equal(shares.rows[0].function, boot);
        assert_int_equal(shares.rows[0].children, 29);
        assert_int_equal(shares.rows[1].children, 20);
        assert_string_equal(shares.rows[2].function, named);
        assert_int_equal(shares.rows[2].children, 4);
        assert_null(shares.rows[3].function);
        assert_int_equal(shares.rows[3].children, 3);
        assert_int_equal(shares.rows[4].state, PROFILE_ASLEEP);
        assert_int_equal(shares.rows[4].children, 2);
        shares_free(&shares);
    }
}

/* A caller that was never sampled itself gets a row; recursion counts a sample once. */
TEST(a_function_that_only_calls)
{
    struct symbols *symbols = fixture_open("blink");
    uint64_t fir = at_function(symbols, "fir_filter"), top = at_function(symbols, "main");
    struct profile *profile = profile_new(1);
    struct profile_interval *interval = profile_interval(profile, 0, 0, 1);
    struct stacks stacks;
    struct shares shares;
    profile_count(interval, fir, 8);
    ADD(&interval->stacks, 8, UNWIND_OUTERMOST, 0, fir, fir + 4, fir + 4, top + 2);
    assert_true(stacks_make(profile, symbols, false, &stacks));
    assert_true(shares_make(profile, 0, SHARES_FUNCTION, symbols, &shares));
    assert_true(call_tree_add_children(&stacks, &shares));
    assert_int_equal(shares.n, 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(shares.rows[i].children, 8);
    assert_string_equal(shares.rows[1].function, "main");
    assert_int_equal(shares.rows[1].samples, 0);
    struct call_tree tree;
    assert_true(call_tree_make(&stacks, 0, &tree));
    size_t node = 0, depth = 0;
    for (; tree.nodes[node].child != 0; node = tree.nodes[node].child, depth++)
        assert_int_equal(tree.nodes[tree.nodes[node].child].samples, 8);
    assert_int_equal(depth, 4);
    call_tree_free(&tree);
    shares_free(&shares);
    stacks_free(&stacks);
    symbols_close(symbols);
    profile_file_free(profile);
}

TEST(the_largest_branch_comes_first)
{
    struct profile *profile = profile_new(1);
    struct profile_interval *interval = profile_interval(profile, 0, 0, 1);
    struct stacks stacks;
    struct call_tree tree;
    for (uint64_t i = 0; i < 20; i++) {
        profile_count(interval, 0x100 + 2 * i, 1 + i * 7 % 20);
        ADD(&interval->stacks, 1 + i * 7 % 20, UNWIND_OUTERMOST, 0, 0x100 + 2 * i, 0x1000);
    }
    assert_true(stacks_make(profile, NULL, false, &stacks));
    assert_true(call_tree_make(&stacks, 0, &tree));
    uint64_t last = UINT64_MAX, n = 0;
    for (size_t i = tree.nodes[tree.nodes[0].child].child; i != 0; i = tree.nodes[i].next, n++) {
        assert_true(tree.nodes[i].samples < last);
        last = tree.nodes[i].samples;
    }
    assert_int_equal(n, 20);
    assert_int_equal(tree.nodes[0].samples, 210);
    call_tree_free(&tree);
    stacks_free(&stacks);
    profile_file_free(profile);
}
