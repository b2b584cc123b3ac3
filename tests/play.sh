#!/usr/bin/env bash
# The boards of README and docs/, on the ports that the pages name, and README's commands to try on them. Until Ctrl-C.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${PMU_BUILD:-build}
dap=${DAP_PORT:-4441} late=${LATE_PORT:-4442} tcl=${TCL_PORT:-6666} gdb=${GDB_PORT:-3333} a9_tcl=${A9_TCL_PORT:-6667} a9_gdb=${A9_GDB_PORT:-3334}
folder=$(mktemp -d)
children=()
trap 'kill "${children[@]}" 2>/dev/null || true; wait; rm -rf "$folder"' EXIT
trap 'echo; exit 0' HUP INT TERM

for port in "$dap" "$late" "$tcl" "$gdb" "$a9_tcl" "$a9_gdb"; do
    if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
        echo "play: port $port is taken. Does an OpenOCD run already? DAP_PORT, LATE_PORT, TCL_PORT, GDB_PORT, A9_TCL_PORT and A9_GDB_PORT" \
            "name others." >&2
        exit 1
    fi
done

# A chip's board, and words of its firmware that say what the program does: NAME=BYTES. In its own session, so that
# Ctrl-C ends this script first, and this script the board. If this script is killed, they end, too.
start_board() {
    chip=$1 words=$2
    shift 2
    rm -f "$folder/$chip"
    firmware=$build/firmware/$chip-free.elf
    # While nobody asks it for anything it need not run as fast as it does
    setsid "$build/board" --chip "$chip" --firmware "$firmware" --control 0 --idle-clock 100000 --die-with-parent "$@" >"$folder/$chip" &
    children+=($!)
    until [ -s "$folder/$chip" ]; do
        kill -0 "${children[-1]}"
        sleep 0.02
    done
    control=$(sed -n 's/.*"control": *\([0-9]*\).*/\1/p' "$folder/$chip")
    exec 3<>"/dev/tcp/127.0.0.1/$control"
    # Its start-up code has to be through with RAM first
    reply=
    until [[ $reply =~ \"hex\":\"[0-9a-f]*[1-9a-f] ]]; do
        echo "read $(address_of round_count) 4" >&3
        read -r reply <&3
        sleep 0.02
    done
    for word in $words; do
        echo "write $(address_of "${word%=*}") ${word#*=}" >&3
        read -r reply <&3
    done
    exec 3>&-
}

address_of() {
    arm-none-eabi-nm "$firmware" | awk -v name="$1" '$3 == name { print $1 }'
}

# An OpenOCD for the board that was started last. The wire between them is a file, and OpenOCD does not ask the kernel at
# each of its bits: see clients/quick_reads.c
start_openocd() {
    LD_PRELOAD=$(realpath "$build/clients/quick-reads.so") setsid setpriv --pdeathsig TERM openocd \
        -c "set BOARD_HOST $folder/$chip.jtag; set BOARD_PORT 0" -c "tcl_port $2; gdb_port $3; telnet_port disabled" \
        -f "openocd-cfg/boards/$1" >/dev/null 2>"$folder/openocd" &
    children+=($!)
    # The last of its targets has its port last
    until [ "$(grep -c "for gdb connections" "$folder/openocd" 2>/dev/null)" = "$4" ]; do
        if ! kill -0 "${children[-1]}" 2>/dev/null || grep -q "couldn't bind" "$folder/openocd"; then
            cat "$folder/openocd" >&2
            echo "play: OpenOCD ended" >&2
            exit 1
        fi
        sleep 0.02
    done
}

# DO_WORK_BY_DATA and DO_CALLED_TWICE; WITH_OVERRUNS; DO_ARTICLE_PLAIN and DO_ARTICLE_NOP; DO_USER
start_board m4 scenario=0c000000 --dap-tcp "$dap"
start_board m4 "scenario=00000000 shares=04000000" --dap-tcp "$late"
start_board rp2040 scenario=07000000 --jtag-socket "$folder/rp2040.jtag"
start_openocd virtual.cfg "$tcl" "$gdb" 1
start_board a9 scenario=04000080 --jtag-socket "$folder/a9.jtag"
start_openocd virtual-a9.cfg "$a9_tcl" "$a9_gdb" 2

cat <<END
Four virtual boards:
  a Cortex-M4 with a CMSIS-DAP probe       -p cmsis-dap-tcp:localhost:$dap
  another one, whose calls are late        -p cmsis-dap-tcp:localhost:$late
  an RP2040 on OpenOCD                     -p openocd:localhost:$tcl, GDB port $gdb
  two Cortex-A9 on OpenOCD                 -p openocd:localhost:$a9_tcl, GDB port $a9_gdb
In another terminal:

  cd $PWD
  export PATH=\$PWD/$build:\$PATH PMU_PROBE_PATIENCE=20
END
sed -n 's/^\$ /  /p' README.md | sed "s/localhost:4441/localhost:$dap/; s/localhost:6666/localhost:$tcl/; s/localhost:6667/localhost:$a9_tcl/"
echo
echo "Ctrl-C ends it."
wait -n "${children[@]}" || true
cat "$folder/openocd" >&2
echo "play: OpenOCD or a board ended" >&2
exit 1
