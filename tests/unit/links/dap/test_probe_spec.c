/* The argument of --probe, and which of the probes plugged in it selects. */
#include "links/dap/carrier.h"
#include "test.h"

#include <stdio.h>

static struct probe_spec spec;
static struct error error;

static bool reads(const char *text)
{
    error_clear(&error);
    return probe_spec_read(text, &spec, &error);
}

TEST(test_words)
{
    assert_true(probe_spec_is("cmsis-dap") && probe_spec_is("cmsis-dap:1") &&
                probe_spec_is("cmsis-dap-tcp:h:1"));
    assert_false(probe_spec_is("openocd") || probe_spec_is("cmsis-dapper") || probe_spec_is(""));
    assert_true(reads("cmsis-dap"));
    assert_int_equal(spec.kind, DAP_ANY);
    assert_string_equal(spec.serial, "");
    assert_true(reads("cmsis-dap:E6614C311B7F"));
    assert_string_equal(spec.serial, "E6614C311B7F");
    assert_false(spec.by_id);
    assert_true(reads("cmsis-dap:2E8a:000c"));
    assert_true(spec.by_id);
    assert_int_equal(spec.vendor, 0x2e8a);
    assert_int_equal(spec.product, 0x000c);
    assert_true(reads("cmsis-dap:2e8a:000c1")); /* a serial number may be anything */
    assert_string_equal(spec.serial, "2e8a:000c1");
    assert_true(reads("cmsis-dap:2e8g:000c") && !spec.by_id);
    char text[200] = "cmsis-dap:";
    memset(text + 10, 'x', 150);
    assert_fails(reads(text), &error, ERROR_USAGE, "");
    assert_false(reads("openocd"));
}

TEST(test_usb_ports)
{
    static const char *const good[] = {"1-1", "1-1.4", "12-7.1.2.3.4.5.6", "255-255"};
    static const char *const bad[] = {"",
                                      "1",
                                      "1-",
                                      "-1",
                                      "1-1.",
                                      "1-1..2",
                                      "01-1",
                                      "1-01",
                                      "1-0",
                                      "256-1",
                                      "1-256",
                                      "1-1000",
                                      "1.1",
                                      "usb1",
                                      "1-1:1.0",
                                      " 1-1",
                                      "1-1 ",
                                      "1-1/2",
                                      "1-1-2",
                                      "1-1.4.",
                                      "1-0.4",
                                      "a-1",
                                      "1-1.2.3.4.5.6.7.8"};
    char text[200], port[USB_PORT_ROOM];
    for (size_t i = 0; i < COUNT(good); i++) {
        snprintf(text, sizeof text, "cmsis-dap:usb:%s", good[i]);
        assert_true(reads(text));
        assert_string_equal(spec.usb, good[i]);
        assert_string_equal(spec.serial, "");
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        snprintf(text, sizeof text, "cmsis-dap:usb:%s", bad[i]);
        assert_fails(reads(text), &error, ERROR_USAGE, "");
    }
    assert_true(
        usb_port_of_path("/sys/devices/pci0000:00/usb1/1-1/1-1.4/1-1.4:1.0/0003:0D28:0204.0001", port));
    assert_string_equal(port, "1-1.4");
    assert_false(usb_port_of_path("/sys/devices/platform/bluetooth/hci0/0005:0D28:0204.0001", port));
    assert_false(usb_port_of_path("", port));
    assert_string_equal(port, "");
}

/* The forms of an address: test_socket. */
TEST(test_hosts)
{
    assert_true(reads("cmsis-dap-tcp"));
    assert_int_equal(spec.kind, DAP_TCP);
    assert_string_equal(spec.host, "localhost");
    assert_int_equal(spec.port, 4441);
    assert_true(reads("cmsis-dap-tcp:[::1]:5"));
    assert_string_equal(spec.host, "::1");
    assert_int_equal(spec.port, 5);
    assert_fails(reads("cmsis-dap-tcp:::1"), &error, ERROR_USAGE, "");
}

static const struct dap_found two_ways[] = {
    {.kind = DAP_HID, .vendor = 0x2e8a, .product = 12, .serial = "A", .place = "hid"},
    {.kind = DAP_USB, .vendor = 0x2e8a, .product = 12, .serial = "A", .place = "usb"},
    {.kind = DAP_HID, .vendor = 0x0d28, .product = 0x204, .serial = "B", .place = "other"}};

static const char *chosen(const char *text, size_t n)
{
    assert_true(reads(text));
    const struct dap_found *found = usb_choice_choose(two_ways, n, &spec, &error);
    return found == NULL ? "" : found->place;
}

