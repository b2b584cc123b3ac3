/* The instructions of a program that write registers of an A or R core's performance monitor. */
#include "symbols/code.h"

#include <stdio.h>
#include <string.h>

enum { MCR = 0x0E000F10, MCR_MASK = 0x0F100F10, MCRR = 0x0C400F00, MCRR_MASK = 0x0FF00F00 };
enum { MSR = 0xD5100000, MSR_MASK = 0xFFF00000 };
enum { NO_CONDITION = 0xF, MONITOR = 9, NUMBERED = 14 };

/* By CRn, CRm and opc2, which are the same in both: DDI 0406C table C12-10, DDI 0487 D13.4 (A64) and G8.4.
 * Those of a number: CRm has its upper bits. */
static bool name_register(unsigned crn, unsigned crm, unsigned opc2, char *out, size_t size)
{
    static const struct {
        uint8_t crm, opc2;
        const char *name;
    } names[] = {{12, 0, "PMCR"},    {12, 1, "PMCNTENSET"}, {12, 2, "PMCNTENCLR"}, {12, 5, "PMSELR"},
                 {13, 0, "PMCCNTR"}, {13, 1, "PMXEVTYPER"}, {13, 2, "PMXEVCNTR"}};
    enum { COUNTERS = 8, TYPES = 12, FILTER = 31 };
    if (crn == NUMBERED && crm >= COUNTERS) {
        unsigned n = (crm & 3) << 3 | opc2;
        if (n == FILTER && crm >= TYPES)
            snprintf(out, size, "PMCCFILTR");
        else if (n < FILTER)
            snprintf(out, size, "PMEV%s%u", crm >= TYPES ? "TYPER" : "CNTR", n);
        return n < FILTER || crm >= TYPES;
    }
    for (size_t i = 0; crn == MONITOR && i < sizeof names / sizeof *names; i++)
        if (names[i].crm == crm && names[i].opc2 == opc2) {
            snprintf(out, size, "%s", names[i].name);
            return true;
        }
    return false;
}

/* MCR and MCRR, DDI 0406C A8.8.98 and A8.8.99: the same words in both instruction sets. */
static bool aarch32_writes(uint32_t code, bool thumb, char *out, size_t size)
{
    if (thumb ? code >> 28 != 0xE : code >> 28 == NO_CONDITION)
        return false;
    if ((code & MCRR_MASK) == MCRR && (code & 0xF) == MONITOR && (code >> 4 & 0xF) == 0) {
        snprintf(out, size, "PMCCNTR");
        return true;
    }
    return (code & MCR_MASK) == MCR && (code >> 21 & 7) == 0 &&
           name_register(code >> 16 & 0xF, code & 0xF, code >> 5 & 7, out, size);
}

/* MSR (register), DDI 0487 C5.2 and C6.2: op0 3, op1 3 */
static bool a64_writes(uint32_t code, char *out, size_t size)
{
    enum { OP1 = 3 };
    return (code & MSR_MASK) == MSR && (code >> 19 & 1) == 1 && (code >> 16 & 7) == OP1 &&
           name_register(code >> 12 & 0xF, code >> 8 & 0xF, code >> 5 & 7, out, size);
}

/* What can change the counter of cycles at once comes first; `named` before all, be it by its twin. */
static unsigned rank_of(const char *name, const char *named)
{
    static const char *const telling[] = {"PMCCNTR", "PMCR", "PMCNTENCLR", "PMCNTENSET", "PMCCFILTR"};
    static const char enables[] = "PMCNTEN";
    enum { ALL = sizeof telling / sizeof *telling };
    if (named != NULL && (strcmp(name, named) == 0 || (strncmp(name, enables, sizeof enables - 1) == 0 &&
                                                       strncmp(named, enables, sizeof enables - 1) == 0)))
        return 0;
    for (unsigned i = 0; i < ALL; i++)
        if (strcmp(name, telling[i]) == 0)
            return i + 1;
    return ALL + 1;
}

/* Sorted in; the last one goes where there is no room. */
static void offer(struct counter_write *out, size_t n, size_t room, const struct counter_write *one)
{
    size_t to = n < room ? n : room;
    if (to == room && (room == 0 || out[room - 1].rank <= one->rank))
        return;
    to -= to == room;
    for (; to > 0 && out[to - 1].rank > one->rank; to--)
        out[to] = out[to - 1];
    out[to] = *one;
}

size_t symbols_counter_writes(struct symbols *symbols, const char *named, struct counter_write *out,
                              size_t room)
{
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX};
    struct code_instruction one;
    size_t n = 0;
    while (code_next(&walk, &one)) {
        struct counter_write found = {.address = one.address};
        bool writes = one.isa == ISA_A64
                          ? a64_writes(one.code, found.name, sizeof found.name)
                          : aarch32_writes(one.code, one.isa == ISA_THUMB, found.name, sizeof found.name);
        if (one.is_data || one.isa == ISA_OTHER || !writes)
            continue;
        found.rank = rank_of(found.name, named);
        offer(out, n++, room, &found);
    }
    return n;
}
