"""What accept.sh runs: each step by itself, with a time limit for every run of the tool, so that nothing hangs and no failure
hides what is after it. The file is written anew after each step."""
import argparse
import datetime
import json
import os
import platform
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile

import known

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("PMU_BUILD", "build"))
SCHEMA = "pmu-probe-acceptance/1"
LIMIT = 60  # seconds for a run
# What ends it then, and how many seconds it gets: Ctrl-C lets it restore the target
ENDS = ((signal.SIGINT, 15), (signal.SIGKILL, 5))
HITS, HITS_OF_SEQUENCE, FEW = 1000, 200, 20
OF_LOG = (50, 450)  # hits of the two runs whose difference is what a hit takes
SENT = re.compile(r"^ *([\d.]+)  (dap|tcl|gdb) ([<>]) ", re.M)
NUMBERS = re.compile(r"\[[-\d,\s]*\]")  # a list of them takes a line
SAID = 4000  # characters of standard error that are kept


class Failed(Exception):
    """A step's reason."""


def last_words(text):
    """The tool's own message, without advice on usage; else the last line."""
    own = re.split(r"^pmu-probe: ", text, maxsplit=1, flags=re.M)
    lines = [line for line in own[-1].splitlines() if line and not line.startswith("pmu-probe --help")]
    return " ".join(lines) if len(own) > 1 else "".join(lines[-1:])


class Run:
    """A finished run of the tool."""

    def __init__(self, words, code, out, err, seconds, late):
        self.words, self.code, self.out, self.err, self.seconds, self.late = words, code, out, err, seconds, late
        self.lines = []
        for line in out.splitlines():
            try:
                self.lines.append(json.loads(line))
            except ValueError:
                pass

    def of(self, kind):
        return [line for line in self.lines if isinstance(line, dict) and line.get("type") == kind]

    @property
    def summary(self):
        found = self.of("summary")
        if not found:
            raise Failed("its output has no summary")
        return found[-1]

    @property
    def cycles(self):
        return self.summary["columns"]["CPU_CYCLES"]

    def trouble(self):
        if self.late is not None:
            return f"no end within {self.late} s"
        return f"exit {self.code}: {last_words(self.err) or 'no message'}"

    def record(self):
        hits = [line["values"].get("CPU_CYCLES") for line in self.of("hit") if "values" in line]
        record = {"words": self.words, "exit": self.code, "seconds": round(self.seconds, 3),
                  "lines": [line for line in self.lines if not isinstance(line, dict) or line.get("type") != "hit"]}
        if hits:
            record["hits"] = hits
        if not self.lines:
            record["stdout"] = self.out[-SAID:]
        if self.err:
            record["stderr"] = self.err[-SAID:]
        if self.late is not None:
            record["late"] = self.late
        return record


def end(process, ends=None):
    for number, patience in ends or ENDS:
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass
        try:
            return process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            pass
    return "", ""  # another process holds its pipes


def is_openocd_file(probe):
    """NAME.cfg, or the name of a board file, as -f takes it: docs/boards.md."""
    return probe.endswith(".cfg") or os.path.exists(os.path.join(ROOT, "openocd-cfg", "boards", probe + ".cfg"))


