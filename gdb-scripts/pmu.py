# SPDX-License-Identifier: MIT
# The next line is Python, and a command of a GDB without Python, which answers that it has none.
python = "needs a GDB with Python"
"""pmu-probe inside GDB: `source pmu.py`, connect to the target, then `pmu help`.

pmu-probe does the work; these scripts carry out its requests. They know nothing of registers, counters or
statistics. Python 3, GDB 12 and later.
"""
import json
import os
import re
import shlex
import sys

import gdb

HERE = os.path.abspath(sys._getframe().f_code.co_filename)  # GDB 13 sets no __file__
sys.path.insert(0, os.path.dirname(HERE))

import pmu_window
from pmu_auto import Auto
from pmu_engine import (Engine, Refused, binary, check_option, openocd_port, options_of, reason_of, run_binary,
                        write)


# Options of report, with their values, that make no difference to the window
DROPPED = ("-o", "--output", "--sort", "--format", "-x", "--separator")
RESULTS = 0, 1, 4, 5, 130  # exit codes: 1, 4 and 5 are verdicts, 5 is doctor's finding too; 130: Ctrl-C
DIRECT = "delta", "survey", "stat", "record", "top"  # OpenOCD's Tcl port serves them, if there is one
# What a user, a target or a server can cause
FAILURES = Refused, ValueError, OSError, gdb.error, gdb.MemoryError


class Setting(gdb.Parameter):
    """A parameter of `set pmu`. The engine gets it as `option`."""

    def __init__(self, name, kind, option, default, what):
        self.name, self.option, self.default, self.what = name, option, default, what
        self.set_doc, self.show_doc = f"Set {what}.", f"Show {what}."
        self.__doc__ = f"Set {what}."
        super().__init__("pmu " + name, gdb.COMMAND_DATA, kind)
        self.value = self.taken = True if kind == gdb.PARAM_BOOLEAN else ""

    def get_set_string(self):
        """GDB has taken the value already."""
        checked = self.option and self.value and isinstance(self.value, str)
        why = check_option(self.option, self.value) if checked else ""
        if why:
            self.value = self.taken
            raise gdb.GdbError(f"set pmu {self.name}: {why.replace(self.option + ' takes', 'it takes', 1)}")
        self.taken = self.value
        return ""

    def get_show_string(self, value):
        if isinstance(self.value, bool):
            return f"{self.name} = {'on' if self.value else 'off'}"
        return f"{self.name} = {self.value}" if self.value else f"{self.name} = {self.default()} (default)"

    def words(self):
        if isinstance(self.value, bool) and self.option:
            return [] if self.value else [self.option]
        return [self.option, self.value] if self.option and self.value else []


def address_of(value):
    """Whatever the language of the frame, and its casts. Registers of 32 bits are signed in GDB (r0 to r12, lr: arm-core.xml)."""
    of_itself = value.type.strip_typedefs().code in (gdb.TYPE_CODE_FUNC, gdb.TYPE_CODE_METHOD, gdb.TYPE_CODE_ARRAY)
    if of_itself and value.address is None:
        raise Refused("an array that only GDB has is at no address")
    return int(value.address if of_itself else value) & (1 << 8 * value.type.pointer().sizeof) - 1


def engine_words(command, words):
    """The words of the engine's command line. An option in `words` wins over a setting."""
    words, given = list(words), set(words)
    for i, word in enumerate(words):
        if word == "-j" and i + 1 < len(words) and not words[i + 1].startswith("-"):
            words.insert(i + 1, "-o")  # -j FILE
            break
    for i, word in enumerate(words):
        if word.startswith("*") and not word[1:2].isdigit():  # *$pc, *main+4: GDB evaluates it
            words[i] = f"*0x{address_of(gdb.parse_and_eval(word[1:])):x}"
        elif word.isdigit() and command == "delta" and (i == 0 or not words[i - 1].startswith("-")):
            symtab = gdb.selected_frame().find_sal().symtab  # a line of the current file
            words[i] = f"{os.path.basename(symtab.filename)}:{word}" if symtab else word
    elf, taken = gdb.current_progspace().filename, options_of(command)
    settings = [word for one in SETTINGS if one.option in taken and one.option not in given
                for word in one.words()]
    if elf and "--elf" in taken and "--elf" not in given and "--elf" not in settings:
        settings += ["--elf", elf]
    return [command, *settings, *words]


