// The hidraw node, /dev/hidraw0: open files, each with the reports it has not read yet. It answers as the
// kernel's drivers/hid/hidraw.c and usbhid do.
#include <errno.h>
#include <fcntl.h>
#include <linux/hidraw.h>
#include <linux/input.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "usb/node.h"

enum {
    REPORTS = 64,
    WRITE_MAX = 16384,
    ENDPOINT_OUT = 0x01,
    ENDPOINT_IN = 0x81,
    NAME_NR = 4,
    PHYS_NR,
    UNIQ_NR = 8
};

struct hidraw_file {
    struct hidraw_file *next;
    struct hidraw *node;
    uint64_t id, generation;
    size_t first, held; // in the ring of reports
    fuse_req_t reader;  // a read that waits
    size_t wants;
    struct waiter waiter;
    uint8_t reports[REPORTS][USB_PACKET_MAX];
};

struct write {
    struct usb_transfer transfer; // first, so that one is found from the other
    struct usb_device *device;
    fuse_req_t request;
    size_t size;
    uint8_t bytes[];
};

static struct hidraw_file *find(const struct hidraw *n, const struct fuse_file_info *info)
{
    struct hidraw_file *f = n->files;
    while (f && f->id != info->fh)
        f = f->next;
    return f;
}

static bool alive(const struct hidraw_file *f)
{
    return f->node->device->hid_driver && f->generation == f->node->device->hid_generation;
}

static bool give(struct hidraw_file *f)
{
    size_t size = f->node->device->function.packet_size;
    fuse_req_t reader = f->reader;
    if (!f->held || !reader)
        return false;
    f->reader = NULL;
    fuse_reply_buf(reader, (const char *)f->reports[f->first], f->wants < size ? f->wants : size);
    f->first = (f->first + 1) % REPORTS;
    f->held--;
    return true;
}

static void polled(struct usb_transfer *);

static bool in_use(const struct hidraw *n)
{
    for (const struct hidraw_file *f = n->files; f; f = f->next)
        if (alive(f))
            return true;
    return false;
}

// While anyone has the node open the kernel asks the probe for reports all the time
static void keep_polling(struct hidraw *n)
{
    if (n->polling || !in_use(n))
        return;
    n->polling = true;
    n->poll = (struct usb_transfer){.endpoint = ENDPOINT_IN,
                                    .data = n->report,
                                    .length = n->device->function.packet_size,
                                    .done = polled};
    device_submit(n->device, &n->poll);
}

// A report goes to everyone who has the node open
static void polled(struct usb_transfer *t)
{
    struct hidraw *n = (struct hidraw *)((char *)t - offsetof(struct hidraw, poll));
    n->polling = false;
    if (t->status)
        return;
    for (struct hidraw_file *f = n->files; f; f = f->next) {
        if (!alive(f) || f->held == REPORTS) // too slow: as in the kernel the new one is lost
            continue;
        memcpy(f->reports[(f->first + f->held) % REPORTS], n->report, t->actual);
        f->held++;
        if (!give(f))
            waiter_wake(&f->waiter);
    }
    keep_polling(n);
}

void hidraw_open(struct hidraw *n, fuse_req_t request, struct fuse_file_info *info)
{
    struct hidraw_file *f = n->device->hid_driver ? calloc(1, sizeof *f) : NULL;
    if (!f) {
        fuse_reply_err(request, n->device->hid_driver ? ENOMEM : ENODEV);
        return;
    }
    f->next = n->files;
    f->node = n;
    f->id = ++n->last_id;
    f->generation = n->device->hid_generation;
    n->files = f;
    info->fh = f->id;
    info->direct_io = 1;
    fuse_reply_open(request, info);
    keep_polling(n);
}

static void let_go(struct hidraw_file *f)
{
    if (f->reader)
        fuse_reply_err(f->reader, EIO);
    waiter_forget(&f->waiter);
    free(f);
}

void hidraw_release(struct hidraw *n, fuse_req_t request, const struct fuse_file_info *info)
{
    for (struct hidraw_file **at = &n->files; *at; at = &(*at)->next) {
        struct hidraw_file *f = *at;
        if (f->id == info->fh) {
            *at = f->next;
            let_go(f);
            break;
        }
    }
    fuse_reply_err(request, 0);
    if (!in_use(n))
        device_cancel(n->device, &n->poll, ENOENT);
}

void hidraw_close(struct hidraw *n)
{
    while (n->files) {
        struct hidraw_file *f = n->files;
        n->files = f->next;
        let_go(f);
    }
}

unsigned hidraw_count(const struct hidraw *n)
{
    unsigned count = 0;
    for (const struct hidraw_file *f = n->files; f; f = f->next)
        count++;
    return count;
}

void hidraw_changed(struct hidraw *n)
{
    for (struct hidraw_file *f = n->files; f; f = f->next) {
        fuse_req_t reader = f->reader;
        if (alive(f))
            continue;
        f->reader = NULL;
        if (reader)
            fuse_reply_err(reader, EIO);
        waiter_wake(&f->waiter);
    }
    keep_polling(n);
}

