// The usbfs node, /dev/bus/usb/001/002: open files, interfaces, and what else its ioctls do. It answers as
// the kernel's drivers/usb/core/devio.c does.
#include <errno.h>
#include <linux/usbdevice_fs.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "usb/urb.h"

enum { SPEED_FULL = 2, SPEED_HIGH = 3, DEVICE_NUMBER = 2, CONTROL_MAX = 4096, IN = 0x80 };
#define HID_DRIVER "usbhid"

static struct usbfs_file *find(const struct usbfs *n, const struct fuse_file_info *info)
{
    struct usbfs_file *f = n->files;
    while (f && f->id != info->fh)
        f = f->next;
    return f;
}

static bool alive(const struct usbfs_file *f)
{
    return f->node->device->plugged && f->generation == f->node->device->generation;
}

void usbfs_open(struct usbfs *n, fuse_req_t request, struct fuse_file_info *info)
{
    struct usbfs_file *f = n->device->plugged ? calloc(1, sizeof *f) : NULL;
    if (!f) {
        fuse_reply_err(request, n->device->plugged ? ENOMEM : ENODEV);
        return;
    }
    *f = (struct usbfs_file){
        .next = n->files, .node = n, .id = ++n->last_id, .generation = n->device->generation};
    f->last_done = &f->done;
    n->files = f;
    info->fh = f->id;
    info->direct_io = 1;
    fuse_reply_open(request, info);
}

static void let_go(struct usbfs_file *f)
{
    urb_end(f, PIPES);
    urb_free_done(f);
    waiter_forget(&f->waiter);
    free(f);
}

void usbfs_release(struct usbfs *n, fuse_req_t request, const struct fuse_file_info *info)
{
    for (struct usbfs_file **at = &n->files; *at; at = &(*at)->next) {
        struct usbfs_file *f = *at;
        if (f->id == info->fh) {
            *at = f->next;
            let_go(f);
            break;
        }
    }
    fuse_reply_err(request, 0);
}

void usbfs_close(struct usbfs *n)
{
    while (n->files) {
        struct usbfs_file *f = n->files;
        n->files = f->next;
        let_go(f);
    }
}

unsigned usbfs_count(const struct usbfs *n)
{
    unsigned count = 0;
    for (const struct usbfs_file *f = n->files; f; f = f->next)
        count++;
    return count;
}

void usbfs_changed(struct usbfs *n)
{
    for (struct usbfs_file *f = n->files; f; f = f->next)
        waiter_wake(&f->waiter);
}

void usbfs_read(struct usbfs *n, fuse_req_t request, size_t size, off_t offset,
                const struct fuse_file_info *info)
{
    const struct usb_descriptors *d = &n->device->descriptors;
    const struct usbfs_file *f = find(n, info);
    char all[sizeof d->device + sizeof d->config];
    size_t total = sizeof d->device + d->config_length;
    if (!f || !alive(f)) {
        fuse_reply_err(request, ENODEV);
        return;
    }
    memcpy(all, d->device, sizeof d->device);
    memcpy(all + sizeof d->device, d->config, d->config_length);
    size_t from = offset < 0 || (size_t)offset > total ? total : (size_t)offset;
    fuse_reply_buf(request, all + from, size < total - from ? size : total - from);
}

void usbfs_poll(struct usbfs *n, fuse_req_t request, const struct fuse_file_info *info,
                struct fuse_pollhandle *handle)
{
    struct usbfs_file *f = find(n, info);
    if (!f) {
        if (handle)
            fuse_pollhandle_destroy(handle);
        fuse_reply_err(request, EBADF);
        return;
    }
    waiter_wait(&f->waiter, handle);
    fuse_reply_poll(request, (f->done ? POLLOUT | POLLWRNORM : 0u) | (alive(f) ? 0u : POLLERR | POLLHUP));
}

static bool claimed_by_other(const struct usbfs_file *f, unsigned pipe)
{
    for (const struct usbfs_file *o = f->node->files; o; o = o->next)
        if (o != f && alive(o) && o->claimed >> pipe & 1)
            return true;
    return false;
}

static bool has_driver(const struct usbfs_file *f, unsigned pipe)
{
    return pipe == PIPE_V1 && f->node->device->hid_driver;
}

int usbfs_claim(struct usbfs_file *f, unsigned pipe)
{
    if (has_driver(f, pipe) || claimed_by_other(f, pipe))
        return EBUSY;
    f->claimed |= 1u << pipe;
    return 0;
}

static int claim(struct usbfs_file *f, unsigned interface)
{
    unsigned pipe = descriptors_pipe_of_interface(&f->node->device->descriptors, interface);
    return pipe == PIPES ? ENOENT : usbfs_claim(f, pipe);
}

