"""kill -9 at each message of a `delta -r 3`: nobody is left to put anything back. Never does the program go on with a register that
was borrowed, the next command names what was left, and `restore` puts all of it back, bit for bit. In check at some places
of each way, in soak at more, with EVERY=1 at all of them; a table says how targets are found."""
import collections
import os
import random
import threading

import pytest

from harness import NOWHERE, SOAK, WAIT, finish_tool, places
from test_guard import BUDGET, program_of
from trouble import TOOL, Strike
from troubled_place import TroubledPlace, differences, restores

CHIPS = ["rp2040", "rp2350", "m4", "m55", "a9", "a53", "r5", "r52", "a53in32", "r52hyp", "a53el2"]
NOT_BY_GDB = ("r52", "a53in32", "r52hyp")  # OpenOCD 0.12.0 closes the connection, see docs/cortex-a-r.md
WAYS = [way.format(chip) for chip in CHIPS for way in ("{}/swd", "{}", "{}/v2", "gdb {}") if chip not in NOT_BY_GDB or way != "gdb {}"]
CSW_KILLS, FINDS_PORTS = 30 if SOAK else 12, 80  # within the first N messages
IN_CHECK, IN_SOAK = int(os.environ.get("TORTURE", 0)) // len(WAYS) or 1, 40
NAMED = ("left by a run", "did not end")


class Killed:
    """Boards of one way, each used until a kill leaves it changed for good."""

    def __init__(self, way, **options):
        self.way, self.options, self.place, self.found = way, options, None, collections.Counter()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.place.close()

    def start(self):
        if self.place:
            self.place.close()
        self.place = TroubledPlace(self.way, **self.options)
        self.measures()  # what OpenOCD sets up at its first breakpoint is its own
        self.before = self.place.snapshot()

    def measures(self):
        result = self.place.delta()
        self.place.calm()
        assert result.code == 0 and len(result.hits) == 3, result.err
        truth = self.place.truth()
        assert all(cycles in truth for cycles in result.cycles), f"{result.cycles} of {truth}"

    def messages(self, *words):
        """How many the tool sends in a run of `delta`, or of `stub enable` if these are the words; on USB, transfers both ways."""
        if words:
            self.place.proxy.plan(None)
            assert self.place.run(*words).code == 0
            counted = self.place.proxy.counted[TOOL]
            assert self.place.run("stub", "disable").code == 0
            self.place.calm()
            self.before = self.place.snapshot()
            return counted
        if self.place.usb:
            before = self.place.board.usb()
            self.measures()
            after = self.place.board.usb()
            return after["in"] + after["out"] - before["in"] - before["out"]
        self.place.proxy.plan(None)
        self.measures()
        return self.place.proxy.counted[TOOL]

    def kill(self, number, passed_on, *command):
        """Whether the tool got so far. The message on which it is killed is passed on, or lost with it."""
        place, started = self.place, threading.Event()
        place.board.watch(NOWHERE)
        words = place.words(*(command or ("delta", "-j", "-r", 3, place.function)))
        if place.usb:
            place.unplugged(words, number, 0, kill=True)
            struck = place.struck
        else:
            def kill():
                started.wait(WAIT)
                process.kill()
                process.wait()

            place.proxy.plan(Strike("pass" if passed_on else "drop", TOOL, number, act=kill))
            process = place.start_words(words)
            started.set()
            result = finish_tool(process)
            struck = place.proxy.struck
            assert struck or result.code in (0, 1), result.err  # 1: overruns
            place.proxy.plan(None)
        place.calm()
        return struck

    def look(self):
        """What the kill left, into the table; the names of what is not as it was."""
        state, left = self.place.board.state(), differences(self.before, self.place.snapshot())
        # A server may have its own registers in use while it holds the core
        served = self.place.gdb and state["borrowed"]
        self.found.update({"kills": 1, "changed": bool(left), "halted": state["run"] == "halted",
                           "borrowed": bool(state["borrowed"]) and not served})
        return left

    def named(self):
        result = self.place.run("info")
        if self.place.gdb and not any(text in result.out + result.err for text in NAMED):
            self.place.calm()  # by connecting and leaving it has let the core go, and nothing else was left
            assert not differences(self.before, self.place.snapshot()), f"not named: {result.out}{result.err}"
            return
        assert any(text in result.out + result.err for text in NAMED), f"not named: {result.out}{result.err}"

    def journals(self):
        """A run that has written nothing leaves none."""
        return [name for _, _, names in os.walk(self.place.state_folder) for name in names if name.endswith(".journal")]

    def restored(self, but):
        result = self.place.run("restore")
        self.place.calm()
        left = [name for name in differences(self.before, self.place.snapshot()) if name != but]
        assert result.code == 0 and not left, f"exit {result.code}, not as before: {left}: {result.out}{result.err}"
        assert self.place.board.state()["run"] == "running" and self.place.polls()

    def one(self, number, passed_on, what):
        if not self.kill(number, passed_on):
            return
        left = self.look()
        assert "altered" not in left, "the program went on with other registers"
        if not restores():
            if left:
                self.found["does not boot"] += not self.place.boots()
                self.start()
            return
        if left and self.journals() and what == "named":
            self.named()
        if left and what == "reset":
            self.found["does not boot"] += not self.place.boots()
        # A server that halts the core when a client connects lets it go with the registers that it had read before
        foreign = self.place.gdb and what == "reset"
        self.restored(but="altered" if foreign else None)
        if foreign:
            self.start()
        elif what == "measured":
            self.measures()


