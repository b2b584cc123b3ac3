// The sysfs tree of one device, as far as libudev, libusb and hidapi read it: files below a directory.
#ifndef BOARD_USB_TREE_H
#define BOARD_USB_TREE_H

#include "usb/device.h"

// DIRECTORY/sys, with the device's own files. Nothing points to them yet.
bool tree_make(int directory, const struct usb_device *);
// Makes and removes the links by which the device and its hidraw node are found
void tree_show(int directory, const struct usb_device *);

#endif
