/*
 * Which way to a Cortex-M's registers is settled, what is said of the others, and that nothing stays changed.
 */
#include "../test.h"
#include "debuggers/access.h"
#include "debuggers/debugger.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum way_works { OBEYS, IGNORES, REFUSES };

static struct model {
    struct debugger debugger; /* first */
    enum way_works packets, monitor;
    uint32_t id, status, dcrdr;
    bool dead;
    unsigned asked; /* by monitor */
} model;

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

static bool monitor(struct debugger *debugger, const char *command, char *out, size_t size,
                    const struct deadline *deadline, struct error *error)
{
    static const char name[] = "memU32 ", equals[] = " = ";
    char *end = NULL;
    (void)debugger;
    (void)deadline;
    (void)error;
    model.asked++;
    if (model.monitor == REFUSES || strncmp(command, name, sizeof name - 1) != 0) {
        snprintf(out, size, "what is %s?", command);
        return true;
    }
    uint64_t at = strtoull(command + sizeof name - 1, &end, 16);
    bool writes = strncmp(end, equals, sizeof equals - 1) == 0;
    uint32_t value = writes ? (uint32_t)strtoul(end + sizeof equals - 1, NULL, 16) : 0;
    if (writes && model.monitor == OBEYS)
        *word_at(at) = value;
    if (writes)
        snprintf(out, size, "Writing 0x%08" PRIX32 " @ address 0x%08" PRIX64 "\n", value, at);
    else
        snprintf(out, size, "Reading from address 0x%08" PRIX64 " (Data = 0x%08" PRIX32 ")\n", at,
                 *word_at(at));
    return true;
}

static int set_up(void **state)
{
    static const struct debugger_ops ops = {
        .read_memory = read_memory, .write_memory = write_memory, .monitor = monitor};
    (void)state;
    model = (struct model){
        .debugger = {.ops = &ops}, .id = 0x410FC241, .status = 0x00030003, .dcrdr = 0x12345678};
    return 0;
}

#define FRESH_TEST(name) TEST_WITH(name, set_up, NULL)

static const struct access *settle(void)
{
    struct deadline deadline = deadline_in_ms(1000, NULL);
    struct error error = {0};
    assert_true(access_settle_m(&model.debugger, &deadline, &error));
    assert_int_equal(error.kind, ERROR_NONE);
    assert_int_equal(model.dcrdr, 0x12345678);
    assert_true(model.debugger.access.settled);
    for (enum access_way way = 0; way < ACCESS_WAYS; way++)
        assert_string_not_equal(model.debugger.access.why[way], "");
    return &model.debugger.access;
}

FRESH_TEST(memory_that_obeys_is_all_that_is_needed)
{
    const struct access *access = settle();
    assert_int_equal(access->used, ACCESS_MEMORY);
    assert_false(access->only_looks);
    assert_string_equal(access->why[ACCESS_MEMORY], "in use");
    assert_string_equal(access->why[ACCESS_PYOCD], "not needed");
    assert_int_equal(model.asked, 0);
}

FRESH_TEST(a_monitor_that_reaches_further)
{
    for (enum way_works how = IGNORES; how <= REFUSES; how++) {
        set_up(NULL);
        model.packets = how;
        const struct access *access = settle();
        assert_int_equal(access->used, ACCESS_JLINK);
        assert_false(access->only_looks);
        assert_string_equal(model.debugger.facts.server, "J-Link");
        assert_false(model.debugger.facts.is_emulator);
        assert_non_null(strstr(access->why[ACCESS_MEMORY], how == IGNORES ? "ignored" : "cannot read"));
        assert_string_equal(access->why[ACCESS_PYOCD], "not needed");
    }
}

FRESH_TEST(writes_ignored_on_every_way)
{
    model.packets = model.monitor = IGNORES;
    const struct access *access = settle();
    assert_int_equal(access->used, ACCESS_MEMORY);
    assert_true(access->only_looks);
    assert_non_null(strstr(access->why[ACCESS_JLINK], "ignored: DCRDR stays 0x12345678"));
    assert_non_null(strstr(access->why[ACCESS_PYOCD], "what is read32"));
    assert_false(model.debugger.facts.is_emulator);
}

FRESH_TEST(a_core_that_is_not_halted_to_itself_is_emulated)
{
    static const uint32_t statuses[] = {0, 0x00010001, UINT32_MAX};
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        set_up(NULL);
        model.packets = IGNORES;
        model.monitor = REFUSES;
        model.status = statuses[i];
        settle();
        assert_true(model.debugger.facts.is_emulator);
    }
}

FRESH_TEST(other_servers_are_not_asked)
{
    model.packets = IGNORES;
    snprintf(model.debugger.facts.server, sizeof model.debugger.facts.server, "QEMU");
    assert_string_equal(settle()->why[ACCESS_JLINK], "the server is QEMU");
    assert_int_equal(model.asked, 0);
}

FRESH_TEST(nothing_is_there)
{
    model.id = 0;
    model.monitor = REFUSES;
    assert_true(settle()->only_looks);
    assert_non_null(strstr(settle()->why[ACCESS_MEMORY], "no Cortex-M is there"));
}

FRESH_TEST(a_debugger_that_dies)
{
    struct deadline deadline = deadline_in_ms(1000, NULL);
    struct error error = {0};
    model.dead = true;
    assert_false(access_settle_m(&model.debugger, &deadline, &error));
    assert_int_equal(error.kind, ERROR_LINK_LOST);
}
