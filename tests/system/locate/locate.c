/* locate ELF LOCATION...: what symbols/ finds, a JSON line for each, for tests that compare it with binutils.
 */
#include "report/json.h"
#include "run/region.h"
#include "symbols/symbols.h"

#include <inttypes.h>
#include <stdio.h>

enum { CALLERS = 64 };

static void locate_put_callers(struct json_part *line, struct symbols *symbols, const struct location *at)
{
    const struct extent function = {at->low, at->high};
    uint64_t callers[CALLERS];
    size_t n = at->is_function_entry ? symbols_callers(symbols, &function, callers, CALLERS) : 0;
    json_t *array = json_array();
    for (size_t i = 0; i < n && i < CALLERS; i++)
        json_array_append_new(array, json_integer((json_int_t)callers[i]));
    json_part_array(line, "callers", array);
}

static bool locate_one(struct symbols *symbols, const char *text)
{
    struct location at;
    struct error error = {0}, refused = {0};
    struct json_part line = json_part_new("location");
    bool found = symbols_locate(symbols, text, &at, &error);
    json_part_text(&line, "location", text);
    if (found) {
        (void)region_check_place(symbols, &at, &refused);
        json_part_text(&line, "name", at.name);
        json_part_unsigned(&line, "address", at.address);
        json_part_unsigned(&line, "bytes", at.high - at.low);
        json_part_text(&line, "source", at.source);
        json_part_bool(&line, "is_entry", at.is_function_entry);
        json_part_text(&line, "note", at.note);
        json_part_text(&line, "refused", refused.text);
        locate_put_callers(&line, symbols, &at);
    } else {
        json_part_text(&line, "error", error.text);
        json_part_text(&line, "advice", error.advice != NULL ? error.advice : "");
    }
    return json_part_write(stdout, line) && found;
}

int main(int argc, char **argv)
{
    struct error error = {0};
    struct symbols *symbols = argc > 1 ? symbols_open(argv[1], &error) : NULL;
    bool ok = symbols != NULL;
    if (!ok)
        fprintf(stderr, "%s\n", error.text);
    for (int i = 2; i < argc && symbols != NULL; i++)
        ok = locate_one(symbols, argv[i]) && ok;
    symbols_close(symbols);
    return ok ? 0 : 2;
}
