/* SPDX-License-Identifier: MIT */
/* CoreSight: the components on a debug bus, by its ROM tables and by their identification registers. */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "links/ledger.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CORESIGHT_COMPONENTS = 256 };

/* DEVTYPE, IHI 0029 B2.3.4. */
enum { DEVTYPE_CTI = 0x14, DEVTYPE_CORE = 0x15, DEVTYPE_PMU = 0x16 };

struct component {
    uint64_t base;
    bool readable; /* false: it refuses to be read, as without power */
    uint8_t class;
    uint8_t devtype;
    uint16_t part;
    uint16_t designer; /* JEP106 continuation << 8 | identity */
    uint32_t devarch;  /* 0: none */
};

/* DEVARCH's ARCHID; 0 if there is none. */
uint16_t component_archid(const struct component *component);
/* "Cortex-A9 debug", "PMU", "CTI", "ROM table", "component 0x9A0" ... */
void component_name(const struct component *component, char *out, size_t size);

struct coresight {
    struct component components[CORESIGHT_COMPONENTS]; /* in the tables' order */
    size_t n;
    bool cut; /* there are more, or the bus stopped answering */
};

/* Walks the table at `rom` and the tables that it names. Components that cannot be read are listed as such;
 * false only when the link itself fails. */
bool coresight_walk(struct ledger *ledger, uint16_t unit, uint64_t rom, struct coresight *out,
                    const struct deadline *deadline, struct error *error);
/* Walks only up to the component at `base`, which is unreadable if no table leads there. */
bool coresight_find(struct ledger *ledger, uint16_t unit, uint64_t rom, uint64_t base, struct component *out,
                    const struct deadline *deadline, struct error *error);
/* The component at `base`, whether a table names it or not. */
bool coresight_look(struct ledger *ledger, uint16_t unit, uint64_t base, struct component *out,
                    const struct deadline *deadline, struct error *error);
/* Runs a list of reads once more after a fault, which may be a passing one: no port, component or core must
 * be missed for it. False: `why` says it. */
bool coresight_insist(struct ledger *ledger, const struct steps *list, uint64_t *values,
                      const struct deadline *deadline, struct error *why);
/* Adds the component unless its base is there already, and returns it; NULL: no room. */
const struct component *coresight_put(struct coresight *coresight, const struct component *component);

/* A place on a debug bus, as the user names it. */
struct place {
    bool said;
    unsigned port; /* the access port, by the number that info shows */
    uint64_t base;
};
