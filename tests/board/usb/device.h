// The probe as a USB device: transfers on its endpoints, the replies that wait for the host, being plugged in
// or not. Knows nothing of files; those who have files submit transfers.
#ifndef BOARD_USB_DEVICE_H
#define BOARD_USB_DEVICE_H

#include "usb/descriptors.h"

// Belongs to who submits it, until it is done
struct usb_transfer {
    struct usb_transfer *next;
    uint8_t endpoint;
    uint8_t *data;
    size_t length, actual;
    int status;                          // 0, or an error number
    void (*done)(struct usb_transfer *); // may free it or submit it again
};

struct usb_queue {
    struct usb_transfer *first, *last;
};

struct usb_reply {
    uint64_t due_ns;
    size_t length, sent;
    uint8_t bytes[USB_PACKET_MAX];
};

struct usb_pipe {
    struct usb_queue out, in;
    struct usb_reply replies[USB_PACKETS_MAX]; // a ring
    unsigned first, held;
};

struct usb_device {
    struct usb_function function;
    struct usb_descriptors descriptors;
    struct usb_pipe pipes[PIPES];
    bool plugged;
    bool hid_driver; // the kernel's driver is bound to the HID interface, so that there is a hidraw node
    // A file that was opened in another generation is dead
    uint64_t generation, hid_generation;
    bool limited;
    uint64_t left; // transfers until it is unplugged, if limited
    struct usb_counts counts;
    int timer; // goes off when a reply is due
    bool moving;
    void (*changed)(void *self); // plugged in or out, or the kernel's driver came or went
    void *self;
};

bool device_open(struct usb_device *, const struct usb_function *);
void device_close(struct usb_device *);
// OUT by the endpoint's top bit being clear. May be done at once.
void device_submit(struct usb_device *, struct usb_transfer *);
// It is done with `status`, unless it already was
void device_cancel(struct usb_device *, struct usb_transfer *, int status);
// As descriptors_control(), and reports to the HID interface that come this way
int device_control(struct usb_device *, const uint8_t setup[SETUP_BYTES], uint8_t *data, size_t room);
// Takes what the host has sent, delivers what is due
void device_move(struct usb_device *);
void device_plug(struct usb_device *, bool plugged);
void device_bind_hid(struct usb_device *, bool bound);
// Forgets the replies that wait
void device_reset(struct usb_device *);

#endif
