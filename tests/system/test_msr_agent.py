"""The agent serves the PMU's registers and nothing else. It survives every kind of client, and undoes what clients did."""
import os
import random
import signal
import socket
import struct
import subprocess
import time

import pytest

from card import (AGENT, BUILD, CNTR0, CNTR1, CTRL, DONE, EN, FAULT, NONSENSE, OS, OVF, READ, REFUSED, SEL0, SEL1, SERVED,
                  SPFLT, STATUS, TIME, TSC, USR, WRITE, Agent, Card, Client,
                  card_available)
from harness import WAIT, wait_for

pytestmark = [pytest.mark.skipif(card_available() is not None, reason=str(card_available())), pytest.mark.any_fifth]
BOTH = USR | OS


@pytest.fixture(scope="module", name="card")
def still_card():
    """Its time does not pass: nothing changes but by what is done to it."""
    with Card(8, hz=0) as card:
        yield card


@pytest.fixture(name="agent")
def the_agent(card):
    card.control("reset")
    with Agent(card) as agent:
        yield agent


@pytest.fixture(name="client")
def the_client(agent):
    client = agent.connect()
    yield client
    client.close()


def test_the_registers_of_the_pmu(card, client):
    assert client.cores == {cpu: card.core_of(cpu) for cpu in range(8)}
    for msr, value in ((CNTR0, 0xFF11223344), (CNTR1, 5), (SEL0, 0xFF671234), (SEL1, 7), (SPFLT, 1 << 63 | 3), (CTRL, 3)):
        assert client.write(3, msr, value) == (DONE, [0])
        assert client.read(3, msr) == (DONE, [value]) and card.read(3, msr) == value
    assert client.read(3, TSC) == (DONE, [card.read(3, TSC)])
    assert client.read(3, STATUS) == (DONE, [0])


def test_read_only_and_write_only_registers(card, client):
    assert client.write(3, TSC, 0) == (REFUSED, []) == client.write(3, STATUS, 0)
    assert client.read(3, OVF) == (REFUSED, [])
    card.write(3, SEL0, EN | BOTH | 0x2A)
    card.write(3, CNTR0, (1 << 40) - 1)
    card.write(3, CTRL, 1)
    card.control("advance 100")
    assert client.read(3, STATUS) == (DONE, [1])
    assert client.write(3, OVF, 1) == (DONE, [0]) and client.read(3, STATUS) == (DONE, [0])
    assert client.write(3, CTRL, 4) == (FAULT, [])  # what the processor refuses


def test_every_other_register_is_refused(card, client):
    """All register numbers near the served ones, and a sample of the others."""
    rng = random.Random(8)
    numbers = set(range(0x200)) | {0xC0000080 + i for i in range(16)} | {1 << bit for bit in range(32)}
    numbers |= {msr ^ 1 << bit for msr in SERVED for bit in range(32)} | {rng.getrandbits(32) for _ in range(4000)}
    before = card.registers()
    for msr in sorted(numbers - set(SERVED)):
        assert client.read(3, msr) == (REFUSED, []), hex(msr)
        assert client.write(3, msr, 0) == (REFUSED, []), hex(msr)
    assert card.registers() == before
    assert not any(msr not in SERVED for _, msr, *_ in card.looks())


def test_every_other_cpu_is_refused(card):
    card.control("reset")
    with Agent(card, "--cpus", "1,3-4") as agent:
        assert "3 CPUs" in agent.announced
        client = agent.connect()
        assert sorted(client.cores) == [1, 3, 4]
        for cpu in [0, 2, 5, 6, 7, 8, 255, 256, 257, 0x8001, 0xFFFF]:
            assert client.read(cpu, TSC) == (REFUSED, []) and client.write(cpu, SEL0, 0) == (REFUSED, [])
        result = card.run("-a", "stat", "--for", "0.01s", "--freq", "1.1G", "-j", probe=agent.probe)
        assert result.code == 3 and "another client" in result.err
        client.close()
        wait_for(lambda: card.run("info", probe=agent.probe).code == 0, "the agent to be free")
        result = card.run("-a", "stat", "--for", "0.01s", "--freq", "1.1G", "-j", probe=agent.probe)
        assert [row["cpu"] for row in result.lines if row["type"] == "cpu"] == [1, 3, 4]
        result = card.run("-C", 3, "stat", "--for", "0.01s", "--freq", "1.1G", "-j", probe=agent.probe)
        assert "CPU 3" in result.header["core"]
        assert card.run("-C", 2, "stat", probe=agent.probe).code == 3


