/*
 * Parts by their numbers: each is there once, and says what it is.
 */
#include "../test.h"

#include "cores/parts.h"

TEST(each_number_is_one_part)
{
    unsigned found = 0;
    for (uint32_t number = 0; number < 0x1000; number++) {
        const struct core_part *part = part_find(UINT32_C(0x410F0000) | number << 4);
        found += part->name != NULL;
        assert_true(part->name == NULL || part->number == number);
    }
    assert_true(found > 60);
}

TEST(parts_of_today)
{
    static const struct {
        uint32_t id;
        const char *name;
    } parts[] = {{0x410FD0C0, "Neoverse N1"}, {0x411FD410, "Cortex-A78"}, {0x410FD440, "Cortex-X1"},
                 {0x410FD160, "Cortex-R52+"}, {0x410FD820, "Cortex-X4"},  {0x410FD870, "Cortex-A725"},
                 {0x410FC300, "SC000"},       {0x630F1320, "Star-MC1"}};
    for (size_t i = 0; i < COUNT(parts); i++) {
        const struct core_part *part = part_find(parts[i].id);
        assert_non_null(part->name);
        assert_string_equal(part->name, parts[i].name);
    }
    assert_null(part_find(0x4E0FD410)->name); /* another maker's */
}