static int release(struct usbfs_file *f, unsigned interface)
{
    unsigned pipe = descriptors_pipe_of_interface(&f->node->device->descriptors, interface);
    if (pipe == PIPES || !(f->claimed >> pipe & 1))
        return EINVAL;
    urb_end(f, pipe);
    f->claimed &= ~(1u << pipe);
    return 0;
}

static int disconnect_claim(struct usbfs_file *f, const struct usbdevfs_disconnect_claim *c)
{
    unsigned pipe = descriptors_pipe_of_interface(&f->node->device->descriptors, c->interface);
    if (pipe != PIPES && has_driver(f, pipe)) {
        bool named = strncmp(c->driver, HID_DRIVER, sizeof c->driver) == 0;
        if ((c->flags & USBDEVFS_DISCONNECT_CLAIM_IF_DRIVER && !named) ||
            (c->flags & USBDEVFS_DISCONNECT_CLAIM_EXCEPT_DRIVER && named))
            return EBUSY;
        device_bind_hid(f->node->device, false);
    }
    return claim(f, c->interface);
}

// The kernel's own driver goes from an interface, or is offered it: whether it took it, or a negative error
// number
static int drive(struct usbfs_file *f, fuse_req_t request, const void *argument)
{
    struct usbdevfs_ioctl i = {0};
    if (!caller_read(request, &i, argument, sizeof i))
        return -EFAULT;
    unsigned code = (unsigned)i.ioctl_code;
    unsigned pipe = descriptors_pipe_of_interface(&f->node->device->descriptors, (unsigned)i.ifno);
    if (pipe == PIPES)
        return -EINVAL;
    if (code == USBDEVFS_DISCONNECT) {
        if (!has_driver(f, pipe))
            return -ENODATA;
        device_bind_hid(f->node->device, false);
        return 0;
    }
    if (code != USBDEVFS_CONNECT)
        return -ENOTTY;
    if (has_driver(f, pipe) || f->claimed >> pipe & 1 || claimed_by_other(f, pipe))
        return -EBUSY;
    if (pipe != PIPE_V1)
        return 0;
    device_bind_hid(f->node->device, true);
    return 1;
}

static int get_driver(struct usbfs_file *f, fuse_req_t request, struct usbdevfs_getdriver *theirs)
{
    unsigned interface = 0;
    if (!caller_read(request, &interface, &theirs->interface, sizeof interface))
        return EFAULT;
    unsigned pipe = descriptors_pipe_of_interface(&f->node->device->descriptors, interface);
    bool bound = pipe != PIPES && has_driver(f, pipe);
    if (pipe == PIPES || (!bound && !(f->claimed >> pipe & 1) && !claimed_by_other(f, pipe)))
        return ENODATA;
    char name[sizeof theirs->driver] = HID_DRIVER;
    if (!bound)
        memcpy(name, "usbfs", sizeof "usbfs");
    return caller_write(request, &(struct piece){name, theirs->driver, sizeof name}, 1) ? 0 : EFAULT;
}

// The bytes that a control request moved, or a negative error number
static int control(struct usbfs_file *f, fuse_req_t request, const void *argument)
{
    struct usbdevfs_ctrltransfer c = {0};
    uint8_t data[CONTROL_MAX] = {0};
    if (!caller_read(request, &c, argument, sizeof c))
        return -EFAULT;
    const uint8_t setup[SETUP_BYTES] = {c.bRequestType,     c.bRequest,
                                        (uint8_t)c.wValue,  (uint8_t)(c.wValue >> 8),
                                        (uint8_t)c.wIndex,  (uint8_t)(c.wIndex >> 8),
                                        (uint8_t)c.wLength, (uint8_t)(c.wLength >> 8)};
    if (c.wLength > sizeof data)
        return -EINVAL;
    bool in = c.bRequestType & IN;
    if (!in && !caller_read(request, data, c.data, c.wLength))
        return -EFAULT;
    int got = device_control(f->node->device, setup, data, c.wLength);
    if (got < 0)
        return -EPIPE;
    if (in && !caller_write(request, &(struct piece){data, c.data, (size_t)got}, 1))
        return -EFAULT;
    return got;
}

static int set_interface(const struct usbfs_file *f, const struct usbdevfs_setinterface *s)
{
    unsigned pipe = descriptors_pipe_of_interface(&f->node->device->descriptors, s->interface);
    return pipe == PIPES || s->altsetting ? EINVAL : 0;
}

static int set_configuration(const struct usbfs_file *f, unsigned value)
{
    for (unsigned pipe = 0; pipe < PIPES; pipe++)
        if (has_driver(f, pipe) || f->claimed >> pipe & 1 || claimed_by_other(f, pipe))
            return EBUSY;
    return value == 1 ? 0 : EINVAL;
}