def test_a_list_ends_at_what_fails(card, client):
    for bad, why in (((READ, 3, 0x30, 0), REFUSED), ((WRITE, 3, CTRL, 4), FAULT)):
        card.write(3, SEL0, 0)
        assert client.run([(WRITE, 3, SEL1, 9), (READ, 3, SEL1, 0), bad, (WRITE, 3, SEL0, 1)]) == (why, [0, 9])
        assert card.read(3, SEL0) == 0
    why, times = client.run([(TIME, 0, 0, 0), (READ, 0, TSC, 0), (TIME, 0, 0, 0)])
    assert why == DONE and times[0] <= times[2]
    why, values = client.run([(READ, 3, SEL1, 0)] * 64)
    assert why == DONE and values == [9] * 64


def dirty(card, client):
    """Changes all registers of two CPUs, and returns their state before."""
    for cpu in (2, 5):
        card.write(cpu, SEL0, EN | BOTH | 0x16)  # another program's, which counts
        card.write(cpu, SEL1, 77)
        card.write(cpu, CNTR1, 99 + cpu)
        card.write(cpu, SPFLT, 1 << 63)
        card.write(cpu, CTRL, 1)
    before = card.registers()
    for cpu in (2, 5):
        for msr, value in ((CTRL, 3), (SEL1, EN | BOTH | 0x2A), (CNTR1, (1 << 40) - 1), (SPFLT, 2 | 1 << 63), (CTRL, 2)):
            assert client.write(cpu, msr, value) == (DONE, [0])
    card.control("advance 1000")
    assert card.read(2, STATUS) == 2 and card.registers() != before
    return before


@pytest.mark.parametrize("end", ["leaves", "dies", "talks nonsense", "agent is told to end"])
def test_what_a_client_changed_is_put_back(card, agent, end):
    client = agent.connect()
    before = dirty(card, client)
    if end == "dies":  # a reset instead of an orderly end
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if end == "talks nonsense":
        client.socket.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert client.take(8)[6] == NONSENSE and client.is_left()
    if end == "agent is told to end":
        assert agent.stop() == 0
    else:
        client.close()
        wait_for(lambda: card.registers()[5, CTRL] == 1, "the agent to put all back")
    after = card.registers()
    assert after[2, CNTR0] >= before[2, CNTR0]  # the other's counter went on, but while the client had it off
    assert {key: after[key] for key in after if key[1] != CNTR0} == {
        key: before[key] for key in before if key[1] != CNTR0}


def test_only_what_was_touched_is_put_back(card, agent):
    """A counter of another user keeps counting, and its flag stays."""
    card.write(2, SEL0, EN | BOTH | 0x2A)
    card.write(2, CNTR0, (1 << 40) - 5)
    card.write(2, CTRL, 1)
    client = agent.connect()
    assert client.write(2, SEL1, EN | BOTH | 0x16)[0] == DONE == client.write(2, CTRL, 3)[0]
    card.control("advance 1000")
    card.control("spflt 2 1")  # by the program
    value = card.read(2, CNTR0)
    assert card.read(2, STATUS) == 1 and value < 5000
    client.close()
    wait_for(lambda: card.read(2, CTRL) == 1, "the agent to put all back")
    assert card.read(2, CNTR0) == value and card.read(2, STATUS) == 1 and card.read(2, SPFLT) == 1 << 63
    assert card.read(2, SEL1) == 0 == card.read(2, CNTR1)


def test_one_client_at_a_time(agent, client):
    other = agent.connect()
    assert other.busy == 1 and other.is_left()
    assert client.read(0, SEL0) == (DONE, [0])
    client.close()

    def is_served():
        again = agent.connect()
        again.close()
        return not again.busy

    wait_for(is_served, "the agent to take another one")


def test_requests_in_pieces(client):
    data = client.request([(READ, 0, SEL0, 0)] * 3, 1)
    client.serial = 1
    client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for i in range(len(data)):
        client.socket.sendall(data[i:i + 1])
    assert client.reply() == (DONE, [0, 0, 0])
    client.socket.sendall(data * 5)  # and several at once
    assert [client.reply() for _ in range(5)] == [(DONE, [0, 0, 0])] * 5


@pytest.mark.parametrize("sent", [b"P", b"PMRq\x40\0\0\0" + bytes(100)])
def test_a_client_that_does_not_go_on_is_left(card, agent, client, sent):
    before = dirty(card, client)
    client.socket.sendall(sent)
    assert client.is_left()
    wait_for(lambda: card.registers() == before, "the agent to put all back")
    assert agent.connect().busy == 0


