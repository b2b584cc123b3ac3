#include "counters/metric.h"

#include <math.h>

bool metric_uses(const struct metric *metric, enum metric_op op)
{
    for (size_t i = 0; i < metric->n_steps; i++)
        if (metric->steps[i].op == op)
            return true;
    return false;
}

static double apply(enum metric_op op, double a, double b)
{
    switch (op) {
    case METRIC_ADD:
        return a + b;
    case METRIC_SUBTRACT:
        return a - b;
    case METRIC_MULTIPLY:
        return a * b;
    default:
        return b == 0 ? NAN : a / b;
    }
}

double metric_evaluate(const struct metric *metric, const struct metric_input *input)
{
    double stack[METRIC_STEPS] = {NAN};
    size_t n = 0;
    for (size_t i = 0; i < metric->n_steps; i++) {
        const struct metric_step *step = &metric->steps[i];
        switch (step->op) {
        case METRIC_NUMBER:
            stack[n++] = step->number;
            break;
        case METRIC_EVENT:
            stack[n++] = input->counts[step->event];
            break;
        case METRIC_CYCLES:
            stack[n++] = input->cycles;
            break;
        case METRIC_SECONDS:
            stack[n++] = input->seconds;
            break;
        case METRIC_HZ:
            stack[n++] = input->hz;
            break;
        case METRIC_NEGATE:
            stack[n - 1] = -stack[n - 1];
            break;
        default:
            n--;
            stack[n - 1] = apply(step->op, stack[n - 1], stack[n]);
        }
    }
    return isfinite(stack[0]) ? stack[0] : NAN;
}
