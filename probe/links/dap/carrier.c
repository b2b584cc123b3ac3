/* SPDX-License-Identifier: MIT */
#include "links/dap/carrier.h"

#include "base/file.h"
#include "base/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <hidapi.h>
#include <libusb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char no_permission[] =
    "no permission: install contrib/udev/60-pmu-probe.rules and replug the probe; for ssh and CI also sudo "
    "adduser USER plugdev";

static const char unplugged[] = "it was unplugged", stuffed[] = "it takes no more packets";

static bool lost(const struct carrier *carrier, const char *what, struct error *error)
{
    return error_set(error, ERROR_LINK_LOST, "%s: %s", carrier->name, what);
}

static bool carrier_too_long(const struct carrier *carrier, size_t length, struct error *error)
{
    return error_set(error, ERROR_LINK_PROTOCOL, "%s: a reply of %zu bytes is too long", carrier->name,
                     length);
}

/* ---- descriptors */

enum {
    CLASS_NONE = 0,
    CLASS_VENDOR = 0xFF,
    ENDPOINT_IN = 0x80,
    KIND = 3,
    KIND_BULK = 2,
    PACKET_BYTES = 0x7FF
};

static bool is_bulk(const struct endpoint_descriptor *endpoint, bool in)
{
    return (endpoint->attributes & KIND) == KIND_BULK && ((endpoint->address & ENDPOINT_IN) != 0) == in;
}

bool descriptors_read_interface(const struct interface_descriptor *from, struct interface_place *out)
{
    const struct endpoint_descriptor *first = &from->endpoints[0], *second = &from->endpoints[1];
    size_t in = second->packet & PACKET_BYTES,
           out_packet = first->packet & PACKET_BYTES; /* the bits above are for high bandwidth */
    if ((from->class != CLASS_VENDOR && from->class != CLASS_NONE) || from->n_endpoints < 2 ||
        !is_bulk(first, false) || !is_bulk(second, true) || in == 0 || out_packet == 0)
        return false;
    *out = (struct interface_place){.interface = from->number,
                                    .name = from->name,
                                    .out = first->address,
                                    .in = second->address,
                                    .in_packet = in,
                                    .packet = in < out_packet ? in : out_packet};
    if (from->n_endpoints > 2 && is_bulk(&from->endpoints[2], true))
        out->trace = from->endpoints[2].address;
    return true;
}

size_t descriptors_reply_room(size_t in_packet, size_t packet_size)
{
    size_t most = DESCRIPTORS_REPLY / in_packet;
    size_t room = packet_size > CARRIER_SMALLEST ? packet_size : CARRIER_SMALLEST;
    size_t packets = (room + in_packet - 1) / in_packet;
    return (packets < most ? packets : most) * in_packet;
}

static bool carrier_is_printable(uint32_t letter)
{
    return letter >= 0x20 && letter < 0x7F;
}

size_t descriptors_text(const uint8_t *text, size_t n, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < n && used + 1 < size; i++)
        if (carrier_is_printable(text[i]))
            out[used++] = (char)text[i];
    out[used] = '\0';
    return used;
}

size_t descriptors_wide_text(const wchar_t *text, char *out, size_t size)
{
    size_t used = 0;
    for (; text != NULL && *text != 0 && used + 1 < size; text++)
        if (carrier_is_printable((uint32_t)*text))
            out[used++] = (char)*text;
    out[used] = '\0';
    return used;
}

bool descriptors_name_probe(const char *name)
{
    return strstr(name, "CMSIS-DAP") != NULL || strstr(name, "CMSIS_DAP") != NULL;
}

size_t descriptors_report_size(const uint8_t *descriptor, size_t n)
{
    enum { TAG = 0xFC, REPORT_SIZE = 0x74, REPORT_COUNT = 0x94, OUTPUT = 0x90, LONG_ITEM = 0xFE };
    uint64_t bits = 0, count = 0, total = 0;
    for (size_t at = 0; at < n;) {
        uint8_t item = descriptor[at];
        size_t length = item & 3;
        length = length == 3 ? 4 : length;
        if (item == LONG_ITEM) {
            if (at + 2 >= n)
                return 0;
            at += 3 + (size_t)descriptor[at + 1];
            continue;
        }
        if (at + 1 + length > n)
            return 0;
        uint64_t value = 0;
        for (size_t i = length; i-- > 0;)
            value = value << 8 | descriptor[at + 1 + i];
        if ((item & TAG) == REPORT_SIZE)
            bits = value;
        else if ((item & TAG) == REPORT_COUNT)
            count = value;
        else if ((item & TAG) == OUTPUT && bits <= UINT16_MAX && count <= UINT16_MAX)
            total += bits * count;
        at += 1 + length;
    }
    return total / 8 <= CARRIER_ROOM ? (size_t)(total / 8) : 0;
}

