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
    for (size_t i = 0; i < profile->interval_count; i++) {
        for (size_t k = 0; k < profile->intervals[i].count_count; k++)
            samples += profile->intervals[i].counts[k].samples;
        for (int state = 0; state < PROFILE_STATES; state++)
            samples += profile->intervals[i].states[state];
    }
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
    if (strcmp(error.text, fact) != 0)
        fail_msg("\"%s\" says \"%s\", not \"%s\"", text, error.text, fact);
}

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
                                  .source = "DBGPCSR",
                                  .asked_s = 10};
    struct profile_count counts[] = {{0, 1}, {0x10000124, 12}, {UINT64_MAX, 3}};
    struct profile_interval first = {
        .core = 1, .to = 0.1, .counts = counts, .count_count = 3, .states = {7, 8, 9, 10}, .resets = 2};
    struct profile_interval second = {.core = 0, .from = 0.1, .to = 1.0 / 3};
    struct profile_end end = {.elapsed_s = 10.002, .samples = 50, .why = "lost", .error = "no answer"};
    assert_int_equal(profile_file_begin(out, &about), 0);
    assert_int_equal(profile_file_add(out, &first), 0);
    assert_int_equal(profile_file_add(out, &second), 0);
    assert_int_equal(profile_file_end(out, &end), 0);
}

TEST(what_was_written)
{
    write_example(output());
    char *text = output_text(NULL);
    struct profile *profile = parsed(text);
    const struct profile_about *about = &profile->about;
    assert_string_equal(about->date, "2026-11-20T09:15:00Z");
    assert_string_equal(about->probe, "cmsis-dap-tcp:localhost:4441");
    assert_string_equal(about->elf, "app \"1\".elf");
    assert_string_equal(about->build_id, "c0ffee");
    assert_string_equal(about->source, "DBGPCSR");
    assert_int_equal(about->core_count, 2);
    assert_string_equal(about->cores[1], "Cortex-A9");
    assert_int_equal(profile_core_number(about, 1), 3);
    assert_true(about->asked_s == 10);
    assert_int_equal(profile->interval_count, 2);
    const struct profile_interval *first = &profile->intervals[0];
    assert_int_equal(first->core, 1);
    assert_true(first->from == 0 && first->to == 0.1);
    assert_int_equal(first->count_count, 3);
    assert_int_equal(first->counts[0].address, 0);
    assert_int_equal(first->counts[1].samples, 12);
    assert_true(first->counts[2].address == UINT64_MAX);
    for (int i = 0; i < PROFILE_STATES; i++)
        assert_int_equal(first->states[i], 7 + i);
    assert_int_equal(first->resets, 2);
    assert_true(profile->intervals[1].to == 1.0 / 3);
    assert_int_equal(profile->intervals[1].count_count, 0);
    assert_true(profile->end.known && profile->end.elapsed_s == 10.002);
    assert_int_equal(profile->end.samples, 50);
    assert_string_equal(profile->end.why, "lost");
    assert_string_equal(profile->end.error, "no answer");
    profile_file_free(profile);
    free(text);
}

TEST(the_lines)
{
    write_example(output());
    output_is_golden("profile/file.jsonl");
}

/* Samples of a counter's stops: of which event, and how long the core stood for them. */
TEST(samples_of_events)
{
    char *cores[] = {"Cortex-M55"};
    struct profile_about about = {.cores = cores,
                                  .core_count = 1,
                                  .source = "PMU overflow",
                                  .event = "L1D_CACHE_REFILL",
                                  .every = 10000};
    FILE *out = output();
    assert_int_equal(profile_file_begin(out, &about), 0);
    for (int i = 0; i < 600; i++) {
        struct profile_count count = {0x100, 3};
        struct profile_interval one = {
            .from = i, .to = i + 1, .counts = &count, .count_count = 1, .events = 30001, .stood_s = 0.25};
        assert_int_equal(profile_file_add(out, &one), 0);
    }
    char *text = output_text(NULL);
    struct profile *profile = parsed(text);
    free(text);
    uint64_t events = 0;
    double stood_s = 0;
    for (size_t i = 0; i < profile->interval_count; i++) {
        events += profile->intervals[i].events;
        stood_s += profile->intervals[i].stood_s;
    }
    assert_string_equal(profile->about.event, "L1D_CACHE_REFILL");
    assert_int_equal(profile->about.every, 10000);
    assert_int_equal(events, 600 * 30001);
    assert_float_equal(stood_s, 150, 1e-9);
    profile_file_free(profile);
    refused(HEAD "{\"type\":\"samples\",\"from\":0,\"to\":1,\"events\":-1}\n",
            "p.jsonl:2: events is not a count from 0 to 9007199254740992");
    refused(HEAD "{\"type\":\"samples\",\"from\":0,\"to\":1,\"stood_s\":\"x\"}\n",
            "p.jsonl:2: stood_s is not a time in seconds");
}

