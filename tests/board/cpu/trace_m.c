// The trace of a Cortex-M: what the core does, as packets of its DWT and ITM, and the log of it. An
// instruction's and an access's time is where that instruction begins; an exception's entry is where its
// vector was fetched, its exit where the handler returned, the return where the code that goes on begins.
#include "cpu/cortex_m.h"

#include <string.h>

enum { ID_COUNTERS = 0, ID_EXCEPTION = 1, ID_PC = 2, ID_COMPARATOR = 8, ID_DATA = 16, EVENT_CYCLE = 1 << 5 };
enum { ENTERED = 1, EXITED = 2, RETURNED = 3 };

// Header of a hardware source packet and its payload, lowest byte first
static unsigned put_packet(uint8_t *to, unsigned id, uint32_t payload, unsigned size)
{
    to[0] = (uint8_t)(id << 3 | 4 | (size == 4 ? 3 : size));
    for (unsigned i = 0; i < size; i++)
        to[1 + i] = (uint8_t)(payload >> 8 * i);
    return 1 + size;
}

static bool may_trace(const struct cortex_m *cm)
{
    return !cm->dwt.no_packets && cm_debug_permitted(cm) && itm_takes(&cm->itm);
}

static uint64_t log_at(struct cortex_m *cm, enum trace_kind kind, unsigned number, uint32_t value,
                       bool wanted, uint64_t at)
{
    return trace_log_add(&cm->trace_log,
                         &(struct trace_event){.kind = kind,
                                               .fate = wanted ? TRACE_PENDING : TRACE_OFF,
                                               .number = number,
                                               .value = value,
                                               .cycles = cm->core.cycles - (cm_dwt_now(cm) - at),
                                               .counted = cm->core.counted - (cm_dwt_now(cm) - at)});
}

static void send(struct cortex_m *cm, enum itm_from from, const uint8_t *bytes, unsigned length,
                 uint64_t index)
{
    itm_packet(&cm->itm, from, bytes, length, cm_dwt_now(cm), index);
}

static void synchronize(struct cortex_m *cm, uint64_t at)
{
    static const uint8_t sync[] = {0, 0, 0, 0, 0, 0x80};
    bool wanted = itm_wants_sync(&cm->itm);
    uint64_t index = log_at(cm, TRACE_SYNC, 0, 0, wanted, at);
    if (wanted)
        itm_packet(&cm->itm, ITM_SYNC, sync, sizeof sync, at, index);
}

static void count_period(struct cortex_m *cm, uint64_t at)
{
    uint8_t bytes[ITM_PACKET];
    bool samples = dwt_samples(&cm->dwt), asleep = cm->state == CM_ASLEEP, wanted = may_trace(cm);
    uint32_t pc = asleep ? cm->sleeps_at : cm->last ? cm->last->pc : cm_pc(cm);
    uint64_t index = log_at(cm, samples ? TRACE_PC : TRACE_CYCLE, 0, samples ? pc : 0, wanted, at);
    if (!wanted)
        return;
    unsigned length = !samples ? put_packet(bytes, ID_COUNTERS, EVENT_CYCLE, 1)
                      : asleep ? put_packet(bytes, ID_PC, 0, 1)
                               : put_packet(bytes, ID_PC, pc, 4);
    itm_packet(&cm->itm, samples ? ITM_PC : ITM_COUNTERS, bytes, length, at, index);
}

static void take_taps(struct cortex_m *cm, uint64_t until)
{
    for (;;) {
        uint64_t tap = dwt_next_tap(&cm->dwt, cm->traced_to), sync = dwt_next_sync(&cm->dwt, cm->traced_to);
        uint64_t next = tap < sync ? tap : sync;
        if (next > until)
            break;
        cm->traced_to = next;
        if (sync == next)
            synchronize(cm, next);
        if (tap == next && dwt_tap(&cm->dwt))
            count_period(cm, next);
    }
    cm->traced_to = until;
}

