#include "links/dap/predict.h"

enum { STRIKES = 3 };

static const struct predicted_write *last_write(const struct predictor *predictor, const struct step *step)
{
    for (size_t i = 0; i < PREDICT_WRITES; i++) {
        const struct predicted_write *write = &predictor->writes[i];
        if (write->used && write->unit == step->at.unit && write->offset == step->at.offset)
            return write;
    }
    return NULL;
}

void predict_note_write(struct predictor *predictor, const struct step *step)
{
    struct predicted_write *write = (struct predicted_write *)last_write(predictor, step);
    if (write == NULL)
        write = &predictor->writes[predictor->next_write++ % PREDICT_WRITES];
    *write = (struct predicted_write){.unit = step->at.unit,
                                      .used = true,
                                      .offset = (uint32_t)step->at.offset,
                                      .value = (uint32_t)step->value};
}

enum predict_advice predict_ask(struct predictor *predictor, const struct step *step, uint8_t *entry,
                                uint32_t *word)
{
    const struct predicted_write *write = last_write(predictor, step);
    struct prediction wanted = {.unit = step->at.unit,
                                .used = true,
                                .after_write = write != NULL,
                                .offset = (uint32_t)step->at.offset,
                                .mask = (uint32_t)step->mask,
                                .value = (uint32_t)step->value,
                                .written = write != NULL ? write->value : 0};
    *entry = 0;
    if (wanted.mask == UINT32_MAX)
        return PREDICT_NOTHING;
    for (size_t i = 0; i < PREDICTIONS; i++) {
        const struct prediction *one = &predictor->entries[i];
        if (!one->used || one->unit != wanted.unit || one->offset != wanted.offset ||
            one->mask != wanted.mask || one->value != wanted.value ||
            one->after_write != wanted.after_write || one->written != wanted.written)
            continue;
        *entry = (uint8_t)i;
        *word = one->word;
        if (one->strikes >= STRIKES)
            return PREDICT_NOTHING;
        return one->known ? PREDICT_WORD : PREDICT_LEARN;
    }
    *entry = (uint8_t)(predictor->next++ % PREDICTIONS);
    predictor->entries[*entry] = wanted;
    return PREDICT_LEARN;
}

void predict_learn(struct predictor *predictor, uint8_t entry, uint32_t word)
{
    struct prediction *one = &predictor->entries[entry % PREDICTIONS];
    if ((word & one->mask) != one->value)
        return;
    one->word = word;
    one->known = true;
}

void predict_came_true(struct predictor *predictor, uint8_t entry)
{
    predictor->entries[entry % PREDICTIONS].strikes = 0;
}

void predict_failed(struct predictor *predictor, uint8_t entry, uint32_t saw)
{
    struct prediction *one = &predictor->entries[entry % PREDICTIONS];
    if (saw != one->word && one->strikes < STRIKES)
        one->strikes++;
}