// The caller got a signal while it waited
static void read_interrupted(fuse_req_t request, void *data)
{
    struct hidraw_file *f = data;
    if (f->reader != request)
        return;
    f->reader = NULL;
    fuse_reply_err(request, EINTR);
}

void hidraw_read(struct hidraw *n, fuse_req_t request, size_t size, const struct fuse_file_info *info)
{
    struct hidraw_file *f = find(n, info);
    int wrong = !f                              ? EBADF
                : f->reader                     ? EBUSY // two threads: not in use
                : f->held                       ? 0
                : !alive(f)                     ? EIO
                : info->flags & O_NONBLOCK      ? EAGAIN
                : fuse_req_interrupted(request) ? EINTR
                                                : 0;
    if (wrong) {
        fuse_reply_err(request, wrong);
        return;
    }
    f->reader = request;
    f->wants = size;
    if (!give(f))
        fuse_req_interrupt_func(request, read_interrupted, f);
}

static void written(struct usb_transfer *t)
{
    struct write *w = (struct write *)t;
    if (t->status)
        fuse_reply_err(w->request, t->status == ESHUTDOWN ? ENODEV : t->status);
    else
        fuse_reply_write(w->request, w->size);
    free(w);
}

static void write_interrupted(fuse_req_t request, void *data)
{
    struct write *w = data;
    (void)request;
    device_cancel(w->device, &w->transfer, EINTR);
}

void hidraw_write(struct hidraw *n, fuse_req_t request, const char *bytes, size_t size,
                  const struct fuse_file_info *info)
{
    const struct hidraw_file *f = find(n, info);
    // A number of 0 says that there are no numbers, and does not go over the wire
    size_t skipped = size && !*bytes;
    int wrong = !f || !alive(f)                 ? ENODEV
                : size < 2 || size > WRITE_MAX  ? EINVAL
                : fuse_req_interrupted(request) ? EINTR
                                                : 0;
    struct write *w = wrong ? NULL : calloc(1, sizeof *w + size);
    if (!w) {
        fuse_reply_err(request, wrong ? wrong : ENOMEM);
        return;
    }
    w->device = n->device;
    w->request = request;
    w->size = size;
    memcpy(w->bytes, bytes + skipped, size - skipped);
    w->transfer = (struct usb_transfer){
        .endpoint = ENDPOINT_OUT, .data = w->bytes, .length = size - skipped, .done = written};
    // Before it is submitted: then it may be gone. Nothing can interrupt in between.
    fuse_req_interrupt_func(request, write_interrupted, w);
    device_submit(n->device, &w->transfer);
}

void hidraw_poll(struct hidraw *n, fuse_req_t request, const struct fuse_file_info *info,
                 struct fuse_pollhandle *handle)
{
    struct hidraw_file *f = find(n, info);
    if (!f) {
        if (handle)
            fuse_pollhandle_destroy(handle);
        fuse_reply_err(request, EBADF);
        return;
    }
    waiter_wait(&f->waiter, handle);
    fuse_reply_poll(request, POLLOUT | POLLWRNORM | (f->held ? POLLIN | POLLRDNORM : 0u) |
                                 (alive(f) ? 0u : POLLERR | POLLHUP));
}

static void give_text(fuse_req_t request, const char *text, size_t room)
{
    size_t size = strlen(text) + 1;
    size = size < room ? size : room;
    fuse_reply_ioctl(request, (int)size, text, size);
}

static void give_name(fuse_req_t request, const char *product, size_t room)
{
    char name[128];
    snprintf(name, sizeof name, USB_MANUFACTURER " %s", product);
    give_text(request, name, room);
}

void hidraw_ioctl(const struct hidraw *n, fuse_req_t request, unsigned command, size_t room,
                  const struct fuse_file_info *info)
{
    const struct usb_descriptors *d = &n->device->descriptors;
    const struct hidraw_file *f = find(n, info);
    const int size = (int)d->report_length;
    struct hidraw_report_descriptor report = {.size = (__u32)size};
    const struct usb_function *device = &n->device->function;
    const struct hidraw_devinfo ids = {BUS_USB, (int16_t)device->vendor, (int16_t)device->product};
    if (!f || !alive(f)) {
        fuse_reply_err(request, ENODEV);
        return;
    }
    memcpy(report.value, d->report, d->report_length);
    if (command == HIDIOCGRDESCSIZE)
        fuse_reply_ioctl(request, 0, &size, sizeof size);
    else if (command == HIDIOCGRDESC)
        fuse_reply_ioctl(request, 0, &report, sizeof report);
    else if (command == HIDIOCGRAWINFO)
        fuse_reply_ioctl(request, 0, &ids, sizeof ids);
    else if (_IOC_TYPE(command) == 'H' && _IOC_NR(command) == NAME_NR)
        give_name(request, device->product_name, room);
    else if (_IOC_TYPE(command) == 'H' && _IOC_NR(command) == PHYS_NR)
        give_text(request, USB_PHYSICAL, room);
    else if (_IOC_TYPE(command) == 'H' && _IOC_NR(command) == UNIQ_NR)
        give_text(request, n->device->function.serial, room);
    else
        fuse_reply_err(request, ENOTTY);
}
