"""Other GDB servers: real QEMUs, whose counters measure nothing and are refused; Debian's pyOCD; and servers that are broken,
slow, silent or gone."""
import os
import select
import signal
import socket
import threading
import time

import pytest

from gdb_place import QEMU, GdbClient, GdbPlace, Proxy, PyOcdPlace, Qemu
from harness import (INTERRUPTED, CALLED_TWICE, NOWHERE, WORK_BY_DATA, finish_tool, passages, places, returned, run_tool, start_tool, TOOL, unfolded, wait_for)
from usb import usb_available

pytestmark = pytest.mark.any_fifth

CORTEX_M = {"an385": "Cortex-M3", "an505": "Cortex-M33"}


@pytest.mark.parametrize("machine", QEMU)
def test_qemu_breakpoints_memory_and_registers(machine):
    with Qemu(machine) as qemu, GdbClient(qemu.port) as client:
        assert client.hello.split()[:2] == ["ok", "QEMU"]
        work, size = qemu.symbol("work"), 2 if machine in CORTEX_M else 4
        code = client.ask(f"read {work:x} 8")
        assert len(code) == 16 and client.ask(f"break {work:x} {size}") == "ok"
        for _ in range(3):
            assert client.ask("run") == "ok"
            assert client.ask("wait 10000").split()[0] == "trap"
            assert int(client.ask("register pc"), 16) == work
            assert client.ask(f"clear {work:x} {size}") == "ok" and client.ask("step") == "ok"
            assert client.ask("wait 10000").split()[0] == "trap"
            assert client.ask(f"break {work:x} {size}") == "ok"
        assert client.ask(f"clear {work:x} {size}") == "ok"
        assert client.ask("run") == "ok" and client.ask("wait 50").split()[0] == "runs"
        assert client.ask("interrupt") == "ok" and client.ask("wait 10000").split()[0] == "requested"
        assert client.ask(f"read {work:x} 8") == code
        assert client.ask("close run") == "ok"


@pytest.mark.parametrize("machine", CORTEX_M)
def test_qemu_cortex_m_is_found_and_refused(machine):
    with Qemu(machine) as qemu:
        info = qemu.run("info")
        assert info.code == 0 and CORTEX_M[machine] in info.out and "SysTick, 24 bits" in info.out
        written = qemu.run("delta", "work", "-r", 5)
        ticking, stat, doctor = (qemu.run(*words) for words in (["delta", "work", "--counter", "systick"], ["stat", "--for", "100ms"], ["doctor"]))
        assert written.code == ticking.code == stat.code == 3 and doctor.code == 5
        assert "an emulator" in unfolded(doctor.out) and "make play" in doctor.out, doctor
        for result in (written, ticking, stat):
            assert "QEMU is an emulator" in result.err and "make play" in result.err, result
            assert "CPU_CYCLES" not in result.out


@pytest.mark.parametrize("machine, architecture", [("a15", "arm"), ("a53", "aarch64")])
def test_qemu_shows_no_pmu(machine, architecture):
    with Qemu(machine) as qemu:
        for args in (["info"], ["delta", "work"]):
            result = qemu.run(*args)
            assert result.code == 3 and f'QEMU shows a core of architecture "{architecture}"' in result.err
            assert "where no PMU is" in unfolded(result.err) and "make play" in result.err
            assert "CPU_CYCLES" not in result.out


@pytest.mark.skipif(usb_available() is not None, reason=str(usb_available()))
@pytest.mark.any_row
@pytest.mark.parametrize("function, bits", [("work_by_data", WORK_BY_DATA), ("called_twice", CALLED_TWICE)])
def test_pyocd(function, bits):
    """Only the m4: this pyOCD does not know an RP2040's multidrop wire."""
    with PyOcdPlace("m4/v1", "free", bits, halt_cost=7) as place:
        before = place.board.state()
        place.serve()
        served = place.board.state()  # a newer pyOCD leaves its own catch of faults on
        result = place.delta(function, "-r", 10)
        truth = passages(place.board.log(), place.symbol(function), returned)
        assert result.cycles == [passage.cycles for passage in truth[:10]]
        assert result.summary["columns"]["CPU_CYCLES"]["overhead"] == 7
        place.board.wait_for(lambda state: state["run"] == "running")
        after = place.board.state()
        for name in ("fp_comp", "demcr", "dwt_ctrl", "syst_rvr", "code_hash", "dwt_function"):
            assert after[name] in (before[name], served[name]), name


