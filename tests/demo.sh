#!/usr/bin/env bash
# The main job on the virtual board: real firmware, a real OpenOCD. The two functions read SysTick twice: 2 cycles from one
# read to the next, 3 with a NOP between them. Fails where a command does, or shows another figure than it must.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${PMU_BUILD:-build}
tool=${PMU_TOOL:-$build/pmu-probe}
export PMU_PROBE_PATIENCE=${PMU_PROBE_PATIENCE:-20} # a busy machine is not a broken one
folder=$(mktemp -d)
# The wire to the board is a file, and OpenOCD does not ask the kernel at each of its bits: see clients/quick_reads.c
quick=(env "LD_PRELOAD=$(realpath "$build/clients/quick-reads.so")")
wire="set BOARD_HOST $folder/jtag; set BOARD_PORT 0"
board= server=
trap 'kill $server $board 2>/dev/null || true; rm -rf "$folder"' EXIT

# A chip's board, and the OpenOCD file that leads to it
start() {
    kill $board 2>/dev/null || true
    elf=$build/firmware/$1-free.elf
    config=openocd-cfg/boards/$2
    rm -f "$folder/ports" "$folder/jtag"
    # A third of its clock suffices for the demo, less while nothing is asked of it: a slow machine gets the same cycles sooner
    "$build/board" --chip "$1" --firmware "$elf" --jtag-socket "$folder/jtag" --clock 4000000 --idle-clock 100000 >"$folder/ports" &
    board=$!
    until [ -s "$folder/ports" ]; do
        kill -0 "$board"
        sleep 0.02
    done
}

show() {
    echo
    echo "\$ $tool -c '$wire' -f $config --elf $elf $*"
    "${quick[@]}" "$tool" -c "$wire" -f "$config" --elf "$elf" "$@" | tee "$folder/shown"
}

# The event must have had this count in every hit that was shown last, one figure for each `delta`: min and max are the
# last of its line.
must_show() {
    event=$1
    shift
    figures=$(awk -v event="$event" '$1 == event { print ($2 == $(NF - 1) && $2 == $NF) ? $2 : "none" }' "$folder/shown")
    if [ "$figures" != "$(printf '%s\n' "$@")" ]; then
        cat "$folder/gdb" 2>/dev/null || true
        echo "demo: $event came out wrong, it must be $*" >&2
        exit 1
    fi
}

# The same inside GDB, through OpenOCD's GDB server
in_gdb() {
    "${quick[@]}" openocd -c "$wire" -c "gdb_port 0; tcl_port disabled; telnet_port disabled" -f "$config" \
        >/dev/null 2>"$folder/openocd" &
    server=$!
    until grep -q "for gdb connections" "$folder/openocd"; do
        kill -0 "$server"
        sleep 0.02
    done
    gdb=$(sed -n 's/.*Listening on port \([0-9]*\) for gdb connections.*/\1/p' "$folder/openocd" | head -n 1)
    words=()
    for command in "$@"; do
        words+=(-ex "echo \\n(gdb) $command\\n" -ex "$command")
    done
    gdb-multiarch -q -nx -batch -iex "set debuginfod enabled off" -iex "set remotetimeout 300" \
        -iex "set tcp connect-timeout 300" -ex "source gdb-scripts/pmu.py" \
        -ex "set pmu binary $tool" -ex "target extended-remote :$gdb" "${words[@]}" "$elf" \
        2>"$folder/gdb" | tee "$folder/shown" ||
        { cat "$folder/gdb"; exit 1; }
    kill $server
    wait $server || true # before its board is gone
    server=
}

start rp2040 virtual.cfg
show info
show delta plain_first plain_second
must_show CPU_CYCLES 2
show delta nop_first nop_second
must_show CPU_CYCLES 3
show delta work_by_data -r 200
in_gdb "pmu delta plain_first plain_second -r 5" "pmu delta nop_first nop_second -r 5"
must_show CPU_CYCLES 2 3

# A Cortex-A9 with its PMU on the debug bus: as many events as are asked for
start a9 virtual-a9.cfg
# On an arm64 host Unicorn before 2.1.2 shows no loads but the first: its issue 1908
if [ "$(uname -m)" = aarch64 ] && ! pkg-config --atleast-version=2.1.2 unicorn; then
    show delta work_by_data -r 100 -e ST_RETIRED
    must_show ST_RETIRED 3
else
    show delta work_by_data -r 100 -e LD_RETIRED,L1D_CACHE,L1D_CACHE_REFILL
    must_show LD_RETIRED 6
fi
echo
echo "The board is gone with the demo. 'make play' keeps one, for you to type commands."
