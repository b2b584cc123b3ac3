"""The probe is unplugged at many places of a short run, in soak at every place. There is never a wrong number or a hang. If the
link returns, the target is as before. For trouble on the wire see test_transfer_faults.py."""
import socket
import threading

import pytest

from harness import NOWHERE, WORK_BY_DATA, Place, finish_tool, passages, places, returned, start_tool, unfolded, wait_for
from test_restore import journals, snapshot as lasting
from test_trace import snapshot

pytestmark = pytest.mark.any_fifth

HITS = 3
HEAD = 8


class Cable:
    """A TCP wire to the emulated probe that can be pulled: after that many packets, once."""

    def __init__(self, port):
        self.port, self.packets, self.pull_at = port, 0, None
        self.next_port = None  # where it leads once it was pulled; None: to the same probe
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.here = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with client, socket.create_connection(("127.0.0.1", self.port)) as probe:
                self._carry(client, probe)

    @staticmethod
    def _take(connection, count):
        data = b""
        while len(data) < count:
            piece = connection.recv(count - len(data))
            if not piece:
                return None
            data += piece
        return data

    def _message(self, connection):
        head = self._take(connection, HEAD)
        if head is None:
            return None
        body = self._take(connection, head[4] | head[5] << 8)
        return None if body is None else head + body

    def _carry(self, client, probe):
        """Packet by packet. A pulled cable loses the request at even places, the reply at odd ones."""
        while True:
            try:
                request = self._message(client)
                if request is None:
                    return
                self.packets += 1
                pulled = self.pull_at is not None and self.packets > self.pull_at // 2
                if pulled:
                    lose_reply, self.pull_at = self.pull_at % 2, None
                    self.port = self.next_port or self.port
                    if lose_reply:
                        probe.sendall(request)
                        self._message(probe)
                    return
                probe.sendall(request)
                reply = self._message(probe)
                if reply is None:
                    return
                client.sendall(reply)
            except OSError:
                return

    def close(self):
        self.listener.close()


def run_once(place, port):
    place.board.watch(NOWHERE)
    words = place.words("delta", "-j", "work_by_data", "-r", HITS)
    words[words.index("-p") + 1] = f"cmsis-dap-tcp:127.0.0.1:{port}"
    return finish_tool(start_tool(words))


def check_numbers(place, result):
    truth = [passage.cycles for passage in passages(place.board.log(), place.symbol("work_by_data"), returned)]
    for hit in result.hits:
        assert hit["values"]["CPU_CYCLES"] in truth, f"{result.cycles} is not all in {truth}"
    assert result.code in (0, 3), result.err
    assert len(result.hits) == HITS if result.code == 0 else result.err


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", ["m4/swd", "m4/jtag", "rp2040/swd"])
def test_cable_pulled_at_every_packet(way):
    with Place(way, "free", WORK_BY_DATA, dap_packet=64) as place:
        cable = Cable(place.board.dap_port)
        before = snapshot(place)
        whole = run_once(place, cable.here)
        assert whole.code == 0 and len(whole.hits) == HITS
        total = cable.packets
        for place_of_pull in places(2 * total, f"cable {way}"):
            cable.packets, cable.pull_at = 0, place_of_pull
            result = run_once(place, cable.here)
            check_numbers(place, result)
            after = snapshot(place)
            assert after == before, f"pulled at {place_of_pull}: {result.err}"
            assert place.board.state()["run"] == "running", f"pulled at {place_of_pull}: {result.err}"
        cable.close()
        assert total > 40


@pytest.mark.parametrize("way, other", [("m4/swd", "a9/swd"), ("a53/swd", "m4/swd")])
def test_another_target_at_the_end_of_the_cable_is_left_alone(way, other, state_folder):
    """But for its debug port, which is asked who it is."""
    with Place(way, "free", WORK_BY_DATA, dap_packet=64) as place, Place(other, "free", WORK_BY_DATA) as stranger:
        cable, before = Cable(place.board.dap_port), lasting(stranger)
        assert run_once(place, cable.here).code == 0
        in_its_hits = 2 * (cable.packets * 3 // 4)
        cable.packets, cable.pull_at, cable.next_port = 0, in_its_hits, stranger.board.dap_port
        result = run_once(place, cable.here)
        cable.close()
        assert result.code == 3 and "another target answers" in unfolded(result.err), result.err
        assert lasting(stranger) == before and stranger.board.state()["run"] == "running"
        assert journals(state_folder), "there is nothing to put the first one back with"


@pytest.mark.nobody_answers
@pytest.mark.parametrize("way, line", [("m4/swd", "low"), pytest.param("m4/swd", "off", marks=pytest.mark.soak),
                                       pytest.param("m4/jtag", "low", marks=pytest.mark.soak)])
def test_power_lost_in_the_middle(way, line, monkeypatch):
    """With the lines pulled up or held low, the message blames the target that does not answer, not the probe."""
    monkeypatch.setenv("PMU_PROBE_PATIENCE", "1")
    with Place(way, "free", WORK_BY_DATA) as place:
        process = place.start("delta", "work_by_data", "-r", 1000000)
        place.wait_for_stops(40)
        place.board.command(f"power {line}")
        result = finish_tool(process)
        assert result.code == 3
        assert "something else than it was asked" not in unfolded(result.err), result.err
        place.board.command("power on")
        assert place.run("delta", "work_by_data", "-r", 3).code == 0


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["m4/v2", "m4/v1"])
def test_probe_unplugged_at_every_transfer(way):
    """The cable is plugged in again a moment later."""
    with Place(way, "free", WORK_BY_DATA, dap_packet=64) as place:
        board = place.board

        def run(unplug_after=None):
            board.watch(NOWHERE)
            if unplug_after is not None:
                board.unplug(unplug_after)
            process = place.start("delta", "-j", "work_by_data", "-r", HITS)
            wait_for(lambda: process.poll() is not None or not board.usb()["plugged"], "the end, or the unplugging")
            if not board.usb()["plugged"]:
                board.plug()
            return finish_tool(process)

        before, counted = snapshot(place), board.usb_closed()
        whole = run()
        assert whole.code == 0 and len(whole.hits) == HITS
        usb = board.usb_closed()
        total = usb["in"] + usb["out"] - counted["in"] - counted["out"]
        assert total > 100
        for transfer in places(total, f"unplugged {way}"):
            result = run(transfer)
            check_numbers(place, result)
            assert snapshot(place) == before, f"unplugged at {transfer}: {result.err}"
            assert board.state()["run"] == "running", f"unplugged at {transfer}: {result.err}"


@pytest.mark.nobody_answers
def test_probe_that_does_not_come_back():
    with Place("m4/v2", "free", WORK_BY_DATA) as place:
        process = place.start("delta", "work_by_data", "-r", 1000000)
        place.wait_for_stops(40)
        place.board.unplug()
        result = finish_tool(process)
        assert result.code == 3 and "unplugged" in result.err and "could not restore " in result.err


def test_probe_held_by_another_program():
    with Place("m4/v2", "free", WORK_BY_DATA) as place:
        with place.board.client("usb-client") as client:
            client.open()
            result = place.run("info")
            assert result.code == 3 and "another program" in result.err
        assert place.run("info").code == 0
