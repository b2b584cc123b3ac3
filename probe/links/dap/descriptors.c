#include "links/dap/descriptors.h"

#include "links/dap/carrier.h"

#include <string.h>

enum {
    CLASS_NONE = 0,
    CLASS_VENDOR = 0xFF,
    ENDPOINT_IN = 0x80,
    KIND = 3,
    KIND_BULK = 2,
    PACKET_BYTES = 0x7FF
};

static bool is_bulk(const struct endpoint_descriptor *endpoint, bool in)
{
    return (endpoint->attributes & KIND) == KIND_BULK && ((endpoint->address & ENDPOINT_IN) != 0) == in;
}

bool descriptors_read_interface(const struct interface_descriptor *from, struct interface_place *out)
{
    const struct endpoint_descriptor *first = &from->endpoints[0], *second = &from->endpoints[1];
    size_t in = second->packet & PACKET_BYTES,
           out_packet = first->packet & PACKET_BYTES; /* above it, what high bandwidth adds */
    if ((from->class != CLASS_VENDOR && from->class != CLASS_NONE) || from->n_endpoints < 2 ||
        !is_bulk(first, false) || !is_bulk(second, true) || in == 0 || out_packet == 0)
        return false;
    *out = (struct interface_place){.interface = from->number,
                                    .name = from->name,
                                    .out = first->address,
                                    .in = second->address,
                                    .in_packet = in,
                                    .packet = in < out_packet ? in : out_packet};
    return true;
}

size_t descriptors_reply_room(size_t in_packet, size_t packet_size)
{
    size_t most = DESCRIPTORS_REPLY / in_packet;
    size_t room = packet_size > CARRIER_SMALLEST ? packet_size : CARRIER_SMALLEST;
    size_t packets = (room + in_packet - 1) / in_packet;
    return (packets < most ? packets : most) * in_packet;
}

static bool is_printable(uint32_t letter)
{
    return letter >= 0x20 && letter < 0x7F;
}

size_t descriptors_text(const uint8_t *text, size_t n, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < n && used + 1 < size; i++)
        if (is_printable(text[i]))
            out[used++] = (char)text[i];
    out[used] = '\0';
    return used;
}

size_t descriptors_wide_text(const wchar_t *text, char *out, size_t size)
{
    size_t used = 0;
    for (; text != NULL && *text != 0 && used + 1 < size; text++)
        if (is_printable((uint32_t)*text))
            out[used++] = (char)*text;
    out[used] = '\0';
    return used;
}

bool descriptors_name_probe(const char *name)
{
    return strstr(name, "CMSIS-DAP") != NULL || strstr(name, "CMSIS_DAP") != NULL;
}

size_t descriptors_report_size(const uint8_t *descriptor, size_t n)
{
    enum { TAG = 0xFC, REPORT_SIZE = 0x74, REPORT_COUNT = 0x94, OUTPUT = 0x90, LONG_ITEM = 0xFE };
    uint64_t bits = 0, count = 0, total = 0;
    for (size_t at = 0; at < n;) {
        uint8_t item = descriptor[at];
        size_t length = item & 3;
        length = length == 3 ? 4 : length;
        if (item == LONG_ITEM) {
            if (at + 2 >= n)
                return 0;
            at += 3 + (size_t)descriptor[at + 1];
            continue;
        }
        if (at + 1 + length > n)
            return 0;
        uint64_t value = 0;
        for (size_t i = length; i-- > 0;)
            value = value << 8 | descriptor[at + 1 + i];
        if ((item & TAG) == REPORT_SIZE)
            bits = value;
        else if ((item & TAG) == REPORT_COUNT)
            count = value;
        else if ((item & TAG) == OUTPUT && bits <= UINT16_MAX && count <= UINT16_MAX)
            total += bits * count;
        at += 1 + length;
    }
    return total / 8 <= CARRIER_ROOM ? (size_t)(total / 8) : 0;
}
