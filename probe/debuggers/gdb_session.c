/* SPDX-License-Identifier: MIT */
#include "debuggers/gdb_session.h"

#include "base/socket.h"
#include "base/values.h"

#include <errno.h>
#include <expat.h>
#include <poll.h>
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

static bool refuse_description(struct reader *reader, const char *what)
{
    return error_set(reader->error, ERROR_LINK_PROTOCOL, "the server's target description %s", what);
}

static void stop(struct document *document, const char *why)
{
    if (why != NULL)
        (void)refuse_description(document->reader, why);
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
        stop(document, "has a register that makes no sense");
        return;
    }
    if (features->n == GDB_REGISTERS) {
        stop(document, "has too many registers");
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
        stop(document, NULL);
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
    stop(document, "defines entities");
}

static bool parse(struct document *document, const char *text, size_t length)
{
    struct error *error = document->reader->error;
    document->parser = XML_ParserCreate(NULL);
    if (document->parser == NULL)
        return error_memory(error);
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
            return refuse_description(reader, "includes itself");
    if (document.depth > GDB_XML_DEPTH || ++reader->n_documents > GDB_XML_DOCUMENTS)
        return refuse_description(reader, "includes too much");
    if (!reader->documents->fetch(reader->documents->context, name, &text, &length, reader->error))
        return false;
    reader->bytes += length;
    if (reader->bytes > GDB_XML_BYTES)
        return refuse_description(reader, "is too long");
    char *copy = malloc(length + 1); /* an include overwrites the fetched text */
    if (copy == NULL)
        return error_memory(reader->error);
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

/* ---- gdb session */

enum {
    GRACE_MS = 250,
    CANCELLED_MS = 800,
    GDB_MS = 10000, /* it asks its server, and reads symbols */
    HALTS_MOST = 1 << 24,
    STRAY = 256,
    SMALLEST_PACKET = 64,
    ASKED_FOR = 0x1000,
    PIECES = 2048,
    COMMAND_MOST = 3072
};

static bool is_hex(char c)
{
    return hex_digit(c) >= 0;
}

/* A stop reply that is late or arrives twice; it answers only '?' and vAttach. */
static bool is_stop(const char *payload)
{
    return (payload[0] == 'T' || payload[0] == 'S') && is_hex(payload[1]) && is_hex(payload[2]);
}

/* Console output. By an empty one OpenOCD says that it is still there. */
static bool is_console(const struct gdb_wire *wire)
{
    return wire->payload[0] == 'O' && wire->length % 2 == 1 &&
           (wire->length == 1 || is_hex(wire->payload[1]));
}

static bool receive_answer(struct gdb_session *session, bool stops_count, const struct deadline *deadline,
                           struct error *error)
{
    struct gdb_wire *wire = &session->wire;
    for (unsigned stray = 0; stray < STRAY; stray++) {
        switch (gdb_wire_receive(wire, deadline, error)) {
        case GDB_CAME:
            if (is_console(wire) || (!stops_count && is_stop(wire->payload)))
                continue;
            return true;
        case GDB_CAME_NOT:
            return gdb_wire_silent(wire, error);
        case GDB_CAME_NEVER:
            return false;
        }
    }
    return gdb_wire_out_of_step(wire, error);
}

/* An answer that arrived twice would be taken for the next question's: only stops and console output may have
 * arrived already. With acknowledgements an answer may be repeated. */
static bool nothing_waits(struct gdb_session *session, struct error *error)
{
    struct gdb_wire *wire = &session->wire;
    const struct deadline now = deadline_in_ms(0, NULL);
    if (wire->acks)
        return true;
    for (unsigned stray = 0; stray < STRAY; stray++) {
        enum gdb_came came = gdb_wire_receive(wire, &now, error);
        if (came != GDB_CAME)
            return came == GDB_CAME_NOT;
        if (!is_console(wire) && !is_stop(wire->payload))
            break;
    }
    return gdb_wire_out_of_step(wire, error);
}

static bool may_ask(const struct gdb_session *session, const struct deadline *deadline, struct error *error)
{
    if (!deadline_passed(deadline))
        return true;
    return deadline_cancelled(deadline)
               ? error_set(error, ERROR_CANCELLED, "cancelled")
               : error_set(error, ERROR_ASLEEP, "no time is left for %s", session->wire.peer);
}

/* An answer that is due is waited for even after Ctrl-C, else the next question would get it. */
static struct deadline answer_time(const struct gdb_session *session, const struct deadline *deadline)
{
    bool is_gdb = session->wire.is_gdb;
    struct deadline answer = {.at_us = deadline->at_us};
    struct deadline least = deadline_in_ms(patience_ms(is_gdb ? GDB_MS : GRACE_MS), NULL),
                    most = deadline_in_ms(patience_ms(is_gdb ? GDB_MS : CANCELLED_MS), NULL);
    if (answer.at_us < least.at_us)
        answer.at_us = least.at_us;
    if (deadline_cancelled(deadline) && answer.at_us > most.at_us)
        answer.at_us = most.at_us;
    return answer;
}

static bool session_ask(struct gdb_session *session, const void *question, size_t n,
                        const struct deadline *deadline, const struct deadline *most, struct error *error)
{
    return may_ask(session, deadline, error) && nothing_waits(session, error) &&
           gdb_wire_send(&session->wire, question, n, most, error);
}

bool gdb_ask_bytes(struct gdb_session *session, const void *question, size_t n,
                   const struct deadline *deadline, struct error *error)
{
    static const char attach[] = "vAttach";
    struct deadline most = answer_time(session, deadline);
    bool by_stop = (n == 1 && *(const char *)question == '?') ||
                   (n >= sizeof attach && memcmp(question, attach, sizeof attach - 1) == 0);
    return session_ask(session, question, n, deadline, &most, error) &&
           receive_answer(session, by_stop, &most, error);
}

bool gdb_ask(struct gdb_session *session, const char *question, const struct deadline *deadline,
             struct error *error)
{
    return gdb_ask_bytes(session, question, strlen(question), deadline, error);
}

bool gdb_is_ok(const struct gdb_session *session)
{
    return strcmp(session->wire.payload, "OK") == 0;
}

bool gdb_is_refusal(const struct gdb_session *session)
{
    const char *payload = session->wire.payload;
    return payload[0] == '\0' ||
           (payload[0] == 'E' &&
            (payload[1] == '.' || (is_hex(payload[1]) && is_hex(payload[2]) && payload[3] == '\0')));
}

const char *gdb_refusal(const struct gdb_session *session)
{
    return session->wire.payload + (strncmp(session->wire.payload, "E.", 2) == 0 ? 2 : 0);
}

bool gdb_monitor(struct gdb_session *session, const char *command, char *out, size_t size,
                 const struct deadline *deadline, struct error *error)
{
    static const char verb[] = "qRcmd,";
    struct gdb_wire *wire = &session->wire;
    char question[sizeof verb + (size_t)2 * COMMAND_MOST];
    size_t length = strlen(command), used = 0, n;
    struct deadline most = answer_time(session, deadline);
    if (length > COMMAND_MOST || sizeof verb + 2 * length > session->packet_size)
        return error_set(error, ERROR_SYSTEM, "a command for the GDB server is too long");
    memcpy(question, verb, sizeof verb);
    gdb_hex_write(command, length, question + sizeof verb - 1);
    out[0] = '\0';
    if (!session_ask(session, question, strlen(question), deadline, &most, error))
        return false;
    for (;;) {
        char text[GDB_CHUNK];
        enum gdb_came came = gdb_wire_receive(wire, &most, error);
        if (came == GDB_CAME_NOT)
            return gdb_wire_silent(wire, error);
        if (came == GDB_CAME_NEVER)
            return false;
        bool more = is_console(wire), stop = !more && is_stop(wire->payload);
        /* Output without an end always finds the socket ready */
        if ((more || stop) && deadline_passed(&most))
            return gdb_wire_lose(wire, ERROR_LINK_LOST, " does not end", error);
        if (stop)
            continue;
        if (!more && gdb_is_refusal(session))
            return error_set(error, ERROR_FAULT, "%s does not take the command \"%.64s\"", wire->peer,
                             command);
        const char *hex = wire->payload + (more ? 1 : 0);
        size_t digits = strlen(hex) < 2 * sizeof text ? strlen(hex) : 2 * sizeof text;
        if (!gdb_is_ok(session) && gdb_hex_read(hex, digits, text, sizeof text, &n)) {
            n = n < size - 1 - used ? n : size - 1 - used;
            memcpy(out + used, text, n);
            used += n;
            out[used] = '\0';
        }
        if (!more)
            return true;
    }
}

/* --- stops --------------------------------------------------------------------------------------------- */

void gdb_cache(struct gdb_session *session, unsigned number, const char *hex, size_t digits)
{
    uint8_t bytes[8];
    size_t n;
    uint64_t value = 0;
    if (session->n_cached == GDB_CACHE || !gdb_hex_read(hex, digits, bytes, sizeof bytes, &n) || n == 0)
        return;
    while (n-- > 0)
        value = value << 8 | bytes[n];
    session->cache[session->n_cached++] = (struct gdb_value){.number = number, .value = value};
}

static bool read_small(const char *text, size_t digits, unsigned most, unsigned *out)
{
    const char *end;
    uint64_t number;
    if (!gdb_number_read(text, &number, &end) || end != text + digits || number > most)
        return false;
    *out = (unsigned)number;
    return true;
}

/* Pairs "name:value;". A name that is a number is a register's. Our Python in GDB adds "others", at a
 * breakpoint of the user's, "halts" and "steps". */
static void take_pairs(struct gdb_session *session, const char *at, struct debugger_stop *stop)
{
    while (*at != '\0') {
        const char *colon = strchr(at, ':'), *end, *number_end;
        uint64_t number;
        if (colon == NULL)
            return;
        end = strchr(colon, ';');
        size_t name = (size_t)(colon - at),
               value = end != NULL ? (size_t)(end - colon - 1) : strlen(colon + 1);
        if (name == 6 && strncmp(at, "thread", 6) == 0 && value < sizeof stop->thread)
            snprintf(stop->thread, sizeof stop->thread, "%.*s", (int)value, colon + 1);
        else if (name == 4 && strncmp(at, "core", 4) == 0)
            stop->has_cpu = read_small(colon + 1, value, UINT16_MAX, &stop->cpu);
        else if (name == 5 && strncmp(at, "halts", 5) == 0)
            read_small(colon + 1, value, HALTS_MOST, &stop->halts);
        else if (name == 5 && strncmp(at, "steps", 5) == 0)
            read_small(colon + 1, value, HALTS_MOST, &stop->steps);
        else if (name == 6 && strncmp(at, "others", 6) == 0)
            stop->why = DEBUGGER_OTHERS;
        else if (memchr(at, 'w', name) != NULL && name >= 5 && strncmp(colon - 5, "watch", 5) == 0)
            stop->why = DEBUGGER_WATCHPOINT;
        else if (gdb_number_read(at, &number, &number_end) && number_end == colon && number <= UINT16_MAX)
            gdb_cache(session, (unsigned)number, colon + 1, value);
        if (end == NULL)
            return;
        at = end + 1;
    }
}

bool gdb_take_stop(struct gdb_session *session, struct debugger_stop *stop)
{
    enum { INTERRUPT = 2, ILLEGAL = 4, TRAP = 5, BUS = 10, SEGMENT = 11 };
    const char *payload = session->wire.payload;
    *stop = (struct debugger_stop){.why = DEBUGGER_TRAP};
    session->n_cached = 0;
    session->running = false;
    if (payload[0] == 'W' || payload[0] == 'X' || payload[0] == 'N') {
        stop->why = DEBUGGER_ENDED;
        return true;
    }
    if (!is_stop(payload))
        return false;
    int number = hex_digit(payload[1]) << 4 | hex_digit(payload[2]);
    if (number == INTERRUPT || number == 0)
        stop->why = DEBUGGER_REQUESTED;
    else if (number == ILLEGAL || number == BUS || number == SEGMENT)
        stop->why = DEBUGGER_FAULT;
    if (payload[0] == 'T')
        take_pairs(session, payload + 3, stop);
    snprintf(session->thread, sizeof session->thread, "%s", stop->thread);
    return true;
}

/* OpenOCD's "hwthread" names the core of a thread: "Name: cpu1, state: breakpoint". "": the thread is not a
 * core. */
static void take_core_name(const char *about, char *out, size_t size)
{
    static const char name[] = "Name: ", state[] = ", state: ";
    const char *end = strstr(about, state);
    bool is_core = end != NULL && strncmp(about, name, sizeof name - 1) == 0 && end > about + sizeof name - 1;
    snprintf(out, size, "%.*s", is_core ? (int)(end - about - (ptrdiff_t)(sizeof name - 1)) : 0,
             is_core ? about + sizeof name - 1 : "");
}

bool gdb_name_core(struct gdb_session *session, const struct debugger_facts *facts,
                   struct debugger_stop *stop, const struct deadline *deadline, struct error *error)
{
    char question[GDB_THREAD + 32], about[128];
    size_t n;
    if (stop->thread[0] == '\0' || !server_row(facts->server)->names_cores)
        return true;
    snprintf(question, sizeof question, "qThreadExtraInfo,%s", stop->thread);
    if (!gdb_ask(session, question, deadline, error))
        return false;
    if (!gdb_hex_read(session->wire.payload, session->wire.length, about, sizeof about - 1, &n))
        return true;
    about[n] = '\0';
    take_core_name(about, stop->core, sizeof stop->core);
    return true;
}

/* Whether the server's threads are cores. */
static bool find_cores(struct gdb_session *session, struct debugger_facts *facts, struct debugger_stop *stop,
                       const struct deadline *deadline, struct error *error)
{
    if (stop->thread[0] == '\0' && server_row(facts->server)->names_cores) {
        if (!gdb_ask(session, "qC", deadline, error))
            return false;
        size_t length = session->wire.length;
        if (strncmp(session->wire.payload, "QC", 2) == 0 && length - 2 < sizeof stop->thread &&
            strspn(session->wire.payload + 2, "0123456789abcdef") == length - 2)
            snprintf(stop->thread, sizeof stop->thread, "%s", session->wire.payload + 2);
    }
    if (!gdb_name_core(session, facts, stop, deadline, error))
        return false;
    facts->has_cores = stop->core[0] != '\0';
    snprintf(facts->core, sizeof facts->core, "%s", stop->core);
    return true;
}

bool gdb_is_belated(struct gdb_session *session, const struct debugger_stop *stop)
{
    bool belated = session->owed && !session->asked && stop->why == DEBUGGER_REQUESTED;
    if (stop->why == DEBUGGER_REQUESTED)
        session->owed = session->owed && session->asked; /* it may answer the earlier request */
    else if (session->asked)
        session->owed = true;
    return belated;
}

/* --- greeting ------------------------------------------------------------------------------------------ */

/* GDB's name is made of its server's. */
static void gdb_session_take_place(struct gdb_session *session, struct debugger_facts *facts,
                                   const char *place)
{
    struct error ignored = {0};
    size_t used = strlen(facts->name);
    snprintf(facts->name + used, sizeof facts->name - used, " %.100s", place);
    if (!socket_address_read(place, session->host, sizeof session->host, &session->port, &ignored))
        session->port = 0;
}

static void take_supported(struct gdb_session *session, struct debugger_facts *facts)
{
    char *rest = NULL;
    uint64_t value;
    const char *end;
    for (char *word = strtok_r(session->wire.payload, ";", &rest); word != NULL;
         word = strtok_r(NULL, ";", &rest)) {
        if (strncmp(word, "PacketSize=", 11) == 0 && gdb_number_read(word + 11, &value, &end) &&
            value >= SMALLEST_PACKET) {
            session->has_packet_size = true;
            session->packet_size = value < GDB_PAYLOAD ? (size_t)value : GDB_PAYLOAD;
        }
        if (session->wire.is_gdb && strncmp(word, "pmu.server=", 11) == 0)
            gdb_session_take_place(session, facts, word + 11);
        session->has_xfer |= strcmp(word, "qXfer:features:read+") == 0;
        session->has_pass_signals |= strcmp(word, "QPassSignals+") == 0;
        session->has_no_ack |= strcmp(word, "QStartNoAckMode+") == 0;
    }
}

struct source {
    struct gdb_session *session;
    const struct deadline *deadline;
    char *text;
    size_t length;
};

/* In pieces: 'm' begins one that has a next one, 'l' the last. */
static bool fetch(void *context, const char *name, const char **text, size_t *length, struct error *error)
{
    struct source *source = context;
    struct gdb_session *session = source->session;
    source->length = 0;
    for (unsigned pieces = 0;; pieces++) {
        char question[128];
        if (strlen(name) > 64 || strpbrk(name, ":;,#$") != NULL)
            return error_set(error, ERROR_LINK_PROTOCOL,
                             "the GDB server's description names a file that makes no sense");
        snprintf(question, sizeof question, "qXfer:features:read:%s:%zx,%x", name, source->length, ASKED_FOR);
        if (!gdb_ask(session, question, source->deadline, error))
            return false;
        const char *payload = session->wire.payload;
        size_t n = session->wire.length;
        if (n == 0 || (payload[0] != 'm' && payload[0] != 'l') || (payload[0] == 'm' && n == 1))
            return error_set(error, ERROR_LINK_PROTOCOL, "the GDB server does not say what is in %.64s",
                             name);
        if (source->length + n > GDB_XML_BYTES || pieces == PIECES)
            return error_set(error, ERROR_LINK_PROTOCOL, "the GDB server's %.64s is too long", name);
        char *longer = realloc(source->text, source->length + n);
        if (longer == NULL)
            return error_memory(error);
        source->text = longer;
        memcpy(source->text + source->length, payload + 1, n - 1);
        source->length += n - 1;
        if (payload[0] == 'l')
            break;
    }
    *text = source->text;
    *length = source->length;
    return true;
}

static bool read_features(struct gdb_session *session, const struct deadline *deadline, struct error *error)
{
    struct source source = {.session = session, .deadline = deadline};
    const struct gdb_documents documents = {.context = &source, .fetch = fetch};
    if (!session->has_xfer) {
        gdb_features_assume_arm(&session->features);
        return true;
    }
    /* gdbserver crashes if it is asked for its description before a thread is chosen */
    if (!gdb_ask(session, "Hg0", deadline, error))
        return false;
    bool ok = gdb_features_read(&session->features, &documents, error);
    free(source.text);
    return ok;
}

static bool has_no_core(const struct gdb_session *session)
{
    return session->wire.payload[0] == 'W' || session->wire.payload[0] == 'X';
}

/* A Black Magic Probe has no core until it has scanned for some and attached to one; until then it
 * describes nothing. `first`: why the description could not be read. */
static bool scan_for_core(struct gdb_session *session, struct debugger_facts *facts,
                          const struct error *first, const struct deadline *deadline, struct error *error)
{
    char found[512] = "";
    bool done = false;
    if (session->wire.lost || !gdb_ask(session, "?", deadline, error))
        return error_copy(error, first);
    if (!has_no_core(session) || !gdb_tell_server(session, facts, deadline, error))
        return error_copy(error, first);
    const struct server_row *row = server_row(facts->server);
    for (size_t i = 0; !done && i < sizeof row->scans / sizeof *row->scans && row->scans[i] != NULL; i++) {
        struct error refused = {0};
        done = gdb_monitor(session, row->scans[i], found, sizeof found, deadline, &refused) &&
               gdb_is_ok(session) && gdb_ask(session, "vAttach;1", deadline, &refused) &&
               session->wire.payload[0] == 'T';
        if (refused.kind != ERROR_NONE && refused.kind != ERROR_FAULT)
            return error_copy(error, &refused);
    }
    if (row->scans[0] == NULL)
        return error_copy(error, first);
    found[strcspn(found, "\r\n")] = '\0';
    return done || error_advise(error, ERROR_NO_CORE,
                                "Check wires and supply; GDB's `monitor swdp_scan` shows what it finds.",
                                "the %s finds no core, by SWD or JTAG%s%.64s", row->name,
                                found[0] != '\0' ? ": " : "", found);
}

static bool describe_core(struct gdb_session *session, struct debugger_facts *facts,
                          const struct deadline *deadline, struct error *error)
{
    struct error first = {0};
    if (read_features(session, deadline, &first))
        return true;
    if (!gdb_is_refusal(session) || !scan_for_core(session, facts, &first, deadline, error))
        return error->kind != ERROR_NONE ? false : error_copy(error, &first);
    session->features = (struct gdb_features){0};
    return read_features(session, deadline, error);
}

static void tell_profile(const struct gdb_features *features, struct debugger_facts *facts)
{
    snprintf(facts->architecture, sizeof facts->architecture, "%s", features->architecture);
    if (features->m_profile)
        facts->profile = PROFILE_M;
    else if (strncmp(features->architecture, "aarch64", 7) == 0)
        facts->profile = PROFILE_AARCH64;
    else if (strncmp(features->architecture, "arm", 3) == 0)
        facts->profile = PROFILE_ARM;
    else if (strncmp(features->architecture, "i386:x86-64", 11) == 0 ||
             strncmp(features->architecture, "k1om", 4) == 0) /* as BFD calls Knights Corner's */
        facts->profile = facts->is_attended ? PROFILE_OTHER : PROFILE_X86_64; /* no link has its counters */
    else
        facts->profile = features->architecture[0] != '\0' ? PROFILE_OTHER : PROFILE_UNKNOWN;
}

/* QEMU answers its own question; other servers know the command "version", or refuse it. */
bool gdb_tell_server(struct gdb_session *session, struct debugger_facts *facts,
                     const struct deadline *deadline, struct error *error)
{
    char text[512];
    struct error refused = {0};
    if (!gdb_ask(session, "qqemu.sstepbits", deadline, error))
        return false;
    if (strncmp(session->wire.payload, "ENABLE=", 7) == 0) {
        facts->server = SERVER_QEMU;
        facts->is_emulator = session->server_told = true;
        return true;
    }
    if (!gdb_monitor(session, "version", text, sizeof text, deadline, &refused)) {
        session->server_told = refused.kind == ERROR_FAULT;
        return session->server_told || error_copy(error, &refused);
    }
    session->server_told = true;
    facts->server = server_of(text);
    return true;
}

/* These signals go to the program without a stop: HUP, PIPE, ALRM, URG, CHLD, IO, VTALRM, PROF,
 * WINCH, USR1, USR2 and the real-time ones, by GDB's numbers (include/gdb/signals.def): 33 to 63, then 32
 * and 64. */
static bool pass_signals(struct gdb_session *session, const struct deadline *deadline, struct error *error)
{
    enum { REAL_TIME_33 = 45, REAL_TIME_63 = 75, REAL_TIME_32 = 77, REAL_TIME_64 = 78 };
    char question[160] = "QPassSignals:1;d;e;10;14;17;1a;1b;1c;1e;1f";
    if (!session->has_pass_signals)
        return true;
    for (unsigned number = REAL_TIME_33; number <= REAL_TIME_63; number++) {
        size_t used = strlen(question);
        snprintf(question + used, sizeof question - used, ";%x", number);
    }
    snprintf(question + strlen(question), sizeof question - strlen(question), ";%x;%x", REAL_TIME_32,
             REAL_TIME_64);
    return gdb_ask(session, question, deadline, error); /* if refused, they stop it */
}

void gdb_session_forget(struct gdb_session *session)
{
    session->features = (struct gdb_features){0};
    session->has_vcont = session->has_xfer = session->has_no_ack = session->has_pass_signals = false;
    session->has_packet_size = session->no_single_registers = session->no_binary = session->owed = false;
}

/* A server halts its core for the connection. To be let go, the server must be heard, after Ctrl-C, too. */
static bool greet_server(struct gdb_session *session, const struct deadline *deadline, struct error *error)
{
    struct gdb_wire *wire = &session->wire;
    struct deadline most = answer_time(session, deadline);
    /* A late answer to an earlier client would else be taken for ours */
    if (!gdb_wire_send_raw(wire, '+', &most, error) ||
        !gdb_wire_send(wire, GDB_GREETING, strlen(GDB_GREETING), &most, error))
        return false;
    if (!socket_wait(wire->fd, POLLIN, deadline) && deadline_cancelled(deadline))
        most = answer_time(session, deadline);
    return receive_answer(session, false, &most, error);
}

bool gdb_session_begin(struct gdb_session *session, struct debugger_facts *facts, struct debugger_stop *stop,
                       const struct deadline *deadline, struct error *error)
{
    struct error why = {0};
    session->packet_size = 400; /* what every server takes, GDB manual E.4 */
    if (!greet_server(session, deadline, &why))
        return why.kind == ERROR_LINK_LOST && !session->wire.heard && !session->wire.hung_up &&
                       !session->wire.noise
                   ? error_advise(error, ERROR_NOT_A_PROBE,
                                  "Is the server stopped or busy? Its core may be left halted. OpenOCD's Tcl "
                                  "port is -p openocd:HOST:PORT.",
                                  "the GDB server is open, but silent")
               : session->wire.hung_up
                   ? error_set(error, ERROR_NO_PROBE,
                               "%s during the greeting: it may serve one client at a time", why.text)
                   : error_copy(error, &why);
    take_supported(session, facts);
    if (session->has_no_ack) {
        if (!gdb_ask(session, "QStartNoAckMode", deadline, error))
            return false;
        session->wire.acks = !gdb_is_ok(session);
    }
    if (!describe_core(session, facts, deadline, error) || !gdb_ask(session, "?", deadline, error))
        return false;
    if (!gdb_take_stop(session, stop))
        return error_set(error, ERROR_NOT_A_PROBE, "%s does not say where the core is (%.256s)",
                         session->wire.peer, gdb_refusal(session));
    if (stop->why == DEBUGGER_ENDED)
        return error_set(error, ERROR_NO_CORE, "the GDB server has no core to debug");
    if (!gdb_ask(session, "vCont?", deadline, error))
        return false;
    session->has_vcont = strncmp(session->wire.payload, "vCont;", 6) == 0;
    tell_profile(&session->features, facts);
    facts->has_cpu = stop->has_cpu;
    facts->cpu = stop->cpu;
    if ((facts->profile == PROFILE_X86_64 && !pass_signals(session, deadline, error)) ||
        !gdb_tell_server(session, facts, deadline, error))
        return false;
    if (!find_cores(session, facts, stop, deadline, error))
        return false;
    facts->was_halted =
        !facts->is_attended && server_row(facts->server)->tells_halted && stop->why != DEBUGGER_REQUESTED;
    return true;
}
