/*
 * The agent's session and registers, on a card that keeps no secret of what is done to it: whatever a client
 * sends, in whatever pieces, only registers of the PMU are touched, those that are read-only are not written,
 * and afterwards everything is as before.
 */
#include "session.h"

#include <stdlib.h>
#include <string.h>

enum { CPUS = 3, NUMBERS = 0x30, STATUS = 0x2D, CLEAR = 0x2E };

static uint64_t card[CPUS][NUMBERS];

static bool is_served(uint32_t msr)
{
    return msr == 0x10 || msr == 0x20 || msr == 0x21 || msr == 0x28 || msr == 0x29 ||
           (msr >= 0x2C && msr <= 0x2F);
}

static bool read_msr(void *self, unsigned at, uint32_t msr, uint64_t *value)
{
    (void)self;
    if (at >= CPUS || !is_served(msr) || msr == CLEAR)
        abort();
    *value = card[at][msr];
    return card[at][0x29] != 0xDEAD; /* then nothing more can be read */
}

static bool write_msr(void *self, unsigned at, uint32_t msr, uint64_t value)
{
    (void)self;
    if (at >= CPUS || !is_served(msr) || msr == 0x10 || msr == STATUS)
        abort();
    if (msr == CLEAR) {
        card[at][STATUS] &= ~value;
        return true;
    }
    /* As the processor does it */
    if (((msr == 0x28 || msr == 0x29) && (value >> 32 != 0 || (value & 1 << 19) != 0)) ||
        (msr == 0x2F && value > 3) || (msr == 0x2C && (value & ~((uint64_t)1 << 63 | 3)) != 0))
        return false;
    card[at][msr] = value;
    if (msr == 0x2F) /* both have wrapped in no time */
        card[at][STATUS] |= value & 3;
    return true;
}

static bool note_cpu(void *self, const struct served_cpu *cpu)
{
    (void)self;
    (void)cpu;
    return true;
}

static uint64_t now_us(void)
{
    return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct registers registers;
    static struct session session;
    static uint64_t before[CPUS][NUMBERS];
    memset(card, 0, sizeof card);
    for (unsigned i = 0; i < CPUS; i++)
        card[i][0x20] = 5 + i;
    memcpy(before, card, sizeof before);
    registers = (struct registers){.access = {read_msr, write_msr, note_cpu, NULL}, .n_cpus = CPUS};
    for (unsigned i = 0; i < CPUS; i++)
        registers.cpus[i] = (struct served_cpu){.number = (uint16_t)i, .core = (uint16_t)i};
    session_begin(&session, &registers, now_us);
    size_t taken = 0;
    while (!session.over) {
        uint8_t *to;
        session.n_out = 0; /* all was sent */
        unsigned room = session_room(&session, &to);
        if (room == 0 || to < session.in || to + room > session.in + sizeof session.in)
            abort();
        size_t n = size - taken < room ? size - taken : room;
        n = n > 5 && (n & 1) != 0 ? n / 2 : n;
        if (n == 0)
            break;
        memcpy(to, data + taken, n);
        taken += n;
        session_take(&session, (unsigned)n);
        if (session.n_out > sizeof session.out)
            abort();
    }
    bool unreadable = false, cleared = false;
    for (unsigned i = 0; i < CPUS; i++)
        unreadable = unreadable || card[i][0x29] == 0xDEAD;
    bool ok = registers_put_back(&registers);
    for (unsigned i = 0; i < CPUS; i++) {
        cleared = cleared || (card[i][STATUS] & ~before[i][STATUS] & 3) != 0;
        card[i][STATUS] = before[i][STATUS];
    }
    if (ok && !unreadable && (cleared || memcmp(card, before, sizeof card) != 0))
        abort();
    if (!ok && !unreadable)
        abort();
    return 0;
}
