#include "debuggers/gdb_session.h"

#include <errno.h>
#include <expat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LARGEST_NUMBER = 65535, LARGEST_BITS = 16384, CPSR = 25, CPSR_OFFSET = 16 * 4 + 8 * 12 + 4 };

struct reader {
    struct gdb_features *features;
    const struct gdb_documents *documents;
    struct error *error;
    size_t bytes, n_documents;
    unsigned next; /* number of the next register without one */
};

/* A document that is being read. An include is read in its place, not afterwards. */
struct document {
    struct reader *reader;
    XML_Parser parser;
    const char *name;
    const struct document *outer;
    unsigned depth;
    bool in_architecture;
};

static bool read_document(struct reader *reader, const char *name, const struct document *outer);

static void stop(struct document *document)
{
    XML_StopParser(document->parser, XML_FALSE);
}

static const char *attribute(const char **attributes, const char *name)
{
    for (; *attributes != NULL; attributes += 2)
        if (strcmp(attributes[0], name) == 0)
            return attributes[1];
    return NULL;
}

/* True without the attribute; false if it is not a number up to `most`. */
static bool number_attribute(const char **attributes, const char *name, unsigned most, unsigned *out)
{
    const char *text = attribute(attributes, name);
    char *end;
    if (text == NULL)
        return true;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value > most)
        return false;
    *out = (unsigned)value;
    return true;
}

static void take_register(struct document *document, const char **attributes)
{
    struct reader *reader = document->reader;
    struct gdb_features *features = reader->features;
    const char *name = attribute(attributes, "name");
    unsigned number = reader->next, bits = 0;
    if (name == NULL || strlen(name) >= GDB_NAME ||
        !number_attribute(attributes, "regnum", LARGEST_NUMBER, &number) ||
        !number_attribute(attributes, "bitsize", LARGEST_BITS, &bits) || bits == 0) {
        error_set(reader->error, ERROR_LINK_PROTOCOL,
                  "the server's target description has a register that makes no sense");
        stop(document);
        return;
    }
    if (features->n == GDB_REGISTERS) {
        error_set(reader->error, ERROR_LINK_PROTOCOL,
                  "the server's target description has too many registers");
        stop(document);
        return;
    }
    struct gdb_register *entry = &features->registers[features->n++];
    *entry = (struct gdb_register){.number = number, .bits = bits};
    snprintf(entry->name, sizeof entry->name, "%s", name);
    reader->next = number + 1;
}

static void XMLCALL on_start(void *data, const char *element, const char **attributes)
{
    struct document *document = data;
    const char *name;
    document->in_architecture = strcmp(element, "architecture") == 0;
    if (strcmp(element, "reg") == 0)
        take_register(document, attributes);
    else if (strcmp(element, "feature") == 0 && (name = attribute(attributes, "name")) != NULL)
        document->reader->features->m_profile |= strncmp(name, "org.gnu.gdb.arm.m-profile", 25) == 0;
    else if (strcmp(element, "xi:include") == 0 && (name = attribute(attributes, "href")) != NULL &&
             !read_document(document->reader, name, document))
        stop(document);
}

static void XMLCALL on_end(void *data, const char *element)
{
    (void)element;
    ((struct document *)data)->in_architecture = false;
}

static void XMLCALL on_text(void *data, const char *text, int length)
{
    const struct document *document = data;
    char *out = document->reader->features->architecture;
    size_t room = sizeof document->reader->features->architecture, used = strlen(out);
    if (!document->in_architecture)
        return;
    for (int i = 0; i < length && used + 1 < room; i++)
        if ((unsigned char)text[i] > ' ' && (unsigned char)text[i] < 0x7f)
            out[used++] = text[i];
    out[used] = '\0';
}

/* Registers can be described without entities. */
static void XMLCALL on_entity(void *data, const char *name, int parameter, const char *value, int length,
                              const char *base, const char *system, const char *public_id,
                              const char *notation)
{
    struct document *document = data;
    (void)name, (void)parameter, (void)value, (void)length, (void)base, (void)system, (void)public_id,
        (void)notation;
    error_set(document->reader->error, ERROR_LINK_PROTOCOL,
              "the server's target description defines entities");
    stop(document);
}

