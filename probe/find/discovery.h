/*
 * Discovery of cores that are not Cortex-M: debug buses behind APB access ports, the ROM tables on them, and
 * which PMU and cross trigger interface belong to which core. For target.c.
 */
#pragma once

#include "device/device.h"

/* What an access port leads to. */
enum discovery_port {
    PORT_UNREADABLE, /* or no memory */
    PORT_AHB,
    PORT_APB, /* a debug bus */
    PORT_OTHER_MEMORY,
};

/* False only when the link fails. */
bool discovery_port(struct device *device, uint16_t port, enum discovery_port *kind,
                    const struct deadline *deadline, struct error *error);
struct discovery_table {
    bool there;
    uint64_t base;
};

/* What it says of its ROM table. False: it cannot be read; ERROR_* only when the link failed. */
bool discovery_rom(struct device *device, uint16_t port, struct discovery_table *rom,
                   const struct deadline *deadline, struct error *error);
/* Adds the cores that it finds, without state and counter blocks, and the buses. What cannot be read is left
 * out; false only when the link fails. */
bool discovery_run(struct device *device, const struct link_view *views, size_t n,
                   const struct deadline *deadline, struct error *error);
/* The core whose debug registers are component `at` of the bus, the `number`th core there. Adds none that is
 * not known; false only when the link fails. */
bool discovery_add_core(struct device *device, const struct link_view *views, size_t n,
                        const struct device_bus *bus, size_t at, unsigned number,
                        const struct deadline *deadline, struct error *error);
/* False: no core that is known; ERROR_* only when the link failed. memory_unit and the PMU are left to the
 * caller. */
bool discovery_identify(struct device *device, uint16_t unit, const struct component *debug,
                        const struct component *cti, struct core *out, const struct deadline *deadline,
                        struct error *error);

/*
 * Discovery of Cortex-M cores, which have their debug registers on their own bus, at one address. A server
 * says which of its targets is one. A bare access port may lead anywhere, and a read at that address
 * is no harmless one on a bus of something else: it is made where a ROM table names the System Control Space,
 * or where nothing else can be behind the debug port. For target.c.
 */
/* The System Control Space, by which the user names such a core: DDI 0403E B3.2. */
enum { DISCOVERY_M_SCS = 0xE000E000 };

/* Adds the cores that it finds, without state and counter blocks. What cannot be read is left out; false only
 * when the link fails. */
bool discovery_m_run(struct device *device, const struct link_view *views, size_t n,
                     const struct deadline *deadline, struct error *error);
/* Reads what would tell of a core there, and adds it if there is one. */
bool discovery_m_look(struct device *device, const struct link_view *view, const struct deadline *deadline,
                      struct error *error);