/* Beside the samples, and unknown to them. */
TEST(exceptions_tasks_and_processes)
{
    struct profile_count counts[] = {{0, 90}, {15, 10}}, tasks[] = {{0x20000100, 40}, {0x20000200, 60}},
                         processes[] = {{0x2, 7}};
    struct profile_interval exceptions = {.to = 1, .counts = counts, .count_count = 2};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(profile_file_add_contexts(out, PROFILE_EXCEPTIONS, &exceptions), 0);
    assert_int_equal(
        profile_file_add_contexts(out, PROFILE_TASKS,
                                  &(struct profile_interval){.to = 2, .counts = tasks, .count_count = 2}),
        0);
    assert_int_equal(
        profile_file_add_contexts(out, PROFILE_PROCESSES,
                                  &(struct profile_interval){.to = 1, .counts = processes, .count_count = 1}),
        0);
    fclose(out);
    assert_string_equal(text, "{\"type\":\"exceptions\",\"core\":0,\"from\":0.0,\"to\":1.0,"
                              "\"value\":{\"0x00000000\":90,\"0x0000000f\":10}}\n"
                              "{\"type\":\"tasks\",\"core\":0,\"from\":0.0,\"to\":2.0,"
                              "\"value\":{\"0x20000100\":40,\"0x20000200\":60}}\n"
                              "{\"type\":\"contexts\",\"core\":0,\"from\":0.0,\"to\":1.0,"
                              "\"value\":{\"0x00000002\":7}}\n");
    char whole[1024];
    snprintf(whole, sizeof whole, HEAD "%s", text);
    free(text);
    struct profile *profile = parsed(whole);
    assert_int_equal(samples_of(profile), 0);
    for (int kind = 0; kind < PROFILE_CONTEXTS; kind++)
        assert_int_equal(profile->contexts[kind].interval_count, 1);
    assert_int_equal(profile->contexts[PROFILE_EXCEPTIONS].intervals[0].counts[1].address, 15);
    assert_int_equal(profile->contexts[PROFILE_TASKS].intervals[0].counts[1].samples, 60);
    assert_int_equal(profile->contexts[PROFILE_PROCESSES].intervals[0].counts[0].samples, 7);
    profile_file_free(profile);
    refused(HEAD "{\"type\":\"tasks\",\"core\":1,\"from\":0,\"to\":1}\n",
            "p.jsonl:2: core is not a count from 0 to 0");
    refused(HEAD "{\"type\":\"tasks\",\"core\":0,\"from\":0,\"to\":1,\"value\":{\"7\":1}}\n",
            "p.jsonl:2: value has \"7\", which is not an address such as 0x10000124");
}

TEST(names_of_tasks)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(profile_file_add_task(out, 0x20000100, "IDLE"), 0);
    assert_int_equal(profile_file_add_task(out, 0x20000200, "a\x1b\xff"), 0);
    fclose(out);
    char whole[1024];
    snprintf(whole, sizeof whole, HEAD "%s", text);
    free(text);
    struct profile *profile = parsed(whole);
    assert_int_equal(profile->task_count, 2);
    assert_int_equal(profile->tasks[0].value, 0x20000100);
    assert_string_equal(profile->tasks[0].name, "IDLE");
    assert_non_null(strchr(profile->tasks[1].name, 'a'));
    assert_null(strchr(profile->tasks[1].name, '\x1b'));
    profile_file_free(profile);
    refused(HEAD "{\"type\":\"task\",\"value\":\"7\",\"name\":\"a\"}\n",
            "p.jsonl:2: a task whose value is not an address such as 0x20000124");
    refused(HEAD "{\"type\":\"task\",\"value\":\"0x7\",\"name\":7}\n", "p.jsonl:2: a task without a name");
}

