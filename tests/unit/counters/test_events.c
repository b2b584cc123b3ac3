#include "cores/parts.h"
#include "counters/events.h"
#include "test.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

static struct event_set *open_set(const char *cpu)
{
    struct error error = {0};
    struct event_set *set = event_set_open(cpu, &error);
    if (set == NULL)
        fail_msg("%s: %s", cpu, error.text);
    return set;
}

TEST(every_embedded_set_can_be_searched)
{
    const char *const *cpus;
    size_t n = event_cpus(&cpus);
    assert_int_equal(n, 43);
    for (size_t i = 0; i < n; i++) {
        struct event_set *set = open_set(cpus[i]);
        assert_true(i == 0 || strcmp(cpus[i - 1], cpus[i]) < 0);
        assert_true(event_set_count(set) >= 6);
        for (size_t k = 0; k < event_set_count(set); k++) {
            const struct event *event = event_set_at(set, k);
            char lower[EVENT_NAME] = "";
            for (size_t c = 0; event->name[c] != '\0'; c++)
                lower[c] = (char)tolower((unsigned char)event->name[c]);
            assert_ptr_equal(event_set_find(set, event->name), event);
            assert_ptr_equal(event_set_find(set, lower), event);
            assert_ptr_equal(event_set_by_code(set, event->code), event);
            assert_true(k == 0 || event_set_at(set, k - 1)->code < event->code);
            assert_int_not_equal(event->words[0], '\0');
        }
        assert_null(event_set_at(set, event_set_count(set)));
        event_set_free(set);
    }
}

static void expect(const char *cpu, uint32_t code, const char *name)
{
    struct event_set *set = open_set(cpu);
    const struct event *event = event_set_by_code(set, code);
    if (name == NULL)
        assert_null(event);
    else {
        assert_non_null(event);
        assert_string_equal(event->name, name);
    }
    event_set_free(set);
}

/* Those of a debug bus have one; a file without a part is a common one, or of no part. */
TEST(every_part_has_a_set_that_is_there)
{
    for (size_t i = 0; part_at(i) != NULL; i++) {
        const struct core_part *part = part_at(i);
        if (part->architecture >= ARMV81_M)
            assert_non_null(part->pmu.events);
        if (part->pmu.events != NULL)
            event_set_free(open_set(part->pmu.events));
    }
    assert_true(event_set_is_generic("armv8-pmuv3-common"));
    assert_false(event_set_is_generic("armv8-pmuv3"));
    assert_false(event_set_is_generic("common"));
}

TEST(codes_mean_what_each_core_means)
{
    expect("cortex-a9", 0x08, NULL);
    expect("cortex-a9", 0x0E, NULL);
    expect("cortex-a9", 0xFF, NULL);
    expect("cortex-a9", 0x68, "INST_OUT_OF_RENAME_STAGE");
    expect("cortex-a9", 0x74, "NEON_EXECUTED_INST");
    expect("cortex-a9", 0x50, "COHERENT_LINE_MISS");
    expect("Cortex-A15", 0x50, "L2D_CACHE_RD");
    expect("cortex-a7", 0x60, "BUS_ACCESS_RD");
    expect("cortex-a8", 0x43, "L2_ACCESS");
    expect("armv7-common", 0x1E, NULL);
    expect("cortex-a57", 0x08, "INST_RETIRED");
    expect("cortex-a57", 0x06, NULL);
    expect("cortex-a78", 0x72, NULL);
    expect("cortex-a78", 0x4004, "CNT_CYCLES");
    expect("cortex-a520", 0xC3, "L2D_WS_MODE");
    expect("cortex-r82", 0x320, "SYS_CACHE_RD");
    expect("armv8-pmuv3-common", 0x4006, "L1I_CACHE_LMISS");
    expect("armv8-pmuv3-common", 0x40, NULL);
    expect("cortex-r5", 0x72, "ACP_DCACHE_ACCESS");
    expect("cortex-r5", 0x40, "IFETCH_STALL");
    expect("cortex-r4", 0x72, NULL);
    expect("cortex-m55", 0x264, "MVE_ST_MULTI_RETIRED");
    expect("cortex-m55", 0xC001, "ECC_ERR_FATAL");
    expect("cortex-m85", 0xC001, "ECC_ERR_MBIT");
    expect("dwt", 5, "FOLDCNT");
    expect("knc", 0, "DATA_READ");
    expect("knc", 0x10CC, "L2_WRITE_HIT");
}

