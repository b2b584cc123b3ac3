/*
 * Any bytes as what a probe answers: the decoder, the Info answers, the scan chain. Whatever they say, no
 * step below the one where it ended may lack its result, and none above it may have one.
 */
#include "links/dap/compiler.h"
#include "links/dap/probe.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { STEPS = 24 };
static const uint64_t UNTOUCHED = 0xEEEEEEEEEEEEEEEE;

static struct step step_from(uint8_t byte)
{
    struct step step = {.op = (enum op)(byte % 5), .value = byte >> 5 & 3, .mask = 3};
    step.at = (struct address){.space = byte & 0x40 ? SPACE_DP : SPACE_MEMORY, .size = 4};
    step.at.offset = step.at.space == SPACE_DP ? 4 : 0x1000 + 4U * (byte >> 3 & 7);
    if (step.at.space == SPACE_MEMORY && byte & 0x80)
        step.at.size = 2;
    if (step.op == OP_TIME)
        step.value &= 1;
    return step;
}

static void try_transfer(const uint8_t *bytes, size_t size)
{
    static struct compiler compiler;
    static struct packet packet;
    struct step steps[STEPS];
    uint64_t results[STEPS];
    if (size < STEPS + 1)
        return;
    memset(&compiler, 0, sizeof compiler);
    compiler.packet_size = bytes[0] & 1 ? 64 : 512;
    compiler.jtag = bytes[0] & 2;
    compiler.match = !(bytes[0] & 4);
    compiler.ap.n = 1;
    compiler.ap.ports[0] = (struct access_port){.memory = true, .narrow = true};
    for (size_t i = 0; i < STEPS; i++)
        steps[i] = step_from(bytes[1 + i]);
    compiler_packet(&compiler, steps, STEPS, 0, bytes[0] & 8, NULL, &packet);
    if (packet.length > compiler.packet_size || packet.answer > compiler.packet_size)
        abort();
    for (size_t i = 0; i < STEPS; i++)
        results[i] = UNTOUCHED;
    struct decoded decoded = decode(&compiler, &packet, steps, bytes + 1 + STEPS, size - 1 - STEPS, results);
    if (decoded.step > STEPS || decoded.step < packet.first || (decoded.write && decoded.written >= STEPS))
        abort();
    if (decoded.end == DECODE_BROKEN && decoded.step != packet.first)
        abort();
    for (size_t i = 0; i < decoded.step; i++)
        if (steps[i].op != OP_TIME && results[i] == UNTOUCHED)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct dap_info info = {.packet_count = 1, .packet_size = 64};
    char text[16];
    uint8_t captured[8], port;
    uint32_t number;
    struct chain chain = {0};
    try_transfer(bytes, size);
    for (unsigned id = 0; id < 256; id++)
        (void)protocol_take_info(&info, (uint8_t)id, bytes, size);
    if (info.packet_count == 0 || info.packet_size < CARRIER_SMALLEST || info.packet_size > CARRIER_ROOM)
        abort();
    if (protocol_info_text(bytes, size, text, sizeof text) && strlen(text) >= sizeof text)
        abort();
    (void)protocol_info_number(bytes, size, &number);
    (void)protocol_connected(bytes, size, &port);
    (void)protocol_jtag_captured(bytes, size, captured, 64);
    if (chain_read_ids(&chain, bytes, size * 8) && (chain.n == 0 || chain.n > CHAIN_DEVICES))
        abort();
    if (size >= CHAIN_IR_BITS / 8)
        (void)chain_read_lengths(&chain, bytes, CHAIN_IR_BITS);
    (void)chain_find_port(&chain);
    return 0;
}
