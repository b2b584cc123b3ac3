#include "debuggers/access.h"

#include "debuggers/monitor_memory.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *access_name(enum access_way way)
{
    static const char *const names[ACCESS_WAYS] = {[ACCESS_MEMORY] = "memory",
                                                   [ACCESS_OPENOCD] = "OpenOCD's monitor",
                                                   [ACCESS_JLINK] = "J-Link's monitor",
                                                   [ACCESS_PYOCD] = "pyOCD's monitor"};
    return way < ACCESS_WAYS ? names[way] : "none";
}

void access_say(struct access *access, enum access_way way, const char *format, ...)
{
    va_list arguments;
    if (access->why[way][0] != '\0')
        return;
    va_start(arguments, format);
    vsnprintf(access->why[way], sizeof access->why[way], format, arguments);
    va_end(arguments);
}

void access_say_not_openocd(struct access *access, const char *server)
{
    if (server[0] != '\0')
        access_say(access, ACCESS_OPENOCD, "the server is %s", server);
    access_say(access, ACCESS_OPENOCD, "the server is not OpenOCD");
}

/* DDI 0403 B3.2.3, C1.6.2 and C1.6.4. DCRDR holds what it is given while nothing is transferred. */
static const uint64_t CPUID = 0xE000ED00, DHCSR = 0xE000EDF0, DCRDR = 0xE000EDF8;
static const uint32_t S_HALT = 1U << 17, DHCSR_NEVER = 0xF8000000;

enum verdict { WORKS, ONLY_LOOKS, USELESS, BROKEN };

static enum monitor_dialect dialect_of(enum access_way way)
{
    return way == ACCESS_JLINK ? MONITOR_JLINK : MONITOR_PYOCD;
}

bool access_read(struct debugger *debugger, enum access_way way, uint64_t at, unsigned size, uint64_t *out,
                 const struct deadline *deadline, struct error *error)
{
    uint8_t bytes[8] = {0};
    if (way != ACCESS_MEMORY)
        return monitor_memory_read(debugger, dialect_of(way), at, size, out, deadline, error);
    if (!debugger->ops->read_memory(debugger, at, bytes, size, deadline, error))
        return false;
    *out = 0;
    for (size_t i = size; i-- > 0;)
        *out = *out << 8 | bytes[i];
    return true;
}

bool access_write(struct debugger *debugger, enum access_way way, uint64_t at, unsigned size, uint64_t value,
                  const struct deadline *deadline, struct error *error)
{
    uint8_t bytes[8];
    if (way != ACCESS_MEMORY)
        return monitor_memory_write(debugger, dialect_of(way), at, size, value, deadline, error);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
    return debugger->ops->write_memory(debugger, at, bytes, size, deadline, error);
}

/* Writes another value to DCRDR, looks, and writes the old one. */
static bool obeys(struct debugger *debugger, enum access_way way, bool *obeyed, uint64_t *kept,
                  const struct deadline *deadline, struct error *why)
{
    uint64_t after;
    if (!access_read(debugger, way, DCRDR, 4, kept, deadline, why) ||
        !access_write(debugger, way, DCRDR, 4, *kept ^ UINT32_MAX, deadline, why) ||
        !access_read(debugger, way, DCRDR, 4, &after, deadline, why))
        return false;
    *obeyed = after == (*kept ^ UINT32_MAX);
    return !*obeyed || access_write(debugger, way, DCRDR, 4, *kept, deadline, why);
}

static enum verdict useless(struct debugger *debugger, enum access_way way, const struct error *why,
                            struct error *error)
{
    if (why->kind != ERROR_FAULT) {
        error_set(error, why->kind, "%s", why->text);
        return BROKEN;
    }
    access_say(&debugger->access, way, "%s", why->text);
    return USELESS;
}

static enum verdict try_way(struct debugger *debugger, enum access_way way, const struct deadline *deadline,
                            struct error *error)
{
    struct error why = {0};
    uint64_t id, kept;
    bool obeyed = false;
    if (!access_read(debugger, way, CPUID, 4, &id, deadline, &why))
        return useless(debugger, way, &why, error);
    if (id == 0 || id == UINT32_MAX) {
        access_say(&debugger->access, way, "no Cortex-M is there: CPUID 0x%08" PRIX64, id);
        return USELESS;
    }
    if (!obeys(debugger, way, &obeyed, &kept, deadline, &why))
        return useless(debugger, way, &why, error);
    if (!obeyed)
        access_say(&debugger->access, way, "what is written is ignored: DCRDR stays 0x%08" PRIX64, kept);
    return obeyed ? WORKS : ONLY_LOOKS;
}

/* Of the two that are recognized by what they answer only. */
static bool may_be(struct debugger *debugger, enum access_way way)
{
    if (debugger->ops->monitor == NULL)
        access_say(&debugger->access, way, "the server has no monitor");
    else if (debugger->facts.server[0] == '\0')
        return true;
    else
        access_say(&debugger->access, way, "the server is %s", debugger->facts.server);
    return false;
}

static bool settle(struct debugger *debugger, enum access_way way, bool only_looks)
{
    struct access *access = &debugger->access;
    access->settled = true;
    access->used = way;
    access->only_looks = only_looks;
    access_say(access, way, "in use");
    for (enum access_way other = way + 1; other < ACCESS_WAYS; other++)
        access_say(access, other, "not needed");
    return true;
}

/* Where the debugger says that the core is halted, the core's own register does too. */
static bool tell_emulator(struct debugger *debugger, const struct deadline *deadline, struct error *error)
{
    uint64_t status;
    struct error why = {0};
    if (!access_read(debugger, ACCESS_MEMORY, DHCSR, 4, &status, deadline, &why))
        return why.kind == ERROR_FAULT || error_set(error, why.kind, "%s", why.text);
    debugger->facts.is_emulator |= (status & S_HALT) == 0 || (status & DHCSR_NEVER) != 0;
    return true;
}

bool access_settle_m(struct debugger *debugger, const struct deadline *deadline, struct error *error)
{
    static const enum access_way ways[] = {ACCESS_MEMORY, ACCESS_JLINK, ACCESS_PYOCD};
    bool looks = false;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        enum verdict verdict = USELESS;
        if (ways[i] != ACCESS_MEMORY && !may_be(debugger, ways[i]))
            continue;
        verdict = try_way(debugger, ways[i], deadline, error);
        if (verdict == BROKEN)
            return false;
        looks |= ways[i] == ACCESS_MEMORY && verdict == ONLY_LOOKS;
        if (ways[i] == ACCESS_MEMORY && verdict != WORKS) {
            if (strcmp(debugger->facts.server, "OpenOCD") == 0)
                access_say(&debugger->access, ACCESS_OPENOCD, "reads the same memory of a Cortex-M");
            access_say_not_openocd(&debugger->access, debugger->facts.server);
        }
        if (verdict == WORKS) {
            if (ways[i] != ACCESS_MEMORY) /* known by how it answers */
                snprintf(debugger->facts.server, sizeof debugger->facts.server, "%s",
                         ways[i] == ACCESS_JLINK ? "J-Link" : "pyOCD");
            return settle(debugger, ways[i], false);
        }
    }
    settle(debugger, ACCESS_MEMORY, true);
    return !looks || tell_emulator(debugger, deadline, error);
}
