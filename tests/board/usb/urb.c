// Request blocks: see the header. What arrived stays with us until it is reaped, as in the kernel: only then
// is it sure that the caller's memory is still there.
#include "usb/urb.h"

#include <errno.h>
#include <linux/usbdevice_fs.h>
#include <stdlib.h>
#include <string.h>

enum { URBS_MAX = 256, BYTES_MAX = 16384, IN = 0x80 };

struct urb {
    struct usb_transfer transfer; // first, so that one is found from the other
    struct urb *next;
    struct usbfs_file *file;
    struct usbdevfs_urb *theirs; // the caller's, and its buffer
    uint8_t *buffer;
    size_t skip; // bytes of its buffer before the data: of a control transfer, its setup packet
    bool in;
    uint8_t bytes[];
};

static void done(struct usb_transfer *t)
{
    struct urb *u = (struct urb *)t;
    struct usbfs_file *f = u->file;
    struct urb **at = &f->pending;
    while (*at != u)
        at = &(*at)->next;
    *at = u->next;
    u->next = NULL;
    *f->last_done = u;
    f->last_done = &u->next;
    waiter_wake(&f->waiter);
}

static struct urb *make(struct usbfs_file *f, fuse_req_t request, struct usbdevfs_urb *theirs,
                        const struct usbdevfs_urb *ours)
{
    size_t length = (size_t)ours->buffer_length;
    bool control = ours->type == USBDEVFS_URB_TYPE_CONTROL, in = ours->endpoint & IN;
    struct urb *u = calloc(1, sizeof *u + length);
    if (!u)
        return NULL;
    u->file = f;
    u->theirs = theirs;
    u->buffer = ours->buffer;
    u->in = in;
    u->transfer =
        (struct usb_transfer){.endpoint = ours->endpoint, .data = u->bytes, .length = length, .done = done};
    if ((control || !in) && !caller_read(request, u->bytes, ours->buffer, length)) {
        free(u);
        return NULL;
    }
    return u;
}

static int check(struct usbfs_file *f, const struct usbdevfs_urb *u)
{
    const unsigned flags = USBDEVFS_URB_SHORT_NOT_OK | USBDEVFS_URB_BULK_CONTINUATION | USBDEVFS_URB_NO_FSBR |
                           USBDEVFS_URB_ZERO_PACKET | USBDEVFS_URB_NO_INTERRUPT;
    if (u->flags & ~flags || u->buffer_length < 0 || u->buffer_length > BYTES_MAX)
        return EINVAL;
    if (f->urbs >= URBS_MAX)
        return ENOMEM;
    if (u->type == USBDEVFS_URB_TYPE_CONTROL)
        return u->buffer_length < SETUP_BYTES ? EINVAL : 0;
    if (u->type != USBDEVFS_URB_TYPE_BULK && u->type != USBDEVFS_URB_TYPE_INTERRUPT)
        return EINVAL;
    unsigned pipe = descriptors_pipe_of_endpoint(&f->node->device->descriptors, u->endpoint);
    if (pipe == PIPES)
        return ENOENT;
    return f->claimed >> pipe & 1 ? 0 : usbfs_claim(f, pipe);
}

static void add(struct urb *u)
{
    u->next = u->file->pending;
    u->file->pending = u;
    u->file->urbs++;
}

static void run_control(struct urb *u)
{
    struct usb_transfer *t = &u->transfer;
    size_t wanted = t->data[6] | (size_t)t->data[7] << 8;
    u->in = t->data[0] & IN;
    u->skip = SETUP_BYTES;
    int got = device_control(u->file->node->device, t->data, t->data + SETUP_BYTES, wanted);
    t->status = got < 0 ? EPIPE : 0;
    t->actual = got < 0 ? 0 : (size_t)got;
    done(t);
}

void urb_submit(struct usbfs_file *f, fuse_req_t request, void *argument)
{
    struct usbdevfs_urb ours = {0};
    if (!caller_read(request, &ours, argument, sizeof ours)) {
        fuse_reply_err(request, EFAULT);
        return;
    }
    int wrong = check(f, &ours);
    struct urb *u = wrong ? NULL : make(f, request, argument, &ours);
    if (!u) {
        fuse_reply_err(request, wrong ? wrong : EFAULT);
        return;
    }
    bool control = ours.type == USBDEVFS_URB_TYPE_CONTROL;
    size_t wanted = control ? u->bytes[6] | (size_t)u->bytes[7] << 8 : 0;
    if (control && wanted + SETUP_BYTES > u->transfer.length) {
        free(u);
        fuse_reply_err(request, EINVAL);
        return;
    }
    // Zero bytes out: by its number the caller's block would be overwritten
    fuse_reply_ioctl(request, 0, NULL, 0);
    add(u);
    if (control)
        run_control(u);
    else
        device_submit(f->node->device, &u->transfer);
}

void urb_discard(struct usbfs_file *f, fuse_req_t request, const void *argument)
{
    struct urb *u = f->pending;
    while (u && u->theirs != argument)
        u = u->next;
    if (!u) {
        fuse_reply_err(request, EINVAL);
        return;
    }
    fuse_reply_ioctl(request, 0, NULL, 0);
    device_cancel(f->node->device, &u->transfer, ENOENT);
}

static struct urb *next_done(struct usbfs_file *f)
{
    struct urb *u = f->done;
    if (u) {
        f->done = u->next;
        if (!f->done)
            f->last_done = &f->done;
        f->urbs--;
    }
    return u;
}

void urb_reap(struct usbfs_file *f, fuse_req_t request, void *argument)
{
    struct urb *u = next_done(f);
    if (!u) { // what was done before the device went can still be had
        fuse_reply_err(request, f->generation == f->node->device->generation && f->node->device->plugged
                                    ? EAGAIN
                                    : ENODEV);
        return;
    }
    int status = -u->transfer.status, actual = (int)u->transfer.actual;
    void *theirs = u->theirs;
    const struct piece pieces[] = {
        {&status, &u->theirs->status, sizeof status},
        {&actual, &u->theirs->actual_length, sizeof actual},
        {&theirs, argument, sizeof theirs},
        {u->bytes + u->skip, u->buffer + u->skip, u->in ? u->transfer.actual : 0},
    };
    if (caller_write(request, pieces, sizeof pieces / sizeof *pieces))
        fuse_reply_ioctl(request, 0, NULL, 0);
    else
        fuse_reply_err(request, EFAULT);
    free(u);
}

void urb_end(struct usbfs_file *f, unsigned pipe)
{
    const struct usb_descriptors *d = &f->node->device->descriptors;
    struct urb *next;
    for (struct urb *u = f->pending; u; u = next) {
        next = u->next;
        if (pipe == PIPES || descriptors_pipe_of_endpoint(d, u->transfer.endpoint) == pipe)
            device_cancel(f->node->device, &u->transfer, ENOENT);
    }
}

void urb_free_done(struct usbfs_file *f)
{
    struct urb *u;
    while ((u = next_done(f)))
        free(u);
}
