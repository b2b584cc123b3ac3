/* Where a structure has its members. */
#include "fixture.h"

TEST(members_have_a_place_and_a_size)
{
    struct symbols *symbols = fixture("names");
    struct symbols_member member;
    assert_true(symbols_member(symbols, "Task", "top", &member));
    assert_true(member.offset == 0 && member.size == 4 && member.is_pointer);
    assert_true(symbols_member(symbols, "Task", "name", &member));
    assert_true(member.offset == 4 && member.size == 12 && !member.is_pointer);
    assert_true(symbols_member(symbols, "Task", "label", &member));
    assert_true(member.offset == 16 && member.size == 4 && member.is_pointer);
}

TEST(what_is_no_member_is_not_found)
{
    static const char *const names[][2] = {
        {"Task", "nothing"}, {"Task", "state"}, {"Nobody", "name"}, {"Forward", "name"}, {"filter", "name"}};
    static const char *const without[] = {"nodebug", "stripped"};
    struct symbols_member member;
    struct symbols *symbols = fixture("names");
    for (size_t i = 0; i < COUNT(names); i++)
        assert_false(symbols_member(symbols, names[i][0], names[i][1], &member));
    for (size_t i = 0; i < COUNT(without); i++) {
        symbols = fixture(without[i]);
        assert_false(symbols_member(symbols, "Task", "name", &member));
    }
}
