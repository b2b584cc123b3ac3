"""How a run ends when the other side does not answer: in which order, with which words, and what is left. The times themselves
are in endings.py, which prints them."""
import contextlib
import json
import os
import pty
import select
import signal
import socket
import subprocess
import threading
import time

import pytest

from card import Agent, Card, card_available
from endings import CUT, LATE, PASS, SILENT, Behind, Relay
from harness import INTERRUPTED, ROOT, TOOL, WORK_BY_DATA, Place, finish_tool, has_open, run_tool, start_tool, wait_for
import test_trace

PUTTING = "pmu-probe: putting the target back ...\n"
RESTORE = "pmu-probe restore puts it back"
WAYS = ["m4/swd", "a9/swd"]
pytestmark = [pytest.mark.nobody_answers, pytest.mark.any_fifth]
needs_card = pytest.mark.skipif(card_available() is not None, reason=str(card_available()))


@pytest.fixture(autouse=True)
def own_patience(monkeypatch):
    """Nobody answers here, and a second Ctrl-C differs from the first one in any case."""
    monkeypatch.setenv("PMU_PROBE_PATIENCE", "1")


def left(result):
    """What the tool says that it could not put back."""
    line, = [line for line in result.err.splitlines() if line.startswith("Not restored: ")]
    return line.removeprefix("Not restored: ")


def is_told(process, text, kept):
    """Whether the tool has printed it, without waiting for its end."""
    while select.select([process.stderr], [], [], 0)[0]:
        more = os.read(process.stderr.fileno(), 4096).decode()
        if not more:
            break
        kept.append(more)
    return text in "".join(kept)


def finish_told(process, kept):
    result = finish_tool(process)
    result.err = "".join(kept) + result.err
    return result


# --- Ctrl-C, and no answer

@pytest.mark.each_value
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("how", ["stopped", SILENT, CUT])
def test_ctrl_c_ends_it_and_names_what_is_left(way, how):
    with Behind(way) as behind:
        tool = behind.measuring()
        with behind.stopped() if how == "stopped" else contextlib.nullcontext():
            if how != "stopped":
                behind.relay.become(how)
            result = finish_tool(tool, signal.SIGINT)
        assert result.code == 3 and RESTORE in result.err, result.err
        assert "The core may be halted." in left(result)
        assert ("FP_CTRL" in left(result) and "DEMCR" in left(result)) if way == "m4/swd" else "0x" in left(result)
        assert result.err.count(PUTTING) <= 1 and "OpenOCD" not in left(result)


def test_a_probe_that_can_be_reached_again_is_asked_again():
    """Its old connection is half-open: a router forgot it."""
    with Behind() as behind:
        before = test_trace.snapshot(behind.place)
        tool = behind.measuring()
        behind.relay.become(SILENT, PASS)
        wait_for(lambda: behind.relay.taken > 0, "a packet that gets no answer")
        result = finish_tool(tool, signal.SIGINT)
        assert result.code == INTERRUPTED and "Not restored" not in result.err, result.err
        assert test_trace.snapshot(behind.place) == before and behind.board.state()["run"] == "running"


@pytest.mark.parametrize("way", ["m4/swd", "m4"])
def test_a_second_ctrl_c_ends_it_at_once(way, monkeypatch):
    monkeypatch.setenv("PMU_PROBE_PATIENCE", "100")  # the first one would let it wait for minutes
    with Behind(way) as behind:
        tool = behind.measuring()
        behind.relay.become(SILENT)
        wait_for(lambda: behind.relay.taken > 0, "a packet that gets no answer")
        tool.send_signal(signal.SIGINT)
        with contextlib.suppress(Exception):
            tool.wait(0.5)
        result = finish_tool(tool, signal.SIGTERM)
        assert result.code == 3 and "you did not want to wait for it" in result.err, result.err
        assert "FP_CTRL" in left(result) and "The core may be halted." in left(result) and RESTORE in result.err


def test_a_signal_that_comes_twice_is_one(monkeypatch):
    """As timeout(1) sends it: to the process, and to its group."""
    monkeypatch.setenv("PMU_PROBE_PATIENCE", "100")
    with Behind() as behind:
        before = test_trace.snapshot(behind.place)
        tool = behind.measuring()
        behind.relay.become(LATE)
        wait_for(lambda: behind.relay.taken > 0, "a packet that gets a late answer")
        for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM):
            tool.send_signal(number)
        behind.relay.late = (0, 0)
        result = finish_tool(tool)
        assert result.code == INTERRUPTED and test_trace.snapshot(behind.place) == before, result.err


