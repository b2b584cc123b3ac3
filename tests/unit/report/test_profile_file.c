/* What is written is read back; a file that ends early is read up to there; all else is refused by its line.
 */
#include "golden.h"
#include "profiles.h"

#include "report/profile_file.h"

#include <errno.h>
#include <unistd.h>

#define HEAD "{\"schema\":\"pmu-probe/2\",\"type\":\"profile\",\"cores\":[\"Cortex-M4\"]}\n"

static struct profile *parsed(const char *text)
{
    struct profile *profile = NULL;
    struct error error = {0};
    if (!profile_file_parse(text, strlen(text), "p.jsonl", &profile, &error))
        fail_msg("%s", error.text);
    return profile;
}

static uint64_t samples_of(const struct profile *profile)
{
    uint64_t samples = 0;
    for (size_t i = 0; i < profile->interval_count; i++)
        samples += profile_interval_samples(&profile->intervals[i]);
    return samples;
}

static void refused(const char *text, const char *fact)
{
    struct profile *profile = NULL;
    struct error error = {0};
    if (profile_file_parse(text, strlen(text), "p.jsonl", &profile, &error))
        fail_msg("accepted: %s", text);
    assert_null(profile);
    assert_int_equal(error.kind, ERROR_USAGE);
    assert_int_equal(strncmp(error.text, "p.jsonl", strlen("p.jsonl")), 0);
    if (strcmp(error.text + strlen("p.jsonl"), fact) != 0)
        fail_msg("\"%s\" says \"%s\", not \"%s\"", text, error.text, fact);
}

/* A line of each kind, and each key that there is. */
static void write_example(FILE *out)
{
    char *cores[] = {"Cortex-A9", "Cortex-A9"};
    unsigned numbers[] = {0, 3};
    struct profile_about about = {.date = "2026-11-20T09:15:00Z",
                                  .probe = "cmsis-dap-tcp:localhost:4441",
                                  .elf = "app \"1\".elf",
                                  .build_id = "c0ffee",
                                  .cores = cores,
                                  .numbers = numbers,
                                  .core_count = 2,
                                  .source = "PMU overflow",
                                  .event = "L1D_CACHE_REFILL",
                                  .every = 10000,
                                  .asked_s = 10};
    struct profile_count counts[] = {{0, 1}, {0x10000124, 12}, {UINT64_MAX, 3}}, value = {15, 10};
    uint64_t at[] = {0x10000124, 0x201, 0x301};
    struct call_stack stacks[] = {{.samples = 13, .at = at, .depth = 3, .sure = 3},
                                  {.samples = 3, .at = at, .depth = 2, .sure = 1, .end = UNWIND_NO_RULES}};
    struct profile_interval first = {.core = 1,
                                     .to = 0.1,
                                     .counts = counts,
                                     .count_count = 3,
                                     .states = {7, 8, 9, 10},
                                     .resets = 2,
                                     .events = 30001,
                                     .stood_s = 0.25,
                                     .asleep_doubt = 0.5,
                                     .stacks = {.rows = stacks, .n = 2}};
    struct profile_interval second = {
        .core = 0, .from = 0.1, .to = 1.0 / 3, .asleep_doubt = 0.125, .asleep_anywhere = true};
    struct profile_interval seen = {.core = 1, .to = 2, .counts = &value, .count_count = 1};
    struct profile_end end = {.elapsed_s = 10.002, .samples = 50, .why = "lost", .error = "no answer"};
    assert_int_equal(profile_file_begin(out, &about), 0);
    assert_int_equal(profile_file_add(out, &first), 0);
    assert_int_equal(profile_file_add(out, &second), 0);
    for (int kind = 0; kind < PROFILE_CONTEXTS; kind++)
        assert_int_equal(profile_file_add_contexts(out, (enum profile_context)kind, &seen), 0);
    assert_int_equal(profile_file_add_task(out, 0x20000100, "IDLE"), 0);
    assert_int_equal(profile_file_add_task(out, 0x20000200, "a\x1b\xff"), 0);
    assert_int_equal(profile_file_end(out, &end), 0);
}

