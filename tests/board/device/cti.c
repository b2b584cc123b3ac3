// Cross trigger interface: see the header.
#include "device/cti.h"

#include <inttypes.h>

// Offsets, DDI 0487H table H8-6 and H9.3
enum {
    CTICONTROL = 0x000,
    CTIINTACK = 0x010,
    CTIAPPSET = 0x014,
    CTIAPPCLEAR = 0x018,
    CTIAPPPULSE = 0x01C,
    CTIINEN0 = 0x020,
    CTIOUTEN0 = 0x0A0,
    CTITRIGINSTATUS = 0x130,
    CTITRIGOUTSTATUS = 0x134,
    CTICHINSTATUS = 0x138,
    CTICHOUTSTATUS = 0x13C,
    CTIGATE = 0x140,
    CTIDEVCTL = 0x150,
    DEVAFF0 = 0xFA8,
    LAR = 0xFB0,
    LSR = 0xFB4,
    AUTHSTATUS = 0xFB8,
};
#define GLBEN        1u
#define DEVCTL_BITS  3u // OSUCE, RCE: DDI 0487 H9.5.18
#define REVISION_1   (1u << 16)
#define ALL_CHANNELS ((1u << CTI_CHANNELS) - 1)
#define LOCK_KEY     0xC5ACCE55u
#define LSR_LOCKED   3u // implemented, locked
#define LSR_OPEN     1u

static uint32_t page_read(void *self, uint32_t offset, enum bus_master master);

// The i-th device's, if it is another cross trigger interface
static struct cti *other_at(const struct cti *c, size_t i)
{
    const struct device *d = &c->bus->devices[i];
    return d->read == page_read && d->self != c ? d->self : NULL;
}

// Channels that the debugger or an input holds active
static uint32_t held_channels(const struct cti *c)
{
    uint32_t channels = c->app;
    for (unsigned i = 0; c->inputs && i < CTI_TRIGGERS; i++)
        channels |= c->inputs >> i & 1 ? c->in_enable[i] : 0;
    return c->control & GLBEN ? channels : 0;
}

// The same of all the others, as far as the gates let them through
static uint32_t channels_in(const struct cti *c)
{
    uint32_t channels = 0;
    for (size_t i = 0; c->gate && i < c->bus->device_count; i++) {
        const struct cti *other = other_at(c, i);
        channels |= other ? held_channels(other) & other->gate : 0;
    }
    return channels & c->gate;
}

static uint32_t levels(const struct cti *c)
{
    uint32_t outputs = 0, channels = 0;
    if (c->control & GLBEN)
        channels = held_channels(c) | channels_in(c);
    for (unsigned i = 0; channels && i < CTI_TRIGGERS; i++)
        outputs |= channels & c->out_enable[i] ? 1u << i : 0;
    return outputs;
}

bool cti_requests_halt(const struct cti *c)
{
    return (c->held | levels(c)) >> CTI_OUT_HALT & 1;
}

static void deliver(struct cti *c, uint32_t channels)
{
    if (!(c->control & GLBEN))
        return;
    if (channels & c->out_enable[CTI_OUT_HALT])
        c->held |= 1u << CTI_OUT_HALT;
    if (channels & c->out_enable[c->restarts])
        c->restart(c->self);
    c->request(c->self);
}

// To its own outputs, and where the gates let it through to the others on the bus
static void put(struct cti *c, uint32_t channels)
{
    deliver(c, channels);
    uint32_t out = channels & c->gate;
    for (size_t i = 0; out && (c->control & GLBEN) && i < c->bus->device_count; i++) {
        struct cti *other = other_at(c, i);
        if (other)
            deliver(other, out & other->gate);
    }
}

void cti_input(struct cti *c, unsigned input)
{
    if (c->control & GLBEN)
        put(c, c->in_enable[input]);
}

void cti_set_input(struct cti *c, unsigned input, bool high)
{
    c->inputs = (c->inputs & ~(1u << input)) | (uint32_t)high << input;
    if (high)
        cti_input(c, input);
}

bool cti_listens(const struct cti *c, unsigned input)
{
    return (c->control & GLBEN) && c->in_enable[input];
}

void cti_set_dopd(struct cti *c, bool on)
{
    uint32_t *devarch = &c->is.is.devarch;
    c->has_control = on;
    *devarch = on ? *devarch | REVISION_1 : *devarch & ~REVISION_1;
}

