// The sysfs tree: see the header. Only what the clients read is there.
#include "usb/tree.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUS    "sys/devices/pci0000:00/usb1"
#define DEVICE BUS "/1-1"
#define HID    DEVICE "/1-1:1.0/0003:0D28:0204.0001" // whatever the device's own numbers are
#define RAW    HID "/hidraw/hidraw0"

enum { PATH_BYTES = 256 };

static bool make_parents(int at, const char *path)
{
    char part[PATH_BYTES];
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        size_t length = (size_t)(slash - path);
        if (length >= sizeof part)
            return false;
        memcpy(part, path, length);
        part[length] = 0;
        mkdirat(at, part, 0755); // mostly it is there already; if it cannot be, the file cannot either
    }
    return true;
}

static bool put_bytes(int at, const char *path, const void *bytes, size_t size)
{
    if (!make_parents(at, path))
        return false;
    int fd = openat(at, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    bool written = fd >= 0 && write(fd, bytes, size) == (ssize_t)size;
    if (fd >= 0)
        close(fd);
    return written;
}

__attribute__((format(printf, 3, 4))) static bool put(int at, const char *path, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text - 1, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof text - 1)
        return false;
    text[length] = '\n';
    return put_bytes(at, path, text, (size_t)length + 1);
}

// `target` is a path from the top too; in the link it is relative, as sysfs has it
static bool put_link(int at, const char *path, const char *target)
{
    char text[2 * PATH_BYTES] = "";
    size_t length = 0;
    for (const char *c = strchr(path, '/'); c && strchr(c + 1, '/'); c = strchr(c + 1, '/')) {
        memcpy(text + length, "../", 4);
        length += 3;
        if (length + PATH_BYTES >= sizeof text)
            return false;
    }
    if (strncmp(target, "sys/", 4) != 0)
        return false;
    snprintf(text + length, sizeof text - length, "%s", target + 4);
    return make_parents(at, path) &&
           (!symlinkat(text, at, path) || !faccessat(at, path, F_OK, AT_SYMLINK_NOFOLLOW));
}

static bool make_device(int at, const struct usb_device *d)
{
    const struct usb_function *f = &d->function;
    char vendor[8], product[8], release[8];
    snprintf(vendor, sizeof vendor, "%04x", f->vendor);
    snprintf(product, sizeof product, "%04x", f->product);
    snprintf(release, sizeof release, "%04x", f->release);
    const struct {
        const char *name, *value;
    } files[] = {
        {"busnum", "1"},
        {"devnum", "2"},
        {"devpath", "1"},
        {"speed", d->descriptors.high_speed ? "480" : "12"},
        {"bConfigurationValue", "1"},
        {"bNumConfigurations", "1"},
        {"bDeviceClass", "00"},
        {"idVendor", vendor},
        {"idProduct", product},
        {"bcdDevice", release},
        {"version", " 2.00"},
        {"maxchild", "0"},
        {"manufacturer", USB_MANUFACTURER},
        {"product", f->product_name},
        {"serial", d->function.serial},
        {"dev", "189:1"},
    };
    const struct usb_descriptors *s = &d->descriptors;
    uint8_t all[sizeof s->device + sizeof s->config];
    char path[PATH_BYTES];
    bool made = put(at, BUS "/uevent", "MAJOR=189\nMINOR=0\nDEVNAME=bus/usb/001/001\nDEVTYPE=usb_device") &&
                put(at, DEVICE "/uevent",
                    "MAJOR=189\nMINOR=1\nDEVNAME=bus/usb/001/002\nDEVTYPE=usb_device\nDRIVER=usb\n"
                    "PRODUCT=%x/%x/%x\nTYPE=0/0/0\nBUSNUM=001\nDEVNUM=002",
                    f->vendor, f->product, f->release);
    memcpy(all, s->device, sizeof s->device);
    memcpy(all + sizeof s->device, s->config, s->config_length);
    made = made && put_bytes(at, DEVICE "/descriptors", all, sizeof s->device + s->config_length) &&
           put_link(at, DEVICE "/subsystem", "sys/bus/usb");
    for (size_t i = 0; made && i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, DEVICE "/%s", files[i].name);
        made = put(at, path, "%s", files[i].value);
    }
    return made;
}

