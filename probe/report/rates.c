#include "report/rates.h"

#include "report/fold.h"
#include "report/number.h"
#include "report/terminal.h"
#include "report/utf8.h"

#include <string.h>

enum { NAME = 18, TIME = 10, COUNT = 15, RATE = 16, TOTAL = 17, LINE = 512, INDENT = 2 };

static void put(const struct rates *rates, const char *const cells[5])
{
    char line[LINE];
    snprintf(line, sizeof line, "%s%*s %*s %*s %*s %*s", cells[0],
             utf8_width(cells[0]) < NAME ? (int)(NAME - utf8_width(cells[0])) : 0, "", TIME, cells[1], COUNT,
             cells[2], RATE, cells[3], TOTAL, cells[4]);
    if (utf8_width(line) <= terminal_columns(rates->out))
        fprintf(rates->out, "%s\n", line);
    else
        fold_text(rates->out, terminal_columns(rates->out), INDENT, line);
}

void rates_begin(struct rates *rates, FILE *out)
{
    static const char *const heading[] = {"counter", "time", "count", "rate", "total"};
    *rates = (struct rates){.out = out};
    put(rates, heading);
}

void rates_print(struct rates *rates, const struct rates_row *row)
{
    char name[UTF8_CLEAN_ROOM(96)], time[NUMBER_ROOM], number[NUMBER_ROOM];
    char count[NUMBER_ROOM + 4], rate[NUMBER_ROOM + 4], total[NUMBER_ROOM + 4];
    if ((row->count_at_least || row->total_at_least) && !rates->bounds_told) {
        rates->bounds_told = true;
        fold_text(rates->out, terminal_columns(rates->out), INDENT,
                  ">=: at least; reads came too late, and a counter may have wrapped");
    }
    snprintf(time, sizeof time, "%.3f s", row->seconds);
    snprintf(count, sizeof count, "%s%s", row->count_at_least ? ">=" : "",
             number_unsigned(number, sizeof number, row->count));
    snprintf(
        rate, sizeof rate, "%s%s/s", row->count_at_least ? ">=" : "",
        number_unsigned(number, sizeof number, row->rate < 1e18 ? (uint64_t)(row->rate + 0.5) : UINT64_MAX));
    snprintf(total, sizeof total, "%s%s", row->total_at_least ? ">=" : "",
             number_unsigned(number, sizeof number, row->total));
    const char *const cells[] = {terminal_text(name, sizeof name, row->name), time, count, rate, total};
    put(rates, cells);
}
