/* SPDX-License-Identifier: MIT */
#include "links/dap/protocol.h"

#include "links/dap/carrier.h"

#include <string.h>

static size_t put_16(uint8_t *out, uint16_t value)
{
    out[0] = (uint8_t)value;
    out[1] = (uint8_t)(value >> 8);
    return 2;
}

static size_t put_32(uint8_t *out, uint32_t value)
{
    put_16(out, (uint16_t)value);
    put_16(out + 2, (uint16_t)(value >> 16));
    return 4;
}

const char *protocol_name(uint8_t command)
{
    static const struct {
        uint8_t command;
        const char *name;
    } names[] = {
        {DAP_INFO, "DAP_Info"},
        {DAP_HOST_STATUS, "DAP_HostStatus"},
        {DAP_CONNECT, "DAP_Connect"},
        {DAP_DISCONNECT, "DAP_Disconnect"},
        {DAP_TRANSFER_CONFIGURE, "DAP_TransferConfigure"},
        {DAP_TRANSFER, "DAP_Transfer"},
        {DAP_WRITE_ABORT, "DAP_WriteABORT"},
        {DAP_SWJ_PINS, "DAP_SWJ_Pins"},
        {DAP_SWJ_CLOCK, "DAP_SWJ_Clock"},
        {DAP_SWJ_SEQUENCE, "DAP_SWJ_Sequence"},
        {DAP_SWD_CONFIGURE, "DAP_SWD_Configure"},
        {DAP_SWO_TRANSPORT, "DAP_SWO_Transport"},
        {DAP_SWO_MODE, "DAP_SWO_Mode"},
        {DAP_SWO_BAUDRATE, "DAP_SWO_Baudrate"},
        {DAP_SWO_CONTROL, "DAP_SWO_Control"},
        {DAP_SWO_STATUS, "DAP_SWO_Status"},
        {DAP_SWO_DATA, "DAP_SWO_Data"},
        {DAP_JTAG_SEQUENCE, "DAP_JTAG_Sequence"},
        {DAP_JTAG_CONFIGURE, "DAP_JTAG_Configure"},
        {DAP_SWD_SEQUENCE, "DAP_SWD_Sequence"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].command == command)
            return names[i].name;
    return NULL;
}

size_t protocol_transfer_configure(uint8_t *out, uint8_t idle, uint16_t wait_retry, uint16_t match_retry)
{
    out[0] = DAP_TRANSFER_CONFIGURE;
    out[1] = idle;
    put_16(out + 2, wait_retry);
    put_16(out + 4, match_retry);
    return 6;
}

size_t protocol_write_abort(uint8_t *out, uint8_t index, uint32_t value)
{
    out[0] = DAP_WRITE_ABORT;
    out[1] = index;
    return 2 + put_32(out + 2, value);
}

size_t protocol_clock(uint8_t *out, uint32_t hz)
{
    out[0] = DAP_SWJ_CLOCK;
    return 1 + put_32(out + 1, hz);
}

size_t protocol_swo_baud(uint8_t *out, uint32_t baud)
{
    out[0] = DAP_SWO_BAUDRATE;
    return 1 + put_32(out + 1, baud);
}

size_t protocol_swo_data(uint8_t *out, uint16_t most)
{
    out[0] = DAP_SWO_DATA;
    out[1] = (uint8_t)most;
    out[2] = (uint8_t)(most >> 8);
    return 3;
}

enum { SWO_STREAM_ERROR = 1 << 6, SWO_OVERRUN = 1 << 7 };

enum protocol_answer protocol_swo_status(const uint8_t *reply, size_t n, bool *lost)
{
    enum protocol_answer answer = protocol_check(reply, n, DAP_SWO_STATUS);
    if (answer == ANSWER_GOOD && n < 2)
        return ANSWER_BROKEN;
    *lost = answer == ANSWER_GOOD && (reply[1] & (SWO_STREAM_ERROR | SWO_OVERRUN)) != 0;
    return answer;
}

enum protocol_answer protocol_swo_take(const uint8_t *reply, size_t n, uint8_t *out, size_t room,
                                       size_t *taken, bool *lost)
{
    enum { HEAD = 4 };
    enum protocol_answer answer = protocol_check(reply, n, DAP_SWO_DATA);
    if (answer != ANSWER_GOOD)
        return answer;
    if (n < HEAD)
        return ANSWER_BROKEN;
    size_t has = (size_t)reply[2] | (size_t)reply[3] << 8;
    if (has > n - HEAD || has > room)
        return ANSWER_BROKEN;
    memcpy(out, reply + HEAD, has);
    *taken = has;
    *lost = (reply[1] & (SWO_STREAM_ERROR | SWO_OVERRUN)) != 0;
    return ANSWER_GOOD;
}

size_t protocol_pins(uint8_t *out, uint8_t levels, uint8_t select)
{
    out[0] = DAP_SWJ_PINS;
    out[1] = levels;
    out[2] = select;
    return 3 + put_32(out + 3, 0); /* do not wait for the pins */
}

size_t protocol_swj_sequence(uint8_t *out, const uint8_t *bits, unsigned n)
{
    size_t bytes = (n + 7) / 8;
    out[0] = DAP_SWJ_SEQUENCE;
    out[1] = (uint8_t)n; /* 0 stands for 256 */
    memcpy(out + 2, bits, bytes);
    return 2 + bytes;
}

