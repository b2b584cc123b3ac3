/* SPDX-License-Identifier: MIT */
/*
 * A trace buffer on the chip, a TMC (ETF or ETB), as a FIFO that a debugger reads while it captures: DDI
 * 0461B 2.3.2. It gives formatter frames, of which those bytes count that have the ITM's ID. ROM
 * tables name the buffer and the funnels before it.
 */
#include "base/arm_debug.h"
#include "find/coresight.h"
#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    TMC_RSZ = 0x004, /* words */
    TMC_STS = 0x00C,
    TMC_RRD = 0x010,
    TMC_CTL = 0x020,
    TMC_MODE = 0x028,
    TMC_CBUFLEVEL = 0x030, /* words that are held */
    TMC_FFCR = 0x304,
    TMC_CAPTURES = 1,
    TMC_SOFTWARE_FIFO = 1,
    TMC_READY = 1 << 2,
    TMC_MEMORY_FAILED = 1 << 5,
    TMC_FORMATS = 3, /* EnFt, EnTI */
    TMC_FLUSHES = 1 << 6,
    TMC_STOPS_ON_FLUSH = 1 << 12,
    TMC_ROUTES_TO_BUS = 1, /* DEVID.CONFIGTYPE of an ETR, which writes to the program's memory */
};
static const uint32_t tmc_nothing = UINT32_MAX; /* of RRD, never in a frame */

enum { ETF_WORDS = 1024, ETF_STEPS = ETF_WORDS + 2 };
enum { DESIGNER_ARM = 0x43B, DESIGNER_ST = 0x020, DEVTYPE_FUNNEL = 0x12 };

/* Where no register shows which input of which funnel is the ITM's, or what gives the buffer its clock: by
 * the ROM table's own part number, at offsets from it. The last funnel before the pin must be shut, for one
 * without a clock lets nothing go on. RM0433 60.5.8 and table 604; probe-rs' sequence for STM32H7. */
static const struct etf_chip {
    uint16_t designer, parts[3];
    const char *name;
    uint32_t control, clocks, pin_clock;         /* DBGMCU_CR: D1DBGCKEN and D3DBGCKEN; TRACECLKEN */
    uint32_t buffer, funnel, inputs, pin_funnel; /* inputs: of the Cortex-M7's ITM */
} etf_chips[] = {{.designer = DESIGNER_ST,
                  .parts = {0x450, 0x480, 0x483},
                  .name = " of an STM32H7",
                  .control = 0x1004,
                  .clocks = 3 << 21,
                  .pin_clock = 1 << 20,
                  .buffer = 0x14000,
                  .funnel = 0x13000,
                  .inputs = 1 << 1,
                  .pin_funnel = 0x4000}};

/* Of an STM32H745, 747, 755 and 757 no source names the input of the Cortex-M4's ITM. */
enum { CORE_OF_INPUTS = 0xC27, CPUID_PART = 4 };

static struct address etf_word(const struct trace *trace, uint64_t at)
{
    return (struct address){.space = SPACE_MEMORY, .size = 4, .unit = trace->etf.unit, .offset = at};
}

static struct address tmc_word(const struct trace *trace, uint64_t offset)
{
    return etf_word(trace, trace->etf.base + offset);
}

/* ---- where it is */

static bool component_is_tmc(const struct component *component)
{
    static const uint16_t parts[] = {0x961, 0x9E9, 0x9EA}; /* the last two: of CoreSight SoC-600 */
    bool known = false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        known = known || component->part == parts[i];
    return component->readable && component->class == CLASS_CORESIGHT &&
           component->designer == DESIGNER_ARM && known;
}

static const struct etf_chip *chip_of_table(const struct component *table)
{
    for (size_t i = 0; i < sizeof etf_chips / sizeof *etf_chips; i++)
        for (size_t k = 0; k < sizeof etf_chips->parts / sizeof *etf_chips->parts; k++)
            if (table->readable && table->designer == etf_chips[i].designer &&
                table->part == etf_chips[i].parts[k])
                return &etf_chips[i];
    return NULL;
}

