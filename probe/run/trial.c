/* SPDX-License-Identifier: MIT */
#include "run/trial.h"

#include "base/arm_debug.h"
#include "base/values.h"
#include "cores/architectures.h"
#include "measure/plausible.h"
#include "measure/widen.h"
#include "report/number.h"
#include "run/program.h"
#include "run/values.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_HANDLER = 2,
    FIRST_FAULT,
    VECTOR_SVC = 11,
    VECTOR_INTERRUPT = 16,
    INTERRUPTS = 32
}; /* the NMI, faults, SVC */
enum { SEGMENTS = 32, TABLE_ALIGNED = 0x80 };

static size_t places_of(const struct session *session, uint64_t *out)
{
    const struct device *device = &session->device;
    size_t n = 0;
    for (size_t i = 0; i < device->n_changes; i++)
        if (device->block != NULL && device->changes[i].kind == device->block->kind)
            out[n++] = device->changes[i].at;
    return n;
}

void own_code_measured(struct session *session, struct named_region *named, bool may_watch)
{
    const struct region *region = &named->region;
    own_code_doubts(session, named);
    session->measured.region = named;
    session->measured.inside = region_code(named);
    session->measured.may_watch = may_watch && (region->to_return || region->start != region->end);
}

/* "writes.c:96 (write_it+0x8) writes DWT_CYCCNT" */
static void own_code_describe(const struct session *session, uint64_t at, char *out, size_t size)
{
    const struct device *device = &session->device;
    char place[256];
    const char *name = "";
    for (size_t i = 0; i < device->n_changes; i++)
        if (device->changes[i].kind == device->block->kind && device->changes[i].at == at)
            name = device->changes[i].name;
    session_place(session, at, place, sizeof place);
    snprintf(out, size, "%.80s writes %.24s", place, name);
}

bool own_code_writes_inside(const struct session *session, const struct extent *ranges, size_t n, char *out,
                            size_t size)
{
    uint64_t places[DEVICE_CHANGES];
    size_t n_places = places_of(session, places), which = 0;
    if (n_places == 0 || !symbols_reach(session->symbols, ranges, n, places, n_places, &which))
        return false;
    own_code_describe(session, places[which], out, size);
    return true;
}

/* Where the ELF has, in a part that is constant, what the target shows at address 0: there flash is seen
 * again, on many chips. 0: nowhere. */
static uint64_t alias_of_0(struct session *session)
{
    struct step items[VECTOR_INTERRUPT];
    uint64_t results[VECTOR_INTERRUPT];
    struct steps list = {.items = items, .room = VECTOR_INTERRUPT};
    struct segment segments[SEGMENTS];
    struct deadline deadline = session_deadline(session);
    struct error unread = {0};
    uint8_t found[4 * VECTOR_INTERRUPT];
    size_t n = symbols_segments(session->symbols, segments, SEGMENTS);
    for (size_t i = 0; i < VECTOR_INTERRUPT; i++)
        steps_add(&list, step_read(core_word(&session->device.chosen->core, 4 * i)));
    if (!ledger_read_list(session->device.ledger, &list, results, &deadline, &unread))
        return 0;
    for (size_t i = 0; i < sizeof found; i++)
        found[i] = (uint8_t)(results[i / 4] >> 8 * (i % 4));
    for (size_t i = 0; i < n && i < SEGMENTS; i++)
        for (size_t at = 0; at + sizeof found <= segments[i].size; at += TABLE_ALIGNED)
            if (memcmp(segments[i].bytes + at, found, sizeof found) == 0)
                return segments[i].address + at;
    return 0;
}

/* Where its vectors are, and how many: by the chip's lines, or less, as its table is shorter. *until: the end
 * of what the ELF shows as constant; 0: it may be written. */
