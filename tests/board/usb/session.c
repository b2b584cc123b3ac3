// The FUSE session: two files in a directory, and the public face of it all. See usb.h.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pace.h"
#include "usb/node.h"
#include "usb/tree.h"

enum { ROOT = FUSE_ROOT_ID, USBFS, HIDRAW, REQUESTS_AT_ONCE = 32, LOOK_NS = 20000 };
#define FOREVER 1e9

struct usb {
    struct usb_device device;
    struct usbfs usbfs;
    struct hidraw hidraw;
    int directory;
    struct fuse_session *session;
    struct fuse_buf buffer;
    uint64_t looked_ns;
};

static struct usb *usb_of(fuse_req_t request)
{
    return fuse_req_userdata(request);
}

static struct stat attributes(fuse_ino_t inode)
{
    return (struct stat){
        .st_ino = inode, .st_mode = inode == ROOT ? S_IFDIR | 0755 : S_IFREG | 0666, .st_nlink = 1};
}

static void on_lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
    fuse_ino_t inode = !strcmp(name, "usb") ? USBFS : !strcmp(name, "hidraw") ? HIDRAW : 0;
    if (parent != ROOT || !inode || (inode == HIDRAW && !usb_of(request)->device.function.v1)) {
        fuse_reply_err(request, ENOENT);
        return;
    }
    struct fuse_entry_param entry = {
        .ino = inode, .attr = attributes(inode), .attr_timeout = FOREVER, .entry_timeout = FOREVER};
    fuse_reply_entry(request, &entry);
}

static void on_getattr(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
    struct stat s = attributes(inode);
    (void)info;
    fuse_reply_attr(request, &s, FOREVER);
}

// Opening for writing may ask for truncation
static void on_setattr(fuse_req_t request, fuse_ino_t inode, struct stat *wanted, int which,
                       struct fuse_file_info *info)
{
    (void)wanted;
    (void)which;
    on_getattr(request, inode, info);
}

static void on_open(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
    if (inode == USBFS)
        usbfs_open(&usb_of(request)->usbfs, request, info);
    else
        hidraw_open(&usb_of(request)->hidraw, request, info);
}

static void on_release(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
    if (inode == USBFS)
        usbfs_release(&usb_of(request)->usbfs, request, info);
    else
        hidraw_release(&usb_of(request)->hidraw, request, info);
}

static void on_read(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                    struct fuse_file_info *info)
{
    if (inode == USBFS)
        usbfs_read(&usb_of(request)->usbfs, request, size, offset, info);
    else
        hidraw_read(&usb_of(request)->hidraw, request, size, info);
}

static void on_write(fuse_req_t request, fuse_ino_t inode, const char *bytes, size_t size, off_t offset,
                     struct fuse_file_info *info)
{
    (void)offset;
    if (inode == USBFS)
        fuse_reply_err(request, EINVAL);
    else
        hidraw_write(&usb_of(request)->hidraw, request, bytes, size, info);
}

static void on_poll(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info,
                    struct fuse_pollhandle *handle)
{
    if (inode == USBFS)
        usbfs_poll(&usb_of(request)->usbfs, request, info, handle);
    else
        hidraw_poll(&usb_of(request)->hidraw, request, info, handle);
}

static void on_ioctl(fuse_req_t request, fuse_ino_t inode, unsigned command, void *argument,
                     struct fuse_file_info *info, unsigned flags, const void *in, size_t in_size, size_t room)
{
    (void)in;
    (void)in_size;
    if (flags & (FUSE_IOCTL_COMPAT | FUSE_IOCTL_DIR)) // a 32-bit caller: other layouts
        fuse_reply_err(request, ENOTTY);
    else if (inode == USBFS)
        usbfs_ioctl(&usb_of(request)->usbfs, request, command, argument, info);
    else
        hidraw_ioctl(&usb_of(request)->hidraw, request, command, room, info);
}

static void changed(void *self)
{
    struct usb *u = self;
    tree_show(u->directory, &u->device);
    usbfs_changed(&u->usbfs);
    hidraw_changed(&u->hidraw);
}

