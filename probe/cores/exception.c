/* SPDX-License-Identifier: MIT */
#include "cores/exception.h"

#include "base/arm_debug.h"
#include "base/values.h"
#include "cores/architectures.h"
#include "cores/armv7_transfer.h"
#include "cores/armv8_transfer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CFSR = 0xE000ED28, HFSR = 0xE000ED2C, MMFAR = 0xE000ED34, BFAR = 0xE000ED38 };
enum { READ_ICSR, READ_CFSR, READ_HFSR, READ_MMFAR, READ_BFAR };
enum { FIRST_FAULT = 3, LAST_FAULT = 7 };

/* DDI 0403 B1.5.2; 7 is of Armv8-M (DDI 0553 B3.3). */
const char *exception_name(uint64_t number)
{
    static const char *const names[EXCEPTION_IRQS] = {
        [1] = "Reset",         [2] = "NMI",        [3] = "HardFault",   [4] = "MemManage",
        [5] = "BusFault",      [6] = "UsageFault", [7] = "SecureFault", [11] = "SVCall",
        [12] = "DebugMonitor", [14] = "PendSV",    [15] = "SysTick"};
    return number < EXCEPTION_IRQS ? names[number] : NULL;
}

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
    if (!core_has(core, SYSTEM_SPACE))
        return false;
    steps_add(list, step_read(core_word(core, ICSR)));
    for (size_t i = 0; i < sizeof faults / sizeof *faults && !cortex_m_is_baseline(core); i++)
        steps_add(list, step_read(core_word(core, faults[i])));
    return true;
}

static void add_bits(const char *name, uint64_t value, const struct bit_name *bits, size_t n, char *out,
                     size_t size)
{
    const char *before = " (";
    text_add(out, size, "%s%s 0x%08" PRIX64, strchr(out, ':') == NULL ? ": " : ", ", name, value);
    for (size_t i = 0; i < n; i++)
        if ((value >> bits[i].bit & 1) != 0) {
            text_add(out, size, "%s%s", before, bits[i].name);
            before = ", ";
        }
    if (before[0] == ',')
        text_add(out, size, ")");
}

void exception_describe(const struct core *core, const uint64_t *words, bool *is_fault, char *out,
                        size_t size)
{
    unsigned number = (unsigned)words[READ_ICSR] & ICSR_VECTACTIVE;
    out[0] = '\0';
    *is_fault = number >= FIRST_FAULT && number <= LAST_FAULT;
    if (number == 0)
        return;
    if (number >= EXCEPTION_IRQS)
        text_add(out, size, "exception %u (interrupt %u)", number, number - EXCEPTION_IRQS);
    else if (exception_name(number) != NULL)
        text_add(out, size, "exception %u (%s)", number, exception_name(number));
    else
        text_add(out, size, "exception %u", number);
    if (!*is_fault || cortex_m_is_baseline(core))
        return;
    uint64_t cfsr = words[READ_CFSR];
    add_bits("CFSR", cfsr, cfsr_bits, sizeof cfsr_bits / sizeof *cfsr_bits, out, size);
    if ((cfsr & MMARVALID) != 0)
        text_add(out, size, ", MMFAR 0x%08" PRIX64, words[READ_MMFAR]);
    if ((cfsr & BFARVALID) != 0)
        text_add(out, size, ", BFAR 0x%08" PRIX64, words[READ_BFAR]);
    add_bits("HFSR", words[READ_HFSR], hfsr_bits, sizeof hfsr_bits / sizeof *hfsr_bits, out, size);
}

void exception_describe_mode(const struct core *core, uint64_t status, char *out, size_t size)
{
    const char *mode = core_exception_mode(core, status);
    snprintf(out, size, "%s%s", mode != NULL ? mode : "", mode != NULL ? " mode" : "");
}

/* --- faults of A and R cores ---------------------------------------------------------------------------- */

enum { MODE_ABORT = 0x17, MODE_UNDEFINED = 0x1B }; /* DDI 0406C B1.3.1 */

/* In AArch64 state and in Hyp mode: a level has one set of registers for all exceptions. */
enum { MODE_HYP = 0x1A };

static bool exception_is_hyp(const struct core *core, uint64_t status)
{
    return core->ops == &armv8_ops_in_aarch32 && (status & CPSR_MODE) == MODE_HYP;
}

static bool is_by_level(const struct core *core, uint64_t status)
{
    return core->ops == &armv8_ops || exception_is_hyp(core, status);
}

