# SPDX-License-Identifier: MIT
"""labgrid: a debug probe as a resource, pmu-probe as its driver. An environment says `imports: [pmu_labgrid]`, or this file's
path; pmu_probe.py must be where Python finds it."""
import contextlib
import hashlib
import os
import shlex
import subprocess
from dataclasses import dataclass

import attr
from labgrid.driver import Driver
from labgrid.driver.exception import ExecutionError
from labgrid.exceptions import InvalidConfigError
from labgrid.factory import target_factory
from labgrid.resource.common import NetworkResource
from labgrid.util.proxy import proxymanager
from pmu_probe import RESTORES, Pmu

# At the exporter: the tool, and next to it a loop that ends it as Ctrl-C does when our side is gone, which puts the target back. Our
# side sends a byte each BEAT seconds: sshd itself does not notice a silent network while the tool prints. The second signal ends a
# tool whose output nobody reads.
BEAT = 5
WATCHED = """case $PMU_PROBE_PATIENCE in 0*|*[!0-9]*|"") patience=1;; *) patience=$PMU_PROBE_PATIENCE;; esac
exec 3<&0
"$@" </dev/null 3<&- & tool=$!
{ while [ "$(timeout 20 head -c 1 <&3)" ]; do :; done; kill $tool; sleep $((10 * patience)); kill $tool; } >/dev/null 2>&1 & watch=$!
exec 3<&-
wait $tool; code=$?
kill $watch 2>/dev/null
exit $code"""
# At the exporter: keeps a file by its content, and says where. What nobody has asked for in a month goes.
KEEP = """cache=${XDG_CACHE_HOME:-$HOME/.cache}/pmu-probe; file=$cache/$1/$2
[ -e "$file" ] || { mkdir -p "$cache/$1" && cat >"$file.$$" && mv "$file.$$" "$file"; } || exit
touch "$file" && find "$cache" -type f -mtime +30 -delete
echo "$file" """
SSH_FAILED = 255


@target_factory.reg_resource
@attr.s(eq=False)
class NetworkPmuProbe(NetworkResource):
    """A probe or server with a TCP port: `kind` cmsis-dap-tcp, openocd (its Tcl port) or gdb. Through ssh where labgrid says so."""

    port = attr.ib(validator=attr.validators.instance_of(int))
    kind = attr.ib(default="cmsis-dap-tcp", validator=attr.validators.in_(("cmsis-dap-tcp", "openocd", "gdb")))


@target_factory.reg_resource
@attr.s(eq=False)
class RemotePmuProbe(NetworkResource):
    """A probe that only its host reaches (USB): the tool runs there, by ssh. `probe` is what --probe takes."""

    probe = attr.ib(validator=attr.validators.instance_of(str))
    tool = attr.ib(default="pmu-probe", validator=attr.validators.instance_of(str))


@target_factory.reg_driver
@attr.s(eq=False)
class PmuProbeDriver(Driver):
    """`pmu()` is a pmu_probe.Pmu for this board. `image`: the program, a name under `images`. `options`: words for all commands."""

    bindings = {"at": {"NetworkPmuProbe", "RemotePmuProbe"}}
    image = attr.ib(default=None, validator=attr.validators.optional(attr.validators.instance_of(str)))
    options = attr.ib(default=attr.Factory(list), validator=attr.validators.instance_of(list))

    @Driver.check_active
    def pmu(self):
        config = self.target.env.config
        try:
            elf = config.get_image_path(self.image) if self.image else ""
        except KeyError as unknown:
            raise InvalidConfigError(str(unknown.args[0])) from unknown
        if isinstance(self.at, RemotePmuProbe):
            return RemotePmu(self.at.probe, elf, tuple(self.options), self.at.tool, self.at)
        host, port = proxymanager.get_host_and_port(self.at)
        return LabgridPmu(f"{self.at.kind}:{host}:{port}", elf, tuple(self.options), config.get_tool("pmu-probe") or "pmu-probe", self.at)


@dataclass
class LabgridPmu(Pmu):
    """A Pmu whose errors are labgrid's."""

    at: NetworkResource = None

    def carry_out(self, line):
        try:
            return super().carry_out(line)
        except OSError as error:
            raise ExecutionError(f"{line[0]} cannot be run: {error}") from error

    def error(self, code, said):
        return ExecutionError(str(super().error(code, said)), stderr=said.splitlines())


class RemotePmu(LabgridPmu):
    """The tool at the exporter."""

    def there(self, script, *words):
        return [*self.at.command_prefix, shlex.join(["sh", "-c", script, "sh", *words])]

    def file(self, path):
        # Not by labgrid's ManagedFile: the one in Debian 12 gives rsync an option that the rsync there refuses
        with open(path, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
            file.seek(0)
            done = subprocess.run(self.there(KEEP, digest, os.path.basename(path)), stdin=file, capture_output=True, text=True, errors="replace")
        if done.returncode != 0:
            raise ExecutionError(f"{path} cannot be copied to {self.at.host}. {done.stderr}".strip(), stderr=done.stderr.splitlines())
        return done.stdout.strip()

    def carry_out(self, line):
        code, text, said = super().carry_out(self.there(WATCHED, *line))
        if code == SSH_FAILED:
            raise ExecutionError(f"the connection to {self.at.host} failed or was lost. {said}".strip(), text.splitlines(), said.splitlines())
        return code, text, said

    def wait_for(self, process):
        while True:
            try:
                return process.wait(BEAT)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(BrokenPipeError):
                    os.write(process.stdin.fileno(), b".")

    def tell_to_end(self, process):
        process.stdin.close()