@pytest.mark.any_row(7)
@pytest.mark.parametrize("link", WAYS)
def test_killed(link, record_property):
    failed = []
    # In small packets a register is borrowed for longer
    packet = random.Random(f"{os.environ['PMU_SEED']} packet {link}").choice([64, 512])
    with Killed(link, **({"dap_packet": packet} if "/" in link else {})) as killed:
        total = killed.messages()
        for place in places(2 * total, f"killed {link}", most=IN_CHECK, in_soak=IN_SOAK):
            what = random.Random(f"{os.environ['PMU_SEED']} killed {link} {place}").choice(["named", "reset", "measured"])
            try:
                killed.one(place // 2, place % 2, what)
            except AssertionError as why:
                failed.append(f"killed at {place // 2}, which was {'passed on' if place % 2 else 'lost'}, {what}: {str(why)[:800]}")
                killed.start()
        found = {name: count for name, count in killed.found.items() if count}
        record_property("table", f"{link:12} {total} messages{f' of {packet} bytes' if '/' in link else ''}: {found}")
    assert not failed, f"{len(failed)} of {killed.found['kills']}:\n" + "\n".join(failed)


def test_a_word_on_its_way_to_the_core_is_no_register():
    """Killed between the write of DBGDTRRX and the instruction that takes it, then reset: R0 is not what waits there."""
    with Killed("r5/swd", dap_packet=64) as killed:
        first = killed.messages() * 2 // 7  # among accesses to CP15, of which each takes some seven packets
        for number in range(first, first + 8):
            killed.kill(number, passed_on=True)
            killed.place.boots()
            killed.restored(but=None)


@pytest.mark.each_value
@pytest.mark.parametrize("way", ["a53/swd", "m33/swd"])
def test_csw_is_restored_bit_for_bit(way):
    """Neither port keeps all that is written to it: an APB-AP has no DbgSwEnable, and HNONSEC depends on what is allowed."""
    with Killed(way) as killed:
        def registers():
            return {name: value for name, value in killed.place.board.state().items() if name.startswith("csw")}

        before, total, changed = registers(), killed.messages(), 0
        # Half of them while the access ports are being found
        numbers = random.Random(f"{os.environ['PMU_SEED']} csw {way}")
        for number in [numbers.randrange(FINDS_PORTS if i % 2 else total) for i in range(CSW_KILLS)]:
            if not killed.kill(number, passed_on=number % 2):
                continue
            changed += registers() != before
            result = killed.place.run("restore")
            killed.place.calm()
            assert result.code == 0, result.err
            assert registers() == before, f"killed at {number}"
        assert changed > 0


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way, words", [*((way, []) for way in ("m4/swd", "a9/swd", "a53/swd", "r5/swd", "r52/swd", "r52hyp/swd", "a53el2/swd", "m4", "a9")),
                                        *((way, ["stub", "enable"]) for way in ("r5/swd", "a53/swd", "a53", "r52/swd", "r52hyp/swd"))])
