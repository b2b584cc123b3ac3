/*
 * What the analyses say of whole programs, function by function and instruction by instruction: the firmware
 * in tests/wires, which stays as it is, and the programs of assembly. `PMU_GOLDEN=write build/unit/symbols
 * test_analyses` writes analyses/ anew. A line of a function has what is so of it, and the places in it of
 * which something is so.
 */
#include "../golden.h"
#include "fixture.h"

enum { ROOM = 64, PLACES = 16 };

static void put_places(FILE *out, const char *name, const uint64_t *places, size_t n, size_t room)
{
    if (n == 0)
        return;
    fprintf(out, " %s", name);
    for (size_t i = 0; i < n && i < room; i++)
        fprintf(out, "%c%llx", i == 0 ? ' ' : ',', (unsigned long long)places[i]);
    if (n > room)
        fprintf(out, " of %zu", n);
}

static void put_flag(FILE *out, const char *name, bool is_so)
{
    if (is_so)
        fprintf(out, " %s", name);
}

static void put_held(FILE *out, const char *name, bool is_so, const struct held *held)
{
    if (is_so)
        fprintf(out, " %s:%llx-%llx-%llx", name, (unsigned long long)held->load,
                (unsigned long long)held->store, (unsigned long long)held->after);
}

static void put_base(FILE *out, const struct frame_base *base)
{
    fprintf(out, " r%u%s%+lld", base->number, base->is_sp ? "(sp)" : "", (long long)base->offset);
}

/* To its last instruction, and from there to its middle. */
static void put_ways(FILE *out, struct symbols *symbols, const struct extent *function)
{
    uint64_t middle = (function->low + (function->high - function->low) / 2) & ~UINT64_C(3);
    const uint64_t ends[][2] = {
        {function->low, function->high - 4}, {function->low, middle}, {middle, function->low}};
    for (size_t i = 0; i < COUNT(ends); i++) {
        struct symbols_ways ways = symbols_ways(symbols, ends[i][0], ends[i][1]);
        struct frame_base at[2] = {{0}};
        enum frames frames = symbols_frames(symbols, ends[i][0], ends[i][1], &at[0], &at[1]);
        fprintf(out, "    %llx to %llx:", (unsigned long long)ends[i][0], (unsigned long long)ends[i][1]);
        put_flag(out, "again", ways.again);
        put_flag(out, "ends", ways.ends);
        put_flag(out, "leaves", ways.leaves);
        put_flag(out, "calls", ways.calls);
        fprintf(out, " code %llx-%llx, frames %d", (unsigned long long)ways.code.low,
                (unsigned long long)ways.code.high, frames);
        if (frames >= FRAMES_KNOWN_ONE) {
            put_base(out, &at[0]);
            put_base(out, &at[1]);
        }
        fprintf(out, "\n");
    }
}

static void put_exits(FILE *out, struct symbols *symbols, uint64_t entry)
{
    struct handler_exit exits[PLACES];
    bool all = false;
    size_t n = symbols_exits(symbols, entry, exits, PLACES, &all);
    fprintf(out, "    exits%s:", all ? ", all" : "");
    for (size_t i = 0; i < n && i < PLACES; i++)
        fprintf(out, " %llx+%u/%u%s", (unsigned long long)exits[i].at, exits[i].popped, exits[i].by,
                exits[i].conditional ? "?" : "");
    fprintf(out, "\n");
}

