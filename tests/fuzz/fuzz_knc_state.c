/*
 * The agent's state file. Whatever is in it, only what was found right is taken from it. And an agent that is
 * killed before any step of a session, or of putting back, leaves a file with which the next one, killed as
 * well, and the one after it make the card as it was.
 */
#include "state.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

enum { CPUS = 3, NUMBERS = 0x30, STATUS = 0x2D, CLEAR = 0x2E, KILLS = 3 };

static const uint8_t boot[STATE_BOOT + 1] = "01234567-89ab-cdef-0123-456789abcdef";
static uint64_t card[CPUS][NUMBERS];
static uint8_t file[STATE_MOST];
static size_t file_size;
static jmp_buf killed;
static unsigned steps_left;

static void step(void)
{
    if (steps_left-- == 0)
        longjmp(killed, 1);
}

static bool read_msr(void *self, unsigned at, uint32_t msr, uint64_t *value)
{
    (void)self;
    *value = card[at][msr];
    return true;
}

/* As the processor does it; a counter that is switched on wraps in no time. */
static bool write_msr(void *self, unsigned at, uint32_t msr, uint64_t value)
{
    (void)self;
    step();
    if (msr == CLEAR) {
        card[at][STATUS] &= ~value;
        return true;
    }
    if (((msr == 0x28 || msr == 0x29) && value >> 32 != 0) || (msr == 0x2F && value > 3) ||
        (msr == 0x2C && (value & ~((uint64_t)1 << 63 | 3)) != 0))
        return false;
    card[at][msr] = value;
    if (msr == 0x2F)
        card[at][STATUS] |= value;
    return true;
}

static void write_file(const uint8_t *record, size_t at)
{
    step();
    memcpy(file + at, record, STATE_RECORD);
    if (file_size < at + STATE_RECORD)
        file_size = at + STATE_RECORD;
}

static bool note_cpu(void *self, const struct served_cpu *cpu)
{
    (void)self;
    uint8_t record[STATE_RECORD];
    if (file_size == 0) {
        state_header(record, boot);
        write_file(record, 0);
    }
    state_record(record, cpu);
    write_file(record, state_place(cpu));
    return true;
}

static void begin(struct registers *registers)
{
    *registers = (struct registers){.access = {read_msr, write_msr, note_cpu, NULL}, .n_cpus = CPUS};
    for (unsigned i = 0; i < CPUS; i++)
        registers->cpus[i] = (struct served_cpu){.number = (uint16_t)(2 * i), .core = (uint16_t)i};
}

static void read_any(const uint8_t *data, size_t size)
{
    static struct registers registers;
    int foreign;
    begin(&registers);
    enum state_fit fit = state_read(data, size, boot, &registers, &foreign);
    bool none = fit != STATE_FITS || foreign >= 0;
    for (unsigned i = 0; i < CPUS; i++) {
        const struct served_cpu *cpu = &registers.cpus[i];
        if (cpu->number != 2 * i || cpu->core != i || cpu->touched > 3 || (none && cpu->changed != 0))
            abort();
    }
}

/* Four bytes each: a CPU, a register, a value. */
static void serve(struct registers *registers, const uint8_t *data, size_t size)
{
    static const uint8_t msrs[] = {0x20, 0x21, 0x28, 0x29, 0x2C, 0x2F};
    for (size_t i = 0; i + 4 <= size; i += 4) {
        uint64_t value =
            (uint64_t)(data[i + 3] & 0x80) << 56 | (uint64_t)data[i + 2] << 2 | (data[i + 3] & 3);
        registers_write(registers, (uint16_t)(data[i] % CPUS * 2), msrs[data[i + 1] % sizeof msrs], value);
    }
    registers_put_back(registers);
    file_size = 0;
}

static void take_over(struct registers *registers)
{
    int foreign;
    enum state_fit fit = state_read(file, file_size, boot, registers, &foreign);
    if ((fit != STATE_FITS && fit != STATE_EMPTY) || foreign >= 0)
        abort();
    registers_took_over(registers);
    if (!registers_put_back(registers))
        abort();
    file_size = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct registers registers;
    static uint64_t before[CPUS][NUMBERS];
    static volatile unsigned run;
    read_any(data, size);
    if (size < KILLS + CPUS)
        return 0;
    memset(card, 0, sizeof card);
    memset(file, 0, sizeof file);
    file_size = 0;
    for (unsigned i = 0; i < CPUS; i++) {
        card[i][0x20] = 5 + i;
        card[i][0x2C] = data[KILLS + i] >> 4 & 3;
        card[i][0x2F] = data[KILLS + i] & 3;
        card[i][STATUS] = (data[KILLS + i] | data[KILLS + i] >> 2) & 3;
    }
    memcpy(before, card, sizeof before);
    /* The last is left alone */
    for (run = 0; run <= KILLS; run++) {
        steps_left = run < KILLS ? data[run] : UINT16_MAX;
        begin(&registers);
        if (setjmp(killed) != 0)
            continue;
        if (run == 0)
            serve(&registers, data + KILLS + CPUS, size - KILLS - CPUS);
        else
            take_over(&registers);
    }
    if (memcmp(card, before, sizeof card) != 0 || file_size != 0)
        abort();
    return 0;
}
