/*
 * The OpenOCD link: any adapter that OpenOCD knows, through its Tcl port. A whole list of steps goes as
 * one request and is carried out inside OpenOCD by openocd-cfg/pmu.tcl, which is sent when we connect.
 * A view's unit is the target's index in OpenOCD's list; SPACE_AP and SPACE_DP take the AP number, with
 * the DAP's index in bits 15:8.
 */
#pragma once

#include "base/log.h"
#include "links/link.h"
#include "links/openocd_tcl.h"

#include <stddef.h>
#include <stdint.h>

/* The Tcl port of an OpenOCD that runs already. NULL on error. */
struct link *openocd_connect(const char *host, uint16_t port, const struct log *log,
                             const struct deadline *deadline, struct error *error);

/*
 * An OpenOCD of ours on free ports, with `options` (-f FILE, -c TCL, -s DIR as separate words) in the
 * order given, the first `named` of which name it; link_close stops it. NULL on error, with OpenOCD's last
 * words in the text.
 */
struct link *openocd_start(const char *const *options, size_t n, size_t named, const struct log *log,
                           const struct deadline *deadline, struct error *error);

/* An OpenOCD that is spoken to in another way, and called `name`. The voice stays the caller's. NULL on
 * error. */
struct link *openocd_through(const struct tcl_transport *transport, const char *name,
                             const struct deadline *deadline, struct error *error);
