// The board's own command processor against a probe's firmware: the same random packets to both, each with a
// separate debug port, and the same trouble. Every cycle on the wires and every reply must be the same.
//
//     differences FILE.so swd|jtag PACKETS SEED
//
// Prints how many lists were carried out, or the first packet that differs, and ends with 1 then.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus.h"
#include "dap/firmware.h"
#include "dap/processor.h"

enum { MEMORY = 4096, BASE = 0x20000000, WAVE = 1 << 18, ROOM = PROCESSOR_PACKET };

struct place {
    struct bus bus;
    struct adi adi;
    struct pins pins;
    struct processor processor;
    struct firmware firmware;
    uint64_t now_ns;
    uint8_t memory[MEMORY];
    uint8_t wave[WAVE]; // what each cycle of this packet was
    size_t cycles;
    uint8_t reply[ROOM];
    size_t length;
};

static struct place places[2];
static uint64_t state;

static uint32_t below(uint32_t n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 33) % n;
}

// The linker puts these in between
bool __real_pins_clock(struct pins *, bool driven, bool io, bool tdi);
bool __wrap_pins_clock(struct pins *, bool driven, bool io, bool tdi);

bool __wrap_pins_clock(struct pins *pins, bool driven, bool io, bool tdi)
{
    struct place *p = pins == &places[0].pins ? &places[0] : &places[1];
    bool jtag = p->processor.port == PORT_JTAG;
    bool level = __real_pins_clock(pins, driven, io, tdi);
    if (p->cycles < WAVE)
        p->wave[p->cycles++] = (uint8_t)(driven | level << 1 | (jtag && tdi) << 2);
    return level;
}

static uint64_t breathe(void *self)
{
    struct place *p = self;
    p->now_ns += 1000000000;
    return p->now_ns;
}

static void reset(void *self, bool held)
{
    (void)self, (void)held;
}

static void set_up(struct place *p, size_t packet_size)
{
    struct swd_target target = {.adi = &p->adi};
    bus_add_memory(&p->bus,
                   (struct memory){.base = BASE, .size = MEMORY, .bytes = p->memory, .writable = true});
    p->adi.dpidr = 0x2BA01477;
    adi_add_ap(&p->adi,
               (struct mem_ap){.bus = &p->bus, .idr = 0x24770011, .base = 0xE00FF003, .tar_wrap = 1024});
    swd_init(&p->pins.swd, &target, 1);
    jtag_init(&p->pins.jtag, &p->adi, 0x4BA00477);
    p->pins.has_jtag = true;
    p->pins.reset = reset;
    p->processor = (struct processor){.line.pins = &p->pins,
                                      .packet_size = packet_size,
                                      .packet_count = 1,
                                      .serial = "TWIN",
                                      .breathe = breathe,
                                      .self = p};
    processor_init(&p->processor);
}

// ---- packets

struct packet {
    uint8_t bytes[ROOM];
    size_t length;
};

static void put(struct packet *q, uint32_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        q->bytes[q->length++] = (uint8_t)(value >> 8 * i);
}

// What registers take so that it can have an effect
static uint32_t some_value(unsigned request)
{
    static const uint32_t selects[] = {0, 0, 0, 0x10, 0xF0, 1}, sizes[] = {0x52, 0x42, 0x41, 0x40, 0x12};
    if (!(request & LINE_AP) && (request & LINE_ADDRESS) == 0x8)
        return selects[below(6)];
    if (!(request & LINE_AP) && (request & LINE_ADDRESS) == 0x4)
        return 0x50000000 | (below(4) ? 0 : 0x32);
    if (!(request & LINE_AP))
        return 0x1E;
    if ((request & LINE_ADDRESS) == 0x0)
        return 0x23000000 | sizes[below(5)];
    if ((request & LINE_ADDRESS) == 0x4)
        return BASE + 4 * below(8) + (below(20) ? 0 : 0x10000000);
    return below(4);
}

