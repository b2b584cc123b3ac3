/* What is written is read back by a parser, line by line. */
#include "report/fresh.h"

#include "report/json.h"

#include <math.h>
#include <sys/stat.h>

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
    struct json_part header = json_header_part(JSON_SCHEMA, &summary->conditions, summary->columns, 0, 0);
    assert_int_equal(json_object_size(header.json), 3); /* schema, type and tool */
    json_decref(header.json);
}

FIR_TEST(full_lines)
{
    FILE *out = output();
    struct json_part header =
        json_header_part(JSON_SCHEMA, &summary->conditions, summary->columns, summary->n, 1);
    json_object_del(header.json, "tool"); /* whose version changes */
    summary->columns[0].at_least_max = 16777216;
    summary->columns[0].at_least = 3;
    assert_true(json_part_write(out, header));
    assert_true(summary_line_write(out, summary));
    output_is_golden("json/full.jsonl");
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
    struct hit_result hit = {.number = 1, .n = 1, .values = {{.count = 5, .at_least = true}}};
    struct document document;
    struct error error = {0};
    size_t size = 0;
    FILE *out = output();
    assert_true(json_header(out, c, summary->columns, summary->n, 1));
    assert_true(json_hit(out, &hit, summary));
    assert_true(summary_line_write(out, summary));
    char *text = output_text(&size);
    for (size_t i = 0; i < size; i++)
        assert_true(text[i] == '\n' || ((unsigned char)text[i] >= 0x20 && text[i] != 0x7F));
    if (!document_parse(text, size, "x", &document, &error))
        fail_msg("%s", error.text);
    const json_t *header = document_line(&document, "header"), *summed = document_line(&document, "summary");
    assert_string_equal(field_text(header, "link"), clean);
    assert_int_equal(strlen(field_text(header, "elf")), 3 * (sizeof(c->elf) - 1));
    assert_string_equal(json_string_value(json_array_get(field_of(header, "columns"), 0)), clean);
    assert_int_equal(field_count(field_of(document_line(&document, "hit"), "values"), clean), 5);
    assert_string_equal(field_text(summed, "ended"), clean);
    assert_non_null(json_object_get(field_of(summed, "columns"), clean));
    document_free(&document);
    free(text);
}

/* ---- parts: texts from anywhere, numbers in as few digits as say the same */

TEST(parts_make_a_line)
{
    FILE *out = output();
    struct json_part line = json_part_new("event"), inner = json_part_new(NULL), empty = json_part_new(NULL);
    json_t *list = json_array();
    json_part_text(&line, "name", "a\033[2J\"\\");
    json_part_text(&line, "left out", "");
    json_part_unsigned(&line, "count", UINT64_C(18446744073709551615));
    json_part_unsigned(&line, "code", 17);
    json_part_real(&line, "left out", (double)NAN);
    json_part_real(&line, "mean", 0.0079970000000000006);
    json_part_real(&line, "whole", 12);
    json_part_bool(&line, "usable", true);
    json_part_hex(&line, "base", 0x80090000);
    json_part_real(&inner, "sd", 1.3999999999999999);
    json_part_object(&line, "inner", inner);
    json_part_object(&line, "left out", empty);
    json_part_append(&line, list, json_part_string("0.30000000000000004 stays as it is"));
    json_part_append(&line, list, json_real(0.1 + 0.2));
    json_part_append(&line, list, json_integer(INT64_MIN));
    json_part_array(&line, "list", list);
    json_part_array(&line, "left out", json_array());
    assert_true(json_part_write(out, line));
    output_is(
        "{\"type\":\"event\",\"name\":\"a\xEF\xBF\xBD[2J\\\"\\\\\",\"count\":1.8446744073709552e19,\"code\":"
        "17,"
        "\"mean\":0.007997,\"whole\":12.0,\"usable\":true,\"base\":\"0x80090000\",\"inner\":{\"sd\":1.4},"
        "\"list\":[\"0.30000000000000004 stays as it is\",0.30000000000000004,-9223372036854775808]}\n");
}

/* So a killed run leaves whole lines. */
FIR_TEST(each_line_is_in_the_file_at_once)
{
    struct hit_result hit = {.number = 1, .n = 3};
    struct stat is;
    FILE *file = tmpfile();
    assert_true(json_header(file, &summary->conditions, summary->columns, summary->n, 1));
    assert_true(fstat(fileno(file), &is) == 0 && is.st_size > 0);
    assert_true(json_hit(file, &hit, summary));
    assert_true(fstat(fileno(file), &is) == 0 && is.st_size == ftell(file));
    fclose(file);
}

TEST(what_cannot_be_written_is_told)
{
    assert_false(json_part_write(output_full(), json_part_new("x")));
    assert_false(json_command_header(output_full(), "list", ""));
    FILE *out = output();
    struct json_part failed = json_part_new("x");
    failed.ok = false;
    assert_false(json_part_write(out, failed));
    output_is("");
}
