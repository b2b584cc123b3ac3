/* pprof's profile.proto by hand: it has numbers as varints, and texts and messages with their length ahead.
 */
#define ZLIB_CONST

#include "report/stack_formats.h"
#include "report/terminal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

/* Field numbers of profile.proto */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE,
    PROFILE_MAPPING,
    PROFILE_LOCATION,
    PROFILE_FUNCTION,
    PROFILE_STRING,
    PROFILE_TIME = 9,
    PROFILE_DURATION
};
enum { TYPE_TYPE = 1, TYPE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT };
enum {
    MAPPING_ID = 1,
    MAPPING_START,
    MAPPING_LIMIT,
    MAPPING_FILE = 5,
    MAPPING_BUILD_ID,
    MAPPING_FUNCTIONS,
    MAPPING_FILES,
    MAPPING_LINES
};
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE, FUNCTION_LINE };

enum { VARINT = 0, BYTES = 2 }; /* wire types */
enum { GZIP = 16 + 15, CORE = 96, PIECE = 4096, INSTRUCTION = 2 };

static const char label_key[] = "core", type_name[] = "samples", type_unit[] = "count";

/* A message under construction. */
struct message {
    uint8_t *bytes;
    size_t n, room;
    bool ok;
};

/* Lines of one function may be of several files: pprof then has as many functions. */
struct part {
    size_t function;
    const char *file; /* "": unknown */
};

struct writer {
    FILE *out;
    const struct stack_report *report;
    z_stream gzip;
    bool ok;
    const char **texts; /* sorted; text i has number i + 1 */
    size_t n_texts;
    struct part *parts; /* sorted; part i has id i + 1 */
    size_t n_parts;
    char (*cores)[CORE];
};

static const char *text_of(const char *text)
{
    return text != NULL ? text : "";
}

/* ---- messages */

static void put_bytes(struct message *message, const void *bytes, size_t n)
{
    if (message->n + n > message->room) {
        size_t room = 2 * (message->n + n);
        uint8_t *more = message->ok ? realloc(message->bytes, room) : NULL;
        message->ok = more != NULL;
        if (more == NULL)
            return;
        message->bytes = more;
        message->room = room;
    }
    if (n > 0)
        memcpy(message->bytes + message->n, bytes, n);
    message->n += n;
}

static void put_varint(struct message *message, uint64_t value)
{
    uint8_t bytes[10];
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[n++] = (uint8_t)(value | 0x80);
    bytes[n++] = (uint8_t)value;
    put_bytes(message, bytes, n);
}

/* As in the format, 0 is left out: it is the default. */
static void put_number(struct message *message, unsigned field, uint64_t value)
{
    if (value == 0)
        return;
    put_varint(message, field << 3 | VARINT);
    put_varint(message, value);
}

static void put_field(struct message *message, unsigned field, const void *bytes, size_t n)
{
    put_varint(message, field << 3 | BYTES);
    put_varint(message, n);
    put_bytes(message, bytes, n);
}

/* Empties the inner one for its next use. */
static void put_message(struct message *message, unsigned field, struct message *inner)
{
    message->ok = message->ok && inner->ok;
    put_field(message, field, inner->bytes, inner->n);
    inner->n = 0;
}

/* ---- what goes out */

static void compress_bytes(struct writer *writer, const uint8_t *bytes, size_t n, int flush)
{
    uint8_t piece[PIECE] = {0};
    size_t left = n;
    int result = Z_OK;
    writer->gzip.next_in = bytes;
    do {
        uInt now = left < (1U << 30) ? (uInt)left : 1U << 30;
        writer->gzip.avail_in = now;
        do {
            writer->gzip.next_out = piece;
            writer->gzip.avail_out = sizeof piece;
            result = deflate(&writer->gzip, flush);
            size_t got = sizeof piece - writer->gzip.avail_out;
            writer->ok = writer->ok && fwrite(piece, 1, got, writer->out) == got;
        } while (writer->ok && writer->gzip.avail_out == 0);
        left -= now;
    } while (writer->ok && left > 0);
    writer->ok = writer->ok && (flush != Z_FINISH || result == Z_STREAM_END);
}

static void send_field(struct writer *writer, unsigned field, struct message *inner)
{
    struct message outer = {.ok = true};
    put_message(&outer, field, inner);
    writer->ok = writer->ok && outer.ok;
    if (writer->ok)
        compress_bytes(writer, outer.bytes, outer.n, Z_NO_FLUSH);
    free(outer.bytes);
}

static void send_number(struct writer *writer, unsigned field, uint64_t value)
{
    struct message message = {.ok = true};
    put_number(&message, field, value);
    writer->ok = writer->ok && message.ok;
    if (writer->ok && message.n > 0)
        compress_bytes(writer, message.bytes, message.n, Z_NO_FLUSH);
    free(message.bytes);
}

