/* SPDX-License-Identifier: MIT */
#include "run/ticks.h"

#include "base/arm_debug.h"
#include "base/values.h"
#include "run/trial.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { VECTOR_SYSTICK = 15, TICK_PLACES = 32 };

/* What a Cortex-M's exceptions run. */
struct ticks_handlers {
    struct extent at[OWN_CODE_VECTORS];
    uint16_t numbers[OWN_CODE_VECTORS];
    size_t n;
    struct extent systick; /* low 0: unknown */
};

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

/* Its priority, and whether it is enabled, may be others when it runs. */
static bool has_other_handler(struct session *session, const struct ticks_handlers *handlers, uint64_t *at)
{
    for (size_t i = 0; i < handlers->n; i++) {
        *at = handlers->at[i].low;
        if (*at != handlers->systick.low && symbols_may_return(session->symbols, *at))
            return true;
    }
    return false;
}

/* Whether SysTick's handler alone writes it while this is measured, and adds the same each time. FreeRTOS's
 * xTaskIncrementTick adds to xPendedTicks in place of it, and xTaskResumeAll makes up for that. */
static enum symbols_adds tick_is_added(struct session *session, const struct ticks_handlers *handlers,
                                       const struct wrap_evidence_tick *tick, const uint64_t *places,
                                       size_t n)
{
    const struct symbols_addend addend = {.word = tick->variable.offset,
                                          .size = tick->variable.size,
                                          .by = tick->each,
                                          .by_word = tick->each_at};
    const struct extent *inside = &session->measured.inside;
    bool is_rtos = tick->pended.size != 0;
    size_t which = 0, counts = 0, its = 0;
    uint64_t at;
    for (size_t i = 0; i < n; i++) {
        bool is_its = symbols_reach(session->symbols, &handlers->systick, 1, &places[i], 1, &which);
        counts += is_its;
        its = is_its ? i : its;
        if (!is_rtos && inside->low != 0 && symbols_reach(session->symbols, inside, 1, &places[i], 1, &which))
            return ADDS_UNSURE;
    }
    if (is_rtos)
        return counts > 0 ? ADDS_ONCE : ADDS_UNSURE;
    if (counts != n && has_other_handler(session, handlers, &at)) /* which may switch to another task */
        return ADDS_UNSURE;
    return counts == 1 ? symbols_adds(session->symbols, handlers->systick.low, places[its], &addend)
                       : ADDS_UNSURE;
}

/* False: another handler counts it. *adds: how SysTick's does, as far as the code shows. */
static bool check_writers(struct session *session, const struct ticks_handlers *handlers,
                          const struct wrap_evidence_tick *tick, enum symbols_adds *adds, struct error *error)
{
    uint64_t places[TICK_PLACES];
    size_t which = 0, all = symbols_stores_to(session->symbols, tick->variable.offset, places, TICK_PLACES);
    size_t n = all < TICK_PLACES ? all : TICK_PLACES;
    for (size_t i = 0; i < handlers->n; i++)
        if (handlers->at[i].low != handlers->systick.low &&
            symbols_reach(session->symbols, &handlers->at[i], 1, places, n, &which))
            return ticks_refuse(session, places[which], "in the handler of another exception", error);
    *adds = all > TICK_PLACES || handlers->systick.low == 0
                ? ADDS_UNSURE
                : tick_is_added(session, handlers, tick, places, n);
    return true;
}

/* --- what may lose one ---------------------------------------------------------------------------------- */

/* More than each takes of what symbols_longest counts, with its waits for memory: a division 12 cycles
 * (Cortex-M4 TRM, table 3-1). The entry of an exception and its return move up to 26 words each. */
enum { CYCLES_OF_EACH = 32, OF_EXCEPTION = 2 * 26 };

static bool takes_longer(struct symbols *symbols, uint64_t handler, uint64_t period)
{
    uint64_t longest = symbols_longest(symbols, handler);
    return longest > UINT32_MAX || (longest + OF_EXCEPTION) * CYCLES_OF_EACH >= period;
}