/* Each stack once, over all lines; how much of it is sure, and why it ends. */
TEST(samples_with_call_stacks)
{
    char *cores[] = {"Cortex-M4"};
    struct profile_about about = {.cores = cores, .core_count = 1, .source = "DWT cycle match"};
    uint64_t at[] = {0x100, 0x201, 0x301};
    FILE *out = output();
    assert_int_equal(profile_file_begin(out, &about), 0);
    for (int i = 0; i < 600; i++) {
        struct profile_count count = {0x100, 5};
        struct call_stack rows[] = {{.samples = 3, .at = at, .depth = 3, .sure = 3},
                                    {.samples = 2, .at = at, .depth = 2, .sure = 1, .end = UNWIND_NO_RULES}};
        struct profile_interval one = {
            .from = i, .to = i + 1, .counts = &count, .count_count = 1, .stacks = {.rows = rows, .n = 2}};
        assert_int_equal(profile_file_add(out, &one), 0);
    }
    char *text = output_text(NULL);
    struct profile *profile = parsed(text);
    uint64_t whole = 0, cut = 0;
    for (size_t i = 0; i < profile->interval_count; i++) {
        const struct call_stacks *stacks = &profile->intervals[i].stacks;
        assert_int_equal(stacks->n, 2);
        assert_memory_equal(stacks->rows[0].at, at, sizeof at);
        assert_int_equal(stacks->rows[1].sure, 1);
        assert_int_equal(stacks->rows[1].end, UNWIND_NO_RULES);
        whole += stacks->rows[0].samples;
        cut += stacks->rows[1].samples;
    }
    assert_int_equal(whole, 1800);
    assert_int_equal(cut, 1200);
    profile_file_free(profile);
    free(text);
}

#define STACKS(text)                                                                                         \
    HEAD "{\"type\":\"samples\",\"from\":0,\"to\":1,\"pc\":{\"0x10\":2},\"stacks\":[" text "]}\n"

