/* SPDX-License-Identifier: MIT */
#include "links/dap/adi.h"

#include "links/dap/probe.h"

/* IHI 0031 B2.2.1 (ABORT) and B2.2.2 (CTRL/STAT). */
enum {
    ABORT_TRANSACTION = 1 << 0,
    ABORT_CLEAR = 0x1E, /* every sticky flag */
    STAT_STICKY_CMP = 1 << 4,
    STAT_WDATA_ERR = 1 << 7,
    STAT_STICKY = STAT_STICKY_ORUN | STAT_STICKY_CMP | STAT_STICKY_ERR,
};

/* CTRL/STAT, IHI 0031 B2.2.2: power requests, each acknowledged by the bit above it; the modes of access. */
static const uint32_t CDBGPWRUPREQ = 1U << 28, CDBGPWRUPACK = 1U << 29, CSYSPWRUPREQ = 1U << 30,
                      CSYSPWRUPACK = 1U << 31, STAT_MODES = 0xF0D;

enum {
    WAIT_RETRY_US = 5000, /* how long the firmware repeats an access answered by WAIT */
    PATIENT_US = 100000,  /* the same, once an access has taken longer */
    WAIT_US = 200000,     /* how long an access may take: flash being erased, or a slow clock */
    PATIENT_MATCHES = 4,  /* re-reads while `patient`: each may take that long */
    WAIT_BITS = 13,       /* on the wires for each WAIT */
    IDLE_BITS = 2,        /* after each transfer: the target may need clocks to finish it */
    READ_BITS = 46 + IDLE_BITS,
    LONG_SLICE_US = 10000, /* a match is given up after this */
    SHORT_SLICE_US = 1000,
    LATENCY_US = 10000, /* of a slow connection to the probe */
    IMPATIENCE = 32,
    MATCH_TRIAL = 500,
    MATCH_TRIES = 2,
    SELECT_TRIES = 2,
    RESUME_TRIES = 5,
    RESUME_BY_OTHER_WAY = 2,
    SLOWEST_HZ = 100000,
};

/* ---- transfers */

/* Whether the reply has a word for it. */
static bool adi_is_read(const struct adi_access *access)
{
    return (access->request & (TRANSFER_READ | TRANSFER_MATCH_VALUE)) == TRANSFER_READ;
}

static size_t write_request(const struct adi *adi, const struct adi_access *list, size_t n, uint8_t *out)
{
    size_t length = TRANSFER_HEAD;
    out[0] = DAP_TRANSFER;
    out[1] = adi->index;
    out[2] = (uint8_t)n;
    for (size_t i = 0; i < n; i++) {
        out[length++] = list[i].request;
        for (unsigned shift = 0; !adi_is_read(&list[i]) && shift < 32; shift += 8)
            out[length++] = (uint8_t)(list[i].value >> shift);
    }
    return length;
}

static enum adi_end adi_end_of(uint8_t ack)
{
    if (ack & ACK_PROTOCOL_ERROR)
        return ADI_NO_ACK;
    if ((ack & ACK_BITS) == ACK_OK)
        return ack & ACK_MISMATCH ? ADI_MISMATCH : ADI_OK;
    return (ack & ACK_BITS) == ACK_WAIT ? ADI_WAIT : (ack & ACK_BITS) == ACK_FAULT ? ADI_FAULT : ADI_NO_ACK;
}

/* A reply of the full packet size, whatever it holds, means that the probe pads its replies. */
static bool right_length(struct adi *adi, size_t length, size_t due, bool whole)
{
    if (length > due && (adi->probe->carrier->padded || length == adi->probe->info.packet_size))
        adi->padded = true;
    return length >= due && (!whole || adi->padded || length == due);
}