TEST(unknown_sets_are_refused)
{
    struct error error = {0};
    assert_null(event_set_open("cortex-x9", &error));
    assert_int_equal(error.kind, ERROR_USAGE);
    assert_string_equal(error.text, "no events are known for \"cortex-x9\"");
}

static const struct other {
    const char *name, *text;
} others[] = {
    {"base", "0x01 ONE first\n0x02 TWO\n0x03 THREE\n0x10 SIXTEEN\n"},
    {"middle", "use base\nexcept 0x02-0x0F\n0x20 THIRTYTWO"},
    {"loop-a", "use loop-b"},
    {"loop-b", "# no event here\nuse loop-a"},
    {"self", "use self"},
    {"empty", ""},
    {"wide", "use empty\nuse empty\nuse empty\nuse empty\nuse empty\nuse empty\nuse empty\nuse empty\n"
             "use empty\nuse empty\nuse empty\nuse empty\nuse empty\nuse empty\nuse empty\nuse empty\n"},
    {"wider", "use wide\nuse wide\nuse wide\nuse wide\n"},
    {"broken", "0x01 ONE\n0x02\n"},
};

static const char *find_other(void *self, const char *name, size_t *n)
{
    (void)self;
    if (strncmp(name, "deep", 4) == 0) { /* deep1 uses deep2 uses deep3 ... */
        static char text[32];
        *n = (size_t)snprintf(text, sizeof text, "use deep%d", (int)strtol(name + 4, NULL, 10) + 1);
        return text;
    }
    for (size_t i = 0; i < COUNT(others); i++)
        if (strcmp(others[i].name, name) == 0) {
            *n = strlen(others[i].text);
            return others[i].text;
        }
    return NULL;
}

/* As long as it is and without its NUL, so that reading on is noticed. */
static struct event_set *parse_exact(const char *text, size_t n, struct error *error)
{
    char *exact = malloc(n > 0 ? n : 1);
    assert_non_null(exact);
    memcpy(exact, text, n);
    struct event_set *set = event_set_parse(exact, n, find_other, NULL, error);
    free(exact);
    return set;
}

static struct event_set *parse(const char *text, struct error *error)
{
    return parse_exact(text, strlen(text), error);
}

TEST(sets_use_each_other)
{
    struct error error = {0};
    struct event_set *set =
        parse("# a core\r\n use  middle # all of it\r\nexcept 0x10\r\n\r\n0x02 Two\tits  words \r\n"
              "0x0 NAUGHT\nuse base 0x10 0x02-0x04 0x01\nexcept 0x01 0x2 0x03",
              &error);
    if (set == NULL)
        fail_msg("%s", error.text);
    static const struct event wanted[] = {{0, "NAUGHT", ""},
                                          {1, "ONE", "first"},
                                          {2, "Two", "its  words"},
                                          {0x10, "SIXTEEN", ""},
                                          {0x20, "THIRTYTWO", ""}};
    assert_int_equal(event_set_count(set), 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(event_set_at(set, i)->code, wanted[i].code);
        assert_string_equal(event_set_at(set, i)->name, wanted[i].name);
        assert_string_equal(event_set_at(set, i)->words, wanted[i].words);
    }
    event_set_free(set);
    set = parse("use base 0x03 0x01\nuse middle 0x20", &error);
    assert_int_equal(event_set_count(set), 3);
    assert_non_null(event_set_find(set, "ONE"));
    assert_non_null(event_set_find(set, "THREE"));
    assert_non_null(event_set_find(set, "THIRTYTWO"));
    event_set_free(set);
    set = parse("# nothing", &error);
    assert_int_equal(event_set_count(set), 0);
    assert_null(event_set_by_code(set, 0));
    assert_null(event_set_find(set, "ONE"));
    event_set_free(set);
}

