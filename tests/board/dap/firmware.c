// Firmware from outside: see the header.
#include "dap/firmware.h"

#include <dlfcn.h>
#include <stdio.h>

#include "dap/processor.h"

// The cores live on so often while it clocks: some transfer's time
enum { CLOCKS = 48, NS_PER_US = 1000 };

static void swclk(void *self, bool level)
{
    struct firmware *f = self;
    struct processor *p = f->processor;
    bool rising = level && !f->clock;
    f->clock = level;
    if (!rising)
        return;
    pins_clock(p->line.pins, f->driven, f->level, f->tdi);
    if (p->line.pins->clocks - p->paced >= CLOCKS)
        processor_pace(p);
}

static void swdio(void *self, bool level)
{
    ((struct firmware *)self)->level = level;
}

static void swdio_drive(void *self, bool driven)
{
    ((struct firmware *)self)->driven = driven;
}

static bool swdio_level(void *self)
{
    const struct firmware *f = self;
    return swd_level(&f->processor->line.pins->swd, f->driven, f->level);
}

static void tdi(void *self, bool level)
{
    ((struct firmware *)self)->tdi = level;
}

static bool tdo(void *self)
{
    return pins_tdo(((const struct firmware *)self)->processor->line.pins);
}

static void reset(void *self, bool held)
{
    struct pins *pins = ((struct firmware *)self)->processor->line.pins;
    pins->reset(pins->self, held);
}

static uint64_t now_us(void *self)
{
    struct processor *p = ((struct firmware *)self)->processor;
    return p->breathe(p->self) / NS_PER_US;
}

bool firmware_open(struct firmware *f, const char *path, struct processor *p)
{
    *f = (struct firmware){.processor = p, .clock = true, .level = true};
    f->pins = (struct firmware_pins){f, swclk, swdio, swdio_drive, swdio_level, tdi, tdo, reset, now_us};
    f->object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!f->object) {
        fprintf(stderr, "board: %s\n", dlerror());
        return false;
    }
    void (*start)(const struct firmware_pins *) = dlsym(f->object, "firmware_start");
    size_t (*size)(void) = dlsym(f->object, "firmware_packet_size");
    f->packet = dlsym(f->object, "firmware_packet");
    size_t bytes = start && size && f->packet ? size() : 0;
    if (bytes < 64 || bytes > PROCESSOR_PACKET) {
        fprintf(stderr, "board: %s: not a probe's firmware\n", path);
        return false;
    }
    p->packet_size = bytes;
    start(&f->pins);
    return true;
}

size_t firmware_run(struct firmware *f, const uint8_t *request, size_t length, uint8_t *reply)
{
    struct processor *p = f->processor;
    size_t got = f->packet(request, length, reply, p->packet_size);
    processor_pace(p);
    return got < p->packet_size ? got : p->packet_size;
}
