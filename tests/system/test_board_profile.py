"""The board's profile: which addresses the cores spent their cycles at. And what reads the PC while a core runs: each
instruction must be read as often as it is long."""

import math
from collections import Counter

import pytest

from armv7 import DIDR, OSLAR, PCSR, PRSR
from board import Board, BoardError
from cmsis_dap import AP, CSW, CSW_WORD, DP, DRW, OK, SELECT, TAR, Dap, read, write
from cortex_m import DEBUGEN, DEMCR, DHCSR, DWT_PCSR, HALT, KEY, LOOP, SLEEPER, SPAN_1M

CHIPS = ["rp2040", "m4", "m7", "m33", "m55", "a9", "a7", "r5", "a53"]
TWO_CORES = ["rp2040", "a9", "a53"]
CORTEX_M = CHIPS[:5]
PAGE = {"a9": 0x80090000, "a7": 0x80030000, "r5": 0x80001000, "a53": 0x80410000}
TARGETS = [0x01002927, 0x11002927]  # of the rp2040
A53_PCSR, CIDSR, VIDSR, PCSR_HIGH, DEVID1 = 0x0A0, 0x0A4, 0x0A8, 0x0AC, 0xFC4
NOT_THERE, TRCENA = 0xFFFFFFFF, 1 << 24
SLEEPS = 1 << SLEEPER


def cores_of(board):
    return [board] + ([board.core(1)] if board.chip in TWO_CORES else [])


def cycles_in(profile, kinds=("executed", "asleep")):
    return sum(cycles for kind in kinds for _, cycles in profile[kind])


def frozen(chip, **options):
    """A board without power, whose time does not pass, and its profile on. `power on` starts the program."""
    board = Board.start(chip, **options)
    board.command("power off")
    board.command("profile on")
    return board


@pytest.mark.parametrize("chip", CHIPS)
def test_every_cycle_is_at_an_address(chip):
    with frozen(chip) as board:
        cores = cores_of(board)
        before = [core.state() for core in cores]
        board.watch("loop_head")  # takes one cycle
        board.command("power on")
        board.run_for(1_000_000)
        board.command("power off")
        after = [core.state() for core in cores]
        profiles = board.command("profile")["cores"]
        reached = len([e for e in board.log() if e.kind == "reach"])
        assert len(profiles) == len(cores)
        for profile, then, now in zip(profiles, before, after):
            assert (profile["from"], profile["cycles"], profile["lost"]) == (then["cycles"], now["cycles"], 0)
            assert cycles_in(profile) == now["cycles"] - then["cycles"] > 1000
            assert profile["executed"] == sorted(profile["executed"])
        assert dict(profiles[0]["executed"])[board.symbol("loop_head")] == reached > 0


@pytest.mark.parametrize("chip", CHIPS)
def test_the_longest_loop_has_most_cycles(chip):
    with frozen(chip) as board:
        board.command("power on")
        if chip in CORTEX_M:
            board.scenario(SPAN_1M)
            first, last = board.symbol("span_1m_start"), board.symbol("span_1m_end")
        else:
            board.write_word("idle_spin", 100000)
            first = board.symbol("main")
            last = min(a for a in board.symbols().values() if a > first)
        board.run_for(100000)  # the round that goes on ends
        board.command("profile on")
        board.run_for(5_000_000)
        board.command("power off")
        profile = board.command("profile")["cores"][0]
        inside = {a: n for a, n in profile["executed"] if first <= a < last}
        assert sum(inside.values()) > 0.9 * cycles_in(profile)
        subs, bne = [n for _, n in sorted(sorted(inside.items(), key=lambda i: i[1])[-2:])]
        # Of a round; the Armv8-M cores have the M4's costs here
        jump = {"rp2040": 2, "m4": 3, "m7": 3, "m33": 3, "m55": 3}.get(chip, 1)
        assert abs(bne - jump * subs) < 0.01 * bne


