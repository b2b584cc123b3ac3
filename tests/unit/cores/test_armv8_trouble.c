/* The engine on an Armv8-A core when the same thing goes wrong at any access: trouble_arm.h. */
#include "rig_armv8.h"

/* Another debugger's breakpoint, everything slow, a server on the triggers, a program that sends messages. */
enum { THEIRS = 1, SLOW = 2, SERVED = 4, TALKS = 8 };

static const struct way {
    unsigned what;
    long soak, check;
} ways[] = {
    {0, 1, 24}, {THEIRS, 2, 48}, {SLOW, 3, 72}, {SERVED | TALKS, 3, 72}, {THEIRS | SLOW | SERVED, 7, 168}};

#include "trouble_arm.h"

static void set_way(struct model *m, unsigned way)
{
    m->slow_itr = m->slow_exit = way & SLOW ? 3 : 0;
    m->talks = way & TALKS;
    if (way & THEIRS)
        model_add_theirs(m);
    if (way & SERVED)
        model_serve(m);
}

/* It may be left halted, and then with debug on. */
static const char *foreign_told(struct rig *rig, bool ran)
{
    bool told = ran || rig->error.kind == ERROR_FOREIGN_STOP;
    const char *ended = rig_end(rig);
    if (ended != NULL && rig->model.halted) {
        rig->model.control = rig->before.control;
        rig->model.asked = rig->model.halted = false;
        ended = rig->model.hung ? "it hangs" : model_difference(&rig->model, &rig->before);
    }
    return ended != NULL ? ended : told ? NULL : "the foreign stop is not told";
}

RIG_TEST(asked_to_wait_anywhere)
{
    at_every_access(MODEL_WAIT, all_and_nothing_left);
}

RIG_TEST(a_read_made_again_anywhere)
{
    at_every_access(MODEL_TWICE, all_and_nothing_left);
}
