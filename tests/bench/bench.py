#!/usr/bin/env python3
"""What `make bench` prints: hits per second of the tool and of its peers in one run on the same board, same ends, same
counter; start-up time and memory. Measures, never judges."""
import json
import os
import re
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

import bench_dap  # noqa: E402
import bench_knc  # noqa: E402
import harness  # noqa: E402

BENCH = os.path.dirname(os.path.abspath(__file__))
TOOL = os.path.join(harness.BUILD, "pmu-probe")
START, END = "plain_first", "plain_second"
SYST_CVR, MODULUS = 0xE000E018, 1 << 24  # the one counter that both chips have, and that runs without our help
ROUNDS = 3


def elapsed(first, second):
    return (first - second) % MODULUS


def run_tool(place, hits):
    begun = time.monotonic()
    done = subprocess.run([TOOL, "--elf", place.elf, "-p", f"openocd:127.0.0.1:{place.server.port}", "delta", START, END,
                           "-j", "-r", str(hits), "--counter", "systick"], check=True, text=True, capture_output=True)
    whole = time.monotonic() - begun
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    counts = {line["values"]["CPU_CYCLES"] for line in lines if line["type"] == "hit"}
    return hits / lines[-1]["seconds"], hits / whole, counts


def run_openocd(place, hits):
    server = place.server
    for name, value in (("START", place.symbol(START)), ("END", place.symbol(END)), ("COUNTER", SYST_CVR),
                        ("HITS", hits)):
        server(f"set ::{name} {value}")
    server(f"source {{{os.path.join(BENCH, 'openocd_best.tcl')}}}")
    took, *values = [int(word, 0) for word in server("openocd_best").split()]
    return hits * 1000 / took, {elapsed(a, b) for a, b in zip(values[::2], values[1::2])}


def run_gdb(place, hits):
    config = os.path.join(harness.ROOT, "openocd-cfg/boards/virtual.cfg")
    with subprocess.Popen(["openocd", "-c", f"set BOARD_PORT {place.board.jtag_port}", "-c",
                           "telnet_port disabled; tcl_port disabled; gdb_port 0", "-f", config], text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as server:
        for line in server.stderr:
            found = re.search(r"Listening on port (\d+) for gdb", line)
            if found:
                break
        values = {"start": place.symbol(START), "end": place.symbol(END), "counter": SYST_CVR, "hits": hits}
        words = ["gdb-multiarch", "-nx", "-batch", "-ex", f"target extended-remote 127.0.0.1:{found.group(1)}"]
        for name, value in values.items():
            words += ["-ex", f"set ${name} = {value}"]
        done = subprocess.run([*words, "-x", os.path.join(BENCH, "gdb_best.gdb"), place.elf], text=True,
                              capture_output=True, check=False)
        server.kill()
    seconds = float(re.search(r"seconds ([\d.]+)", done.stdout).group(1))
    pairs = re.findall(r"^(\d+) (\d+)$", done.stdout, re.M)
    assert len(pairs) == hits, done.stdout[-2000:] + done.stderr[-2000:]
    return hits / seconds, {elapsed(int(a), int(b)) for a, b in pairs}


def bench_hits(chip):
    figures = {"pmu-probe": [], "with start-up": [], "openocd_best.tcl": [], "gdb_best.gdb": []}
    for _ in range(ROUNDS):  # in turn, so that a slow moment of the machine meets all
        with harness.Place(chip, "free", harness.ARTICLE_PLAIN) as place:
            rate, whole, counts = run_tool(place, 500)
            figures["pmu-probe"].append(rate)
            figures["with start-up"].append(whole)
            rate, peer_counts = run_openocd(place, 100)
            figures["openocd_best.tcl"].append(rate)
            place.server.close()
            rate, gdb_counts = run_gdb(place, 50)
            figures["gdb_best.gdb"].append(rate)
            assert counts == peer_counts == gdb_counts, (counts, peer_counts, gdb_counts)
    print(f"\n{chip}: {START} to {END}, remote_bitbang JTAG, hits per second, median of {ROUNDS} (min, max)")
    for name, rates in figures.items():
        print(f"  {name:18} {statistics.median(rates):9.1f}   ({min(rates):.1f}, {max(rates):.1f})")
    ours = figures["pmu-probe"]
    for peer, target in (("openocd_best.tcl", 1.5), ("gdb_best.gdb", 5)):
        ratios = [a / b for a, b in zip(ours, figures[peer])]
        print(f"  {'over ' + peer:22} {statistics.median(ratios):5.1f} times   (target: {target})")


def bench_start():
    with harness.Place("rp2040", "free", harness.ARTICLE_PLAIN) as place:
        words = [TOOL, "--elf", place.elf, "-p", f"openocd:127.0.0.1:{place.server.port}"]
        print("\nstart-up, ms, median of 20 (target for the tool itself: 50)")
        for what, args in (("--version", ["--version"]), ("probes", [*words[1:], "probes"]), ("info", [*words[1:], "info"]),
                           ("delta -r 1, not calibrated", [*words[1:], "delta", START, END, "-r", "1", "--no-calibrate"])):
            times = []
            for _ in range(20):
                begun = time.monotonic()
                subprocess.run([TOOL, *args], check=True, stdout=subprocess.DEVNULL)
                times.append((time.monotonic() - begun) * 1000)
            print(f"  {what:28} {statistics.median(times):7.1f}   ({min(times):.1f}, {max(times):.1f})")


def bench_memory():
    print("\npeak memory over a simulated link")
    for hits in (10, 1000000):
        done = subprocess.run([os.path.join(harness.BUILD, "bench/simulated_hits"), str(hits)], check=True, text=True,
                              capture_output=True)
        print(f"  {done.stdout.strip()}")


if __name__ == "__main__":
    for one in ("rp2040", "m4"):
        bench_hits(one)
    bench_start()
    bench_dap.main()
    bench_memory()
    bench_knc.main()