TEST(stacks_that_cannot_be)
{
    refused(STACKS("{\"samples\":1,\"at\":[\"0x10\"]}"),
            "p.jsonl:2: stacks that are not those of the samples in pc");
    refused(STACKS("{\"samples\":3,\"at\":[\"0x10\"]}"), "p.jsonl:2: samples is not a count from 0 to 2");
    refused(STACKS("{\"samples\":2,\"at\":[\"0x10\"]}") "{\"type\":\"samples\",\"from\":1,\"to\":2,\"pc\":{"
                                                        "\"0x10\":2}}\n",
            "p.jsonl:3: stacks that are not those of the samples in pc");
    refused(STACKS("{\"samples\":2,\"at\":[]}"), "p.jsonl:2: a stack is not a list of 1 to 96 addresses");
    refused(STACKS("{\"samples\":2,\"at\":[\"main\"]}"),
            "p.jsonl:2: a stack has \"main\", which is not an address");
    refused(STACKS("{\"samples\":0,\"at\":[\"0x10\"]}"),
            "p.jsonl:2: a stack without samples, or whose leaf is guessed");
    refused(STACKS("{\"samples\":2,\"at\":[\"0x10\"],\"sure\":2}"),
            "p.jsonl:2: sure is not a count from 0 to 1");
    refused(STACKS("{\"samples\":2,\"at\":[\"0x10\"],\"cut\":\"bored\"}"),
            "p.jsonl:2: a stack is cut for no known reason");
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

TEST(what_is_no_profile)
{
    refused("", "p.jsonl: empty");
    refused("\n \n", "p.jsonl: empty");
    refused("hello\n", "p.jsonl:1: not JSON: '[' or '{' expected near 'hello'");
    refused("hello", "p.jsonl:1: not JSON: '[' or '{' expected near 'hello'");
    refused("[]\n", "p.jsonl:1: not a JSON object");
    refused("{}\n", "p.jsonl:1: no head of schema pmu-probe/2: not a profile");
    refused("{\"schema\":\"pmu-probe/1\",\"type\":\"header\"}\n",
            "p.jsonl:1: its schema is pmu-probe/1, and a profile's is pmu-probe/2");
    refused("{\"schema\":\"pmu-probe/3\",\"type\":\"profile\"}\n",
            "p.jsonl:1: its schema is pmu-probe/3, and a profile's is pmu-probe/2");
    refused("{\"schema\":\"pmu-probe/2\",\"type\":\"samples\"}\n", "p.jsonl:1: a line of no known type");
    refused("{\"schema\":\"pmu-probe/2\",\"type\":\"profile\"}\n",
            "p.jsonl:1: cores is not a list of 1 to 256 names");
    refused("{\"schema\":\"pmu-probe/2\",\"type\":\"profile\",\"cores\":[1]}\n",
            "p.jsonl:1: cores is not a list of names");
    static const char *const numbers[] = {"[]", "[0,1]", "[-1]", "[\"0\"]", "7", "[1000001]"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "{\"schema\":\"pmu-probe/2\",\"type\":\"profile\",\"cores\":[\"M4\"],\"numbers\":%s}\n",
                 numbers[i]);
        refused(text, "p.jsonl:1: numbers is not a list of a number for each core");
    }
    refused(HEAD HEAD, "p.jsonl:2: a second head: a profile is one run");
    refused(HEAD "{\"type\":\"end\",\"elapsed_s\":1}\n{\"type\":\"samples\"}\n",
            "p.jsonl:3: a line after the end");
    refused(HEAD "{\"from\":0}\n", "p.jsonl:2: a line of no known type");
    refused(HEAD "{\"type\":\"samples\"\n", "p.jsonl:2: not JSON: '}' expected near end of file");
    refused(HEAD "{\"type\":\"samples\",\"type\":\"samples\"}\n",
            "p.jsonl:2: not JSON: duplicate object key near '\"type\"'");
}

static void line_refused(const char *keys, const char *fact)
{
    char text[512], expected[512];
    snprintf(text, sizeof text, HEAD "{\"type\":\"samples\",%s}\n", keys);
    snprintf(expected, sizeof expected, "p.jsonl:2: %s", fact);
    refused(text, expected);
}

#define AT "\"from\":1,\"to\":2,"