/* Of a place: what is only so of few. */
static void put_place(FILE *out, struct symbols *symbols, uint64_t at)
{
    struct held held = {0}, after = {0};
    struct instruction store;
    uint64_t it = 0, begins = 0;
    bool is_held = symbols_held(symbols, at, &held), is_held_after = symbols_held_after(symbols, at, &after);
    bool joined = symbols_is_joined(symbols, at), cut = !symbols_is_return(symbols, at);
    bool in_it = symbols_it_of(symbols, at, &it);
    enum code_place place = symbols_code_place(symbols, at, &begins);
    bool stores = symbols_store_at(symbols, at, &store);
    if (!is_held && !is_held_after && !joined && !cut && !in_it && place == PLACE_BEGINS && !stores)
        return;
    fprintf(out, "    %llx", (unsigned long long)at);
    put_held(out, "held", is_held, &held);
    put_held(out, "after", is_held_after, &after);
    put_flag(out, "joined", joined);
    put_flag(out, "no-return", cut);
    put_flag(out, "store", stores);
    if (in_it)
        fprintf(out, " it %llx", (unsigned long long)it);
    if (place != PLACE_BEGINS)
        fprintf(out, " place %d %llx", place, (unsigned long long)begins);
    fprintf(out, "\n");
}

static void put_function(FILE *out, struct symbols *symbols, const struct location *at)
{
    const struct extent function = {at->low, at->high};
    uint64_t places[PLACES], eret = 0, mask = 0;
    struct held held = {0};
    struct extent whole = {0};
    symbols_whole(symbols, at->low, &whole);
    fprintf(out, "  %llx-%llx %s, %s:", (unsigned long long)at->low, (unsigned long long)at->high, at->name,
            at->source);
    fprintf(out, " whole %llx-%llx, own end %llx, longest %lld", (unsigned long long)whole.low,
            (unsigned long long)whole.high, (unsigned long long)symbols_own_end(symbols, &function),
            (long long)symbols_longest(symbols, at->low));
    put_flag(out, "returns", symbols_may_return(symbols, at->low));
    put_flag(out, "never", at->never_returns);
    put_flag(out, "skips", symbols_skips(symbols, at->low));
    put_flag(out, "one-stack", symbols_has_one_stack(symbols, at->low));
    put_flag(out, "nests", symbols_nests(symbols, &function));
    put_flag(out, "recurs", symbols_recurs(symbols, &function));
    put_flag(out, "entered", symbols_is_entered(symbols, &function));
    put_flag(out, "jumps-to-itself", symbols_jumps_to(symbols, &function));
    put_flag(out, "by-handlers", symbols_handlers_reach(symbols, at->low));
    put_flag(out, "by-pointers", symbols_pointers_reach(symbols, at->low));
    put_flag(out, "open", symbols_reach_is_open(symbols, &function));
    put_flag(out, "sleeps", symbols_may_sleep(symbols, at->low, at->high));
    put_held(out, "returns-held", symbols_return_held(symbols, at->low, &held), &held);
    if (symbols_ends_by_eret(symbols, at->low, &eret))
        fprintf(out, " eret %llx", (unsigned long long)eret);
    if (symbols_reach_may_mask(symbols, &function, 1, &mask))
        fprintf(out, " masks %llx", (unsigned long long)mask);
    put_places(out, "callers", places, symbols_callers(symbols, &function, places, PLACES), PLACES);
    put_places(out, "joins", places, symbols_joins(symbols, &function, places, PLACES), PLACES);
    fprintf(out, "\n");
    put_exits(out, symbols, at->low);
    put_ways(out, symbols, &function);
    for (uint64_t place = at->low; place < at->high && place < at->low + 0x400;
         place += at->isa == ISA_THUMB ? 2 : 4)
        put_place(out, symbols, place);
}

static void put_writes(FILE *out, struct symbols *symbols)
{
    struct counter_write writes[ROOM];
    size_t n = symbols_counter_writes(symbols, NULL, writes, ROOM);
    fprintf(out, "counter writes %zu:", n);
    for (size_t i = 0; i < n && i < ROOM; i++)
        fprintf(out, " %llx %s/%u", (unsigned long long)writes[i].address, writes[i].name, writes[i].rank);
    fprintf(out, "\n");
}

