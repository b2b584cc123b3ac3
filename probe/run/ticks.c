/* SPDX-License-Identifier: MIT */
#include "run/ticks.h"

#include "base/arm_debug.h"
#include "base/values.h"
#include "run/trial.h"

#include <stdio.h>
#include <string.h>

enum { VECTOR_SYSTICK = 15, VECTOR_INTERRUPT = 16, TICK_PLACES = 32 };

/* What a Cortex-M's exceptions run, and which of them SysTick's interrupts. */
struct ticks_handlers {
    struct extent at[OWN_CODE_VECTORS];
    uint16_t numbers[OWN_CODE_VECTORS];
    size_t n;
    uint8_t priorities[OWN_CODE_VECTORS]; /* by number; without the bits that decide no preemption */
    bool enabled[OWN_CODE_VECTORS];
    struct extent systick; /* low 0: unknown */
};

/* DDI 0403 B3.2.10 to B3.2.12 (SHPR), B3.4.9 (NVIC_IPR), B3.4.4 (NVIC_ISER), B1.5.4 (PRIGROUP). */
static bool read_priorities(struct session *session, struct ticks_handlers *handlers)
{
    enum {
        SHPR2 = 0xE000ED1C,
        SHPR3 = 0xE000ED20,
        NVIC_ISER = 0xE000E100,
        NVIC_IPR = 0xE000E400,
        FIRST_OF_SHPR2 = 8
    };
    enum { WORDS = (OWN_CODE_VECTORS - VECTOR_INTERRUPT) / 4, ENABLES = OWN_CODE_VECTORS / 32 };
    const struct core *core = &session->device.chosen->core;
    struct deadline deadline = session_deadline(session);
    struct step items[3 + WORDS + ENABLES];
    uint64_t results[3 + WORDS + ENABLES];
    struct steps list = {.items = items, .room = sizeof items / sizeof *items};
    struct error unread = {0};
    unsigned last = VECTOR_SYSTICK;
    for (size_t i = 0; i < handlers->n; i++)
        last = handlers->numbers[i] > last ? handlers->numbers[i] : last;
    unsigned words = (last - VECTOR_SYSTICK + 3) / 4, enables = (last - VECTOR_SYSTICK + 31) / 32;
    steps_add(&list, step_read(core_word(core, AIRCR)));
    steps_add(&list, step_read(core_word(core, SHPR2)));
    steps_add(&list, step_read(core_word(core, SHPR3)));
    for (unsigned i = 0; i < words; i++)
        steps_add(&list, step_read(core_word(core, NVIC_IPR + UINT64_C(4) * i)));
    for (unsigned i = 0; i < enables; i++)
        steps_add(&list, step_read(core_word(core, NVIC_ISER + UINT64_C(4) * i)));
    if (!ledger_read_list(session->device.ledger, &list, results, &deadline, &unread))
        return false;
    uint8_t group = (uint8_t)(0xFE << (results[0] >> 8 & 7));
    for (unsigned i = FIRST_OF_SHPR2; i <= last; i++) {
        unsigned at = i < VECTOR_INTERRUPT ? i - FIRST_OF_SHPR2 : i - VECTOR_INTERRUPT;
        uint64_t word = results[(i < VECTOR_INTERRUPT ? 1 : 3) + at / 4];
        handlers->priorities[i] = (uint8_t)(word >> 8 * (at % 4)) & group;
        handlers->enabled[i] = i < VECTOR_INTERRUPT || (results[3 + words + at / 32] >> (at % 32) & 1) != 0;
    }
    return true;
}

static void ticks_read(struct session *session, struct ticks_handlers *out)
{
    memset(out, 0, sizeof *out);
    out->n = own_code_handlers(session, out->at, out->numbers);
    for (size_t i = 0; i < out->n; i++)
        if (out->numbers[i] == VECTOR_SYSTICK)
            out->systick = out->at[i];
}

/* --- who counts it -------------------------------------------------------------------------------------- */

const char tick_advice[] = "Name a variable that SysTick's handler counts, or leave --tick out.";

static bool ticks_refuse(struct session *session, uint64_t at, const char *who, struct error *error)
{
    char place[256];
    session_place(session, at, place, sizeof place);
    return error_advise(error, ERROR_USAGE, tick_advice,
                        "--tick %.64s: %.80s writes it, %s: it does not count SysTick's periods",
                        session->request->tick, place, who);
}

/* False: another handler counts it, or SysTick's does not. *unknown: the code does not show who does. */
static bool check_writers(struct session *session, const struct ticks_handlers *handlers,
                          const struct wrap_evidence_tick *tick, bool *unknown, struct error *error)
{
    uint64_t places[TICK_PLACES];
    size_t which = 0, n = symbols_stores_to(session->symbols, tick->variable.offset, places, TICK_PLACES);
    n = n < TICK_PLACES ? n : TICK_PLACES;
    for (size_t i = 0; i < handlers->n; i++)
        if (handlers->at[i].low != handlers->systick.low &&
            symbols_reach(session->symbols, &handlers->at[i], 1, places, n, &which))
            return ticks_refuse(session, places[which], "in the handler of another exception", error);
    if (handlers->systick.low != 0 &&
        symbols_reach(session->symbols, &handlers->systick, 1, places, n, &which))
        return true;
    *unknown =
        n == 0 || handlers->systick.low == 0 || symbols_reach_is_open(session->symbols, &handlers->systick);
    return *unknown || ticks_refuse(session, places[0], "and SysTick's handler does not", error);
}