def show_in_window(command, words):
    """The profile that `record` has written, or that `report` has read."""
    kept, file, dropped = [], "profile.jsonl", ""
    for word in words:
        if dropped in ("-o", "--output"):
            file = word
        elif not dropped and word not in ("-j", "--json", *DROPPED):
            kept.append(word)
        dropped = word if not dropped and word in DROPPED else ""
    pmu_window.SHARES.take(engine_words("report", [file] if command == "record" else kept)[1:])


def events():
    """The names of the core's events."""
    lines = []
    engine = Engine(engine_words("list", ["-j"]))
    engine.serve(lines.append)
    parts = [json.loads(line) for line in lines if line.startswith("{")]
    return [part["name"] for part in parts if part["type"] == "event"]


def failure(name, code, reason):
    """The message of an error. Front ends show nothing else of it."""
    if code == 2 and reason:
        return f"pmu {name}: {reason}\nhelp pmu {name} shows what it takes"
    return f"pmu {name} failed (exit code {code})" + (f": {reason}" if reason else "")


class Command(gdb.Command):
    """A command of the engine."""

    def __init__(self, name, doc, moves=False, often=False):
        self.__doc__, self.name, self.moves, self.often = doc, name, moves, often
        super().__init__("pmu " + name, gdb.COMMAND_DATA)

    def invoke(self, argument, _from_tty):
        auto = AUTO.words if AUTO.engine else None
        if auto is not None:
            AUTO.off()
        try:
            port = openocd_port() if self.name in DIRECT and gdb.parameter("pmu tcl") else ()
            engine = Engine(engine_words(self.name, shlex.split(argument)), often=self.often, port=port)
        except FAILURES as error:
            self.resume_auto(auto)
            raise gdb.GdbError(f"pmu: {error}") from error
        AUTO.busy = True
        try:
            engine.serve(lambda line: None if line.startswith("pmu-probe help") else write(line))
        finally:
            AUTO.busy = False
        code, reason = engine.process.returncode, engine.reason()
        if engine.at_users and code not in RESULTS:
            hitless = self.name in ("delta", "survey") and "stopped by" not in reason
            place = re.match(r"stopped by .*?( at .+)", reason)
            reason = f"stopped by your {engine.at_users}" + (place[1] if place else "") + (" before the first hit" if hitless else "")
        if engine.at_users and code in RESULTS and self.name == "stat":
            reason = f"{reason}\nended by your {engine.at_users}".lstrip()
        if reason and code in RESULTS:
            write(reason + "\n")
        if self.name == "record" and code == 0:
            show_in_window("record", shlex.split(argument))
        if code != 2 and self.moves and gdb.selected_thread() is not None:
            try:
                gdb.execute("frame")
            except gdb.error as error:
                gdb.write(f"{error}\n")
        self.resume_auto(auto)
        if not engine.has_spoken and not engine.port and code >= 0:
            raise gdb.GdbError(f"{binary()} ended with exit code {code} and printed nothing: is it pmu-probe?")
        if code not in RESULTS:
            raise gdb.GdbError(failure(self.name, code, reason))

    @staticmethod
    def resume_auto(words):
        if words is None:
            return
        try:
            AUTO.on(words)
            gdb.write("pmu auto begins anew\n")
        except (*FAILURES, gdb.GdbError) as error:
            gdb.write(f"pmu auto is off: {error}\n")

    def complete(self, text, word):
        words = text.split()
        last = words.pop() if words and not text[-1].isspace() else ""
        is_event = words[-1:] in (["-e"], ["--event"])
        if word is None and (is_event or last.startswith("-")):  # GDB asks where the word begins
            return gdb.COMPLETE_NONE
        if is_event:
            try:
                return [name for name in events() if name.startswith(word.upper())]
            except (Refused, gdb.error, OSError):
                return []
        if last.startswith("-"):
            try:
                return [name[len(last) - len(word):]
                        for name in options_of(self.name) if name.startswith(last)]
            except (gdb.GdbError, OSError):
                return []
        return gdb.COMPLETE_LOCATION if self.moves else gdb.COMPLETE_NONE


