#!/usr/bin/env bash
# The main job on the virtual board: real firmware, a real OpenOCD, the tool as a user has it. The two functions read
# SysTick twice: 2 cycles from one read to the next, 3 with a NOP between them.
set -eu
cd "$(dirname "$0")/.."
build=${PMU_BUILD:-build}
elf=$build/firmware/rp2040-free.elf
folder=$(mktemp -d)
trap 'kill "$board" 2>/dev/null || true; rm -rf "$folder"' EXIT

"$build/board" --chip rp2040 --firmware "$elf" >"$folder/ports" &
board=$!
until [ -s "$folder/ports" ]; do
    kill -0 "$board"
    sleep 0.02
done
port=$(sed 's/.*"jtag":\([0-9]*\).*/\1/' "$folder/ports")

show() {
    echo
    echo "\$ pmu-probe -f openocd-cfg/boards/virtual.cfg --elf $(basename "$elf") $*"
    "$build/pmu-probe" -c "set BOARD_PORT $port" -f openocd-cfg/boards/virtual.cfg --elf "$elf" "$@"
}

show info
show delta plain_first plain_second
show delta nop_first nop_second
show delta work_by_data -r 200