static bool etf_look_at(struct trace *trace, uint16_t unit, const struct coresight *bus,
                        const struct deadline *deadline)
{
    struct etf *etf = &trace->etf;
    const struct etf_chip *chip = bus->n > 0 ? chip_of_table(&bus->components[0]) : NULL;
    *etf = (struct etf){.unit = unit};
    for (size_t i = 0; i < bus->n; i++) {
        const struct component *component = &bus->components[i];
        struct error unread = {0};
        uint64_t id;
        if (component->readable && component->devtype == DEVTYPE_FUNNEL && etf->n_funnels < ETF_FUNNELS)
            etf->funnels[etf->n_funnels++] = component->base;
        if (etf->base == 0 && component_is_tmc(component) &&
            ledger_read(trace->device->ledger, etf_word(trace, component->base + COMPONENT_DEVID), &id,
                        deadline, &unread) &&
            (id >> 6 & 3) != TMC_ROUTES_TO_BUS)
            etf->base = component->base;
    }
    etf->table = chip != NULL ? bus->components[0].base : 0;
    if (chip != NULL) /* without its clock it cannot say what it is */
        etf->base = etf->table + chip->buffer;
    etf->name = chip != NULL ? chip->name : "";
    etf->is_other_cores =
        chip != NULL && (trace->device->chosen->core.id >> CPUID_PART & 0xFFF) != CORE_OF_INPUTS;
    return etf->base != 0;
}

/* The table of the core's own access port, which discovery reads only as far as it has to. */
static bool etf_look_next_to_core(struct trace *trace, const struct deadline *deadline)
{
    const struct device_core *chosen = trace->device->chosen;
    struct coresight *bus = calloc(1, sizeof *bus);
    struct error unread = {0};
    uint64_t rom;
    bool found = bus != NULL && discovery_rom(trace->device->ledger, &chosen->view, &rom, deadline) &&
                 coresight_walk(trace->device->ledger, chosen->core.unit, rom, bus, deadline, &unread) &&
                 etf_look_at(trace, chosen->core.unit, bus, deadline);
    free(bus);
    return found;
}

static bool etf_find(struct trace *trace, char *where, const struct deadline *deadline)
{
    const struct device *device = trace->device;
    bool found = false;
    for (size_t i = 0; i < device->n_buses && !found; i++)
        found = etf_look_at(trace, device->buses[i].unit, &device->buses[i].coresight, deadline);
    if (!found && !etf_look_next_to_core(trace, deadline))
        return false;
    snprintf(where, sizeof trace->where, "the trace buffer%s", trace->etf.name);
    return true;
}

/* ---- the way to it */

static bool funnel_set(struct trace *trace, uint64_t base, uint32_t inputs, const struct deadline *deadline,
                       struct error *error)
{
    const struct setting open =
        core_open_lock(etf_word(trace, base + CORESIGHT_LAR), etf_word(trace, base + CORESIGHT_LSR));
    const struct setting set = {.at = etf_word(trace, base + FUNNEL_CTRL),
                                .test = FUNNEL_INPUTS,
                                .keep = ~(uint64_t)FUNNEL_INPUTS,
                                .set = inputs,
                                .watched = "a trace funnel"};
    return trace_set(trace, open, deadline, error) && trace_set(trace, set, deadline, error);
}

static bool etf_set_chip(struct trace *trace, const struct etf_chip *chip, const struct deadline *deadline,
                         struct error *error)
{
    const struct setting clocks = {.at = etf_word(trace, trace->etf.table + chip->control),
                                   .test = chip->clocks,
                                   .keep = UINT64_MAX,
                                   .set = chip->clocks,
                                   .restore = {.how = RESTORE_BITS, .mask = chip->clocks},
                                   .watched = "DBGMCU_CR"};
    uint64_t control, inputs;
    if (!trace_set(trace, clocks, deadline, error) ||
        !ledger_read(trace->device->ledger, clocks.at, &control, deadline, error) ||
        !ledger_read(trace->device->ledger,
                     etf_word(trace, trace->etf.table + chip->pin_funnel + FUNNEL_CTRL), &inputs, deadline,
                     error))
        return false;
    bool prints_by_pin = (control & chip->pin_clock) != 0 && (inputs & FUNNEL_INPUTS) != 0;
    return (prints_by_pin || funnel_set(trace, trace->etf.table + chip->pin_funnel, 0, deadline, error)) &&
           funnel_set(trace, trace->etf.table + chip->funnel, chip->inputs, deadline, error);
}