TEST(errors_name_the_line)
{
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"0x01 ONE\n\n0x02", "line 3: this cannot be an event's name: \"\""},
        {"11 ONE", "line 1: a code is written 0x11, not \"11\""},
        {"r11 ONE", "line 1: a code is written"},
        {"0x ONE", "line 1: a code is written"},
        {"0x1FFFFFFFF ONE", "line 1: a code is written"},
        {"0x1G ONE", "line 1: a code is written"},
        {"0x01 ONE\n0x02 A+B", "line 2: this cannot be an event's name: \"A+B\""},
        {"0x01 0x02", "line 1: this cannot be an event's name"},
        {"0x01 rabe", "line 1: this cannot be an event's name"},
        {"0x01 3D", "line 1: this cannot be an event's name"},
        {"0x01 "
         "A2345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678",
         "line 1: this cannot be an event's name"},
        {"0x01 ONE \x1b[2J", "line 1: too many words, or not plain ASCII, after \"ONE\""},
        {"0x01 ONE "
         "1234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901"
         "23456",
         "line 1: too many words, or not plain ASCII, after \"ONE\""},
        {"0x01 ONE\n0x01 TWO", "line 2: the code 0x01 is ONE already"},
        {"0x01 ONE\n0x02 one", "line 2: the event one has a code already, 0x01"},
        {"use base\n\n0x03 X", "line 3: the code 0x03 is THREE already"},
        {"0x03 X\nuse base", "line 2: the code 0x03 is X already"},
        {"use nowhere", "line 1: there is no set \"nowhere\""},
        {"use", "line 1: `use` takes the name"},
        {"use base middle", "line 1: a code is written 0x11, not \"middle\""},
        {"use base 0x02 0x07", "line 1: the set that is used has no event \"0x07\""},
        {"use base 0x02 0x01-0x02 0x02", "line 1: the set that is used has no event \"0x02\""},
        {"use empty 0x01", "line 1: the set that is used has no event \"0x01\""},
        {"use base 0x03-0x01", "line 1: this range is backwards"},
        {"use base 0x01\nuse base 0x01-0x02", "line 2: the code 0x01 is ONE already"},
        {"use ../../etc/passwd", "line 1: `use` takes the name"},
        {"except 0x01", "line 1: only after a `use`"},
        {"use base\n0x40 X\nexcept 0x01", "line 3: only after a `use`"},
        {"use base\nexcept", "line 2: which codes"},
        {"use base\nexcept 0x07", "line 2: the set that is used has no event \"0x07\""},
        {"use base\nexcept 0x04-0x0F", "line 2: the set that is used has no event"},
        {"use base\nexcept 0x03-0x01", "line 2: this range is backwards"},
        {"use base\nexcept 0x03-", "line 2: a code is written"},
        {"use base\nexcept 3", "line 2: a code is written"},
        {"use loop-a", "loop-b, line 2: too many sets use each other, at \"loop-a\""},
        {"use self", "self, line 1: too many sets use each other, at \"self\""},
        {"use deep1", "too many sets use each other"},
        {"use wider", "too many sets use each other"},
        {"use broken", "broken, line 2: this cannot be an event's name"},
        {"0x01 ONE\nerratum 0x01 1 0xC09 any", "line 2: an erratum has a code"},
        {"erratum 0x01 1 0xC09 any x", "line 1: no event above has the code \"0x01\""},
        {"0x01 ONE\nerratum 0x01 1 C09 any x", "line 2: a code is written"},
        {"0x01 ONE\nerratum 0x01 1 0xC09 r0 x", "line 2: revisions are written"},
        {"0x01 ONE\nerratum 0x01 1 0xC09 r1p0-r0p9 x", "line 2: revisions are written"},
        {"0x01 ONE\nerratum 0x01 1 0xC09 r0p0- x", "line 2: revisions are written"},
        {"0x01 ONE\nerratum 0x01 1 0x1C09 any x", "line 2: a part, a number or words that do not fit"},
        {"0x01 ONE\nerratum 0x01 1234567890123456 0xC09 any x", "line 2: a part, a number or words"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct error error = {0};
        struct event_set *set = parse(bad[i].text, &error);
        if (set != NULL || error.kind != ERROR_USAGE || strstr(error.text, bad[i].part) == NULL)
            fail_msg("\"%s\" gave \"%s\", not \"%s\"", bad[i].text, error.text, bad[i].part);
    }
}

