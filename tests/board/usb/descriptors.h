// The probe's descriptors, for the sysfs tree and for control requests.
#ifndef BOARD_USB_DESCRIPTORS_H
#define BOARD_USB_DESCRIPTORS_H

#include "usb/usb.h"

#define USB_MANUFACTURER "pmu-probe"
#define USB_PHYSICAL     "usb-virtual-1/input0"

enum { PIPE_V1, PIPE_V2, PIPES }; // a pipe is an interface's pair of endpoints
enum { ENDPOINT_TRACE = 0x83 };   // IN, of the bulk interface
enum { USB_STRINGS = 6, SETUP_BYTES = 8 };

struct usb_descriptors {
    bool high_speed;
    uint8_t bulk_class;
    bool traces;              // ENDPOINT_TRACE is there
    int interface[PIPES];     // its number, -1 if there is none
    size_t max_packet[PIPES]; // of its endpoints
    uint8_t device[18];
    uint8_t config[96];
    size_t config_length;
    uint8_t report[48]; // the HID report descriptor
    size_t report_length;
    const char *strings[USB_STRINGS]; // by index; 0 is the list of languages
};

void descriptors_make(struct usb_descriptors *, const struct usb_function *);
// A standard or HID request from the host that needs no more than the descriptors: how many bytes of `data`
// it answered, or -1 for a stall
int descriptors_control(const struct usb_descriptors *, const uint8_t setup[SETUP_BYTES], uint8_t *data,
                        size_t room);
// PIPES if the device lacks that endpoint or interface
unsigned descriptors_pipe_of_endpoint(const struct usb_descriptors *, uint8_t endpoint);
unsigned descriptors_pipe_of_interface(const struct usb_descriptors *, unsigned interface);

#endif