/* False: the reply does not fit such a list. */
static bool take_reply(struct adi *adi, const uint8_t *reply, size_t length, struct adi_access *list,
                       size_t n, size_t *done, enum adi_end *end)
{
    if (protocol_check(reply, length, DAP_TRANSFER) != ANSWER_GOOD || length < TRANSFER_HEAD || reply[1] > n)
        return false;
    size_t good = reply[1], at = TRANSFER_HEAD, words = 0;
    *end = adi_end_of(reply[2]);
    if (*end != ADI_OK && *end != ADI_MISMATCH && good > 0 && adi_is_read(&list[good - 1]) &&
        (adi->jtag || (list[good - 1].request & TRANSFER_AP)))
        good--; /* its word arrives with the next transfer */
    for (size_t i = 0; i < good; i++)
        words += adi_is_read(&list[i]);
    if (!right_length(adi, length, at + 4 * words, *end == ADI_OK || *end == ADI_MISMATCH))
        return false;
    for (size_t i = 0; i < good; i++) {
        if (!adi_is_read(&list[i]))
            continue;
        list[i].value = reply[at] | (uint32_t)reply[at + 1] << 8 | (uint32_t)reply[at + 2] << 16 |
                        (uint32_t)reply[at + 3] << 24;
        at += 4;
    }
    *done = good;
    if (*end == ADI_OK && good < n)
        *end = ADI_NO_ACK;
    return true;
}

/* *understood: the reply fits the list. */
static enum adi_end adi_exchange(struct adi *adi, struct adi_access *list, size_t n, size_t *done,
                                 bool *understood, struct error *error)
{
    uint8_t packet[TRANSFER_HEAD + 5 * ADI_BATCH], reply[CARRIER_ROOM];
    enum adi_end end = ADI_NO_ACK;
    size_t length;
    *done = 0;
    *understood = false;
    if (!probe_ask(adi->probe, packet, write_request(adi, list, n, packet), reply, &length, error))
        return ADI_LOST;
    *understood = take_reply(adi, reply, length, list, n, done, &end);
    adi->probe->unanswered = *understood && end == ADI_NO_ACK;
    return end;
}

enum adi_end adi_transfer(struct adi *adi, struct adi_access *list, size_t n, size_t *done,
                          struct error *error)
{
    bool understood;
    enum adi_end end = adi_exchange(adi, list, n, done, &understood, error);
    if (end != ADI_LOST && !understood)
        probe_distrust(adi->probe, error);
    return understood ? end : ADI_LOST;
}

enum adi_end adi_read_dp(struct adi *adi, uint8_t offset, uint32_t *value, struct error *error)
{
    struct adi_access access = {.request = TRANSFER_READ | offset};
    size_t done;
    enum adi_end end = adi_transfer(adi, &access, 1, &done, error);
    *value = access.value;
    return end;
}

enum adi_end adi_write_dp(struct adi *adi, uint8_t offset, uint32_t value, struct error *error)
{
    struct adi_access access = {.request = offset, .value = value};
    size_t done;
    return adi_transfer(adi, &access, 1, &done, error);
}

/* ---- selecting a debug port */

static enum adi_end select_once(struct adi *adi, size_t number, struct error *error)
{
    uint32_t dpidr = 0;
    if (adi->multidrop && !wires_target_select(adi->probe, adi->targets[number], error))
        return ADI_LOST;
    if (!adi->multidrop && !wires_send(adi->probe, adi->jtag ? WIRES_TAP_RESET : WIRES_LINE_RESET, error))
        return ADI_LOST;
    enum adi_end end = adi_read_dp(adi, DP_DPIDR, &dpidr, error);
    if (end == ADI_OK && !adi->jtag && dpidr != adi->dpidr)
        end = ADI_NO_ACK;
    if (end == ADI_OK)
        adi->selected = number;
    return end;
}

enum adi_end adi_select(struct adi *adi, size_t number, struct error *error)
{
    enum adi_end end = ADI_OK;
    if (adi->selected == number)
        return ADI_OK;
    adi->selected = SIZE_MAX;
    for (int i = 0; i < SELECT_TRIES && adi->selected != number && end != ADI_LOST; i++)
        end = select_once(adi, number, error);
    return end;
}

bool adi_slow_down(struct adi *adi, struct error *error)
{
    if (adi->hz / 2 < SLOWEST_HZ)
        return true;
    struct error refused = {0};
    if (wires_clock(adi->probe, adi->hz / 2, &refused))
        adi->hz /= 2;
    else if (adi->probe->lost)
        return error_copy(error, &refused);
    return true; /* at the present clock if the probe takes no slower one */
}

