// Names of quirks: see the header.
#include "dap/quirks.h"

#include <stddef.h>
#include <string.h>

static unsigned bit_of(const char *name, size_t length)
{
    static const struct {
        const char *name;
        unsigned bit;
    } known[] = {
        {"no-match", QUIRK_NO_MATCH},
        {"count0", QUIRK_COUNT_ZERO},
        {"short", QUIRK_SHORT},
        {"no-sequence", QUIRK_NO_SEQUENCE},
        {"blind-match", QUIRK_BLIND_MATCH},
        {"size0", QUIRK_SIZE_ZERO},
        {"no-caps", QUIRK_NO_CAPS},
        {"empty", QUIRK_EMPTY},
        {"wrong-id", QUIRK_WRONG_ID},
        {"no-block", QUIRK_NO_BLOCK},
        {"merge", QUIRK_MERGE},
        {"late-length", QUIRK_LATE_LENGTH},
        {"lost-reply", QUIRK_LOST_REPLY},
        {"no-zlp", QUIRK_NO_ZLP},
        {"clock-range", QUIRK_CLOCK_RANGE},
        {"clock-forgets", QUIRK_CLOCK_FORGETS},
        {"keeps-port", QUIRK_KEEPS_PORT},
        {"floats", QUIRK_FLOATS},
        {"trst-low", QUIRK_TRST_LOW},
        {"crosstalk", QUIRK_CROSSTALK},
        {"fewer-reads", QUIRK_FEWER_READS},
        {"loses-place", QUIRK_LOSES_PLACE},
        {"invalid-match", QUIRK_INVALID_MATCH},
        {"long", QUIRK_LONG},
        {"padded", QUIRK_PADDED},
        {"swo-steps", QUIRK_SWO_STEPS},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == length && !memcmp(known[i].name, name, length))
            return known[i].bit;
    return 0;
}

bool quirks_parse(const char *text, unsigned *quirks)
{
    *quirks = 0;
    while (*text) {
        size_t length = strcspn(text, ",");
        unsigned bit = bit_of(text, length);
        if (!bit)
            return false;
        *quirks |= bit;
        text += length + (text[length] == ',');
    }
    return true;
}