/* DEVID.PORTCOUNT: a funnel has enables for its ports alone, as UG1087 shows of one with three. */
static bool funnel_open_all(struct trace *trace, uint64_t base, const struct deadline *deadline,
                            struct error *error)
{
    enum { PORT_COUNT = 0xF, PORTS = 8 };
    uint64_t id;
    if (!ledger_read(trace->device->ledger, etf_word(trace, base + COMPONENT_DEVID), &id, deadline, error))
        return false;
    unsigned ports = id & PORT_COUNT;
    return funnel_set(trace, base, (1U << (ports > 0 && ports < PORTS ? ports : PORTS)) - 1, deadline, error);
}

/* Elsewhere all inputs are let through: bytes of other sources have another ID. */
static bool etf_set_way(struct trace *trace, const struct deadline *deadline, struct error *error)
{
    const struct etf *etf = &trace->etf;
    struct component table;
    if (etf->table != 0)
        return coresight_look(trace->device->ledger, etf->unit, etf->table, &table, deadline, error) &&
               etf_set_chip(trace, chip_of_table(&table), deadline, error);
    for (size_t i = 0; i < etf->n_funnels; i++)
        if (!funnel_open_all(trace, etf->funnels[i], deadline, error))
            return false;
    return true;
}

/* ---- the buffer */

static bool tmc_check(struct trace *trace, const struct deadline *deadline, struct error *error)
{
    struct ledger *ledger = trace->device->ledger;
    struct component tmc;
    uint64_t captures, words;
    if (!coresight_look(ledger, trace->etf.unit, trace->etf.base, &tmc, deadline, error))
        return false;
    if (!component_is_tmc(&tmc))
        return error_set(error, ERROR_NO_COUNTER,
                         "no trace buffer answers at 0x%08llX, where this chip has one",
                         (unsigned long long)trace->etf.base);
    if (!ledger_read(ledger, tmc_word(trace, TMC_CTL), &captures, deadline, error) ||
        !ledger_read(ledger, tmc_word(trace, TMC_RSZ), &words, deadline, error))
        return false;
    if ((captures & TMC_CAPTURES) != 0)
        return error_advise(error, ERROR_NO_COUNTER, "--trace swo is another way; or measure without that.",
                            "something else captures with %s already (TMC_CTL is 1)", trace->where);
    snprintf(trace->where, sizeof trace->where, "the trace buffer%s (%llu KB)", trace->etf.name,
             (unsigned long long)(words / (1024 / 4)));
    return true;
}

/* It is ready when it is off and empty: a run that did not reach its end may have left words in it. */
static bool tmc_await_ready(struct trace *trace, const struct deadline *deadline, struct error *error)
{
    enum { AT_ONCE = 256, TRIES = 4096 };
    for (unsigned i = 0; i < TRIES && !deadline_passed(deadline); i++) {
        struct steps list = {.items = trace->steps, .room = ETF_STEPS};
        steps_add(&list, step_read(tmc_word(trace, TMC_STS)));
        for (unsigned k = 0; i > 0 && k < AT_ONCE; k++)
            steps_add(&list, step_read(tmc_word(trace, TMC_RRD)));
        if (!ledger_run(trace->device->ledger, &list, trace->words, deadline, error))
            return false;
        if ((trace->words[0] & TMC_READY) != 0)
            return true;
    }
    return error_set(error, ERROR_NO_COUNTER, "%s does not become ready (TMC_STS.TMCReady)", trace->where);
}

/* Its switch is held last, and so put back first: the others can be written only while it is off. */
static bool etf_open(struct trace *trace, const struct deadline *deadline, struct error *error)
{
    struct trace_reason reason;
    if (trace->etf.is_other_cores && trace_find_reason(trace, &reason, deadline))
        return error_advise(error, ERROR_NO_COUNTER, reason.advice, "%s", reason.text);
    trace->steps = calloc(ETF_STEPS, sizeof *trace->steps);
    trace->words = calloc(ETF_STEPS, sizeof *trace->words);
    if (trace->steps == NULL || trace->words == NULL)
        return error_memory(error);
    if (!etf_set_way(trace, deadline, error) ||
        !trace_set(trace, core_open_lock(tmc_word(trace, CORESIGHT_LAR), tmc_word(trace, CORESIGHT_LSR)),
                   deadline, error) ||
        !tmc_check(trace, deadline, error) || !tmc_await_ready(trace, deadline, error))
        return false;
    const struct setting settings[] = {
        {.at = tmc_word(trace, TMC_MODE), .test = 3, .set = TMC_SOFTWARE_FIFO},
        {.at = tmc_word(trace, TMC_FFCR), .set = TMC_FORMATS, .always = true},
        {.at = tmc_word(trace, TMC_CTL), .test = TMC_CAPTURES, .set = TMC_CAPTURES, .watched = "TMC_CTL"}};
    return trace_set_each(trace, settings, sizeof settings / sizeof *settings, deadline, error);
}

