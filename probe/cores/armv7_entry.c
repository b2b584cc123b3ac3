#include "cores/armv7_entry.h"

/* CPSR[4:0], DDI 0406C B1.3.1: modes that are entered by an exception, with an LR of their own. In Supervisor
 * mode LR does say where an SVC came from, and start code stays in it. */
static const struct {
    uint8_t mode;
    const char *name;
} modes[] = {{0x11, "FIQ"}, {0x12, "IRQ"}, {0x17, "Abort"}, {0x1B, "Undefined"}};
enum { MODE = 0x1F };

const char *armv7_exception_mode(const struct core *core, uint64_t status)
{
    (void)core;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if ((status & MODE) == modes[i].mode)
            return modes[i].name;
    return NULL;
}

/* Encodings A1 and A2 of A8.8.25 (BL, BLX to a place) and A1 of A8.8.26 (BLX by a register). */
bool armv7_called_from(const struct core *core, uint64_t lr, uint32_t before, uint64_t function)
{
    (void)core;
    if (lr & 1) /* in Thumb code; an exception leaves an address */
        return true;
    if (lr & 2)
        return false;
    if ((before & 0x0FFFFFF0) == 0x012FFF30)
        return true;
    bool exchanges = before >> 25 == 0x7D, links = (before >> 24 & 0xF) == 0xB && before >> 28 != 0xF;
    if (!exchanges && !links)
        return false;
    uint32_t offset = (before & 0x00FFFFFF) << 2;
    offset |= (offset & 0x02000000) ? 0xFC000000 : 0;
    offset |= exchanges ? before >> 23 & 2 : 0;
    return (uint32_t)(lr + 4 + offset) == (uint32_t)core_code_place(function);
}
