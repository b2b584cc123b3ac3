// Descriptors as "Universal Serial Bus 2.0", chapter 9, and "Device Class Definition for HID" lay them out:
// see the header.
#include "usb/descriptors.h"

#include <string.h>

enum { DEVICE = 1, CONFIG, STRING, INTERFACE, ENDPOINT, QUALIFIER, HID = 0x21, REPORT };
enum { CLASS_HID = 0x03, INTERRUPT = 3, BULK = 2, IN = 0x80 };
enum { NAME_MANUFACTURER = 1, NAME_PRODUCT, NAME_SERIAL, NAME_V1, NAME_V2, HID_LENGTH = 9 };

struct writer {
    uint8_t *at;
};

static void bytes(struct writer *w, const uint8_t *from, size_t count)
{
    memcpy(w->at, from, count);
    w->at += count;
}

static uint8_t low(size_t value)
{
    return (uint8_t)value;
}

static uint8_t high(size_t value)
{
    return (uint8_t)(value >> 8);
}

static uint8_t endpoint_number(unsigned pipe)
{
    return (uint8_t)(pipe + 1);
}

static void put_interface(struct writer *w, const struct usb_descriptors *d, unsigned pipe)
{
    uint8_t class = pipe == PIPE_V1 ? CLASS_HID : d->bulk_class, name = pipe == PIPE_V1 ? NAME_V1 : NAME_V2;
    if (!d->strings[name][0])
        name = 0;
    uint8_t endpoints = pipe == PIPE_V2 && d->traces ? 3 : 2;
    bytes(w, (uint8_t[]){9, INTERFACE, low((size_t)d->interface[pipe]), 0, endpoints, class, 0, 0, name}, 9);
}

// CMSIS-DAP v2 wants OUT first
static void put_endpoint(struct writer *w, const struct usb_descriptors *d, unsigned pipe, uint8_t direction)
{
    size_t size = d->max_packet[pipe];
    uint8_t type = pipe == PIPE_V1 ? INTERRUPT : BULK, interval = pipe == PIPE_V1 ? 1 : 0;
    bytes(w,
          (uint8_t[]){7, ENDPOINT, endpoint_number(pipe) | direction, type, low(size), high(size), interval},
          7);
}

static void make_report(struct usb_descriptors *d, size_t size)
{
    struct writer w = {d->report};
    // Vendor page, usage 1, a collection of bytes: `size` in, `size` out, one feature
    bytes(&w, (uint8_t[]){0x06, 0x00, 0xFF, 0x09, 0x01, 0xA1, 0x01, 0x15, 0x00, 0x26, 0xFF, 0x00, 0x75, 0x08},
          14);
    bytes(&w, (uint8_t[]){0x96, low(size), high(size), 0x09, 0x01, 0x81, 0x02}, 7);
    bytes(&w, (uint8_t[]){0x96, low(size), high(size), 0x09, 0x01, 0x91, 0x02}, 7);
    bytes(&w, (uint8_t[]){0x95, 0x01, 0x09, 0x01, 0xB1, 0x02, 0xC0}, 7);
    d->report_length = (size_t)(w.at - d->report);
}

static void make_config(struct usb_descriptors *d, uint8_t interfaces)
{
    struct writer w = {d->config};
    bytes(&w, (uint8_t[]){9, CONFIG, 0, 0, interfaces, 1, 0, 0x80, 50}, 9);
    if (d->interface[PIPE_V1] >= 0) {
        put_interface(&w, d, PIPE_V1);
        bytes(&w, (uint8_t[]){HID_LENGTH, HID, 0x11, 0x01, 0, 1, REPORT, low(d->report_length), 0},
              HID_LENGTH);
        put_endpoint(&w, d, PIPE_V1, IN);
        put_endpoint(&w, d, PIPE_V1, 0);
    }
    if (d->interface[PIPE_V2] >= 0) {
        put_interface(&w, d, PIPE_V2);
        put_endpoint(&w, d, PIPE_V2, 0);
        put_endpoint(&w, d, PIPE_V2, IN);
        if (d->traces)
            bytes(&w,
                  (uint8_t[]){7, ENDPOINT, ENDPOINT_TRACE, BULK, low(d->max_packet[PIPE_V2]),
                              high(d->max_packet[PIPE_V2]), 0},
                  7);
    }
    d->config_length = (size_t)(w.at - d->config);
    d->config[2] = low(d->config_length);
}