class Report(Command):
    """A command of the engine that needs no target."""

    def invoke(self, argument, _from_tty):
        try:
            words = shlex.split(argument)
            done = run_binary(*engine_words(self.name, words))
            if done.returncode == 0:
                show_in_window(self.name, words)
        except FAILURES as error:
            raise gdb.GdbError(f"pmu: {error}") from error
        write(done.stdout)
        if done.returncode:
            raise gdb.GdbError(failure(self.name, done.returncode, reason_of(done.stderr)))
        write(done.stderr)


class AutoCommand(gdb.Command):
    """Print the counts after every next, step, finish and continue.
Usage: pmu auto on [-e EVENTS]
       pmu auto off

`off` restores what has been changed on the target. While it is on, $_pmu("EVENT") is the
count since `on`, and $_pmu_delta("EVENT") the count of the last step, for print, display
and conditions. A `next` is many single steps, and each halts the core. `on` measures
whether a halt costs cycles: if it does, the count is printed as "at most"."""

    def __init__(self):
        super().__init__("pmu auto", gdb.COMMAND_DATA)

    def invoke(self, argument, _from_tty):
        try:
            words = shlex.split(argument)
            if words[:1] == ["on"]:
                AUTO.on(words[1:])
            elif words == ["off"]:
                if AUTO.engine is not None:
                    AUTO.off()
            else:
                raise Refused("on [-e EVENTS] or off")
        except FAILURES as error:
            raise gdb.GdbError(f"pmu auto: {error}") from error

    def complete(self, text, word):
        return [one for one in ("on", "off") if one.startswith(word)] if text == word else gdb.COMPLETE_NONE


class Count(gdb.Function):
    """A count of pmu auto by the event's name: of the last step, or since `pmu auto on`."""

    def __init__(self, name, which):
        super().__init__(name)
        self.name, self.which = name, which

    def invoke(self, *words):
        if len(words) != 1:
            raise gdb.GdbError(f'${self.name} takes the name of an event: ${self.name}("CPU_CYCLES")')
        event = words[0]
        if AUTO.engine is None:
            raise gdb.GdbError("pmu auto on, first")
        if not AUTO.busy:
            AUTO.ask("look", lambda line: None)
        name = event.string().upper()
        counted = {column.upper(): value for column, value in AUTO.values.items()}
        found = counted.get("CPU_CYCLES" if name == "CYCLES" else name)
        if found is None:
            raise gdb.GdbError(f"{event.string()} is not counted, but {', '.join(AUTO.values)}: pmu auto on -e {event.string()}")
        number, bound = found[self.which]
        if bound == "?":
            raise gdb.GdbError(f"{event.string()}: of some steps only a lower bound is known, of others an upper one")
        if bound:
            gdb.write(f"{event.string()} is at {'least' if bound == '>' else 'most'} that\n", gdb.STDERR)
        return number


class Pmu(gdb.Command):
    """Measure code with the core's own counters, through pmu-probe."""

    def __init__(self, name):
        self.name = name
        super().__init__(name, gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)

    def invoke(self, argument, _from_tty):
        if argument:
            word = argument.split()[0]
            if self.name == "pmu" and word.isalnum() and run_binary("help", word).returncode == 0:
                raise gdb.GdbError(f"pmu {word} does not run inside GDB: pmu-probe {word}, in a terminal, does")
            raise gdb.GdbError(f"{self.name}: unknown word \"{word}\"; see pmu help")
        if self.name != "show pmu":
            gdb.execute("help " + self.name)
            return
        for one in SETTINGS:
            gdb.write(one.get_show_string(one.value) + "\n")


