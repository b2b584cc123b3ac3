#!/usr/bin/env bash
# A virtual board and an OpenOCD on the ports on which pmu-probe and GDB look for one, and commands to try on them. Until Ctrl-C.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${PMU_BUILD:-build}
tool=${PMU_TOOL:-$build/pmu-probe}
tcl=${TCL_PORT:-6666} gdb=${GDB_PORT:-3333}
elf=$build/firmware/rp2040-free.elf
folder=$(mktemp -d)
board= server=
trap 'kill $server $board 2>/dev/null || true; wait; rm -rf "$folder"' EXIT
trap 'echo; exit 0' INT TERM

for port in "$tcl" "$gdb"; do
    if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
        echo "play: port $port is taken. Does an OpenOCD run already? TCL_PORT and GDB_PORT name others." >&2
        exit 1
    fi
done

# In sessions of their own, so that Ctrl-C ends this script first, and this script them
setsid "$build/board" --chip rp2040 --firmware "$elf" --jtag-socket "$folder/jtag" >"$folder/ports" &
board=$!
until [ -s "$folder/ports" ]; do
    kill -0 "$board"
    sleep 0.02
done

# The wire to the board is a file, and OpenOCD does not ask the kernel at each of its bits: see clients/quick_reads.c
LD_PRELOAD=$(realpath "$build/clients/quick-reads.so") setsid openocd -c "set BOARD_HOST $folder/jtag; set BOARD_PORT 0" -c "tcl_port $tcl; gdb_port $gdb; telnet_port disabled" -f openocd-cfg/boards/virtual.cfg \
    >/dev/null 2>"$folder/openocd" &
server=$!
until grep -q "for gdb connections" "$folder/openocd"; do
    if ! kill -0 "$server" 2>/dev/null; then
        cat "$folder/openocd" >&2
        echo "play: OpenOCD ended" >&2
        exit 1
    fi
    sleep 0.02
done

probe=
[ "$tcl" = 6666 ] || probe=" -p openocd:localhost:$tcl"
cat <<END
A Raspberry Pi Pico's chip, not a real one, behind OpenOCD (Tcl port $tcl, GDB port $gdb). In another terminal, in
$PWD:

  $tool$probe --elf $elf delta work_by_data -r 200
  $tool$probe --elf $elf delta nop_first nop_second
  $tool$probe --elf $elf watch

On a busy machine first: export PMU_PROBE_PATIENCE=20
Ctrl-C ends it.
END
wait -n "$server" "$board" || true
cat "$folder/openocd" >&2
echo "play: OpenOCD or the board ended" >&2
exit 1
