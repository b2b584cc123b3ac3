"""Debug components that no ROM table names: found next to the core or where the user says, and used only if their IDs prove them."""
import pytest

from harness import WORK_BY_DATA, Place, passages, returned

# Where the cores of the virtual chips are, on access port 1: debug registers, PMU, cross trigger interface
A9, A7, A53 = (0x80090000, 0x80091000, None), (0x80030000, 0x80031000, None), (0x80410000, 0x80430000, 0x80420000)
PLACES = {"a9": A9, "a7": A7, "a53": A53}
ETB = 0x80001000


def said(option, base):
    return f"--{option}", f"1:{base:#x}"


def exact(place, *args):
    result = place.delta("work_by_data", "-r", 20, *args)
    truth = passages(place.board.log(), place.symbol("work_by_data"), returned)
    assert result.cycles == [passage.cycles for passage in truth[:20]]


@pytest.mark.parametrize("way", ["a9/swd", "a7/jtag", "a53/swd"])
def test_without_a_rom_table_the_user_says_where_the_core_is(way):
    with Place(way, scenario=WORK_BY_DATA, no_rom_table=True) as place:
        nothing = place.run("info")
        assert nothing.code == 3 and "no core" in nothing.err
        debug, pmu, _ = PLACES[place.chip]
        info = place.run("info", *said("debug-base", debug))
        assert info.code == 0 and "no ROM table" in info.out and f"0x{pmu:08X}   PMU" in info.out, info.out + info.err
        exact(place, *said("debug-base", debug))


@pytest.mark.parametrize("way", ["a9", "a7", "a53"])
def test_without_a_rom_table_the_server_knows_where_the_core_is(way):
    with Place(way, scenario=WORK_BY_DATA, no_rom_table=True) as place:
        exact(place)


def test_the_second_core_is_placed_and_taken():
    with Place("a9/swd", scenario=WORK_BY_DATA, no_rom_table=True) as place:
        result = place.run("stat", "-j", "--for", "0.2", *said("debug-base", A9[0] + 0x2000))
        assert result.code == 0, result.err
        both = place.run("info", *said("debug-base", A9[0] + 0x2000))
        assert both.out.count("Cortex-A9") == 1


@pytest.mark.parametrize("way", ["a9/swd", "a9", "a53/swd"])
def test_a_core_that_the_table_names_is_taken_by_its_place(way):
    with Place(way, scenario=WORK_BY_DATA) as place:
        debug, pmu, cti = PLACES[place.chip]
        exact(place, *said("debug-base", debug), *said("pmu-base", pmu), *(said("cti", cti) if cti else ()))


def test_the_pmu_of_the_other_core_counts_for_the_other_core():
    """--pmu-base is obeyed: with the second core's PMU, the tool does not read the first core's cycles."""
    with Place("a9/swd", scenario=WORK_BY_DATA) as place:
        before = place.board.state()
        result = place.delta("work_by_data", "-r", 5, *said("pmu-base", A9[1] + 0x2000))
        truth = passages(place.board.log(), place.symbol("work_by_data"), returned)
        assert result.cycles != [passage.cycles for passage in truth[:5]]
        assert place.board.state()["pmcr"] == before["pmcr"]


@pytest.mark.parametrize("way, words, code, text", [
    ("a9/swd", said("pmu-base", ETB), 3, "trace buffer"),
    ("a9/swd", said("pmu-base", 0x80050000), 3, "does not say what it is"),
    ("a9/swd", said("debug-base", A9[1]), 3, "PMU"),
    ("a9", said("pmu-base", A9[0]), 3, "core debug"),
    ("a9/swd", ("--pmu-base", "7:0x80091000"), 3, "access port 7"),
    ("a9/swd", ("--debug-base", "0:0x80090000"), 3, "access port 0"),
    ("a53/swd", said("cti", A53[1]), 3, "PMU"),
    ("a9/swd", said("cti", A9[1]), 3, "PMU"),
    ("m4/swd", said("cti", 0xE0042000), 2, "A and R cores"),
    ("m4/swd", said("pmu-base", 0xE0003000), 2, "Cortex-M"),
    ("a9/swd", ("-C", "0", *said("debug-base", A9[0])), 2, "both"),
    ("a9/swd", ("--pmu-base", "0x80091000"), 2, "AP:ADDR"),
    ("a9/swd", ("--pmu-base", "1:0x80091004"), 2, "AP:ADDR"),
    ("a9/swd", ("--pmu-base", "1:"), 2, "AP:ADDR"),
])
def test_what_is_not_there_is_said(way, words, code, text):
    with Place(way) as place:
        before = place.board.state()["pmcr"] if place.chip == "a9" else None
        result = place.run("stat", "--for", "0.1", *words)
        assert result.code == code and text in result.err, (result.code, result.err)
        if before is not None:
            assert place.board.state()["pmcr"] == before
