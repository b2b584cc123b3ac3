/*
 * Discovery of cores that are not Cortex-M: debug buses behind APB access ports, the ROM tables on them, and
 * which PMU and cross trigger interface belong to which core. For target.c.
 */
#pragma once

#include "target/target.h"

/* Adds the cores that it finds, without state and counter blocks, and the buses. What cannot be read is left
 * out; false only when the link fails. */
bool discovery_run(struct target *target, const struct link_view *views, size_t n,
                   const struct deadline *deadline, struct error *error);
