/*
 * Discovery of Cortex-M cores, which have their debug registers on their own bus, at one address. A server
 * says which of its targets is one. A bare access port may lead anywhere, and a read at that address
 * is no harmless one on a bus of something else: it is made where a ROM table names the System Control Space,
 * or where nothing else can be behind the debug port. For target.c.
 */
#pragma once

#include "target/target.h"

/* The System Control Space, by which the user names such a core: DDI 0403E B3.2. */
enum { DISCOVERY_M_SCS = 0xE000E000 };

/* Adds the cores that it finds, without state and counter blocks. What cannot be read is left out; false only
 * when the link fails. */
bool discovery_m_run(struct target *target, const struct link_view *views, size_t n,
                     const struct deadline *deadline, struct error *error);
/* Reads what would tell of a core there, and adds it if there is one. */
bool discovery_m_look(struct target *target, const struct link_view *view, const struct deadline *deadline,
                      struct error *error);
