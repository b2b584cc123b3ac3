"""Bad input never hangs the tool. Each case has a message that says what to do, and exit code 2 or 3."""
import os
import socket
import subprocess
import threading

import pytest

from harness import CLOSED_PORT, BUILD, WORK_BY_DATA, Place, elf_of, finish_tool, passages, returned, run_tool, start_tool, TOOL, WAIT, wait_for

ELF = elf_of("rp2040", "free")


class Peer:
    """A server that is not OpenOCD."""

    def __init__(self, speak):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.speak = speak
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
                with connection:
                    self.speak(connection)
            except OSError:
                return

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


def garbage(connection):
    connection.sendall(os.urandom(100000) + b"\x1a" + os.urandom(1000))
    connection.recv(1)


def endless(connection):
    while True:
        connection.sendall(b"x" * 65536)


def silent(connection):
    while connection.recv(65536):
        pass


def http(connection):
    connection.recv(100)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def hangs_up(connection):
    connection.recv(1)


def answers_one_for_all(connection):
    while connection.recv(65536):
        connection.sendall(b"42\x1a")


@pytest.mark.nobody_answers
@pytest.mark.parametrize("speak", [garbage, endless, silent, http, hangs_up, answers_one_for_all])
@pytest.mark.parametrize("command", [("info",), ("delta", "work_by_data"), ("watch",), ("probes",)])
def test_something_else_on_the_port(speak, command):
    with Peer(speak) as peer:
        elf = [] if command == ("probes",) else ["--elf", ELF]
        result = run_tool("-p", f"openocd:127.0.0.1:{peer.port}", *elf, *command)
        assert result.code == 3, result.err
        assert result.err.count("\n") >= 2 and result.out == ""


def test_nothing_on_the_port():
    result = run_tool("-p", f"openocd:127.0.0.1:{CLOSED_PORT}", "info")
    assert result.code == 3 and "nothing listens" in result.err and "start OpenOCD: -f" in result.err


@pytest.mark.parametrize("words, says", [
    ([], "usage: pmu-probe"), (["frobnicate"], "unknown command"), (["delta"], "needs a FUNCTION"),
    (["delta", "a", "b", "c", "--elf", ELF], 'unexpected argument "c"'), (["info", "x"], 'unexpected argument "x"'),
    (["top", "-x", ","], "text or json, not csv"), (["-p", "jtag:9", "info"], "what is at jtag:9? Say: -p cmsis-dap-tcp:jtag:9"),
    (["-p", "openocd:h:0", "info"], "not a port"), (["-p", "openocd:h:99999", "info"], "not a port"), (["-p", "openocd:h:+6666", "info"], "not a port"),
    (["-p", "gdb:h: 1", "info"], "not a port"), (["-p", "openocd", "--speed", "1M", "info"], "belongs to a CMSIS-DAP probe"),
    (["-c", "init", "--transport", "swd", "info"], "belongs to a CMSIS-DAP probe"), (["--elf", "/nonexistent", "delta", "x"], "nonexistent"),
    (["--elf", "/dev/null", "delta", "x"], "/dev/null"), (["--elf", __file__, "delta", "x"], "test_bad_input"),
    (["delta", "main"], "ELF"), (["-o", "/nonexistent/x", "info"], "cannot be written"),
    (["--elf", ELF, "delta", "work_by_data", "--tick", "nope"], 'no variable "nope"'),
    (["--elf", ELF, "survey", "work_by_data", "--baseline", "none", "--threshold", "5"], "write 5% or 0.05"),
    (["-r", "many", "info"], "-r takes a whole number from 1 up, such as 200"),
    (["--speed", "4000", "info"], "write 4000k for kHz"), (["-freq", "12M", "info"], "unknown option -freq; did you mean --freq?"),
    (["delta", "f", "--hits", "20"], "use -r N"), (["delta", "f", "--frequency", "12M"], "use --freq HZ"), (["run", "a.elf"], "use delta FUNCTION"),
    (["show", ELF], "is a program (ELF), not a result"), (["report", ELF], "is a program (ELF), not a result"),
    (["compare", ELF, ELF], "is a program (ELF), not a result"),
    (["my_function"], "delta FUNCTION measures one"), (["-p", "24450", "info"], "or -p gdb:localhost:24450"),
    (["-p", "openocd:6666", "info"], "has no host: localhost:6666"), (["-p", "gdb:x:1", "report"], "-p is not for report\n"),
])
def test_wrong_words(words, says):
    result = run_tool(*words)
    assert result.code == 2, result.err
    assert says in result.err and result.out == ""


@pytest.mark.parametrize("location, says", [
    ("work_by_dota", "work_by_data"), ("x; shutdown [exec touch pwned]", "shutdown"),
    ("[exec touch pwned]", "exec"), ("$::env(HOME)", "env"), ("tick_count", "tick_count"),
    ("scenarios.c:99999", "scenarios.c"), ("nope.c:3", "nope.c"), ("*0xzz", "0xzz"), ("", ""),
    ("work_by_data+", "work_by_data"), ("0x10000200", "an address is *0x10000200"), ("work_*", "survey 'work_*'"),
    ("scenarios.c", "scenarios.c:42"), ("SQUARE", "A macro has only lines."), ("s", "without a blank: --for 2s"), ("*0x10000000000000000000", "0x1"),
])
def test_wrong_location(location, says, tmp_path):
    result = run_tool("--elf", ELF, "delta", location)
    assert result.code == 2, result.err
    assert says in result.err
    assert not os.path.exists(os.path.join(BUILD, "pwned"))


