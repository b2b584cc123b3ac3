"""OpenOCD's files for real boards: each is loaded by a real OpenOCD up to the missing adapter. Those whose debug side one of the
virtual board's chips has are used to measure that one, with the other TAPs of the chip's chain before or after it."""
import os
import re
import subprocess

import pytest

from board import Board, OpenOcd, later_openocd
from harness import ROOT, TOOL, WAIT, elf_of, finish_tool, start_tool, wait_for
from tap_chain import Tap, TapChain

FOLDER = os.path.join(ROOT, "openocd-cfg", "boards")
A53 = {f"uscale.a53.{n}": "aarch64" for n in range(4)}
A62 = {f"am625.cpu.a53.{n}": "aarch64" for n in range(4)}
FILES = {
    "am62": {**A62, "am625.cpu.sysctrl": "cortex_m", "am625.cpu.main0_r5.0": "cortex_r4", "am625.cpu.gp_mcu": "cortex_m",
             "am625.axi_ap": "mem_ap", "am625.apb": "mem_ap"},
    "beaglebone-black": {"am335x.m3": "cortex_m", "am335x.cpu": "cortex_a", "am335x.ahb": "mem_ap", "am335x.apb": "mem_ap"},
    "imx6ull": {"imx6ull.cpu": "cortex_a", "imx6ull.ahb": "mem_ap", "imx6ull.apb": "mem_ap"},
    "imx8m": {**{f"imx8m.a53.{n}": "aarch64" for n in range(4)}, "imx8m.m4": "cortex_m", "imx8m.ahb": "mem_ap",
              "imx8m.apb": "mem_ap"},
    "m55": {"stm32n6.cpu": "cortex_m", "stm32n6.ap0": "mem_ap", "stm32n6.ahb": "mem_ap"},
    "microbit-v2": {"nrf52.cpu": "cortex_m"},
    "nrf52840": {"nrf52.cpu": "cortex_m"},
    "nucleo-g4": {"stm32g4x.cpu": "cortex_m"},
    "nucleo-u5": {"stm32u5x.cpu": "cortex_m"},
    "pico": {"rp2040.core0": "cortex_m", "rp2040.core1": "cortex_m"},
    "rk3588": {**{f"rk3588.a55.{n}": "aarch64" for n in range(4)}, **{f"rk3588.a76.{n}": "aarch64" for n in range(4, 8)},
               "rk3588.ahb": "mem_ap"},
    "rp2350": {"rp2350.cm0": "cortex_m", "rp2350.cm1": "cortex_m", "rp2350.ahb0": "mem_ap", "rp2350.ahb1": "mem_ap"},
    "rpi3": {**{f"bcm2837.cpu{n}": "aarch64" for n in range(4)}, "bcm2837.ap": "mem_ap"},
    "rpi4": {**{f"bcm2711.cpu{n}": "aarch64" for n in range(4)}, "bcm2711.ap": "mem_ap"},
    "rpi5": {**{f"bcm2712.cpu{n}": "aarch64" for n in range(4)}, "bcm2712.ap": "mem_ap"},
    "stm32f4discovery": {"stm32f4x.cpu": "hla_target"},
    "stm32mp157": {"stm32mp157.cpu0": "cortex_a", "stm32mp157.cpu1": "cortex_a", "stm32mp157.cm4": "cortex_m",
                   "stm32mp157.axi": "mem_ap", "stm32mp157.ap1": "mem_ap", "stm32mp157.ap2": "mem_ap"},
    "tms570lc43": {"tms570lc43.cpu": "cortex_r4", "tms570lc43.ahb": "mem_ap", "tms570lc43.apb": "mem_ap"},
    "zynq7000": {"zynq.cpu0": "cortex_a", "zynq.cpu1": "cortex_a", "zynq.ahb": "mem_ap", "zynq.apb": "mem_ap"},
    "zynqmp": {**A53, "uscale.r5.0": "cortex_r4", "uscale.r5.1": "cortex_r4", "uscale.axi": "mem_ap", "uscale.apb": "mem_ap"},
}
# What OpenOCD 0.12 lacks for them, and where it is
LACKING = {"nucleo-h5": "target/stm32h5x.cfg: ST's own has it", "stm32mp25": "target/st/stm32mp25x.cfg: a version after 0.12.0"}
# What OpenOCD's own files cannot help saying: the i.MX6UL's second TAP has no IR pattern
KNOWN = ["Warn : imx6ull.sdma: nonstandard IR value"]
LIST = ('foreach t [target names] { echo "TARGET $t [$t cget -type]"; '
        'if {[$t cget -type] eq "mem_ap"} { echo "PORT $t [$t cget -dap] [$t cget -ap-num]" } }; echo "CURRENT [target current]"')
