/* SPDX-License-Identifier: MIT */
/*
 * The state of the access ports: decides which of SELECT, CSW and TAR an access needs written, given what
 * they hold, and whether it goes through DRW or through one of the four banked registers that show the 16
 * bytes around TAR.
 */
#pragma once

#include "base/step.h"
#include "links/dap/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Debug port registers, IHI 0031 B2.2, in bank 0. */
enum dp_register {
    DP_ABORT = 0x0,
    DP_DPIDR = 0x0,
    DP_CTRL_STAT = 0x4,
    DP_SELECT = 0x8,
    DP_RESEND = 0x8, /* read, over SWD */
    DP_RDBUFF = 0xC,
};
/* Bits of CTRL/STAT, IHI 0031 B2.2.2: an access was too early, or the target's bus refused one. */
enum { STAT_STICKY_ORUN = 1 << 1, STAT_STICKY_ERR = 1 << 5 };

/* MEM-AP registers, IHI 0031 C2.6; ADIv6 has them 0xD00 higher. */
enum ap_register {
    AP_CSW = 0x00,
    AP_TAR = 0x04,
    AP_TAR_HIGH = 0x08,
    AP_DRW = 0x0C,
    AP_BD0 = 0x10,
    AP_TRR = 0x24, /* IHI 0074 C2.6 */
    AP_CFG = 0xF4,
    AP_BASE = 0xF8,
    AP_IDR = 0xFC,
    AP_IN_V6 = 0xD00,
};

enum {
    CSW_SIZE = 7 << 0,
    CSW_SIZE_WORD = 2 << 0,
    CSW_INCREMENT = 3 << 4,
    CSW_INCREMENT_SINGLE = 1 << 4,
    CSW_IN_PROGRESS = 1 << 7,
    CSW_READ_ONLY = 1 << 6 | CSW_IN_PROGRESS,
    CSW_ERRORS = 3 << 16, /* where CFG.ERR says so: errors are not answered, and one ends all accesses */
    CSW_KEPT_OUT = CSW_SIZE | CSW_INCREMENT | CSW_READ_ONLY, /* of csw_base */
};

enum { AP_STATE_PORTS = 64 };

/* CSW of an AHB port: HPROT[3], IHI 0031 E1.3. */
static const uint32_t CSW_CACHEABLE = 1U << 27;

struct access_port {
    uint16_t unit; /* debug port << 8 | access port */
    bool v6;
    bool memory;                  /* a MEM-AP */
    bool narrow;                  /* takes bytes and halfwords */
    uint32_t base;                /* of its registers, ADIv6 */
    uint32_t csw_base, csw_found; /* CSW without size and increment; CSW before us */
    uint32_t csw_took;            /* csw_base as the port reads back */
    uint32_t csw_unsure;          /* the bits in which a killed run's note of it may differ */
    uint32_t idr;
    uint32_t tar_high_found; /* TAR[63:32] before us; now 0, or it does not exist */
    bool errors_kept; /* IHI 0074 C2.6, CFG.ERR: TRR.ERR shows that there was an error since it was cleared */
    bool csw_known, tar_known;
    uint32_t csw, tar;
};

struct ap_state {
    struct access_port ports[AP_STATE_PORTS];
    size_t n;
    bool cut; /* there are more ports */
    bool select_known, mask_known;
    uint32_t select, mask;
};

struct access_port *ap_state_port(struct ap_state *ap, uint16_t unit); /* NULL: none */
/* Nothing is known any more: transfers failed, perhaps, or accesses did not pass through here. */
void ap_state_forget(struct ap_state *ap);
/* What SELECT must hold for that register of the port. */
uint32_t ap_state_select(const struct access_port *port, uint32_t offset);

/*
 * Puts the writes that steps[at] needs first into the packet; *request gets the register bits of the
 * request. False if the packet is full: the writes that were put stay valid for the next packet.
 */
bool ap_state_step(struct ap_state *ap, struct packet *packet, const struct step *steps, size_t n, size_t at,
                   uint8_t *request);
/* The access was put: records what it does to TAR, SELECT and CSW. */
void ap_state_done(struct ap_state *ap, const struct step *step, uint8_t request);
/* SELECT for a register of an access port. */
bool ap_state_register(struct ap_state *ap, struct packet *packet, const struct access_port *port,
                       uint32_t offset, size_t step);
bool ap_state_mask(struct ap_state *ap, struct packet *packet, uint32_t mask, uint32_t step);
/* Puts the present mask again. */
bool ap_state_mask_again(struct ap_state *ap, struct packet *packet, uint32_t step);
