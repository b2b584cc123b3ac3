/* SPDX-License-Identifier: MIT */
#include "find/coresight.h"

#include "base/arm_debug.h"

#include <stdio.h>

static const uint32_t CIDR_FIXED = 0xB105000D, CIDR_CLASS = 0xF000;
static const uint32_t DEVARCH_PRESENT = 1 << 20;
enum { IDENTITY = 9 }; /* words that every component has */

struct walk {
    struct ledger *ledger;
    uint16_t unit;
    struct coresight *out;
    const struct deadline *deadline;
    struct error *error;
    bool lost;
    bool one; /* only the component at `wanted` is */
    uint64_t wanted;
    const struct component *found;
    unsigned asleep; /* words for which it waited in vain */
};

/* After this number a walk ends: going on would only prolong the hang of a bus. */
enum { ASLEEP_MOST = 2 };

static bool coresight_is_over(const struct walk *walk)
{
    return walk->lost || walk->found != NULL || walk->asleep >= ASLEEP_MOST;
}

bool coresight_insist(struct ledger *ledger, const struct steps *list, uint64_t *values,
                      const struct deadline *deadline, struct error *why)
{
    if (ledger_run(ledger, list, values, deadline, why))
        return true;
    if (why->kind != ERROR_FAULT)
        return false;
    error_clear(why);
    return ledger_run(ledger, list, values, deadline, why);
}

/* False: it cannot be read, or the link is lost. */
static bool coresight_read_word(struct walk *walk, uint64_t at, uint32_t *value)
{
    struct step read =
        step_read((struct address){.space = SPACE_MEMORY, .size = 4, .unit = walk->unit, .offset = at});
    const struct steps list = {.items = &read, .n = 1, .room = 1};
    struct error why = {0};
    uint64_t word = 0;
    *value = 0;
    if (coresight_is_over(walk))
        return false;
    if (!coresight_insist(walk->ledger, &list, &word, walk->deadline, &why)) {
        if (!error_is_refusal(&why)) {
            walk->lost = true;
            error_set(walk->error, why.kind, "%s", why.text);
        }
        walk->asleep += why.kind == ERROR_ASLEEP;
        return false;
    }
    *value = (uint32_t)word;
    return true;
}

/* Reads them in one list, and one by one from a failure on. */
static bool coresight_read_words(struct walk *walk, uint64_t base, const uint16_t *offsets, size_t n,
                                 uint32_t *values)
{
    struct step items[IDENTITY];
    uint64_t words[IDENTITY];
    struct steps list = {.items = items, .room = IDENTITY};
    struct error why = {0};
    for (size_t i = 0; i < n; i++)
        steps_add(&list,
                  step_read((struct address){
                      .space = SPACE_MEMORY, .size = 4, .unit = walk->unit, .offset = base + offsets[i]}));
    if (coresight_is_over(walk))
        return false;
    struct outcome outcome = ledger_execute(walk->ledger, &list, 0, words, walk->deadline, &why);
    if (outcome.why == LINK_LOST) {
        walk->lost = true;
        return error_set(walk->error, why.kind, "%s", why.text);
    }
    for (size_t i = 0; i < n; i++)
        if (i < outcome.done)
            values[i] = (uint32_t)words[i];
        else if (!coresight_read_word(walk, base + offsets[i], &values[i]))
            return false;
    return true;
}

/* The low bytes of four registers in a row. */
static uint32_t low_bytes(const uint32_t *words)
{
    return (words[0] & 0xFF) | (words[1] & 0xFF) << 8 | (words[2] & 0xFF) << 16 | (words[3] & 0xFF) << 24;
}

static bool coresight_identify(struct walk *walk, struct component *out)
{
    static const uint16_t every[] = {COMPONENT_CIDR0,      COMPONENT_CIDR0 + 4,  COMPONENT_CIDR0 + 8,
                                     COMPONENT_CIDR0 + 12, COMPONENT_PIDR0,      COMPONENT_PIDR0 + 4,
                                     COMPONENT_PIDR0 + 8,  COMPONENT_PIDR0 + 12, COMPONENT_PIDR4},
                          of_class_9[] = {COMPONENT_DEVTYPE, COMPONENT_DEVARCH};
    uint32_t words[IDENTITY], more[2];
    if (!coresight_read_words(walk, out->base, every, IDENTITY, words))
        return false;
    uint32_t cidr = low_bytes(words), pidr = low_bytes(words + 4), pidr4 = words[8];
    if ((cidr & ~CIDR_CLASS) != CIDR_FIXED)
        return false;
    out->class = (uint8_t)(cidr >> 12 & 0xF);
    out->part = (uint16_t)(pidr & 0xFFF);
    out->designer = (uint16_t)((pidr4 & 0xF) << 8 | (pidr >> 12 & 0x7F));
    if (out->class != CLASS_CORESIGHT)
        return true;
    if (!coresight_read_words(walk, out->base, of_class_9, 2, more))
        return false;
    out->devtype = (uint8_t)more[0];
    out->devarch = more[1] & DEVARCH_PRESENT ? more[1] : 0;
    return true;
}

