/* SPDX-License-Identifier: MIT */
/*
 * Discovery of cores: Cortex-M at the access ports of system buses; others on debug buses, where ROM tables
 * name their debug registers, PMUs and cross trigger interfaces; and what the user says instead.
 */
#pragma once

#include "cores/core.h"
#include "counters/counter.h"
#include "find/coresight.h"
#include "links/link.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A Knights Corner has up to 61 cores of 4 threads, which are cores to us. */
enum { TARGET_CORES = 16, TARGET_BLOCKS = 4, TARGET_BUSES = 8, TARGET_VIEWS = 256 };

/* The System Control Space, by which the user names a Cortex-M: DDI 0403E B3.2. */
extern const char discovery_nothing[]; /* was found */

enum { DISCOVERY_M_SCS = 0xE000E000 };

/* A debug bus: the one at an access port that has a ROM table. */
struct device_bus {
    uint16_t unit; /* of the link's view that reaches it */
    uint16_t port;
    bool has_rom;
    uint64_t rom;
    struct coresight coresight;
};

struct device_core {
    struct core core;
    struct link_view view;
    uint16_t server_unit; /* by which a server runs and halts it */
    bool has_memory;      /* memory can be seen while it runs */
    bool is_past_cache;   /* as it is, and not as the core's data cache has it */
    /* Discovery leaves the rest to device.c. */
    enum core_state state; /* as found */
    uint64_t status;       /* the register that shows the state, as found */
    uint64_t halted_at;    /* PC, when it was found halted */
    struct counter_block blocks[TARGET_BLOCKS];
    size_t n_blocks;
};

/* What the user says instead of what would be found. */
struct device_request {
    int core;             /* by number; -1: the only or first one, or the one at `debug` */
    bool keeps_registers; /* an A or R core that is found halted executes nothing, so its PC is not read */
    struct place debug, pmu, cti;
};

/* Where discovery searches, and what it finds. Its functions return false only when the link fails: what
 * cannot be read is left out. */
struct found {
    struct ledger *ledger;
    const struct deadline *deadline;
    struct error *error; /* why a function failed */
    const struct link_view *views;
    size_t n_views;
    struct device_core *cores; /* `room` of them */
    size_t room, n_cores;
    struct device_bus *buses; /* TARGET_BUSES of them */
    size_t n_buses;
    bool cores_cut, buses_cut; /* there are more */
    int passed_over; /* the access port of a Cortex-M that may be there, but was not read; -1: none */
    int preferred;   /* the core to take if the user names none */
};

/* An access port, which may lead anywhere. */
static inline bool discovery_is_bare(const struct link_view *view)
{
    return strcmp(view->type, "ap") == 0 && view->has_port;
}

/* Where the ROM table is of the access port that the view goes through. False: it has none, or it is not
 * known which one it is. */
bool discovery_rom(struct ledger *ledger, const struct link_view *view, uint64_t *rom,
                   const struct deadline *deadline);

bool discovery_m_run(struct found *found);
bool discovery_run(struct found *found);
/* Why there is no core: a chip that is closed, cores that are not measured, or a place that was not read.
 * `why` becomes an ERROR_NO_CORE. False only when the link fails. */
bool nothing_found(struct found *found, struct error *why);
/* After both: does what the user says. False also if it is not so. */
bool discovery_place(struct found *found, const struct device_request *request);
