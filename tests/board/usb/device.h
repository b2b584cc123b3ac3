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
    uint64_t arrived_ns;                 // 0: not before the probe has a buffer for it
    int status;                          // 0, or an error number
    bool crowded;                        // another was unanswered when it arrived
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

// A report by a control transfer, still to be executed
struct usb_report {
    uint64_t arrived_ns;
    size_t length;
    uint8_t bytes[USB_PACKET_MAX];
};

struct usb_pipe {
    struct usb_queue out, in;
    struct usb_reply replies[USB_PACKETS_MAX]; // a ring
    unsigned first, held;
    // What has arrived of a request that full packets have not ended
    uint8_t begun[USB_PACKET_MAX];
    size_t begun_length;
};

struct usb_device {
    struct usb_function function;
    struct usb_descriptors descriptors;
    struct usb_pipe pipes[PIPES];
    struct usb_queue trace; // transfers on ENDPOINT_TRACE
    struct usb_report reports[USB_PACKETS_MAX];
    unsigned report_count;
    bool plugged;
    bool hid_driver; // the kernel's driver is bound to the HID interface, so that there is a hidraw node
    // A file that was opened in another generation is dead
    uint64_t generation, hid_generation;
    bool limited;
    uint64_t left; // transfers until it is unplugged, if limited
    struct usb_counts counts;
    int timer;                   // goes off when device_move() has something to do
    unsigned executing;          // a packet of this pipe; PIPES: none
    uint64_t done_ns;            // when the last one was
    uint64_t resets;             // replies to requests from before a reset are dropped
    void (*changed)(void *self); // plugged in or out, or the kernel's driver bound or unbound
    bool (*look)(void *self);    // as in struct usb_meanwhile
    void *self;
};

bool device_open(struct usb_device *, const struct usb_function *);
void device_close(struct usb_device *);
// OUT by the endpoint's top bit being clear. Nothing is done with it before device_move(), but to refuse it.
void device_submit(struct usb_device *, struct usb_transfer *);
// It is done with `status`, unless it already was
void device_cancel(struct usb_device *, struct usb_transfer *, int status);
// As descriptors_control(), and reports to the HID interface by this way
int device_control(struct usb_device *, const uint8_t setup[SETUP_BYTES], uint8_t *data, size_t room);
// Executes a packet of what the host has sent, if there is one (true), and delivers what is due. To be called
// again when the timer goes off.
bool device_move(struct usb_device *);
// Delivers what is due, while a packet is being executed
void device_deliver(struct usb_device *);
void device_plug(struct usb_device *, bool plugged);
void device_bind_hid(struct usb_device *, bool bound);
// Forgets the replies that wait
void device_reset(struct usb_device *);

#endif
