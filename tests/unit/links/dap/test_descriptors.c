/* USB and HID descriptors. */
#include "links/dap/carrier.h"
#include "test.h"

enum { VENDOR = 0xFF, HID = 3, OUT = 0x02, IN = 0x81, BULK = 2, INTERRUPT = 3 };

static struct interface_descriptor usual(void)
{
    return (struct interface_descriptor){.number = 1,
                                         .class = VENDOR,
                                         .name = 5,
                                         .n_endpoints = 2,
                                         .endpoints = {{OUT, BULK, 64}, {IN, BULK, 512}}};
}

static bool reads(const struct interface_descriptor *from)
{
    struct interface_place place;
    return descriptors_read_interface(from, &place);
}

TEST(test_the_interface_of_a_probe)
{
    struct interface_descriptor from = usual();
    struct interface_place place;
    assert_true(descriptors_read_interface(&from, &place));
    assert_int_equal(place.interface, 1);
    assert_int_equal(place.name, 5);
    assert_int_equal(place.out, OUT);
    assert_int_equal(place.in, IN);
    assert_int_equal(place.in_packet, 512);
    assert_int_equal(place.packet, 64);
    from.class = 0; /* KitProg3's */
    assert_true(reads(&from));
    assert_int_equal(place.trace, 0);
    from.n_endpoints = 3; /* the third is for a trace */
    from.endpoints[2] = (struct endpoint_descriptor){IN + 2, BULK, 512};
    assert_true(descriptors_read_interface(&from, &place));
    assert_int_equal(place.trace, IN + 2);
    from.endpoints[1].packet = 0x1400 | 512; /* bits 12:11: transactions a microframe */
    assert_true(descriptors_read_interface(&from, &place));
    assert_int_equal(place.in_packet, 1024 | 512);
}

TEST(test_other_interfaces)
{
    static const struct interface_descriptor others[] = {
        {.class = HID, .n_endpoints = 2, .endpoints = {{OUT, BULK, 64}, {IN, BULK, 512}}},
        {.class = VENDOR, .n_endpoints = 1, .endpoints = {{OUT, BULK, 64}, {IN, BULK, 512}}},
        {.class = VENDOR, .n_endpoints = 2, .endpoints = {{OUT, INTERRUPT, 64}, {IN, BULK, 512}}},
        {.class = VENDOR, .n_endpoints = 2, .endpoints = {{OUT, BULK, 64}, {IN, INTERRUPT, 512}}},
        {.class = VENDOR, .n_endpoints = 2, .endpoints = {{IN + 1, BULK, 64}, {IN, BULK, 512}}},
        {.class = VENDOR, .n_endpoints = 2, .endpoints = {{OUT, BULK, 64}, {OUT + 1, BULK, 512}}},
        {.class = VENDOR, .n_endpoints = 2, .endpoints = {{OUT, BULK, 64}, {IN, BULK, 0x800}}},
        {.class = VENDOR, .n_endpoints = 2, .endpoints = {{OUT, BULK, 0}, {IN, BULK, 512}}},
    };
    for (size_t i = 0; i < COUNT(others); i++)
        assert_false(reads(&others[i]));
}

TEST(test_room_for_replies)
{
    assert_int_equal(descriptors_reply_room(64, 64), 64);
    assert_int_equal(descriptors_reply_room(64, 0), 64);
    assert_int_equal(descriptors_reply_room(512, 64), 512);
    assert_int_equal(descriptors_reply_room(512, 512), 512);
    assert_int_equal(descriptors_reply_room(512, 513), 1024);
    assert_int_equal(descriptors_reply_room(512, CARRIER_ROOM), 1536);
    assert_int_equal(descriptors_reply_room(8, 64), 64);
    assert_int_equal(descriptors_reply_room(2047, CARRIER_ROOM), 2047);
    assert_int_equal(descriptors_reply_room(1, 1u << 20), DESCRIPTORS_REPLY);
    assert_int_equal(descriptors_reply_room(1100, 1u << 20), 1100);
}

TEST(test_strings)
{
    char out[6];
    assert_int_equal(descriptors_text((const uint8_t *)"a\x1b[\x80z\n", 6, out, sizeof out), 3);
    assert_string_equal(out, "a[z");
    assert_int_equal(descriptors_text((const uint8_t *)"abcdefgh", 8, out, sizeof out), 5);
    assert_string_equal(out, "abcde");
    assert_int_equal(descriptors_text(NULL, 0, out, sizeof out), 0);
    assert_string_equal(out, "");
    assert_int_equal(descriptors_wide_text(L"a\x7f\x1F600z", out, sizeof out), 2);
    assert_string_equal(out, "az");
    assert_int_equal(descriptors_wide_text(L"abcdefgh", out, sizeof out), 5);
    assert_int_equal(descriptors_wide_text(NULL, out, sizeof out), 0);
    assert_true(descriptors_name_probe("Debug Probe (CMSIS-DAP)"));
    assert_true(descriptors_name_probe("LU CMSIS_DAP"));
    assert_false(descriptors_name_probe("CMSIS DAP") || descriptors_name_probe("WCH-Link") ||
                 descriptors_name_probe(""));
}

TEST(test_report_sizes)
{
    static const uint8_t of_probe[] = {0x06, 0x00, 0xFF, 0x09, 0x01, 0xA1, 0x01, 0x15, 0x00, 0x26, 0xFF,
                                       0x00, 0x75, 0x08, 0x95, 0x40, 0x09, 0x01, 0x81, 0x02, 0x95, 0x40,
                                       0x09, 0x01, 0x91, 0x02, 0x95, 0x01, 0x09, 0x01, 0xB1, 0x02, 0xC0};
    static const uint8_t large[] = {0x75, 0x08, 0x96, 0x00, 0x02, 0x91, 0x02};
    static const uint8_t with_long[] = {0xFE, 2, 0, 9, 9, 0x75, 0x08, 0x95, 0x41, 0x91, 0x02};
    static const uint8_t absurd[] = {0x77, 0xFF, 0xFF, 0xFF, 0xFF, 0x97, 0xFF, 0xFF, 0xFF, 0xFF, 0x91, 0x02};
    static const uint8_t too_large[] = {0x75, 0x08, 0x96, 0x01, 0x05, 0x91, 0x02};
    assert_int_equal(descriptors_report_size(of_probe, sizeof of_probe), 64);
    assert_int_equal(descriptors_report_size(large, sizeof large), 512);
    assert_int_equal(descriptors_report_size(with_long, sizeof with_long), 65);
    assert_int_equal(descriptors_report_size(absurd, sizeof absurd), 0);
    assert_int_equal(descriptors_report_size(too_large, sizeof too_large), 0);
    for (size_t n = 0; n < sizeof of_probe; n++)
        assert_true(descriptors_report_size(of_probe, n) <= 64);
    assert_int_equal(descriptors_report_size(with_long, 1), 0);
}
