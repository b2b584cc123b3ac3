#define ZLIB_CONST

#include "report/stack_formats.h"

#include "base/values.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

enum { NAME = 512 };

static int stack_folded_by_text(const struct stacks *stacks, const struct stack *one,
                                const struct stack *other)
{
    for (size_t i = 0; i < one->depth && i < other->depth; i++) {
        size_t left = stacks->places[stacks->frames[one->first + one->depth - 1 - i]].function;
        size_t right = stacks->places[stacks->frames[other->first + other->depth - 1 - i]].function;
        if (left != right)
            return left < right ? -1 : 1;
    }
    return (one->depth > other->depth) - (one->depth < other->depth);
}

static int stack_folded_compare(const void *a, const void *b, void *stacks)
{
    const struct stack *one = a, *other = b;
    if (one->core != other->core)
        return one->core < other->core ? -1 : 1;
    return stack_folded_by_text(stacks, one, other);
}

static void print_frames(FILE *out, const struct stacks *stacks, const struct stack *row)
{
    fprintf(out, "core %u", row->core);
    for (size_t i = row->depth; i-- > 0;) {
        char name[UTF8_CLEAN_ROOM(NAME)];
        utf8_clean(name, sizeof name,
                   stacks->functions[stacks->places[stacks->frames[row->first + i]].function].name);
        for (char *at = strchr(name, ';'); at != NULL; at = strchr(at, ';'))
            *at = ':';
        fprintf(out, ";%s", name);
    }
}

/* Stacks of the same functions are one line, whatever instructions they were at. */
bool stacks_folded(FILE *out, const struct stack_report *report)
{
    const struct stacks *stacks = report->stacks;
    struct stack *rows = calloc(stacks->n + 1, sizeof *rows);
    if (rows == NULL)
        return false;
    memcpy(rows, stacks->rows, stacks->n * sizeof *rows);
    qsort_r(rows, stacks->n, sizeof *rows, stack_folded_compare, (void *)stacks);
    for (size_t i = 0; i < stacks->n;) {
        uint64_t samples = 0;
        size_t first = i;
        for (; i < stacks->n && stack_folded_compare(&rows[first], &rows[i], (void *)stacks) == 0; i++)
            samples += rows[i].samples;
        print_frames(out, stacks, &rows[first]);
        fprintf(out, " %" PRIu64 "\n", samples);
    }
    free(rows);
    return output_flush(out);
}

/* ---- stack perf */

enum { EVENTS_MOST = 1000000, STACK_PERF_NAME = UTF8_CLEAN_ROOM(512) };

/* Rows of one core that share an interval, one after the other. */
struct span {
    const struct stack *rows;
    size_t n;
    uint64_t samples;
};

static bool stack_perf_is_of(const struct span *span, const struct stack *row)
{
    return row->core == span->rows->core && row->from <= span->rows->from;
}

/* Rows are in time, so a later one is never earlier. */
static struct span stack_perf_span_from(const struct stacks *stacks, size_t at)
{
    struct span span = {.rows = &stacks->rows[at]};
    for (; at + span.n < stacks->n && stack_perf_is_of(&span, &span.rows[span.n]); span.n++)
        span.samples += span.rows[span.n].samples;
    return span;
}

/* Readers take a blank for the end of the name. */
static void join_words(char *text)
{
    while ((text = strpbrk(text, " ()")) != NULL)
        *text = '_';
}

static void module_of(const char *elf, char *out, size_t size)
{
    const char *slash = elf != NULL ? strrchr(elf, '/') : NULL;
    utf8_clean(out, size, slash != NULL ? slash + 1 : elf != NULL ? elf : "[unknown]");
    join_words(out);
}

static void stack_perf_put_frame(FILE *out, const struct stacks *stacks, const struct stack_place *place,
                                 const char *module)
{
    char name[STACK_PERF_NAME], offset[32] = "";
    const struct stack_function *function = &stacks->functions[place->function];
    bool has_offset = function->entry != 0 && place->address > function->entry;
    utf8_clean(name, sizeof name, function->name);
    if (has_offset)
        snprintf(offset, sizeof offset, "+0x%" PRIx64, place->address - function->entry);
    fprintf(out, "\t%16" PRIx64 " %s%s (%s)\n", place->address, name, offset,
            place->state == PROFILE_STATES ? module : "[core]");
}

