#include "links/dap/connect.h"

#include "links/dap/ap_state.h"

/* TARGETSEL of chips with several debug ports on two wires, IHI 0031 B2.2.13. Never more than their cores:
 * the RP2040's number 15 resets the chip when it is powered up. */
static const struct {
    uint32_t device;
    size_t n;
} multidrop[] = {{0x01002927, 2}};

enum {
    HZ_MOST = 10000000,
    HZ_LEAST = 100000,
    CHECKS = ADI_BATCH, /* reads of DPIDR that must agree for a clock to be good */
    TARGETID_BANK = 2,  /* IHI 0031 B2.2.10: register 4 of that bank; DPv2 has it */
    POWER_MS = 1000,
    TRIES = 2,
};

static const uint32_t TARGETID_NUMBER = 0xF0000000; /* differs between the ports of a chip */

static unsigned version_of(uint32_t dpidr)
{
    return dpidr >> 12 & 0xF;
}

/* A first answer: several ports that speak at once give the same one. */
static enum adi_end first_answer(struct adi *adi, struct error *error)
{
    enum adi_end end = adi_read_dp(adi, DP_DPIDR, &adi->dpidr, error);
    if (end == ADI_OK && (adi->dpidr == 0 || adi->dpidr == UINT32_MAX))
        end = ADI_NO_ACK;
    return end;
}

static enum adi_end try_target(struct adi *adi, uint32_t device, struct error *error)
{
    if (!wires_target_select(adi->probe, device, error))
        return adi->probe->lost ? ADI_LOST : ADI_NO_ACK;
    return first_answer(adi, error);
}

/* Whether what answers is one of several ports of a chip that is known to have them. */
static enum adi_end look_for_more(struct adi *adi, struct error *error)
{
    uint32_t id = 0;
    if (version_of(adi->dpidr) < 2)
        return ADI_OK;
    if (adi_write_dp(adi, DP_SELECT, TARGETID_BANK, error) != ADI_OK ||
        adi_read_dp(adi, DP_CTRL_STAT, &id, error) != ADI_OK)
        return adi->probe->lost ? ADI_LOST : ADI_OK;
    if (adi_write_dp(adi, DP_SELECT, 0, error) == ADI_LOST)
        return ADI_LOST;
    for (size_t i = 0; i < sizeof multidrop / sizeof *multidrop; i++) {
        if (((id ^ multidrop[i].device) & ~TARGETID_NUMBER) != 0)
            continue;
        adi->multidrop = true;
        adi->n_ports = multidrop[i].n;
        for (size_t k = 0; k < adi->n_ports; k++)
            adi->targets[k] = multidrop[i].device | (uint32_t)k << 28;
    }
    return ADI_OK;
}

/* *cannot says why a chip with several ports would not be seen. */
static enum adi_end connect_wires(struct adi *adi, struct error *cannot, struct error *error)
{
    enum adi_end end = ADI_NO_ACK;
    adi->multidrop = false;
    adi->n_ports = 1;
    adi->selected = SIZE_MAX;
    for (int dormant = 0; dormant < 2 && end != ADI_OK; dormant++) {
        adi->dormant = dormant != 0;
        if (dormant && !wires_send(adi->probe, WIRES_TO_DORMANT, error))
            return ADI_LOST;
        if (!wires_send(adi->probe, dormant ? WIRES_DORMANT_TO_SWD : WIRES_JTAG_TO_SWD, error))
            return ADI_LOST;
        end = first_answer(adi, error);
        for (size_t i = 0; i < sizeof multidrop / sizeof *multidrop && end != ADI_OK && end != ADI_LOST;
             i++) {
            end = try_target(adi, multidrop[i].device, cannot);
            if (end == ADI_LOST)
                error_set(error, cannot->kind, "%s", cannot->text);
        }
        if (end == ADI_LOST)
            return end;
    }
    if (end == ADI_OK)
        end = adi_clear_sticky(adi, error);
    return end == ADI_OK ? look_for_more(adi, error) : end;
}

