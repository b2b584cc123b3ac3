"""A connection to OpenOCD that is cut while OpenOCD lives, a tool that is killed, a second tool, and an OpenOCD of the tool's own.
What OpenOCD does by itself is on again at the end of each."""
import os
import re
import select
import signal
import socket
import struct
import threading

import pytest

from harness import NOWHERE, TOOL, WORK_BY_DATA, Place, finish_tool, passages, places, returned, run_tool, start_tool, unfolded, wait_for

HITS = 3
KEPT = ("fp_comp", "fp_ctrl", "demcr", "dwt_ctrl", "bcr", "pmcr", "pmcntenset", "run")


class Cutter:
    """Forwards messages of the Tcl port. The one with number `cut_at`, of either direction, gets lost with its connection, and so
    does each 40th after it."""

    def __init__(self, port, cut_at=None, cuts=1):
        self.to, self.cut_at, self.cuts, self.messages = port, cut_at, cuts, 0
        self._lock, self._listener = threading.Lock(), socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.to))
            threading.Thread(target=self._carry, args=(client, server), daemon=True).start()

    def _is_cut(self):
        with self._lock:
            self.messages += 1
            if self.cut_at is None or self.messages < self.cut_at or self.cuts == 0:
                return False
            self.cuts -= 1
            self.cut_at = self.messages + 40
            return True

    def _carry(self, client, server):
        """Both directions in one thread: of two, one may read on what the other has closed, and take another's bytes."""
        rest, sinks = {client: b"", server: b""}, {client: server, server: client}
        try:
            while True:
                for source in select.select(list(sinks), [], [])[0]:
                    part = source.recv(1 << 16)
                    if not part:
                        return
                    rest[source] += part
                    while length := rest[source].find(b"\x1a") + 1:
                        if self._is_cut():
                            source.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset, no end
                            return
                        sinks[source].sendall(rest[source][:length])
                        rest[source] = rest[source][length:]
        except OSError:
            pass
        finally:
            client.close()
            server.close()

    def close(self):
        self._listener.close()


def kept(place):
    state = place.board.state()
    return {name: state[name] for name in KEPT if name in state}


def measure(place, port):
    place.board.watch(NOWHERE)
    return finish_tool(start_tool([TOOL, "--elf", place.elf, "-p", f"openocd:127.0.0.1:{port}", "delta", "-j", "work_by_data", "-r",
                                   str(HITS)]))


@pytest.mark.any_row(2)
@pytest.mark.parametrize("chip", ["m4", "a53"])
@pytest.mark.parametrize("cuts", [1, 5])
def test_a_cut_connection_is_made_again(chip, cuts):
    """The request that was under way is carried out once, whether it, or its answer, got lost."""
    with Place(chip, "free", WORK_BY_DATA) as place:
        whole = Cutter(place.server.port)
        assert measure(place, whole.port).code == 0
        whole.close()
        before = kept(place)
        for number in places(whole.messages - 12, f"cut {chip} {cuts}", most=6, in_soak=80):
            cutter = Cutter(place.server.port, number + 12, cuts)  # after the handshake
            result = measure(place, cutter.port)
            cutter.close()
            assert result.code == 0 and len(result.hits) == HITS, f"cut at {number}: {result.err}"
            truth = [passage.cycles for passage in passages(place.board.log(), place.symbol("work_by_data"), returned)]
            assert all(cycles in truth for cycles in result.cycles), f"cut at {number}: {result.cycles} is not all in {truth}"
            assert kept(place) == before and place.server.polls(), f"cut at {number}: {kept(place)}, {before}"


def look_at_holder(place):
    """As OpenOCD does every two seconds, and 10 s after the last request."""
    place.server("set ::pmu_seen 1; pmu_look_at_holder")


def let_hold_lapse(place):
    """Once it has found that the connection is closed."""
    def lapsed():
        look_at_holder(place)
        return place.server("set ::pmu_lapsed") == "1"
    wait_for(lapsed, "OpenOCD's polling")


def test_killed_and_then_another(monkeypatch, tmp_path):
    """The first holds OpenOCD as long as it lives; when it was killed, OpenOCD notices, and so does the next one."""
    with Place("m4", "free", WORK_BY_DATA) as place:
        process = place.start("delta", "work_by_data", "-r", 1000000)
        place.wait_for_stops(20)
        for command in (["info"], ["delta", "work_by_data", "-r", 1]):
            refused = place.run(*command)
            assert refused.code == 3 and re.search(rf"is in use by process {process.pid} \(pmu-probe .*\) since \d\d:\d\d",
                                                   unfolded(refused.err)), refused.err
        with monkeypatch.context() as elsewhere:  # there is no lock of ours
            elsewhere.setenv("XDG_STATE_HOME", str(tmp_path))
            refused = place.run("info")
            assert refused.code == 3 and re.search(rf"is in use by pmu-probe delta, process {process.pid} on \S+, since \d\d:\d\d",
                                                   unfolded(refused.err)), refused.err
        assert process.poll() is None
        process.kill()
        process.communicate()
        assert not place.server.polls()
        let_hold_lapse(place)
        assert place.server.polls()
        place.server("poll off; set ::pmu_lapsed 0")
        assert place.run("info").code == 0 and not place.server.polls()  # the target is still as the first has left it
        assert place.run("restore").code == 0
        assert place.server.polls()


def test_a_holder_elsewhere_counts():
    with Place("m4") as place:
        place.server("set ::pmu_holder {elsewhere boot 12 34 14:02 stat}")
        refused = place.run("info")
        assert refused.code == 3 and "in use by pmu-probe stat, process 12 on elsewhere, since 14:02" in unfolded(refused.err)
        assert "restore" in refused.err


@pytest.mark.nobody_answers
def test_open_but_silent():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for kind in ("openocd", "gdb"):
            result = run_tool("info", "-p", f"{kind}:127.0.0.1:{silent.getsockname()[1]}")
            assert result.code == 3 and "is open, but silent" in result.err


def test_an_openocd_of_ours_ends_with_us(tmp_path):
    """Killed, with an OpenOCD that is busy and serves nothing."""
    told = tmp_path / "pid"
    tcl = f"noinit; set f [open {told} w]; puts $f [pid]; close $f; while {{1}} {{}}"
    tool = start_tool([TOOL, "-c", tcl, "info"])
    wait_for(lambda: told.exists() and told.read_text().strip(), "OpenOCD's process id")
    server = int(told.read_text())
    assert os.path.exists(f"/proc/{server}")
    tool.send_signal(signal.SIGKILL)
    tool.communicate()

    def is_gone():
        try:
            with open(f"/proc/{server}/stat", encoding="ascii") as file:
                return file.read().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            return True
    wait_for(is_gone, "the end of OpenOCD")
