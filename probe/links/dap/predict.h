/*
 * Predictions: the whole word that a register is likely to hold when a wait or a proof on it comes out well.
 * A match on the whole word implies the match that was asked for, and spares the five bytes by which the
 * match mask is changed. A prediction that fails costs one more look, never a wrong result: the step is then
 * decided by its own mask.
 */
#pragma once

#include "base/step.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PREDICTIONS = 64, PREDICT_WRITES = 8 };

/* The same register under the same question after the same write to it. */
struct prediction {
    uint16_t unit;
    bool used, known, after_write;
    uint8_t strikes; /* failures in a row */
    uint32_t offset, mask, value, written;
    uint32_t word;
};

struct predictor {
    struct prediction entries[PREDICTIONS];
    unsigned next;
    struct predicted_write {
        uint16_t unit;
        bool used;
        uint32_t offset, value;
    } writes[PREDICT_WRITES];
    unsigned next_write;
};

enum predict_advice {
    PREDICT_NOTHING, /* match with the step's own mask */
    PREDICT_LEARN,   /* likewise, and read the word after it for predict_learn */
    PREDICT_WORD,    /* match on *word with all bits */
};

/* `entry` receives the number by which the calls below know the question. */
enum predict_advice predict_ask(struct predictor *predictor, const struct step *step, uint8_t *entry,
                                uint32_t *word);
void predict_learn(struct predictor *predictor, uint8_t entry, uint32_t word);
void predict_came_true(struct predictor *predictor, uint8_t entry);
/* The step was satisfied by `saw`, after a match on the predicted word had failed. */
void predict_failed(struct predictor *predictor, uint8_t entry, uint32_t saw);
void predict_note_write(struct predictor *predictor, const struct step *step);