static size_t etf_take_word(struct trace *trace, uint32_t word, uint8_t *out)
{
    struct etf *etf = &trace->etf;
    struct trace_byte bytes[TRACE_FRAME_BYTES];
    size_t n = 0;
    for (unsigned i = 0; i < 4; i++)
        etf->frame[etf->n_frame++] = (uint8_t)(word >> 8 * i);
    if (etf->n_frame < TRACE_FRAME)
        return 0;
    size_t all = trace_frame_take(&etf->id, etf->frame, bytes);
    for (size_t i = 0; i < all; i++)
        if (bytes[i].id == trace->bus_id)
            out[n++] = bytes[i].byte;
    etf->n_frame = 0;
    return n;
}

/* As many words as the list before this one found in it. A full one lets the ITM wait, whose packets then say
 * what was lost. */
static bool etf_read(struct trace *trace, const struct deadline *deadline, struct error *error)
{
    struct steps list = {.items = trace->steps, .room = ETF_STEPS};
    uint8_t bytes[4 * ETF_WORDS];
    size_t words = trace->etf.level < ETF_WORDS ? trace->etf.level : ETF_WORDS, n = 0;
    for (size_t i = 0; i < words; i++)
        steps_add(&list, step_read(tmc_word(trace, TMC_RRD)));
    steps_add(&list, step_read(tmc_word(trace, TMC_STS)));
    steps_add(&list, step_read(tmc_word(trace, TMC_CBUFLEVEL)));
    if (!ledger_run(trace->device->ledger, &list, trace->words, deadline, error))
        return false;
    for (size_t i = 0; i < words; i++)
        if ((uint32_t)trace->words[i] != tmc_nothing)
            n += etf_take_word(trace, (uint32_t)trace->words[i], bytes + n);
    trace->etf.level = (size_t)trace->words[words + 1];
    if ((trace->words[words] & TMC_MEMORY_FAILED) != 0)
        return error_set(error, ERROR_NO_COUNTER, "the trace buffer's memory fails (TMC_STS.MemErr)");
    trace_give(trace, bytes, n);
    return true;
}

/* DDI 0461B 2.2.2: it stops only when it is empty. What follows the flush is nobody's. */
static void etf_close(struct trace *trace, const struct deadline *deadline)
{
    struct ledger *ledger = trace->device->ledger;
    struct error ignored = {0};
    uint64_t old, results[4];
    if (trace->steps == NULL || !ledger_old(ledger, tmc_word(trace, TMC_CTL), &old))
        return;
    struct step flush[] = {
        step_write(tmc_word(trace, TMC_FFCR), TMC_FORMATS | TMC_STOPS_ON_FLUSH),
        step_write(tmc_word(trace, TMC_FFCR), TMC_FORMATS | TMC_STOPS_ON_FLUSH | TMC_FLUSHES),
        step_until(tmc_word(trace, TMC_FFCR), TMC_FLUSHES, 0), step_read(tmc_word(trace, TMC_CBUFLEVEL))};
    const struct steps stop = {.items = flush, .n = 4, .room = 4};
    bool more = ledger_run(ledger, &stop, results, deadline, &ignored);
    for (trace->etf.level = more ? (size_t)results[3] : 0; more && trace->etf.level > 0;)
        more = etf_read(trace, deadline, &ignored);
    struct step last = step_write(tmc_word(trace, TMC_FFCR), TMC_FORMATS);
    const struct steps as_set = {.items = &last, .n = 1, .room = 1};
    (void)ledger_run(ledger, &as_set, results, deadline, &ignored);
    (void)ledger_release(ledger, tmc_word(trace, TMC_CTL), deadline, &ignored);
    const struct setting ended = {
        .at = tmc_word(trace, TMC_CTL), .test = TMC_CAPTURES, .set = old, .watched = "TMC_CTL"};
    witness_take(&trace->device->witness, &ended);
}

const struct trace_sink trace_etf = {
    .name = "etf", .find = etf_find, .open = etf_open, .read = etf_read, .close = etf_close};
