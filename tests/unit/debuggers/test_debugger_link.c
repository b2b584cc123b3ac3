/*
 * How a debugger's link reaches a core's PMU, what it says of the other way, and that nothing stays changed.
 */
#include "../test.h"
#include "debuggers/debugger.h"

#include <stdio.h>

enum memory_packets { OBEYS, IGNORES, REFUSES };

static struct model {
    struct debugger debugger; /* first */
    enum memory_packets packets;
    uint32_t id, status, dcrdr;
    bool dead, closed;
    uint32_t row[4]; /* at ROW; only one at a time can be read */
    int unreadable;  /* one of these; -1: none */
} model;

enum { ROW = 0x20000000 };

static uint32_t *word_at(uint64_t at)
{
    return at == 0xE000ED00   ? &model.id
           : at == 0xE000EDF0 ? &model.status
           : at == 0xE000EDF8 ? &model.dcrdr
                              : NULL;
}

static bool read_memory(struct debugger *debugger, uint64_t at, void *out, size_t n,
                        const struct deadline *deadline, struct error *error)
{
    (void)debugger;
    (void)deadline;
    if (model.dead)
        return error_set(error, ERROR_LINK_LOST, "gone");
    if (at >= ROW && at < ROW + sizeof model.row) {
        size_t first = (at - ROW) / 4;
        if (n != 4 || (int)first == model.unreadable)
            return error_set(error, ERROR_FAULT, "cannot read");
        memcpy(out, &model.row[first], n);
        return true;
    }
    assert_int_equal(n, 4);
    assert_non_null(word_at(at));
    memcpy(out, word_at(at), 4);
    return model.packets != REFUSES || error_set(error, ERROR_FAULT, "cannot read");
}

static bool write_memory(struct debugger *debugger, uint64_t at, const void *bytes, size_t n,
                         const struct deadline *deadline, struct error *error)
{
    (void)debugger;
    (void)deadline;
    (void)error;
    assert_int_equal(at, 0xE000EDF8);
    assert_int_equal(n, 4);
    if (model.packets == OBEYS)
        memcpy(&model.dcrdr, bytes, 4);
    return true;
}

static void close_debugger(struct debugger *debugger, bool run)
{
    (void)debugger;
    (void)run;
    model.closed = true;
}

static void set_up(void)
{
    static const struct debugger_ops ops = {
        .read_memory = read_memory, .write_memory = write_memory, .close = close_debugger};
    model = (struct model){
        .debugger = {.ops = &ops}, .id = 0x410FC241, .status = 0x00030003, .dcrdr = 0x12345678};
}

#define FRESH_TEST(name) TEST_BETWEEN(name, set_up, test_nothing)

static struct link *open_link(void)
{
    struct error error = {0};
    struct link *link = debugger_link_new(&model.debugger, &error);
    assert_non_null(link);
    assert_int_equal(error.kind, ERROR_NONE);
    assert_int_equal(model.dcrdr, 0x12345678);
    assert_true(model.debugger.access.settled);
    for (enum access_way way = 0; way < ACCESS_WAYS; way++)
        assert_string_not_equal(model.debugger.access.why[way], "");
    return link;
}

static const struct access *settle(void)
{
    link_close(open_link());
    assert_true(model.closed);
    return &model.debugger.access;
}

/* The views of a link that refuses to measure, and why. */
static void assert_refused(enum error_kind kind, const char *text)
{
    struct link *link = open_link();
    struct link_view view;
    struct error error = {0};
    assert_int_equal(link_views(link, &view, 1, &error), 0);
    assert_error(&error, kind, text);
    link_close(link);
}

FRESH_TEST(memory_that_obeys_is_used)
{
    const struct access *access = settle();
    assert_int_equal(access->used, ACCESS_MEMORY);
    assert_false(access->only_looks);
    assert_string_equal(access->why[ACCESS_MEMORY], "in use");
    assert_string_equal(access->why[ACCESS_OPENOCD], "not needed");
}

FRESH_TEST(ignored_writes_allow_to_look_only)
{
    model.packets = IGNORES;
    const struct access *access = settle();
    assert_int_equal(access->used, ACCESS_MEMORY);
    assert_true(access->only_looks);
    assert_has(access->why[ACCESS_MEMORY], "ignored: DCRDR stays 0x12345678");
    assert_has(access->why[ACCESS_MEMORY], "such as OpenOCD");
    assert_string_equal(access->why[ACCESS_OPENOCD], "the server is not OpenOCD");
    assert_false(model.debugger.facts.is_emulator);
}

FRESH_TEST(a_core_that_does_not_say_that_it_is_halted_is_emulated)
{
    static const uint32_t statuses[] = {0, 0x00010001, UINT32_MAX};
    for (size_t i = 0; i < COUNT(statuses); i++) {
        set_up();
        model.packets = IGNORES;
        model.status = statuses[i];
        settle();
        assert_true(model.debugger.facts.is_emulator);
    }
}

FRESH_TEST(memory_that_cannot_be_read_is_refused)
{
    model.packets = REFUSES;
    assert_refused(ERROR_NO_CORE, "such as OpenOCD or pyOCD");
    assert_string_equal(model.debugger.access.why[ACCESS_MEMORY], "cannot read");
}

FRESH_TEST(an_application_core_is_refused_without_openocd)
{
    model.debugger.facts.profile = PROFILE_ARM;
    model.debugger.facts.server = SERVER_QEMU;
    snprintf(model.debugger.facts.architecture, sizeof model.debugger.facts.architecture, "arm");
    assert_refused(ERROR_NO_COUNTER, "QEMU shows a core of architecture \"arm\"");
    assert_int_equal(model.debugger.access.used, ACCESS_WAYS);
    assert_string_equal(model.debugger.access.why[ACCESS_OPENOCD], "the server is QEMU");
}

FRESH_TEST(nothing_is_there)
{
    model.id = 0;
    assert_true(settle()->only_looks);
    assert_has(settle()->why[ACCESS_MEMORY], "no Cortex-M is there");
}

/* Words next to each other are asked for together; where that fails, each is read, or named. */
FRESH_TEST(a_row_that_cannot_be_read_is_read_word_by_word)
{
    static const uint32_t words[] = {0x11, 0x22, 0x33, 0x44};
    struct link *link = open_link();
    memcpy(model.row, words, sizeof words);
    for (int unreadable = -1; unreadable < 4; unreadable++) {
        struct step steps[4];
        uint64_t results[4] = {0};
        struct error error = {0};
        struct deadline deadline = deadline_in_ms(60000, NULL);
        for (size_t i = 0; i < 4; i++)
            steps[i] = step_read((struct address){.space = SPACE_MEMORY, .size = 4, .offset = ROW + 4 * i});
        model.unreadable = unreadable;
        struct outcome outcome = link_execute(link, steps, 4, results, &deadline, &error);
        size_t done = unreadable < 0 ? 4 : (size_t)unreadable;
        assert_int_equal(outcome.why, unreadable < 0 ? DONE : TARGET_FAULT);
        assert_int_equal(outcome.done, done);
        for (size_t i = 0; i < done; i++)
            assert_int_equal(results[i], words[i]);
    }
    link_close(link);
}

FRESH_TEST(a_debugger_that_dies)
{
    struct error error = {0};
    model.dead = true;
    assert_null(debugger_link_new(&model.debugger, &error));
    assert_int_equal(error.kind, ERROR_LINK_LOST);
    assert_true(model.closed);
}
