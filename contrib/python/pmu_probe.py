# SPDX-License-Identifier: MIT
"""pmu-probe from Python: runs the tool and reads its JSON lines. No name in them is changed, see docs/json.md.

    from pmu_probe import Pmu
    run = Pmu(probe="cmsis-dap", elf="app.elf").delta("fir_filter", hits=100)
    assert run.cycles.max < 20_000
"""
import ctypes
import json
import os
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from types import SimpleNamespace

VERDICTS = {0: "pass", 1: "regressed", 4: "inconclusive", 5: "not comparable"}  # by exit code
LAST = {"guard": "guard_end", "show": "header"}  # of a command's lines, that which only a whole result has; of others the summary. `show` refuses others
OF_FILES = ("report", "annotate", "compare", "show")  # these take no way to a target
NO_PROGRAM = ("probes", "list")  # and these no ELF
RESTORES = 20  # seconds that a terminated tool has to put the target back; it needs less. Times $PMU_PROBE_PATIENCE
LIBC = ctypes.CDLL(None)


def patience():
    """As the tool takes it: docs/configuration.md."""
    text = os.environ.get("PMU_PROBE_PATIENCE", "")
    return int(text) if text.isascii() and text.isdigit() and 1 <= int(text) <= 1000 else 1


def end_with(parent):
    """In the child: if Python dies, the tool gets SIGTERM, and puts the target back."""
    if hasattr(LIBC, "prctl"):
        LIBC.prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(1)


class PmuError(Exception):
    """The tool could not do it: its own words. `code` is its exit code, 2 for wrong usage, 3 for what went wrong."""

    def __init__(self, code, words):
        super().__init__(words.strip() or f"pmu-probe ended with exit code {code} and printed nothing")
        self.code = code


class Record(SimpleNamespace):
    """A JSON object: record.columns.CPU_CYCLES or record["columns"]["CPU_CYCLES"]. What is not known is not there."""

    def __getitem__(self, key):
        return vars(self)[key]

    def __iter__(self):
        return iter(vars(self))

    def get(self, key, default=None):
        return vars(self).get(key, default)


class Run:
    """What one run printed. `lines`: its JSON lines; `text`: its standard output; `said`: its standard error."""

    def __init__(self, code, text, said=""):
        self.code, self.text, self.said = code, text, said
        self.lines = [json.loads(line, object_hook=lambda fields: Record(**fields)) for line in text.split("\n") if line]

    def of(self, kind):
        """The lines of a type, such as "hit"."""
        return [line for line in self.lines if line.type == kind]

    def __getattr__(self, kind):
        """run.header, run.summary, run.verdict: the line of that type."""
        found = [] if kind.startswith("_") else self.of(kind)
        if not found:
            raise AttributeError(f"this run has no line of the type {kind}")
        return found[-1]

    @property
    def hits(self):
        return self.of("hit")

    @property
    def columns(self):
        return self.summary.columns

    @property
    def cycles(self):
        return self.columns.CPU_CYCLES


@dataclass
class Pmu:
    """A board. Empty: what pmu-probe itself takes ($PMU_PROBE, pmu-probe.conf). `options`: words that all commands which reach
    for the board take, such as ("--transport", "swd")."""

    probe: str = ""
    elf: str = ""
    options: tuple = ()
    tool: str = "pmu-probe"

    def run(self, command, *words, **options):
        """Any command that knows -j. Options are the long ones of the command line: `timeout="5s"`, `reset=True`, and with
        an underscore for what Python does not take as a name: `for_="2s"`, `no_calibrate=True`."""
        code, text, said = self.carry_out(self.line(command, *words, "--json", **options))
        run = Run(code, text, said) if code in VERDICTS else None
        if run is None or not run.of(LAST.get(command, "summary")) and code != 5:  # a doctor that found something needs no summary
            raise self.error(code, said)
        return run

    def delta(self, *region, hits=None, **options):
        """delta("fir"), delta("fir.c:10", "fir.c:20", hits=100, event="LD_RETIRED", baseline="main.jsonl", threshold="2%")"""
        return self.run("delta", *region, **{"repeat": hits, **options})

    def restore(self):
        """Puts back what a run had to leave that was killed or lost its way to the target. What the tool says of it."""
        code, text, said = self.carry_out(self.line("restore"))
        if code != 0:
            raise self.error(code, said)
        return text

    def line(self, command, *words, **options):
        reaches = command not in OF_FILES
        own = {"probe": reaches and self.probe, "elf": command not in NO_PROGRAM and self.elf}
        options = {**{name: value or None for name, value in own.items()}, **options}
        options.update({name: self.file(str(options[name])) for name in ("elf", "baseline") if options.get(name)})
        line = [self.tool, command, *map(str, words), *map(str, self.options if reaches else ())]
        for name, value in options.items():
            option = "--" + name.rstrip("_").replace("_", "-")
            line += [option] if value is True else [] if value is None or value is False else [f"{option}={value}"]
        return line

    # What a board elsewhere does in another way

    def file(self, path):
        """Where the tool finds a file of ours."""
        return path

    def error(self, code, said):
        return PmuError(code, said)

    def wait_for(self, process):
        return process.wait()

    def tell_to_end(self, process):
        process.terminate()

    def carry_out(self, line):
        """Exit code, standard output and standard error of a command line."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            # Its own session: Ctrl-C must not reach it a second time, which would end it before the target is put back
            parent = os.getpid()
            process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=out, stderr=err, start_new_session=True,
                                       preexec_fn=lambda: end_with(parent))
            try:
                code = self.wait_for(process)
            except BaseException:  # Ctrl-C, or a test's time limit
                self.stop(process)
                raise
            finally:
                process.stdin.close()
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode(errors="replace"))
            return code, *texts

    def stop(self, process):
        self.tell_to_end(process)
        try:
            process.wait(RESTORES * patience())
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
