# SPDX-License-Identifier: MIT
"""pmu auto: the engine stays, the counters count on, and each stop prints the counts since the last stop."""
import subprocess

import gdb
import gdb.unwinder

from pmu_engine import Engine, Refused, program_counter, users_breakpoints, write


class Frames(gdb.unwinder.Unwinder):
    """Unwinds nothing. GDB asks it at every stop, also inside a `next`, so it counts the stops."""

    def __init__(self):
        super().__init__("pmu")
        self.seen = 0

    def __call__(self, pending):
        self.seen += not hasattr(pending, "level") or pending.level() == 0  # GDB 13


class Auto:
    """The engine that stays."""

    def __init__(self, full_words):
        self.full_words = full_words  # (command, words): adds the settings
        self.engine, self.busy, self.values, self.words = None, False, {}, []
        self.frames, self.single_steps = Frames(), False

    def on(self, words):
        if self.engine is not None:
            self.off()
        self.words = words
        engine = Engine(self.full_words("serve", words), stdin=subprocess.PIPE)
        if not engine.serve(lambda line: line == "ready\n" or write(line), "ready"):
            raise Refused(f"{engine.reason()}: auto is not on" if engine.has_spoken
                          else f"{engine.process.args[0]} printed nothing: is it pmu-probe?")
        self.engine, self.values = engine, {}
        gdb.unwinder.register_unwinder(None, self.frames, replace=True)
        for event, hook in self.hooks():
            event.connect(hook)
        try:
            gdb.execute("show user hook-detach", to_string=True)
        except gdb.error:  # GDB has no event for it
            gdb.execute("define hook-detach\npmu auto off\nend", to_string=True)

    def hooks(self):
        return [(gdb.events.cont, self.resumed), (gdb.events.stop, self.stopped),
                (gdb.events.exited, self.gone), (gdb.events.gdb_exiting, self.gone)]

    def off(self):
        """At the end of its input the engine restores everything."""
        engine, self.engine, self.values = self.engine, None, {}
        for event, hook in self.hooks():
            event.disconnect(hook)
        gdb.frame_unwinders.remove(self.frames)
        try:
            engine.process.stdin.close()
        except OSError:
            pass  # it has ended
        engine.serve(write)
        if reason := engine.reason():
            write(reason + "\n")

    def gone(self, _event):
        if self.engine is not None:
            self.off()

    def resumed(self, _event):
        if self.busy or self.engine is None:
            return
        theirs = users_breakpoints()  # GDB steps over one first, and halts to test a condition
        self.single_steps = program_counter() in theirs or any(
            one.condition or one.ignore_count for ones in theirs.values() for one in ones)
        self.frames.seen = 0
        self.engine.ask("resumed")

    def stopped(self, _event):
        if self.busy or self.engine is None:
            return
        pairs = 0 if self.single_steps or self.frames.seen > 1 else 1
        self.ask(f"stopped {pairs}", gdb.write)

    def ask(self, line, tell):
        def take(reply):
            words = reply.split()
            if words[:1] == ["value"]:
                self.values[words[1]] = [(int(word.lstrip("<>?")), word[:1] if word[0] in "<>?" else "") for word in words[2:4]]
            else:
                tell(reply.removeprefix("text "))
        self.busy = True
        try:
            self.engine.ask(line)
            if not self.engine.serve(take, "text "):
                self.end_of_engine()
        except OSError:
            self.end_of_engine()
        finally:
            self.busy = False

    def end_of_engine(self):
        reason, self.engine = self.engine.reason(), None
        for event, hook in self.hooks():
            event.disconnect(hook)
        gdb.frame_unwinders.remove(self.frames)
        gdb.write(f"pmu auto is off{': ' if reason else ''}{reason}\n")