/* ---- CMSIS-DAP v2: bulk endpoints */

enum { IN_FLIGHT = 8, CLOSE_MS = 1000, STRING_ROOM = 128, DEPTH = 7 };
/* Of trace: the probe sends blocks of 512 bytes, or less after a while, and each one ends a transfer. */
enum { STREAMS = 8, STREAM_BLOCK = 512, STREAM_WAIT_MS = 20 };

/* One packet in flight and its reply. */
struct exchange {
    struct libusb_transfer *out, *in;
    uint8_t request[CARRIER_ROOM], reply[DESCRIPTORS_REPLY];
    int out_busy, in_busy; /* cleared by libusb in our own thread */
};

struct stream {
    struct libusb_transfer *in;
    uint8_t bytes[STREAM_BLOCK];
    int busy;
};

struct usb {
    struct carrier carrier; /* first */
    libusb_context *context;
    libusb_device_handle *handle;
    struct interface_place place;
    bool claimed;
    struct exchange exchanges[IN_FLIGHT];
    unsigned sent, received; /* those between are in flight */
    struct stream streams[STREAMS];
    unsigned streamed;  /* blocks that were taken whole */
    size_t stream_done; /* of the next one */
    bool streams_on;
};

static bool read_interface(const struct libusb_interface_descriptor *from, struct interface_place *out)
{
    struct interface_descriptor plain = {.number = from->bInterfaceNumber,
                                         .class = from->bInterfaceClass,
                                         .name = from->iInterface,
                                         .n_endpoints = from->bNumEndpoints};
    for (size_t i = 0; i < plain.n_endpoints && i < DESCRIPTORS_ENDPOINTS; i++)
        plain.endpoints[i] = (struct endpoint_descriptor){.address = from->endpoint[i].bEndpointAddress,
                                                          .attributes = from->endpoint[i].bmAttributes,
                                                          .packet = from->endpoint[i].wMaxPacketSize};
    return descriptors_read_interface(&plain, out);
}

/* Lists the interfaces of the right form; *has_hid: one for HID reports exists too. */
static size_t find_interfaces(libusb_device *device, struct interface_place *out, size_t room, bool *has_hid)
{
    struct libusb_config_descriptor *config;
    size_t n = 0;
    *has_hid = false;
    if (libusb_get_active_config_descriptor(device, &config) != 0 &&
        libusb_get_config_descriptor(device, 0, &config) != 0)
        return 0;
    for (int i = 0; i < config->bNumInterfaces && n < room; i++) {
        if (config->interface[i].num_altsetting <= 0)
            continue;
        const struct libusb_interface_descriptor *one = &config->interface[i].altsetting[0];
        *has_hid = *has_hid || one->bInterfaceClass == LIBUSB_CLASS_HID;
        n += read_interface(one, &out[n]);
    }
    libusb_free_config_descriptor(config);
    return n;
}

static void read_string(libusb_device_handle *handle, int index, char *out, size_t size)
{
    unsigned char text[STRING_ROOM];
    int n = index == 0 ? 0 : libusb_get_string_descriptor_ascii(handle, (uint8_t)index, text, sizeof text);
    (void)descriptors_text(text, n > 0 ? (size_t)n : 0, out, size);
}

/* Picks the interface that is named as CMSIS-DAP. If only the device is, picks the first interface, unless
 * there is one for HID reports: then the bulk interface may serve something else. */
static bool choose_interface(libusb_device *device, libusb_device_handle *handle,
                             const struct dap_found *found, struct interface_place *out)
{
    struct interface_place places[8];
    bool has_hid;
    size_t n = find_interfaces(device, places, sizeof places / sizeof *places, &has_hid);
    for (size_t i = 0; i < n; i++) {
        char name[STRING_ROOM];
        read_string(handle, places[i].name, name, sizeof name);
        *out = places[i];
        if (descriptors_name_probe(name))
            return true;
    }
    if (n == 0 || has_hid || !usb_choice_is_probe(found))
        return false;
    *out = places[0];
    return true;
}

