/* ROM tables as chips have them, and as they should not be. */
#include "../test.h"

#include "debug_words.h"
#include "find/coresight.h"
#include "links/link.h"

#include <stdio.h>

/* Whatever is not there is refused. */
static struct fixture {
    struct debug_link link;
    struct ledger *ledger;
    struct debug_words words;
    uint64_t asleep_from; /* nothing answers from here on; 0: all does */
    struct coresight found;
    struct error error;
} f;

static bool get(const struct address *at, uint64_t *value)
{
    return debug_get(&f.words, at->offset, value);
}

static bool sleeps(const struct address *at)
{
    return f.asleep_from != 0 && at->offset >= f.asleep_from;
}

static void tear_down(void)
{
    ledger_free(f.ledger);
    f.ledger = NULL;
}

static void set_up(void)
{
    tear_down();
    memset(&f, 0, sizeof f);
    debug_link_init(&f.link, get, sleeps);
    f.ledger = ledger_new(&f.link.link);
    assert_non_null(f.ledger);
}

#define FRESH_TEST(name) TEST_BETWEEN(name, set_up, tear_down)

static void put(uint64_t at, uint32_t value)
{
    debug_put(&f.words, at, value);
}

static void component(uint64_t base, unsigned class, unsigned part, unsigned devtype, uint32_t devarch)
{
    debug_component(&f.words, base, class, part, devtype, devarch);
}

static bool walk(uint64_t rom)
{
    struct deadline deadline = deadline_in_ms(10000, NULL);
    return coresight_walk(f.ledger, 0, rom, &f.found, &deadline, &f.error);
}

FRESH_TEST(a_table_names_its_components)
{
    char name[64];
    component(0x80000000, 1, 0x4A9, 0, 0);
    put(0x80000000, 0x00010003);
    put(0x80000004, 0x00020002); /* not present: skipped, and not the end */
    put(0x80000008, 0x00011003);
    put(0x8000000C, 0);
    put(0x80000010, 0x00099003); /* after the end */
    component(0x80010000, 9, 0xC09, 0x15, 0);
    component(0x80011000, 9, 0x9A0, 0x16, 0);
    assert_true(walk(0x80000000));
    assert_int_equal(f.found.n, 3);
    assert_int_equal(f.found.components[1].devtype, DEVTYPE_CORE);
    assert_int_equal(f.found.components[1].part, 0xC09);
    assert_int_equal(f.found.components[1].designer, 0x43B);
    assert_int_equal(f.found.components[2].devtype, DEVTYPE_PMU);
    component_name(&f.found.components[0], name, sizeof name);
    assert_string_equal(name, "ROM table");
    component_name(&f.found.components[2], name, sizeof name);
    assert_string_equal(name, "PMU");
}

FRESH_TEST(offsets_may_point_back_and_tables_may_nest)
{
    component(0x80080000, 1, 0x3B2, 0, 0);
    put(0x80080000, 0xFFF81003); /* 0x80001000 */
    put(0x80080004, 0);
    component(0x80001000, 9, 0x123, 0, 0x47700AF7); /* a table of class 9 */
    put(0x80001FC8, 0);
    put(0x80001000, 0x00001003);
    put(0x80001004, 0x00000002);
    put(0x80001008, 0);
    component(0x80002000, 9, 0x906, 0x14, 0);
    assert_true(walk(0x80080000));
    assert_int_equal(f.found.n, 3);
    assert_int_equal(f.found.components[2].base, 0x80002000);
    assert_int_equal(f.found.components[2].devtype, DEVTYPE_CTI);
}

FRESH_TEST(tables_that_name_each_other_end)
{
    component(0x1000, 1, 1, 0, 0);
    put(0x1000, 0x00001003);
    put(0x1004, 0x00000003); /* itself */
    put(0x1008, 0);
    component(0x2000, 1, 2, 0, 0);
    put(0x2000, 0xFFFFF003);
    put(0x2004, 0);
    assert_true(walk(0x1000));
    assert_int_equal(f.found.n, 2);
}

FRESH_TEST(what_has_no_power_is_listed_as_such)
{
    char name[64];
    component(0x1000, 1, 1, 0, 0);
    put(0x1000, 0x00001003);
    put(0x1004, 0x00002003);
    put(0x1008, 0);
    component(0x3000, 9, 0x9D3, 0x16, 0x47702A16);
    assert_true(walk(0x1000));
    assert_int_equal(f.found.n, 3);
    assert_false(f.found.components[1].readable);
    component_name(&f.found.components[1], name, sizeof name);
    assert_string_equal(name, "cannot be read");
    assert_int_equal(component_archid(&f.found.components[2]), 0x2A16);
}

FRESH_TEST(more_than_there_is_room_for_is_said)
{
    component(0x100000, 1, 1, 0, 0);
    for (unsigned i = 0; i < 300; i++)
        put(0x100000 + 4ULL * i, (i + 1) << 12 | 3);
    put(0x100000 + 1200, 0);
    assert_true(walk(0x100000));
    assert_int_equal(f.found.n, CORESIGHT_COMPONENTS);
    assert_true(f.found.cut);
}

