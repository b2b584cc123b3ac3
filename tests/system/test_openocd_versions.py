"""Which OpenOCD it is: the version lines of vendors, one that says something else, where it is found, and which files it and
we have. OPENOCD_MASTER names a folder in which a later version was built; some tests then run on that one, too."""
import os
import re
import shutil
import socket
import subprocess

import pytest

from board import OpenOcd, later_openocd
from gdb_place import GdbPlace
from harness import ROOT, TOOL, WAIT, Place, finish_tool, start_tool, wait_for
from usb import usb_available

needs_usb = pytest.mark.skipif(usb_available() is not None, reason=str(usb_available()))

XPACK = "xPack Open On-Chip Debugger 0.12.0-01004-g9ea7f3d64-dirty (2023-01-30-15:04)"
LINES = [XPACK, "xPack Open On-Chip Debugger 0.12.0+dev-02228-ge5888bda3-dirty (2025-10-04-22:44)",
         "Open On-Chip Debugger v0.12.0-esp32-20251215 (2025-12-15-18:17)",
         "Open On-Chip Debugger 0.12.0-00024-g34afaa939 (2024-05-06)"]


def saying(line):
    return f"rename version real_version; proc version {{args}} {{ return {{{line}}} }}"


@pytest.mark.parametrize("line", LINES)
def test_vendors_say_their_version_in_their_way(line):
    with Place("m4", commands=(saying(line),)) as place:
        result = place.delta("-r", 3, "plain_first", "plain_second")
        assert len(result.hits) == 3 and "version" not in result.err


def test_another_text_is_noted():
    with Place("m4", commands=(saying("Chip Debugger, our own build"),)) as place:
        result = place.run("info")
        assert result.code == 0
        assert 'it does not say which version of OpenOCD it is, but "Chip Debugger, our own build"' in result.err


def test_one_that_is_too_old():
    with Place("m4", commands=(saying("Open On-Chip Debugger 0.11.0"),)) as place:
        result = place.run("info")
        assert result.code == 3 and "is too old: Open On-Chip Debugger 0.11.0" in result.err


WHICH = [("openocd",), pytest.param(later_openocd(), id="OPENOCD_MASTER", marks=pytest.mark.skipif(
    later_openocd() is None, reason="OPENOCD_MASTER=DIR is not given"))]


@pytest.fixture
def of_version(request, monkeypatch):
    monkeypatch.setattr(OpenOcd, "PROGRAM", request.param)


each_version = pytest.mark.parametrize("of_version", WHICH, indirect=True)


class Debugger:
    """Another one than ours, at a GDB port: it keeps what OpenOCD prints for its user."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=WAIT)
        self.heard = b""
        self.send(b"QStartNoAckMode")  # else OpenOCD waits after each packet
        self.hear(lambda: b"$OK#" in self.heard)
        self.socket.sendall(b"+")

    def send(self, packet):
        self.socket.sendall(b"+$%s#%02x" % (packet, sum(packet) & 255))

    def hear(self, enough):
        while not enough():
            self.heard += self.socket.recv(1 << 16)

    def printed(self):
        """The words of its O packets."""
        words = re.findall(rb"\$O((?:[0-9a-f]{2})+)#", self.heard)
        return b"".join(bytes.fromhex(each.decode()) for each in words).decode(errors="replace")


@each_version
@pytest.mark.parametrize("line", [None, LINES[1]])
def test_a_debugger_hears_nothing_of_our_requests(of_version, line):
    """What it would print for each answer; words of others go on to be printed."""
    with GdbPlace("m4", commands=(saying(line),) if line else ()) as place:
        debugger = Debugger(place.server.gdb_port())
        debugger.send(b"c")
        wait_for(lambda: place.server("virtual.cpu curstate") == "running", "the core to run")
        result = finish_tool(start_tool([TOOL, "-p", f"openocd:127.0.0.1:{place.server.port}", "stat", "-I", "20ms", "--for", "400ms"]))
        assert result.code == 0 and result.out.count("CPU_CYCLES") >= 2, result.err
        place.server("echo {heard again}")
        debugger.hear(lambda: "heard again" in debugger.printed())
        for text in (debugger.printed(), place.server.output):
            assert not re.search(r"^pmu \d+ ", text, re.M), text
        debugger.socket.close()


@each_version
@pytest.mark.parametrize("way", ["m4", "rp2040", "a9"])
def test_it_measures_on_each(of_version, way):
    with Place(way) as place:
        result = place.delta("-r", 5, "work_by_data")
        assert len(result.hits) == 5 and min(result.cycles) > 0, result.err
        assert place.run("info").code == 0 and place.run("doctor").code == 0
        result = place.run("stat", "--for", "200ms")
        assert result.code == 0 and "CPU_CYCLES" in result.out, result.err


def own_openocd(place, environment, *words):
    """Starts an OpenOCD of the tool's own for the board."""
    config = place.config() or os.path.join(os.path.dirname(__file__), "..", "..", "openocd-cfg", "boards", "virtual.cfg")
    return finish_tool(start_tool([TOOL, "-c", f"set BOARD_PORT {place.board.jtag_port}", "-f", config, *words,
                                   "info"], environment=environment))


