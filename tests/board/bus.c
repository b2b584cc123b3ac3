// Address decoding: memories first, then devices; anything else is a bus error.
#include "bus.h"

#include <stdlib.h>
#include <string.h>

enum { DIRTY_LINE = 32 };

void bus_tell(const struct bus *bus, uint32_t address, uint32_t length)
{
    if (bus->changed)
        bus->changed(bus->changed_self, address, length);
    if (bus->twin && bus->twin->changed)
        bus->twin->changed(bus->twin->changed_self, address, length);
}

bool bus_add_memory(struct bus *bus, struct memory memory)
{
    if (bus->memory_count == BUS_MEMORIES)
        return false;
    bus->memories[bus->memory_count++] = memory;
    return true;
}

bool bus_add_device(struct bus *bus, struct device device)
{
    if (bus->device_count == BUS_DEVICES)
        return false;
    bus->devices[bus->device_count++] = device;
    return true;
}

static const struct memory *memory_at(const struct bus *bus, uint32_t address, uint32_t length)
{
    for (size_t i = 0; i < bus->memory_count; i++) {
        const struct memory *m = &bus->memories[i];
        uint32_t offset = address - m->base;
        if (offset < m->size && length <= m->size - offset)
            return m;
    }
    return NULL;
}

uint8_t *bus_bytes(const struct bus *bus, uint32_t address, uint32_t length)
{
    const struct memory *m = memory_at(bus, address, length);
    return m ? m->bytes + (address - m->base) : NULL;
}

bool bus_dirty_cache(struct bus *bus, bool on)
{
    bool ok = true;
    for (size_t i = 0; i < bus->memory_count; i++) {
        const struct memory *m = &bus->memories[i];
        free(bus->behind[i]);
        bus->behind[i] = on && m->writable ? malloc(m->size) : NULL;
        if (bus->behind[i])
            memcpy(bus->behind[i], m->bytes, m->size);
        ok = ok && (bus->behind[i] || !on || !m->writable);
    }
    return ok;
}

uint8_t *bus_behind(const struct bus *bus, uint32_t address, uint32_t length)
{
    const struct memory *m = memory_at(bus, address, length);
    uint8_t *behind = m ? bus->behind[m - bus->memories] : NULL;
    return behind ? behind + (address - m->base) : NULL;
}

static const struct device *device_at(const struct bus *bus, uint32_t address)
{
    for (size_t i = 0; i < bus->device_count; i++) {
        const struct device *d = &bus->devices[i];
        if (address - d->base < d->size)
            return d;
    }
    return NULL;
}

static uint32_t lanes(unsigned size)
{
    return size == 4 ? UINT32_MAX : (1u << (8 * size)) - 1;
}

static void decode_master(const struct bus *bus, uint32_t *address, enum bus_master *master)
{
    if (!bus->debugger_bit || (*address & bus->debugger_bit))
        return;
    *address |= bus->debugger_bit;
    *master = BUS_CORE;
}

// Devices are the core's own: they answer either state
static bool is_refused(const struct bus *bus, bool memory, enum bus_master master)
{
    const struct bus_security *s = bus->security;
    if (!s || master == BUS_CORE)
        return false;
    if (s->silent)
        return true;
    if (master != BUS_DEBUGGER_NON_SECURE)
        return s->refuses_secure;
    return memory && !s->non_secure_program;
}

static const struct device *answering(const struct bus *bus, uint32_t address, bool write,
                                      enum bus_master master)
{
    const struct device *d = device_at(bus, address);
    if (!d || (d->allows && !d->allows(d->self, (address - d->base) & ~3u, write, master)))
        return NULL;
    return d;
}

bool bus_allows(const struct bus *bus, uint32_t address, bool write, enum bus_master master)
{
    decode_master(bus, &address, &master);
    return answering(bus, address, write, master) != NULL;
}

bool bus_read(struct bus *bus, uint32_t address, unsigned size, uint32_t *value, enum bus_master master)
{
    const uint8_t *bytes = bus_bytes(bus, address, size);
    *value = 0;
    if (is_refused(bus, bytes != NULL, master))
        return false;
    if (bytes) {
        if (master != BUS_CORE && bus->unclocked && bus->unclocked(bus->unclocked_self)) {
            *value = bus->carried & lanes(size);
            return true;
        }
        memcpy(value, bytes, size);
        bus->carried = *value;
        if (bus->dirty && master != BUS_CORE && (address & DIRTY_LINE))
            *value = ~*value & lanes(size);
        return true;
    }
    decode_master(bus, &address, &master);
    const struct device *d = answering(bus, address, false, master);
    if (!d)
        return false;
    uint32_t word = d->read(d->self, (address - d->base) & ~3u, master);
    *value = (word >> (8 * (address & 3))) & lanes(size);
    return true;
}

bool bus_write(struct bus *bus, uint32_t address, unsigned size, uint32_t value, enum bus_master master)
{
    const struct memory *m = memory_at(bus, address, size);
    if (is_refused(bus, m != NULL, master))
        return false;
    if (m) {
        if (!m->writable)
            return false;
        memcpy(m->bytes + (address - m->base), &value, size);
        if (master != BUS_CORE) // the core notices its own writes
            bus_tell(bus, address, size);
        return true;
    }
    decode_master(bus, &address, &master);
    const struct device *d = answering(bus, address, true, master);
    if (!d)
        return false;
    uint32_t offset = (address - d->base) & ~3u;
    if (d->write_part) {
        d->write_part(d->self, address - d->base, size, value & lanes(size), master);
        return true;
    }
    if (size < 4) {
        // Only the priority registers allow less than a word, and for them a merge is right
        unsigned shift = 8 * (address & 3);
        uint32_t mask = lanes(size) << shift;
        value = (d->read(d->self, offset, BUS_DEBUGGER) & ~mask) | ((value << shift) & mask);
    }
    d->write(d->self, offset, value, master);
    return true;
}

bool bus_poke(struct bus *bus, uint32_t address, const uint8_t *bytes, uint32_t length)
{
    uint8_t *to = bus_bytes(bus, address, length);
    if (!to)
        return false;
    memcpy(to, bytes, length);
    // The same bytes may be at a second address (flash seen at 0)
    for (size_t i = 0; i < bus->memory_count; i++) {
        const struct memory *m = &bus->memories[i];
        if (to >= m->bytes && to < m->bytes + m->size)
            bus_tell(bus, m->base + (uint32_t)(to - m->bytes), length);
    }
    return true;
}
