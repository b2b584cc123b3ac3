/*
 * Any bytes as trace. The first one says which packets are possible and whether the bytes are in frames. All
 * are used, times never go back, and what is delivered is what the headers promise.
 */
#include "trace/moments.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool condition)
{
    if (!condition)
        abort();
}

static void check_moment(void *context, const struct trace_moment *moment)
{
    uint64_t *last = context;
    demand(moment->kind <= MOMENT_BEAT && moment->doubt < MOMENT_DOUBTS);
    demand(moment->cycles >= *last && moment->since <= moment->cycles);
    *last = moment->cycles;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t last = 0;
    uint8_t id = 0;
    if (size == 0)
        return 0;
    struct trace_moments moments = {.kinds = (data[0] & 1) != 0 ? UINT32_MAX
                                                                : 1U << TRACE_MATCH | 1U << TRACE_EVENTS,
                                    .plus = data[0] >> 1 & 1,
                                    .period = (data[0] & 4) != 0 ? 16384 : 0,
                                    .context = &last,
                                    .take = check_moment,
                                    .aligned = (data[0] & 8) != 0};
    bool framed = (data[0] & 16) != 0;
    data++;
    size--;
    if (!trace_moments_begin(&moments))
        return 0;
    if (!framed)
        trace_moments_take(&moments, data, size);
    for (; framed && size >= TRACE_FRAME; data += TRACE_FRAME, size -= TRACE_FRAME) {
        struct trace_byte bytes[TRACE_FRAME_BYTES];
        size_t n = trace_frame_take(&id, data, bytes);
        demand(n <= TRACE_FRAME_BYTES);
        for (size_t i = 0; i < n; i++)
            trace_moments_take(&moments, &bytes[i].byte, 1);
    }
    trace_moments_end(&moments);
    trace_moments_free(&moments);
    return 0;
}