@pytest.mark.skipif(usb_available() is not None, reason=str(usb_available()))
def test_pyocd_interrupted():
    with PyOcdPlace("m4/v1", "free", WORK_BY_DATA) as place:
        place.serve()
        tool = place.start("delta", "work_by_data", "-r", 1000000)
        place.wait_for_stops(40)
        result = finish_tool(tool, signal.SIGINT)
        assert result.code == INTERRUPTED and "CPU_CYCLES" in result.out
        place.board.wait_for(lambda state: state["run"] == "running")
        assert not any(value & 1 for value in place.board.state()["fp_comp"])


# --- servers that do not keep to it ---------------------------------------------------------------------------

def frame(payload):
    return b"$" + payload + b"#%02x" % (sum(payload) & 255)


class Broken:
    """Says `answer(request)` to each request, b"" to none, None: hangs up."""

    def __init__(self, answer):
        self.answer, self.listener = answer, socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        try:
            client, _ = self.listener.accept()
            rest = b""
            while part := client.recv(4096):
                rest += part
                while b"#" in rest[:-2]:
                    request, _, rest = rest.partition(b"#")
                    reply = self.answer(request.partition(b"$")[2])
                    if reply is None:
                        client.close()
                        return
                    for piece in reply if isinstance(reply, list) else [reply]:
                        client.sendall(piece)
        except OSError:
            pass

    def close(self):
        self.listener.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def xml_without_end(request):
    if request.startswith(b"qSupported"):
        return b"+" + frame(b"PacketSize=4000;qXfer:features:read+")
    return b"+" + frame(b"m" + b"<reg name='r'/>" * 200) if request.startswith(b"qXfer") else b"+" + frame(b"")


def xml_in_circles(request):
    if request.startswith(b"qSupported"):
        return b"+" + frame(b"PacketSize=4000;qXfer:features:read+")
    text = b'l<target xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="target.xml"/></target>'
    return b"+" + frame(text) if request.startswith(b"qXfer") else b"+" + frame(b"")


def slow(request):
    def pieces():
        for byte in b"+" + frame(b"PacketSize=4000;" + b"x" * 100000):
            time.sleep(0.05)
            yield bytes([byte])
    return list_of(pieces())


class list_of(list):
    """A list whose items arrive one after the other."""

    def __init__(self, items):
        super().__init__()
        self.items = items

    def __iter__(self):
        return self.items


@pytest.mark.nobody_answers
@pytest.mark.parametrize("answer", [
    lambda request: b"", lambda request: None, lambda request: b"HTTP/1.1 400 Bad Request\r\n\r\n",
    lambda request: b"+$" + b"A" * (1 << 20) + b"#00", lambda request: b"-" * 1000, lambda request: b"+$OK#00",
    lambda request: b"\x00\xff" * 100000, lambda request: b"+" + frame(b"E01"), lambda request: b"+" + frame(b"T05"),
    lambda request: b"+" + frame(b"O41") * 1000, lambda request: b"+" + frame(b"OK\0*\xff}"),
    lambda request: b"+" + frame(b"l" * 5000), xml_without_end, xml_in_circles, slow],
    ids=["silent", "hangs up", "web server", "huge", "refuses all", "bad checksum", "noise", "errors only", "stops only", "chatter",
         "bad escapes", "l", "endless XML", "circular XML", "slow"])
def test_broken_server(answer):
    with Broken(answer) as server:
        result = run_tool("info", "-p", f"gdb:127.0.0.1:{server.port}")
        assert result.code == 3 and ("GDB server" in result.err or "server's target" in result.err), result.err


@pytest.mark.nobody_answers
def test_silent_server_is_left_at_once_on_ctrl_c():
    with Broken(lambda request: b"") as server:
        tool = start_tool([TOOL, "info", "-p", f"gdb:127.0.0.1:{server.port}"])
        wait_for(lambda: not os.path.exists(f"/proc/{tool.pid}") or b"gdb" in open(f"/proc/{tool.pid}/cmdline", "rb").read(), "it")
        assert finish_tool(tool, signal.SIGINT).code != 0


