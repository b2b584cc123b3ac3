#include "symbols/attributes.h"

#include "symbols/cursor.h"

#include <string.h>

enum {
    TAG_FILE = 1,
    TAG_CPU_RAW_NAME = 4,
    TAG_CPU_NAME = 5,
    TAG_CPU_ARCH = 6,
    TAG_PROFILE = 7,
    TAG_COMPATIBILITY = 32
};

/* The whole file's attributes: tag and value pairs, whose form follows from the tag */
static void read_tags(struct cursor tags, struct attributes *out)
{
    while (cursor_more(&tags)) {
        uint64_t tag = cursor_uleb(&tags);
        if (tag == TAG_COMPATIBILITY) {
            cursor_uleb(&tags);
            cursor_string(&tags);
            continue;
        }
        if (tag == TAG_CPU_RAW_NAME || tag == TAG_CPU_NAME || (tag > TAG_COMPATIBILITY && tag % 2 == 1)) {
            cursor_string(&tags);
            continue;
        }
        uint64_t value = cursor_uleb(&tags);
        if (tag == TAG_PROFILE && value != 0 && value < 0x80)
            out->profile = (char)value;
        if (tag == TAG_CPU_ARCH)
            out->architecture = (unsigned)(value < UINT8_MAX ? value : 0);
    }
}

/* A length that counts itself; `before` bytes of it are already read */
static struct cursor block(struct cursor *cursor, uint64_t before)
{
    uint64_t size = cursor_unsigned(cursor, 4);
    return cursor_part(cursor, size < before + 4 ? UINT64_MAX : size - before - 4);
}

struct attributes attributes_read(struct debug_section section, bool big_endian)
{
    struct attributes found = {.profile = 0};
    if (section.size == 0 || section.bytes[0] != 'A')
        return found;
    struct cursor all = {
        .at = section.bytes + 1, .end = section.bytes + section.size, .big_endian = big_endian};
    while (cursor_more(&all)) {
        struct cursor vendor = block(&all, 0);
        if (strcmp(cursor_string(&vendor), "aeabi") != 0)
            continue;
        while (cursor_more(&vendor)) {
            uint64_t tag = cursor_uleb(&vendor);
            struct cursor tags = block(&vendor, 1);
            if (tag == TAG_FILE)
                read_tags(tags, &found);
        }
    }
    return found;
}
