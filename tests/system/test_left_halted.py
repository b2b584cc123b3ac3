"""After any failure the core runs as before, or the message says that it is halted and what lets it go."""
import pytest

from gdb_place import GdbPlace
from harness import WORK_BY_DATA, run_tool, unfolded


def calm(place):
    """Until OpenOCD has carried out what it was sent."""
    for _ in range(2):
        place.server("version")


@pytest.mark.each_value
@pytest.mark.parametrize("chip", ["m4", "a53"])
@pytest.mark.parametrize("kind", ["openocd", "cmsis-dap-tcp", "msr-agent"])
def test_a_wrong_port_halts_no_core(chip, kind, monkeypatch):
    """OpenOCD halts the core for each client of its GDB port, also for one that speaks another protocol."""
    monkeypatch.setenv("PMU_PROBE_PATIENCE", "4")
    with GdbPlace(chip, "free", WORK_BY_DATA) as place:
        result = run_tool("-p", f"{kind}:127.0.0.1:{place.server.gdb_port()}", "info")
        calm(place)
        assert result.code == 3 and place.board.state()["run"] == "running", result.err
        if kind != "msr-agent":  # which says nothing as long as it is said nothing
            assert "a GDB server is at 127.0.0.1" in result.err and "gdb:HOST:PORT" in result.err, result.err


@pytest.mark.each_value
@pytest.mark.parametrize("chip", ["m4", "a53"])
def test_a_gdb_server_lets_a_halted_core_go(chip):
    """Nothing is advised that this link cannot do."""
    with GdbPlace(chip, "free", WORK_BY_DATA) as place:
        place.server("halt")
        place.server(f"bp {place.board.symbol('work_by_data') & ~1:#x} {4 if chip == 'a53' else 2} hw")
        place.server("catch resume")
        place.board.wait_for(lambda state: state["run"] == "halted")
        for words in (["restore"], ["delta", "work_by_data", "-r", 1]):
            result = place.run(*words)
            calm(place)
            assert result.code == 3 and "is halted" in result.err and "restore --force" in unfolded(result.err), result.err
            assert "pmu-probe reset" not in result.err and place.board.state()["run"] == "halted", result.err
        result = place.run("restore", "--force")
        calm(place)
        assert result.code == 0 and "it was halted at" in result.out and place.board.state()["run"] == "running", result.err
        assert place.run("restore").code == 0
