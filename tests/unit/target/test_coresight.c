/* ROM tables as chips have them, and as they should not be. */
#include "../cmocka_all.h"

#include "target/coresight.h"

#include "links/link.h"

#include <stdio.h>
#include <string.h>

enum { WORDS = 4096 };

/* Words by address; whatever is not there is refused. */
static struct fixture {
    struct link link;
    struct ledger *ledger;
    struct {
        uint64_t at;
        uint32_t value;
    } words[WORDS];
    size_t n;
    bool lost;
    struct coresight found;
    struct error error;
} f;

static struct outcome execute(struct link *link, const struct step *steps, size_t n, uint64_t *results,
                              const struct deadline *deadline, struct error *error)
{
    (void)link;
    (void)deadline;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        if (f.lost) {
            error_set(error, ERROR_LINK_LOST, "gone");
            return (struct outcome){.why = LINK_LOST, .done = i};
        }
        while (k < f.n && f.words[k].at != steps[i].at.offset)
            k++;
        if (k == f.n) {
            error_set(error, ERROR_FAULT, "refused");
            return (struct outcome){.why = TARGET_FAULT, .done = i};
        }
        results[i] = f.words[k].value;
    }
    return (struct outcome){.why = DONE, .done = n};
}

static int tear_down(void **state)
{
    (void)state;
    ledger_free(f.ledger);
    f.ledger = NULL;
    return 0;
}

static int set_up(void **state)
{
    static const struct link_ops ops = {.execute = execute};
    tear_down(state);
    memset(&f, 0, sizeof f);
    f.link.ops = &ops;
    f.ledger = ledger_new(&f.link);
    assert_non_null(f.ledger);
    return 0;
}

static void put(uint64_t at, uint32_t value)
{
    assert_true(f.n < WORDS);
    f.words[f.n].at = at;
    f.words[f.n++].value = value;
}

static void component(uint64_t base, unsigned class, unsigned part, unsigned devtype, uint32_t devarch)
{
    static const uint8_t cidr[] = {0x0D, 0x00, 0x05, 0xB1};
    for (unsigned i = 0; i < 4; i++)
        put(base + 0xFF0 + 4ULL * i, cidr[i] | (i == 1 ? class << 4 : 0));
    put(base + 0xFE0, part & 0xFF);
    put(base + 0xFE4, 0xB0 | part >> 8);
    put(base + 0xFE8, 0x0B);
    put(base + 0xFEC, 0);
    put(base + 0xFD0, 4);
    if (class != 9)
        return;
    put(base + 0xFCC, devtype);
    put(base + 0xFBC, devarch);
}

static bool walk(uint64_t rom)
{
    struct deadline deadline = deadline_in_ms(10000, NULL);
    return coresight_walk(f.ledger, 0, rom, &f.found, &deadline, &f.error);
}

static void a_table_names_its_components(void **state)
{
    char name[64];
    (void)state;
    component(0x80000000, 1, 0x4A9, 0, 0);
    put(0x80000000, 0x00010003);
    put(0x80000004, 0x00020002); /* not present: skipped, and not the end */
    put(0x80000008, 0x00011003);
    put(0x8000000C, 0);
    put(0x80000010, 0x00099003); /* behind the end */
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

static void offsets_may_point_back_and_tables_may_nest(void **state)
{
    (void)state;
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

static void tables_that_name_each_other_end(void **state)
{
    (void)state;
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

static void what_has_no_power_is_listed_as_such(void **state)
{
    char name[64];
    (void)state;
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

static void more_than_there_is_room_for_is_said(void **state)
{
    (void)state;
    component(0x100000, 1, 1, 0, 0);
    for (unsigned i = 0; i < 100; i++)
        put(0x100000 + 4ULL * i, (i + 1) << 12 | 3);
    put(0x100000 + 400, 0);
    assert_true(walk(0x100000));
    assert_int_equal(f.found.n, CORESIGHT_COMPONENTS);
    assert_true(f.found.cut);
}

static void a_lost_link_is_an_error(void **state)
{
    (void)state;
    f.lost = true;
    assert_false(walk(0x1000));
    assert_int_equal(f.error.kind, ERROR_LINK_LOST);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_table_names_its_components),        TEST(offsets_may_point_back_and_tables_may_nest),
        TEST(tables_that_name_each_other_end),     TEST(what_has_no_power_is_listed_as_such),
        TEST(more_than_there_is_room_for_is_said), TEST(a_lost_link_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
