"""`make check-labgrid`: contrib/labgrid with Debian's labgrid, virtual boards, and an own sshd on loopback as the exporter's. That
sshd has its own mount namespace, in which the programs under test are not there."""
import filecmp
import getpass
import os
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import xml.etree.ElementTree

import pytest
import yaml
from endings import CUT, PASS, SILENT, Relay
from gdb_place import GdbPlace, free_port
from harness import ARTICLE_NOP, NOWHERE, ROOT, TOOL, WAIT, WORK_BY_DATA, Place, passages, returned, tool_environment, wait_for
from labgrid import Environment
from labgrid.driver.exception import ExecutionError
from labgrid.exceptions import InvalidConfigError
from labgrid.util.proxy import proxymanager
from labgrid.util.ssh import sshmanager
from test_trace import snapshot
from usb import usb_available

CONTRIB = os.path.join(ROOT, "contrib")
FOLDERS = [os.path.join(CONTRIB, name) for name in ("python", "labgrid")]
sys.path += FOLDERS
SIX = ["rp2040/swd", "m4/swd", "m55/swd", "a9/swd", "a53/swd", "r5/swd"]


class Exporter:
    """An sshd on a free port of loopback, through a relay, and what makes `ssh exporter` reach it."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.hidden, self.state = folder, folder / "here", folder / "state"
        for path in (self.hidden, self.state):
            path.mkdir()
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
        shutil.copy(folder / "user.pub", folder / "authorized")
        (folder / "known").write_text("exporter " + (folder / "host.pub").read_text())
        port = free_port()
        variables = {**{name: value for name, value in tool_environment().items() if name in ("ASAN_OPTIONS", "UBSAN_OPTIONS")},
                     "PMU_PROBE_PATIENCE": 5, "XDG_STATE_HOME": self.state, "XDG_CACHE_HOME": folder / "cache", "XDG_CONFIG_HOME": os.devnull}
        (folder / "sshd").write_text(f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\n"
                                     "PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\n"
                                     "MaxStartups 100\n"
                                     f"SetEnv {' '.join(f'{name}={value}' for name, value in variables.items())}\n")
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)
        sshd = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:" + os.environ["PATH"])
        mounts = f"mount -t tmpfs none {self.hidden} && exec {sshd} -D -e -f {folder}/sshd"
        own = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-current-user"])
        with open(folder / "sshd.log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([*own, "sh", "-c", mounts], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for(lambda: "Server listening" in (folder / "sshd.log").read_text() or self.process.poll() is not None, "sshd")
        assert self.process.poll() is None, (folder / "sshd.log").read_text()
        self.relay = Relay(port)
        (folder / "config").write_text(f"Host exporter\nHostName 127.0.0.1\nPort {self.relay.port}\nUser {getpass.getuser()}\nHostKeyAlias exporter\n"
                                       f"IdentityFile {folder}/user\nIdentitiesOnly yes\nUserKnownHostsFile {folder}/known\n"
                                       "ServerAliveInterval 5\nServerAliveCountMax 3\n")
        # ssh reads the user's own configuration wherever HOME is
        (folder / "bin").mkdir()
        (folder / "bin" / "ssh").write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder}/config "$@"\n')
        (folder / "bin" / "ssh").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}/bin:{os.environ['PATH']}")

    def close(self):
        for host in list(sshmanager._connections):  # close_all() stumbles over one that was cut
            connection = sshmanager._connections.pop(host)
            if connection._connected and not connection.isconnected():
                connection._connected = False
            elif connection.isconnected():
                connection.disconnect()
        self.relay.close()
        self.process.terminate()
        self.process.wait(WAIT)


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name, value in tool_environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("PMU_PROBE", raising=False)


@pytest.fixture
def exporter(tmp_path, monkeypatch):
    there = Exporter(tmp_path, monkeypatch)
    yield there
    there.close()


def network(place, **more):
    return {"NetworkPmuProbe": {"host": "127.0.0.1", "port": place.board.dap_port, **more}}


def remote(place, **more):
    return {"RemotePmuProbe": {"host": "exporter", "probe": place.probe_words()[1], "tool": TOOL, **more}}


def described(folder, *targets):
    """An environment file with a target for each place and resource."""
    images, found = {}, {}
    for name, place, resource in targets:
        (folder / name).mkdir()
        images[name] = str(shutil.copy(place.elf, folder / name / "app.elf"))
        options = [] if "kind" in next(iter(resource.values())) else place.probe_words()[2:]
        found[name] = {"resources": resource, "drivers": {"PmuProbeDriver": {"image": name, "options": options}}}
    path = folder / "lab.yaml"
    path.write_text(yaml.safe_dump({"imports": ["pmu_labgrid"], "tools": {"pmu-probe": TOOL}, "images": images, "targets": found}))
    return path


def pmu_of(folder, place, resource):
    return Environment(str(described(folder, ("board", place, resource)))).get_target("board").get_driver("PmuProbeDriver").pmu()


def is_true(place, pmu, hits=20):
    """Each hit is what the board says."""
    place.board.watch(NOWHERE)
    run = pmu.delta("work_by_data", hits=hits)
    truth = [passage.cycles for passage in passages(place.board.log(), place.symbol("work_by_data"), returned)]
    assert [hit.values.CPU_CYCLES for hit in run.hits] == truth[:len(run.hits)] and len(run.hits) >= hits
    return run


def as_found(place, before):
    wait_for(lambda: snapshot(place) == before and place.board.state()["run"] == "running", "the target to be as it was")


# --- six boards, and each kind of resource

def test_six_boards(tmp_path):
    places = []
    try:
        for way in SIX:
            places.append(Place(way, "free", ARTICLE_NOP | WORK_BY_DATA))
        path = described(tmp_path, *((place.chip, place, network(place)) for place in places))
        lab = Environment(str(path))
        for place in places:
            is_true(place, lab.get_target(place.chip).get_driver("PmuProbeDriver").pmu())
        (tmp_path / "conftest.py").write_text(textwrap.dedent(f"""
            import pytest

            @pytest.fixture(params={[place.chip for place in places]})
            def pmu_board(env, request):
                return env.get_target(request.param).get_driver("PmuProbeDriver").pmu()
        """))
        (tmp_path / "test_regions.py").write_text(textwrap.dedent("""
            import pytest

            @pytest.mark.pmu_baseline
            def test_nop(pmu):
                pmu.delta("nop_first", "nop_second", hits=20)
        """))
        for words in (["--pmu-update"], []):  # the second time by the file's path
            if not words:
                path.write_text(path.read_text().replace("- pmu_labgrid", f"- {FOLDERS[1]}/pmu_labgrid.py"))
            done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "pytest_pmu_probe", "--rootdir=.",
                                   f"--lg-env={path}", "--junitxml=junit.xml", *words, "."], cwd=tmp_path, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=WAIT, env=dict(os.environ, PYTHONPATH=":".join(FOLDERS)))
            assert "6 passed" in done.stdout, done.stdout
        names = sorted(os.listdir(tmp_path / "pmu-baselines"))
        assert len(names) == 6 and all(name.startswith("Cortex-") and name.endswith("-nop_first-nop_second.jsonl") for name in names)
        verdicts = [item.get("value") for item in xml.etree.ElementTree.parse(tmp_path / "junit.xml").iter("property")
                    if item.get("name") == "nop_first nop_second verdict"]
        assert verdicts == ["pass"] * 6
    finally:
        for place in places:
            place.close()


def test_openocd_and_a_gdb_server(tmp_path):
    with Place("m4", "free", WORK_BY_DATA) as place:
        resource = {"NetworkPmuProbe": {"host": "127.0.0.1", "port": place.server.port, "kind": "openocd"}}
        assert is_true(place, pmu_of(tmp_path, place, resource)).header.link.startswith("openocd")
    (tmp_path / "gdb").mkdir()
    with GdbPlace("m4", "free", WORK_BY_DATA) as place:
        resource = {"NetworkPmuProbe": {"host": "127.0.0.1", "port": place.server.gdb_port(), "kind": "gdb"}}
        run = pmu_of(tmp_path / "gdb", place, resource).delta("work_by_data", hits=5)
        assert run.header.link.startswith("gdb") and run.cycles.count >= 5


def test_a_port_that_only_the_exporter_reaches(exporter):
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        proxymanager.force_proxy("exporter")
        try:
            pmu = pmu_of(exporter.hidden, place, network(place))
        finally:
            type(proxymanager)._force_proxy = None
        assert pmu.probe.startswith("cmsis-dap-tcp:localhost:") and str(place.board.dap_port) not in pmu.probe
        is_true(place, pmu)


def test_the_tool_at_the_exporter_with_the_program_copied(exporter):
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        pmu = pmu_of(exporter.hidden, place, remote(place))
        run = is_true(place, pmu)
        copy = run.header.elf
        assert copy.startswith(f"{exporter.folder}/cache/pmu-probe/") and copy.endswith("/app.elf") and filecmp.cmp(copy, pmu.elf, False)
        written = os.stat(copy).st_ino
        # A baseline of the same core at another place, and it is here
        near = described_near(exporter.hidden, place)
        base = exporter.hidden / "main.jsonl"
        base.write_text(near.delta("work_by_data", hits=60).text)
        assert pmu.delta("work_by_data", hits=60, baseline=base, threshold="200%").verdict.verdict == "pass"
        assert os.stat(copy).st_ino == written and len(list(exporter.folder.glob("cache/pmu-probe/*/*"))) == 2


def described_near(folder, place):
    (folder / "near").mkdir()
    return pmu_of(folder / "near", place, network(place))


# --- errors

def test_errors_are_labgrids(tmp_path, exporter):
    with Place("m4/swd", "free") as place:
        far, near = pmu_of(exporter.hidden, place, remote(place)), described_near(exporter.hidden, place)
        for pmu in (near, far):
            with pytest.raises(ExecutionError, match="no symbol .work_by_date. in app.elf; did you mean work_by_data") as error:
                pmu.delta("work_by_date")
            assert error.value.stderr[0].startswith("pmu-probe: no symbol")
            pmu.tool = "/no/such/tool"
            with pytest.raises(ExecutionError, match="/no/such/tool"):
                pmu.run("info")
            pmu.tool = TOOL
        near.probe = far.probe = f"cmsis-dap-tcp:127.0.0.1:{free_port()}"
        for pmu in (near, far):
            with pytest.raises(ExecutionError, match="nothing listens on"):
                pmu.run("info")
        with pytest.raises(FileNotFoundError, match="none.elf"):
            far.run("info", elf=tmp_path / "none.elf")
        path = described(tmp_path, ("wrong", place, network(place, kind="cmsis-dap-tcp")))
        path.write_text(path.read_text().replace("image: wrong", "image: other"))
        with pytest.raises(InvalidConfigError, match="no path configured for image 'other'"):
            Environment(str(path)).get_target("wrong").get_driver("PmuProbeDriver").pmu()
        path.write_text(path.read_text().replace("kind: cmsis-dap-tcp", "kind: jlink"))
        with pytest.raises(ValueError, match="kind"):
            Environment(str(path)).get_target("wrong")
        exporter.relay.become(CUT)
        with pytest.raises(ExecutionError):
            far.run("info")


def test_an_exporter_that_is_not_there(exporter):
    with Place("m4/swd", "free") as place:
        exporter.relay.become(CUT)
        pmu = pmu_of(exporter.hidden, place, remote(place))
        with pytest.raises(ExecutionError, match="exporter"):
            pmu.run("info")


# --- what happens in the middle

def meanwhile(place, what, stops=20):
    """Does it once the tool has stopped the core that often. With its own connection to the board: the test uses the other one."""
    place.board.watch(NOWHERE)
    board = place.board.core(0)

    def wait():
        wait_for(lambda: sum(event.kind == "halt" for event in board.log()) >= stops, "some hits")
        what(board)
    threading.Thread(target=wait, daemon=True).start()


def no_journal(folder):
    return not [name for _, _, names in os.walk(folder / "pmu-probe") for name in names if name.endswith(".journal")]


@pytest.mark.parametrize("far", [False, True])
def test_ctrl_c(far, exporter):
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        pmu, before = pmu_of(exporter.hidden, place, remote(place) if far else network(place)), snapshot(place)
        meanwhile(place, lambda _: os.kill(os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            pmu.delta("work_by_data", for_="1h")
        assert snapshot(place) == before and place.board.state()["run"] == "running"


@pytest.mark.parametrize("how", [CUT, SILENT])
def test_the_way_to_the_exporter_is_cut(how, exporter):
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        pmu, before = pmu_of(exporter.hidden, place, remote(place)), snapshot(place)
        meanwhile(place, lambda _: exporter.relay.become(how))
        with pytest.raises(ExecutionError, match="connection to exporter failed or was lost"):
            pmu.delta("work_by_data", for_="1h")
        as_found(place, before)
        wait_for(lambda: no_journal(exporter.state), "the journal to be gone")


def test_the_way_to_the_probe_is_cut_for_a_moment(tmp_path):
    with Place("m4/swd", "free", WORK_BY_DATA) as place, Relay(place.board.dap_port) as relay:
        pmu, before = pmu_of(tmp_path, place, network(place)), snapshot(place)
        pmu.probe = f"cmsis-dap-tcp:127.0.0.1:{relay.port}"

        def blink(_):
            relay.become(CUT)
            relay.become(PASS)
        meanwhile(place, blink)
        try:
            assert len(is_true(place, pmu, 3000).hits) >= 3000
        except ExecutionError as error:
            assert "pmu-probe:" in error.msg
        as_found(place, before)


def test_the_way_to_the_probe_is_cut_for_good(tmp_path, monkeypatch):
    monkeypatch.setenv("PMU_PROBE_PATIENCE", "1")
    with Place("m4/swd", "free", WORK_BY_DATA) as place, Relay(place.board.dap_port) as relay:
        pmu, before = pmu_of(tmp_path, place, network(place)), snapshot(place)
        pmu.probe = f"cmsis-dap-tcp:127.0.0.1:{relay.port}"
        meanwhile(place, lambda _: relay.become(CUT))
        with pytest.raises(ExecutionError, match="(?s)pmu-probe:.*could not restore"):
            pmu.delta("work_by_data", for_="1h")
        relay.become(PASS)
        with pytest.raises(ExecutionError, match="did not end"):
            pmu.delta("work_by_data", hits=1)
        assert "put back" in pmu.restore()
        as_found(place, before)


@pytest.mark.parametrize("again", [True, False])
def test_the_exporters_probe_is_unplugged(again, exporter):
    if usb_available() is not None:
        pytest.skip(usb_available())
    with Place("m4/v2", "free", WORK_BY_DATA) as place:
        tool = exporter.folder / "tool"  # the board's USB is in its own namespace
        tool.write_text(f'#!/bin/sh\nexec {shlex.join(map(str, place.board.in_namespace([TOOL])))} "$@"\n')
        tool.chmod(0o755)
        pmu, before = pmu_of(exporter.hidden, place, remote(place, tool=str(tool))), snapshot(place)

        def pull(board):
            board.unplug()
            if again:
                board.plug()
        meanwhile(place, pull)
        if again:
            try:
                is_true(place, pmu, 3000)
            except ExecutionError as error:
                assert "pmu-probe:" in error.msg
        else:
            with pytest.raises(ExecutionError, match="unplugged"):
                pmu.delta("work_by_data", for_="1h")
            place.board.plug()
            assert "put back" in pmu.restore()
        as_found(place, before)
