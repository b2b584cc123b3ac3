/* SPDX-License-Identifier: MIT */
#include "registers.h"

enum {
    TSC = 0x10,
    PERF_CNTR0 = 0x20,
    PERF_CNTR1 = 0x21,
    PERF_EVT_SEL0 = 0x28,
    PERF_EVT_SEL1 = 0x29,
    SPFLT_CONTROL = 0x2C,
    GLOBAL_STATUS = 0x2D,
    GLOBAL_OVF_CTRL = 0x2E,
    GLOBAL_CTRL = 0x2F
};
enum { BOTH = 3 };

/* Registers that hold the value written. */
enum { KEPT_SELECT0, KEPT_SELECT1, KEPT_SPFLT, KEPT_COUNTER0, KEPT_COUNTER1, KEPT_CONTROL };
static const uint32_t kept_msrs[REGISTERS_KEPT] = {PERF_EVT_SEL0, PERF_EVT_SEL1, SPFLT_CONTROL,
                                                   PERF_CNTR0,    PERF_CNTR1,    GLOBAL_CTRL};

static int kept_at(uint32_t msr)
{
    for (int i = 0; i < REGISTERS_KEPT; i++)
        if (kept_msrs[i] == msr)
            return i;
    return -1;
}

/* The TSC could be written, but not restored: it would lag by the time between. */
static bool may_be_read(uint32_t msr)
{
    return msr == TSC || msr == GLOBAL_STATUS || kept_at(msr) >= 0;
}

static bool may_be_written(uint32_t msr)
{
    return msr == GLOBAL_OVF_CTRL || kept_at(msr) >= 0;
}

static struct served_cpu *find(struct registers *registers, uint16_t cpu)
{
    for (unsigned i = 0; i < registers->n_cpus; i++)
        if (registers->cpus[i].number == cpu)
            return &registers->cpus[i];
    return 0;
}

static bool read_one(struct registers *registers, const struct served_cpu *cpu, uint32_t msr, uint64_t *value)
{
    return registers->access.read(registers->access.self, (unsigned)(cpu - registers->cpus), msr, value);
}

static bool write_one(struct registers *registers, const struct served_cpu *cpu, uint32_t msr, uint64_t value)
{
    return registers->access.write(registers->access.self, (unsigned)(cpu - registers->cpus), msr, value);
}

enum answer registers_read(struct registers *registers, uint16_t number, uint32_t msr, uint64_t *value)
{
    const struct served_cpu *cpu = find(registers, number);
    if (cpu == 0 || !may_be_read(msr))
        return ANSWER_REFUSED;
    return read_one(registers, cpu, msr, value) ? ANSWER_DONE : ANSWER_FAULT;
}

/* Before the first change to a CPU, because a counter that is only switched on changes too. */
static bool keep(struct registers *registers, struct served_cpu *cpu)
{
    uint64_t status;
    if (cpu->changed != 0)
        return true;
    for (int i = 0; i < REGISTERS_KEPT; i++)
        if (!read_one(registers, cpu, kept_msrs[i], &cpu->kept[i]))
            return false;
    if (!read_one(registers, cpu, GLOBAL_STATUS, &status))
        return false;
    cpu->status = (uint8_t)(status & BOTH);
    return true;
}

static bool is_changed(const struct served_cpu *cpu, int at)
{
    return (cpu->changed >> at & 1) != 0;
}

/* Counters that the client made behave differently, as bits. */
static unsigned touched_by(const struct served_cpu *cpu, int at, uint64_t value)
{
    switch (at) {
    case KEPT_SELECT0:
    case KEPT_COUNTER0:
        return 1;
    case KEPT_SELECT1:
    case KEPT_COUNTER1:
        return 2;
    default:
        return (unsigned)((value ^ cpu->kept[at]) & BOTH);
    }
}

/* What the client did with it, once it wrote this. */
static struct served_cpu changed_by(const struct served_cpu *cpu, int at, uint64_t value)
{
    struct served_cpu next = *cpu;
    next.touched |= (uint8_t)touched_by(cpu, at, value);
    next.changed |= (uint8_t)(1 << at);
    if (at == KEPT_SPFLT) {
        next.spflt_before = is_changed(cpu, at) ? cpu->spflt : cpu->kept[at];
        next.spflt = value;
    }
    return next;
}

