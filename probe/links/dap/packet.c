#include "links/dap/packet.h"

bool note_answers(const struct note *note)
{
    return (note->request & TRANSFER_READ) != 0 && (note->request & TRANSFER_MATCH_VALUE) == 0;
}

bool note_posted(const struct note *note, bool jtag)
{
    return note_answers(note) && (jtag || (note->request & TRANSFER_AP) != 0);
}

void packet_begin(struct packet *packet, size_t limit, uint8_t index, size_t first)
{
    packet->bytes[0] = DAP_TRANSFER;
    packet->bytes[1] = index;
    packet->bytes[2] = 0;
    packet->length = TRANSFER_HEAD;
    packet->answer = TRANSFER_HEAD;
    packet->n = 0;
    packet->first = packet->end = first;
    packet->limit = limit < CARRIER_ROOM ? limit : CARRIER_ROOM;
    packet->reserve = (struct packet_reserve){0};
}

bool packet_put(struct packet *packet, struct note note, const uint32_t *data)
{
    const struct packet_reserve *reserve = &packet->reserve;
    size_t length = 1 + (data != NULL ? 4 : 0), answer = note_answers(&note) ? 4 : 0;
    if (packet->n + 1 + reserve->transfers > TRANSFER_MOST ||
        packet->length + length + reserve->length > packet->limit ||
        packet->answer + answer + reserve->answer > packet->limit)
        return false;
    packet->notes[packet->n++] = note;
    packet->bytes[2] = (uint8_t)packet->n;
    packet->bytes[packet->length++] = note.request;
    for (unsigned shift = 0; data != NULL && shift < 32; shift += 8)
        packet->bytes[packet->length++] = (uint8_t)(*data >> shift);
    packet->answer += answer;
    return true;
}