static void carrier_read_port(libusb_device *device, char out[USB_PORT_ROOM])
{
    uint8_t ports[DEPTH];
    int n = libusb_get_port_numbers(device, ports, DEPTH);
    size_t used = (size_t)snprintf(out, USB_PORT_ROOM, "%u", libusb_get_bus_number(device));
    for (int i = 0; i < n; i++)
        used += (size_t)snprintf(out + used, USB_PORT_ROOM - used, "%c%u", i == 0 ? '-' : '.', ports[i]);
    if (n <= 0) /* a root hub, or deeper than there may be */
        out[0] = '\0';
}

/* Reads what the kernel keeps about a device, because we may not be allowed to open it. */
static void read_attribute(libusb_device *device, const char *attribute, char *out, size_t size)
{
    char port[USB_PORT_ROOM], path[160];
    out[0] = '\0';
    carrier_read_port(device, port);
    snprintf(path, sizeof path, "/sys/bus/usb/devices/%s/%s", port, attribute);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    uint8_t text[STRING_ROOM];
    (void)descriptors_text(text, fread(text, 1, sizeof text, file), out, size);
    fclose(file);
}

static void carrier_name_place(libusb_device *device, char *out, size_t size)
{
    snprintf(out, size, "%u/%u", libusb_get_bus_number(device), libusb_get_device_address(device));
}

/* False: not a probe. */
static bool look_at(libusb_device *device, const struct libusb_device_descriptor *descriptor,
                    const struct probe_spec *spec, struct dap_found *out)
{
    libusb_device_handle *handle;
    struct interface_place place;
    *out = (struct dap_found){.kind = DAP_USB,
                              .vendor = descriptor->idVendor,
                              .product = descriptor->idProduct,
                              .release = descriptor->bcdDevice,
                              .by_hand = probe_spec_names(spec, descriptor->idVendor, descriptor->idProduct)};
    carrier_name_place(device, out->place, sizeof out->place);
    carrier_read_port(device, out->usb);
    int failure = libusb_open(device, &handle);
    if (failure == 0) {
        read_string(handle, descriptor->iSerialNumber, out->serial, sizeof out->serial);
        read_string(handle, descriptor->iProduct, out->name, sizeof out->name);
        bool ours = choose_interface(device, handle, out, &place);
        libusb_close(handle);
        return ours;
    }
    read_attribute(device, "product", out->name, sizeof out->name);
    read_attribute(device, "serial", out->serial, sizeof out->serial);
    snprintf(out->problem, sizeof out->problem, "%s",
             failure == LIBUSB_ERROR_ACCESS ? no_permission : libusb_strerror(failure));
    return usb_choice_is_probe(out);
}

/* What to do with each device that is plugged in. */
struct visit {
    void (*device)(struct visit *, libusb_device *, const struct libusb_device_descriptor *);
    const struct probe_spec *spec;
    struct dap_found *probes;
    struct adapter_found *adapters;
    size_t n, room;
};

static size_t visit_all(struct visit *visit)
{
    libusb_context *context;
    libusb_device **devices;
    if (libusb_init(&context) != 0)
        return 0;
    ssize_t count = libusb_get_device_list(context, &devices);
    for (ssize_t i = 0; i < count && visit->n < visit->room; i++) {
        struct libusb_device_descriptor descriptor;
        if (libusb_get_device_descriptor(devices[i], &descriptor) == 0)
            visit->device(visit, devices[i], &descriptor);
    }
    if (count >= 0)
        libusb_free_device_list(devices, 1);
    libusb_exit(context);
    return visit->n;
}

static void visit_probe(struct visit *visit, libusb_device *device,
                        const struct libusb_device_descriptor *descriptor)
{
    struct interface_place place;
    bool has_hid;
    if (find_interfaces(device, &place, 1, &has_hid) > 0)
        visit->n += look_at(device, descriptor, visit->spec, &visit->probes[visit->n]);
}

static void visit_adapter(struct visit *visit, libusb_device *device,
                          const struct libusb_device_descriptor *descriptor)
{
    struct adapter_found *found = &visit->adapters[visit->n];
    *found = (struct adapter_found){.adapter = adapter_find(descriptor->idVendor, descriptor->idProduct),
                                    .vendor = descriptor->idVendor,
                                    .product = descriptor->idProduct};
    if (found->adapter == NULL)
        return;
    read_attribute(device, "product", found->name, sizeof found->name);
    read_attribute(device, "serial", found->serial, sizeof found->serial);
    carrier_read_port(device, found->usb);
    visit->n++;
}

size_t usb_list(const struct probe_spec *spec, struct dap_found *out, size_t room)
{
    return visit_all(&(struct visit){.device = visit_probe, .spec = spec, .probes = out, .room = room});
}