@pytest.mark.any_row(5)
@pytest.mark.nobody_answers
@pytest.mark.parametrize("chip", ["m4", "a9"])
@pytest.mark.parametrize("how", ["cut", "damaged", "empty", "error", "twice"])
def test_a_real_server_spoilt_on_the_way(chip, how):
    """At every N-th packet of a measurement. Whatever is printed nevertheless is right."""
    spoilt = {"cut": lambda packet: None, "damaged": lambda packet: packet[:-3] + b"~" + packet[-3:],
              "empty": lambda packet: frame(b""), "error": lambda packet: frame(b"E01"), "twice": lambda packet: packet + packet}
    for number in places(152, f"spoilt {chip} {how}", most=2, in_soak=20):
        with GdbPlace(chip, "free", WORK_BY_DATA) as place:
            proxy = Proxy(place.server.gdb_port(), lambda n, packet: spoilt[how](packet) if n == number else packet)
            place.board.watch(NOWHERE)
            result = run_tool("--elf", place.elf, "-p", f"gdb:127.0.0.1:{proxy.port}", "delta", "-j", "work_by_data", "-r", 2,
                              "--no-calibrate")
            proxy.close()
            assert result.code in (0, 3) and (result.code == 0 or result.err), (number, result.err)
            truth = [passage.cycles for passage in passages(place.board.log(), place.symbol("work_by_data"), returned)]
            for cycles in result.cycles:
                assert cycles in truth, (number, result.cycles, truth)


@pytest.mark.nobody_answers
@pytest.mark.parametrize("chip", ["m4", "a9"])
def test_a_stop_whose_reply_is_lost(chip):
    """The core is halted at a breakpoint of the tool's, and nothing further is sent."""
    lost = []

    def drop_one(number, packet):
        if packet.startswith(b"$T05") and not lost:
            lost.append(number)
            return b""
        return packet

    with GdbPlace(chip, "free", WORK_BY_DATA) as place:
        first = place.run("delta", "work_by_data", "-r", 1)
        assert first.code == 0, first.err
        before = place.board.state()
        proxy = Proxy(place.server.gdb_port(), drop_one, again=True)
        result = run_tool("--elf", place.elf, "-p", f"gdb:127.0.0.1:{proxy.port}", "delta", "work_by_data", "-r", 2, "--no-calibrate",
                          "--timeout", 1)
        assert lost and result.code in (3, 4) and "Not restored" not in result.err, (lost, result.code, result.err)
        place.board.wait_for(lambda state: state["run"] == "running")
        after = place.board.state()
        for name in ("fp_comp", "demcr", "dwt_ctrl", "bcr", "pmcr", "pmcntenset"):
            assert after.get(name) == before.get(name), (name, result.err)


@pytest.mark.any_row(2)
@pytest.mark.nobody_answers
@pytest.mark.parametrize("chip", ["m4", "a9"])
@pytest.mark.parametrize("how", ["cut", "damaged", "dropped"])
@pytest.mark.parametrize("command", ["delta", "info"])
def test_after_a_fault_the_core_runs_as_before(chip, how, command, monkeypatch):
    """By the same connection, or by a new one, for which a busy machine takes its time."""
    if how != "dropped":
        monkeypatch.setenv("PMU_PROBE_PATIENCE", "20")
    spoilt = {"cut": lambda packet: None, "damaged": lambda packet: packet[:-3] + b"~" + packet[-3:], "dropped": lambda packet: b""}
    words = {"delta": ["delta", "work_by_data", "-r", 2, "--no-calibrate"], "info": ["info"]}[command]
    with GdbPlace(chip, "free", WORK_BY_DATA) as place:
        first = place.run("delta", "work_by_data", "-r", 1)
        assert first.code == 0, first.err
        before = place.board.state()
        for number in places({"delta": 100, "info": 36}[command], f"mended {chip} {how} {command}", most=3, in_soak=30):
            proxy = Proxy(place.server.gdb_port(), lambda n, packet: spoilt[how](packet) if n == number else packet, again=True)
            result = run_tool("--elf", place.elf, "-p", f"gdb:127.0.0.1:{proxy.port}", *words)
            assert result.code in (0, 3), (number, result.err)
            place.board.wait_for(lambda state: state["run"] == "running")
            proxy.close()
            after = place.board.state()
            for name in ("fp_comp", "demcr", "dwt_ctrl", "bcr", "pmcr", "pmcntenset"):
                assert after.get(name) == before.get(name), (number, name, result.err)