/* DDI 0487 D1.10.2: a vector for each kind of exception, of 0x80 bytes, and four such groups. MRS X0 of these
 * at EL1; op1 makes another level of it: C5.2. */
enum { VBAR, ESR, ELR, FAR };
enum { VECTORS = 0x800, VECTOR_SHIFT = 7, KINDS = 4, VECTOR_SYNCHRONOUS = 0, VECTOR_SERROR = 3 };
static const uint32_t mrs_at_el1[FAULT_WORDS] = {0xD538C000, 0xD5385200, 0xD5384020, 0xD5386000};
static const uint32_t op1_of_level[] = {0, 0, 4, 6};
enum { OP1_SHIFT = 16 };
/* HVBAR, HSR, ELR_hyp, HDFAR: G8.2. A vector has one word; 6 and 7 are those of interrupts, G1.12. */
static const uint32_t in_hyp[FAULT_WORDS] = {ARMV8_T32(0xEE9C, 0x0F10), ARMV8_T32(0xEE95, 0x0F12),
                                             ARMV8_MRS_ELR_HYP, ARMV8_T32(0xEE96, 0x0F10)};
enum { HYP_VECTORS = 0x20, HYP_VECTOR_SHIFT = 2, HYP_VECTOR_IRQ = 6 };

static unsigned exception_level_of(uint64_t status)
{
    return status >> 2 & 3;
}

bool exception_may_be_fault(const struct core *core, uint64_t status)
{
    uint64_t mode = status & CPSR_MODE;
    return (core_has_exception_modes(core) && (mode == MODE_ABORT || mode == MODE_UNDEFINED)) ||
           (core->ops == &armv8_ops && exception_level_of(status) > 0) || exception_is_hyp(core, status);
}

/* A register of the level, as VBAR, to X0. */
static size_t add_of_level(const struct core *core, uint64_t status, struct steps *list, size_t which)
{
    return armv8_add_through_x0(core, list,
                                exception_is_hyp(core, status)
                                    ? in_hyp[which]
                                    : mrs_at_el1[which] | op1_of_level[exception_level_of(status)]
                                                              << OP1_SHIFT);
}

/* DDI 0406C B4.1.51, .52, .96, .97. */
bool exception_add_faults(const struct core *core, uint64_t status, struct steps *list,
                          size_t at[FAULT_WORDS])
{
    const struct step reads[FAULT_WORDS] = {
        step_read(cp15_register(5, 0, 0, 0)), step_read(cp15_register(6, 0, 0, 0)),
        step_read(cp15_register(5, 0, 0, 1)), step_read(cp15_register(6, 0, 0, 2))};
    bool by_level = is_by_level(core, status);
    if (!exception_may_be_fault(core, status) || (!by_level && (status & CPSR_MODE) != MODE_ABORT))
        return false;
    if (!armv8_is(core))
        armv7_add_accesses(core, list, 0, reads, FAULT_WORDS, at);
    for (size_t i = 0; i < FAULT_WORDS && armv8_is(core); i++)
        at[i] = by_level
                    ? add_of_level(core, status, list, i)
                    : armv8_add_through_x0(core, list, armv8_moving_register(core, reads[i].at.offset, true));
    return true;
}

void exception_take_faults(const struct core *core, const uint64_t *results, const size_t at[FAULT_WORDS],
                           struct exception_fault *fault)
{
    for (size_t i = 0; i < FAULT_WORDS; i++)
        fault->values[i] =
            core->ops == &armv8_ops ? armv8_register_value(core, CORE_PC, results, at[i]) : results[at[i]];
    fault->has_values = true;
}

/* The kind of the vector at an address, or called from it; KINDS: none. */
static unsigned vector_of(const struct core *core, const struct exception_fault *fault, uint64_t address)
{
    uint64_t at = address - fault->values[VBAR];
    if (core->ops == &armv8_ops)
        return at < VECTORS ? at >> VECTOR_SHIFT & (KINDS - 1) : KINDS;
    return at < HYP_VECTORS && at >> HYP_VECTOR_SHIFT < HYP_VECTOR_IRQ ? VECTOR_SYNCHRONOUS : KINDS;
}

static unsigned exception_kind_of(const struct core *core, const struct exception_fault *fault)
{
    unsigned by_pc = vector_of(core, fault, fault->pc);
    return by_pc != KINDS ? by_pc : vector_of(core, fault, fault->lr - 4);
}