/* ---- tables */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static uint64_t number_of(const struct writer *writer, const char *text)
{
    text = text_of(text);
    const char **found = text[0] == '\0'
                             ? NULL
                             : bsearch(&text, writer->texts, writer->n_texts, sizeof *writer->texts, by_text);
    return found != NULL ? (uint64_t)(found - writer->texts) + 1 : 0;
}

static void add_text(struct writer *writer, const char *text)
{
    if (text != NULL && text[0] != '\0')
        writer->texts[writer->n_texts++] = text;
}

static bool gather_texts(struct writer *writer)
{
    const struct stacks *stacks = writer->report->stacks;
    const struct profile_about *about = &writer->report->profile->about;
    enum { FIXED = 5 };
    size_t used = 0;
    writer->texts = calloc(2 * stacks->function_count + stacks->place_count + about->core_count + FIXED,
                           sizeof *writer->texts);
    if (writer->texts == NULL)
        return false;
    for (size_t i = 0; i < stacks->function_count; i++) {
        add_text(writer, stacks->functions[i].name);
        add_text(writer, stacks->functions[i].file);
    }
    for (size_t i = 0; i < stacks->place_count; i++)
        add_text(writer, stacks->places[i].file);
    for (size_t i = 0; i < about->core_count; i++)
        add_text(writer, writer->cores[i]);
    const char *const fixed[FIXED] = {label_key, type_name, type_unit, writer->report->elf, about->build_id};
    for (size_t i = 0; i < FIXED; i++)
        add_text(writer, fixed[i]);
    qsort(writer->texts, writer->n_texts, sizeof *writer->texts, by_text);
    for (size_t i = 0; i < writer->n_texts; i++)
        if (used == 0 || strcmp(writer->texts[used - 1], writer->texts[i]) != 0)
            writer->texts[used++] = writer->texts[i];
    writer->n_texts = used;
    return true;
}

static bool name_cores(struct writer *writer)
{
    const struct profile_about *about = &writer->report->profile->about;
    writer->cores = calloc(about->core_count + 1, sizeof *writer->cores);
    for (size_t i = 0; i < about->core_count && writer->cores != NULL; i++)
        snprintf(writer->cores[i], CORE, "%u %.64s", profile_core_number(about, i), text_of(about->cores[i]));
    return writer->cores != NULL;
}

static int by_part(const void *a, const void *b)
{
    const struct part *one = a, *other = b;
    if (one->function != other->function)
        return one->function < other->function ? -1 : 1;
    return strcmp(one->file, other->file);
}

static struct part part_of(const struct stack_place *place)
{
    return (struct part){.function = place->function, .file = text_of(place->file)};
}

static bool gather_parts(struct writer *writer)
{
    const struct stacks *stacks = writer->report->stacks;
    size_t used = 0;
    writer->parts = calloc(stacks->place_count + 1, sizeof *writer->parts);
    if (writer->parts == NULL)
        return false;
    for (size_t i = 0; i < stacks->place_count; i++)
        writer->parts[i] = part_of(&stacks->places[i]);
    qsort(writer->parts, stacks->place_count, sizeof *writer->parts, by_part);
    for (size_t i = 0; i < stacks->place_count; i++)
        if (used == 0 || by_part(&writer->parts[used - 1], &writer->parts[i]) != 0)
            writer->parts[used++] = writer->parts[i];
    writer->n_parts = used;
    return true;
}

/* ---- the profile */

static void send_type(struct writer *writer)
{
    struct message type = {.ok = true};
    put_number(&type, TYPE_TYPE, number_of(writer, type_name));
    put_number(&type, TYPE_UNIT, number_of(writer, type_unit));
    send_field(writer, PROFILE_SAMPLE_TYPE, &type);
    free(type.bytes);
}

static void send_samples(struct writer *writer)
{
    const struct stacks *stacks = writer->report->stacks;
    struct message sample = {.ok = true}, label = {.ok = true};
    for (size_t i = 0; i < stacks->n && writer->ok; i++) {
        const struct stack *row = &stacks->rows[i];
        for (size_t k = 0; k < row->depth; k++)
            put_number(&sample, SAMPLE_LOCATION, stacks->frames[row->first + k] + 1);
        put_number(&sample, SAMPLE_VALUE, row->samples);
        put_number(&label, LABEL_KEY, number_of(writer, label_key));
        put_number(&label, LABEL_TEXT, number_of(writer, writer->cores[row->core]));
        put_message(&sample, SAMPLE_LABEL, &label);
        send_field(writer, PROFILE_SAMPLE, &sample);
    }
    free(sample.bytes);
    free(label.bytes);
}

