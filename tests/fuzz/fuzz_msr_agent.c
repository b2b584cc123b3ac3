/* What an agent sends, and what is typed to reach one. */
#include "knc/msr.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t n_cpus, done;
    bool busy;
    enum frame_why why;
    if (size < FRAME_HEADER)
        return 0;
    const uint8_t *rest = data + FRAME_HEADER;
    size_t left = size - FRAME_HEADER;
    if (frame_greeting(data, &n_cpus, &busy)) {
        struct msr_cpu cpus[MSR_CPUS];
        if (n_cpus > MSR_CPUS)
            abort();
        if (!busy && n_cpus * FRAME_CPU <= left && frame_cpus(rest, n_cpus, cpus))
            for (size_t i = 1; i < n_cpus; i++)
                if (cpus[i].number <= cpus[i - 1].number)
                    abort();
    }
    for (size_t asked = 1; asked <= MSR_BATCH; asked += 21)
        if (frame_reply(data, asked, data[7], &done, &why)) {
            uint64_t values[MSR_BATCH];
            if (done > asked || (why == FRAME_DONE) != (done == asked))
                abort();
            if (done * FRAME_VALUE <= left)
                frame_values(rest, done, values);
        }
    return 0;
}
