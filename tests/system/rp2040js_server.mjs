// The emulator rp2040js with its own GDB server, on a free port of this machine: node rp2040js_server.mjs FOLDER ELF, where
// FOLDER has the package installed. Prints the port; the program waits at its first instruction.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";

const FLASH = 0x10000000, RAM = 0x20000000, PT_LOAD = 1;
const [folder, program] = process.argv.slice(2);
const { ConsoleLogger, GDBConnection, GDBServer, LogLevel, Simulator } = createRequire(`${folder}/`)("rp2040js");

const simulator = new Simulator();
const chip = simulator.rp2040;
chip.logger = new ConsoleLogger(LogLevel.Error, false);

// What a boot loader would do: the ELF's segments into their places, then stack and start from the vectors
const elf = readFileSync(program);
for (let i = 0, at = elf.readUInt32LE(28); i < elf.readUInt16LE(44); i++, at += elf.readUInt16LE(42)) {
    const [type, offset, , place, size] = [0, 4, 8, 12, 16].map((field) => elf.readUInt32LE(at + field));
    const memory = place >= RAM ? chip.sram : chip.flash;
    if (type === PT_LOAD)
        memory.set(elf.subarray(offset, offset + size), place - (place >= RAM ? RAM : FLASH));
}
chip.core.VTOR = FLASH;
chip.core.SP = chip.readUint32(FLASH);
chip.core.PC = chip.readUint32(FLASH + 4) & ~1;

const server = new GDBServer(simulator);
createServer((socket) => {
    const connection = new GDBConnection(server, (data) => socket.write(data));
    socket.setNoDelay(true);
    socket.on("data", (data) => connection.feedData(data.toString("latin1")));
    socket.on("error", () => socket.destroy());
    socket.on("close", () => server.removeConnection(connection));
}).listen(0, "127.0.0.1", function () {
    console.log(this.address().port);
});
