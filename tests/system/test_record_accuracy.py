"""What `record` samples against the cycles that the board counts at each address. The board's cores run just as long as the wire takes
(--dap-exact), so samples are as far apart as on a real board, however busy this machine is."""
import collections
import json
import math
import re
import signal

import pytest

from harness import PREEMPTED, SLEEPER, SOAK, WORK_BY_DATA, Place, finish_tool, run_tool, wait_for
from own_program import START, own_place
from test_record import Profile, begin, by_function, part_of, some_more

CHIPS = ["rp2040", "rp2350", "m4", "m55", "a9", "a7", "a53", "a53+samples-in-monitor"]  # a state of the core after the +
SKIDS = [0, 1, 2]  # instructions
BY_CYCLES = 1  # three functions of known shares, some thousand cycles a call
NEST = 8  # calls within calls, of leaves.c
WIRE, CLOCK = 1_000_000, 12_000_000
SAMPLES = 20_000 if SOAK else 4_000
RUNS = 200


def place_of(chip, **options):
    chip, _, state = chip.partition("+")
    if state:
        options["core_state"] = state
    place = Place(f"{chip}/swd", "free", WORK_BY_DATA, dap_wire=WIRE, dap_exact=True, clock=CLOCK, **options)
    place.board.write_word("shares", BY_CYCLES)
    place.board.run_for(200_000)
    return place


def sampled_so_far(path):
    part = part_of(path)
    lines = open(part, encoding="utf-8").read().splitlines() if part else []
    return sum(int(samples) for line in lines for samples in re.findall(r'"0x\w+":(\d+)', line))


def record(place, path, samples):
    """The profile, and which cycles the board counted meanwhile."""
    place.board.command("profile on")
    tool = place.start("record", "-o", path)
    wait_for(lambda: tool.poll() is not None or sampled_so_far(path) >= samples, "so many samples")
    result = finish_tool(tool, signal.SIGINT)
    spent = place.board.command("profile")["cores"][0]
    assert result.code == 0 and spent["lost"] == 0, result.err
    return Profile(path), spent


def apart(one, other):
    """The total variation distance of two distributions."""
    all_one, all_other = sum(one.values()), sum(other.values())
    return sum(abs(one[key] / all_one - other[key] / all_other) for key in set(one) | set(other)) / 2


def by_chance(truth, n):
    """About what it is for n independent samples: half the sum of the mean differences."""
    every = sum(truth.values())
    return sum(math.sqrt(2 * part / every * (1 - part / every) / math.pi / n) for part in truth.values()) / 2


@pytest.mark.any_row(1)
@pytest.mark.parametrize("skid", SKIDS)
@pytest.mark.parametrize("chip", CHIPS)
def test_shares_are_as_right_as_chance_lets_them_be(chip, skid, tmp_path):
    """With a skid the functions are right all the same; instructions are where the samples have them."""
    with place_of(chip, sample_skid=skid) as place:
        profile, spent = record(place, tmp_path / "p.jsonl", SAMPLES)
        samples = collections.Counter({int(address, 16): n for address, n in profile.counts.items()})
        n = sum(samples.values())
        functions = by_function(place, spent["executed"])
        instructions = collections.Counter(dict(spent["sampled" if skid else "executed"]))
        pairs = [(by_function(place, samples.items()), functions, 3), (samples, instructions, 6)]
        for sampled, truth, times in pairs[:1] if chip == "a9" else pairs:  # by its erratum
            distance, chance = apart(sampled, truth), by_chance(truth, n)
            print(f"{chip} skid {skid}: {n} samples, {distance:.4f} apart, {distance / chance:.2f} times chance")
            assert distance < times * chance, (n, distance, chance)


@pytest.mark.any_row(1)
@pytest.mark.parametrize("chip, mode, bits, words", [
    ("m4", "ms", WORK_BY_DATA | SLEEPER | PREEMPTED, {}), ("rp2040", "ms", WORK_BY_DATA | SLEEPER | PREEMPTED, {}),
    *((chip, "leaves", None, {"what": NEST, "tasks_wanted": 1}) for chip in ("m4", "rp2040")),
    *((chip, "leaves", None, {"what": NEST}) for chip in ("a9", "a53")),
    *((chip, mode, None, {}) for chip in ("m4", "rp2040") for mode in ("rtos", "printf"))])