static void put_event(FILE *out, const struct stack_report *report, const struct stack *row, double at,
                      uint64_t period, const char *module)
{
    const struct stacks *stacks = report->stacks;
    unsigned core = profile_core_number(&report->profile->about, row->core);
    fprintf(out, "core%u %u %.9f: %" PRIu64 " samples: \n", core, core + 1, at, period);
    for (size_t i = 0; i < row->depth; i++)
        stack_perf_put_frame(out, stacks, &stacks->places[stacks->frames[row->first + i]], module);
    fputc('\n', out);
}

static void put_span(FILE *out, const struct stack_report *report, const struct span *span, uint64_t most,
                     const char *module)
{
    uint64_t before = 0;
    for (size_t i = 0; i < span->n; i++) {
        const struct stack *row = &span->rows[i];
        for (uint64_t left = row->samples; left > 0 && !ferror(out);) {
            uint64_t period = left < most ? left : most;
            double part = (double)before / (double)span->samples;
            put_event(out, report, row, row->from + part * (row->to - row->from), period, module);
            before += period;
            left -= period;
        }
    }
}

bool stacks_perf_within(FILE *out, const struct stack_report *report, uint64_t events)
{
    char module[STACK_PERF_NAME];
    uint64_t samples = 0;
    for (size_t i = 0; i < report->stacks->n; i++)
        samples += report->stacks->rows[i].samples;
    module_of(report->elf, module, sizeof module);
    for (size_t at = 0; at < report->stacks->n && !ferror(out);) {
        struct span span = stack_perf_span_from(report->stacks, at);
        put_span(out, report, &span, samples / events + 1, module);
        at += span.n;
    }
    return output_flush(out);
}

bool stacks_perf(FILE *out, const struct stack_report *report)
{
    return stacks_perf_within(out, report, EVENTS_MOST);
}

/* ---- stack callgrind */

/* Samples in a call from a place to a function, with all that it calls. */
struct call {
    size_t place, function;
    uint64_t samples;
};

struct writer {
    FILE *out;
    const struct stack_report *report;
    uint64_t *own; /* samples of each place */
    struct call *calls;
    size_t n_calls;
    uint64_t samples;
    size_t function; /* whose places are being written; SIZE_MAX: none yet */
    const char *file;
};

/* Unknown: "???", as callgrind has it. */
static void stack_callgrind_put_name(FILE *out, const char *key, const char *text)
{
    char name[UTF8_CLEAN_ROOM(512)];
    fprintf(out, "%s=%s\n", key, text != NULL ? utf8_clean(name, sizeof name, text) : "???");
}

static int by_ends(const void *a, const void *b)
{
    const struct call *one = a, *other = b;
    if (one->place != other->place)
        return one->place < other->place ? -1 : 1;
    return (one->function > other->function) - (one->function < other->function);
}

/* A call that a recursion has several times on the stack holds a sample once. */
static void stack_callgrind_add_calls(struct writer *writer, const struct stack *row)
{
    const struct stacks *stacks = writer->report->stacks;
    const size_t *frames = stacks->frames + row->first;
    size_t first = writer->n_calls;
    for (size_t i = 1; i < row->depth; i++) {
        struct call call = {frames[i], stacks->places[frames[i - 1]].function, row->samples};
        size_t k = first;
        while (k < writer->n_calls && by_ends(&writer->calls[k], &call) != 0)
            k++;
        if (k == writer->n_calls)
            writer->calls[writer->n_calls++] = call;
    }
}

static void merge_call(void *first, const void *row)
{
    ((struct call *)first)->samples += ((const struct call *)row)->samples;
}

static bool stack_callgrind_gather(struct writer *writer)
{
    const struct stacks *stacks = writer->report->stacks;
    size_t room = 1;
    for (size_t i = 0; i < stacks->n; i++)
        room += stacks->rows[i].depth;
    writer->own = calloc(stacks->place_count + 1, sizeof *writer->own);
    writer->calls = calloc(room, sizeof *writer->calls);
    if (writer->own == NULL || writer->calls == NULL)
        return false;
    for (size_t i = 0; i < stacks->n; i++) {
        const struct stack *row = &stacks->rows[i];
        writer->own[stacks->frames[row->first]] += row->samples;
        writer->samples += row->samples;
        stack_callgrind_add_calls(writer, row);
    }
    writer->n_calls = sorted_join(writer->calls, writer->n_calls, sizeof *writer->calls, by_ends, merge_call);
    return true;
}

