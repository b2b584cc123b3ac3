/* Functions as blocks: where each begins and where it goes on. */
#include "fixture.h"

#include "symbols/listing.h"

/* The block that has the address; SIZE_MAX: none. */
static size_t blocks_at(const struct code_blocks *blocks, uint64_t address)
{
    for (size_t i = 0; i < blocks->n; i++)
        if (address >= blocks->at[i].low && address < blocks->at[i].high)
            return i;
    return SIZE_MAX;
}

struct expected_block {
    uint64_t low, last;
    unsigned line;
    uint64_t next[BLOCK_NEXT];
    bool returns, is_open;
};

static void add_row(struct listing *listing, struct listing_row row)
{
    row.size = row.size > 0 ? row.size : 2;
    listing->rows[listing->n++] = row;
}

static void blocks_are(const struct listing *listing, const struct expected_block *expected, size_t n)
{
    struct code_blocks blocks;
    struct error error = {.kind = ERROR_NONE};
    if (!blocks_make(listing, &blocks, &error))
        fail_msg("%s", error.text);
    assert_int_equal(blocks.n, n);
    for (size_t i = 0; i < n; i++) {
        const struct code_block *block = &blocks.at[i];
        unsigned n_next = (expected[i].next[0] != 0) + (expected[i].next[1] != 0);
        assert_int_equal(block->low, expected[i].low);
        assert_int_equal(block->last, expected[i].last);
        assert_int_equal(block->line, expected[i].line);
        assert_int_equal(block->n_next, n_next);
        for (unsigned next = 0; next < n_next; next++)
            assert_int_equal(block->next[next], expected[i].next[next]);
        assert_int_equal(block->returns, expected[i].returns);
        assert_int_equal(block->is_open, expected[i].is_open);
        assert_int_equal(blocks_at(&blocks, block->last), i);
    }
    assert_int_equal(blocks_at(&blocks, blocks.at[0].low - 2), SIZE_MAX);
    blocks_free(&blocks);
}

TEST(lines_targets_and_branches_begin_blocks)
{
    struct listing_row rows[8];
    struct listing listing = {.rows = rows};
    static const struct expected_block expected[] = {
        {.low = 0x100, .last = 0x102, .line = 5, .next = {0x104}},
        {.low = 0x104, .last = 0x106, .line = 6, .next = {0x104, 0x108}},
        {.low = 0x108, .last = 0x108, .line = 6, .is_open = true},
        {.low = 0x10C, .last = 0x10C, .line = 7, .next = {0x10E}, .returns = true},
        {.low = 0x10E, .last = 0x10E, .line = 7, .returns = true},
    };
    add_row(&listing, (struct listing_row){.address = 0x100, .line = 5});
    add_row(&listing, (struct listing_row){.address = 0x102, .line = 5});
    add_row(&listing, (struct listing_row){.address = 0x104, .line = 6});
    add_row(&listing, (struct listing_row){
                          .address = 0x106, .line = 6, .flow = FLOW_TO, .target = 0x104, .may_go_on = true});
    add_row(&listing, (struct listing_row){.address = 0x108, .line = 6, .flow = FLOW_AWAY});
    add_row(&listing, (struct listing_row){.address = 0x10A, .line = 6, .is_data = true});
    add_row(&listing,
            (struct listing_row){.address = 0x10C, .line = 7, .flow = FLOW_RETURN, .may_go_on = true});
    add_row(&listing, (struct listing_row){.address = 0x10E, .line = 7, .flow = FLOW_TO, .target = 0x4000});
    blocks_are(&listing, expected, COUNT(expected));
}

/* ldrex; cbnz out; strex; cmp; bne ldrex; out: bx lr: each of another line. */
TEST(an_exclusive_access_is_one_block)
{
    struct listing_row rows[6];
    struct listing listing = {.rows = rows};
    static const struct expected_block expected[] = {
        {.low = 0x100, .last = 0x106, .line = 5, .next = {0x10E, 0x10A}},
        {.low = 0x10A, .last = 0x10C, .line = 8, .next = {0x100, 0x10E}},
        {.low = 0x10E, .last = 0x10E, .line = 9, .returns = true},
    };
    add_row(&listing, (struct listing_row){.address = 0x100, .size = 4, .line = 5});
    add_row(&listing, (struct listing_row){.address = 0x104,
                                           .line = 6,
                                           .flow = FLOW_TO,
                                           .target = 0x10E,
                                           .may_go_on = true,
                                           .is_held = true});
    add_row(&listing, (struct listing_row){.address = 0x106, .size = 4, .line = 7, .is_held = true});
    add_row(&listing, (struct listing_row){.address = 0x10A, .line = 8});
    add_row(&listing, (struct listing_row){
                          .address = 0x10C, .line = 8, .flow = FLOW_TO, .target = 0x100, .may_go_on = true});
    add_row(&listing, (struct listing_row){.address = 0x10E, .line = 9, .flow = FLOW_RETURN});
    blocks_are(&listing, expected, COUNT(expected));
}

