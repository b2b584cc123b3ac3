/*
 * Whether data comes through whole at the clock that was found: an identity that is read again and again
 * changes few bits, and parity does not see two of a word.
 */
#include "links/dap/connect.h"

#include "links/dap/wires.h"

enum { PATTERNS = 36, ROUNDS = 3, PAIRS = ADI_BATCH / 2, TRIES = 2 };

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
    enum adi_end end = adi_write_dp(adi, DP_SELECT, reach_select(port, AP_TAR), error);
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

bool connect_check_clock(struct adi *adi, struct reach *reach, struct error *error)
{
    const struct access_port *port = NULL;
    uint32_t first = adi->hz, tar = 0;
    for (size_t i = 0; i < reach->n && port == NULL; i++)
        port = reach->ports[i].memory ? &reach->ports[i] : NULL;
    if (port == NULL || adi_select(adi, port->unit >> 8, error) != ADI_OK)
        return !adi->probe->lost;
    struct adi_access list[] = {{.request = DP_SELECT, .value = reach_select(port, AP_TAR)},
                                {.request = TRANSFER_AP | TRANSFER_READ | AP_TAR}};
    size_t done;
    if (adi_transfer(adi, list, 2, &done, error) == ADI_OK)
        tar = list[1].value;
    if (adi->probe->lost || !find_clock(adi, port, error))
        return false;
    list[1] = (struct adi_access){.request = TRANSFER_AP | AP_TAR, .value = tar};
    (void)adi_transfer(adi, list, 2, &done, error);
    reach_forget(reach);
    return !adi->probe->lost && (adi->hz == first || adi_measure_match(adi, error));
}