@pytest.mark.parametrize("signals", [1, 2])
def test_ctrl_c_while_it_puts_back_after_an_error(signals, monkeypatch):
    monkeypatch.setenv("PMU_PROBE_PATIENCE", "100" if signals > 1 else "1")
    with Behind() as behind:
        tool, kept = behind.measuring(), []
        behind.relay.become(CUT)
        monkeypatch.undo()
        wait_for(lambda: is_told(tool, PUTTING, kept), "the word that it takes long")
        for _ in range(signals - 1):
            tool.send_signal(signal.SIGINT)
            with contextlib.suppress(Exception):
                tool.wait(0.5)
            assert tool.poll() is None
        tool.send_signal(signal.SIGINT)
        result = finish_told(tool, kept)
        assert result.code == 3 and "closed the connection" in result.err and "FP_CTRL" in left(result)
        assert ("you did not want to wait" in result.err) == (signals > 1), result.err


def test_ctrl_c_after_the_reader_went_away_is_the_first_one(monkeypatch):
    """Ctrl-C ends both sides of `pmu-probe delta -j | jq`, in any order."""
    monkeypatch.setenv("PMU_PROBE_PATIENCE", "5")
    with Behind() as behind:
        before = test_trace.snapshot(behind.place)
        tool, kept = behind.measuring("-j"), []
        behind.relay.late = (2.5, 2.5)  # longer than it takes to the word
        behind.relay.become(LATE)
        tool.stdout.close()
        tool.stdout = None
        wait_for(lambda: is_told(tool, PUTTING, kept), "the word that it takes long")
        tool.send_signal(signal.SIGINT)
        behind.relay.late = (0, 0)
        result = finish_told(tool, kept)
        assert result.code == 0 and "written" not in result.err, result.err
        assert test_trace.snapshot(behind.place) == before and behind.board.state()["run"] == "running"


def test_a_reader_that_went_away_hides_nothing_that_is_left(monkeypatch):
    """`pmu-probe stat -j | head` is silent, but not if the target could not be put back."""
    monkeypatch.setenv("PMU_PROBE_PATIENCE", "1")
    with Behind() as behind:
        tool, kept = behind.start("stat", "-j", "-I", "20ms"), []
        wait_for(lambda: behind.board.state()["dwt_ctrl"] & 1, "the counter to be switched on")
        behind.relay.late = (0.6, 0.6)  # longer than it takes to the word
        behind.relay.become(LATE)
        tool.stdout.close()
        tool.stdout = None
        wait_for(lambda: is_told(tool, PUTTING, kept), "the word that it takes long")
        behind.relay.become(CUT)
        result = finish_told(tool, kept)
        assert result.code == 3 and "DWT_CTRL" in left(result) and RESTORE in result.err, result.err


def test_the_word_waits_for_no_reader(monkeypatch):
    """`2>&1 | less`, and the pipe is full."""
    monkeypatch.setenv("PMU_PROBE_PATIENCE", "5")
    with Behind() as behind:
        before = test_trace.snapshot(behind.place)
        tool = behind.measuring("-j")
        test_trace.fill(tool.stderr)
        behind.relay.late = (2.5, 2.5)  # longer than it takes to the word
        behind.relay.become(LATE)
        tool.send_signal(signal.SIGINT)
        time.sleep(1)
        behind.relay.late = (0, 0)
        wait_for(lambda: behind.board.state()["run"] == "running" and test_trace.snapshot(behind.place) == before, "the target to be as it was")
        assert finish_tool(tool).code in (INTERRUPTED, 3)


def test_not_a_word_with_quiet():
    with Behind() as behind:
        tool = behind.measuring("-q")
        behind.relay.become(SILENT)
        result = finish_tool(tool, signal.SIGINT)
        assert result.code == 3 and "putting the target back" not in result.err and "FP_CTRL" in left(result)


def test_on_a_terminal_the_word_goes_again():
    with Behind() as behind:
        master, slave = pty.openpty()
        tool = behind.measuring(stdout=slave, stderr=slave, environment={"TERM": "dumb"})
        os.close(slave)
        behind.relay.become(SILENT)
        tool.send_signal(signal.SIGINT)
        shown = b""
        with contextlib.suppress(OSError):
            while more := os.read(master, 65536):
                shown += more
        os.close(master)
        assert tool.wait() == 3
        word = b"\rputting the target back ..."
        assert word in shown and b"\r" + b" " * (len(word) - 1) + b"\r" in shown.split(word)[1], shown
        assert shown.index(word) < shown.index(b"Not restored")


