"""`make demo` runs to its end and prints the right figures. The commands that `make play` prints work as typed, and it leaves
nothing behind."""
import os
import signal
import socket
import subprocess

import pytest

from harness import RELEASE, ROOT, WAIT

pytestmark = pytest.mark.any_fifth


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def start(**ports):
    environment = dict(os.environ, PMU_BUILD=os.environ.get("PMU_BUILD", "build"), PMU_TOOL=RELEASE, **{name: str(port) for name, port in ports.items()})
    return subprocess.Popen([os.path.join(ROOT, "tests", "play.sh")], env=environment, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, start_new_session=True)


def listens(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.costs("a board at the chip's own clock, and OpenOCD and GDB before it")
def test_demo():
    environment = dict(os.environ, PMU_BUILD=os.environ.get("PMU_BUILD", "build"), PMU_TOOL=RELEASE)
    done = subprocess.run([os.path.join(ROOT, "tests", "demo.sh")], env=environment, text=True, capture_output=True, timeout=10 * WAIT)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr


@pytest.mark.costs("a board at the chip's own clock")
def test_commands_as_they_stand():
    tcl, gdb = free_port(), free_port()
    play = start(TCL_PORT=tcl, GDB_PORT=gdb)
    lines = []
    while not lines or "Ctrl-C" not in lines[-1]:
        lines.append(play.stdout.readline())
        assert lines[-1] != "", play.stderr.read()
    folder = lines[1].rstrip(":\n")
    commands = [line.strip() for line in lines if " --elf " in line]
    assert len(commands) == 3 and folder == ROOT
    for command in commands:
        more = " --for 1s" if command.endswith("watch") else ""
        done = subprocess.run(command + more, shell=True, cwd=folder, text=True, capture_output=True, timeout=WAIT)
        assert done.returncode == 0, done.stderr
    os.killpg(play.pid, signal.SIGINT)
    play.communicate(timeout=WAIT)
    assert play.returncode == 0 and not listens(tcl) and not listens(gdb)


def test_a_port_that_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        play = start(TCL_PORT=port, GDB_PORT=free_port())
        out, err = play.communicate(timeout=WAIT)
        assert play.returncode == 1 and out == "" and f"port {port} is taken" in err