static bool make_interface(int at, const struct usb_device *d, unsigned pipe)
{
    int number = d->descriptors.interface[pipe];
    const struct usb_function *f = &d->function;
    unsigned class = pipe == PIPE_V1 ? 3 : f->bulk_class;
    char directory[PATH_BYTES / 2], path[PATH_BYTES];
    bool made = true;
    if (number < 0)
        return true;
    snprintf(directory, sizeof directory, DEVICE "/1-1:1.%d", number);
    const struct {
        const char *name, *format;
        unsigned value;
    } files[] = {
        {"bInterfaceNumber", "%02x", (unsigned)number},
        {"bInterfaceClass", "%02x", class},
        {"bAlternateSetting", "%2u", 0},
    };
    for (size_t i = 0; made && i < sizeof files / sizeof *files; i++) {
        char value[16];
        snprintf(value, sizeof value, i == 2 ? "%2u" : "%02x", files[i].value);
        snprintf(path, sizeof path, "%s/%s", directory, files[i].name);
        made = put(at, path, "%s", value);
    }
    const char *name = pipe == PIPE_V1 && f->bulk_name[0] ? "CMSIS-DAP v1" : f->bulk_name;
    snprintf(path, sizeof path, "%s/interface", directory);
    made = made && (!name[0] || put(at, path, "%s", name));
    snprintf(path, sizeof path, "%s/uevent", directory);
    made = made && put(at, path, "DEVTYPE=usb_interface\nPRODUCT=%x/%x/%x\nTYPE=0/0/0\nINTERFACE=%u/0/0",
                       f->vendor, f->product, f->release, class);
    snprintf(path, sizeof path, "%s/subsystem", directory);
    return made && put_link(at, path, "sys/bus/usb");
}

static bool make_hid(int at, const struct usb_device *d)
{
    const struct usb_descriptors *s = &d->descriptors;
    const struct usb_function *f = &d->function;
    return put(at, HID "/uevent",
               "DRIVER=hid-generic\nHID_ID=0003:%08X:%08X\nHID_NAME=" USB_MANUFACTURER
               " %s\nHID_PHYS=" USB_PHYSICAL "\nHID_UNIQ=%s\nMODALIAS=hid:b0003g0001v%08Xp%08X",
               f->vendor, f->product, f->product_name, f->serial, f->vendor, f->product) &&
           put_bytes(at, HID "/report_descriptor", s->report, s->report_length) &&
           put_link(at, HID "/subsystem", "sys/bus/hid") &&
           put(at, RAW "/uevent", "MAJOR=244\nMINOR=0\nDEVNAME=hidraw0") && put(at, RAW "/dev", "244:0") &&
           put_link(at, RAW "/subsystem", "sys/class/hidraw") && put_link(at, RAW "/device", HID);
}

bool tree_make(int directory, const struct usb_device *d)
{
    static const char *const empty[] = {"sys/bus/usb/devices/", "sys/bus/hid/devices/",
                                        "sys/bus/pci/devices/", "sys/class/hidraw/", "sys/dev/char/"};
    bool made = true;
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
        made = made && make_parents(directory, empty[i]);
    return made && make_device(directory, d) && make_interface(directory, d, PIPE_V1) &&
           make_interface(directory, d, PIPE_V2) && (!d->function.v1 || make_hid(directory, d));
}

void tree_show(int directory, const struct usb_device *d)
{
    bool two = d->function.v1 && d->function.v2;
    const struct {
        bool shown;
        const char *path, *target;
    } links[] = {
        {d->plugged, "sys/bus/usb/devices/1-1", DEVICE},
        {d->plugged, "sys/dev/char/189:1", DEVICE},
        {d->plugged, "sys/bus/usb/devices/1-1:1.0", DEVICE "/1-1:1.0"},
        {d->plugged && two, "sys/bus/usb/devices/1-1:1.1", DEVICE "/1-1:1.1"},
        {d->hid_driver, "sys/bus/hid/devices/0003:0D28:0204.0001", HID},
        {d->hid_driver, "sys/class/hidraw/hidraw0", RAW},
        {d->hid_driver, "sys/dev/char/244:0", RAW},
    };
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        if (links[i].shown)
            put_link(directory, links[i].path, links[i].target);
        else
            unlinkat(directory, links[i].path, 0);
    }
}
