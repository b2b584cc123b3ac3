/* Packets with their times. The vectors are of the architecture manuals' packet formats. */
#include "../test.h"

#include "trace/moments.h"

#include <stdio.h>
#include <stdlib.h>

enum { PERIOD = 16384, BEAT = 5 };

static const uint32_t some =
    1U << TRACE_EVENTS | 1U << TRACE_MATCH | 1U << TRACE_EXCEPTION | 1U << TRACE_PRINT;

static void say_moment(void *context, const struct trace_moment *moment)
{
    static const char *const kinds[] = {"lost", "match", "exception", "data", "pc", "pmu", "beat"};
    static const char *const doubts[] = {"", " together", " late", " unproved"};
    char *out = context;
    size_t used = strlen(out);
    snprintf(out + used, 1024 - used, "%s%s %u%s @%llu", used > 0 ? ", " : "", kinds[moment->kind],
             moment->kind == MOMENT_LOST ? (unsigned)moment->n_lost : moment->n, doubts[moment->doubt],
             (unsigned long long)moment->cycles);
}

static struct trace_moments begin(char *out, uint64_t period)
{
    struct trace_moments moments = {
        .kinds = some, .plus = 1, .period = period, .context = out, .take = say_moment, .aligned = true};
    out[0] = '\0';
    assert_true(trace_moments_begin(&moments));
    return moments;
}

#define BYTES(...) ((const uint8_t[]){__VA_ARGS__}), sizeof((const uint8_t[]){__VA_ARGS__})

