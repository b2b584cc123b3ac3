/* pprof's profile.proto by hand: it has numbers as varints, and texts and messages with their length ahead.
 */
#define ZLIB_CONST

#include "base/values.h"
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
    bool lacks_memory;
};

/* Lines of one function may be of several files: pprof then has as many functions. */
struct part {
    size_t function;
    const char *file; /* "": unknown */
};

struct writer {
    const struct stack_report *report;
    struct message all, inner, innermost;
    const char **texts; /* sorted; text i has number i + 1 */
    size_t n_texts;
    struct part *parts; /* sorted; part i has id i + 1 */
    size_t n_parts;
    char (*cores)[CORE];
};

static const char *stack_pprof_text_of(const char *text)
{
    return text != NULL ? text : "";
}

/* ---- messages */

/* False: out of memory. */
static bool stack_pprof_make_room(struct message *message, size_t n)
{
    if (message->n + n > message->room) {
        size_t room = 2 * (message->n + n);
        uint8_t *more = message->lacks_memory ? NULL : realloc(message->bytes, room);
        message->lacks_memory = more == NULL;
        if (more != NULL) {
            message->bytes = more;
            message->room = room;
        }
    }
    return !message->lacks_memory;
}

static void put_bytes(struct message *message, const void *bytes, size_t n)
{
    if (n == 0 || !stack_pprof_make_room(message, n))
        return;
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
static void stack_pprof_put_number(struct message *message, unsigned field, uint64_t value)
{
    if (value == 0)
        return;
    put_varint(message, field << 3 | VARINT);
    put_varint(message, value);
}

static void stack_pprof_put_field(struct message *message, unsigned field, const void *bytes, size_t n)
{
    put_varint(message, field << 3 | BYTES);
    put_varint(message, n);
    put_bytes(message, bytes, n);
}

/* Empties the inner one for its next use. */
static void put_message(struct message *message, unsigned field, struct message *inner)
{
    message->lacks_memory = message->lacks_memory || inner->lacks_memory;
    stack_pprof_put_field(message, field, inner->bytes, inner->n);
    inner->n = 0;
}

/* ---- tables */

static int stack_pprof_by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static uint64_t stack_pprof_number_of(const struct writer *writer, const char *text)
{
    text = stack_pprof_text_of(text);
    const char **found = text[0] == '\0' ? NULL
                                         : bsearch(&text, writer->texts, writer->n_texts,
                                                   sizeof *writer->texts, stack_pprof_by_text);
    return found != NULL ? (uint64_t)(found - writer->texts) + 1 : 0;
}

static void stack_pprof_add_text(struct writer *writer, const char *text)
{
    if (text != NULL && text[0] != '\0')
        writer->texts[writer->n_texts++] = text;
}

static bool gather_texts(struct writer *writer)
{
    const struct stacks *stacks = writer->report->stacks;
    const struct profile_about *about = &writer->report->profile->about;
    enum { FIXED = 5 };
    writer->texts = calloc(2 * stacks->function_count + stacks->place_count + about->core_count + FIXED,
                           sizeof *writer->texts);
    if (writer->texts == NULL)
        return false;
    for (size_t i = 0; i < stacks->function_count; i++) {
        stack_pprof_add_text(writer, stacks->functions[i].name);
        stack_pprof_add_text(writer, stacks->functions[i].file);
    }
    for (size_t i = 0; i < stacks->place_count; i++)
        stack_pprof_add_text(writer, stacks->places[i].file);
    for (size_t i = 0; i < about->core_count; i++)
        stack_pprof_add_text(writer, writer->cores[i]);
    const char *const fixed[FIXED] = {label_key, type_name, type_unit, writer->report->elf, about->build_id};
    for (size_t i = 0; i < FIXED; i++)
        stack_pprof_add_text(writer, fixed[i]);
    writer->n_texts =
        sorted_join(writer->texts, writer->n_texts, sizeof *writer->texts, stack_pprof_by_text, NULL);
    return true;
}

static bool name_cores(struct writer *writer)
{
    const struct profile_about *about = &writer->report->profile->about;
    writer->cores = calloc(about->core_count + 1, sizeof *writer->cores);
    for (size_t i = 0; i < about->core_count && writer->cores != NULL; i++)
        snprintf(writer->cores[i], CORE, "%u %.64s", profile_core_number(about, i),
                 stack_pprof_text_of(about->cores[i]));
    return writer->cores != NULL;
}

static int by_part(const void *a, const void *b)
{
    const struct part *one = a, *other = b;
    if (one->function != other->function)
        return one->function < other->function ? -1 : 1;
    return strcmp(one->file, other->file);
}

static struct part stack_pprof_part_of(const struct stack_place *place)
{
    return (struct part){.function = place->function, .file = stack_pprof_text_of(place->file)};
}

static bool gather_parts(struct writer *writer)
{
    const struct stacks *stacks = writer->report->stacks;
    writer->parts = calloc(stacks->place_count + 1, sizeof *writer->parts);
    if (writer->parts == NULL)
        return false;
    for (size_t i = 0; i < stacks->place_count; i++)
        writer->parts[i] = stack_pprof_part_of(&stacks->places[i]);
    writer->n_parts = sorted_join(writer->parts, stacks->place_count, sizeof *writer->parts, by_part, NULL);
    return true;
}

/* ---- the profile */

static void put_type(struct writer *writer)
{
    stack_pprof_put_number(&writer->inner, TYPE_TYPE, stack_pprof_number_of(writer, type_name));
    stack_pprof_put_number(&writer->inner, TYPE_UNIT, stack_pprof_number_of(writer, type_unit));
    put_message(&writer->all, PROFILE_SAMPLE_TYPE, &writer->inner);
}

static void put_samples(struct writer *writer)
{
    const struct stacks *stacks = writer->report->stacks;
    struct message *sample = &writer->inner, *label = &writer->innermost;
    for (size_t i = 0; i < stacks->n; i++) {
        const struct stack *row = &stacks->rows[i];
        for (size_t k = 0; k < row->depth; k++)
            stack_pprof_put_number(sample, SAMPLE_LOCATION, stacks->frames[row->first + k] + 1);
        stack_pprof_put_number(sample, SAMPLE_VALUE, row->samples);
        stack_pprof_put_number(label, LABEL_KEY, stack_pprof_number_of(writer, label_key));
        stack_pprof_put_number(label, LABEL_TEXT, stack_pprof_number_of(writer, writer->cores[row->core]));
        put_message(sample, SAMPLE_LABEL, label);
        put_message(&writer->all, PROFILE_SAMPLE, sample);
    }
}

/* The program, as far as it was sampled. */
static void put_mapping(struct writer *writer)
{
    const struct stacks *stacks = writer->report->stacks;
    struct message *mapping = &writer->inner;
    bool names = writer->report->elf != NULL;
    uint64_t low = UINT64_MAX, high = 0;
    for (size_t i = 0; i < stacks->place_count; i++)
        if (stacks->places[i].state == PROFILE_STATES) {
            uint64_t address = stacks->places[i].address;
            low = address < low ? address : low;
            high = address > high ? address : high;
        }
    stack_pprof_put_number(mapping, MAPPING_ID, 1);
    stack_pprof_put_number(mapping, MAPPING_START, low < high ? low : high);
    stack_pprof_put_number(mapping, MAPPING_LIMIT,
                           high < UINT64_MAX - INSTRUCTION ? high + INSTRUCTION : high);
    stack_pprof_put_number(mapping, MAPPING_FILE, stack_pprof_number_of(writer, writer->report->elf));
    stack_pprof_put_number(mapping, MAPPING_BUILD_ID,
                           stack_pprof_number_of(writer, writer->report->profile->about.build_id));
    stack_pprof_put_number(mapping, MAPPING_FUNCTIONS, names);
    stack_pprof_put_number(mapping, MAPPING_FILES, names);
    stack_pprof_put_number(mapping, MAPPING_LINES, names);
    put_message(&writer->all, PROFILE_MAPPING, mapping);
}

static void put_locations(struct writer *writer)
{
    const struct stacks *stacks = writer->report->stacks;
    struct message *location = &writer->inner, *line = &writer->innermost;
    for (size_t i = 0; i < stacks->place_count; i++) {
        const struct stack_place *place = &stacks->places[i];
        const struct part wanted = stack_pprof_part_of(place);
        const struct part *part = bsearch(&wanted, writer->parts, writer->n_parts, sizeof wanted, by_part);
        stack_pprof_put_number(location, LOCATION_ID, i + 1);
        stack_pprof_put_number(location, LOCATION_MAPPING, place->state == PROFILE_STATES);
        stack_pprof_put_number(location, LOCATION_ADDRESS, place->address);
        stack_pprof_put_number(line, LINE_FUNCTION, (uint64_t)(part - writer->parts) + 1);
        stack_pprof_put_number(line, LINE_LINE, place->line);
        put_message(location, LOCATION_LINE, line);
        put_message(&writer->all, PROFILE_LOCATION, location);
    }
}

static void put_functions(struct writer *writer)
{
    struct message *message = &writer->inner;
    for (size_t i = 0; i < writer->n_parts; i++) {
        const struct part *part = &writer->parts[i];
        const struct stack_function *function = &writer->report->stacks->functions[part->function];
        stack_pprof_put_number(message, FUNCTION_ID, i + 1);
        stack_pprof_put_number(message, FUNCTION_NAME, stack_pprof_number_of(writer, function->name));
        stack_pprof_put_number(message, FUNCTION_SYSTEM_NAME, stack_pprof_number_of(writer, function->name));
        stack_pprof_put_number(message, FUNCTION_FILE, stack_pprof_number_of(writer, part->file));
        stack_pprof_put_number(message, FUNCTION_LINE,
                               strcmp(part->file, stack_pprof_text_of(function->file)) == 0 ? function->line
                                                                                            : 0);
        put_message(&writer->all, PROFILE_FUNCTION, message);
    }
}

/* Number 0 is "". */
static void put_texts(struct writer *writer)
{
    struct message *text = &writer->inner;
    for (size_t i = 0; i <= writer->n_texts; i++) {
        const char *from = i > 0 ? writer->texts[i - 1] : "";
        if (!stack_pprof_make_room(text, UTF8_CLEAN_ROOM(strlen(from) + 1)))
            break;
        text->n = strlen(utf8_clean((char *)text->bytes, text->room, from));
        put_message(&writer->all, PROFILE_STRING, text);
    }
}

static void put_times(struct writer *writer)
{
    static const double giga = 1e9, most = 9e18;
    const struct profile *profile = writer->report->profile;
    struct tm date = {0};
    const char *end = strptime(stack_pprof_text_of(profile->about.date), "%Y-%m-%dT%H:%M:%SZ", &date);
    time_t seconds = end != NULL && *end == '\0' ? timegm(&date) : 0;
    if (seconds > 0 && (double)seconds * giga < most)
        stack_pprof_put_number(&writer->all, PROFILE_TIME, (uint64_t)seconds * (uint64_t)giga);
    double duration = profile->end.known ? profile->end.elapsed_s * giga : 0;
    if (duration >= 1 && duration < most)
        stack_pprof_put_number(&writer->all, PROFILE_DURATION, (uint64_t)round(duration));
}

static bool write_compressed(FILE *out, const struct message *all)
{
    enum { MEMORY = 8 };
    uint8_t piece[PIECE] = {0};
    z_stream gzip = {.next_in = all->bytes};
    size_t left = all->n;
    int result = Z_OK;
    bool ok =
        deflateInit2(&gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP, MEMORY, Z_DEFAULT_STRATEGY) == Z_OK;
    while (ok && result == Z_OK) {
        uInt now = left < (1U << 30) ? (uInt)left : 1U << 30;
        gzip.avail_in = now;
        gzip.next_out = piece;
        gzip.avail_out = sizeof piece;
        result = deflate(&gzip, now == left ? Z_FINISH : Z_NO_FLUSH);
        left -= now - gzip.avail_in;
        size_t got = sizeof piece - gzip.avail_out;
        ok = fwrite(piece, 1, got, out) == got;
    }
    deflateEnd(&gzip);
    return ok && result == Z_STREAM_END;
}

bool stacks_pprof(FILE *out, const struct stack_report *report)
{
    struct writer writer = {.report = report};
    bool ok = name_cores(&writer) && gather_texts(&writer) && gather_parts(&writer);
    if (ok) {
        put_type(&writer);
        put_samples(&writer);
        put_mapping(&writer);
        put_locations(&writer);
        put_functions(&writer);
        put_texts(&writer);
        put_times(&writer);
        ok = !writer.all.lacks_memory && !writer.inner.lacks_memory && write_compressed(out, &writer.all);
    }
    free(writer.all.bytes);
    free(writer.inner.bytes);
    free(writer.innermost.bytes);
    free(writer.cores);
    free(writer.texts);
    free(writer.parts);
    return fflush(out) == 0 && ok;
}
