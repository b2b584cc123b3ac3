/* SPDX-License-Identifier: MIT */
/*
 * The debug port at a probe: single registers, debug power, recovery after a failure. The executor sends a
 * measurement's packets itself; this prepares for them and recovers the wires after them.
 */
#pragma once

#include "links/dap/ap_state.h"
#include "links/dap/probe.h"
#include "links/link.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ADI_PORTS = 16, ADI_BATCH = 10 };

/* Debug power of one debug port. */
struct adi_power {
    bool known;
    uint32_t found; /* requests and modes in CTRL/STAT before us */
    uint32_t up;    /* the acknowledges that arrived */
};

struct adi {
    struct dap_probe *probe;
    /* Called before we change what is put back at the end: power, CSW. May be NULL. */
    void (*before_change)(void *context);
    void *context;
    bool jtag;
    uint8_t index;   /* in the JTAG chain */
    unsigned others; /* debug ports in the JTAG chain, which are not used */
    bool dormant;    /* the target was woken from the dormant state */
    uint32_t hz;
    uint32_t dpidr;
    size_t n_ports;              /* debug ports on the wires */
    uint32_t targets[ADI_PORTS]; /* TARGETSEL values; unused for a single port */
    bool multidrop;
    size_t selected; /* SIZE_MAX: none */
    struct adi_power power[ADI_PORTS];
    bool padded;      /* replies are longer than their contents */
    bool loses_place; /* the firmware may mishandle a match directly after a posted read */
    bool match;       /* the firmware compares values */
    bool resends;     /* over SWD: RESEND has what the last read of an access port brought */
    uint16_t match_retry;
    uint32_t match_ns, match_least_ns; /* time of one re-read: present estimate; as measured */
    unsigned impatient;                /* how many more failed waits until matches get long retries again */
    uint32_t wait_us;                  /* how long an access may take before it is aborted; 0: the default */
    int64_t waits_since_us;            /* when the access under way began to wait; 0: none */
    bool patient;                      /* the firmware's own retries are set longer than usual */
};

/* One transfer: a TRANSFER_* request byte, and the word written or read. */
struct adi_access {
    uint8_t request;
    uint32_t value;
};

enum adi_end {
    ADI_OK,
    ADI_WAIT,
    ADI_FAULT,
    ADI_NO_ACK,
    ADI_MISMATCH,
    ADI_LOST, /* the probe, with the error set */
};

/* At most ADI_BATCH transfers, in one packet. *done counts those that finished. */
enum adi_end adi_transfer(struct adi *adi, struct adi_access *list, size_t n, size_t *done,
                          struct error *error);
enum adi_end adi_read_dp(struct adi *adi, uint8_t offset, uint32_t *value, struct error *error);
enum adi_end adi_write_dp(struct adi *adi, uint8_t offset, uint32_t value, struct error *error);

unsigned adi_version(const struct adi *adi); /* of the debug port's architecture; 0: over JTAG */
void adi_will_change(const struct adi *adi); /* calls `before_change` */
/* Selects debug port `number`. */
enum adi_end adi_select(struct adi *adi, size_t number, struct error *error);
/* Clears the sticky flags: with one of them set, a debug port refuses most accesses. */
enum adi_end adi_clear_sticky(struct adi *adi, struct error *error);
/* Halves the clock, down to 100 kHz. False only if the probe is lost. */
bool adi_slow_down(struct adi *adi, struct error *error);
/* Line reset or JTAG's TAP reset; then selects the debug port again and checks its identity. */
enum adi_end adi_resume(struct adi *adi, struct error *error);

enum adi_health {
    ADI_FINE,      /* go on */
    ADI_REFUSED,   /* the target's bus refused an access */
    ADI_GARBLED,   /* a write's data arrived damaged; the write was not carried out */
    ADI_LATE,      /* a slow access has ended: go on with the access that was not accepted meanwhile */
    ADI_STUCK,     /* an access never ended and was aborted */
    ADI_POWERLESS, /* the debug port had lost its power and has it again */
    ADI_SILENT,    /* no answer on the wires */
    ADI_GONE,      /* the probe, with the error set */
};

/* Recovers after a packet that ended in `end`: finds the cause, clears the sticky flags. */
enum adi_health adi_mend(struct adi *adi, enum adi_end end, struct error *error);
/* The access that took long has ended: back to the usual retries. */
bool adi_end_wait(struct adi *adi, struct error *error);
/* Measures whether the firmware compares values and how long a re-read takes; sets the retries. */
bool adi_measure_match(struct adi *adi, struct error *error);
bool adi_configure(struct adi *adi, uint16_t match_retry, struct error *error);
/*
 * A match failed in a packet that took `us`; 0: unknown. All matches share one number of retries: waits want
 * many, proofs want few if they fail often, as with a function that has two callers. Re-reads of memory may
 * be slower than measured.
 */
bool adi_adjust_match(struct adi *adi, bool proof, int64_t us, struct error *error);

/*
 * Debug power: switched on at the beginning and restored at the end. A debug port that another debugger
 * powered stays powered; any other is switched off, since its power keeps clocks and regulators of the target
 * awake.
 */

/* Requests debug and system power for the selected port and waits for it; clears sticky flags first. Some
 * chips never acknowledge system power; that is not an error.
 */
enum adi_end adi_power_up(struct adi *adi, const struct deadline *deadline, struct error *error);
/* Whether the port never acknowledged system power. */
bool adi_power_lacks_system(const struct adi *adi, size_t port);
/* Whether any port was powered up. */
bool adi_power_is_ours(const struct adi *adi);
/* Restores the power of every port that we powered up and that still answers. */
void adi_power_leave(struct adi *adi, enum link_power leave, struct error *error);

/*
 * Connects to a target: SWD or JTAG, one or several debug ports, and the access ports of each (connect.c).
 */
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
