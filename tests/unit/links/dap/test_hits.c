/*
 * What a hit costs on the wire: the step lists of the engine as packets, in bytes.
 */
#include "links/dap/compiler.h"
#include "test.h"

#include "cores/architectures.h"
#include "engine/hit_plan.h"

#include <stdio.h>

enum { ROOM = 4096, HITS = 48 };

static struct core core;
static struct breakpoints points;
static struct compiler compiler;
static struct step items[ROOM];
static uint64_t results[ROOM];

static void setup_core(void)
{
    static const uint64_t identity[CORTEX_M_IDENTITY] = {
        [CORTEX_M_CPUID] = 0x410FC241, [CORTEX_M_FP_CTRL] = 0x260};
    assert_true(cortex_m_identify(0, identity, &core));
    memset(&points, 0, sizeof points);
    points.core = &core;
    points.comparator = 5;
    points.comparator_held = true;
}

static void setup_compiler(size_t packet_size)
{
    memset(&compiler, 0, sizeof compiler);
    compiler.packet_size = packet_size;
    compiler.match = true;
    compiler.ap.n = 1;
    compiler.ap.ports[0] =
        (struct access_port){.memory = true, .narrow = true, .csw_base = 0x23000000, .idr = 0x04770031};
}

static size_t plan(bool function, struct steps *list, size_t hits)
{
    struct hit_steps passage;
    struct reading reading = {.n = 1, .counted = 1};
    reading.counters[0] =
        (struct counter){.low = {.space = SPACE_MEMORY, .size = 4, .offset = 0xE0001004}, .bits = 32};
    struct hit_plan spec = {
        .core = &core,
        .breakpoints = &points,
        .reading = &reading,
        .start = 0x10000200,
        .end = 0x10000300,
        .n_start_proofs = function ? 2 : 0,
        .start_proofs = {{.which = CORE_LR, .value = 0x10000301}, {.which = CORE_SP, .value = 0x20001000}},
        .n_end_proofs = function,
        .end_proofs = {{.which = CORE_SP, .value = 0x20001000}}};
    for (size_t i = 0; i < hits; i++)
        hit_plan_add(&spec, SEGMENT_AT_START, list, &passage);
    assert_false(list->overflow);
    return list->n;
}

static struct address word(uint32_t offset)
{
    return (struct address){.space = SPACE_MEMORY, .size = 4, .offset = offset};
}

/* The least that a hit can be: two stops, each with a wait, a proof of the PC, a reading, a breakpoint moved.
 */
static size_t plan_least(struct steps *list, size_t hits)
{
    for (size_t i = 0; i < 2 * hits; i++) {
        steps_add(list, step_until(word(0xE000EDF0), 0x20000, 0x20000));
        steps_add(list, step_write(word(0xE000EDF4), 15));
        steps_add(list, step_expect(word(0xE000EDF8), 0xFFFFFFFE, i % 2 ? 0x10000300 : 0x10000200));
        steps_add(list, step_read(word(0xE0001004)));
        steps_add(list, step_write(word(0xE000201C), i % 2 ? 0x50000201 : 0x50000301));
        if (i % 2 == 0)
            steps_add(list, step_read(word(0xE000ED04)));
        steps_add(list, step_write(word(0xE000EDF0), 0xA05F0001));
    }
    return list->n;
}

/* The reply of a probe that did everything. Each register read holds the word that DHCSR has when halted. */
static size_t full_reply(const struct packet *packet, uint8_t *reply)
{
    size_t n = TRANSFER_HEAD;
    reply[0] = DAP_TRANSFER;
    reply[1] = (uint8_t)packet->n;
    reply[2] = ACK_OK;
    for (size_t i = 0; i < packet->n; i++) {
        if (!note_answers(&packet->notes[i]))
            continue;
        uint32_t word = 0x00030003;
        const struct step *step = &items[packet->notes[i].step];
        if (packet->notes[i].kind == NOTE_LEARN && step->at.offset == 0xE000EDF8)
            word = (uint32_t)step->value;
        for (unsigned shift = 0; shift < 32; shift += 8)
            reply[n++] = (uint8_t)(word >> shift);
    }
    return n;
}

struct cost {
    size_t packets, bytes, steps;
};

static struct cost run(size_t n)
{
    struct cost cost = {.steps = n};
    struct packet packet;
    for (size_t done = 0; done < n;) {
        uint8_t reply[CARRIER_ROOM];
        compiler_packet(&compiler, items, n, done, false, NULL, &packet);
        assert_true(packet.n > 0 && packet.length <= compiler.packet_size &&
                    packet.answer <= compiler.packet_size);
        size_t length = full_reply(&packet, reply);
        assert_int_equal(length, packet.answer);
        struct decoded decoded = decode(&compiler, &packet, items, reply, length, results);
        assert_int_equal(decoded.end, DECODE_DONE);
        assert_true(decoded.step > done || decoded.step == packet.end);
        done = decoded.step;
        cost.packets++;
        cost.bytes += packet.length;
    }
    return cost;
}

enum kind { START_END, FUNCTION, LEAST };

static size_t plan_kind(enum kind kind, struct steps *list, size_t hits)
{
    return kind == LEAST ? plan_least(list, hits) : plan(kind == FUNCTION, list, hits);
}

static double measure(enum kind kind, size_t packet_size)
{
    static const char *const names[] = {"START END", "FUNCTION", "the least"};
    struct steps list = {.items = items, .room = ROOM};
    setup_core();
    setup_compiler(packet_size);
    run(plan_kind(kind, &list, 2)); /* learns */
    list.n = 0;
    struct cost cost = run(plan_kind(kind, &list, HITS));
    print_message("%-9s %4zu B: %.3f packets, %.1f bytes, %zu steps a hit\n", names[kind], packet_size,
                  (double)cost.packets / HITS, (double)cost.bytes / HITS, cost.steps / HITS);
    return (double)cost.packets / HITS;
}

TEST(test_packets_a_hit)
{
    assert_true(measure(LEAST, 64) <= 2);
    assert_true(measure(LEAST, 512) <= 0.25);
    assert_true(measure(LEAST, 1024) <= 0.125);
    assert_true(measure(START_END, 64) <= 2);
    assert_true(measure(START_END, 512) <= 0.25);
    assert_true(measure(FUNCTION, 64) <= 2.5);
    assert_true(measure(FUNCTION, 512) <= 0.32);
}