/* True when the wires carry the clock: the same register, many times, reads the same. */
static enum adi_end check_clock(struct adi *adi, struct error *error)
{
    struct adi_access list[CHECKS];
    size_t done;
    for (size_t i = 0; i < CHECKS; i++)
        list[i] = (struct adi_access){.request = TRANSFER_READ | DP_DPIDR};
    enum adi_end end = adi_transfer(adi, list, CHECKS, &done, error);
    for (size_t i = 0; i < CHECKS && end == ADI_OK; i++)
        if (list[i].value != list[0].value || (!adi->jtag && list[i].value != adi->dpidr))
            end = ADI_NO_ACK;
    return end;
}

static bool choose_port(struct adi *adi, uint8_t port, struct error *error)
{
    adi->jtag = port == DAP_PORT_JTAG;
    return wires_connect(adi->probe, port, error);
}

/* At the clock that is set. */
static enum adi_end try_swd(struct adi *adi, struct error *cannot, struct error *error)
{
    if (!adi_configure(adi, 1, error))
        return ADI_LOST;
    enum adi_end end = connect_wires(adi, cannot, error);
    if (end == ADI_OK)
        end = adi_select(adi, 0, error);
    if (end == ADI_OK) /* firmware may fall back to a clock of its own with the sequences */
        end = wires_clock(adi->probe, adi->hz, error) ? check_clock(adi, error) : ADI_LOST;
    return end;
}

static bool connect_swd(struct adi *adi, struct error *error)
{
    static const char nobody[] =
        "no target answers over SWD: is it powered, and are SWCLK, SWDIO and ground connected?";
    uint8_t packet[PROTOCOL_ROOM];
    if (!choose_port(adi, DAP_PORT_SWD, error))
        return false;
    size_t n = protocol_swd_configure(packet);
    if (probe_tell(adi->probe, packet, n, "set up SWD", error) != ANSWER_GOOD)
        return false;
    for (bool clocked = false;; adi->hz /= 2) {
        struct error refused = {0}, cannot = {0};
        bool takes = wires_clock(adi->probe, adi->hz, &refused);
        enum adi_end end = takes ? try_swd(adi, &cannot, error) : adi->probe->lost ? ADI_LOST : ADI_NO_ACK;
        clocked = clocked || takes;
        if (end == ADI_OK)
            return true;
        if (end == ADI_LOST || (adi->hz / 2 < HZ_LEAST && !clocked))
            return error_set(error, refused.kind, "%s", refused.text);
        if (adi->hz / 2 < HZ_LEAST)
            return error_set(error, ERROR_NO_TARGET, "%s%s%s", nobody,
                             cannot.kind != ERROR_NONE ? " An RP2040 would not be seen: " : "", cannot.text);
    }
}

/* At the clock that is set. The error says why not; the probe may be lost. */
static bool try_chain(struct adi *adi, struct error *error)
{
    struct chain chain;
    if (!adi_configure(adi, 1, error) || !wires_send(adi->probe, WIRES_SWD_TO_JTAG, error) ||
        !chain_scan(adi->probe, &chain, error))
        return false;
    adi->index = (uint8_t)chain.port;
    adi->dpidr = chain.id[chain.port];
    adi->selected = SIZE_MAX;
    enum adi_end end = adi_select(adi, 0, error);
    if (end == ADI_OK)
        end = wires_clock(adi->probe, adi->hz, error) ? check_clock(adi, error) : ADI_LOST;
    return end == ADI_OK ||
           error_set(error, ERROR_NO_TARGET, "the debug port on the JTAG chain does not answer");
}

static bool connect_jtag(struct adi *adi, struct error *error)
{
    struct error why = {0};
    if (!choose_port(adi, DAP_PORT_JTAG, error))
        return false;
    adi->multidrop = adi->dormant = false;
    adi->n_ports = 1;
    for (bool clocked = false;; adi->hz /= 2) {
        struct error refused = {0};
        bool takes = wires_clock(adi->probe, adi->hz, &refused);
        if (takes && try_chain(adi, &refused))
            return true;
        if (takes || !clocked) /* a clock that is refused says the least */
            why = refused;
        clocked = clocked || takes;
        if (adi->probe->lost || adi->hz / 2 < HZ_LEAST)
            return error_set(error, adi->probe->lost ? refused.kind : why.kind, "%s",
                             adi->probe->lost ? refused.text : why.text);
    }
}