static void some_list(struct packet *q, size_t most)
{
    size_t answer = 3;
    unsigned count = 1 + below(12);
    *q = (struct packet){.bytes = {0x05, 0}, .length = 3};
    for (; q->bytes[2] < count && q->length + 5 <= most && answer + 4 <= most; q->bytes[2]++) {
        unsigned request = below(16), kind = below(6);
        if (request & LINE_READ) {
            if (kind == 0) {
                put(q, request | 0x10, 1);
                put(q, below(3) ? some_value(request) : below(4), 4);
            } else {
                put(q, request, 1);
                answer += 4;
            }
        } else if (kind == 0) {
            static const uint32_t masks[] = {0xFFFFFFFF, 0, 3, 0xFFFF};
            put(q, request | 0x20, 1);
            put(q, masks[below(4)], 4);
        } else {
            put(q, request, 1);
            put(q, some_value(request), 4);
        }
    }
}

static void some_block(struct packet *q, size_t most)
{
    unsigned request = below(4) ? LINE_AP | 0xC | (below(2) ? LINE_READ : 0) : below(16);
    unsigned count = below((uint32_t)(most - 5) / 4);
    *q = (struct packet){.bytes = {0x06, 0, (uint8_t)count, 0, (uint8_t)request}, .length = 5};
    for (unsigned i = 0; !(request & LINE_READ) && i < count; i++)
        put(q, some_value(request), 4);
}

static void some_sequence(struct packet *q, bool jtag)
{
    static const uint8_t resets[] = {0x12, 64, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x00};
    static const uint8_t to_swd[] = {0x12, 136,  0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x9E,
                                     0xE7, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x00};
    static const uint8_t to_jtag[] = {0x12, 88,   0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
                                      0xFF, 0xFF, 0x3C, 0xE7, 0xFF, 0x00};
    const uint8_t *bytes = jtag ? to_jtag : below(2) ? resets : to_swd;
    *q = (struct packet){.length = bytes == resets ? sizeof resets : jtag ? sizeof to_jtag : sizeof to_swd};
    memcpy(q->bytes, bytes, q->length);
}

// What brings a debug port back after trouble: all that sticks is cleared, and the power is on
static void recovery(struct packet *q, bool jtag)
{
    static const uint8_t swd[] = {0x05, 0, 3, 0x02, 0x00, 0x1E, 0, 0, 0, 0x04, 0, 0, 0, 0x50};
    static const uint8_t tap[] = {0x05, 0, 1, 0x04, 0x32, 0, 0, 0x50};
    *q = (struct packet){.length = jtag ? sizeof tap : sizeof swd};
    memcpy(q->bytes, jtag ? tap : swd, q->length);
}

// `lost`: how often in a row the answer was not a good one
static void some_packet(struct packet *q, size_t most, bool jtag, unsigned lost)
{
    unsigned kind = below(16);
    if (lost == 2 || lost == 3) {
        if (lost == 2)
            some_sequence(q, jtag);
        else
            recovery(q, jtag);
    } else if (kind == 0) {
        some_sequence(q, jtag);
    } else if (kind == 1) {
        *q = (struct packet){.bytes = {0x04, (uint8_t)below(4), (uint8_t)below(6), 0, (uint8_t)below(6)},
                             .length = 6};
    } else if (kind == 2 && !jtag) {
        *q = (struct packet){.bytes = {0x13, (uint8_t)(below(4) ? 0 : 4)}, .length = 2};
    } else if (kind == 3) {
        *q = (struct packet){.bytes = {0x08, 0, (uint8_t)below(32)}, .length = 6};
    } else if (kind < 6) {
        some_block(q, most);
    } else {
        some_list(q, most);
    }
}

static void make_trouble(void)
{
    static const uint8_t acks[] = {0, 3, 5, 6};
    struct adi_trouble access = {
        .ack = below(2) ? ACK_WAIT : ACK_FAULT, .skip = below(8), .count = 1 + below(8)};
    struct swd_trouble wire = {.kind = below(3), .ack = acks[below(4)], .skip = below(12), .count = 1};
    unsigned which = below(6);
    for (struct place *p = places; p < places + 2; p++) {
        p->adi.trouble = which == 0 ? access : (struct adi_trouble){0};
        p->pins.swd.trouble = which == 1 ? wire : (struct swd_trouble){0};
    }
}

