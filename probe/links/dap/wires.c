#include "links/dap/wires.h"

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

bool wires_target_select(struct dap_probe *probe, uint32_t target, struct error *error)
{
    uint8_t packet[PROTOCOL_ROOM];
    if (!wires_send(probe, WIRES_LINE_RESET, error))
        return false;
    size_t length = protocol_target_select(packet, target);
    return probe_tell(probe, packet, length, "choose among several debug ports (DAP_SWD_Sequence)", error) ==
           ANSWER_GOOD;
}

bool wires_clock(struct dap_probe *probe, uint32_t hz, struct error *error)
{
    uint8_t packet[PROTOCOL_ROOM];
    size_t length = protocol_clock(packet, hz);
    return probe_tell(probe, packet, length, "set the clock", error) == ANSWER_GOOD;
}
