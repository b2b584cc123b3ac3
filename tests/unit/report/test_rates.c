/* The lines of `watch`. */
#include "golden.h"

#include "report/screen.h"

TEST(name_first_under_a_heading)
{
    struct rates rates;
    rates_begin(&rates, output());
    struct rates_row row = {
        .name = "CPU_CYCLES", .seconds = 1.001, .count = 10338019, .rate = 10330890.6, .total = 10338019};
    rates_print(&rates, &row);
    row = (struct rates_row){.name = "LSUCNT",
                             .seconds = 1.001,
                             .count = 510,
                             .rate = 509.4,
                             .total = 510,
                             .count_at_least = true,
                             .total_at_least = true};
    rates_print(&rates, &row);
    row.count_at_least = false;
    rates_print(&rates, &row);
    output_is_golden("rates/lines.txt");
}

/* The largest numbers are whole. */
TEST(a_line_that_is_too_wide_folds)
{
    struct rates rates;
    rates_begin(&rates, output());
    const struct rates_row row = {.name = "L2_READ_MISS:cmask=2:inv",
                                  .seconds = 86400.5,
                                  .count = UINT64_MAX,
                                  .rate = 1e30,
                                  .total = UINT64_MAX};
    rates_print(&rates, &row);
    output_is_golden("rates/folded.txt");
}