/* What answers never is not asked for ever. */
FRESH_TEST(a_bus_that_hangs_is_let_alone)
{
    component(0x100000, 1, 1, 0, 0);
    for (unsigned i = 0; i < 20; i++)
        put(0x100000 + 4ULL * i, (i + 1) << 12 | 3);
    put(0x100000 + 80, 0);
    f.asleep_from = 0x101000;
    assert_true(walk(0x100000));
    assert_true(f.found.cut);
    assert_in_range(f.found.n, 2, 4);
    assert_int_equal(f.error.kind, ERROR_NONE);
}

FRESH_TEST(the_way_to_one_component)
{
    struct component one;
    struct deadline deadline = deadline_in_ms(10000, NULL);
    component(0x100000, 1, 1, 0, 0);
    put(0x100000, 0x00001003);
    put(0x100004, 0x00002003);
    put(0x100008, 0x00003003);
    put(0x10000C, 0);
    for (unsigned i = 1; i <= 3; i++)
        component(0x100000 + 0x1000 * i, 9, 0x900 + i, 0x14, 0);
    assert_true(coresight_find(f.ledger, 0, 0x100000, 0x102000, &one, &deadline, &f.error));
    assert_true(one.readable);
    assert_int_equal(one.part, 0x902);
    unsigned reads = f.link.reads;
    assert_true(coresight_find(f.ledger, 0, 0x100000, 0x105000, &one, &deadline, &f.error));
    assert_false(one.readable);
    assert_true(f.link.reads - reads > reads); /* the first walk did not read on after it */
}

/* A table of class 9 with entries of two words, and one that ends when it is full. */
FRESH_TEST(entries_of_64_bits)
{
    component(0x80000000, 9, 0x123, 0, 0x47700AF7);
    put(0x80000FC8, 1);
    put(0x80000000, 0x00001003);
    put(0x80000004, 0x00000001); /* 0x1_80001000 */
    put(0x80000008, 0x00009002); /* not present */
    put(0x8000000C, 0);
    put(0x80000010, 0xFFFFF003);
    put(0x80000014, 0xFFFFFFFF); /* 0x7FFFF000 */
    put(0x80000018, 0);
    put(0x8000001C, 0);
    component(0x180001000, 9, 0x9D3, 0x16, 0);
    component(0x7FFFF000, 9, 0xD03, 0x15, 0x47706A15);
    assert_true(walk(0x80000000));
    assert_int_equal(f.found.n, 3);
    assert_true(f.found.components[1].base == 0x180001000);
    assert_int_equal(f.found.components[1].devtype, DEVTYPE_PMU);
    assert_int_equal(f.found.components[2].base, 0x7FFFF000);
}

/* Neither an end nor an entry that can be read: what was found until then is kept. */
FRESH_TEST(a_table_that_breaks_off)
{
    component(0x1000, 1, 1, 0, 0);
    put(0x1000, 0x00001003);
    component(0x2000, 9, 0xC09, 0x15, 0);
    assert_true(walk(0x1000));
    assert_int_equal(f.found.n, 2);
    assert_true(f.found.components[1].readable);
}

FRESH_TEST(what_does_not_identify_itself_is_no_component)
{
    component(0x1000, 1, 1, 0, 0);
    put(0x1000, 0x00001003);
    put(0x1004, 0);
    for (uint64_t at = 0xFD0; at < 0x1000; at += 4)
        put(0x2000 + at, 0);
    put(0x2FBC, 0);
    put(0x2FCC, 0x15);
    assert_true(walk(0x1000));
    assert_int_equal(f.found.n, 2);
    assert_false(f.found.components[1].readable);
    assert_int_equal(f.found.components[1].devtype, 0);
}

/* Tables that go down and down: no deeper than any chip does. */
FRESH_TEST(nesting_has_an_end)
{
    for (uint64_t base = 0x1000; base < 0x28000; base += 0x1000) {
        component(base, 1, 1, 0, 0);
        put(base, 0x00001003);
        put(base + 4, 0);
    }
    assert_true(walk(0x1000));
    assert_in_range(f.found.n, 4, 8);
}

FRESH_TEST(a_link_lost_on_the_way_is_an_error)
{
    for (unsigned at = 1; at < 40; at++) {
        set_up();
        f.link.lost_at = at;
        component(0x1000, 1, 1, 0, 0);
        put(0x1000, 0x00001003);
        put(0x1004, 0x00002003);
        put(0x1008, 0);
        component(0x2000, 9, 0xC09, 0x15, 0);
        component(0x3000, 9, 0x9A0, 0x16, 0);
        bool walked = walk(0x1000);
        assert_int_equal(walked, f.link.reads < at);
        assert_int_equal(f.error.kind, walked ? ERROR_NONE : ERROR_LINK_LOST);
        assert_true(walked || f.link.reads == at); /* no further read */
    }
    assert_int_equal(f.found.n, 3);
}

FRESH_TEST(a_lost_link_is_an_error)
{
    f.link.lost = true;
    assert_fails(walk(0x1000), &f.error, ERROR_LINK_LOST, "");
}
