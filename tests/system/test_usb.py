"""The probe on USB as unmodified programs see it: libusb, hidapi, OpenOCD, pyOCD; and the probe unplugged."""

import json
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from board import WAIT
from harness import wait_for
from usb import ClientError, UsbBoard, usb_available

pytestmark = pytest.mark.skipif(usb_available() is not None, reason=str(usb_available()))

CLIENTS = ["usb-client", "hid-client", "hid-client-libusb"]
PACKET_SIZE, SERIAL = bytes([0x00, 0xFF]), bytes([0x00, 0x03])  # DAP_Info
RAM = 0x20010000  # the firmware has nothing there


def padded(request, name, size=64):
    """HID reports have one size."""
    return request if name == "usb-client" else request.ljust(size, b"\0")


def raises(error):
    return pytest.raises(ClientError, match=error)


def gone(name):
    return raises("LIBUSB_ERROR_NO_DEVICE" if name == "usb-client" else "write|read")


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("size", [64, 512, 1024])
def test_a_library_finds_the_probe_and_speaks_to_it(name, size):
    with UsbBoard.start("m4", dap_packet=size, dap_serial="SER-42") as board:
        with board.client(name) as client:
            serial, endpoint = client.open()
            assert serial == "SER-42"
            assert endpoint == (min(size, 512) if name == "usb-client" else 0)
            reply = client.exchange(padded(PACKET_SIZE, name, size))
            assert reply[:4] == bytes([0x00, 2, size & 0xFF, size >> 8])
            assert len(reply) == (4 if name == "usb-client" else size)
            assert client.exchange(padded(SERIAL, name, size))[2:9] == b"SER-42\0"
            with raises("LIBUSB_ERROR_TIMEOUT" if name == "usb-client" else "timeout"):
                client.get(50)
            assert client.reopen()[0] == "SER-42"
            assert client.rounds(50, padded(PACKET_SIZE, name, size)) > 0
        assert client.process.returncode == 0
        usb = board.usb_closed()
        assert usb["out"] == usb["in"] == 52


@pytest.mark.parametrize("only,there,missing", [
    ("usb_v1_only", ["hid-client", "hid-client-libusb"], ["usb-client"]),
    ("usb_v2_only", ["usb-client"], ["hid-client", "hid-client-libusb"])])
def test_a_probe_with_one_interface(only, there, missing):
    with UsbBoard.start("m4", dap_packet=64, **{only: True}) as board:
        for name in there:
            with board.client(name) as client:
                client.open()
                assert client.exchange(padded(PACKET_SIZE, name))[:4] == b"\0\2\x40\0"
        for name in missing:
            with board.client(name) as client, raises("none"):
                client.open()


def test_replies_wait_in_order_and_a_full_probe_takes_no_more():
    with UsbBoard.start("m4", dap_count=3) as board, board.client("usb-client") as client:
        client.open()
        for i in (0xFF, 0x04, 0xFE):
            client.put(bytes([0x00, i]))
        with raises("LIBUSB_ERROR_TIMEOUT"):
            client.put(PACKET_SIZE, timeout_ms=50)
        assert client.get() == bytes([0, 2, 0, 2])
        assert client.get() == b"\0\x062.1.1\0"
        client.put(PACKET_SIZE)
        assert client.get() == bytes([0, 1, 3])
        assert client.get() == bytes([0, 2, 0, 2])


def test_a_request_longer_than_a_packet_is_refused():
    with UsbBoard.start("m4") as board, board.client("usb-client") as client:
        client.open()
        with raises("LIBUSB_ERROR_PIPE"):
            client.put(bytes(513))
        assert client.exchange(PACKET_SIZE) == bytes([0, 2, 0, 2])


def test_latency_of_requests_in_flight_overlaps():
    with UsbBoard.start("m4", usb_latency=100000) as board, board.client("usb-client") as client:
        client.open()

        def overlap():
            begin = time.monotonic()
            for _ in range(4):
                client.put(PACKET_SIZE)
            for _ in range(4):
                client.get()
            took = time.monotonic() - begin
            assert 0.1 <= took
            return took < 0.4

        wait_for(overlap, "four that are not delayed one after the other")  # each time other work may run in between
        assert client.rounds(3, PACKET_SIZE) >= 0.3