@pytest.mark.parametrize("chip", CHIPS)
def test_sleep_is_kept_apart(chip):
    with frozen(chip) as board:
        board.watch("sleeper")
        board.command("power on")
        board.wait_for(lambda s: board.read_word("round_count") > 0)
        board.write_word("scenario", SLEEPS)
        for _ in range(3):
            board.wait_for(lambda s: s["run"] == "asleep")
            board.command("irq 3")
        board.wait_for(lambda s: s["run"] == "asleep")
        board.run_for(10000)
        board.command("power off")
        now, profile = board.state()["cycles"], board.command("profile")["cores"][0]
        naps = [e for e in board.log() if e.kind in ("sleep", "wake")]
        slept = sum(e.cycles * (1 if e.kind == "wake" else -1) for e in naps)
        slept += now if naps[-1].kind == "sleep" else 0
        assert cycles_in(profile, ["asleep"]) == slept > 0
        (place, _), = profile["asleep"]
        assert place == naps[-1].pc - (2 if chip in CORTEX_M + ["a7"] else 4)  # the WFI
        assert place in dict(profile["executed"])


def test_the_entry_of_an_exception_is_at_its_handler():
    """15 cycles on the rp2040, and those of the handler's first instruction, a PUSH or one of one cycle."""
    with frozen("rp2040", mode="ms") as board:
        handler = board.symbol("SysTick_Handler")
        board.watch(handler)
        board.command("power on")
        board.run_for(200_000)
        board.command("power off")
        first = int.from_bytes(board.read(handler, 2), "little")
        takes = 1 + (bin(first & 0x1FF).count("1") if first >> 9 == 0x5A else 0)
        events, profile = board.log(), dict(board.command("profile")["cores"][0]["executed"])
        entered, reached = (len([e for e in events if e.kind == kind]) for kind in ("enter", "reach"))
        assert entered > 3 and profile[handler] == 15 * entered + takes * reached


def test_the_profile_on_and_off():
    with Board.start("m4") as board:
        for command in ("profile", "profile maybe", "profile on on"):
            with pytest.raises(BoardError):
                board.command(command)
        board.command("profile on")
        board.run_for(100000)
        first = board.command("profile")["cores"][0]
        board.command("profile on")
        board.run_for(1)
        again = board.command("profile")["cores"][0]
        assert first["cycles"] - first["from"] >= 100000 and again["from"] >= first["cycles"]
        assert cycles_in(again) == again["cycles"] - again["from"]
        board.command("profile off")
        with pytest.raises(BoardError):
            board.command("profile")


# --- what a debugger reads of the PC


class Sampler:
    """A raw probe whose access port points at a core's debug registers."""

    def __init__(self, board, core=0):
        self.chip, self.dap = board.chip, Dap(board.dap_port)
        self.page = PAGE[self.chip] + core * (0x100000 if self.chip == "a53" else 0x2000) if self.chip in PAGE else 0
        self.dap.swd(*([TARGETS[core]] if self.chip == "rp2040" else []))
        self.dap.power_up()
        self.dap.clock(10_000_000)
        if self.page:
            self.dap.transfer(write(DP, SELECT, 1 << 24), write(AP, CSW, 0x80000042))
            self.word(PRSR)
            self.set_word(OSLAR, 0)
            self.pcsr = A53_PCSR if self.chip == "a53" else PCSR.get(self.chip)
        else:
            self.dap.transfer(write(AP, CSW, CSW_WORD))
            self.set_word(DEMCR, TRCENA)
            self.pcsr = DWT_PCSR

    def word(self, offset):
        return self.words(offset, 1)[0]

    def words(self, offset, count):
        reply = self.dap.transfer(write(AP, TAR, self.page + offset))
        assert (reply.count, reply.ack) == (1, OK), reply
        reply = self.dap.block(read(AP, DRW), count)
        assert (reply.count, reply.ack) == (count, OK), reply
        return reply.words

    def set_word(self, offset, value):
        reply = self.dap.transfer(write(AP, TAR, self.page + offset), write(AP, DRW, value))
        assert (reply.count, reply.ack) == (2, OK), reply

    def samples(self, count):
        """Addresses of instructions."""
        words = [w for _ in range(0, count, 100) for w in self.words(self.pcsr, 100)]
        if self.chip in ("a9", "a7"):
            return [(w & ~1) - 4 if w & 1 else w - 8 for w in words]
        return words