# Even where a probe is plugged in, none has this serial number
ABSENT = "adapter serial no-such-probe"


def load(name, *commands, first=(), program=("openocd",)):
    """OpenOCD's words and exit code."""
    words = [*program, "-c", "gdb_port disabled; telnet_port disabled; tcl_port disabled"]
    for command in first:
        words += ["-c", command]
    words += ["-f", os.path.join(FOLDER, name + ".cfg")]
    for command in commands:
        words += ["-c", command]
    done = subprocess.run(words, cwd=ROOT, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=WAIT)
    return done.stdout, done.returncode


def complaints(text):
    bad = re.compile(r"^(Error|Warn)\b|DEPRECAT|deprecat|invalid command|wrong # args|can't ", re.M)
    return [line for line in text.splitlines() if bad.search(line) and line not in KNOWN]


def test_every_file_is_here():
    files = {name[:-4] for name in os.listdir(FOLDER) if not name.startswith("virtual")}
    assert files == set(FILES) | set(LACKING)


@pytest.mark.parametrize("name", sorted(LACKING))
def test_what_this_openocd_lacks_is_named(name):
    text, code = load(name, ABSENT, "echo LOADED")
    assert code != 0 and f"Error: this OpenOCD has no {LACKING[name]}" in text and "LOADED" not in text, text


@pytest.mark.parametrize("name", sorted(FILES))
def test_only_the_adapter_is_missing(name):
    text, code = load(name, ABSENT, LIST, "echo LOADED", "init", "echo BEYOND")
    before, loaded, after = text.partition("LOADED\n")
    assert loaded and complaints(before) == [], text
    assert dict(re.findall(r"^TARGET (\S+) (\S+)$", before, re.M)) == FILES[name]
    ports = re.findall(r"^PORT \S+ (\S+ \S+)$", before, re.M)
    assert len(ports) == len(set(ports)) == list(FILES[name].values()).count("mem_ap"), text
    assert code != 0 and "BEYOND" not in after, text
    assert len(complaints(after)) == 1 and re.search(r"unable to find a matching CMSIS-DAP device|open failed", after), text
    # What is current is a core, or will be when its TAP is let in
    current = re.search(r"^CURRENT (\S+)$", before, re.M).group(1)
    assert FILES[name][current] != "mem_ap" or name in ("beaglebone-black", "tms570lc43")


@pytest.mark.skipif(later_openocd() is None, reason="OPENOCD_MASTER=DIR is not given")
@pytest.mark.parametrize("name", sorted((set(FILES) | set(LACKING)) - {"nucleo-h5"}))
def test_a_later_openocd_loads_it(name):
    text, code = load(name, ABSENT, LIST, "echo LOADED", "init", "echo BEYOND", program=later_openocd())
    before, loaded, after = text.partition("LOADED\n")
    assert loaded and code != 0 and "BEYOND" not in after, text
    assert name in LACKING or dict(re.findall(r"^TARGET (\S+) (\S+)$", before, re.M)).keys() == FILES[name].keys(), text
    assert re.search(r"unable to find a matching CMSIS-DAP device|open failed", after), text