static bool find_vectors(struct session *session, uint64_t *table, size_t *n, uint64_t *until)
{
    const struct core *core = &session->device.chosen->core;
    struct deadline deadline = session_deadline(session);
    struct error unread = {0};
    uint64_t lines;
    if (!core_has(core, SYSTEM_SPACE) ||
        !ledger_read(session->device.ledger, cortex_m_vectors(core), table, &deadline, &unread) ||
        !ledger_read(session->device.ledger, cortex_m_lines(core), &lines, &deadline, &unread))
        return false;
    *table &= ~UINT64_C(0x7F);
    *n = VECTOR_INTERRUPT + INTERRUPTS * ((lines & 0xF) + 1);
    *n = *n < OWN_CODE_VECTORS ? *n : OWN_CODE_VECTORS;
    *until = session->symbols != NULL ? symbols_constant_until(session->symbols, *table) : 0;
    if (*until == 0 && *table == 0 && session->symbols != NULL) {
        uint64_t alias = alias_of_0(session);
        *until = alias != 0 ? symbols_constant_until(session->symbols, alias) : 0;
        *until -= *until > alias ? alias : *until;
    }
    if (*until > *table && (*until - *table) / 4 < *n)
        *n = (size_t)(*until - *table) / 4;
    return true;
}

bool own_code_keeps_handlers(struct session *session)
{
    uint64_t table, until;
    size_t n;
    return session->symbols != NULL && find_vectors(session, &table, &n, &until) && until != 0;
}

size_t own_code_handlers(struct session *session, struct extent *out, uint16_t *numbers)
{
    const struct core *core = &session->device.chosen->core;
    struct deadline deadline = session_deadline(session);
    struct step items[OWN_CODE_VECTORS];
    uint64_t results[OWN_CODE_VECTORS], table, until;
    struct steps list = {.items = items, .room = OWN_CODE_VECTORS};
    struct error unread = {0};
    size_t n = 0, all = 0;
    if (!find_vectors(session, &table, &all, &until))
        return 0;
    for (size_t i = FIRST_HANDLER; i < all; i++)
        steps_add(&list, step_read(core_word(core, table + 4 * i)));
    if (!ledger_read_list(session->device.ledger, &list, results, &deadline, &unread))
        return 0;
    for (size_t i = FIRST_HANDLER; i < all; i++) {
        uint64_t entry = results[i - FIRST_HANDLER] & ~UINT64_C(1);
        bool is_fault = i >= FIRST_FAULT && i < VECTOR_SVC && session->symbols != NULL;
        if (entry == results[i - FIRST_HANDLER] || (is_fault && !symbols_may_return(session->symbols, entry)))
            continue;
        if (numbers != NULL)
            numbers[n] = (uint16_t)i;
        out[n++] = (struct extent){.low = entry};
    }
    return n;
}

static bool own_code_refuse(struct session *session, const char *what, const char *where, struct error *error)
{
    memcpy(session->measured.own_write, what, sizeof session->measured.own_write);
    return error_set(error, ERROR_WRITER_SOUGHT, "the program itself can change %s: %s, %s",
                     session->device.n_emits > 0 ? "what the trace depends on" : session->device.block->text,
                     what, where);
}

bool own_code_watch(struct session *session, const struct error *why)
{
    if (why->kind != ERROR_WRITER_SOUGHT || !session->measured.may_watch || session->measured.watches)
        return false;
    session->measured.watches = true;
    return true;
}

/* Which registers the store may go to, of those in memory. */
static void add_words(const struct session *session, struct region_writer *writer)
{
    const struct device *device = &session->device;
    if (!symbols_store_at(session->symbols, writer->at, &writer->store))
        return;
    for (size_t i = 0; i < device->n_changes; i++) {
        const struct counter_change *one = &device->changes[i];
        if (one->kind != device->block->kind || one->at != writer->at)
            continue;
        if (one->word == 0 || writer->n_words == REGION_WORDS) {
            writer->n_words = 0;
            return;
        }
        writer->words[writer->n_words++] = one->word;
    }
}

/* "main.c:96 (reset_timer+0x8) writes DWT_CYCCNT"; of one that leads to it, but is none itself: "..., and it
 * is reached from main.c:20 (fir+0x10)". */
static void describe_stop(const struct session *session, uint64_t stop, bool is_place, uint64_t leads_to,
                          struct region_writer *out)
{
    struct location at;
    char place[112], what[112];
    symbols_describe(session->symbols, stop, &at);
    *out = (struct region_writer){.at = stop, .is_thumb = at.isa == ISA_THUMB};
    if (is_place)
        add_words(session, out);
    own_code_describe(session, is_place ? stop : leads_to, what, sizeof what);
    session_place(session, stop, place, sizeof place);
    snprintf(out->what, sizeof out->what, "%s%s%.80s", what, is_place ? "" : ", and it is reached from ",
             is_place ? "" : place);
}