static void put_position(const struct writer *writer, const struct stack_place *place, uint64_t samples)
{
    fprintf(writer->out, "0x%" PRIx64 " %u %" PRIu64 "\n", place->address, place->line, samples);
}

static void put_call(const struct writer *writer, const struct call *call)
{
    const struct stacks *stacks = writer->report->stacks;
    const struct stack_function *function = &stacks->functions[call->function];
    stack_callgrind_put_name(writer->out, "cfi", function->file);
    stack_callgrind_put_name(writer->out, "cfn", function->name);
    /* How often it was called is not known */
    fprintf(writer->out, "calls=1 0x%" PRIx64 " %u\n", function->entry, function->line);
    put_position(writer, &stacks->places[call->place], call->samples);
}

/* Its names, where they are not those of the place before. */
static void put_names(struct writer *writer, const struct stack_place *place)
{
    const struct stack_function *function = &writer->report->stacks->functions[place->function];
    if (place->function != writer->function) {
        fputc('\n', writer->out);
        stack_callgrind_put_name(writer->out, "fl", function->file);
        stack_callgrind_put_name(writer->out, "fn", function->name);
        writer->file = function->file;
    }
    writer->function = place->function;
    if (place->file == NULL || (writer->file != NULL && strcmp(place->file, writer->file) == 0))
        return;
    stack_callgrind_put_name(writer->out, "fi", place->file);
    writer->file = place->file;
}

static void stack_callgrind_put_places(struct writer *writer)
{
    const struct stacks *stacks = writer->report->stacks;
    size_t call = 0;
    for (size_t i = 0; i < stacks->place_count; i++) {
        bool calls = call < writer->n_calls && writer->calls[call].place == i;
        if (writer->own[i] == 0 && !calls)
            continue;
        put_names(writer, &stacks->places[i]);
        if (writer->own[i] > 0)
            put_position(writer, &stacks->places[i], writer->own[i]);
        for (; call < writer->n_calls && writer->calls[call].place == i; call++)
            put_call(writer, &writer->calls[call]);
    }
}

bool stacks_callgrind(FILE *out, const struct stack_report *report)
{
    struct writer writer = {.out = out, .report = report, .function = SIZE_MAX};
    bool ok = stack_callgrind_gather(&writer);
    if (ok) {
        fprintf(out,
                "# callgrind format\nversion: 1\ncreator: pmu-probe\npositions: instr line\n"
                "events: Samples\nsummary: %" PRIu64 "\n\n",
                writer.samples);
        stack_callgrind_put_name(out, "ob", report->elf);
        stack_callgrind_put_places(&writer);
        fprintf(out, "\ntotals: %" PRIu64 "\n", writer.samples);
    }
    free(writer.own);
    free(writer.calls);
    return output_flush(out) && ok;
}

/* ---- stack pprof */

/* pprof's profile.proto by hand: it has numbers as varints, and texts and messages with their length ahead.
 */

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

struct pprof_writer {
    const struct stack_report *report;
    struct message all, inner, innermost;
    const char **texts; /* sorted; text i has number i + 1 */
    size_t n_texts;
    struct part *parts; /* sorted; part i has id i + 1 */
    size_t n_parts;
    char (*cores)[CORE];
};

/* ---- messages */

/* False: out of memory. */
static bool pprof_make_room(struct message *message, size_t n)
{
    uint8_t *more =
        message->lacks_memory ? NULL : array_grow(message->bytes, message->n + n, &message->room, 1);
    message->lacks_memory = more == NULL;
    message->bytes = more != NULL ? more : message->bytes;
    return !message->lacks_memory;
}

