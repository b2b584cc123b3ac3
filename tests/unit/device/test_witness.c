/* The registers that counts depend on: which are read, and how a change is reported. */
#include "../test.h"

#include "device/settings.h"

static struct address word(uint64_t offset)
{
    return (struct address){.space = SPACE_MEMORY, .size = 4, .offset = offset};
}

static struct setting enable(uint64_t at, uint64_t bits, const char *name)
{
    return (struct setting){.at = word(at), .test = bits, .set = bits, .watched = name};
}

TEST(bits_of_one_register_are_one_item)
{
    struct witness witness = {0};
    const struct setting first = enable(0x1000, 1, "CTRL"), second = enable(0x1000, 0x20, "CTRL"),
                         other = enable(0x2000, 4, "OTHER"), unnamed = enable(0x3000, 1, NULL);
    const struct setting off = {.at = word(0x1000), .test = 0x20, .watched = "CTRL"};
    witness_take(&witness, &first);
    witness_take(&witness, &second);
    witness_take(&witness, &other);
    witness_take(&witness, &unnamed);
    assert_int_equal(witness.n, 2);
    assert_int_equal(witness.items[0].mask, 0x21);
    assert_int_equal(witness.items[0].value, 0x21);
    witness_take(&witness, &off); /* the last one */
    assert_int_equal(witness.items[0].mask, 0x21);
    assert_int_equal(witness.items[0].value, 0x01);
}

TEST(other_bits_do_not_matter)
{
    struct witness witness = {0};
    struct step items[8];
    uint64_t results[8] = {0}, saw = 0;
    struct steps list = {.items = items, .room = 8};
    struct witness_places places;
    const struct setting first = enable(0x1000, 1, "CTRL"), second = enable(0x2000, 6, "ENABLES");
    witness_take(&witness, &first);
    witness_take(&witness, &second);
    steps_add(&list, step_read(word(0x42)));
    witness_add(&witness, NULL, NULL, &list, &places);
    assert_int_equal(list.n, 3);
    assert_int_equal(items[2].at.offset, 0x2000);
    results[1] = 0xFFF1;
    results[2] = 0x6;
    assert_null(witness_changed(&witness, results, &places, &saw));
    results[2] = 0x4;
    const struct witness_item *item = witness_changed(&witness, results, &places, &saw);
    assert_ptr_equal(item, &witness.items[1]);
    struct error error = {0};
    assert_false(witness_tell(item, saw, &error));
    assert_error_is(&error, ERROR_WRITTEN,
                    "something else changed ENABLES during the run: 0x6 of its bits 0x6 became 0x4");
}

TEST(more_than_there_is_room_for_is_left_out)
{
    struct witness witness = {0};
    for (uint64_t i = 0; i < WITNESS_ROOM + 8; i++) {
        const struct setting setting = enable(0x1000 + 4 * i, 1, "CTRL");
        witness_take(&witness, &setting);
    }
    assert_int_equal(witness.n, WITNESS_ROOM);
    witness_add(NULL, NULL, NULL, NULL, NULL);
    assert_null(witness_changed(NULL, NULL, NULL, NULL));
}