def test_exceptions_sleep_and_tasks(chip, mode, bits, words, tmp_path):
    """Also library code: memcpy, tail calls, hand-written assembly. A call or a sleep lasts for many samples, so the shares are held
    against the error that the tool itself reports. A look at sleep is some transfers after its sample, on this wire a tenth of the
    program's tick."""
    path = tmp_path / "p.jsonl"
    with Place(f"{chip}/swd", mode, bits, dap_wire=WIRE, dap_exact=True, clock=CLOCK) as place:
        wait_for(lambda: place.board.read_word("round_count") > 0, "the program")
        for name, value in words.items():
            place.board.write_word(name, value)
        place.board.run_for(400_000)
        _, spent = record(place, path, SAMPLES)
        rows = [json.loads(line) for line in run_tool("--elf", place.elf, "report", path, "-j").out.splitlines()]
        symbols = place.board.symbols()  # of several names of a function the two sides may take different ones
        told = {symbols.get(row.get("function"), row.get("state")): row for row in rows if row["type"] == "share"}
        truth = by_function(place, spent["executed"])
        truth["asleep"] = sum(cycles for _, cycles in spent["asleep"])
        every = sum(truth.values())
        assert "tasks_wanted" not in words or place.board.read_word("switch_count") > 10
        hot = [name for name, cycles in truth.items() if cycles > (0.01 if mode == "ms" else 0.004) * every]
        assert len(hot) > 1 and (mode != "ms" or "asleep" in hot)
        for name in hot:
            row = told[symbols.get(name, name)]
            assert abs(row["share"] - truth[name] / every) <= 3 * row["plus_minus"], (name, truth[name] / every, row)


HALVES = START + r"""
static uint32_t seed = 1;
APART uint32_t drawn(void) { seed ^= seed << 13; seed ^= seed >> 17; seed ^= seed << 5; return seed; }
#define LOOP(name, more) APART void name(uint32_t n) { do { more; sink += n; } while (--n); }
LOOP(one, ) LOOP(two, sink ^= n) LOOP(three, sink += 3; sink ^= n) LOOP(four, __asm volatile("nop"))
LOOP(five, __asm volatile("nop\nnop\nnop"))
APART void straight(void) { sink += 1; sink ^= 2; sink += 3; sink ^= 4; }
void run(void)
{
    for (;; round_count++) {
        one(30 + (drawn() & 63)); two(20 + (drawn() & 31)); three(10 + (drawn() & 15)); straight();
        four(40 + (drawn() & 31)); straight(); five(10 + (drawn() & 63));
    }
}
"""


@pytest.mark.parametrize("state", ["-marm", "-mthumb"])
def test_the_last_branchs_target_is_in_its_function(state, tmp_path):
    """A Cortex-A9 shows no more (erratum 751471); of a Thumb address not even bit 1, and functions begin at any halfword."""
    path = tmp_path / "p.jsonl"
    with own_place(tmp_path, "a9/swd", HALVES, state, dap_wire=WIRE, dap_exact=True, clock=CLOCK) as place:
        names = ("one", "two", "three", "four", "five", "straight")
        assert any(place.board.symbols()[name] & 2 for name in names) == (state == "-mthumb")
        profile, spent = record(place, path, SAMPLES)
        rows = [json.loads(line) for line in run_tool("--elf", place.elf, "report", path, "-j").out.splitlines()]
        told, truth = {row["function"]: row["samples"] for row in rows if row.get("function")}, by_function(place, spent["executed"])
        assert apart(told, truth) < 4 * by_chance(truth, sum(told.values())), (told, truth)
        head = next(row for row in rows if row["type"] == "profile")
        assert head["by_block"] and any("751471" in note for note in head["notes"])
        for words in (["report", path], ["report", path, "--sort", "line"], ["annotate", "two", path]):
            told = run_tool("--elf", place.elf, *words)
            assert "y the start of the block" in told.out and "skid" not in told.out, told.out


