"""What `make bench` prints of `delta --no-halt`: hits a second by each sink, next to what its wire allows. The program calls a
short function more and more often; a row is the most calls a second of which 99 % were hits."""
import json
import os
import subprocess
import tempfile
from pathlib import Path

import harness
from bench_dap import TOOL
from board import Board
from own_program import START, built
from usb import UsbBoard, usb_available

CLOCK, SECONDS = 12_000_000, 2
PAUSES = (3000, 1000, 300, 100, 30, 10)  # rounds of a loop between two calls
FUNCTION = START + "APART void work(void) { for (uint32_t i = 0; i < 10; i++) sink += i; }\n" \
                   "void run(void) { for (;; round_count++) { work(); for (volatile uint32_t i = 0; i < PAUSE; i++); } }\n"
CONFIG = os.path.join(harness.ROOT, "openocd-cfg/boards/virtual-dap.cfg")
CALL_BYTES = 10  # two matches of two bytes, each with a timestamp of three
SWO = CLOCK / 2 / 10  # bytes a second: the fastest baud that a probe takes is half of this clock
FIFO = 4 * 10_000_000 / 46  # a word for each transfer of 46 bits at 10 MHz
# Name, chip, how the tool reaches it, options of the board, bytes a second
SINKS = [("RP2350's FIFO", "rp2350", "tcp", {"dap_exact": True, "dap_wire": 10_000_000}, FIFO),
         ("DAP_SWO_Data, TCP", "m33", "tcp", {"dap_swo": "uart"}, SWO),
         ("DAP_SWO_Data, USB", "m33", "usb", {"dap_swo": "uart"}, SWO),
         ("endpoint, USB", "m33", "usb", {"dap_swo": "uart,stream"}, SWO),
         ("OpenOCD, USB", "m33", "openocd", {"dap_swo": "uart"}, SWO)]


def words_for(board, way):
    if way == "tcp":
        return ["-p", f"cmsis-dap-tcp:127.0.0.1:{board.dap_port}", "--transport", "swd"]
    return ["-p", "cmsis-dap"] if way == "usb" else ["-c", "set BOARD_CHIP m4; set DAP_BACKEND usb_bulk", "-f", CONFIG]


def run(sink, elf):
    """Calls and hits a second, their share, and how many calls' bytes the wire can carry in a second. None: nothing arrived."""
    _, chip, way, options, wire = sink
    kind, extra = (Board, {}) if way == "tcp" else (UsbBoard, {"usb_v2_only": True})
    with kind.start(chip, "free", firmware=elf, clock=CLOCK, **options, **extra) as board:
        board.command("trace on")
        words = [TOOL, "--elf", elf, *words_for(board, way), "--freq", str(CLOCK), "delta", "work", "--no-halt", "-j", "--for", f"{SECONDS}s"]
        done = subprocess.run(board.in_namespace(words) if way != "tcp" else words, text=True, capture_output=True, check=False)
        last = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}
        if not last.get("seconds") or not last["calls"]["seen"]:
            return None
        calls = last["calls"]
        return calls["seen"] / last["seconds"], calls["exact"] / last["seconds"], calls["exact"] / calls["seen"], wire / CALL_BYTES


def show(name, best, most):
    calls, hits, share, allowed = best
    print(f"  {name:26} {calls:9.0f} {hits:9.0f} {100 * share:7.1f} % {allowed:9.0f}   ({most[0]:.0f} calls: {100 * most[2]:.1f} %)")


def main():
    if usb_available() is not None:  # bench_dap says why
        return
    print("\ndelta --no-halt: the most calls a second of which 99 % are hits, what the wire allows, and the next rate that was tried")
    with tempfile.TemporaryDirectory() as folder:
        elves = {}
        for chip, pause in ((chip, pause) for chip in ("m33", "rp2350") for pause in PAUSES):
            place = Path(folder) / f"{chip}-{pause}"
            place.mkdir()
            elves[chip, pause] = built(place, chip, FUNCTION, f"-DPAUSE={pause}")
        for sink in SINKS:
            best = most = None
            for pause in PAUSES:
                most = run(sink, elves[sink[1], pause])
                if most is None or most[2] < 0.99:
                    break
                best = most
            if best or most:
                show(sink[0], best or most, most or best)
            else:
                print(f"  {sink[0]:26} nothing arrived")


if __name__ == "__main__":
    main()