/* Sets the clock again: firmware may change it with a sequence on the wires. */
static enum adi_end keep_clock(struct adi *adi, struct error *error)
{
    struct error refused = {0};
    if (!wires_clock(adi->probe, adi->hz, &refused) && adi->probe->lost) {
        error_copy(error, &refused);
        return ADI_LOST;
    }
    return ADI_OK;
}

unsigned adi_version(const struct adi *adi)
{
    return adi->jtag ? 0 : adi->dpidr >> 12 & 0xF;
}

enum adi_end adi_resume(struct adi *adi, struct error *error)
{
    size_t number = adi->selected != SIZE_MAX ? adi->selected : 0;
    enum adi_end end = ADI_NO_ACK;
    for (int i = 0; i < RESUME_TRIES; i++) {
        bool other = i == RESUME_BY_OTHER_WAY, dormant = adi->dormant != other;
        /* DPv2 has a dormant state (IHI 0031 B5.2). A port that was found awake, by a debugger before us, is
         * dormant once it has lost its power */
        if (other && adi_version(adi) < 2)
            continue;
        if (i > RESUME_BY_OTHER_WAY && !adi_slow_down(adi, error))
            return ADI_LOST;
        enum wires_sequence wake = dormant ? WIRES_DORMANT_TO_SWD : WIRES_JTAG_TO_SWD;
        if (other && dormant && !wires_send(adi->probe, WIRES_TO_DORMANT, error))
            return ADI_LOST;
        if (i >= 1 && !wires_send(adi->probe, adi->jtag ? WIRES_SWD_TO_JTAG : wake, error))
            return ADI_LOST;
        adi->selected = SIZE_MAX;
        end = adi_select(adi, number, error);
        if (end == ADI_OK) {
            adi->dormant = dormant;
            return keep_clock(adi, error);
        }
        if (end == ADI_LOST)
            return end;
    }
    adi->selected = SIZE_MAX;
    return end;
}

/* ---- sticky flags */

static enum adi_end write_abort(struct adi *adi, uint32_t value, struct error *error)
{
    if (!adi->jtag)
        return adi_write_dp(adi, DP_ABORT, value, error);
    uint8_t packet[PROTOCOL_ROOM]; /* over JTAG its own instruction, which DAP_Transfer does not know */
    size_t n = protocol_write_abort(packet, adi->index, value);
    return probe_tell(adi->probe, packet, n, "abort an access", error) ? ADI_OK : ADI_LOST;
}

static enum adi_end clear_sticky(struct adi *adi, bool give_up, struct error *error)
{
    enum adi_end end = ADI_OK;
    if (give_up || !adi->jtag)
        end = write_abort(adi, (adi->jtag ? 0 : ABORT_CLEAR) | (give_up ? ABORT_TRANSACTION : 0), error);
    if (end != ADI_OK || !adi->jtag)
        return end;
    /* a JTAG-DP clears them by ones written to CTRL/STAT */
    return adi_write_dp(adi, DP_CTRL_STAT, CDBGPWRUPREQ | CSYSPWRUPREQ | STAT_STICKY, error);
}

enum adi_end adi_clear_sticky(struct adi *adi, struct error *error)
{
    return clear_sticky(adi, false, error);
}

/* ---- debug power */

/* The least number of reads before we give up: the host may be slower than the target. */
enum { SYSTEM_LOOKS = 100, DOWN_LOOKS = 20, POWER_TRIES = 2 };

static struct adi_power *power_of(const struct adi *adi)
{
    return (struct adi_power *)&adi->power[adi->selected < ADI_PORTS ? adi->selected : 0];
}

/* Waits until the bits of CTRL/STAT are `wanted`; ADI_WAIT: they never were. */
static enum adi_end adi_wait_for(struct adi *adi, uint32_t bits, uint32_t wanted, unsigned looks,
                                 const struct deadline *deadline, struct error *error)
{
    for (unsigned i = 0;; i++) {
        uint32_t stat = 0;
        enum adi_end end = adi_read_dp(adi, DP_CTRL_STAT, &stat, error);
        if (end != ADI_OK || (stat & bits) == wanted)
            return end;
        if (i >= looks && (deadline == NULL || deadline_passed(deadline)))
            return ADI_WAIT;
        deadline_nap();
    }
}

void adi_will_change(const struct adi *adi)
{
    if (adi->before_change != NULL)
        adi->before_change(adi->context);
}

