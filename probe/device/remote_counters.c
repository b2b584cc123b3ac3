#include "device/remote_counters.h"

#include "find/attached.h"

bool elsewhere_is_there(const struct target *target)
{
    for (size_t i = 0; i < target->n_cores; i++)
        if (target->cores[i].view.counts_only)
            return true;
    return false;
}

static struct target_core *find_cpu(const struct target *target, unsigned cpu)
{
    for (size_t i = 0; i < target->n_cores; i++)
        if (target->cores[i].view.counts_only && target->cores[i].core.unit == cpu)
            return &target->cores[i];
    return NULL;
}

/* Where there is only one there is no choice. */
static struct target_core *find_only(const struct target *target)
{
    struct target_core *only = NULL;
    for (size_t i = 0; i < target->n_cores; i++)
        if (target->cores[i].view.counts_only && only != NULL)
            return NULL;
        else if (target->cores[i].view.counts_only)
            only = &target->cores[i];
    return only;
}

bool elsewhere_choose(struct target *target, int number, struct error *error)
{
    const struct debugger_facts *facts = target->debugger != NULL ? &target->debugger->facts : NULL;
    size_t chosen = attached_number(target, (size_t)target->preferred);
    if (target->cores[chosen].view.counts_only)
        return error_set(error, ERROR_NO_CORE, "no core that can be measured was found");
    target->chosen = &target->cores[chosen];
    bool told = facts != NULL && facts->has_cpu;
    unsigned cpu = number >= 0 ? (unsigned)number : told ? facts->cpu : 0;
    target->elsewhere = number >= 0 || told ? find_cpu(target, cpu) : find_only(target);
    if (target->elsewhere != NULL)
        return attached_check(target, chosen, error);
    if (number < 0 && !told)
        return error_set(error, ERROR_USAGE,
                         "it is not known on which CPU the program runs: -C N says whose counters are taken");
    return error_set(error, ERROR_NO_CORE, "--counters shows no CPU %u%s", cpu,
                     number >= 0 ? "" : ", where the program is");
}

const char *elsewhere_advice(const struct target *target)
{
    return target->elsewhere == NULL
               ? ""
               : "; events with :u behind them count no kernel, and nothing else must run on that CPU";
}

bool elsewhere_check(const struct target *target, const struct debugger_stop *stop, struct error *error)
{
    if (target->elsewhere == NULL || !stop->has_cpu || target->elsewhere->core.unit == stop->cpu)
        return true;
    return error_set(error, ERROR_NO_COUNTER,
                     "the program was on CPU %u, and CPU %u is counted: it must be kept on one (taskset -c)",
                     stop->cpu, (unsigned)target->elsewhere->core.unit);
}
