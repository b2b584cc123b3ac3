"""What waits for real chips: the acceptance script, run against the virtual board (its rp2040; its m4 for STM32F4 and nRF52840, its
a9 for Zynq-7000, its a53 and a53in32 for Raspberry Pi 3 in either state), and the firmware of each chip, as far as it can be examined without the chip."""
import argparse
import json
import os
import re
import signal
import struct
import subprocess
import sys
import zipfile

import pytest

import harness
from board import symbols_of
from harness import BUILD, ROOT, SOAK, WAIT, Place, wait_for
from rp2040js import FOLDER, rp2040js_missing

sys.path.insert(0, os.path.join(ROOT, "tests", "hardware"))
import accept  # noqa: E402
import known  # noqa: E402

pytestmark = pytest.mark.any_fifth

SCRIPT = os.path.join(ROOT, "tests", "hardware", "accept.sh")
WAYS = ["rp2040/swd", "rp2350/swd", "m4/jtag", "a9/swd", "a53/swd", "m4/v2", "rp2040/v1", "a53/jtag", "a9/v2", "rp2040", "a53", "a53in32/swd", "r52/swd", "r52"]
HALT_COST = 20
STEP = (5 if SOAK else 1) * WAIT
STEPS_LAST = 10 * STEP
STEPS = [name for name, _ in accept.Acceptance.STEPS]
# Round after round, what the board's cores take: the M4's by its plain model, an instruction a cycle on the others
OF_M4 = {"plain": 2, "nop": 3, "loads": 8, "stores": 8, "taken": 12, "call": 12, "loop": 399, "in_sram": 11}
OF_OTHERS = {"nops": 10, "loads": 4, "taken": 4, "call": 4, "loop": 201, "in_sram": 9}
TRUTH = {"m4": OF_M4, "rp2350": OF_M4, **dict.fromkeys(("a9", "a53", "a53in32", "r52"), OF_OTHERS)}


def image(chip):
    return os.path.join(BUILD, "hardware", f"{chip}.elf")