def pause(milliseconds):
    """DAP_Delay as often as that takes, in one packet."""
    parts = [50] * (milliseconds // 50)
    return bytes([0x7F, len(parts)]) + b"".join(bytes([0x09]) + (ms * 1000).to_bytes(2, "little") for ms in parts)


def test_the_host_is_served_while_a_packet_is_executed():
    with UsbBoard.start("m4", dap_count=2) as board, board.client("usb-client") as client:
        client.open()
        def is_served(milliseconds):
            client.put(PACKET_SIZE)
            client.put(pause(milliseconds))
            assert client.get() == bytes([0, 2, 0, 2])
            parts = bytes([0x7F, milliseconds // 50])
            try:
                assert client.get(50)[:2] == parts
            except ClientError as error:
                assert "LIBUSB_ERROR_TIMEOUT" in str(error) and client.get()[:2] == parts
                return True
            return False

        # A machine that is busy for that long shows nothing
        assert any(is_served(milliseconds) for milliseconds in (1500, 3000, 6000)), "it came only after the packet behind it"


def test_unplugged_while_a_packet_is_executed():
    with UsbBoard.start("m4", dap_count=2) as board, board.client("usb-client") as client:
        client.open()
        client.put(PACKET_SIZE)
        board.unplug(after=2)  # the next request and the reply to the last one, which goes while that is executed
        client.put(pause(1500))
        try:
            client.get()
        except ClientError as error:  # it was plugged in, and gone before it was examined
            assert "NO_DEVICE" in str(error)
        with gone("usb-client"):
            client.get()
        board.plug()
        client.reopen()
        assert client.exchange(PACKET_SIZE) == bytes([0, 2, 0, 2])
        assert board.usb()["out"] - board.usb()["in"] == 1  # nobody got the reply to what was cut short


@pytest.mark.parametrize("name", CLIENTS)
def test_unplugged_while_a_reply_is_waited_for(name):
    with UsbBoard.start("m4", dap_packet=64) as board, board.client(name) as client:
        client.open()
        client.send("in 60000")
        time.sleep(0.1)
        board.unplug()
        with gone(name):  # and not that the minute is over
            client.receive()
        with gone(name):
            client.put(padded(PACKET_SIZE, name))
        with board.client(name) as other, raises("none"):
            other.open()
        board.plug()
        with gone(name):  # what is open stays dead
            client.put(padded(PACKET_SIZE, name))
        client.reopen()
        assert client.exchange(padded(PACKET_SIZE, name))[:4] == b"\0\2\x40\0"
        assert board.usb()["generation"] == 2


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("transfers", [1, 2, 5])
def test_unplugged_after_a_number_of_transfers(name, transfers):
    request = padded(PACKET_SIZE, name)
    with UsbBoard.start("m4", dap_packet=64) as board, board.client(name) as client:
        client.open()
        client.exchange(request)
        before = board.usb()
        board.unplug(after=transfers)
        done = 0
        with gone(name):
            while True:
                client.put(request)
                done += 1
                client.get()
                done += 1
        after = board.usb()
        assert not after["plugged"]
        assert after["out"] + after["in"] - before["out"] - before["in"] == transfers
        # hidapi may be stopped with a reply that it has not seen yet
        assert done == transfers or (name != "usb-client" and done in (transfers - 1, transfers))
        board.plug()
        client.reopen()
        assert client.exchange(request)[:4] == b"\0\2\x40\0"


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_killed_while_it_waits_leaves_nothing(name):
    with UsbBoard.start("m4", dap_packet=64) as board:
        with board.client(name) as client:
            client.open()
            client.send("in 60000")
            time.sleep(0.1)
            assert board.usb()["open"] == 1
            client.process.kill()
        board.usb_closed()
        if name == "hid-client-libusb":  # it had taken the interface from the kernel and could not give it back
            board.unplug()
            board.plug()
        with board.client(name) as client:
            client.open()
            assert client.exchange(padded(PACKET_SIZE, name))[:4] == b"\0\2\x40\0"


@pytest.mark.parametrize("way", ["killed", "interrupted"])
def test_a_blocking_read_can_be_ended(way):
    """A plain read() of hidraw sleeps in the kernel until we answer."""
    program = ("import os, signal\n"
               "def stop(*_): raise SystemExit(5)\n"
               "signal.signal(signal.SIGTERM, stop)\n"
               "fd = os.open('/dev/hidraw0', os.O_RDWR)\n"
               "print('reading', flush=True)\n"
               "os.read(fd, 64)\n")
    with UsbBoard.start("m4") as board:
        process = subprocess.Popen(board.in_namespace([sys.executable, "-c", program]), stdout=subprocess.PIPE)
        assert process.stdout.readline() == b"reading\n"
        time.sleep(0.1)
        if way == "killed":
            process.kill()
        else:
            process.terminate()
        assert process.wait(WAIT) == (-9 if way == "killed" else 5)
        process.stdout.close()
        with board.client("hid-client") as client:
            client.open()
            assert client.exchange(PACKET_SIZE.ljust(512, b"\0"))[:4] == bytes([0, 2, 0, 2])


def test_an_interface_is_claimed_once():
    with UsbBoard.start("m4") as board, board.client("usb-client") as first, board.client("usb-client") as second:
        first.open()
        with raises("LIBUSB_ERROR_BUSY"):
            second.open()
        first.ask("close")
        second.reopen()
        assert second.exchange(PACKET_SIZE) == bytes([0, 2, 0, 2])


def test_hidapi_on_libusb_takes_the_interface_and_gives_it_back():
    with UsbBoard.start("m4", dap_packet=64) as board, board.client("hid-client") as kernel:
        kernel.open()
        with board.client("hid-client-libusb") as other:
            other.open()
            with gone("hid-client"):
                kernel.get(1000)
            with raises("none"):
                kernel.reopen()
        kernel.reopen()
        assert kernel.exchange(padded(PACKET_SIZE, "hid-client"))[:4] == b"\0\2\x40\0"


def test_bad_arguments_from_a_client():
    with UsbBoard.start("m4") as board:
        done = board.run([sys.executable, Path(__file__).with_name("usb_raw.py")])
        results = json.loads(done.stdout)
        assert results.pop("urb") == results.pop("claim") == results.pop("urb out") == "ok"
        assert {results.pop("reap one"), results.pop("reap other")} == {"ok", "EFAULT"}
        assert results.pop("many pending") == "ok"
        assert results == {
            "no memory behind an argument": "EFAULT",
            "claim: no memory": "EFAULT",
            "claim: no such interface": "ENOENT",
            "release: not claimed": "EINVAL",
            "urb: buffer nowhere": "EFAULT",
            "urb: negative length": "EINVAL",
            "urb: too long": "EINVAL",
            "urb: unknown flags": "EINVAL",
            "urb: no such endpoint": "ENOENT",
            "urb: the kernel's interface": "EBUSY",
            "urb: isochronous": "EINVAL",
            "urb: control without setup": "EINVAL",
            "urb: control says more than it has": "EINVAL",
            "control: no memory": "EFAULT",
            "control: data nowhere": "EFAULT",
            "control: stall": "EPIPE",
            "discard: never submitted": "EINVAL",
            "get driver: no memory": "EFAULT",
            "set interface: no such setting": "EINVAL",
            "disconnect and claim: no memory": "EFAULT",
            "unknown ioctl": "ENOTTY",
            "reap: nothing there": "EAGAIN",
            "too many pending": "ENOMEM",
        }
        with board.client("usb-client") as client:
            client.open()
            assert client.exchange(PACKET_SIZE) == bytes([0, 2, 0, 2])


@pytest.mark.parametrize("backend", ["usb_bulk", "hid"])
@pytest.mark.parametrize("chip", ["m4", "rp2040"])
def test_openocd(chip, backend, tmp_path):
    with UsbBoard.start(chip) as board, board.openocd(backend) as openocd:
        cpus = [openocd.target] + ([openocd.target + "1"] if chip == "rp2040" else [])
        for cpu in cpus:
            assert f"[{cpu}] Cortex-M{'4' if chip == 'm4' else '0+'} r0p1 processor detected" in openocd.output
        openocd("halt")
        assert board.state()["run"] == "halted"
        assert openocd.register("pc") == board.state()["pc"]
        # A hardware breakpoint and a step from it
        place = board.symbol("recurse")
        openocd.run_to(place)
        assert board.state()["pc"] == place
        before = board.state()["instructions"]
        openocd("step")
        assert board.state()["instructions"] == before + 1
        assert openocd.register("pc") == board.state()["pc"] != place
        # 64 KiB there and back
        data = random.Random(1).randbytes(65536)
        there, back = tmp_path / "there", tmp_path / "back"
        there.write_bytes(data)
        openocd(f"load_image {there} {RAM:#x} bin")
        assert board.read(RAM, len(data)) == data
        openocd(f"dump_image {back} {RAM:#x} {len(data)}")
        assert back.read_bytes() == data
        for cpu in cpus[1:]:
            openocd(f"targets {cpu}; halt")
            assert int(openocd(f"{cpu} get_reg pc").split()[-1], 0) == board.core(1).state()["pc"]


@pytest.mark.parametrize("backend", ["usb_bulk", "hid"])
def test_openocd_at_a_probe_that_goes_and_comes(backend):
    with UsbBoard.start("m4") as board:
        with board.openocd(backend) as openocd:
            openocd("halt")
            board.unplug(after=3)
            with pytest.raises(RuntimeError):
                for _ in range(10):
                    openocd.word(RAM)
                    openocd("poll")
        with pytest.raises(RuntimeError, match="did not start"):
            board.openocd(backend)
        board.plug()
        with board.openocd(backend) as openocd:
            openocd("halt")
            assert openocd.word(0x08000000) == board.read_word(0x08000000)


def test_pyocd():
    with UsbBoard.start("m4") as board:
        old = shutil.which("pyocd-tool")  # as Debian 12 has it
        assert "VIRTUAL1" in board.run([old or "pyocd", "list"]).stdout
        board.run_for(1000)
        read = ["read32", "0x08000000", "64"]
        said = board.run([*([old] if old else ["pyocd", "commander"]), "-t", "cortex_m", "--halt",
                          *(read if old else ["-c", " ".join(read)])]).stdout
        assert board.usb()["out"] > 0
        words = [int(word, 16) for line in said.splitlines() if line[8:11] == ":  " for word in line[11:].split()[:4]]
        memory = board.read(0x08000000, 64)
        assert words == [int.from_bytes(memory[i:i + 4], "little") for i in range(0, 64, 4)], said