@pytest.fixture
def sampler():
    opened = []

    def start(chip, core=0, documented=True, **options):
        # Samples take their time on the wire: in naps a dozen of them would be of one moment
        # As the a7's; test_the_a9_samples_branch_targets has the chip's own
        documented = {"core_state": "documented-samples"} if chip == "a9" and documented else {}
        board = Board.start(chip, dap_naps=False, **documented, **options)
        opened.append(board)
        board.wait_for(lambda s: board.read_word("round_count") > 0)
        probe = Sampler(board, core)
        opened.append(probe.dap)
        return board, probe

    yield start
    for thing in reversed(opened):
        thing.close()


@pytest.mark.parametrize("chip, core, clock, count", [
    *((chip, core, 12_000_000, 4000) for chip, core in [
        ("rp2040", 0), ("rp2040", 1), ("m4", 0), ("m55", 0), ("a9", 0), ("a9", 1), ("a7", 0), ("a53", 0)]),
    # So fast that the cores lag: each sample is taken at the end of a slice of full length
    ("m4", 0, 300_000_000, 400)])
def test_an_instruction_is_sampled_as_often_as_it_is_long(sampler, chip, core, clock, count):
    board, probe = sampler(chip, core)
    board.scenario(LOOP)
    board.run_for(100000)  # the round that goes on ends
    board.set("clock", clock)
    board.command("profile on")
    samples = Counter(probe.samples(count))
    board.set("clock", 12_000_000)
    profile = board.command("profile")["cores"][core]
    true, passed = Counter(dict(profile["executed"])), cycles_in(profile)
    assert set(samples) <= set(true)
    apart = sum(abs(true[a] / passed - samples[a] / count) for a in true) / 2
    # Half the sum of the mean differences that as many independent samples would have
    chance = sum(math.sqrt(2 * n / passed * (1 - n / passed) / math.pi / count) for n in true.values()) / 2
    assert apart < 2 * chance + 0.02, (apart, chance)


@pytest.mark.parametrize("skid", [1, 2])
@pytest.mark.parametrize("chip", ["rp2040", "m4", "m55", "a9", "a7", "a53"])
def test_samples_that_skid(sampler, chip, skid):
    """They are where the board says that they are."""
    board, probe = sampler(chip, sample_skid=skid)
    board.scenario(LOOP)
    board.run_for(100000)
    board.command("profile on")
    samples = Counter(probe.samples(4000))
    profile = board.command("profile")["cores"][0]
    skidded, passed = Counter(dict(profile["sampled"])), cycles_in(profile)
    assert sum(skidded.values()) + cycles_in(profile, ["asleep"]) == passed and set(samples) <= set(skidded)
    apart = sum(abs(skidded[a] / passed - samples[a] / 4000) for a in skidded) / 2
    chance = sum(math.sqrt(2 * n / passed * (1 - n / passed) / math.pi / 4000) for n in skidded.values()) / 2
    assert apart < 2 * chance + 0.02, (apart, chance)


@pytest.mark.parametrize("skid", [1, 2])
def test_in_a_loop_of_two_instructions_one_before_is_the_other(skid):
    with frozen("m4", sample_skid=skid) as board:
        board.command("power on")
        board.scenario(SPAN_1M)
        first, last = board.symbol("span_1m_start"), board.symbol("span_1m_end")
        board.run_for(100000)
        board.command("profile on")
        board.run_for(2_000_000)
        board.command("power off")
        profile = board.command("profile")["cores"][0]
        executed, skidded = Counter(dict(profile["executed"])), dict(profile["sampled"])
        bne, subs = (a for a, _ in executed.most_common(2))
        assert first <= subs < last and bne == subs + 2 and executed[bne] > 2 * executed[subs]
        told = (skidded[bne], skidded[subs]) if skid == 1 else (skidded[subs], skidded[bne])
        assert told == pytest.approx((executed[subs], executed[bne]), rel=0.001)


