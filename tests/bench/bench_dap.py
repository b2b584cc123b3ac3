"""The second half of `make bench`: USB packets a hit and hits per second over one emulated CMSIS-DAP probe, for the tool
and for its peers, at the packet sizes and latencies of full-speed and high-speed probes."""
import json
import os
import re
import statistics
import subprocess

import harness
from usb import UsbBoard, usb_available

BENCH = os.path.dirname(os.path.abspath(__file__))
TOOL = os.path.join(harness.BUILD, "pmu-probe")
SYST_CVR, MODULUS = 0xE000E018, 1 << 24
REGIONS = {"START END": (("plain_first", "plain_second"), harness.ARTICLE_PLAIN),
           "FUNCTION": (("work_by_data",), harness.WORK_BY_DATA)}
PROBES = {"64 B, 1 ms": {"dap_packet": 64, "usb_latency": 1000}, "512 B, 125 us": {"dap_packet": 512, "usb_latency": 125}}
ROUNDS = 3


def packets_of(board):
    return board.command("dap")["packets"]


def halts_of(board):
    core = board.command("stood")["cores"][0]
    return core["stood_ns"] / 1e3, core["wire_ns"] / 1e3, core["halts"]


def tool_figures(board, operands, hits, options=("--no-calibrate", "--counter", "systick")):
    """Packets and seconds a hit, us a halt and of these the wire's: the difference of a long and a short run, so that
    connecting does not count."""
    runs = []
    for count in (hits // 10, hits):
        before, halts = packets_of(board), halts_of(board)
        done = subprocess.run(board.in_namespace([TOOL, "-p", "cmsis-dap", "--elf", board.elf, "delta", "-j", "-r", count,
                                                  *options, *operands]),
                              text=True, capture_output=True, check=True)
        summary = json.loads(done.stdout.splitlines()[-1])
        assert summary["hits"] == count, summary
        runs.append((packets_of(board) - before, summary["seconds"], *(b - a for a, b in zip(halts, halts_of(board)))))
    packets, seconds, us, wire_us, halts = (b - a for a, b in zip(*runs))
    extra = hits - hits // 10
    return packets / extra, extra / seconds, us / halts, wire_us / halts


def openocd_figures(board, hits):
    with board.openocd("usb_bulk") as server:
        for name, value in (("START", board.symbol("plain_first")), ("END", board.symbol("plain_second")),
                            ("COUNTER", SYST_CVR), ("HITS", hits)):
            server(f"set ::{name} {value}")
        server(f"source {{{os.path.join(BENCH, 'openocd_best.tcl')}}}")
        before = packets_of(board)
        took, *_ = [int(word, 0) for word in server("openocd_best").split()]
        return (packets_of(board) - before) / hits, hits * 1000 / took


def gdb_figures(board, hits):
    config = os.path.join(harness.ROOT, "openocd-cfg/boards/virtual-dap.cfg")
    words = board.in_namespace(["openocd", "-c", f"set BOARD_CHIP {board.chip}; set DAP_BACKEND usb_bulk", "-c",
                                "telnet_port disabled; tcl_port disabled; gdb_port 0", "-f", config])
    with subprocess.Popen(words, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE) as server:
        for line in server.stderr:
            found = re.search(r"Listening on port (\d+) for gdb", line)
            if found:
                break
        values = {"start": board.symbol("plain_first"), "end": board.symbol("plain_second"), "counter": SYST_CVR,
                  "hits": hits}
        gdb = ["gdb-multiarch", "-nx", "-batch", "-ex", f"target extended-remote 127.0.0.1:{found.group(1)}"]
        for name, value in values.items():
            gdb += ["-ex", f"set ${name} = {value}"]
        before = packets_of(board)
        done = subprocess.run([*gdb, "-x", os.path.join(BENCH, "gdb_best.gdb"), str(board.elf)], text=True,
                              capture_output=True, check=False)
        packets = packets_of(board) - before
        server.kill()
    seconds = float(re.search(r"seconds ([\d.]+)", done.stdout).group(1))
    return packets / hits, hits / seconds


def show(name, figures):
    packets, rates, *halts = zip(*figures)
    print(f"    {name:26} {statistics.median(packets):8.3f} {statistics.median(rates):12.1f}"
          f"   ({min(rates):.1f}, {max(rates):.1f})" + "".join(f"{statistics.median(us):9.1f}" for us in halts))


def bench_probe(chip, title, options):
    print(f"\n{chip}, emulated CMSIS-DAP v2, SWD 10 MHz, {title}: packets a hit, hits per second, median of {ROUNDS}"
          " (min, max), us that a halt lasted and that the wire was busy in it")
    figures = {}
    for _ in range(ROUNDS):
        with UsbBoard.start(chip, "free", usb_v2_only=True, cpu=0, **options) as board:
            harness.wait_for(lambda b=board: b.read_word("round_count") > 0, "the firmware")
            for name, (operands, scenario) in REGIONS.items():
                board.write_word("scenario", scenario)
                figures.setdefault(f"pmu-probe {name}", []).append(tool_figures(board, operands, 1000))
            board.write_word("scenario", harness.ARTICLE_PLAIN)
            figures.setdefault("openocd_best.tcl", []).append(openocd_figures(board, 50))
            figures.setdefault("gdb_best.gdb", []).append(gdb_figures(board, 20))
    for name, rows in figures.items():
        show(name, rows)
    ours, theirs = figures["pmu-probe START END"], figures["openocd_best.tcl"]
    ratio = statistics.median(a[1] / b[1] for a, b in zip(ours, theirs))
    print(f"    START END over openocd_best.tcl: {ratio:.1f} times   (target: {15 if '64' in title else 20})")


# What is counted, by chip: packets a hit at 64 B and 512 B, START END and FUNCTION, that are aimed at
APPLICATION = {
    "a9": {"cycles": ((), {"64": (None, 3), "512": (None, 2)}), "6 events": (("-e", "LD_RETIRED,ST_RETIRED,L1D_CACHE,L1D_CACHE_REFILL,PC_WRITE_RETIRED,EXC_TAKEN"),
                                              {"64": (2, 4), "512": (0.25, 2)})},
    "a53": {"cycles": ((), {"64": (2, None), "512": (0.25, None)}),
            "6 events": (("-e", "LD_RETIRED,ST_RETIRED,L1D_CACHE,L1D_CACHE_REFILL,INST_RETIRED,EXC_TAKEN"),
                         {"64": (4, None), "512": (0.34, None)})},
    "r5": {"cycles": ((), {"64": (6, None)})},
    "m55": {"cycles": ((), None), "8 events": (("-e", "INST_RETIRED,LD_RETIRED,ST_RETIRED,L1D_CACHE,L1D_CACHE_REFILL,SW_INCR,"
                                                "EXC_TAKEN,BR_RETIRED"), None)},
}


def bench_application_cores():
    """Packets a hit on cores with their own PMU."""
    print("\nCores with a PMU, emulated CMSIS-DAP v2, SWD 10 MHz: packets a hit, hits per second, us that a halt lasted and that the"
          " wire was busy in it (target)")
    for chip, counted in APPLICATION.items():
        for title, options in PROBES.items():
            size = title.split()[0]
            with UsbBoard.start(chip, "free", usb_v2_only=True, cpu=0, **options) as board:
                harness.wait_for(lambda b=board: b.read_word("round_count") > 0, "the firmware")
                for what, (events, targets) in counted.items():
                    for number, (name, (operands, scenario)) in enumerate(REGIONS.items()):
                        board.write_word("scenario", scenario)
                        target = targets[size][number] if targets and size in targets else None
                        try:
                            packets, rate, us, wire_us = tool_figures(board, operands, 500, ("--no-calibrate", *events))
                        except subprocess.CalledProcessError as error:
                            print(f"    {chip:5} {title:15} {what:10} {name:10} not measured: {error.stderr.strip()[:80]}")
                            continue
                        print(f"    {chip:5} {title:15} {what:10} {name:10} {packets:8.3f} {rate:10.1f} {us:8.1f} {wire_us:8.1f}"
                              + (f"   ({target})" if target else ""))


def bench_rehits():
    """What calibration and widening cost where regions are short: hits per second of a whole run with and without."""
    print(f"\nCalibration and widening, m4, 512 B, regions shorter than a period: a run of 3000 hits, median of {ROUNDS}")
    rates = {"with": [], "without": []}
    for _ in range(ROUNDS):
        with UsbBoard.start("m4", "free", usb_v2_only=True, cpu=0, dap_packet=512, usb_latency=125) as board:
            harness.wait_for(lambda b=board: b.read_word("round_count") > 0, "the firmware")
            board.write_word("scenario", harness.ARTICLE_PLAIN)
            for name, options in (("with", ()), ("without", ("--no-calibrate",))):
                done = subprocess.run(board.in_namespace([TOOL, "-p", "cmsis-dap", "--elf", board.elf, "delta", "-j", "-r", 3000,
                                                          *options, "plain_first", "plain_second"]),
                                      text=True, capture_output=True, check=True)
                summary = json.loads(done.stdout.splitlines()[-1])
                rates[name].append(summary["hits"] / summary["seconds"])
    best = {name: statistics.median(values) for name, values in rates.items()}
    print(f"    with {best['with']:.0f} hits/s, without {best['without']:.0f}: {100 * (1 - best['with'] / best['without']):.1f} %"
          "   (target: < 10 %)")


# Counters, options and regions. Where a step needs a result of a step before it, the next packet cannot be on its way: that is
# left where R5 reads events itself, whose counters PMSELR selects.
WIRE = (("m4", "SysTick", ("--counter", "systick"), "START END"), ("m4", "SysTick", ("--counter", "systick"), "FUNCTION"),
        ("m55", "cycles", (), "START END"), ("m55", "cycles", (), "FUNCTION"),
        ("a9", "6 events", APPLICATION["a9"]["6 events"][0], "START END"),
        ("a53", "6 events", APPLICATION["a53"]["6 events"][0], "START END"),
        ("a9", "cycles", (), "FUNCTION"), ("a53", "cycles", (), "FUNCTION"), ("r5", "cycles", (), "START END"),
        ("r5", "cycles", (), "FUNCTION"))


def wire_figures(board, operands, hits, options):
    """Hits a second of a run without its start, and for how much of that time the wire was busy."""
    runs = []
    for count in (hits // 10, hits):
        before = board.command("dap")
        done = subprocess.run(board.in_namespace([TOOL, "-p", "cmsis-dap", "--elf", board.elf, "delta", "-j", "-r", count,
                                                  "--no-calibrate", *options, *operands]),
                              text=True, capture_output=True, check=True)
        after = board.command("dap")
        runs.append((json.loads(done.stdout.splitlines()[-1])["seconds"], after["busy_us"] - before["busy_us"]))
    seconds, busy_us = (runs[1][i] - runs[0][i] for i in range(2))
    return (hits - hits // 10) / seconds, busy_us / 1e4 / seconds


def bench_wire():
    """What packets in flight give to hits: the wire's limit is the time that the packets' bits take at 10 MHz."""
    print("\nHits at 512 B, 125 us, SWD 10 MHz, with one packet at a time and with two in flight: hits a second, share of the wire's"
          f" time, median of {ROUNDS} (min, max); target: 80 % with two")
    for chip, what, options, name in WIRE:
        figures = {"1": [], "2": []}
        for _ in range(ROUNDS):
            with UsbBoard.start(chip, "free", usb_v2_only=True, cpu=0, dap_count=2, **PROBES["512 B, 125 us"]) as board:
                harness.wait_for(lambda b=board: b.read_word("round_count") > 0, "the firmware")
                board.write_word("scenario", REGIONS[name][1])
                for packets, rows in figures.items():
                    rows.append(wire_figures(board, REGIONS[name][0], 2000, ("--packets", packets, *options)))
        for packets, rows in figures.items():
            rates, shares = zip(*rows)
            print(f"    {chip:5} {what:9} {name:10} {packets} in flight {statistics.median(rates):9.1f}   ({min(rates):.1f},"
                  f" {max(rates):.1f}) {statistics.median(shares):6.1f} %   ({min(shares):.1f}, {max(shares):.1f})")


def bench_stream():
    """What watching eight counters could get: samples a packet, samples a second, and how busy the wire is."""
    counters, in_flight = 8, 2
    print(f"\n{counters} neighbouring counters read again and again, m4, SWD 10 MHz, {in_flight} packets in flight, median of"
          f" {ROUNDS} (min, max)")
    for title, options in PROBES.items():
        packet, rate, busy = [], [], []
        for _ in range(ROUNDS):
            with UsbBoard.start("m4", "free", usb_v2_only=True, cpu=0, dap_count=in_flight, **options) as board:
                before = board.command("dap")
                done = subprocess.run(board.in_namespace([os.path.join(harness.BUILD, "bench/stream"), "cmsis-dap", "3"]),
                                      text=True, capture_output=True, check=True)
                after = board.command("dap")
            line = json.loads(done.stdout)
            packet.append(line["samples"] / line["packets"])
            rate.append(line["samples"] / line["seconds"])
            busy.append((after["busy_us"] - before["busy_us"]) / 1e4 / line["seconds"])
        size, latency = options["dap_packet"], options["usb_latency"] / 1e6
        words = (size - 3) // 4  # a reply has a head of 3 bytes, then 4 a word
        of_format = words / counters
        of_latency = in_flight / latency * of_format
        got = statistics.median(packet)
        print(f"  {title}")
        print(f"    samples a packet   {got:8.2f}   {100 * got / of_format:.1f} % of ({size} - 3) / 4 = {words} words, of"
              f" {counters} each")
        print(f"    samples a second   {statistics.median(rate):8.0f}   ({min(rate):.0f}, {max(rate):.0f}); with the wire's time"
              f" left out {in_flight} packets / {latency * 1e6:.0f} us allow {of_latency:.0f}")
        print(f"    the wire is busy   {statistics.median(busy):8.1f} % of the time   ({min(busy):.1f}, {max(busy):.1f})")


def main():
    why = usb_available()
    if why is not None:
        print(f"\nCMSIS-DAP over USB: left out, {why}")
        return
    for title, options in PROBES.items():
        bench_probe("m4", title, options)
    bench_rehits()
    bench_application_cores()
    bench_wire()
    bench_stream()