static void walk_table(struct walk *walk, const struct component *table, unsigned depth);

static void add_component(struct walk *walk, uint64_t base, unsigned depth)
{
    struct coresight *out = walk->out;
    for (size_t i = 0; i < out->n; i++)
        if (out->components[i].base == base)
            return; /* tables that name each other */
    if (out->n == CORESIGHT_COMPONENTS) {
        out->cut = true;
        return;
    }
    struct component *component = &out->components[out->n++];
    *component = (struct component){.base = base};
    component->readable = coresight_identify(walk, component);
    if (walk->one && base == walk->wanted)
        walk->found = component;
    if (component->readable && depth > 0 && !coresight_is_over(walk))
        walk_table(walk, component, depth - 1);
}

static void walk_table(struct walk *walk, const struct component *table, unsigned depth)
{
    bool old = table->class == CLASS_ROM;
    if (!old && component_archid(table) != ARCHID_ROM)
        return;
    const uint64_t base = table->base; /* the list of components may move on under us */
    uint32_t devid = 0, entry, high = 0;
    if (!old && !coresight_read_word(walk, base + COMPONENT_DEVID, &devid))
        return;
    unsigned words = rom_entry_words(devid);
    for (unsigned i = 0; i < rom_entries(old, words); i++) {
        uint64_t at = base + 4ULL * words * i;
        if (coresight_is_over(walk) || !coresight_read_word(walk, at, &entry) ||
            (words == 2 && !coresight_read_word(walk, at + 4, &high)))
            return;
        enum rom_entry is = rom_entry_of(old, entry);
        if (is == ROM_END)
            return;
        if (is == ROM_ABSENT)
            continue;
        add_component(walk, rom_entry_address(base, words, entry, high), depth);
    }
}

bool coresight_walk(struct ledger *ledger, uint16_t unit, uint64_t rom, struct coresight *out,
                    const struct deadline *deadline, struct error *error)
{
    struct walk walk = {.ledger = ledger, .unit = unit, .out = out, .deadline = deadline, .error = error};
    *out = (struct coresight){0};
    add_component(&walk, rom, ROM_DEPTH);
    out->cut = out->cut || walk.asleep >= ASLEEP_MOST;
    return !walk.lost;
}

bool coresight_find(struct ledger *ledger, uint16_t unit, uint64_t rom, uint64_t base, struct component *out,
                    const struct deadline *deadline, struct error *error)
{
    struct coresight seen = {0};
    struct walk walk = {.ledger = ledger,
                        .unit = unit,
                        .out = &seen,
                        .deadline = deadline,
                        .error = error,
                        .one = true,
                        .wanted = base};
    add_component(&walk, rom, ROM_DEPTH);
    *out = walk.found != NULL ? *walk.found : (struct component){.base = base};
    return !walk.lost;
}

bool coresight_look(struct ledger *ledger, uint16_t unit, uint64_t base, struct component *out,
                    const struct deadline *deadline, struct error *error)
{
    struct walk walk = {.ledger = ledger, .unit = unit, .deadline = deadline, .error = error};
    *out = (struct component){.base = base};
    out->readable = coresight_identify(&walk, out);
    return !walk.lost;
}

const struct component *coresight_put(struct coresight *coresight, const struct component *component)
{
    for (size_t i = 0; i < coresight->n; i++)
        if (coresight->components[i].base == component->base)
            return &coresight->components[i];
    if (coresight->n == CORESIGHT_COMPONENTS)
        return NULL;
    coresight->components[coresight->n] = *component;
    return &coresight->components[coresight->n++];
}

uint16_t component_archid(const struct component *component)
{
    return (uint16_t)component->devarch;
}

void component_name(const struct component *component, char *out, size_t size)
{
    static const struct {
        uint8_t devtype;
        const char *name;
    } types[] = {{0x11, "trace port"},   {0x12, "trace funnel"}, {0x13, "ETM"},
                 {0x14, "CTI"},          {0x15, "core debug"},   {0x16, "PMU"},
                 {0x21, "trace buffer"}, {0x32, "TMC"},          {0x43, "ITM"}};
    if (!component->readable) {
        snprintf(out, size, "cannot be read");
        return;
    }
    if (component->class == CLASS_ROM || component_archid(component) == ARCHID_ROM) {
        snprintf(out, size, "ROM table");
        return;
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (component->class == CLASS_CORESIGHT && types[i].devtype == component->devtype) {
            snprintf(out, size, "%s", types[i].name);
            return;
        }
    snprintf(out, size, "component 0x%03X", component->part);
}
