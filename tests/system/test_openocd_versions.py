"""Which OpenOCD it is: the version lines of vendors, one that says something else, and where it is found."""
import os
import shutil
import socket

import pytest

from harness import TOOL, Place, finish_tool, start_tool
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
        result = own_openocd(place, {"PMU_OPENOCD": str(tmp_path / "none")})
        assert result.code == 3 and f"cannot run {tmp_path}/none: No such file" in result.err


def test_a_file_that_it_does_not_have():
    with Place("m4/swd") as place:
        result = own_openocd(place, {}, "-f", "target/stm32of2031.cfg")
        assert result.code == 3
        assert "Can't find target/stm32of2031.cfg" in result.err and "a newer one may have it" in result.err


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


@pytest.mark.parametrize("probe, line", [("stlink", "interface/stlink-dap.cfg -c 'transport select dapdirect_swd'"),
                                         ("jlink", "interface/jlink.cfg -c 'transport select swd'")])
def test_adapters_by_name_are_answered(probe, line):
    result = finish_tool(start_tool([TOOL, "-p", probe, "info"]))
    assert result.code == 2 and f"{probe} is reached through OpenOCD: pmu-probe -f {line}" in result.err
