"""The virtual board behind a real GDB server, and the tool as its client."""
import re

from harness import Place, Server, wait_for


class GdbServer(Server):
    """OpenOCD with a GDB port for each core. The tests' own commands still go by its Tcl port."""

    def gdb_port(self, number=0):
        wait_for(lambda: len(self._gdb_ports()) > number, "OpenOCD's GDB port")
        return self._gdb_ports()[number]

    def _gdb_ports(self):
        return [int(port) for port in re.findall(r"Listening on port (\d+) for gdb connections", self.output)]


class GdbPlace(Place):
    """`gdb:HOST:PORT` in place of the Tcl port."""

    core = 0

    def start_server(self, *commands):
        server = GdbServer(self.board, "gdb_port 0", *commands, config=self.config())
        self.servers.append(server)
        return server

    def probe_words(self):
        return ["-p", f"gdb:127.0.0.1:{self.server.gdb_port(self.core)}"]