@pytest.mark.parametrize("name", sorted(set(FILES) - {"microbit-v2", "pico", "stm32f4discovery"}))
def test_the_adapter_is_ones_own_choice(name):
    first = ["set INTERFACE interface/jlink.cfg", *(["set TRANSPORT swd"] if name.startswith("nucleo") else [])]
    text, code = load(name, ABSENT, "echo [adapter name]", "init", first=first)
    assert code != 0 and "CMSIS-DAP" not in text and "jlink" in text.splitlines(), text
    assert complaints(text) == ["Error: Invalid serial number: no-such-probe"], text


@pytest.mark.parametrize("name", ["stm32mp157", "m55"])
@pytest.mark.parametrize("interface, transport", [("cmsis-dap", "jtag"), ("stlink-dap", "dapdirect_swd")])
def test_the_transport_too(name, interface, transport):
    first = [f"set INTERFACE interface/{interface}.cfg", f"set TRANSPORT {transport}"]
    text, code = load(name, ABSENT, "echo TRANSPORT-[transport select]", "init", first=first)
    assert code != 0 and f"TRANSPORT-{transport}" in text and len(complaints(text)) == 1, text


@pytest.mark.parametrize("secure", [0, 1])
def test_m55_is_made_ready(secure):
    """Its handler, with recorders in place of the targets."""
    record = ('foreach t {stm32n6.cpu stm32n6.ap0 stm32n6.dap} { rename $t ""; '
              'proc $t {args} "record $t \\{*\\}\\$args" }; proc record {who what args} { '
              'if {$what eq "read_memory"} { return [expr {$who eq "stm32n6.cpu" ? SECURE << 16 : 0x40}] }; '
              'echo "DONE $who $what [lmap a $args {expr {$a + 0}}]" }').replace("SECURE", str(secure))
    text, _ = load("m55", "set handler [stm32n6.cpu cget -event examine-end]", record, "eval $handler", "shutdown")
    assert re.findall(r"^DONE (.*)$", text, re.M) == [
        "stm32n6.dap apsel 1",
        f"stm32n6.dap apcsw {0x0B000000 if secure else 0x4B000000} {0x4F000000}",
        f"stm32n6.ap0 write_memory {0x44001004} 32 {0x00300047}",
        f"stm32n6.ap0 write_memory {0x44001010} 32 {0x00000840}",
        f"stm32n6.ap0 write_memory {0x4400101C} 32 {0x00040040}"], text


def server_on(board, name, tmp_path, *first):
    """A real OpenOCD with a board file, on the virtual board."""
    interface = tmp_path / "virtual.cfg"
    interface.write_text("adapter driver remote_bitbang\nremote_bitbang host $BOARD_HOST\nremote_bitbang port $BOARD_PORT\n")
    commands = "; ".join([f"set INTERFACE {interface}", *first])
    return OpenOcd(board, config=os.path.join(FOLDER, name + ".cfg"), config_first=commands)


def tool(server, *args):
    return finish_tool(start_tool([TOOL, "-p", f"openocd:127.0.0.1:{server.port}", *[str(word) for word in args]]))


def halts_and_goes_on(server, chip, core, bus):
    """OpenOCD stops an Armv8-A core by the right cross trigger interface, and both ways to memory agree."""
    server(f"targets {chip}.{core}; halt; wait_halt {1000 * WAIT}")
    pc = int(server("dict get [get_reg pc] pc"), 0)
    assert server(f"{chip}.{core} read_memory {pc & ~3:#x} 32 1") == server(f"{chip}.{bus} read_memory {pc & ~3:#x} 32 1")
    server("resume")
    assert server(f"{chip}.{core} curstate") == "running"


def shows_and_measures(server, cores):
    """The tool on the virtual A53, through the names that the board file gives."""
    result = tool(server, "info")
    assert result.code == 0 and result.out.count("Cortex-A53 r0p4") == cores, result.out + result.err
    for core, function in enumerate(("work_by_data", "core1_work")[:cores]):
        result = tool(server, "--elf", elf_of("a53", "free"), "-C", core, "delta", "-j", function, "-r", 5)
        assert result.code == 0 and len(result.hits) == 5 and min(result.cycles) > 0, result.err


