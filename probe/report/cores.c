#include "report/cores.h"

#include "report/json.h"
#include "report/number.h"
#include "report/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

enum { HEAD = 10, NARROWEST = 16, MARK = 2 };

static const char *missing(const struct cores_table *table, const struct cores_row *row, size_t column)
{
    const char *why = table->columns[column].unsupported;
    return why != NULL && why[0] != '\0' ? "<not supported>"
           : row->values[column].counted ? NULL
                                         : "<not counted>";
}

static void name_row(const struct cores_row *row, char *out, size_t size)
{
    if (row->core < 0)
        snprintf(out, size, "all");
    else
        snprintf(out, size, "core %d", row->core);
}

static int width_of(const char *name)
{
    size_t length = strlen(name);
    return (int)(length > NARROWEST ? length : NARROWEST) + MARK;
}

static void put_value(FILE *out, const struct cores_table *table, const struct cores_row *row, size_t column)
{
    char number[NUMBER_ROOM], text[NUMBER_ROOM + MARK];
    const char *absent = missing(table, row, column);
    if (absent == NULL)
        snprintf(text, sizeof text, "%s%s", row->values[column].at_least ? ">=" : "",
                 number_unsigned(number, sizeof number, row->values[column].count));
    fprintf(out, "%*s", width_of(table->columns[column].name), absent != NULL ? absent : text);
}

static void put_text(FILE *out, const struct cores_table *table)
{
    char name[NUMBER_ROOM];
    if (table->since_begin > 0)
        fprintf(out, "\n%.6f s\n", table->since_begin);
    fprintf(out, "%-*s", HEAD, "");
    for (size_t i = 0; i < table->n_columns; i++)
        fprintf(out, "%*s", width_of(table->columns[i].name), table->columns[i].name);
    for (size_t i = 0; i < table->n_metrics; i++)
        fprintf(out, "%*s", width_of(table->rows[0].metrics[i].name), table->rows[0].metrics[i].name);
    fputc('\n', out);
    for (size_t r = 0; r < table->n_rows; r++) {
        const struct cores_row *row = &table->rows[r];
        if (row->cpu >= 0)
            continue;
        name_row(row, name, sizeof name);
        fprintf(out, "%-*s", HEAD, name);
        for (size_t i = 0; i < table->n_columns; i++)
            put_value(out, table, row, i);
        for (size_t i = 0; i < table->n_metrics; i++) {
            char value[NUMBER_ROOM] = "<not counted>";
            if (isfinite(row->metrics[i].value))
                snprintf(value, sizeof value, "%.6g", row->metrics[i].value);
            fprintf(out, "%*s", width_of(row->metrics[i].name), value);
        }
        fputc('\n', out);
    }
}

static void put_closing(FILE *out, const struct cores_table *table)
{
    char skew[NUMBER_ROOM];
    fprintf(out, "\n%24.6f s%s  the counters of a CPU are read within %s of each other\n",
            table->n_rows > 0 ? table->rows[table->n_rows - 1].seconds : 0,
            table->passes > 1 ? "  each of the windows;" : "",
            number_duration(skew, sizeof skew, (double)table->skew_us / 1e6));
    if (table->lost > 0)
        fprintf(out, "%24" PRIu64 "    samples came too late to tell whether a counter had wrapped\n",
                table->lost);
}

/* Who, how many CPUs, count, event, seconds, whether it is a bound. */
static void put_csv(FILE *out, const struct cores_table *table, char s)
{
    char name[NUMBER_ROOM];
    for (size_t r = 0; r < table->n_rows; r++) {
        const struct cores_row *row = &table->rows[r];
        if (row->cpu >= 0)
            continue;
        name_row(row, name, sizeof name);
        for (size_t i = 0; i < table->n_columns; i++) {
            const char *absent = missing(table, row, i);
            if (table->since_begin > 0)
                fprintf(out, "%.6f%c", table->since_begin, s);
            fprintf(out, "%s%c%u%c", name, s, row->cpus, s);
            if (absent != NULL)
                fprintf(out, "%s", absent);
            else
                fprintf(out, "%" PRIu64, row->values[i].count);
            fprintf(out, "%c%s%c%.6f%c%s\n", s, table->columns[i].name, s, row->seconds, s,
                    absent == NULL && row->values[i].at_least ? "at least" : "");
        }
    }
}

static void put_json_row(FILE *out, const struct cores_table *table, const struct cores_row *row)
{
    const char *comma = "";
    fprintf(out, "{\"type\":\"%s\"", row->cpu >= 0 ? "cpu" : row->core >= 0 ? "core" : "all");
    if (row->cpu >= 0)
        fprintf(out, ",\"cpu\":%d", row->cpu);
    if (row->core >= 0)
        fprintf(out, ",\"core\":%d", row->core);
    if (table->since_begin > 0)
        fprintf(out, ",\"since_begin\":%.6f", table->since_begin);
    fprintf(out, ",\"cpus\":%u,\"seconds\":%.6f,\"columns\":{", row->cpus, row->seconds);
    for (size_t i = 0; i < table->n_columns; i++) {
        if (!row->values[i].counted)
            continue;
        fprintf(out, "%s\"%s\":{\"count\":%" PRIu64 ",\"at_least\":%s}", comma, table->columns[i].name,
                row->values[i].count, row->values[i].at_least ? "true" : "false");
        comma = ",";
    }
    fprintf(out, "},\"metrics\":{");
    comma = "";
    for (size_t i = 0; i < table->n_metrics; i++) {
        fprintf(out, "%s\"%s\":", comma, row->metrics[i].name);
        comma = ",";
        char value[NUMBER_ROOM] = "null";
        if (isfinite(row->metrics[i].value))
            number_shortest(value, sizeof value, row->metrics[i].value);
        fprintf(out, "%s", value);
    }
    fprintf(out, "}}\n");
}

static void put_json_end(FILE *out, const struct cores_table *table)
{
    fprintf(out, "{\"type\":\"summary\",\"passes\":%zu,\"skew_us\":%" PRIu64 ",\"lost\":%" PRIu64 "}\n",
            table->passes, table->skew_us, table->lost);
}

static void put_json(FILE *out, const struct cores_table *table)
{
    for (size_t r = 0; r < table->n_rows; r++)
        put_json_row(out, table, &table->rows[r]);
    if (table->since_begin <= 0)
        put_json_end(out, table);
}

bool cores_end(FILE *out, const struct cores_table *table)
{
    put_json_end(out, table);
    return fflush(out) == 0 && !ferror(out);
}

bool cores_begin(FILE *out, const struct conditions *conditions, const struct cores_table *table,
                 enum format format)
{
    struct column columns[RESULT_COLUMNS] = {0};
    for (size_t i = 0; i < table->n_columns; i++)
        snprintf(columns[i].name, sizeof columns[i].name, "%s", table->columns[i].name);
    if (format == FORMAT_JSON)
        return json_header(out, conditions, columns, table->n_columns, time(NULL));
    if (format == FORMAT_TEXT)
        text_header(out, conditions);
    return fflush(out) == 0 && !ferror(out);
}

bool cores_print(FILE *out, const struct cores_table *table, enum format format, char separator)
{
    if (format == FORMAT_JSON) {
        put_json(out, table);
    } else if (format == FORMAT_CSV) {
        put_csv(out, table, separator);
    } else {
        if (table->since_begin <= 0)
            fputc('\n', out);
        put_text(out, table);
        if (table->since_begin <= 0)
            put_closing(out, table);
    }
    return fflush(out) == 0 && !ferror(out);
}
