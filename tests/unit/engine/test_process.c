/* Processes: a core that has none to choose from refuses a choice. */
#include "../test.h"
#include "cores/architectures.h"

#include "cores/core.h"
#include "engine/engine.h"

static const struct process not_said, any = {.which = PROCESS_ANY}, one = {.which = PROCESS_ID, .id = 7};

TEST(others_refuse)
{
    static const struct {
        struct core core;
        const char *why;
    } cores[] = {
        {{.ops = &cortex_m_ops, .name = "Cortex-M4 r0p1"}, "a Cortex-M has no CONTEXTIDR"},
        {{.ops = &armv7_ops, .name = "Cortex-R5 r1p2"}, "Cortex-R5 r1p2 has no MMU"},
        {{.ops = &armv8_ops, .name = "Cortex-R52 r1p0"}, "Cortex-R52 r1p0 has no MMU"},
    };
    for (size_t i = 0; i < COUNT(cores); i++) {
        const struct process *const requests[] = {&any, &one};
        struct error error = {0};
        assert_true(process_check(&not_said, &cores[i].core, &error));
        for (size_t k = 0; k < 2; k++) {
            error_clear(&error);
            assert_fails(process_check(requests[k], &cores[i].core, &error), &error, ERROR_USAGE,
                         cores[i].why);
        }
    }
}

TEST(what_was_chosen_is_noted)
{
    char note[64] = "";
    process_note(&not_said, note, sizeof note);
    assert_string_equal(note, "");
    process_note(&one, note, sizeof note);
    assert_string_equal(note, "only where CONTEXTIDR is 0x7");
    process_note(&any, note, sizeof note);
    assert_string_equal(note, "only where CONTEXTIDR is 0x7; in any process");
}
