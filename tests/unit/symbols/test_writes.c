/*
 * Which instructions write a counter: those of A and R cores by their codes, the stores of a Cortex-M by the
 * constants in its code. The programs are GNU as's.
 */
#include "fixture.h"

#include "symbols/internal.h"

enum { ROOM = 64 };

/* Each is named as its label ends, and each label is found. */
static void writes_are_those_with_labels(const char *program, size_t n)
{
    struct symbols *symbols = fixture(program);
    struct counter_write writes[ROOM];
    assert_int_equal(symbols_counter_writes(symbols, NULL, writes, ROOM), n);
    for (size_t i = 0; i < n; i++) {
        struct location location;
        symbols_describe(symbols, writes[i].address, &location);
        const char *name = strchr(location.name, '_');
        if (name == NULL || strcmp(name + 1, writes[i].name) != 0)
            fail_msg("%s is said to write %s", location.name, writes[i].name);
    }
}

TEST(arm_and_thumb_write_them_by_mcr_and_mcrr)
{
    writes_are_those_with_labels("writes_a32", 14);
}

TEST(a64_writes_them_by_msr)
{
    writes_are_those_with_labels("writes_a64", 12);
}

static const char *first_of(struct symbols *symbols, const char *named, struct counter_write *out,
                            size_t room)
{
    assert_true(symbols_counter_writes(symbols, named, out, room) > room);
    return out[0].name;
}

TEST(the_most_telling_come_first_and_the_named_before_all)
{
    struct symbols *symbols = fixture("writes_a32");
    struct counter_write writes[4];
    assert_string_equal(first_of(symbols, NULL, writes, 4), "PMCCNTR");
    assert_string_equal(writes[3].name, "PMCCNTR");
    assert_true(writes[0].address < writes[1].address);
    assert_string_equal(first_of(symbols, "PMSELR", writes, 4), "PMSELR");
    assert_string_equal(writes[1].name, "PMCCNTR");
    assert_string_equal(first_of(symbols, "PMCNTENSET", writes, 4), "PMCNTENSET"); /* and its twin */
    assert_string_equal(writes[1].name, "PMCNTENCLR");
    assert_int_equal(symbols_counter_writes(symbols, NULL, NULL, 0), 14);
}

/* --- stores --------------------------------------------------------------------------------------------- */

static const uint32_t REGISTERS[16] = {[1] = 0x20000000, [2] = 0x10,       [4] = 0x20000010, [5] = 4,
                                       [6] = 0x20000008, [7] = 0x20000018, [13] = 0x20000000};
enum { WORD = 0x20000010, STORES = 25, OTHERS = 14 };
static const uint64_t CYCCNT = 0xE0001004;

static bool label_hits(struct symbols *symbols, const char *format, unsigned number)
{
    char label[16];
    size_t n;
    unsigned size;
    snprintf(label, sizeof label, format, number);
    const uint8_t *bytes = elf_code(symbols, address_of(symbols, label), &n);
    assert_non_null(bytes);
    struct instruction one = instruction_of(ISA_THUMB, code_at(symbols, bytes, n, true, &size), 0);
    return one.access == ACCESS_STORE && store_hits(&one, REGISTERS, WORD);
}

TEST(every_form_of_a_store_is_known)
{
    struct symbols *symbols = fixture("stores");
    for (unsigned i = 1; i <= STORES; i++)
        if (!label_hits(symbols, "hit%02u", i))
            fail_msg("hit%02u does not", i);
    for (unsigned i = 1; i <= OTHERS; i++)
        if (label_hits(symbols, "miss%02u", i))
            fail_msg("miss%02u does", i);
}

