/* SPDX-License-Identifier: MIT */
#include "report/number.h"

#include "report/terminal.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *number_deliver(char *out, size_t size, const char *text)
{
    if (size > 0)
        snprintf(out, size, "%s", strlen(text) < size ? text : "#");
    return out;
}

/* `plain` is an optional sign, digits, and other text that stays as it is. */
static const char *deliver_grouped(char *out, size_t size, const char *plain)
{
    char grouped[512];
    size_t n = 0;
    if (*plain == '-')
        grouped[n++] = *plain++;
    for (size_t digits = strspn(plain, "0123456789"); digits > 0 && n < sizeof(grouped) - 2; digits--) {
        grouped[n++] = *plain++;
        if (digits % 3 == 1 && digits > 1)
            grouped[n++] = ',';
    }
    snprintf(grouped + n, sizeof(grouped) - n, "%s", plain);
    return number_deliver(out, size, grouped);
}

const char *number_unsigned(char *out, size_t size, uint64_t value)
{
    char plain[NUMBER_ROOM];
    snprintf(plain, sizeof(plain), "%" PRIu64, value);
    return deliver_grouped(out, size, plain);
}

const char *number_decimal(char *out, size_t size, double value, int decimals)
{
    char plain[352]; /* DBL_MAX has 309 digits */
    snprintf(plain, sizeof(plain), "%.*f", decimals < 0 ? 0 : decimals > 17 ? 17 : decimals, value);
    bool minus_zero = plain[0] == '-' && plain[strspn(plain, "-0.")] == '\0';
    return deliver_grouped(out, size, minus_zero ? plain + 1 : plain);
}

const char *number_shortest(char *out, size_t size, double value)
{
    enum { MOST_DIGITS = 17 }; /* enough for every double */
    char text[NUMBER_ROOM];
    int digits = 15;
    do
        snprintf(text, sizeof(text), "%.*g", digits, value);
    while (strtod(text, NULL) != value && ++digits <= MOST_DIGITS);
    return number_deliver(out, size, text);
}

const char *number_rounded(char *out, size_t size, double value)
{
    char text[NUMBER_ROOM];
    bool whole = fabs(value) >= 1e6 && fabs(value) < 1e15;
    snprintf(text, sizeof(text), whole ? "%.0f" : "%.6g", value);
    return number_deliver(out, size, text);
}

struct unit {
    double size;
    const char *name;
};

/* Four significant digits, in the unit that leaves one to three of them before the point. */
static const char *scaled(char *out, size_t size, double value, const struct unit *units, size_t n, bool trim)
{
    double magnitude = fabs(value);
    size_t i = 0;
    while (i + 1 < n && magnitude / units[i].size >= 999.95)
        i++;
    double x = magnitude / units[i].size;
    char digits[400], text[420];
    number_decimal(digits, sizeof(digits), value / units[i].size,
                   x < 9.9995   ? 3
                   : x < 99.995 ? 2
                   : x < 999.95 ? 1
                                : 0);
    if ((trim || value == 0) && strchr(digits, '.') != NULL) {
        size_t length = strlen(digits);
        while (digits[length - 1] == '0')
            length--;
        digits[digits[length - 1] == '.' ? length - 1 : length] = '\0';
    }
    snprintf(text, sizeof(text), "%s %s", digits, units[i].name);
    return number_deliver(out, size, text);
}

const char *number_duration(char *out, size_t size, double seconds)
{
    const char *micro = terminal_or("µs", "us");
    const struct unit units[] = {{1e-9, "ns"}, {1e-6, micro}, {1e-3, "ms"}, {1, "s"}};
    return scaled(out, size, seconds, units, sizeof(units) / sizeof(units[0]), false);
}

const char *number_frequency(char *out, size_t size, double hz)
{
    static const struct unit units[] = {{1, "Hz"}, {1e3, "kHz"}, {1e6, "MHz"}, {1e9, "GHz"}};
    return scaled(out, size, hz, units, sizeof(units) / sizeof(units[0]), true);
}

const char *number_elapsed(char *out, size_t size, double seconds)
{
    char text[NUMBER_ROOM];
    if (!(seconds < 1e15))
        return number_deliver(out, size, "#");
    if (seconds < 0.0995)
        snprintf(text, sizeof(text), "%.0f ms", seconds * 1e3);
    else if (seconds < 9.95)
        snprintf(text, sizeof(text), "%.1f s", seconds);
    else if (seconds < 119.5)
        snprintf(text, sizeof(text), "%.0f s", seconds);
    else if (seconds < 7200)
        snprintf(text, sizeof(text), "%" PRIu64 " min %u s", (uint64_t)(seconds + 0.5) / 60,
                 (unsigned)((uint64_t)(seconds + 0.5) % 60));
    else
        snprintf(text, sizeof(text), "%" PRIu64 " h %u min", (uint64_t)(seconds + 30) / 3600,
                 (unsigned)((uint64_t)(seconds + 30) / 60 % 60));
    return number_deliver(out, size, text);
}

const char *number_mean(char out[NUMBER_ROOM], double mean)
{
    int decimals = mean == floor(mean) || mean >= 1000 ? 0 : mean >= 100 ? 1 : 2;
    return number_decimal(out, NUMBER_ROOM, mean, decimals);
}

int number_error_decimals(double error)
{
    return error == floor(error) || error >= 10 ? 0 : error >= 1 ? 1 : 2;
}

const char *number_error(char out[NUMBER_ROOM], double error, int decimals)
{
    double scale = pow(10, decimals);
    return number_decimal(out, NUMBER_ROOM, ceil(error * scale - 1e-6) / scale, decimals);
}

const char *number_change(char out[NUMBER_ROOM], double change)
{
    char digits[NUMBER_ROOM];
    double percent = change * 100, size = fabs(percent);
    int decimals = size == 0 || size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : 3;
    out[0] = '\0';
    if (!isfinite(percent))
        return out;
    number_decimal(digits, sizeof digits, percent, decimals);
    if (strlen(digits) + 4 > NUMBER_ROOM)
        memcpy(digits, "#", 2);
    snprintf(out, NUMBER_ROOM, "%s%.40s %%", percent > 0 ? "+" : "", digits);
    return out;
}

const char *number_part_up(char out[NUMBER_ROOM], double part)
{
    if (!(part > 0))
        return number_part(out, 0);
    double step = pow(10, floor(log10(part)) - 1);
    return number_part(out, ceil(part / step - 1e-9) * step);
}

const char *number_share(char out[NUMBER_ROOM], double part)
{
    snprintf(out, NUMBER_ROOM, "%.2f %%", part * 100);
    return out;
}

const char *number_points(char out[NUMBER_ROOM], double error)
{
    if (isfinite(error))
        snprintf(out, NUMBER_ROOM, "%.2f", ceil(fmax(error * 1e4 - 1e-6, 0)) / 100);
    else
        snprintf(out, NUMBER_ROOM, "?");
    return out;
}

const char *number_part(char out[NUMBER_ROOM], double part)
{
    snprintf(out, NUMBER_ROOM, "%.6g %%", part * 100);
    return out;
}

const char *number_events(char *out, size_t size, uint64_t value, const char *event)
{
    char number[NUMBER_ROOM];
    bool cycles = strcmp(event, "CPU_CYCLES") == 0;
    snprintf(out, size, "%s %s", number_unsigned(number, sizeof number, value),
             !cycles      ? event
             : value == 1 ? "cycle"
                          : "cycles");
    return out;
}
