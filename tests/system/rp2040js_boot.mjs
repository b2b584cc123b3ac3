// The emulator rp2040js from where the RP2040's boot ROM ends: node rp2040js_boot.mjs FOLDER IMAGE ADDRESS INSTRUCTIONS, where
// FOLDER has the package installed and IMAGE is what flash begins with. As the ROM does, the first 256 bytes go to the end of RAM and
// are run. Prints, as JSON, the word at ADDRESS, VTOR, registers of the SSI and the watchdog's tick after so many instructions.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const RAM = 0x20000000, SECOND_STAGE = 0x20041f00, SIZE = 256;
const [folder, image, address, instructions] = process.argv.slice(2);
const { ConsoleLogger, LogLevel, Simulator } = createRequire(`${folder}/`)("rp2040js");

const simulator = new Simulator();
const chip = simulator.rp2040;
chip.logger = new ConsoleLogger(LogLevel.Error, false);
const flash = readFileSync(image);
chip.flash.set(flash, 0);
chip.sram.set(flash.subarray(0, SIZE), SECOND_STAGE - RAM);
chip.core.SP = SECOND_STAGE;
chip.core.PC = SECOND_STAGE;
for (let i = 0; i < Number(instructions); i++)
    simulator.clock.tick(chip.core.executeInstruction() * 8);

const read = (at) => chip.readUint32(at) >>> 0;
console.log(JSON.stringify({ word: read(Number(address)), vtor: chip.core.VTOR, ssi: [0x18000000, 0x18000008, 0x180000f4].map(read),
    clocks: [0x40008038, 0x40008044].map(read), tick: read(0x4005802c) }));
