"""`make demo` runs to its end and prints the right figures. `make play` says which port is taken, and leaves nothing if it
is killed; test_typed.py types its commands.
`make pictures` makes whole SVGs, light and dark."""
import os
import socket
import subprocess
import xml.etree.ElementTree

import pytest

import pictures
from harness import RELEASE, ROOT, WAIT, wait_for
from test_typed import PORTS, Play, free_ports, listens

pytestmark = pytest.mark.any_fifth


def test_demo():
    environment = dict(os.environ, PMU_BUILD=os.environ.get("PMU_BUILD", "build"), PMU_TOOL=RELEASE)
    done = subprocess.run([os.path.join(ROOT, "tests", "demo.sh")], env=environment, text=True, capture_output=True, timeout=10 * WAIT)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr


def test_a_port_that_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        named = dict(zip(PORTS.values(), map(str, free_ports(len(PORTS)))), GDB_PORT=str(port))
        environment = dict(os.environ, PMU_BUILD=os.environ.get("PMU_BUILD", "build"), PMU_TOOL=RELEASE, **named)
        play = subprocess.Popen([os.path.join(ROOT, "tests", "play.sh")], env=environment, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)
        out, err = play.communicate(timeout=WAIT)
        assert play.returncode == 1 and out == "" and f"port {port} is taken" in err


def test_killed(tmp_path):
    play = Play(tmp_path)
    play.process.kill()
    wait_for(lambda: not any(map(listens, play.ports.values())), "the end of boards and OpenOCDs")
    play.process.communicate(timeout=WAIT)
    assert play.printed[0] == "Four virtual boards:\n"


def test_pictures(tmp_path):
    """In a small form: those that are kept, with what they are to show. No folder or port of today is in them."""
    made = dict(pictures.pictures(tmp_path, seconds=0, hits=20))
    assert sorted(made) == sorted(os.listdir(pictures.PICTURES))
    for name, shown in (("top", "work_by_data"), ("lines", "hidden_step"), ("delta", 'class="outline"')):
        light, dark = (made[f"{name}-{theme}.svg"] for theme in pictures.THEMES)
        assert shown in light and shown in dark and light != dark
        assert not any(word in light for word in (str(tmp_path), ROOT, "127.0.0.1", "https:"))
        assert xml.etree.ElementTree.fromstring(light).tag == xml.etree.ElementTree.fromstring(dark).tag == "{http://www.w3.org/2000/svg}svg"
