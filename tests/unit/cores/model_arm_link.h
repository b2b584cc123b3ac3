/*
 * The link to a model core: time that passes with accesses, steps by the contract of link_execute, and what
 * can go wrong at an access. For model_armv7_link.h and model_armv8_link.h, which have the registers.
 */
#pragma once

/* --- the script ----------------------------------------------------------------------------------------- */

static inline void model_load_event(struct model *m)
{
    if (m->next >= m->n_script) {
        m->next = 0;
        m->round++;
    }
    m->left = m->script[m->next].cycles + (uint64_t)m->script[m->next].grow * m->round;
}

static inline void model_pend(struct model *m)
{
    if (m->halted)
        m->pending = true;
    else
        m->busy += 90;
}

static inline void model_advance(struct model *m, uint64_t cycles)
{
    m->wall += cycles;
    while (cycles > 0 && !m->halted) {
        uint64_t *what = m->busy > 0 ? &m->busy : &m->left;
        uint64_t taken = *what < cycles ? *what : cycles;
        *what -= taken;
        cycles -= taken;
        m->counter += taken;
        if (*what == 0 && what == &m->busy)
            model_arrive(m);
        else if (*what == 0)
            model_happen(m);
    }
}

/* --- the link ------------------------------------------------------------------------------------------- */

/* One more access: time passes, and what was to happen at it happens. */
static inline enum why model_begin_access(struct model *m, enum model_trouble *trouble)
{
    long now = m->accesses++;
    *trouble = MODEL_FINE;
    if (now >= m->limit) {
        m->hung = true;
        return LINK_LOST;
    }
    model_age(m);
    if (m->going > 0 && --m->going == 0)
        model_leave(m);
    if (m->doing > 0 && --m->doing == 0)
        model_do(m);
    model_advance(m, 10);
    if (now != m->trouble_at && now != m->trouble_again)
        return DONE;
    *trouble = m->what;
    switch (m->what) {
    case MODEL_FINE:
    case MODEL_TWICE:
        break;
    case MODEL_CANCEL:
        m->cancelled = 1;
        return NOT_YET;
    case MODEL_WAIT:
        return TARGET_WAIT;
    case MODEL_REFUSE:
        return TARGET_FAULT;
    case MODEL_LOSE:
    case MODEL_LOSE_AFTER:
        return LINK_LOST;
    case MODEL_DO_RESET:
        model_reset(m);
        break;
    case MODEL_DO_HALT:
        m->pc += m->halted ? 0 : 0x20; /* between the script's addresses */
        model_request(m);
        break;
    case MODEL_DO_PEND:
        model_pend(m);
        break;
    }
    return DONE;
}

static inline struct outcome model_access(struct model *m, const struct step *step, uint64_t *result)
{
    for (unsigned polls = 1;; polls++) {
        enum model_trouble trouble;
        enum why why = model_begin_access(m, &trouble);
        if (why != DONE && trouble != MODEL_LOSE_AFTER)
            return (struct outcome){.why = why};
        bool answered = step->op == OP_WRITE ? model_write(m, step->at.offset, (uint32_t)step->value)
                                             : model_read(m, step->at.offset, result);
        if (trouble == MODEL_TWICE && step->op != OP_WRITE)
            answered = model_read(m, step->at.offset, result);
        if (why != DONE)
            return (struct outcome){.why = why};
        if (!answered) {
            m->careless++;
            return (struct outcome){.why = TARGET_FAULT};
        }
        if (step->op == OP_READ || step->op == OP_WRITE || (*result & step->mask) == step->value)
            return (struct outcome){.why = DONE};
        if (step->op == OP_EXPECT)
            return (struct outcome){.why = UNEXPECTED, .saw = *result};
        if (polls >= 200)
            return (struct outcome){.why = NOT_YET, .saw = *result};
    }
}

static inline struct outcome model_execute(struct link *link, const struct step *steps, size_t n,
                                           uint64_t *results, const struct deadline *deadline,
                                           struct error *error)
{
    struct model *m = (struct model *)link;
    (void)deadline;
    for (size_t i = 0; i < n; i++) {
        if (steps[i].op == OP_TIME) {
            results[i] = (m->wall + (steps[i].value == TIME_AFTER ? MODEL_MHZ - 1 : 0)) / MODEL_MHZ;
            continue;
        }
        uint64_t result = 0;
        struct outcome outcome = model_access(m, &steps[i], &result);
        outcome.done = i;
        if (outcome.why == LINK_LOST)
            error_set(error, ERROR_LINK_LOST, "the link is gone");
        else if (outcome.why == TARGET_FAULT || outcome.why == TARGET_WAIT)
            error_set(error, outcome.why == TARGET_WAIT ? ERROR_ASLEEP : ERROR_FAULT, "refused");
        if (outcome.why != DONE)
            return outcome;
        results[i] = result;
    }
    return (struct outcome){.why = DONE, .done = n};
}
