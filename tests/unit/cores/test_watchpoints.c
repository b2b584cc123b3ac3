#include "cores/architectures.h"
#include "cores/cortex_m.h"
#include "test.h"

static const struct core M0PLUS = {.ops = &cortex_m_ops, .id = 0x410CC601};
static const struct core M4 = {.ops = &cortex_m_ops, .id = 0x410FC241};
static const struct core M55 = {.ops = &cortex_m_ops, .id = 0x411FD221};
/* Armv8-M, by an older part number */
static const struct core STAR = {.ops = &cortex_m_ops, .id = 0x631F1321};

static int find_watchpoint(const struct core *core, const uint64_t *functions, unsigned n, bool others)
{
    bool found;
    int free = watchpoints_find(core, functions, n, &found);
    assert_int_equal(found, others);
    return free;
}

TEST(the_last_one_that_is_off_is_taken)
{
    assert_int_equal(watchpoints_count(0x4F000000), 4);
    assert_int_equal(find_watchpoint(&M4, (uint64_t[]){0, 0x200, 0, 0x01000000}, 4, false), 3);
    assert_int_equal(find_watchpoint(&M4, (uint64_t[]){0, 0x200, 0, 6}, 4, true), 2);
    assert_int_equal(find_watchpoint(&M0PLUS, (uint64_t[]){0, 4}, 2, true), 0);
    assert_int_equal(find_watchpoint(&M4, (uint64_t[]){5, 6, 7, 8}, 4, true), -1);
    assert_int_equal(find_watchpoint(&M0PLUS, NULL, 0, false), -1);
}

/* CYCMATCH; DATAVMATCH with DATAVADDR0 3 and DATAVADDR1 2. */
TEST(those_that_others_go_by_are_in_use_as_well)
{
    assert_int_equal(find_watchpoint(&M4, (uint64_t[]){0x80, 0, 0, 0}, 1, true), -1);
    assert_int_equal(find_watchpoint(&M4, (uint64_t[]){0, 0x23106, 0, 0}, 4, true), 0);
    /* Armv8-M: the limit of a range, a value linked to an address: both have the one before */
    enum { ALL = 0x1E };
    const uint64_t can = (uint64_t)ALL << 27;
    assert_int_equal(find_watchpoint(&M55, (uint64_t[]){can, can, can | 4 | 1 << 4, can | 7}, 4, true), 1);
    assert_int_equal(find_watchpoint(&M55, (uint64_t[]){can, can, can, can | 7}, 4, true), 1);
    assert_int_equal(find_watchpoint(&M55, (uint64_t[]){can, can, can, can | 11}, 4, true), 1);
    assert_int_equal(find_watchpoint(&M55, (uint64_t[]){can, can, can, can | 5}, 4, true), 2);
}

TEST(one_that_cannot_compare_data_addresses_is_not_taken)
{
    const uint64_t cannot = (uint64_t)0x02 << 27, can = (uint64_t)0x0A << 27;
    assert_int_equal(find_watchpoint(&M55, (uint64_t[]){can, cannot}, 2, false), 0);
    assert_int_equal(find_watchpoint(&M55, (uint64_t[]){cannot, cannot}, 2, false), -1);
    assert_int_equal(find_watchpoint(&STAR, (uint64_t[]){can, cannot}, 2, false), 0);
}

TEST(a_write_to_a_word_halts)
{
    struct setting settings[3];
    assert_int_equal(watchpoints_settings(&M4, 3, 0xE0001004, settings, 3), 3);
    const uint64_t armv7[][2] = {{0xE0001050, 0xE0001004}, {0xE0001054, 2}, {0xE0001058, 6}};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(settings[i].at.offset, armv7[i][0]);
        assert_int_equal(settings[i].set, armv7[i][1]);
    }
    assert_int_equal(settings[2].restore.mask & 0x01000000, 0); /* MATCHED is not ours */
    assert_int_equal(watchpoints_settings(&M55, 1, 0xE0003E04, settings, 3), 2);
    assert_int_equal(settings[0].at.offset, 0xE0001030);
    assert_int_equal(settings[1].at.offset, 0xE0001038);
    assert_int_equal(settings[1].set, 0x815);
    assert_true(watchpoints_matched(0x01000006) && !watchpoints_matched(6));
}
