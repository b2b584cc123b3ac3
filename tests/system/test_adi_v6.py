"""Debug ports of ADIv6, whose access ports have addresses, and the message about an RP2350 whose Arm cores are off."""
import os

import pytest

from harness import ROOT, WORK_BY_DATA, Place, Server, finish_tool, passages, returned, start_tool, unfolded

A53 = os.path.join(ROOT, "openocd-cfg", "boards", "virtual-a53.cfg")
HITS = 20


def of_server(place, server, *words):
    return finish_tool(start_tool([*place.words()[:3], "-p", f"openocd:127.0.0.1:{server.port}", *map(str, words)]))


def exact(place, result):
    assert result.code == 0, result.err
    truth = [passage.cycles for passage in passages(place.board.log(), place.symbol("work_by_data"), returned)]
    assert len(result.cycles) == HITS and result.cycles == truth[:HITS]


@pytest.mark.parametrize("way", ["a53/swd", "m4/swd", "rp2350/swd"])
@pytest.mark.parametrize("quirks", ["adiv6", "adiv6,large", "adiv6,errors-kept"])
def test_a_debug_port_with_addresses(way, quirks):
    with Place(way, "free", WORK_BY_DATA, port_quirks=quirks) as place:
        exact(place, place.delta("work_by_data", "-r", HITS))


@pytest.mark.parametrize("way", ["m4/swd", "m4/jtag"])
def test_an_error_of_ours_does_not_stop_the_debugger_before_us(way):
    """IHI 0074 C2.6: with CSW.ERRSTOP an error that TRR.ERR shows ends all accesses after it."""
    with Place(way, "free", WORK_BY_DATA, port_quirks="adiv6,errors-awaited") as place:
        before = place.board.state()
        assert before["trr"] == 0 and before["csw"] >> 16 & 3 == 3
        result = place.run("delta", "*0x90000000", "*0x90000010", "--timeout", "0.1")  # nothing is there
        assert result.code == 3, result
        after = place.board.state()
        assert (after["csw"], after["trr"]) == (before["csw"], 0), result


def test_an_a_core_behind_openocd():
    """Its own targets say where its ports are: nothing else numbers them."""
    with Place("a53/swd", "free", WORK_BY_DATA, port_quirks="adiv6") as place:
        server = Server(place.board, config=A53, config_first="set BOARD_ADIV6 1", target="a53.cpu0")
        place.servers.append(server)
        info = of_server(place, server, "info", "-j")
        cores = [line for line in info.lines if line["type"] == "core"]
        assert info.code == 0 and len(cores) == 2, info.err
        place.board.watch(place.symbol("work_by_data"))
        exact(place, of_server(place, server, "delta", "-j", "work_by_data", "-r", HITS))


def test_an_a_core_whose_port_openocd_does_not_say():
    with Place("a53/swd", "free", port_quirks="adiv6") as place:
        config = place.board.jtag_path + ".cfg"
        with open(A53, encoding="utf-8") as file, open(config, "w", encoding="utf-8") as out:
            out.write("".join(line for line in file if not line.startswith(("target create", "cti create", "targets", "flash"))))
            out.write("cti create one.cti -dap a53.dap -ap-num 0x4000 -baseaddr 0x80420000\n"
                      "target create one.core aarch64 -dap a53.dap -dbgbase 0x80410000 -cti one.cti -defer-examine\n")
        server = Server(place.board, config=config, config_first="set BOARD_ADIV6 1", target="one.core")
        place.servers.append(server)
        result = of_server(place, server, "delta", "work_by_data")
        assert result.code == 3 and "OpenOCD does not say on which access port the target one.core (aarch64) is" in unfolded(result.err), result.err


@pytest.mark.parametrize("way", ["rp2350/swd", "rp2350"])
def test_arm_cores_that_are_off(way):
    with Place(way, "free", core_state="riscv") as place:
        result = place.run("info")
        assert result.code == 3 and "the Arm cores of this RP2350 do not answer" in unfolded(result.err), result.err
        assert "RISC-V" in result.err and "load one for Arm" in unfolded(result.err)