TEST(numbers_out_of_range)
{
    line_refused("\"to\":1", "from is not a time in seconds");
    line_refused("\"from\":1,\"to\":\"2\"", "to is not a time in seconds");
    line_refused("\"from\":-1,\"to\":2", "from is not a time in seconds");
    line_refused("\"from\":1,\"to\":1e10", "to is not a time in seconds");
    line_refused("\"from\":2,\"to\":1", "times that go backwards");
    line_refused(AT "\"core\":1", "core is not a count from 0 to 0");
    line_refused(AT "\"core\":-1", "core is not a count from 0 to 0");
    line_refused(AT "\"core\":1.5", "core is not a count from 0 to 0");
    line_refused(AT "\"asleep\":-3", "asleep is not a count from 0 to 9007199254740992");
    line_refused(AT "\"asleep\":9007199254740993", "asleep is not a count from 0 to 9007199254740992");
    line_refused(AT "\"asleep\":9007199254740992,\"halted\":1", "halted is not a count from 0 to 0");
    line_refused(AT "\"resets\":1000001", "resets is not a count from 0 to 1000000");
    line_refused(AT "\"pc\":[]", "pc is not an object of addresses");
    line_refused(AT "\"pc\":{\"10\":1}", "pc has \"10\", which is not an address such as 0x10000124");
    line_refused(AT "\"pc\":{\"0x\":1}", "pc has \"0x\", which is not an address such as 0x10000124");
    line_refused(AT "\"pc\":{\"0x1g\":1}", "pc has \"0x1g\", which is not an address such as 0x10000124");
    line_refused(AT "\"pc\":{\"0x11112222333344445\":1}",
                 "pc has \"0x11112222333344445\", which is not an address such as 0x10000124");
    line_refused(AT "\"pc\":{\"0x10\":0}", "the samples of 0x10 are not a count from 1 to 9007199254740992");
    line_refused(AT "\"pc\":{\"0x10\":-5}", "the samples of 0x10 are not a count from 1 to 9007199254740992");
    line_refused(AT "\"pc\":{\"0x10\":1.5}",
                 "the samples of 0x10 are not a count from 1 to 9007199254740992");
    line_refused(AT "\"asleep\":9007199254740990,\"pc\":{\"0x10\":2,\"0x20\":1}",
                 "the samples of 0x20 are not a count from 1 to 0");
    line_refused(AT "\"asleep\":99999999999999999999",
                 "not JSON: too big integer near '99999999999999999999'");
    refused(HEAD "{\"type\":\"samples\"," AT "\"asleep\":1}\n{\"type\":\"samples\",\"from\":1.5,\"to\":3}\n",
            "p.jsonl:3: times that go backwards");
    refused(HEAD "{\"type\":\"end\",\"elapsed_s\":-1}\n", "p.jsonl:2: elapsed_s is not a time in seconds");
    refused(HEAD "{\"type\":\"end\",\"elapsed_s\":1,\"samples\":-1}\n",
            "p.jsonl:2: samples is not a count from 0 to 9007199254740992");
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
            struct profile_interval interval = {.core = core,
                                                .from = from,
                                                .to = from + length,
                                                .counts = counts,
                                                .count_count = 2,
                                                .states = {1},
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
    unsigned resets = 0;
    for (size_t i = 0; i < profile->interval_count; i++) {
        const struct profile_interval *interval = &profile->intervals[i];
        resets += interval->resets;
        assert_true(interval->to > interval->from && interval->to - interval->from <= from / 20);
        assert_true(i == 0 || profile->intervals[i - 1].from <= interval->from);
        for (size_t k = 1; k < interval->count_count; k++)
            assert_true(interval->counts[k - 1].address < interval->counts[k].address);
    }
    assert_int_equal(resets, cores * (((unsigned)lines + 99) / 100));
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

/* In memory and from a file, which is read in pieces. */
TEST(from_a_file)
{
    char path[] = "/tmp/pmu-profile-XXXXXX", folder[] = "/tmp/pmu-profile-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_non_null(mkdtemp(folder));
    FILE *file = fdopen(fd, "w");
    assert_non_null(file);
    fputs(HEAD, file);
    const int wide = 20000;
    fputs("{\"type\":\"samples\",\"from\":0,\"to\":1,\"pc\":{", file);
    for (int i = 0; i < wide; i++)
        fprintf(file, "%s\"0x%08x\":2", i > 0 ? "," : "", 0x10000000 + 2 * i);
    fputs("}}\n", file);
    for (int i = 1; i < 3000; i++)
        fprintf(file, "{\"type\":\"samples\",\"from\":%d,\"to\":%d,\"asleep\":1}\n", i, i + 1);
    fflush(file);
    struct profile *profile = NULL;
    struct error error = {0};
    if (!profile_file_read(path, NULL, &profile, &error))
        fail_msg("%s", error.text);
    assert_int_equal(samples_of(profile), 2 * wide + 2999);
    profile_file_free(profile);

    /* A line that has no end, with a head and without one */
    fputs("{\"type\":\"", file);
    for (int i = 0; i < PROFILE_LINE_MAX; i++)
        fputc('x', file);
    fclose(file);
    assert_false(profile_file_read(path, NULL, &profile, &error));
    assert_int_equal(error.kind, ERROR_USAGE);
    assert_non_null(strstr(error.text, ":3002: a line longer than 16 MiB"));

    volatile sig_atomic_t cancel = 1;
    error = (struct error){0};
    assert_false(profile_file_read(path, &cancel, &profile, &error));
    assert_int_equal(error.kind, ERROR_CANCELLED);
    unlink(path);
    error = (struct error){0};
    assert_false(profile_file_read(path, NULL, &profile, &error));
    assert_int_equal(error.kind, ERROR_USAGE);
    assert_string_equal(error_advice(&error), "Record one first: pmu-probe record --for 10s");
    error = (struct error){0};
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
