/* SPDX-License-Identifier: MIT */
/* `show`: an old result, from its JSON lines, in any format that its command has. No target is touched. */
#include "report/show.h"
#include "commands/command.h"
#include "report/delta_report.h"
#include "report/target_report.h"
#include "report/terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const from_where = "show takes what a command wrote with -j -o FILE.jsonl.";

/* What a file has, as it is read: of any number of hits. */
struct show_reading {
    enum format format;
    FILE *whole; /* as JSON: all lines, cleaned */
    struct hit_times *times;
    uint64_t hits, left_out;
    bool begun, is_profile; /* it begins as what record writes */
    char column[128];       /* the first */
};

/* Tables are made of the other lines alone. */
static bool show_take(void *context, const json_t *line, bool *ok)
{
    struct show_reading *reading = context;
    if (reading->whole != NULL)
        *ok = json_line_write(reading->whole, line);
    if (line_is_of(line, "header"))
        snprintf(reading->column, sizeof reading->column, "%s",
                 text_or_empty(json_array_get(field_of(line, "columns"), 0)));
    reading->is_profile = reading->begun ? reading->is_profile : line_is_of(line, "profile");
    reading->begun = true;
    if (!line_is_of(line, "hit"))
        return true;
    if (reading->times != NULL)
        delta_add_time(reading->times, line, reading->column);
    bool keeps = reading->format == FORMAT_HTML && reading->hits++ < PAGE_HITS;
    reading->left_out += !keeps;
    return keeps;
}

static bool show_copy(FILE *from, FILE *to)
{
    char block[1 << 14];
    rewind(from);
    for (size_t n; (n = fread(block, 1, sizeof block, from)) > 0;)
        if (fwrite(block, 1, n, to) != n)
            return false;
    return !ferror(from) && output_flush(to);
}

static bool show_show(const struct context *context, const struct document *document,
                      const struct show_reading *reading, const char *file, struct error *error)
{
    struct rendering to = command_rendering(context);
    to.command = NULL; /* it is not what measured */
    const struct shown_result *result = show_find(document);
    char who[64];
    const char *last = result != NULL ? result->last : "summary";
    if (last != NULL && document_line(document, last) == NULL)
        return error_advise(error, ERROR_USAGE, from_where, "%.256s: no %s: that run was cut off", file,
                            last);
    if (result == NULL)
        return error_advise(error, ERROR_USAGE, from_where, "%.256s: not a result that can be shown", file);
    snprintf(who, sizeof who, "show of a result of %s", result->command);
    unsigned formats = show_formats(result, document);
    if ((formats >> to.format & 1) == 0)
        return format_refuse(to.format, "--format", who, formats, error);
    command_has_result(context);
    return command_wrote(
        reading->whole != NULL ? show_copy(reading->whole, to.out) : result->write(&to, document), error);
}

static bool show_read(struct show_reading *reading, const struct context *context, const char *path,
                      struct document *document, struct error *error)
{
    const struct document_taker taker = {show_take, reading};
    struct json_file file;
    struct error why = {0};
    if (!json_file_open(&file, path, context->around.cancel, error))
        return false;
    bool ok = document_read(&file.lines, path, &taker, document, &why);
    bool is_broken = file.lines.error != 0;
    json_file_close(&file);
    if (ok) {
        document->times = reading->times;
        document->left_out = reading->left_out;
        return true;
    }
    return is_broken ? error_copy(error, &why) : error_advise(error, ERROR_USAGE, from_where, "%s", why.text);
}

bool command_facts(const struct context *context, struct document *document, struct error *error)
{
    const struct rendering to = command_rendering(context);
    bool empty = document_line(document, "header") == NULL, ok = empty || target_write(&to, document);
    document_free(document);
    return ok || (error->kind == ERROR_NONE && command_wrote(false, error));
}

/* What record wrote is shown by report. */
static int show_profile(const struct context *context, struct error *error)
{
    enum format format = context->options->format;
    unsigned formats = commands[COMMAND_REPORT].formats;
    if ((formats >> format & 1) != 0)
        return command_report(context, error);
    format_refuse(format, "--format", "show of a profile", formats, error);
    return error_exit_code(error->kind);
}

int command_show(const struct context *context, struct error *error)
{
    const char *path = context->options->operands[0];
    char name[UTF8_CLEAN_ROOM(256)];
    struct document document = {0};
    struct show_reading reading = {.format = context->options->format};
    if (reading.format == FORMAT_JSON)
        reading.whole = tmpfile();
    if (reading.format == FORMAT_HTML)
        reading.times = calloc(1, sizeof *reading.times);
    bool ok = (reading.format != FORMAT_JSON || reading.whole != NULL) &&
              (reading.format != FORMAT_HTML || reading.times != NULL);
    ok = (ok || error_set(error, ERROR_SYSTEM, "show: %s", strerror(errno))) &&
         show_read(&reading, context, path, &document, error);
    if (ok)
        ok = show_show(context, &document, &reading, utf8_clean(name, sizeof name, path), error);
    document_free(&document);
    free(reading.times);
    if (reading.whole != NULL)
        fclose(reading.whole);
    if (reading.is_profile) {
        error_clear(error);
        return show_profile(context, error);
    }
    return ok ? EXIT_DONE : error_exit_code(error->kind);
}
