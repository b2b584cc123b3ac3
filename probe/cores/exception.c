#include "cores/exception.h"

#include "cores/architectures.h"
#include "cores/arm_debug.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { CFSR = 0xE000ED28, HFSR = 0xE000ED2C, MMFAR = 0xE000ED34, BFAR = 0xE000ED38 };
enum { READ_ICSR, READ_CFSR, READ_HFSR, READ_MMFAR, READ_BFAR };
enum { FIRST_FAULT = 3, LAST_FAULT = 7, FIRST_INTERRUPT = 16 };

/* DDI 0403 B1.5.2; 7 is of Armv8-M (DDI 0553 B3.3). */
static const char *const names[FIRST_INTERRUPT] = {
    [1] = "Reset",         [2] = "NMI",        [3] = "HardFault",   [4] = "MemManage",
    [5] = "BusFault",      [6] = "UsageFault", [7] = "SecureFault", [11] = "SVCall",
    [12] = "DebugMonitor", [14] = "PendSV",    [15] = "SysTick"};

struct bit_name {
    unsigned bit;
    const char *name;
};

/* DDI 0403 B3.2.15; STKOF: DDI 0553 D1.2.7. What says only that an address is valid is not listed. */
static const struct bit_name cfsr_bits[] = {
    {0, "IACCVIOL"}, {1, "DACCVIOL"},    {3, "MUNSTKERR"},    {4, "MSTKERR"},   {5, "MLSPERR"},
    {8, "IBUSERR"},  {9, "PRECISERR"},   {10, "IMPRECISERR"}, {11, "UNSTKERR"}, {12, "STKERR"},
    {13, "LSPERR"},  {16, "UNDEFINSTR"}, {17, "INVSTATE"},    {18, "INVPC"},    {19, "NOCP"},
    {20, "STKOF"},   {24, "UNALIGNED"},  {25, "DIVBYZERO"}};
enum { MMARVALID = 1 << 7, BFARVALID = 1 << 15 };
/* DDI 0403 B3.2.16 */
static const struct bit_name hfsr_bits[] = {{1, "VECTTBL"}, {30, "FORCED"}, {31, "DEBUGEVT"}};

bool exception_add(const struct core *core, struct steps *list)
{
    static const uint32_t faults[] = {CFSR, HFSR, MMFAR, BFAR};
    if (core->family != CORE_M)
        return false;
    steps_add(list, step_read(core_word(core, ICSR)));
    for (size_t i = 0; i < sizeof faults / sizeof *faults && !cortex_m_is_baseline(core); i++)
        steps_add(list, step_read(core_word(core, faults[i])));
    return true;
}

__attribute__((format(printf, 3, 4))) static void add(char *out, size_t size, const char *format, ...)
{
    size_t used = strlen(out);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out + used, size - used, format, arguments);
    va_end(arguments);
}

static void add_bits(const char *name, uint64_t value, const struct bit_name *bits, size_t n, char *out,
                     size_t size)
{
    const char *before = " (";
    add(out, size, "%s%s 0x%08" PRIX64, strchr(out, ':') == NULL ? ": " : ", ", name, value);
    for (size_t i = 0; i < n; i++)
        if ((value >> bits[i].bit & 1) != 0) {
            add(out, size, "%s%s", before, bits[i].name);
            before = ", ";
        }
    if (before[0] == ',')
        add(out, size, ")");
}

void exception_describe(const struct core *core, const uint64_t *words, bool *is_fault, char *out,
                        size_t size)
{
    unsigned number = (unsigned)words[READ_ICSR] & ICSR_VECTACTIVE;
    out[0] = '\0';
    *is_fault = number >= FIRST_FAULT && number <= LAST_FAULT;
    if (number == 0)
        return;
    if (number >= FIRST_INTERRUPT)
        add(out, size, "exception %u (interrupt %u)", number, number - FIRST_INTERRUPT);
    else if (names[number] != NULL)
        add(out, size, "exception %u (%s)", number, names[number]);
    else
        add(out, size, "exception %u", number);
    if (!*is_fault || cortex_m_is_baseline(core))
        return;
    uint64_t cfsr = words[READ_CFSR];
    add_bits("CFSR", cfsr, cfsr_bits, sizeof cfsr_bits / sizeof *cfsr_bits, out, size);
    if ((cfsr & MMARVALID) != 0)
        add(out, size, ", MMFAR 0x%08" PRIX64, words[READ_MMFAR]);
    if ((cfsr & BFARVALID) != 0)
        add(out, size, ", BFAR 0x%08" PRIX64, words[READ_BFAR]);
    add_bits("HFSR", words[READ_HFSR], hfsr_bits, sizeof hfsr_bits / sizeof *hfsr_bits, out, size);
}

void exception_describe_mode(const struct core *core, uint64_t status, char *out, size_t size)
{
    const char *mode = core_exception_mode(core, status);
    snprintf(out, size, "%s%s", mode != NULL ? mode : "", mode != NULL ? " mode" : "");
}
