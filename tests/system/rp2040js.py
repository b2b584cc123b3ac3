"""The emulator rp2040js as GDB server: a package of npm's, which is installed into the build's folder when there is npm and a
network."""
import fcntl
import functools
import os
import shutil
import subprocess

from harness import BUILD, ROOT

VERSION = "1.4.1"
FOLDER = os.path.join(BUILD, "rp2040js")


@functools.cache
def rp2040js_missing():
    """Why there is none; None: it is there."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        return "rp2040js needs node and npm, which are not installed"
    os.makedirs(FOLDER, exist_ok=True)
    with open(os.path.join(FOLDER, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one test process installs it
        if os.path.exists(os.path.join(FOLDER, "node_modules", "rp2040js", "package.json")):
            return None
        done = subprocess.run(["timeout", "300", "npm", "install", "--prefix", FOLDER, "--no-save", "--no-audit", "--no-fund", "--ignore-scripts",
                               "--fetch-retries", "1", f"rp2040js@{VERSION}"], stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return None if done.returncode == 0 else f"npm does not get rp2040js: {done.stdout.strip().splitlines()[-1:]}"


class Rp2040js:
    """With a program of the tests', waiting at its first instruction."""

    def __init__(self, firmware):
        self.elf = os.path.join(BUILD, "firmware", f"{firmware}.elf")
        script = os.path.join(ROOT, "tests", "system", "rp2040js_server.mjs")
        self.process = subprocess.Popen(["node", script, os.path.abspath(FOLDER), self.elf], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.port = int(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