// As a program does that prints through SWO, and sets it up again now and then: ITMENA, SYNCENA, DWTENA; port
// 0
static void meddle(struct cortex_m *cm)
{
    enum { ITM_TCR = 0xE80, ITM_TER = 0xE00, OFTEN = 1 << 20, ANOTHER = 12, PRESCALER = 0x10 };
    const struct trace_quirks *q = cm->itm.quirks;
    if ((!q->tcr_rewritten && !q->acpr_rewritten) || cm->core.counted - cm->itm.rewritten < OFTEN)
        return;
    cm->itm.rewritten = cm->core.counted;
    if (q->acpr_rewritten)
        tpiu_write(cm->trace_unit, PRESCALER, ANOTHER);
    if (!q->tcr_rewritten)
        return;
    itm_write(&cm->itm, ITM_TCR, 0x1000D, cm_dwt_now(cm));
    itm_write(&cm->itm, ITM_TER, 1, cm_dwt_now(cm));
}

void cm_trace_catch_up(void *self)
{
    struct cortex_m *cm = self;
    if (!cm->itm.powered)
        return;
    take_taps(cm, cm_dwt_now(cm));
    itm_run(&cm->itm, cm_dwt_now(cm));
    meddle(cm);
}

void cm_trace_set_up(struct cortex_m *cm)
{
    uint64_t places = 0;
    for (unsigned i = 0; i < cm->dwt.comparators; i++)
        if (dwt_at_code(&cm->dwt, cm->dwt.comp[i] & ~1u))
            places |= truth_bit(cm->dwt.comp[i]);
    truth_look_at(cm->core.truth, places);
}

void cm_trace_code(struct cortex_m *cm, uint32_t pc)
{
    unsigned matched = dwt_at_code(&cm->dwt, pc);
    if (!matched)
        return;
    take_taps(cm, cm_dwt_now(cm));
    for (unsigned i = 0; i < DWT_COMPARATORS; i++) {
        uint8_t bytes[ITM_PACKET];
        unsigned action = dwt_action(&cm->dwt, i);
        bool wanted = may_trace(cm) && action >= DWT_ACTION_MATCH;
        if (!(matched >> i & 1))
            continue;
        cm->dwt.matched |= 1u << i;
        cm->pmu.total[V81M_MATCH + i]++;
        uint64_t index = log_at(cm, TRACE_MATCH, i, pc, wanted, cm_dwt_now(cm));
        unsigned length = action == DWT_ACTION_PC ? put_packet(bytes, ID_COMPARATOR + 2 * i, pc, 4)
                                                  : put_packet(bytes, ID_COMPARATOR + 2 * i, 1, 1);
        if (wanted)
            send(cm, ITM_COMPARATOR0 + i, bytes, length, index);
    }
}

// size and value as on the bus; value is right-aligned
void cm_trace_data(struct cortex_m *cm, uint32_t address, unsigned size, uint32_t value, bool write)
{
    for (unsigned i = 0; i < cm->dwt.comparators && i < DWT_COMPARATORS; i++) {
        uint8_t bytes[ITM_PACKET];
        unsigned length = 0, what = dwt_sends(&cm->dwt, i, address, size, write);
        bool wanted = may_trace(cm);
        if (!what)
            continue;
        cm->pmu.total[V81M_MATCH + i]++;
        take_taps(cm, cm_dwt_now(cm));
        uint64_t index = log_at(cm, write ? TRACE_WRITE : TRACE_READ, i, value, wanted, cm_dwt_now(cm));
        if (what & DWT_SENDS_MATCH)
            length += put_packet(bytes + length, ID_COMPARATOR + 2 * i, 1, 1);
        if (what & DWT_SENDS_PC)
            length +=
                put_packet(bytes + length, ID_COMPARATOR + 2 * i, cm->last ? cm->last->pc : cm_pc(cm), 4);
        if (what & DWT_SENDS_ADDRESS)
            length += put_packet(bytes + length, ID_COMPARATOR + 2 * i + 1, address & 0xFFFF, 2);
        if (what & DWT_SENDS_VALUE)
            length += put_packet(bytes + length, ID_DATA + 2 * i + write, value, size);
        if (wanted)
            send(cm, ITM_COMPARATOR0 + i, bytes, length, index);
    }
}

static void trace_exception(struct cortex_m *cm, enum trace_kind kind, unsigned how, unsigned number)
{
    uint8_t bytes[ITM_PACKET];
    bool wanted = dwt_traces_exceptions(&cm->dwt) && may_trace(cm);
    if (!wanted && !cm->trace_log.ring)
        return;
    take_taps(cm, cm_dwt_now(cm));
    uint64_t index = log_at(cm, kind, number, 0, wanted, cm_dwt_now(cm));
    if (wanted)
        send(cm, ITM_EXCEPTION, bytes, put_packet(bytes, ID_EXCEPTION, (number & 0x1FF) | how << 12, 2),
             index);
}

