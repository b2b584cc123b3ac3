/*
 * Debug power: switched on when we come, and put back to what it was when we go. A debug port that another
 * debugger has powered stays so; one that nobody used goes back to sleep, for it keeps clocks and regulators
 * of the target awake.
 */
#pragma once

#include "links/dap/adi.h"
#include "links/link.h"

/*
 * The selected port: requests debug and system power and waits for it; clears what an earlier debugger left
 * sticking. Some chips never acknowledge system power, and are reached without.
 */
enum adi_end power_up(struct adi *adi, const struct deadline *deadline, struct error *error);
/* Whether CTRL/STAT still shows the power that the selected port had. */
bool power_is_up(const struct adi *adi, uint32_t stat);
/* Where it is reached without. */
bool power_lacks_system(const struct adi *adi, size_t port);
/* Whether any port was powered up. */
bool power_is_ours(const struct adi *adi);
/* Every port that was powered up, as far as it still answers. */
void power_leave(struct adi *adi, enum link_power wish, struct error *error);