TEST(a_call_that_does_not_return_after_itself_ends_a_block)
{
    struct listing_row rows[3];
    struct listing listing = {.rows = rows};
    static const struct expected_block expected[] = {
        {.low = 0x100, .last = 0x102, .line = 5, .is_open = true},
        {.low = 0x106, .last = 0x106, .line = 5, .returns = true},
    };
    struct code_blocks blocks;
    struct error error = {.kind = ERROR_NONE};
    add_row(&listing, (struct listing_row){.address = 0x100, .line = 5});
    add_row(&listing,
            (struct listing_row){.address = 0x102, .size = 4, .line = 5, .calls = true, .flow = FLOW_AWAY});
    add_row(&listing, (struct listing_row){.address = 0x106, .line = 5, .flow = FLOW_RETURN});
    blocks_are(&listing, expected, COUNT(expected));
    assert_true(blocks_make(&listing, &blocks, &error));
    assert_true(blocks.at[0].calls_away && !blocks.at[1].calls_away);
    blocks_free(&blocks);
}

TEST(without_lines_there_are_none)
{
    struct listing_row row = {.address = 0x100, .size = 2};
    struct listing listing = {.rows = &row, .n = 1};
    struct code_blocks blocks;
    struct error error = {.kind = ERROR_NONE};
    assert_fails(blocks_make(&listing, &blocks, &error), &error, ERROR_ELF, "");
    assert_null(blocks.at);
}

/* Every way that compilers of our programs leave a block leads to the beginning of one, or is known to lead
 * away. */
static void check_all(const char *program)
{
    struct symbols *symbols = fixture(program);
    struct location at;
    unsigned returning = 0, functions = 0;
    uint64_t before = 0;
    for (size_t i = 0; symbols_function(symbols, i, &at); i++) {
        struct listing listing;
        struct code_blocks blocks;
        struct error error = {.kind = ERROR_NONE};
        bool returns = false;
        if (at.low == before || at.high <= at.low ||
            !listing_make(symbols, at.low, at.high, &listing, &error))
            continue;
        before = at.low;
        if (blocks_make(&listing, &blocks, &error)) {
            functions++;
            assert_int_equal(blocks.at[0].low, at.low);
            for (size_t k = 0; k < blocks.n; k++) {
                const struct code_block *block = &blocks.at[k];
                assert_true(block->last >= block->low && block->high > block->last);
                assert_true(k == 0 || block->low >= blocks.at[k - 1].high);
                assert_true(block->n_next > 0 || block->returns || block->is_open);
                returns = returns || block->returns || block->is_open;
                for (unsigned next = 0; next < block->n_next; next++)
                    assert_int_equal(blocks.at[blocks_at(&blocks, block->next[next])].low, block->next[next]);
            }
            returning += returns;
            blocks_free(&blocks);
        }
        listing_free(&listing);
    }
    assert_true(functions > 0);
    assert_true(returning * 4 > functions * 3);
}

TEST(of_each_instruction_set)
{
    check_all("stacks_m4");
    check_all("stacks_m0");
    check_all("blink");
    check_all("stacks_a9");
    check_all("stacks_a53");
}

static enum code_flow flow_of(const struct listing *listing, const char *text)
{
    for (size_t i = 0; i < listing->n; i++)
        if (strncmp(listing->rows[i].text, text, strlen(text)) == 0)
            return listing->rows[i].flow;
    fail_msg("no %s", text);
    return FLOW_ON;
}

TEST(of_armv8_m)
{
    struct symbols *symbols = fixture("listing");
    struct listing listing;
    struct error error = {.kind = ERROR_NONE};
    struct location at;
    assert_true(symbols_locate(symbols, "_start", &at, &error));
    assert_true(listing_make(symbols, at.low, at.high, &listing, &error));
    assert_int_equal(flow_of(&listing, "cbz"), FLOW_TO);
    assert_int_equal(flow_of(&listing, "bl "), FLOW_ON);
    assert_int_equal(flow_of(&listing, "bxns"), FLOW_AWAY);
    assert_int_equal(flow_of(&listing, "blxns"), FLOW_ON);
    assert_int_equal(flow_of(&listing, ".inst.w 0xf040e001"), FLOW_ON); /* DLS, which only counts */
    assert_int_equal(flow_of(&listing, "bx "), FLOW_RETURN);
    assert_int_equal(flow_of(&listing, "nop"), FLOW_ON);
    listing_free(&listing);
}

/* Lines 6 and 7 in the block of an IT of line 5, which ends in a return; a jump into it begins no block. */
TEST(the_block_of_an_it_is_one_piece)
{
    struct listing_row rows[8];
    struct listing listing = {.rows = rows};
    static const struct expected_block expected[] = {
        {.low = 0x100, .last = 0x100, .line = 4, .next = {0x102}},
        {.low = 0x102, .last = 0x104, .line = 5, .next = {0x10C}, .returns = true},
        {.low = 0x10C, .last = 0x10C, .line = 7, .next = {0x106}},
    };
    add_row(&listing, (struct listing_row){.address = 0x100, .line = 4});
    add_row(&listing, (struct listing_row){.address = 0x102, .line = 5});
    add_row(&listing, (struct listing_row){.address = 0x104, .line = 5});
    add_row(&listing, (struct listing_row){.address = 0x106, .line = 6, .in_it = true});
    add_row(&listing, (struct listing_row){.address = 0x108, .line = 7, .in_it = true});
    add_row(&listing,
            (struct listing_row){
                .address = 0x10A, .line = 7, .in_it = true, .flow = FLOW_RETURN, .may_go_on = true});
    add_row(&listing, (struct listing_row){.address = 0x10C, .line = 7, .flow = FLOW_TO, .target = 0x106});
    blocks_are(&listing, expected, 3);
}