@pytest.mark.waits
def test_a_client_that_takes_no_answers_is_left(card, agent, client):
    before = dirty(card, client)
    data = client.request([(READ, 0, SEL0, 0)] * 64)
    client.socket.setblocking(False)
    try:
        while True:
            client.socket.send(data)
    except BlockingIOError:
        pass
    time.sleep(5)  # so long it waits for such a client; to read all registers takes long
    wait_for(lambda: card.registers() == before, "the agent to leave it")
    assert agent.connect().busy == 0


@pytest.mark.parametrize("data", [
    b"PMRq\0\0\0\0", b"PMRq\x41\0\0\0", b"PMRq\xff\xff\0\0", b"PMRx\x01\0\0\0", b"\0" * 8, b"\xff" * 4096,
    b"PMRq\x01\0\0\0\x03" + bytes(15), b"PMRq\x01\0\0\0\0\x01" + bytes(14)])
def test_nonsense_is_answered_and_left(agent, client, data):
    client.socket.sendall(data)
    try:
        assert client.take(8)[6] == NONSENSE
    except ConnectionResetError:
        pass  # more was under way than it had read
    assert client.is_left()
    again = agent.connect()
    while again.busy:
        again = agent.connect()
    assert again.read(0, SEL0) == (DONE, [0])


@pytest.mark.waits
def test_random_bytes_and_requests(card, agent):
    """2,000 clients: pieces of requests, damaged and whole. It serves the next, and all is as before."""
    rng = random.Random(5)
    before = card.registers()
    for _ in range(2000):
        accesses = [(rng.choice((0, 0, 1, 1, 1, 2, rng.randrange(256))), rng.choice((0, 1, 7, rng.getrandbits(16))),
                     rng.choice((*SERVED, rng.getrandbits(32))), rng.choice((0, 1, 3, EN | BOTH, rng.getrandbits(64))))
                    for _ in range(rng.randrange(1, 65))]
        data = bytearray(Client.request(accesses))
        for _ in range(rng.choice((0, 0, 1, 5))):
            data[rng.randrange(len(data))] = rng.getrandbits(8)
        with socket.create_connection(("127.0.0.1", agent.port), timeout=WAIT) as one:
            try:
                one.sendall(data[:rng.choice((len(data), len(data), rng.randrange(len(data)) + 1))])
                if rng.random() < 0.5:
                    one.recv(4096)
            except ConnectionError:
                pass
    wait_for(lambda: not agent.connect().busy, "the agent to be free")
    wait_for(lambda: card.registers() == before, "the agent to put all back")
    assert agent.process.poll() is None


def test_it_has_no_privileges_left(agent):
    with open(f"/proc/{agent.process.pid}/status", encoding="ascii") as lines:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in lines)
    assert status["Uid"].split() == status["Gid"].split() == ["65534"] * 4 and not status["Groups"].strip()
    assert all(int(status[f"Cap{which}"], 16) == 0 for which in ("Inh", "Prm", "Eff", "Bnd", "Amb"))
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"


def test_it_listens_on_loopback_only(agent):
    def listening(table):
        with open(f"/proc/net/{table}", encoding="ascii") as lines:
            rows = [line.split() for line in lines][1:]
        return [row[1].split(":")[0] for row in rows if row[3] == "0A" and int(row[1].split(":")[1], 16) == agent.port]

    assert listening("tcp") == ["0100007F"] and listening("tcp6") == []
    assert f"127.0.0.1:{agent.port}" in agent.announced


def test_it_listens_elsewhere_when_told_to(card):
    with Agent(card, "--listen", "0.0.0.0") as agent:
        assert f" on 0.0.0.0:{agent.port}" in agent.announced


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_it(agent, number):
    assert agent.stop(number) == 0


@pytest.mark.parametrize("words, what", [
    (["--port"], "--port"), (["--port", "65536"], "65536"), (["--port", "x"], "x"), (["--cpus", "4-3"], "4-3"),
    (["--cpus", "256"], "256"), (["--cpus", ""], ""), (["--listen", "1.2.3"], "1.2.3"), (["--what", "1"], "usage"),
    (["--listen", "1.2.3.256"], "256"), (["--root", "x" * 200], "x"), (["--idle", "0"], "0"), (["--idle", "30s"], "30s"),
    (["--idle", "+5"], "+5"), (["--state", ""], "usage")])
def test_what_it_does_not_understand(words, what):
    done = subprocess.run([AGENT, *words], capture_output=True, text=True, timeout=WAIT)
    assert done.returncode == 2 and "usage" in done.stderr and what in done.stderr


