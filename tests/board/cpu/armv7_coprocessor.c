// MRC and MCR of what the emulator does not have: the performance monitor (CP15 c9), the debug registers
// (CP14) and the registers that say which core this is. One function for the program and for a debugger's
// stuffed instructions.
#include "cpu/armv7.h"
#include "cpu/armv8.h"

// CP14 names debug register n by CRn = n[9:7], opc2 = n[6:4], CRm = n[3:0] (DDI 0406C C6.4.1); the internal
// views of DBGDSCR and of the data transfer registers have their own numbers
enum {
    DBGDIDR = 0,
    DBGDSCR_INT = 1,
    DBGDTR_INT = 5,
    DBGVCR = 7,
    DBGDSCR_EXT = 0x22,
    DBGBVR0 = 0x40,
    DBGOSLAR = 0xC0,
    DBGOSLSR = 0xC1
};
#define DSCR_UDCCDIS (1u << 12)
#define OSLAR_KEY    0xC5ACCE55u

static void read_dtr(struct armv7 *v7, uint32_t *value)
{
    *value = v7->debug.dtr_rx;
    v7->debug.rx_full = false;
}

static void write_dtr(struct armv7 *v7, uint32_t value)
{
    v7->debug.dtr_tx = value;
    v7->debug.tx_full = true;
}

// DBGDIDR.Version: 3 and 5 have the extended interface, 4 the basic one (DDI 0406C C6.4, C11.11)
static bool extended(const struct armv7 *v7)
{
    return v7->profile->didr >> 16 & 1;
}

static bool breakpoint_value(struct armv7 *v7, unsigned n, bool write, uint32_t *value)
{
    if (!extended(v7) || n >= v7->profile->breakpoints)
        return false;
    if (write)
        v7_debug_write(v7, 4 * (DBGBVR0 + n), *value);
    else
        *value = v7_debug_read(v7, 4 * (DBGBVR0 + n));
    return true;
}

// Only the registers that a program or a stuffed instruction needs; the others are undefined here. In Debug
// state the mode does not matter (DDI 0301H, 13.5.1)
static bool debug_register(struct armv7 *v7, unsigned number, bool write, uint32_t *value)
{
    bool privileged = v7->state == V7_HALTED || !v7_user(v7);
    if (!privileged && ((v7->debug.control & DSCR_UDCCDIS) || number == DBGVCR || number > DBGDTR_INT))
        return false;
    if (number >= DBGBVR0 && number < DBGBVR0 + 16)
        return breakpoint_value(v7, number - DBGBVR0, write, value);
    switch (number) {
    case DBGDTR_INT:
        if (write)
            write_dtr(v7, *value);
        else
            read_dtr(v7, value);
        return true;
    case DBGDIDR:
        *value = v7->profile->didr;
        return !write;
    case DBGDSCR_INT:
        *value = v7_dscr(v7);
        return !write;
    case DBGOSLAR:
        if (write && v7->profile->v71) {
            v7->debug.os_locked = *value == OSLAR_KEY;
            v7_comparators_changed(v7);
        }
        return write;
    case DBGVCR:
    case DBGDSCR_EXT:
    case DBGOSLSR:
        if (write && number == DBGOSLSR)
            return false;
        if (write)
            v7_debug_write(v7, 4 * number, *value);
        else
            *value = number == DBGDSCR_EXT ? v7_dscr(v7) : v7_debug_read(v7, 4 * number);
        return true;
    default:
        return false;
    }
}

static bool identity(const struct armv7 *v7, unsigned op2, uint32_t *value)
{
    *value = op2 ? v7->profile->mpidr + v7->number : v7->profile->midr;
    return !v7_user(v7);
}

static bool access_one(struct armv7 *v7, uint32_t op, bool write, uint32_t *value)
{
    if (v7->outside)
        return a32_system(v7->outside, op, write, value);
    if (op >> 21 & 7)
        return false;
    unsigned number = op >> 8 & 15, crn = op >> 16 & 15, crm = op & 15, op2 = op >> 5 & 7;
    if (number == 14)
        return debug_register(v7, crn << 7 | op2 << 4 | crm, write, value);
    if (crn == 0)
        return identity(v7, op2, value);
    return pmu_v7_cp15(
        &v7->pmu,
        &(struct pmu_v7_access){.crm = crm, .op2 = op2, .write = write, .user = v7_user(v7), .value = value});
}

bool v7_coprocessor(struct armv7 *v7, uint32_t op)
{
    bool write = !(op & 1u << 20);
    unsigned rt = op >> 12 & 15;
    uint32_t value = write ? v7_register(v7, rt) : 0;
    if (!access_one(v7, op, write, &value))
        return false;
    if (write)
        return true;
    if (rt == 15) // to the flags, DDI 0406C A8.8.108
        v7_set_cpsr(v7, (v7_cpsr(v7) & 0x0FFFFFFF) | (value & 0xF0000000));
    else
        v7_set_register(v7, rt, value);
    return true;
}
