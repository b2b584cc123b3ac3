"""The target stub's image for RAM, as a debugger uses it: pushed into a running board's core through a real OpenOCD, run,
and gone again. It does what it says, changes the registers that it names and nothing else, wherever it lies."""
import pytest

from board import BUILD, ROOT, Board, OpenOcd

CHIPS = {"a9": "cortex-a9", "a7": "cortex-a7", "r5": "cortex-r5", "a53": "cortex-a53"}
RAM = {"a9": 0x00100000, "a7": 0x60000000, "r5": 0x08000000, "a53": 0x00100000}
RAM_SIZE, PIECE = 256 << 10, 1 << 16
ENABLE, DISABLE, STATUS = 0, 4, 8  # entries
CYCLES, USER_EN, E, D, LC = 1 << 31, 1, 1, 8, 0x40
MASKED = {"a53": 0x3C5}  # EL1h with interrupts masked; the others: SVC in ARM state with the same
ARM_SVC = 0x1D3
ENDS = {"a53": 0xD4400000}
BKPT = 0xE1200070


class Pushed:
    """A halted core with the image in its RAM."""

    def __init__(self, chip, offset):
        self.chip, self.at = chip, RAM[chip] + offset
        self.image = (BUILD / "stub" / CHIPS[chip] / "pushed.bin").read_bytes()
        self.board = Board.start(chip, "free")
        self.ocd = OpenOcd(self.board, config=ROOT / "openocd-cfg" / "boards" / f"virtual-{chip}.cfg",
                           target=f"{chip}.cpu0")
        self.board.wait_for(lambda s: self.board.read_word("round_count") > 0)
        numbers = range(31) if chip == "a53" else range(13)
        self.names = [("x" if chip == "a53" else "r") + str(n) for n in numbers]
        self.names += ["sp"] if chip == "a53" else ["sp_svc", "lr_svc"]
        self.results = self.names[:3]  # what an entry may change
        for number in (1, 0) if chip in ("a9", "a53") else (0,):  # core 1 writes to the same RAM
            self.ocd(f"targets {chip}.cpu{number}")
            self.ocd("halt")
        self.before = self.registers()
        self.ocd(f"reg {self.names[20 if chip == 'a53' else 9]} 0x5A5A5A5A")
        self.kept = self.registers()
        self.ram = self.memory()
        for i in range(0, len(self.image), 4):
            self.ocd.set_word(self.at + i, int.from_bytes(self.image[i:i + 4], "little"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ocd.close()
        self.board.close()

    def registers(self):
        return {name: self.ocd.register(name) for name in self.names}

    def memory(self):
        return b"".join(self.board.read(RAM[self.chip] + i, PIECE) for i in range(0, RAM_SIZE, PIECE))

    def run(self, entry, *arguments):
        """Ends where the image stops by itself; what it returned, and the monitor then."""
        for name, value in zip(self.names, arguments):
            self.ocd(f"reg {name} {value:#x}")
        self.ocd(f"reg pc {self.at + entry:#x}")
        self.ocd(f"reg cpsr {MASKED.get(self.chip, ARM_SVC):#x}")
        self.ocd("resume")
        self.ocd.wait_halt()
        pc = self.ocd.register("pc")
        assert self.at <= pc < self.at + len(self.image)
        assert int.from_bytes(self.board.read(pc, 4), "little") == ENDS.get(self.chip, BKPT)
        now = self.registers()
        assert {n: v for n, v in now.items() if n not in self.results} == \
            {n: v for n, v in self.kept.items() if n not in self.results}
        return now[self.names[0]], now[self.names[1]]

    def monitor(self):
        state = self.board.state()
        return {name: state[name] for name in state if name.startswith("pm") and name not in ("pmccntr", "pmu_locked")}

    def check_memory(self):
        at = self.at - RAM[self.chip]
        now = self.memory()
        assert now[at:at + len(self.image)] == self.image
        assert now[:at] == self.ram[:at] and now[at + len(self.image):] == self.ram[at + len(self.image):]


@pytest.fixture(params=[(chip, offset) for chip in CHIPS for offset in (0x20000, 0x2F004)],
                ids=lambda p: f"{p[0]}-{p[1]:x}")
def pushed(request):
    with Pushed(*request.param) as p:
        yield p


def wanted(chip, control):
    return control & ~D | E | (LC if chip == "a53" else 0)


def test_enable_and_disable(pushed):
    before = pushed.monitor()
    user, control = pushed.run(STATUS)
    assert user == 0 and control & E == 0 and control >> 11 & 0x1F == {"a9": 6, "a7": 4, "r5": 3, "a53": 6}[pushed.chip]
    assert pushed.monitor() == before, "to look changes nothing"
    assert pushed.run(ENABLE) == (user, control)
    now = pushed.monitor()
    assert now == dict(before, pmuserenr=USER_EN, pmcntenset=CYCLES, pmcr=wanted(pushed.chip, before["pmcr"]))
    assert pushed.run(STATUS) == (CYCLES | USER_EN, wanted(pushed.chip, control))
    pushed.run(DISABLE, user, control)
    assert pushed.monitor() == before
    pushed.check_memory()


def test_cycles_count_in_the_application_meanwhile(pushed):
    pushed.run(ENABLE)
    for name, value in pushed.before.items():
        pushed.ocd(f"reg {name} {value:#x}")
    pushed.ocd(f"reg pc {pushed.board.symbol('main'):#x}")
    counted = pushed.board.state()["pmccntr"]
    pushed.ocd("resume")
    pushed.board.run_for(10000)
    assert pushed.board.state()["pmccntr"] - counted > 10000


def test_somebody_else_s_monitor_keeps_running_as_it_did(pushed):
    """Enabled, divided, events selected, user mode let in: all of that is there afterwards, and while it is open."""
    user, control = pushed.run(STATUS)
    mine = (CYCLES | USER_EN, control | E | D)
    pushed.run(ENABLE)
    pushed.run(DISABLE, *mine)  # puts back what it is given
    before = pushed.monitor()
    assert before["pmcr"] & (E | D) == E | D and before["pmuserenr"] == USER_EN and before["pmcntenset"] == CYCLES
    assert pushed.run(ENABLE) == mine
    assert pushed.monitor() == before
    pushed.run(DISABLE, *mine)
    assert pushed.monitor() == before
    pushed.run(DISABLE, user, control)
    assert pushed.monitor() == dict(before, pmcr=before["pmcr"] & ~(E | D), pmuserenr=0, pmcntenset=0)