def test_a_killed_restore_is_finished_by_the_next(way, words):
    """Of a run that was killed in its second half, with small packets, in which a register is borrowed for longer."""
    with Killed(way, **({"dap_packet": 64} if "/" in way else {})) as killed:
        total, numbers = killed.messages(*words), random.Random(f"{os.environ['PMU_SEED']} restore {way}")

        def leave():
            return killed.kill(numbers.randrange(total // 2, total * 9 // 10), True, *words) and killed.journals()

        assert leave() or leave() or leave(), "three runs left nothing"
        killed.place.proxy.plan(None)
        killed.restored(but=None)
        length, met = killed.place.proxy.counted[TOOL], 0
        for number in places(length, f"restore {way}", most=8, in_soak=60):
            if not leave():
                continue
            met += killed.kill(number, number % 2, "restore")
            killed.restored(but=None)
        assert met > 0


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["m4/swd", "m55/swd", "a9/swd", "a53/swd", "r52/swd", "r52hyp/swd"])
def test_a_run_that_was_to_leave_the_core_halted(way):
    """Killed at its end, when halting debug stays enabled for who finds the core halted: `restore` lets the core go, and takes
    that back, too."""
    keep = ["guard", "deadline", "-j", "--budget", BUDGET, "--keep", "-r", 1]
    with Killed(way) as killed:
        place, left = killed.place, 0
        program_of(place.place)
        place.calm()
        killed.before = place.snapshot()
        place.proxy.plan(None)
        assert place.run(*keep).code == 1 and place.board.state()["run"] == "halted"
        total = place.proxy.counted[TOOL]
        assert place.run("restore", "--force").code == 0
        place.calm()
        killed.before = place.snapshot()
        numbers = range(total - 40, total)
        for number in random.Random(f"{os.environ['PMU_SEED']} keep {way}").sample(numbers, 40 if SOAK else 8):
            killed.kill(number, number % 2, *keep)
            if killed.journals():
                left += 1
                killed.restored(but="dfsr")  # of the whole run before; what is cleared there cannot be set again
            else:
                assert place.run("restore", "--force").code == 0
                place.calm()
        assert left > 0


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", ["r52/swd", "a53/swd", "r52hyp/swd", "m4/swd", "m55/swd"])
def test_reset_halt_is_killed(way, record_property):
    """`restore` takes back what it sets itself to let the core go. A run that had ended left the core halted as it was asked to: that is
    seen where the OS lock hides it, too."""
    with Killed(way, dap_packet=512) as killed:
        place, words = killed.place, ["reset", "--halt"]
        place.proxy.plan(None)
        assert place.run(*words).code == 0
        total, met = place.proxy.counted[TOOL], 0
        assert place.run("restore", "--force").code == 0
        place.calm()
        for number in [*places(total, f"reset {way}", most=8, in_soak=200), *range(total - 50, total, 1 if SOAK else 9)]:
            killed.before = place.snapshot()
            if not killed.kill(number, True, *words):
                continue
            killed.look()
            if killed.journals():
                met += 1
                killed.restored(but="dfsr")
                continue
            stands, result = place.board.state()["run"] == "halted", place.run("restore")
            assert result.code == (3 if stands else 0) and ("is halted, and no journal" in result.err) == stands, result.err
            assert place.run("restore", "--force").code == 0
            place.calm()
            left = [name for name in differences(killed.before, place.snapshot()) if name != "dfsr"]
            assert not left and place.board.state()["run"] == "running", f"killed at {number}: {left}"
        record_property("table", f"{way:12} {total} messages: {dict(killed.found)}")
        assert met > 0


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["a53/swd", "r5/swd", "a9/swd", "a53", "r5", "a9", "r52/swd", "r52hyp/swd", "a53in32"])
def test_stub_enable_is_killed(way, record_property):
    """After `restore` the program goes on, and all is as it was before, or the counters are enabled."""
    with Killed(way, **({"dap_packet": 64} if "/" in way else {})) as killed:
        place, words = killed.place, ["stub", "enable"]

        def left(of):
            return [name for name in differences(of, place.snapshot()) if name not in ("altered", "pmccntr")]

        def altered():
            return place.board.state()["altered"]

        place.proxy.plan(None)
        assert place.run(*words).code == 0
        total = place.proxy.counted[TOOL]
        place.calm()
        enabled = place.snapshot()
        assert place.run("stub", "disable").code == 0
        place.calm()
        assert not left(killed.before)
        failed, met = [], 0
        for number in places(2 * total, f"killed stub {way}", most=8, in_soak=80):
            was_altered = altered()
            met += bool(killed.kill(number // 2, number % 2, *words))
            killed.found["kills"] += 1
            killed.found["halted"] += place.board.state()["run"] == "halted"
            result = place.run("restore")
            place.calm()
            rounds = place.board.read_word("round_count")
            ok = result.code == 0 and place.board.state()["run"] == "running" and altered() == was_altered
            as_was, as_enabled = not left(killed.before), not left(enabled)
            if ok:
                place.board.wait_for(lambda _, rounds=rounds: place.board.read_word("round_count") != rounds, "the program")
            killed.found["as before" if as_was else "enabled" if as_enabled else "other"] += 1
            if not ok or not (as_was or as_enabled):
                failed.append(f"killed at {number // 2} of {total}, {number % 2}: exit {result.code}, {left(killed.before)}, "
                              f"{place.board.state()['run']}: {result.out}{result.err}"[:900])
                killed.start()
                place = killed.place
            elif not as_was:
                assert place.run("stub", "disable").code == 0
                place.calm()
                assert not left(killed.before)
        record_property("table", f"{way:12} {total} messages: {dict(killed.found)}")
        assert not failed, f"{len(failed)} of {killed.found['kills']}:\n" + "\n".join(failed)
        assert met > 0, "no run was killed in the middle"