SLEEPY = START + r"""
static uint32_t seed = 1;
APART uint32_t drawn(void) { seed ^= seed << 13; seed ^= seed >> 17; seed ^= seed << 5; return seed; }
void SysTick_Handler(void) { for (volatile int i = 0; i < 20; i++); }
APART void nap(void) { __asm volatile("wfi"); }
APART void busy(uint32_t n) { for (uint32_t i = 0; i < n; i++) sink += i; }
APART void frame(void) { busy(100 + (drawn() & 1023)); nap(); busy(50); round_count++; }
void run(void)
{
    REGISTER(0xE000E014) = 11999; /* 1 ms */
    REGISTER(0xE000E018) = 0;
    REGISTER(0xE000E010) = 7;
    for (;;)
        frame();
}
"""


@pytest.mark.parametrize("wire", [1_000_000, 5_000_000])
@pytest.mark.parametrize("chip", ["m4", "rp2040", "m33", "rp2350"])
def test_what_falls_asleep_soon_is_awake(chip, wire, tmp_path):
    """The looks at sleep are later than their samples by a tenth of a sleep and more."""
    path = tmp_path / "p.jsonl"
    with own_place(tmp_path, f"{chip}/swd", SLEEPY, dap_wire=wire, dap_exact=True, clock=CLOCK) as place:
        _, spent = record(place, path, 2 * SAMPLES)
        rows = [json.loads(line) for line in run_tool("--elf", place.elf, "report", path, "-j").out.splitlines()]
        shown = {row.get("function", row.get("state")): row for row in rows if row["type"] == "share"}
        truth = by_function(place, spent["executed"])
        truth["asleep"] = sum(cycles for _, cycles in spent["asleep"])
        every = sum(truth.values())
        for name in ("busy", "asleep", "SysTick_Handler"):
            share, row = truth[name] / every, shown[name]
            assert abs(row["share"] - share) <= 2 * row["plus_minus"], (name, share, row)
        assert shown.get("nap", {"share": 0})["share"] < 0.01, shown["nap"]


SPINS = START + r"""
void SysTick_Handler(void) { for (volatile int i = 0; i < 20; i++); }
APART void spin(uint32_t n) { do { __asm volatile("sev\n wfe\n"); } while (--n); }
APART void idle(void) { __asm volatile("wfi"); }
APART void busy(uint32_t n) { for (uint32_t i = 0; i < n; i++) sink += i; }
void run(void)
{
    REGISTER(0xE000E014) = 11999; /* 1 ms */
    REGISTER(0xE000E018) = 0;
    REGISTER(0xE000E010) = 7;
    for (;; round_count++) {
        busy(200 + (round_count & 7));
        spin(800);
        idle();
    }
}
"""


@pytest.mark.any_row(1)
@pytest.mark.parametrize("wire", [1_000_000, 5_000_000])
@pytest.mark.parametrize("chip", ["m4", "m33", "rp2040"])
def test_a_wfe_that_does_not_sleep_is_not_asleep(chip, wire, tmp_path):
    """As in a lock that spins: the sleep is the WFI's alone."""
    path = tmp_path / "p.jsonl"
    with own_place(tmp_path, f"{chip}/swd", SPINS, dap_wire=wire, dap_exact=True, clock=CLOCK) as place:
        _, spent = record(place, path, 10_000)
        rows = run_tool("--elf", place.elf, "report", path, "-j").lines
        shown = {row.get("function", row.get("state")): row for row in rows if row["type"] == "share"}
        truth = by_function(place, spent["executed"])
        truth["asleep"] = sum(cycles for _, cycles in spent["asleep"])
        every = sum(truth.values())
        for name in ("spin", "asleep", "busy"):
            share, row = truth[name] / every, shown[name]
            assert abs(row["share"] - share) <= 2 * row["plus_minus"], (name, share, row)
        assert shown["spin"]["share"] > 3 * shown.get("idle", {"share": 0})["share"]
        # What the samples leave open of the sleep is in the errors of both
        doubt = json.loads([line for line in path.read_text().splitlines() if '"asleep_by_code"' in line][-1])["asleep_doubt"]
        assert 0 < doubt and all(shown[name]["plus_minus"] >= min(doubt, shown[name]["share"]) for name in ("spin", "asleep"))