static bool is_noted(const struct served_cpu *cpu, const struct served_cpu *next)
{
    return cpu->changed == next->changed && cpu->touched == next->touched && cpu->spflt == next->spflt &&
           cpu->spflt_before == next->spflt_before;
}

static bool note(const struct registers *registers, const struct served_cpu *cpu)
{
    return registers->access.note(registers->access.self, cpu);
}

enum answer registers_write(struct registers *registers, uint16_t number, uint32_t msr, uint64_t value)
{
    struct served_cpu *cpu = find(registers, number);
    int at = kept_at(msr);
    if (cpu == 0 || !may_be_written(msr))
        return ANSWER_REFUSED;
    if (at < 0)
        return write_one(registers, cpu, msr, value) ? ANSWER_DONE : ANSWER_FAULT;
    if (!keep(registers, cpu))
        return ANSWER_FAULT;
    struct served_cpu next = changed_by(cpu, at, value);
    if (!is_noted(cpu, &next) && !note(registers, &next))
        return ANSWER_FAULT;
    if (!write_one(registers, cpu, msr, value)) {
        note(registers, cpu);
        return ANSWER_FAULT;
    }
    *cpu = next;
    return ANSWER_DONE;
}

/* The bits of SPFLT's register that are as the client left them. The program itself may change one of them.
 */
static uint64_t of_client(const struct served_cpu *cpu, uint64_t spflt)
{
    return is_changed(cpu, KEPT_SPFLT) ? ~(spflt ^ cpu->spflt) : 0;
}

/* The counters are stopped meanwhile, so that each gets its exact value back. Of the registers that all
 * counters share, only the client's changes are undone. */
static bool put_back_one(struct registers *registers, struct served_cpu *cpu)
{
    uint64_t control, spflt, status;
    if (cpu->changed == 0)
        return true;
    bool ok =
        read_one(registers, cpu, GLOBAL_CTRL, &control) && read_one(registers, cpu, SPFLT_CONTROL, &spflt);
    if (!ok)
        return false;
    uint64_t touched = cpu->touched;
    ok = write_one(registers, cpu, GLOBAL_CTRL, control & ~touched);
    for (unsigned i = 0; i < 2; i++)
        if ((touched >> i & 1) != 0) {
            ok = write_one(registers, cpu, PERF_EVT_SEL0 + i, cpu->kept[KEPT_SELECT0 + i]) && ok;
            ok = write_one(registers, cpu, PERF_CNTR0 + i, cpu->kept[KEPT_COUNTER0 + i]) && ok;
        }
    uint64_t filter = touched | of_client(cpu, spflt);
    ok = write_one(registers, cpu, SPFLT_CONTROL, (spflt & ~filter) | (cpu->kept[KEPT_SPFLT] & filter)) && ok;
    /* Clears only flags that were set since; earlier sticky ones stay */
    ok = read_one(registers, cpu, GLOBAL_STATUS, &status) && ok;
    status &= touched & ~(uint64_t)cpu->status;
    ok = (status == 0 || write_one(registers, cpu, GLOBAL_OVF_CTRL, status)) && ok;
    ok = write_one(registers, cpu, GLOBAL_CTRL, (control & ~touched) | (cpu->kept[KEPT_CONTROL] & touched)) &&
         ok;
    cpu->changed = cpu->touched = 0;
    return note(registers, cpu) && ok;
}

bool registers_put_back(struct registers *registers)
{
    bool ok = true;
    for (unsigned i = 0; i < registers->n_cpus; i++)
        ok = put_back_one(registers, &registers->cpus[i]) && ok;
    return ok;
}

void registers_took_over(struct registers *registers)
{
    for (unsigned i = 0; i < registers->n_cpus; i++) {
        struct served_cpu *cpu = &registers->cpus[i];
        uint64_t spflt;
        if (is_changed(cpu, KEPT_SPFLT) && read_one(registers, cpu, SPFLT_CONTROL, &spflt) &&
            spflt == cpu->spflt_before)
            cpu->spflt = spflt;
    }
}
