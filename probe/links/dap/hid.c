#include "links/dap/carrier.h"

#include <errno.h>
#include <hidapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DESCRIPTOR_ROOM = 4096, REPORT = 64, VENDOR_PAGES = 0xFF00, NXP = 0x1FC9 };

struct hid {
    struct carrier carrier; /* first */
    hid_device *device;
    size_t report; /* bytes, without the report's number */
};

/* ---- finding */

static size_t read_report_size(const char *path)
{
    uint8_t descriptor[DESCRIPTOR_ROOM];
    char name[256];
    const char *node = strrchr(path, '/');
    snprintf(name, sizeof name, "/sys/class/hidraw/%.200s/device/report_descriptor",
             node != NULL ? node + 1 : path);
    FILE *file = fopen(name, "re");
    if (file == NULL)
        return REPORT;
    size_t n = fread(descriptor, 1, sizeof descriptor, file);
    fclose(file);
    size_t size = descriptors_report_size(descriptor, n);
    return size >= REPORT ? size : REPORT;
}

/* NXP's probes have further interfaces, on further vendor's pages. */
static bool is_dap_page(const struct hid_device_info *one)
{
    if (one->vendor_id == NXP)
        return one->usage_page == VENDOR_PAGES;
    return one->usage_page == 0 || one->usage_page >= VENDOR_PAGES;
}

size_t hid_list(const struct probe_spec *spec, struct dap_found *out, size_t room)
{
    size_t n = 0;
    struct hid_device_info *all = hid_enumerate(0, 0);
    for (const struct hid_device_info *one = all; one != NULL && n < room; one = one->next) {
        struct dap_found *found = &out[n];
        *found = (struct dap_found){.kind = DAP_HID,
                                    .vendor = one->vendor_id,
                                    .product = one->product_id,
                                    .release = one->release_number};
        descriptors_wide_text(one->product_string, found->name, sizeof found->name);
        descriptors_wide_text(one->serial_number, found->serial, sizeof found->serial);
        found->by_hand = probe_spec_names(spec, found->vendor, found->product);
        if (!is_dap_page(one) || !usb_choice_is_probe(found) || strlen(one->path) >= sizeof found->place)
            continue;
        snprintf(found->place, sizeof found->place, "%s", one->path);
        if (access(one->path, R_OK | W_OK) != 0)
            snprintf(found->problem, sizeof found->problem, "%s",
                     errno == EACCES
                         ? "no permission: install udev/60-pmu-probe.rules (make install does) and "
                           "plug the probe in again"
                         : strerror(errno));
        n++;
    }
    hid_free_enumeration(all);
    (void)hid_exit();
    return n;
}

/* ---- packets */

static bool lost(struct hid *hid, const char *what, struct error *error)
{
    return error_set(error, ERROR_LINK_LOST, "%s: %s", hid->carrier.name, what);
}

static bool hid_send(struct carrier *carrier, const uint8_t *packet, size_t n,
                     const struct deadline *deadline, struct error *error)
{
    struct hid *hid = (struct hid *)carrier;
    uint8_t report[1 + CARRIER_ROOM] = {0}; /* reports are not numbered: 0 */
    (void)deadline;
    if (n > hid->report)
        return error_set(error, ERROR_SYSTEM, "a packet grew too long");
    memcpy(report + 1, packet, n);
    int put;
    do { /* a signal that comes in between is no loss */
        errno = 0;
        put = hid_write(hid->device, report, 1 + hid->report);
    } while (put < 0 && errno == EINTR);
    return put >= 0 || lost(hid, "it was unplugged", error);
}

static bool hid_receive(struct carrier *carrier, uint8_t *packet, size_t room, size_t *n,
                        const struct deadline *deadline, struct error *error)
{
    struct hid *hid = (struct hid *)carrier;
    for (;;) {
        errno = 0;
        int got = hid_read_timeout(hid->device, packet, room, deadline_poll_ms(deadline));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return lost(hid, "it was unplugged", error);
        if (got > 0) {
            *n = (size_t)got;
            return true;
        }
        if (deadline_passed(deadline))
            return lost(hid, "no answer", error);
    }
}

static void hid_close_carrier(struct carrier *carrier)
{
    struct hid *hid = (struct hid *)carrier;
    hid_close(hid->device);
    (void)hid_exit();
    free(hid);
}

struct carrier *hid_connect(const struct dap_found *found, struct error *error)
{
    static const struct carrier_ops ops = {
        .send = hid_send, .receive = hid_receive, .close = hid_close_carrier};
    char name[96];
    usb_choice_name(found, name, sizeof name);
    if (found->problem[0] != '\0') {
        error_set(error, ERROR_NO_PROBE, "%s: %s", name, found->problem);
        return NULL;
    }
    struct hid *hid = calloc(1, sizeof *hid);
    if (hid == NULL) {
        error_set(error, ERROR_SYSTEM, "out of memory");
        return NULL;
    }
    hid->device = hid_open_path(found->place);
    if (hid->device == NULL) {
        free(hid);
        error_set(error, ERROR_NO_PROBE, "%s: it cannot be opened: does another program use it?", name);
        return NULL;
    }
    hid->report = read_report_size(found->place);
    hid->carrier.ops = &ops;
    hid->carrier.takes_several = usb_choice_takes_several(found, &hid->carrier.loses_several);
    hid->carrier.largest = hid->report;
    hid->carrier.padded = true;
    snprintf(hid->carrier.name, sizeof hid->carrier.name, "cmsis-dap %s", name);
    snprintf(hid->carrier.serial, sizeof hid->carrier.serial, "%s", found->serial);
    return &hid->carrier;
}
