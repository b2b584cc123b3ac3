#include "device/remote_counters.h"

#include "device/run_control.h"

bool remote_counters_is_there(const struct device *device)
{
    for (size_t i = 0; i < device->n_cores; i++)
        if (device->cores[i].view.counts_only)
            return true;
    return false;
}

static struct device_core *find_cpu(const struct device *device, unsigned cpu)
{
    for (size_t i = 0; i < device->n_cores; i++)
        if (device->cores[i].view.counts_only && device->cores[i].core.unit == cpu)
            return &device->cores[i];
    return NULL;
}

/* Where there is only one there is no choice. */
static struct device_core *find_only(const struct device *device)
{
    struct device_core *only = NULL;
    for (size_t i = 0; i < device->n_cores; i++)
        if (device->cores[i].view.counts_only && only != NULL)
            return NULL;
        else if (device->cores[i].view.counts_only)
            only = &device->cores[i];
    return only;
}

bool remote_counters_choose(struct device *device, int number, struct error *error)
{
    const struct debugger_facts *facts = device->debugger != NULL ? &device->debugger->facts : NULL;
    size_t chosen = run_control_core(device, (size_t)device->preferred);
    if (device->cores[chosen].view.counts_only)
        return error_set(error, ERROR_NO_CORE, "no core that can be measured was found");
    device->chosen = &device->cores[chosen];
    bool told = facts != NULL && facts->has_cpu;
    unsigned cpu = number >= 0 ? (unsigned)number : told ? facts->cpu : 0;
    device->remote = number >= 0 || told ? find_cpu(device, cpu) : find_only(device);
    if (device->remote != NULL)
        return run_control_check_core(device, chosen, error);
    if (number < 0 && !told)
        return error_set(error, ERROR_USAGE,
                         "it is not known on which CPU the program runs: -C N says whose counters are taken");
    return error_set(error, ERROR_NO_CORE, "--counters shows no CPU %u%s", cpu,
                     number >= 0 ? "" : ", where the program is");
}

const char *remote_counters_advice(const struct device *device)
{
    return device->remote == NULL
               ? ""
               : "; events with :u behind them count no kernel, and nothing else must run on that CPU";
}

bool remote_counters_check(const struct device *device, const struct debugger_stop *stop, struct error *error)
{
    if (device->remote == NULL || !stop->has_cpu || device->remote->core.unit == stop->cpu)
        return true;
    return error_set(error, ERROR_NO_COUNTER,
                     "the program was on CPU %u, and CPU %u is counted: it must be kept on one (taskset -c)",
                     stop->cpu, (unsigned)device->remote->core.unit);
}