static bool is_writing_place(const uint64_t *places, size_t n, uint64_t place)
{
    for (size_t i = 0; i < n; i++)
        if (places[i] == place)
            return true;
    return false;
}

bool own_code_watch_region(struct session *session, const struct extent *code, struct region *region,
                           uint64_t *first)
{
    struct extent ranges[1 + OWN_CODE_VECTORS];
    uint64_t places[DEVICE_CHANGES], stops[REGION_WRITERS];
    size_t n_places = places_of(session, places), n_ranges = 0, which = 0;
    region->n_writers = 0;
    if (code->low != 0)
        ranges[n_ranges++] = *code;
    n_ranges += own_code_handlers(session, ranges + n_ranges, NULL);
    size_t n =
        symbols_stops_before(session->symbols, ranges, n_ranges, places, n_places, stops, REGION_WRITERS);
    for (size_t i = 0; i < n; i++)
        if (n > REGION_WRITERS || stops[i] == region->start) /* the core is halted there when they are set */
            return false;
    (void)symbols_reach(session->symbols, ranges, n_ranges, places, n_places, &which);
    *first = places[which];
    for (size_t i = 0; i < n; i++)
        describe_stop(session, stops[i], is_writing_place(places, n_places, stops[i]), *first,
                      &region->writers[i]);
    region->n_writers = n;
    return true;
}

static void own_code_note(struct session *session, uint64_t first, size_t n, const char *means)
{
    struct counter_block *block = session->device.block;
    char text[sizeof block->note], *what = session->measured.own_write;
    own_code_describe(session, first, what, sizeof session->measured.own_write);
    snprintf(text, sizeof text, "%s%s: %s", what,
             n <= 1                        ? ""
             : session->device.n_emits > 0 ? " (and others)"
                                           : " (others: doctor lists them)",
             means);
    if (strstr(block->note, what) == NULL)
        text_join(block->note, sizeof block->note, "; ", text);
}

bool own_code_check(struct session *session, struct error *error)
{
    struct extent handlers[OWN_CODE_VECTORS];
    uint64_t places[DEVICE_CHANGES];
    char what[112];
    size_t n = places_of(session, places);
    session->measured.own_write[0] = '\0';
    session->measured.may_write = false;
    if (session->measured.region != NULL)
        session->measured.region->region.n_writers = 0;
    if (n == 0)
        return true;
    uint64_t first = places[0];
    if (session->measured.watches && session->measured.region != NULL &&
        own_code_watch_region(session, &session->measured.inside, &session->measured.region->region,
                              &first) &&
        session->measured.region->region.n_writers > 0) {
        own_code_note(session, first, n, "a hit in which it runs ends the run");
        return true;
    }
    size_t n_handlers = 0, which = 0;
    if (session->measured.region != NULL || session->measured.by_parts)
        n_handlers = own_code_handlers(session, handlers, NULL);
    if (session->measured.region != NULL) {
        if (session->measured.inside.low != 0 &&
            own_code_writes_inside(session, &session->measured.inside, 1, what, sizeof what))
            return own_code_refuse(session, what, "which what is measured may run", error);
        if (own_code_writes_inside(session, handlers, n_handlers, what, sizeof what))
            return own_code_refuse(session, what, "which an exception handler may run", error);
    }
    bool may_run = session->measured.inside.low == 0 ||
                   symbols_reach_is_open(session->symbols, &session->measured.inside);
    if (session->measured.by_parts)
        may_run = symbols_reach(session->symbols, handlers, n_handlers, places, n, &which);
    session->measured.may_write = may_run;
    if (may_run)
        own_code_note(session, places[which], n, "only a count in which it runs would be wrong");
    else
        own_code_describe(session, first, session->measured.own_write, sizeof session->measured.own_write);
    return true;
}