def start(place, chip, output, *options, elf=None):
    words = [SCRIPT, "--tool", harness.RELEASE, "-o", str(output), "--limit", str(STEP), *options, *(["--elf", elf] if elf else []),
             place.probe_words()[1], chip, *place.probe_words()[2:]]
    words = place.board.in_namespace(words) if place.usb else words
    return subprocess.Popen(words, cwd=output.parent, text=True, env=harness.tool_environment(), stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def accepted(place, chip, output, *options, code=0, **kwargs):
    """What it prints, and the file that it writes."""
    process = start(place, chip, output, *options, **kwargs)
    out, err = process.communicate(timeout=STEPS_LAST)
    assert process.returncode == code, out + err
    report = json.loads(output.read_text())
    assert report["schema"] == "pmu-probe-acceptance/1" and [one["step"] for one in report["steps"]] == STEPS
    return out, {one["step"]: one for one in report["steps"]}


def place_of(way, **options):
    chip = way.partition("/")[0]
    return Place(way, firmware=image(f"virtual-{chip}"), **options)


def check_wires(folder, elf):
    """Each run is on file, and runs again from there."""
    with zipfile.ZipFile(folder / "file.wires.zip") as packed:
        wires = {name: packed.read(name).decode() for name in packed.namelist()}
    assert len(wires) > 15 and not any("VIRTUAL1" in text for text in wires.values())
    name = next(name for name in sorted(wires) if "-delta." in name)
    (folder / name).write_text(wires[name])
    words = re.search(r"^command .* delta (.*) --wire", wires[name], re.M)[1].split()
    again = harness.run_tool("--elf", elf, "-p", f"replay:{folder / name}", "delta", *words)
    assert again.code == 0 and again.summary["hits"] > 0, again.err


@pytest.mark.any_row
@pytest.mark.parametrize("way", WAYS)
def test_all_of_it(way, tmp_path):
    chip = way.partition("/")[0]
    with place_of(way, halt_cost=HALT_COST) as place:
        out, steps = accepted(place, f"virtual-{chip}", tmp_path / "file.json")
        assert "18 steps, none failed" in out and all(step["ok"] for step in steps.values())
        for where in ("flash", "RAM"):
            assert steps[f"re-hits in {where}"]["figures"] == {"overhead": HALT_COST, "min": HALT_COST, "max": HALT_COST, "rehits": 32,
                                                               "plus_minus": 0}
        sequences = steps["article"]["figures"] | steps["sequences"]["figures"]
        assert set(sequences) == set(known.OWN) - {"empty"}
        for name, figures in sequences.items():
            truth = TRUTH.get(chip, {}).get(name, figures["published"] and figures["published"][0][0])
            assert figures["min"] == figures["max"] == figures["own"] and truth in (None, figures["median"]), (name, figures)
            assert re.search(rf"^{name} +{figures['median']} ", out, re.M)
        for kind in ("START END", "FUNCTION"):
            assert steps[f"speed of {kind}"]["figures"]["hits_per_second"] > 0
            packets = steps[f"packets of {kind}"]["figures"]
            assert packets["of"] == ("packets" if place.wires else "Tcl commands") and 0 < packets["a_hit"] < 20
        assert any(line.startswith("put back ") for line in steps["restore"]["figures"]["removed"])
        assert steps["clock"]["figures"]["told_hz"] == 12000000
        assert steps["samples"]["figures"]["samples"] > 20 and 0.9 < sum(steps["samples"]["figures"]["shares"].values()) < 1.01
        assert not place.wires or steps["connect"]["figures"]["probe"].startswith("pmu-probe Virtual CMSIS-DAP, CMSIS-DAP 2")
        assert steps["debug unit"]["figures"].get("rounds", 0) > 0 or chip != "m4"
        assert steps["memory"]["figures"].get("rounds", 0) > 0 or known.CHIPS[f"virtual-{chip}"].in_registers
        assert "VIRTUAL1" not in (tmp_path / "file.json").read_text()
        check_wires(tmp_path, image(f"virtual-{chip}"))


@pytest.mark.soak
def test_an_openocd_of_its_own(tmp_path):
    with place_of("a9/swd") as place:
        words = [SCRIPT, "-o", str(tmp_path / "file.json"), "--limit", str(STEP), os.path.join(ROOT, "openocd-cfg/boards/virtual-a9.cfg"),
                 "virtual-a9", "-c", f"set BOARD_PORT {place.board.jtag_port}"]
        done = subprocess.run(words, text=True, capture_output=True, timeout=STEPS_LAST, check=False)
        assert done.returncode == 0 and "18 steps, none failed" in done.stdout, done.stdout + done.stderr


def test_memory_that_is_read_from_below_a_cache_is_found(tmp_path):
    """And so are bits that stay in DBGMCU_CR: of an OpenOCD that we have started, they are a failure."""
    with place_of("m4/swd") as place:
        options = argparse.Namespace(chip="virtual-m4", more=[], probe=place.probe_words()[1], output=str(tmp_path / "f.json"), tool=harness.RELEASE,
                                     elf=image("virtual-m4"), limit=STEP)
        tried = accept.Acceptance(options)
        assert tried.memory()[0]["rounds"] > 0 and tried.debug_unit()[0]["rounds"] > 0
        tried.delta = lambda *words: argparse.Namespace(summary={"at_max": {words[-1]: 5}})
        assert tried.debug_unit()[0]["rounds"] == 0
        tried.reached[0] = "-f"
        for step in (tried.memory, tried.debug_unit):
            with pytest.raises(accept.Failed):
                step()


def test_what_is_sent_is_counted():
    with place_of("m4/swd") as place:
        before = place.board.command("dap")["packets"]
        words = [harness.TOOL, "--elf", image("virtual-m4"), *place.probe_words(), "delta", "work_by_data", "-r", "100", "-vv"]
        result = harness.finish_tool(harness.start_tool(words))
        log = accept.SENT.findall(result.err)
        assert sum(way == ">" for _, _, way in log) == place.board.command("dap")["packets"] - before
        assert len(accept.round_trips(log)) == len(log) / 2 and min(accept.round_trips(log)) > 0


@pytest.mark.soak
def test_one_failure_does_not_hide_the_others(tmp_path):
    """An M4 with its program, although an RP2040 is expected."""
    with place_of("m4/swd") as place:
        out, steps = accepted(place, "virtual-rp2040", tmp_path / "file.json", code=1, elf=image("virtual-m4"))
        assert {name for name, step in steps.items() if not step["ok"]} == {"connect", "sequences"}
        assert "Cortex-M4 r0p1 answered; virtual-rp2040 has a Cortex-M0+" in steps["connect"]["why"]
        assert steps["sequences"]["why"] == "taken: 12 cycles, published 8; call: 12 cycles, published 10; " \
                                            "loop: 399 cycles, published 300; in_sram: 11 cycles, published 10"
        assert re.search(r"^loop +399 .* 300 +differs$", out, re.M) and f"{len(STEPS)} steps, failed: connect, sequences" in out
        assert steps["sequences"]["runs"][-1]["hits"] == [11] * accept.HITS_OF_SEQUENCE
        assert json.loads((tmp_path / "file.json").read_text())["sequences"]["loop"]["as_published"] is False


def test_another_program_on_the_chip(tmp_path):
    with Place("rp2040/swd") as place:
        out, steps = accepted(place, "virtual-rp2040", tmp_path / "file.json", code=1)
        assert steps["connect"]["ok"] and steps["doctor"]["ok"] and steps["traces"]["ok"] and f"{len(STEPS)} steps, failed: " in out
        for name in ("re-hits in flash", "article", "sequences", "speed of FUNCTION", "packets of FUNCTION", "restore"):
            assert "the target does not run this ELF" in steps[name]["why"], steps[name]["why"]


def test_ctrl_c_leaves_a_whole_file(tmp_path):
    with place_of("rp2040/swd") as place:
        output = tmp_path / "file.json"
        process = start(place, "virtual-rp2040", output)
        for line in process.stdout:
            if line.startswith("re-hits in flash"):
                break
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=WAIT)
        assert process.returncode == 1 and "(interrupted)" in out, out + err
        steps = {one["step"]: one for one in json.loads(output.read_text())["steps"]}
        assert list(steps) == STEPS and steps["connect"]["ok"] and steps["traces"]["why"] == "not run"
        wait_for(lambda: not any(word & 1 for word in place.board.state()["fp_comp"]), "the target to be as it was")


