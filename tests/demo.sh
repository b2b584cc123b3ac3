#!/usr/bin/env bash
# The main job on the virtual board: real firmware, a real OpenOCD, the tool as a user has it. The two functions read
# SysTick twice: 2 cycles from one read to the next, 3 with a NOP between them.
set -eu
cd "$(dirname "$0")/.."
build=${PMU_BUILD:-build}
folder=$(mktemp -d)
board=
trap 'kill $board 2>/dev/null || true; rm -rf "$folder"' EXIT

# A chip's board, and the OpenOCD file that leads to it
start() {
    kill $board 2>/dev/null || true
    elf=$build/firmware/$1-free.elf
    config=openocd-cfg/boards/$2
    rm -f "$folder/ports"
    "$build/board" --chip "$1" --firmware "$elf" >"$folder/ports" &
    board=$!
    until [ -s "$folder/ports" ]; do
        kill -0 "$board"
        sleep 0.02
    done
    port=$(sed 's/.*"jtag":\([0-9]*\).*/\1/' "$folder/ports")
}

show() {
    echo
    echo "\$ pmu-probe -f $config --elf $(basename "$elf") $*"
    "$build/pmu-probe" -c "set BOARD_PORT $port" -f "$config" --elf "$elf" "$@"
}

start rp2040 virtual.cfg
show info
show delta plain_first plain_second
show delta nop_first nop_second
show delta work_by_data -r 200

# A Cortex-A9 with its PMU on the debug bus: as many events as are asked for
start a9 virtual-a9.cfg
show info
show delta work_by_data -r 100 -e LD_RETIRED,L1D_CACHE,L1D_CACHE_REFILL
