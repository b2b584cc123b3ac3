/*
 * What a hit costs the tool itself: N hits through the engine and the statistics, over a link that answers at
 * once. Prints hits, seconds and the most memory that was in use, as one line of JSON. Memory must not grow
 * with N.
 */
#include "engine/engine.h"
#include "measure/delta.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { START = 0x1000, END = 0x1100, HALT_COST = 11, WORK = 1000, SPREAD = 997 };

/* A Cortex-M4 that is always halted already, at the address that its last comparator holds; without one it
 * runs. */
struct simulation {
    struct link link;
    uint32_t pc, selected, comparators[8], demcr, fp_ctrl, dwt_ctrl, cyccnt;
    uint64_t now, passages;
};

static uint32_t read_register(struct simulation *core, uint32_t address)
{
    switch (address) {
    case 0xE000ED00:
        return 0x410FC241;
    case 0xE000ED30:
        return 0x2;
    case 0xE000EDF0:
        return (core->comparators[5] & 1) != 0 ? 0x00030003 : 0x00010001;
    case 0xE000EDF8:
        return core->selected == 15 ? core->pc : 0x20001000;
    case 0xE000EDFC:
        return core->demcr;
    case 0xE0002000:
        return core->fp_ctrl;
    case 0xE0001000:
        return core->dwt_ctrl;
    case 0xE0001004:
        return core->cyccnt;
    default:
        return address >= 0xE0002008 && address < 0xE0002028 ? core->comparators[(address - 0xE0002008) / 4]
                                                             : 0;
    }
}

static void run_to_comparator(struct simulation *core)
{
    core->cyccnt += HALT_COST;
    if ((core->comparators[5] & 1) == 0)
        return;
    uint32_t to = (core->comparators[5] & 0x1FFFFFFC) | (core->comparators[5] >> 30 == 2 ? 2 : 0);
    if (to == core->pc)
        return;
    core->cyccnt += WORK + (uint32_t)(core->passages++ / 2 % SPREAD);
    core->pc = to;
}

static void write_register(struct simulation *core, uint32_t address, uint32_t value)
{
    if (address >= 0xE0002008 && address < 0xE0002028)
        core->comparators[(address - 0xE0002008) / 4] = value;
    else if (address == 0xE000EDF0 && (value & 0x2) == 0)
        run_to_comparator(core);
    else if (address == 0xE000EDF4)
        core->selected = value;
    else if (address == 0xE000EDFC)
        core->demcr = value;
    else if (address == 0xE0002000)
        core->fp_ctrl = (core->fp_ctrl & ~1U) | (value & 1);
    else if (address == 0xE0001000)
        core->dwt_ctrl = value;
}

static struct outcome execute(struct link *link, const struct step *steps, size_t n, uint64_t *results,
                              const struct deadline *deadline, struct error *error)
{
    struct simulation *core = (struct simulation *)link;
    (void)deadline;
    (void)error;
    for (size_t i = 0; i < n; i++) {
        uint32_t address = (uint32_t)steps[i].at.offset;
        results[i] = steps[i].op == OP_TIME ? core->now++ : 0;
        if (steps[i].op == OP_WRITE)
            write_register(core, address, (uint32_t)steps[i].value);
        else if (steps[i].op != OP_TIME)
            results[i] = read_register(core, address);
        if ((steps[i].op == OP_UNTIL || steps[i].op == OP_EXPECT) &&
            (results[i] & steps[i].mask) != steps[i].value)
            return (struct outcome){
                .why = steps[i].op == OP_UNTIL ? NOT_YET : UNEXPECTED, .done = i, .saw = results[i]};
    }
    return (struct outcome){.why = DONE, .done = n};
}

static size_t views(struct link *link, struct link_view *out, size_t room, struct error *error)
{
    (void)link;
    (void)error;
    if (room > 0)
        out[0] = (struct link_view){.name = "simulation", .type = "cortex_m", .is_core = true};
    return 1;
}

static bool measure(struct device *device, uint64_t hits, struct summary *summary,
                    const struct deadline *deadline, struct error *error)
{
    static struct plan plan;
    struct region region = {.start = START, .end = END};
    struct delta_options options = {.hits = hits,
                                    .timeout_ms = 10000,
                                    .calibrate = true,
                                    .clock = clock_given(100e6, "--freq", 1.2e9),
                                    .plan = &plan};
    struct delta_sink sink = {0};
    if (!plan_make(&plan, device->block, NULL, NULL, 0, error))
        return false;
    struct engine *engine = direct_new(device);
    if (engine == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    bool ok = engine->ops->arm(engine, &region, deadline, error) &&
              delta_measure(engine, device, &options, &sink, summary, deadline, error);
    engine->ops->free(engine);
    return ok;
}

static bool run(uint64_t hits, struct summary *summary, struct error *error)
{
    static const struct link_ops ops = {.execute = execute, .views = views};
    static struct simulation core = {.link.ops = &ops, .pc = START, .fp_ctrl = 0x260, .dwt_ctrl = 0x40000000};
    static struct device device;
    struct deadline deadline = deadline_in_ms(3600000, NULL);
    bool ok = device_open(&device, &core.link, &(struct device_request){.core = -1}, &deadline, error) &&
              device_choose(&device, -1, error) &&
              device_take(&device, true, "the start", &deadline, error) &&
              device_take_block(&device, "dwt", &deadline, error) &&
              measure(&device, hits, summary, &deadline, error);
    device_close(&device);
    return ok;
}

/* Each hit is known beforehand. */
static bool is_right(const struct summary *summary, uint64_t hits)
{
    const struct statistics *statistics = summary->columns[0].statistics;
    uint64_t most = WORK + (hits < SPREAD ? hits : SPREAD) - 1;
    return summary->hits == hits && statistics_count(statistics) == hits &&
           statistics_min(statistics) >= WORK && statistics_max(statistics) <= most + 1;
}

int main(int argc, char **argv)
{
    struct summary summary = {0};
    struct error error = {0};
    struct rusage usage;
    uint64_t hits = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;
    if (hits == 0) {
        fprintf(stderr, "usage: simulated_hits HITS\n");
        return 2;
    }
    bool ok = run(hits, &summary, &error);
    getrusage(RUSAGE_SELF, &usage);
    if (!ok)
        fprintf(stderr, "simulated_hits: %s\n", error.text);
    else if (!is_right(&summary, hits))
        fprintf(stderr, "simulated_hits: the counts are wrong\n");
    else
        printf("{\"hits\": %" PRIu64 ", \"seconds\": %.6f, \"peak_rss_kb\": %ld}\n", summary.hits,
               summary.seconds, usage.ru_maxrss);
    ok = ok && is_right(&summary, hits);
    summary_free(&summary);
    return ok ? 0 : 1;
}
