#include "find/discovery.h"

#include "base/coresight_id.h"

#include <string.h>

static const char nothing[] = "no core that can be measured was found";

/* --- chips that let no debugger in ---------------------------------------------------------------------- */

/* The maker of an access port, as JEP106 numbers it: IDR[27:17], IHI 0031 C2.6.5. How its chips are opened.
 */
static const struct opener {
    uint32_t designer;
    const char *text;
} openers[] = {
    {0x144, "Nordic's CTRL-AP: nrfutil device recover, or OpenOCD's nrf52_recover and its kin, opens the "
            "chip, and erases "
            "its flash and RAM."},
    {0x015, "NXP's debug mailbox must be asked first, as pyOCD and LinkServer do; that erases nothing."},
    {0x373, "Silicon Labs' AAP: commander device unlock opens the chip, and erases its flash."},
};

/* Whether a memory port is closed by the chip: CSW.DeviceEn, IHI 0031 C2.6.4. */
static bool find_closed(struct found *found, uint16_t *port, const char **opener)
{
    enum { DESIGNER_SHIFT = 17, DESIGNER = 0x7FF, AP_CSW = 0x00, AP_IDR = 0xFC, CSW_DEVICE_EN = 1 << 6 };
    bool closed = false;
    *opener =
        "Read-out protection does that. What opens a chip erases it: RDP level 1 of an STM32 goes to 0 by "
        "STM32CubeProgrammer (level 2 stays), the ID code of a Renesas RA by its Flash Programmer.";
    for (size_t i = 0; i < found->n_views; i++) {
        uint32_t idr, csw;
        if (!discovery_is_bare(&found->views[i]) ||
            !discovery_read_port(found, found->views[i].port, AP_IDR, &idr))
            continue;
        for (size_t k = 0; k < sizeof openers / sizeof *openers; k++)
            if ((idr & IDR_CLASS) != IDR_CLASS_MEMORY &&
                (idr >> DESIGNER_SHIFT & DESIGNER) == openers[k].designer)
                *opener = openers[k].text;
        if (closed || (idr & IDR_CLASS) != IDR_CLASS_MEMORY ||
            !discovery_read_port(found, found->views[i].port, AP_CSW, &csw))
            continue;
        closed = (csw & CSW_DEVICE_EN) == 0;
        *port = found->views[i].port;
    }
    return closed;
}

/* --- cores of other kinds ------------------------------------------------------------------------------- */

/* By TARGETID of its debug port (IHI 0074 B2.2.10), whatever its cores are: they share nothing else. */
static bool is_rp2350(struct found *found)
{
    enum { TARGETID = 0x24, REVISION_AND_ABOVE = 28, RP2350 = 0x0040927 };
    const struct address at = {.space = SPACE_DP, .size = 4, .offset = TARGETID};
    struct error unread = {0};
    uint64_t id = 0;
    bool may_be = false;
    for (size_t i = 0; i < found->n_views; i++)
        may_be = may_be || discovery_is_bare(&found->views[i]) || discovery_is_told(&found->views[i]);
    return may_be && ledger_read(found->ledger, at, &id, found->deadline, &unread) &&
           (id & ((UINT64_C(1) << REVISION_AND_ABOVE) - 1)) == RP2350;
}

/* A core of the server's that is none of ours; NULL: there is none. */
static const struct link_view *other_core(const struct found *found)
{
    for (size_t i = 0; i < found->n_views; i++)
        if (found->views[i].is_core && !discovery_is_bare(&found->views[i]) &&
            !discovery_is_told(&found->views[i]))
            return &found->views[i];
    return NULL;
}

static bool nothing_found_is_ours(const struct link_view *view)
{
    static const char *const types[] = {"cortex_a", "cortex_r4", "aarch64", "armv8r"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(view->type, types[i]) == 0)
            return true;
    return false;
}

static bool tell_other(const struct link_view *view, struct error *why)
{
    if (!nothing_found_is_ours(view))
        return error_advise(why, ERROR_NO_CORE, "Arm's Cortex-M, -R and -A cores are measured.",
                            "%s: the target %s is of the type %s", nothing, view->name, view->type);
    if (!view->has_port)
        return error_advise(why, ERROR_NO_CORE,
                            "The target's -ap-num and -dbgbase in OpenOCD's configuration say it.",
                            "%s: OpenOCD does not say on which access port the target %s (%s) is", nothing,
                            view->name, view->type);
    return error_set(why, ERROR_NO_CORE, "%s: nothing at access port %u says that it is the target %s (%s)",
                     nothing, view->port & 0xFFU, view->name, view->type);
}

bool nothing_found(struct found *found, struct error *why)
{
    const struct link_view *other = other_core(found);
    const char *opener;
    uint16_t port;
    if (is_rp2350(found))
        error_advise(
            why, ERROR_NO_CORE,
            "Its RISC-V cores (Hazard3) run in their place, which are not measured: load a program for "
            "Arm, or picotool reboot -c arm. Or its OTP forbids debugging.",
            "%s: the Arm cores of this RP2350 do not answer", nothing);
    else if (find_closed(found, &port, &opener))
        error_advise(
            why, ERROR_NO_CORE, opener,
            "access port %u is closed by the chip (CSW.DeviceEn is 0): it lets no debugger see its core",
            port & 0xFFU);
    else if (other != NULL)
        tell_other(other, why);
    else if (found->has_passed_over)
        error_set(why, ERROR_NO_CORE,
                  "%s. Access port %u has no ROM table that names a core, so "
                  "nothing was read there. If it has a Cortex-M, give --debug-base %u:0x%08X",
                  nothing, found->passed_over & 0xFFU, found->passed_over & 0xFFU, (unsigned)DISCOVERY_M_SCS);
    else
        error_set(why, ERROR_NO_CORE, "%s", nothing);
    return found->error->kind == ERROR_NONE;
}