size_t usb_list_adapters(struct adapter_found *out, size_t room)
{
    return visit_all(&(struct visit){.device = visit_adapter, .adapters = out, .room = room});
}

static void LIBUSB_CALL finished(struct libusb_transfer *transfer)
{
    *(int *)transfer->user_data = 0;
}

/* Lets libusb work until *busy is cleared; false if the deadline passes first. */
static bool carrier_work(struct usb *usb, const int *busy, const struct deadline *deadline)
{
    while (*busy) {
        int ms = deadline_poll_ms(deadline);
        if (ms == 0)
            return false;
        struct timeval slice = {.tv_usec = ms * 1000L};
        (void)libusb_handle_events_timeout(usb->context, &slice);
    }
    return true;
}

static const char *words_for(int status)
{
    switch (status) {
    case LIBUSB_TRANSFER_NO_DEVICE:
        return unplugged;
    case LIBUSB_TRANSFER_STALL:
        return "it refuses the packet";
    case LIBUSB_TRANSFER_OVERFLOW:
        return "a reply is longer than announced";
    default:
        return "the transfer failed: was it unplugged?";
    }
}

/* 0, or libusb's error. */
static int ask_for_reply(struct usb *usb, struct exchange *exchange)
{
    int room = (int)descriptors_reply_room(usb->place.in_packet, usb->carrier.packet_size);
    libusb_fill_bulk_transfer(exchange->in, usb->handle, usb->place.in, exchange->reply, room, finished,
                              &exchange->in_busy, 0);
    int failure = libusb_submit_transfer(exchange->in);
    exchange->in_busy = failure == 0;
    usb->sent++;
    return failure;
}

static bool usb_send(struct carrier *carrier, const uint8_t *packet, size_t n,
                     const struct deadline *deadline, struct error *error)
{
    struct usb *usb = (struct usb *)carrier;
    struct exchange *exchange = &usb->exchanges[usb->sent % IN_FLIGHT];
    if (n > CARRIER_ROOM || usb->sent - usb->received >= IN_FLIGHT)
        return error_set(error, ERROR_SYSTEM, "too many packets in flight");
    if (!carrier_work(usb, &exchange->out_busy, deadline))
        return lost(&usb->carrier, stuffed, error);
    memcpy(exchange->request, packet, n);
    libusb_fill_bulk_transfer(exchange->out, usb->handle, usb->place.out, exchange->request, (int)n, finished,
                              &exchange->out_busy, 0);
    int failure = ask_for_reply(usb, exchange);
    if (failure == 0) {
        failure = libusb_submit_transfer(exchange->out);
        exchange->out_busy = failure == 0;
    }
    if (failure == 0)
        return true;
    return lost(&usb->carrier, failure == LIBUSB_ERROR_NO_DEVICE ? unplugged : libusb_strerror(failure),
                error);
}

static bool usb_receive(struct carrier *carrier, uint8_t *packet, size_t room, size_t *n,
                        const struct deadline *deadline, struct error *error)
{
    struct usb *usb = (struct usb *)carrier;
    struct exchange *exchange = &usb->exchanges[usb->received % IN_FLIGHT];
    /* Without a packet: a reply that an earlier program left unread */
    int failure = usb->received == usb->sent ? ask_for_reply(usb, exchange) : 0;
    if (failure != 0)
        return lost(&usb->carrier, libusb_strerror(failure), error);
    if (!carrier_work(usb, &exchange->in_busy, deadline)) {
        if (!exchange->out_busy && exchange->out->status != LIBUSB_TRANSFER_COMPLETED)
            return lost(&usb->carrier, words_for(exchange->out->status), error);
        return lost(&usb->carrier, "no answer", error);
    }
    usb->received++;
    if (exchange->in->status != LIBUSB_TRANSFER_COMPLETED)
        return lost(&usb->carrier, words_for(exchange->in->status), error);
    size_t length = exchange->in->actual_length > 0 ? (size_t)exchange->in->actual_length : 0;
    if (length > room)
        return carrier_too_long(&usb->carrier, length, error);
    memcpy(packet, exchange->reply, length);
    *n = length;
    return true;
}

/* ---- trace on the third endpoint */

static bool stream_ask(struct usb *usb, struct stream *stream, struct error *error)
{
    libusb_fill_bulk_transfer(stream->in, usb->handle, usb->place.trace, stream->bytes, STREAM_BLOCK,
                              finished, &stream->busy, 0);
    int failure = libusb_submit_transfer(stream->in);
    stream->busy = failure == 0;
    return failure == 0 || lost(&usb->carrier, libusb_strerror(failure), error);
}