@pytest.mark.each_value
@pytest.mark.parametrize("way", ["m4/swd", "m4/v2", "m4"])
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE, signal.SIGXCPU])
def test_other_signals_put_the_target_back_too(way, number):
    """SIGPIPE is a reader that went away."""
    with Place(way, scenario=WORK_BY_DATA) as place:
        before = test_trace.snapshot(place)
        tool = place.start("delta", "-j", "work_by_data", "-r", 100_000_000)
        place.wait_for_stops(200)  # with hits among them
        if number == signal.SIGPIPE:
            tool.stdout.close()
            tool.stdout = None
        else:
            tool.send_signal(number)
        result = finish_tool(tool)
        assert result.code == (0 if number == signal.SIGPIPE else INTERRUPTED) and "written" not in result.err, result.err
        assert test_trace.snapshot(place) == before and place.board.state()["run"] == "running"


def asked_by_delta(place, folder):
    old = folder / "old.jsonl"
    place.run("delta", "work_by_data", "-r", 10, "-j", "-o", old)
    return "delta", "work_by_data", "--baseline", old, "-r", 100_000_000


def asked_by_survey(_, folder):
    regions = folder / "regions"
    regions.write_text("work work_by_data <= 1000000 cycles\n")
    return "survey", "--regions", regions, "--check", "--for", "1h"


def asked_by_guard(_, __):
    return "guard", "work_by_data", "--budget", 1_000_000


@pytest.mark.parametrize("words", [(), ("-j",)], ids=["text", "json"])
@pytest.mark.parametrize("asked", [asked_by_delta, asked_by_survey, asked_by_guard])
def test_a_verdict_that_is_open_when_the_reader_goes_away_is_no_pass(asked, words, tmp_path):
    with Place("m4/swd", scenario=WORK_BY_DATA) as place:
        asked = asked(place, tmp_path)
        before = test_trace.snapshot(place)
        tool = place.start(*asked, *words)
        place.wait_for_stops(20)
        tool.stdout.close()
        tool.stdout = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            tool.wait(1)
        result = finish_tool(tool, signal.SIGINT if tool.poll() is None else None)  # not each output shows it before the end
        assert result.code == INTERRUPTED and "written" not in result.err, result.err
        assert test_trace.snapshot(place) == before and place.board.state()["run"] == "running"


def test_a_limit_of_cpu_time_is_told_each_second_and_is_no_second_ctrl_c(monkeypatch):
    monkeypatch.setenv("PMU_PROBE_PATIENCE", "100")
    with Behind() as behind:
        before = test_trace.snapshot(behind.place)
        tool = behind.measuring()
        behind.relay.become(LATE)
        wait_for(lambda: behind.relay.taken > 0, "a packet that gets a late answer")
        for _ in range(3):
            tool.send_signal(signal.SIGXCPU)
            time.sleep(0.3)
        behind.relay.late = (0, 0)
        result = finish_tool(tool)
        assert result.code == INTERRUPTED and test_trace.snapshot(behind.place) == before, result.err


@pytest.mark.parametrize("limit", ["-S -t 1", "-t 1", "-t 3"])
@pytest.mark.parametrize("way", ["m4/swd", "config"])
def test_a_limit_of_cpu_time_puts_the_target_back(way, limit):
    """`ulimit -t` sets both limits alike, and at the hard one the kernel kills: setrlimit(2). OpenOCD has the tool's limits."""
    with Place("m4" if way == "config" else way, scenario=WORK_BY_DATA) as place:
        words = place.words()
        if way == "config":
            place.server.kill()
            words = [TOOL, "-c", f"set BOARD_PORT {place.board.jtag_port}", "-f", os.path.join(ROOT, "openocd-cfg/boards/virtual.cfg"), "--elf", place.elf]
        before = test_trace.snapshot(place)
        words += ["delta", "-j", "work_by_data", "-r", "100000000"]
        result = finish_tool(start_tool(["sh", "-c", f"ulimit {limit} && exec \"$@\"", "sh", *words]))
        assert result.code == INTERRUPTED, (result.code, result.err[-2000:])
        assert test_trace.snapshot(place) == before and place.board.state()["run"] == "running"