void own_code_doubt(const struct session *session, const struct region *region, char doubt[DOUBT_ROOM])
{
    char text[160];
    snprintf(text, sizeof text, "%s: nothing shows whether it runs in a hit", session->measured.own_write);
    if (session->measured.may_write)
        doubt_add(doubt, text);
    program_doubt(session, region, doubt);
}

/* --- sleep ---------------------------------------------------------------------------------------------- */

/* Without memory they stay unknown. */
static void find_places(struct session *session, struct code_places *out,
                        size_t (*find)(struct symbols *, uint64_t *, size_t))
{
    if (out->known || session->symbols == NULL)
        return;
    out->n = find(session->symbols, NULL, 0);
    out->at = calloc(out->n + 1, sizeof *out->at);
    out->known = out->at != NULL;
    out->n = out->known ? find(session->symbols, out->at, out->n) : 0;
}

/* Whether the code, or what it calls, has one: "main.c:96 (idle+0x8)". */
static bool find_place_in(struct session *session, const struct extent *code,
                          const struct code_places *places, char *out, size_t size)
{
    size_t which = 0;
    if (code->low == 0 || places->n == 0 ||
        !symbols_reach(session->symbols, code, 1, places->at, places->n, &which))
        return false;
    session_place(session, places->at[which], out, size);
    return true;
}

enum sampler_place own_code_sampled(void *context, uint64_t address, uint64_t *sleeps_at)
{
    enum { LONGEST = 4 }; /* bytes of an instruction */
    struct session *session = context;
    bool sleeps = false;
    find_places(session, &session->sleeps, symbols_sleeps);
    for (size_t i = 0; i < session->sleeps.n; i++) {
        uint64_t at = session->sleeps.at[i];
        if (address < at || address - at > LONGEST || (sleeps && at < *sleeps_at))
            continue;
        *sleeps_at = at;
        sleeps = true;
    }
    if (sleeps)
        return SAMPLER_SLEEPS;
    bool known = session->sleeps.known && symbols_is_code(session->symbols, address);
    return known ? SAMPLER_WORKS : SAMPLER_UNKNOWN;
}

void own_code_sleep_note(struct session *session, const struct extent *code, char *out, size_t size)
{
    char place[256];
    out[0] = '\0';
    find_places(session, &session->sleeps, symbols_sleeps);
    if (find_place_in(session, code, &session->sleeps, place, sizeof place))
        snprintf(out, size,
                 "%.120s may sleep (WFI or WFE): its clock may go on then and count too many cycles, or stop",
                 place);
}

/* --- a debugger ----------------------------------------------------------------------------------------- */

static size_t asks_in(struct symbols *symbols, uint64_t *out, size_t room)
{
    return symbols_loads_of(symbols, DHCSR, out, room);
}

void own_code_debugger_note(struct session *session, const struct extent *code, char *out, size_t size)
{
    char place[256];
    out[0] = '\0';
    find_places(session, &session->asks, asks_in);
    if (find_place_in(session, code, &session->asks, place, sizeof place))
        snprintf(out, size, "%.120s reads DHCSR, which shows a debugger: it may do other work without one",
                 place);
}

/* --- hardware ------------------------------------------------------------------------------------------- */

/* Without those for what stops while the core is halted: RP2040 datasheet 4.6.5 (DBGPAUSE). False: no memory.
 */
static bool find_waits(struct session *session)
{
    struct deadline deadline = session_deadline(session);
    size_t kept = 0;
    if (session->waits.known)
        return true;
    if (!symbols_waits(session->symbols, &session->waits.items, &session->waits.n))
        return false;
    session->waits.known = true;
    for (size_t i = 0; i < session->waits.n; i++)
        if (!wrap_evidence_is_timer(&session->device, session->waits.items[i].word, &deadline))
            session->waits.items[kept++] = session->waits.items[i];
    session->waits.n = kept;
    return true;
}

