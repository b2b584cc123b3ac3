#include "../test.h"
#include "cores/architectures.h"

#include "run/pc_samples.h"

#include <string.h>

/* What each of the two ways ends with, and which were tried. */
struct script {
    enum error_kind ends[EVENT_STOP_WAYS];
    char tried[16];
};

static bool play(void *context, const char *block, unsigned way, struct error *error)
{
    struct script *script = context;
    strcat(script->tried, block != NULL ? block : "best");
    strcat(script->tried, " ");
    return script->ends[way] == ERROR_NONE || error_set(error, script->ends[way], "way %u", way);
}

static bool take(const struct core_ops *ops, const char *event, struct script *script, struct error *error)
{
    const struct core core = {.ops = ops, .id = 0x410FC241};
    struct event_request wanted = {.by_code = false};
    strcpy(wanted.name, event);
    return event_stop_take(&core, &wanted, play, script, error);
}

/* Of a Cortex-M's cycles, what the DWT lacks another counter may have. */
TEST(a_dwt_is_first_for_cycles_of_a_cortex_m_alone)
{
    static const struct {
        const struct core_ops *ops;
        const char *event;
        enum error_kind first, second, ends; /* with */
        const char *tried;
    } rows[] = {
        {&cortex_m_ops, "LD_RETIRED", ERROR_NONE, ERROR_NONE, ERROR_NONE, "best "},
        {&armv7_ops, "CPU_CYCLES", ERROR_NONE, ERROR_NONE, ERROR_NONE, "best "},
        {&cortex_m_ops, "CPU_CYCLES", ERROR_NONE, ERROR_NONE, ERROR_NONE, "dwt "},
        {&cortex_m_ops, "CPU_CYCLES", ERROR_NO_COUNTER, ERROR_NONE, ERROR_NONE, "dwt best "},
        {&cortex_m_ops, "CPU_CYCLES", ERROR_WRITTEN, ERROR_NONE, ERROR_NONE, "dwt best "},
        {&cortex_m_ops, "CPU_CYCLES", ERROR_NO_COMPARATOR, ERROR_NO_COUNTER, ERROR_NO_COMPARATOR,
         "dwt best "},
        {&cortex_m_ops, "CPU_CYCLES", ERROR_NO_COUNTER, ERROR_NO_COMPARATOR, ERROR_NO_COUNTER, "dwt best "},
        {&cortex_m_ops, "CPU_CYCLES", ERROR_NO_COUNTER, ERROR_LINK_LOST, ERROR_LINK_LOST, "dwt best "},
        {&cortex_m_ops, "CPU_CYCLES", ERROR_LINK_LOST, ERROR_NONE, ERROR_LINK_LOST, "dwt "}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct script script = {.ends = {rows[i].first, rows[i].second}};
        struct error error = {0};
        assert_int_equal(take(rows[i].ops, rows[i].event, &script, &error), rows[i].ends == ERROR_NONE);
        assert_int_equal(error.kind, rows[i].ends);
        assert_string_equal(script.tried, rows[i].tried);
    }
}
