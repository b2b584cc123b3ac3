/*
 * Any bytes as what a device on USB says of itself: interfaces with their endpoints, strings, HID report
 * descriptors. Whatever it says, what is made of it fits the buffers that it is used with, and is printable.
 */
#include "links/dap/carrier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* What is left of the input. */
struct input {
    const uint8_t *at;
    size_t left;
};

static unsigned take(struct input *input)
{
    if (input->left == 0)
        return 0;
    input->left--;
    return *input->at++;
}

static void demand(bool true_of_all)
{
    if (!true_of_all)
        abort();
}

static struct interface_descriptor take_interface(struct input *input)
{
    struct interface_descriptor one = {
        .number = (uint8_t)take(input), .class = (uint8_t)take(input), .name = (uint8_t)take(input)};
    one.n_endpoints = take(input);
    for (size_t i = 0; i < one.n_endpoints && i < DESCRIPTORS_ENDPOINTS; i++) {
        one.endpoints[i].address = (uint8_t)take(input);
        one.endpoints[i].attributes = (uint8_t)take(input);
        one.endpoints[i].packet = (uint16_t)(take(input) | take(input) << 8);
    }
    return one;
}

static void try_interface(struct input *input)
{
    const struct interface_descriptor one = take_interface(input);
    struct interface_place place;
    size_t packet_size = take(input) | take(input) << 8;
    if (!descriptors_read_interface(&one, &place))
        return;
    demand(one.n_endpoints >= 2 && place.interface == one.number && place.name == one.name);
    demand(!(place.out & 0x80) && (place.in & 0x80));
    demand(place.in_packet >= 1 && place.in_packet <= DESCRIPTORS_REPLY);
    demand(place.packet >= 1 && place.packet <= place.in_packet);
    size_t room = descriptors_reply_room(place.in_packet, packet_size);
    demand(room >= place.in_packet && room <= DESCRIPTORS_REPLY && room % place.in_packet == 0);
    if (packet_size <= CARRIER_ROOM && place.in_packet <= 512) /* no endpoint in the field has larger ones */
        demand(room >= packet_size && room >= CARRIER_SMALLEST);
}

static void check_text(const char *text, size_t length, size_t size)
{
    demand(length < size && strlen(text) == length);
    for (size_t i = 0; i < length; i++)
        demand(text[i] >= 0x20 && text[i] < 0x7F);
}

/* As a probe that is listed, asked for by the serial number that it says it has. */
static void try_strings(struct input *input)
{
    struct dap_found found = {.kind = take(input) & 1 ? DAP_HID : DAP_USB};
    struct probe_spec request = {.kind = DAP_ANY};
    struct error error = {0};
    wchar_t wide[96] = {0};
    char name[24];
    size_t cut = take(input);
    cut = cut < input->left ? cut : input->left;
    check_text(found.serial, descriptors_text(input->at, cut, found.serial, sizeof found.serial),
               sizeof found.serial);
    for (size_t i = 0; i + 1 < sizeof wide / sizeof *wide && cut + 2 * i + 1 < input->left; i++)
        wide[i] = (wchar_t)(input->at[cut + 2 * i] | input->at[cut + 2 * i + 1] << 8);
    check_text(found.name, descriptors_wide_text(wide, found.name, sizeof found.name), sizeof found.name);
    if (descriptors_name_probe(found.name))
        demand(strlen(found.name) >= strlen("CMSIS-DAP"));
    snprintf(request.serial, sizeof request.serial, "%s", found.serial);
    demand(usb_choice_choose(&found, 1, &request, &error) == &found);
    usb_choice_name(&found, name, sizeof name);
    demand(strlen(name) < sizeof name);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct input input = {.at = bytes, .left = size};
    demand(descriptors_report_size(bytes, size) <= CARRIER_ROOM);
    try_interface(&input);
    try_strings(&input);
    return 0;
}
