/* SPDX-License-Identifier: MIT */
#include "cores/parts.h"

#include <stddef.h>

static const struct core_part parts[] = {
    {0xC60, ARMV6_M, "Cortex-M0+", 0, {0}},
    {0xC20, ARMV6_M, "Cortex-M0", 0, {0}},
    {0xC21, ARMV6_M, "Cortex-M1", 0, {0}},
    {0xC30, ARMV6_M, "SC000", 0, {0}},
    {0xC33, ARMV7_M, "SC300", 0, {0}},
    {0xC23, ARMV7_M, "Cortex-M3", WATCHES_READS_TOO, {0}},
    {0xC24, ARMV7_M, "Cortex-M4", 0, {0}},
    {0xC27,
     ARMV7_M,
     "Cortex-M7",
     HALTS_IN_HANDLER | STEPS_INTO_HANDLERS | HAS_DWT_LOCK | HAS_DATA_CACHE,
     {0}},
    {0xD20, ARMV8_M_BASE, "Cortex-M23", 0, {0}},
    {0xD21, ARMV8_M_MAIN, "Cortex-M33", 0, {0}},
    {0xD31, ARMV8_M_MAIN, "Cortex-M35P", 0, {0}},
    {0x132, ARMV8_M_MAIN, "Star-MC1", HAS_DATA_CACHE, {0}},
    {0xD22, ARMV81_M, "Cortex-M55", HAS_DATA_CACHE, {PMU_V81M, "cortex-m55", 0, 0}},
    {0xD23, ARMV81_M, "Cortex-M85", HAS_DATA_CACHE, {PMU_V81M, "cortex-m85", 0, 0}},
    {0xD24, ARMV81_M, "Cortex-M52", HAS_DATA_CACHE, {PMU_V81M, "cortex-m52", 0, 0}},
    {0xC05, ARMV7_A, "Cortex-A5", 0, {PMU_V2, "cortex-a5", 0, 0}},
    {0xC07, ARMV7_A, "Cortex-A7", HAS_HYP, {PMU_V2, "cortex-a7", 0, 0}},
    /* DDI 0344 3.2.49 */
    {0xC08, ARMV7_A, "Cortex-A8", 0, {PMU_CP15, "cortex-a8", 4, 0x0007FFFF}},
    /* DDI 0388 table 11-5 */
    {0xC09, ARMV7_A, "Cortex-A9", SAMPLES_TARGETS | RESETS_UNSEEN, {PMU_V1, "cortex-a9", 0, 0x0007BEFF}},
    /* The A12 became the A17. */
    {0xC0D, ARMV7_A, "Cortex-A12", HAS_HYP, {PMU_V2, "cortex-a17", 0, 0}},
    {0xC0E, ARMV7_A, "Cortex-A17", HAS_HYP, {PMU_V2, "cortex-a17", 0, 0}},
    {0xC0F, ARMV7_A, "Cortex-A15", HAS_HYP, {PMU_V2, "cortex-a15", 0, 0}},
    /* DDI 0363 table 6-1, DDI 0460 table 6-1 */
    {0xC14, ARMV7_R, "Cortex-R4", 0, {PMU_CP15, "cortex-r4", 3, 0x0005FFDB}},
    {0xC15, ARMV7_R, "Cortex-R5", 0, {PMU_CP15, "cortex-r5", 3, 0x0005FFDB}},
    /* DDI 0458 */
    {0xC17, ARMV7_R, "Cortex-R7", 0, {PMU_V1, "cortex-r7", 0, 0x0015FFDB}},
    {0xC18, ARMV7_R, "Cortex-R8", 0, {PMU_V1, "cortex-r8", 0, 0x0015FFDB}},
    /* Those that count what Armv8 names alone share a set; one with the common set has no public data */
    {0xD01, ARMV8_A, "Cortex-A32", ONLY_AARCH32, {PMU_V3, "cortex-a32", 0, 0}},
    {0xD02, ARMV8_A, "Cortex-A34", 0, {PMU_V3, "cortex-a32", 0, 0}},
    {0xD03, ARMV8_A, "Cortex-A53", 0, {PMU_V3, "cortex-a53", 0, 0}},
    {0xD04, ARMV8_A, "Cortex-A35", 0, {PMU_V3, "cortex-a35", 0, 0}},
    {0xD05, ARMV8_A, "Cortex-A55", 0, {PMU_V3P1, "cortex-a55", 0, 0}},
    {0xD06, ARMV8_A, "Cortex-A65", 0, {PMU_V3P1, "cortex-a65", 0, 0}},
    {0xD07, ARMV8_A, "Cortex-A57", 0, {PMU_V3, "cortex-a57", 0, 0}},
    {0xD08, ARMV8_A, "Cortex-A72", 0, {PMU_V3, "cortex-a57", 0, 0}},
    {0xD09, ARMV8_A, "Cortex-A73", 0, {PMU_V3, "cortex-a73", 0, 0}},
    {0xD0A, ARMV8_A, "Cortex-A75", 0, {PMU_V3P1, "cortex-a75", 0, 0}},
    {0xD0B, ARMV8_A, "Cortex-A76", 0, {PMU_V3P1, "cortex-a76", 0, 0}},
    {0xD0C, ARMV8_A, "Neoverse N1", 0, {PMU_V3P1, "neoverse-n1", 0, 0}},
    {0xD0D, ARMV8_A, "Cortex-A77", 0, {PMU_V3P1, "cortex-a76", 0, 0}},
    {0xD0E, ARMV8_A, "Cortex-A76AE", 0, {PMU_V3P1, "cortex-a76", 0, 0}},
    {0xD13, ARMV8_R, "Cortex-R52", ONLY_AARCH32, {PMU_V3, "cortex-r52", 0, 0}},
    {0xD15, ARMV8_R, "Cortex-R82", 0, {PMU_V3P1, "cortex-r82", 0, 0}},
    {0xD16, ARMV8_R, "Cortex-R52+", ONLY_AARCH32, {PMU_V3, "armv8-pmuv3-common", 0, 0}},
    {0xD40, ARMV8_A, "Neoverse V1", 0, {PMU_V3P1, "neoverse-v1", 0, 0}},
    {0xD41, ARMV8_A, "Cortex-A78", 0, {PMU_V3P1, "cortex-a78", 0, 0}},
    {0xD42, ARMV8_A, "Cortex-A78AE", 0, {PMU_V3P1, "armv8-pmuv3-common", 0, 0}},
    {0xD43, ARMV8_A, "Cortex-A65AE", 0, {PMU_V3P1, "cortex-a65", 0, 0}},
    {0xD44, ARMV8_A, "Cortex-X1", 0, {PMU_V3P1, "cortex-x1", 0, 0}},
    {0xD46, ARMV8_A, "Cortex-A510", 0, {PMU_V3P1, "cortex-a510", 0, 0}},
    {0xD47, ARMV8_A, "Cortex-A710", 0, {PMU_V3P1, "cortex-a710", 0, 0}},
    {0xD48, ARMV8_A, "Cortex-X2", 0, {PMU_V3P1, "cortex-a710", 0, 0}},
    {0xD49, ARMV8_A, "Neoverse N2", 0, {PMU_V3P1, "cortex-x3", 0, 0}},
    {0xD4A, ARMV8_A, "Neoverse E1", 0, {PMU_V3P1, "cortex-a65", 0, 0}},
    {0xD4B, ARMV8_A, "Cortex-A78C", 0, {PMU_V3P1, "cortex-a78", 0, 0}},
    {0xD4C, ARMV8_A, "Cortex-X1C", 0, {PMU_V3P1, "cortex-a78", 0, 0}},
    {0xD4D, ARMV8_A, "Cortex-A715", 0, {PMU_V3P1, "cortex-a715", 0, 0}},
    {0xD4E, ARMV8_A, "Cortex-X3", 0, {PMU_V3P1, "cortex-x3", 0, 0}},
    {0xD4F, ARMV8_A, "Neoverse V2", 0, {PMU_V3P1, "cortex-x3", 0, 0}},
    {0xD80, ARMV8_A, "Cortex-A520", 0, {PMU_V3P1, "cortex-a520", 0, 0}},
    {0xD81, ARMV8_A, "Cortex-A720", 0, {PMU_V3P1, "cortex-a720", 0, 0}},
    {0xD82, ARMV8_A, "Cortex-X4", 0, {PMU_V3P1, "cortex-x4", 0, 0}},
    {0xD83, ARMV8_A, "Neoverse V3AE", 0, {PMU_V3P1, "neoverse-v3", 0, 0}},
    {0xD84, ARMV8_A, "Neoverse V3", 0, {PMU_V3P1, "neoverse-v3", 0, 0}},
    {0xD85, ARMV8_A, "Cortex-X925", 0, {PMU_V3P1, "armv8-pmuv3-common", 0, 0}},
    {0xD87, ARMV8_A, "Cortex-A725", 0, {PMU_V3P1, "armv8-pmuv3-common", 0, 0}},
    {0xD8E, ARMV8_A, "Neoverse N3", 0, {PMU_V3P1, "neoverse-n3", 0, 0}},
};

const struct core_part *part_at(size_t i)
{
    return i < sizeof parts / sizeof *parts ? &parts[i] : NULL;
}

/* MIDR and CPUID, DDI 0406C B4.1.105. All are Arm's; some of the M profile are Arm China's. */
const struct core_part *part_find(uint32_t id)
{
    enum { ARM = 0x41, ARM_CHINA = 0x63 };
    static const struct core_part unknown = {.name = NULL};
    uint32_t designer = id >> 24, number = id >> 4 & 0xFFF;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].number == number &&
            (designer == ARM || (designer == ARM_CHINA && parts[i].architecture <= ARMV81_M)))
            return &parts[i];
    return &unknown;
}
