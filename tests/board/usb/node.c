// Waiting files and the caller's memory: see the header.
#include "usb/node.h"

#include <sys/uio.h>

enum { PIECES_MAX = 8 };

void waiter_forget(struct waiter *w)
{
    if (w->handle)
        fuse_pollhandle_destroy(w->handle);
    w->handle = NULL;
}

void waiter_wait(struct waiter *w, struct fuse_pollhandle *handle)
{
    if (!handle)
        return;
    waiter_forget(w);
    w->handle = handle;
}

void waiter_wake(struct waiter *w)
{
    if (w->handle)
        fuse_lowlevel_notify_poll(w->handle);
    waiter_forget(w);
}

bool caller_read(fuse_req_t request, void *ours, const void *theirs, size_t size)
{
    union {
        const void *from;
        void *base; // what iovec wants, though it is only read
    } address = {.from = theirs};
    // cppcheck-suppress ctuuninitvar
    struct iovec local = {ours, size}, remote = {address.base, size};
    return !size || process_vm_readv(fuse_req_ctx(request)->pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

bool caller_write(fuse_req_t request, const struct piece *pieces, size_t count)
{
    struct iovec local[PIECES_MAX], remote[PIECES_MAX];
    size_t total = 0, used = 0;
    for (size_t i = 0; i < count && used < PIECES_MAX; i++) {
        if (!pieces[i].size)
            continue;
        local[used] = (struct iovec){pieces[i].ours, pieces[i].size};
        remote[used++] = (struct iovec){pieces[i].theirs, pieces[i].size};
        total += pieces[i].size;
    }
    return !total ||
           process_vm_writev(fuse_req_ctx(request)->pid, local, used, remote, used, 0) == (ssize_t)total;
}