TASKS = {("2", "IDLE"): ["crc_of", "pack_block", "idle_task"], ("1", "filter"): ["fir_filter", "queue_take", "filter_task", "memmove"],
         ("0", "sampling"): ["read_sensor", "queue_put", "task_sleep", "sampling_task"]}
EXCEPTIONS = {"PendSV": ["PendSV_Handler", "switch_task", "pick_task"], "SysTick": ["SysTick_Handler", "wake_tasks"]}


@pytest.mark.any_row(1)
@pytest.mark.parametrize("chip, task, words", [("m4", "current", ()), ("rp2040", None, ()), ("m4", None, ("--every", 5000))])
def test_tasks_and_exceptions(chip, task, words, tmp_path):
    """What the board counted in the functions of each. What a task is interrupted by counts as its own."""
    named = {("task", names): names[task is None] for names in TASKS}
    path = tmp_path / "p.jsonl"
    with Place(f"{chip}/swd", "rtos", clock=CLOCK, **({} if words else {"dap_wire": WIRE, "dap_exact": True})) as place:
        place.board.run_for(200_000)
        place.board.command("profile on")
        result = place.run("record", *(("--task", task) if task else ()), "--for", "4s" if SOAK else "1s", "-o", path, *words)
        assert result.code == 0, result.err
        truth = by_function(place, place.board.command("profile")["cores"][0]["executed"])
        every, switches = sum(truth.values()), place.board.read_word("switch_count")
        assert Profile(path).head["task"] == (task or "pxCurrentTCB") and switches > 100
        of_handlers = sum(truth[name] for names in EXCEPTIONS.values() for name in names) / every
        for sort, groups in (("task", TASKS), ("exception", EXCEPTIONS)):
            rows = [json.loads(line) for line in run_tool("--elf", place.elf, "report", "--sort", sort, path, "-j").out.splitlines()]
            told = {row[sort]: row for row in rows if row["type"] == "share"}
            assert sum(row["share"] for row in told.values()) == pytest.approx(1)
            samples = sum(row["samples"] for row in told.values())
            for name, functions in groups.items():
                row, least = told.get(named.get((sort, name), name), {"share": 0, "plus_minus": 0.01}), sum(truth[function] for function in functions) / every
                most = least + (of_handlers if sort == "task" else least)  # entry and return take no longer than the handler
                chance = 4 * math.sqrt(most / samples)  # a busy machine takes few samples in the time
                off = max(2 * row["plus_minus"], chance) + 0.002
                assert least - off <= row["share"] <= most + off, (name, row, least, most)


REUSED = START + r"""
#define BURN(n) for (uint32_t i = 0; i < (n); i++) sink += i
volatile uint32_t flip;
#if BY_POINTER
struct TX_THREAD_STRUCT { uint32_t list[4]; char *volatile tx_thread_name; } tasks[2];
struct TX_THREAD_STRUCT *volatile _tx_thread_current_ptr __attribute__((used));
#define CURRENT _tx_thread_current_ptr
static void name(uint32_t task, const char *text) { tasks[task].tx_thread_name = (char *)text; }
#else
struct tskTaskControlBlock { uint32_t list[4]; char pcTaskName[16]; } tasks[2];
struct tskTaskControlBlock *volatile pxCurrentTCB __attribute__((used));
#define CURRENT pxCurrentTCB
static void name(uint32_t task, const char *text) { for (uint32_t i = 0; i < 16; i++) { tasks[task].pcTaskName[i] = *text; text += *text != 0; } }
#endif
void run(void)
{
    name(0, "idle");
    name(1, "worker_a");
    for (;; round_count++) {
        if (flip)
            name(1, "worker_b");
        CURRENT = &tasks[1];
        BURN(flip ? 2000 : 300);
        CURRENT = &tasks[0];
        BURN(200);
    }
}
"""


