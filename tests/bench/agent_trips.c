/* Round trips a second to the agent: "PROBE N", lists of one access and of as many as one request holds. */
#include "knc/msr.h"

#include <stdio.h>
#include <stdlib.h>

enum { TSC = 0x10, PATIENCE_MS = 60000 };

static bool measure(struct link *link, size_t n, long trips, struct error *error)
{
    struct step steps[MSR_BATCH];
    uint64_t results[MSR_BATCH];
    struct link_view view;
    struct deadline deadline = deadline_in_ms(PATIENCE_MS, NULL);
    if (link_views(link, &view, 1, error) == 0)
        return false;
    for (size_t i = 0; i < n; i++)
        steps[i] =
            step_read((struct address){.space = SPACE_MSR, .size = 8, .unit = view.unit, .offset = TSC});
    int64_t begun_us = deadline_now_us();
    for (long i = 0; i < trips; i++)
        if (link_execute(link, steps, n, results, &deadline, error).why != DONE)
            return false;
    double seconds = (double)(deadline_now_us() - begun_us) / 1e6;
    printf("%zu %.0f %.0f\n", n, (double)trips / seconds, (double)trips * (double)n / seconds);
    return true;
}

int main(int argc, char **argv)
{
    struct error error = {0};
    struct deadline deadline = deadline_in_ms(PATIENCE_MS, NULL);
    long trips = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    struct link *link = trips > 0 ? msr_connect(argv[1], &deadline, &error) : NULL;
    bool ok = link != NULL && measure(link, 1, trips, &error) && measure(link, MSR_BATCH, trips, &error);
    if (!ok)
        fprintf(stderr, "%s\n", error.text);
    link_close(link);
    return ok ? 0 : 1;
}
