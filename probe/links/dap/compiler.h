/*
 * Predictions: the whole word that a register is likely to hold when a wait or a proof on it comes out well.
 * A match on the whole word implies the match that was asked for, and spares the five bytes by which the
 * match mask is changed. A prediction that fails costs one more look, never a wrong result: the step is then
 * decided by its own mask.
 */
#pragma once

#include "base/step.h"
#include "links/dap/ap_state.h"
#include "links/dap/protocol.h"

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

/*
 * The packet compiler: a list of steps becomes DAP_Transfer packets, one at a time. *until* and *expect* are
 * value matches, which the probe's firmware repeats and by which it ends the packet; everything else is as
 * few bytes as the registers' state allows. Pure. The decoder reads the replies.
 *
 * A match on memory re-reads its register, up to once more than it was asked to: it is for registers that do
 * not mind, which data-transfer registers do.
 */
struct compiler {
    size_t packet_size;
    uint8_t index;    /* of the device on a JTAG chain */
    bool jtag;        /* faults show in CTRL/STAT only: it is read behind every write and at the end */
    bool padded;      /* the length of a reply says nothing */
    bool loses_place; /* the firmware, where a match stands directly behind a posted read; over JTAG it may
                         not */
    bool match;       /* the firmware compares; otherwise a packet ends at each wait and proof */
    struct ap_state ap;
    struct predictor predictor;
};

/* Why no step like this can be carried out; NULL if one can. */
const char *compiler_refusal(const struct compiler *compiler, const struct step *step);

/*
 * Packets that are sent before the one in front of them is answered: each ends by leaving a token in TAR, and
 * the next one begins with a match on it. So nothing of it is carried out when the one before ended early.
 */
struct compiler_gates {
    bool behind, ahead;                 /* there is a packet before this one; after it */
    uint32_t behind_token, ahead_token; /* addresses that no step has */
};

/*
 * The next packet, with steps from `first` on: as many as fit, up to one that is refused or that belongs to
 * another debug port than those before it. With `look` the first step is a wait or a proof whose match
 * failed: it is read once for us to see, and a wait then goes on by its own mask. A packet without transfers
 * holds nothing but times, or nothing at all. With `gates`, which may be NULL, all steps are
 * memory behind one access port.
 */
void compiler_packet(struct compiler *compiler, const struct step *steps, size_t n, size_t first, bool look,
                     const struct compiler_gates *gates, struct packet *packet);
/* The transfers of a packet failed or are unknown: nothing that was sent to select registers counts any more.
 */
void compiler_forget(struct compiler *compiler);
