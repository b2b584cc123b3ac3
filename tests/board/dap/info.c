// DAP_Info: what the probe says of itself.
#include <string.h>

#include "dap/processor.h"

enum {
    VENDOR = 0x01,
    PRODUCT = 0x02,
    SERIAL = 0x03,
    PROTOCOL = 0x04,
    FIRMWARE = 0x09,
    CAPABILITIES = 0xF0,
    TIMER = 0xF1,
    SWO_BUFFER_SIZE = 0xFD,
    PACKET_COUNT = 0xFE,
    PACKET_SIZE = 0xFF,
};
enum { CAN_SWD = 1 << 0, CAN_JTAG = 1 << 1, CAN_ATOMIC = 1 << 4, CAN_TIMER = 1 << 5, TIMER_HZ = 1000000 };

// With its terminating zero, as the reference firmware sends it
static void text(struct answer *out, const char *string)
{
    size_t length = strlen(string) + 1;
    answer_put(out, (uint32_t)length, 1);
    for (size_t i = 0; i < length; i++)
        answer_put(out, (uint8_t)string[i], 1);
}

static void number(struct answer *out, uint32_t value, unsigned size)
{
    answer_put(out, size, 1);
    answer_put(out, value, size);
}

static unsigned capabilities(const struct processor *p)
{
    return CAN_SWD | (p->line.pins->has_jtag ? CAN_JTAG : 0u) | (p->atomic ? CAN_ATOMIC : 0u) |
           (p->timer ? CAN_TIMER : 0u) | p->swo.can;
}

void info_answer(struct processor *p, struct bytes *in, struct answer *out)
{
    switch (bytes_take(in, 1)) {
    case VENDOR:
        text(out, "pmu-probe");
        break;
    case PRODUCT:
        text(out, "Virtual CMSIS-DAP");
        break;
    case SERIAL:
        text(out, p->serial);
        break;
    case PROTOCOL:
        text(out, "2.1.1");
        break;
    case FIRMWARE:
        text(out, "1.0");
        break;
    case CAPABILITIES:
        number(out, capabilities(p), p->quirks & QUIRK_NO_CAPS ? 0 : 1);
        break;
    case TIMER:
        number(out, TIMER_HZ, p->timer ? 4 : 0);
        break;
    case SWO_BUFFER_SIZE:
        number(out, (uint32_t)p->swo.size, p->swo.can ? 4 : 0);
        break;
    case PACKET_COUNT:
        number(out, p->quirks & QUIRK_COUNT_ZERO ? 0 : p->packet_count, 1);
        break;
    case PACKET_SIZE:
        number(out, p->quirks & QUIRK_SIZE_ZERO ? 0 : (uint32_t)p->packet_size, 2);
        break;
    default: // nothing to report
        number(out, 0, 0);
        break;
    }
}