/* A moment's noise is no port that is not there. */
static enum adi_end power_port(struct adi *adi, size_t number, struct error *error)
{
    enum adi_end end = ADI_NO_ACK;
    for (int i = 0; i < TRIES && end != ADI_OK && end != ADI_LOST; i++) {
        struct deadline deadline = deadline_in_ms(patience_ms(POWER_MS), NULL);
        adi->selected = i == 0 ? adi->selected : SIZE_MAX; /* from a line reset on */
        end = adi_select(adi, number, error);
        if (end == ADI_OK)
            end = power_up(adi, &deadline, error);
    }
    return end;
}

static bool power_ports(struct adi *adi, struct error *error)
{
    for (size_t i = 0; i < adi->n_ports; i++) {
        enum adi_end end = power_port(adi, i, error);
        if (end == ADI_LOST)
            return false;
        if (end == ADI_NO_ACK && i > 0) { /* one of several need not be there */
            adi->n_ports = i;
            break;
        }
        if (end != ADI_OK)
            return error_set(error, ERROR_NO_TARGET, "the target's debug power does not come on");
    }
    enum adi_end end = adi_select(adi, 0, error);
    return end == ADI_OK || error_set(error, ERROR_NO_TARGET, "the debug port stopped answering");
}

bool connect_target(struct adi *adi, enum dap_wires wires, uint32_t hz, const struct deadline *deadline,
                    struct error *error)
{
    const struct dap_info *info = &adi->probe->info;
    uint8_t packet[PROTOCOL_ROOM];
    struct error refused = {0};
    bool can_swd = !info->capabilities_known || (info->capabilities & DAP_CAN_SWD);
    bool can_jtag = !info->capabilities_known || (info->capabilities & DAP_CAN_JTAG);
    bool connected = false;
    if (wires != DAP_WIRES_JTAG && can_swd) {
        adi->hz = hz != 0 ? hz : HZ_MOST;
        connected = connect_swd(adi, &refused);
    }
    if (!connected && !adi->probe->lost && wires != DAP_WIRES_SWD && can_jtag && !deadline_passed(deadline)) {
        struct error second = {0};
        adi->hz = hz != 0 ? hz : HZ_MOST;
        connected = connect_jtag(adi, &second);
        if (!connected)
            error_set(&refused, second.kind, "%s", second.text);
    }
    if (!connected) {
        error_set(&refused, ERROR_LINK_PROTOCOL, "%s: it cannot speak %s", adi->probe->carrier->name,
                  wires == DAP_WIRES_JTAG ? "JTAG" : "SWD");
        return error_set(error, refused.kind, "%s", refused.text);
    }
    (void)probe_tell(adi->probe, packet, protocol_host_status(packet, true), "light its lamp", &refused);
    return power_ports(adi, error) && adi_measure_match(adi, error);
}

enum {
    PATTERNS = 36,
    ROUNDS = 3,
    PAIRS = ADI_BATCH / 2,
};

/* A port that only transfers whole words has no bits 1:0 there (IHI 0031, the MEM-AP's TAR). */
static const uint32_t KEPT = ~UINT32_C(3);

/* Bits that all change, that never do, and each alone. */
static uint32_t pattern(unsigned number)
{
    static const uint32_t first[] = {0x55555555, 0xAAAAAAAA, 0x00000000, 0xFFFFFFFF};
    return number < 4 ? first[number] : UINT32_C(1) << (number - 4);
}