def test_where_it_cannot_serve(tmp_path):
    done = subprocess.run([AGENT, "--root", str(tmp_path), "--port", "0"], capture_output=True, text=True, timeout=WAIT)
    assert done.returncode == 1 and "modprobe msr" in done.stderr
    done = subprocess.run([AGENT, "--root", str(tmp_path), "--cpus", "3"], capture_output=True, text=True, timeout=WAIT)
    assert done.returncode == 1 and "dev/cpu/3/msr" in done.stderr


def test_it_refuses_to_serve_another_processor():
    done = subprocess.run([AGENT, "--port", "0"], capture_output=True, text=True, timeout=WAIT)
    assert done.returncode == 1 and "not a Knights Corner" in done.stderr


def test_it_is_static_and_needs_nothing():
    headers = subprocess.run(["readelf", "-ldW", AGENT], capture_output=True, text=True, check=True).stdout
    assert "INTERP" not in headers and "NEEDED" not in headers
    assert os.path.dirname(AGENT) == os.path.join(BUILD, "knc")


def test_an_agent_that_goes_away_is_noticed(card):
    card.control("reset")
    with Agent(card) as agent:
        process = card.start("-a", "stat", "--freq", "1.1G", "-e", "CPU_CLK_UNHALTED", probe=agent.probe)
        wait_for(lambda: card.read(7, CTRL) == 1, "the counting")
        agent.stop(signal.SIGTERM)
        _, err = process.communicate(timeout=WAIT)
        assert process.returncode == 3 and "closed the connection" in err
        assert set(card.registers().values()) == {0}  # it put back what the tool no longer could


def test_a_tool_that_is_killed_leaves_nothing_behind(card):
    card.control("reset")
    with Agent(card) as agent:
        process = card.start("-a", "stat", "--freq", "1.1G", "-e", "CPU_CLK_UNHALTED", probe=agent.probe)
        wait_for(lambda: card.read(7, CTRL) == 1, "the counting")
        process.kill()
        process.communicate()
        wait_for(lambda: set(card.registers().values()) == {0}, "the agent to put all back")


def test_a_client_may_think(card, agent):
    """Between requests a client may be idle longer than in the middle of one."""
    client = agent.connect()
    time.sleep(5.5)
    assert client.read(0, TSC)[0] == DONE
    client.socket.sendall(client.request([(READ, 0, TSC, 0)], 2)[:8])
    time.sleep(0.5)
    client.serial = 2
    client.socket.sendall(client.request([(READ, 0, TSC, 0)], 2)[8:])
    assert client.reply()[0] == DONE
    client.close()


@pytest.mark.parametrize("first", [b"", b"write"])
def test_a_client_that_says_nothing_is_left(card, first):
    """Also after it wrote something, which is put back."""
    card.control("reset")
    with Agent(card, "--idle", 1) as agent:
        client = agent.connect()
        before = dirty(card, client) if first else card.registers()
        assert client.is_left()
        wait_for(lambda: card.registers() == before, "the agent to put all back")
        assert agent.connect().busy == 0


def test_a_tool_that_is_stopped_is_left(card):
    card.control("reset")
    with Agent(card, "--idle", 2) as agent:
        process = card.start("-a", "stat", "--freq", "1.1G", "-e", "CPU_CLK_UNHALTED", probe=agent.probe)
        wait_for(lambda: card.read(7, CTRL) == 1, "the counting")
        process.send_signal(signal.SIGSTOP)
        wait_for(lambda: set(card.registers().values()) == {0}, "the agent to put all back")
        process.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=WAIT)
        assert process.returncode == 3 and "closed the connection" in err


def started_again(card, state, *args):
    """What an agent prints on standard error that is started and ended, and its exit code."""
    process = subprocess.Popen([AGENT, "--root", card.root, "--port", "0", "--state", state, *args], text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    if process.stdout.readline():
        process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=WAIT)
    return process.returncode, err


def killed_in_the_middle(card, state):
    """The registers as they were, and as the killed agent left them."""
    card.control("reset")
    with Agent(card, "--state", state) as agent:
        client = agent.connect()
        before = dirty(card, client)
        agent.stop(signal.SIGKILL)
        client.close()
    return before, card.registers()


def but_for_time(registers):
    """The counter that another program uses went on."""
    return {key: value for key, value in registers.items() if key[1] != CNTR0}


def test_an_agent_that_was_killed_is_cleaned_up_after(card, tmp_path):
    state = str(tmp_path / "state")
    before, after = killed_in_the_middle(card, state)
    assert before != after
    assert os.stat(state).st_mode & 0o777 == 0o600 and os.path.getsize(state) > 0
    code, err = started_again(card, state)
    assert code == 0 and "an agent was killed here; put back what it had changed on 2 CPUs" in err
    assert but_for_time(card.registers()) == but_for_time(before) and os.path.getsize(state) == 0
    assert started_again(card, state) == (0, "")  # once is enough


