"""`irq` killed at any moment, on each way out of the chip: after `restore` all is as before."""
import os
import random
import time

import pytest

from harness import SOAK, Place
from test_no_halt import CLOCK, trace_registers
from test_trace_openocd import CHAIN, NEST, OWN, OcdPlace
from usb import usb_available

KILLS = 50 if SOAK else 2
WAYS = {"fifo": ("rp2350/swd", {"dap_wire": 10_000_000}), "ram": ("rp2350/swd", {"dap_wire": 10_000_000}), "polled": ("m33/swd", {"dap_swo": "uart"}),
        "endpoint": ("m33/v2", {"dap_swo": "uart,stream"}), "openocd": ("m4", {"commands": [OWN]})}


def begin(way):
    where, options = WAYS[way]
    if way in ("endpoint", "openocd") and usb_available():
        pytest.skip(usb_available())
    place = OcdPlace(where, "irq", **options) if way == "openocd" else Place(where, "irq", clock=CLOCK, **options)
    place.board.write_word("what", NEST | CHAIN)
    return place


@pytest.mark.parametrize("way", WAYS)
def test_killed_at_any_moment(way, tmp_path):
    moments = random.Random(f"{os.environ['PMU_SEED']} {way}")
    with begin(way) as place:
        before = trace_registers(place)
        for _ in range(KILLS):
            process = place.start("irq", "--for", "60s", "-q", "-o", tmp_path / "out", *(["--trace-ram", "*0x20070000:0x1000"] if way == "ram" else []))
            time.sleep(moments.uniform(0, 2.5))
            process.kill()
            process.communicate()
            result = place.run("restore", elf=False)
            assert trace_registers(place) == before, result.err
            assert place.board.state()["halts"] == 0
        assert place.run("irq", "--for", "300ms", "-q", "-o", tmp_path / "out").code in (0, 5)
        assert trace_registers(place) == before
