/*
 * A program on the card that measures itself with pmu_knc.h. This processor refuses RDPMC and SPFLT in ring 3
 * as it does not know them, and the modelled card carries them out instead: ROOT CPU CYCLES...; prints both
 * counts of each region of N cycles.
 */
#include "pmu_knc.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

enum { PERF_CNTR0 = 0x20, RDPMC_LENGTH = 2, SPFLT_LENGTH = 4 };

static int msr, control;
static unsigned long cpu;

static void command(const char *what, unsigned long value)
{
    char line[64];
    int n = what[0] == 's' ? snprintf(line, sizeof line, "spflt %lu %lu", cpu, value)
                           : snprintf(line, sizeof line, "advance %lu", value);
    if (write(control, line, (size_t)n) != n)
        _exit(3);
}

static void carry_out(int number, siginfo_t *info, void *context)
{
    static const uint8_t rdpmc[RDPMC_LENGTH] = {0x0F, 0x33}, spflt[SPFLT_LENGTH] = {0xC5, 0xFB, 0xAE, 0xF0};
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const void *at;
    uint64_t value;
    (void)number;
    (void)info;
    memcpy(&at, &registers[REG_RIP], sizeof at);
    if (memcmp(at, rdpmc, sizeof rdpmc) == 0 && registers[REG_RCX] < PMU_KNC_COUNTERS) {
        if (pread(msr, &value, sizeof value, PERF_CNTR0 + registers[REG_RCX]) != sizeof value)
            _exit(3);
        registers[REG_RAX] = (greg_t)(value & UINT32_MAX);
        registers[REG_RDX] = (greg_t)(value >> 32);
        registers[REG_RIP] += RDPMC_LENGTH;
    } else if (memcmp(at, spflt, sizeof spflt) == 0) {
        command("spflt", (unsigned long)registers[REG_RAX] & 1);
        registers[REG_RIP] += SPFLT_LENGTH;
    } else {
        _exit(4);
    }
}

static int open_in(const char *root, const char *name, int how)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return open(path, how | O_CLOEXEC);
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = carry_out, .sa_flags = SA_SIGINFO};
    char name[64];
    if (argc < 4)
        return 2;
    cpu = strtoul(argv[2], NULL, 10);
    snprintf(name, sizeof name, "dev/cpu/%lu/msr", cpu);
    msr = open_in(argv[1], name, O_RDWR);
    control = open_in(argv[1], "control", O_WRONLY);
    if (msr < 0 || control < 0 || sigaction(SIGSEGV, &action, NULL) != 0 ||
        sigaction(SIGILL, &action, NULL) != 0)
        return 2;
    for (int i = 3; i < argc; i++) {
        struct pmu_knc_pair pair;
        pmu_knc_start(&pair);
        command("advance", strtoul(argv[i], NULL, 10));
        pmu_knc_stop(&pair);
        command("advance", 1000); /* between two regions: not to be counted */
        printf("%" PRIu64 " %" PRIu64 " %d\n", pair.counts[0], pair.counts[1], pair.cycles > 0);
    }
    return 0;
}
