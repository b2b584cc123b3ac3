// What is at which address, for the core and for an access port alike: memories (bytes that the emulator
// maps directly) and devices (word registers as functions). A board may have several buses.
#ifndef BOARD_BUS_H
#define BOARD_BUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BUS_MEMORIES = 8, BUS_DEVICES = 32 };

// Who reads or writes. BUS_DEBUGGER_AS_CORE is an access port that poses as the core (AHB-AP MasterType = 0),
// BUS_DEBUGGER_NON_SECURE one whose transfers are Non-secure (HNONSEC = 1) on a bus that minds it.
enum bus_master { BUS_CORE, BUS_DEBUGGER, BUS_DEBUGGER_AS_CORE, BUS_DEBUGGER_NON_SECURE };

// TrustZone for Armv8-M, as a debugger meets it
struct bus_security {
    bool refuses_secure;     // SPIDEN is low: Secure transfers of a debugger are refused
    bool non_secure_program; // and so is its memory
    bool silent;             // the core has no clock: nothing that a debugger asks is answered
};

struct memory {
    uint32_t base, size;
    uint8_t *bytes;
    bool writable;
};

struct device {
    uint32_t base, size;
    uint32_t (*read)(void *self, uint32_t offset, enum bus_master);
    void (*write)(void *self, uint32_t offset, uint32_t value, enum bus_master);
    void *self;
    // Whether it answers at all, where some of it may be locked or without power. NULL: always.
    bool (*allows)(void *self, uint32_t offset, bool write, enum bus_master);
    // Instead of `write`, where a byte or a halfword is not a part of a word
    void (*write_part)(void *self, uint32_t offset, unsigned size, uint32_t value, enum bus_master);
};

struct bus {
    struct memory memories[BUS_MEMORIES];
    size_t memory_count;
    struct device devices[BUS_DEVICES];
    size_t device_count;
    // Memory was changed, but not by the core, which may hold translations of it
    void (*changed)(void *self, uint32_t address, uint32_t length);
    void *changed_self;
    // A cache of the core's holds newer lines than memory: in every other line of 32 bytes any other reader
    // sees other bytes
    bool dirty;
    // A write-back cache of the core's has all lines of RAM, dirty: what memory held when that began. NULL:
    // it has none
    uint8_t *behind[BUS_MEMORIES];
    // While this is true, memory has no clock: any reader but the core sees what the bus carried last
    bool (*unclocked)(const void *self);
    const void *unclocked_self;
    uint32_t carried;
    struct bus *twin; // of another core, who sees the same memories; NULL if there is none
    // Of a debug bus: the address bit that is set for a debugger and clear for software, whose accesses are
    // BUS_CORE's; the devices are where it is set. 0: it has none.
    uint32_t debugger_bit;
    const struct bus_security *security; // NULL: there is but one state
};

bool bus_add_memory(struct bus *, struct memory);
bool bus_add_device(struct bus *, struct device);

// The bytes at an address if all of them lie in one memory, else NULL
uint8_t *bus_bytes(const struct bus *, uint32_t address, uint32_t length);

// Begins, or ends, to keep what memory holds apart from the cache. false: no memory
bool bus_dirty_cache(struct bus *, bool on);
// The bytes in memory, where the cache has newer ones; else NULL
uint8_t *bus_behind(const struct bus *, uint32_t address, uint32_t length);

// size is 1, 2 or 4, the address aligned to it, the value right-aligned. false is a bus error.
bool bus_read(struct bus *, uint32_t address, unsigned size, uint32_t *value, enum bus_master);
bool bus_write(struct bus *, uint32_t address, unsigned size, uint32_t value, enum bus_master);

// Whether a device would answer there
bool bus_allows(const struct bus *, uint32_t address, bool write, enum bus_master);

// Some of memory was changed by a way that the bus does not see
void bus_tell(const struct bus *, uint32_t address, uint32_t length);

// The back door of the control socket: memory only, read-only memory too, no device sees it
bool bus_poke(struct bus *, uint32_t address, const uint8_t *bytes, uint32_t length);

#endif
