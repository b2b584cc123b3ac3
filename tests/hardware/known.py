"""What is known before: the chips that there is firmware for, and what Arm publishes about the cycles of its sequences."""
import collections

# exact: its memory has no wait states there, so that published costs must appear. same_inside: no instruction overlaps the
# next one, so that the program's own readings must be the same. memory: a probe sees it without the core.
# in_registers: the program's own readings are in registers of this width; 0: in memory
# dbgmcu: an STM32's, in which OpenOCD's files set bits: DBGMCU_CR, RM0090 38.16.3, RM0433 60.5.8
Chip = collections.namedtuple("Chip", "core exact same_inside memory in_registers why dbgmcu", defaults=(False, False, True, 0, "", False))
WAITS = "its flash has wait states, which a cache hides; Arm's figures are for memory without"
CHIPS = {
    "rp2040": Chip("Cortex-M0+", exact=True, same_inside=True),
    "rp2350": Chip("Cortex-M33"),
    "stm32f4": Chip("Cortex-M4", exact=True, dbgmcu=True),
    "stm32h7": Chip("Cortex-M7", dbgmcu=True),
    "nrf52840": Chip("Cortex-M4", why=WAITS),
    "zynq7000": Chip("Cortex-A9"),
    "rpi3": Chip("Cortex-A53", memory=False, in_registers=64),
    "rpi3in32": Chip("Cortex-A53", memory=False, in_registers=32),
    # The virtual board's. It has no timing of A-class cores, and a plain model of the M4's.
    "virtual-rp2040": Chip("Cortex-M0+", exact=True, same_inside=True),
    "virtual-rp2350": Chip("Cortex-M33"),
    "virtual-m4": Chip("Cortex-M4", exact=True, dbgmcu=True),
    "virtual-a9": Chip("Cortex-A9"),
    "virtual-a53": Chip("Cortex-A53", in_registers=64),
    "virtual-a53in32": Chip("Cortex-A53", in_registers=32),
    "virtual-r52": Chip("Cortex-R52"),
}

SOURCES = {"Cortex-M0+": "Arm DDI 0484C, table 3-1", "Cortex-M4": "Arm 100166, table 3-1"}

# Two adjacent reads of SysTick, and with a NOP between
ARTICLE = ("plain", "nop")

# By core, each a list of ranges; a core that is not here has no published costs. P, a pipeline's refill, is 1 to 3 on the M4;
# its loads and stores take 2, or 1 after another. From RAM it fetches by another bus, and SysTick's costs are not documented.
COSTS = {
    "Cortex-M0+": {
        "plain": [(2, 2)],
        "nop": [(3, 3)],
        "nops": [(10, 10)],
        "adds": [(8, 8)],
        "muls": [(4, 4), (128, 128)],  # by the multiplier that the chip's maker chose
        "loads": [(8, 8)],
        "stores": [(8, 8)],
        "multiple": [(10, 10)],
        "stack": [(10, 10)],
        "taken": [(8, 8)],
        "not_taken": [(4, 4)],
        "call": [(10, 10)],
        "loop": [(300, 300)],
        "in_sram": [(10, 10)],
    },
    "Cortex-M4": {
        "nops": [(10, 10)],
        "adds": [(8, 8)],
        "muls": [(4, 4)],
        "loads": [(4, 8)],
        "stores": [(4, 8)],
        "multiple": [(10, 10)],
        "stack": [(10, 10)],
        "taken": [(8, 16)],
        "not_taken": [(4, 4)],
        "call": [(8, 16)],
        "loop": [(300, 498)],
    },
}

# What the program times itself, in its own order
OWN = ("empty", *ARTICLE, "nops", "adds", "muls", "loads", "stores", "multiple", "stack", "taken", "not_taken", "call", "loop", "in_sram")


# What a program in AArch32 state shows in r0 and so on, by the place where it does
SHOWN_32 = {"own_shown": OWN[:7], "own_shown_2": OWN[7:14], "own_shown_3": OWN[14:]}


def region(name):
    return (f"{name}_first", f"{name}_second") if name in ARTICLE else (f"{name}_start", f"{name}_end")


def published(name, core):
    return COSTS.get(core, {}).get(name)


def published_text(name, core):
    return " or ".join(f"{low}" if low == high else f"{low} to {high}" for low, high in published(name, core) or ())


def source(chip):
    found = SOURCES.get(chip.core)
    return f"{found}, without wait states" if found else f"nothing about the {chip.core}"