/* False: libusb still works on one of them. */
static bool streams_cancel(struct usb *usb)
{
    struct deadline deadline = deadline_in_ms(patience_ms(CLOSE_MS), NULL);
    bool quiet = true;
    for (size_t i = 0; i < STREAMS; i++)
        if (usb->streams[i].busy)
            (void)libusb_cancel_transfer(usb->streams[i].in);
    for (size_t i = 0; i < STREAMS; i++)
        quiet = carrier_work(usb, &usb->streams[i].busy, &deadline) && quiet;
    usb->streams_on = false;
    return quiet;
}

static bool usb_stream(struct carrier *carrier, bool on, struct error *error)
{
    struct usb *usb = (struct usb *)carrier;
    if (usb->streams_on && !streams_cancel(usb))
        return lost(carrier, "its trace does not end", error);
    usb->streamed = 0;
    usb->stream_done = 0;
    for (size_t i = 0; on && i < STREAMS; i++) {
        struct stream *stream = &usb->streams[i];
        if (stream->in == NULL && (stream->in = libusb_alloc_transfer(0)) == NULL)
            return error_memory(error);
        usb->streams_on = true;
        if (!stream_ask(usb, stream, error))
            return false;
    }
    return true;
}

static bool usb_stream_read(struct carrier *carrier, uint8_t *out, size_t room, size_t *n,
                            struct error *error)
{
    struct usb *usb = (struct usb *)carrier;
    struct deadline soon = deadline_in_ms(STREAM_WAIT_MS, NULL);
    *n = 0;
    if (!usb->streams_on)
        return lost(carrier, "its trace was not begun", error);
    while (*n < room) {
        struct stream *stream = &usb->streams[usb->streamed % STREAMS];
        struct deadline now = *n > 0 ? deadline_in_ms(0, NULL) : soon;
        if (!carrier_work(usb, &stream->busy, &now))
            return true;
        if (stream->in->status != LIBUSB_TRANSFER_COMPLETED)
            return lost(carrier, words_for(stream->in->status), error);
        size_t has = (size_t)stream->in->actual_length, left = has - usb->stream_done;
        size_t some = left < room - *n ? left : room - *n;
        memcpy(out + *n, stream->bytes + usb->stream_done, some);
        *n += some;
        usb->stream_done += some;
        if (usb->stream_done < has)
            return true;
        usb->stream_done = 0;
        usb->streamed++;
        if (!stream_ask(usb, stream, error))
            return false;
    }
    return true;
}

static void usb_close(struct carrier *carrier)
{
    struct usb *usb = (struct usb *)carrier;
    struct deadline deadline = deadline_in_ms(patience_ms(CLOSE_MS), NULL);
    bool quiet = streams_cancel(usb);
    for (size_t i = 0; i < IN_FLIGHT; i++) {
        struct exchange *exchange = &usb->exchanges[i];
        if (exchange->out_busy)
            (void)libusb_cancel_transfer(exchange->out);
        if (exchange->in_busy)
            (void)libusb_cancel_transfer(exchange->in);
        quiet = carrier_work(usb, &exchange->out_busy, &deadline) &&
                carrier_work(usb, &exchange->in_busy, &deadline) && quiet;
    }
    if (!quiet) /* libusb may still write into it: leak it */
        return;
    for (size_t i = 0; i < STREAMS; i++)
        libusb_free_transfer(usb->streams[i].in);
    for (size_t i = 0; i < IN_FLIGHT; i++) {
        libusb_free_transfer(usb->exchanges[i].out);
        libusb_free_transfer(usb->exchanges[i].in);
    }
    if (usb->claimed)
        (void)libusb_release_interface(usb->handle, usb->place.interface);
    if (usb->handle != NULL)
        libusb_close(usb->handle);
    if (usb->context != NULL)
        libusb_exit(usb->context);
    free(usb);
}

/* ---- open */

static int open_place(struct usb *usb, const struct dap_found *found)
{
    libusb_device **devices;
    int failure = LIBUSB_ERROR_NO_DEVICE;
    ssize_t count = libusb_get_device_list(usb->context, &devices);
    for (ssize_t i = 0; i < count; i++) {
        char name[sizeof found->place];
        carrier_name_place(devices[i], name, sizeof name);
        if (strcmp(name, found->place) != 0)
            continue;
        failure = libusb_open(devices[i], &usb->handle);
        if (failure == 0 && !choose_interface(devices[i], usb->handle, found, &usb->place))
            failure = LIBUSB_ERROR_NOT_FOUND;
    }
    if (count >= 0)
        libusb_free_device_list(devices, 1);
    return failure;
}

