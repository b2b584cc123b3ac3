// Switching sequences: see the header. Each is recognized by the last levels of the line; all are sent lowest
// bit first.
#include "wire/switch.h"

enum { CODE_BITS = 16, TO_DORMANT_BITS = 31, TO_DORMANT_ONES = 5, ACTIVATION_BITS = 12 };
enum { JTAG_TO_SWD = 0xE79E, SWD_TO_JTAG = 0xE73C, SWD_TO_DORMANT = 0xE3BC };
enum { ACTIVATE_SWD = 0x1A << 4, ACTIVATE_JTAG = 0x0A << 4 }; // after four cycles of low
#define JTAG_TO_DORMANT 0x33BBBBBAu
#define ALERT_FIRST     0x86852D956209F392u
#define ALERT_LAST      0x19BC0EA2E3DDAFE9u
// The 50 ones before a 16-bit code: all that the later word has besides the code, and two more
#define ONES_LATER   0x0000FFFFFFFFFFFFu
#define ONES_EARLIER 0xC000000000000000u

void switch_init(struct wire_switch *s, bool has_jtag)
{
    *s = (struct wire_switch){.has_jtag = has_jtag, .mode = has_jtag ? MODE_JTAG : MODE_SWD};
}

static uint64_t last(const struct wire_switch *s, unsigned bits)
{
    return s->recent[1] >> (64 - bits);
}

static bool code_after_ones(const struct wire_switch *s, unsigned code)
{
    return last(s, CODE_BITS) == code && (s->recent[1] & ONES_LATER) == ONES_LATER &&
           (s->recent[0] & ONES_EARLIER) == ONES_EARLIER;
}

static bool jtag_to_dormant(const struct wire_switch *s)
{
    uint64_t ones = (1u << TO_DORMANT_ONES) - 1; // which have brought the tap to reset
    return last(s, TO_DORMANT_BITS) == JTAG_TO_DORMANT &&
           (last(s, TO_DORMANT_BITS + TO_DORMANT_ONES) & ones) == ones;
}

static enum wire_mode activated(const struct wire_switch *s)
{
    uint64_t code = last(s, ACTIVATION_BITS);
    if (code == ACTIVATE_SWD)
        return MODE_SWD;
    return code == ACTIVATE_JTAG && s->has_jtag ? MODE_JTAG : MODE_DORMANT;
}

static enum wire_mode next_mode(struct wire_switch *s)
{
    switch (s->mode) {
    case MODE_JTAG:
        return code_after_ones(s, JTAG_TO_SWD) ? MODE_SWD : jtag_to_dormant(s) ? MODE_DORMANT : MODE_JTAG;
    case MODE_SWD:
        if (code_after_ones(s, SWD_TO_DORMANT))
            return MODE_DORMANT;
        return s->has_jtag && code_after_ones(s, SWD_TO_JTAG) ? MODE_JTAG : MODE_SWD;
    case MODE_DORMANT:
        s->left = ACTIVATION_BITS;
        return s->recent[1] == ALERT_LAST && s->recent[0] == ALERT_FIRST ? MODE_ALERTED : MODE_DORMANT;
    default:
        return --s->left ? MODE_ALERTED : activated(s);
    }
}

bool switch_clock(struct wire_switch *s, bool level)
{
    enum wire_mode before = s->mode;
    s->recent[0] = s->recent[0] >> 1 | s->recent[1] << 63;
    s->recent[1] = s->recent[1] >> 1 | (uint64_t)level << 63;
    s->mode = next_mode(s);
    return s->mode != before;
}
