#include "debuggers/monitor_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { REPLY = 512, SAID = 80 };

/*
 * J-Link's GDB server, as its users show it: of memU8, memU16, memU32 an address alone is read, with " =
 * VALUE" behind it is written; the answers are "Reading from address 0x... (Data = 0x...)" and "Writing 0x...
 * @ address 0x...". None was at hand to prove it. pyOCD, since its monitor takes what its commander does
 * (pyocd/commands/commands.py): a line of a hex dump, "ADDRESS:  VALUE", and nothing or OK after a write.
 * Values are in hexadecimal without a prefix there.
 */
struct dialect {
    const char *name, *data,
        *written;                   /* what stands before a value that was read; what a write says, or NULL */
    const char *read[3], *write[3]; /* of 1, 2 and 4 bytes */
};

static const struct dialect dialects[] = {
    [MONITOR_JLINK] = {"J-Link's",
                       "(Data = 0x",
                       "Writing 0x",
                       {"memU8", "memU16", "memU32"},
                       {"memU8", "memU16", "memU32"}},
    [MONITOR_PYOCD] =
        {"pyOCD's", ":  ", NULL, {"read8", "read16", "read32"}, {"write8", "write16", "write32"}},
};

static bool take_size(unsigned size, size_t *which, struct error *error)
{
    *which = size == 1 ? 0 : size == 2 ? 1 : 2;
    return size == 1 || size == 2 || size == 4 ||
           error_set(error, ERROR_FAULT, "a server's monitor reads no %u bytes at once", size);
}

/* The first line of it, without what is no text. */
static bool unexpected(const char *text, struct error *error)
{
    char said[SAID];
    size_t n = 0;
    for (; text[n] >= ' ' && text[n] <= '~' && n < sizeof said - 1; n++)
        said[n] = text[n];
    said[n] = '\0';
    return error_set(error, ERROR_FAULT, "the server's monitor says \"%s\"", said);
}

/* A hexadecimal number of exactly that many digits. */
static bool take_number(const char *text, size_t digits, uint64_t *out)
{
    static const char hex[] = "0123456789abcdef0123456789ABCDEF";
    *out = 0;
    for (size_t i = 0; i < digits; i++) {
        const char *digit = text[i] != '\0' ? strchr(hex, text[i]) : NULL;
        if (digit == NULL)
            return false;
        *out = *out << 4 | (uint64_t)((digit - hex) % 16);
    }
    return text[digits] == '\0' || strchr(hex, text[digits]) == NULL;
}

bool monitor_memory_read(struct debugger *debugger, enum monitor_dialect dialect, uint64_t at, unsigned size,
                         uint64_t *out, const struct deadline *deadline, struct error *error)
{
    const struct dialect *words = &dialects[dialect];
    char line[64], text[REPLY], address[24];
    size_t which;
    if (!take_size(size, &which, error))
        return false;
    snprintf(line, sizeof line, "%s 0x%08" PRIX64, words->read[which], at);
    if (!debugger->ops->monitor(debugger, line, text, sizeof text, deadline, error))
        return false;
    /* The address that it names must be the one that was meant */
    snprintf(address, sizeof address, "%08" PRIX64, at);
    const char *place = strcasestr(text, address), *data = place != NULL ? strstr(place, words->data) : NULL;
    return (data != NULL && take_number(data + strlen(words->data), (size_t)2 * size, out)) ||
           unexpected(text, error);
}

bool monitor_memory_write(struct debugger *debugger, enum monitor_dialect dialect, uint64_t at, unsigned size,
                          uint64_t value, const struct deadline *deadline, struct error *error)
{
    const struct dialect *words = &dialects[dialect];
    char line[96], text[REPLY];
    size_t which;
    if (!take_size(size, &which, error))
        return false;
    snprintf(line, sizeof line, "%s 0x%08" PRIX64 " %s0x%0*" PRIX64, words->write[which], at,
             dialect == MONITOR_JLINK ? "= " : "", (int)(2 * size), value);
    if (!debugger->ops->monitor(debugger, line, text, sizeof text, deadline, error))
        return false;
    bool done = words->written != NULL ? strstr(text, words->written) != NULL
                                       : text[0] == '\0' || strncmp(text, "OK", 2) == 0;
    return done || unexpected(text, error);
}