struct carrier *usb_connect(const struct dap_found *found, struct error *error)
{
    static const struct carrier_ops ops = {.send = usb_send, .receive = usb_receive, .close = usb_close};
    static const struct carrier_ops with_trace = {.send = usb_send,
                                                  .receive = usb_receive,
                                                  .stream = usb_stream,
                                                  .stream_read = usb_stream_read,
                                                  .close = usb_close};
    char name[96];
    struct usb *usb = calloc(1, sizeof *usb);
    bool ready = usb != NULL;
    for (size_t i = 0; ready && i < IN_FLIGHT; i++) {
        usb->exchanges[i].out = libusb_alloc_transfer(0);
        usb->exchanges[i].in = libusb_alloc_transfer(0);
        ready = usb->exchanges[i].out != NULL && usb->exchanges[i].in != NULL;
    }
    usb_choice_name(found, name, sizeof name);
    int failure = ready ? libusb_init(&usb->context) : LIBUSB_ERROR_NO_MEM;
    if (failure == 0)
        failure = open_place(usb, found);
    if (failure == 0) {
        (void)libusb_set_auto_detach_kernel_driver(usb->handle, 1);
        failure = libusb_claim_interface(usb->handle, usb->place.interface);
        usb->claimed = failure == 0;
    }
    if (failure == 0) {
        usb->carrier.ops = usb->place.trace != 0 ? &with_trace : &ops;
        usb->carrier.largest = usb->place.packet > CARRIER_SMALLEST ? usb->place.packet : CARRIER_SMALLEST;
        usb->carrier.takes_several = usb_choice_takes_several(found, &usb->carrier.loses_several);
        snprintf(usb->carrier.name, sizeof usb->carrier.name, "cmsis-dap %s", name);
        snprintf(usb->carrier.serial, sizeof usb->carrier.serial, "%s", found->serial);
        return &usb->carrier;
    }
    if (failure == LIBUSB_ERROR_ACCESS)
        error_set(error, ERROR_NO_PROBE, "%s: %s", name, no_permission);
    else if (failure == LIBUSB_ERROR_BUSY)
        error_set(error, ERROR_NO_PROBE, "%s: another program uses it", name);
    else
        error_set(error, ERROR_NO_PROBE, "%s: %s", name, libusb_strerror(failure));
    if (usb != NULL)
        usb_close(&usb->carrier);
    return NULL;
}

/* ---- CMSIS-DAP v1: HID reports */

enum { DESCRIPTOR_ROOM = 4096, REPORT = 64, VENDOR_PAGES = 0xFF00, NXP = 0x1FC9 };

struct hid {
    struct carrier carrier; /* first */
    hid_device *device;
    int lock;      /* the same node; -1: none */
    size_t report; /* bytes, without the report's number */
};

/* Of "/dev/hidraw0". */
static void name_attribute(const char *path, const char *attribute, char out[256])
{
    const char *node = strrchr(path, '/');
    snprintf(out, 256, "/sys/class/hidraw/%.160s/%s", node != NULL ? node + 1 : path, attribute);
}

/* The HID device is an entry below the USB device's in the kernel's tree. */
static void read_hid_port(const char *path, char out[USB_PORT_ROOM])
{
    char name[256];
    name_attribute(path, "device", name);
    char *real = realpath(name, NULL);
    (void)usb_port_of_path(real != NULL ? real : "", out);
    free(real);
}

/* What the kernel keeps of the interface's string, USB 2.0 9.6.5: the interface is above the HID device. */
static bool has_named_interface(const char *path)
{
    char name[256], text[STRING_ROOM] = "";
    name_attribute(path, "device/../interface", name);
    FILE *file = fopen(name, "re");
    if (file == NULL)
        return false;
    bool is = fgets(text, sizeof text, file) != NULL && descriptors_name_probe(text);
    fclose(file);
    return is;
}

static size_t read_report_size(const char *path)
{
    uint8_t descriptor[DESCRIPTOR_ROOM];
    char name[256];
    name_attribute(path, "device/report_descriptor", name);
    FILE *file = fopen(name, "re");
    if (file == NULL)
        return REPORT;
    size_t n = fread(descriptor, 1, sizeof descriptor, file);
    fclose(file);
    size_t size = descriptors_report_size(descriptor, n);
    return size >= REPORT ? size : REPORT;
}