def test_imx8m_on_the_virtual_a53(tmp_path):
    with Board.start("a53") as board, server_on(board, "imx8m", tmp_path, "set CHIPCORES 2") as server:
        assert server("target current") == "imx8m.a53.0"
        assert int(server("imx8m.apb read_memory 0x80410fbc 32 1"), 0) & 0xFFFF == 0x6A15  # EDDEVARCH: Armv8-A debug
        halts_and_goes_on(server, "imx8m", "a53.0", "ahb")
        shows_and_measures(server, 2)


def test_zynq7000_on_the_virtual_a9(tmp_path):
    with Board.start("a9") as board, TapChain(board, Tap(6, 0x23727093), behind=True) as chain, \
            server_on(chain, "zynq7000", tmp_path) as server:
        assert "zynq_pl.bs tap/device found" in server.output and "UNEXPECTED" not in server.output, server.output
        result = tool(server, "info")
        assert result.code == 0 and "Cortex-A9" in result.out, result.out + result.err
        result = tool(server, "--elf", elf_of("a9", "free"), "delta", "-j", "work_by_data", "-r", 5)
        assert result.code == 0 and len(result.hits) == 5 and min(result.cycles) > 0, result.err


def test_zynqmp_on_the_virtual_a53(tmp_path):
    tap = Tap(12, 0x04711093)
    with Board.start("a53") as board, TapChain(board, tap) as chain, server_on(chain, "zynqmp", tmp_path) as server:
        assert 0x824 in tap.instructions and "UNEXPECTED" not in server.output, server.output
        halts_and_goes_on(server, "uscale", "a53.0", "axi")
        server("core_up 1")
        wait_for(lambda: server("uscale.a53.1 curstate") == "running", "OpenOCD's first look at the core")
        shows_and_measures(server, 2)


def test_beaglebone_on_the_virtual_r5(tmp_path):
    """The board's core has the same address through the same two access ports, but it is not a Cortex-A8."""
    with Board.start("r5") as board, TapChain(board, Tap(6, 0x0B94402F), opened_by=2) as chain, \
            server_on(chain, "beaglebone-black", tmp_path) as server:
        assert "am335x.tap enabled" in server.output and "UNEXPECTED" not in server.output, server.output
        assert server("target current") == "am335x.cpu"
        assert int(server("am335x.apb read_memory 0x80001d00 32 1"), 0) >> 4 & 0xFFF == 0xC15  # MIDR
        where = board.symbol("round_count")
        assert int(server(f"am335x.ahb read_memory {where:#x} 32 1"), 0) <= board.read_word("round_count")
        result = tool(server, "info")
        assert result.code == 0 and "Cortex-R5" in result.out, result.out + result.err


def test_tms570lc43_on_the_virtual_r5(tmp_path):
    """The virtual board is little-endian, so this checks registers only."""
    with Board.start("r5") as board, TapChain(board, Tap(6, 0x0B95A02F), opened_by=2) as chain, \
            server_on(chain, "tms570lc43", tmp_path) as server:
        assert "tms570lc43.cpu enabled" in server.output and "UNEXPECTED" not in server.output, server.output
        assert server("target current") == "tms570lc43.cpu" and server("tms570lc43.cpu curstate") == "running"
        # As the ROM table seen from outside has it: else the tool would not know whose core this is
        assert int(server("tms570lc43.cpu cget -dbgbase"), 0) == 0x80001000
        assert int(server("tms570lc43.apb read_memory 0x80001d00 32 1"), 0) >> 4 & 0xFFF == 0xC15  # MIDR
        result = tool(server, "info")
        assert result.code == 0 and "Cortex-R5" in result.out, result.out + result.err
