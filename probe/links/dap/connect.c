#include "links/dap/connect.h"

#include "links/dap/chain.h"
#include "links/dap/power.h"
#include "links/dap/wires.h"

/* TARGETSEL of chips with several debug ports on two wires, IHI 0031 B2.2.13. Never more than their cores:
 * the RP2040's number 15 resets the chip when it is powered up. */
static const struct {
    uint32_t target;
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

static enum adi_end try_target(struct adi *adi, uint32_t target, struct error *error)
{
    if (!wires_target_select(adi->probe, target, error))
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
        if (((id ^ multidrop[i].target) & ~TARGETID_NUMBER) != 0)
            continue;
        adi->multidrop = true;
        adi->n_ports = multidrop[i].n;
        for (size_t k = 0; k < adi->n_ports; k++)
            adi->targets[k] = multidrop[i].target | (uint32_t)k << 28;
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
            end = try_target(adi, multidrop[i].target, cannot);
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
            return error_set(error, ERROR_NO_CORE, "%s%s%s", nobody,
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
           error_set(error, ERROR_NO_CORE, "the debug port on the JTAG chain does not answer");
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
            return error_set(error, ERROR_NO_CORE, "the target's debug power does not come on");
    }
    enum adi_end end = adi_select(adi, 0, error);
    return end == ADI_OK || error_set(error, ERROR_NO_CORE, "the debug port stopped answering");
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
