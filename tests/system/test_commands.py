"""probes, info, watch, an OpenOCD of our own, and the ways to reach an adapter."""
import json
import os
import pty
import re
import select
import sys

import pytest

from harness import (CLOSED_PORT, DAP_WAYS, NOWHERE, ROOT, TOOL, WORK_BY_DATA, ARTICLE_PLAIN, Place, WAIT, finish_tool, passages, returned, run_tool,
                     start_tool, unfolded)
from usb import UsbBoard, UsbNamespace, usb_available
from usb_tree import plug_in

CHIPS = ["rp2040", "m4"]
needs_usb = pytest.mark.skipif(usb_available() is not None, reason=str(usb_available()))
NAMES = {"rp2040": "Cortex-M0+ r0p1", "rp2350": "Cortex-M33 r1p0", "m4": "Cortex-M4 r0p1"}


@pytest.mark.parametrize("chip", CHIPS)
def test_probes_and_info(chip):
    with Place(chip, "free", WORK_BY_DATA) as place:
        before = place.board.state()
        result = place.run("probes", elf=False)
        assert result.code == 0 and "virtual.cpu" in result.out and "cortex_m" in result.out
        place.server(f"bp {place.symbol('ping'):#x} 2 hw")
        result = place.run("info")
        assert result.code == 0
        assert NAMES[chip] in result.out and "running" in result.out and "12 MHz" in result.out
        assert re.search(r"breakpoints\s+(4|6), in use: .*ping", result.out)
        assert "SysTick, 24 bits" in result.out
        place.server(f"rbp {place.symbol('ping'):#x}")
        after = place.board.state()
        for name in ("demcr", "dhcsr", "dwt_ctrl", "syst_rvr"):
            assert after[name] == before[name]


def test_info_without_elf_names_addresses():
    with Place("rp2040", "free", WORK_BY_DATA) as place:
        place.server.run_to(place.symbol("work_by_data"))
        result = place.run("info", elf=False)
        assert f"halted at 0x{place.symbol('work_by_data'):08x}" in result.out.lower()


@pytest.mark.parametrize("chip", CHIPS)
def test_watch_follows_the_counter(chip):
    with Place(chip, "free", WORK_BY_DATA) as place:
        begin = place.board.state()["counted"]
        result = place.run("watch", "-j", "-I", 100, "--for", "1s")
        end = place.board.state()["counted"]
        samples = [line for line in result.lines if line["type"] == "sample"]
        assert result.code == 0 and 1 <= len(samples) <= 10
        counts = [next(iter(sample["columns"].values()))["count"] for sample in samples]
        assert all(sample["samples"] >= 1 for sample in samples), "each interval has a sample"
        total = next(iter(result.summary["columns"].values()))["count"]
        assert 0 < total == sum(counts) <= end - begin
        text = place.run("watch", "-I", "50ms", "--for", "200ms")
        assert text.code == 0 and 1 <= len(re.findall(r"total", text.out)) <= 4


def test_own_openocd():
    with Place("m4", "free", ARTICLE_PLAIN) as place:
        place.server.kill()
        words = ["-c", f"set BOARD_PORT {place.board.jtag_port}",
                 "-f", os.path.join(ROOT, "openocd-cfg/boards/virtual.cfg"), "--elf", place.elf]
        result = run_tool(*words, "delta", "-j", "plain_first", "plain_second", "-r", 20)
        assert result.code == 0, result.err
        assert len(result.hits) == 20
        # gone with the tool: the board's one JTAG client is free for the next
        again = run_tool(*words, "info")
        assert again.code == 0


HIDE = "foreach d [dap names] { rename $d {} }; rename dap {}"


@pytest.mark.parametrize("chip", CHIPS)
def test_hla_like_session(chip):
    """An OpenOCD without `apreg` and `mem_ap` offers only memory access through the core target."""
    with Place(chip, "free", WORK_BY_DATA) as place:
        place.server(HIDE)
        with pytest.raises(RuntimeError):
            place.server("virtual.dap apreg 0 0xfc")
        place.board.watch(NOWHERE)
        result = place.run("delta", "-j", "work_by_data", "-r", 200)
        assert result.code in (0, 5), result.err  # without the access port the board cannot say how its clock runs
        truth = passages(place.board.log(), place.symbol("work_by_data"), returned)
        assert result.cycles == [passage.cycles for passage in truth[:200]]


def test_mem_ap_is_used_when_there_is_one():
    with Place("rp2040", "free", WORK_BY_DATA,
               commands=["target create virtual.mem mem_ap -dap virtual.dap -ap-num 0", "targets virtual.cpu"]) as place:
        result = place.delta("work_by_data", "-r", 50)
        truth = passages(place.board.log(), place.symbol("work_by_data"), returned)
        assert result.cycles == [passage.cycles for passage in truth[:50]]


