/*
 * Connects to a target: SWD or JTAG, one or several debug ports, and the access ports of each.
 */
#pragma once

#include "links/dap/adi.h"
#include "links/dap/carrier.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From the wires to powered debug ports. `hz` 0: as fast as the wires allow. */
bool connect_target(struct adi *adi, enum dap_wires wires, uint32_t hz, const struct deadline *deadline,
                    struct error *error);
/* Lowers the clock until patterns written to the first memory access port's TAR read back right. A register
 * that is read again and again would not show damaged data. */
bool connect_check_clock(struct adi *adi, struct ap_state *ap, struct error *error);
/* After a connection anew: whether these are still the access ports. One that cannot be read proves nothing.
 * ERROR_NO_TARGET: there are others, so this is another target. */
bool connect_check_ports(struct adi *adi, struct ap_state *ap, struct error *error);
/* Fills ap->ports with the access ports of all debug ports. */
bool connect_find_ports(struct adi *adi, struct ap_state *ap, const struct deadline *deadline,
                        struct error *error);