static bool mount_nodes(struct usb *u, const char *directory)
{
    static const struct fuse_lowlevel_ops operations = {
        .lookup = on_lookup,
        .getattr = on_getattr,
        .setattr = on_setattr,
        .open = on_open,
        .release = on_release,
        .read = on_read,
        .write = on_write,
        .poll = on_poll,
        .ioctl = on_ioctl,
    };
    char *path = NULL;
    struct fuse_args arguments = FUSE_ARGS_INIT(0, NULL);
    bool mounted = false;
    if (!fuse_opt_add_arg(&arguments, "board") && !fuse_opt_add_arg(&arguments, "-oallow_other"))
        u->session = fuse_session_new(&arguments, &operations, sizeof operations, u);
    fuse_opt_free_args(&arguments);
    if (u->session && asprintf(&path, "%s/node", directory) >= 0) {
        mounted = !mkdirat(u->directory, "node", 0755) && !fuse_session_mount(u->session, path);
        free(path);
    }
    if (!mounted)
        return false;
    int fd = fuse_session_fd(u->session), flags = fcntl(fd, F_GETFL);
    return flags >= 0 && !fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

// false: there was none
static bool serve_request(struct usb *u)
{
    bool there = !fuse_session_exited(u->session) && fuse_session_receive_buf(u->session, &u->buffer) > 0;
    if (there)
        fuse_session_process_buf(u->session, &u->buffer);
    return there;
}

// In the midst of a packet, and never in the midst of a request: those only leave what device_move()
// is to do. So the host gets earlier replies and sends further requests while the wire is busy.
static bool look(void *self)
{
    struct usb *u = self;
    uint64_t now = pace_now_ns();
    if (now - u->looked_ns >= LOOK_NS) {
        u->looked_ns = now;
        for (int i = 0; i < REQUESTS_AT_ONCE && serve_request(u); i++)
            continue;
        device_deliver(&u->device);
    }
    return !u->device.plugged;
}

static bool set_up(struct usb *u, const char *directory, const struct usb_function *f)
{
    if (f->packet_size > USB_PACKET_MAX || !f->packet_count || f->packet_count > USB_PACKETS_MAX ||
        (!f->v1 && !f->v2))
        return false;
    u->usbfs.device = u->hidraw.device = &u->device;
    u->device.changed = changed;
    u->device.look = look;
    u->device.self = u;
    u->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (u->directory < 0 || !device_open(&u->device, f) || !tree_make(u->directory, &u->device))
        return false;
    tree_show(u->directory, &u->device);
    return mount_nodes(u, directory);
}

struct usb *usb_open(const char *directory, const struct usb_function *f)
{
    struct usb *u = calloc(1, sizeof *u);
    if (!u)
        return NULL;
    u->directory = u->device.timer = -1;
    if (!set_up(u, directory, f)) {
        fprintf(stderr, "board: no USB in %s: %s\n", directory, strerror(errno));
        usb_close(u);
        return NULL;
    }
    return u;
}

void usb_close(struct usb *u)
{
    if (!u)
        return;
    if (u->session) // ends what is still under way
        usb_unplug(u);
    usbfs_close(&u->usbfs);
    hidraw_close(&u->hidraw);
    device_close(&u->device);
    if (u->session) {
        fuse_session_unmount(u->session);
        fuse_session_destroy(u->session);
    }
    free(u->buffer.mem);
    if (u->directory >= 0)
        close(u->directory);
    free(u);
}

size_t usb_polls(const struct usb *u, struct pollfd *polls)
{
    // Without a session that can be served there is nothing to wait for
    int fd = !u || fuse_session_exited(u->session) ? -1 : fuse_session_fd(u->session);
    polls[0] = (struct pollfd){.fd = fd, .events = POLLIN};
    polls[1] = (struct pollfd){.fd = u ? u->device.timer : -1, .events = POLLIN};
    return USB_POLLS;
}

void usb_serve(struct usb *u, const struct pollfd *polls, size_t count)
{
    uint64_t expirations;
    if (!u || count != USB_POLLS)
        return;
    // First what is there: while that is executed, the host is served anyway
    if (polls[1].revents && read(u->device.timer, &expirations, sizeof expirations) > 0)
        device_move(&u->device);
    bool executed = false;
    for (int i = 0; polls[0].revents && i < REQUESTS_AT_ONCE && !executed && serve_request(u); i++)
        executed = device_move(&u->device);
}

void usb_unplug(struct usb *u)
{
    device_plug(&u->device, false);
}

void usb_plug(struct usb *u)
{
    device_plug(&u->device, true);
}

void usb_unplug_after(struct usb *u, uint64_t transfers)
{
    u->device.limited = transfers > 0;
    u->device.left = transfers;
    if (!transfers)
        usb_unplug(u);
}

struct usb_state usb_state(const struct usb *u)
{
    return (struct usb_state){
        .plugged = u->device.plugged,
        .open = usbfs_count(&u->usbfs) + hidraw_count(&u->hidraw),
        .counts = u->device.counts,
        .generation = u->device.generation,
    };
}
