"""What README and docs/ show can be typed: each of their command lines is run as it is, with the boards of `make play`, and shows
what the page shows. Lines of dots in a page are any lines. Names, units and words must be equal; numbers must be near: what the
program counts is random, within bounds."""
import glob
import os
import re
import signal
import socket
import subprocess

import pytest

from harness import BUILD, RELEASE, ROOT, WAIT

PAGES = ["README.md", *sorted(os.path.relpath(path, ROOT) for path in glob.glob(os.path.join(ROOT, "docs", "*.md")))]
# The ports of `make play`, and the variable that names another one
PORTS = {4441: "DAP_PORT", 4442: "LATE_PORT", 6666: "TCL_PORT", 3333: "GDB_PORT", 6667: "A9_TCL_PORT", 3334: "A9_GDB_PORT"}
M4 = "pmu-probe -p cmsis-dap-tcp:localhost:4441 --elf build/firmware/m4-free.elf "
# What a page has done before it shows a command
BEFORE = {"pmu-probe report": M4 + "record --for 500ms", "pmu-probe annotate work_by_data": M4 + "record --for 500ms",
          M4 + "delta shares_round --baseline main.jsonl --threshold 2%": M4 + "delta shares_round --precision 0.5% -j -o main.jsonl"}
# Without its own end
MORE = {"top": " --for 1s -I 1000"}
# A figure of these is a part of what the host had time for
SHARES = ("survey", "report", "annotate", "top")
OWN_PROGRAM = "app.elf is the reader's own program"
NOT_HERE = {"app.elf": OWN_PROGRAM, "before.jsonl": "two profiles of the reader's",
            "report --sort": "a program with tasks", "virtual-a53.cfg": "a board that `make play` does not start",
            "mic0": "a Xeon Phi"}
FAR = 5  # times
NEAR = 60  # or that many cycles
POINTS = 20  # of a share
SOURCE_LINE = re.compile(r"\b(\w+\.(?:c|cpp|S)):\d+")
NUMBER = re.compile(r"(?<![\w.])[+-]?\d[\d,]*(?:\.\d+)?(?![\w.])")


def blocks(page):
    """Pairs of a command line and the lines that the page shows below it."""
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        for block in re.findall(r"^```\n(.*?)^```", file.read(), re.M | re.S):
            for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
                command, _, shown = part.partition("\n")
                yield command, shown.rstrip().splitlines()


TYPED = [(page, command, shown) for page in PAGES for command, shown in blocks(page)]
RUN = [typed for typed in TYPED if not any(word in typed[1] for word in NOT_HERE)]


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def listens(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


class Play:
    """`make play` on its own ports, and a shell."""

    def __init__(self, folder):
        while not self.start():  # another test has taken one of the ports meanwhile
            pass
        self.folder = folder  # with the checkout's folders, and room for files
        (folder / "build").symlink_to(BUILD)
        for name in ("tests", "openocd-cfg"):
            (folder / name).symlink_to(os.path.join(ROOT, name))

    def start(self):
        self.ports = dict(zip(PORTS, free_ports(len(PORTS))))
        named = {PORTS[port]: str(mine) for port, mine in self.ports.items()}
        environment = dict(os.environ, PMU_BUILD=str(BUILD), PMU_TOOL=RELEASE, **named)
        self.process = subprocess.Popen([os.path.join(ROOT, "tests", "play.sh")], env=environment, text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, start_new_session=True)
        self.printed = []
        while not self.printed or "Ctrl-C" not in self.printed[-1]:
            self.printed.append(self.process.stdout.readline())
            if self.printed[-1] == "":
                why = self.process.communicate(timeout=WAIT)[1]
                assert re.search("taken|in use", why), why
                return False
        return True

    def here(self, command):
        """With the ports of these boards, of which one may begin as another one of the page."""
        return re.sub(r"(?<=localhost:)\d+", lambda port: str(self.ports.get(int(port[0]), port[0])), command)

    def type(self, command):
        """Returns the exit code and what a terminal would show."""
        command = self.here(command)
        environment = dict(os.environ, PATH=f"{os.path.dirname(RELEASE)}:{os.environ['PATH']}", PMU_PROBE_PATIENCE="20", COLUMNS="96",
                           PMU_PROBE=f"openocd:localhost:{self.ports[6666]}")
        done = subprocess.run(command, shell=True, cwd=self.folder, env=environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=WAIT)
        shown = done.stdout.replace(f"{ROOT}/", "")
        for port, mine in self.ports.items():
            shown = re.sub(rf"(localhost|127\.0\.0\.1):{mine}\b", f"localhost:{port}", shown)
        return done.returncode, shown

    def close(self):
        os.killpg(self.process.pid, signal.SIGINT)
        self.process.communicate(timeout=WAIT)
        assert self.process.returncode == 0
        assert not any(listens(mine) for mine in self.ports.values()), "something is left"


@pytest.fixture(scope="module")
def play(tmp_path_factory):
    place = Play(tmp_path_factory.mktemp("typed"))
    yield place
    place.close()


def words_of(line):
    """The line without its numbers, blanks and bars, and without lines of source, which each compiler sees elsewhere."""
    # A line or an instruction has a share if there was a sample in it
    line = re.sub(r"^\s*[\d.]+ %(?:\s+[\d.]+)?\s+[\d,]+\s+(?=(?:0x[0-9A-Fa-f]{8}|\d+ )[ ~])", "", line)
    line = re.sub(r"0x[0-9A-Fa-f]+", "0x", line)
    line = SOURCE_LINE.sub(r"\1:0", line)
    line = re.sub(r"^(\S+: )(?:median )?([\d.,]+)(?: ±[\d.,]+)?(?= cycles)", r"\1\2", line)  # the mean of many hits, the median of few
    line = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "a time", line)
    line = re.sub(r"(?<=\b0 )(call|hit|overrun|sample)\b", r"\1s", re.sub(r"[▁-█▏▎▍▌▋▊▉]+", "", NUMBER.sub("0", line)))
    line = re.sub(r"0 (ns|µs|ms|s)\b", "0 s", re.sub(r"(?:\S*/)+(?=\w+\.(?:c|elf))", "", line))
    return " ".join(line.replace("~", " ").split())