/* What TAR is given it gives back; if not, it ends as a match that fails does. */
static enum adi_end carry_patterns(struct adi *adi, const struct access_port *port, struct error *error)
{
    size_t done;
    enum adi_end end = adi_write_dp(adi, DP_SELECT, ap_state_select(port, AP_TAR), error);
    for (unsigned at = 0; at < PATTERNS * ROUNDS && end == ADI_OK; at += PAIRS) {
        struct adi_access list[2 * PAIRS];
        for (unsigned i = 0; i < PAIRS; i++) {
            struct adi_access *pair = &list[2 * (size_t)i];
            pair[0] =
                (struct adi_access){.request = TRANSFER_AP | AP_TAR, .value = pattern((at + i) % PATTERNS)};
            pair[1] = (struct adi_access){.request = TRANSFER_AP | TRANSFER_READ | AP_TAR};
        }
        end = adi_transfer(adi, list, 2 * (size_t)PAIRS, &done, error);
        for (size_t i = 0; i < 2 * (size_t)PAIRS && end == ADI_OK; i += 2)
            if ((list[i].value ^ list[i + 1].value) & KEPT)
                end = ADI_MISMATCH;
    }
    return end;
}

/* A moment's trouble does not speak against a clock; damaged data does. */
static enum adi_end try_clock(struct adi *adi, const struct access_port *port, struct error *error)
{
    enum adi_end end = ADI_NO_ACK;
    for (int i = 0; i < TRIES && end != ADI_OK && end != ADI_MISMATCH; i++) {
        end = carry_patterns(adi, port, error);
        if (end != ADI_OK && adi_mend(adi, end == ADI_MISMATCH ? ADI_NO_ACK : end, error) == ADI_GONE)
            return ADI_LOST;
    }
    return end;
}

/* Slower until all patterns come back. If no clock helps, the clock is not the cause. */
static bool find_clock(struct adi *adi, const struct access_port *port, struct error *error)
{
    for (uint32_t first = adi->hz;;) {
        uint32_t hz = adi->hz;
        enum adi_end end = try_clock(adi, port, error);
        if (end == ADI_OK || end == ADI_LOST)
            return end == ADI_OK;
        if (adi->hz == hz && !adi_slow_down(adi, error))
            return false;
        if (adi->hz == hz) {
            adi->hz = first;
            return wires_clock(adi->probe, first, error);
        }
    }
}

bool connect_check_clock(struct adi *adi, struct ap_state *ap, struct error *error)
{
    const struct access_port *port = NULL;
    uint32_t first = adi->hz, tar = 0;
    for (size_t i = 0; i < ap->n && port == NULL; i++)
        port = ap->ports[i].memory ? &ap->ports[i] : NULL;
    if (port == NULL || adi_select(adi, port->unit >> 8, error) != ADI_OK)
        return !adi->probe->lost;
    struct adi_access list[] = {{.request = DP_SELECT, .value = ap_state_select(port, AP_TAR)},
                                {.request = TRANSFER_AP | TRANSFER_READ | AP_TAR}};
    size_t done;
    if (adi_transfer(adi, list, 2, &done, error) == ADI_OK)
        tar = list[1].value;
    if (adi->probe->lost || !find_clock(adi, port, error))
        return false;
    list[1] = (struct adi_access){.request = TRANSFER_AP | AP_TAR, .value = tar};
    (void)adi_transfer(adi, list, 2, &done, error);
    ap_state_forget(ap);
    return !adi->probe->lost && (adi->hz == first || adi_measure_match(adi, error));
}

/* IHI 0031 B4.3.3 (line reset, 50 ones at least) and B5.3 (switching); the selection alert is B5.3.4. */
static const uint8_t line_reset[] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x00};
static const uint8_t jtag_to_swd[] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x9E, 0xE7,
                                      0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x00};
/* Eight ones and 0x33BBBBBA in 31 bits leave JTAG; line reset and 0xE3BC leave SWD */
static const uint8_t to_dormant[] = {0xFF, 0xBA, 0xBB, 0xBB, 0xB3, 0xFF, 0xFF,
                                     0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xBC, 0xE3};
static const uint8_t dormant_to_swd[] = {
    0xFF, 0x92, 0xF3, 0x09, 0x62, 0x95, 0x2D, 0x85, 0x86, 0xE9,
    0xAF, 0xDD, 0xE3, 0xA2, 0x0E, 0xBC, 0x19, 0xA0, 0xF1, /* four zeros, 0x1A, ones */
    0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x00};