def on_terminal(place, *words, **environment):
    """What a terminal is sent, by standard output and standard error."""
    master, slave = pty.openpty()
    environment = {"TERM": "xterm", **environment}
    process = start_tool(place.words(*[str(word) for word in words]), environment, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    shown = b""
    while process.poll() is None or select.select([master], [], [], 0)[0]:
        if not select.select([master], [], [], 0.1)[0]:
            continue
        try:
            shown += os.read(master, 65536)
        except OSError:
            break
    process.wait(WAIT)
    os.close(master)
    return shown.decode(errors="replace")


def test_progress_on_a_terminal_only():
    with Place("rp2040", "free", WORK_BY_DATA) as place:
        quiet = place.run("delta", "never_called", "--timeout", "1.6")
        assert "waiting" not in quiet.err
        shown = on_terminal(place, "delta", "never_called", "--timeout", "1.6", "-q")
        assert "waiting" not in shown and "connecting" not in shown and "was not reached" in shown
        assert " left" not in on_terminal(place, "stat", "--for", "1.5s", "-q")
        shown = on_terminal(place, "delta", "never_called", "--timeout", "1.6")
        assert "hits, waiting for never_called" in shown and "connecting to " in shown
        shown = on_terminal(place, "stat", "--for", "2s")
        assert " s left" in shown and shown.index("left") < shown.index("CPU_CYCLES")


def test_what_the_terminal_can_show():
    """TERM=dumb: lines and no escape sequence; a locale without UTF-8: ASCII; NO_COLOR: no colour, and on a terminal there is."""
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        watched = on_terminal(place, "watch", "--for", "300ms", "-I", 100, TERM="dumb")
        assert "\x1b" not in watched and "counter " in watched and watched.count("CPU_CYCLES") >= 2
        plain = on_terminal(place, "delta", "work_by_data", "-r", 20, TERM="xterm", LC_ALL="C")
        assert plain.isascii() and "+-0" in plain and "##" in plain
        assert "±0" in on_terminal(place, "delta", "work_by_data", "-r", 20, TERM="xterm")
        wrong = ["delta", "nothing_of_that_name"]
        assert "\x1b[31m" in on_terminal(place, *wrong, TERM="xterm")
        for refused in ({"TERM": "xterm", "NO_COLOR": "1"}, {"TERM": "dumb"}):
            assert "\x1b" not in on_terminal(place, *wrong, **refused)
        assert "\x1b" not in place.run(*wrong).err


def test_json_is_whole_and_says_what_it_measured():
    with Place("m4", "free", WORK_BY_DATA) as place:
        result = place.run("delta", "-j", "work_by_data", "-r", 10)
        kinds = [json.loads(line)["type"] for line in result.out.splitlines()]
        assert kinds == ["header"] + ["hit"] * 10 + ["summary"]
        header = result.header
        assert header["schema"] == "pmu-probe/1" and NAMES["m4"] in header["core"]
        assert header["clock"]["source"] == "SystemCoreClock" and header["clock"]["hz"] == 12e6
        assert header["region"]["start"] == "work_by_data"


def test_version_and_help():
    assert run_tool("--version").out.startswith("pmu-probe ")
    result = run_tool("--help")
    assert result.code == 0 and "delta" in result.out and TOOL


@pytest.mark.parametrize("way", DAP_WAYS)
def test_without_a_server(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        before = place.board.state()
        probes = place.run("probes", elf=False)
        wires = "JTAG" if place.wires == "jtag" else "SWD"
        assert probes.code == 0 and "AHB-AP" in probes.out and wires in probes.out
        info = place.run("info")
        assert info.code == 0 and NAMES[place.chip] in info.out and "running" in info.out
        assert ("core 1" in info.out) == (place.chip in ("rp2040", "rp2350"))
        begin = place.board.state()["counted"]
        watch = place.run("watch", "-j", "-I", 100, "--for", "1s")
        end = place.board.state()["counted"]
        samples = [line for line in watch.lines if line["type"] == "sample"]
        assert watch.code == 0 and 1 <= len(samples) <= 10
        assert 0 < next(iter(watch.summary["columns"].values()))["count"] <= end - begin
        after = place.board.state()
        for name in ("demcr", "dhcsr", "dwt_ctrl", "fp_ctrl", "syst_rvr"):
            assert after[name] == before[name]


@pytest.mark.parametrize("way", ["m4/v1", "m4/v2"])
def test_what_is_plugged_in(way):
    """Without --probe, `probes` lists the probe, and other commands use it if it is the only one."""
    with Place(way, "free", WORK_BY_DATA, dap_serial="SER-7", dap_packet=64, dap_count=3) as place:
        alone = place.board.in_namespace([TOOL, "probes"])
        result = finish_tool(start_tool(alone))
        assert result.code == 0, result.err
        assert "cmsis-dap:SER-7" in result.out and "packets of 64 bytes, 3 at once" in result.out
        assert ("v1 (HID)" if way == "m4/v1" else "v2 (bulk)") in result.out
        result = finish_tool(start_tool(place.board.in_namespace([TOOL, "info"])))
        assert result.code == 0 and "Cortex-M4" in result.out
        result = finish_tool(start_tool(place.board.in_namespace([TOOL, "-p", "cmsis-dap:OTHER", "info"])))
        assert result.code in (2, 3) and "SER-7" in result.err


# Loopback in a network namespace, where nobody listens, whatever runs on this machine
ALONE = "import fcntl, os, socket, struct, sys; fcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sh', b'lo', 1)); os.execvp(sys.argv[1], sys.argv[1:])"


def in_namespace(devices, *words):
    """The tool's message if these devices are plugged in, and no probe; nor is there one on the network."""
    namespace = UsbNamespace()
    try:
        plug_in(namespace, *devices)
        namespace.bind()
        alone = ["unshare", "-n", sys.executable, "-c", ALONE, TOOL]
        return finish_tool(start_tool(namespace.in_namespace([*alone, *words])))
    finally:
        namespace.close()


ADAPTERS = [
    ("0483:3748", "ST-Link V2 ", "-f interface/stlink-dap.cfg -c 'transport select dapdirect_swd'"), ("0483:374b:STM32 STLink:066DFF", "ST-Link V2-1", "-f interface/stlink-dap.cfg -c 'transport select dapdirect_swd'"),
    ("0483:374f", "ST-Link V3", "-f interface/stlink-dap.cfg -c 'transport select dapdirect_swd'"), ("0483:374d", "ST-Link V3", "boot loader"),
    ("1366:0101:J-Link:000123", "J-Link", "-f interface/jlink.cfg"), ("1366:1015", "J-Link", "-f interface/jlink.cfg"),
    ("0403:6010", "FTDI FT2232", "-f interface/ftdi/"), ("0403:6014", "FTDI FT232H", "-f interface/ftdi/"),
    ("2e8a:0003:RP2 Boot:E0C9", "Pico in BOOTSEL mode", "debugprobe_on_pico.uf2"),
    ("2e8a:000f", "Pico 2 in BOOTSEL mode", "debugprobe_on_pico2.uf2"),
]


@needs_usb
def test_adapters_of_other_kinds_are_told_with_the_way_to_reach_them():
    every = [device for device, _, _ in ADAPTERS]
    result = in_namespace([*every, "046d:c52b:a mouse"], "probes")
    assert result.code == 0 and result.err == "", result.err
    lines = [line for line in result.out.splitlines() if line]
    assert len(lines) == 2 * len(ADAPTERS), result.out
    for device, name, way in ADAPTERS:
        vendor, product, *rest = device.split(":")
        at = next(i for i, line in enumerate(lines) if f"{vendor}:{product}" in line)
        assert lines[at].startswith(name) and way in lines[at + 1]
        assert len(rest) < 2 or lines[at].endswith(rest[1])
    found = [line for line in in_namespace(every, "probes", "-j").lines if line["type"] == "adapter"]
    assert {line["id"] for line in found} == {":".join(device.split(":")[:2]) for device in every}
    assert all(line["name"] in result.out and line["way"] in result.out for line in found)
    refused = in_namespace(every[1:2], "info")
    assert refused.code == 3 and "plugged in: ST-Link V2-1, reached through OpenOCD" in refused.err, refused.err


@needs_usb
def test_nothing_plugged_in_is_no_failure():
    result = in_namespace(["046d:c52b:a mouse"], "probes")
    assert result.code == 0 and result.out.startswith("no probe found: ") and result.err == "", result.err
    assert in_namespace([], "info").code == 3
    assert [line["type"] for line in in_namespace([], "probes", "-j").lines] == ["header", "summary"]


@needs_usb
def test_one_probe_is_one_line():
    """The probe speaks v1 and v2. A J-Link next to it changes nothing."""
    with UsbBoard.start("m4", dap_packet=64, dap_serial="SER-8") as board:
        plug_in(board.namespace, "1366:0101:J-Link:000123")
        result = finish_tool(start_tool(board.in_namespace([TOOL, "probes"])))
        assert result.code == 0, result.err
        assert result.out.count("SER-8") == 1 and "v2 (bulk), and v1" in result.out, result.out
        assert "J-Link   usb:1-8   1366:0101   000123" in result.out
        listed = finish_tool(start_tool(board.in_namespace([TOOL, "probes", "-j"])))
        assert [line["type"] for line in listed.lines] == ["header", "probe", "adapter", "summary"] and listed.summary["probes"] == 1
        assert listed.lines[1]["serial"] == "SER-8" and listed.lines[1]["packet_size"] == 64 and listed.lines[1]["swd"]
        wrong = finish_tool(start_tool(board.in_namespace([TOOL, "-p", "cmsis-dap:OTHER", "info"])))
        assert wrong.code == 3 and wrong.err.count("SER-8") == 1, wrong.err


@pytest.mark.parametrize("way, serial", [("m4/v2", "SER-9"), ("m4/v1", "SER-9"), ("m4/v1", "")])
def test_a_probe_is_named_by_where_it_is_plugged_in(way, serial, monkeypatch, tmp_path):
    """It is the same probe: to the lock, and to the journal of a run that was killed."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with Place(way, "free", WORK_BY_DATA, dap_packet=64, dap_serial=serial) as place:
        plug_in(place.board.namespace, "1366:0101:J-Link:000123")

        def run(probe, *words):
            return finish_tool(start_tool(place.board.in_namespace([TOOL, "--elf", place.elf, "-p", probe, *words])))
        listed = finish_tool(start_tool(place.board.in_namespace([TOOL, "probes", "-j"])))
        assert [line["usb"] for line in listed.lines if line["type"] in ("probe", "adapter")] == ["1-1", "1-8"], listed.out
        text = finish_tool(start_tool(place.board.in_namespace([TOOL, "probes"]))).out
        assert f"cmsis-dap:{serial}   usb:1-1   " in text and "J-Link   usb:1-8   1366:0101   000123" in text, text
        assert len(run("cmsis-dap:usb:1-1", "delta", "-j", "work_by_data", "-r", "3").hits) == 3
        wrong = run("cmsis-dap:usb:1-1.4", "info")
        assert wrong.code == 3 and "is plugged in at usb:1-1.4; there is" in unfolded(wrong.err), wrong.err
        assert f"{serial} at usb:1-1" in unfolded(wrong.err)
        bad = run("cmsis-dap:usb:1-1:1.0", "info")
        assert bad.code == 2 and 'takes a place such as 1-1.4, not "1-1:1.0"' in unfolded(bad.err), bad.err
        process = place.start("delta", "-j", "work_by_data", "-r", 10000000)  # by "cmsis-dap" alone
        place.wait_for_stops(10)
        for name in ("usb:1-1", serial):
            second = run(f"cmsis-dap:{name}", "info")
            assert second.code == 3 and f"is in use by process {process.pid} (" in second.err, second.err
        process.kill()
        process.communicate()
        left = run("cmsis-dap:usb:1-1", "info")
        assert "did not end" in left.err and "pmu-probe restore" in left.err, left.err
        assert run("cmsis-dap:usb:1-1", "restore").code == 0
        assert run(f"cmsis-dap:{serial}", "info").code == 0


FREE_DAP = "fewer-reads,loses-place"


@pytest.mark.parametrize("quirk, wires", [(quirk, "swd") for quirk in ("no-match", "count0", "short", "no-sequence", "invalid-match",
                                                                       "padded", "long", FREE_DAP)] +
                         [("long", "jtag"), (FREE_DAP, "jtag")])
def test_lesser_firmware(quirk, wires):
    """Right numbers or a clear error."""
    with Place(f"m4/{wires}", "free", WORK_BY_DATA, dap_quirks=quirk) as place:
        place.board.watch(0xFFFFFFF0)
        result = place.run("delta", "-j", "work_by_data", "-r", 50)
        if quirk in ("short", "long"):
            assert result.code == 3 and result.hits == [], result.out
            return
        assert result.code == 0, result.err
        truth = passages(place.board.log(), place.symbol("work_by_data"), returned)
        assert result.cycles == [passage.cycles for passage in truth[:50]]
        assert ("compare" in result.header["link"] or "poll" in result.header["link"]) == (quirk in ("no-match", "invalid-match"))


def test_a_jtag_port_of_protocol_1_is_refused_by_name():
    with Place("m4/jtag", jtag_protocol_1=True) as place:
        result = place.run("info")
        assert result.code == 3 and "0x4BA06477" in result.err and "JTAG-DP protocol 1" in unfolded(result.err), result.err


def test_a_jtag_port_with_tis_idcode():
    with Place("a53/jtag", jtag_idcode=0x0BB7E02F) as place:  # an AM62x
        result = place.delta("-r", 3, "work_by_data")
        assert len(result.hits) == 3


def test_a_chain_without_a_debug_port():
    with Place("m4/jtag", jtag_idcode=0x06410041) as place:
        result = place.run("info")
        assert result.code == 3 and "no Arm debug port is on the JTAG chain: its first device has the IDCODE 0x06410041" in unfolded(result.err)


def test_nothing_on_the_dap_port():
    result = run_tool("-p", f"cmsis-dap-tcp:127.0.0.1:{CLOSED_PORT}", "info")
    assert result.code == 3 and "nothing listens" in result.err