def test_a_skid_that_there_is_not():
    with pytest.raises(Exception):
        Board.start("m4", sample_skid=3)


@pytest.mark.parametrize("chip", ["rp2040", "m4", "m7", "m33", "m55"])
def test_no_sample_of_a_core_that_is_halted_or_unobserved(sampler, chip):
    board, probe = sampler(chip)
    off = 0 if chip in ("m7", "m33") else NOT_THERE  # their DWT is not there at all without TRCENA
    assert probe.word(DWT_PCSR) not in (0, NOT_THERE)
    probe.set_word(DEMCR, 0)
    assert probe.word(DWT_PCSR) == off
    probe.set_word(DEMCR, TRCENA)
    assert probe.word(DWT_PCSR) not in (0, NOT_THERE)
    if chip == "m33":
        board.command("core-state no-secure-debug on")
        probe.dap.transfer(write(AP, CSW, CSW_WORD | 1 << 30))  # HNONSEC: Secure transfers are refused too
        assert probe.word(DWT_PCSR) == NOT_THERE
        board.command("core-state no-secure-debug off")
        assert probe.word(DWT_PCSR) not in (0, NOT_THERE)
        probe.dap.transfer(write(AP, CSW, CSW_WORD))
    probe.set_word(DHCSR, KEY | DEBUGEN | HALT)
    assert probe.word(DWT_PCSR) == NOT_THERE
    board.command("reset")  # nothing catches that
    board.wait_for(lambda s: board.read_word("round_count") > 0)
    assert probe.word(DWT_PCSR) not in (0, NOT_THERE)
    probe.dap.ask(bytes([0x10, 0, 0x80, 0, 0, 0, 0]))  # nRESET low
    assert probe.word(DWT_PCSR) == NOT_THERE


def test_asleep_it_is_the_wfi(sampler):
    board, probe = sampler("m4")
    board.write_word("scenario", SLEEPS)
    asleep = board.wait_for(lambda s: s["run"] == "asleep")
    board.run_for(100000)
    assert set(probe.samples(100)) == {asleep["pc"] - 2}


def test_the_a9_samples_branch_targets(sampler):
    """Erratum 751471: in a loop it is the first instruction, with no offset."""
    board, probe = sampler("a9", documented=False)
    board.write_word("idle_spin", 1_000_000)
    board.run_for(100000)  # the round that goes on ends
    board.command("profile on")
    samples = Counter(probe.words(probe.pcsr, 100))
    executed = Counter(dict(board.command("profile")["cores"][0]["executed"]))
    longest = executed.most_common(1)[0][1]
    first, *rest = sorted(address for address, cycles in executed.items() if cycles > longest / 2)
    assert rest and samples[first] > 90 and not set(rest) & set(samples)
    board.command("core-state documented-samples on")
    assert {word - 8 for word in probe.words(probe.pcsr, 100)} >= {first, *rest}


def test_where_armv7_has_the_sample(sampler):
    """As DBGDIDR and DBGDEVID say."""
    for chip, there in (("a9", {0x084}), ("a7", {0x084, 0x0A0}), ("r5", set())):
        _, probe = sampler(chip)
        found = {offset for offset in (0x084, 0x0A0) if probe.word(offset)}
        assert found == there
        assert bool(probe.word(DIDR) & 1 << 13) == (0x084 in there) and probe.word(DEVID1) & 15 == 0


def test_what_goes_with_a_sample_is_latched(sampler):
    board, probe = sampler("a53")
    assert probe.word(DEVID1) == 2  # no offset, and no bit for the instruction set
    board.write_word("scenario", 1 << 31)
    board.run_for(100000)
    contexts = set()
    for _ in range(40):
        assert probe.word(A53_PCSR) < 0x140000
        context, more = probe.word(CIDSR), probe.word(VIDSR)
        board.run_for(2000)  # it goes on, in another context
        assert (probe.word(CIDSR), probe.word(VIDSR), probe.word(PCSR_HIGH)) == (context, more, 0)
        contexts.add(context)
    assert contexts == {1, 2}