void cm_trace_enter(struct cortex_m *cm, unsigned number)
{
    trace_exception(cm, TRACE_ENTER, ENTERED, number);
}

void cm_trace_exit(struct cortex_m *cm, unsigned number)
{
    trace_exception(cm, TRACE_EXIT, EXITED, number);
}

void cm_trace_return(struct cortex_m *cm, unsigned number)
{
    trace_exception(cm, TRACE_RETURN, RETURNED, number);
}

// The ITM's registers. Software finds the lock closed (DDI 0403E C1.7.3)
enum { STIMULI = 0x80, LAR = 0xFB0 };

static bool lock_holds(const struct cortex_m *cm, enum bus_master master)
{
    return cm->itm.has_lock && cm->itm.locked && (master == BUS_CORE || master == BUS_DEBUGGER_AS_CORE);
}

static uint32_t itm_unit_read(void *self, uint32_t offset, enum bus_master master)
{
    struct cortex_m *cm = self;
    (void)master;
    if (offset >= COMPONENT_IDS)
        return component_read(&cm->profile->itm, offset);
    cm_trace_catch_up(cm);
    return itm_read(&cm->itm, offset, cm_dwt_now(cm));
}

static void itm_unit_write(void *self, uint32_t offset, unsigned size, uint32_t value, enum bus_master master)
{
    struct cortex_m *cm = self;
    uint32_t at = offset & ~3u;
    if (offset < STIMULI) {
        take_taps(cm, cm_dwt_now(cm));
        uint64_t index = cm->trace_log.next;
        if (cm->itm.powered)
            index = log_at(cm, TRACE_SWIT, offset / 4, value, true, cm_dwt_now(cm));
        if (!itm_stimulus(&cm->itm, offset / 4, size, value, cm_dwt_now(cm), index))
            trace_log_settle(&cm->trace_log, index, TRACE_OFF);
        return;
    }
    if (at != LAR && lock_holds(cm, master))
        return;
    cm_trace_catch_up(cm);
    itm_write(&cm->itm, at, value, cm_dwt_now(cm));
}

static uint32_t tpiu_unit_read(void *self, uint32_t offset, enum bus_master master)
{
    struct cortex_m *cm = self;
    (void)master;
    return cm->itm.powered ? tpiu_read(cm->trace_unit, offset) : 0;
}

static void tpiu_unit_write(void *self, uint32_t offset, uint32_t value, enum bus_master master)
{
    struct cortex_m *cm = self;
    (void)master;
    if (cm->itm.powered)
        tpiu_write(cm->trace_unit, offset, value);
}

bool cm_add_trace(struct cortex_m *cm)
{
    struct bus *bus = cm->core.bus;
    if (!cm->trace_unit || cm->trace_unit->route == TRACE_NOWHERE)
        return true;
    cm->itm.v8 = cm->profile->v81m;
    cm->itm.has_lock = !cm->profile->v81m;
    cm->itm.size = cm->trace_unit->itm_fifo;
    cm->itm.quirks = &cm->trace_unit->quirks;
    cm->itm.log = &cm->trace_log;
    cm->dwt.no_packets = cm->trace_unit->quirks.notrcpkt;
    cm->dwt.no_apart = cm->trace_unit->quirks.old_m3;
    cm->dwt.no_match_id = cm->trace_unit->quirks.no_match_id;
    cm->trace_unit->dbgmcu = &cm->dbgmcu[0];
    cm->trace_unit->pin_bits = cm->profile->trace_bits;
    itm_power_on(&cm->itm);
    trace_unit_sit(cm->trace_unit, &cm->itm, cm_trace_catch_up, cm);
    return bus_add_device(bus, (struct device){.base = 0xE0000000,
                                               .size = 0x1000,
                                               .read = itm_unit_read,
                                               .write_part = itm_unit_write,
                                               .self = cm}) &&
           (cm->trace_unit->route != TRACE_CORE_TPIU ||
            bus_add_device(bus, (struct device){.base = 0xE0040000,
                                                .size = 0x1000,
                                                .read = tpiu_unit_read,
                                                .write = tpiu_unit_write,
                                                .self = cm}));
}
