#include "profile/halt_sampler.h"

#include "base/random.h"
#include "debuggers/debugger.h"

#include <inttypes.h>
#include <string.h>

enum { RUN_LEAST_US = 10000, RUN_MOST_US = 200000 };

void halt_sampler_begin(struct halt_sampler *sampler, struct device *device)
{
    int64_t now_us = deadline_now_us();
    *sampler = (struct halt_sampler){.device = device, .random = (uint64_t)now_us | 1, .halted_us = now_us};
}

/* About as long as the stops take, from half to one and a half of it. */
static int64_t draw_run_us(struct halt_sampler *sampler)
{
    double part = 0.5 + random_part(&sampler->random);
    double us = sampler->us_each < RUN_LEAST_US  ? RUN_LEAST_US
                : sampler->us_each > RUN_MOST_US ? RUN_MOST_US
                                                 : sampler->us_each;
    return (int64_t)(us * part);
}

/* Why it stopped is the debugger's to say: only our own request makes a sample. */
static bool check_stop(const struct halt_sampler *sampler, const struct debugger_stop *stop, uint64_t pc,
                       struct error *error)
{
    const struct device_core *core = sampler->device->chosen;
    if (stop->core[0] != '\0' && strcmp(stop->core, core->view.name) != 0)
        return error_set(error, ERROR_NO_CORE, "%s stopped, and not %s: -C says which core", stop->core,
                         core->view.name);
    if (stop->why == DEBUGGER_REQUESTED)
        return true;
    return error_set(error, ERROR_FOREIGN_STOP, "the core stopped by itself at 0x%08" PRIx64 "%s",
                     core_place(&core->core, pc),
                     stop->why == DEBUGGER_FAULT    ? ", by a fault"
                     : stop->why == DEBUGGER_OTHERS ? ", at a breakpoint"
                                                    : "");
}

static bool halt_sampler_read_pc(struct halt_sampler *sampler, uint64_t *pc, const struct deadline *deadline,
                                 struct error *error)
{
    struct debugger *debugger = sampler->device->debugger;
    char name[8];
    core_register_name(&sampler->device->chosen->core, CORE_PC, name, sizeof name);
    return debugger->ops->read_register(debugger, name, pc, deadline, error);
}

static bool run_and_halt(struct halt_sampler *sampler, struct debugger_stop *stop,
                         const struct deadline *deadline, struct error *error)
{
    struct debugger *debugger = sampler->device->debugger;
    if (!debugger->ops->go(debugger, DEBUGGER_RUN, deadline, error))
        return false;
    sampler->stood_us += (uint64_t)(deadline_now_us() - sampler->halted_us);
    struct deadline slice = {.at_us = deadline_now_us() + draw_run_us(sampler), .cancel = deadline->cancel};
    enum debugger_wait wait = debugger->ops->wait(debugger, stop, &slice, error);
    sampler->halted_us = deadline_now_us();
    return wait == DEBUGGER_STOPPED || (wait == DEBUGGER_RUNS && debugger_halt(debugger, stop, error));
}

bool halt_sampler_take(struct halt_sampler *sampler, struct profile_tally *tally,
                       const struct deadline *deadline, struct error *error)
{
    struct debugger_stop stop = {0};
    uint64_t pc;
    if (!run_and_halt(sampler, &stop, deadline, error) ||
        !halt_sampler_read_pc(sampler, &pc, deadline, error) || !check_stop(sampler, &stop, pc, error))
        return false;
    double took = (double)(deadline_now_us() - sampler->halted_us);
    sampler->us_each = sampler->us_each > 0 ? (3 * sampler->us_each + took) / 4 : took;
    return profile_tally_add(tally, core_place(&sampler->device->chosen->core, pc), 1) ||
           error_set(error, ERROR_SYSTEM, "out of memory");
}