/* NXP's probes have more interfaces, on other vendor-defined pages. */
static bool is_dap_page(const struct hid_device_info *one)
{
    if (one->vendor_id == NXP)
        return one->usage_page == VENDOR_PAGES;
    return one->usage_page == 0 || one->usage_page >= VENDOR_PAGES;
}

size_t hid_list(const struct probe_spec *spec, struct dap_found *out, size_t room)
{
    size_t n = 0;
    struct hid_device_info *all = hid_enumerate(0, 0);
    for (const struct hid_device_info *one = all; one != NULL && n < room; one = one->next) {
        struct dap_found *found = &out[n];
        *found = (struct dap_found){.kind = DAP_HID,
                                    .vendor = one->vendor_id,
                                    .product = one->product_id,
                                    .release = one->release_number};
        descriptors_wide_text(one->product_string, found->name, sizeof found->name);
        descriptors_wide_text(one->serial_number, found->serial, sizeof found->serial);
        found->by_hand = probe_spec_names(spec, found->vendor, found->product);
        found->is_named = has_named_interface(one->path);
        if (!is_dap_page(one) || !usb_choice_is_probe(found) || strlen(one->path) >= sizeof found->place)
            continue;
        snprintf(found->place, sizeof found->place, "%s", one->path);
        read_hid_port(one->path, found->usb);
        if (access(one->path, R_OK | W_OK) != 0)
            snprintf(found->problem, sizeof found->problem, "%s",
                     errno == EACCES ? no_permission : strerror(errno));
        n++;
    }
    hid_free_enumeration(all);
    (void)hid_exit();
    return usb_choice_drop_bridges(out, n);
}

static bool hid_send(struct carrier *carrier, const uint8_t *packet, size_t n,
                     const struct deadline *deadline, struct error *error)
{
    struct hid *hid = (struct hid *)carrier;
    uint8_t report[1 + CARRIER_ROOM] = {0}; /* report number 0: reports are not numbered */
    (void)deadline;
    if (n > hid->report)
        return error_set(error, ERROR_SYSTEM, "a packet grew too long");
    memcpy(report + 1, packet, n);
    int put;
    do { /* a signal may interrupt it */
        errno = 0;
        put = hid_write(hid->device, report, 1 + hid->report);
    } while (put < 0 && errno == EINTR);
    return put >= 0 || lost(&hid->carrier, unplugged, error);
}

static bool hid_receive(struct carrier *carrier, uint8_t *packet, size_t room, size_t *n,
                        const struct deadline *deadline, struct error *error)
{
    struct hid *hid = (struct hid *)carrier;
    for (;;) {
        errno = 0;
        int got = hid_read_timeout(hid->device, packet, room, deadline_poll_ms(deadline));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return lost(&hid->carrier, unplugged, error);
        if (got > 0) {
            *n = (size_t)got;
            return true;
        }
        if (deadline_passed(deadline))
            return lost(&hid->carrier, "no answer", error);
    }
}

static void hid_end(struct carrier *carrier)
{
    struct hid *hid = (struct hid *)carrier;
    hid_close(hid->device);
    (void)hid_exit();
    if (hid->lock >= 0)
        close(hid->lock);
    free(hid);
}

/* hidraw(4) gives each report to everyone who has the node open, other users and containers too: their
 * replies would be mixed. */
static bool hid_is_free(int lock, const char *name, struct error *error)
{
    return lock < 0 || file_take(lock) ||
           error_advise(error, ERROR_IN_USE, "", "%s is in use by another pmu-probe, perhaps another user's",
                        name);
}

