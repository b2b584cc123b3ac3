/* SPDX-License-Identifier: MIT */
/*
 * The OpenOCD link: any adapter that OpenOCD knows, through its Tcl port. A list of steps goes as one
 * request; openocd-cfg/pmu.tcl, sent when we connect, carries it out inside OpenOCD. A view's unit is the
 * target's index in OpenOCD's list; SPACE_AP and SPACE_DP take the AP number, with the DAP's index in bits
 * 15:8.
 */
#pragma once

#include "base/log.h"
#include "links/link.h"
#include "links/openocd_tcl.h"

#include <stddef.h>
#include <stdint.h>

/* Connects to the Tcl port of a running OpenOCD. NULL on error. */
struct link *openocd_connect(const char *host, uint16_t port, const struct log *log,
                             const struct deadline *deadline, struct error *error);

/*
 * Starts an OpenOCD, `path` or one that is found, on free ports with `options` (-f FILE, -c TCL, -s DIR as
 * separate words); the first `named` of them name the link. link_close stops it. NULL on error, with the end
 * of OpenOCD's log in the text.
 */
struct link *openocd_start(const char *path, const char *const *options, size_t n, size_t named,
                           const struct log *log, const struct deadline *deadline, struct error *error);

/* An OpenOCD reached through `transport` instead of a socket, called `name`. The caller keeps the transport.
 * NULL on error. */
struct link *openocd_through(const struct tcl_transport *transport, const char *name,
                             const struct deadline *deadline, struct error *error);