TEST(an_erratum_is_of_revisions)
{
    struct error error = {0};
    char text[EVENT_ERRATA];
    struct event_set *set =
        parse("use base\nerratum 0x01 77 0xC23 r0p0-r1p1 too high\nerratum 0x01 78 0xC23 r1p1 too low\n"
              "erratum 0x03 79 0xC23 any odd",
              &error);
    if (set == NULL)
        fail_msg("%s", error.text);
    static const struct {
        const char *event, *but;
        uint32_t midr;
        const char *says;
    } wanted[] = {
        {"one", NULL, 0x410FC230, "erratum 77: too high"},
        {"ONE:inv", NULL, 0x411FC230, "erratum 77: too high"},
        {"ONE", NULL, 0x411FC231, "erratum 77: too high; erratum 78: too low"},
        {"ONE", "CPI_77", 0x411FC231, "erratum 78: too low"},
        {"ONE", NULL, 0x412FC230, ""},
        {"ONE", NULL, 0x410FC240, ""},
        {"TWO", NULL, 0x410FC230, ""},
        {"THREE", NULL, 0x412FC230, "erratum 79, of unknown revisions: odd"},
        {"ONE", NULL, 0xC230 | EVENT_ANY_REVISION,
         "erratum 77 of r0p0 to r1p1: too high; erratum 78 of r1p1 to r1p1: too low"},
    };
    for (size_t i = 0; i < COUNT(wanted); i++) {
        event_errata(set, wanted[i].event, wanted[i].midr, wanted[i].but, text);
        assert_string_equal(text, wanted[i].says);
    }
    event_errata(NULL, "ONE", 0x410FC230, NULL, text);
    assert_string_equal(text, "");
    event_set_free(set);
}

TEST(errata_have_an_end)
{
    static const char row[] = "erratum 0x01 77 0xC23 any too high\n";
    struct error error = {0};
    char text[4096] = "0x01 ONE\n", out[EVENT_ERRATA];
    for (unsigned i = 0; i < 64; i++)
        strcat(text, row);
    struct event_set *set = parse(text, &error);
    assert_non_null(set);
    event_errata(set, "ONE", 0x410FC230, NULL, out); /* cut */
    assert_true(strlen(out) < EVENT_ERRATA);
    event_set_free(set);
    strcat(text, row);
    assert_null(parse(text, &error));
    assert_has(error.text, "line 66: more than 64 errata");
}

TEST(sets_have_an_end)
{
    size_t room = 22000, used = 0;
    char *text = malloc(room);
    struct error error = {0};
    for (unsigned i = 0; i < 1024; i++)
        used += (size_t)snprintf(text + used, room - used, "0x%X E%u\n", i, i);
    struct event_set *set = event_set_parse(text, used, NULL, NULL, &error);
    assert_non_null(set);
    assert_int_equal(event_set_count(set), 1024);
    event_set_free(set);
    used += (size_t)snprintf(text + used, room - used, "0x400 E1024\n");
    assert_null(event_set_parse(text, used, NULL, NULL, &error));
    assert_has(error.text, "line 1025: more than 1024 events");
    error_clear(&error);
    assert_null(event_set_parse("use base", 8, NULL, NULL, &error));
    assert_has(error.text, "there is no set");
    free(text);
}

enum { ROOM = 6 };

TEST(requests_are_read)
{
    struct event_request out[ROOM];
    struct error error = {0};
    size_t n = 0;
    assert_true(event_requests_parse("CPU_CYCLES,{ld_retired,r1b},0xC001", out, ROOM, &n, &error));
    assert_true(event_requests_parse("{a:b.c=d-e,A}", out, ROOM, &n, &error));
    static const struct event_request wanted[ROOM] = {
        {"CPU_CYCLES", 0, false, 0}, {"ld_retired", 0, false, 1}, {"r1b", 0x1B, true, 1},
        {"0xC001", 0xC001, true, 0}, {"a:b.c=d-e", 0, false, 2},  {"A", 0, false, 2},
    };
    assert_int_equal(n, ROOM);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(out[i].name, wanted[i].name);
        assert_int_equal(out[i].code, wanted[i].code);
        assert_int_equal(out[i].by_code, wanted[i].by_code);
        assert_int_equal(out[i].group, wanted[i].group);
    }
    assert_false(event_requests_parse("B", out, ROOM, &n, &error));
    assert_has(error.text, "more than 6 events");
    assert_int_equal(n, ROOM);
}