size_t protocol_target_select(uint8_t *out, uint32_t device)
{
    enum { DIN = 0x80, HEADER = 0x99 }; /* write of DP register 0xC: start, A2, A3 and park; parity 0 */
    out[0] = DAP_SWD_SEQUENCE;
    out[1] = 3;
    out[2] = 8;
    out[3] = HEADER;
    out[4] = DIN | 5; /* turnaround, three bits of an ACK that no target drives, turnaround */
    out[5] = 33;
    put_32(out + 6, device);
    out[10] = (uint8_t)__builtin_parity(device);
    return 11;
}

size_t protocol_jtag_sequence(uint8_t *out, bool tms, bool capture, const uint8_t *tdi, unsigned n)
{
    size_t bytes = (n + 7) / 8;
    out[0] = DAP_JTAG_SEQUENCE;
    out[1] = 1;
    out[2] = (uint8_t)((n & 0x3F) | (tms ? 0x40 : 0) | (capture ? 0x80 : 0));
    memcpy(out + 3, tdi, bytes);
    return 3 + bytes;
}

size_t protocol_jtag_configure(uint8_t *out, const uint8_t *ir_lengths, size_t n)
{
    out[0] = DAP_JTAG_CONFIGURE;
    out[1] = (uint8_t)n;
    memcpy(out + 2, ir_lengths, n);
    return 2 + n;
}

enum protocol_answer protocol_check(const uint8_t *reply, size_t n, uint8_t command)
{
    if (n == 0)
        return ANSWER_BROKEN;
    if (reply[0] == command)
        return ANSWER_GOOD;
    return reply[0] == DAP_INVALID ? ANSWER_UNKNOWN : ANSWER_BROKEN;
}

enum protocol_answer protocol_status(const uint8_t *reply, size_t n, uint8_t command)
{
    enum protocol_answer answer = protocol_check(reply, n, command);
    if (answer != ANSWER_GOOD)
        return answer;
    if (n < 2)
        return ANSWER_BROKEN;
    return reply[1] == 0 ? ANSWER_GOOD : ANSWER_REFUSED;
}

enum protocol_answer protocol_connected(const uint8_t *reply, size_t n, uint8_t *port)
{
    enum protocol_answer answer = protocol_check(reply, n, DAP_CONNECT);
    if (answer != ANSWER_GOOD)
        return answer;
    if (n < 2)
        return ANSWER_BROKEN;
    *port = reply[1];
    return reply[1] == 0 ? ANSWER_REFUSED : ANSWER_GOOD;
}

/* The whole answer to a question about the probe. */
static bool is_info(const uint8_t *reply, size_t n)
{
    return protocol_check(reply, n, DAP_INFO) == ANSWER_GOOD && n >= 2 && (size_t)reply[1] + 2 <= n;
}

bool protocol_info_text(const uint8_t *reply, size_t n, char *out, size_t size)
{
    bool whole = is_info(reply, n);
    size_t length = whole ? strnlen((const char *)reply + 2, reply[1]) : 0;
    (void)descriptors_text(whole ? reply + 2 : reply, length, out, size);
    return whole;
}

bool protocol_info_number(const uint8_t *reply, size_t n, uint32_t *value)
{
    if (!is_info(reply, n) || reply[1] == 0 || reply[1] > 4)
        return false;
    *value = 0;
    for (size_t i = reply[1]; i-- > 0;)
        *value = *value << 8 | reply[2 + i];
    return true;
}

bool protocol_jtag_captured(const uint8_t *reply, size_t n, uint8_t *out, unsigned bits)
{
    size_t bytes = (bits + 7) / 8;
    if (protocol_status(reply, n, DAP_JTAG_SEQUENCE) != ANSWER_GOOD || n < 2 + bytes)
        return false;
    memcpy(out, reply + 2, bytes);
    return true;
}

bool protocol_take_info(struct dap_info *info, uint8_t id, const uint8_t *reply, size_t n)
{
    uint32_t value;
    if (protocol_check(reply, n, DAP_INFO) != ANSWER_UNKNOWN && !is_info(reply, n))
        return false;
    switch (id) {
    case DAP_INFO_VENDOR:
        protocol_info_text(reply, n, info->vendor, sizeof info->vendor);
        break;
    case DAP_INFO_PRODUCT:
        protocol_info_text(reply, n, info->product, sizeof info->product);
        break;
    case DAP_INFO_SERIAL:
        protocol_info_text(reply, n, info->serial, sizeof info->serial);
        break;
    case DAP_INFO_PROTOCOL:
        protocol_info_text(reply, n, info->protocol, sizeof info->protocol);
        break;
    case DAP_INFO_FIRMWARE:
        protocol_info_text(reply, n, info->firmware, sizeof info->firmware);
        break;
    case DAP_INFO_CAPABILITIES:
        if (protocol_info_number(reply, n, &value)) {
            info->capabilities = (uint8_t)value;
            info->capabilities_known = true;
        }
        break;
    case DAP_INFO_PACKET_COUNT:
        if (protocol_info_number(reply, n, &value) && value > 0)
            info->packet_count = value;
        break;
    case DAP_INFO_PACKET_SIZE: /* less than the smallest packet counts as no answer */
        if (protocol_info_number(reply, n, &value) && value >= CARRIER_SMALLEST)
            info->packet_size = value < CARRIER_ROOM ? value : CARRIER_ROOM;
        break;
    default:
        break;
    }
    return true;
}

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