class Help(gdb.Command):
    """Show all pmu commands and settings.
Usage: pmu help"""

    def __init__(self):
        super().__init__("pmu help", gdb.COMMAND_DATA)

    def invoke(self, _argument, _from_tty):
        for one in [*COMMANDS, AUTO_COMMAND]:
            gdb.write(one.__doc__ + "\n\n")
        gdb.write("Settings, by `set pmu` and `show pmu`:\n")
        for one in SETTINGS:
            gdb.write(f"  {one.name:12}{one.what}\n")
        gdb.write("`layout pmu` shows the source with the share of each line.\n")


def found_binary():
    try:
        return binary()
    except gdb.GdbError:
        return "not found"


AUTO = Auto(engine_words)
Pmu("pmu")
Pmu("set pmu")
Pmu("show pmu")
SETTINGS = [Setting(*words) for words in [
    ("binary", gdb.PARAM_OPTIONAL_FILENAME, None, found_binary,
     "the pmu-probe to start, else one on the PATH or built next to this script"),
    ("elf", gdb.PARAM_OPTIONAL_FILENAME, "--elf", lambda: gdb.current_progspace().filename or "none",
     "the ELF of the program, else GDB's own"),
    ("events", gdb.PARAM_STRING, "-e", lambda: "CPU_CYCLES", "what to count: A,B,{C,D}"),
    ("frequency", gdb.PARAM_STRING, "--freq", lambda: "SystemCoreClock",
     "the core's clock (12M), if the program does not say"),
    ("timeout", gdb.PARAM_STRING, "--timeout", lambda: "10s",
     "how long to wait for the start and the end (500ms, 10s)"),
    ("calibrate", gdb.PARAM_BOOLEAN, "--no-calibrate", None,
     "whether the cost of a halt is measured and removed"),
    ("tcl", gdb.PARAM_BOOLEAN, None, None,
     "whether delta, survey, stat, record and top go by OpenOCD's Tcl port, if it has one"),
]]
COMMANDS = [Command(*words) for words in [
    ("delta", """Measure what a function, or the code between two places, costs.
Usage: pmu delta FUNCTION [-r N] [-e EVENTS] [-j FILE]
       pmu delta START END [-r N] [-e EVENTS] [-j FILE]

Counts from the start to the end, over many hits. A place is symbol, symbol+0x10,
file.c:42, a line of this file, or *ADDRESS. Ctrl-C or a breakpoint of yours on the way
ends it, with the hits measured until then. If a breakpoint's condition does not hold, or
it is to be ignored, the cost of GDB's halts there is removed. The core stays halted where
the last hit ended.""", True),
    ("survey", """Measure many functions by turns, and rank them by their cost.
Usage: pmu survey [FUNCTION|PATTERN]... [--for TIME] [-r N]

The core stays halted where the last hit ended.""", True, True),
    ("stat", """Count while the core runs.
Usage: pmu stat --for TIME [-e EVENTS]

By OpenOCD's Tcl port the core runs all the time. Else each sample halts it briefly.""", True),
    ("record", """Sample where the core is, into profile.jsonl.
Usage: pmu record [--for TIME] [-o FILE]

Ctrl-C or a breakpoint of yours ends it. By OpenOCD's Tcl port the core runs all the time.
Else GDB lets it run for some 20 ms and interrupts it, again and again, so it is halted a
good part of the time.""", True, True),
    ("top", """List the functions of the last interval by their shares.
Usage: pmu top [--for TIME] [-I TIME]

Ctrl-C ends it. The samples are those of pmu record.""", True, True),
    ("info", """Show the way to the target, the cores and their counters.
Usage: pmu info

It changes nothing."""),
    ("list", """List the events of this core: code, name, meaning.
Usage: pmu list [PATTERN]"""),
    ("calibrate", """Measure what a halt adds to the counters, here or at a place.
Usage: pmu calibrate [PLACE] [-e EVENTS]""", True),
    ("doctor", """Say why a counter cannot be read, and what mends it.
Usage: pmu doctor [--mend]"""),
]]
COMMANDS.append(Report("report", """Show the shares of a profile that pmu record or pmu-probe wrote.
Usage: pmu report [FILE] [--sort KEY]

KEY is function, line, file, address, task, exception or context. It needs no target."""))
AUTO_COMMAND = AutoCommand()
pmu_window.set_up()
Help()
Count("_pmu", 1)
Count("_pmu_delta", 0)
