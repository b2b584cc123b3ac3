// The client on hidapi, over either of its back ends: finds the probe by its product name. hidapi does not
// report how long reports are, so the packet size is 0. See client.h.
#include <hidapi/hidapi.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "client.h"

struct hid {
    hid_device *device;
};

static void close_hid(void *self)
{
    struct hid *h = self;
    if (h->device)
        hid_close(h->device);
    h->device = NULL;
    hid_exit();
}

static const char *open_hid(void *self, char *serial, size_t room, size_t *packet_size)
{
    struct hid *h = self;
    hid_init();
    struct hid_device_info *list = hid_enumerate(0, 0), *d = list;
    while (d && !(d->product_string && wcsstr(d->product_string, L"CMSIS-DAP")))
        d = d->next;
    if (d) {
        wcstombs(serial, d->serial_number ? d->serial_number : L"", room - 1);
        h->device = hid_open_path(d->path);
    }
    const char *error = !d ? "none" : !h->device ? "not-opened" : NULL;
    hid_free_enumeration(list);
    *packet_size = 0;
    return error;
}

static const char *out_hid(void *self, const uint8_t *bytes, size_t length, int timeout_ms)
{
    struct hid *h = self;
    uint8_t report[1 + CLIENT_PACKET] = {0}; // the report's number first: there is but one
    (void)timeout_ms;                        // it knows none
    if (!h->device)
        return "not-open";
    memcpy(report + 1, bytes, length);
    return hid_write(h->device, report, length + 1) == (int)length + 1 ? NULL : "write";
}

static const char *in_hid(void *self, uint8_t *bytes, size_t room, size_t *length, int timeout_ms)
{
    struct hid *h = self;
    if (!h->device)
        return "not-open";
    int got = hid_read_timeout(h->device, bytes, room, timeout_ms);
    *length = got < 0 ? 0 : (size_t)got;
    return got > 0 ? NULL : got < 0 ? "read" : "timeout";
}

int main(void)
{
    struct hid hid = {0};
    client_run(&(struct client){&hid, open_hid, close_hid, out_hid, in_hid, NULL});
    return 0;
}
