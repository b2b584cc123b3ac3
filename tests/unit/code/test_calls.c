/* Which instructions are calls, and where they go. */
#include "../test.h"

#include "code/instruction.h"

TEST(calls_of_thumb)
{
    assert_int_equal(thumb_call_code(0xF7FFFFFE, 4), CALL_DIRECT); /* BL */
    assert_int_equal(thumb_call_code(0xF000E800, 4), CALL_DIRECT); /* BLX of a number */
    assert_int_equal(thumb_call_code(0x4798, 2), CALL_INDIRECT);   /* BLX R3 */
    assert_int_equal(thumb_call_code(0x47A4, 2), CALL_INDIRECT);   /* BLXNS R4 */
    assert_int_equal(thumb_call_code(0x4718, 2), CALL_NONE);       /* BX R3 */
    assert_int_equal(thumb_call_code(0x4774, 2), CALL_NONE);       /* BXNS LR */
    assert_int_equal(thumb_call_code(0xF000B800, 4), CALL_NONE);   /* B.W */
    assert_int_equal(thumb_call_code(0xE7FE, 2), CALL_NONE);       /* B */
}

TEST(calls_of_a32)
{
    assert_int_equal(arm_call_code(0xEBFFFFFE), CALL_DIRECT);
    assert_int_equal(arm_call_target(0xEBFFFFFE, 0x8000), 0x8000);
    assert_int_equal(arm_call_code(0x0B000001), CALL_DIRECT); /* BLEQ */
    assert_int_equal(arm_call_target(0x0B000001, 0x8000), 0x800C);
    assert_int_equal(arm_call_code(0xFB000000), CALL_DIRECT); /* BLX, of a halfword more */
    assert_int_equal(arm_call_target(0xFB000000, 0x8000), 0x800A);
    assert_int_equal(arm_call_code(0xE12FFF33), CALL_INDIRECT); /* BLX R3 */
    assert_int_equal(arm_call_code(0xE12FFF13), CALL_NONE);     /* BX R3 */
    assert_int_equal(arm_call_code(0xEA000000), CALL_NONE);     /* B */
}

TEST(calls_of_a64)
{
    assert_int_equal(a64_call_code(0x97FFFFFF), CALL_DIRECT);
    assert_int_equal(a64_call_target(0x97FFFFFF, 0x40000008), 0x40000004);
    assert_int_equal(a64_call_code(0xD63F0060), CALL_INDIRECT); /* BLR X3 */
    assert_int_equal(a64_call_code(0xD73F0864), CALL_INDIRECT); /* BLRAA X3, X4 */
    assert_int_equal(a64_call_code(0xD63F087F), CALL_INDIRECT); /* BLRAAZ X3 */
    assert_int_equal(a64_call_code(0xD73F0C64), CALL_INDIRECT); /* BLRAB X3, X4 */
    assert_int_equal(a64_call_code(0xD61F0060), CALL_NONE);     /* BR X3 */
    assert_int_equal(a64_call_code(0xD65F03C0), CALL_NONE);     /* RET */
    assert_int_equal(a64_call_code(0x14000000), CALL_NONE);     /* B */
}
