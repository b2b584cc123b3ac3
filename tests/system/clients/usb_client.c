// The client on libusb: finds the CMSIS-DAP v2 interface by its name, as probes are found. See client.h.
#include <libusb-1.0/libusb.h>
#include <string.h>

#include "client.h"

struct usb {
    libusb_context *context;
    libusb_device_handle *handle;
    int interface;
    uint8_t out, in, trace; // trace 0: there is none
};

static void close_usb(void *self)
{
    struct usb *u = self;
    if (u->handle) {
        libusb_release_interface(u->handle, u->interface);
        libusb_close(u->handle);
    }
    if (u->context)
        libusb_exit(u->context);
    *u = (struct usb){0};
}

// Whether this is it; then its endpoints are known
static bool take_interface(struct usb *u, const struct libusb_interface_descriptor *d, size_t *packet_size)
{
    unsigned char name[128] = "";
    if (d->bInterfaceClass != LIBUSB_CLASS_VENDOR_SPEC || d->bNumEndpoints < 2 ||
        libusb_get_string_descriptor_ascii(u->handle, d->iInterface, name, sizeof name) < 0 ||
        !strstr((char *)name, "CMSIS-DAP"))
        return false;
    u->interface = d->bInterfaceNumber;
    u->out = d->endpoint[0].bEndpointAddress;
    u->in = d->endpoint[1].bEndpointAddress;
    u->trace = d->bNumEndpoints > 2 ? d->endpoint[2].bEndpointAddress : 0;
    *packet_size = d->endpoint[0].wMaxPacketSize;
    return true;
}

static bool search(struct usb *u, libusb_device *device, char *serial, size_t room, size_t *packet_size)
{
    struct libusb_device_descriptor d;
    struct libusb_config_descriptor *config;
    bool found = false;
    if (libusb_get_device_descriptor(device, &d) || libusb_open(device, &u->handle))
        return false;
    libusb_get_string_descriptor_ascii(u->handle, d.iSerialNumber, (unsigned char *)serial, (int)room);
    if (!libusb_get_active_config_descriptor(device, &config)) {
        for (int i = 0; i < config->bNumInterfaces && !found; i++)
            found = take_interface(u, config->interface[i].altsetting, packet_size);
        libusb_free_config_descriptor(config);
    }
    if (!found) {
        libusb_close(u->handle);
        u->handle = NULL;
    }
    return found;
}

static const char *open_usb(void *self, char *serial, size_t room, size_t *packet_size)
{
    struct usb *u = self;
    libusb_device **list;
    int code = libusb_init(&u->context);
    if (code)
        return libusb_error_name(code);
    ssize_t count = libusb_get_device_list(u->context, &list);
    bool found = false;
    for (ssize_t i = 0; i < count && !found; i++)
        found = search(u, list[i], serial, room, packet_size);
    if (count >= 0)
        libusb_free_device_list(list, 1);
    if (!found)
        return "none";
    code = libusb_claim_interface(u->handle, u->interface);
    return code ? libusb_error_name(code) : NULL;
}

static const char *transfer(struct usb *u, uint8_t endpoint, uint8_t *bytes, size_t length, int *done,
                            int timeout)
{
    int code = u->handle
                   ? libusb_bulk_transfer(u->handle, endpoint, bytes, (int)length, done, (unsigned)timeout)
                   : LIBUSB_ERROR_NO_DEVICE;
    return code ? libusb_error_name(code) : NULL;
}

static const char *out_usb(void *self, const uint8_t *bytes, size_t length, int timeout_ms)
{
    struct usb *u = self;
    uint8_t copy[CLIENT_PACKET];
    int done;
    memcpy(copy, bytes, length);
    return transfer(u, u->out, copy, length, &done, timeout_ms);
}

static const char *in_usb(void *self, uint8_t *bytes, size_t room, size_t *length, int timeout_ms)
{
    struct usb *u = self;
    int done = 0;
    const char *error = transfer(u, u->in, bytes, room, &done, timeout_ms);
    *length = (size_t)done;
    return error;
}

static const char *trace_usb(void *self, uint8_t *bytes, size_t room, size_t *length, int timeout_ms)
{
    struct usb *u = self;
    int done = 0;
    const char *error = u->trace ? transfer(u, u->trace, bytes, room, &done, timeout_ms) : "no-endpoint";
    *length = (size_t)done;
    return error;
}

int main(void)
{
    struct usb usb = {0};
    client_run(&(struct client){&usb, open_usb, close_usb, out_usb, in_usb, trace_usb});
    return 0;
}