static void put_bytes(struct message *message, const void *bytes, size_t n)
{
    if (n == 0 || !pprof_make_room(message, n))
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
static void pprof_number(struct message *message, unsigned field, uint64_t value)
{
    if (value == 0)
        return;
    put_varint(message, field << 3 | VARINT);
    put_varint(message, value);
}

static void pprof_bytes(struct message *message, unsigned field, const void *bytes, size_t n)
{
    put_varint(message, field << 3 | BYTES);
    put_varint(message, n);
    put_bytes(message, bytes, n);
}

/* Empties the inner one for its next use. */
static void put_message(struct message *message, unsigned field, struct message *inner)
{
    message->lacks_memory = message->lacks_memory || inner->lacks_memory;
    pprof_bytes(message, field, inner->bytes, inner->n);
    inner->n = 0;
}

/* ---- tables */

static int pprof_by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* By its number. */
static void pprof_text(const struct pprof_writer *writer, struct message *message, unsigned field,
                       const char *text)
{
    text = or_empty(text);
    const char **found = text[0] == '\0' ? NULL
                                         : bsearch(&text, writer->texts, writer->n_texts,
                                                   sizeof *writer->texts, pprof_by_text);
    pprof_number(message, field, found != NULL ? (uint64_t)(found - writer->texts) + 1 : 0);
}

static void pprof_add_text(struct pprof_writer *writer, const char *text)
{
    if (text != NULL && text[0] != '\0')
        writer->texts[writer->n_texts++] = text;
}

static bool gather_texts(struct pprof_writer *writer)
{
    const struct stacks *stacks = writer->report->stacks;
    const struct profile_about *about = &writer->report->profile->about;
    enum { FIXED = 5 };
    writer->texts = calloc(2 * stacks->function_count + stacks->place_count + about->core_count + FIXED,
                           sizeof *writer->texts);
    if (writer->texts == NULL)
        return false;
    for (size_t i = 0; i < stacks->function_count; i++) {
        pprof_add_text(writer, stacks->functions[i].name);
        pprof_add_text(writer, stacks->functions[i].file);
    }
    for (size_t i = 0; i < stacks->place_count; i++)
        pprof_add_text(writer, stacks->places[i].file);
    for (size_t i = 0; i < about->core_count; i++)
        pprof_add_text(writer, writer->cores[i]);
    const char *const fixed[FIXED] = {label_key, type_name, type_unit, writer->report->elf, about->build_id};
    for (size_t i = 0; i < FIXED; i++)
        pprof_add_text(writer, fixed[i]);
    writer->n_texts = sorted_join(writer->texts, writer->n_texts, sizeof *writer->texts, pprof_by_text, NULL);
    return true;
}

static bool name_cores(struct pprof_writer *writer)
{
    const struct profile_about *about = &writer->report->profile->about;
    writer->cores = calloc(about->core_count + 1, sizeof *writer->cores);
    for (size_t i = 0; i < about->core_count && writer->cores != NULL; i++)
        snprintf(writer->cores[i], CORE, "%u %.64s", profile_core_number(about, i),
                 or_empty(about->cores[i]));
    return writer->cores != NULL;
}

static int by_part(const void *a, const void *b)
{
    const struct part *one = a, *other = b;
    if (one->function != other->function)
        return one->function < other->function ? -1 : 1;
    return strcmp(one->file, other->file);
}

static struct part pprof_part_of(const struct stack_place *place)
{
    return (struct part){.function = place->function, .file = or_empty(place->file)};
}

static bool gather_parts(struct pprof_writer *writer)
{
    const struct stacks *stacks = writer->report->stacks;
    writer->parts = calloc(stacks->place_count + 1, sizeof *writer->parts);
    if (writer->parts == NULL)
        return false;
    for (size_t i = 0; i < stacks->place_count; i++)
        writer->parts[i] = pprof_part_of(&stacks->places[i]);
    writer->n_parts = sorted_join(writer->parts, stacks->place_count, sizeof *writer->parts, by_part, NULL);
    return true;
}

/* ---- the profile */

static void put_type(struct pprof_writer *writer)
{
    pprof_text(writer, &writer->inner, TYPE_TYPE, type_name);
    pprof_text(writer, &writer->inner, TYPE_UNIT, type_unit);
    put_message(&writer->all, PROFILE_SAMPLE_TYPE, &writer->inner);
}

static void put_samples(struct pprof_writer *writer)
{
    const struct stacks *stacks = writer->report->stacks;
    struct message *sample = &writer->inner, *label = &writer->innermost;
    for (size_t i = 0; i < stacks->n; i++) {
        const struct stack *row = &stacks->rows[i];
        for (size_t k = 0; k < row->depth; k++)
            pprof_number(sample, SAMPLE_LOCATION, stacks->frames[row->first + k] + 1);
        pprof_number(sample, SAMPLE_VALUE, row->samples);
        pprof_text(writer, label, LABEL_KEY, label_key);
        pprof_text(writer, label, LABEL_TEXT, writer->cores[row->core]);
        put_message(sample, SAMPLE_LABEL, label);
        put_message(&writer->all, PROFILE_SAMPLE, sample);
    }
}

/* The program, as far as it was sampled. */
static void put_mapping(struct pprof_writer *writer)
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
    pprof_number(mapping, MAPPING_ID, 1);
    pprof_number(mapping, MAPPING_START, low < high ? low : high);
    pprof_number(mapping, MAPPING_LIMIT, high < UINT64_MAX - INSTRUCTION ? high + INSTRUCTION : high);
    pprof_text(writer, mapping, MAPPING_FILE, writer->report->elf);
    pprof_text(writer, mapping, MAPPING_BUILD_ID, writer->report->profile->about.build_id);
    pprof_number(mapping, MAPPING_FUNCTIONS, names);
    pprof_number(mapping, MAPPING_FILES, names);
    pprof_number(mapping, MAPPING_LINES, names);
    put_message(&writer->all, PROFILE_MAPPING, mapping);
}

