#include "report/figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *figure_exact(char out[NUMBER_ROOM], double value)
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, NUMBER_ROOM, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            break;
    }
    return out;
}

const char *figure_mean(char out[NUMBER_ROOM], double mean)
{
    int decimals = mean == floor(mean) || mean >= 1000 ? 0 : mean >= 100 ? 1 : 2;
    return number_decimal(out, NUMBER_ROOM, mean, decimals);
}

const char *figure_change(char out[NUMBER_ROOM], double change)
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

const char *figure_part(char out[NUMBER_ROOM], double part)
{
    snprintf(out, NUMBER_ROOM, "%.6g %%", part * 100);
    return out;
}
