#include "device/witness.h"

#include "cores/core.h"

#include <inttypes.h>

void witness_take(struct witness *witness, const struct setting *setting)
{
    const struct address *at = setting->test_at.size != 0 ? &setting->test_at : &setting->at;
    size_t i = 0;
    if (setting->watched == NULL || setting->test == 0)
        return;
    while (i < witness->n && !address_same(witness->items[i].at, *at))
        i++;
    if (i == WITNESS_ROOM)
        return;
    struct witness_item *item = &witness->items[i];
    if (i == witness->n) {
        *item = (struct witness_item){.at = *at, .name = setting->watched};
        witness->n++;
    }
    item->value = (item->value & ~setting->test) | (setting->set & setting->test);
    item->mask |= setting->test;
}

static void witness_add_by_core(const struct witness *witness, const struct core *core,
                                const struct core_proof *spare, struct steps *list,
                                struct witness_places *out)
{
    struct step accesses[WITNESS_ROOM] = {{.op = OP_READ}};
    size_t which[WITNESS_ROOM], at[WITNESS_ROOM] = {0}, n = 0;
    for (size_t i = 0; i < witness->n; i++)
        if (witness->items[i].at.space == SPACE_CORE) {
            accesses[n] = step_read(witness->items[i].at);
            which[n++] = i;
        }
    if (n == 0)
        return;
    core_add_coprocessor(core, list, accesses, n, spare, at);
    for (size_t i = 0; i < n; i++)
        out->at[which[i]] = (uint16_t)at[i];
}

void witness_add(const struct witness *witness, const struct core *core, const struct core_proof *spare,
                 struct steps *list, struct witness_places *out)
{
    if (witness == NULL)
        return;
    witness_add_by_core(witness, core, spare, list, out);
    for (size_t i = 0; i < witness->n; i++)
        if (witness->items[i].at.space != SPACE_CORE)
            out->at[i] = (uint16_t)steps_add(list, step_read(witness->items[i].at));
}

const struct witness_item *witness_changed(const struct witness *witness, const uint64_t *results,
                                           const struct witness_places *places, uint64_t *saw)
{
    for (size_t i = 0; witness != NULL && i < witness->n; i++) {
        const struct witness_item *item = &witness->items[i];
        *saw = results[places->at[i]];
        if ((*saw & item->mask) != item->value)
            return item;
    }
    return NULL;
}

bool witness_tell(const struct witness_item *item, uint64_t saw, struct error *error)
{
    error_set(error, ERROR_WRITTEN,
              "something else changed %s during the run: 0x%" PRIX64 " of its bits 0x%" PRIX64
              " became 0x%" PRIX64,
              item->name, item->value, item->mask, saw & item->mask);
    error->subject = item->name;
    return false;
}