def test_where_it_is_found(tmp_path):
    path = tmp_path / "home/.platformio/packages/tool-openocd/bin"
    path.mkdir(parents=True)
    log = tmp_path / "log"
    script = f"#!/bin/sh\necho $0 >> {log}\nexec {shutil.which('openocd')} \"$@\"\n"
    for at in (path / "openocd", tmp_path / "named"):
        at.write_text(script)
        at.chmod(0o755)
    nowhere = {"PATH": str(tmp_path / "nothing"), "HOME": str(tmp_path / "home")}
    with Place("m4/swd") as place:
        result = own_openocd(place, nowhere)
        assert result.code == 0, result.err
        result = own_openocd(place, nowhere | {"PMU_OPENOCD": str(tmp_path / "named")})
        assert result.code == 0, result.err
        assert log.read_text().split() == [str(path / "openocd"), str(tmp_path / "named")]
        log.unlink()
        result = own_openocd(place, nowhere | {"PMU_OPENOCD": str(tmp_path / "none")}, "--openocd", tmp_path / "named")
        assert result.code == 0 and log.read_text().split() == [str(tmp_path / "named")], result.err
        result = own_openocd(place, {"PATH": str(tmp_path / "nothing"), "HOME": str(tmp_path)})
        assert result.code == 3 and "openocd is not in PATH" in result.err and "apt install openocd" in result.err
        result = own_openocd(place, {"PMU_OPENOCD": str(tmp_path / "none")})
        assert result.code == 3 and f"cannot run {tmp_path}/none: No such file" in result.err


PLACES = [".platformio/packages/tool-openocd{}/bin/openocd", ".pico-sdk/openocd/{}/openocd",
          ".local/xPacks/@xpack-dev-tools/openocd/{}/.content/bin/openocd"]


@pytest.mark.parametrize("where", PLACES, ids=["platformio", "pico-sdk", "xpack"])
def test_the_newest_of_several_is_taken(tmp_path, where):
    log = tmp_path / "log"
    for version in ("0.11.0", "0.12.0", "0.9.0-none"):
        at = tmp_path / where.format(version)
        at.parent.mkdir(parents=True)
        at.write_text(f"#!/bin/sh\necho $0 >> {log}\nexit 1\n")
        at.chmod(0o755 if "none" not in version else 0o644)
    result = finish_tool(start_tool([TOOL, "-f", "board.cfg", "info"],
                                    environment={"PATH": str(tmp_path / "nothing"), "HOME": str(tmp_path)}))
    assert result.code == 3 and log.read_text().split() == [str(tmp_path / where.format("0.12.0"))], result.err


def test_a_file_that_it_does_not_have():
    with Place("m4/swd") as place:
        result = own_openocd(place, {}, "-f", "target/stm32of2031.cfg")
        assert result.code == 3
        assert "Can't find target/stm32of2031.cfg" in result.err and "This OpenOCD lacks that file" in result.err


