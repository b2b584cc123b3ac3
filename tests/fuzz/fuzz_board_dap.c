// The virtual board's CMSIS-DAP command processor: any packets at all, over a debug port with a little memory
// after it. Each gets at most one reply, that fits.
#include <stdlib.h>
#include <string.h>

#include "bus.h"
#include "dap/processor.h"

enum { MEMORY = 4096, SMALLEST = 64, LONGEST_WAIT = 3000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct place {
    struct bus bus;
    struct adi adi;
    struct pins pins;
    struct processor processor;
    uint64_t now_ns;
    unsigned waits;
    uint8_t memory[MEMORY];
};

// Time passes by being asked for
static uint64_t breathe(void *self)
{
    struct place *p = self;
    p->now_ns += 1000000000;
    return p->now_ns;
}

// Retries by the million are proper, and dull
static bool stopped(void *carrier)
{
    struct place *p = carrier;
    return ++p->waits > LONGEST_WAIT;
}

static void reset(void *self, bool held)
{
    (void)self, (void)held;
}

static void set_up(struct place *p, uint8_t options)
{
    static const size_t sizes[] = {SMALLEST, 512, 1000, PROCESSOR_PACKET};
    struct swd_target device = {.adi = &p->adi, .targetid = options & 0x10 ? 0x01002927 : 0};
    bus_add_memory(&p->bus,
                   (struct memory){.base = 0x20000000, .size = MEMORY, .bytes = p->memory, .writable = true});
    p->adi.dpidr = 0x2BA01477;
    p->adi.targetid = device.targetid;
    adi_add_ap(&p->adi,
               (struct mem_ap){.bus = &p->bus, .idr = 0x24770011, .base = 0xE00FF003, .tar_wrap = 1024});
    swd_init(&p->pins.swd, &device, 1);
    jtag_init(&p->pins.jtag, &p->adi, 0x4BA00477);
    p->pins.has_jtag = !device.targetid;
    p->pins.reset = reset;
    p->processor = (struct processor){.line.pins = &p->pins,
                                      .packet_size = sizes[options & 3],
                                      .packet_count = 1,
                                      .timer = options & 4,
                                      .atomic = options & 8,
                                      .serial = "FUZZ",
                                      .swo = {.can = SWO_UART | SWO_STREAM, .size = SWO_BUFFER},
                                      .breathe = breathe,
                                      .self = p,
                                      .stopped = stopped,
                                      .carrier = p};
    processor_init(&p->processor);
}

// As a host would begin, so that something answers
static void connect(struct place *p, bool jtag)
{
    static const uint8_t to_swd[] = {0x12, 136,  0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x9E,
                                     0xE7, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x00};
    static const uint8_t identify[] = {0x05, 0, 2, 0x02, 0x04, 0, 0, 0, 0x50};
    uint8_t reply[PROCESSOR_PACKET], port[] = {0x02, jtag ? PORT_JTAG : PORT_SWD};
    processor_packet(&p->processor, port, sizeof port, reply);
    if (!jtag)
        processor_packet(&p->processor, to_swd, sizeof to_swd, reply);
    processor_packet(&p->processor, identify, sizeof identify, reply);
}

// The first byte chooses the probe; then packets, each after its length in two bytes
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct place *p = calloc(1, sizeof *p);
    if (!p || !size) {
        free(p);
        return 0;
    }
    set_up(p, data[0]);
    if (data[0] & 0x20)
        connect(p, data[0] & 0x40);
    p->processor.quirks = data[0] & 0x80 ? data[0] : 0;
    size_t room = p->processor.packet_size;
    for (data++, size--; size >= 2;) {
        size_t length = (data[0] | (size_t)data[1] << 8) % (room + 1);
        data += 2, size -= 2;
        length = length < size ? length : size;
        // Exactly as long as they are, so that going beyond either end is noticed
        uint8_t *request = malloc(length ? length : 1), *reply = malloc(room);
        if (!request || !reply)
            abort();
        memcpy(request, data, length);
        p->waits = 0;
        swo_receive(&p->processor.swo, (uint8_t)length, SWO_AS_UART, p->processor.swo.baud);
        size_t answered = processor_packet(&p->processor, request, length, reply);
        if (answered > room || (!answered && length && !processor_is_abort(request, length)))
            abort();
        free(request);
        free(reply);
        data += length, size -= length;
    }
    free(p);
    return 0;
}
