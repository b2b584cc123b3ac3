/*
 * The debug port behind a probe: single registers, power, and the way back after a failure. The packets of a
 * measurement do not come through here, only what prepares them and what mends the wires behind them.
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
    uint32_t found; /* in CTRL/STAT before us: requests and modes */
    uint32_t up;    /* what was acknowledged */
};

struct adi {
    struct dap_probe *probe;
    bool jtag;
    uint8_t index; /* on the JTAG chain */
    uint8_t tap_ir[8];
    size_t taps;
    bool dormant; /* the target was woken from the dormant state */
    uint32_t hz;
    uint32_t dpidr;
    size_t n_ports;              /* debug ports on the wires */
    uint32_t targets[ADI_PORTS]; /* what selects them; unused when there is one */
    bool multidrop;
    size_t selected; /* SIZE_MAX: none */
    struct adi_power power[ADI_PORTS];
    bool padded;      /* the length of a reply says nothing */
    bool loses_place; /* it may take a match directly behind a posted read for something else */
    bool match;       /* the firmware compares values */
    uint16_t match_retry;
    uint32_t match_ns, match_least_ns; /* one re-read, as it looks now; as it was measured */
    unsigned impatient;                /* failed waits until a match may take long again */
    uint32_t wait_us;                  /* how long an access may take before it is aborted; 0: the usual */
    int64_t waits_since_us;            /* one takes long; 0: none */
    bool patient;                      /* the firmware itself waits longer than usual */
};

/* One transfer: a TRANSFER_* request byte, and what is written or was read. */
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

/* At most ADI_BATCH of them, in one packet. *done counts what is finished, reads with their value. */
enum adi_end adi_transfer(struct adi *adi, struct adi_access *list, size_t n, size_t *done,
                          struct error *error);
enum adi_end adi_read_dp(struct adi *adi, uint8_t offset, uint32_t *value, struct error *error);
enum adi_end adi_write_dp(struct adi *adi, uint8_t offset, uint32_t value, struct error *error);

/* Makes debug port `number` the one that listens. */
enum adi_end adi_select(struct adi *adi, size_t number, struct error *error);
/* Sticky flags that somebody left set: with one of them, little more than this is answered. */
enum adi_end adi_clear_sticky(struct adi *adi, struct error *error);
/* Half the clock, down to 100 kHz: the wires may be too long for it. */
bool adi_slow_down(struct adi *adi, struct error *error);
/* Line reset or what JTAG has for it, the debug port selected again, its identity checked. */
enum adi_end adi_resume(struct adi *adi, struct error *error);

enum adi_health {
    ADI_FINE,      /* on with it */
    ADI_REFUSED,   /* an access was refused by the target's bus */
    ADI_GARBLED,   /* a write's data did not arrive whole, and was not carried out */
    ADI_LATE,      /* an access took long and has ended: on with what was not accepted meanwhile */
    ADI_STUCK,     /* an access never ended and was given up */
    ADI_POWERLESS, /* the debug port has lost its power since it was switched on; it has it again */
    ADI_SILENT,    /* nobody answers */
    ADI_GONE,      /* the probe, with the error set */
};

/* After a packet that ended in `end`: what it was, and everything sticky cleared. */
enum adi_health adi_mend(struct adi *adi, enum adi_end end, struct error *error);
/* What was waited for has come. */
bool adi_end_wait(struct adi *adi, struct error *error);
/* Time a re-read takes and whether the firmware compares at all; sets the retries from that. */
bool adi_measure_match(struct adi *adi, struct error *error);
bool adi_configure(struct adi *adi, uint16_t match_retry, struct error *error);
/*
 * A match failed, in a packet that took `us`. All matches of a packet share their retries: many are good for
 * waits, few for proofs that fail, as they do in turns when a function has two callers. And re-reads of
 * memory may be slower than those that were measured.
 */
bool adi_adjust_match(struct adi *adi, bool proof, int64_t us, struct error *error);

/*
 * Debug power: switched on when we come, and put back to what it was when we go. A debug port that another
 * debugger has powered stays so; one that nobody used goes back to sleep, for it keeps clocks and regulators
 * of the target awake.
 */
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
void power_leave(struct adi *adi, enum link_power leave, struct error *error);
