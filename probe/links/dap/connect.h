/*
 * Finding a target at the end of the wires: SWD or JTAG, one debug port or several, and the access ports
 * behind each of them.
 */
#pragma once

#include "links/dap/adi.h"
#include "links/dap/probe_spec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Everything from the wires to a powered debug port. `hz` 0: as fast as the wires take. */
bool connect_target(struct adi *adi, enum dap_wires wires, uint32_t hz, const struct deadline *deadline,
                    struct error *error);
/* Lowers the clock until data comes through whole, which an identity that is read again and again does not
 * show: patterns are written to the first memory access port's TAR and read back. */
bool connect_check_clock(struct adi *adi, struct ap_state *ap, struct error *error);
/* Fills reach->ports with the access ports of all debug ports. */
bool connect_find_ports(struct adi *adi, struct ap_state *ap, const struct deadline *deadline,
                        struct error *error);