TEST(each_timestamp_is_the_time_of_the_packets_before_it)
{
    static const struct {
        uint8_t n, bytes[24];
        const char *moments;
    } rows[] = {
        {10, {0x45, 1, 0xC0, 0x87, 0x27, 0x55, 1, 0xC0, 0xB3, 9}, "match 0 @5000, match 1 @6204"},
        {17,
         {0x45, 1, 0xC0, 0x87, 0x27, 0x70, 0x45, 1, 0xF0, 0xAB, 2, 0x55, 1, 0xC0, 0xB3, 9, 0x70},
         "match 0 @5000, lost 0 @5000, match 0 late @5300, match 1 @6504, lost 0 @6504"},
        {10, {0x45, 1, 0xC0, 0x87, 0x27, 0x55, 1, 0xD0, 0x93, 0xA}, "match 0 @5000, match 1 late @6300"},
        {7, {0x01, 0x41, 0x55, 1, 0xE0, 0xB3, 9}, "match 1 late @1204"},
        {5, {0x45, 1, 0x55, 1, 0x10}, "match 0 together @2, match 1 together @2"},
        {18,
         {0x0E, 0x0F, 0x10, 0xC0, 0x5D, 0x0E, 0x0F, 0x20, 0xC0, 0x0D, 0x0E, 0, 0x30, 0xC0, 8, 0x45, 1, 0x70},
         "exception 1 @94, exception 2 @108, exception 3 @117, lost 1 @117"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        char said[1024];
        struct trace_moments moments = begin(said, 0);
        trace_moments_take(&moments, rows[i].bytes, rows[i].n);
        assert_string_equal(said, rows[i].moments);
        trace_moments_free(&moments);
    }
}

static void say_since(void *context, const struct trace_moment *moment)
{
    char *out = context;
    size_t used = strlen(out);
    if (moment->kind == MOMENT_MATCH && moment->has_since)
        snprintf(out + used, 1024 - used, " %u:%llu-%llu", moment->n, (unsigned long long)moment->since,
                 (unsigned long long)moment->cycles);
    else if (moment->kind == MOMENT_MATCH)
        snprintf(out + used, 1024 - used, " %u:-%llu", moment->n, (unsigned long long)moment->cycles);
}

/* TC 01: it lies between two timestamps. TC 10 and 11: its packet may have waited past several of them. */
TEST(a_late_packet_is_bounded_by_an_earlier_one_of_its_source)
{
    static const struct {
        uint8_t n, bytes[24];
        const char *moments;
    } rows[] = {
        {15,
         {0x45, 1, 0xC0, 99, 0x01, 0x41, 0xC0, 99, 0x45, 1, 0xD0, 99, 0x45, 1, 0x20},
         " 0:0-100 0:200-300 0:300-303"},
        {12, {0x45, 1, 0xC0, 99, 0x01, 0x41, 0xC0, 99, 0x45, 1, 0xE0, 99}, " 0:0-100 0:99-300"},
        {12, {0x45, 1, 0xC0, 99, 0x01, 0x41, 0xC0, 99, 0x45, 1, 0xF0, 99}, " 0:0-100 0:99-300"},
        {12, {0x45, 1, 0xC0, 99, 0x01, 0x41, 0xC0, 99, 0x55, 1, 0xE0, 99}, " 0:0-100 1:-300"},
        {12, {0x45, 1, 0xD0, 99, 0x45, 1, 0xE0, 99, 0x45, 1, 0xE0, 99}, " 0:0-100 0:0-200 0:0-300"},
        {13, {0x45, 1, 0xC0, 99, 0x70, 0x45, 1, 0xE0, 99, 0x45, 1, 0xC0, 99}, " 0:0-100 0:-200 0:200-300"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        char said[1024];
        struct trace_moments moments = begin(said, 0);
        moments.take = say_since;
        trace_moments_take(&moments, rows[i].bytes, rows[i].n);
        assert_string_equal(said, rows[i].moments);
        trace_moments_free(&moments);
    }
}

TEST(an_access_is_one_moment_with_its_pc_and_value)
{
    char said[1024];
    struct trace_moments moments = begin(said, 0);
    moments.kinds |= 1U << TRACE_DATA_PC | 1U << TRACE_DATA_WRITTEN;
    trace_moments_take(&moments, BYTES(0x47, 0xAA, 0xB8, 0, 8, 0x8F, 5, 0, 0, 0, 0xC0, 0xF7, 0xC9, 4));
    assert_string_equal(said, "data 0 @75000");
    trace_moments_free(&moments);
}

TEST(cycle_events_prove_the_times_between_them)
{
    char said[1024];
    struct trace_moments moments = begin(said, PERIOD);
    trace_moments_take(&moments, BYTES(0x45, 1, 0xC0, 0x8F, 0x4E)); /* it has none before it */
    trace_moments_take(&moments, BYTES(5, 0x20, 0xC0, 0xFF, 0x7F));
    assert_string_equal(said, "match 0 unproved @10000, beat 0 @26384");
    said[0] = '\0';
    trace_moments_take(&moments, BYTES(0x45, 1, 0xC0, 0x8F, 0x4E));
    assert_string_equal(said, "");
    trace_moments_take(&moments, BYTES(5, 0x20, 0xC0, 0xEF, 0x31));
    assert_string_equal(said, "match 0 @36384, beat 0 @42768");
    trace_moments_take(&moments, BYTES(0x45, 1, 0xC0, 0x8F, 0x4E, 5, 0x20, 0xC0, 0xEE, 0x31)); /* one less */
    assert_string_equal(
        said, "match 0 @36384, beat 0 @42768, match 0 unproved @52768, lost 0 @59151, beat 0 @59151");
    assert_int_equal(moments.mismatches, 1);
    trace_moments_free(&moments);
}

/* What was lost may have taken whole periods: the timestamps' counter goes on while nothing is sent. */
TEST(each_period_has_a_cycle_event)
{
    char said[1024];
    struct trace_moments moments = begin(said, PERIOD);
    trace_moments_take(&moments, BYTES(5, 0x20, 0xC0, 0xFF, 0x7F));
    /* One that is late, or shares its timestamp, counts, though it proves nothing */
    trace_moments_take(&moments, BYTES(0x45, 1, 0xC0, 0x8F, 0x4E, 5, 0x20, 0xD0, 0xF0, 0x31));
    trace_moments_take(&moments, BYTES(0x55, 1, 5, 0x20, 0xC0, 0xFE, 0x7F));
    trace_moments_take(&moments, BYTES(5, 0x20, 0xC0, 0xFF, 0x7F));
    assert_string_equal(said, "beat 0 @16384, match 0 @26384, match 1 together @49152, beat 0 @65536");
    said[0] = '\0';
    trace_moments_take(&moments, BYTES(0x45, 1, 0xC0, 0x8F, 0x4E, 5, 0x20, 0xC0, 0xEF, 0xB1, 1));
    assert_string_equal(said, "match 0 unproved @75536, lost 0 @98304, beat 0 @98304");
    trace_moments_free(&moments);
}

/* At any byte of it; what was in between is not proved. */
TEST(a_stream_that_lost_a_piece_goes_on_where_packets_begin)
{
    static const uint8_t beat[BEAT] = {5, 0x20, 0xC0, 0xFF, 0x7F};
    for (size_t from = 0; from < (size_t)3 * BEAT; from++) {
        char said[1024];
        struct trace_moments moments = begin(said, PERIOD);
        moments.aligned = false;
        for (size_t i = from; i < (size_t)40 * BEAT; i++)
            trace_moments_take(&moments, &beat[i % BEAT], 1);
        assert_true(moments.aligned);
        assert_int_equal(moments.mismatches, 0);
        assert_true(moments.now >= 36 * UINT64_C(16384));
        trace_moments_lose(&moments);
        assert_false(moments.aligned);
        trace_moments_free(&moments);
    }
}

/* Exceptions in a stream without a loss, each with another number. */
enum { ENTRIES = 400 };

struct entries {
    uint8_t bytes[ENTRIES * 8];
    size_t n, seen, next, suspect; /* next: the first number that may follow */
};

static void entries_make(struct entries *entries)
{
    uint32_t random = 1;
    for (unsigned i = 0; i < ENTRIES; i++) {
        random = random * 1664525 + 1013904223;
        unsigned cycles = random >> 12 & 0x3FFF;
        const uint8_t one[] = {0x0E,
                               (uint8_t)i,
                               (uint8_t)(0x10 | i >> 8),
                               0xC0,
                               (uint8_t)(0x80 | cycles),
                               (uint8_t)(cycles >> 7)};
        memcpy(entries->bytes + entries->n, one, sizeof one);
        entries->n += sizeof one;
    }
}

static void entries_take(void *context, const struct trace_moment *moment)
{
    struct entries *entries = context;
    if (moment->kind != MOMENT_EXCEPTION)
        return;
    entries->suspect += moment->is_suspect;
    if (moment->is_suspect)
        return;
    assert_true(moment->n == TRACE_ENTER && moment->value >= entries->next);
    entries->next = moment->value + 1;
    entries->seen++;
}

static struct trace_moments entries_begin(struct entries *entries, uint64_t period)
{
    struct trace_moments moments = {.kinds = some,
                                    .plus = 1,
                                    .period = period,
                                    .context = entries,
                                    .take = entries_take,
                                    .aligned = true};
    *entries = (struct entries){0};
    entries_make(entries);
    assert_true(trace_moments_begin(&moments));
    return moments;
}

TEST(after_a_loss_no_exception_is_made_up)
{
    for (size_t cut = 1; cut < 40; cut++) {
        struct entries entries;
        struct trace_moments moments = entries_begin(&entries, 0);
        trace_moments_take(&moments, entries.bytes, 300);
        trace_moments_lose(&moments);
        trace_moments_take(&moments, entries.bytes + 300 + cut, entries.n - 300 - cut);
        assert_int_equal(entries.next, ENTRIES);
        assert_true(entries.seen > ENTRIES - 30);
        trace_moments_free(&moments);
    }
}

/* Nobody says that bytes were lost: what precedes the discovery is suspect. */
TEST(an_exception_near_an_unseen_loss_is_suspect)
{
    size_t suspect = 0;
    for (size_t cut = 1; cut < 40; cut++) {
        struct entries entries;
        struct trace_moments moments = entries_begin(&entries, PERIOD);
        trace_moments_take(&moments, entries.bytes, 300);
        trace_moments_take(&moments, entries.bytes + 300 + cut, entries.n - 300 - cut);
        suspect += entries.suspect > 0;
        assert_true(moments.aligned);
        trace_moments_free(&moments);
    }
    assert_true(suspect > 0);
}

/* The loss is known only after bytes that were apart have been joined. */
TEST(what_precedes_the_news_of_a_loss_is_suspect)
{
    for (size_t cut = 1; cut < 40; cut++) {
        struct entries entries;
        struct trace_moments moments = entries_begin(&entries, PERIOD);
        trace_moments_take(&moments, entries.bytes, 300);
        trace_moments_take(&moments, entries.bytes + 300 + cut, 64);
        trace_moments_lose(&moments);
        assert_int_equal(entries.seen, 0);
        assert_true(entries.suspect >= 300 / 6);
        trace_moments_free(&moments);
    }
}

TEST(zeros_are_data_where_a_value_has_begun_and_what_follows_fits)
{
    static const struct {
        uint8_t n, begun[6], next[4];
        bool aligned, lacks;
    } rows[] = {{1, {0x8F}, {0xC0, 0x5D, 0x8F, 1}, true, true},
                {1, {0x8F}, {1, 0, 0, 0}, true, false}, /* nothing prints: 1 is the value */
                {2, {0x8F, 0}, {0, 0, 0xC0, 0x5D}, true, false},
                {1, {0xC0}, {0x5D, 0x8F, 1, 0}, true, false},
                {5, {0x8F, 0, 0, 0, 0}, {0xC0, 0x5D, 0x8F, 1}, true, false},
                {4, {1, 0xC0, 0x5D, 0x8F}, {0xC0, 0x5D, 0x8F, 1}, false, true},
                {4, {1, 0xC0, 0x5D, 0x3F}, {0xC0, 0x5D, 0x8F, 1}, false, false},
                {0, {0}, {0xC0, 0x5D, 0x8F, 1}, false, false}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        char said[1024];
        struct trace_moments moments = begin(said, PERIOD);
        moments.aligned = rows[i].aligned;
        moments.kinds = 1U << TRACE_EVENTS | 1U << TRACE_DATA_WRITTEN;
        trace_moments_take(&moments, rows[i].begun, rows[i].n);
        assert_int_equal(trace_moments_lack_zeros(&moments, rows[i].next, sizeof rows[i].next),
                         rows[i].lacks);
        trace_moments_free(&moments);
    }
}

TEST(what_a_timestamp_counts_follows_from_cycle_events)
{
    static const struct {
        uint64_t beat, match;
        int plus;
    } rows[] = {{16383, 0, 1}, {16384, 0, 0}, {16382, 0, -1}, {6383, 9999, 1}, {6384, 10000, 0}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct trace_calibration calibration = {.period = PERIOD};
        for (unsigned k = 0; k < 16; k++) {
            const struct trace_packet packets[] = {{.kind = TRACE_MATCH},
                                                   {.kind = TRACE_TIME, .value = rows[i].match},
                                                   {.kind = TRACE_EVENTS, .value = TRACE_EVENT_CYCLES},
                                                   {.kind = TRACE_TIME, .value = rows[i].beat}};
            for (size_t p = rows[i].match > 0 ? 0 : 2; p < COUNT(packets); p++)
                trace_calibration_take(&calibration, &packets[p]);
        }
        assert_int_equal(trace_calibration_plus(&calibration), rows[i].plus);
    }
}

/* ---- captures of real chips, in the folder that PMU_TRACES names: of Open-CMSIS-Pack's devtools,
 * tools/ctrace */

struct capture {
    struct trace_moments moments;
    uint64_t kinds[TRACE_KINDS], sum, last_beat, intervals, right, syncs_at[4], syncs;
    uint64_t entered, exited_at, returned, gaps[64];
    bool has_beat, ticks, beat;
    unsigned what;
    uint64_t tick, near_tick;
};

static void capture_packet(struct capture *c, const struct trace_packet *packet)
{
    c->kinds[packet->kind]++;
    bool is_sample = packet->kind == TRACE_PC || packet->kind == TRACE_ASLEEP;
    c->beat = c->beat || (packet->kind == TRACE_EVENTS && packet->value == TRACE_EVENT_CYCLES) || is_sample;
    if (packet->kind == TRACE_EXCEPTION)
        c->what = packet->n;
    if (packet->kind == TRACE_SYNC && c->syncs < COUNT(c->syncs_at))
        c->syncs_at[c->syncs++] = c->sum;
    if (packet->kind != TRACE_TIME)
        return;
    c->sum += packet->value + 1;
    c->near_tick += packet->value > 74900 && packet->value < 75100;
    if (c->beat) {
        c->intervals += c->has_beat;
        c->right += c->has_beat && c->sum - c->last_beat == PERIOD;
        c->last_beat = c->sum;
        c->has_beat = true;
    }
    if (c->what == TRACE_EXIT)
        c->exited_at = c->sum;
    if (c->what == TRACE_RETURN && c->exited_at > 0 && c->sum - c->exited_at < COUNT(c->gaps)) {
        c->gaps[c->sum - c->exited_at]++;
        c->returned++;
    }
    c->what = 0;
    c->beat = false;
}

static size_t capture_read(const char *name, uint8_t *out, size_t room)
{
    const char *folder = getenv("PMU_TRACES");
    char path[512];
    if (folder == NULL)
        skip();
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(out, 1, room, file);
    fclose(file);
    return n;
}

static uint8_t captured[140000];

/* From where packets begin. */
static void capture_decode(struct capture *c, const uint8_t *bytes, size_t n)
{
    struct trace_decoder decoder = {0};
    struct trace_packet packet;
    const uint8_t *at = bytes, *end = bytes + n;
    while (trace_next(&decoder, &at, end, &packet))
        capture_packet(c, &packet);
}

static size_t capture_begin(const uint8_t *bytes, size_t n, uint32_t kinds)
{
    for (size_t from = 0; from < 256 && from < n; from++) {
        struct trace_decoder decoder = {0};
        struct trace_packet packet;
        const uint8_t *at = bytes + from, *end = bytes + n;
        size_t legal = 0;
        while (legal < 32 && trace_next(&decoder, &at, end, &packet) && (kinds >> packet.kind & 1) != 0 &&
               (legal > 0 || packet.kind != TRACE_TIME))
            legal++;
        if (legal == 32)
            return from;
    }
    return n;
}

TEST(a_capture_of_cycle_events_and_writes)
{
    static struct capture c;
    size_t n = capture_read("h7-m7-swo-data.raw", captured, sizeof captured);
    const uint32_t kinds =
        1U << TRACE_TIME | 1U << TRACE_EVENTS | 1U << TRACE_DATA_WRITTEN | 1U << TRACE_SYNC;
    size_t from = capture_begin(captured, n, kinds);
    assert_true(from < 128);
    capture_decode(&c, captured + from, n - from);
    assert_int_equal(c.kinds[TRACE_BAD] + c.kinds[TRACE_RESERVED], 0);
    assert_int_equal(c.intervals, 26130);
    assert_int_equal(c.right, 26129);
    assert_int_equal(c.kinds[TRACE_SYNC], 3); /* one more precedes what the packets begin with */
    assert_int_equal(c.syncs_at[2] - c.syncs_at[1], UINT64_C(1) << 28);
}

TEST(a_capture_of_the_writes_of_a_tick)
{
    static struct capture c;
    size_t n = capture_read("h7-dual-swo.raw", captured, sizeof captured);
    const uint32_t kinds =
        1U << TRACE_TIME | 1U << TRACE_DATA_PC | 1U << TRACE_DATA_WRITTEN | 1U << TRACE_SYNC;
    size_t from = capture_begin(captured, n, kinds);
    assert_int_equal(from, 6);
    capture_decode(&c, captured + from, n - from);
    assert_int_equal(c.kinds[TRACE_BAD], 1); /* it is three pieces of 4,096 bytes */
    assert_int_equal(c.kinds[TRACE_DATA_PC], 876);
    /* By hand: 0x8F is there 879 times, thrice as the low byte of a value (143, 2,447, 3,727). At byte 8,190
     * a piece ends within a packet, `47 AA`, which takes in the next one's first bytes */
    assert_int_equal(c.kinds[TRACE_DATA_WRITTEN], 876);
    assert_int_equal(c.kinds[TRACE_TIME], 875);
    assert_int_equal(c.kinds[TRACE_SYNC], 3);
    assert_true(c.near_tick > 850);
}

TEST(a_capture_of_two_cores_in_frames)
{
    static const struct {
        uint64_t stamps, exceptions, at[3], n[3], intervals;
    } cores[] = {{312, 55, {24, 23, 22}, {52, 2, 1}, 120}, {213, 28, {9, 8, 7}, {28, 0, 0}, 128}};
    const uint32_t kinds =
        1U << TRACE_TIME | 1U << TRACE_PC | 1U << TRACE_EXCEPTION | 1U << TRACE_DATA_WRITTEN;
    static uint8_t streams[2][4096];
    size_t n = capture_read("h7-dual-etb.raw", captured, sizeof captured), has[2] = {0};
    uint8_t id = 0;
    for (size_t i = 0; i + TRACE_FRAME <= n; i += TRACE_FRAME) {
        struct trace_byte bytes[TRACE_FRAME_BYTES];
        size_t m = trace_frame_take(&id, captured + i, bytes);
        for (size_t k = 0; k < m; k++)
            if (bytes[k].id == 1 || bytes[k].id == 2)
                streams[bytes[k].id - 1][has[bytes[k].id - 1]++] = bytes[k].byte;
    }
    for (size_t core = 0; core < 2; core++) {
        static struct capture c;
        c = (struct capture){0};
        size_t from = capture_begin(streams[core], has[core], kinds);
        capture_decode(&c, streams[core] + from, has[core] - from);
        assert_int_equal(c.kinds[TRACE_BAD] + c.kinds[TRACE_RESERVED], 0);
        assert_int_equal(c.kinds[TRACE_TIME], cores[core].stamps);
        assert_int_equal(c.returned, cores[core].exceptions);
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(c.gaps[cores[core].at[i]], cores[core].n[i]);
        assert_int_equal(c.intervals, cores[core].intervals);
        assert_int_equal(c.right, cores[core].intervals);
    }
}