TEST(a_code_with_a_name_is_that_event)
{
    struct event_request out[ROOM];
    struct error error = {0};
    size_t n = 0;
    const struct counter_block block = {.kind = &systick_kind};
    struct event_set *set = event_set_open("cortex-a53", &error);
    assert_non_null(set);
    assert_true(event_requests_parse("0x08,{r08,INST_RETIRED},0xC001", out, ROOM, &n, &error));
    event_requests_name(out, n, set, &block);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(out[i].name, "INST_RETIRED");
        assert_false(out[i].by_code);
    }
    assert_int_equal(out[1].group, 1);
    assert_true(out[3].by_code);
    assert_string_equal(out[3].name, "0xC001");
    event_set_free(set);
}

/* Each core has its own; perf's are names for all of them. */
TEST(generic_names_are_the_cores_events)
{
    static const struct {
        const char *cpu, *events[6];
    } cores[] = {
        {"cortex-a53",
         {"CPU_CYCLES", "INST_RETIRED", "L1D_CACHE", "L1D_CACHE_REFILL", "PC_WRITE_RETIRED", "BR_MIS_PRED"}},
        {"cortex-a9",
         {"CPU_CYCLES", "INST_OUT_OF_RENAME_STAGE", "L1D_CACHE", "L1D_CACHE_REFILL", "PC_WRITE_RETIRED",
          "BR_MIS_PRED"}},
        {"knc",
         {"CPU_CLK_UNHALTED", "INSTRUCTIONS_EXECUTED", "DATA_READ_OR_WRITE", "DATA_READ_MISS_OR_WRITE_MISS",
          "BRANCHES", "BRANCHES_MISPREDICTED"}},
        {"dwt",
         {"CPU_CYCLES", "instructions", "cache-references", "cache-misses", "branches", "branch-misses"}},
    };
    const struct counter_block block = {.kind = &systick_kind};
    for (size_t c = 0; c < COUNT(cores); c++) {
        struct event_request out[ROOM];
        struct error error = {0};
        size_t n = 0;
        struct event_set *set = event_set_open(cores[c].cpu, &error);
        assert_non_null(set);
        assert_true(
            event_requests_parse("Cycles,instructions,cache-references,cache-misses,branches,branch-misses",
                                 out, ROOM, &n, &error));
        event_requests_name(out, n, set, &block);
        for (size_t i = 0; i < n; i++)
            assert_string_equal(out[i].name, cores[c].events[i]);
        event_set_free(set);
    }
    assert_true(event_is_generic("cpu-cycles") && !event_is_generic("CPU_CYCLES"));
}

TEST(bad_requests_are_refused)
{
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"", "a name is missing"},
        {"A,,B", "a name is missing"},
        {"A,", "a name is missing"},
        {",A", "a name is missing"},
        {"{}", "a name is missing"},
        {"{A,}", "a name is missing"},
        {"{A,B", "{ is not closed"},
        {"A}", "} without its {"},
        {"{A,{B}}", "cannot hold another"},
        {"{A}B", "comma is missing before \"B\""},
        {"A{B}", "comma is missing"},
        {"{A}}", "comma is missing"},
        {"11", "write 0x11 or r11"},
        {"A B", "neither"},
        {"A;B", "neither"},
        {"0x", "neither"},
        {"0x123456789", "neither"},
        {"3D", "neither"},
        {"A\x80", "neither"},
        {"A2345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678",
         "so long a name"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct event_request out[ROOM];
        struct error error = {0};
        size_t n = 0;
        bool ok = event_requests_parse(bad[i].text, out, ROOM, &n, &error);
        if (ok || n != 0 || error.kind != ERROR_USAGE || strstr(error.text, bad[i].part) == NULL)
            fail_msg("\"%s\" gave \"%s\", not \"%s\"", bad[i].text, error.text, bad[i].part);
    }
}