static void put_waits(FILE *out, struct symbols *symbols)
{
    struct symbols_wait *waits = NULL;
    size_t n = 0;
    assert_true(symbols_waits(symbols, &waits, &n));
    fprintf(out, "waits:");
    for (size_t i = 0; i < n; i++)
        fprintf(out, " %llx for %llx", (unsigned long long)waits[i].at, (unsigned long long)waits[i].word);
    fprintf(out, "\n");
    free(waits);
}

static void put_program(FILE *out, struct symbols *symbols)
{
    struct code_at_place stacks[ROOM];
    uint64_t places[ROOM];
    size_t n = symbols_stacks(symbols, stacks, ROOM);
    struct symbols_machine machine;
    symbols_machine(symbols, &machine);
    fprintf(out, "machine %u %c %u %s", machine.number, machine.profile != 0 ? machine.profile : '-',
            machine.architecture, machine.name);
    put_flag(out, "may-leave", symbols_may_leave(symbols));
    put_flag(out, "movable", symbols_is_movable(symbols));
    put_flag(out, "split", symbols_is_split(symbols));
    fprintf(out, "\nstacks %zu:", n);
    for (size_t i = 0; i < n && i < ROOM; i++)
        fprintf(out, " %llx/%d", (unsigned long long)stacks[i].address, stacks[i].isa);
    put_places(out, "; takers", places, symbols_takers(symbols, places, ROOM), ROOM);
    put_places(out, "; sleeps", places, symbols_sleeps(symbols, places, ROOM), ROOM);
    fprintf(out, "\n");
    put_writes(out, symbols);
    put_waits(out, symbols);
}

/* The words of a Cortex-M's counters: what the code does with each. */
static void put_words(FILE *out, struct symbols *symbols)
{
    static const uint64_t words[] = {0xE000E010, 0xE000E014, 0xE000E018, 0xE0001000,
                                     0xE0001004, 0xE000EDFC, 0xE000ED04};
    for (size_t i = 0; i < COUNT(words); i++) {
        uint64_t places[PLACES];
        struct counter_switch one = {.word = words[i], .bits = 1, .on = 1, .strikes = 1, .each = i % 2 != 0};
        symbols_find_switches(symbols, &one, 1);
        fprintf(out, "%llx:", (unsigned long long)words[i]);
        put_places(out, "stores", places, symbols_stores_to(symbols, words[i], places, PLACES), PLACES);
        put_places(out, "loads", places, symbols_loads_of(symbols, words[i], places, PLACES), PLACES);
        put_flag(out, "set", one.is_set);
        put_places(out, "changes", one.changes, one.n_changes, COUNTER_CHANGES);
        fprintf(out, "\n");
    }
}

static void check(const char *path, const char *name)
{
    char golden[128];
    struct error error = {0};
    struct location at;
    struct symbols *symbols = symbols_open(path, &error);
    if (symbols == NULL)
        fail_msg("%s", error.text);
    FILE *out = output();
    put_program(out, symbols);
    put_words(out, symbols);
    uint64_t before = UINT64_MAX;
    for (size_t i = 0; symbols_function(symbols, i, &at); i++) {
        if (at.address != before && at.high - at.low >= 4)
            put_function(out, symbols, &at);
        before = at.address;
    }
    symbols_close(symbols);
    snprintf(golden, sizeof golden, "../unit/symbols/analyses/%s.txt", name);
    output_is_golden(golden);
}

static void check_fixture(const char *name)
{
    char path[512];
    check(fixture_path(name, path, sizeof path), name);
}

TEST(analyses_of_a_cortex_m_s_firmware)
{
    check("tests/wires/m4.elf", "m4");
}

TEST(analyses_of_a_cortex_a_s_firmware)
{
    check("tests/wires/a9.elf", "a9");
}

TEST(analyses_of_assembly)
{
    check_fixture("writes_a32");
    check_fixture("writes_a64");
    check_fixture("signed");
    check_fixture("stores");
    check_fixture("changes");
    check_fixture("labels");
    check_fixture("copies");
    check_fixture("arrays_m");
}
