/*
 * Model-specific registers of x86 processors as a link: those of this machine through its msr driver, or
 * those of another one through the agent of target-stub/knc. A view is a CPU as the system there numbers
 * them.
 */
#pragma once

#include "base/deadline.h"
#include "links/link.h"

#include <stdbool.h>

/* "msr..." or "msr-agent..." */
bool msr_wish_is(const char *probe);
/*
 * "msr[:CPU][@DIR]": one CPU or all there are; DIR stands for the root of the file system.
 * "msr-agent:HOST[:PORT]"
 */
struct link *msr_connect(const char *probe, const struct deadline *deadline, struct error *error);