static bool parse(struct document *document, const char *text, size_t length)
{
    struct error *error = document->reader->error;
    document->parser = XML_ParserCreate(NULL);
    if (document->parser == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    XML_SetUserData(document->parser, document);
    XML_SetElementHandler(document->parser, on_start, on_end);
    XML_SetCharacterDataHandler(document->parser, on_text);
    XML_SetEntityDeclHandler(document->parser, on_entity);
    bool ok = XML_Parse(document->parser, text, (int)length, XML_TRUE) == XML_STATUS_OK;
    if (!ok)
        error_set(error, ERROR_LINK_PROTOCOL, "the server's target description %.64s is not XML: %s",
                  document->name, XML_ErrorString(XML_GetErrorCode(document->parser)));
    XML_ParserFree(document->parser);
    return ok && error->kind == ERROR_NONE;
}

static bool read_document(struct reader *reader, const char *name, const struct document *outer)
{
    struct document document = {
        .reader = reader, .name = name, .outer = outer, .depth = outer != NULL ? outer->depth + 1 : 0};
    const char *text;
    size_t length;
    for (const struct document *above = outer; above != NULL; above = above->outer)
        if (strcmp(above->name, name) == 0)
            return error_set(reader->error, ERROR_LINK_PROTOCOL,
                             "the server's target description %.64s includes itself", name);
    if (document.depth > GDB_XML_DEPTH || ++reader->n_documents > GDB_XML_DOCUMENTS)
        return error_set(reader->error, ERROR_LINK_PROTOCOL,
                         "the server's target description includes too much");
    if (!reader->documents->fetch(reader->documents->context, name, &text, &length, reader->error))
        return false;
    reader->bytes += length;
    if (reader->bytes > GDB_XML_BYTES)
        return error_set(reader->error, ERROR_LINK_PROTOCOL, "the server's target description is too long");
    char *copy = malloc(length + 1); /* an include overwrites the fetched text */
    if (copy == NULL)
        return error_set(reader->error, ERROR_SYSTEM, "out of memory");
    memcpy(copy, text, length);
    bool ok = parse(&document, copy, length);
    free(copy);
    return ok;
}

static int gdb_features_by_number(const void *a, const void *b)
{
    unsigned x = ((const struct gdb_register *)a)->number, y = ((const struct gdb_register *)b)->number;
    return (x > y) - (x < y);
}

static void gdb_features_lay_out(struct gdb_features *features)
{
    size_t offset = 0;
    qsort(features->registers, features->n, sizeof *features->registers, gdb_features_by_number);
    for (size_t i = 0; i < features->n; i++) {
        features->registers[i].offset = offset;
        offset += (features->registers[i].bits + 7) / 8;
    }
}

bool gdb_features_read(struct gdb_features *features, const struct gdb_documents *documents,
                       struct error *error)
{
    struct reader reader = {.features = features, .documents = documents, .error = error};
    features->architecture[0] = '\0';
    features->m_profile = false;
    features->n = 0;
    if (!read_document(&reader, "target.xml", NULL))
        return false;
    gdb_features_lay_out(features);
    return true;
}

void gdb_features_assume_arm(struct gdb_features *features)
{
    features->architecture[0] = '\0';
    features->m_profile = false;
    for (features->n = 0; features->n < 16; features->n++) {
        struct gdb_register *entry = &features->registers[features->n];
        *entry =
            (struct gdb_register){.number = (unsigned)features->n, .bits = 32, .offset = 4 * features->n};
        snprintf(entry->name, sizeof entry->name, "r%zu", features->n);
    }
    features->registers[features->n++] =
        (struct gdb_register){.name = "cpsr", .number = CPSR, .bits = 32, .offset = CPSR_OFFSET};
}

/* Some servers name these by number. */
static const char *other_name(const char *name)
{
    static const char *const pairs[][2] = {{"sp", "r13"}, {"lr", "r14"}, {"pc", "r15"}, {"xpsr", "cpsr"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strcasecmp(name, pairs[i][0]) == 0)
            return pairs[i][1];
    return NULL;
}

const struct gdb_register *gdb_features_find(const struct gdb_features *features, const char *name)
{
    for (; name != NULL; name = other_name(name))
        for (size_t i = 0; i < features->n; i++)
            if (strcasecmp(features->registers[i].name, name) == 0)
                return &features->registers[i];
    return NULL;
}