/* One that the code runs or, if it is not known what runs, one that it may run; NULL: there is none. */
static const struct symbols_wait *find_wait(struct session *session, const struct extent *code, bool *may)
{
    size_t which = 0;
    uint64_t *places = calloc(session->waits.n + 1, sizeof *places);
    for (size_t i = 0; places != NULL && i < session->waits.n; i++)
        places[i] = session->waits.items[i].at;
    bool found = places != NULL && code->low != 0 &&
                 symbols_reach(session->symbols, code, 1, places, session->waits.n, &which);
    free(places);
    *may = !found;
    if (session->waits.n == 0 || (!found && code->low != 0 && !symbols_reach_is_open(session->symbols, code)))
        return NULL;
    return &session->waits.items[which];
}

/* Armv6-M, which has no trace of the DWT, has SysTick alone. */
static bool may_trace(const struct device *device)
{
    const struct device_core *core = device->chosen;
    for (size_t i = 0; i < core->n_blocks; i++)
        if (core->blocks[i].kind != &systick_kind && core->blocks[i].unusable[0] == '\0')
            return true;
    return false;
}

/* Of a region that may find the hardware ready, as the halt at its start takes longer than a wait. */
static void add_wait_doubt(struct session *session, struct named_region *named)
{
    const struct core *core = &session->device.chosen->core;
    const struct extent code = region_code(named);
    const struct symbols_wait *wait = NULL;
    char place[256], word[32] = "", text[256];
    bool may = false;
    if (session->symbols == NULL || session->request->no_halt || !core_has(core, SYSTEM_SPACE))
        return;
    if (!find_waits(session)) {
        doubt_add(named->region.doubt, "memory was too short to search the code for waits for hardware");
        return;
    }
    wait = find_wait(session, &code, &may);
    if (wait == NULL)
        return;
    session_place(session, wait->at, place, sizeof place);
    if (wait->word != 0)
        snprintf(word, sizeof word, " (0x%08" PRIX64 ")", wait->word);
    snprintf(text, sizeof text,
             "%.80s waits for hardware%s%s, which goes on while the start is halted: the wait may be too "
             "short%s",
             place, word, may ? " and may run in a hit" : "",
             may_trace(&session->device) ? " (try --no-halt)" : "");
    doubt_add(named->region.doubt, text);
}

void own_code_doubts(struct session *session, struct named_region *named)
{
    session_add_doubt(session, named);
    add_wait_doubt(session, named);
}

/* ---- trial */

enum { CLOCK_MS = 60 };

static bool clock_from_program(struct session *session, struct clock *out)
{
    uint64_t address, size;
    uint32_t value;
    struct deadline deadline = session_deadline(session);
    if (session->symbols == NULL || !symbols_object(session->symbols, "SystemCoreClock", &address, &size) ||
        size != 4 || !session_look(session, &session->device.chosen->core, address, &deadline, &value) ||
        value < 1000 || value > 2000000000)
        return false;
    *out = clock_given((double)value, "SystemCoreClock", core_fastest_hz(&session->device.chosen->core));
    session->clock.at = address;
    session->clock.was = value;
    return true;
}

/* The program may have switched its clock since. What cannot be read shows nothing. */
const char *trial_clock_change(struct session *session)
{
    uint32_t value;
    char before[NUMBER_ROOM], after[NUMBER_ROOM];
    struct deadline deadline = session_last_deadline(session);
    if (session->clock.at == 0 || session->clock.change[0] != '\0' ||
        !session_look(session, &session->device.chosen->core, session->clock.at, &deadline, &value) ||
        value == session->clock.was)
        return session->clock.change;
    number_frequency(before, sizeof before, (double)session->clock.was);
    number_frequency(after, sizeof after, (double)value);
    snprintf(session->clock.change, sizeof session->clock.change,
             "SystemCoreClock went from %.24s to %.24s during the run", before, after);
    return session->clock.change;
}

/* Without a halt it is not known that it slept inside of a hit. */
void trial_end_conditions(struct session *session, struct conditions *conditions)
{
    bool slept = session->device.slept && !session->request->no_halt;
    const char *why = session->measured.region == NULL
                          ? NULL
                          : conditions_no_time(conditions, slept, session->measured.may_sleep);
    if (session->clock.change[0] == '\0' && why != NULL) {
        snprintf(session->clock.change, sizeof session->clock.change, "%s", why);
        session->clock.stops = true;
    }
    if (session->clock.change[0] == '\0')
        return;
    conditions_leave_time(conditions, session->clock.change);
    if (!session->clock.stops)
        conditions->counter_hz = 0;
}