TEST(stores_are_found_by_constants)
{
    struct symbols *symbols = fixture("stores");
    uint64_t found[ROOM];
    size_t n = symbols_stores_to(symbols, CYCCNT, found, ROOM);
    assert_int_equal(n, 12);
    for (unsigned i = 0; i < 8; i++) {
        char label[16];
        snprintf(label, sizeof label, "known%u", i + 1);
        assert_int_equal(found[i], address_of(symbols, label));
    }
    assert_int_equal(found[8], address_of(symbols, "called"));
    assert_int_equal(found[11], address_of(symbols, "kept"));
    assert_int_equal(symbols_stores_to(symbols, CYCCNT, NULL, 0), 12);
}

static bool is_change(const struct counter_switch *which, uint64_t at)
{
    for (size_t i = 0; i < which->n_changes; i++)
        if (which->changes[i] == at)
            return true;
    return false;
}

TEST(what_has_a_condition_leaves_two_values)
{
    struct symbols *symbols = fixture("stores");
    struct counter_switch which[] = {{.word = 0xE0001000, .on = 1}, {.word = CYCCNT, .each = true}};
    symbols_find_switches(symbols, which, 2);
    assert_true(is_change(&which[0], address_of(symbols, "chosen_value")));
    assert_true(is_change(&which[1], address_of(symbols, "chosen_place")));
}

/* A call where the ELF shows no code may do anything. */
TEST(what_may_change_a_mask_is_found_in_what_runs)
{
    struct symbols *symbols = fixture("stores");
    uint64_t at;
    for (unsigned i = 1; i <= 12; i++) {
        char label[16];
        snprintf(label, sizeof label, "%s%u", i <= 8 ? "masks" : "keeps", i <= 8 ? i : i - 8);
        const struct extent root = {.low = address_of(symbols, label)};
        if (symbols_reach_may_mask(symbols, &root, 1, &at) != (i <= 8))
            fail_msg("%s: %d", label, i > 8);
        if (symbols_reach_is_open(symbols, &root) != (i == 6 || i == 7))
            fail_msg("%s is%s open", label, i == 6 || i == 7 ? " not" : "");
    }
}

/* --- writes that change a count ------------------------------------------------------------------------- */

TEST(writes_that_change_the_count_are_told_from_others)
{
    struct symbols *symbols = fixture("changes");
    struct counter_switch which[] = {{.word = 0xE0001000, .on = 1, .bits = 1},
                                     {.word = CYCCNT, .each = true}};
    symbols_find_switches(symbols, which, 2);
    assert_int_equal(which[0].n_changes, 4);
    for (unsigned i = 0; i < 4; i++) {
        char label[16];
        snprintf(label, sizeof label, "change%u", i + 1);
        assert_int_equal(which[0].changes[i], address_of(symbols, label));
    }
    assert_true(which[0].is_set); /* by the first ORR */
    assert_int_equal(which[1].n_changes, 1);
    assert_int_equal(which[1].changes[0], address_of(symbols, "change5"));
}

TEST(a_base_that_no_constant_can_be_is_no_counter)
{
    enum { COUNTERS = 10, ELSEWHERE = 12 };
    struct symbols *symbols = fixture("bases");
    struct counter_switch which = {.word = CYCCNT, .each = true};
    char label[16];
    symbols_find_switches(symbols, &which, 1);
    for (unsigned i = 1; i <= COUNTERS; i++) {
        snprintf(label, sizeof label, "counter%u", i);
        if (!is_change(&which, address_of(symbols, label)))
            fail_msg("%s is not found", label);
    }
    for (unsigned i = 1; i <= ELSEWHERE; i++) {
        snprintf(label, sizeof label, "memory%u", i);
        if (is_change(&which, address_of(symbols, label)))
            fail_msg("%s is said to write it", label);
    }
    assert_int_equal(which.n_changes, COUNTERS);
}