void cti_power_on(struct cti *c)
{
    // The architecture leaves the enables unknown, and opens the gates
    c->control = c->app = c->held = c->inputs = 0;
    c->gate = ALL_CHANNELS;
    c->locked = true;
    for (unsigned i = 0; i < CTI_TRIGGERS; i++)
        c->in_enable[i] = c->out_enable[i] = 0;
}

static uint32_t *enable_at(struct cti *c, uint32_t offset)
{
    if (offset >= CTIINEN0 && offset < CTIINEN0 + 4 * CTI_TRIGGERS)
        return &c->in_enable[(offset - CTIINEN0) / 4];
    if (offset >= CTIOUTEN0 && offset < CTIOUTEN0 + 4 * CTI_TRIGGERS)
        return &c->out_enable[(offset - CTIOUTEN0) / 4];
    return NULL;
}

static uint32_t page_read(void *self, uint32_t offset, enum bus_master master)
{
    struct cti *c = self;
    const uint32_t *enable = enable_at(c, offset);
    if (enable)
        return *enable;
    switch (offset) {
    case CTICONTROL:
        return c->control;
    case CTIAPPSET:
        return c->app;
    case CTITRIGINSTATUS:
        return c->inputs;
    case CTICHINSTATUS:
        return channels_in(c);
    case CTICHOUTSTATUS:
        return held_channels(c) & c->gate;
    case CTITRIGOUTSTATUS:
        return c->held | levels(c);
    case CTIGATE:
        return c->gate;
    case CTIDEVCTL:
        return c->devctl;
    case DEVAFF0:
        return c->affinity;
    case LSR:
        if (master != BUS_CORE && (!c->lock_for_all || c->lock_lies))
            return 0;
        return c->locked ? LSR_LOCKED : LSR_OPEN;
    case AUTHSTATUS:
        return c->authstatus & 0x0F;
    default:
        return component_read(&c->is.is, offset);
    }
}

static void write_register(struct cti *c, uint32_t offset, uint32_t value)
{
    switch (offset) {
    case CTICONTROL:
        c->control = value & GLBEN;
        break;
    case CTIINTACK:
        c->held = (c->held & ~value) | (levels(c) & 1u << CTI_OUT_HALT); // a level asks again at once
        break;
    case CTIAPPSET:
        c->app |= value & ALL_CHANNELS;
        put(c, c->app);
        break;
    case CTIAPPCLEAR:
        c->app &= ~value;
        break;
    case CTIAPPPULSE:
        put(c, value & ALL_CHANNELS);
        break;
    case CTIGATE:
        c->gate = value & ALL_CHANNELS;
        break;
    case CTIDEVCTL:
        c->devctl = c->has_control ? value & DEVCTL_BITS : 0;
        break;
    default:
        break;
    }
}

static void page_write(void *self, uint32_t offset, uint32_t value, enum bus_master master)
{
    struct cti *c = self;
    bool lockable = master == BUS_CORE || c->lock_for_all;
    uint32_t *enable = enable_at(c, offset);
    if (offset == LAR && lockable)
        c->locked = value != LOCK_KEY;
    else if (lockable && c->locked)
        return;
    else if (enable)
        *enable = value & ALL_CHANNELS;
    else
        write_register(c, offset, value);
    c->request(c->self);
}

bool cti_add(struct cti *c)
{
    return bus_add_device(
        c->bus,
        (struct device){
            .base = c->is.base, .size = COMPONENT_SIZE, .read = page_read, .write = page_write, .self = c});
}

static void print_enables(FILE *json, const char *name, const uint32_t *enables)
{
    fprintf(json, ",\"%s\":[", name);
    for (unsigned i = 0; i < CTI_TRIGGERS; i++)
        fprintf(json, "%s%" PRIu32, i ? "," : "", enables[i]);
    fputc(']', json);
}

void cti_print(const struct cti *c, FILE *json)
{
    fprintf(json, ",\"cti_control\":%" PRIu32 ",\"cti_gate\":%" PRIu32 ",\"cti_app\":%" PRIu32, c->control,
            c->gate, c->app);
    fprintf(json, ",\"cti_devctl\":%" PRIu32, c->devctl);
    fprintf(json, ",\"cti_locked\":%s", c->locked ? "true" : "false");
    print_enables(json, "cti_inen", c->in_enable);
    print_enables(json, "cti_outen", c->out_enable);
}