/* Whether what the ranges run may stop SysTick or its interrupt, or take back a tick that waits. */
static bool may_switch_tick(struct session *session, const struct extent *ranges, size_t n, uint64_t *at)
{
    enum { ENABLE = 1, TICKINT = 2 };
    struct counter_switch switches[] = {{.word = SYST_CSR, .on = ENABLE | TICKINT},
                                        {.word = ICSR, .strikes = ICSR_PENDSTCLR},
                                        {.word = VTOR, .each = true}};
    size_t which = 0;
    symbols_find_switches(session->symbols, switches, sizeof switches / sizeof *switches);
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++) {
        bool all = switches[i].n_changes <= COUNTER_CHANGES;
        size_t n_changes = all ? switches[i].n_changes : COUNTER_CHANGES;
        *at = switches[i].changes[0];
        if (!all || symbols_reach(session->symbols, ranges, n, switches[i].changes, n_changes, &which)) {
            *at = switches[i].changes[which];
            return true;
        }
    }
    return false;
}

/*
 * Only one tick can be pending. None is lost if nothing but SysTick's handler interrupts what is measured,
 * which changes no mask: then it holds that handler off all the time or never, as the ticks themselves show
 * (widen.c). "": so it is. The rest of such a proof, as priorities and masks around, is left out.
 */
static void find_loss(struct session *session, const struct ticks_handlers *handlers,
                      const struct extent *code, char *out, size_t size)
{
    const struct extent ranges[] = {handlers->systick, *code};
    uint64_t at = 0, period = counter_modulus(&session->device.reading.counters[0]);
    struct symbols *symbols = session->symbols;
    const char *why = NULL;
    char place[256];
    out[0] = '\0';
    if (code->low == 0 || !own_code_keeps_handlers(session)) {
        snprintf(out, size, "the code does not show what may run");
        return;
    }
    if (has_other_handler(session, handlers, &at))
        why = "is another handler, which may hold SysTick's off";
    else if (symbols_reach_may_mask(symbols, ranges, 2, &at))
        why = "may hold interrupts off, or go where the ELF shows no code";
    else if (may_switch_tick(session, ranges, 2, &at))
        why = "may switch SysTick or its interrupt";
    else if (takes_longer(symbols, at = handlers->systick.low, period))
        why = "may take longer than a period";
    session_place(session, at, place, sizeof place);
    if (why != NULL)
        snprintf(out, size, "%.100s %s", place, why);
}

bool ticks_judge(struct session *session, const struct wrap_evidence_tick *tick,
                 struct wrap_evidence *evidence, struct error *error)
{
    struct ticks_handlers handlers;
    char text[256], why[192] = "";
    ticks_read(session, &handlers);
    enum symbols_adds adds = ADDS_UNSURE;
    if (!check_writers(session, &handlers, tick, &adds, error))
        return false;
    evidence->unproved = adds < ADDS_SOMETIMES;
    if (adds == ADDS_SOMETIMES)
        snprintf(why, sizeof why, "SysTick's handler may not count each tick");
    else if (!evidence->unproved)
        find_loss(session, &handlers, &session->measured.inside, why, sizeof why);
    evidence->may_lose = evidence->unproved || why[0] != '\0';
    if (evidence->unproved)
        snprintf(text, sizeof text,
                 "--tick %.64s proves nothing: the code does not show that SysTick's handler alone counts "
                 "it, by %" PRIu64 " each time",
                 session->request->tick, tick->each);
    else if (evidence->may_lose)
        snprintf(text, sizeof text, "%.150s: ticks may be lost, and totals by ticks are lower bounds", why);
    else
        snprintf(
            text, sizeof text,
            "an instruction that takes longer than SysTick's period, as one that erases flash, is not seen");
    struct counter_block *block = session->device.block;
    if (strstr(block->note, text) == NULL)
        text_join(block->note, sizeof block->note, "; ", text);
    return true;
}