bool trial_clock(struct session *session, struct clock *out, struct error *error)
{
    const struct request *request = session->request;
    /* Both are the core's clock, which a counter of other things does not show */
    bool counts_cycles = session->device.block->counts_cycles;
    bool claimed = request->freq_hz > 0 && (counts_cycles || session->device.remote != NULL);
    if (claimed)
        *out = clock_given(request->freq_hz, "--freq", core_fastest_hz(&session->device.chosen->core));
    else
        claimed = counts_cycles && clock_from_program(session, out);
    find_places(session, &session->sleeps, symbols_sleeps);
    bool may_sleep = !session->sleeps.known || session->sleeps.n > 0;
    if (claimed) {
        out->may_sleep = may_sleep;
        return true;
    }
    /* The counters can be read only between two halts, or they run on another clock, or SysTick counts its
     * reference clock, which may have any rate */
    if (!device_sees_running(&session->device) || session->device.remote != NULL ||
        (!counts_cycles && session->device.block->kind == &systick_kind)) {
        *out = clock_unknown(core_fastest_hz(&session->device.chosen->core));
        return true;
    }
    struct deadline deadline = session_deadline(session);
    bool ok = clock_measure(&session->device, CLOCK_MS, out, &deadline, error);
    out->may_sleep = may_sleep;
    return ok;
}

bool trial_trace_clock(struct session *session, struct clock *clock, double *awake_hz, struct error *error)
{
    enum { LONGEST_MS = 1000, LOOKS = 8, LOOK_MS = 20 };
    static const double well = 0.005;
    struct deadline deadline = session_deadline(session);
    struct clock seen, fastest = *clock;
    *awake_hz = clock->hz;
    if (!(clock->error_hz > 0) && !clock->uneven)
        return true;
    for (int ms = 4 * CLOCK_MS; ms <= LONGEST_MS && clock->error_hz > well * clock->hz; ms *= 2) {
        if (!clock_measure(&session->device, ms, &seen, &deadline, error))
            return false;
        if (seen.hz > 0 && seen.error_hz / seen.hz < clock->error_hz / clock->hz)
            *clock = seen;
    }
    for (unsigned i = 0; i < LOOKS; i++) {
        if (!clock_measure(&session->device, LOOK_MS, &seen, &deadline, error))
            return false;
        if (seen.hz - seen.error_hz > fastest.hz - fastest.error_hz)
            fastest = seen;
    }
    bool slept = fastest.hz - fastest.error_hz > clock->hz + clock->error_hz;
    *awake_hz = slept ? fastest.hz : clock->hz;
    return true;
}

bool trial_trace_ring(const struct session *session, uint64_t *base, uint32_t *bytes, struct error *error)
{
    const char *name = session->request->trace_ram, *colon = name != NULL ? strchr(name, ':') : NULL;
    char number[24];
    uint64_t at = 0, size = 0;
    *bytes = 0;
    if (name == NULL)
        return true;
    if (colon != NULL && name[0] == '*' && (size_t)(colon - name) < sizeof number) {
        snprintf(number, sizeof number, "%.*s", (int)(colon - name - 1), name + 1);
        if (!value_count(number, UINT32_MAX, &at) || !value_count(colon + 1, UINT32_MAX, &size))
            size = 0;
    } else if (session->symbols == NULL || !symbols_object(session->symbols, name, &at, &size)) {
        return error_set(error, ERROR_SYMBOL,
                         "--trace-ram: \"%.64s\" is neither a variable of the ELF nor *ADDRESS:BYTES", name);
    }
    for (uint32_t most = TRACE_RING_MOST; most >= TRACE_RING_LEAST && *bytes == 0; most /= 2) {
        *base = (at + most - 1) / most * most;
        *bytes = *base + most <= at + size ? most : 0;
    }
    if (*bytes > 0)
        return session_check_address(session, *base + *bytes - 1, "--trace-ram", error);
    return error_set(error, ERROR_USAGE,
                     "--trace-ram %.64s: none of its %llu bytes are a ring of %d bytes at a multiple of %d",
                     name, (unsigned long long)size, TRACE_RING_LEAST, TRACE_RING_LEAST);
}