/* The program, as far as it was sampled. */
static void send_mapping(struct writer *writer)
{
    const struct stacks *stacks = writer->report->stacks;
    bool names = writer->report->elf != NULL;
    uint64_t low = UINT64_MAX, high = 0;
    for (size_t i = 0; i < stacks->place_count; i++)
        if (stacks->places[i].state == PROFILE_STATES) {
            uint64_t address = stacks->places[i].address;
            low = address < low ? address : low;
            high = address > high ? address : high;
        }
    struct message mapping = {.ok = true};
    put_number(&mapping, MAPPING_ID, 1);
    put_number(&mapping, MAPPING_START, low < high ? low : high);
    put_number(&mapping, MAPPING_LIMIT, high < UINT64_MAX - INSTRUCTION ? high + INSTRUCTION : high);
    put_number(&mapping, MAPPING_FILE, number_of(writer, writer->report->elf));
    put_number(&mapping, MAPPING_BUILD_ID, number_of(writer, writer->report->profile->about.build_id));
    put_number(&mapping, MAPPING_FUNCTIONS, names);
    put_number(&mapping, MAPPING_FILES, names);
    put_number(&mapping, MAPPING_LINES, names);
    send_field(writer, PROFILE_MAPPING, &mapping);
    free(mapping.bytes);
}

static void send_locations(struct writer *writer)
{
    const struct stacks *stacks = writer->report->stacks;
    struct message location = {.ok = true}, line = {.ok = true};
    for (size_t i = 0; i < stacks->place_count && writer->ok; i++) {
        const struct stack_place *place = &stacks->places[i];
        const struct part wanted = part_of(place);
        const struct part *part = bsearch(&wanted, writer->parts, writer->n_parts, sizeof wanted, by_part);
        put_number(&location, LOCATION_ID, i + 1);
        put_number(&location, LOCATION_MAPPING, place->state == PROFILE_STATES);
        put_number(&location, LOCATION_ADDRESS, place->address);
        put_number(&line, LINE_FUNCTION, (uint64_t)(part - writer->parts) + 1);
        put_number(&line, LINE_LINE, place->line);
        put_message(&location, LOCATION_LINE, &line);
        send_field(writer, PROFILE_LOCATION, &location);
    }
    free(location.bytes);
    free(line.bytes);
}

static void send_functions(struct writer *writer)
{
    struct message message = {.ok = true};
    for (size_t i = 0; i < writer->n_parts && writer->ok; i++) {
        const struct part *part = &writer->parts[i];
        const struct stack_function *function = &writer->report->stacks->functions[part->function];
        put_number(&message, FUNCTION_ID, i + 1);
        put_number(&message, FUNCTION_NAME, number_of(writer, function->name));
        put_number(&message, FUNCTION_SYSTEM_NAME, number_of(writer, function->name));
        put_number(&message, FUNCTION_FILE, number_of(writer, part->file));
        put_number(&message, FUNCTION_LINE,
                   strcmp(part->file, text_of(function->file)) == 0 ? function->line : 0);
        send_field(writer, PROFILE_FUNCTION, &message);
    }
    free(message.bytes);
}

static void send_text(struct writer *writer, const char *text)
{
    size_t room = UTF8_CLEAN_ROOM(strlen(text) + 1);
    struct message message = {.bytes = malloc(room), .room = room, .ok = true};
    writer->ok = writer->ok && message.bytes != NULL;
    if (message.bytes != NULL) {
        utf8_clean((char *)message.bytes, room, text);
        message.n = strlen((char *)message.bytes);
        send_field(writer, PROFILE_STRING, &message);
    }
    free(message.bytes);
}

static void send_texts(struct writer *writer)
{
    send_text(writer, ""); /* number 0 */
    for (size_t i = 0; i < writer->n_texts && writer->ok; i++)
        send_text(writer, writer->texts[i]);
}

static void send_times(struct writer *writer)
{
    static const double giga = 1e9, most = 9e18;
    const struct profile *profile = writer->report->profile;
    struct tm date = {0};
    const char *end = strptime(text_of(profile->about.date), "%Y-%m-%dT%H:%M:%SZ", &date);
    time_t seconds = end != NULL && *end == '\0' ? timegm(&date) : 0;
    if (seconds > 0 && (double)seconds * giga < most)
        send_number(writer, PROFILE_TIME, (uint64_t)seconds * (uint64_t)giga);
    double duration = profile->end.known ? profile->end.elapsed_s * giga : 0;
    if (duration >= 1 && duration < most)
        send_number(writer, PROFILE_DURATION, (uint64_t)round(duration));
}

static bool begin_gzip(struct writer *writer)
{
    enum { MEMORY = 8 };
    return deflateInit2(&writer->gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP, MEMORY, Z_DEFAULT_STRATEGY) ==
           Z_OK;
}

static void send_all(struct writer *writer)
{
    send_type(writer);
    send_samples(writer);
    send_mapping(writer);
    send_locations(writer);
    send_functions(writer);
    send_texts(writer);
    send_times(writer);
    compress_bytes(writer, NULL, 0, Z_FINISH);
}

bool stacks_pprof(FILE *out, const struct stack_report *report)
{
    struct writer writer = {.out = out, .report = report};
    if (name_cores(&writer) && gather_texts(&writer) && gather_parts(&writer) && begin_gzip(&writer)) {
        writer.ok = true;
        send_all(&writer);
        deflateEnd(&writer.gzip);
    }
    free(writer.cores);
    free(writer.texts);
    free(writer.parts);
    return fflush(out) == 0 && writer.ok;
}