/* Notes what another debugger requested before us. If we connect again after a lost link, the port may show
 * our own requests; after a loss of power it shows none: so only bits seen both times count. */
static void note_found(struct adi_power *power, uint32_t stat)
{
    uint32_t found = stat & (CDBGPWRUPREQ | CSYSPWRUPREQ | STAT_MODES);
    power->found = power->known ? power->found & found : found;
    power->known = true;
}

enum adi_end adi_power_up(struct adi *adi, const struct deadline *deadline, struct error *error)
{
    uint32_t stat = 0;
    struct adi_power *power = power_of(adi);
    enum adi_end end = adi->jtag ? ADI_OK : adi_clear_sticky(adi, error);
    if (end == ADI_OK)
        end = adi_write_dp(adi, DP_SELECT, 0, error);
    if (end == ADI_OK)
        end = adi_read_dp(adi, DP_CTRL_STAT, &stat, error);
    if (end != ADI_OK)
        return end;
    note_found(power, stat);
    power->up = 0;
    adi_will_change(adi);
    end = adi->jtag ? adi_clear_sticky(adi, error) : ADI_OK; /* which also requests power */
    if (end == ADI_OK)
        end = adi_write_dp(adi, DP_CTRL_STAT, CDBGPWRUPREQ | CSYSPWRUPREQ, error);
    if (end == ADI_OK)
        end = adi_wait_for(adi, CDBGPWRUPACK, CDBGPWRUPACK, 0, deadline, error);
    if (end != ADI_OK)
        return end;
    end = adi_wait_for(adi, CSYSPWRUPACK, CSYSPWRUPACK, SYSTEM_LOOKS, NULL, error);
    if (end == ADI_OK || end == ADI_WAIT)
        power->up = CDBGPWRUPACK | (end == ADI_OK ? CSYSPWRUPACK : 0);
    return end == ADI_WAIT ? ADI_OK : end;
}

/* Whether CTRL/STAT still shows the acknowledges that the selected port had. */
static bool adi_power_is_up(const struct adi *adi, uint32_t stat)
{
    uint32_t up = power_of(adi)->up;
    return up != 0 && (stat & up) == up;
}

bool adi_power_lacks_system(const struct adi *adi, size_t port)
{
    return adi->power[port].up == CDBGPWRUPACK;
}

bool adi_power_is_ours(const struct adi *adi)
{
    bool ours = false;
    for (size_t i = 0; i < ADI_PORTS; i++)
        ours = ours || adi->power[i].known;
    return ours;
}

/* System power goes first, then debug power. */
static enum adi_end take_down(struct adi *adi, struct error *error)
{
    enum adi_end end = adi_write_dp(adi, DP_CTRL_STAT, CDBGPWRUPREQ, error);
    if (end == ADI_OK)
        end = adi_wait_for(adi, CSYSPWRUPACK, 0, DOWN_LOOKS, NULL, error);
    if (end == ADI_OK || end == ADI_WAIT)
        end = adi_write_dp(adi, DP_CTRL_STAT, 0, error);
    return end == ADI_OK ? adi_wait_for(adi, CDBGPWRUPACK, 0, DOWN_LOOKS, NULL, error) : end;
}

static enum adi_end leave_port(struct adi *adi, const struct adi_power *power, enum link_power leave,
                               struct error *error)
{
    uint32_t left = leave == LINK_POWER_DOWN ? 0 : power->found;
    if (leave == LINK_POWER_UP)
        left |= CDBGPWRUPREQ | CSYSPWRUPREQ;
    enum adi_end end = adi_clear_sticky(adi, error);
    if (end == ADI_OK)
        end = adi_write_dp(adi, DP_SELECT, 0, error);
    if (end == ADI_OK && (left & CDBGPWRUPREQ) == 0)
        end = take_down(adi, error);
    if ((end == ADI_OK || end == ADI_WAIT) && left != 0)
        end = adi_write_dp(adi, DP_CTRL_STAT, left, error);
    return end;
}

