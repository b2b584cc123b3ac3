/* SPDX-License-Identifier: MIT */
/* The links that can be reached: a running OpenOCD, and the probes and adapters that are plugged in. */
#pragma once

#include "report/document.h"
#include "run/request.h"

/* Those that the request names, else all. What was found is in the document also after an error. */
bool plugged_put(const struct request *request, const struct surroundings *around, struct document *document,
                 struct error *error);
