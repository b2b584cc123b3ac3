/*
 * Reads eight counters' worth of words again and again through a CMSIS-DAP link, as fast as it goes, and
 * prints one line of JSON: samples, seconds and packets. Usage: stream PROBE SECONDS
 */
#include "links/dap/dap.h"

#include <stdio.h>
#include <stdlib.h>

/* As many a list as one call may take the time for, or the packets in flight run out at its end too often. */
enum { WORDS = 8, SAMPLES = 2048, READS = WORDS * SAMPLES };

/* DWT_CTRL to DWT_PCSR: CYCCNT and the five profiling counters with their control, eight neighbours. */
static const uint64_t FIRST = 0xE0001000;

int main(int argc, char **argv)
{
    static struct step steps[READS];
    static uint64_t results[READS];
    struct error error = {0};
    struct probe_spec request;
    struct link_view view;
    struct deadline deadline = deadline_in_ms(10000, NULL);
    double seconds = argc > 2 ? atof(argv[2]) : 1; // NOLINT(cert-err34-c): a bench's argument
    struct link *link =
        argc > 1 && probe_spec_read(argv[1], &request, &error) ? dap_open(&request, &deadline, &error) : NULL;
    if (link == NULL || link_views(link, &view, 1, &error) == 0) {
        fprintf(stderr, "stream: %s\n", error.text);
        link_close(link);
        return 1;
    }
    for (size_t i = 0; i < READS; i++)
        steps[i] =
            step_read((struct address){.size = 4, .unit = view.unit, .offset = FIRST + 4 * (i % WORDS)});
    uint64_t samples = 0, packets = dap_packets(link);
    int64_t begun = deadline_now_us(), end = begun + (int64_t)(seconds * 1e6);
    while (deadline_now_us() < end) {
        deadline = deadline_in_ms(10000, NULL);
        size_t done = 0;
        while (done < READS) {
            struct outcome outcome =
                link_execute(link, steps + done, READS - done, results + done, &deadline, &error);
            done += outcome.done;
            if (outcome.why != DONE && outcome.why != NOT_YET) {
                fprintf(stderr, "stream: %s\n", error.text);
                link_close(link);
                return 1;
            }
        }
        samples += SAMPLES;
    }
    printf("{\"samples\":%llu,\"seconds\":%.6f,\"packets\":%llu}\n", (unsigned long long)samples,
           (double)(deadline_now_us() - begun) / 1e6, (unsigned long long)(dap_packets(link) - packets));
    link_close(link);
    return 0;
}