/* DDI 0406C B1.3.1: IRQ mode, which has its own LR. A level takes an interrupt with interrupts masked. */
enum { MODE_IRQ = 0x12, PSTATE_I = 1 << 7 };

bool exception_may_be_interrupt(const struct core *core, uint64_t status)
{
    if (!is_by_level(core, status))
        return core_has_exception_modes(core) && (status & CPSR_MODE) == MODE_IRQ;
    return (core->ops != &armv8_ops || exception_level_of(status) > 0) && (status & PSTATE_I) != 0;
}

size_t exception_add_return(const struct core *core, uint64_t status, struct steps *list)
{
    return is_by_level(core, status) ? add_of_level(core, status, list, ELR)
                                     : core_add_register(core, list, CORE_LR);
}

uint64_t exception_return(const struct core *core, const uint64_t *results, size_t at)
{
    return core->ops == &armv8_ops ? armv8_register_value(core, CORE_PC, results, at) : results[at];
}

/* DDI 0487 D13.2.37: EC, and IL, which is set whenever EC is 0. */
enum { EC_SHIFT = 26, EC_SERROR = 0x2F, ESR_IL = 1 << 25 };

/* The program may have code where VBAR points to, as after a reset: ESR shows if an exception was taken. */
static bool exception_is_taken(unsigned kind, uint64_t esr)
{
    unsigned class = (unsigned)(esr >> EC_SHIFT) & 0x3F;
    if (kind == VECTOR_SERROR)
        return class == EC_SERROR;
    return kind == VECTOR_SYNCHRONOUS && class != EC_SERROR && (class != 0 || (esr & ESR_IL) != 0);
}

bool exception_is_fault(const struct core *core, const struct exception_fault *fault)
{
    if (!is_by_level(core, fault->status))
        return exception_may_be_fault(core, fault->status);
    return fault->has_values && exception_is_taken(exception_kind_of(core, fault), fault->values[ESR]);
}

/* Of bits 10 and 3:0 of a fault status register, without the Large Physical Address Extension: DDI 0406C
 * table B3-23; for the MPU of an R core, table B5-9. */
struct code_name {
    uint8_t code;
    const char *name;
};
static const struct code_name fault_names[] = {
    {0x01, "alignment"},      {0x02, "debug event"}, {0x03, "access flag"},
    {0x05, "translation"},    {0x06, "access flag"}, {0x07, "translation"},
    {0x08, "external abort"}, {0x09, "domain"},      {0x0B, "domain"},
    {0x0D, "permission"},     {0x0F, "permission"},  {0x16, "external abort, asynchronous"}};

/* ESR_ELx.EC and, of aborts, bits 5:0 of its ISS without the level: DDI 0487 D13.2. */
static const struct code_name class_names[] = {{0x00, "undefined instruction"},
                                               {0x07, "floating point is trapped"},
                                               {0x0E, "illegal state"},
                                               {0x11, "SVC"},
                                               {0x12, "HVC"},
                                               {0x15, "SVC"},
                                               {0x17, "SMC"},
                                               {0x18, "a trapped MSR or MRS"},
                                               {0x20, "instruction abort"},
                                               {0x21, "instruction abort"},
                                               {0x22, "alignment of the PC"},
                                               {0x24, "data abort"},
                                               {0x25, "data abort"},
                                               {0x26, "alignment of the SP"},
                                               {0x2C, "floating point"},
                                               {EC_SERROR, "SError"},
                                               {0x3C, "BRK"}};
/* DDI 0487 D17.2.37, ESR_EL1.DFSC: those with the level of a table's walk in the lower bits; others. */
static const struct code_name level_names[] = {{0x00, "address size"},
                                               {0x04, "translation"},
                                               {0x08, "access flag"},
                                               {0x0C, "permission"},
                                               {0x14, "external abort"}};
static const struct code_name abort_names[] = {{0x10, "external abort"}, {0x11, "tag check"},
                                               {0x13, "external abort"}, {0x21, "alignment"},
                                               {0x29, "address size"},   {0x2B, "translation"}};
enum { EC_ABORT_INSTRUCTION = 0x20, EC_ABORT_DATA = 0x24, EC_ABORT_DATA_HERE = 0x25 };

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const char *name_of_code(const struct code_name *names_of, size_t n, unsigned code)
{
    for (size_t i = 0; i < n; i++)
        if (names_of[i].code == code)
            return names_of[i].name;
    return NULL;
}