// ---- both

static void run(struct place *p, const struct packet *q)
{
    p->cycles = 0;
    memset(p->reply, 0, sizeof p->reply);
    p->length = processor_packet(&p->processor, q->bytes, q->length, p->reply);
}

static void show(const char *what, const uint8_t *bytes, size_t length)
{
    printf("%s (%zu):", what, length);
    for (size_t i = 0; i < length && i < 200; i++)
        printf(" %02x", bytes[i]);
    printf("\n");
}

// Of a match that was not acknowledged, whether it says "mismatch" too depends on what the firmware had read
// last, or on nothing at all
static void forgive(struct place *p)
{
    enum { MISMATCH = 1 << 4 };
    if (p->reply[0] == 0x05 && (p->reply[2] & 0xF) != LINE_OK)
        p->reply[2] &= (uint8_t)~MISMATCH;
}

static bool same(const struct packet *q, unsigned long number)
{
    struct place *own = &places[0], *theirs = &places[1];
    forgive(own);
    forgive(theirs);
    bool waves = own->cycles == theirs->cycles && !memcmp(own->wave, theirs->wave, own->cycles);
    bool replies = own->length == theirs->length && !memcmp(own->reply, theirs->reply, own->length);
    if (waves && replies && !memcmp(own->memory, theirs->memory, MEMORY))
        return true;
    size_t at = 0;
    while (at < own->cycles && at < theirs->cycles && own->wave[at] == theirs->wave[at])
        at++;
    printf("packet %lu: %s, the wires from cycle %zu on\n", number,
           replies ? "the replies are the same" : "the replies differ", at);
    show("packet", q->bytes, q->length);
    show("the board's reply", own->reply, own->length);
    show("the firmware's reply", theirs->reply, theirs->length);
    show("the board's cycles", own->wave, own->cycles);
    show("the firmware's cycles", theirs->wave, theirs->cycles);
    return false;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    bool jtag = !strcmp(argv[2], "jtag");
    unsigned long packets = strtoul(argv[3], NULL, 10), number = 0;
    state = strtoull(argv[4], NULL, 10);
    set_up(&places[1], ROOM);
    if (!firmware_open(&places[1].firmware, argv[1], &places[1].processor))
        return 2;
    places[1].processor.firmware = &places[1].firmware;
    size_t most = places[1].processor.packet_size;
    set_up(&places[0], most);
    struct packet q = {.bytes = {0x02, jtag ? PORT_JTAG : PORT_SWD}, .length = 2};
    bool right = true;
    unsigned lost = 0;
    unsigned long good = 0;
    for (int i = 0; i < 4 && right; i++) {
        run(&places[0], &q);
        run(&places[1], &q);
        right = same(&q, 0);
        if (i == 0)
            q = (struct packet){.bytes = {0x15, 1, 4}, .length = jtag ? 3 : 0};
        if (i == 1)
            some_sequence(&q, jtag);
        if (i == 2)
            q = (struct packet){.bytes = {0x05, 0, 2, 0x02, 0x04, 0, 0, 0, 0x50}, .length = 9};
    }
    for (; right && number < packets; number++) {
        some_packet(&q, most, jtag, lost);
        make_trouble();
        run(&places[0], &q);
        run(&places[1], &q);
        right = same(&q, number);
        bool list = q.bytes[0] == 0x05, whole = list && (places[0].reply[2] & 0xF) == LINE_OK;
        lost = whole ? 0 : lost == 2 || list ? lost % 4 + 1 : lost;
        good += whole;
    }
    printf("{\"packets\":%lu,\"good\":%lu,\"right\":%s}\n", number, good, right ? "true" : "false");
    return right ? 0 : 1;
}