static void write_again(FILE *out, const struct profile *profile)
{
    assert_int_equal(profile_file_begin(out, &profile->about), 0);
    for (size_t i = profile->interval_count; i > 0; i--) /* the other core's is first now */
        assert_int_equal(profile_file_add(out, &profile->intervals[i % profile->interval_count]), 0);
    for (int kind = 0; kind < PROFILE_CONTEXTS; kind++)
        assert_int_equal(
            profile_file_add_contexts(out, (enum profile_context)kind, &profile->contexts[kind].intervals[0]),
            0);
    for (size_t i = 0; i < profile->task_count; i++)
        assert_int_equal(profile_file_add_task(out, profile->tasks[i].value, profile->tasks[i].name), 0);
    assert_int_equal(profile_file_end(out, &profile->end), 0);
}

TEST(what_was_written_is_read)
{
    write_example(output());
    char *text = output_text(NULL);
    struct profile *profile = parsed(text);
    assert_int_equal(samples_of(profile), 50); /* what else is seen does not count */
    write_again(output(), profile);
    output_is(text);
    golden_check("profile/file.jsonl", text, strlen(text));
    profile_file_free(profile);
    free(text);
}

#define SAMPLES(keys) HEAD "{\"type\":\"samples\"," keys "}\n"
#define AT            "\"from\":1,\"to\":2,"
#define PC(key)       SAMPLES(AT "\"pc\":{" key "}")
#define STACKS(text)  SAMPLES(AT "\"pc\":{\"0x10\":2},\"stacks\":[" text "]")
#define NUMBERS(text)                                                                                        \
    "{\"schema\":\"pmu-probe/2\",\"type\":\"profile\",\"cores\":[\"M4\"],\"numbers\":" text "}\n"