struct carrier *hid_connect(const struct dap_found *found, struct error *error)
{
    static const struct carrier_ops ops = {.send = hid_send, .receive = hid_receive, .close = hid_end};
    char name[96];
    usb_choice_name(found, name, sizeof name);
    if (found->problem[0] != '\0')
        return error_null(error, ERROR_NO_PROBE, "%s: %s", name, found->problem);
    struct hid *hid = calloc(1, sizeof *hid);
    if (hid == NULL)
        return error_memory_null(error);
    hid->lock = open(found->place, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    hid->device = hid_is_free(hid->lock, name, error) ? hid_open_path(found->place) : NULL;
    if (hid->device == NULL) {
        error_set(error, ERROR_NO_PROBE, "%s cannot be opened: does another program use it?", name);
        if (hid->lock >= 0)
            close(hid->lock);
        free(hid);
        return NULL;
    }
    hid->report = read_report_size(found->place);
    hid->carrier.ops = &ops;
    hid->carrier.takes_several = usb_choice_takes_several(found, &hid->carrier.loses_several);
    hid->carrier.largest = hid->report;
    hid->carrier.padded = true;
    snprintf(hid->carrier.name, sizeof hid->carrier.name, "cmsis-dap %s", name);
    snprintf(hid->carrier.serial, sizeof hid->carrier.serial, "%s", found->serial);
    return &hid->carrier;
}

/* ---- CMSIS-DAP over TCP */

enum { TCP_HEADER = 8, TCP_REQUEST = 1, TCP_RESPONSE = 2 };

struct tcp {
    struct carrier carrier; /* first */
    int fd;
    unsigned owed; /* replies still due */
};

/* `failure` is 0 if all bytes went through. */
static bool went_through(const struct tcp *tcp, int failure, const char *late, struct error *error)
{
    return failure == 0 || lost(&tcp->carrier, socket_failure(failure, late), error);
}

static bool tcp_receive_all(const struct tcp *tcp, uint8_t *bytes, size_t n, const struct deadline *deadline,
                            struct error *error)
{
    return went_through(tcp, socket_receive(tcp->fd, bytes, n, deadline), "no answer", error);
}

/* A reply that arrived twice is of the same form as the next one, and would be taken for it. */
static bool tcp_is_in_step(const struct tcp *tcp)
{
    uint8_t more;
    return !tcp->carrier.in_step || tcp->owed > 0 || recv(tcp->fd, &more, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

static bool tcp_send(struct carrier *carrier, const uint8_t *packet, size_t n,
                     const struct deadline *deadline, struct error *error)
{
    uint8_t bytes[TCP_HEADER + CARRIER_ROOM] = {'D',         'A', 'P', 0, (uint8_t)n, (uint8_t)(n >> 8),
                                                TCP_REQUEST, 0};
    if (n > CARRIER_ROOM)
        return error_set(error, ERROR_SYSTEM, "a packet grew too long");
    memcpy(bytes + TCP_HEADER, packet, n);
    struct tcp *tcp = (struct tcp *)carrier;
    if (!tcp_is_in_step(tcp))
        return error_set(error, ERROR_LINK_PROTOCOL, "%s answers what it was not asked", carrier->name);
    tcp->owed++;
    return went_through(tcp, socket_send(tcp->fd, bytes, TCP_HEADER + n, deadline), stuffed, error);
}

static bool tcp_receive(struct carrier *carrier, uint8_t *packet, size_t room, size_t *n,
                        const struct deadline *deadline, struct error *error)
{
    static const uint8_t signature[4] = {'D', 'A', 'P', 0};
    struct tcp *tcp = (struct tcp *)carrier;
    uint8_t header[TCP_HEADER] = {0};
    if (!tcp_receive_all(tcp, header, TCP_HEADER, deadline, error)) {
        carrier->has_begun = header[0] != 0;
        return false;
    }
    size_t length = header[4] | (size_t)header[5] << 8;
    if (memcmp(header, signature, sizeof signature) != 0 || header[6] != TCP_RESPONSE)
        return error_set(error, ERROR_LINK_PROTOCOL, "%s does not speak CMSIS-DAP over TCP",
                         tcp->carrier.name);
    if (length > room)
        return carrier_too_long(&tcp->carrier, length, error);
    *n = length;
    tcp->owed -= tcp->owed > 0;
    return tcp_receive_all(tcp, packet, length, deadline, error);
}

static void tcp_close(struct carrier *carrier)
{
    struct tcp *tcp = (struct tcp *)carrier;
    if (tcp->fd >= 0)
        close(tcp->fd);
    free(tcp);
}

struct carrier *tcp_connect(const char *host, uint16_t port, const struct deadline *deadline,
                            struct error *error)
{
    static const struct carrier_ops ops = {.send = tcp_send, .receive = tcp_receive, .close = tcp_close};
    int fd = socket_connect(host, port, deadline, error);
    struct tcp *tcp = fd >= 0 ? calloc(1, sizeof *tcp) : NULL;
    if (tcp == NULL) {
        if (fd >= 0)
            close(fd);
        return error_memory_null(error);
    }
    tcp->fd = fd;
    tcp->carrier.ops = &ops;
    tcp->carrier.takes_several = true; /* each starts with its length: firmware cannot merge two */
    snprintf(tcp->carrier.name, sizeof tcp->carrier.name, "cmsis-dap-tcp %.128s:%u", host, (unsigned)port);
    return &tcp->carrier;
}