void adi_power_leave(struct adi *adi, enum link_power leave, struct error *error)
{
    for (size_t i = 0; i < adi->n_ports && i < ADI_PORTS; i++)
        for (int try = 0; adi->power[i].known && !adi->probe->lost && try < POWER_TRIES; try++) {
            enum adi_end end = adi_select(adi, i, error);
            if (end == ADI_OK)
                end = leave_port(adi, &adi->power[i], leave, error);
            if (end == ADI_OK ||
                end == ADI_WAIT) /* the request is withdrawn, even if the acknowledge stays */
                break;
            adi->selected = SIZE_MAX; /* select it afresh, from a line reset on */
        }
}

/* ---- after a failure */

static enum adi_health health_of(struct adi *adi, uint32_t stat, struct error *error)
{
    if (!adi_power_is_up(adi, stat)) {
        struct deadline soon = deadline_in_ms(patience_ms(100), NULL);
        enum adi_end end = adi_power_up(adi, &soon, error);
        return end == ADI_LOST ? ADI_GONE : end == ADI_OK ? ADI_POWERLESS : ADI_SILENT;
    }
    if (stat & (STAT_STICKY_ERR | STAT_STICKY_ORUN | STAT_STICKY_CMP))
        return ADI_REFUSED;
    return !adi->jtag && (stat & STAT_WDATA_ERR) ? ADI_GARBLED : ADI_FINE;
}

/*
 * Waits for the access under way: the port answers a read of RDBUFF once it has ended. Aborting is the last
 * resort, since an access port may be unusable afterwards (IHI 0031 B1.3). ADI_WAIT: the access takes too
 * long, or the port accepts nothing although nothing is under way.
 */
static enum adi_end wait_out(struct adi *adi, struct error *error)
{
    uint32_t ignored;
    int64_t most_us = adi->wait_us != 0 ? adi->wait_us : WAIT_US;
    if (adi->waits_since_us == 0)
        adi->waits_since_us = deadline_now_us();
    enum adi_end end;
    while ((end = adi_read_dp(adi, DP_RDBUFF, &ignored, error)) == ADI_WAIT &&
           deadline_now_us() - adi->waits_since_us < most_us)
        deadline_nap();
    if (end != ADI_OK)
        return end;
    if (deadline_now_us() - adi->waits_since_us >= most_us && adi->patient)
        return ADI_WAIT;
    adi->patient = true;
    return adi_configure(adi, adi->match_retry, error) ? ADI_OK : ADI_LOST;
}

bool adi_end_wait(struct adi *adi, struct error *error)
{
    bool patient = adi->patient;
    adi->waits_since_us = 0;
    adi->patient = false;
    return !patient || adi_configure(adi, adi->match_retry, error);
}

/* A slow access may have left a sticky flag. */
static enum adi_health result_of_late_access(struct adi *adi, enum adi_end end, enum adi_health otherwise,
                                             struct error *error)
{
    if (end == ADI_FAULT)
        end = clear_sticky(adi, false, error) == ADI_LOST ? ADI_LOST : end;
    return end == ADI_LOST ? ADI_GONE : end == ADI_FAULT ? ADI_REFUSED : otherwise;
}

enum adi_health adi_mend(struct adi *adi, enum adi_end failure, struct error *error)
{
    uint32_t stat = 0, ignored;
    enum adi_end end = ADI_OK, before = ADI_OK;
    bool stuck = false, late = false;
    if (failure == ADI_LOST)
        return ADI_GONE;
    if (failure == ADI_WAIT) {
        end = wait_out(adi, error);
        late = end == ADI_OK;
        stuck = end == ADI_WAIT;
        failure = end == ADI_NO_ACK ? ADI_NO_ACK : failure;
        end = end == ADI_LOST ? ADI_LOST : ADI_OK;
    }
    adi->probe->unanswered = failure == ADI_NO_ACK;
    if (failure == ADI_NO_ACK)
        end = adi_resume(adi, error);
    if (end == ADI_OK)
        end = adi_read_dp(adi, DP_CTRL_STAT, &stat, error);
    if (end == ADI_WAIT && !stuck) { /* over JTAG an access under way also delays this */
        before = wait_out(adi, error);
        stuck = before == ADI_WAIT;
        if (!stuck)
            end = adi_read_dp(adi, DP_CTRL_STAT, &stat, error);
    }
    if (end == ADI_WAIT || end == ADI_FAULT) { /* only older ports answer CTRL/STAT by WAIT or FAULT */
        stuck = stuck || end == ADI_WAIT;
        end = clear_sticky(adi, stuck, error);
        if (end == ADI_OK)
            end = adi_read_dp(adi, DP_CTRL_STAT, &stat, error);
    }
    if (end == ADI_OK)
        end = clear_sticky(adi, stuck, error);
    if (end == ADI_OK && !stuck && !late && adi_read_dp(adi, DP_RDBUFF, &ignored, error) == ADI_WAIT) {
        before = wait_out(adi, error); /* an earlier access is still under way */
        stuck = before == ADI_WAIT;
        if (stuck)
            end = clear_sticky(adi, true, error);
    }
    if (end == ADI_LOST || adi->probe->lost)
        return ADI_GONE;
    if (end != ADI_OK)
        return failure == ADI_NO_ACK ? ADI_SILENT : adi_mend(adi, ADI_NO_ACK, error);
    enum adi_health health = result_of_late_access(adi, before, health_of(adi, stat, error), error);
    if (stuck) {
        adi->waits_since_us = 0; /* the next access gets its own time */
        return health == ADI_FINE || health == ADI_REFUSED ? ADI_STUCK : health;
    }
    return late && health == ADI_FINE ? ADI_LATE : health;
}

