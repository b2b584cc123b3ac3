/* Which processors the code of a file is for */
#include "symbols/internal.h"

#include <stdio.h>

static const struct {
    unsigned number;
    const char *name;
} machines[] = {
    {EM_386, "32-bit x86"}, {EM_X86_64, "x86-64"}, {EM_AARCH64, "AArch64"}, {EM_RISCV, "RISC-V"},
    {EM_MIPS, "MIPS"},      {EM_PPC, "PowerPC"},   {EM_PPC64, "PowerPC64"}, {EM_AVR, "AVR"},
    {EM_XTENSA, "Xtensa"},  {EM_MSP430, "MSP430"}, {EM_K10M, "K1OM"},       {EM_L10M, "L1OM"},
};

/* Tag_CPU_arch */
static const char *const architectures[] = {
    NULL,        "Armv4",   "Armv4T",           "Armv5T",  "Armv5TE",   "Armv5TEJ",  "Armv6",
    "Armv6KZ",   "Armv6T2", "Armv6K",           "Armv7",   "Armv6-M",   "Armv6-M",   "Armv7E-M",
    "Armv8-A",   "Armv8-R", "Armv8-M baseline", "Armv8-M", "Armv8.1-A", "Armv8.2-A", "Armv8.3-A",
    "Armv8.1-M", "Armv9-A",
};

void symbols_machine(const struct symbols *symbols, struct symbols_machine *out)
{
    enum { ARCHITECTURES = sizeof architectures / sizeof *architectures, V7 = 10 };
    unsigned architecture = symbols->architecture;
    *out = (struct symbols_machine){
        .number = symbols->machine, .profile = symbols->profile, .architecture = architecture};
    snprintf(out->name, sizeof out->name, "machine %u", symbols->machine);
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        if (machines[i].number == symbols->machine)
            snprintf(out->name, sizeof out->name, "%s", machines[i].name);
    if (symbols->machine != EM_ARM)
        return;
    const char *name = architecture < ARCHITECTURES ? architectures[architecture] : NULL;
    if (architecture == V7 && out->profile != 0)
        snprintf(out->name, sizeof out->name, "Armv7-%c", out->profile);
    else
        snprintf(out->name, sizeof out->name, "%s", name != NULL ? name : "Arm");
}