/* Of HSR 0x11 is an asynchronous external abort: DDI 0406C table B3-24. */
static const char *abort_name(unsigned code, bool hyp)
{
    enum { LEVEL = 3, EXTERNAL = 0x10, ASYNCHRONOUS = 0x11 };
    unsigned whole = hyp && code == ASYNCHRONOUS ? EXTERNAL : code;
    const char *name = name_of_code(abort_names, COUNT(abort_names), whole);
    return name != NULL ? name : name_of_code(level_names, COUNT(level_names), code & ~(unsigned)LEVEL);
}

static void exception_add_fault(const char *name, uint64_t status, char *out, size_t size)
{
    const uint64_t long_format = 1 << 9;
    unsigned code = (unsigned)((status >> 6 & 0x10) | (status & 0xF));
    const char *what =
        (status & long_format) == 0 ? name_of_code(fault_names, COUNT(fault_names), code) : NULL;
    text_add(out, size, "%s 0x%08" PRIX64, name, status);
    if (what != NULL)
        text_add(out, size, " (%s)", what);
}

static void describe_by_level(const struct core *core, const struct exception_fault *fault, char *out,
                              size_t size)
{
    const bool hyp = exception_is_hyp(core, fault->status);
    const unsigned level = hyp ? 2 : exception_level_of(fault->status);
    uint64_t esr = fault->values[ESR];
    unsigned class = (unsigned)(esr >> EC_SHIFT) & 0x3F;
    const char *what = name_of_code(class_names, COUNT(class_names), class), *why = NULL;
    bool aborts = class >= EC_ABORT_INSTRUCTION && class <= EC_ABORT_DATA_HERE;
    if (aborts)
        why = abort_name((unsigned)esr & 0x3F, hyp);
    snprintf(out, size, ", in the vector of %s (%sEL%u): %s 0x%08" PRIX64,
             exception_kind_of(core, fault) == VECTOR_SERROR ? "SErrors" : "synchronous exceptions",
             hyp ? "Hyp mode, " : "", level, hyp ? "HSR" : "ESR", esr);
    if (what != NULL)
        text_add(out, size, " (%s%s%s)", what, why != NULL ? ", " : "", why != NULL ? why : "");
    if (aborts && (!hyp || class >= EC_ABORT_DATA)) /* of another abort HIFAR is as ELR_hyp */
        text_add(out, size, ", %s 0x%08" PRIX64, hyp ? "HDFAR" : "FAR", fault->values[FAR]);
}

void exception_describe_faults(const struct core *core, const struct exception_fault *fault, char *out,
                               size_t size)
{
    out[0] = '\0';
    if (!fault->has_values)
        return;
    if (is_by_level(core, fault->status)) {
        describe_by_level(core, fault, out, size);
        return;
    }
    snprintf(out, size, ": ");
    exception_add_fault("DFSR", fault->values[0], out, size);
    text_add(out, size, ", DFAR 0x%08" PRIX64 ", ", fault->values[1]);
    exception_add_fault("IFSR", fault->values[2], out, size);
    text_add(out, size, ", IFAR 0x%08" PRIX64, fault->values[3]);
}

bool exception_returns_by_lr(const struct core *core, uint64_t status)
{
    return core->ops != &armv8_ops && (status & CPSR_MODE) != MODE_HYP;
}

/* How far LR is after the instruction: DDI 0406C table B1-7. Of the two aborts the one whose IFAR is before
 * LR is of an instruction. */
static unsigned exception_lr_after(const struct exception_fault *fault)
{
    enum { IFAR = 3, AFTER_DATA = 8, AFTER_INSTRUCTION = 4, AFTER_THUMB_UNDEFINED = 2 };
    if ((fault->status & CPSR_MODE) != MODE_ABORT)
        return fault->in_thumb ? AFTER_THUMB_UNDEFINED : AFTER_INSTRUCTION;
    bool fetches = fault->has_values && fault->values[IFAR] == fault->lr - AFTER_INSTRUCTION;
    return fetches ? AFTER_INSTRUCTION : AFTER_DATA;
}

bool exception_interrupted(const struct core *core, const struct exception_fault *fault, uint64_t *out)
{
    if (is_by_level(core, fault->status)) {
        *out = fault->values[ELR];
        return fault->has_values;
    }
    *out = fault->lr - exception_lr_after(fault);
    return fault->lr != 0;
}