static void put_locations(struct pprof_writer *writer)
{
    const struct stacks *stacks = writer->report->stacks;
    struct message *location = &writer->inner, *line = &writer->innermost;
    for (size_t i = 0; i < stacks->place_count; i++) {
        const struct stack_place *place = &stacks->places[i];
        const struct part wanted = pprof_part_of(place);
        const struct part *part = bsearch(&wanted, writer->parts, writer->n_parts, sizeof wanted, by_part);
        pprof_number(location, LOCATION_ID, i + 1);
        pprof_number(location, LOCATION_MAPPING, place->state == PROFILE_STATES);
        pprof_number(location, LOCATION_ADDRESS, place->address);
        pprof_number(line, LINE_FUNCTION, (uint64_t)(part - writer->parts) + 1);
        pprof_number(line, LINE_LINE, place->line);
        put_message(location, LOCATION_LINE, line);
        put_message(&writer->all, PROFILE_LOCATION, location);
    }
}

static void put_functions(struct pprof_writer *writer)
{
    struct message *message = &writer->inner;
    for (size_t i = 0; i < writer->n_parts; i++) {
        const struct part *part = &writer->parts[i];
        const struct stack_function *function = &writer->report->stacks->functions[part->function];
        pprof_number(message, FUNCTION_ID, i + 1);
        pprof_text(writer, message, FUNCTION_NAME, function->name);
        pprof_text(writer, message, FUNCTION_SYSTEM_NAME, function->name);
        pprof_text(writer, message, FUNCTION_FILE, part->file);
        pprof_number(message, FUNCTION_LINE,
                     strcmp(part->file, or_empty(function->file)) == 0 ? function->line : 0);
        put_message(&writer->all, PROFILE_FUNCTION, message);
    }
}

/* Number 0 is "". */
static void put_texts(struct pprof_writer *writer)
{
    struct message *text = &writer->inner;
    for (size_t i = 0; i <= writer->n_texts; i++) {
        const char *from = i > 0 ? writer->texts[i - 1] : "";
        if (!pprof_make_room(text, UTF8_CLEAN_ROOM(strlen(from) + 1)))
            break;
        text->n = strlen(utf8_clean((char *)text->bytes, text->room, from));
        put_message(&writer->all, PROFILE_STRING, text);
    }
}

static void put_times(struct pprof_writer *writer)
{
    static const double giga = 1e9, most = 9e18;
    const struct profile *profile = writer->report->profile;
    struct tm date = {0};
    const char *end = strptime(or_empty(profile->about.date), "%Y-%m-%dT%H:%M:%SZ", &date);
    time_t seconds = end != NULL && *end == '\0' ? timegm(&date) : 0;
    if (seconds > 0 && (double)seconds * giga < most)
        pprof_number(&writer->all, PROFILE_TIME, (uint64_t)seconds * (uint64_t)giga);
    double duration = profile->end.known ? profile->end.elapsed_s * giga : 0;
    if (duration >= 1 && duration < most)
        pprof_number(&writer->all, PROFILE_DURATION, (uint64_t)round(duration));
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
    struct pprof_writer writer = {.report = report};
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
