/*
 * Event files, metric files and -e as a user may write them. The first byte chooses which. Whatever is read
 * without an error keeps what the headers promise; whatever is not says so, and on which line.
 */
#include "counters/events.h"
#include "counters/metric.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { WISHES = 12, OTHERS = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const char *text;
    size_t n;
};

static void demand(bool condition)
{
    if (!condition)
        abort();
}

/* The sets "a" to "d" are the quarters of the input, so that they can use each other and themselves. */
static const char *find_other(void *self, const char *name, size_t *n)
{
    const struct input *input = self;
    if (name[1] != '\0' || name[0] < 'a' || name[0] >= 'a' + OTHERS)
        return NULL;
    *n = input->n / OTHERS;
    return input->text + *n * (size_t)(name[0] - 'a');
}

static void try_events(struct input *input)
{
    struct error error = {0};
    struct event_set *set = event_set_parse(input->text, input->n, find_other, input, &error);
    demand((set == NULL) == (error.kind != ERROR_NONE));
    demand(set != NULL || strstr(error.text, "line ") != NULL);
    for (size_t i = 0; set != NULL && i < event_set_count(set); i++) {
        const struct event *event = event_set_at(set, i);
        demand(event->name[0] != '\0');
        demand(event_set_by_code(set, event->code) == event);
        demand(event_set_find(set, event->name) == event);
    }
    event_set_free(set);
}

static bool has_any(void *self, const char *event)
{
    (void)self;
    return event[0] != '\0';
}

static void try_metrics(const struct input *input)
{
    struct error error = {0};
    double counts[METRIC_EVENTS];
    for (size_t i = 0; i < METRIC_EVENTS; i++)
        counts[i] = (double)i - 3;
    struct metric_input values = {.counts = counts, .cycles = 1e6, .seconds = 0, .hz = NAN};
    struct metric_set *set = metric_set_parse(input->text, input->n, &error);
    demand((set == NULL) == (error.kind != ERROR_NONE));
    demand(set != NULL || strncmp(error.text, "line ", 5) == 0);
    for (size_t i = 0; set != NULL && i < metric_set_count(set); i++) {
        const struct metric *metric = metric_set_at(set, i);
        demand(metric->n_events <= METRIC_EVENTS && metric->n_steps > 0 && metric->n_steps <= METRIC_STEPS);
        demand(metric_set_find(set, metric->name, has_any, NULL) != NULL);
        demand(!isinf(metric_evaluate(metric, &values)));
    }
    metric_set_free(set);
}

static void try_requests(const struct input *input)
{
    struct event_request out[WISHES];
    struct error error = {0};
    size_t n = 0;
    char *text = strndup(input->text, input->n);
    for (int again = 0; again < 2 && text != NULL; again++) {
        size_t before = n;
        error_clear(&error);
        bool ok = event_requests_parse(text, out, WISHES, &n, &error);
        demand(ok == (error.kind == ERROR_NONE));
        demand(n <= WISHES && (ok ? n > before : n == before));
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    /* Exactly as long as it is, so that reading past the end is noticed */
    struct input input = {.n = size - 1};
    char *text = malloc(input.n > 0 ? input.n : 1);
    if (text == NULL)
        return 0;
    memcpy(text, data + 1, input.n);
    input.text = text;
    if (data[0] % 3 == 0)
        try_events(&input);
    else if (data[0] % 3 == 1)
        try_metrics(&input);
    else
        try_requests(&input);
    free(text);
    return 0;
}