TEST(test_choice)
{
    assert_string_equal(chosen("cmsis-dap", 2), "usb");
    assert_string_equal(chosen("cmsis-dap:B", 3), "other");
    assert_string_equal(chosen("cmsis-dap:0d28:0204", 3), "other");
    assert_string_equal(chosen("cmsis-dap:A", 3), "usb");
    assert_string_equal(chosen("cmsis-dap", 3), "");
    assert_error(&error, ERROR_USAGE, "2e8a:000c A, 0d28:0204 B");
    assert_string_equal(chosen("cmsis-dap", 0), "");
    assert_int_equal(error.kind, ERROR_NO_PROBE);
    assert_string_equal(chosen("cmsis-dap:C", 3), "");
    assert_int_equal(error.kind, ERROR_NO_PROBE);
    assert_true(reads("cmsis-dap"));
    spec.kind = DAP_HID;
    assert_string_equal(usb_choice_choose(two_ways, 2, &spec, &error)->place, "hid");
    struct dap_found refused[2] = {two_ways[0], two_ways[1]};
    snprintf(refused[1].problem, sizeof refused[1].problem, "no");
    spec.kind = DAP_ANY;
    assert_string_equal(usb_choice_choose(refused, 2, &spec, &error)->place, "hid");
}

static struct dap_found one_of(enum dap_kind kind, const char *serial, const char *problem)
{
    struct dap_found found = {.kind = kind, .vendor = 0x0d28, .product = 0x0204};
    snprintf(found.serial, sizeof found.serial, "%s", serial);
    snprintf(found.problem, sizeof found.problem, "%s", problem);
    return found;
}

static struct dap_found hid_at(const char *usb, bool is_named)
{
    struct dap_found found = one_of(DAP_HID, "A", "");
    snprintf(found.usb, sizeof found.usb, "%s", usb);
    found.is_named = is_named;
    return found;
}

TEST(interfaces_next_to_a_named_one_are_no_probes)
{
    struct dap_found list[] = {hid_at("1-1", false), hid_at("1-1", true), hid_at("1-2", false),
                               hid_at("", false),    hid_at("1-3", true), one_of(DAP_USB, "A", "")};
    assert_int_equal(usb_choice_drop_bridges(list, 6), 5);
    assert_true(list[0].is_named && strcmp(list[0].usb, "1-1") == 0);
    assert_string_equal(list[1].usb, "1-2");
    assert_true(list[4].kind == DAP_USB);
}

TEST(one_probe_is_listed_once)
{
    struct dap_found list[] = {one_of(DAP_USB, "A", ""), one_of(DAP_USB, "B", "busy"),
                               one_of(DAP_USB, "C", ""), one_of(DAP_HID, "A", ""),
                               one_of(DAP_HID, "B", ""), one_of(DAP_HID, "D", "")};
    assert_int_equal(usb_choice_merge(list, 6), 4);
    assert_true(list[0].kind == DAP_USB && list[0].speaks_both);
    assert_true(list[1].kind == DAP_HID && list[1].speaks_both); /* the way that is open */
    assert_true(list[2].kind == DAP_USB && !list[2].speaks_both);
    assert_true(list[3].kind == DAP_HID && !list[3].speaks_both);
    struct dap_found twins[] = {one_of(DAP_USB, "", ""), one_of(DAP_USB, "", ""), one_of(DAP_HID, "", ""),
                                one_of(DAP_HID, "", "")};
    assert_int_equal(usb_choice_merge(twins, 4), 2);
}

static struct dap_found at_port(enum dap_kind kind, const char *serial, const char *port)
{
    struct dap_found found = one_of(kind, serial, "");
    snprintf(found.usb, sizeof found.usb, "%s", port);
    snprintf(found.place, sizeof found.place, "%s %d", port, (int)kind);
    return found;
}

/* Two with the same serial number, one without any, each with v1 and v2. */
TEST(a_port_names_one_of_twins)
{
    struct dap_found list[] = {at_port(DAP_USB, "A", "1-1.1"), at_port(DAP_USB, "A", "1-1.2"),
                               at_port(DAP_USB, "", "1-1.3"),  at_port(DAP_USB, "B", "1-2"),
                               at_port(DAP_HID, "A", "1-1.1"), at_port(DAP_HID, "A", "1-1.2"),
                               at_port(DAP_HID, "", "1-1.3"),  at_port(DAP_HID, "B", "1-2")};
    static const struct {
        const char *text, *port, *identity, *kept;
    } cases[] = {{"cmsis-dap:usb:1-1.2", "1-1.2", "A at usb:1-1.2", "1-1.2"},
                 {"cmsis-dap:usb:1-1.3", "1-1.3", "at usb:1-1.3", "1-1.3"},
                 {"cmsis-dap:usb:1-2", "1-2", "B", "1-2"},
                 {"cmsis-dap:B", "1-2", "B", ""}};
    enum { N = COUNT(list) };
    char identity[96];
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_true(reads(cases[i].text));
        const struct dap_found *found = usb_choice_choose(list, N, &spec, &error);
        assert_non_null(found);
        assert_string_equal(found->usb, cases[i].port);
        assert_int_equal(found->kind, DAP_USB);
        usb_choice_identity(list, N, found, identity, sizeof identity);
        assert_string_equal(identity, cases[i].identity);
        usb_choice_identity(list, N, found + 4, identity, sizeof identity); /* through its other interface */
        assert_string_equal(identity, cases[i].identity);
        usb_choice_keep(list, N, found, &spec);
        assert_string_equal(spec.usb, cases[i].kept);
        assert_ptr_equal(usb_choice_choose(list, N, &spec, &error), found);
    }
    assert_true(reads("cmsis-dap:A"));
    assert_null(usb_choice_choose(list, N, &spec, &error));
    assert_int_equal(error.kind, ERROR_USAGE);
    assert_has(error.text, "0d28:0204 A at usb:1-1.1, 0d28:0204 A at usb:1-1.2; choose");
    assert_true(reads("cmsis-dap:usb:1-1"));
    assert_null(usb_choice_choose(list, N, &spec, &error));
    assert_error(&error, ERROR_NO_PROBE,
                 "no CMSIS-DAP probe is plugged in at usb:1-1; there is 0d28:0204 A at "
                 "usb:1-1.1, 0d28:0204 A at usb:1-1.2, 0d28:0204 at usb:1-1.3");
    assert_int_equal(usb_choice_merge(list, N), 4);
}

