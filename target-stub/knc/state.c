/* SPDX-License-Identifier: MIT */
#include "state.h"

enum { TAG = 4, SUM_AT = STATE_RECORD - 8 };
enum { CHANGED_AT = 2, STATUS_AT = 3, TOUCHED_AT = 4, SPFLT_AT = 8, BEFORE_AT = 16, KEPT_AT = 24 };
enum { KINDS = (1 << REGISTERS_KEPT) - 1, COUNTERS = 3 };
static const uint8_t tag[TAG] = {'P', 'M', 'R', 's'};

static void put(uint8_t *to, uint64_t value, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const uint8_t *from, unsigned n)
{
    uint64_t value = 0;
    while (n-- > 0)
        value = value << 8 | from[n];
    return value;
}

/* FNV-1a: against damage, not against an enemy, who cannot write there. */
static uint64_t sum_of(const uint8_t *record)
{
    uint64_t sum = UINT64_C(0xCBF29CE484222325);
    for (unsigned i = 0; i < SUM_AT; i++)
        sum = (sum ^ record[i]) * UINT64_C(0x100000001B3);
    return sum;
}

static void clear(uint8_t *record)
{
    for (unsigned i = 0; i < STATE_RECORD; i++)
        record[i] = 0;
}

static bool is_clear(const uint8_t *record)
{
    unsigned any = 0;
    for (unsigned i = 0; i < STATE_RECORD; i++)
        any |= record[i];
    return any == 0;
}

static bool is_same(const uint8_t *a, const uint8_t *b, unsigned n)
{
    unsigned any = 0;
    for (unsigned i = 0; i < n; i++)
        any |= a[i] ^ b[i];
    return any == 0;
}

void state_header(uint8_t *record, const uint8_t *boot)
{
    clear(record);
    for (unsigned i = 0; i < TAG; i++)
        record[i] = tag[i];
    for (unsigned i = 0; i < STATE_BOOT; i++)
        record[TAG + i] = boot[i];
    put(record + SUM_AT, sum_of(record), 8);
}

size_t state_place(const struct served_cpu *cpu)
{
    return (size_t)STATE_RECORD * (1 + cpu->number);
}

void state_record(uint8_t *record, const struct served_cpu *cpu)
{
    clear(record);
    if (cpu->changed == 0)
        return;
    put(record, cpu->number, 2);
    record[CHANGED_AT] = cpu->changed;
    record[STATUS_AT] = cpu->status;
    record[TOUCHED_AT] = cpu->touched;
    put(record + SPFLT_AT, cpu->spflt, 8);
    put(record + BEFORE_AT, cpu->spflt_before, 8);
    for (unsigned i = 0; i < REGISTERS_KEPT; i++)
        put(record + KEPT_AT + (size_t)8 * i, cpu->kept[i], 8);
    put(record + SUM_AT, sum_of(record), 8);
}

/* False: garbled. */
static bool read_record(const uint8_t *record, unsigned number, struct served_cpu *cpu)
{
    *cpu = (struct served_cpu){.number = (uint16_t)number,
                               .changed = record[CHANGED_AT],
                               .status = record[STATUS_AT],
                               .touched = record[TOUCHED_AT],
                               .spflt = get(record + SPFLT_AT, 8),
                               .spflt_before = get(record + BEFORE_AT, 8)};
    for (unsigned i = 0; i < REGISTERS_KEPT; i++)
        cpu->kept[i] = get(record + KEPT_AT + (size_t)8 * i, 8);
    return get(record + SUM_AT, 8) == sum_of(record) && get(record, 2) == number && cpu->changed != 0 &&
           cpu->changed <= KINDS && cpu->touched <= COUNTERS && cpu->status <= COUNTERS;
}

static struct served_cpu *find(struct registers *registers, unsigned number)
{
    for (unsigned i = 0; i < registers->n_cpus; i++)
        if (registers->cpus[i].number == number)
            return &registers->cpus[i];
    return 0;
}

/* With `take` after everything was found right. */
static bool read_records(const uint8_t *file, size_t n, bool take, struct registers *registers, int *foreign)
{
    for (size_t at = STATE_RECORD; at < n; at += STATE_RECORD) {
        struct served_cpu read;
        unsigned number = (unsigned)(at / STATE_RECORD - 1);
        if (is_clear(file + at))
            continue;
        if (!read_record(file + at, number, &read))
            return false;
        struct served_cpu *cpu = find(registers, number);
        if (cpu == 0)
            *foreign = (int)number;
        else if (take) {
            read.core = cpu->core;
            *cpu = read;
        }
    }
    return true;
}

enum state_fit state_read(const uint8_t *file, size_t n, const uint8_t *boot, struct registers *registers,
                          int *foreign)
{
    *foreign = -1;
    if (n == 0)
        return STATE_EMPTY;
    if (n < STATE_RECORD || n > STATE_MOST || n % STATE_RECORD != 0 || !is_same(file, tag, TAG) ||
        get(file + SUM_AT, 8) != sum_of(file))
        return STATE_GARBLED;
    if (!is_same(file + TAG, boot, STATE_BOOT))
        return STATE_OTHER_BOOT;
    if (!read_records(file, n, false, registers, foreign))
        return STATE_GARBLED;
    if (*foreign < 0)
        read_records(file, n, true, registers, foreign);
    return STATE_FITS;
}
