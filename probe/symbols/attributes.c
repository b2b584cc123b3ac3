#include "symbols/attributes.h"

#include "symbols/cursor.h"

#include <string.h>

enum { TAG_FILE = 1, TAG_CPU_RAW_NAME = 4, TAG_CPU_NAME = 5, TAG_PROFILE = 7, TAG_COMPATIBILITY = 32 };

/* The whole file's attributes: tag and value pairs, whose form follows from the tag */
static bool says_m_profile(struct cursor attributes)
{
    while (cursor_more(&attributes)) {
        uint64_t tag = cursor_uleb(&attributes);
        if (tag == TAG_COMPATIBILITY) {
            cursor_uleb(&attributes);
            cursor_string(&attributes);
        } else if (tag == TAG_CPU_RAW_NAME || tag == TAG_CPU_NAME ||
                   (tag > TAG_COMPATIBILITY && tag % 2 == 1)) {
            cursor_string(&attributes);
        } else if (cursor_uleb(&attributes) == 'M' && tag == TAG_PROFILE) {
            return true;
        }
    }
    return false;
}

/* A length that counts itself; `before` bytes of it are already read */
static struct cursor block(struct cursor *cursor, uint64_t before)
{
    uint64_t size = cursor_unsigned(cursor, 4);
    return cursor_part(cursor, size < before + 4 ? UINT64_MAX : size - before - 4);
}

bool attributes_m_profile(struct debug_section section, bool big_endian)
{
    if (section.size == 0 || section.bytes[0] != 'A')
        return false;
    struct cursor all = {
        .at = section.bytes + 1, .end = section.bytes + section.size, .big_endian = big_endian};
    while (cursor_more(&all)) {
        struct cursor vendor = block(&all, 0);
        if (strcmp(cursor_string(&vendor), "aeabi") != 0)
            continue;
        while (cursor_more(&vendor)) {
            uint64_t tag = cursor_uleb(&vendor);
            struct cursor attributes = block(&vendor, 1);
            if (tag == TAG_FILE && says_m_profile(attributes))
                return true;
        }
    }
    return false;
}
