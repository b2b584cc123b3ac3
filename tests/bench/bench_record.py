"""What `make bench` prints of `record`: samples a packet, samples a second and how busy the wire is, next to OpenOCD's `profile`
on the same emulated probe, one after the other."""
import json
import os
import statistics
import struct
import subprocess
import tempfile
import time

import harness
from board import OpenOcd
from bench_dap import PROBES, ROUNDS, TOOL
from usb import UsbBoard, usb_available

CHIPS = ("m4", "a9", "a53")  # OpenOCD reads the PC of m4 while it runs, and halts a9 and a53 for each sample
SECONDS = 3
AIMS = {("m4", "64"): 15, ("m4", "512"): 127}  # samples a packet
GMON_HEAD, GMON_HISTOGRAM = 20, 1 + 4 * 4 + 16  # gmon_out.h of binutils: a tag, low and high PC, bins, rate, a dimension


class Figures:
    """Of samples, packets, seconds and the wire's busy seconds."""

    def __init__(self, samples, packets, seconds, busy):
        self.a_packet, self.a_second, self.busy = samples / packets, samples / seconds, 100 * busy / seconds


def spent(board, before=None):
    now = board.command("dap")
    return {key: now[key] - (before[key] if before else 0) for key in ("packets", "busy_us")}


def record(board, folder, seconds):
    """Of a long run without a short one, so that connecting does not count."""
    path, before = os.path.join(folder, f"{seconds}.jsonl"), spent(board)
    subprocess.run(board.in_namespace([TOOL, "-q", "-p", "cmsis-dap", "--elf", board.elf, "record", "--for", f"{seconds}s", "-o",
                                       path]), text=True, capture_output=True, check=True)
    end = json.loads(open(path, encoding="utf-8").read().splitlines()[-1])
    return end["samples"], spent(board, before), end["elapsed_s"]


def tool_figures(board, folder):
    (few, cheap, short), (many, dear, long) = (record(board, folder, seconds) for seconds in (1, 1 + SECONDS))
    return Figures(many - few, dear["packets"] - cheap["packets"], long - short, (dear["busy_us"] - cheap["busy_us"]) / 1e6)


def samples_of(path):
    data = open(path, "rb").read()
    _, low, high, bins = struct.unpack_from("<B3I", data, GMON_HEAD)
    assert data[:4] == b"gmon" and low < high
    return sum(struct.unpack_from(f"<{bins}H", data, GMON_HEAD + GMON_HISTOGRAM))


def openocd(board):
    """The files of A cores take the probe if no port of the board is set."""
    own = os.path.join(harness.ROOT, "openocd-cfg", "boards", f"virtual-{board.chip}.cfg")
    if not os.path.exists(own):
        return board.openocd("usb_bulk")
    return OpenOcd(board, config=own, config_first="unset BOARD_PORT", prefix=board.in_namespace([]))


def openocd_figures(board, folder):
    path = os.path.join(folder, "gmon.out")
    with openocd(board) as server:
        before, begun = spent(board), time.monotonic()
        server(f"profile {SECONDS} {path}")
        seconds, after = time.monotonic() - begun, spent(board, before)
    return Figures(samples_of(path), after["packets"], seconds, after["busy_us"] / 1e6)


def show(name, rows, aim=None):
    columns = [[getattr(row, field) for row in rows] for field in ("a_packet", "a_second", "busy")]
    packet, rate, busy = (statistics.median(column) for column in columns)
    print(f"    {name:22} {packet:8.2f} {rate:10.0f}   ({min(columns[1]):.0f}, {max(columns[1]):.0f}) {busy:8.1f} %"
          + (f"   (aim: {aim} a packet)" if aim else ""))


def main():
    if usb_available() is not None:  # bench_dap says why
        return
    print(f"\nSamples of the PC, SWD 10 MHz: samples a packet, samples a second (min, max), the wire is busy; median of {ROUNDS}")
    for chip in CHIPS:
        for title, options in PROBES.items():
            rows = {"record": [], "OpenOCD's profile": []}
            for _ in range(ROUNDS):
                with UsbBoard.start(chip, "free", usb_v2_only=True, cpu=0, dap_count=2, **options) as board, \
                        tempfile.TemporaryDirectory() as folder:
                    harness.wait_for(lambda b=board: b.read_word("round_count") > 0, "the firmware")
                    board.write_word("scenario", harness.WORK_BY_DATA)
                    rows["record"].append(tool_figures(board, folder))
                    rows["OpenOCD's profile"].append(openocd_figures(board, folder))
            print(f"  {chip}, {title}")
            for name, figures in rows.items():
                show(name, figures, AIMS.get((chip, title.split()[0])) if name == "record" else None)
            ratios = [ours.a_second / theirs.a_second for ours, theirs in zip(*rows.values())]
            print(f"    {'over it':22} {statistics.median(ratios):19.1f} times as many a second")