def test_the_state_file_is_empty_while_nothing_is_changed(card, tmp_path):
    state = str(tmp_path / "state")
    card.control("reset")
    with Agent(card, "--state", state) as agent:
        client = agent.connect()
        assert client.read(0, SEL0) == (DONE, [0]) and os.path.getsize(state) == 0
        assert client.write(0, SEL0, 1) == (DONE, [0]) and os.path.getsize(state) > 0
        client.close()
        wait_for(lambda: os.path.getsize(state) == 0, "the agent to put all back")
        code, err = started_again(card, state)  # next to it
        assert code == 1 and f"another agent runs here, with the state file {state}" in err
    code, err = started_again(card, "none")
    assert (code, err) == (0, "")


def spoil(state, how):
    with open(state, "r+b") as file:
        data = bytearray(file.read())
        if how == "another boot":
            data[4:128] = data[4:128]
            boot = bytes(data[5:40]) + data[4:5]
            data[4:40] = boot
            data[120:128] = struct.pack("<Q", sum_of(data[:120]))
        elif how == "a bit":
            data[128 * 3 + 40] ^= 1
        elif how == "cut":
            data = data[:-1]
        else:
            data = bytearray(b"root:x:0:0\n")
        file.seek(0)
        file.truncate()
        file.write(data)
    return bytes(data)


def sum_of(record):
    total = 0xCBF29CE484222325
    for byte in record:
        total = (total ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return total


@pytest.mark.parametrize("how, says", [("another boot", "the card has booted"), ("a bit", "damaged"), ("cut", "damaged"),
                                       ("something else", "no state file of an agent")])
def test_a_state_file_that_does_not_fit(card, tmp_path, how, says):
    state = str(tmp_path / "state")
    _, after = killed_in_the_middle(card, state)
    spoilt = spoil(state, how)
    code, err = started_again(card, state)
    assert "nothing was put back" in err and says in err and card.registers() == after
    assert code == (0 if how == "another boot" else 1)
    with open(state, "rb") as file:
        assert file.read() == (b"" if how == "another boot" else spoilt)


def test_all_cpus_of_the_state_file_are_wanted(card, tmp_path):
    state = str(tmp_path / "state")
    before, after = killed_in_the_middle(card, state)
    code, err = started_again(card, state, "--cpus", "0-4")
    assert code == 1 and "--cpus leaves out CPUs" in err and card.registers() == after
    assert started_again(card, state, "--cpus", "2-5")[0] == 0 and but_for_time(card.registers()) == but_for_time(before)


def test_a_state_file_is_roots_alone(card, tmp_path):
    state, link, folder = tmp_path / "state", tmp_path / "link", tmp_path / "folder"
    state.touch(0o644)
    state.chmod(0o644)
    link.symlink_to(tmp_path / "other")
    folder.mkdir()
    for name in (state, link, folder, tmp_path / "none" / "there"):
        code, err = started_again(card, str(name))
        assert code == 1 and "no state file there that is root's alone" in err, name
    assert not (tmp_path / "other").exists()


def test_killed_at_any_time(card, tmp_path):
    """A client that writes all the time; and the next agent is killed as well, while it puts all back."""
    rng, state = random.Random(f"{os.environ['PMU_SEED']} killed"), str(tmp_path / "state")
    card.control("reset")
    for cpu in range(8):
        card.write(cpu, SEL1, cpu)
        card.write(cpu, SPFLT, 1 << 63)
    before, changed = card.registers(), 0
    for _ in range(25):
        with Agent(card, "--state", state) as agent:
            client = agent.connect()
            values = {SEL0: 1 << 16, SEL1: 7 << 16, SPFLT: 3, CNTR0: 1 << 39, CNTR1: 5, CTRL: 3}
            writes = [(WRITE, cpu, msr, values[msr]) for cpu in range(8) for msr in rng.sample(sorted(values), 4)]
            client.socket.sendall(client.request(writes, 1))
            time.sleep(rng.random() * 0.004)
            agent.stop(signal.SIGKILL)
            client.close()
        changed += card.registers() != before
        again = subprocess.Popen([AGENT, "--root", card.root, "--port", "0", "--state", state], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        time.sleep(rng.random() * 0.004)
        again.kill()
        again.communicate()
        assert started_again(card, state)[0] == 0
        assert card.registers() == before
    assert changed > 0
