#include "links/dap/ap_state.h"

#include <unistd.h>

/* CTRL/STAT, IHI 0031 B2.2.2: requests, each acknowledged by the bit above it; and the modes of access. */
static const uint32_t DEBUG_REQUEST = 1U << 28, DEBUG_ANSWER = 1U << 29, SYSTEM_REQUEST = 1U << 30,
                      SYSTEM_ANSWER = 1U << 31, MODES = 0xF0D;

/* Each is looked at so often at least, for the host may be slower than the target. */
enum { NAP_US = 1000, SYSTEM_LOOKS = 100, DOWN_LOOKS = 20, TRIES = 2 };

static struct adi_power *power_of(const struct adi *adi)
{
    return (struct adi_power *)&adi->power[adi->selected < ADI_PORTS ? adi->selected : 0];
}

/* Waits until the bits of CTRL/STAT are `wanted`. ADI_WAIT: they are not. */
static enum adi_end wait_for(struct adi *adi, uint32_t bits, uint32_t wanted, unsigned looks,
                             const struct deadline *deadline, struct error *error)
{
    for (unsigned i = 0;; i++) {
        uint32_t stat = 0;
        enum adi_end end = adi_read_dp(adi, DP_CTRL_STAT, &stat, error);
        if (end != ADI_OK || (stat & bits) == wanted)
            return end;
        if (i >= looks && (deadline == NULL || deadline_passed(deadline)))
            return ADI_WAIT;
        usleep(NAP_US);
    }
}

/* What somebody else has requested before us. After a loss of power nobody has; where only our link was lost
 * it is what we requested ourselves. */
static void note_found(struct adi_power *power, uint32_t stat)
{
    uint32_t found = stat & (DEBUG_REQUEST | SYSTEM_REQUEST | MODES);
    power->found = power->known ? power->found & found : found;
    power->known = true;
}

enum adi_end power_up(struct adi *adi, const struct deadline *deadline, struct error *error)
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
    end = adi->jtag ? adi_clear_sticky(adi, error) : ADI_OK; /* which requests power as well */
    if (end == ADI_OK)
        end = adi_write_dp(adi, DP_CTRL_STAT, DEBUG_REQUEST | SYSTEM_REQUEST, error);
    if (end == ADI_OK)
        end = wait_for(adi, DEBUG_ANSWER, DEBUG_ANSWER, 0, deadline, error);
    if (end != ADI_OK)
        return end;
    end = wait_for(adi, SYSTEM_ANSWER, SYSTEM_ANSWER, SYSTEM_LOOKS, NULL, error);
    if (end == ADI_OK || end == ADI_WAIT)
        power->up = DEBUG_ANSWER | (end == ADI_OK ? SYSTEM_ANSWER : 0);
    return end == ADI_WAIT ? ADI_OK : end;
}

bool power_is_up(const struct adi *adi, uint32_t stat)
{
    uint32_t up = power_of(adi)->up;
    return up != 0 && (stat & up) == up;
}

bool power_lacks_system(const struct adi *adi, size_t port)
{
    return adi->power[port].up == DEBUG_ANSWER;
}

bool power_is_ours(const struct adi *adi)
{
    bool ours = false;
    for (size_t i = 0; i < ADI_PORTS; i++)
        ours = ours || adi->power[i].known;
    return ours;
}

/* System power first, then debug power. */
static enum adi_end take_down(struct adi *adi, struct error *error)
{
    enum adi_end end = adi_write_dp(adi, DP_CTRL_STAT, DEBUG_REQUEST, error);
    if (end == ADI_OK)
        end = wait_for(adi, SYSTEM_ANSWER, 0, DOWN_LOOKS, NULL, error);
    if (end == ADI_OK || end == ADI_WAIT)
        end = adi_write_dp(adi, DP_CTRL_STAT, 0, error);
    return end == ADI_OK ? wait_for(adi, DEBUG_ANSWER, 0, DOWN_LOOKS, NULL, error) : end;
}

static enum adi_end leave_port(struct adi *adi, const struct adi_power *power, enum link_power spec,
                               struct error *error)
{
    uint32_t left = spec == LINK_POWER_DOWN ? 0 : power->found;
    if (spec == LINK_POWER_UP)
        left |= DEBUG_REQUEST | SYSTEM_REQUEST;
    enum adi_end end = adi_clear_sticky(adi, error);
    if (end == ADI_OK)
        end = adi_write_dp(adi, DP_SELECT, 0, error);
    if (end == ADI_OK && (left & DEBUG_REQUEST) == 0)
        end = take_down(adi, error);
    if ((end == ADI_OK || end == ADI_WAIT) && left != 0)
        end = adi_write_dp(adi, DP_CTRL_STAT, left, error);
    return end;
}

void power_leave(struct adi *adi, enum link_power spec, struct error *error)
{
    for (size_t i = 0; i < adi->n_ports && i < ADI_PORTS; i++)
        for (int try = 0; adi->power[i].known && !adi->probe->lost && try < TRIES; try++) {
            enum adi_end end = adi_select(adi, i, error);
            if (end == ADI_OK)
                end = leave_port(adi, &adi->power[i], spec, error);
            if (end == ADI_OK || end == ADI_WAIT) /* the request is gone, whatever it still shows */
                break;
            adi->selected = SIZE_MAX; /* from a line reset on */
        }
}