/* ---- value match */

static uint16_t between(uint64_t value, uint16_t low, uint16_t high)
{
    return (uint16_t)(value < low ? low : value > high ? high : value);
}

bool adi_configure(struct adi *adi, uint16_t match_retry, struct error *error)
{
    uint8_t packet[PROTOCOL_ROOM];
    if (adi->patient && match_retry > PATIENT_MATCHES)
        match_retry = PATIENT_MATCHES;
    uint64_t waits = (uint64_t)adi->hz * (adi->patient ? PATIENT_US : WAIT_RETRY_US) / 1000000 / WAIT_BITS;
    size_t n = protocol_transfer_configure(
        packet, IDLE_BITS, between(waits, 64, adi->patient ? UINT16_MAX : 20000), match_retry);
    return probe_tell(adi->probe, packet, n, "set its retries", error);
}

static uint16_t retries_for(const struct adi *adi)
{
    uint64_t slice_us = adi->impatient > 0 ? SHORT_SLICE_US : LONG_SLICE_US;
    return between(UINT64_C(1000) * slice_us / adi->match_ns, 1, UINT16_MAX);
}

/*
 * Sends a list like the compiler's, on registers that do not change: a write, a word, the mask, matches, and
 * a word after them. True if it ends as `wanted`; otherwise this firmware does not compare values, or not
 * rightly. *us is how long the packet took.
 */
static bool try_match(struct adi *adi, uint32_t dpidr, enum adi_end wanted, int64_t *us, struct error *error)
{
    const uint32_t value = wanted == ADI_OK ? dpidr : ~dpidr;
    struct adi_access list[] = {
        {.request = DP_SELECT, .value = 0},
        {.request = TRANSFER_READ | DP_DPIDR},
        {.request = TRANSFER_MATCH_MASK, .value = UINT32_MAX},
        {.request = TRANSFER_READ | TRANSFER_MATCH_VALUE | DP_DPIDR, .value = value},
        {.request = TRANSFER_READ | TRANSFER_MATCH_VALUE | DP_DPIDR, .value = value},
        {.request = TRANSFER_READ | DP_DPIDR},
    };
    const size_t n = sizeof list / sizeof *list, match = 3;
    size_t done;
    bool understood;
    int64_t begun = deadline_now_us();
    enum adi_end end = adi_exchange(adi, list, n, &done, &understood, error);
    *us = deadline_now_us() - begun;
    return end == wanted && understood && done == (wanted == ADI_OK ? n : match) && list[1].value == dpidr &&
           (wanted != ADI_OK || list[n - 1].value == dpidr);
}

/*
 * Over JTAG each read is posted, and separating a match from one costs five bytes. This tests whether the
 * firmware needs that: matches directly after reads of both ports, failing and matching. IDR does not change.
 */