@pytest.mark.parametrize("words", [(), ("--every", "20000")], ids=["samples", "stops"])
@pytest.mark.parametrize("pointer", [0, 1])
def test_a_task_in_the_memory_of_another_one(pointer, words, tmp_path):
    """Each has its row; an interval in which the name changed is of either."""
    path, another = tmp_path / "p.jsonl", "worker_a, later worker_b"
    with own_place(tmp_path, "m33/swd", REUSED, f"-DBY_POINTER={pointer}", clock=CLOCK) as place:
        tool = begin(place, path, "--for", "60s", *words)
        for _ in range(3):  # on a busy machine the first ones may hold a sample or two
            some_more(tool, path)
        place.board.write_word("flip", 1)
        for _ in range(5):
            some_more(tool, path)
        assert finish_tool(tool, signal.SIGINT).code == 0
        rows = {row["task"]: row for row in run_tool("--elf", place.elf, "report", "--sort", "task", path, "-j").lines if row["type"] == "share"}
        assert set(rows) - {another} == {"idle", "worker_a", "worker_b"} and len({row["value"] for row in rows.values()}) == 2
        tasks = [json.loads(line) for line in open(path) if '"type":"task' in line]
        assert [line["name"] for line in tasks if line["type"] == "task" and "worker" in line["name"]] == ["worker_a", another, "worker_b"]


def test_what_no_task_can_be_told_of(tmp_path):
    path = tmp_path / "p.jsonl"
    with Place("m4/swd", "free") as place:
        assert place.run("record", "--for", "200ms", "-o", path).code == 0
        refused = run_tool("report", "--sort", "task", path)
        assert refused.code == 2 and "has none" in refused.err and "--task VARIABLE" in refused.err
        assert run_tool("report", "--sort", "exception", path).code == 0
        assert run_tool("report", "--sort", "exception", path, "--format", "html").code == 2
        for task, code in (("nothing", 2), ("*0x20000001", 2), ("*0x60000000", 3)):
            refused = place.run("record", "--task", task, "--for", "200ms", "-o", path)
            assert refused.code == code and "--task" in refused.err, refused.err
    with Place("a9/swd", "free") as place:
        refused = place.run("record", "--task", "round_count", "--for", "200ms", "-o", path)
        assert refused.code == 2 and "a Cortex-M only" in refused.err


@pytest.mark.soak
@pytest.mark.parametrize("chip", ["m4"])
def test_the_error_that_is_told(chip, tmp_path):
    """In 95 % of all runs the truth is within it. That of 200 runs is so by chance in 90 to 99 % for each function."""
    covered = collections.defaultdict(list)
    with place_of(chip) as place:
        truth = collections.Counter()
        told = []
        for run in range(RUNS):
            path = tmp_path / f"{run}.jsonl"
            _, spent = record(place, path, 10_000)
            truth.update(dict(spent["executed"]))
            rows = [json.loads(line) for line in run_tool("--elf", place.elf, "report", path, "-j").out.splitlines()]
            told.append({row["function"]: row for row in rows if row["type"] == "share" and "function" in row})
        cycles = by_function(place, truth.items())
        for name, count in cycles.items():
            share = count / sum(cycles.values())
            for rows in told if share > 0.02 else ():
                row = rows.get(name, {"share": 0})
                if "plus_minus" in row:  # else the run was too short to know
                    covered[name].append(abs(row["share"] - share) <= row["plus_minus"])
    for name, inside in covered.items():
        print(f"{chip} {name}: within the error in {sum(inside)} of {len(inside)} runs")
        assert len(inside) > 0.9 * RUNS and 0.90 < sum(inside) / len(inside) < 0.995, (name, sum(inside), len(inside))