# --- a tool that does not end

LIMIT = 0.1
NEVER = "trap '' INT; while :; do sleep 1; done"
HELD = "setsid sleep 3 & exec sleep 3"  # by its own child, which keeps its output open


def with_tool(tmp_path, body):
    tool = tmp_path / "tool"
    tool.write_text(f"#!/bin/sh\n{body}\n")
    tool.chmod(0o755)
    return accept.Acceptance(argparse.Namespace(
        tool=str(tool), elf="none", chip="rp2040", probe="cmsis-dap", more=[], limit=LIMIT, commit=None, output=str(tmp_path / "file.json"),
        started=accept.datetime.datetime.now(accept.datetime.timezone.utc)))


@pytest.mark.parametrize("body", ["sleep 600", NEVER, HELD])
def test_nothing_hangs(body, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(accept, "ENDS", tuple((number, LIMIT) for number, _ in accept.ENDS))
    acceptance = with_tool(tmp_path, body)
    assert acceptance.run_all() == 1
    steps = json.loads((tmp_path / "file.json").read_text())["steps"]
    assert [one["step"] for one in steps] == STEPS and [one["step"] for one in steps if one["ok"]] == ["debug unit"]  # an RP2040 has none
    assert steps[0]["why"] == f"no end within {LIMIT} s" and f"no hits within {LIMIT} s" in steps[STEPS.index("restore")]["why"]
    assert f"{len(STEPS)} steps, failed: connect, doctor, " in capsys.readouterr().out


@pytest.mark.parametrize("body, why", [
    ("echo nonsense; exit 0", "no core was found"),
    ("echo 'pmu-probe: no probe' >&2; echo 'Plug one in.' >&2; exit 3", "exit 3: no probe Plug one in."),
    ("exit 99", "exit 99: no message"),
    ("echo '{\"type\":\"core\"}'", "not understood: KeyError 'name'"),
    ("kill -SEGV $$", "exit -11: no message"),
])
def test_each_failure_has_its_reason(body, why, tmp_path):
    acceptance = with_tool(tmp_path, body)
    acceptance.options.limit = WAIT
    acceptance.step(*accept.Acceptance.STEPS[0])
    assert json.loads((tmp_path / "file.json").read_text())["steps"][0]["why"] == why


@pytest.mark.parametrize("probe, option", [("rpi3", "-f"), ("zynq7000.cfg", "-f"), ("mine.cfg", "-f"), ("openocd", "-p"), ("cmsis-dap:1", "-p"),
                                           ("gdb:/dev/ttyACM0", "-p")])
def test_a_board_file_has_its_short_name(probe, option, tmp_path):
    options = argparse.Namespace(chip="rpi3", more=["--speed", "1M"], probe=probe, output=str(tmp_path / "f.json"))
    assert accept.Acceptance(options).reached == ["--speed", "1M", option, probe]


@pytest.mark.parametrize("words, why", [
    (["cmsis-dap", "rp2041"], "invalid choice: 'rp2041'"),
    (["cmsis-dap"], "CHIP"),
    (["--elf", "/nowhere/a.elf", "cmsis-dap", "rp2040"], "/nowhere/a.elf is not there: make hardware-firmware"),
    (["--tool", "/nowhere/tool", "cmsis-dap", "rp2040"], "/nowhere/tool is not there: make"),
    (["--limit", "0", "cmsis-dap", "rp2040"], "--limit"),
    (["-o", "/nowhere/file.json", "cmsis-dap", "rp2040"], "/nowhere/file.json cannot be written"),
])
def test_usage(words, why, tmp_path):
    done = subprocess.run([SCRIPT, "--tool", harness.RELEASE, *words], cwd=tmp_path, text=True, capture_output=True, timeout=WAIT, check=False)
    assert done.returncode == 2 and why in done.stderr and done.stdout == ""


# --- the firmware

CORTEX_M = {"rp2040": (0x10000100, 0x20000000), "rp2350": (0x10000000, 0x20000000), "stm32f4": (0x08000000, 0x20000000),
            "stm32h7": (0x08000000, 0x24000000), "nrf52840": (0, 0x20000000)}
CHIPS = [name for name in known.CHIPS if not name.startswith("virtual-")]
RAM_SIZE = 0x10000


def bytes_of(chip, tmp_path, *options):
    out = tmp_path / "image.bin"
    tool = "aarch64-linux-gnu-objcopy" if chip == "rpi3" else "arm-none-eabi-objcopy"
    subprocess.run([tool, "-O", "binary", *options, image(chip), str(out)], check=True)
    return out.read_bytes()


def symbol(chip, name):
    return symbols_of("aarch64-linux-gnu-nm" if chip == "rpi3" else "arm-none-eabi-nm", image(chip))[name]


def boot_crc(data):
    """The boot ROM's: polynomial 0x04C11DB7, from all ones, highest bit first."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte << 24
        for _ in range(8):
            crc = crc << 1 ^ (0x104C11DB7 if crc >> 31 else 0)
    return crc


def test_there_is_firmware_for_each_chip():
    assert {f"{chip}.elf" for chip in known.CHIPS} <= set(os.listdir(os.path.join(BUILD, "hardware")))
    kernel = os.path.join(BUILD, "hardware", "kernel8.img")
    assert struct.unpack("<I", open(kernel, "rb").read(4))[0] == 0xD53800A0  # MRS x0, MPIDR_EL1
    kernel = os.path.join(BUILD, "hardware", "kernel7.img")
    assert struct.unpack("<I", open(kernel, "rb").read(4))[0] >> 24 == 0xEA  # the vector of a reset: B


@pytest.mark.parametrize("chip", CORTEX_M)
def test_vectors(chip, tmp_path):
    flash, ram = CORTEX_M[chip]
    data = bytes_of(chip, tmp_path, "-R", ".boot2")
    stack, *vectors = struct.unpack("<16I", data[:64])
    assert stack == ram + RAM_SIZE and vectors[0] == symbol(chip, "Reset_Handler") | 1
    assert all(vector & 1 and flash <= vector < flash + len(data) for vector in vectors)
    assert ram <= symbol(chip, "words") < stack


def test_the_rp2040_s_second_stage(tmp_path):
    stage = bytes_of("rp2040", tmp_path, "-j", ".boot2")
    assert len(stage) == 256 and struct.unpack("<I", stage[252:])[0] == boot_crc(stage[:252])
    assert symbol("rp2040", "Reset_Handler") >= 0x10000100


def test_the_rp2350_s_image_definition(tmp_path):
    data = bytes_of("rp2350", tmp_path)
    at = data.find(struct.pack("<I", 0xFFFFDED3))
    assert 64 <= at < 4096 and at % 4 == 0
    # An executable for Arm in Secure state; the last item, one word before it; no other block
    assert struct.unpack("<BBHBHBII", data[at + 4:at + 20]) == (0x42, 1, 0x1021, 0xFF, 1, 0, 0, 0xAB123579)


QEMU = {"stm32f4": ["qemu-system-arm", "-M", "netduinoplus2", "-kernel", image("stm32f4")],
        "zynq7000": ["qemu-system-arm", "-M", "xilinx-zynq-a9", "-device", f"loader,file={image('zynq7000')},cpu-num=0"],
        "rpi3": ["qemu-system-aarch64", "-M", "raspi3b", "-kernel", os.path.join(BUILD, "hardware", "kernel8.img")],
        # A Raspberry Pi 2, which has Armv7 cores: QEMU has none with an A53 in AArch32 state
        "rpi3in32": ["qemu-system-arm", "-M", "raspi2b", "-kernel", image("rpi3in32")]}


@pytest.mark.any_row
@pytest.mark.parametrize("chip", QEMU)
def test_it_starts_on_qemu(chip):
    """Another model of the chip, from where its boot ROM ends."""
    with subprocess.Popen([*QEMU[chip], "-display", "none", "-serial", "none", "-qmp", "stdio"], text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as qemu:
        def ask(execute, **arguments):
            qemu.stdin.write(json.dumps({"execute": execute, "arguments": arguments}) + "\n")
            qemu.stdin.flush()
            for line in qemu.stdout:
                reply = json.loads(line)
                if "return" in reply or "error" in reply:
                    return reply["return"]
            raise AssertionError("QEMU has ended")

        def rounds():
            return int(ask("human-monitor-command", **{"command-line": f"xp /1wx {symbol(chip, 'round_count'):#x}"}).split()[-1], 16)
        try:
            ask("qmp_capabilities")
            wait_for(lambda: rounds() > 2, "the program's rounds")
        finally:
            qemu.kill()


def test_the_rp2040_starts_from_its_second_stage(tmp_path):
    why = rp2040js_missing()
    if why is not None:
        pytest.skip(why)
    flash = tmp_path / "flash.bin"
    flash.write_bytes(bytes_of("rp2040", tmp_path))
    done = subprocess.run(["node", os.path.join(ROOT, "tests", "system", "rp2040js_boot.mjs"), os.path.abspath(FOLDER), str(flash),
                           hex(symbol("rp2040", "round_count")), "200000"], text=True, capture_output=True, timeout=WAIT, check=True)
    chip = json.loads(done.stdout)
    assert chip["word"] > 2 and chip["vtor"] == 0x10000100
    assert chip["ssi"] == [0x001F0300, 1, 0x03000218]  # 03h, on
    assert chip["clocks"] == [1 << 2, 1] and chip["tick"] & 1 << 9  # from the crystal; the timer's tick