def numbers_of(line):
    return [float(found.replace(",", "")) for found in NUMBER.findall(re.sub(r"0x[0-9A-Fa-f]+|\w+\+0x\w+", "", SOURCE_LINE.sub("", line)))]


def is_near(command, page, shown):
    """Whether the numbers of two lines of the same words are those of one program."""
    if any(f" {word}" in command for word in SHARES):
        pairs = zip(re.findall(r"([\d.]+) %", page), re.findall(r"([\d.]+) %", shown))
        return all(abs(float(one) - float(other)) <= POINTS for one, other in pairs)
    if re.search(r"\d (?:ns|µs|ms|s)\b|/s\b|sd|^pmu-probe:|^in no line", page):  # the host's time, or a message
        return True
    pairs = zip(numbers_of(page), numbers_of(shown))
    return all(abs(one - other) <= NEAR or abs(one) / FAR <= abs(other) <= abs(one) * FAR for one, other in pairs)


def functions_of(screen):
    """The functions of a screen with their files."""
    return {tuple(row) for row in re.findall(r"(\w+) +[▁-█▏▎▍▌▋▊▉ ]*(\w+\.c):\d+", screen)}


def picture_of(command):
    """The words of the picture that a page has in place of the lines, its largest rows."""
    with open(f"{ROOT}/docs/pictures/{command.split()[-1]}-light.svg", encoding="utf-8") as file:
        svg = file.read()
    rows = {}
    for y, word in re.findall(r'<text x="[^"]*" y="([^"]*)"[^>]*>([^<]*)<', svg):
        rows.setdefault(y, []).append(word)
    return "\n".join([row for row in map(" ".join, rows.values()) if " %" in row and ".c:" in row][:5])


def typed_at(play, page, command):
    """Runs what the page needs, and the command."""
    if command in BEFORE:
        code, shown = play.type(BEFORE[command])
        assert code == 0, shown
    return play.type(command + MORE.get(command.split()[-1], ""))


def first_difference(command, page, shown):
    """None, or the first line of the page that is not shown after those before it."""
    at, anywhere = 0, False
    in_any_order = any(f" {word}" in command for word in SHARES)
    for line in page:
        if line.strip() == "...":
            anywhere = True
            continue
        begin = 0 if in_any_order else at
        found = [n for n in range(begin, len(shown)) if words_of(shown[n]) == words_of(line) and is_near(command, line, shown[n])]
        found = found if anywhere or in_any_order else [n for n in found if n == at]
        if not found:
            return line
        at, anywhere = found[0] + 1, False
    return None if anywhere or in_any_order or at >= len(shown) else f"(nothing) where there is {shown[at]}"


def captured(page, shown):
    """What the page is to show: of each part between lines of dots, the part of what was shown that is most like it."""
    out, at, parts = [], 0, "\n".join(page).split("...")
    if len(parts) == 1:
        return shown
    for number, part in enumerate(parts):
        lines = part.strip("\n").splitlines() if part.strip() else []
        out += ["..."] if number else []
        if lines:
            likeness = [(-sum(words_of(a) == words_of(b) for a, b in zip(lines, shown[n:])), n) for n in range(at, len(shown))]
            at = min(likeness)[1]
            out += shown[at:at + len(lines)]
            at += len(lines)
    return out


def name_of(typed):
    return f"{os.path.basename(typed[0])}: {typed[1].replace('pmu-probe ', '')[-50:]}"


@pytest.mark.parametrize("typed", RUN, ids=name_of)
def test_as_the_page_shows(play, typed):
    page, command, lines = typed
    code, shown = typed_at(play, page, command)
    refused = any(line.startswith("pmu-probe:") for line in lines)
    assert code == (3 if refused else 1 if " guard " in command else 0), shown
    if command.split()[-1] in MORE:  # a page shows the screen, and this is not a terminal
        functions = functions_of("\n".join(lines) or picture_of(command))
        assert len(functions) > 2 and functions <= functions_of(shown), shown
        return
    wrong = first_difference(command, lines, shown.rstrip().splitlines())
    assert not lines or wrong is None, f"{page} has {wrong!r}; `{command}` shows:\n{shown}"


@pytest.mark.parametrize("typed", [typed for typed in TYPED if SOURCE_LINE.search("\n".join(typed[2]))], ids=name_of)
def test_another_compilers_lines_are_as_good(typed):
    _, command, lines = typed
    moved = [re.sub(r"(?<=\.c:)\d+", lambda found: str(int(found[0]) + 28), line) for line in lines]
    assert moved != lines and first_difference(command, lines, [line for line in moved if line.strip() != "..."]) is None
    assert functions_of("\n".join(lines)) == functions_of("\n".join(moved))


def test_play_prints_the_commands_of_the_readme(play):
    printed = "".join(play.printed)
    for page, command, _ in TYPED:
        if page == "README.md":
            assert f"  {play.here(command)}\n" in printed


def test_most_can_be_typed():
    left_out = [command for _, command, _ in TYPED if any(word in command for word in NOT_HERE) and "app.elf" not in command]
    assert len(RUN) >= 14 and len(RUN) > len(left_out), left_out
    assert all(any(word in command for _, command, _ in TYPED) for word in NOT_HERE), "one is gone"
