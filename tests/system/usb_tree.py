"""USB devices that consist only of what the kernel shows of them: plug_in() puts them into the tree of a namespace
of usb.py, by running this file there."""

import os
import struct
import subprocess
import sys

from board import WAIT

BUS = "sys/devices/pci0000:00/usb1"
FIRST = 8  # ports and addresses below are the board's


def put(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode() + b"\n")


def link(path, target):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.symlink(os.path.relpath(target, os.path.dirname(path)), path)


def descriptors(vendor, product):
    """A device with one configuration of one interface without endpoints: USB 2.0, 9.6.1, 9.6.3 and 9.6.5."""
    device = struct.pack("<BBHBBBBHHHBBBB", 18, 1, 0x0200, 0, 0, 0, 64, vendor, product, 0x0100, 1, 2, 3, 1)
    interface = struct.pack("<BBBBBBBBB", 9, 4, 0, 0, 0, 0xFF, 0, 0, 0)
    return device + struct.pack("<BBHBBBBB", 9, 2, 9 + len(interface), 1, 1, 0, 0x80, 50) + interface


def add(directory, number, vendor, product, name="", serial=""):
    device = os.path.join(directory, BUS, f"1-{number}")
    put(os.path.join(device, "descriptors"), descriptors(vendor, product))
    put(os.path.join(device, "uevent"),
        f"MAJOR=189\nMINOR={number - 1}\nDEVNAME=bus/usb/001/{number:03}\nDEVTYPE=usb_device\nDRIVER=usb\n"
        f"PRODUCT={vendor:x}/{product:x}/100\nTYPE=0/0/0\nBUSNUM=001\nDEVNUM={number:03}")
    for attribute, value in {"busnum": "1", "devnum": str(number), "devpath": str(number), "speed": "12", "version": " 2.00",
                             "bConfigurationValue": "1", "bNumConfigurations": "1", "bDeviceClass": "00",
                             "idVendor": f"{vendor:04x}", "idProduct": f"{product:04x}", "product": name, "serial": serial}.items():
        if value:
            put(os.path.join(device, attribute), value)
    link(os.path.join(device, "subsystem"), os.path.join(directory, "sys/bus/usb"))
    link(os.path.join(directory, "sys/bus/usb/devices", f"1-{number}"), device)


def plug_in(namespace, *devices):
    """Each "VENDOR:PRODUCT[:NAME[:SERIAL]]", numbers in hex. Before or after the namespace's bind()."""
    subprocess.run(namespace.enter([sys.executable, __file__, namespace.directory, *devices]), check=True, timeout=WAIT)


if __name__ == "__main__":
    place = sys.argv[1]
    if not os.path.exists(os.path.join(place, "node/usb")):  # bind() wants the board's
        put(os.path.join(place, "node/usb"), "")
    for part in ("sys/bus/usb/devices", "sys/bus/hid/devices", "sys/bus/pci/devices", "sys/class/hidraw", "sys/dev/char"):
        os.makedirs(os.path.join(place, part), exist_ok=True)
    if not os.path.exists(os.path.join(place, BUS, "uevent")):
        put(os.path.join(place, BUS, "uevent"), "MAJOR=189\nMINOR=0\nDEVNAME=bus/usb/001/001\nDEVTYPE=usb_device")
    for i, words in enumerate(sys.argv[2:]):
        vendor, product, *rest = words.split(":")
        add(place, FIRST + i, int(vendor, 16), int(product, 16), *rest)