@pytest.mark.parametrize("location", ["work_by_dota", "scenarios.c:99999", "scenario.c:3", "inlined_twice", "scenarios.c"])
def test_an_answer_with_candidates_is_one_line(location):
    result = run_tool("--elf", ELF, "delta", location)
    assert result.code == 2 and result.err.count("\n") == 1, result.err


def line_of_inlined():
    source = os.path.join(os.path.dirname(__file__), "../firmware/scenarios.c")
    with open(source, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if "value * 5 + sink" in line:
                return number
    raise AssertionError


def test_several_addresses_behind_one_line():
    result = run_tool("--elf", ELF, "delta", f"scenarios.c:{line_of_inlined()}", "ping+4")
    assert result.code == 2
    listed = [word for word in result.err.split() if word.startswith("*0x")]
    assert len(listed) >= 2
    with Place("rp2040", "free") as place:
        for one in listed[:2]:
            assert place.run("delta", one.rstrip(",:"), "-r", 1, "ping").code in (0, 3)


def test_other_program_on_the_target():
    with Place("rp2040", "tick", WORK_BY_DATA) as place:
        place.elf = elf_of("rp2040", "free")
        result = place.run("delta", "work_by_data")
        assert result.code == 3 and "does not run this ELF" in result.err
        place.elf = elf_of("m4", "free")
        result = place.run("delta", "work_by_data")
        assert result.code == 3


def test_unmapped_address():
    with Place("rp2040", "free", WORK_BY_DATA) as place:
        result = place.run("delta", "*0x60000000", "*0x60000010", "--timeout", 1)
        assert result.code == 3, result.err
        assert "0x60000000" in result.err
        assert place.board.state()["run"] == "running"


def test_no_such_core_or_counter():
    with Place("rp2040", "free", WORK_BY_DATA) as place:
        assert "no core 7" in place.run("-C", 7, "delta", "work_by_data").err
        result = place.run("--counter", "dwt", "delta", "work_by_data")
        assert result.code == 3 and "without counters" in result.err
        result = place.run("--counter", "pmu", "delta", "work_by_data")
        assert result.code == 3 and "no counter block" in result.err


@pytest.mark.parametrize("lines", [(), ("-j",)], ids=["text", "json"])
def test_reload_value_changed_meanwhile(lines):
    """What was printed stays true; text begins anew."""
    with Place("rp2040", "free", WORK_BY_DATA) as place:
        place.board.watch(place.symbol("work_by_data"))
        process = place.start("delta", "work_by_data", "-r", 300, *lines)
        place.wait_for_stops(40)
        place.server.set_word(0xE000E014, 0x7FFFFF)
        result = finish_tool(process)
        if not lines:
            assert result.code == 0 and "SysTick's reload changes" in result.out, result.out + result.err
            return
        assert result.code == 3 and "something else changed SYST_RVR" in result.err, result.err
        true = {passage.cycles for passage in passages(place.board.log(), place.symbol("work_by_data"), returned)}
        assert {hit["values"]["CPU_CYCLES"] for hit in result.hits} <= true, result.out


@pytest.mark.parametrize("command", [("delta", "work_by_data", "-r", "1000000"), ("watch",)])
def test_openocd_killed_in_the_middle(command):
    with Place("rp2040", "free", WORK_BY_DATA) as place:
        process = place.start(*command)
        if command[0] == "delta":
            place.wait_for_stops(20)
        else:
            process.stdout.readline()
        place.server.kill()
        result = finish_tool(process)
        assert result.code == 3
        assert "openocd" in result.err.lower()
        if command[0] == "delta":
            assert "could not restore " in result.err and "Not restored: " in result.err and "FP_CTRL" in result.err
            assert "pmu-probe restore" in result.err and "a catch of resets is left" in result.err


def test_own_openocd_that_cannot_start():
    result = run_tool("-f", "/nonexistent.cfg", "info")
    assert result.code == 3 and "nonexistent.cfg" in result.err
    result = run_tool("-c", "adapter driver dummy", "-c", "shutdown", "info")
    assert result.code == 3


def test_openocd_is_not_installed():
    process = subprocess.run([TOOL, "-f", "x.cfg", "info"], env={"PATH": "/nonexistent"}, text=True,
                             stdin=subprocess.DEVNULL, capture_output=True, timeout=WAIT, check=False)
    assert process.returncode == 3 and "openocd" in process.stderr.lower()


def test_full_disk():
    with Place("rp2040", "free", WORK_BY_DATA) as place:
        result = place.run("delta", "-j", "work_by_data", "-r", 3, "-o", "/dev/full")
        assert result.code == 3 and "could not be written" in result.err
        assert place.board.state()["run"] == "running"


def test_closed_pipe():
    with Place("rp2040", "free", WORK_BY_DATA) as place:
        process = start_tool(place.words("delta", "-j", "work_by_data", "-r", 50))
        process.stdout.close()
        process.stdout = None
        result = finish_tool(process)
        assert result.code == 0 and result.err == ""
        assert place.board.state()["run"] == "running"
