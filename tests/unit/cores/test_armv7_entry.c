/* Calls and exceptions told apart by the mode, LR and the word before it; encodings as an assembler gives
 * them. */
#include "../test.h"

#include "cores/armv7_transfer.h"

static const struct core any;

TEST(modes_that_exceptions_enter)
{
    assert_string_equal(armv7_exception_mode(&any, 0x600001D1), "FIQ");
    assert_string_equal(armv7_exception_mode(&any, 0x20000192), "IRQ");
    assert_string_equal(armv7_exception_mode(&any, 0x800001D7), "Abort");
    assert_string_equal(armv7_exception_mode(&any, 0x1FB), "Undefined");
    static const uint32_t others[] = {0x10, 0x1F, 0x1D3, 0x600001D6, 0x1DA};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_null(armv7_exception_mode(&any, others[i]));
}

TEST(calls)
{
    static const struct {
        uint32_t lr, before, function;
        bool is_call;
    } entries[] = {
        {0x8004, 0xEB00003E, 0x8100, true},         /* 8000: bl 0x8100 */
        {0x8004, 0x0B00003E, 0x8100, true},         /* bleq */
        {0x8004, 0xEB00003E, 0x8200, false},        /* another function's */
        {0x8204, 0xEBFFFFBE, 0x8100, true},         /* 8200: bl 0x8100, backwards */
        {0x8004, 0xFA00003E, 0x8101, true},         /* blx 0x8100 */
        {0x8004, 0xFB00003E, 0x8103, true},         /* blx 0x8102 */
        {0x8004, 0xFA00003E, 0x8103, false},        /* another one in the same word */
        {0x8004, 0xE12FFF33, 0x8100, true},         /* blx r3: may be anywhere */
        {0x8004, 0xEA00003E, 0x8100, false},        /* b */
        {0x8004, 0xE5900000, 0x8100, false},        /* ldr */
        {0x8004, 0xEF000000, 0x8100, false},        /* svc */
        {0x8006, 0xEB00003E, 0x8100, false},        /* from Thumb code, and no call */
        {0x8005, 0, 0x8100, true},                  /* a call from there */
        {0x00000004, 0xEBFFFFFC, 0xFFFFFFF8, true}, /* round the end of the address space */
    };
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (armv7_called_from(&any, entries[i].lr, entries[i].before, entries[i].function) !=
            entries[i].is_call)
            fail_msg("entry %zu", i);
}