/* Of others system/test_report.py asks. */
TEST(what_cannot_be)
{
    static const char no_numbers[] = ":1: numbers is not a list of a number for each core";
    static const struct {
        const char *text, *fact;
    } rows[] = {
        {"hello", ":1: not JSON: '[' or '{' expected near 'hello'"},
        {"[]\n", ":1: not a JSON object"},
        {"{}\n", ":1: no head of schema pmu-probe/2: not a profile"},
        {"{\"schema\":\"pmu-probe/2\",\"type\":\"samples\"}\n", ":1: a line of no known type"},
        {"{\"schema\":\"pmu-probe/2\",\"type\":\"profile\",\"cores\":[1]}\n",
         ":1: cores is not a list of names"},
        {NUMBERS("[]"), no_numbers},
        {NUMBERS("[-1]"), no_numbers},
        {NUMBERS("[\"0\"]"), no_numbers},
        {NUMBERS("[1000001]"), no_numbers},
        {HEAD "{\"from\":0}\n", ":2: a line of no known type"},
        {SAMPLES(AT "\"type\":\"samples\""), ":2: not JSON: duplicate object key near '\"type\"'"},
        {SAMPLES("\"to\":1"), ":2: from is not a time in seconds"},
        {SAMPLES("\"from\":1,\"to\":\"2\""), ":2: to is not a time in seconds"},
        {SAMPLES("\"from\":2,\"to\":1"), ":2: times that go backwards"},
        {SAMPLES(AT "\"core\":1.5"), ":2: core is not a count from 0 to 0"},
        {SAMPLES(AT "\"asleep\":9007199254740993"), ":2: asleep is not a count from 0 to 9007199254740992"},
        {SAMPLES(AT "\"asleep\":9007199254740992,\"halted\":1"), ":2: halted is not a count from 0 to 0"},
        {SAMPLES(AT "\"resets\":1000001"), ":2: resets is not a count from 0 to 1000000"},
        {SAMPLES(AT "\"events\":-1"), ":2: events is not a count from 0 to 9007199254740992"},
        {SAMPLES(AT "\"stood_s\":\"x\""), ":2: stood_s is not a time in seconds"},
        {SAMPLES(AT "\"pc\":[]"), ":2: pc is not an object of addresses"},
        {PC("\"10\":1"), ":2: pc has \"10\", which is not an address such as 0x10000124"},
        {PC("\"0x1g\":1"), ":2: pc has \"0x1g\", which is not an address such as 0x10000124"},
        {PC("\"0x10\":0"), ":2: the samples of 0x10 are not a count from 1 to 9007199254740992"},
        {PC("\"0x10\":1.5"), ":2: the samples of 0x10 are not a count from 1 to 9007199254740992"},
        {STACKS("{\"samples\":1,\"at\":[\"0x10\"]}"), ":2: stacks that are not those of the samples in pc"},
        {STACKS("{\"samples\":3,\"at\":[\"0x10\"]}"), ":2: samples is not a count from 0 to 2"},
        {STACKS("{\"samples\":2,\"at\":[\"0x10\"]}") "{\"type\":\"samples\",\"from\":2,\"to\":2,\"pc\":{"
                                                     "\"0x10\":2}}\n",
         ":3: stacks that are not those of the samples in pc"},
        {STACKS("{\"samples\":2,\"at\":[]}"), ":2: a stack is not a list of 1 to 96 addresses"},
        {STACKS("{\"samples\":2,\"at\":[\"main\"]}"), ":2: a stack has \"main\", which is not an address"},
        {STACKS("{\"samples\":0,\"at\":[\"0x10\"]}"),
         ":2: a stack without samples, or whose leaf is guessed"},
        {STACKS("{\"samples\":2,\"at\":[\"0x10\"],\"sure\":2}"), ":2: sure is not a count from 0 to 1"},
        {STACKS("{\"samples\":2,\"at\":[\"0x10\"],\"cut\":\"bored\"}"),
         ":2: a stack is cut for no known reason"},
        {HEAD "{\"type\":\"tasks\",\"core\":1,\"from\":0,\"to\":1}\n", ":2: core is not a count from 0 to 0"},
        {HEAD "{\"type\":\"tasks\",\"core\":0,\"from\":0,\"to\":1,\"value\":{\"7\":1}}\n",
         ":2: value has \"7\", which is not an address such as 0x10000124"},
        {HEAD "{\"type\":\"task\",\"value\":\"7\",\"name\":\"a\"}\n",
         ":2: a task whose value is not an address such as 0x20000124"},
        {HEAD "{\"type\":\"task\",\"value\":\"0x7\",\"name\":7}\n", ":2: a task without a name"},
        {HEAD "{\"type\":\"note\",\"text\":7}\n", ":2: a note without a text, or more than 64"},
        {HEAD "{\"type\":\"task\",\"value\":\"0x100000000\",\"name\":\"a\"}\n",
         ":2: a task whose value is not an address such as 0x20000124"},
        {HEAD "{\"type\":\"tasks\",\"core\":0,\"from\":0,\"to\":1,\"value\":{\"0x100000000\":1}}\n",
         ":2: a task whose value has more than 32 bits"},
        {HEAD "{\"type\":\"end\",\"elapsed_s\":-1}\n", ":2: elapsed_s is not a time in seconds"},
        {HEAD "{\"type\":\"end\",\"elapsed_s\":1,\"samples\":-1}\n",
         ":2: samples is not a count from 0 to 9007199254740992"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        refused(rows[i].text, rows[i].fact);
}

TEST(little_is_known)
{
    struct profile *profile =
        parsed(HEAD "\n{\"type\":\"later\",\"x\":[1]}\n  \r\n"
                    "{\"type\":\"samples\",\"from\":0,\"to\":1,\"pc\":{\"0x10\":1,\"0x010\":2}}\n");
    assert_null(profile->about.date);
    assert_null(profile->about.elf);
    assert_true(profile->about.asked_s == 0 && !profile->end.known);
    assert_int_equal(profile->interval_count, 1);
    assert_int_equal(profile->intervals[0].count_count, 1);
    assert_int_equal(profile->intervals[0].counts[0].samples, 3);
    profile_file_free(profile);
}

#define TASK(text) "{\"type\":\"task\",\"value\":\"0x7\",\"name\":\"" text "\"}\n"
#define TASKS(from, more)                                                                                    \
    "{\"type\":\"tasks\",\"from\":" from ",\"to\":" from ",\"value\":{\"0x7\":1" more "}}\n"

/* Whose memory becomes another one's: from its line on, up to the next one's. */
TEST(a_task_has_its_name_from_there_on)
{
    static const uint64_t later = UINT64_C(1) << 32;
    static const uint64_t values[] = {7, 7 + later, 7 + 2 * later, 7};
    struct profile *profile = parsed(HEAD TASK("a") TASKS("0", "") TASK("a, later b") TASKS("1", "") TASK("b")
                                         TASKS("2", ",\"0x8\":1") TASK("a") TASKS("3", ""));
    const struct profile_contexts *tasks = &profile->contexts[PROFILE_TASKS];
    assert_int_equal(profile->task_count, 3);
    assert_string_equal(profile->tasks[1].name, "a, later b");
    assert_int_equal(tasks->interval_count, 4);
    for (size_t i = 0; i < 4; i++) {
        size_t last = tasks->intervals[i].count_count - 1;
        assert_int_equal(last, i == 2);
        assert_int_equal(tasks->intervals[i].counts[last].address, values[i]);
    }
    profile_file_free(profile);
}

/* What a line adds is there only once the line is whole. */
TEST(cut_anywhere)
{
    write_example(output());
    size_t size, whole = 0;
    char *text = output_text(&size);
    size_t head = (size_t)(strchr(text, '\n') - text);
    uint64_t before = 0;
    for (size_t cut = 0; cut <= size; cut++) {
        struct profile *profile = NULL;
        struct error error = {0};
        bool ok = profile_file_parse(text, cut, "p.jsonl", &profile, &error);
        assert_int_equal(ok, cut >= head);
        if (!ok) {
            assert_string_equal(error.text, cut == 0
                                                ? "p.jsonl: empty"
                                                : "p.jsonl:1: cut off in its first line, or not a profile");
            continue;
        }
        assert_true(samples_of(profile) >= before);
        before = samples_of(profile);
        assert_true(profile->end.known == (cut + 1 >= size));
        whole += profile->end.known;
        profile_file_free(profile);
    }
    assert_int_equal(before, 50);
    assert_int_equal(whole, 2); /* with and without the last newline */
    free(text);
}

/* Neighbours become one, in equal shares of the time; all samples stay. */
static void merges(unsigned cores, int lines, double growth)
{
    struct profile *profile;
    FILE *out = output();
    struct profile_about about = {.cores = calloc(cores, sizeof(char *)), .core_count = cores};
    assert_non_null(about.cores);
    for (unsigned core = 0; core < cores; core++)
        about.cores[core] = "Cortex-A7";
    assert_int_equal(profile_file_begin(out, &about), 0);
    double from = 0, length = 0.001;
    for (int i = 0; i < lines; i++) {
        for (unsigned core = 0; core < cores; core++) {
            struct profile_count counts[] = {{0x100 + 2 * core, 3}, {0x200 + 2 * ((unsigned)i % 7), 1}};
            uint64_t at[] = {0x100, 0x201};
            struct call_stack stacks[] = {{.samples = 3, .at = at, .depth = 2, .sure = 2},
                                          {.samples = 1, .at = at, .depth = 1, .sure = 1}};
            struct profile_interval interval = {.core = core,
                                                .from = from,
                                                .to = from + length,
                                                .counts = counts,
                                                .count_count = 2,
                                                .states = {1},
                                                .events = 7,
                                                .stood_s = 0.25,
                                                .stacks = {.rows = stacks, .n = 2},
                                                .resets = i % 100 == 0};
            assert_int_equal(profile_file_add(out, &interval), 0);
        }
        from += length;
        length *= growth;
    }
    char *text = output_text(NULL);
    profile = parsed(text);
    assert_int_equal(samples_of(profile), (uint64_t)lines * cores * 5);
    assert_true(profile->interval_count <= (size_t)cores * PROFILE_INTERVALS_MAX);
    assert_true(profile->interval_count >= cores * PROFILE_INTERVALS_MAX / 4);
    uint64_t resets = 0, events = 0, deep = 0;
    double stood_s = 0;
    for (size_t i = 0; i < profile->interval_count; i++) {
        const struct profile_interval *interval = &profile->intervals[i];
        resets += interval->resets;
        events += interval->events;
        stood_s += interval->stood_s;
        assert_int_equal(interval->stacks.n, 2); /* each once */
        deep += interval->stacks.rows[0].samples;
        assert_true(interval->to > interval->from && interval->to - interval->from <= from / 20);
        assert_true(i == 0 || profile->intervals[i - 1].from <= interval->from);
        for (size_t k = 1; k < interval->count_count; k++)
            assert_true(interval->counts[k - 1].address < interval->counts[k].address);
    }
    assert_int_equal(resets, cores * (((unsigned)lines + 99) / 100));
    assert_int_equal(events, (uint64_t)lines * cores * 7);
    assert_int_equal(deep, (uint64_t)lines * cores * 3);
    assert_float_equal(stood_s, lines * cores * 0.25, 1e-6);
    profile_file_free(profile);
    free(about.cores);
    free(text);
}

TEST(many_lines)
{
    merges(1, 5000, 1);
    merges(2, 1500, 1.01);
    merges(3, 600, 1);
}

TEST(what_cannot_be_read_to_its_end)
{
    char folder[] = "/tmp/pmu-profile-XXXXXX";
    struct profile *profile = NULL;
    struct error error = {0};
    volatile sig_atomic_t cancel = 1;
    assert_non_null(mkdtemp(folder));
    assert_false(profile_file_read(folder, &cancel, &profile, &error));
    assert_int_equal(error.kind, ERROR_CANCELLED);
    error_clear(&error);
    assert_false(profile_file_read(folder, NULL, &profile, &error));
    assert_non_null(strstr(error.text, ": Is a directory"));
    rmdir(folder);
}

TEST(a_full_disk)
{
    struct profile_about about = {0};
    struct profile_interval interval = {0};
    struct profile_end end = {0};
    assert_int_equal(profile_file_begin(output_full(), &about), -ENOSPC);
    assert_int_equal(profile_file_add(output_full(), &interval), -ENOSPC);
    assert_int_equal(profile_file_end(output_full(), &end), -ENOSPC);
}

/* The longest stacks with the longest addresses, none twice: what is closed in time can be read. */
TEST(a_tally_is_large_before_its_line_is_too_long)
{
    static const struct profile_about about = {.core_count = 0};
    char *names[] = {"Cortex-A53"};
    struct profile_about of = about;
    struct profile_tally tally = {.now.core = 0};
    struct profile_interval interval;
    struct profile *profile = NULL;
    struct error error = {0};
    uint64_t at[UNWIND_FRAMES], n = 0;
    struct call_stack stack = {
        .samples = UINT64_C(1) << 40, .at = at, .depth = UNWIND_FRAMES, .sure = 1, .end = UNWIND_NO_MEMORY};
    size_t size, longest = 0;
    FILE *out = output();
    of.cores = names;
    of.core_count = 1;
    profile_file_begin(out, &of);
    while (!profile_tally_is_large(&tally)) {
        for (size_t i = 0; i < UNWIND_FRAMES; i++)
            at[i] = UINT64_C(0xffff800000000000) + 4 * n++;
        assert_true(call_stacks_add(&tally.now.stacks, &stack) &&
                    profile_tally_add(&tally, at[0], stack.samples));
    }
    assert_true(profile_tally_close(&tally, 1, &interval));
    assert_int_equal(profile_file_add(out, &interval), 0);
    assert_false(profile_tally_is_large(&tally));
    profile_interval_free(&interval);
    profile_tally_free(&tally);
    char *text = output_text(&size);
    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1)
        longest = (size_t)(end - line) > longest ? (size_t)(end - line) : longest;
    assert_in_range(longest, PROFILE_TALLY_BYTES / 2, PROFILE_TALLY_BYTES + 4096);
    profile_file_parse(text, size, "p.jsonl", &profile, &error);
    assert_string_equal(error.text, "");
    profile_file_free(profile);
    free(text);
}