/* A block that is free, or that wraps slowly and can be read while the program uses it. */
static struct counter_block *find_other(const struct device *device)
{
    static const uint64_t SLOW = 1 << 20;
    struct device_core *core = device_counted(device);
    for (size_t i = 0; i < core->n_blocks; i++) {
        struct counter_block *block = &core->blocks[i];
        if (block != device->block && block->unusable[0] == '\0' && block->counts_cycles &&
            counter_modulus(&block->counters[0]) >= SLOW)
            return block;
    }
    return NULL;
}

static bool try_once(struct session *session, struct clock *clock, double *seen_hz, struct error *error)
{
    struct deadline deadline = session_deadline(session);
    session->clock.doubt[0] = '\0';
    if (!own_code_check(session, error) || !trial_clock(session, clock, error) ||
        !plausible_trial(&session->device, clock, seen_hz, &deadline, error) ||
        !wrap_evidence_check_clock(&session->device, clock, &deadline, error))
        return false;
    memcpy(session->clock.doubt, clock->doubt, sizeof session->clock.doubt);
    return true;
}

/* A counter whose reload the program changes counts from stop to stop all the same. */
static bool may_follow(struct session *session, const struct error *why)
{
    return why->kind == ERROR_WRITTEN && !session->polls &&
           device_follow_reload(&session->device, why->subject);
}

static bool trial_follow(struct session *session, struct clock *clock, double *seen_hz, struct error *error)
{
    struct deadline deadline = session_deadline(session);
    return device_take_block(&session->device, session->device.block->kind->name, &deadline, error) &&
           try_once(session, clock, seen_hz, error);
}

bool trial_counter(struct session *session, struct clock *clock, double *seen_hz, struct error *error)
{
    struct error why = {0};
    if (try_once(session, clock, seen_hz, &why))
        return true;
    return may_follow(session, &why) ? trial_follow(session, clock, seen_hz, error) : error_copy(error, &why);
}

bool trial_other(struct session *session, const struct error *why, struct clock *clock, double *seen_hz,
                 struct error *error)
{
    const struct request *request = session->request;
    struct deadline deadline = session_deadline(session);
    const struct counter_block *written = session->device.block;
    struct counter_block *other = find_other(&session->device);
    if (may_follow(session, why))
        return trial_follow(session, clock, seen_hz, error);
    char own_write[sizeof session->measured.own_write];
    memcpy(own_write, session->measured.own_write, sizeof own_write);
    /* The requested events belong to the block that has them */
    if (!error_is_written(why) || other == NULL || request->counter != NULL || request->n_events > 0 ||
        request->n_metrics > 0)
        return error_copy(error, why);
    struct error other_why = {0};
    if (!device_take_block(&session->device, other->kind->name, &deadline, &other_why) ||
        !trial_counter(session, clock, seen_hz, &other_why)) {
        bool no_better = error_is_written(&other_why) || other_why.kind == ERROR_NO_COUNTER;
        memcpy(session->measured.own_write, own_write, sizeof own_write);
        return error_copy(error, no_better ? why : &other_why);
    }
    char note[sizeof other->note];
    snprintf(note, sizeof note, "the counter of %.32s is not used: %s", written->text,
             why->kind == ERROR_WRITER_SOUGHT ? own_write : "something else writes it");
    text_join(other->note, sizeof other->note, "; ", note);
    return true;
}

bool trial_run(struct session *session, struct clock *clock, double *seen_hz, struct error *error)
{
    struct error why = {0}, other = {0}, watched = {0};
    struct deadline deadline = session_deadline(session);
    const struct counter_block *first = session->device.block;
    if (trial_counter(session, clock, seen_hz, &why) || trial_other(session, &why, clock, seen_hz, &other))
        return true;
    if (!own_code_watch(session, &other))
        return error_copy(error, &other);
    if (session->device.block != first &&
        !device_take_block(&session->device, first->kind->name, &deadline, error))
        return false;
    return trial_counter(session, clock, seen_hz, &watched) ||
           trial_other(session, &watched, clock, seen_hz, error);
}