class Acceptance:
    def __init__(self, options):
        self.options, self.chip = options, known.CHIPS[options.chip]
        # An OpenOCD file may want commands in front of it
        self.reached = [*options.more, "-f" if is_openocd_file(options.probe) else "-p", options.probe]
        self.steps, self.runs, self.figures = [], [], {}
        self.serial = None
        self.wires = tempfile.TemporaryDirectory(prefix="accept-")
        self.packed = os.path.splitext(options.output)[0] + ".wires.zip"
        self.n_wires, self.has_packed = 0, False

    # --- runs of the tool

    def words(self, *words, elf=True):
        return [self.options.tool, *self.reached, *(["--elf", self.options.elf] if elf else []), *(str(word) for word in words)]

    def recorded(self, words):
        """The same run with its link on file, unless it measures how fast that is."""
        if {"-vv", str(HITS)} & set(words):
            return words
        self.n_wires += 1
        command = next((word for word in words if word in ("info", "doctor", "delta", "stat", "record", "restore")), "run")
        return [*words, "--wire", os.path.join(self.wires.name, f"{self.n_wires:02}-{command}.wire")]

    def start(self, words, **streams):
        words = self.recorded(words)
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, text=True, errors="replace", start_new_session=True, **streams)

    def run(self, *words, good=(0,), elf=True):
        words, begun, late = self.words(*words, elf=elf), time.monotonic(), None
        process = self.start(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, err = process.communicate(timeout=self.options.limit)
        except subprocess.TimeoutExpired:
            late = self.options.limit
            out, err = end(process)
        except KeyboardInterrupt:
            end(process)
            raise
        run = Run(words, process.returncode, out, err, time.monotonic() - begun, late)
        self.runs.append(run.record())
        if late is not None or run.code not in good:
            raise Failed(run.trouble())
        return run

    def delta(self, *words):
        """Bounded in time where a hit takes long."""
        run = self.run("delta", *words, "--for", f"{max(1, self.options.limit // 3)}s", "-j")
        if not run.cycles.get("count"):
            raise Failed(f"no hit was measured: {run.summary.get('ended', 'no reason given')}")
        return run

    # --- steps; each returns its figures and a line of words, or raises

    def connect(self):
        run = self.run("info", "-v", "-j", elf=False)
        found = re.search(r": (.*), serial number (\S+), (CMSIS-DAP .*)", run.err)
        self.serial = found.group(2) if found else None
        probe = f"{found.group(1)}, {found.group(3)}" if found else None
        cores = run.of("core")
        if not cores:
            raise Failed("no core was found")
        names = [core["name"] for core in cores]
        if not any(name.startswith(self.chip.core + " ") for name in names):
            raise Failed(f"{', '.join(names)} answered; {self.options.chip} has a {self.chip.core}")
        return {"probe": probe, "cores": names}, f"{', '.join(names)}; {run.of('header')[0].get('link', '')}"

    def doctor(self):
        summary = self.run("doctor", "-j", good=(0, 5), elf=False).summary
        healthy = summary["healthy"]
        return {"healthy": healthy}, "healthy" if healthy else f"not healthy: {summary.get('reason', 'no reason given')}"

    def rehits(self, place):
        cycles = self.run("doctor", place, "-j").cycles
        if not cycles["calibrated"]:
            raise Failed("what a halt adds was not measured there")
        figures = {name: cycles[name] for name in ("overhead", "min", "max", "rehits", "plus_minus")}
        return figures, f"{cycles['overhead']:.2f} cycles, {cycles['min']} to {cycles['max']} in {cycles['rehits']}"

    def rehits_in_flash(self):
        return self.rehits("work_by_data")

    def rehits_in_ram(self):
        return self.rehits("in_sram_start")

    def own_figures(self):
        """What the program itself read around each sequence, less what reading costs."""
        at_max = self.own_by_registers() if self.chip.in_registers else self.own_by_memory()
        empty = at_max["empty"]
        own = {name: at_max[name] - (0 if name in known.ARTICLE else empty) for name in known.OWN}
        self.figures["own"] = own
        return own, f"the program's counter moves by {empty} from one reading to the next"

    def at_max(self, place, words):
        found = self.delta(place, place, "-r", FEW, "--show", ",".join(words)).summary.get("at_max", {})
        missing = [word for word in words if word not in found]
        if missing:
            raise Failed(f"{missing[0]} was not read")
        return [found[word] for word in words]

    def own_by_memory(self):
        return dict(zip(known.OWN, self.at_max("round_done", [f"own_{name}" for name in known.OWN])))

    def own_by_registers(self):
        """As the program puts them there: in wide ones two in each."""
        if self.chip.in_registers == 32:
            return {name: value for place, names in known.SHOWN_32.items()
                    for name, value in zip(names, self.at_max(place, [f"r{n}" for n in range(len(names))]))}
        registers = self.at_max("own_shown", [f"r{n}" for n in range((len(known.OWN) + 1) // 2)])
        return {name: registers[n // 2] >> 32 * (n % 2) & 0xFFFFFFFF for n, name in enumerate(known.OWN)}

    def sequences(self, names, hits):
        """All of them, whatever becomes of one."""
        figures, bad = {}, {}
        for name in names:
            start, end = known.region(name)
            try:
                run = self.delta(start, end, "-r", hits)
            except Failed as why:
                figures[name] = {"failed": str(why)}
                bad.setdefault(str(why), []).append(name)
                continue
            figures[name] = self.judged(name, run)
            why = self.objection(name, figures[name])
            if why is not None:
                bad.setdefault(f"{figures[name]['median']} cycles, {why}", []).append(name)
        self.figures.setdefault("sequences", {}).update(figures)
        if bad:
            raise Failed("; ".join(f"{', '.join(of)}: {why}" for why, of in bad.items()))
        return figures, f"{len(names)} measured, {self.compared(figures)}"

    def compared(self, figures):
        told = [one["as_published"] for one in figures.values() if one["as_published"] is not None]
        if not told:
            return f"nothing is published about them on a {self.chip.core}"
        return f"{sum(told)} of {len(told)} as published" + (f" ({self.chip.why})" if self.chip.why else "")

    def judged(self, name, run):
        figures = {key: run.cycles[key] for key in ("count", "median", "min", "max", "sd")}
        figures["plus_minus"] = run.cycles.get("plus_minus")
        figures["hits_per_second"] = run.summary["hits"] / run.summary["seconds"]
        published = known.published(name, self.chip.core)
        figures["published"] = published
        figures["as_published"] = None if published is None else self.is_one_of(published, figures)
        figures["own"] = self.figures.get("own", {}).get(name)
        return figures

    def objection(self, name, figures):
        if self.chip.exact and figures["as_published"] is False:
            return f"published {known.published_text(name, self.chip.core)}"
        own = figures["own"]
        if self.chip.same_inside and own is not None and not self.is_one_of([(own, own)], figures):
            return f"the program itself read {own}"
        return None

    @staticmethod
    def is_one_of(ranges, figures):
        """As far as the cost of halts allows."""
        allowed = figures["plus_minus"] or 0
        return any(low - allowed <= figures["median"] <= high + allowed for low, high in ranges)

    def article(self):
        return self.sequences(known.ARTICLE, HITS)

    def known_sequences(self):
        return self.sequences([name for name in known.OWN if name not in known.ARTICLE and name != "empty"], HITS_OF_SEQUENCE)

    def speed(self, *region):
        run = self.delta(*region, "-r", HITS)
        rate = run.summary["hits"] / run.summary["seconds"]
        return {"hits_per_second": rate}, f"{rate:.0f} hits a second"

    def speed_of_pairs(self):
        return self.speed("plain_first", "plain_second")

    def speed_of_functions(self):
        return self.speed("work_by_data")

    def packets(self, *region):
        """The difference of a long and a short run, so that connecting does not count."""
        sent, hits, kinds, trips = [], [], set(), []
        for wanted in OF_LOG:
            run = self.run("delta", *region, "-r", wanted, "--no-calibrate", "-j", "-vv")
            log = SENT.findall(run.err)
            sent.append(sum(way == ">" for _, _, way in log))
            hits.append(run.summary["hits"])
            kinds |= {who for _, who, _ in log}
            trips = round_trips(log)
        if not trips or hits[1] <= hits[0]:
            raise Failed("the log shows nothing that was sent")
        kind = {"dap": "packets", "tcl": "Tcl commands", "gdb": "GDB packets"}[kinds.pop()]
        figures = {"of": kind, "a_hit": (sent[1] - sent[0]) / (hits[1] - hits[0]), "round_trip_us": statistics.median(trips),
                   "longest_us": max(trips)}
        return figures, f"{figures['a_hit']:.3f} {kind} a hit; {figures['round_trip_us']:.0f} us there and back"

    def packets_of_pairs(self):
        return self.packets("plain_first", "plain_second")

    def packets_of_functions(self):
        return self.packets("work_by_data")

    def clock(self):
        run = self.run("stat", "--for", "1s", "-j", elf=self.chip.memory)
        row, clock = run.cycles, run.of("header")[0].get("clock", {})
        told = clock.get("hz") if clock.get("source") == "SystemCoreClock" else None
        hz = row["count"] / row["seconds"]
        figures = {"counted_hz": hz, "told_hz": told, "at_least": row["at_least"]}
        return figures, f"{hz / 1e6:.3f} MHz counted in {row['seconds']:.1f} s; the program says " + \
            (f"{told / 1e6:g} MHz" if told else "nothing")

    def samples(self):
        """Where the PC's samples say that the core is. A core whose register is not what its manual says shows it here: errata."""
        path = os.path.join(self.wires.name, "profile")
        recorded = self.run("record", "--for", "1s", "-o", path, good=(0, 2, 3))
        if recorded.code != 0:
            return {}, f"none: {last_words(recorded.err)}"
        words = [self.options.tool, "--elf", self.options.elf, "report", path, "-j"]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=self.options.limit, check=False)
        run = Run(words, done.returncode, done.stdout, done.stderr, 0, None)
        if run.code != 0:
            raise Failed(run.trouble())
        os.remove(path)
        shares = {row["function"]: row["share"] for row in run.of("share") if row.get("function")}
        figures = {"source": run.of("profile")[0].get("source"), "samples": run.of("core")[0]["samples"], "shares": shares}
        most = sorted(shares, key=shares.get, reverse=True)[:3]
        if not figures["samples"]:
            raise Failed(f"{figures['source']} gave no sample in 1 s")
        return figures, f"{figures['samples']} by {figures['source']}; most in {', '.join(most)}"

    def trace(self):
        """Without a halt: calls by match packets, or the writes of a word where the core lacks these."""
        for words in (["delta", "work_by_data", "--no-halt", "-r", FEW], ["tasks", "--task", "round_count", "--for", "1s"]):
            run = self.run(*words, "-j", good=(0, 2, 3, 5))
            if run.code in (0, 5):
                summary = run.of("summary")[0]
                calls = summary.get("calls", summary)
                return {"by": words[0], "sink": summary.get("sink"), "seen": calls["seen"], "exact": calls["exact"]}, \
                    f"{words[0]}: {calls['exact']} of {calls['seen']} exact"
        return {}, f"none: {last_words(run.err)}"

    def grows(self, word):
        """By how much between two runs."""
        first, second = (self.at_max("round_done", [word])[0] for _ in range(2))
        return (second - first) & 0xFFFFFFFF

    def memory(self):
        """A probe reads what the core has written last, also with a data cache."""
        if self.chip.in_registers:
            return {}, "a probe sees no memory here"
        rounds = self.grows("round_count")
        if not rounds:
            raise Failed("the program counts its rounds in round_count, and the probe reads the same number in two runs")
        return {"rounds": rounds}, f"{rounds} rounds from one run to the next"

    def debug_unit(self):
        """After a run the program finds none of the bits that OpenOCD's files set, so that it sleeps and its watchdogs run again."""
        if not self.chip.dbgmcu:
            return {}, "this chip has none that the program sees"
        rounds = self.grows("rounds_untouched")
        if not rounds and "-f" in self.reached:
            raise Failed("DBGMCU_CR keeps what OpenOCD set, after its end")
        return {"rounds": rounds}, f"{rounds} rounds from one run to the next without a bit in DBGMCU_CR"

    def restore(self):
        """After a kill in the midst of a measurement everything is removed, and the core can be measured again."""
        self.kill_a_run()
        out = self.run("restore", "--force", elf=self.chip.memory).out
        removed = [line.strip() for line in out.splitlines() if line.startswith("  ")]
        if not any(line.startswith(("removed", "put back")) for line in removed):
            raise Failed(f"a measurement was killed, and restore --force found nothing to remove: {' '.join(out.split())}")
        self.delta("work_by_data", "-r", FEW)
        return {"removed": removed}, f"{', '.join(removed)}; it measures again"

    def kill_a_run(self):
        with tempfile.TemporaryFile("w+", errors="replace") as out, tempfile.TemporaryFile("w+", errors="replace") as err:
            words, begun = self.words("delta", "work_by_data", "--for", f"{10 * self.options.limit}s", "-j"), time.monotonic()
            process = self.start(words, stdout=out, stderr=err)
            try:
                while process.poll() is None and time.monotonic() < begun + self.options.limit and hits_in(out) < FEW:
                    time.sleep(0.01)
                early = process.poll() is not None
            finally:
                end(process, ENDS[-1:])
            hits = hits_in(out)
            err.seek(0)
            errors = err.read()
        self.runs.append({"words": words, "killed": True, "seconds": round(time.monotonic() - begun, 3), "stderr": errors[-SAID:]})
        if early:
            raise Failed(f"exit {process.returncode}: {last_words(errors) or 'it ended before it was killed'}")
        if hits < FEW:
            raise Failed(f"no hits within {self.options.limit} s")

    def traces(self):
        """Nothing is left that would stop it, and it runs."""
        run = self.run("info", "-j", elf=False)
        for core in run.of("core"):
            used = core.get("breakpoints", {}).get("used")
            if used:
                raise Failed(f"core {core['number']}: a breakpoint at {used[0].get('place') or used[0]['address']}")
        states = {str(core["number"]): core["state"] for core in run.of("core")}
        if "halted" in states.values():
            raise Failed("a core stands")
        return {"states": states}, "no breakpoint is left; " + ", ".join(f"core {n} {state}" for n, state in states.items())

    # --- all of them

    STEPS = [("connect", connect), ("doctor", doctor), ("re-hits in flash", rehits_in_flash), ("re-hits in RAM", rehits_in_ram),
             ("own figures", own_figures), ("article", article), ("sequences", known_sequences), ("speed of START END", speed_of_pairs),
             ("speed of FUNCTION", speed_of_functions), ("packets of START END", packets_of_pairs),
             ("packets of FUNCTION", packets_of_functions), ("clock", clock), ("samples", samples), ("without a halt", trace), ("memory", memory), ("debug unit", debug_unit),
             ("restore", restore), ("traces", traces)]

    def step(self, name, function):
        self.runs, begun = [], time.monotonic()
        entry = {"step": name, "ok": False}
        try:
            entry["figures"], words = function(self)
            entry["ok"] = True
        except Failed as why:
            entry["why"] = words = str(why)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, ZeroDivisionError, OSError) as surprise:
            entry["why"] = words = f"not understood: {type(surprise).__name__} {surprise}"
        except KeyboardInterrupt:
            entry["why"] = words = "interrupted"
            raise
        finally:
            entry.update(seconds=round(time.monotonic() - begun, 3), runs=self.runs)
            self.steps.append(entry)
            self.write()
        print(f"{name:21} {'ok    ' if entry['ok'] else 'FAILED'} {words}", flush=True)

    def run_all(self):
        interrupted = False
        try:
            for name, function in self.STEPS:
                self.step(name, function)
        except KeyboardInterrupt:
            interrupted = True
            self.steps += [{"step": name, "ok": False, "why": "not run"} for name, _ in self.STEPS[len(self.steps):]]
            self.write()
        self.print_sequences()
        failed = [entry["step"] for entry in self.steps if not entry["ok"]]
        print(f"\n{len(self.steps)} steps, " + (f"failed: {', '.join(failed)}" if failed else "none failed") +
              (" (interrupted)" if interrupted else ""))
        print(f"{self.options.output} has all of it, and {self.packed} what went over the link. Please attach both to an issue: "
              "docs/hardware.md")
        return 1 if failed else 0

    def print_sequences(self):
        rows = self.figures.get("sequences")
        if not rows:
            return
        print(f"\n{'cycles':12} {'median':>7} {'min':>7} {'max':>7}  {'own':>6}  {'published':12}")
        for name, figures in rows.items():
            if "failed" in figures:
                print(f"{name:12} not measured")
                continue
            own = "?" if figures["own"] is None else figures["own"]
            text = known.published_text(name, self.chip.core) or "nothing"
            mark = "" if figures["as_published"] is not False else "  differs"
            print(f"{name:12} {figures['median']:7} {figures['min']:7} {figures['max']:7}  {own:>6}  {text:12}{mark}")
        print(f"own: by the program's own readings. published: {known.source(self.chip)}")

    def write(self):
        report = {"schema": SCHEMA, "chip": self.options.chip, "core": self.chip.core, "probe": self.options.probe,
                  "options": self.options.more, "firmware": os.path.basename(self.options.elf),
                  "started": self.options.started.isoformat(timespec="seconds"), "host": platform.platform(),
                  "commit": self.options.commit, "published": known.source(self.chip), **self.figures, "steps": self.steps}
        text = json.dumps(report, indent=1, ensure_ascii=False).replace(ROOT + os.sep, "")
        text = NUMBERS.sub(lambda found: " ".join(found.group().split()), text)
        beside = self.options.output + ".part"
        try:
            with open(beside, "w", encoding="utf-8") as file:
                file.write(self.anonymous(text) + "\n")
            os.replace(beside, self.options.output)
            self.pack_wires()
        except OSError as error:
            print(f"{self.options.output} cannot be written: {error.strerror}", file=sys.stderr)

    def anonymous(self, text):
        """Which probe of its kind it is concerns nobody."""
        return text.replace(self.serial, "SERIAL") if self.serial and len(self.serial) > 3 else text

    def pack_wires(self):
        """What was recorded since."""
        with zipfile.ZipFile(self.packed, "a" if self.has_packed else "w", zipfile.ZIP_DEFLATED) as packed:
            self.has_packed = True
            for name in sorted(os.listdir(self.wires.name)):
                path = os.path.join(self.wires.name, name)
                with open(path, encoding="utf-8", errors="replace") as file:
                    packed.writestr(name, self.anonymous(file.read()))
                os.remove(path)


def hits_in(file):
    size = os.fstat(file.fileno()).st_size
    return os.pread(file.fileno(), size, 0).count(b'"type":"hit"')


def round_trips(log):
    """Microseconds from what was sent to its answer; answers arrive in order."""
    waiting, trips = [], []
    for at, _, way in log:
        if way == ">":
            waiting.append(float(at))
        elif waiting:
            trips.append((float(at) - waiting.pop(0)) * 1e6)
    return trips


def commit():
    try:
        done = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], text=True, capture_output=True, timeout=10, check=False)
        return done.stdout.strip() or None
    except (OSError, subprocess.TimeoutExpired):
        return None


def options_of(words):
    parser = argparse.ArgumentParser(prog="accept.sh", description="Measures what is known on a chip that has our firmware on it; "
                                     "docs/hardware.md says how it gets there.")
    parser.add_argument("-o", "--output", metavar="FILE", help="where the results go; default: accept-CHIP-TIME.json, here")
    parser.add_argument("--limit", metavar="SECONDS", type=int, default=LIMIT, help=f"for one run of pmu-probe; default {LIMIT}")
    parser.add_argument("--elf", metavar="FILE", help="a firmware of one's own build; default: build/hardware/CHIP.elf")
    parser.add_argument("--tool", metavar="FILE", default=os.path.join(BUILD, "pmu-probe"), help="default: build/pmu-probe")
    parser.add_argument("probe", metavar="PROBE", help="as pmu-probe's --probe has it, or an OpenOCD file: NAME.cfg, rpi3")
    parser.add_argument("chip", metavar="CHIP", choices=known.CHIPS, help=", ".join(known.CHIPS))
    parser.add_argument("more", metavar="OPTION", nargs=argparse.REMAINDER, help="for each run: --transport jtag, --speed 1M, -C 1 ...")
    options = parser.parse_args(words)
    options.started = datetime.datetime.now(datetime.timezone.utc)
    options.output = options.output or f"accept-{options.chip}-{options.started:%Y%m%d-%H%M%S}.json"
    options.elf = options.elf or os.path.join(BUILD, "hardware", options.chip + ".elf")
    options.commit = commit()
    if options.limit < 1:
        parser.error("--limit: a whole number of seconds from 1 up")
    for file, how in ((options.tool, "make"), (options.elf, "make hardware-firmware")):
        if not os.path.exists(file):
            parser.error(f"{file} is not there: {how}")
    try:
        with open(options.output, "w", encoding="utf-8"):
            pass
    except OSError as error:
        parser.error(f"{options.output} cannot be written: {error.strerror}")
    return options


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdout.reconfigure(errors="replace")
    sys.exit(Acceptance(options_of(sys.argv[1:])).run_all())