def test_under_nohup_a_closed_terminal_ends_nothing(tmp_path):
    with Place("m4/swd", scenario=WORK_BY_DATA) as place:
        words = place.words("delta", "-j", "work_by_data", "-r", 100_000_000, "-o", tmp_path / "hits.jsonl")
        tool = start_tool(["nohup", *words])
        for hits in (100, 200):
            place.wait_for_stops(hits)
            tool.send_signal(signal.SIGHUP)
        stops = sum(event.kind == "halt" for event in place.board.log())
        place.wait_for_stops(stops + 100)
        result = finish_tool(tool, signal.SIGTERM)
        (part,) = tmp_path.glob("hits.jsonl.part-*")
        assert result.code == INTERRUPTED and '"ended":"Ctrl-C"' in part.read_text() and part.name in result.err, result.err


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_a_reader_that_stands_still_does_not_stop_the_run(kind):
    """It gets all of it when it goes on."""
    with Place("m4/swd", scenario=WORK_BY_DATA) as place:
        before = test_trace.snapshot(place)
        ours, its = (socket.socketpair() if kind == "socket" else map(os.fdopen, os.pipe(), "rw"))
        tool = start_tool(place.words("delta", "-j", "work_by_data", "-r", 100_000_000), stdout=its)
        its.close()
        place.wait_for_stops(5000)  # a pipe holds some 500 hits, a socket somewhat more
        tool.send_signal(signal.SIGTERM)
        wait_for(lambda: test_trace.snapshot(place) == before and place.board.state()["run"] == "running", "the target to be as it was")
        with ours.makefile() if kind == "socket" else ours as reader:
            lines = [json.loads(line) for line in reader]
        assert finish_tool(tool).code == INTERRUPTED
        assert [line["hit"] for line in lines if line["type"] == "hit"] == list(range(1, lines[-1]["hits"] + 1)) and lines[-1]["type"] == "summary"
        assert lines[-1]["hits"] > 2000


@pytest.mark.soak
def test_a_reader_that_never_goes_on_ends_the_run():
    with Place("m4/swd", scenario=WORK_BY_DATA) as place:
        before = test_trace.snapshot(place)
        tool = place.start("delta", "-j", "work_by_data", "-r", 100_000_000)
        place.wait_for_stops(20)
        wait_for(lambda: test_trace.snapshot(place) == before and place.board.state()["run"] == "running", "the run to end", 900)
        result = finish_tool(tool)
        assert result.code == 0 and "nobody took 32 MB of output, so the run was ended. " in result.err
        assert result.lines[-1]["ended"] == "nobody took the output" and result.lines[-1]["hits"] == len(result.hits) > 100_000


# --- before the first answer