TEST(what_a_function_runs_is_followed_through_calls_and_jumps)
{
    struct symbols *symbols = fixture("changes");
    const uint64_t places[] = {address_of(symbols, "change1"), address_of(symbols, "change5")};
    struct extent root = {.low = address_of(symbols, "calls_it")};
    size_t which = 0;
    assert_true(symbols_reach(symbols, &root, 1, places, 2, &which));
    assert_int_equal(which, 1);
    assert_false(symbols_reach(symbols, &root, 1, places, 1, &which));
    root.low = address_of(symbols, "calls_others"); /* itself, too */
    assert_false(symbols_reach(symbols, &root, 1, places, 2, &which));
    const struct extent both[] = {root, {.low = address_of(symbols, "stops_it")}};
    assert_true(symbols_reach(symbols, both, 2, places, 2, &which));
    assert_int_equal(which, 0);
    assert_true(symbols_reach_is_open(symbols, &root));
    assert_false(symbols_reach_is_open(symbols, &(struct extent){.low = address_of(symbols, "calls_it")}));
    root.low = 0x12345678; /* no function */
    assert_true(symbols_reach_is_open(symbols, &root));
    assert_false(symbols_reach(symbols, &root, 1, places, 2, &which));
    assert_false(symbols_reach(symbols, NULL, 0, places, 2, &which));
}

TEST(a_part_of_a_function_runs_what_it_has_itself)
{
    struct symbols *symbols = fixture("changes");
    const uint64_t change = address_of(symbols, "change3"), called = address_of(symbols, "change5");
    struct extent part = {address_of(symbols, "change1"), change};
    size_t which = 0;
    assert_false(symbols_reach(symbols, &part, 1, &change, 1, &which));
    part.high = change + 2;
    assert_true(symbols_reach(symbols, &part, 1, &change, 1, &which));
    part = (struct extent){address_of(symbols, "between"), address_of(symbols, "between") + 4};
    assert_false(symbols_reach(symbols, &part, 1, &called, 1, &which)); /* the jump is after it */
    part.high += 4;
    assert_true(symbols_reach(symbols, &part, 1, &called, 1, &which));
}

/* The stops that show each execution of one of the five places, of what these functions run. */
static size_t stops_before(struct symbols *symbols, const char *const *roots, size_t n_roots, size_t room,
                           uint64_t *out)
{
    struct extent ranges[4] = {{0, 0}};
    uint64_t places[5];
    for (unsigned i = 0; i < 5; i++) {
        char label[16];
        snprintf(label, sizeof label, "change%u", i + 1);
        places[i] = address_of(symbols, label);
    }
    for (size_t i = 0; i < n_roots; i++)
        ranges[i].low = address_of(symbols, roots[i]);
    return symbols_stops_before(symbols, ranges, n_roots, places, 5, out, room);
}

TEST(stops_are_at_the_places_or_where_they_are_called)
{
    static const char *const all[] = {"calls_it", "stops_it"}, *const again[] = {"calls_twice"};
    struct symbols *symbols = fixture("changes");
    uint64_t out[SYMBOLS_STOPS];
    assert_int_equal(stops_before(symbols, all, 1, 4, out), 1);
    assert_int_equal(out[0], address_of(symbols, "change5"));
    assert_int_equal(stops_before(symbols, &all[1], 1, 4, out), 4);
    assert_int_equal(out[3], address_of(symbols, "change4"));
    assert_int_equal(stops_before(symbols, all, 2, 8, out), 5);
    assert_true(stops_before(symbols, all, 2, 4, out) > 4); /* in stops_it itself are four, and a call */
    assert_true(stops_before(symbols, &all[1], 1, 3, out) > 3);
    assert_int_equal(stops_before(symbols, again, 1, 4, out), 2); /* of five places */
    assert_int_equal(out[0], address_of(symbols, "call1"));
    assert_int_equal(out[1], address_of(symbols, "call2"));
    assert_true(stops_before(symbols, again, 1, 1, out) > 1);
    assert_int_equal(stops_before(symbols, again, 0, 4, out), 0);
}

TEST(of_nothing_nothing_is_known)
{
    struct symbols *symbols = fixture("host");
    assert_int_equal(symbols_counter_writes(symbols, NULL, NULL, 0), 0);
    assert_int_equal(symbols_stores_to(symbols, CYCCNT, NULL, 0), 0);
}
