/*
 * The reader of OpenOCD's answers: the first bytes make a list of steps, the rest is the answer to it.
 */
#include "links/openocd_process.h"
#include "links/openocd_tcl.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 8, VIEWS = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct step some_step(uint8_t byte)
{
    struct address at = {.space = SPACE_MEMORY, .size = (uint8_t)(1U << (byte & 3U))};
    at.offset = (uint64_t)(byte >> 5) * at.size;
    struct step step = {.op = (enum op)((byte >> 2) % (OP_TIME + 1)), .at = at, .value = 1, .mask = 1};
    return step;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < STEPS)
        return 0;
    struct step steps[STEPS];
    for (size_t i = 0; i < STEPS; i++)
        steps[i] = some_step(data[i]);
    size_t length = size - STEPS;
    /* Exactly as long as it is, so that reading past the end is noticed */
    char *text = malloc(length + 1);
    if (text == NULL)
        return 0;
    memcpy(text, data + STEPS, length);
    text[length] = '\0';
    struct openocd_reply reply;
    uint64_t results[STEPS];
    struct outcome outcome;
    if (openocd_reply_read(text, length, &reply) &&
        openocd_reply_take(&reply, steps, STEPS, results, &outcome)) {
        char words[64];
        openocd_text_clean(reply.words, reply.words_length, words, sizeof words);
        if (outcome.done > STEPS || (outcome.why == DONE) != (outcome.done == STEPS) ||
            strlen(words) >= sizeof words)
            abort();
    }
    struct link_view views[VIEWS];
    size_t n = 0;
    if (openocd_targets_read(text, length, views, VIEWS, &n))
        for (size_t i = 0; i < n && i < VIEWS; i++)
            if (views[i].unit != i || views[i].name[0] == '\0')
                abort();
    unsigned major = 0, minor = 0;
    openocd_version_read(text, &major, &minor);
    free(text);
    return 0;
}