TEST(error_names_a_probe_once)
{
    struct dap_found list[] = {one_of(DAP_USB, "A", ""), one_of(DAP_USB, "B", ""), one_of(DAP_HID, "A", ""),
                               one_of(DAP_HID, "B", "")};
    assert_true(reads("cmsis-dap:C"));
    assert_null(usb_choice_choose(list, 4, &spec, &error));
    assert_has(error.text, "there is 0d28:0204 A, 0d28:0204 B");
    assert_null(strstr(strstr(error.text, " B"), "0d28:0204 A"));
    assert_true(reads("cmsis-dap"));
    assert_null(usb_choice_choose(list, 4, &spec, &error));
    assert_has(error.text, "several probes: 0d28:0204 A, 0d28:0204 B; choose");
}

TEST(probes_are_known_by_name_number_or_request)
{
    struct dap_found found = {.vendor = 0x1234, .product = 0x5678, .name = "Thing"};
    assert_false(usb_choice_is_probe(&found));
    assert_true(reads("cmsis-dap:1234:5678"));
    assert_true(probe_spec_names(&spec, 0x1234, 0x5678));
    assert_false(probe_spec_names(&spec, 0x1234, 0x5679) || probe_spec_names(NULL, 0x1234, 0x5678));
    found.by_hand = true;
    assert_true(usb_choice_is_probe(&found));
    found.by_hand = false;
    snprintf(found.name, sizeof found.name, "Thing CMSIS_DAP");
    assert_true(usb_choice_is_probe(&found));
    found = (struct dap_found){.vendor = 0x04B4, .product = 0xF155, .name = "Kit"};
    assert_true(usb_choice_is_probe(&found));
    found.product = 0xF153;
    assert_false(usb_choice_is_probe(&found));
    assert_true(reads("cmsis-dap"));
    assert_false(probe_spec_names(&spec, 0, 0));
}

TEST(firmware_is_known_by_its_release)
{
    static const struct {
        struct dap_found found;
        bool several, flaw;
    } cases[] = {
        {{.vendor = 0x0D28, .product = 0x0204, .release = 0x1000}, true, false},
        {{.vendor = 0x2E8A, .product = 0x000C, .release = 0x0103}, false, true},
        {{.vendor = 0x2E8A, .product = 0x000C, .release = 0x0230}, false, true},
        {{.vendor = 0x2E8A, .product = 0x000C, .release = 0x0231}, true, false},
        {{.vendor = 0x2E8A, .product = 0x0004, .release = 0x0104}, false, true},
        {{.vendor = 0x2E8A, .product = 0x0005, .release = 0x0300}, false, false},
        {{.vendor = 0x0451, .product = 0xBEF3, .release = 0x0200}, false, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *words = "";
        assert_int_equal(usb_choice_takes_several(&cases[i].found, &words), cases[i].several);
        assert_int_equal(words != NULL, cases[i].flaw);
    }
}

TEST(adapters_are_known_by_their_numbers)
{
    assert_string_equal(adapter_find(0x0483, 0x374B)->name, "ST-Link V2-1");
    assert_string_equal(adapter_find(0x1366, 0x1020)->name, "J-Link");
    assert_string_equal(adapter_find(0x0403, 0x6014)->name, "FTDI FT232H");
    assert_string_equal(adapter_find(0x2E8A, 0x0003)->name, "Pico in BOOTSEL mode");
    assert_null(adapter_find(0x2E8A, 0x000A)); /* a program of the Pico's */
    assert_null(adapter_find(0x0483, 0x5740));
    assert_null(adapter_find(0x0403, 0x6001));
}
