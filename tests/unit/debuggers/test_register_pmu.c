/*
 * A PMU among a debugger's registers: shown, tried, put back, refused.
 */
#include "../test.h"
#include "debuggers/register_pmu.h"

#include <stdio.h>
#include <string.h>

struct named {
    const char *name;
    uint64_t value;
};

static struct model {
    struct debugger debugger; /* first */
    struct named registers[4];
    size_t n;
    bool obeys, refuses;
    enum error_kind fails; /* ERROR_NONE: it does not */
    unsigned writes;
} model;

static struct named *find(const char *name)
{
    for (size_t i = 0; i < model.n; i++)
        if (strcmp(model.registers[i].name, name) == 0)
            return &model.registers[i];
    return NULL;
}

static bool read_register(struct debugger *debugger, const char *name, uint64_t *out,
                          const struct deadline *deadline, struct error *error)
{
    const struct named *one = find(name);
    (void)debugger;
    (void)deadline;
    if (model.fails != ERROR_NONE)
        return error_set(error, model.fails, "broken");
    if (one == NULL)
        return error_set(error, ERROR_FAULT, "no register %s", name);
    *out = one->value;
    return true;
}

static bool write_register(struct debugger *debugger, const char *name, uint64_t value,
                           const struct deadline *deadline, struct error *error)
{
    (void)debugger;
    (void)deadline;
    model.writes++;
    if (model.refuses)
        return error_set(error, ERROR_FAULT, "no");
    if (model.obeys)
        find(name)->value = value;
    return true;
}

static void look(const struct named *registers, size_t n, struct error *error)
{
    static const struct debugger_ops ops = {.read_register = read_register, .write_register = write_register};
    struct deadline deadline = deadline_in_ms(10000, NULL);
    model.debugger.ops = &ops;
    snprintf(model.debugger.facts.architecture, sizeof model.debugger.facts.architecture, "arm");
    memcpy(model.registers, registers, n * sizeof *registers);
    model.n = n;
    *error = (struct error){0};
    assert_false(register_pmu_refuse(&model.debugger, &deadline, error));
}

static int set_up(void **state)
{
    (void)state;
    memset(&model, 0, sizeof model);
    return 0;
}

#define FRESH_TEST(name) TEST_WITH(name, set_up, NULL)

static const struct named armv7[] = {{"MIDR", 0x412FC0F1}, {"PMCR", 0x41002000}, {"PMCCNTR", 12345}};
static const struct named armv8[] = {{"PMCR_EL0", 0x41033001}, {"PMCCNTR_EL0", 12345}};

FRESH_TEST(one_that_ignores_writes)
{
    struct error error;
    look(armv7, 3, &error);
    assert_int_equal(error.kind, ERROR_NO_COUNTER);
    assert_non_null(strstr(error.text, "MIDR 0x412FC0F1"));
    assert_non_null(strstr(error.text, "PMCCNTR, PMCR = 0x41002000"));
    assert_non_null(strstr(error.text, "is ignored"));
    assert_null(strstr(error.text, "12345")); /* which nobody may take for cycles */
    assert_int_equal(model.writes, 1);
    model.refuses = true;
    look(armv8, 2, &error);
    assert_non_null(strstr(error.text, "PMCCNTR_EL0, PMCR_EL0 = 0x41033001"));
    assert_non_null(strstr(error.text, "is ignored"));
}

FRESH_TEST(one_that_obeys_is_put_back)
{
    struct error error;
    model.obeys = true;
    look(armv7, 3, &error);
    assert_int_equal(error.kind, ERROR_NO_COUNTER);
    assert_non_null(strstr(error.text, "not in that way"));
    assert_int_equal(model.writes, 2);
    assert_int_equal(find("PMCR")->value, 0x41002000);
}

FRESH_TEST(none_at_all)
{
    struct error error;
    look(armv7, 1, &error);
    assert_int_equal(error.kind, ERROR_NO_COUNTER);
    assert_non_null(strstr(error.text, "where no PMU is"));
    assert_int_equal(model.writes, 0);
}

FRESH_TEST(a_debugger_that_fails)
{
    struct error error;
    model.fails = ERROR_LINK_LOST;
    look(armv7, 3, &error);
    assert_int_equal(error.kind, ERROR_LINK_LOST);
    assert_int_equal(model.writes, 0);
}
