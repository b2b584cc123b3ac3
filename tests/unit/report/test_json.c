/* What is written is read back by a parser, line by line. */
#include "report/fresh.h"

#include "report/json.h"

#include <jansson.h>
#include <math.h>

/* The one line that was written, parsed. */
static json_t *line_written(void)
{
    size_t size = 0;
    char *text = output_text(&size);
    assert_true(size > 1);
    assert_ptr_equal(strchr(text, '\n'), text + size - 1);
    for (size_t i = 0; i + 1 < size; i++)
        assert_true((unsigned char)text[i] >= 0x20 && text[i] != 0x7F);
    json_error_t error;
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (json == NULL)
        fail_msg("%s: %s", error.text, text);
    free(text);
    return json;
}

static json_t *header_of(time_t started)
{
    assert_true(json_header(output(), &summary->conditions, summary->columns, summary->n, started));
    return line_written();
}

static json_t *summary_written(void)
{
    assert_true(summary_line_write(output(), summary));
    return line_written();
}

/* Lines of little, one after the other. */
FRESH_TEST(unknowns_are_left_out)
{
    struct hit_result hit = {.number = 1};
    FILE *out = output();
    assert_true(summary_line_write(out, summary));
    summary->seconds = (double)NAN;
    assert_true(summary_line_write(out, summary));
    assert_true(json_hit(out, &hit, summary));
    summary_column(summary, "CYCLES", NULL, 0)->calibrated = false;
    summary->conditions.clock_hz = 48e6;
    summary->seconds = 2.5;
    snprintf(summary->ended, sizeof summary->ended, "Ctrl-C");
    assert_true(summary_line_write(out, summary));
    hit = (struct hit_result){
        .number = 7, .tainted = true, .seconds = 0.125, .n = 1, .values = {{.count = 18204}}};
    assert_true(json_hit(out, &hit, summary));
    hit.values[0] = (struct value){.count = (UINT64_C(1) << 62) + 1, .at_least = true};
    assert_true(json_hit(out, &hit, summary));
    /* Not an integer of the parser's: a real, never a negative number */
    hit.values[0].count = UINT64_MAX;
    assert_true(json_hit(out, &hit, summary));
    output_is_golden("json/little.jsonl");
    summary->n = 0;
    summary->conditions.clock_hz = 0;
    json_t *header = header_of(0);
    assert_int_equal(json_object_size(header), 3); /* schema, type and tool */
    json_decref(header);
}

FIR_TEST(any_bytes_in_every_string)
{
    struct conditions *c = &summary->conditions;
    char *const fields[] = {c->link,        summary->ended,  summary->columns[0].name,
                            c->core,        c->counter,      c->note,
                            c->elf,         c->build_id,     c->start,
                            c->end,         c->start_source, c->end_source,
                            c->clock_source};
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        memcpy(fields[i], "\"\\\x1B\x9B\xFF\xC2\n\xC2\x9B\xED\xA0\x80z", 14);
    /* Full to the last byte */
    memset(c->elf, 0xFE, sizeof(c->elf) - 1);
    c->elf[sizeof(c->elf) - 1] = '\0';

    const char *clean = "\"\\\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDz";
    json_t *header = header_of(1);
    assert_string_equal(json_string_value(json_object_get(header, "link")), clean);
    assert_int_equal(json_string_length(json_object_get(header, "elf")), 3 * (sizeof(c->elf) - 1));
    assert_string_equal(json_string_value(json_array_get(json_object_get(header, "columns"), 0)), clean);
    json_decref(header);
    struct hit_result hit = {.number = 1, .n = 1, .values = {{.count = 5, .at_least = true}}};
    assert_true(json_hit(output(), &hit, summary));
    json_t *line = line_written();
    assert_int_equal(json_integer_value(json_object_get(json_object_get(line, "values"), clean)), 5);
    json_decref(line);
    line = summary_written();
    assert_string_equal(json_string_value(json_object_get(line, "ended")), clean);
    assert_non_null(json_object_get(json_object_get(line, "columns"), clean));
    json_decref(line);
}
