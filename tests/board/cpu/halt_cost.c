// Entry and exit have different distributions on purpose: a tool that calibrates at one of them and assumes
// the other alike must show a wrong number here.
#include "cpu/halt_cost.h"

#include <errno.h>
#include <stdlib.h>

void halt_cost_seed(struct halt_cost *h, uint64_t seed)
{
    h->entry.state = seed;
    h->exit.state = seed ^ 0x5DEECE66Du;
    h->irq.state = seed ^ 0xB5297A4Du;
}

static bool number(const char *text, char **end, uint32_t *value)
{
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    unsigned long v = strtoul(text, end, 10);
    if (errno || v > HALT_COST_MAX)
        return false;
    *value = (uint32_t)v;
    return true;
}

bool halt_cost_parse(struct halt_cost *h, const char *text)
{
    char *end;
    uint32_t low, high;
    if (!number(text, &end, &low))
        return false;
    high = low;
    if (end[0] == '.' && end[1] == '.' && !number(end + 2, &end, &high))
        return false;
    if (*end || high < low)
        return false;
    h->low = low;
    h->high = high;
    return true;
}

// The entry costs half of the fixed part and, uniform, up to a third of the rest
uint32_t halt_cost_entry(struct halt_cost *h)
{
    uint32_t slack = (h->high - h->low) / 3;
    return h->low / 2 + (uint32_t)rng_upto(&h->entry, slack);
}

// The exit costs the other half and, the mean of two draws and so peaked, up to what is left
uint32_t halt_cost_exit(struct halt_cost *h)
{
    uint32_t spread = h->high - h->low, slack = spread - spread / 3;
    uint64_t two = rng_upto(&h->exit, slack) + rng_upto(&h->exit, slack);
    return h->low - h->low / 2 + (uint32_t)(two / 2);
}

bool halt_cost_interrupts(struct halt_cost *h)
{
    return h->irq_permille && rng_upto(&h->irq, 999) < h->irq_permille;
}
