// A CMSIS-DAP probe on USB without USB in the kernel: under a directory it shows a sysfs tree and, through
// FUSE, the two nodes that libusb and hidapi open. A process that binds them over /sys, /dev/bus/usb/001/002
// and /dev/hidraw0 in its own mount namespace has the probe. Served from the board's own poll loop.
#ifndef BOARD_USB_USB_H
#define BOARD_USB_USB_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { USB_PACKET_MAX = 1024, USB_PACKETS_MAX = 8, USB_POLLS = 2 };

// What there is besides the packet that is being executed
struct usb_meanwhile {
    bool waited; // the packet had arrived before the one before it was done
    // Called often: serves the host. true: the packet is to end at once, as the probe is without power.
    bool (*look)(void *self);
    void *self;
};

// How the probe executes packets
struct usb_function {
    void *self;
    // One CMSIS-DAP packet in, one reply out: the reply's length, 0 for none
    size_t (*packet)(void *self, const uint8_t *request, size_t length, uint8_t *reply, size_t room,
                     const struct usb_meanwhile *);
    size_t packet_size;    // up to USB_PACKET_MAX; above 64 it is a high-speed device
    unsigned packet_count; // up to USB_PACKETS_MAX replies wait, then further requests do
    const char *serial;
    bool v1, v2; // the HID interface, the bulk interface
    uint16_t vendor, product, release;
    const char *product_name, *bulk_name; // of the device; of its bulk interface, "" for none
    uint8_t bulk_class;
    size_t bulk_packet; // of the bulk endpoints, 0: 64 at full speed, 512 at high speed
    unsigned quirks;
    // Of the bulk interface's third endpoint: what it has to send now, 0 if nothing. NULL: there is none.
    size_t (*stream)(void *self, uint8_t *bytes, size_t room);
    uint32_t latency_us; // no reply is delivered earlier than this after its request
};

struct usb_counts {
    uint64_t out, in; // on the endpoints of both interfaces
    uint64_t control;
};

struct usb_state {
    bool plugged;
    unsigned open; // files
    struct usb_counts counts;
    uint64_t generation; // how often it was plugged in
};

struct usb;

// `directory` exists and is empty; `sys` and `node` are made in it. NULL: the reason was printed to stderr.
struct usb *usb_open(const char *directory, const struct usb_function *);
void usb_close(struct usb *);
// Fills in what to wait for (returns how many), then deals with what arrived
size_t usb_polls(const struct usb *, struct pollfd *polls);
void usb_serve(struct usb *, const struct pollfd *polls, size_t count);

void usb_unplug(struct usb *);
// As a new device: files opened before stay dead
void usb_plug(struct usb *);
// After that many more transfers on the endpoints, in both directions together
void usb_unplug_after(struct usb *, uint64_t transfers);
struct usb_state usb_state(const struct usb *);

#endif
