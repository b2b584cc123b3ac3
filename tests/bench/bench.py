#!/usr/bin/env python3
"""What `make bench` prints: hits per second of the tool and of its peers in one run on the same board, same ends, same
counter; start-up time and memory. Measures, never judges."""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, "system")]

import bench_dap  # noqa: E402
import bench_knc  # noqa: E402
import bench_record  # noqa: E402
import bench_trace  # noqa: E402
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


def gdb_before_openocd(place, *words):
    """What a GDB printed that had its own OpenOCD."""
    config = os.path.join(harness.ROOT, "openocd-cfg/boards/virtual.cfg")
    with subprocess.Popen(["openocd", "-c", f"set BOARD_PORT {place.board.jtag_port}", "-c",
                           "telnet_port disabled; tcl_port disabled; gdb_port 0", "-f", config], text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as server:
        for line in server.stderr:
            found = re.search(r"Listening on port (\d+) for gdb", line)
            if found:
                break
        done = subprocess.run(["gdb-multiarch", "-nx", "-batch", "-ex", f"target extended-remote 127.0.0.1:{found.group(1)}",
                               *words, place.elf], text=True, capture_output=True, check=False)
        server.kill()
    return done.stdout + done.stderr


def seconds_in(said):
    found = re.search(r"seconds ([\d.]+)", said)
    assert found, said[-2000:]
    return float(found.group(1))


def run_gdb(place, hits):
    values = {"start": place.symbol(START), "end": place.symbol(END), "counter": SYST_CVR, "hits": hits}
    words = [word for name, value in values.items() for word in ("-ex", f"set ${name} = {value}")]
    said = gdb_before_openocd(place, *words, "-x", os.path.join(BENCH, "gdb_best.gdb"))
    seconds = seconds_in(said)
    pairs = re.findall(r"^(\d+) (\d+)$", said, re.M)
    assert len(pairs) == hits, said[-2000:]
    return hits / seconds, {elapsed(int(a), int(b)) for a, b in pairs}


def run_pmu_in_gdb(place, hits):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "run.jsonl")
        commands = ["monitor poll_period 1", f"source {harness.ROOT}/gdb-scripts/pmu.py", f"set pmu binary {TOOL}",
                    f"pmu delta {START} {END} -r {hits} --counter systick --no-calibrate -j {file}"]
        said = gdb_before_openocd(place, *[word for command in commands for word in ("-ex", command)])
        assert os.path.exists(file), said[-2000:]
        with open(file, encoding="utf-8") as text:
            lines = [json.loads(line) for line in text]
    counts = {line["values"]["CPU_CYCLES"] for line in lines if line["type"] == "hit"}
    return hits / lines[-1]["seconds"], counts


def run_continue(place, hits):
    """Two plain `continue`s in place of a hit."""
    loop = f"import time\nbegun = time.monotonic()\nfor n in range({2 * hits}): gdb.execute('continue', to_string=True)\n" \
           "print('seconds %f' % (time.monotonic() - begun))"
    commands = ["monitor poll_period 1", f"hbreak {START}", f"hbreak {END}", "continue", f"python exec({loop!r})"]
    said = gdb_before_openocd(place, *[word for command in commands for word in ("-ex", command)])
    return hits / seconds_in(said)


def bench_gdb(chip):
    """Inside GDB: what `pmu delta` adds to going from stop to stop."""
    figures = {"pmu delta": [], "gdb_best.gdb": [], "two `continue`s": []}
    for _ in range(ROUNDS):
        with harness.Place(chip, "free", harness.ARTICLE_PLAIN) as place:
            place.server.close()
            rate, counts = run_pmu_in_gdb(place, 50)
            figures["pmu delta"].append(rate)
            rate, gdb_counts = run_gdb(place, 50)
            figures["gdb_best.gdb"].append(rate)
            figures["two `continue`s"].append(run_continue(place, 50))
            assert counts == gdb_counts, (counts, gdb_counts)
    print(f"\n{chip}, inside GDB before OpenOCD: {START} to {END}, hits per second, median of {ROUNDS} (min, max)")
    for name, rates in figures.items():
        print(f"  {name:18} {statistics.median(rates):9.1f}   ({min(rates):.1f}, {max(rates):.1f})")
    ours, plain = (1000 / statistics.median(figures[name]) for name in ("pmu delta", "two `continue`s"))
    print(f"  a hit of `pmu delta` takes {ours:.1f} ms, two `continue`s {plain:.1f} ms: it adds {ours - plain:+.1f} ms "
          "(it has OpenOCD look for a stop at once)")


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
        for what, args in (("--version", ["--version"]), ("probes", [*words[3:], "probes"]), ("info", [*words[1:], "info"]),
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
    for packets in (100_000, 10_000_000):
        done = subprocess.run([os.path.join(harness.BUILD, "bench/trace_packets"), str(packets)], check=True, text=True,
                              capture_output=True)
        print(f"  {done.stdout.strip()}")


if __name__ == "__main__":
    for one in ("rp2040", "m4"):
        bench_hits(one)
        bench_gdb(one)
    bench_start()
    bench_dap.main()
    bench_record.main()
    bench_trace.main()
    bench_memory()
    bench_knc.main()