static int endpoint_exists(const struct usbfs_file *f, unsigned endpoint)
{
    return endpoint > UINT8_MAX ||
                   descriptors_pipe_of_endpoint(&f->node->device->descriptors, (uint8_t)endpoint) == PIPES
               ? EINVAL
               : 0;
}

// Bytes that these take from the caller; 0 for one that is not among them
static size_t argument_size(unsigned command)
{
    switch (command) {
    case USBDEVFS_CLAIMINTERFACE:
    case USBDEVFS_RELEASEINTERFACE:
    case USBDEVFS_SETCONFIGURATION:
    case USBDEVFS_CLEAR_HALT:
    case USBDEVFS_RESETEP:
        return sizeof(unsigned);
    case USBDEVFS_DISCONNECT_CLAIM:
        return sizeof(struct usbdevfs_disconnect_claim);
    case USBDEVFS_SETINTERFACE:
        return sizeof(struct usbdevfs_setinterface);
    default:
        return 0;
    }
}

// Those that take something and give nothing: 0 or an error number
static int obey(struct usbfs_file *f, fuse_req_t request, unsigned command, void *argument)
{
    union {
        unsigned number;
        struct usbdevfs_disconnect_claim disconnect_claim;
        struct usbdevfs_setinterface set_interface;
    } a = {0};
    size_t size = argument_size(command);
    if (!size)
        return ENOTTY;
    if (!caller_read(request, &a, argument, size))
        return EFAULT;
    switch (command) {
    case USBDEVFS_CLAIMINTERFACE:
        return claim(f, a.number);
    case USBDEVFS_RELEASEINTERFACE:
        return release(f, a.number);
    case USBDEVFS_DISCONNECT_CLAIM:
        return disconnect_claim(f, &a.disconnect_claim);
    case USBDEVFS_SETINTERFACE:
        return set_interface(f, &a.set_interface);
    case USBDEVFS_SETCONFIGURATION:
        return set_configuration(f, a.number);
    default:
        return endpoint_exists(f, a.number);
    }
}

static int reset(struct usbfs_file *f)
{
    urb_end(f, PIPES);
    device_reset(f->node->device);
    return 0;
}

static int tell(fuse_req_t request, unsigned command, void *argument)
{
    const uint32_t capabilities = USBDEVFS_CAP_ZERO_PACKET | USBDEVFS_CAP_BULK_CONTINUATION |
                                  USBDEVFS_CAP_NO_PACKET_SIZE_LIM | USBDEVFS_CAP_REAP_AFTER_DISCONNECT;
    struct piece p = {NULL, argument, sizeof capabilities};
    uint32_t value = capabilities;
    struct usbdevfs_connectinfo info = {.devnum = DEVICE_NUMBER};
    p.ours = &value;
    if (command == USBDEVFS_CONNECTINFO) {
        p.ours = &info;
        p.size = sizeof info;
    }
    return caller_write(request, &p, 1) ? 0 : EFAULT;
}

void usbfs_ioctl(struct usbfs *n, fuse_req_t request, unsigned command, void *argument,
                 const struct fuse_file_info *info)
{
    struct usbfs_file *f = find(n, info);
    int result;
    if (!f) {
        fuse_reply_err(request, EBADF);
        return;
    }
    if (command == USBDEVFS_REAPURBNDELAY) {
        urb_reap(f, request, argument);
        return;
    }
    if (!alive(f)) {
        fuse_reply_err(request, ENODEV);
        return;
    }
    switch (command) {
    case USBDEVFS_SUBMITURB:
        urb_submit(f, request, argument);
        return;
    case USBDEVFS_DISCARDURB:
        urb_discard(f, request, argument);
        return;
    case USBDEVFS_CONTROL:
        result = control(f, request, argument);
        break;
    case USBDEVFS_RESET:
        result = reset(f);
        break;
    case USBDEVFS_IOCTL:
        result = drive(f, request, argument);
        break;
    case USBDEVFS_GET_SPEED:
        result = n->device->descriptors.high_speed ? SPEED_HIGH : SPEED_FULL;
        break;
    case USBDEVFS_GETDRIVER:
        result = -get_driver(f, request, argument);
        break;
    case USBDEVFS_GET_CAPABILITIES:
    case USBDEVFS_CONNECTINFO:
        result = -tell(request, command, argument);
        break;
    default:
        result = -obey(f, request, command, argument);
        break;
    }
    if (result < 0)
        fuse_reply_err(request, -result);
    else
        fuse_reply_ioctl(request, result, NULL, 0);
}
