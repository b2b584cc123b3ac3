/* Lines of JSON: texts from anywhere, numbers in as few digits as say the same. */
#include "golden.h"
#include "report/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

TEST(every_real_is_read_back_as_it_was)
{
    uint64_t random = test_seed() | 1;
    for (size_t i = 0; i < test_cases(20000); i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        double value;
        memcpy(&value, &random, sizeof value);
        if (!isfinite(value))
            continue;
        json_t *list = json_array();
        json_array_append_new(list, json_real(i % 2 ? value : (double)(random >> 40) / 1e6));
        double kept = json_real_value(json_array_get(list, 0));
        assert_true(json_part_write(output(), (struct json_part){.json = list, .ok = true}));
        char *text = output_text(NULL);
        json_t *got = json_loads(text, 0, NULL);
        if (got == NULL || !json_is_real(json_array_get(got, 0)) ||
            json_real_value(json_array_get(got, 0)) != kept)
            fail_msg("%.17g became %s", kept, text);
        json_decref(got);
        free(text);
    }
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
