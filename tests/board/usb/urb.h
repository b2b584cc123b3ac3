// Request blocks of one open usbfs file: submitted, discarded, reaped.
#ifndef BOARD_USB_URB_H
#define BOARD_USB_URB_H

#include "usb/node.h"

struct urb;

struct usbfs_file {
    struct usbfs_file *next;
    struct usbfs *node;
    uint64_t id, generation;
    unsigned claimed; // pipes, by bit
    struct urb *pending, *done, **last_done;
    unsigned urbs;
    struct waiter waiter;
};

// Claims an interface for the file: 0 or an error number
int usbfs_claim(struct usbfs_file *, unsigned pipe);

void urb_submit(struct usbfs_file *, fuse_req_t, void *argument);
void urb_discard(struct usbfs_file *, fuse_req_t, const void *argument);
void urb_reap(struct usbfs_file *, fuse_req_t, void *argument);
// Ends those on this pipe as if they had been discarded; PIPES: all
void urb_end(struct usbfs_file *, unsigned pipe);
void urb_free_done(struct usbfs_file *);

#endif