static bool keeps_place(struct adi *adi, struct error *error)
{
    enum { BANK_IDR = AP_IDR & 0xF0, IDR = TRANSFER_AP | TRANSFER_READ | (AP_IDR & TRANSFER_REGISTER) };
    enum { STAT = TRANSFER_READ | DP_CTRL_STAT };
    static const uint8_t reads[] = {IDR, STAT};
    struct adi_access known[] = {{DP_SELECT, BANK_IDR}, {IDR, 0}, {STAT, 0}};
    bool understood;
    size_t done;
    if (adi_exchange(adi, known, 3, &done, &understood, error) != ADI_OK || !understood)
        return false;
    const uint32_t idr = known[1].value, stat = known[2].value;
    for (size_t i = 0; i < sizeof reads; i++) {
        struct adi_access fails[] = {
            {DP_SELECT, BANK_IDR}, {reads[i], 0}, {IDR | TRANSFER_MATCH_VALUE, ~idr}};
        if (adi_exchange(adi, fails, 3, &done, &understood, error) != ADI_MISMATCH || !understood ||
            done != 2 || fails[1].value != known[1 + i].value)
            return false;
    }
    struct adi_access list[] = {{DP_SELECT, BANK_IDR},
                                {IDR, 0},
                                {IDR | TRANSFER_MATCH_VALUE, idr},
                                {STAT, 0},
                                {IDR | TRANSFER_MATCH_VALUE, idr},
                                {STAT, 0},
                                {STAT | TRANSFER_MATCH_VALUE, stat},
                                {IDR, 0}};
    const size_t n = sizeof list / sizeof *list;
    return adi_exchange(adi, list, n, &done, &understood, error) == ADI_OK && understood && done == n &&
           list[1].value == idr && list[3].value == stat && list[5].value == stat && list[7].value == idr;
}

bool adi_measure_match(struct adi *adi, struct error *error)
{
    int64_t turn, trial;
    uint32_t dpidr = 0;
    if (!adi_configure(adi, MATCH_TRIAL, error))
        return false;
    adi->match = false;
    for (int i = 0; i < MATCH_TRIES && !adi->match; i++) { /* noise resembles firmware without value match */
        if (i > 0 && adi_mend(adi, ADI_NO_ACK, error) == ADI_GONE)
            return false;
        enum adi_end end = adi_read_dp(adi, DP_DPIDR, &dpidr, error);
        adi->match = end == ADI_OK && try_match(adi, dpidr, ADI_OK, &turn, error) &&
                     try_match(adi, dpidr, ADI_MISMATCH, &trial, error);
        if (adi->probe->lost)
            return false;
    }
    uint64_t one_ns = UINT64_C(1000000000) * READ_BITS / adi->hz;
    if (adi->match && (trial - turn) * 1000 / MATCH_TRIAL > (int64_t)one_ns)
        one_ns = (uint64_t)(trial - turn) * 1000 / MATCH_TRIAL;
    adi->match_ns = adi->match_least_ns = (uint32_t)one_ns;
    adi->impatient = 0;
    adi->match_retry = retries_for(adi);
    if (!adi->match) /* such firmware may have done anything with these requests */
        return adi_mend(adi, ADI_NO_ACK, error) != ADI_GONE && adi_configure(adi, 1, error);
    if (adi->jtag) {
        if (!adi_configure(adi, 1, error))
            return false;
        adi->loses_place = !keeps_place(adi, error);
        if (adi->loses_place && adi_mend(adi, ADI_NO_ACK, error) == ADI_GONE)
            return false;
    }
    return adi_configure(adi, adi->match_retry, error);
}

bool adi_adjust_match(struct adi *adi, bool proof, int64_t us, struct error *error)
{
    int64_t slice_us = adi->impatient > 0 ? SHORT_SLICE_US : LONG_SLICE_US;
    if (us > 4 * slice_us + LATENCY_US && adi->match_ns < UINT32_MAX / 2)
        adi->match_ns *= 2;
    else if (us > 0 && us < slice_us && adi->match_ns > adi->match_least_ns)
        adi->match_ns = adi->match_ns / 2 > adi->match_least_ns ? adi->match_ns / 2 : adi->match_least_ns;
    adi->impatient = proof ? IMPATIENCE : adi->impatient > 0 ? adi->impatient - 1 : 0;
    uint16_t retry = retries_for(adi);
    if (retry == adi->match_retry)
        return true;
    adi->match_retry = retry;
    return adi_configure(adi, retry, error);
}
