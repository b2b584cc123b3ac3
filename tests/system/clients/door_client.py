#!/usr/bin/python3
"""In the engine's place under pmu.py: asks for each thing once and prints the answers. DOOR_PLACE: ADDRESS SIZE."""
import os
import re
import socket
import sys

FD = int(sys.argv[sys.argv.index("--probe") + 1].partition(":")[2])
AT, SIZE = os.environ["DOOR_PLACE"].split()


def main():
    with socket.socket(fileno=FD) as door, door.makefile("rwb") as stream:
        def send(packet, then=b""):
            stream.write(b"$%s#%02x" % (packet.encode(), sum(packet.encode()) % 256) + then)
            stream.flush()

        def receive():
            got = b""
            while not re.search(rb"#..$", got):
                got += stream.read(1)
            body = got[1:-3]
            assert got[:1] == b"$" and int(got[-2:], 16) == sum(body) % 256, got
            return body.decode()

        def ask(packet):
            send(packet)
            answer = receive()
            print(f"{packet}: {answer}", flush=True)
            return answer

        ask("qSupported:swbreak+")
        ask("qqemu.sstepbits")
        names = re.findall('reg name="(.*?)"', ask("qXfer:features:read:target.xml:0,3fff"))
        ask("?")
        ask(f"m{AT},4")
        ask(f"Z1,{AT},{SIZE}")
        ask("c")
        ask(f"p{names.index('pc'):x}")
        ask("c")  # onto the breakpoint: nothing is executed
        ask(f"z1,{AT},{SIZE}")
        ask("s")
        stream.write(b"\x03")  # too late
        send("c", b"\x03")
        print(f"interrupted: {receive()}", flush=True)
        for packet in ("pffff", "Z1,zz,2", "dance", "m0", "qRcmd,68656c70"):
            ask(packet)


main()