@contextlib.contextmanager
def listener(greet):
    """A port of something else: `greet` gets each connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        def serve():
            with contextlib.suppress(OSError):
                while True:
                    greet(server.accept()[0], kept)

        kept = []
        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]


def say(words):
    def greet(connection, kept):
        kept.append(connection)
        connection.sendall(words)
    return greet


def hang_up(connection, _):
    connection.recv(4096)
    connection.close()


KINDS = ["cmsis-dap-tcp", "msr-agent"]


@pytest.mark.parametrize("kind", KINDS)
def test_who_says_nothing_is_told_so(kind):
    with listener(say(b"")) as port:
        result = run_tool("-p", f"{kind}:127.0.0.1:{port}", "info")
    assert result.code == 3 and "open, but silent: it sent nothing" in result.err, result.err
    said = result.err.replace("OpenOCD's Tcl port is -p openocd:HOST:PORT.", "")  # that port is silent, too
    assert (said != result.err) == (kind == "cmsis-dap-tcp"), result.err
    assert "openocd" not in said.lower() and "gdb" not in said.lower()


@pytest.mark.parametrize("words", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"+", b"\xff\xfd\x03Open On-Chip Debugger\r\n> "])
@pytest.mark.parametrize("kind", KINDS)
def test_who_says_something_else_is_told_so(kind, words):
    if kind == "msr-agent" and len(words) < 8:
        pytest.skip("its greeting has no end yet")
    with listener(say(words)) as port:
        result = run_tool("-p", f"{kind}:127.0.0.1:{port}", "info")
    assert result.code == 3 and ("does not speak CMSIS-DAP" in result.err or "it is not an msr-agent" in result.err), result.err
    assert "silent" not in result.err and "openocd" not in result.err.lower() and "gdb" not in result.err.lower()


def test_a_probe_that_hangs_up_may_be_in_use():
    with listener(hang_up) as port:
        result = run_tool("-p", f"cmsis-dap-tcp:127.0.0.1:{port}", "info")
    assert result.code == 3 and "is it in use?" in result.err and "one client at a time" in result.err, result.err


def test_a_second_client_is_told_who_has_the_probe():
    with Place("m4/swd", scenario=WORK_BY_DATA) as place:
        tool = place.start("delta", "work_by_data", "-r", 100_000_000)
        place.wait_for_stops(6)
        result = finish_tool(place.start("info"))
        assert result.code == 3 and f"is in use by process {tool.pid} (pmu-probe " in result.err, result.err
        assert finish_tool(tool, signal.SIGINT).code == INTERRUPTED


def test_a_second_client_elsewhere_is_told_that_the_probe_may_be_in_use(monkeypatch, tmp_path):
    """The lock is of one machine and user."""
    with Place("m4/swd", scenario=WORK_BY_DATA) as place:
        tool = place.start("delta", "work_by_data", "-r", 100_000_000)
        place.wait_for_stops(6)
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        result = finish_tool(place.start("info"))
        assert result.code == 3 and "one client at a time" in result.err, result.err
        assert finish_tool(tool, signal.SIGINT).code == INTERRUPTED


def test_a_second_user_is_refused_a_hid_probe(monkeypatch, tmp_path):
    """hidraw(4) gives each report to everyone who has it open."""
    with Place("m4/v1", scenario=WORK_BY_DATA) as place:
        before = test_trace.snapshot(place)
        tool = place.start("delta", "work_by_data", "-r", 100_000_000)
        place.wait_for_stops(6)
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        for words in (["info"], ["delta", "work_by_data", "-r", 1]):
            result = finish_tool(place.start(*words))
            assert result.code == 3 and "is in use by another pmu-probe, perhaps another user's" in result.err, result.err
        assert finish_tool(tool, signal.SIGINT).code == INTERRUPTED
        assert test_trace.snapshot(place) == before and place.board.state()["run"] == "running"
        assert finish_tool(place.start("info")).code == 0


@pytest.mark.parametrize("kind", [*KINDS, "openocd"])
@pytest.mark.parametrize("how", [SILENT, LATE])
def test_ctrl_c_while_connecting(kind, how, monkeypatch):
    """Also while getting there takes long, because all answers are late."""
    monkeypatch.setenv("PMU_PROBE_PATIENCE", "100")
    with listener(lambda connection, kept: kept.append(connection)) as port, Relay(port) as relay:
        relay.become(how)
        tool = start_tool([TOOL, "-p", f"{kind}:127.0.0.1:{relay.port}", "info"])
        wait_for(lambda: relay.accepted > 0, "a connection")
        result = finish_tool(tool, signal.SIGINT)
        assert result.code == 3 and "cancelled" in result.err, result.err


@needs_card
def test_an_agent_that_stops_answering():
    with Card() as card, Agent(card) as agent:
        tool = card.start("-a", "stat", "--freq", "1.1G", "-e", "CPU_CLK_UNHALTED", probe=agent.probe)
        wait_for(lambda: card.read(7, 0x2F) == 1, "the counting")
        agent.process.send_signal(signal.SIGSTOP)
        result = finish_tool(tool, signal.SIGINT)
        agent.process.send_signal(signal.SIGCONT)
        assert result.code == 3 and "no answer" in result.err and RESTORE in result.err and "0x" in left(result)
        wait_for(lambda: card.read(7, 0x2F) == 0, "the agent to put all back")


# --- files

@pytest.mark.parametrize("words", [("-r", 3, "--baseline"), ("-r", 3, "-M")])
def test_the_first_ctrl_c_ends_the_wait_for_what_a_pipe_says(tmp_path, words):
    """Its other end is open, but writes nothing, or half of it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with Place("m4/swd", scenario=WORK_BY_DATA) as place:
        before = test_trace.snapshot(place)
        tool = place.start("delta", "work_by_data", *words, pipe)
        with open(pipe, "w", encoding="utf-8") as writer:
            writer.write('{"type":')
            writer.flush()
            wait_for(lambda: has_open(tool, pipe), "the pipe to be open")
            result = finish_tool(tool, signal.SIGINT)
        assert result.code == 3 and "cancelled" in result.err, result.err
        assert test_trace.snapshot(place) == before