void descriptors_make(struct usb_descriptors *d, const struct usb_function *f)
{
    *d = (struct usb_descriptors){
        .interface = {-1, -1},
        .high_speed = f->bulk_packet ? f->bulk_packet > 64 : f->packet_size > 64,
        .bulk_class = f->bulk_class,
        .traces = f->stream && f->v2,
    };
    uint8_t interfaces = 0;
    if (f->v1)
        d->interface[PIPE_V1] = interfaces++;
    if (f->v2)
        d->interface[PIPE_V2] = interfaces++;
    d->max_packet[PIPE_V1] = f->packet_size;
    d->max_packet[PIPE_V2] = f->bulk_packet ? f->bulk_packet : d->high_speed ? 512 : 64;
    d->strings[NAME_MANUFACTURER] = USB_MANUFACTURER;
    d->strings[NAME_PRODUCT] = f->product_name;
    d->strings[NAME_SERIAL] = f->serial;
    d->strings[NAME_V1] = "CMSIS-DAP v1";
    d->strings[NAME_V2] = f->bulk_name;
    struct writer w = {d->device};
    bytes(&w, (uint8_t[]){18, DEVICE, 0x00, 0x02, 0, 0, 0, 64, low(f->vendor), high(f->vendor)}, 10);
    bytes(&w, (uint8_t[]){low(f->product), high(f->product), low(f->release), high(f->release)}, 4);
    bytes(&w, (uint8_t[]){NAME_MANUFACTURER, NAME_PRODUCT, NAME_SERIAL, 1}, 4);
    make_report(d, f->packet_size);
    make_config(d, interfaces);
}

static int answer(uint8_t *data, size_t room, const uint8_t *from, size_t length)
{
    size_t size = length < room ? length : room;
    memcpy(data, from, size);
    return (int)size;
}

static int give_string(const struct usb_descriptors *d, unsigned index, uint8_t *data, size_t room)
{
    uint8_t text[UINT8_MAX] = {4, STRING, 0x09, 0x04}; // English
    if (index >= USB_STRINGS)
        return -1;
    if (index) {
        size_t length = 2;
        for (const char *c = d->strings[index]; *c && length + 2 <= sizeof text; c++) {
            text[length++] = (uint8_t)*c;
            text[length++] = 0;
        }
        text[0] = (uint8_t)length;
    }
    return answer(data, room, text, text[0]);
}

static int give_descriptor(const struct usb_descriptors *d, uint8_t type, uint8_t index, uint8_t *data,
                           size_t room)
{
    static const uint8_t qualifier[10] = {10, QUALIFIER, 0x00, 0x02, 0, 0, 0, 64, 1, 0};
    switch (type) {
    case DEVICE:
        return answer(data, room, d->device, sizeof d->device);
    case CONFIG:
        return index ? -1 : answer(data, room, d->config, d->config_length);
    case STRING:
        return give_string(d, index, data, room);
    case QUALIFIER: // full-speed devices have none
        return d->high_speed ? answer(data, room, qualifier, sizeof qualifier) : -1;
    default:
        return -1;
    }
}

static int give_hid(const struct usb_descriptors *d, const uint8_t *setup, uint8_t *data, size_t room)
{
    if (descriptors_pipe_of_interface(d, setup[4]) != PIPE_V1)
        return -1;
    switch (setup[3]) {
    case HID: // the HID interface is the first, its descriptor follows those of configuration and
              // interface
        return answer(data, room, d->config + 9 + 9, HID_LENGTH);
    case REPORT:
        return answer(data, room, d->report, d->report_length);
    default:
        return -1;
    }
}

int descriptors_control(const struct usb_descriptors *d, const uint8_t setup[SETUP_BYTES], uint8_t *data,
                        size_t room)
{
    static const uint8_t zero[2] = {0}, configuration[1] = {1};
    switch (setup[0] << 8 | setup[1]) { // direction and recipient, request
    case 0x8006:
        return give_descriptor(d, setup[3], setup[2], data, room);
    case 0x8106:
        return give_hid(d, setup, data, room);
    case 0x8000: // GET_STATUS of device, interface, endpoint
    case 0x8100:
    case 0x8200:
        return answer(data, room, zero, 2);
    case 0x8008: // GET_CONFIGURATION
        return answer(data, room, configuration, 1);
    case 0x810A: // GET_INTERFACE
        return answer(data, room, zero, 1);
    case 0x0009: // SET_CONFIGURATION
        return setup[2] == 1 ? 0 : -1;
    case 0x010B: // SET_INTERFACE
        return setup[2] ? -1 : 0;
    case 0x0201: // CLEAR_FEATURE of an endpoint
    case 0x210A: // HID SET_IDLE
        return 0;
    default:
        return -1;
    }
}

unsigned descriptors_pipe_of_endpoint(const struct usb_descriptors *d, uint8_t endpoint)
{
    if (d->traces && endpoint == ENDPOINT_TRACE)
        return PIPE_V2;
    for (unsigned pipe = 0; pipe < PIPES; pipe++)
        if (d->interface[pipe] >= 0 && (endpoint & ~IN) == endpoint_number(pipe))
            return pipe;
    return PIPES;
}

unsigned descriptors_pipe_of_interface(const struct usb_descriptors *d, unsigned interface)
{
    for (unsigned pipe = 0; pipe < PIPES; pipe++)
        if (d->interface[pipe] >= 0 && (unsigned)d->interface[pipe] == interface)
            return pipe;
    return PIPES;
}