@pytest.mark.any_row(2)
@pytest.mark.parametrize("chip", ["a9", "r5", "m4"])
def test_a_request_to_stop_that_is_late_alters_no_register(chip, monkeypatch):
    """The core stops by itself, and that is known only after it was asked to. OpenOCD keeps the request, halts the core for it once it runs
    again, and would give a Cortex-A or R that runs its registers."""
    monkeypatch.setenv("PMU_PROBE_PATIENCE", "4")  # it waits 0.6 s for the stop
    with GdbPlace(chip, "free", WORK_BY_DATA) as place:
        def stop_late(_, packet):
            if packet.startswith(b"$T05") and len(stops) < 6:
                stops.append(packet)
                if len(stops) == 6:
                    tool.send_signal(signal.SIGINT)
                    time.sleep(1.5)
            return packet

        first = place.run("delta", "work_by_data", "-r", 1)
        assert first.code == 0, first.err
        before, stops = place.board.state(), []
        proxy = Proxy(place.server.gdb_port(), stop_late)
        tool = start_tool([TOOL, "--elf", place.elf, "-p", f"gdb:127.0.0.1:{proxy.port}", "delta", "work_by_data",
                           "--no-calibrate", "-r", "1000000"])
        result = finish_tool(tool)
        proxy.close()
        assert result.code == INTERRUPTED and "not running when halt was requested" in place.server.output, result.err
        place.board.wait_for(lambda state: state["run"] == "running")
        place.server("halt")
        place.server("resume")
        after = place.board.wait_for(lambda state: state["run"] == "running")
        assert after["altered"] == before["altered"], place.server.output


class CrossedStops(Proxy):
    """Holds a stop back until the tool asks for one, as a busy machine may: OpenOCD keeps the request."""

    def __init__(self, port):
        self.crossed = 0
        super().__init__(port, self.hold)

    def _carry(self, client):
        self._client = client
        super()._carry(client)

    def hold(self, _, packet):
        if packet.startswith((b"$T05", b"$T02")) and select.select([self._client], [], [], 0.4)[0]:
            self.crossed += 1
            self._server.sendall(self._client.recv(1 << 16))
        return packet


@pytest.mark.any_row(2)
@pytest.mark.parametrize("chip, words", [("a53", ["survey", "work_by_data", "called_twice", "--for", "1s"]), ("m4", ["survey", "work_by_data", "--for", "1s"]),
                                         ("a53", ["record", "--for", "300ms"]), ("a9", ["stat", "--for", "300ms"])], ids=str)
def test_a_stop_that_crosses_the_request_leaves_no_core_halted(chip, words):
    """OpenOCD carries the request out once the core runs again, after the command that let it go."""
    with GdbPlace(chip, "free", WORK_BY_DATA | CALLED_TWICE) as place:
        proxy = CrossedStops(place.server.gdb_port())
        result = run_tool("--elf", place.elf, "-p", f"gdb:127.0.0.1:{proxy.port}", *words)
        proxy.close()
        assert result.code in (0, 3), result.err
        for _ in range(2):
            place.server("version")  # it has carried out what it was sent
        assert place.board.state()["run"] == "running", (proxy.crossed, result.err)


@pytest.mark.nobody_answers
@pytest.mark.parametrize("command", [["delta", "work_by_data", "-r", 1000000], ["info"]])
def test_behind_a_server_that_was_stopped_the_core_is_said_to_stand(command):
    """For info, too, which changes nothing but to halt it."""
    with GdbPlace("m4", "free", WORK_BY_DATA) as place:
        proxy = Proxy(place.server.gdb_port(), lambda n, packet: packet if n != 20 else stop(place, packet), again=True)
        tool = start_tool([TOOL, "--elf", place.elf, "-p", f"gdb:127.0.0.1:{proxy.port}", *map(str, command)])
        result = finish_tool(tool)
        proxy.close()
        assert result.code == 3 and "the core is left halted" in unfolded(result.err), result.err
        os.kill(place.server.process.pid, signal.SIGCONT)


def stop(place, packet):
    os.kill(place.server.process.pid, signal.SIGSTOP)
    return packet