static const uint8_t swd_to_jtag[] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x3C, 0xE7, 0xFF};
static const uint8_t tap_reset[] = {0xFF, 0x00};

const uint8_t *wires_bits(enum wires_sequence sequence, unsigned *n)
{
    static const struct {
        const uint8_t *bits;
        unsigned n;
    } all[WIRES_SEQUENCES] = {
        [WIRES_LINE_RESET] = {line_reset, 8 * sizeof line_reset},
        [WIRES_JTAG_TO_SWD] = {jtag_to_swd, 8 * sizeof jtag_to_swd},
        [WIRES_TO_DORMANT] = {to_dormant, 8 * sizeof to_dormant},
        [WIRES_DORMANT_TO_SWD] = {dormant_to_swd, 8 * sizeof dormant_to_swd},
        [WIRES_SWD_TO_JTAG] = {swd_to_jtag, 8 * sizeof swd_to_jtag},
        [WIRES_TAP_RESET] = {tap_reset, 9},
    };
    *n = all[sequence].n;
    return all[sequence].bits;
}

bool wires_connect(struct dap_probe *probe, uint8_t port, struct error *error)
{
    uint8_t packet[PROTOCOL_ROOM], reply[CARRIER_ROOM], got = 0;
    size_t length;
    /* Some do not connect anew before that. What they answer to it says nothing */
    if (!probe_ask(probe, packet, protocol_disconnect(packet), reply, &length, error) ||
        !probe_ask(probe, packet, protocol_connect(packet, port), reply, &length, error))
        return false;
    if (protocol_connected(reply, length, &got) != ANSWER_GOOD || got != port)
        return error_set(error, ERROR_LINK_PROTOCOL, "%s: it cannot speak %s", probe->carrier->name,
                         port == DAP_PORT_JTAG ? "JTAG" : "SWD");
    probe->port = port;
    probe->unanswered = false;
    /* Not every probe drives nTRST high by itself; one that has no such pin, or command, need not */
    return port != DAP_PORT_JTAG ||
           probe_ask(probe, packet, protocol_pins(packet, DAP_PIN_TRST, DAP_PIN_TRST), reply, &length, error);
}

/* Behind an acknowledge that never came, some firmware leaves SWDIO an input, and drives no sequence on it.
 */
static bool take_line(struct dap_probe *probe, struct error *error)
{
    uint8_t packet[PROTOCOL_ROOM], reply[CARRIER_ROOM];
    size_t length;
    if (!probe->unanswered || probe->port != DAP_PORT_SWD)
        return true;
    probe->unanswered = false;
    return probe_ask(probe, packet, protocol_connect(packet, probe->port), reply, &length, error);
}

bool wires_send(struct dap_probe *probe, enum wires_sequence sequence, struct error *error)
{
    uint8_t packet[PROTOCOL_ROOM];
    unsigned n;
    const uint8_t *bits = wires_bits(sequence, &n);
    if (!take_line(probe, error))
        return false;
    size_t length = protocol_swj_sequence(packet, bits, n);
    return probe_tell(probe, packet, length, "send a sequence on the wires", error) == ANSWER_GOOD;
}

bool wires_target_select(struct dap_probe *probe, uint32_t device, struct error *error)
{
    uint8_t packet[PROTOCOL_ROOM];
    if (!wires_send(probe, WIRES_LINE_RESET, error))
        return false;
    size_t length = protocol_target_select(packet, device);
    return probe_tell(probe, packet, length, "choose among several debug ports (DAP_SWD_Sequence)", error) ==
           ANSWER_GOOD;
}

bool wires_clock(struct dap_probe *probe, uint32_t hz, struct error *error)
{
    uint8_t packet[PROTOCOL_ROOM];
    size_t length = protocol_clock(packet, hz);
    return probe_tell(probe, packet, length, "set the clock", error) == ANSWER_GOOD;
}