@pytest.fixture
def installed(tmp_path):
    """The tool where it finds its board files."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "share" / "pmu-probe").mkdir(parents=True)
    (tmp_path / "share" / "pmu-probe" / "openocd-cfg").symlink_to(os.path.join(ROOT, "openocd-cfg"))
    return shutil.copy(TOOL, tmp_path / "bin" / "pmu-probe")


def test_boards_by_name(installed):
    with Place("m4/swd") as place:
        result = finish_tool(start_tool([installed, "-c", f"set BOARD_PORT {place.board.jtag_port}", "-f", "virtual", "info"]))
        assert result.code == 0 and result.out.startswith("openocd -c set BOARD_PORT") and "Cortex-M4" in result.out, result.err


@pytest.mark.parametrize("name, meant", [("rp2530", "; did you mean rp2350?"), ("zynq700.cfg", "; did you mean zynq7000?"),
                                         ("nothing_like_it", "\nBoards, for -f: am62, beaglebone-black"),
                                         ("stm32f4x.cfg", "; did you mean target/stm32f4x.cfg?"),  # of OpenOCD's own
                                         ("board/nucleo_f4.cfg", "; did you mean board/st_nucleo_f4.cfg?")])
def test_names_of_no_board(installed, name, meant):
    result = finish_tool(start_tool([installed, "-f", name, "info"]))
    assert result.code == 3 and f"neither OpenOCD nor pmu-probe has a file {name}{meant}" in result.err
    assert "virtual" not in result.err


@pytest.mark.parametrize("words, advice", [
    (["-c", "nonsense"], "Check the words of -c, and the files of -f."), (["-c", "set x ["], "Check the words of -c, and the files of -f."),
    (["-f", "target/stm32f4x.cfg"], "Name the adapter before the chip: "),
    (["-f", "interface/stlink.cfg", "-c", "transport select swd"], "'hla_swd' with stlink.cfg"), (["--openocd", "/nonexistent", "-c", "init"], "--openocd PATH"),
])
def test_what_keeps_openocd_from_starting(words, advice):
    result = finish_tool(start_tool([TOOL, *words, "info"]))
    assert result.code == 3 and advice in result.err.splitlines()[-1], result.err


@needs_usb
@pytest.mark.nobody_answers
def test_a_silent_port_hides_no_usb_probe():
    with socket.socket() as silent, Place("m4/v2") as place:
        silent.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            silent.bind(("127.0.0.1", 6666))  # OpenOCD's own
        except OSError:
            pytest.skip("something listens on port 6666")
        silent.listen()
        result = finish_tool(start_tool(place.board.in_namespace([TOOL, "info"])))
        assert result.code == 0 and result.out.startswith("cmsis-dap "), result.err
        assert "127.0.0.1:6666 is open, but silent" in result.err or "localhost:6666 is open, but silent" in result.err
        result = finish_tool(start_tool(place.board.in_namespace([TOOL, "probes"])))
        assert result.code == 0 and result.out.startswith("cmsis-dap:") and "6666 is open, but silent" in result.err


@pytest.mark.parametrize("probe, line", [("stlink", "interface/stlink-dap.cfg -c 'transport select dapdirect_swd'"),
                                         ("jlink", "interface/jlink.cfg -c 'transport select swd'")])
def test_adapters_by_name_are_answered(probe, line):
    for probe in (probe, probe.upper()):
        result = finish_tool(start_tool([TOOL, "-p", probe, "info"]))
        assert result.code == 2 and f"{probe} is reached through OpenOCD: pmu-probe -f {line}" in result.err


def test_kinds_of_probes_in_any_case_and_left_out():
    with Place("m4/swd") as place:
        address = f"127.0.0.1:{place.board.dap_port}"
        result = finish_tool(start_tool([TOOL, "-p", f"CMSIS-DAP-TCP:{address}", "info"]))
        assert result.code == 0 and "Cortex-M4" in result.out, result.err
        result = finish_tool(start_tool([TOOL, "-p", address, "info"]))
        assert result.code == 2 and f"-p cmsis-dap-tcp:{address}, -p openocd:{address} or -p gdb:{address}" in result.err
    for address, kind in (("localhost:4441", "cmsis-dap-tcp"), ("[::1]:6666", "openocd")):
        result = finish_tool(start_tool([TOOL, "-p", address, "info"]))
        assert result.code == 2 and f"what is at {address}? Say: -p {kind}:{address}" in result.err


# OpenOCD's driver of the ST-Link, as stlink_dap_op_queue_ap_read and its sibling do it: a data register's access is one of the
# memory, as wide as the CSW last written says, and forgets that.
ST_LINK = r"""
set size 0; set tar 0; set csw 0x80000052
proc word {address} { expr {0xC5000000 | ($address & 0xffff) << 8 | 0x11} }
proc fake {command ap register args} {
    if {$register == 0} {
        if {[llength $args]} { set ::size [expr {$args & 7}]; set ::csw $args; return }
        return $::csw
    }
    if {$register == 4} { set ::tar $args; return }
    set wide $::size
    set ::size 0
    set ::csw [expr {$::csw & ~7}]
    if {[llength $args]} { echo "wrote [expr {8 << $wide}] bits of $args"; return }
    set address [expr {$register == 12 ? $::tar : ($::tar & ~15) | ($register & 12)}]
    expr {[word $address] & ((1 << (8 << $wide)) - 1)}
}
set ::pmu_csw ""; set ::pmu_at ""; set ::pmu_tar ""
foreach address {0x8009107c 0x80091000 0x80091004 0x80091c80} {
    echo "read [pmu_window fake 1 0 read_memory $address 32 1], [word $address] is there"
}
echo "read [pmu_window fake 1 0 read_memory 0x80091000 32 2], [word 0x80091000] [word 0x80091004] is there"
pmu_window fake 1 0 write_memory 0x80091fb0 32 7
pmu_window fake 1 0 write_memory 0x80091fb4 32 8
shutdown
"""


def test_an_st_link_forgets_the_size_of_an_access_with_each(tmp_path):
    script = tmp_path / "st-link.cfg"
    script.write_text(ST_LINK)
    done = subprocess.run(["openocd", "-c", "gdb_port disabled; tcl_port disabled; telnet_port disabled; adapter driver st-link", "-f",
                           os.path.join(ROOT, "openocd-cfg/pmu.tcl"), "-f", script], text=True, capture_output=True, timeout=WAIT)
    reads = re.findall(r"^read (.*), (.*) is there$", done.stderr, re.M)
    assert len(reads) == 5 and all(value == truth for value, truth in reads), done.stderr
    assert re.findall(r"^wrote .*$", done.stderr, re.M) == ["wrote 32 bits of 7", "wrote 32 bits of 8"], done.stderr
