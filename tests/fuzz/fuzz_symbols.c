/* Any bytes as an ELF file: every function of symbols/ must return, whatever they say. */
#include "symbols/listing.h"
#include "symbols/symbols.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void look_at_stack(struct symbols *symbols, const struct location *location)
{
    struct handler_exit exits[4];
    bool all;
    struct frame_base start, end;
    size_t n = symbols_exits(symbols, location->address, exits, 4, &all);
    for (size_t i = 0; i < n && i < 4; i++)
        if (exits[i].popped > 16)
            abort();
    (void)symbols_is_return(symbols, location->high);
    if (symbols_frames(symbols, location->address, location->high - 2, &start, &end) == FRAMES_KNOWN &&
        (start.number > 31 || end.number > 31))
        abort();
}

static void look_at_writes(struct symbols *symbols)
{
    enum { ROOM = 4 };
    static const uint64_t word = 0xE0001004;
    struct counter_write writes[ROOM];
    uint64_t found[ROOM];
    size_t n = symbols_counter_writes(symbols, "PMCR", writes, ROOM);
    for (size_t i = 0; i < n && i < ROOM; i++)
        if (strncmp(writes[i].name, "PM", 2) != 0 || (i > 0 && writes[i].rank < writes[i - 1].rank))
            abort();
    (void)symbols_stores_to(symbols, word, found, ROOM);
}

static void list(struct symbols *symbols, const struct location *location)
{
    struct listing listing;
    struct error error = {.kind = ERROR_NONE};
    bool listed = listing_make(symbols, location->low, location->high, &listing, &error);
    if (listed != (error.kind == ERROR_NONE) || listed != (listing.n > 0))
        abort();
    for (size_t i = 0; i < listing.n; i++)
        if (listing.rows[i].address < location->low || listing.rows[i].address >= location->high ||
            listing_row_at(&listing, listing.rows[i].address) != i ||
            (listing.rows[i].line > 0) != (listing.rows[i].file < listing.file_count))
            abort();
    listing_free(&listing);
}

static void locate(struct symbols *symbols, const char *text)
{
    struct location location;
    struct error error = {.kind = ERROR_NONE};
    bool found = symbols_locate(symbols, text, &location, &error);
    if (found != (error.kind == ERROR_NONE))
        abort();
    if (found)
        look_at_stack(symbols, &location);
    if (found)
        list(symbols, &location);
    if (found && (strlen(location.name) == 0 || location.low > location.high))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const texts[] = {
        "main",          "helper",      "fir_filter+0x4", "geometry::Shape::area",
        "twice",         "ticks",       "mian",           "blink.c:32",
        "shapes.cpp:37", "other.c:9",   "host.c:6",       "mixed.c:7",
        "startup.S:17",  "nothing.c:1", "*0x44",          "*0x401003",
        "*0x10000014",   "square",      "blink.c:square", "other.c:helper",
        "crc",           "several",     "dsp::filter",    "core::ptr::drop_in_place",
    };
    struct error error = {.kind = ERROR_NONE};
    struct symbols *symbols = symbols_open_memory(bytes, size, &error);
    if (symbols == NULL)
        return error.kind == ERROR_NONE ? abort(), 0 : 0;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        locate(symbols, texts[i]);
    struct segment segments[16];
    size_t count = symbols_segments(symbols, segments, 16);
    unsigned sum = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < segments[i].size; j++)
            sum += segments[i].bytes[j];
    uint64_t address = sum;
    uint64_t length = 0;
    struct symbols_member member;
    if (symbols_member(symbols, "Task", "name", &member))
        sum += (unsigned)(member.offset + member.size);
    if (symbols_object(symbols, "led_pattern", &address, &length))
        locate(symbols, "led_pattern");
    struct location location;
    symbols_describe(symbols, address, &location);
    (void)symbols_mapping(symbols, address);
    if (strlen(symbols_build_id(symbols)) > 128)
        abort();
    look_at_writes(symbols);
    struct symbols_machine machine;
    symbols_machine(symbols, &machine);
    struct segment note;
    if (strlen(machine.name) == 0)
        abort();
    for (size_t j = 0; symbols_build_note(symbols, &note) && j < note.size; j++)
        sum += note.bytes[j];
    symbols_close(symbols);
    return 0;
}
