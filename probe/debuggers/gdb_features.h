/*
 * Features: a GDB server's target description (target.xml and its includes, GDB manual, appendix G): the
 * architecture, and the registers by name, number and size. Depth, documents, bytes and registers are
 * bounded. Expat reads the XML; entities are refused.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GDB_REGISTERS = 1024,
    GDB_NAME = 32,
    GDB_XML_BYTES = 512 * 1024,
    GDB_XML_DOCUMENTS = 64,
    GDB_XML_DEPTH = 8
};

struct gdb_register {
    char name[GDB_NAME];
    unsigned number, bits;
    size_t offset; /* in a `g` packet, in bytes */
};

struct gdb_features {
    char architecture[48]; /* "arm", "aarch64"; "" if unknown */
    bool m_profile;        /* a feature org.gnu.gdb.arm.m-profile */
    struct gdb_register registers[GDB_REGISTERS];
    size_t n;
};

/* The source of documents: false with `error` if there is none of that name. `text` is valid until the next
 * call. */
struct gdb_documents {
    void *context;
    bool (*fetch)(void *context, const char *name, const char **text, size_t *length, struct error *error);
};

bool gdb_features_read(struct gdb_features *features, const struct gdb_documents *documents,
                       struct error *error);
/* For a server that describes nothing: r0 to r15 and cpsr, as GDB numbers them on Arm. */
void gdb_features_assume_arm(struct gdb_features *features);
/* By name, in any case; NULL: there is none. */
const struct gdb_register *gdb_features_find(const struct gdb_features *features, const char *name);