/* --- what may lose one ---------------------------------------------------------------------------------- */

/* The instructions that a handler runs at most if SysTick's cannot interrupt it. */
static uint64_t handlers_hold(struct session *session, const struct ticks_handlers *handlers, uint64_t *at)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < handlers->n; i++) {
        unsigned number = handlers->numbers[i];
        uint64_t entry = handlers->at[i].low;
        bool yields = handlers->priorities[number] > handlers->priorities[VECTOR_SYSTICK];
        if (!handlers->enabled[number] || (yields && number != VECTOR_SYSTICK) ||
            !symbols_may_return(session->symbols, entry))
            continue;
        uint64_t longest = symbols_longest(session->symbols, entry);
        *at = entry;
        if (longest > UINT32_MAX)
            return UINT64_MAX;
        sum += longest;
    }
    return sum;
}

/* Whether anything may run in what is measured: tasks are switched, or a register says what is called. */
static bool runs_anything(struct session *session, const struct extent *ranges, size_t n)
{
    uint64_t switches[TICK_PLACES];
    size_t all = symbols_task_switches(session->symbols, switches, TICK_PLACES), which = 0;
    bool anything =
        session->measured.region == NULL || session->measured.inside.low == 0 || all > TICK_PLACES;
    for (size_t i = 0; i < n && !anything; i++)
        anything = symbols_reach_is_open(session->symbols, &ranges[i]);
    return anything || symbols_reach(session->symbols, ranges, n, switches, all, &which);
}

/* More than each instruction takes, with its waits for memory: a division 12 cycles, a load of N registers
 * N + 1 (Cortex-M4 TRM, table 3-1). */
enum { CYCLES_OF_EACH = 32 };

static bool may_lose(struct session *session, struct ticks_handlers *handlers, char *out, size_t size)
{
    struct extent ranges[OWN_CODE_VECTORS + 1];
    uint64_t stores[TICK_PLACES], at = 0, least = counter_modulus(&session->device.reading.counters[0]);
    struct symbols *symbols = session->symbols;
    char place[256];
    size_t n = 0, which = 0;
    bool known = read_priorities(session, handlers);
    if (session->measured.inside.low != 0)
        ranges[n++] = session->measured.inside;
    for (size_t i = 0; i < handlers->n; i++)
        if ((!known || handlers->enabled[handlers->numbers[i]]) &&
            symbols_may_return(symbols, handlers->at[i].low))
            ranges[n++] = handlers->at[i];
    const struct symbols_masks asked = {
        .ranges = ranges,
        .n = n,
        .start = session->measured.region != NULL ? session->measured.region->region.start : 0,
        .anything = runs_anything(session, ranges, n)};
    const char *why = "switches SysTick or its interrupt";
    size_t all = symbols_stores_to(symbols, SYST_CSR, stores, TICK_PLACES);
    all = all < TICK_PLACES ? all : TICK_PLACES;
    uint64_t held = 0;
    if (symbols_reach(symbols, ranges, n, stores, all, &which)) {
        at = stores[which];
        held = UINT64_MAX;
    } else if (!known || (held = handlers_hold(session, handlers, &at)) > least / CYCLES_OF_EACH) {
        why = "is a handler that SysTick's does not interrupt, and may take longer than a period";
        held = UINT64_MAX;
    } else if (symbols_masked(symbols, &asked, &at) > least / CYCLES_OF_EACH - held) {
        why = "holds interrupts off, maybe for longer than a period";
        held = UINT64_MAX;
    }
    session_place(session, at, place, sizeof place);
    snprintf(out, size, "%.100s %s: ticks may be lost, and totals by ticks are lower bounds", place, why);
    return held == UINT64_MAX;
}

bool ticks_judge(struct session *session, const struct wrap_evidence_tick *tick,
                 struct wrap_evidence *evidence, struct error *error)
{
    struct ticks_handlers handlers;
    char text[256];
    bool unknown = false;
    ticks_read(session, &handlers);
    if (!check_writers(session, &handlers, tick, &unknown, error))
        return false;
    evidence->unproved = unknown;
    if (unknown)
        snprintf(text, sizeof text,
                 "--tick %.64s proves nothing: the code does not show that SysTick's handler counts it",
                 session->request->tick);
    else if ((evidence->may_lose = may_lose(session, &handlers, text, sizeof text)) == false)
        return true;
    struct counter_block *block = session->device.block;
    if (strstr(block->note, text) == NULL)
        text_join(block->note, sizeof block->note, "; ", text);
    return true;
}
