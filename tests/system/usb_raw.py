"""What no library would send: usbfs ioctls with bad arguments, straight to the node. Run in the probe's namespace;
prints a line of JSON: for each attempt the name of its error, or "ok"."""

import ctypes
import errno
import fcntl
import json
import mmap
import os

SUBMITURB, DISCARDURB, REAPURBNDELAY, CLAIM, RELEASE = 0x8038550A, 0x550B, 0x4008550D, 0x8004550F, 0x80045510
CONTROL, GETDRIVER, SETINTERFACE, DISCONNECT_CLAIM, BULK = 0xC0185500, 0x41045508, 0x80085504, 0x8108551B, 0xC0185502
BULK_TYPE, CONTROL_TYPE, ISO_TYPE = 3, 2, 0


class Urb(ctypes.Structure):
    _fields_ = [("type", ctypes.c_ubyte), ("endpoint", ctypes.c_ubyte), ("status", ctypes.c_int),
                ("flags", ctypes.c_uint), ("buffer", ctypes.c_void_p), ("buffer_length", ctypes.c_int),
                ("actual_length", ctypes.c_int), ("start_frame", ctypes.c_int), ("packets", ctypes.c_int),
                ("error_count", ctypes.c_int), ("signr", ctypes.c_uint), ("context", ctypes.c_void_p)]


libc = ctypes.CDLL(None, use_errno=True)
libc.ioctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p]
node = os.open("/dev/bus/usb/001/002", os.O_RDWR)
results = {}
keep = []  # what the board may still read


def attempt(name, request, argument):
    ctypes.set_errno(0)
    value = libc.ioctl(node, request, argument)
    results[name] = "ok" if value >= 0 else errno.errorcode[ctypes.get_errno()]


def pointer(thing):
    keep.append(thing)
    return ctypes.addressof(thing)


def urb(kind, endpoint, length, buffer=None, flags=0):
    data = ctypes.create_string_buffer(64)
    return pointer(Urb(type=kind, endpoint=endpoint, flags=flags, buffer_length=length,
                       buffer=pointer(data) if buffer is None else buffer))


interface = pointer(ctypes.c_uint(1))
nowhere = 0x10
attempt("no memory behind an argument", SUBMITURB, nowhere)
attempt("claim: no memory", CLAIM, nowhere)
attempt("claim: no such interface", CLAIM, pointer(ctypes.c_uint(7)))
attempt("release: not claimed", RELEASE, interface)
attempt("claim", CLAIM, interface)
attempt("urb: buffer nowhere", SUBMITURB, urb(BULK_TYPE, 0x02, 64, nowhere))
attempt("urb: negative length", SUBMITURB, urb(BULK_TYPE, 0x02, -1))
attempt("urb: too long", SUBMITURB, urb(BULK_TYPE, 0x02, 1 << 30))
attempt("urb: unknown flags", SUBMITURB, urb(BULK_TYPE, 0x02, 8, flags=0x40000000))
attempt("urb: no such endpoint", SUBMITURB, urb(BULK_TYPE, 0x8F, 8))
attempt("urb: the kernel's interface", SUBMITURB, urb(BULK_TYPE, 0x81, 64))
attempt("urb: isochronous", SUBMITURB, urb(ISO_TYPE, 0x82, 64))
attempt("urb: control without setup", SUBMITURB, urb(CONTROL_TYPE, 0, 4))
setup = ctypes.create_string_buffer(b"\x80\x06\x00\x01\x00\x00\xff\xff", 64)
attempt("urb: control says more than it has", SUBMITURB, urb(CONTROL_TYPE, 0, 16, pointer(setup)))
attempt("control: no memory", CONTROL, nowhere)
attempt("control: data nowhere", CONTROL,
        pointer(ctypes.create_string_buffer(b"\x80\x06\x00\x01\x00\x00\x12\x00" + bytes(8) + b"\x10" + bytes(7))))
attempt("control: stall", CONTROL, pointer(ctypes.create_string_buffer(b"\x80\xee" + bytes(22))))
attempt("discard: never submitted", DISCARDURB, nowhere)
attempt("get driver: no memory", GETDRIVER, nowhere)
attempt("set interface: no such setting", SETINTERFACE, pointer((ctypes.c_uint * 2)(1, 5)))
attempt("disconnect and claim: no memory", DISCONNECT_CLAIM, nowhere)
attempt("unknown ioctl", 0x5563, 0)
attempt("reap: nothing there", REAPURBNDELAY, pointer(ctypes.c_void_p()))
# Memory that goes between submitting and reaping
page = mmap.mmap(-1, mmap.PAGESIZE)
there = ctypes.addressof(ctypes.c_char.from_buffer(page))
attempt("urb", SUBMITURB, urb(BULK_TYPE, 0x82, 64, there))
request = ctypes.create_string_buffer(b"\x00\xff", 2)
attempt("urb out", SUBMITURB, urb(BULK_TYPE, 0x02, 2, pointer(request)))
libc.munmap(ctypes.c_void_p(there), ctypes.c_size_t(mmap.PAGESIZE))
attempt("reap one", REAPURBNDELAY, pointer(ctypes.c_void_p()))
attempt("reap other", REAPURBNDELAY, pointer(ctypes.c_void_p()))
attempt("many pending", SUBMITURB, urb(BULK_TYPE, 0x82, 64))
for _ in range(1000):
    attempt("too many pending", SUBMITURB, urb(BULK_TYPE, 0x82, 64))
print(json.dumps(results), flush=True)
os._exit(0)  # with everything still pending
