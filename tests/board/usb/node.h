// The common part of the two nodes, usbfs and hidraw, and their FUSE session.
#ifndef BOARD_USB_NODE_H
#define BOARD_USB_NODE_H

#define FUSE_USE_VERSION 35
#include <fuse3/fuse_lowlevel.h>

#include "usb/device.h"

// Who polls a file and wants a notice
struct waiter {
    struct fuse_pollhandle *handle;
};
void waiter_wait(struct waiter *, struct fuse_pollhandle *handle); // NULL: nothing to wait for
void waiter_wake(struct waiter *);
void waiter_forget(struct waiter *);

// A piece of our memory and one of the caller's
struct piece {
    void *ours, *theirs;
    size_t size;
};
// FUSE passes what the number of an ioctl says, and usbfs numbers say it wrong: pointers in them, directions
// swapped. So arguments are fetched and stored where the caller has them. false: it does not have that
// memory.
bool caller_read(fuse_req_t, void *ours, const void *theirs, size_t size);
bool caller_write(fuse_req_t, const struct piece *pieces, size_t count);

// FUSE hands a number back with each request on a file; the node finds the file by it
struct usbfs {
    struct usb_device *device;
    struct usbfs_file *files;
    uint64_t last_id;
};
void usbfs_open(struct usbfs *, fuse_req_t, struct fuse_file_info *);
void usbfs_release(struct usbfs *, fuse_req_t, const struct fuse_file_info *);
void usbfs_read(struct usbfs *, fuse_req_t, size_t size, off_t offset, const struct fuse_file_info *);
void usbfs_poll(struct usbfs *, fuse_req_t, const struct fuse_file_info *, struct fuse_pollhandle *);
void usbfs_ioctl(struct usbfs *, fuse_req_t, unsigned command, void *argument, const struct fuse_file_info *);
void usbfs_changed(struct usbfs *);
void usbfs_close(struct usbfs *);
unsigned usbfs_count(const struct usbfs *);

struct hidraw {
    struct usb_device *device;
    struct hidraw_file *files;
    uint64_t last_id;
    struct usb_transfer poll; // the kernel's own, for the next report from the probe
    bool polling;
    uint8_t report[USB_PACKET_MAX];
};
void hidraw_open(struct hidraw *, fuse_req_t, struct fuse_file_info *);
void hidraw_release(struct hidraw *, fuse_req_t, const struct fuse_file_info *);
void hidraw_read(struct hidraw *, fuse_req_t, size_t size, const struct fuse_file_info *);
void hidraw_write(struct hidraw *, fuse_req_t, const char *bytes, size_t size, const struct fuse_file_info *);
void hidraw_poll(struct hidraw *, fuse_req_t, const struct fuse_file_info *, struct fuse_pollhandle *);
void hidraw_ioctl(const struct hidraw *, fuse_req_t, unsigned command, size_t room,
                  const struct fuse_file_info *);
void hidraw_changed(struct hidraw *);
void hidraw_close(struct hidraw *);
unsigned hidraw_count(const struct hidraw *);

#endif
